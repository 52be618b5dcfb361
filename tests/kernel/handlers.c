// SPDX-License-Identifier: GPL-2.0
/*
 * Handlers of other modules: the example and those of kl_extern.ko, fired from all contexts; their
 * output compared with what was fired; which module keeps which loaded; what is refused. Needs
 * kl_stimulus.ko. Run as root.
 *
 *	kernel-handlers KL_LARGEST.KO KL_EXTERN.KO
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "defined.h"
#include "fire.h"
#include "text.h"
#include "workload.h"

#define WANTED 20
#define EVENT_GETPPID (KL_EV_SYSCALL_ENTRY + SYS_getppid)

static const char *largest_path, *extern_path;
static int stimulus;

/* ------------------------------------------------------------------ modules */

/* Returns 0 or -errno. */
static int load(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;

	if (fd < 0)
		bail("cannot open %s", path);
	error = syscall(SYS_finit_module, fd, parameters, 0) ? -errno : 0;
	close(fd);
	return error;
}

static int unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

static bool is_in_use(int error)
{
	return error == -EBUSY || error == -EAGAIN;
}

/* The kernel may still be releasing a descriptor that was just closed. */
static int unload_soon(const char *name)
{
	int error = unload(name);

	for (int i = 0; i < 100 && is_in_use(error); i++) {
		usleep(20000);
		error = unload(name);
	}
	return error;
}

/* ------------------------------------------------------------------ sessions */

static int open_session(void)
{
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 4096 };
	int fd = kl_open();

	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	return fd;
}

/* Adds a program that reads the first field, of 32 bits. */
static u32 add_field(int fd)
{
	return kl_program(fd, (struct kl_abi_op){ .code = KL_OP_FIELD, .b = KL_NUMBER_U32 });
}

/* Adds a program that reads the thread's id: row 1 of variables.def. */
static u32 add_tid(int fd)
{
	return kl_program(fd, (struct kl_abi_op){ .code = KL_OP_VARIABLE, .imm = 1 });
}

static int add_rule(int fd, const char *text, u32 value, u32 key)
{
	struct kl_abi_rule rule = {
		.size = sizeof(rule),
		.handler = KL_HANDLER_external,
		.value = value,
		.n_keys = !!key,
		.key = { key },
	};

	snprintf(rule.text, sizeof(rule.text), "%s", text);
	return kl_call(fd, KL_IOC_RULE, &rule);
}

static void use_rule(int fd, u32 event)
{
	const u32 events[] = { event, 0 };

	if (kl_use_events(fd, MASKSET, KL_ACTION_RULE, events) || kl_start(fd))
		bail("maskset: %s", kl_why(fd));
}

static int read_rule(int fd, u32 rule, char *text, u32 room, struct kl_abi_handler_read *call)
{
	*call = (struct kl_abi_handler_read){
		.size = sizeof(*call),
		.rule = rule,
		.text = (u64)(uintptr_t)text,
		.bytes = room,
	};
	return kl_call(fd, KL_IOC_HANDLER_READ, call);
}

/* Finds a handler in the list; returns false if there is none of that name. */
static bool find_handler(int fd, const char *name, struct kl_abi_handler_info *info)
{
	for (u32 i = 0;; i++) {
		*info = (struct kl_abi_handler_info){ .size = sizeof(*info), .index = i };
		if (kl_call(fd, KL_IOC_HANDLER_INFO, info))
			return false;
		if (!strcmp(info->name, name))
			return true;
	}
}

/* --------------------------------------------------- events seen by handlers */

static struct kls_counts fire(u32 cpus)
{
	struct kls_plan plan = fire_mixed(30000, cpus);

	return fire_all(stimulus, &plan);
}

static u64 fired_in(const struct kls_counts *counts, u32 contexts)
{
	u64 sum = 0;

	for (u32 i = 0; i < KLS_SOURCES; i++)
		for (u32 c = 0; c < KLS_CONTEXTS; c++)
			sum += contexts & 1 << c ? counts->fired[i][c] : 0;
	return sum;
}

#define ALL_CONTEXTS ((1u << KLS_CONTEXTS) - 1)

/* Numbers count up from 0 in each context: how many contexts fired this number on a CPU? */
static u32 times_fired(const struct kls_counts *counts, u32 cpu, s64 number)
{
	u32 n = 0;

	for (u32 c = 0; c < KLS_CONTEXTS; c++)
		n += (s64)counts->fired[cpu][c] > number;
	return n;
}

