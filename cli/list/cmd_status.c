// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens status: print the module, its clock, and the existing sessions and limits; and crashes
 * of which traces were saved.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/crashes.h"
#include "../base/output.h"

enum {
	KEY_CRASHES = CLI_KEY_OWN,
	KEY_SEEN,
};

static const struct cli_option options[] = {
	{ KEY_CRASHES, "crashes", NULL, "only saved crashes that have not been seen" },
	{ KEY_SEEN, "seen", NULL, "note that they have been seen" },
	{},
};

static const char *clock_name(uint32_t clock)
{
	return clock == KL_CLOCK_TSC ? "TSC" : "monotonic";
}

static void read_version(char *text, size_t bytes)
{
	cli_read_line("/sys/module/kernlens/version", text, bytes, "unknown");
}

static void read_program(int pid, char *text, size_t bytes)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	cli_read_line(path, text, bytes, "");
}

static json_t *list_rights(uint32_t may)
{
	json_t *rights = json_array();

	if (may & KL_MAY_SEE_ALL)
		json_array_append_new(rights, json_string("all tasks"));
	else
		json_array_append_new(rights, json_string("own processes"));
	if (may & KL_MAY_SEE_ADDRESSES)
		json_array_append_new(rights, json_string("kernel addresses"));
	if (may & KL_MAY_HOOK_FUNCTIONS)
		json_array_append_new(rights, json_string("kernel functions"));
	return rights;
}

/* Name of the session's maskset, to be freed; "user" if the caller may not attach to read it. */
static char *maskset_name(struct kl_device *device, const struct kl_abi_status *s)
{
	struct kl_abi_attach attach = { .id = s->id };
	struct kl_abi_maskset *maskset;
	struct kl_session *session;
	char *name = NULL;

	session = s->maskset < KL_MASKSET_FIRST_USER ? NULL : kl_session_attach(device, &attach);
	maskset = cli_alloc(sizeof(*maskset));
	if (session && !kl_session_read_maskset(session, s->maskset, maskset) && *maskset->name)
		name = cli_format("%.*s", KL_NAME_MAX, maskset->name);
	free(maskset);
	kl_session_close(session);
	kl_error_clear();
	return name ? name : cli_format("%s", cli_maskset_name(s->maskset));
}

static json_t *session_json(struct kl_device *device, const struct kl_abi_status *s)
{
	char *maskset = maskset_name(device, s);
	json_t *name = cli_json_text(maskset);

	free(maskset);
	return json_pack("{s:I, s:o, s:I, s:i, s:s, s:b, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "id", (json_int_t)s->id, "name", cli_json_text(s->name), "uid",
			 (json_int_t)s->uid, "pid", s->pid, "mode",
			 s->mode == KL_MODE_OVERWRITE ? "overwrite" : "discard", "running",
			 s->running, "maskset", name, "events", (json_int_t)s->events, "readers",
			 (json_int_t)s->readers, "block_bytes", (json_int_t)s->block_bytes,
			 "blocks_per_cpu", (json_int_t)s->blocks, "written", (json_int_t)s->written,
			 "lost", (json_int_t)s->lost, "suspended", (json_int_t)s->suspended);
}

static const char *const account_kinds[] = {
	[KL_ACCOUNT_USER] = "user",
	[KL_ACCOUNT_PRIVILEGED] = "privileged",
	[KL_ACCOUNT_ALL_USERS] = "all users",
	[KL_ACCOUNT_MACHINE] = "machine",
};

static bool has_uid(const struct kl_abi_limits *limits)
{
	return limits->kind == KL_ACCOUNT_USER || limits->kind == KL_ACCOUNT_PRIVILEGED;
}

static const char *account_kind(const struct kl_abi_limits *limits)
{
	return limits->kind <= KL_ACCOUNT_MACHINE ? account_kinds[limits->kind] : "unknown";
}

