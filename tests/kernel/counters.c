// SPDX-License-Identifier: GPL-2.0
/*
 * Variables that are perf counters. Those that the machine lacks are refused with the reason. The
 * kernel's software counters, which are read in the same way, never go backwards in tasks,
 * softirqs, interrupts and NMIs, agree with the clock and /proc/stat, continue when a CPU comes
 * back online, and are shared by sessions. Runs in the guest as root with kl_stimulus.ko loaded:
 * counters RECORDS.
 */
#include "fire.h"

#define EVENT_PLAIN 258 /* power_cpu_frequency: state, cpu_id */
#define CPUS_MAX 16
#define PREFIX (8 + KL_CHANGED_BYTES(2))
#define UNCOUNTED (~0ull)

/* Counter values in the records of a CPU: first the clock, then context switches. */
struct counted {
	u64 first[2];
	u64 last[2];
	u64 floor[2]; /* value before the last one that was not less than its predecessor */
	u64 records;
	u64 uncounted;
	u64 overtaken;
	u64 backwards;
	bool after; /* the last record was counted */
};

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static u64 context_switches(void)
{
	FILE *file = fopen("/proc/stat", "r");
	unsigned long long found = 0;
	char line[4096];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "ctxt %llu", &found) == 1)
			break;
	if (!file)
		bail("cannot read /proc/stat");
	fclose(file);
	return found;
}

static int ask(int fd, u32 first, u32 second)
{
	struct kl_abi_variables list = { .size = sizeof(list), .n = second ? 2 : 1 };

	list.variable[0].variable = first;
	list.variable[1].variable = second;
	return kl_call(fd, KL_IOC_VARIABLES, &list);
}

static int open_session(void)
{
	static const u32 events[] = { EVENT_PLAIN, 0 };
	struct kl_abi_session params = { .blocks = 64, .block_bytes = 65536 };
	int fd = kl_open();

	if (kl_session(fd, &params) ||
	    kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_log, events) ||
	    ask(fd, VARIABLE_cpu_clock, VARIABLE_cpu_context_switches))
		bail("session: %s", kl_why(fd));
	return fd;
}

static void fire(int stimulus, u64 records, u32 cpus)
{
	struct kls_plan plan = fire_mixed(records, cpus);

	plan.softirq_every = 31;
	plan.irq_every = 29;
	plan.nmi_every = 37;
	fire_all(stimulus, &plan);
}

/* ---------------------------------------------------------------- reading */

/*
 * An interrupted record reserves its space before it reads its values. A record that interrupts it
 * in between comes after it in the buffer, but has a smaller value, though no smaller than the
 * value of the record before both.
 */
static void take_value(struct counted *c, u32 i, u64 value)
{
	if (value >= c->last[i])
		c->floor[i] = c->last[i];
	else if (value >= c->floor[i])
		c->overtaken++;
	else
		c->backwards++;
	c->last[i] = value;
}

static void take_values(struct counted *c, const u64 value[2])
{
	if (value[0] == UNCOUNTED || value[1] == UNCOUNTED) {
		c->uncounted++;
		c->after = false;
		return;
	}
	c->after = true;
	if (!c->records++)
		memcpy(c->first, value, sizeof(c->first));
	take_value(c, 0, value[0]);
	take_value(c, 1, value[1]);
}

static void take_block(struct counted *counted, const struct kl_abi_block *block)
{
	const u8 *start = (const u8 *)block, *at = start + KL_BLOCK_HEADER_BYTES;
	u64 value[2] = {};

	if (block->cpu_id >= CPUS_MAX)
		bail("a block of CPU %u", block->cpu_id);
	while (at < start + block->committed) {
		u8 changed = at[8];

		at += PREFIX;
		if (changed & KL_CHANGED_TASK)
			at += sizeof(struct kl_abi_task);
		for (u32 i = 0; i < 2; i++) {
			if (!(changed & 2u << i))
				continue;
			memcpy(&value[i], at, 8);
			at += 8;
		}
		at += 8;
		take_values(&counted[block->cpu_id], value);
	}
}