static void check_largest(int fd, const struct kls_counts *counts, u32 cpus)
{
	char text[8192], *rest = text, *line;
	struct kl_abi_handler_read call;
	u32 rows = 0, wrong = 0, of[WANTED] = {}, n = 0;
	long long value[WANTED] = {}, seen = 0;
	u64 greater = 0;

	if (read_rule(fd, 0, text, sizeof(text) - 1, &call))
		bail("read: %s", kl_why(fd));
	text[call.bytes] = 0;
	while ((line = strsep(&rest, "\n")))
		if (sscanf(line, "the %u largest of %lld", &n, &seen) != 2 && rows < WANTED)
			rows += sscanf(line, "%lld cpu %u", &value[rows], &of[rows]) == 2;
	tap_result(n == WANTED && rows == WANTED, "largest: as many as requested", "%u of %u: %s",
		   rows, n, text);
	tap_result((u64)seen == fired_in(counts, ALL_CONTEXTS) && call.fired == (u64)seen &&
			   !call.missed && fired_in(counts, 1 << KLS_NMI) > 100,
		   "largest: every event of every context, NMIs too", "%lld of %llu, %llu missed",
		   seen, (unsigned long long)fired_in(counts, ALL_CONTEXTS),
		   (unsigned long long)call.missed);
	for (u32 cpu = 0; cpu < cpus; cpu++) {
		/* All numbers above the smallest kept are there, as often as they were fired. */
		for (s64 v = value[WANTED - 1] + 1; times_fired(counts, cpu, v); v++) {
			u32 kept = 0;

			for (u32 i = 0; i < WANTED; i++)
				kept += value[i] == v && of[i] == cpu;
			wrong += kept != times_fired(counts, cpu, v);
			greater += times_fired(counts, cpu, v);
		}
	}
	for (u32 i = 1; i < WANTED; i++)
		wrong += value[i] > value[i - 1];
	tap_result(!wrong && greater < WANTED && value[0] > 20000,
		   "largest: those that were fired, from their CPUs", "%u wrong: %s", wrong, text);
}

static u64 sum_to(u64 n)
{
	return n ? n * (n - 1) / 2 : 0;
}

static void check_sum(int fd, const struct kls_counts *counts)
{
	unsigned long long fired = 0, in_nmi = 1, in_irq = 0, key_sum = 0, args = 1, bytes = 0;
	u32 irqs = 1 << KLS_IRQ_WORK | 1 << KLS_TIMER, others = ALL_CONTEXTS & ~(1 << KLS_NMI);
	struct kl_abi_handler_read call;
	char text[300] = "";
	u64 sum = 0;

	if (read_rule(fd, 0, text, sizeof(text) - 1, &call))
		bail("read: %s", kl_why(fd));
	sscanf(text, "%llu %llu %llu %llu %llu %llu", &fired, &in_nmi, &in_irq, &key_sum, &args,
	       &bytes);
	for (u32 i = 0; i < KLS_SOURCES; i++)
		for (u32 c = 0; c < KLS_CONTEXTS; c++)
			sum += others & 1 << c ? sum_to(counts->fired[i][c]) : 0;
	tap_result(fired == fired_in(counts, others) && call.fired == fired && !in_nmi &&
			   call.missed == fired_in(counts, 1 << KLS_NMI),
		   "one that takes no NMIs: the other events, and NMIs are counted as missed",
		   "%s, %llu missed", text, (unsigned long long)call.missed);
	tap_result(in_irq == fired_in(counts, irqs), "it knows interrupts", "%s, not %llu", text,
		   (unsigned long long)fired_in(counts, irqs));
	tap_result(key_sum == sum && bytes == 8 * fired && !args,
		   "its key is the field, its fields are the record's", "%s, not %llu", text,
		   (unsigned long long)sum);
}

static void test_contexts(void)
{
	u32 cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int largest = open_session(), sum = open_session();
	struct kls_counts counts;

	if (add_rule(largest, "largest 20", add_field(largest), 0))
		bail("largest: %s", kl_why(largest));
	if (add_rule(sum, "t_sum", 0, add_field(sum)))
		bail("t_sum: %s", kl_why(sum));
	use_rule(largest, KL_EV_power_cpu_frequency);
	use_rule(sum, KL_EV_power_cpu_frequency);
	counts = fire(cpus);
	kl_stop(largest);
	kl_stop(sum);
	check_not_suspended(largest);
	check_not_suspended(sum);
	check_largest(largest, &counts, cpus);
	check_sum(sum, &counts);
	close(largest);
	close(sum);
}

