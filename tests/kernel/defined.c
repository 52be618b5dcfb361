// SPDX-License-Identifier: GPL-2.0
/*
 * Dynamic events: each kind is fired a known number of times with known values, and the records
 * must contain exactly that. Needs kl_stimulus.ko. Run as root.
 *
 *	kernel-defined
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "defined.h"
#include "stimulus/stimulus.h"
#include "text.h"

static struct defined d;
static u64 called; /* address of the stimulus' function */
static int stimulus;

static void call(u64 times)
{
	if (ioctl(stimulus, KLS_IOC_CALL, times))
		bail("KLS_IOC_CALL");
}

/* ------------------------------------------------------------------ functions */

static bool check_entry(u64 i, const u64 *number)
{
	for (u32 n = 0; n < 6; n++)
		if (number[n] != (n + 1) * i)
			return false;
	return true;
}

static bool check_return(u64 i, const u64 *number)
{
	return number[0] == 7 * i;
}

static void test_functions(void)
{
	const u64 times = 5000;

	defined_open(&d, KL_MODE_DISCARD);
	defined_add(&d, KL_SOURCE_KIND_FUNCTION, called, 0, NULL, 6, check_entry);
	defined_add(&d, KL_SOURCE_KIND_FUNCTION, called, 0, NULL, 0, NULL);
	defined_add(&d, KL_SOURCE_KIND_RETURN, called, 0, NULL, 1, check_return);
	tap_check(!defined_make(&d) && d.first == KL_EV_DYNAMIC, "functions are defined");
	defined_use(&d, d.n);
	defined_start(&d);
	call(times);
	defined_stop(&d);
	tap_result(d.seen[0] == times && d.seen[1] == times, "entries: each call, no other",
		   "%llu and %llu of %llu", (unsigned long long)d.seen[0],
		   (unsigned long long)d.seen[1], (unsigned long long)times);
	tap_result(d.seen[2] == times, "returns: each call, no other", "%llu of %llu",
		   (unsigned long long)d.seen[2], (unsigned long long)times);
	tap_result(!d.wrong && !d.foreign, "six arguments and the value are right",
		   "%llu wrong, %llu foreign", (unsigned long long)d.wrong,
		   (unsigned long long)d.foreign);
	tap_check(!kl_stats(d.fd, -1).lost, "nothing lost");
	call(10);
	defined_start(&d);
	call(3);
	defined_stop(&d);
	tap_check(kl_stats(d.fd, -1).written == 3 * times + 9, "stopped: nothing; started: again");
	close(d.fd);
}

static void *call_long(void *stop)
{
	u64 n = 0;

	while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED)) {
		call(100);
		n += 100;
	}
	return (void *)n;
}

/* ------------------------------------------------------ many kernel functions */

/* Finds addresses of functions that both ftrace and kprobes can hook and whose names are unique. */
static u32 find_functions(u64 *address, u32 most)
{
	FILE *f = popen("cd /sys/kernel; mount -t tracefs nodev tracing 2>/dev/null; "
			"mount -t debugfs nodev debug 2>/dev/null; "
			"awk 'FILENAME ~ /kallsyms/ { if ($2 ~ /[tT]/) { n[$3]++; a[$3] = $1 } } "
			"FILENAME ~ /blacklist/ { denied[$2] = 1 } "
			"FILENAME ~ /filter/ && NF == 1 && n[$1] == 1 { name = $1; "
			"sub(/\\..*/, \"\", name); if (!(name in denied)) print a[$1], $1 }' "
			"/proc/kallsyms debug/kprobes/blacklist tracing/available_filter_functions",
			"r");
	char name[256];
	u32 n = 0;

	while (f && n < most) {
		unsigned long long at;

		if (fscanf(f, "%llx %255s", &at, name) != 2)
			break;
		address[n++] = at;
	}
	if (f)
		pclose(f);
	return n;
}

static u64 functions[DEFINED_MAX];
static u32 n_functions;

