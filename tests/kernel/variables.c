// SPDX-License-Identifier: GPL-2.0
/*
 * The delta log reports the actual values: the stimulus module sets what variables read to values
 * that follow from each event's own fields, in tasks, softirqs, interrupts and NMIs. Every record
 * of two sessions, one with changes only and one with all values in full, is compared with these,
 * value by value. Runs in the guest as root with kl_stimulus.ko loaded: variables RECORDS.
 */
#include <pthread.h>

#include "fire.h"

#define EVENT_PLAIN 258 /* power_cpu_frequency: state, cpu_id */
#define EVENT_TEXT 262 /* suspend_resume: val, start, action */
#define CPUS_MAX 16

/* More than seven, so that the bitmap of changes needs a second byte. */
static const struct {
	u32 id;
	u32 bytes;
} wanted[] = {
	{ VARIABLE_timer_slack, 8 }, { VARIABLE_cpu, 4 },	   { VARIABLE_min_faults, 8 },
	{ VARIABLE_in_irq, 1 },	     { VARIABLE_comm, 16 },	   { VARIABLE_maj_faults, 8 },
	{ VARIABLE_tid, 4 },	     { VARIABLE_parent_comm, 16 }, { VARIABLE_nice, 1 },
	{ VARIABLE_pid, 4 },	     { VARIABLE_next_tid, 4 },
};

#define VARIABLES (sizeof(wanted) / sizeof(*wanted))
#define PREFIX (8 + KL_CHANGED_BYTES(VARIABLES))

struct scenario {
	const char *name;
	u32 mode;
	u32 block_bytes;
	u32 blocks;
	u32 delay_ms; /* the reader's delay after each read */
};

/* A reader's knowledge of a CPU's variables. */
struct state {
	struct kl_abi_task task;
	union {
		u64 number;
		char text[16];
	} value[VARIABLES];
};

struct reader {
	const char *name;
	int session_fd;
	int fd;
	bool late;
	u32 flags;
	u32 delay_ms;
	volatile bool *stopped;
	int stimulus;
	u64 records_planned;
	pthread_t thread;
	struct kl_abi_session session;
	struct state state[CPUS_MAX];
	u64 records;
	u64 by_context[KLS_CONTEXTS];
	u64 bytes;
	u64 values; /* number of values in records */
	char what[200];
};

__attribute__((format(printf, 2, 3))) static bool fault(struct reader *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!r->what[0])
		vsnprintf(r->what, sizeof(r->what), format, args);
	va_end(args);
	return false;
}

/*
 * Parses the variables of the record at @at. Returns the position of its fields, NULL on a fault.
 */
static const u8 *take_values(struct reader *r, struct state *state, const u8 *at, bool first)
{
	u64 changed = 0, all = (2ull << VARIABLES) - 1;

	for (u32 i = 8; i < PREFIX; i++)
		changed |= (u64)at[i] << 8 * (i - 8);
	at += PREFIX;
	if (changed & ~all || (first && changed != all)) {
		fault(r, "changed %#llx in the %s record of a block", (unsigned long long)changed,
		      first ? "first" : "a later");
		return NULL;
	}
	if (changed & KL_CHANGED_TASK) {
		memcpy(&state->task, at, sizeof(state->task));
		at += sizeof(state->task);
	}
	for (u32 i = 0; i < VARIABLES; i++) {
		if (!(changed & 2ull << i))
			continue;
		memset(&state->value[i], 0, sizeof(state->value[i]));
		memcpy(&state->value[i], at, wanted[i].bytes);
		at += wanted[i].bytes;
		r->values++;
	}
	return at;
}

/*
 * The parent of the stimulus module's threads is kthreadd, whose name one CPU may read while an
 * event in an interrupt of kthreadd has changed it on another. Each half is read at once.
 */
static bool is_parent(const char name[16])
{
	char varied[16];

	memset(varied, name[0], 8);
	memset(varied + 8, name[8], 8);
	varied[15] = 0;
	return (!memcmp(name, "kthreadd", 8) || !memcmp(name, varied, 8)) &&
	       !memcmp(name + 8, varied + 8, 8);
}