/* ------------------------------------------------------------------- refusals */

static void test_registering(void)
{
	int fd = kl_open();
	struct kl_abi_handler_info info;

	tap_check(load(extern_path, "version=2") == -EPROTO,
		  "another version of the interface is refused");
	tap_check(load(extern_path, "name=hist") == -EBUSY, "a built-in's name is refused");
	tap_check(load(extern_path, "name=t_much") == -EBUSY, "a name twice is refused");
	tap_check(load(extern_path, "name=Sum") == -EINVAL && load(extern_path, "name=") == -EINVAL,
		  "an invalid name is refused");
	tap_check(load(extern_path, "flags=256") == -EINVAL, "an unknown flag is refused");
	tap_check(!find_handler(fd, "t_sum", &info) && !find_handler(fd, "t_fails", &info),
		  "and nothing of it stays");
	if (load(largest_path, "") || load(extern_path, ""))
		bail("the modules cannot be loaded");
	tap_check(find_handler(fd, "largest", &info) && !strcmp(info.module, "kl_largest") &&
			  info.id && !info.absent && !info.rules && strlen(info.help) > 10 &&
			  info.flags ==
				  (KL_HANDLER_ANY_CONTEXT | KL_HANDLER_FOR_ALL | KL_HANDLER_VALUE),
		  "the list has the example, and what it can do");
	close(fd);
	tap_check(is_in_use(unload("kernlens")),
		  "kernlens cannot be unloaded while a module that uses it is loaded");
}

static void test_wrong_rules(void)
{
	int fd = open_session();
	u32 value = add_field(fd);

	tap_check(add_rule(fd, "unknown", 0, 0) == -ENOENT && strstr(kl_why(fd), "unknown"),
		  "no rule with an unknown handler");
	tap_check(add_rule(fd, "", 0, 0) == -ENOENT && add_rule(fd, "larges", value, 0) == -ENOENT,
		  "nor with a part of a name");
	tap_check(add_rule(fd, "largest 5", 0, 0) == -EINVAL, "a value that is needed is missing");
	tap_check(add_rule(fd, "t_much", value, 0) == -EINVAL, "a value is not taken");
	tap_check(add_rule(fd, "largest 5", value, value) == -EINVAL, "keys are not taken");
	tap_check(add_rule(fd, "largest 0", value, 0) == -EINVAL && strstr(kl_why(fd), "\"0\""),
		  "the handler says what is wrong");
	tap_check(add_rule(fd, "t_fails  one two", 0, value) == -ERANGE &&
			  strstr(kl_why(fd), "told \"one two\" with 1 keys"),
		  "and receives the arguments as written");
	tap_check(!unload("kl_largest") && !load(largest_path, ""), "none of this keeps a module");
	close(fd);
}

static void set_bytes(const char *bytes)
{
	if (!put_file("/sys/module/kl_extern/parameters/bytes", bytes))
		bail("bytes");
}

static void test_reading(void)
{
	struct kl_abi_rule plain = { .size = sizeof(plain), .handler = KL_HANDLER_count };
	struct kl_abi_handler_read call;
	char *text = calloc(1, 200000);
	int fd = open_session();

	if (add_rule(fd, "t_much", 0, 0) || add_rule(fd, "t_bare", 0, 0) ||
	    kl_call(fd, KL_IOC_RULE, &plain))
		bail("rules: %s", kl_why(fd));
	tap_check(!read_rule(fd, 0, text, 100, &call) && call.bytes == 100000 && !text[0],
		  "buffer too small: only the size needed");
	tap_check(!read_rule(fd, 0, text, 200000, &call) && call.bytes == 100000 &&
			  text[99999] == 'a' + 99999 % 26 && !text[100000],
		  "buffer large enough: the whole text");
	tap_check(read_rule(fd, 0, NULL, 200000, &call) == -EFAULT, "an invalid buffer");
	set_bytes("0");
	tap_check(!read_rule(fd, 0, text, 100, &call) && !call.bytes, "an empty text");
	set_bytes("1048577");
	tap_check(read_rule(fd, 0, text, 100, &call) == -E2BIG, "a text above the maximum");
	set_bytes("4294967291");
	tap_check(read_rule(fd, 0, text, 100, &call) == -EIO, "the handler's own error");
	set_bytes("100000");
	tap_check(!read_rule(fd, 1, text, 100, &call) && !call.bytes, "one without a text");
	tap_check(read_rule(fd, 2, text, 100, &call) == -EINVAL &&
			  read_rule(fd, 3, text, 100, &call) == -ENOENT,
		  "a rule with another handler, and none");
	close(fd);
	free(text);
}

