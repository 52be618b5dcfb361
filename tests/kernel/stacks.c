// SPDX-License-Identifier: GPL-2.0
/*
 * Stack traces through the device alone: limits and errors, a full table, traces of tasks,
 * softirqs, interrupts and NMIs against the kernel's own symbols, and programs whose mappings
 * change while their frames are resolved. stacks [RECORDS [hooked]]: with `hooked`, only traces
 * while ftrace and kprobes hook returns, for which the emulator must run the CPUs one at a time.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "fire.h"

#define TRACES_MAX KL_STACK_TRACES_DEFAULT
#define BUFFER_BYTES (1u << 20)

/* A stack trace as copied from the table. */
struct trace {
	struct kl_abi_stack about;
	u64 word[2 * KL_STACK_FRAMES_MAX];
};

static struct trace traces[TRACES_MAX];
static u32 n_traces;
static u64 no_room;

/* ---------------------------------------------------------------- symbols */

#define SYMBOLS 16

static struct {
	const char *name;
	u64 begin, end;
} symbols[SYMBOLS];
static u32 n_symbols;
static u64 ours_begin = ~0ull, ours_end;

/* Reads the addresses of functions, and the module's address range. */
static void read_symbols(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char name[256], module[64], line[512];
	u64 address;
	char type;

	while (file && fgets(line, sizeof(line), file)) {
		module[0] = 0;
		if (sscanf(line, "%lx %c %255s %63s", &address, &type, name, module) < 3)
			continue;
		if (!strcmp(module, "[kernlens]") && (type | 0x20) == 't') {
			ours_begin = address < ours_begin ? address : ours_begin;
			ours_end = address > ours_end ? address : ours_end;
		}
		for (u32 i = 0; i < n_symbols; i++) {
			if (!strcmp(symbols[i].name, name))
				symbols[i].begin = address;
			else if (symbols[i].begin && address > symbols[i].begin &&
				 (!symbols[i].end || address < symbols[i].end))
				symbols[i].end = address;
		}
	}
	if (file)
		fclose(file);
}

/* Prints a trace of the kernel with the names of its functions, for the evidence. */
static void print_trace(const struct trace *t, u32 context)
{
	char name[KL_STACK_FRAMES_MAX][64] = {}, line[512], found[256];
	u64 at[KL_STACK_FRAMES_MAX] = {}, address;
	FILE *file = fopen("/proc/kallsyms", "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx %*c %255s", &address, found) < 2)
			continue;
		for (u32 i = 0; i < t->about.frames; i++) {
			if (address > t->word[i] || address < at[i])
				continue;
			at[i] = address;
			snprintf(name[i], sizeof(name[i]), "%.63s", found);
		}
	}
	if (file)
		fclose(file);
	printf("# context %u, not the frames of the kernel's own walk:", context);
	for (u32 i = 0; i < t->about.frames; i++)
		printf(" %s+0x%lx", name[i], (unsigned long)(t->word[i] - at[i]));
	printf("\n");
}

static u32 want_symbol(const char *name)
{
	symbols[n_symbols].name = name;
	return n_symbols++;
}

static bool is_in(const struct trace *t, u32 symbol)
{
	for (u32 i = 0; i < t->about.frames; i++)
		if (t->word[i] > symbols[symbol].begin && t->word[i] <= symbols[symbol].end)
			return true;
	return false;
}

/*
 * Only the first frame must not be the module's: below an interrupt there may be frames of the
 * module, which it has interrupted.
 */
static bool begins_with_ours(const struct trace *t)
{
	return t->word[0] >= ours_begin && t->word[0] < ours_end;
}

/* ---------------------------------------------------------------- session */

static int set_limits(int fd, u32 number, u32 kernel_frames, u32 user_frames)
{
	struct kl_abi_stacks call = {
		.size = sizeof(call),
		.what = KL_STACKS_LIMITS,
		.traces = number,
		.kernel_frames = kernel_frames,
		.user_frames = user_frames,
	};

	return kl_call(fd, KL_IOC_STACKS, &call);
}

static int ask_variables(int fd, u32 n, u32 flags)
{
	struct kl_abi_variables list = { .size = sizeof(list), .n = n, .flags = flags };

	list.variable[0].variable = VARIABLE_ustack;
	list.variable[1].variable = VARIABLE_kstack;
	return kl_call(fd, KL_IOC_VARIABLES, &list);
}

