// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens set: set parameters of processes and threads with the kernel's own functions. The module
 * reports the old and new values, and records an event for each change and each rejection.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/output.h"

enum {
	KEY_LIST = CLI_KEY_OWN,
	KEY_NAMES,
};

static const struct cli_option options[] = {
	{ 't', "threads", NULL, "set parameters of all threads of each PID" },
	{ KEY_LIST, "list", NULL, "list the parameters and the syntax of their values" },
	{ KEY_NAMES, "names", NULL, "print only the names, one per line" },
	{},
};

/* How often to look for new threads, which may have started in the meantime. */
#define ROUNDS 8

/* Upper bound of setting numbers. */
#define SETTINGS (KL_SET_LIMIT + 16)

/**
 * struct set - the request and its results
 * @settings: requested values
 * @table: changes, for a terminal; NULL with --json
 * @changes: changes as JSON; NULL without --json
 * @status: CLI_FAILED if a setting was rejected
 */
struct set {
	struct kl_device *device;
	struct kl_setting *settings;
	size_t n_settings;
	int32_t *ids;
	size_t n_ids;
	bool threads;
	struct cli_table *table;
	json_t *changes;
	int status;
};

/* ----------------------------------------------------------------- results */

static void note_change(struct set *s, const struct kl_setting *setting, int32_t id,
			const struct kl_abi_set *told)
{
	bool is_told = told->flags & KL_SET_TOLD;

	cli_table_add(s->table, "%d", id);
	cli_table_add(s->table, "%s", kl_setting_name(setting->what));
	cli_table_add(s->table, "%s", is_told ? told->old_text : "?");
	cli_table_add(s->table, "%s", is_told ? told->new_text : setting->asked);
}

static void note_json(struct set *s, const struct kl_setting *setting, int32_t id, int error,
		      const struct kl_abi_set *told)
{
	const char *name = error ? kl_errno_name((unsigned int)-error) : NULL;
	json_t *change = json_pack("{s:i, s:s, s:o}", "id", id, "what",
				   kl_setting_name(setting->what), "asked",
				   cli_json_text(setting->asked));

	if (told->flags & KL_SET_TOLD) {
		json_object_set_new(change, "old_value", json_integer(told->old_value));
		json_object_set_new(change, "new_value", json_integer(told->new_value));
		json_object_set_new(change, "old_text", cli_json_text(told->old_text));
		json_object_set_new(change, "new_text", cli_json_text(told->new_text));
	}
	if (error) {
		json_object_set_new(change, "error", json_string(name ? name : "FAILED"));
		json_object_set_new(change, "message", cli_json_text(kl_error_text()));
	}
	json_array_append_new(s->changes, change);
}

static void set_one(struct set *s, const struct kl_setting *setting, int32_t id, uint64_t start_ns)
{
	struct kl_abi_set told = { 0 };
	int error = kl_set(s->device, id, start_ns, setting, &told);

	if (error)
		s->status = CLI_FAILED;
	if (s->changes)
		note_json(s, setting, id, error, &told);
	else if (error)
		cli_library_error(error, NULL);
	else
		note_change(s, setting, id, &told);
}

/* ------------------------------------------------------------------ threads */

struct done {
	int32_t *id;
	size_t n, room;
};

/* Add a thread. Returns false if it was there already. */
static bool add_done(struct done *done, int32_t id)
{
	for (size_t i = 0; i < done->n; i++)
		if (done->id[i] == id)
			return false;
	if (done->n == done->room) {
		size_t room = 2 * done->room + 16;
		int32_t *more = cli_alloc(room * sizeof(*more));

		memcpy(more, done->id, done->n * sizeof(*more));
		free(done->id);
		done->id = more;
		done->room = room;
	}
	done->id[done->n++] = id;
	return true;
}

static void set_of_threads(struct set *s, int32_t id, uint64_t start_ns)
{
	for (size_t i = 0; i < s->n_settings; i++)
		if (!kl_setting_is_of_process(s->settings[i].what))
			set_one(s, &s->settings[i], id, start_ns);
}

/* Set the visible threads. Returns how many were new, or a negative errno. */
static int set_threads(struct set *s, struct kl_inspect *inspect, int32_t id, struct done *done)
{
	int rows = kl_inspect_read(inspect, &id, 1, KL_INSPECT_THREADS), fresh = 0;

	for (int row = 0; row < rows; row++) {
		bool there;
		int32_t tid = kl_inspect_row(inspect, (size_t)row, &there);

		if (!there || !add_done(done, tid))
			continue;
		set_of_threads(s, tid, kl_inspect_value(inspect, (size_t)row, 0).number);
		fresh++;
	}
	return rows < 0 ? rows : fresh;
}

static void set_all_threads(struct set *s, int32_t id)
{
	uint32_t start = kl_variable_find("start_time")->id;
	struct kl_inspect *inspect = kl_inspect_create(s->device, &start, 1);
	struct done done = { 0 };
	int fresh = inspect ? 1 : -errno;

	for (int i = 0; i < ROUNDS && fresh > 0; i++)
		fresh = set_threads(s, inspect, id, &done);
	if (fresh < 0)
		s->status = cli_library_error(fresh, "threads of %d", id);
	/* The threads are not visible, but the kernel may allow the setting all the same. */
	if (!done.n && fresh >= 0) {
		cli_note("cannot list the threads of %d; setting only the thread with this ID", id);
		set_of_threads(s, id, 0);
	}
	kl_inspect_destroy(inspect);
	free(done.id);
}

