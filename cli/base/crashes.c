// SPDX-License-Identifier: GPL-2.0
/* Crashes of which traces were saved: lists and removes them, and says what is known about each. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <kernlens/record.h>
#include "cli.h"
#include "common.h"
#include "crashes.h"
#include "output.h"

#define SEEN "seen" /* an empty file in the folder of a crash */

int cli_kept_open(int flags)
{
	return open(CLI_KEPT_FILE, flags | O_CLOEXEC);
}

bool cli_kept_exists(void)
{
	int fd = cli_kept_open(O_RDONLY);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void cli_kept_print(void)
{
	if (cli_kept_exists())
		puts("The reserved memory has traces of an earlier boot. To save them: kernlens "
		     "extract --kept --save --forget");
}

static int is_crash(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int newest_first(const struct dirent **a, const struct dirent **b)
{
	return -strcmp((*a)->d_name, (*b)->d_name);
}

/*
 * Call @fn with the path of each folder of a crash, the newest first, and the number of those
 * before it.
 */
static void visit(void (*fn)(const char *folder, size_t number, void *data), void *data)
{
	struct dirent **entry = NULL;
	int n = scandir(CLI_CRASHES_FOLDER, &entry, is_crash, newest_first);

	for (int i = 0; entry && i < n; i++) {
		char *folder = cli_format("%s/%s", CLI_CRASHES_FOLDER, entry[i]->d_name);

		fn(folder, (size_t)i, data);
		free(folder);
		free(entry[i]);
	}
	free(entry);
}

static json_t *read_document(const char *folder)
{
	char *path = cli_format("%s/%s", folder, CLI_CRASHES_DOCUMENT);
	json_t *document = json_load_file(path, 0, NULL);

	free(path);
	return document;
}

/* -------------------------------------------------------------------- list */

struct list {
	json_t *array;
	bool unseen;
};

static void add_crash(const char *folder, size_t number, void *data)
{
	struct list *list = data;
	json_t *document = read_document(folder);
	char *path = cli_format("%s/%s", folder, SEEN);
	bool seen = !access(path, F_OK);

	(void)number;
	free(path);
	if (!json_is_object(document) || (seen && list->unseen)) {
		json_decref(document);
		return;
	}
	json_object_set_new(document, "folder", cli_json_text(folder));
	json_object_set_new(document, "seen", json_boolean(seen));
	json_array_append_new(list->array, document);
}

json_t *cli_crashes_load(bool unseen)
{
	struct list list = { json_array(), unseen };

	visit(add_crash, &list);
	return list.array;
}

static void print_trace(const json_t *crash, const json_t *trace)
{
	const uint64_t first = cli_json_get_number(trace, "first_ns"),
		       last = cli_json_get_number(trace, "last_ns");
	const uint64_t records = cli_json_get_number(trace, "records");
	char time[CLI_NUMBER_MAX], count[CLI_NUMBER_MAX];

	printf("  %s/%s: its last %s, %s record%s\n", cli_json_get_text(crash, "folder"),
	       cli_json_get_text(trace, "trace"),
	       cli_print_time(time, last > first ? last - first : 0),
	       cli_print_count(count, records), records == 1 ? "" : "s");
}

static void print_crash(const json_t *crash)
{
	const time_t seconds = (time_t)(cli_json_get_number(crash, "stopped_ns") / 1000000000u);
	const json_t *traces = json_object_get(crash, "traces");
	const char *cause = cli_json_get_text(crash, "cause");
	const bool reset = !*cause && json_is_true(json_object_get(crash, "kept"));
	char when[64] = "at an unknown time";
	struct tm tm;

	if (seconds && localtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "on %Y-%m-%d at %H:%M:%S", &tm);
	printf("The machine %s %s%s%s\n", reset ? "restarted without notice" : "crashed", when,
	       *cause ? ": " : "", cli_clean_text(cause, strlen(cause)));
	for (size_t i = 0; i < json_array_size(traces); i++)
		print_trace(crash, json_array_get(traces, i));
}

void cli_crashes_print(const json_t *crashes)
{
	for (size_t i = 0; i < json_array_size(crashes); i++)
		print_crash(json_array_get(crashes, i));
}

/* -------------------------------------------------------------------- seen */

static void set_seen(const char *folder, size_t number, void *data)
{
	char *path = cli_format("%s/%s", folder, SEEN);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	(void)number;
	if (fd < 0)
		*(int *)data = cli_error(-errno, "cannot create %s: %s", path, strerror(errno));
	else
		close(fd);
	free(path);
}

int cli_crashes_set_seen(void)
{
	int status = CLI_OK;

	if (access(CLI_CRASHES_FOLDER, R_OK | X_OK) && errno == EACCES)
		return cli_error(-EACCES, "only root may read %s", CLI_CRASHES_FOLDER);
	visit(set_seen, &status);
	return status;
}

/* ------------------------------------------------------------------ remove */

static void remove_file(const char *folder, const char *name)
{
	char *path = cli_format("%s/%s", folder, name);

	unlink(path);
	free(path);
}

void cli_crashes_remove(const char *folder)
{
	struct dirent **entry = NULL;
	int n = scandir(folder, &entry, is_crash, newest_first);

	for (int i = 0; entry && i < n; i++) {
		char *path = cli_format("%s/%s", folder, entry[i]->d_name);

		if (entry[i]->d_type == DT_DIR)
			kl_record_discard(path);
		free(path);
		free(entry[i]);
	}
	free(entry);
	remove_file(folder, CLI_CRASHES_DOCUMENT);
	remove_file(folder, SEEN);
	rmdir(folder);
}

static void remove_old(const char *folder, size_t number, void *data)
{
	if (number >= *(size_t *)data)
		cli_crashes_remove(folder);
}

void cli_crashes_remove_old(size_t keep)
{
	visit(remove_old, &keep);
}