static int open_session(void)
{
	struct kl_abi_session params = { .mode = KL_MODE_DISCARD,
					 .block_bytes = 65536,
					 .blocks = 256 };
	int fd = kl_open();

	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	return fd;
}

/* Reads all stack traces of a stopped session. */
static bool fetch(int fd)
{
	u8 *buffer = malloc(BUFFER_BYTES);
	struct kl_abi_stacks call = { .size = sizeof(call), .first = 1 };
	bool good = true;

	n_traces = 0;
	do {
		const u8 *at = buffer;

		call.buffer = (u64)(uintptr_t)buffer;
		call.bytes = BUFFER_BYTES;
		if (kl_call(fd, KL_IOC_STACKS, &call))
			bail("traces: %s", kl_why(fd));
		for (u32 i = 0; i < call.n && n_traces < TRACES_MAX; i++) {
			struct trace *t = &traces[n_traces++];
			u32 words;

			memcpy(&t->about, at, sizeof(t->about));
			words = t->about.frames * (t->about.kind == KL_STACK_USER ? 2 : 1);
			at += sizeof(t->about);
			memcpy(t->word, at, 8 * words);
			at += 8 * words;
			good &= t->about.frames && t->about.frames <= KL_STACK_FRAMES_MAX;
			good &= n_traces < 2 || t->about.id > t[-1].about.id;
		}
		good &= at == buffer + call.bytes;
	} while (call.n && n_traces < TRACES_MAX);
	no_room = call.no_room;
	free(buffer);
	return good;
}

/* The traces are sorted by id. */
static const struct trace *find(u32 id)
{
	u32 low = 0, high = n_traces;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (traces[middle].about.id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n_traces && traces[low].about.id == id ? &traces[low] : NULL;
}

/* Takes a record's stack ids and its first field. */
typedef void (*take_fn)(u32 kstack, u32 ustack, u64 fields);

static u64 read_records(int fd, take_fn take)
{
	static u8 block[65536];
	int reader = kl_reader(fd, 0);
	u64 n = 0;

	if (reader < 0)
		bail("reader: %s", kl_why(fd));
	while (read(reader, block, sizeof(block)) == sizeof(block)) {
		const struct kl_abi_block *b = (const struct kl_abi_block *)block;
		const u8 *at = block + KL_BLOCK_HEADER_BYTES, *end = block + b->content_bits / 8;
		u32 known[2] = {};

		while (at < end) {
			u8 changed = at[8];
			u64 fields;

			at += KL_RECORD_PREFIX_BYTES + (changed & KL_CHANGED_TASK ? 24 : 0);
			for (u32 i = 0; i < 2; i++) {
				if (!(changed & 2 << i))
					continue;
				memcpy(&known[i], at, 4);
				at += 4;
			}
			memcpy(&fields, at, 8);
			at += 8;
			take(known[1], known[0], fields);
			n++;
		}
	}
	close(reader);
	return n;
}

/* ------------------------------------------------------------------ calls */

static void test_calls(void)
{
	static u8 room[8192];
	struct kl_abi_stacks call = { .size = sizeof(call), .buffer = (u64)(uintptr_t)room };
	struct kl_abi_variables odd = { .size = sizeof(odd), .flags = 0x80 };
	int fd = kl_open();

	tap_check(kl_call(fd, KL_IOC_STACKS, &call) == -ENOTCONN, "no traces without a session");
	close(fd);
	fd = open_session();
	call.bytes = sizeof(room);
	tap_check(!kl_call(fd, KL_IOC_STACKS, &call) && !call.n && !call.traces && !call.bytes,
		  "nothing has asked for traces: there are none");
	tap_check(set_limits(fd, KL_STACK_TRACES_MAX + 1, 0, 0) == -EINVAL &&
			  strstr(kl_why(fd), "the limit is"),
		  "too many are refused");
	tap_check(set_limits(fd, 0, KL_STACK_FRAMES_MAX + 1, 0) == -EINVAL &&
			  set_limits(fd, 0, 0, KL_STACK_FRAMES_MAX + 1) == -EINVAL,
		  "and too deep ones");
	tap_check(!set_limits(fd, 100, 5, 127), "others are not");
	tap_check(kl_call(fd, KL_IOC_VARIABLES, &odd) == -EINVAL, "unknown flags of variables");
	tap_check(!ask_variables(fd, 2, KL_VARIABLES_STACKS_ASKED), "both variables");
	tap_check(set_limits(fd, 100, 5, 5) == -EBUSY, "limits come before");
	call.what = 9;
	tap_check(kl_call(fd, KL_IOC_STACKS, &call) == -EINVAL, "an unknown request");
	call.what = KL_STACKS_OBJECT;
	for (u32 i = 0; i < 3; i++) {
		static const u32 numbers[] = { 0, 1, ~0u };

		call.first = numbers[i];
		call.bytes = sizeof(room);
		tap_check(!kl_call(fd, KL_IOC_STACKS, &call) && !call.n && !call.bytes,
			  "a file that is not there");
	}
	close(fd);
}

/* ----------------------------------------------------------- full table */

static void test_room(void)
{
	const u32 events[] = { KL_EV_SYSCALL_ENTRY + SYS_getppid, 0 };
	int fd = open_session();

	if (set_limits(fd, 2, 0, 1) || ask_variables(fd, 1, 0) ||
	    kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_log, events) ||
	    kl_filter(fd, KL_FILTER_TASKS, 0) || kl_tasks(fd, getpid(), KL_TASK_ADD) < 0 ||
	    kl_start(fd))
		bail("session: %s", kl_why(fd));
	for (u32 i = 0; i < 3; i++) {
		KL_CALL_HERE();
		KL_CALL_HERE();
		KL_CALL_HERE();
		KL_CALL_HERE();
	}
	kl_stop(fd);
	tap_check(fetch(fd) && n_traces == 2, "two places of four have room");
	tap_check(no_room == 6 && kl_stats(fd, -1).written == 12,
		  "the others are recorded without, and counted each time");
	tap_check(n_traces && traces[0].about.kind == KL_STACK_USER &&
			  traces[0].about.pid == getpid() && traces[0].about.frames == 1 &&
			  !(traces[0].about.flags & KL_STACK_EXACT) &&
			  traces[0].word[1] >> KL_STACK_PLACE_SHIFT,
		  "a trace is cut where it was to be, and says whose it is and where");
	close(fd);
}

