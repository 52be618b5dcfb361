// SPDX-License-Identifier: GPL-2.0
/*
 * Events that processes fire themselves, by a breakpoint followed by a signature: by an ordinary
 * user, each exactly once with its registers; by threads and children while the session stops and
 * starts; not by other users. Any other breakpoint stays an ordinary one. Run as root.
 *
 *	kernel-traps
 */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "defined.h"
#include "text.h"
#include "workload.h"

#define EVENTS 5000
#define THREADS 4
#define PIECES 4000
#define FROM 0x1234
#define MEMORY 16384
#define USER_IP 65 /* of variables.def */
#define USER_DI 73

static struct defined d;
static u8 *code;
static struct kl_abi_session session;

/* A trap, then mov %rdi, %rax; ret: returns the first argument. */
static u64 (*trap_of(u32 slot, u32 event, s32 from))(u64, u64)
{
	static const u8 rest[] = { 0x48, 0x89, 0xf8, 0xc3 };
	u8 *at = code + 64 * slot;
	const struct kl_abi_trap trap = {
		.opcode = KL_TRAP_OPCODE,
		.magic = KL_TRAP_MAGIC,
		.session = session.id,
		.event = KL_EV_DYNAMIC + event,
		.from = from,
	};

	memcpy(at, &trap, sizeof(trap));
	memcpy(at + sizeof(trap), rest, sizeof(rest));
	return (u64(*)(u64, u64))at;
}

static void open_session(void)
{
	memset(&d, 0, sizeof(d));
	d.fd = kl_open();
	session = (struct kl_abi_session){
		.mode = KL_MODE_DISCARD,
		.block_bytes = 65536,
		.blocks = 32,
	};
	if (kl_session(d.fd, &session))
		bail("session: %s", kl_why(d.fd));
	defined_add(&d, KL_SOURCE_KIND_TRAP, 0, 0, NULL, 0, NULL);
	defined_add(&d, KL_SOURCE_KIND_TRAP, 0, 0, NULL, 0, NULL);
}

static void make(void)
{
	if (defined_make(&d))
		bail("events: %s", kl_why(d.fd));
	defined_use(&d, d.n);
}

static void become_user(void)
{
	if (setresgid(UID_USER1, UID_USER1, UID_USER1) ||
	    setresuid(UID_USER1, UID_USER1, UID_USER1) || prctl(PR_SET_DUMPABLE, 1))
		bail("user");
}

/* ------------------------------------------------------------------------ hits */

static void test_firing(void)
{
	const u64 times = 5000;
	u64 (*first)(u64, u64), (*second)(u64, u64), wrong = 0;

	open_session();
	make();
	first = trap_of(0, 0, 0);
	second = trap_of(1, 1, FROM);
	wrong += first(7, 0) != 7;
	tap_check(!wrong && !kl_stats(d.fd, -1).written, "nothing before the start");
	defined_start(&d);
	for (u64 i = 0; i < times; i++)
		wrong += first(i, 3 * i) != i || second(i, 0) != i;
	defined_stop(&d);
	tap_result(d.seen[0] == times && d.seen[1] == times && !d.foreign,
		   "each trap is an event, once", "%llu and %llu of %llu",
		   (unsigned long long)d.seen[0], (unsigned long long)d.seen[1],
		   (unsigned long long)times);
	tap_result(!wrong, "registers are as they were", "%llu wrong", (unsigned long long)wrong);
	first(7, 0);
	tap_check(kl_stats(d.fd, -1).written == 2 * times, "nothing after the end");
	close(d.fd);
	tap_check(first(7, 0) == 7, "nor when the session has gone: the program goes on");
}

/* Variables report the registers, and as user_ip the address to which `from` leads. */
static void test_registers(void)
{
	static const u32 variable[] = { USER_IP, USER_DI };
	static u8 block[65536];
	u64 to[2] = { (u64)(uintptr_t)code - FROM, 0x123456789abcdef0 }, found[2] = {};
	struct kl_abi_program program = { .size = sizeof(program), .n_ops = 5 };
	struct kl_abi_op op[5] = {};
	int reader;

	for (u32 i = 0; i < 2; i++) {
		op[2 * i] = (struct kl_abi_op){ .code = KL_OP_VARIABLE, .imm = variable[i] };
		op[2 * i + 1] = (struct kl_abi_op){ .code = KL_OP_PUT, .b = KL_NUMBER_U64 };
	}
	op[4].code = KL_OP_END;
	program.ops = (u64)(uintptr_t)op;
	open_session();
	if (kl_call(d.fd, KL_IOC_PROGRAM, &program))
		bail("program: %s", kl_why(d.fd));
	d.event[0].program = program.id;
	make();
	defined_start(&d);
	trap_of(0, 0, -FROM)(to[1], 0);
	if (kl_stop(d.fd))
		bail("stop");
	reader = kl_reader(d.fd, 0);
	if (read(reader, block, sizeof(block)) == sizeof(block))
		memcpy(found, block + KL_BLOCK_HEADER_BYTES + KL_RECORD_PREFIX_BYTES + 24, 16);
	tap_result(!memcmp(found, to, 16),
		   "registers are reported, and the address of the original code",
		   "%#llx, %#llx, not %#llx, %#llx", (unsigned long long)found[0],
		   (unsigned long long)found[1], (unsigned long long)to[0],
		   (unsigned long long)to[1]);
	close(reader);
	close(d.fd);
}

