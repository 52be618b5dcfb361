// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens record: record a session to a trace directory. One loop writes blocks and waits for the
 * end; a thread requests the dump of the initial state, which may take long.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/common.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "../session/aggregate.h"
#include "../session/alarm.h"
#include "../session/recorder.h"
#include "../session/run.h"
#include "../session/select.h"

enum {
	KEY_OVERWRITE = CLI_KEY_OWN,
	KEY_DISCARD,
	KEY_FORCE,
	KEY_NO_DUMP,
	KEY_PROGRESS,
	KEY_ON_ALARM,
	KEY_SNAPSHOTS,
	KEY_STRACE,
	KEY_COMPRESS,
	KEY_KEEP,
};

#define PROGRESS_NS 200000000u
#define COLLECT_NS 1000000000u
#define SNAPSHOTS_DEFAULT 16
#define SNAPSHOTS_MAX 9999

static const struct cli_option options[] = {
	{ CLI_KEY_BUFFER, "buffer", "SIZE", "buffer size per CPU, such as 512K or 16M (4M)" },
	{ 'v', "variable", "VALUES", "variables or expressions to add to each record" },
	{ KEY_STRACE, "strace", NULL,
	  "record all that print --format strace shows (all system calls without -e)" },
	{ 'o', "output", "DIR", "output directory (kernlens-YYYYmmdd-HHMMSS)" },
	{ KEY_FORCE, "force", NULL, "replace an existing trace in DIR" },
	{ KEY_DISCARD, "discard", NULL, "write continuously; drop records if full (default)" },
	{ KEY_OVERWRITE, "overwrite", NULL, "keep the newest records; write them at the end" },
	{ KEY_KEEP, "keep-over-crash", "[=try]",
	  "overwrite, in memory that survives a reset (kernlens-extract(1))" },
	{ KEY_SNAPSHOTS, "snapshots", "N", "write at most N snapshots (16)" },
	{ KEY_ON_ALARM, "on-alarm", "COMMAND", "run this in a shell for each alarm" },
	{ KEY_NO_DUMP, "no-dump", NULL, "do not record the initial state" },
	{ KEY_COMPRESS, "compress", "[=LEVEL]", "compress the trace, at LEVEL 1 to 19 (3)" },
	{ KEY_PROGRESS, "progress", NULL, "show progress even while COMMAND runs" },
	{ 'q', "quiet", NULL, "no progress, alarms or summary; losses still shown" },
	{},
};

struct record {
	struct cli_session session;
	struct cli_run run;
	struct kl_recorder *recorder;
	struct cli_alarms alarms;
	uint64_t snapshots; /* maximum number of them */
	char *path;
	bool force;
	bool quiet;
	bool dump;
	bool progress;
	bool strace;
	bool discard;
	uint64_t level; /* of compression; 0: none */
	uint64_t shown_ns;
	uint64_t collected_ns;
	uint64_t elapsed_ns;
	pthread_t dumper;
	bool has_dumper;
	atomic_bool dumped;
	int dump_error;
	struct kl_abi_stats stats;
	struct kl_event_count *counts; /* of the predefined events that have one */
	int n_counts;
};

static void take_keep(struct record *r, const struct cli_parser *parser)
{
	if (parser->arg && strcmp(parser->arg, "try") != 0)
		cli_usage_error(parser->command, "--keep-over-crash: \"%s\" is not try",
				parser->arg);
	r->session.select.keep = true;
	r->session.select.keep_if_possible = parser->arg;
}