/* ------------------------------------------------------------- contexts */

static u32 in_thread, in_timer, in_nmi;
static u64 of_context[KLS_CONTEXTS], wrong_context, other_frames, empty, ours, user_traces;

static void check_context(u32 kstack, u32 ustack, u64 fields)
{
	u32 mark = fields >> 32, context = KLS_MARK_CONTEXT(mark);
	const struct trace *t = find(kstack);

	if (context >= KLS_CONTEXTS || !t) {
		empty++;
		return;
	}
	of_context[context]++;
	ours += begins_with_ours(t);
	if (kls_stack_hash((const __u64 *)t->word, t->about.frames) != (u32)fields &&
	    ++other_frames <= 3)
		print_trace(t, context);
	user_traces += ustack && find(ustack);
	switch (context) {
	case KLS_TASK:
		wrong_context += !is_in(t, in_thread) || is_in(t, in_nmi);
		break;
	case KLS_TIMER:
		wrong_context += !is_in(t, in_timer);
		break;
	case KLS_NMI:
		wrong_context += !is_in(t, in_nmi);
		break;
	}
}

static volatile bool child_ends;

/* Changes its mappings while interrupts read them. */
static void *map_and_unmap(void *data)
{
	while (!child_ends) {
		void *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);

		*(volatile char *)at = 1;
		munmap(at, 1 << 20);
	}
	return NULL;
}

static void *call_often(void *data)
{
	while (!child_ends)
		for (volatile int i = 0; i < 1000; i++)
			;
	return NULL;
}

static void end_child(int number)
{
	child_ends = true;
}

static pid_t start_child(void)
{
	pid_t pid = fork();
	pthread_t thread[2];

	if (pid)
		return pid;
	signal(SIGTERM, end_child);
	pthread_create(&thread[0], NULL, map_and_unmap, NULL);
	pthread_create(&thread[1], NULL, call_often, NULL);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	_exit(0);
}

/* A lock that was not released would keep it from exiting. */
static bool ends(pid_t pid)
{
	int status = -1;

	kill(pid, SIGTERM);
	for (u32 i = 0; i < 200; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return !status;
		sleep_ms(25);
	}
	return false;
}

static void fire(int stimulus, u64 records, u32 cpus)
{
	struct kls_plan plan = fire_mixed(records / cpus, cpus);

	plan.nested = 3;
	plan.burst = 300;
	plan.pause_us = 2000;
	plan.nmi_every = 41;
	plan.stacks = 1;
	fire_all(stimulus, &plan);
}

