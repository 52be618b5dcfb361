// SPDX-License-Identifier: GPL-2.0
/*
 * Nothing is lost silently: what the stimulus module fired is compared with what the rings report
 * as written and lost, with what each reader got and missed, and with a second session that only
 * counts. Runs in the guest as root with kl_stimulus.ko loaded: accounting RECORDS [hotplug].
 */
#include <pthread.h>

#include "../fire.h"
#include "../mapped.h"
#include "check_stream.h"

#define READERS_MAX 6
#define CPUS_MAX MAPPED_CPUS

enum back_end {
	BY_READ,
	BY_MAP
};

/**
 * struct reader_plan - how one reader behaves
 * @flags: KL_READER_*
 * @delay_ms: pause after each block
 * @late: it joins when half of the records have been fired
 */
struct reader_plan {
	const char *name;
	enum back_end by;
	u32 flags;
	u32 delay_ms;
	bool late;
};

struct scenario {
	const char *name;
	u32 mode;
	u32 block_bytes;
	u32 blocks;
	bool resizes;
	bool task_only;
	bool paced; /* slow enough that nothing needs to be lost */
	bool hotplug;
	struct reader_plan readers[READERS_MAX];
};

struct reader {
	const struct reader_plan *plan;
	struct run *run;
	pthread_t thread;
	int fd;
	struct stream streams[CPUS_MAX];
	u64 vanished;
	const char *fault;
};

struct run {
	const struct scenario *scenario;
	struct kl_abi_session session;
	u32 cpus;
	u32 sources;
	int fd;
	int counter; /* a session that counts the same events */
	int stimulus;
	u64 records;
	volatile bool stopped;
	struct reader readers[READERS_MAX];
	u32 reader_count;
	u64 resizes;
};

static const u32 events[] = { CHECK_EVENT_PLAIN, CHECK_EVENT_TEXT, 0 };

static u64 fired_by(const struct kls_counts *counts, u32 source)
{
	u64 sum = 0;

	for (u32 c = 0; c < KLS_CONTEXTS; c++)
		sum += counts->fired[source][c];
	return sum;
}

static u64 fired_by_all(const struct kls_counts *counts)
{
	u64 sum = 0;

	for (u32 i = 0; i < KLS_SOURCES; i++)
		sum += fired_by(counts, i);
	return sum;
}

/* ------------------------------------------------------------------ readers */

static bool take_block(struct reader *r, const struct kl_abi_block *block)
{
	if (block->cpu_id >= r->run->cpus) {
		r->fault = "a block of a CPU that there is not";
		return false;
	}
	if (!stream_take(&r->streams[block->cpu_id], block, &r->run->session)) {
		r->fault = r->streams[block->cpu_id].what;
		return false;
	}
	if (r->plan->delay_ms && !r->run->stopped)
		sleep_ms(r->plan->delay_ms);
	return true;
}

static void read_all(struct reader *r)
{
	u32 bytes = r->run->session.block_bytes, room = r->plan->delay_ms ? bytes : 8 * bytes;
	u8 *buffer = malloc(room);
	ssize_t got;

	while ((got = read(r->fd, buffer, room)) > 0) {
		if (got % bytes) {
			r->fault = "read() gives a part of a block";
			break;
		}
		for (ssize_t at = 0; at < got; at += bytes)
			if (!take_block(r, (const void *)(buffer + at)))
				goto out;
	}
	if (got < 0)
		r->fault = strerror(errno);
out:
	free(buffer);
}

static void map_all(struct reader *r)
{
	static __thread struct mapped m;
	u8 *copy = malloc(r->run->session.block_bytes);
	bool stopped, any;

	if (!mapped_open(&m, r->fd, r->run->cpus, r->run->session.block_bytes)) {
		r->fault = "mmap";
		free(copy);
		return;
	}
	do {
		struct pollfd poll_fd = { .fd = r->fd, .events = POLLIN };

		stopped = r->run->stopped;
		any = false;
		for (u32 cpu = 0; cpu < m.cpus && !r->fault; cpu++)
			while (mapped_next(&m, cpu, copy) && take_block(r, (const void *)copy))
				any = true;
		if (!any && !stopped)
			poll(&poll_fd, 1, 100);
	} while (!r->fault && (any || !stopped));
	r->vanished = m.vanished;
	mapped_close(&m);
	free(copy);
}

