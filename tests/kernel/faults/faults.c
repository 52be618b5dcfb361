// SPDX-License-Identifier: GPL-2.0
/*
 * Makes every allocation and every user-space copy inside each call of the device fail once: the
 * first, then the second, and so on until the call succeeds. After each failure the state is as
 * before, and the same call then succeeds. Runs as root on a kernel with fault injection, with
 * kl_stimulus.ko loaded (vm/debug-kernel); KASAN, lockdep and kmemleak watch.
 */
#include <sys/resource.h>
#include <sys/syscall.h>

#include "../../unit/failing.h"
#include "faults.h"

/* Masksets of the session under test. */
enum {
	LOGGING = 3,
	OTHER,
	COUNTING,
	UNWRITTEN,
};

/* Events from each kind of source; 0 ends a list. */
static const u32 logged[] = { KL_EV_sched_switch,
			      KL_EV_sched_waking,
			      KL_EV_die,
			      KL_EV_panic,
			      KL_EV_lttng_statedump_process_state,
			      KL_EV_SYSCALL_ENTRY + SYS_openat,
			      KL_EV_SYSCALL_EXIT + SYS_openat,
			      KL_EV_rwsem_down_read,
			      0 };
static const u32 others[] = { KL_EV_sched_switch, KL_EV_sched_process_exit, KL_EV_rwsem_up_read,
			      KL_EV_SYSCALL_EXIT + SYS_openat, 0 };

static int stimulus, fail_nth;
static u32 injected;

/* ---------------------------------------------------------- fault injection */

/* Makes the @nth fault point of this thread fail; 0: none. */
static void fail(u32 nth)
{
	if (!failing_at(fail_nth, nth))
		bail("writing fail-nth");
}

/* Stops failing. Returns how many fault points were left before the one that was to fail. */
static u32 stop_failing(void)
{
	int left = failing_end(fail_nth);

	if (left < 0)
		bail("writing fail-nth");
	return left;
}

/* ------------------------------------------------------------------- reasons */

/* All of the module's errors that must be seen. */
static struct {
	const char *text;
	u32 seen;
} reasons[] = {
	{ "no memory for a session", 0 },
	{ "no memory for the call", 0 },
	{ "no memory for 4 blocks of", 0 },
	{ "no memory for 32 blocks of", 0 },
	{ "no memory for maskset", 0 },
	{ "no memory for counters", 0 },
	{ "no memory for a set of tasks", 0 },
	{ "no memory to attach", 0 },
	{ "no memory to hook function", 0 },
	{ "no memory for a reader", 0 },
	{ "no memory for a state dump", 0 },
	{ "cannot create a reader's descriptor", 0 },
	{ "cannot attach to tracepoint", 0 },
	{ "cannot attach to sys_enter", 0 },
	{ "cannot attach to sys_exit", 0 },
	{ "cannot hook function", 0 },
	{ "cannot follow forks", 0 },
	{ "cannot read the argument from user memory", 0 },
	{ "cannot write the result to user memory", 0 },
};