/* Does the reader's state agree with what the event states about itself? */
static bool check_values(struct reader *r, const struct state *state, u32 cpu, u32 context,
			 u32 number)
{
	static const u64 levels[KLS_CONTEXTS] = { 0, 1, 2, 2, 3 };
	u64 expected[VARIABLES] = {
		[0] = kls_value(KLS_TIMER_SLACK, cpu, context, number),
		[1] = cpu,
		[2] = kls_value(KLS_MIN_FAULTS, cpu, context, number),
		[3] = levels[context],
		[5] = kls_value(KLS_MAJ_FAULTS, cpu, context, number),
		[6] = (u32)state->task.tid,
		[9] = (u32)state->task.pid,
		/*
		 * A probe keeps it for each CPU: outside of a switch it is the running task. Only
		 * an NMI may interrupt a switch.
		 */
		[10] = context == KLS_NMI ? state->value[10].number : (u32)state->task.tid,
	};
	char name[16];

	for (u32 i = 0; i < VARIABLES; i++)
		if (wanted[i].id != VARIABLE_comm && wanted[i].id != VARIABLE_parent_comm &&
		    wanted[i].id != VARIABLE_nice && state->value[i].number != expected[i])
			return fault(r,
				     "CPU %u context %u number %u: variable %u is %#llx, not %#llx",
				     cpu, context, number, wanted[i].id,
				     (unsigned long long)state->value[i].number,
				     (unsigned long long)expected[i]);
	kls_name(context, number, name);
	if (memcmp(name, state->value[4].text, 16) || memcmp(name, state->task.comm, 16))
		return fault(r, "CPU %u context %u number %u: names %.16s %.16s, not %.16s", cpu,
			     context, number, state->value[4].text, state->task.comm, name);
	if (context == KLS_TASK && !is_parent(state->value[7].text))
		return fault(r, "the parent is %.16s", state->value[7].text);
	r->by_context[context]++;
	r->records++;
	return true;
}

/* Parses one record. Returns its size, 0 on a fault. */
static u32 take_record(struct reader *r, const struct kl_abi_block *block, const u8 *at, bool first)
{
	struct state *state = &r->state[block->cpu_id];
	const u8 *fields = take_values(r, state, at, first);
	u32 words[2], context, number, mark;
	u64 header;

	if (!fields)
		return 0;
	memcpy(&header, at, 8);
	memcpy(words, fields, 8);
	if ((header & 0xffff) == EVENT_PLAIN) {
		number = words[0];
		context = KLS_MARK_CONTEXT(words[1]);
		mark = kls_mark(block->cpu_id, context, number);
		if (mark != words[1]) {
			fault(r, "a torn record: mark %#x, not %#x", words[1], mark);
			return 0;
		}
		fields += 8;
	} else if ((header & 0xffff) == EVENT_TEXT) {
		number = words[0] & 0xffffff;
		context = KLS_MARK_CONTEXT(words[0]);
		if (strcmp((const char *)fields + 5, kls_text(number))) {
			fault(r, "a torn text");
			return 0;
		}
		fields += 5 + strlen((const char *)fields + 5) + 1;
	} else {
		fault(r, "event %llu", (unsigned long long)(header & 0xffff));
		return 0;
	}
	return check_values(r, state, block->cpu_id, context, number) ? fields - at : 0;
}

static bool take_block(struct reader *r, const struct kl_abi_block *block)
{
	const u8 *start = (const u8 *)block, *at = start + KL_BLOCK_HEADER_BYTES;
	u32 count = 0, bytes;

	if (block->cpu_id >= CPUS_MAX || block->committed * 8 != block->content_bits)
		return fault(r, "a block's header");
	for (; at < start + block->committed; at += bytes, count++) {
		bytes = take_record(r, block, at, !count);
		if (!bytes)
			return false;
	}
	r->bytes += block->committed - KL_BLOCK_HEADER_BYTES;
	if (at != start + block->committed || count != block->record_count)
		return fault(r, "%u records, %u are said to be there", count, block->record_count);
	return true;
}