/* -------------------------------------------------------------- privilege */

/* Checks what a user learns about the tasks that it switches to and from. */
static void check_own(int fd)
{
	char text[8192], *rest = text, *line;
	struct kl_abi_handler_read call;
	u32 own = 0, others = 0;

	for (u32 i = 0; i < 200; i++)
		sleep_ms(1);
	kl_stop(fd);
	if (read_rule(fd, 0, text, sizeof(text) - 1, &call))
		bail("read: %s", kl_why(fd));
	text[call.bytes] = 0;
	while ((line = strsep(&rest, "\n"))) {
		long long value;
		int tid;

		if (sscanf(line, "%lld cpu %*u tid %d", &value, &tid) != 2)
			continue;
		own += tid == getpid() && value == tid;
		others += (tid && tid != getpid()) || (value && value != getpid());
	}
	tap_result(own > 10 && !others, "and it receives only the user's own tasks",
		   "%u own, %u others", own, others);
}

static void ordinary_user(void)
{
	struct kl_abi_handler_info info;
	int fd;

	kl_become(UID_USER1);
	fd = open_session();
	tap_check(find_handler(fd, "t_sum", &info) && info.absent == KL_ABSENT_DENIED &&
			  !info.rules,
		  "a user without privilege: the list says what is denied, and nothing of others");
	tap_check(add_rule(fd, "t_sum", 0, 0) == -EPERM && strstr(kl_why(fd), "CAP_SYS_ADMIN"),
		  "and the rule is refused");
	tap_check(find_handler(fd, "largest", &info) && !info.absent &&
			  !add_rule(fd, "largest 100", add_tid(fd), 0),
		  "one that is for all is not");
	use_rule(fd, KL_EV_sched_switch);
	check_own(fd);
	fflush(stdout);
	_exit(tap.failures);
}

static void test_privilege(void)
{
	int holder = open_session(), status;
	pid_t child;

	if (add_rule(holder, "t_sum", 0, 0))
		bail("rule: %s", kl_why(holder));
	child = fork();
	if (!child)
		ordinary_user();
	waitpid(child, &status, 0);
	tap.tests += 4;
	tap.failures += WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	close(holder);
}

/* The arguments of a function, which need privilege. */
static void test_arguments(void)
{
	static struct defined d;
	struct kl_abi_maskset m = { .size = sizeof(m), .id = MASKSET };
	unsigned long long fired = 0, arguments = 0;
	struct kl_abi_handler_read call;
	u8 action = KL_ACTION_RULE;
	char text[300] = "";

	defined_open(&d, KL_MODE_DISCARD);
	/* Any program that reads an argument makes the source supply them. */
	defined_add(&d, KL_SOURCE_KIND_FUNCTION, symbol_address("kls_called"), 0, NULL, 1, NULL);
	m.dynamic = (u64)(uintptr_t)&action;
	m.n_dynamic = 1;
	if (defined_make(&d) || add_rule(d.fd, "t_sum", 0, 0) ||
	    kl_call(d.fd, KL_IOC_MASKSET_WRITE, &m) || kl_use(d.fd, MASKSET) || kl_start(d.fd))
		bail("function: %s", kl_why(d.fd));
	if (ioctl(stimulus, KLS_IOC_CALL, 1000ul))
		bail("KLS_IOC_CALL");
	kl_stop(d.fd);
	if (read_rule(d.fd, 0, text, sizeof(text) - 1, &call))
		bail("read: %s", kl_why(d.fd));
	sscanf(text, "%llu %*u %*u %*u %llu", &fired, &arguments);
	tap_result(fired == 1000 && arguments == sum_to(1000), "a function's arguments", "%s",
		   text);
	close(d.fd);
}

/* ------------------------------------------------------- module references */