static void take_option(struct record *r, const struct cli_parser *parser, int key)
{
	if (cli_select_option(&r->session.select, parser, key))
		return;
	switch (key) {
	case 'o':
		r->path = parser->arg;
		break;
	case 'q':
		r->quiet = true;
		break;
	case KEY_ON_ALARM:
		r->alarms.command = parser->arg;
		break;
	case KEY_SNAPSHOTS:
		if (!cli_parse_unsigned(parser->arg, SNAPSHOTS_MAX, &r->snapshots))
			cli_usage_error(parser->command,
					"--snapshots: \"%s\" is not a number from 0 to %d",
					parser->arg, SNAPSHOTS_MAX);
		break;
	case KEY_FORCE:
		r->force = true;
		break;
	case KEY_STRACE:
		r->strace = true;
		break;
	case KEY_COMPRESS:
		r->level = cli_take_level(parser, KL_COMPRESS_LEVEL_DEFAULT);
		break;
	case KEY_NO_DUMP:
		r->dump = false;
		break;
	case KEY_KEEP:
		take_keep(r, parser);
		break;
	case KEY_PROGRESS:
		r->progress = true;
		break;
	case KEY_DISCARD:
		r->session.config.mode = KL_MODE_DISCARD;
		r->discard = true;
		break;
	case KEY_OVERWRITE:
		r->session.config.mode = KL_MODE_OVERWRITE;
		break;
	}
}

static void on_wake(int number)
{
}

static void *run_dump(void *data)
{
	struct record *r = data;

	r->dump_error = kl_session_dump(r->session.session,
					KL_DUMP_PROCESSES | KL_DUMP_FILES | KL_DUMP_MAPPINGS, NULL);
	atomic_store(&r->dumped, true);
	return NULL;
}

static void start_dump(struct record *r)
{
	const struct sigaction wake = { .sa_handler = on_wake };

	/* Without SA_RESTART, so that the signal interrupts the dump. */
	sigaction(SIGUSR1, &wake, NULL);
	atomic_init(&r->dumped, false);
	r->has_dumper = r->dump && !pthread_create(&r->dumper, NULL, run_dump, r);
}

/*
 * The dump occupies the session's descriptor: make no other call until it has finished. It may wait
 * for buffer space, so keep reading the buffers in the meantime.
 */
static bool is_dumping(struct record *r)
{
	return r->has_dumper && !atomic_load(&r->dumped);
}

static void finish_dump(struct record *r)
{
	while (is_dumping(r)) {
		if (r->run.asked)
			pthread_kill(r->dumper, SIGUSR1);
		kl_recorder_drain(r->recorder);
		cli_run_wait(&r->run, -1, 5);
	}
	if (r->has_dumper)
		pthread_join(r->dumper, NULL);
	if (r->dump_error && r->dump_error != -EINTR)
		cli_note("the initial state is incomplete: %s", strerror(-r->dump_error));
}

static void show_progress(struct record *r)
{
	uint64_t elapsed = cli_run_elapsed(&r->run);
	char records[CLI_NUMBER_MAX], lost[CLI_NUMBER_MAX], bytes[CLI_NUMBER_MAX];

	if (!r->progress || elapsed - r->shown_ns < PROGRESS_NS)
		return;
	r->shown_ns = elapsed;
	/* Not while the dump occupies the descriptor; the old figures will do. */
	if (!is_dumping(r))
		kl_session_stats(r->session.session, -1, &r->stats);
	fprintf(stderr, "\r\033[Krecording %.1f s: %s records, %s written, %s lost%s",
		(double)elapsed / 1e9, cli_print_count(records, r->stats.written),
		cli_print_bytes(bytes, kl_recorder_counts(r->recorder)->bytes),
		cli_print_count(lost, r->stats.lost),
		r->session.child.pid ? "" : "  (Ctrl-C stops)");
	fflush(stderr);
}

static void clear_progress(const struct record *r)
{
	if (r->progress && r->shown_ns)
		fputs("\r\033[K", stderr);
}

/*
 * Save stack traces during the recording, too: the recorder may be killed, or a module whose
 * functions are in them may be unloaded. A flight recorder stores all its names in the session.
 */