static void note_reason(const char *why)
{
	for (u32 i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (strstr(why, reasons[i].text))
			reasons[i].seen++;
}

/* ------------------------------------------------------------------ the calls */

struct kl_abi_status status_of(struct world *w)
{
	struct kl_abi_status status = { .size = sizeof(status) };

	for (; !kl_call(w->second, KL_IOC_STATUS, &status); status.index++)
		if (status.id == w->id)
			return status;
	bail("session %u is not in the list", w->id);
}

static int do_open(struct world *w)
{
	w->made = open(KL_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	return w->made < 0 ? -errno : w->made;
}

static int do_session(struct world *w)
{
	struct kl_abi_session params = { .blocks = 8, .block_bytes = 4096, .blocks_max = 64 };
	int error = kl_session(w->fd, &params);

	w->id = params.id;
	return error;
}

/* Blocks of several pages, which need not be contiguous. */
static int do_large_session(struct world *w)
{
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 65536 };

	return kl_session(w->fd, &params);
}

static bool has_no_session(struct world *w)
{
	return kl_info(w->second).sessions == 0;
}

static int do_attach(struct world *w)
{
	struct kl_abi_attach attach = { .size = sizeof(attach), .id = w->id };

	return kl_call(w->second, KL_IOC_ATTACH, &attach);
}

static int do_maskset_write(struct world *w)
{
	struct kl_abi_maskset *m = (void *)w->answer;

	memset(m, 0, sizeof(*m));
	m->size = sizeof(*m);
	m->id = UNWRITTEN;
	m->handler[KL_EV_sched_switch] = KL_HANDLER_log;
	return kl_call(w->fd, KL_IOC_MASKSET_WRITE, m);
}

static int do_maskset_read(struct world *w)
{
	struct kl_abi_maskset *m = (void *)w->answer;

	m->size = sizeof(*m);
	m->id = LOGGING;
	return kl_call(w->fd, KL_IOC_MASKSET_READ, m);
}

static bool is_unwritten(struct world *w)
{
	struct kl_abi_maskset *m = (void *)w->answer;

	m->size = sizeof(*m);
	m->id = UNWRITTEN;
	return kl_call(w->fd, KL_IOC_MASKSET_READ, m) == -ENOENT;
}

static int do_use_other(struct world *w)
{
	return kl_use(w->fd, OTHER);
}

static int do_use_counting(struct world *w)
{
	return kl_use(w->fd, COUNTING);
}

static bool uses_nothing(struct world *w)
{
	return status_of(w).maskset == KL_MASKSET_RNOTHING;
}

/* Is the session running as before, with all its probes and hooks attached and no others? */
static bool runs(struct world *w)
{
	struct kl_abi_status status = status_of(w);

	return status.running && status.maskset == LOGGING && status.events == 8;
}

static bool runs_with_its_blocks(struct world *w)
{
	return runs(w) && status_of(w).blocks == 8;
}

static int do_filter(struct world *w)
{
	return kl_filter(w->fd, KL_FILTER_TASKS, 0);
}

static int do_tasks(struct world *w)
{
	return kl_tasks(w->fd, getpid(), KL_TASK_ADD | KL_TASK_INHERIT);
}

static int do_tree(struct world *w)
{
	return kl_tasks(w->fd, 1, KL_TASK_ADD | KL_TASK_TREE);
}

static int do_start(struct world *w)
{
	return kl_start(w->fd);
}

static int do_start_all(struct world *w)
{
	int error = kl_use(w->fd, KL_MASKSET_RALL);

	return error ? error : kl_start(w->fd);
}

static bool stands_still(struct world *w)
{
	struct kl_abi_status status = status_of(w);

	return !status.running && !status.events;
}

static int do_stop(struct world *w)
{
	return kl_stop(w->fd);
}

static int do_more(struct world *w)
{
	return kl_resize(w->fd, 32);
}

static int do_fewer(struct world *w)
{
	return kl_resize(w->fd, 4);
}

static int do_reader(struct world *w)
{
	return kl_reader(w->fd, 0);
}

static int do_holder(struct world *w)
{
	return kl_reader(w->fd, KL_READER_HOLD);
}

static bool has_no_reader(struct world *w)
{
	return kl_stats(w->fd, -1).readers == 0;
}

/* Reads and maps the available blocks; some fault points come after the reader's creation. */
static int do_read(struct world *w)
{
	static u8 buffer[65536];
	int reader = kl_reader(w->fd, KL_READER_HOLD);
	ssize_t got;
	void *at;

	if (reader < 0)
		return reader;
	at = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_POPULATE, reader, KL_MMAP_RING(0));
	if (at != MAP_FAILED)
		munmap(at, 4096);
	at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, reader, KL_MMAP_BLOCK(0, 0, 4096));
	if (at != MAP_FAILED)
		munmap(at, 4096);
	fcntl(reader, F_SETFL, O_NONBLOCK);
	do
		got = read(reader, buffer, sizeof(buffer));
	while (got > 0);
	got = got < 0 && errno != EAGAIN ? -errno : 0;
	close(reader);
	return got;
}

static int do_dump(struct world *w)
{
	struct kl_abi_dump dump = { .size = sizeof(dump),
				    .what = KL_DUMP_PROCESSES | KL_DUMP_FILES | KL_DUMP_MAPPINGS };

	return kl_call(w->fd, KL_IOC_DUMP, &dump);
}

static int do_questions(struct world *w)
{
	struct kl_abi_info info = { .size = sizeof(info) };
	struct kl_abi_time time = { .size = sizeof(time) };
	struct kl_abi_event_info event = { .size = sizeof(event), .id = KL_EV_sched_switch };
	struct kl_abi_stats stats = { .size = sizeof(stats), .cpu = -1 };
	struct kl_abi_counts *counts = (void *)w->answer;
	int error = kl_call(w->fd, KL_IOC_INFO, &info);

	counts->size = sizeof(*counts);
	error = error ? error : kl_call(w->fd, KL_IOC_TIME, &time);
	error = error ? error : kl_call(w->fd, KL_IOC_EVENT_INFO, &event);
	error = error ? error : kl_call(w->fd, KL_IOC_STATS, &stats);
	return error ? error : kl_call(w->fd, KL_IOC_COUNTS, counts);
}

