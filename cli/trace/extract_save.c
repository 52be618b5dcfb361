// SPDX-License-Identifier: GPL-2.0
/* Saves extracted traces where kernlens status finds them, with the reason of the crash. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/crashes.h"
#include "../base/output.h"
#include "extract_save.h"

/* What was reported long before the end is not what ended it. */
#define CAUSE_NS 10000000000ull

/* ------------------------------------------------------------------ folder */

static int make_folder(const char *path)
{
	if (!mkdir(path, 0700) || errno == EEXIST)
		return CLI_OK;
	return cli_error(-errno, "cannot create %s: %s", path, strerror(errno));
}

/* The folders above, down to that of all crashes. */
static int make_folders(void)
{
	char *path = cli_format("%s", CLI_CRASHES_FOLDER);
	int status = CLI_OK;

	for (char *at = path + strlen("/var/lib"); at && !status; at = strchr(at + 1, '/')) {
		*at = 0;
		if (strcmp(path, "/var/lib") != 0)
			status = make_folder(path);
		*at = '/';
	}
	free(path);
	return status ? status : make_folder(CLI_CRASHES_FOLDER);
}

/* When the machine that was last alive had its clock read for the last time. */
static const struct kl_dump_machine *last_machine(struct kl_dump *dump)
{
	const struct kl_dump_machine *last = kl_dump_machine(dump, 0), *m;

	for (size_t i = 1; (m = kl_dump_machine(dump, i)); i++)
		if (m->alive_ns > last->alive_ns)
			last = m;
	return last;
}

int cli_save_begin(struct cli_save *save, struct kl_dump *dump)
{
	const struct kl_dump_machine *m = last_machine(dump);
	const time_t seconds = m->alive_ns ? (time_t)(m->alive_ns / 1000000000u) : time(NULL);
	char name[32];
	struct tm tm;
	int status = make_folders();

	if (status)
		return status;
	gmtime_r(&seconds, &tm);
	strftime(name, sizeof(name), "%Y%m%dT%H%M%SZ", &tm);
	save->folder = cli_format("%s/%s", CLI_CRASHES_FOLDER, name);
	save->part = cli_format("%s/.%s", CLI_CRASHES_FOLDER, name);
	/* What an interrupted run, or an earlier one for the same dump, has left. */
	cli_crashes_remove(save->part);
	cli_crashes_remove(save->folder);
	if (mkdir(save->part, 0700))
		return cli_error(-errno, "cannot create %s: %s", save->part, strerror(errno));
	save->document = json_pack("{s:i, s:b, s:I, s:o, s:o, s:o, s:n, s:[]}", "version", 1,
				   "kept", save->kept, "stopped_ns", (json_int_t)m->alive_ns,
				   "hostname", cli_json_text(m->hostname), "kernel",
				   cli_json_text(m->release), "boot_id", cli_json_text(m->boot_id),
				   "cause", "traces");
	return CLI_OK;
}

/* ------------------------------------------------------------------ traces */

/* Is this how the kernel begins a report of what ended it? */
static bool is_cause(const struct kl_value *text, bool *panic)
{
	static const char *const begin[] = { "Kernel panic - not syncing: ",
					     "BUG: ",
					     "kernel BUG at ",
					     "general protection fault",
					     "double fault",
					     "divide error",
					     "invalid opcode",
					     "watchdog: ",
					     "INFO: task ",
					     "NMI watchdog: ",
					     "Unable to handle " };

	for (size_t i = 0; i < sizeof(begin) / sizeof(*begin); i++) {
		*panic = !i;
		if (text->length >= strlen(begin[i]) &&
		    !memcmp(text->bytes, begin[i], strlen(begin[i])))
			return true;
	}
	return false;
}

/*
 * Take the first report, and the panic's only if there is none: it often says no more than that
 * there was one.
 */
static void take_message(struct cli_save *save, const struct kl_event *event)
{
	struct kl_value text;
	const char *end;
	size_t length;
	bool panic;

	if (kl_event_field(event, "msg", &text) || !is_cause(&text, &panic))
		return;
	if (save->bug_ns && (panic || event->ns < save->bug_ns + CAUSE_NS))
		return;
	if (!panic)
		save->bug_ns = event->ns;
	end = memchr(text.bytes, '\n', text.length);
	length = end ? (size_t)(end - (const char *)text.bytes) : text.length;
	json_object_set_new(save->document, "cause",
			    cli_json_text(cli_clean_text((const char *)text.bytes, length)));
}

void cli_save_add(struct cli_save *save, const struct kl_dump_session *session, const char *name)
{
	char *path = cli_format("%s/%s", save->part, name);
	struct kl_trace *trace = kl_trace_open(path);
	uint64_t records = 0, first_ns = UINT64_MAX, last_ns = 0;
	struct kl_item item;

	while (trace && kl_trace_next(trace, &item) > 0) {
		if (item.kind != KL_ITEM_EVENT)
			continue;
		records++;
		first_ns = item.event->ns < first_ns ? item.event->ns : first_ns;
		last_ns = item.event->ns > last_ns ? item.event->ns : last_ns;
		if (!strcmp(item.event->event_class->name, "console"))
			take_message(save, item.event);
	}
	kl_trace_close(trace);
	free(path);
	json_array_append_new(json_object_get(save->document, "traces"),
			      json_pack("{s:o, s:o, s:I, s:I, s:I}", "session",
					cli_json_text(session->name), "trace", cli_json_text(name),
					"records", (json_int_t)records, "first_ns",
					(json_int_t)(records ? first_ns : 0), "last_ns",
					(json_int_t)last_ns));
}

/* --------------------------------------------------------------------- end */

static int write_document(const struct cli_save *save)
{
	char *path = cli_format("%s/%s", save->part, CLI_CRASHES_DOCUMENT);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int status = CLI_OK;

	if (fd < 0 || json_dumpfd(save->document, fd, JSON_INDENT(1)) || fsync(fd))
		status = cli_error(-errno, "cannot write %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	free(path);
	return status;
}

/* The machine may be reset as soon as this program has ended. */
static int name_folder(const struct cli_save *save)
{
	int fd;

	sync();
	if (rename(save->part, save->folder))
		return cli_error(-errno, "cannot rename %s: %s", save->part, strerror(errno));
	fd = open(CLI_CRASHES_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	return CLI_OK;
}

int cli_save_end(struct cli_save *save, size_t damage, size_t keep)
{
	int status = CLI_OK;

	if (!json_array_size(json_object_get(save->document, "traces"))) {
		cli_crashes_remove(save->part);
	} else {
		json_object_set_new(save->document, "damage", json_integer((json_int_t)damage));
		status = write_document(save);
		if (!status)
			status = name_folder(save);
		if (!status)
			cli_crashes_remove_old(keep);
	}
	json_decref(save->document);
	free(save->folder);
	free(save->part);
	return status;
}