static void save_stacks_now_and_then(struct record *r)
{
	uint64_t elapsed = cli_run_elapsed(&r->run);
	int error;

	/* Not while the dump occupies the descriptor. */
	if (elapsed - r->collected_ns < COLLECT_NS || is_dumping(r))
		return;
	r->collected_ns = elapsed;
	error = kl_recorder_save_stacks(r->recorder);
	if (error)
		cli_library_error(error, NULL);
}

/* Take the alarms and snapshot requests that the statistics report. */
static void take_notifications(struct record *r)
{
	if (cli_alarms_are_new(&r->alarms, r->stats.alarms)) {
		clear_progress(r);
		cli_alarms_take(&r->alarms);
	}
	if (r->session.config.mode == KL_MODE_OVERWRITE)
		kl_recorder_take_snapshots(r->recorder, r->stats.snapshots);
}

/* Handle notifications. Returns false if a rule or the watchdog has stopped the recording. */
static bool check_notifications(struct record *r)
{
	cli_alarms_run(&r->alarms);
	if (is_dumping(r))
		return true;
	/*
	 * Not earlier: during the dump a notification cannot be read, and poll() would not block.
	 */
	r->run.news = kl_session_fd(r->session.session);
	if (r->run.told)
		kl_session_stats(r->session.session, -1, &r->stats);
	r->run.told = false;
	take_notifications(r);
	return !r->stats.frozen && !r->stats.suspended.times;
}

/* Defined events come last; their counts are not shown. */
static void read_counts(struct record *r)
{
	const struct cli_session *s = &r->session;
	int n = kl_event_counts_read(s->session, s->plan, s->schema, &r->counts);

	while (n > 0 && r->counts[n - 1].event_class->id >= KL_EV_MAX)
		n--;
	r->n_counts = n;
}

static int stop(struct record *r)
{
	struct kl_session *session = r->session.session;
	int error = cli_session_stop(&r->session);

	if (error)
		return cli_library_error(error, NULL);
	kl_session_stats(session, -1, &r->stats);
	r->elapsed_ns = cli_run_length(&r->run);
	take_notifications(r);
	error = kl_recorder_ended(r->recorder);
	read_counts(r);
	return error ? CLI_FAILED : CLI_OK;
}

static int record(struct record *r)
{
	int error = kl_recorder_attach(r->recorder);
	int status = error ? cli_library_error(error, NULL) : cli_run_begin(&r->run);

	if (status)
		return status;
	error = kl_recorder_began(r->recorder);
	if (error)
		cli_library_error(error, NULL);
	start_dump(r);
	while (!r->run.over && check_notifications(r) && !kl_recorder_drain(r->recorder)) {
		show_progress(r);
		save_stacks_now_and_then(r);
		cli_run_wait(&r->run, kl_recorder_fd(r->recorder), 100);
	}
	finish_dump(r);
	clear_progress(r);
	return stop(r);
}

static json_t *json_counters(const struct record *r)
{
	json_t *object = json_object();

	for (int i = 0; i < r->n_counts; i++)
		json_object_set_new(object, r->counts[i].event_class->name,
				    json_integer((json_int_t)r->counts[i].count));
	return object;
}

static void write_json(const struct record *r, int status)
{
	const struct kl_recorder_counts *counts = kl_recorder_counts(r->recorder);
	uint64_t snapshots = kl_recorder_snapshots(r->recorder)->written;

	cli_json_write(json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:f, s:i, s:o, s:I, s:I, s:I}",
				 "trace", cli_json_text(r->path), "records",
				 (json_int_t)(counts->read.read - counts->unstored), "lost",
				 (json_int_t)counts->read.lost, "missed",
				 (json_int_t)counts->read.missed, "fired",
				 (json_int_t)(r->stats.written + r->stats.lost), "bytes",
				 (json_int_t)counts->bytes, "seconds", (double)r->elapsed_ns / 1e9,
				 "status", status, "counts", json_counters(r), "alarms",
				 (json_int_t)r->stats.alarms, "snapshots", (json_int_t)snapshots,
				 "unstored", (json_int_t)counts->unstored));
}

