// SPDX-License-Identifier: GPL-2.0
/*
 * From the selection options to a session that is ready to start. The steps are in the order in
 * which they are taken.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/common.h"
#include "../base/output.h"
#include "alarm.h"
#include "create.h"
#include "program_splice.h"
#include "select.h"
#include "select_variables.h"

const struct cli_option cli_select_options[] = {
	{ 'e', "event", "EVENTS", "PLACE[/FILTER/][:HANDLER[(...)] [by KEY...]],..." },
	{ 'm', "maskset", "MASKSET", "RDEFAULT, RALL, RNOTHING or your own; -e adds to it" },
	CLI_TASK_OPTIONS,
	{ CLI_KEY_DURATION, "duration", "SECONDS", "stop after this time" },
	{ CLI_KEY_NAME, "name", "NAME", "name of the session, for other commands" },
	{ CLI_KEY_NO_DEMANGLE, "no-demangle", NULL,
	  "print mangled names of C++ and Rust functions" },
	{},
};

void cli_select_init(struct cli_select *select)
{
	*select = (struct cli_select){ .maskset = -1 };
}

bool cli_select_has_tasks(const struct cli_select *select)
{
	return select->all || select->n_pids || select->user || select->cgroup.key;
}

static void take_pids(struct cli_select *select, const struct cli_parser *parser)
{
	char *rest = strdupa(parser->arg), *word;
	uint64_t pid;

	while ((word = strsep(&rest, ","))) {
		if (!cli_parse_unsigned(word, 1 << 22, &pid) || !pid)
			cli_usage_error(parser->command, "\"%s\" is not a process ID", word);
		if (select->n_pids == CLI_PIDS_MAX)
			cli_usage_error(parser->command, "too many processes (maximum %d)",
					CLI_PIDS_MAX);
		select->pid[select->n_pids++] = (pid_t)pid;
	}
}

static void take_user(struct cli_select *select, const struct cli_parser *parser)
{
	const struct passwd *entry = getpwnam(parser->arg);
	uint64_t uid;

	select->user = parser->arg;
	if (entry)
		select->uid = entry->pw_uid;
	else if (cli_parse_unsigned(parser->arg, UINT32_MAX - 1, &uid))
		select->uid = (uid_t)uid;
	else
		cli_usage_error(parser->command, "unknown user \"%s\"", parser->arg);
}

static void take_maskset(struct cli_select *select, const struct cli_parser *parser)
{
	kl_maskset_destroy(select->file);
	select->file = NULL;
	select->maskset = cli_maskset_find(parser->arg);
	if (select->maskset >= 0)
		return;
	select->file = kl_maskset_load(parser->arg);
	if (!select->file)
		cli_usage_error(parser->command, "%s", kl_error_text());
	select->maskset = KL_MASKSET_FIRST_USER;
}

void cli_select_add(struct cli_select *select, const struct cli_command *command, char *events)
{
	select->events = select->events ? cli_format("%s,%s", select->events, events) : events;
	if (select->n_specs == CLI_SPECS_MAX)
		cli_usage_error(command, "too many -e options (maximum %d)", CLI_SPECS_MAX);
	select->spec[select->n_specs++] = events;
}

const char *cli_take_name(const struct cli_parser *parser)
{
	if (!*parser->arg || strlen(parser->arg) >= KL_NAME_MAX)
		cli_usage_error(parser->command, "a session's name must have 1 to %d bytes",
				KL_NAME_MAX - 1);
	return parser->arg;
}

bool cli_select_option(struct cli_select *select, const struct cli_parser *parser, int key)
{
	switch (key) {
	case 'e':
		cli_select_add(select, parser->command, parser->arg);
		return true;
	case 'v':
		select->variables = select->variables ?
					    cli_format("%s,%s", select->variables, parser->arg) :
					    parser->arg;
		return true;
	case 'm':
		take_maskset(select, parser);
		return true;
	case 'p':
		take_pids(select, parser);
		return true;
	case 'u':
		take_user(select, parser);
		return true;
	case 'a':
		select->all = true;
		return true;
	case CLI_KEY_DURATION:
		if (!cli_parse_seconds(parser->arg, &select->duration_ns) || !select->duration_ns)
			cli_usage_error(parser->command, "\"%s\" is not a number of seconds",
					parser->arg);
		return true;
	case CLI_KEY_NAME:
		select->name = cli_take_name(parser);
		return true;
	case CLI_KEY_NO_DEMANGLE:
		select->raw_names = true;
		return true;
	case CLI_KEY_BUFFER:
		select->buffer_bytes = cli_need_size(parser->command, parser->arg);
		return true;
	default:
		return cli_cgroup_option(&select->cgroup, parser, key);
	}
}

/* Without privilege, only own processes can be traced: report that instead of an empty trace. */
static int check_rights(struct cli_session *s)
{
	const char *name = s->command->name;
	const struct cli_select *select = &s->select;
	char path[64];
	struct stat process;

	for (unsigned int i = 0; i < select->n_pids; i++) {
		snprintf(path, sizeof(path), "/proc/%d", select->pid[i]);
		if (stat(path, &process))
			return cli_error(-ESRCH, "process %d does not exist", select->pid[i]);
		if (process.st_uid != geteuid() &&
		    !(kl_device_info(s->device)->may & KL_MAY_SEE_ALL))
			return cli_error(-EPERM,
					 "process %d is not yours; %s -p needs CAP_PERFMON "
					 "to trace it",
					 select->pid[i], name);
	}
	if (kl_device_info(s->device)->may & KL_MAY_SEE_ALL)
		return CLI_OK;
	if (select->all)
		return cli_error(-EPERM,
				 "%s -a needs CAP_PERFMON; without it you can trace your own "
				 "processes: kernlens %s%s",
				 name, name, s->command->ops->runs_command ? " -- COMMAND" : "");
	if (select->user && select->uid != geteuid())
		return cli_error(-EPERM,
				 "%s -u %s needs CAP_PERFMON; without it you can trace your "
				 "own processes: kernlens %s -u %d",
				 name, select->user, name, (int)geteuid());
	return CLI_OK;
}