static void *run_reader(void *argument)
{
	struct reader *r = argument;
	struct run *run = r->run;

	if (r->plan->late) {
		while (fire_counts(run->stimulus).fired[0][KLS_TASK] < run->records / 2 &&
		       !run->stopped)
			sleep_ms(2);
		r->fd = kl_reader(run->fd, r->plan->flags);
		if (r->fd < 0) {
			r->fault = "cannot join late";
			return NULL;
		}
	}
	if (r->plan->by == BY_MAP)
		map_all(r);
	else
		read_all(r);
	return NULL;
}

/* ------------------------------------------------------- concurrent changes */

static void *run_resizer(void *argument)
{
	struct run *run = argument;
	static const u32 sizes[] = { 4, 24, 5, 32, 8, 16 };

	for (u32 i = 0; !run->stopped; i++) {
		if (kl_resize(run->fd, sizes[i % 6]))
			bail("KL_IOC_RESIZE: %s", kl_why(run->fd));
		run->resizes++;
		sleep_ms(3);
	}
	return NULL;
}

static void *run_hotplug(void *argument)
{
	struct run *run = argument;
	char path[64];

	for (u32 i = 0; !run->stopped; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online",
			 1 + i / 2 % (run->cpus - 1));
		if (!put_file(path, i % 2 ? "1" : "0"))
			bail("cannot write %s", path);
		run->resizes++;
		sleep_ms(50);
	}
	for (u32 i = 1; i < run->cpus; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", i);
		put_file(path, "1");
	}
	return NULL;
}

/* ------------------------------------------------------------------ the run */

static void set_up(struct run *run)
{
	const struct scenario *sc = run->scenario;
	struct kl_abi_session small = { .blocks = 4, .block_bytes = 4096 };

	run->fd = kl_open();
	run->cpus = kl_info(run->fd).cpus;
	if (run->cpus > CPUS_MAX)
		bail("%u CPUs", run->cpus);
	run->sources = sysconf(_SC_NPROCESSORS_ONLN);
	run->session = (struct kl_abi_session){
		.mode = sc->mode,
		.block_bytes = sc->block_bytes,
		.blocks = sc->blocks,
		.blocks_max = sc->blocks > 32 ? sc->blocks : 32,
	};
	if (kl_session(run->fd, &run->session) ||
	    kl_use_events(run->fd, KL_MASKSET_FIRST_USER, KL_HANDLER_log, events))
		bail("session: %s", kl_why(run->fd));
	run->counter = kl_open();
	if (kl_session(run->counter, &small) ||
	    kl_use_events(run->counter, KL_MASKSET_FIRST_USER, KL_HANDLER_count, events))
		bail("counting session: %s", kl_why(run->counter));
	for (const struct reader_plan *p = sc->readers; p->name; p++) {
		struct reader *r = &run->readers[run->reader_count++];

		r->plan = p;
		r->run = run;
		for (u32 cpu = 0; cpu < run->cpus; cpu++) {
			r->streams[cpu].cpu = cpu;
			r->streams[cpu].roaming = sc->hotplug;
			r->streams[cpu].exact = sc->task_only;
		}
		r->fd = p->late ? -1 : kl_reader(run->fd, p->flags);
		if (!p->late && r->fd < 0)
			bail("reader: %s", kl_why(run->fd));
	}
}

static struct kls_plan plan_of(const struct run *run)
{
	const struct scenario *sc = run->scenario;
	struct kls_plan plan = {
		.records = run->records,
		.cpus = (1ull << run->sources) - 1,
		.nested = 5,
		.burst = sc->paced ? 200 : 3000,
		.pause_us = sc->paced ? 2000 : 0,
		.string_every = 13,
	};

	if (sc->task_only)
		return plan;
	plan.softirq_every = 97;
	plan.irq_every = 61;
	plan.nmi_every = sc->hotplug ? 0 : 151;
	plan.timer_us = 500;
	return plan;
}

static void tear_down(struct run *run)
{
	for (u32 i = 0; i < run->reader_count; i++)
		if (run->readers[i].fd >= 0)
			close(run->readers[i].fd);
	close(run->counter);
	close(run->fd);
}

/* ----------------------------------------------------------------- verdicts */

static void result(const struct run *run, bool ok, const char *what, const char *detail)
{
	char name[160];

	snprintf(name, sizeof(name), "%s: %s", run->scenario->name, what);
	tap_result(ok, name, "%s", detail);
}

