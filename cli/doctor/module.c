// SPDX-License-Identifier: GPL-2.0
/* Checks of kernlens doctor: the module, who may use it, its events, memory and clock. */
#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/common.h"
#include "doctor.h"

#define MODULE "/sys/module/kernlens"
#define GROUP "kernlens"
#define RELOAD "sudo modprobe -r kernlens && sudo modprobe kernlens"
#define GROUP_BYTES 65536
#define SIGNATURE "~Module signature appended~\n"
#define SECURE_BOOT "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

/* ------------------------------------------------------------------ module */

/* The module's file, as depmod lists it for this kernel, to be freed; NULL if there is none. */
static char *find_file(const struct doctor *doctor)
{
	char *list = cli_format("/lib/modules/%s/modules.dep", doctor->kernel.release),
	     *path = NULL;
	FILE *file = fopen(list, "re");
	char *line = NULL;
	size_t size = 0;

	while (file && !path && getline(&line, &size, file) > 0) {
		const char *slash;

		line[strcspn(line, ":\n")] = 0;
		slash = strrchr(line, '/');
		if (slash && !strncmp(slash, "/kernlens.ko", sizeof("/kernlens.ko") - 1))
			path = cli_format("/lib/modules/%s/%s", doctor->kernel.release, line);
	}
	if (file)
		fclose(file);
	free(line);
	free(list);
	return path;
}

/* A compressed file may have a signature: only the kernel's own tools see it. */
static bool is_unsigned(const char *path)
{
	char text[sizeof(SIGNATURE)] = "";
	FILE *file = fopen(path, "re");
	const char *dot = strrchr(path, '.');
	bool is = file && dot && !strcmp(dot, ".ko") &&
		  !fseek(file, -(long)(sizeof(SIGNATURE) - 1), SEEK_END) &&
		  fread(text, sizeof(SIGNATURE) - 1, 1, file) == 1 && strcmp(text, SIGNATURE) != 0;

	if (file)
		fclose(file);
	return is;
}

static bool has_secure_boot(void)
{
	unsigned char value[5] = {};
	FILE *file = fopen(SECURE_BOOT, "re");
	bool is = file && fread(value, sizeof(value), 1, file) == 1 && value[4];

	if (file)
		fclose(file);
	return is;
}

static bool needs_signature(void)
{
	char text[32];

	return doctor_has_lockdown(text, sizeof(text)) || has_secure_boot() ||
	       (cli_read_line("/sys/module/module/parameters/sig_enforce", text, sizeof(text),
			      "") &&
		*text == 'Y');
}

static bool has_source(void)
{
	glob_t found = {};
	bool has = !glob("/usr/src/kernlens-*/dkms.conf", 0, NULL, &found);

	globfree(&found);
	return has;
}

static void find_installed(const char *path, struct doctor_finding *finding)
{
	bool sign = needs_signature() && is_unsigned(path);

	doctor_find(finding, DOCTOR_FAULT, "%s is not loaded%s", path,
		    sign ? ", and this kernel loads only signed modules" : "");
	if (sign)
		doctor_fix(finding, "sudo mokutil --import /var/lib/dkms/mok.pub, reboot to enroll "
				    "the key, then sudo modprobe kernlens");
	else
		doctor_fix(finding, "sudo modprobe kernlens");
}

static void find_missing(const struct doctor *doctor, struct doctor_finding *finding)
{
	char *headers = cli_format("/lib/modules/%s/build/Makefile", doctor->kernel.release);
	bool has_headers = !access(headers, F_OK);

	free(headers);
	doctor_find(finding, DOCTOR_FAULT, "not built for this kernel%s",
		    has_headers ? "" : ", whose headers are not installed");
	if (!has_source())
		doctor_fix(finding, "install the package kernlens-dkms, or run make install in "
				    "the source");
	else if (!has_headers)
		doctor_fix(finding, "sudo apt install linux-headers-%s && sudo modprobe kernlens",
			   doctor->kernel.release);
	else
		doctor_fix(finding, "sudo dkms autoinstall && sudo modprobe kernlens");
}