static void *run_reader(void *argument)
{
	struct reader *r = argument;
	u32 bytes = r->session.block_bytes;
	u8 *buffer = malloc(4 * bytes);
	ssize_t got;

	while (r->late && !*r->stopped &&
	       fire_counts(r->stimulus).fired[0][KLS_TASK] <= r->records_planned / 2)
		sleep_ms(2);
	r->fd = kl_reader(r->session_fd, r->flags);
	if (r->fd < 0)
		bail("reader: %s", kl_why(r->session_fd));
	while ((got = read(r->fd, buffer, 4 * bytes)) > 0) {
		for (ssize_t at = 0; at < got; at += bytes)
			if (!take_block(r, (const void *)(buffer + at)))
				goto out;
		if (r->delay_ms && !*r->stopped)
			sleep_ms(r->delay_ms);
	}
	if (got < 0)
		fault(r, "read: %s", strerror(errno));
out:
	free(buffer);
	close(r->fd);
	return NULL;
}

static int open_session(const struct scenario *sc, u32 flags, struct kl_abi_session *session)
{
	static const u32 events[] = { EVENT_PLAIN, EVENT_TEXT, 0 };
	struct kl_abi_variables variables = { .size = sizeof(variables), .flags = flags };
	int fd = kl_open();

	*session = (struct kl_abi_session){
		.mode = sc->mode,
		.block_bytes = sc->block_bytes,
		.blocks = sc->blocks,
	};
	for (u32 i = 0; i < VARIABLES; i++)
		variables.variable[variables.n++].variable = wanted[i].id;
	if (kl_session(fd, session) ||
	    kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_log, events) ||
	    kl_call(fd, KL_IOC_VARIABLES, &variables))
		bail("session: %s", kl_why(fd));
	return fd;
}

static void fire(int stimulus, u64 records, u32 cpus)
{
	struct kls_plan plan = fire_mixed(records, cpus);

	plan.string_every = 13;
	plan.vary = 1;
	fire_all(stimulus, &plan);
}

static u64 check_reader(const struct scenario *sc, const struct reader *r)
{
	struct kl_abi_stats stats = kl_stats(r->session_fd, -1);
	char name[160];

	snprintf(name, sizeof(name), "%s: %s: every value of every record", sc->name, r->name);
	tap_result(!r->what[0] && r->records, name, "%s", r->what);
	printf("# %s: %llu records (task %llu softirq %llu irq_work %llu timer %llu nmi %llu), "
	       "%.1f bytes and %.2f values each; written %llu, lost %llu\n",
	       r->name, (unsigned long long)r->records, (unsigned long long)r->by_context[0],
	       (unsigned long long)r->by_context[1], (unsigned long long)r->by_context[2],
	       (unsigned long long)r->by_context[3], (unsigned long long)r->by_context[4],
	       (double)r->bytes / (double)(r->records + !r->records),
	       (double)r->values / (double)(r->records + !r->records),
	       (unsigned long long)stats.written, (unsigned long long)stats.lost);
	return r->records;
}

/* Returns the number of records that were compared. */
static u64 run_scenario(const struct scenario *sc, int stimulus, u64 records)
{
	struct reader readers[] = {
		{ .name = "changes only", .delay_ms = sc->delay_ms },
		{ .name = "changes only, late", .late = true },
		{ .name = "in full", .delay_ms = sc->delay_ms },
	};
	u32 n = sizeof(readers) / sizeof(*readers), cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct kl_abi_session session[2];
	int fd[2] = { open_session(sc, 0, &session[0]),
		      open_session(sc, KL_VARIABLES_FULL, &session[1]) };
	volatile bool stopped = false;
	u64 compared = 0;

	if (kl_start(fd[0]) || kl_start(fd[1]))
		bail("start");
	for (u32 i = 0; i < n; i++) {
		readers[i].session_fd = fd[i == 2];
		readers[i].session = session[i == 2];
		readers[i].stopped = &stopped;
		readers[i].flags = readers[i].late ? 0 : KL_READER_HOLD;
		readers[i].stimulus = stimulus;
		readers[i].records_planned = records / cpus;
		pthread_create(&readers[i].thread, NULL, run_reader, &readers[i]);
	}
	fire(stimulus, records / cpus, cpus);
	if (kl_stop(fd[0]) || kl_stop(fd[1]))
		bail("stop");
	stopped = true;
	for (u32 i = 0; i < n; i++)
		pthread_join(readers[i].thread, NULL);
	for (u32 i = 0; i < n; i++)
		compared += check_reader(sc, &readers[i]);
	tap_check(readers[0].bytes * readers[2].records < readers[2].bytes * readers[0].records,
		  "and changes take less space than all values");
	close(fd[0]);
	close(fd[1]);
	return compared;
}