/* --------------------------------------------------------------------- threads */

static bool stop;

static void *run_traps(void *count)
{
	u64 (*trap)(u64, u64) = (u64(*)(u64, u64))(code + 64);
	u64 n = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (trap(n, 1) != n)
			bail("a thread's registers");
		n++;
	}
	*(u64 *)count = n;
	return NULL;
}

static void start_threads(pthread_t *thread, u64 *count)
{
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	for (u32 i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, run_traps, &count[i]))
			bail("thread");
}

/* Returns how often they have executed a trap. */
static u64 stop_threads(const pthread_t *thread, const u64 *count)
{
	u64 sum = 0;

	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (u32 i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		sum += count[i];
	}
	return sum;
}

static void test_threads(void)
{
	pthread_t thread[THREADS];
	u64 count[THREADS], sum = 0;
	struct kl_abi_stats stats;

	open_session();
	d.n--;
	for (u32 i = 1; i < EVENTS; i++)
		defined_add(&d, KL_SOURCE_KIND_TRAP, 0, 0, NULL, 0, NULL);
	make();
	trap_of(1, d.n - 1, 0);
	defined_start(&d);
	start_threads(thread, count);
	sleep_ms(100);
	sum = stop_threads(thread, count);
	if (kl_stop(d.fd))
		bail("stop");
	stats = kl_stats(d.fd, -1);
	tap_result(stats.written + stats.lost == sum && sum > 1000,
		   "threads: each trap is reported", "%llu written, %llu lost of %llu",
		   (unsigned long long)stats.written, (unsigned long long)stats.lost,
		   (unsigned long long)sum);
	start_threads(thread, count);
	for (u32 i = 0; i < 40; i++) {
		defined_start(&d);
		sleep_ms(5);
		if (kl_stop(d.fd))
			bail("stop");
	}
	sum += stop_threads(thread, count);
	stats = kl_stats(d.fd, -1);
	defined_read(&d);
	tap_result(stats.written + stats.lost <= sum && !d.foreign,
		   "while the session starts and stops: none more than there were",
		   "%llu written, %llu lost of %llu", (unsigned long long)stats.written,
		   (unsigned long long)stats.lost, (unsigned long long)sum);
	close(d.fd);
}

static void test_child(void)
{
	pid_t child;
	int status;

	open_session();
	make();
	defined_start(&d);
	child = fork();
	if (!child) {
		for (u64 i = 0; i < 1000; i++)
			trap_of(2, 0, 0)(i, 1);
		_exit(0);
	}
	waitpid(child, &status, 0);
	defined_stop(&d);
	tap_check(!status && d.seen[0] == 1000, "a child hits the same events as its parent");
	close(d.fd);
}

/* What a trap looks up is freed concurrently: events in many pieces, which take time to free. */
static void test_end(void)
{
	pthread_t thread[THREADS];
	u64 count[THREADS];

	for (u32 i = 0; i < 5; i++) {
		open_session();
		for (u32 k = 0; k < PIECES; k++) {
			d.n = 1;
			if (defined_make(&d))
				bail("events: %s", kl_why(d.fd));
		}
		/* The first event, which is freed first. */
		trap_of(1, 0, 0);
		defined_start(&d);
		if (kl_stop(d.fd))
			bail("stop");
		start_threads(thread, count);
		sleep_ms(20);
		close(d.fd);
		sleep_ms(20);
		stop_threads(thread, count);
	}
	tap_check(true, "sessions end while threads fire");
}

/* ---------------------------------------------------------------------- others */