static void find_unloaded(const struct doctor *doctor, struct doctor_finding *finding)
{
	char *path = find_file(doctor);

	if (path)
		find_installed(path, finding);
	else
		find_missing(doctor, finding);
	free(path);
}

void doctor_check_module(const struct doctor *doctor, struct doctor_finding *finding)
{
	char version[64], taint[32];

	if (!doctor->loaded) {
		find_unloaded(doctor, finding);
		return;
	}
	cli_read_line(MODULE "/version", version, sizeof(version), "");
	cli_read_line(MODULE "/taint", taint, sizeof(taint), "");
	doctor_find(finding, DOCTOR_OK, "version %s is loaded, %s", version,
		    strchr(taint, 'E') ? "not signed" : "and its signature, if required, is valid");
	if (strcmp(version, KL_VERSION) != 0) {
		doctor_find(finding, DOCTOR_NOTE, "version %s is loaded, this program is %s",
			    version, KL_VERSION);
		doctor_fix(finding, RELOAD);
	}
}

/* ------------------------------------------------------------------ access */

enum membership {
	NO_GROUP,
	NO_MEMBER,
	MEMBER,
};

/* Is the user in the group, by the files that the next login reads? */
static enum membership find_membership(const char *user)
{
	enum membership found = NO_GROUP;
	struct group *group, room;
	char text[GROUP_BYTES];

	if (!getgrnam_r(GROUP, &room, text, sizeof(text), &group) && group) {
		found = NO_MEMBER;
		for (char **name = group->gr_mem; user && *name; name++)
			if (!strcmp(*name, user))
				found = MEMBER;
	}
	return found;
}

static void find_denied(struct doctor_finding *finding)
{
	const char *user = cli_user_name(getuid());

	doctor_find(finding, DOCTOR_FAULT,
		    "%s is accessible only to root and members of the group " GROUP,
		    KL_DEVICE_PATH);
	switch (find_membership(user)) {
	case NO_GROUP:
		doctor_fix(finding, "sudo groupadd --system " GROUP
				    " && sudo udevadm trigger --name-match=kernlens");
		break;
	case NO_MEMBER:
		doctor_fix(finding, "sudo usermod -aG " GROUP " %s, then log in again",
			   user ? user : "USER");
		break;
	case MEMBER:
		doctor_fix(finding, "log in again: you were added to the group since");
		break;
	}
}

void doctor_check_access(const struct doctor *doctor, struct doctor_finding *finding)
{
	uint32_t may;

	if (doctor->device) {
		may = kl_device_info(doctor->device)->may;
		doctor_find(finding, DOCTOR_OK, "you may record %s%s%s",
			    may & KL_MAY_SEE_ALL ? "all tasks" :
						   "your own processes; others need CAP_PERFMON",
			    may & KL_MAY_SEE_ADDRESSES ? ", kernel addresses" : "",
			    may & KL_MAY_HOOK_FUNCTIONS ? ", kernel functions" : "");
	} else if (!doctor->loaded) {
		doctor_find(finding, DOCTOR_UNKNOWN, "the module is not loaded");
	} else if (doctor->error == EACCES || doctor->error == EPERM) {
		find_denied(finding);
	} else {
		doctor_find(finding, DOCTOR_FAULT, "%s", doctor->refusal);
		if (doctor->error == EPROTO)
			doctor_fix(finding, RELOAD);
		else if (doctor->error == ENOENT)
			doctor_fix(finding, "sudo udevadm trigger --name-match=kernlens");
	}
}

/* ----------------------------------------------------- events, memory, clock */