static void test_switch(void)
{
	bool stop = false;
	pthread_t thread;
	void *times;

	defined_open(&d, KL_MODE_DISCARD);
	defined_own(&d);
	defined_add(&d, KL_SOURCE_KIND_FUNCTION, called, 0, NULL, 0, NULL);
	defined_add(&d, KL_SOURCE_KIND_RETURN, called, 0, NULL, 0, NULL);
	for (u32 i = 0; i < 500 && i < n_functions; i++)
		defined_add(&d, KL_SOURCE_KIND_FUNCTION, functions[i * 7 % n_functions], 0, NULL, 0,
			    NULL);
	if (defined_make(&d) || defined_write(&d, MASKSET, 2) ||
	    defined_write(&d, MASKSET + 1, d.n) || kl_use(d.fd, MASKSET))
		bail("switch: %s", kl_why(d.fd));
	defined_start(&d);
	pthread_create(&thread, NULL, call_long, &stop);
	for (u32 i = 0; i < 10; i++)
		if (kl_use(d.fd, MASKSET + !(i & 1)))
			bail("switch: %s", kl_why(d.fd));
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, &times);
	defined_stop(&d);
	tap_result(d.seen[0] + kl_stats(d.fd, -1).lost >= (u64)times && d.seen[0] <= (u64)times &&
			   (kl_stats(d.fd, -1).lost || d.seen[1] == (u64)times),
		   "no call is lost while masksets change",
		   "%llu entries, %llu returns, %llu lost of %llu", (unsigned long long)d.seen[0],
		   (unsigned long long)d.seen[1], (unsigned long long)kl_stats(d.fd, -1).lost,
		   (unsigned long long)(u64)times);
	close(d.fd);
}

static void test_many(u32 kind, u32 n, const char *what)
{
	struct text before = read_text(), during, after;
	double defined, attached, detached, begun;
	char name[100];

	defined_open(&d, KL_MODE_OVERWRITE);
	for (u32 i = 0; i < n; i++)
		defined_add(&d, kind, functions[i], 0, NULL, 0, NULL);
	begun = now_seconds();
	if (defined_make(&d))
		bail("%s: %u: %s", what, d.bad, kl_why(d.fd));
	defined = now_seconds() - begun;
	defined_use(&d, d.n);
	begun = now_seconds();
	defined_start(&d);
	attached = now_seconds() - begun;
	during = read_text();
	sleep_ms(200);
	begun = now_seconds();
	kl_stop(d.fd);
	detached = now_seconds() - begun;
	after = read_text();
	printf("# %u %s: defined in %.2f s, attached in %.2f s, detached in %.2f s, %llu records, "
	       "%llu lost\n",
	       n, what, defined, attached, detached, (unsigned long long)kl_stats(d.fd, -1).written,
	       (unsigned long long)kl_stats(d.fd, -1).lost);
	snprintf(name, sizeof(name), "%u %s: all are hooked", n, what);
	tap_check(count_changes(&before, &during, false) >= n, name);
	snprintf(name, sizeof(name), "%u %s: the kernel's text is as it was", n, what);
	tap_check(!count_changes(&before, &after, true), name);
	snprintf(name, sizeof(name), "%u %s: a few seconds", n, what);
	tap_check(attached < 30 && detached < 30 && defined < 60, name);
	close(d.fd);
	free(before.copy);
	free(during.copy);
	free(after.copy);
}

/* ---------------------------------------------------------------- tracepoints */

static bool check_syscall(u64 i, const u64 *number)
{
	return number[0] > 1ull << 63 && (number[1] < 512 || (s64)number[1] == -1);
}

static u64 getppids;

static bool count_getppid(u64 i, const u64 *number)
{
	getppids += number[1] == SYS_getppid;
	return check_syscall(i, number);
}

static void test_tracepoints(void)
{
	defined_open(&d, KL_MODE_DISCARD);
	defined_own(&d);
	defined_add(&d, KL_SOURCE_KIND_TRACEPOINT, 0, 0, "sys_enter", 2, count_getppid);
	defined_add(&d, KL_SOURCE_KIND_TRACEPOINT, 0, 0, "sys_exit", 12, NULL);
	defined_add(&d, KL_SOURCE_KIND_TRACEPOINT, 0, 0, "sched_process_fork", 0, NULL);
	tap_check(!defined_make(&d), "tracepoints are defined");
	defined_use(&d, d.n);
	defined_start(&d);
	for (u32 i = 0; i < 3000; i++)
		syscall(SYS_getppid);
	for (u32 i = 0; i < 5; i++)
		if (!fork())
			_exit(0);
		else
			wait(NULL);
	defined_stop(&d);
	tap_result(getppids == 3000 && d.seen[2] == 5 && d.seen[1] >= 3000 && !d.wrong,
		   "tracepoints: each call, each fork, their arguments",
		   "%llu calls, %llu forks, %llu wrong", (unsigned long long)getppids,
		   (unsigned long long)d.seen[2], (unsigned long long)d.wrong);
	tap_check(!kl_stats(d.fd, -1).lost, "tracepoints: nothing lost");
	close(d.fd);
}