static void set_process(struct set *s, int32_t id)
{
	for (size_t i = 0; i < s->n_settings; i++)
		if (!s->threads || kl_setting_is_of_process(s->settings[i].what))
			set_one(s, &s->settings[i], id, 0);
	for (size_t i = 0; s->threads && i < s->n_settings; i++) {
		if (!kl_setting_is_of_process(s->settings[i].what)) {
			set_all_threads(s, id);
			break;
		}
	}
}

/* --------------------------------------------------------- the command line */

static const char *near_name(const char *word)
{
	struct kl_near near;

	kl_near_init(&near, word, strcspn(word, "="));
	for (uint32_t i = 0; i < SETTINGS; i++)
		if (kl_setting_name(i))
			kl_near_offer(&near, kl_setting_name(i));
	return near.best;
}

static void take_word(const struct cli_command *self, struct set *s, const char *word)
{
	uint64_t id;
	int error;

	if (isdigit((unsigned char)*word)) {
		if (!cli_parse_unsigned(word, INT32_MAX, &id) || !id)
			cli_usage_error(self, "\"%s\" is not a process ID", word);
		s->ids[s->n_ids++] = (int32_t)id;
		return;
	}
	error = kl_setting_parse(&s->settings[s->n_settings], word);
	if (error == -ENOENT && near_name(word))
		cli_usage_error(self, "%s; did you mean \"%s\"?", kl_error_text(), near_name(word));
	if (error)
		cli_usage_error(self, "%s", kl_error_text());
	s->n_settings++;
}

static int print_names(void)
{
	for (uint32_t i = 0; i < SETTINGS; i++)
		if (kl_setting_name(i))
			puts(kl_setting_name(i));
	return CLI_OK;
}

static int print_list_json(void)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < SETTINGS; i++)
		if (kl_setting_name(i))
			json_array_append_new(list,
					      json_pack("{s:s, s:s, s:s}", "name",
							kl_setting_name(i), "scope",
							kl_setting_is_of_process(i) ? "process" :
										      "thread",
							"help", kl_setting_help(i)));
	return cli_json_write(json_pack("{s:o}", "settings", list));
}

static int print_list(void)
{
	struct cli_table *table;

	if (cli_settings.json)
		return print_list_json();
	table = cli_table_create("name|scope|value");
	for (uint32_t i = 0; i < SETTINGS; i++) {
		if (!kl_setting_name(i))
			continue;
		cli_table_add(table, "%s", kl_setting_name(i));
		cli_table_add(table, "%s", kl_setting_is_of_process(i) ? "process" : "thread");
		cli_table_add(table, "%s", kl_setting_help(i));
	}
	cli_table_print(table, stdout, 0);
	puts("\nLimits: SOFT:HARD, SOFT:, :HARD or one value for both; a number with K, M, G "
	     "or T,\nor unlimited.");
	return CLI_OK;
}

static int finish(struct set *s)
{
	if (s->changes)
		cli_json_write(json_pack("{s:o}", "changes", s->changes));
	else
		cli_table_print(s->table, stdout, 0);
	kl_device_close(s->device);
	return s->status;
}

static int run(struct set *s)
{
	s->device = cli_open_device();
	if (!s->device)
		return CLI_FAILED;
	if (cli_settings.json)
		s->changes = json_array();
	else
		s->table = cli_table_create(">id|what|was|is");
	for (size_t i = 0; i < s->n_ids; i++)
		set_process(s, s->ids[i]);
	return finish(s);
}

static int exec_set(const struct cli_command *self, int argc, char **argv)
{
	struct cli_parser parser;
	struct set s = { 0 };
	int key, status;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser))) {
		if (key == KEY_NAMES)
			return print_names();
		if (key == KEY_LIST)
			return print_list();
		s.threads = true;
	}
	s.ids = cli_alloc((size_t)parser.n_words * sizeof(*s.ids));
	s.settings = cli_alloc((size_t)parser.n_words * sizeof(*s.settings));
	for (int i = 0; i < parser.n_words; i++)
		take_word(self, &s, parser.words[i]);
	if (!s.n_ids)
		cli_usage_error(self, "no process given");
	if (!s.n_settings)
		cli_usage_error(self, "no parameter given; expected NAME=VALUE");
	s.n_settings = kl_settings_join(s.settings, s.n_settings);
	status = run(&s);
	free(s.settings);
	free(s.ids);
	return status;
}

const struct cli_command_ops cmd_set = {
	.options = options,
	.text = "NAME is nice, policy, priority, affinity, ioprio, oom_score_adj, timer_slack,\n"
		"cgroup or limit.RESOURCE; --list shows the syntax of values. Parameters are set\n"
		"with the kernel's own calls; if they reject one, the exit status is 1. Each\n"
		"change and each rejection fires the event `process_set'.\n"
		"\n"
		"  kernlens set 4711 nice=5 ioprio=idle\n"
		"  kernlens set -t 4711 policy=fifo priority=10 affinity=2-3\n"
		"  kernlens set 4711 limit.nofile=4096:8192 oom_score_adj=-500\n",
	.exec = exec_set,
};