void cli_session_note_left_out(const struct cli_session *s)
{
	bool glob = false;

	for (unsigned int i = 0; i < s->select.n_specs; i++)
		glob |= strcspn(s->select.spec[i], "*?") < strcspn(s->select.spec[i], "/");
	/* A user who requests a group or the default does not mean a particular event of it. */
	if (s->left_out.length && glob)
		cli_note("not available here:%.200s (kernlens list shows why)", s->left_out.data);
}

/* Add the events of -m and -e, in this order; with neither, those of the subcommand. */
static int add_lists(struct cli_session *s, const char *fallback, unsigned int handler)
{
	static const char *const words[] = {
		[KL_MASKSET_RNOTHING] = NULL,
		[KL_MASKSET_RALL] = "all",
		[KL_MASKSET_RDEFAULT] = "default",
	};
	const struct cli_select *select = &s->select;
	const char *first = select->maskset < 0 || select->file ? NULL : words[select->maskset];
	int error = 0;

	if (!select->n_specs && select->maskset < 0)
		first = fallback ? fallback : "default";
	if (first)
		error = kl_plan_add(s->plan, first, handler);
	if (select->file)
		error = kl_plan_add_maskset(s->plan, select->file, handler);
	if (!error && select->file && !select->n_specs)
		error = kl_plan_set_name(s->plan, kl_maskset_name(select->file));
	for (unsigned int i = 0; !error && i < select->n_specs; i++)
		error = kl_plan_add(s->plan, select->spec[i], handler);
	return error;
}

/* The built-in maskset, if it is selected unchanged; else -1. Only `log` is built in. */
static int builtin_maskset(const struct cli_select *select, const char *fallback,
			   unsigned int handler)
{
	if (select->n_specs || select->file || (fallback && select->maskset < 0))
		return -1;
	if (select->maskset == KL_MASKSET_RNOTHING)
		return KL_MASKSET_RNOTHING;
	if (handler != KL_HANDLER_log)
		return -1;
	return select->maskset < 0 ? KL_MASKSET_RDEFAULT : select->maskset;
}

int cli_session_apply(struct cli_session *s)
{
	int error = kl_record_omit_absent(s->device, s->schema, s->plan, &s->left_out);
	size_t omitted;

	if (error)
		return cli_library_error(error, NULL);
	cli_note_lines(kl_plan_note(s->plan));
	error = kl_record_apply(s->session, s->plan);
	if (error)
		return cli_library_error(error, NULL);
	omitted = kl_plan_omitted(s->plan);
	if (omitted)
		cli_note("%zu matching function%s omitted, because the kernel cannot trace them",
			 omitted, omitted == 1 ? " is" : "s are");
	return CLI_OK;
}