/* ----------------------------------------------------------------------- ticks */

static u64 user_ticks;

static bool check_tick(u64 i, const u64 *number)
{
	user_ticks += number[1];
	return number[1] ? number[0] < 1ull << 47 : number[1] == 0 && number[0] > 1ull << 63;
}

static void test_tick(u32 hz)
{
	double begun, seconds, wanted;
	char name[100];
	u64 all;

	defined_open(&d, KL_MODE_DISCARD);
	defined_add(&d, KL_SOURCE_KIND_TICK, 0, hz, NULL, 2, check_tick);
	if (defined_make(&d))
		bail("tick: %s", kl_why(d.fd));
	defined_use(&d, d.n);
	user_ticks = 0;
	begun = now_seconds();
	defined_start(&d);
	while (now_seconds() < begun + 2)
		;
	kl_stop(d.fd);
	seconds = now_seconds() - begun;
	defined_read(&d);
	all = d.seen[0] + kl_stats(d.fd, -1).lost;
	wanted = hz * seconds * sysconf(_SC_NPROCESSORS_ONLN);
	snprintf(name, sizeof(name), "%u ticks a second on each CPU", hz);
	tap_result(all > 0.85 * wanted && all < 1.05 * wanted && !d.wrong && user_ticks, name,
		   "%llu of %.0f, %llu in user mode, %llu wrong", (unsigned long long)all, wanted,
		   (unsigned long long)user_ticks, (unsigned long long)d.wrong);
	close(d.fd);
}

/* ---------------------------------------------------------------------- errors */

static void refuse(struct kl_abi_event event, int error, const char *name)
{
	struct kl_abi_event pair[2] = { { .kind = KL_SOURCE_KIND_TICK, .arg = 10 }, event };
	struct kl_abi_events events = {
		.size = sizeof(events),
		.n = 2,
		.event = (u64)(uintptr_t)pair,
	};
	int fd = kl_open(), got;
	struct kl_abi_session params = {};

	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	got = kl_call(fd, KL_IOC_EVENTS, &events);
	tap_result(got == error && !error == !kl_why(fd)[0], name, "%d: %s", got, kl_why(fd));
	if (got)
		printf("# %s\n", kl_why(fd));
	events.n = 1;
	if (got && (kl_call(fd, KL_IOC_EVENTS, &events) || events.first != KL_EV_DYNAMIC))
		tap_result(false, "nothing was defined by the call that failed", "%u: %s",
			   events.first, kl_why(fd));
	close(fd);
}

static void test_errors(void)
{
	u64 ours = symbol_address("kl_fire_dynevent");
	const char *no_file = "/no/such/file", *no_name = "no_such_tracepoint";

	refuse((struct kl_abi_event){ .kind = 99 }, -EINVAL, "an unknown kind");
	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_TICK, .arg = 10, .flags = 4 }, -EINVAL,
	       "an unknown flag");
	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_FUNCTION, .address = called + 1 },
	       -EINVAL, "the middle of a function");
	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_FUNCTION, .address = 0x1000 }, -EINVAL,
	       "a user's address");
	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_FUNCTION, .address = ours }, -EINVAL,
	       "a function of kernlens");
	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_RETURN,
				      .address = symbol_address("__switch_to") },
	       -EINVAL, "the return of __switch_to");
	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_FUNCTION,
				      .address = symbol_address("exc_page_fault") },
	       -EINVAL, "a function that cannot be hooked");
	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_RETURN,
				      .address = symbol_address("perf_event_nmi_handler") },
	       -EINVAL, "a return that kprobes may not hook");
	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_TRACEPOINT,
				      .name = (u64)(uintptr_t)no_name },
	       -ENOENT, "an unknown tracepoint");
	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_TICK, .arg = KL_TICK_HZ_MAX + 1 },
	       -EINVAL, "too many ticks");
	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_UPROBE,
				      .name = (u64)(uintptr_t)no_file },
	       -ENOENT, "an unknown file");
}