/* A followed task's child is added to the set, or counted as not added. */
static int do_fork(struct world *w)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	if (child < 0)
		return -errno;
	waitpid(child, NULL, 0);
	return 0;
}

static int do_close(struct world *w)
{
	int error = close(w->fd) ? -errno : 0;

	w->fd = -1;
	return error;
}

static const struct call calls[] = {
	{ "open", NOTHING, do_open, has_no_session, 0, NULL },
	{ "questions", MADE, do_questions, NULL, 0, NULL },
	{ "session", OPENED, do_session, has_no_session, 0, NULL },
	{ "session of large blocks", OPENED, do_large_session, has_no_session, 0, NULL },
	{ "attach", MADE, do_attach, NULL, 0, NULL },
	{ "maskset write", MADE, do_maskset_write, is_unwritten, 0, NULL },
	{ "maskset read", MADE, do_maskset_read, NULL, 0, NULL },
	{ "use", MADE, do_use_other, uses_nothing, 0, NULL },
	{ "use of counters", MADE, do_use_counting, uses_nothing, 0, NULL },
	{ "filter", MADE, do_filter, stands_still, 0, NULL },
	{ "tasks", FOLLOWING, do_tasks, stands_still, 0, NULL },
	{ "tasks, a tree", FOLLOWING, do_tree, stands_still, 0, NULL },
	{ "start", USED, do_start, stands_still, 0, NULL },
	{ "start of RALL", MADE, do_start_all, stands_still, 8, NULL },
	{ "use while running", RUNNING, do_use_other, runs, 0, NULL },
	{ "counters while running", RUNNING, do_use_counting, runs, 0, NULL },
	{ "more blocks", RUNNING, do_more, runs_with_its_blocks, 0, NULL },
	{ "fewer blocks", RUNNING, do_fewer, runs_with_its_blocks, 0, NULL },
	{ "reader", RUNNING, do_reader, has_no_reader, 0, NULL },
	{ "holding reader", RUNNING, do_holder, has_no_reader, 0, NULL },
	{ "read and map", RUNNING, do_read, has_no_reader, 0, NULL },
	{ "state dump", RUNNING, do_dump, runs, 0, NULL },
	{ "fork of a followed task", RUNNING, do_fork, NULL, 60, NULL },
	{ "stop", RUNNING, do_stop, NULL, 0, NULL },
	{ "close", RUNNING, do_close, NULL, 0, NULL },
};

/* Does not use the maskset: the first use is one of the calls. */
static int write_maskset(int fd, u32 id, u8 handler, const u32 *events)
{
	struct kl_abi_maskset m = { .size = sizeof(m), .id = id };

	for (; *events; events++)
		m.handler[*events] = handler;
	return kl_call(fd, KL_IOC_MASKSET_WRITE, &m);
}

static struct world make_world(enum level level)
{
	struct world w = { .fd = -1, .second = kl_open(), .made = -1 };

	if (level >= OPENED)
		w.fd = kl_open();
	if (level >= MADE &&
	    (do_session(&w) || write_maskset(w.fd, LOGGING, KL_HANDLER_log, logged) ||
	     write_maskset(w.fd, OTHER, KL_HANDLER_log, others) ||
	     write_maskset(w.fd, COUNTING, KL_HANDLER_count, others)))
		bail("session: %s", kl_why(w.fd));
	if (level >= FOLLOWING && do_filter(&w))
		bail("filter: %s", kl_why(w.fd));
	if (level >= USED && (do_tasks(&w) || kl_use(w.fd, LOGGING)))
		bail("use: %s", kl_why(w.fd));
	if (level >= RUNNING && kl_start(w.fd))
		bail("start: %s", kl_why(w.fd));
	return w;
}

static void end_world(struct world *w)
{
	if (w->made >= 0)
		close(w->made);
	if (w->fd >= 0)
		close(w->fd);
	close(w->second);
}

/*
 * Makes one call with its @nth fault point failing. Returns whether it has so many. @wrong is set
 * if the call did not fail cleanly, or does not work afterwards.
 */