static int use_events(struct cli_session *s, const char *fallback, unsigned int handler)
{
	int builtin = builtin_maskset(&s->select, fallback, handler), error, status;

	s->plan = kl_plan_create(s->schema);
	if (!s->plan)
		return cli_library_error(-errno, NULL);
	s->map = kl_plan_map(s->plan);
	error = kl_record_prepare_plan(s->device, s->plan);
	status = error ? cli_library_error(error, NULL) : cli_take_variables(s);
	if (status)
		return status;
	if (builtin < 0)
		error = add_lists(s, fallback, handler);
	cli_busy("looking up functions and types");
	if (!error)
		error = kl_plan_compile(s->plan);
	cli_busy(NULL);
	if (error == -EINVAL) {
		cli_usage_message("Try: kernlens list", kl_error_text());
		return CLI_USAGE;
	}
	if (error)
		return cli_library_error(error, NULL);
	if (kl_plan_process_splices(s->plan) && !s->select.words && !s->select.n_pids)
		cli_usage_error(s->command,
				"without CAP_SYS_ADMIN, blocks of programs require -p PID or a "
				"command");
	if (builtin >= 0) {
		error = kl_session_use_maskset(s->session, (uint32_t)builtin);
		return error ? cli_library_error(error, NULL) : CLI_OK;
	}
	return cli_session_apply(s);
}

static uint32_t filter_kind(const struct cli_select *select)
{
	if (select->others)
		return select->others == CLI_OTHERS_OWN ? KL_FILTER_UID : KL_FILTER_NONE;
	if (select->n_pids || !cli_select_has_tasks(select))
		return KL_FILTER_TASKS;
	if (select->cgroup.key)
		return KL_FILTER_CGROUP;
	return select->user ? KL_FILTER_UID : KL_FILTER_NONE;
}

/* Whose events the session records, as in struct kl_trace_info. */
static const char *scope_of(const struct cli_session *s)
{
	uint32_t kind = filter_kind(&s->select);

	if (kind == KL_FILTER_TASKS)
		return "tasks";
	if (kind == KL_FILTER_UID)
		return "user";
	if (kind == KL_FILTER_CGROUP)
		return "cgroup";
	return kl_device_info(s->device)->may & KL_MAY_SEE_ALL ? "all" : "own";
}

static int use_cgroup(struct cli_session *s)
{
	char *path = cli_cgroup_find(&s->select.cgroup);
	int fd, got;

	if (!path)
		return CLI_FAILED;
	fd = kl_cgroup_open(path);
	got = fd;
	if (fd >= 0) {
		got = kl_session_filter_cgroup(s->session, fd);
		close(fd);
	}
	free(path);
	return got < 0 ? cli_library_error(got, NULL) : CLI_OK;
}

static int use_filter(struct cli_session *s)
{
	const struct cli_select *select = &s->select;
	int got;

	if (select->cgroup.key)
		return use_cgroup(s);
	got = kl_session_filter(s->session, filter_kind(select),
				select->others ? geteuid() : select->uid);
	if (got < 0)
		return cli_library_error(got, NULL);
	for (unsigned int i = 0; i < select->n_pids && !select->others; i++) {
		got = kl_session_tasks(s->session, select->pid[i],
				       KL_TASK_ADD | KL_TASK_PROCESS | KL_TASK_INHERIT);
		if (got < 0)
			return cli_library_error(got, NULL);
	}
	return CLI_OK;
}

/* Could programs be spliced? The command is created before its events are known. */
static bool may_be_spliced(const struct cli_session *s)
{
	bool blocks = false;

	for (unsigned int i = 0; i < s->select.n_specs; i++)
		blocks |= !!strstr(s->select.spec[i], "block:");
	return blocks && !(kl_device_info(s->device)->may & KL_MAY_HOOK_FUNCTIONS);
}

int cli_session_make_child(struct cli_session *s, bool traced)
{
	const struct cli_select *select = &s->select;
	bool is_ours = !select->output && (select->to_stdout || cli_settings.json);

	return cli_child_create(&s->child, select->words, &s->signals,
				(traced ? CLI_CHILD_TRACED : 0) |
					(is_ours ? CLI_CHILD_TO_STDERR : 0));
}

/* Without a command or tasks, record all that the user may see, or report that it is little. */
static void choose_tasks(struct cli_session *s)
{
	struct cli_select *select = &s->select;

	if (select->words || cli_select_has_tasks(select))
		return;
	if (select->own_suffice && !(kl_device_info(s->device)->may & KL_MAY_SEE_ALL)) {
		select->user = "yourself";
		select->uid = geteuid();
		return;
	}
	select->all = true;
}

/* Store the definitions for those who attach. A failure is not fatal. */
static void publish(const struct cli_session *s)
{
	const struct kl_record_source source = cli_session_source(s);

	if (kl_record_publish(&source, s->plan))
		cli_note("cannot store the session's event definitions; other readers cannot "
			 "decode its events: %s",
			 kl_error_text());
}