/* Checks that written + lost = fired on each CPU, and that the counting session agrees. */
static void check_rings(struct run *run, const struct kls_counts *counts)
{
	static struct kl_abi_counts counted;
	struct kl_abi_stats all = kl_stats(run->fd, -1);
	u64 fired = fired_by_all(counts);
	char detail[200] = "";
	bool ok = all.written + all.lost == fired;

	snprintf(detail, sizeof(detail), "fired %llu written %llu lost %llu",
		 (unsigned long long)fired, (unsigned long long)all.written,
		 (unsigned long long)all.lost);
	for (u32 cpu = 0; cpu < run->cpus && !run->scenario->hotplug && ok; cpu++) {
		struct kl_abi_stats stats = kl_stats(run->fd, cpu);

		ok = stats.written + stats.lost == fired_by(counts, cpu);
		if (!ok)
			snprintf(detail, sizeof(detail),
				 "CPU %u: fired %llu written %llu lost %llu", cpu,
				 (unsigned long long)fired_by(counts, cpu),
				 (unsigned long long)stats.written, (unsigned long long)stats.lost);
	}
	result(run, ok, "written + lost = fired on each CPU", detail);
	printf("# fired %llu (task %llu softirq %llu irq_work %llu timer %llu nmi %llu on CPU 0), "
	       "written %llu, lost %llu, blocks %llu, resizes %llu\n",
	       (unsigned long long)fired, (unsigned long long)counts->fired[0][KLS_TASK],
	       (unsigned long long)counts->fired[0][KLS_SOFTIRQ],
	       (unsigned long long)counts->fired[0][KLS_IRQ_WORK],
	       (unsigned long long)counts->fired[0][KLS_TIMER],
	       (unsigned long long)counts->fired[0][KLS_NMI], (unsigned long long)all.written,
	       (unsigned long long)all.lost, (unsigned long long)all.switches,
	       (unsigned long long)run->resizes);
	if (run->scenario->paced)
		result(run, !all.lost, "nothing is lost while readers keep up", detail);
	counted.size = sizeof(counted);
	if (kl_call(run->counter, KL_IOC_COUNTS, &counted))
		bail("KL_IOC_COUNTS");
	snprintf(detail, sizeof(detail), "fired %llu counted %llu + %llu",
		 (unsigned long long)fired, (unsigned long long)counted.count[CHECK_EVENT_PLAIN],
		 (unsigned long long)counted.count[CHECK_EVENT_TEXT]);
	result(run, counted.count[CHECK_EVENT_PLAIN] + counted.count[CHECK_EVENT_TEXT] == fired,
	       "the handler count counts all", detail);
}

/* Checks that read + missed + lost = fired, and that no record was wrong. */
static void check_reader(struct run *run, struct reader *r, const struct kls_counts *counts)
{
	struct kl_abi_stats all = kl_stats(run->fd, -1);
	u64 records = 0, missed = 0;
	char detail[300], name[100];
	bool ok = !r->fault, tids = true;

	for (u32 cpu = 0; cpu < run->cpus; cpu++) {
		struct stream *s = &r->streams[cpu];
		struct kl_abi_stats stats = kl_stats(run->fd, cpu);

		records += s->records;
		missed += s->missed;
		/* A ring may have written nothing. */
		ok = ok && s->records + s->missed == stats.written;
		for (u32 i = 0; i < KLS_SOURCES; i++)
			tids = tids && (!s->tid[i] || s->tid[i] == counts->tid[i]);
	}
	ok = ok && records + missed + all.lost == fired_by_all(counts);
	snprintf(detail, sizeof(detail), "%s: read %llu missed %llu lost %llu fired %llu",
		 r->fault ?: "sums", (unsigned long long)records, (unsigned long long)missed,
		 (unsigned long long)all.lost, (unsigned long long)fired_by_all(counts));
	snprintf(name, sizeof(name),
		 "%s: read + missed + lost = fired, in order, none twice or torn", r->plan->name);
	result(run, ok, name, detail);
	if (!tids)
		result(run, false, "thread ids are the threads'", r->plan->name);
	printf("# %s: read %llu, missed %llu, vanished %llu\n", r->plan->name,
	       (unsigned long long)records, (unsigned long long)missed,
	       (unsigned long long)r->vanished);
	if (r->plan->flags & KL_READER_HOLD && run->scenario->mode == KL_MODE_DISCARD) {
		snprintf(name, sizeof(name), "%s: a holding reader misses nothing", r->plan->name);
		result(run, !missed, name, detail);
	}
}

