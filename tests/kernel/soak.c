// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions of all kinds come, change and go while the machine is busy: soak SECONDS [SEED]. Each
 * actor makes one session after the other with random probe points, filters, handlers, variables,
 * sizes and readers, changes it while it runs, and checks at its end that each record is accounted
 * for and could be decoded. Runs in the guest as root; tests/kernel/soak keeps the machine busy.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <kernlens/internal.h>
#include <kernlens/plan.h>

#define ACTORS 3
#define READERS 3

/* What a session may request: lists as passed to -e. */
static const char *const places[] = {
	"sched",
	"syscalls",
	"default",
	"irq:count",
	"kmem_*",
	"sched_switch /next_tid > 2 && prev_comm != \"ksoftirqd*\"/",
	"sched_switch :count by cpu,next_tid",
	"syscall_exit_read :hist(ret) by pid",
	"syscall_exit_* /ret < 0/ :sum(ret) by tid",
	"syscall_entry_openat :set(opening),syscall_exit_openat :clear(opening),"
	"kmem_cache_alloc /flag(opening)/",
	"sched_process_fork :use(RALL),sched_process_exit :use(RDEFAULT)",
	"sched_process_exit :freeze(100)",
	"tick:97",
	"tp:sched_switch,tp:9p_client_req",
	"fn:vfs_read,fn:vfs_read:ret",
	"fn:vfs_* :count by comm",
	"fn:kfree /arg1 != 0/ :count",
	"syscall_entry_execve :alarm(\"a program\")",
	"uprobe:/bin/bash:main",
	"syscall_exit_write /ret > 0/ :largest(ret, 3)", /* of a module that comes and goes */
};

static const char *const variables[] = { "pid",	  "rss",	"free_memory", "nice",
					 "state", "min_faults", "comm",	       "cpu",
					 "uid",	  "start_time", "load_1",      "in_irq" };

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct totals {
	unsigned long sessions, changes, readers, without;
	uint64_t written, lost, read, missed;
};

struct actor {
	pthread_t thread;
	unsigned int seed;
	unsigned int number;
	struct totals totals;
	char why[512]; /* of the first failure */
};

struct reader {
	struct kl_reader *reader;
	struct kl_live *live;
	bool from_start;
	bool slow;
	uint64_t last[64]; /* time of the last event, by CPU */
	uint64_t decoded;
};

struct run {
	struct actor *actor;
	struct kl_schema *schema;
	struct kl_device *device;
	struct kl_session *session;
	struct kl_plan *plan;
	struct kl_timebase timebase;
	struct kl_abi_session config;
	struct reader readers[READERS];
};

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

static time_t deadline;

static unsigned int below(struct actor *a, unsigned int n)
{
	return (unsigned int)rand_r(&a->seed) % n;
}

static void nap(unsigned int ms)
{
	struct timespec time = { .tv_nsec = ms * 1000000l };

	nanosleep(&time, NULL);
}

static int fail(struct actor *a, const char *what)
{
	if (!*a->why)
		snprintf(a->why, sizeof(a->why), "session %lu: %s: %s", a->totals.sessions, what,
			 kl_error_text());
	return -1;
}

/* ---------------------------------------------------------------- readers */

static int join(struct run *run, struct reader *r, bool from_start)
{
	struct actor *a = run->actor;
	bool hold = from_start && run->config.mode == KL_MODE_DISCARD && below(a, 2);
	uint32_t flags = (hold ? KL_READER_HOLD : 0) | (from_start ? 0 : KL_READER_FROM_NOW);
	int fd = kl_session_reader(run->session, flags);

	if (fd < 0)
		return fail(a, "a reader");
	memset(r, 0, sizeof(*r));
	r->from_start = from_start;
	r->slow = !below(a, 3);
	r->reader = kl_reader_create(fd, kl_device_info(run->device)->cpus,
				     kl_session_block_bytes(run->session),
				     below(a, 2) ? KL_BACKEND_MMAP : KL_BACKEND_READ);
	if (!r->reader)
		return fail(a, "kl_reader_create");
	r->live = kl_live_create(r->reader, run->schema, &run->timebase);
	a->totals.readers++;
	return r->live ? 0 : fail(a, "kl_live_create");
}

static void leave(struct reader *r)
{
	kl_live_destroy(r->live);
	kl_reader_destroy(r->reader);
	memset(r, 0, sizeof(*r));
}

static int take_events(struct run *run, struct reader *r, uint64_t now, unsigned long most)
{
	struct kl_item item;
	int got = 1;

	while (most-- && (got = kl_live_next(r->live, now, &item)) > 0) {
		const struct kl_event *event = item.event;

		if (item.kind != KL_ITEM_EVENT)
			continue;
		r->decoded++;
		if (!event->event_class || event->cpu >= COUNT(r->last))
			return fail(run->actor, "an event of no class or CPU");
		if (event->cycles < r->last[event->cpu])
			return fail(run->actor, "time goes back");
		r->last[event->cpu] = event->cycles;
	}
	return got < 0 ? fail(run->actor, "kl_live_next") : 0;
}