static bool try_place(const struct call *call, u32 nth, char wrong[200])
{
	struct world w = make_world(call->level);
	int result, again;
	bool reached;

	if (call->prepare)
		call->prepare(&w);
	fail(nth);
	result = call->run(&w);
	reached = !stop_failing();
	if (result >= 0)
		w.made = result ? result : -1;
	if (result < 0 && w.fd >= 0)
		note_reason(kl_why(w.fd));
	if (result < 0 && !reached)
		snprintf(wrong, 200, "place %u: fails by itself: %d", nth, result);
	else if (result < 0 && result != -ENOMEM && result != -EFAULT && result != -EAGAIN)
		snprintf(wrong, 200, "place %u: error %d: %s", nth, result, kl_why(w.fd));
	else if (result == -ENOMEM && call->undone && !call->undone(&w))
		snprintf(wrong, 200, "place %u: not undone: %s", nth, kl_why(w.fd));
	if (result == -ENOMEM && !wrong[0]) {
		again = call->run(&w);
		if (again < 0)
			snprintf(wrong, 200, "place %u: then fails with %d: %s", nth, again,
				 kl_why(w.fd));
		w.made = again > 0 ? again : -1;
	}
	injected += reached;
	end_world(&w);
	return reached;
}

static void test_call(const struct call *call)
{
	u32 hooks = hooks_now(), probes = probes_now(stimulus), nth = 1;
	u32 step = 1;
	char wrong[200] = "";
	double begun = now_seconds();

	/* The first run may create objects that stay. */
	while (try_place(call, nth, wrong) && !wrong[0] && nth < 5000) {
		/* In a long call, tries the first fault points one by one, then fewer and fewer. */
		if (call->most && nth >= call->most)
			step *= 2;
		nth += step;
	}
	tap_result(!wrong[0], call->name, "%s", wrong);
	printf("# %s: %u places, %.1f s\n", call->name, nth - 1, now_seconds() - begun);
	if (hooks_now() != hooks || probes_now(stimulus) != probes)
		tap_result(false, call->name, "%u hooks, %u before; %u probes, %u before",
			   hooks_now(), hooks, probes_now(stimulus), probes);
}

/* Without a free descriptor no reader is created, and nothing of it is left behind. */
static void test_no_descriptor(void)
{
	struct world w = make_world(RUNNING);
	struct rlimit old, none = {};

	getrlimit(RLIMIT_NOFILE, &old);
	none.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_NOFILE, &none);
	tap_check(do_holder(&w) == -EMFILE && has_no_reader(&w), "reader without a descriptor");
	setrlimit(RLIMIT_NOFILE, &old);
	end_world(&w);
}

/*
 * Code that falls back to other memory when one fault point fails is reached only if no page is
 * free.
 */
static void test_no_pages(void)
{
	struct world w = make_world(MADE);
	int filter = open("/proc/self/make-it-fail", O_RDWR | O_CLOEXEC), error;

	/* From here on no page can be allocated in this process. */
	if (pwrite(filter, "1", 1, 0) != 1)
		bail("make-it-fail");
	error = do_use_counting(&w);
	if (pwrite(filter, "0", 1, 0) != 1)
		bail("make-it-fail");
	note_reason(kl_why(w.fd));
	tap_result(error == -ENOMEM && uses_nothing(&w) && !do_use_counting(&w),
		   "counters without a free page", "error %d: %s", error, kl_why(w.fd));
	close(filter);
	end_world(&w);
}

static bool all_seen(void)
{
	bool all = true;

	for (u32 i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		all &= reasons[i].seen > 0;
	return all;
}

/*
 * While an earlier session is still being torn down, one that starts shares what it would otherwise
 * allocate, and that place does not fail.
 */
static void start_again(void)
{
	for (u32 i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(calls[i].name, "start"))
			test_call(&calls[i]);
}

int main(int argc, char **argv)
{
	fail_nth = failing_open();
	if (fail_nth < 0)
		bail("not a kernel with fault injection");
	stimulus = open(KLS_DEVICE, O_RDWR | O_CLOEXEC);
	if (stimulus < 0)
		bail("cannot open " KLS_DEVICE);
	for (u32 i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (argc < 2 || !strcmp(argv[1], calls[i].name))
			test_call(&calls[i]);
	for (u32 i = 0; i < n_define_calls; i++)
		if (argc < 2 || !strcmp(argv[1], define_calls[i].name))
			test_call(&define_calls[i]);
	test_no_descriptor();
	test_no_pages();
	for (u32 i = 0; argc < 2 && i < 4 && !all_seen(); i++)
		start_again();
	printf("# %u faults\n", injected);
	for (u32 i = 0; argc < 2 && i < sizeof(reasons) / sizeof(*reasons); i++) {
		char name[100];

		snprintf(name, sizeof(name), "seen: %s", reasons[i].text);
		tap_check(reasons[i].seen, name);
	}
	return tap_end();
}