static void print_counters(const struct record *r)
{
	char number[CLI_NUMBER_MAX];

	for (int i = 0; i < r->n_counts; i++)
		fprintf(stderr, "  %16s  %s\n", cli_print_count(number, r->counts[i].count),
			r->counts[i].event_class->name);
}

static void print_summary(const struct record *r)
{
	const struct kl_stacks *stacks = kl_record_names_stacks(r->session.names);
	const struct kl_recorder_counts *written = kl_recorder_counts(r->recorder);
	const struct kl_reader_counts *counts = &written->read;
	uint64_t lost = r->stats.lost > counts->lost ? r->stats.lost : counts->lost;
	uint64_t unstored = written->unstored;
	char number[4][CLI_NUMBER_MAX];

	cli_recorder_print_snapshots(r->recorder, r->path, r->quiet);
	if (r->quiet && !lost && !unstored)
		return;
	if (r->stats.unswitched)
		cli_note("switching to another maskset failed %u times", r->stats.unswitched);
	fprintf(stderr, "kernlens: %s records, %s%s%s lost%s",
		cli_print_count(number[0], counts->read - unstored),
		lost ? cli_style(stderr, CLI_RED) : "", cli_print_count(number[1], lost),
		lost ? " (try a larger --buffer)" : "", lost ? cli_style(stderr, CLI_PLAIN) : "");
	if (unstored)
		fprintf(stderr, ", %s%s read but not stored%s", cli_style(stderr, CLI_RED),
			cli_print_count(number[2], unstored), cli_style(stderr, CLI_PLAIN));
	if (counts->missed)
		fprintf(stderr, ", %s older ones overwritten",
			cli_print_count(number[2], counts->missed));
	fprintf(stderr, ", %s in %.3g s: %s\n", cli_print_bytes(number[3], written->bytes),
		(double)r->elapsed_ns / 1e9, r->path);
	if (r->quiet)
		return;
	cli_session_note_left_out(&r->session);
	if (stacks && kl_stacks_no_room(stacks))
		fprintf(stderr, "kernlens: %s stack traces dropped (table full)\n",
			cli_print_count(number[0], kl_stacks_no_room(stacks)));
	print_counters(r);
	cli_aggregate_print(&r->session, stderr);
	fprintf(stderr, "kernlens: to look at the trace: kernlens report %s; kernlens view %s\n",
		r->path, r->path);
}

static bool has_snapshots(const struct record *r)
{
	const struct kl_plan_rule *rule;

	for (unsigned int i = 0; (rule = kl_plan_rule(r->session.plan, i)); i++)
		if (rule->handler == KL_HANDLER_snapshot)
			return true;
	return false;
}

static int create_recorder(struct record *r)
{
	const struct kl_record_source source = cli_session_source(&r->session);
	const struct kl_recorder_params params = {
		.path = r->path,
		.force = r->force,
		.names = cli_session_names(&r->session),
		.snapshots = r->snapshots,
		.notify = cli_recorder_notice,
		.compress = (int)r->level,
	};

	r->recorder = kl_recorder_create(&source, &params);
	return r->recorder ? CLI_OK : cli_recorder_error(-errno);
}

static int init_outputs(struct record *r)
{
	bool made = !r->path;
	int status, error;

	if (made)
		r->path = kl_record_make_folder("kernlens");
	if (!r->path)
		return cli_library_error(-errno, NULL);
	status = create_recorder(r);
	if (status) {
		/* Does not remove a directory that is not empty. */
		if (made)
			rmdir(r->path);
		return status;
	}
	/*
	 * Snapshots requested by hand may never come: for these, a path in the way is an error only
	 * later.
	 */
	if (!has_snapshots(r) && !(r->force && r->session.config.mode == KL_MODE_OVERWRITE))
		return CLI_OK;
	error = kl_recorder_clear_snapshots(r->recorder, r->force);
	return error ? cli_recorder_error(error) : CLI_OK;
}

