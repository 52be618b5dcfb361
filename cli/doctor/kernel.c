// SPDX-License-Identifier: GPL-2.0
/* Checks of kernlens doctor: what the kernel, its settings and other tracers allow. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kernlens/block.h>

#include "../base/common.h"
#include "doctor.h"

#define TRACEFS "/sys/kernel/tracing/"
#define PATH_BYTES 512

void doctor_check_kernel(const struct doctor *doctor, struct doctor_finding *finding)
{
	const struct utsname *kernel = &doctor->kernel;

	if (strcmp(kernel->machine, "x86_64") != 0)
		doctor_find(finding, DOCTOR_FAULT, "%s on %s: the module exists for x86_64 only",
			    kernel->release, kernel->machine);
	else
		doctor_find(finding, DOCTOR_OK, "%s%s", kernel->release,
			    strstr(kernel->version, "PREEMPT_RT") ? ", real-time" : "");
}

bool doctor_has_lockdown(char *mode, size_t bytes)
{
	char text[128], *begin;

	*mode = 0;
	if (!cli_read_line("/sys/kernel/security/lockdown", text, sizeof(text), ""))
		return false;
	begin = strchr(text, '[');
	if (!begin)
		return false;
	begin++;
	begin[strcspn(begin, "]")] = 0;
	snprintf(mode, bytes, "%s", begin);
	return strcmp(mode, "none") != 0;
}

void doctor_check_lockdown(const struct doctor *doctor, struct doctor_finding *finding)
{
	char mode[32];

	if (!doctor_has_lockdown(mode, sizeof(mode)))
		doctor_find(finding, *mode ? DOCTOR_OK : DOCTOR_UNKNOWN, "%s",
			    *mode ? mode : "/sys/kernel/security/lockdown cannot be read");
	else if (!strcmp(mode, "integrity"))
		doctor_find(finding, DOCTOR_NOTE,
			    "integrity: the kernel loads only signed modules; all else works");
	else
		doctor_find(finding, DOCTOR_NOTE,
			    "%s: kernel functions, programs and blocks cannot be hooked, and "
			    "system-wide data is refused",
			    mode);
}

void doctor_check_types(const struct doctor *doctor, struct doctor_finding *finding)
{
	if (!access("/sys/kernel/btf/vmlinux", R_OK))
		doctor_find(finding, DOCTOR_OK, "BTF: fields of kernel data can be named");
	else
		doctor_find(finding, DOCTOR_NOTE,
			    "no BTF (%s): -e tp:NAME and fields of kernel data cannot be used",
			    "/sys/kernel/btf/vmlinux");
}

static bool shows_addresses(void)
{
	struct kl_symbols *symbols = kl_symbols_open("/proc/kallsyms");
	bool shows = symbols && !kl_symbols_hidden(symbols);

	kl_symbols_close(symbols);
	kl_error_clear();
	return shows;
}

void doctor_check_symbols(const struct doctor *doctor, struct doctor_finding *finding)
{
	char restricted[32];

	cli_read_line("/proc/sys/kernel/kptr_restrict", restricted, sizeof(restricted), "unknown");
	if (shows_addresses()) {
		doctor_find(finding, DOCTOR_OK, "addresses of kernel functions are visible");
		return;
	}
	doctor_find(finding, DOCTOR_NOTE,
		    "addresses of kernel functions are hidden from you (kptr_restrict %s); "
		    "only hooks of functions and blocks need them",
		    restricted);
	doctor_fix(finding, geteuid() ? "run as root to hook kernel functions" :
					"sudo sysctl kernel.kptr_restrict=1");
}

void doctor_check_sources(const struct doctor *doctor, struct doctor_finding *finding)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/usr/lib/debug/boot/vmlinux-%s", doctor->kernel.release);
	if (!access(path, R_OK)) {
		doctor_find(finding, DOCTOR_OK, "kernel source lines: %s", path);
		return;
	}
	doctor_find(finding, DOCTOR_NOTE,
		    "no debug information of the kernel: blocks and kernel stacks have no source "
		    "lines");
	doctor_fix(
		finding,
		"install the kernel's debug package (Debian: sudo apt install linux-image-%s-dbg)",
		doctor->kernel.release);
}

/* Are indirect branches tracked (IBT)? The function belongs to kernels that can do that. */
static bool tracks_branches(void)
{
	FILE *file = kl_cpu_has_flag("ibt") ? fopen("/proc/kallsyms", "re") : NULL;
	bool found = false;
	char line[256];

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, " ibt_save\n");
	if (file)
		fclose(file);
	return found;
}

void doctor_check_blocks(const struct doctor *doctor, struct doctor_finding *finding)
{
	const char *tracked = tracks_branches() ? "; indirect branches are tracked (IBT)" : "";
	char mode[32];

	if (doctor_has_lockdown(mode, sizeof(mode)) && strcmp(mode, "integrity") != 0)
		doctor_find(finding, DOCTOR_NOTE, "refused because of lockdown%s", tracked);
	else
		doctor_find(finding, DOCTOR_OK, "can be instrumented%s%s",
			    geteuid() ? " by root" : "", tracked);
}

/* ----------------------------------------------------------------- tracers */

/* Lines of a file of tracefs; -1 if it cannot be read. */
static int count_lines(const char *name)
{
	char path[PATH_BYTES], line[PATH_BYTES];
	int n = 0;
	FILE *file;

	snprintf(path, sizeof(path), TRACEFS "%s", name);
	file = fopen(path, "re");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file))
		n += strchr(line, '\n') && *line != '#';
	fclose(file);
	return n;
}

static unsigned int count_patches(void)
{
	DIR *folder = opendir("/sys/kernel/livepatch");
	const struct dirent *entry;
	unsigned int n = 0;

	while (folder && (entry = readdir(folder)))
		n += *entry->d_name != '.';
	if (folder)
		closedir(folder);
	return n;
}

void doctor_check_tracers(const struct doctor *doctor, struct doctor_finding *finding)
{
	unsigned int patches = count_patches();
	int events = count_lines("set_event"), probes = count_lines("kprobe_events");
	char tracer[64];

	if (!cli_read_line(TRACEFS "current_tracer", tracer, sizeof(tracer), "") || events < 0) {
		doctor_find(finding, DOCTOR_UNKNOWN, "%s %s", TRACEFS,
			    geteuid() ? "can be read only by root" : "is not mounted");
		return;
	}
	if (!strcmp(tracer, "nop") && !events && probes <= 0 && !patches) {
		doctor_find(finding, DOCTOR_OK, "no other is active in ftrace");
		return;
	}
	doctor_find(finding, DOCTOR_NOTE,
		    "ftrace has tracer %s, %d event%s and %d kprobe%s; %u live patch%s: they cost "
		    "time, and blocks of probed functions are left alone",
		    tracer, events, events == 1 ? "" : "s", probes < 0 ? 0 : probes,
		    probes == 1 ? "" : "s", patches, patches == 1 ? "" : "es");
	doctor_fix(finding, "sudo trace-cmd reset, if nobody needs them");
}

/* kernlens has rules of its own; users of perf expect to see its. */
void doctor_check_perf(const struct doctor *doctor, struct doctor_finding *finding)
{
	char level[32];

	cli_read_line("/proc/sys/kernel/perf_event_paranoid", level, sizeof(level), "unknown");
	doctor_find(finding, DOCTOR_OK,
		    "perf_event_paranoid is %s, which restricts perf but not kernlens", level);
}