static json_t *account_json(const struct kl_abi_limits *limits)
{
	json_t *account = json_object();

	json_object_set_new(account, "account", json_string(account_kind(limits)));
	if (has_uid(limits))
		json_object_set_new(account, "uid", json_integer(limits->uid));
	for (uint32_t i = 0; i < KL_LIMITS; i++) {
		json_t *limit = limits->limit[i] == KL_LIMIT_NONE ?
					json_null() :
					json_integer((json_int_t)limits->limit[i]);

		json_object_set_new(account, kl_limit_name(i),
				    json_pack("{s:I, s:o}", "used", (json_int_t)limits->used[i],
					      "limit", limit));
	}
	json_object_set_new(account, "refused", json_integer((json_int_t)limits->refused));
	json_object_set_new(account, "patches", json_integer((json_int_t)limits->patches));
	json_object_set_new(account, "patches_per_second",
			    limits->patch_rate ? json_integer((json_int_t)limits->patch_rate) :
						 json_null());
	json_object_set_new(account, "waits", json_integer((json_int_t)limits->waits));
	json_object_set_new(account, "work_us", json_integer((json_int_t)limits->work_us));
	return account;
}

static json_t *list_accounts(struct kl_device *device)
{
	json_t *accounts = json_array();
	struct kl_abi_limits limits;

	for (uint32_t i = 0; !kl_device_limits(device, i, &limits); i++)
		json_array_append_new(accounts, account_json(&limits));
	kl_error_clear();
	return accounts;
}

static int write_json(struct kl_device *device)
{
	const struct kl_abi_info *info = kl_device_info(device);
	json_t *sessions = json_array();
	struct kl_abi_status status;
	char version[64];

	read_version(version, sizeof(version));
	for (uint32_t i = 0; !kl_device_status(device, i, &status); i++)
		json_array_append_new(sessions, session_json(device, &status));
	return cli_json_write(
		json_pack("{s:b, s:s, s:I, s:s, s:I, s:I, s:I, s:o, s:I, s:I, s:o, s:o, s:o, s:b}",
			  "loaded", 1, "version", version, "abi", (json_int_t)info->abi_version,
			  "clock", clock_name(info->clock), "clock_hz", (json_int_t)info->clock_hz,
			  "cpus", (json_int_t)info->cpus, "events", (json_int_t)info->events,
			  "may_see", list_rights(info->may), "sessions_max",
			  (json_int_t)info->sessions_max, "buffer_bytes_max",
			  (json_int_t)info->buffer_bytes_max, "sessions", sessions, "limits",
			  list_accounts(device), "crashes", cli_crashes_load(false), "kept",
			  cli_kept_exists()));
}

static void print_module(const struct kl_abi_info *info)
{
	char version[64];

	read_version(version, sizeof(version));
	printf("module     %s, ABI %u, loaded\n", version, info->abi_version);
	printf("clock      %s, %.3f MHz\n", clock_name(info->clock), (double)info->clock_hz / 1e6);
	printf("CPUs       %u\n", info->cpus);
	printf("access     %s%s%s\n",
	       info->may & KL_MAY_SEE_ALL ? "all tasks" : "your own processes",
	       info->may & KL_MAY_SEE_ADDRESSES ? ", kernel addresses" : "",
	       info->may & KL_MAY_HOOK_FUNCTIONS ? ", kernel functions" : "");
}

/* Add a cell: the usage, and the limit if there is one. */
static void add_limit(struct cli_table *table, const struct kl_abi_limits *limits, uint32_t what)
{
	char used[CLI_NUMBER_MAX], limit[CLI_NUMBER_MAX] = "";
	bool is_size = what == KL_LIMIT_memory;
	uint64_t most = limits->limit[what];

	if (is_size)
		cli_print_size(used, limits->used[what]);
	else
		cli_print_count(used, limits->used[what]);
	if (most == KL_LIMIT_NONE)
		cli_table_add(table, "%s", used);
	else
		cli_table_add(table, "%s of %s", used,
			      is_size ? cli_print_size(limit, most) : cli_print_count(limit, most));
}

static void add_account(struct cli_table *table, const struct kl_abi_limits *limits)
{
	const char *user = has_uid(limits) ? cli_user_name(limits->uid) : NULL;
	bool privileged = limits->kind == KL_ACCOUNT_PRIVILEGED;

	if (!has_uid(limits))
		cli_table_add(table, "%s", account_kind(limits));
	else if (user)
		cli_table_add(table, "%s%s", user, privileged ? " (privileged)" : "");
	else
		cli_table_add(table, "%u%s", limits->uid, privileged ? " (privileged)" : "");
	for (uint32_t i = 0; i < KL_LIMITS; i++)
		add_limit(table, limits, i);
}