static void read_all(int fd, struct counted *counted)
{
	u32 bytes = 65536;
	u8 *buffer = malloc(bytes);
	int reader = kl_reader(fd, 0);
	ssize_t got;

	if (reader < 0)
		bail("reader: %s", kl_why(fd));
	memset(counted, 0, CPUS_MAX * sizeof(*counted));
	while ((got = read(reader, buffer, bytes)) > 0)
		take_block(counted, (const void *)buffer);
	close(reader);
	free(buffer);
}

static struct counted sum_of(const struct counted *counted, u32 cpus)
{
	struct counted sum = { .after = true };

	for (u32 i = 0; i < cpus; i++) {
		sum.records += counted[i].records;
		sum.uncounted += counted[i].uncounted;
		sum.backwards += counted[i].backwards;
		sum.overtaken += counted[i].overtaken;
		sum.after &= counted[i].after;
		sum.last[1] += counted[i].last[1];
	}
	return sum;
}

/* --------------------------------------------------------------------- tests */

static void test_absent(void)
{
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 4096 };
	u32 lacking = 0, wrong = 0;
	int fd = kl_open();

	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	for (u32 id = VARIABLE_cpu_cycles; id <= VARIABLE_cpu_branch_misses; id++) {
		struct kl_abi_variable_info info = { .size = sizeof(info), .id = id };

		if (kl_call(fd, KL_IOC_VARIABLE_INFO, &info))
			bail("variable %u", id);
		if (!info.absent)
			continue;
		lacking++;
		wrong += info.absent != KL_ABSENT_KERNEL ||
			 !strstr(info.reason, "no hardware counter for") ||
			 ask(fd, id, 0) != -ENOENT || !strstr(kl_why(fd), info.reason);
	}
	if (lacking)
		tap_result(!wrong, "counters that the machine lacks are refused with the reason",
			   "%u of %u wrong", wrong, lacking);
	else
		tap_skip("counters that the machine lacks", "it has them all");
	tap_check(!ask(fd, VARIABLE_cpu_clock, VARIABLE_cpu_migrations) &&
			  !ask(fd, VARIABLE_rss, 0) && !ask(fd, VARIABLE_cpu_clock, 0),
		  "the kernel's software counters are available, and can be requested again");
	close(fd);
}

static void test_contexts(int stimulus, u64 records, u32 cpus)
{
	static struct counted counted[CPUS_MAX];
	u64 switches = context_switches(), began = now_ns(), slowest = UNCOUNTED, fastest = 0, ns;
	struct counted sum;
	int fd = open_session();

	if (kl_start(fd))
		bail("start: %s", kl_why(fd));
	fire(stimulus, records / cpus, cpus);
	if (kl_stop(fd))
		bail("stop");
	ns = now_ns() - began;
	switches = context_switches() - switches;
	read_all(fd, counted);
	sum = sum_of(counted, cpus);
	for (u32 i = 0; i < cpus; i++) {
		u64 one = counted[i].last[0] - counted[i].first[0];

		slowest = one < slowest ? one : slowest;
		fastest = counted[i].last[0] > fastest ? counted[i].last[0] : fastest;
	}
	tap_result(sum.records > records / 2 && !sum.uncounted && !sum.backwards &&
			   sum.overtaken <= sum.records / 1000,
		   "in no context a counter goes back or is not counted",
		   "%llu records, %llu uncounted, %llu backwards, %llu overtaken",
		   (unsigned long long)sum.records, (unsigned long long)sum.uncounted,
		   (unsigned long long)sum.backwards, (unsigned long long)sum.overtaken);
	tap_result(slowest > 0 && fastest <= ns, "the clock of no CPU is ahead of the machine's",
		   "%llu to %llu ns in %llu", (unsigned long long)slowest,
		   (unsigned long long)fastest, (unsigned long long)ns);
	tap_result(sum.last[1] > 0 && sum.last[1] <= switches,
		   "context switches are no more than /proc/stat has counted", "%llu, not %llu",
		   (unsigned long long)sum.last[1], (unsigned long long)switches);
	printf("# %llu records, %llu overtaken, clocks %llu to %llu of %llu ns, %llu of %llu switches\n",
	       (unsigned long long)sum.records, (unsigned long long)sum.overtaken,
	       (unsigned long long)slowest, (unsigned long long)fastest, (unsigned long long)ns,
	       (unsigned long long)sum.last[1], (unsigned long long)switches);
	close(fd);
}