static int look(struct run *run)
{
	struct kl_abi_time time;

	for (unsigned int i = 0; i < READERS; i++) {
		struct reader *r = &run->readers[i];

		if (!r->live || (r->slow && below(run->actor, 8)))
			continue;
		if (kl_device_time(run->device, &time))
			return fail(run->actor, "kl_device_time");
		if (take_events(run, r, time.cycles, 20000))
			return -1;
	}
	return 0;
}

/* ----------------------------------------------------------------- set up */

/*
 * A list that names a handler which is not loaded at the moment is not a failure: the actor takes
 * another list.
 */
static bool is_handler_gone(struct kl_session *session)
{
	return strstr(kl_error_text(),
		      session ? "no module provides the handler" : "unknown handler \"largest\"");
}

/* Nor is a list that needs the kernel's types on a kernel without them. */
static bool is_untyped(void)
{
	return strstr(kl_error_text(), KERNEL_TYPES) && access(KERNEL_TYPES, R_OK);
}

static int make_plan(struct run *run)
{
	struct actor *a = run->actor;
	unsigned int lists = 1 + below(a, 3);

	run->plan = kl_plan_create(run->schema);
	if (!run->plan)
		return fail(a, "kl_plan_create");
	for (unsigned int i = 0; i < lists; i++)
		if (kl_plan_add(run->plan, places[below(a, COUNT(places))], KL_HANDLER_log))
			return fail(a, "kl_plan_add");
	if (!kl_plan_compile(run->plan))
		return 0;
	return is_handler_gone(NULL) || is_untyped() ? 1 : fail(a, "kl_plan_compile");
}

/* Removes events that this kernel lacks. */
static void leave_out_absent(struct run *run)
{
	uint8_t *map = kl_plan_map(run->plan);
	struct kl_abi_event_info info;

	for (uint32_t id = 0; id < KL_EV_MAX; id++)
		if (map[id] && (kl_device_event(run->device, id, &info) || info.absent))
			map[id] = KL_HANDLER_nothing;
}

static int make_variables(struct run *run)
{
	struct actor *a = run->actor;
	struct kl_abi_variables list = {};

	for (unsigned int i = 0; i < COUNT(variables); i++) {
		const struct kl_variable *row = kl_variable_find(variables[i]);

		if (!row || below(a, 3))
			continue;
		if (kl_schema_add_variable(run->schema, row) < 0)
			return fail(a, "kl_schema_add_variable");
		list.variable[list.n++].variable = row->id;
	}
	if (list.n && kl_session_variables(run->session, &list))
		return fail(a, "kl_session_variables");
	return 0;
}

static int make_filter(struct run *run)
{
	switch (below(run->actor, 4)) {
	case 0:
		if (kl_session_filter(run->session, KL_FILTER_TASKS, 0))
			return fail(run->actor, "kl_session_filter");
		if (kl_session_tasks(run->session, getppid(),
				     KL_TASK_ADD | KL_TASK_TREE | KL_TASK_INHERIT) < 0)
			return fail(run->actor, "kl_session_tasks");
		return 0;
	case 1:
		return kl_session_filter(run->session, KL_FILTER_UID, 0) ?
			       fail(run->actor, "kl_session_filter") :
			       0;
	}
	return 0;
}

static int set_up(struct run *run)
{
	struct actor *a = run->actor;
	struct kl_abi_time time;
	int ret;

	run->device = kl_device_open(NULL);
	run->schema = kl_schema_create();
	if (!run->device || !run->schema || kl_device_time(run->device, &time) ||
	    kl_timebase_fit(&run->timebase, &time, &time))
		return fail(a, "the device");
	run->config.mode = below(a, 2);
	run->config.block_bytes = 4096u << below(a, 5);
	run->config.blocks = 4 + below(a, 29);
	run->config.blocks_max = 64;
	snprintf(run->config.name, sizeof(run->config.name), "soak %u", a->number);
	run->session = kl_session_create(run->device, &run->config);
	if (!run->session)
		return fail(a, "kl_session_create");
	ret = make_plan(run);
	if (ret)
		return ret;
	if (make_variables(run))
		return -1;
	leave_out_absent(run);
	if (kl_plan_apply(run->plan, run->session))
		return is_handler_gone(run->session) ? 1 : fail(a, "kl_plan_apply");
	if (make_filter(run) || join(run, &run->readers[0], true))
		return -1;
	return kl_session_start(run->session) ? fail(a, "kl_session_start") : 0;
}

/* ---------------------------------------------------------------- changes */