static void print_limits(struct kl_device *device)
{
	struct cli_table *table = cli_table_create("account|>memory|>sessions|>events|>probes|"
						   ">readers|>ticks/s");
	struct kl_abi_limits limits;

	_Static_assert(KL_LIMITS == 6, "a column for each limit");
	for (uint32_t i = 0; !kl_device_limits(device, i, &limits); i++)
		add_account(table, &limits);
	kl_error_clear();
	putchar('\n');
	cli_table_print(table, stdout, 1);
}

static void add_session(struct cli_table *table, struct kl_device *device,
			const struct kl_abi_status *s)
{
	char *maskset = maskset_name(device, s);
	const char *user = cli_user_name(s->uid);
	char number[CLI_NUMBER_MAX], comm[32];

	read_program(s->pid, comm, sizeof(comm));
	cli_table_add(table, "%u", s->id);
	cli_table_add(table, "%s", s->name);
	if (user)
		cli_table_add(table, "%s", user);
	else
		cli_table_add(table, "%u", s->uid);
	cli_table_add(table, "%d%s%s", s->pid, *comm ? " " : "", comm);
	cli_table_add(table, "%s", s->running ? "running" : s->suspended ? "suspended" : "stopped");
	cli_table_add(table, "%s", s->mode == KL_MODE_OVERWRITE ? "overwrite" : "discard");
	cli_table_add(table, "%s", maskset);
	free(maskset);
	cli_table_add(table, "%u", s->events);
	cli_table_add(table, "%s", cli_print_size(number, (uint64_t)s->blocks * s->block_bytes));
	cli_table_add(table, "%u", s->readers);
	cli_table_add(table, "%s", cli_print_count(number, s->written));
	cli_table_add(table, "%s", cli_print_count(number, s->lost));
}

static void print_crashes(void)
{
	json_t *crashes = cli_crashes_load(false);

	if (json_array_size(crashes))
		putchar('\n');
	cli_crashes_print(crashes);
	json_decref(crashes);
	cli_kept_print();
}

static int print_status(struct kl_device *device)
{
	struct cli_table *table;
	struct kl_abi_status status;
	uint32_t n = 0;

	print_module(kl_device_info(device));
	table = cli_table_create(">id|name|user|process|state|mode|maskset|>events|>buffer/CPU|"
				 ">readers|>written|>lost");
	while (!kl_device_status(device, n, &status)) {
		add_session(table, device, &status);
		n++;
	}
	printf("sessions   %u\n", n);
	if (n) {
		putchar('\n');
		cli_table_print(table, stdout, 2);
	}
	print_limits(device);
	print_crashes();
	return CLI_OK;
}

/* What is shown at login. */
static int show_unseen(void)
{
	json_t *crashes = cli_crashes_load(true);

	if (cli_settings.json)
		return cli_json_write(crashes);
	cli_crashes_print(crashes);
	if (json_array_size(crashes))
		puts("To see them: kernlens view, print, report or why. To end this message: "
		     "kernlens status --seen");
	json_decref(crashes);
	cli_kept_print();
	return CLI_OK;
}

static int exec_status(const struct cli_command *self, int argc, char **argv)
{
	struct cli_parser parser;
	struct kl_device *device;
	int status, key, only = 0;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		only = key;
	if (parser.n_words)
		cli_usage_error(self, "status takes no arguments");
	if (only)
		return only == KEY_SEEN ? cli_crashes_set_seen() : show_unseen();
	device = cli_open_device();
	if (!device) {
		if (!cli_settings.json)
			print_crashes();
		return CLI_FAILED;
	}
	status = cli_settings.json ? write_json(device) : print_status(device);
	kl_device_close(device);
	return status;
}

const struct cli_command_ops cmd_status = {
	.options = options,
	.text = "Shows your own sessions, and the usage and limits of your account. With\n"
		"CAP_PERFMON, shows those of all users. Root can change the limits in\n"
		"/sys/module/kernlens/parameters, and sees crashes of this machine of which\n"
		"kernlens extract --save has saved traces.\n"
		"The exit status is 1 if the module is not loaded.\n",
	.exec = exec_status,
};