/* Address of a 5-byte nop that is not at the start of a function. */
static u64 find_nop(const struct text *text)
{
	static const u8 nop[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	const u8 *at = text->copy, *end = at + text->bytes;
	u64 address;

	while ((at = memmem(at, end - at, nop, sizeof(nop)))) {
		address = text->start + (at - text->copy);
		/* Functions are aligned; some begin with a landing pad of 4 bytes. */
		if (address % 16 != 0 && address % 16 != 4)
			return address;
		at++;
	}
	bail("no nop");
}

static u32 add_optional(u32 kind, u64 address)
{
	u32 i = defined_add(&d, kind, address, 0, NULL, 0, NULL);

	d.event[i].flags = KL_EVENT_OPTIONAL;
	return i;
}

/* Functions of which some cannot be hooked, each for another reason. */
static void test_optional(const struct text *text)
{
	u64 times = 1000, others = 0;
	u32 entry, ret;

	defined_open(&d, KL_MODE_DISCARD);
	add_optional(KL_SOURCE_KIND_FUNCTION, called + 1);
	entry = add_optional(KL_SOURCE_KIND_FUNCTION, called);
	add_optional(KL_SOURCE_KIND_FUNCTION, symbol_address("exc_page_fault"));
	add_optional(KL_SOURCE_KIND_FUNCTION, symbol_address("kl_fire_dynevent"));
	add_optional(KL_SOURCE_KIND_FUNCTION, find_nop(text));
	add_optional(KL_SOURCE_KIND_RETURN, symbol_address("__switch_to"));
	ret = add_optional(KL_SOURCE_KIND_RETURN, called);
	add_optional(KL_SOURCE_KIND_RETURN, symbol_address("perf_event_nmi_handler"));
	tap_check(!defined_make(&d), "optional functions that cannot be hooked are no error");
	tap_result(d.omitted == d.n - 2, "they are counted", "expected %u, got %u", d.n - 2,
		   d.omitted);
	defined_use(&d, d.n);
	defined_start(&d);
	call(times);
	defined_stop(&d);
	tap_result(d.seen[entry] == times && d.seen[ret] == times, "the others are recorded",
		   "expected %llu, got %llu and %llu", (unsigned long long)times,
		   (unsigned long long)d.seen[entry], (unsigned long long)d.seen[ret]);
	for (u32 i = 0; i < d.n; i++)
		others += i == entry || i == ret ? 0 : d.seen[i];
	tap_result(!others && !d.foreign, "and nothing else", "%llu, %llu foreign",
		   (unsigned long long)others, (unsigned long long)d.foreign);
	close(d.fd);

	defined_open(&d, KL_MODE_DISCARD);
	add_optional(KL_SOURCE_KIND_FUNCTION, find_nop(text));
	defined_add(&d, KL_SOURCE_KIND_FUNCTION, find_nop(text), 0, NULL, 0, NULL);
	tap_result(defined_make(&d) == -EINVAL && d.bad == 1,
		   "one that is not optional is an error beside one that is", "index %u: %s", d.bad,
		   kl_why(d.fd));
	close(d.fd);
}

static void test_user(void)
{
	const char *name = "sys_enter", *file = "/bin/true";

	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_FUNCTION, .address = called }, -EPERM,
	       "a user: no function");
	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_RETURN, .address = called }, -EPERM,
	       "a user: no return");
	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_UPROBE, .name = (u64)(uintptr_t)file },
	       -EPERM, "a user: no place in a program");
	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_TRAP }, 0, "but what it fires itself");
	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_TRAP, .name = (u64)(uintptr_t)file },
	       -EINVAL, "which has no place");
	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_TICK, .arg = 991 }, -EPERM,
	       "a user: not 1001 ticks a second");
	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_TICK, .arg = 990 }, 0,
	       "a user: 1000 ticks a second");
	refuse((struct kl_abi_event){ .kind = KL_SOURCE_KIND_TRACEPOINT,
				      .name = (u64)(uintptr_t)name },
	       0, "a user: a tracepoint");
}

/* --------------------------------------------------------------- module reload */