void cli_session_interrupts(const struct cli_session *s, bool allowed)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		if (!sigismember(&s->signals, ending[i]))
			sigaddset(&set, ending[i]);
	sigprocmask(allowed ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

static int open_session(struct cli_session *s, const char *patterns, unsigned int handler)
{
	int status;

	if (s->select.all + !!s->select.n_pids + !!s->select.user + !!s->select.cgroup.key > 1)
		cli_usage_error(
			s->command,
			"only one of -a, -p, -u, --cgroup, --unit and --container can be given");
	s->schema = kl_schema_create();
	if (!s->schema)
		return cli_library_error(-errno, NULL);
	s->device = cli_open_device();
	if (!s->device)
		return CLI_FAILED;
	choose_tasks(s);
	status = check_rights(s);
	if (!status)
		status = cli_session_size_buffers(s);
	if (!status && s->select.words)
		status = cli_session_make_child(s, may_be_spliced(s));
	if (!status)
		status = cli_session_create(s);
	if (!status)
		status = use_events(s, patterns, handler);
	if (!status)
		status = cli_use_variables(s);
	if (!status)
		status = use_filter(s);
	if (!status)
		publish(s);
	return status;
}

int cli_session_open(struct cli_session *s, const char *patterns, unsigned int handler)
{
	int status;

	cli_session_interrupts(s, true);
	status = open_session(s, patterns, handler);
	cli_busy(NULL);
	cli_session_interrupts(s, false);
	if (status)
		cli_session_close(s);
	return status;
}

/* Attaching the probes takes time: the child is added only when that is done. */
static int start_child(struct cli_session *s)
{
	const struct cli_select *select = &s->select;
	int got = 0, status;

	if (!cli_child_ready(&s->child))
		return cli_error(0, "the process for %s has ended", select->words[0]);
	if (filter_kind(select) == KL_FILTER_TASKS && !select->n_pids)
		got = kl_session_tasks(s->session, s->child.pid,
				       KL_TASK_ADD | KL_TASK_INHERIT | KL_TASK_EXEC);
	if (got < 0)
		return cli_library_error(got, NULL);
	status = cli_session_splice(s);
	if (!status)
		cli_child_go(&s->child);
	return status;
}

int cli_session_start(struct cli_session *s)
{
	int error;

	cli_session_load_unwind_tables(s);
	error = kl_session_start(s->session);
	if (error)
		return cli_library_error(error, NULL);
	return s->child.pid ? start_child(s) : cli_session_splice(s);
}

int cli_session_stop(struct cli_session *s)
{
	int error;

	cli_session_unsplice(s);
	error = kl_session_stop(s->session);
	cli_note_suspended(s->session);
	return error;
}

struct kl_record_source cli_session_source(const struct cli_session *s)
{
	return (struct kl_record_source){
		.device = s->device,
		.session = s->session,
		.schema = s->schema,
		.config = &s->config,
		.scope = scope_of(s),
		.command = s->child.pid,
	};
}

struct kl_record_names *cli_session_names(struct cli_session *s)
{
	const struct kl_record_source source = cli_session_source(s);

	if (!s->names)
		s->names = kl_record_names_create(&source, !s->select.raw_names);
	if (!s->names) {
		cli_error(-ENOMEM, "out of memory");
		exit(CLI_FAILED);
	}
	return s->names;
}

/* Before there is a helper, its process ID is that of the idle tasks. */
bool cli_session_is_own(const struct cli_session *s, const struct kl_event *event)
{
	pid_t pid = event->task.pid;

	return pid && (pid == getpid() || pid == kl_record_names_collector(s->names));
}

bool cli_session_has_stacks(struct cli_session *s)
{
	return kl_record_names_has_stacks(cli_session_names(s));
}

int cli_session_collect(struct cli_session *s, bool lines)
{
	int got = kl_record_names_collect(cli_session_names(s), lines);

	return got < 0 ? cli_library_error(got, NULL), -1 : got;
}

void cli_session_name_addresses(struct cli_session *s)
{
	kl_record_names_use_kernel(cli_session_names(s));
}

void cli_session_close(struct cli_session *s)
{
	kl_buffer_deinit(&s->left_out);
	kl_record_names_destroy(s->names);
	s->names = NULL;
	cli_session_unsplice(s);
	cli_child_destroy(&s->child);
	kl_maskset_destroy(s->select.file);
	s->select.file = NULL;
	kl_session_close(s->session);
	kl_device_close(s->device);
	kl_plan_destroy(s->plan);
	kl_schema_destroy(s->schema);
	s->plan = NULL;
	s->map = NULL;
	s->session = NULL;
	s->device = NULL;
	s->schema = NULL;
}