/* Is an event absent for another reason than the caller's rights? */
static bool is_absent(const struct doctor *doctor, const struct kl_class *class, char *reason,
		      size_t bytes)
{
	struct kl_abi_event_info info;

	if (class->kind == KL_CLASS_SYSCALL_ENTRY || class->kind == KL_CLASS_SYSCALL_EXIT ||
	    kl_device_event(doctor->device, class->id, &info) || info.absent == KL_PRESENT ||
	    info.absent == KL_ABSENT_DENIED)
		return false;
	if (!*reason)
		snprintf(reason, bytes, "%s: %.*s", class->name, KL_ERROR_TEXT_MAX, info.reason);
	return true;
}

void doctor_check_events(const struct doctor *doctor, struct doctor_finding *finding)
{
	struct kl_schema *schema = doctor->device ? kl_schema_create() : NULL;
	char reason[2 * KL_ERROR_TEXT_MAX] = "";
	const struct kl_class *class = NULL;
	unsigned int absent = 0, all = 0;

	while (schema && (class = kl_schema_next(schema, class))) {
		all += class->kind != KL_CLASS_SYSCALL_ENTRY &&
		       class->kind != KL_CLASS_SYSCALL_EXIT;
		absent += is_absent(doctor, class, reason, sizeof(reason));
	}
	kl_schema_destroy(schema);
	kl_error_clear();
	if (!schema) {
		doctor_find(finding, DOCTOR_UNKNOWN, "the device cannot be opened");
	} else if (absent) {
		doctor_find(finding, DOCTOR_NOTE, "%u of %u are absent here, such as %s", absent,
			    all, reason);
		doctor_fix(finding, "kernlens list events shows why");
	} else {
		doctor_find(finding, DOCTOR_OK, "all %u are available", all);
	}
}

/* Memory that the kernel could give to buffers, in bytes; 0 if unknown. */
static uint64_t available_bytes(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return (uint64_t)kib << 10;
}

void doctor_check_buffers(const struct doctor *doctor, struct doctor_finding *finding)
{
	char want[CLI_NUMBER_MAX], room[CLI_NUMBER_MAX];
	struct kl_abi_session config = {};
	struct kl_abi_limits limits;
	uint64_t bytes, most;

	if (!doctor->device || kl_record_set_buffers(doctor->device, 0, &config) ||
	    kl_device_limits(doctor->device, 0, &limits)) {
		doctor_find(finding, DOCTOR_UNKNOWN, "the device cannot be opened");
		kl_error_clear();
		return;
	}
	bytes = (uint64_t)config.blocks * config.block_bytes * kl_device_info(doctor->device)->cpus;
	most = available_bytes();
	if (limits.limit[KL_LIMIT_memory] != KL_LIMIT_NONE) {
		uint64_t left =
			limits.limit[KL_LIMIT_memory] > limits.used[KL_LIMIT_memory] ?
				limits.limit[KL_LIMIT_memory] - limits.used[KL_LIMIT_memory] :
				0;

		most = left < most ? left : most;
	}
	doctor_find(finding, bytes <= most ? DOCTOR_OK : DOCTOR_NOTE,
		    "a recording takes %s by default, of %s that you can have",
		    cli_print_size(want, bytes), cli_print_size(room, most));
	if (bytes > most)
		doctor_fix(finding,
			   "use smaller buffers (--buffer), or end other sessions (kernlens "
			   "status)");
}

void doctor_check_clock(const struct doctor *doctor, struct doctor_finding *finding)
{
	const struct kl_abi_info *info = doctor->device ? kl_device_info(doctor->device) : NULL;
	char source[64];

	cli_read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		      sizeof(source), "");
	if (!info)
		doctor_find(finding, DOCTOR_UNKNOWN, "the device cannot be opened");
	else if (info->clock == KL_CLOCK_TSC)
		doctor_find(finding, DOCTOR_OK, "TSC, %.3f MHz", (double)info->clock_hz / 1e6);
	else
		doctor_find(finding, DOCTOR_NOTE,
			    "the kernel's monotonic clock (%s), slower to read than the TSC, which "
			    "this kernel does not use",
			    source);
}