/* The stimulus module is unloaded and loaded again while its function is hooked. */
static void test_module(void)
{
	const char *build = getenv("KL_BUILD") ?: "build";
	char command[300];

	defined_open(&d, KL_MODE_DISCARD);
	defined_add(&d, KL_SOURCE_KIND_FUNCTION, called, 0, NULL, 0, NULL);
	defined_add(&d, KL_SOURCE_KIND_RETURN, called, 0, NULL, 0, NULL);
	if (defined_make(&d))
		bail("module: %s", kl_why(d.fd));
	defined_use(&d, d.n);
	defined_start(&d);
	call(100);
	close(stimulus);
	snprintf(command, sizeof(command),
		 "rmmod kl_stimulus && insmod %s/$(uname -r)/kl_stimulus.ko", build);
	tap_check(!system(command), "a module goes while its function is hooked");
	stimulus = open(KLS_DEVICE, O_RDWR | O_CLOEXEC);
	call(100);
	tap_check(!kl_use(d.fd, KL_MASKSET_RNOTHING) && !kl_use(d.fd, MASKSET),
		  "the session goes on without it");
	defined_stop(&d);
	tap_result(d.seen[0] == 100 && d.seen[1] == 100, "what came back is not taken for it",
		   "%llu and %llu", (unsigned long long)d.seen[0], (unsigned long long)d.seen[1]);
	close(d.fd);
}

/* The numbers start again at 0 with each write to the parameter. */
#define PASSES 100

static bool check_passed(u64 i, const u64 *number)
{
	return number[0] == i % PASSES;
}

static bool pass_module(void)
{
	return put_file("/sys/module/kl_passed/parameters/pass", "100");
}

static bool load_passed(void)
{
	char command[300];

	snprintf(command, sizeof(command), "insmod %s/$(uname -r)/kl_passed.ko",
		 getenv("KL_BUILD") ?: "build");
	return !system(command);
}

/*
 * A tracepoint is unloaded and loaded again with its module while it is hooked. A session that
 * follows tasks shares the hook with other sessions.
 */
static void test_module_tracepoint(bool follows)
{
	if (!load_passed())
		bail("kl_passed");
	defined_open(&d, KL_MODE_DISCARD);
	defined_add(&d, KL_SOURCE_KIND_TRACEPOINT, 0, 0, "kls_passed", 1, check_passed);
	if (follows)
		defined_own(&d);
	if (defined_make(&d))
		bail("tracepoint of a module: %s", kl_why(d.fd));
	defined_use(&d, d.n);
	defined_start(&d);
	tap_check(pass_module() && !system("rmmod kl_passed") && load_passed() && pass_module(),
		  "a module goes and comes back while its tracepoint is hooked");
	defined_stop(&d);
	tap_result(d.seen[0] == 2 * PASSES && !d.wrong, "and is hooked again", "%llu, %llu wrong",
		   (unsigned long long)d.seen[0], (unsigned long long)d.wrong);
	close(d.fd);
	tap_check(!system("rmmod kl_passed"), "and goes when it no longer is");
}

int main(void)
{
	struct text before, after;
	int status = 0;

	stimulus = open(KLS_DEVICE, O_RDWR | O_CLOEXEC);
	called = symbol_address("kls_called");
	if (stimulus < 0 || !called)
		bail("no stimulus module");
	n_functions = find_functions(functions, 10000);
	before = read_text();
	test_functions();
	test_tracepoints();
	test_tick(100);
	test_tick(1000);
	test_errors();
	test_optional(&before);
	fflush(stdout);
	if (!fork()) {
		if (setgid(65534) || setuid(65534))
			bail("setuid");
		test_user();
		_exit(tap.failures);
	}
	wait(&status);
	tap.tests += 6;
	tap_check(!status, "a user without privilege");
	test_switch();
	if (tap_result(n_functions >= 10000, "there are functions to hook", "%u", n_functions)) {
		test_many(KL_SOURCE_KIND_FUNCTION, 10000, "functions");
		test_many(KL_SOURCE_KIND_RETURN, 1000, "returns");
		test_many(KL_SOURCE_KIND_RETURN, 10000, "returns");
	}
	test_module();
	test_module_tracepoint(false);
	test_module_tracepoint(true);
	after = read_text();
	tap_check(!count_changes(&before, &after, true), "the kernel's text is as it was");
	return tap_end();
}