static void test_contexts(u64 records, const char *how)
{
	const u32 events[] = { KL_EV_power_cpu_frequency, 0 };
	int fd = open_session(), stimulus = open(KLS_DEVICE, O_RDWR);
	u32 cpus = sysconf(_SC_NPROCESSORS_ONLN), placed = 0;
	pid_t child = start_child();
	u64 n;

	if (stimulus < 0)
		bail("cannot open " KLS_DEVICE);
	memset(of_context, 0, sizeof(of_context));
	wrong_context = other_frames = empty = ours = user_traces = 0;
	if (ask_variables(fd, 2, 0) ||
	    kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_log, events) || kl_start(fd))
		bail("session: %s", kl_why(fd));
	fire(stimulus, records, cpus < 2 ? cpus : 2);
	kl_stop(fd);
	check_not_suspended(fd);
	tap_check(ends(child), "a program whose mappings are looked at goes on changing them");
	tap_check(fetch(fd), "traces come in order, and whole");
	n = read_records(fd, check_context);
	for (u32 i = 0; i < n_traces; i++)
		placed += traces[i].about.kind == KL_STACK_USER && traces[i].about.pid == child &&
			  traces[i].word[traces[i].about.frames];
	printf("# %s: %llu records: %llu in tasks, %llu softirqs, %llu interrupts, %llu timer, "
	       "%llu NMIs; %u traces, %u of the program, %llu records with it, %llu without room, "
	       "%llu with other frames\n",
	       how, (unsigned long long)n, (unsigned long long)of_context[KLS_TASK],
	       (unsigned long long)of_context[KLS_SOFTIRQ],
	       (unsigned long long)of_context[KLS_IRQ_WORK],
	       (unsigned long long)of_context[KLS_TIMER], (unsigned long long)of_context[KLS_NMI],
	       n_traces, placed, (unsigned long long)user_traces, (unsigned long long)no_room,
	       (unsigned long long)other_frames);
	tap_check(n > records / 2 && !empty, "each record has a trace of the kernel");
	tap_check(of_context[KLS_TASK] && of_context[KLS_SOFTIRQ] && of_context[KLS_TIMER] &&
			  of_context[KLS_NMI],
		  "in tasks, softirqs, interrupts and NMIs");
	tap_check(!wrong_context, "it leads to where the event was fired");
	tap_check(!other_frames, "by the same frames as the kernel's own walk, each time");
	tap_check(!ours, "and does not begin with functions of the module's");
	tap_check(placed && user_traces, "the interrupted program's, too, and its files are known");
	close(stimulus);
	close(fd);
}

/* -------------------------------------------------------------- hooked returns */

#define TRACING "/sys/kernel/tracing/"

/* Word by word, as some of these files require. */
static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	ssize_t written = fd < 0 ? -1 : 0;

	while (*text && written >= 0) {
		written = write(fd, text, strlen(text));
		text += written;
	}
	if (fd >= 0)
		close(fd);
	return written >= 0;
}

/* Return addresses on the stack that are not the callers' but those of ftrace and kprobes. */
static void test_hooked(u64 records)
{
	if (access(TRACING "trace", F_OK) && mount("tracefs", TRACING, "tracefs", 0, NULL))
		bail("cannot mount tracefs");
	tap_check(write_file(TRACING "set_ftrace_filter", "*hrtimer* irq_work_run*") &&
			  write_file(TRACING "current_tracer", "function_graph"),
		  "ftrace hooks returns");
	test_contexts(records, "ftrace");
	write_file(TRACING "current_tracer", "nop");
	write_file(TRACING "set_ftrace_filter", "\n");
	tap_check(write_file(TRACING "kprobe_events", "r:kl_test/queues __hrtimer_run_queues\n"
						      "r:kl_test/timer hrtimer_interrupt\n") &&
			  write_file(TRACING "events/kl_test/enable", "1"),
		  "and kprobes do");
	test_contexts(records, "kprobes");
	write_file(TRACING "events/kl_test/enable", "0");
	write_file(TRACING "kprobe_events", "\n");
}

int main(int argc, char **argv)
{
	u64 records = argc > 1 ? strtoull(argv[1], NULL, 0) : 20000;

	in_thread = want_symbol("kthread");
	in_timer = want_symbol("hrtimer_interrupt");
	in_nmi = want_symbol("exc_nmi");
	read_symbols();
	if (argc > 2) {
		test_hooked(records);
		return tap_end();
	}
	test_calls();
	test_room();
	test_contexts(records, "plain");
	return tap_end();
}