static int change(struct run *run)
{
	struct actor *a = run->actor;
	struct reader *r = &run->readers[1 + below(a, READERS - 1)];
	uint64_t records;

	a->totals.changes++;
	switch (below(a, 9)) {
	case 0:
		return kl_session_resize(run->session, 4 + below(a, 61)) ? fail(a, "resize") : 0;
	case 1:
		return kl_session_use_maskset(run->session, below(a, 4)) ? fail(a, "use") : 0;
	case 2:
		return kl_session_use_maskset(run->session, KL_MASKSET_FIRST_USER) ?
			       fail(a, "use") :
			       0;
	case 3:
		if (kl_session_stop(run->session))
			return fail(a, "stop");
		return kl_session_start(run->session) ? fail(a, "start again") : 0;
	case 4:
		return kl_session_dump(run->session, KL_DUMP_PROCESSES, &records) < 0 ?
			       fail(a, "dump") :
			       0;
	case 5:
	case 6:
		if (r->live) {
			leave(r);
			return 0;
		}
		return join(run, r, below(a, 2));
	case 7:
		for (unsigned int i = 0; kl_plan_rule(run->plan, i); i++) {
			const struct kl_plan_rule *rule = kl_plan_rule(run->plan, i);
			struct kl_aggregate aggregate;

			if (kl_session_aggregate(run->session, rule->number,
						 kl_device_info(run->device)->cpus, rule->n_keys,
						 &aggregate))
				return fail(a, "kl_session_aggregate");
			kl_aggregate_deinit(&aggregate);
		}
		return 0;
	default:
		return 0;
	}
}

/* ------------------------------------------------------- end of a session */

/* The first reader has existed since the start: it has read or missed every record. */
static int settle(struct run *run)
{
	struct reader *r = &run->readers[0];
	struct totals *totals = &run->actor->totals;
	struct kl_reader_counts counts;
	struct kl_abi_stats stats;

	if (kl_session_stop(run->session))
		return fail(run->actor, "stop at the end");
	if (take_events(run, r, UINT64_MAX, ~0ul))
		return -1;
	if (kl_session_stats(run->session, -1, &stats))
		return fail(run->actor, "kl_session_stats");
	kl_reader_counts(r->reader, &counts);
	totals->written += stats.written;
	totals->lost += stats.lost;
	totals->read += counts.read;
	totals->missed += counts.missed;
	if (counts.bad || counts.read + counts.missed != stats.written ||
	    counts.read != r->decoded) {
		snprintf(run->actor->why, sizeof(run->actor->why),
			 "session %lu, mode %u, block %u: written %llu, read %lu, missed %lu, "
			 "decoded %lu, bad blocks %lu",
			 totals->sessions, run->config.mode, run->config.block_bytes,
			 (unsigned long long)stats.written, counts.read, counts.missed, r->decoded,
			 counts.bad);
		return -1;
	}
	return 0;
}

static void tear_down(struct run *run)
{
	for (unsigned int i = 0; i < READERS; i++)
		leave(&run->readers[i]);
	kl_session_close(run->session);
	kl_device_close(run->device);
	kl_plan_destroy(run->plan);
	kl_schema_destroy(run->schema);
}

static void *act(void *argument)
{
	struct actor *a = argument;

	while (!*a->why && time(NULL) < deadline) {
		struct run run = { .actor = a };
		unsigned int steps = 5 + below(a, 40);
		int ret;

		a->totals.sessions++;
		ret = set_up(&run);
		a->totals.without += ret > 0;
		if (!ret) {
			while (steps-- && !*a->why && !change(&run) && !look(&run))
				nap(below(a, 30));
			if (!*a->why)
				settle(&run);
		}
		tear_down(&run);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct actor actors[ACTORS];
	unsigned long seconds = argc > 1 ? strtoul(argv[1], NULL, 0) : 10;
	unsigned int seed = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 0) : 1;
	struct totals all = {};
	bool ok = true;

	deadline = time(NULL) + (time_t)seconds;
	for (unsigned int i = 0; i < ACTORS; i++) {
		actors[i].seed = seed * ACTORS + i;
		actors[i].number = i;
		pthread_create(&actors[i].thread, NULL, act, &actors[i]);
	}
	for (unsigned int i = 0; i < ACTORS; i++) {
		struct totals *t = &actors[i].totals;

		pthread_join(actors[i].thread, NULL);
		if (*actors[i].why)
			printf("# actor %u: %s\n", i, actors[i].why);
		ok = ok && !*actors[i].why;
		all.sessions += t->sessions;
		all.changes += t->changes;
		all.readers += t->readers;
		all.without += t->without;
		all.written += t->written;
		all.lost += t->lost;
		all.read += t->read;
		all.missed += t->missed;
	}
	printf("# %lu sessions (%lu without what they need), %lu changes, %lu readers; written %lu, "
	       "lost %lu, read %lu, missed %lu\n",
	       all.sessions, all.without, all.changes, all.readers, all.written, all.lost, all.read,
	       all.missed);
	printf("%s 1 - every record of every session is accounted for and decoded\n",
	       ok ? "ok" : "not ok");
	printf("%s 2 - there was something to account for\n",
	       all.sessions >= 3 && all.read > 1000 ? "ok" : "not ok");
	printf("1..2\n");
	return !ok || all.sessions < 3 || all.read <= 1000;
}