/* ------------------------------------------------------------ the calls */

static int set(int fd, u32 n, u32 first, u32 step)
{
	struct kl_abi_variables list = { .size = sizeof(list), .n = n };

	for (u32 i = 0; i < n && i < KL_VARIABLES_MAX; i++)
		list.variable[i].variable = first + i * step;
	return kl_call(fd, KL_IOC_VARIABLES, &list);
}

static void test_calls(void)
{
	struct kl_abi_variable_info info = { .size = sizeof(info), .id = VARIABLE_rss };
	struct kl_abi_variables odd = { .size = sizeof(odd), .n = 1, .flags = 0x80 };
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 4096 };
	int fd = kl_open();

	tap_check(!kl_call(fd, KL_IOC_VARIABLE_INFO, &info) && !info.absent && !info.reason[0],
		  "rss is available");
	info.id = 5000;
	tap_check(!kl_call(fd, KL_IOC_VARIABLE_INFO, &info) && info.absent && info.reason[0],
		  "variable 5000 is unavailable, with a reason");
	tap_check(set(fd, 1, VARIABLE_rss, 1) == -ENOTCONN, "no variables without a session");
	if (kl_session(fd, &params))
		bail("session");
	tap_check(set(fd, 1, 5000, 1) == -EINVAL && strstr(kl_why(fd), "no such variable"),
		  "an unknown variable is refused");
	tap_check(set(fd, 1, 0, 1) == -EINVAL && strstr(kl_why(fd), "every record"),
		  "the task is in every record");
	tap_check(set(fd, 2, VARIABLE_rss, 0) == -EINVAL && strstr(kl_why(fd), "rss"),
		  "a duplicate is refused");
	tap_check(set(fd, KL_VARIABLES_MAX + 1, 1, 1) == -EINVAL, "64 are too many");
	tap_check(set(fd, 63, VARIABLE_ppid, 1) == 0, "63 of 512 bytes and less are not");
	odd.variable[0].variable = VARIABLE_rss;
	tap_check(kl_call(fd, KL_IOC_VARIABLES, &odd) == -EINVAL, "unknown flags are refused");
	odd.flags = 0;
	odd.variable[0].reserved = 1;
	tap_check(kl_call(fd, KL_IOC_VARIABLES, &odd) == -EINVAL, "what is reserved is 0");
	odd.variable[0] = (struct kl_abi_variable){ .variable = KL_VARIABLE_PROGRAM, .program = 9 };
	tap_check(kl_call(fd, KL_IOC_VARIABLES, &odd) == -ENOENT, "an unknown program");
	tap_check(!set(fd, 0, 1, 1) && !kl_start(fd) && !kl_stop(fd) &&
			  set(fd, 1, VARIABLE_rss, 1) == -EBUSY,
		  "none can be set once the session has been started");
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct scenario scenarios[] = {
		{ "discard, slow reader", KL_MODE_DISCARD, 4096, 8, 1 },
		{ "discard", KL_MODE_DISCARD, 16384, 64, 0 },
		{ "overwrite", KL_MODE_OVERWRITE, 8192, 16, 0 },
	};
	u32 n = sizeof(scenarios) / sizeof(*scenarios);
	u64 records = argc > 1 ? strtoull(argv[1], NULL, 0) : 300000, compared = 0;
	int stimulus = open(KLS_DEVICE, O_RDWR);

	if (stimulus < 0)
		bail("cannot open " KLS_DEVICE);
	test_calls();
	for (u32 i = 0; i < n; i++)
		compared += run_scenario(&scenarios[i], stimulus, records / n);
	printf("# %llu records compared\n", (unsigned long long)compared);
	return tap_end();
}