static pid_t start_tracer(void)
{
	int pipes[2];
	pid_t child;
	char byte;

	if (pipe(pipes))
		bail("pipe");
	child = fork();
	if (!child) {
		int fd = open_session();

		if (add_rule(fd, "largest 5", add_tid(fd), 0))
			_exit(1);
		use_rule(fd, EVENT_GETPPID);
		if (write(pipes[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			syscall(SYS_getppid);
	}
	if (read(pipes[0], &byte, 1) != 1)
		bail("the tracer does not start");
	close(pipes[0]);
	close(pipes[1]);
	return child;
}

static void test_keeping(void)
{
	struct kl_abi_handler_info info;
	int fd = kl_open(), attached;
	struct kl_abi_attach attach = { .size = sizeof(attach) };
	struct kl_abi_status status = { .size = sizeof(status) };
	pid_t tracer = start_tracer();

	sleep_ms(20);
	tap_check(find_handler(fd, "largest", &info) && info.rules == 1,
		  "the list says who uses it");
	tap_check(is_in_use(unload("kl_largest")), "its module cannot be unloaded meanwhile");
	if (kl_call(fd, KL_IOC_STATUS, &status))
		bail("status");
	attached = kl_open();
	attach.id = status.id;
	if (kl_call(attached, KL_IOC_ATTACH, &attach))
		bail("attach: %s", kl_why(attached));
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	sleep_ms(50);
	tap_check(is_in_use(unload("kl_largest")),
		  "nor while another reads the dead one's session");
	close(attached);
	tap_check(!unload_soon("kl_largest"), "a session whose process is killed lets go of it");
	tap_check(!find_handler(fd, "largest", &info), "and the list has it no more");
	close(fd);
	if (load(largest_path, ""))
		bail("kl_largest");
}

static bool stop_trying;
static u64 rules_made, rules_refused, wrong_errors;

/* Creates sessions with rules, whether the module is loaded at the moment or not. */
static void *try_rules(void *unused)
{
	while (!__atomic_load_n(&stop_trying, __ATOMIC_RELAXED)) {
		int fd = open_session(), error = add_rule(fd, "t_sum", 0, 0);

		if (!error) {
			use_rule(fd, EVENT_GETPPID);
			syscall(SYS_getppid);
		}
		__atomic_fetch_add(&rules_made, !error, __ATOMIC_RELAXED);
		rules_refused += error == -ENOENT;
		wrong_errors += error && error != -ENOENT;
		close(fd);
		/* Sometimes no session uses it. */
		usleep(rules_made % 5 * 2000);
	}
	return NULL;
}

static void test_loading(void)
{
	u64 loads = 0, refused = 0;
	double until = now_seconds() + 2;
	pid_t tracer = start_tracer();
	pthread_t thread;
	int error;

	pthread_create(&thread, NULL, try_rules, NULL);
	/* On a slow kernel, it may take longer until a rule finds the module loaded. */
	while (now_seconds() < until ||
	       (!__atomic_load_n(&rules_made, __ATOMIC_RELAXED) && now_seconds() < until + 60)) {
		error = unload("kl_extern");
		refused += is_in_use(error);
		if (error && !is_in_use(error))
			break;
		if (!error && load(extern_path, ""))
			break;
		loads += !error;
		usleep(loads % 7 * 1000);
	}
	__atomic_store_n(&stop_trying, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	tap_result(now_seconds() >= until && loads && rules_made && !wrong_errors,
		   "loaded and unloaded while sessions come and go",
		   "%llu loads, %llu refused, %llu rules, %llu without, %llu wrong",
		   (unsigned long long)loads, (unsigned long long)refused,
		   (unsigned long long)rules_made, (unsigned long long)rules_refused,
		   (unsigned long long)wrong_errors);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		bail("usage: handlers KL_LARGEST.KO KL_EXTERN.KO");
	largest_path = argv[1];
	extern_path = argv[2];
	stimulus = open(KLS_DEVICE, O_RDWR | O_CLOEXEC);
	if (stimulus < 0)
		bail("cannot open " KLS_DEVICE);
	test_registering();
	test_contexts();
	test_arguments();
	test_wrong_rules();
	test_reading();
	test_privilege();
	test_keeping();
	test_loading();
	tap_check(!unload_soon("kl_extern") && !unload_soon("kl_largest"),
		  "both modules can be unloaded in the end");
	return tap_end();
}