static bool set_online(u32 cpu, bool online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	return put_file(path, online ? "1" : "0");
}

/* A CPU goes offline and comes back twice; its counters continue from their values. */
static void test_hotplug(int stimulus, u32 cpus)
{
	static struct counted counted[CPUS_MAX];
	struct counted sum;
	int fd, other;

	if (cpus < 2) {
		tap_skip("a CPU that comes back", "there is but one");
		return;
	}
	fd = open_session();
	if (kl_start(fd))
		bail("start: %s", kl_why(fd));
	for (u32 i = 0; i < 3; i++) {
		fire(stimulus, 2000, cpus);
		if (i < 2 && (!set_online(1, false) || !set_online(1, true)))
			bail("CPU 1");
		/* The counter is created a moment after the CPU has come online. */
		sleep_ms(500);
		/* A second session that comes and goes does not affect the first one. */
		other = open_session();
		close(other);
	}
	if (kl_stop(fd))
		bail("stop");
	read_all(fd, counted);
	sum = sum_of(counted, cpus);
	tap_result(sum.after && !sum.backwards && counted[1].records >= 3 * 2000,
		   "counters go on when a CPU has come back",
		   "CPU 1: %llu records, %llu uncounted, %llu backwards, the last %s",
		   (unsigned long long)counted[1].records, (unsigned long long)counted[1].uncounted,
		   (unsigned long long)sum.backwards, sum.after ? "counted" : "not counted");
	tap_result(!counted[0].uncounted, "and those of the other CPUs are unaffected",
		   "%llu uncounted", (unsigned long long)counted[0].uncounted);
	printf("# CPU 1: %llu records, %llu uncounted\n", (unsigned long long)counted[1].records,
	       (unsigned long long)counted[1].uncounted);
	close(fd);
}

/* The second session opens while the first one counts, and starts at its own zero. */
static void test_shared(int stimulus, u32 cpus)
{
	static struct counted first[CPUS_MAX], second[CPUS_MAX];
	int fd = open_session(), other;
	bool later = true;

	sleep_ms(300);
	other = open_session();
	if (kl_start(fd) || kl_start(other))
		bail("start");
	fire(stimulus, 1000, cpus);
	if (kl_stop(other))
		bail("stop");
	close(other);
	fire(stimulus, 1000, cpus);
	if (kl_stop(fd))
		bail("stop");
	read_all(fd, first);
	close(fd);
	for (u32 i = 0; i < cpus; i++)
		later &= first[i].first[0] > 300000000 && first[i].records >= 2000 &&
			 !first[i].uncounted && !first[i].backwards;
	tap_check(later, "a counter goes on when one of its sessions ends");
	fd = open_session();
	if (kl_start(fd))
		bail("start");
	fire(stimulus, 1000, cpus);
	if (kl_stop(fd))
		bail("stop");
	read_all(fd, second);
	tap_result(second[0].first[0] < first[0].first[0],
		   "and each counts from its own request on", "%llu and %llu ns",
		   (unsigned long long)second[0].first[0], (unsigned long long)first[0].first[0]);
	close(fd);
}

int main(int argc, char **argv)
{
	u64 records = argc > 1 ? strtoull(argv[1], NULL, 0) : 40000;
	u32 cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int stimulus = open(KLS_DEVICE, O_RDWR);

	if (stimulus < 0)
		bail("cannot open " KLS_DEVICE);
	test_absent();
	test_contexts(stimulus, records, cpus);
	test_hotplug(stimulus, cpus);
	test_shared(stimulus, cpus);
	return tap_end();
}