/* Report the end of the recording. Returns the exit status. */
static int tell_end(struct record *r, int status)
{
	const struct cli_child *child = &r->session.child;

	if (!cli_settings.json && !cli_child_failed(child))
		print_summary(r);
	status = cli_run_status(&r->run, status);
	/* A trace that lacks the command would be mistaken for a trace of it. */
	if (cli_child_failed(child))
		kl_record_discard(r->path);
	else if (cli_settings.json)
		write_json(r, status);
	return status;
}

static int run(struct record *r)
{
	int status = cli_run_init(&r->run, &r->session);

	if (!status)
		status = cli_session_open(&r->session, NULL, KL_HANDLER_log);
	if (status)
		goto deinit_run;
	cli_alarms_init(&r->alarms, &r->session);
	status = init_outputs(r);
	if (!status)
		status = record(r);
	if (r->recorder && kl_recorder_finish(r->recorder) && !status)
		status = CLI_FAILED;
	cli_alarms_finish(&r->alarms);
	if (r->run.began_ns)
		status = tell_end(r, status);
	kl_recorder_destroy(r->recorder);
	cli_session_close(&r->session);
deinit_run:
	cli_run_deinit(&r->run);
	free(r->counts);
	return status;
}

static int exec_record(const struct cli_command *self, int argc, char **argv)
{
	struct record *r = cli_alloc(sizeof(*r));
	struct cli_parser parser;
	int key, status;

	r->session.command = self;
	r->dump = true;
	r->snapshots = SNAPSHOTS_DEFAULT;
	cli_select_init(&r->session.select);
	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		take_option(r, &parser, key);
	if (r->session.select.keep && r->discard)
		cli_usage_error(self, "--keep-over-crash excludes --discard");
	if (r->session.select.keep)
		r->session.config.mode = KL_MODE_OVERWRITE;
	if (r->strace)
		cli_select_strace(&r->session.select, self);
	if (parser.n_words)
		r->session.select.words = parser.words;
	r->alarms.quiet = r->quiet;
	if (!parser.n_words)
		r->progress = true;
	r->progress = r->progress && !r->quiet && !cli_settings.json && isatty(STDERR_FILENO);
	status = run(r);
	free(r);
	return status;
}

const struct cli_command_ops cmd_record = {
	.options = options,
	.shared = cli_select_options,
	.runs_command = true,
	.text = "COMMAND is traced from the execve(2) that starts it, with all its children, and\n"
		"its exit status is returned. If it cannot be executed, there is no trace, and the\n"
		"status is 127 or 126. With -a, -p, -u, --cgroup, --unit or --container, it only\n"
		"determines how long to record. Without COMMAND, recording ends on Ctrl-C, after\n"
		"--duration, or when the processes of -p have exited. Without any of these\n"
		"options, -a is the default.\n"
		"The events are those of RDEFAULT unless -e or -m is given.\n"
		"\n"
		"  kernlens record -- make -j4\n"
		"  kernlens record -e sched,syscalls,'block_*' -o trace -- git clone A B\n"
		"  kernlens record --strace -o trace -- ls         for print --format strace\n"
		"  kernlens record -p 1234 --duration 10\n"
		"  kernlens record -v rss,nvcsw,'user_?p' -- make\n"
		"  kernlens record -e sched,block_rq_issue:stack -- make\n"
		"  kernlens record -a --compress -o trace          a seventh of the size\n"
		"  kernlens record -a --overwrite --buffer 16M     a flight recorder\n"
		"  kernlens record -a --keep-over-crash            one that survives a reset\n"
		"  kernlens record -a --overwrite -e sched -e 'syscall_exit_fsync /ret < 0/ :snapshot'\n"
		"  kernlens record -a -e 'tp:mark_victim :alarm(\"no memory\")' --on-alarm 'wall \"$KERNLENS_ALARM\"'\n",
	.exec = exec_record,
};