static void run_scenario(const struct scenario *sc, int stimulus, u64 records)
{
	struct run *run = calloc(1, sizeof(*run));
	pthread_t side;
	struct kls_counts counts;
	struct kls_plan plan;
	double begun = now_seconds();
	bool has_side = sc->resizes || sc->hotplug;

	run->scenario = sc;
	run->stimulus = stimulus;
	set_up(run);
	run->records = sc->paced ? records / 8 + 1000 : records;
	run->records /= run->sources;
	/* A reader of a session that is not running gets the available blocks and then the end. */
	if (kl_start(run->counter) || kl_start(run->fd))
		bail("start: %s", kl_why(run->fd));
	for (u32 i = 0; i < run->reader_count; i++)
		pthread_create(&run->readers[i].thread, NULL, run_reader, &run->readers[i]);
	if (has_side)
		pthread_create(&side, NULL, sc->hotplug ? run_hotplug : run_resizer, run);
	plan = plan_of(run);
	counts = fire_all(stimulus, &plan);
	if (kl_stop(run->counter) || kl_stop(run->fd))
		bail("stop");
	run->stopped = true;
	if (has_side)
		pthread_join(side, NULL);
	for (u32 i = 0; i < run->reader_count; i++)
		pthread_join(run->readers[i].thread, NULL);
	check_rings(run, &counts);
	for (u32 i = 0; i < run->reader_count; i++)
		check_reader(run, &run->readers[i], &counts);
	printf("# %.1f s\n", now_seconds() - begun);
	tear_down(run);
	free(run);
}

#define ALL_KINDS(hold)                                                                           \
	{                                                                                         \
		{ "read", BY_READ, hold, 0, false }, { "slow read", BY_READ, hold, 1, false },    \
			{ "mmap", BY_MAP, hold, 0, false }, { "late read", BY_READ, 0, 0, true }, \
			{ "late mmap", BY_MAP, KL_READER_FROM_NOW, 0, true },                     \
	}

static const struct scenario scenarios[] = {
	{ "discard, no holder", KL_MODE_DISCARD, 4096, 8, .readers = ALL_KINDS(0) },
	{ "discard, holders", KL_MODE_DISCARD, 8192, 8, .readers = ALL_KINDS(KL_READER_HOLD) },
	{ "discard, tasks only", KL_MODE_DISCARD, 4096, 8, .task_only = true,
	  .readers = ALL_KINDS(KL_READER_HOLD) },
	{ "discard, resized", KL_MODE_DISCARD, 4096, 16, .resizes = true,
	  .readers = ALL_KINDS(KL_READER_HOLD) },
	{ "discard, paced", KL_MODE_DISCARD, 65536, 64, .paced = true,
	  .readers = { { "mmap", BY_MAP, KL_READER_HOLD, 0, false } } },
	{ "overwrite", KL_MODE_OVERWRITE, 8192, 8, .readers = ALL_KINDS(0) },
	{ "overwrite, tasks only", KL_MODE_OVERWRITE, 4096, 8, .task_only = true,
	  .readers = ALL_KINDS(0) },
	{ "overwrite, resized", KL_MODE_OVERWRITE, 4096, 16, .resizes = true,
	  .readers = ALL_KINDS(0) },
};

static const struct scenario hotplug_scenarios[] = {
	{ "hotplug, discard", KL_MODE_DISCARD, 8192, 16, .hotplug = true,
	  .readers = ALL_KINDS(KL_READER_HOLD) },
	{ "hotplug, overwrite", KL_MODE_OVERWRITE, 8192, 16, .hotplug = true,
	  .readers = ALL_KINDS(0) },
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

int main(int argc, char **argv)
{
	u64 records = argc > 1 ? strtoull(argv[1], NULL, 0) : 100000;
	bool hotplug = argc > 2 && !strcmp(argv[2], "hotplug");
	int stimulus = open(KLS_DEVICE, O_RDWR);

	if (stimulus < 0)
		bail("cannot open " KLS_DEVICE);
	mapped_init();
	if (hotplug) {
		for (u32 i = 0; i < COUNT(hotplug_scenarios); i++)
			run_scenario(&hotplug_scenarios[i], stimulus, records / 2);
		return tap_end();
	}
	for (u32 i = 0; i < COUNT(scenarios); i++)
		run_scenario(&scenarios[i], stimulus, records / COUNT(scenarios));
	return tap_end();
}