static bool dies_of(int signal, void (*fn)(void))
{
	pid_t child = fork();
	int status;

	if (!child) {
		const struct rlimit none = {};

		/* Must stay dumpable: otherwise it could not fire. */
		setrlimit(RLIMIT_CORE, &none);
		fn();
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

static void meet_breakpoint(void)
{
	trap_of(0, 0, 0);
	code[1]++;
	((void (*)(void))code)();
}

/* At the end of the mapped memory: the rest of the trap cannot be read. */
static void meet_half(void)
{
	u8 *end = code + MEMORY - 4096;

	trap_of(0, 0, 0);
	memcpy(end - 8, code, 8);
	((void (*)(void))(end - 8))();
}

static void meet_32_bit(void)
{
	trap_of(0, 0, 0);
	/* Far return to the 32-bit code segment. */
	__asm__ volatile("pushq $0x23\n\tpushq %0\n\tlretq" : : "r"((u64)(uintptr_t)code));
}

static void test_other_breakpoints(void)
{
	open_session();
	make();
	defined_start(&d);
	tap_check(dies_of(SIGTRAP, meet_breakpoint), "another breakpoint is one");
	tap_check(dies_of(SIGTRAP, meet_half), "and half a trap");
	tap_check(dies_of(SIGTRAP, meet_32_bit), "and one in 32-bit code");
	tap_check(trap_of(0, d.n, 0)(3, 0) == 3 && trap_of(0, -1, 0)(3, 0) == 3 &&
			  trap_of(0, 1u << 31, 0)(3, 0) == 3,
		  "an unknown event is ignored");
	session.id += 1000;
	tap_check(trap_of(0, 0, 0)(3, 0) == 3, "and so is an unknown session");
	session.id -= 1000;
	defined_stop(&d);
	tap_check(!defined_seen(&d) && !d.foreign, "none of that was an event");
	close(d.fd);
}

static void fire_as(u32 user)
{
	pid_t child = fork();
	int status;

	if (!child) {
		if (setresgid(user, user, user) || setresuid(user, user, user) ||
		    prctl(PR_SET_DUMPABLE, 1))
			_exit(2);
		_exit(trap_of(0, 0, 0)(3, 0) == 3 ? 0 : 1);
	}
	waitpid(child, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		bail("another user: %d", status);
}

/* Root sees every user's records, but only root's own traps may fire events of its session. */
static void test_root(void)
{
	open_session();
	make();
	defined_start(&d);
	fire_as(UID_USER1);
	trap_of(0, 0, 0)(1, 1);
	defined_stop(&d);
	tap_check(d.seen[0] == 1, "a user cannot fire for root");
	close(d.fd);
}

/* The session is one user's, and another user fires. */
static void test_other(void)
{
	int told[2], asked[2];
	pid_t child;
	int status;
	char byte;

	if (pipe(told) || pipe(asked))
		bail("pipe");
	child = fork();
	if (!child) {
		become_user();
		open_session();
		make();
		defined_start(&d);
		if (write(told[1], &session.id, 4) != 4 || read(asked[0], &byte, 1) != 1)
			_exit(2);
		trap_of(0, 0, 0)(1, 1);
		defined_stop(&d);
		_exit(d.seen[0] == 1 ? 0 : 1);
	}
	if (read(told[0], &session.id, 4) != 4)
		bail("the user's session");
	fire_as(UID_USER2);
	trap_of(0, 0, 0)(1, 1);
	if (write(asked[1], "", 1) != 1)
		bail("pipe");
	waitpid(child, &status, 0);
	tap_check(!status, "neither another user nor root fires for a user");
}

/* ---------------------------------------------------------- pinning the module */

static void *map(int fd, u64 offset, size_t bytes, int protection, int flags)
{
	return mmap(NULL, bytes, protection, flags, fd, (off_t)offset);
}

static bool maps(int fd, u64 offset, size_t bytes, int protection, int flags)
{
	void *at = map(fd, offset, bytes, protection, flags);

	return at != MAP_FAILED && !munmap(at, bytes);
}

static void *kept;

static void touch(void)
{
	*(volatile char *)kept = 1;
}

static int users_of_module(void)
{
	char text[16] = "";
	int fd = open("/sys/module/kernlens/refcnt", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		bail("refcnt");
	close(fd);
	return atoi(text);
}

static void test_keeping(void)
{
	const int rw = PROT_READ | PROT_WRITE;
	struct kl_abi_session params = {};
	int fd = kl_open(), before;

	tap_check(!maps(fd, KL_MMAP_KEEP, 4096, PROT_NONE, MAP_PRIVATE) &&
			  !maps(fd, KL_MMAP_KEEP, 8192, PROT_NONE, MAP_SHARED) &&
			  !maps(fd, KL_MMAP_KEEP + 4096, 4096, PROT_NONE, MAP_SHARED) &&
			  !maps(fd, KL_MMAP_KEEP, 4096, rw, MAP_SHARED),
		  "only this can be mapped");
	before = users_of_module();
	kept = map(fd, KL_MMAP_KEEP, 4096, PROT_NONE, MAP_SHARED);
	tap_check(kept != MAP_FAILED && mprotect(kept, 4096, rw) == -1 && errno == EACCES,
		  "it cannot be made one that is used");
	tap_check(dies_of(SIGSEGV, touch), "access to it is fatal");
	close(fd);
	tap_check(users_of_module() == before, "it keeps the module");
	munmap(kept, 4096);
	tap_check(users_of_module() == before - 1, "until it is not mapped any more");
	fd = kl_open();
	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	tap_check(!maps(fd, KL_MMAP_KEEP, 4096, PROT_NONE, MAP_SHARED) && errno == EBUSY,
		  "a descriptor with a session is refused: it would be kept, too");
	close(fd);
}

int main(void)
{
	int fd;

	code = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (code == MAP_FAILED || munmap(code + MEMORY - 4096, 4096))
		bail("memory");
	code[0] = 0;
	/* Otherwise traps of sessions that no longer exist would kill us. */
	fd = kl_open();
	kept = map(fd, KL_MMAP_KEEP, 4096, PROT_NONE, MAP_SHARED);
	if (kept == MAP_FAILED)
		bail("the module is not kept");
	close(fd);
	test_other();
	test_root();
	become_user();
	test_firing();
	test_registers();
	test_threads();
	test_child();
	test_end();
	test_other_breakpoints();
	test_keeping();
	return tap_end();
}
