// SPDX-License-Identifier: GPL-2.0
/*
 * Events that processes fire themselves, by stores to what they have mapped of a session: by an
 * ordinary user, each one exactly once with its registers; by threads and children while the session
 * stops and starts; and all other use of that memory. Run as root.
 *
 *	kernel-stores
 */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include "defined.h"
#include "text.h"
#include "workload.h"

#define EVENTS 5000 /* more than a page */
#define THREADS 4
#define USER_IP 65 /* of variables.def */
#define USER_DI 73
#define FROM 0x1234

static struct defined d;
static u8 *code;
static volatile char *memory;

/* movl $FROM, EVENT(%rip); mov %rdi, %rax; ret: what was in rdi comes back. */
static u64 (*store_to(u32 slot, u32 event, s32 from))(u64, u64)
{
	static const u8 rest[] = { 0x48, 0x89, 0xf8, 0xc3 };
	u8 *at = code + 32 * slot;
	s32 distance = (s32)((u8 *)memory + event - (at + 10));

	at[0] = 0xc7;
	at[1] = 0x05;
	memcpy(at + 2, &distance, 4);
	memcpy(at + 6, &from, 4);
	memcpy(at + 10, rest, sizeof(rest));
	return (u64(*)(u64, u64))at;
}

static volatile char *map(int fd, u64 offset, size_t bytes, int flags)
{
	return mmap(code + 65536, bytes, PROT_READ | PROT_WRITE, flags, fd, (off_t)offset);
}

/* As the process that is traced does it: by a descriptor of its own, which it does not keep. */
static bool attach_and_map(const struct kl_abi_session *session)
{
	struct kl_abi_attach attach = { .size = sizeof(attach), .id = session->id };
	int fd = kl_open();
	bool ok = !kl_call(fd, KL_IOC_ATTACH, &attach);

	memory = ok ? map(fd, KL_MMAP_STORES, EVENTS, MAP_SHARED | MAP_FIXED_NOREPLACE) :
		      MAP_FAILED;
	close(fd);
	return memory != MAP_FAILED;
}

static void open_session(struct kl_abi_session *wish)
{
	memset(&d, 0, sizeof(d));
	d.fd = kl_open();
	*wish = (struct kl_abi_session){
		.mode = KL_MODE_DISCARD,
		.block_bytes = 65536,
		.blocks = 32,
	};
	if (kl_session(d.fd, wish))
		bail("session: %s", kl_why(d.fd));
	defined_add(&d, KL_SOURCE_KIND_STORE, 0, 0, NULL, 0, NULL);
	defined_add(&d, KL_SOURCE_KIND_STORE, 0, 0, NULL, 0, NULL);
}

static void make(void)
{
	if (defined_make(&d))
		bail("events: %s", kl_why(d.fd));
	defined_use(&d, d.n);
}

static void close_session(void)
{
	close(d.fd);
	munmap((void *)memory, EVENTS);
}

/* ---------------------------------------------------------------------- firing */

static void test_firing(void)
{
	const u64 times = 5000;
	struct kl_abi_session session;
	u64 (*first)(u64, u64), (*second)(u64, u64), wrong = 0;

	open_session(&session);
	make();
	if (!tap_check(attach_and_map(&session), "a user maps a session of its own"))
		return;
	first = store_to(0, 0, 0);
	second = store_to(1, 1, FROM);
	wrong += first(7, 0) != 7;
	tap_check(!wrong && !kl_stats(d.fd, -1).written, "nothing before the start");
	defined_start(&d);
	for (u64 i = 0; i < times; i++)
		wrong += first(i, 3 * i) != i || second(i, 0) != i;
	defined_stop(&d);
	tap_result(d.seen[0] == times && d.seen[1] == times && !d.foreign,
		   "each store is an event, once", "%llu and %llu of %llu",
		   (unsigned long long)d.seen[0], (unsigned long long)d.seen[1],
		   (unsigned long long)times);
	tap_result(!wrong, "registers are as they were", "%llu wrong", (unsigned long long)wrong);
	first(7, 0);
	tap_check(kl_stats(d.fd, -1).written == 2 * times, "nothing after the end");
	close(d.fd);
	tap_check(first(7, 0) == 7, "nor when the session has gone: the program goes on");
	munmap((void *)memory, EVENTS);
}

/* Variables tell where the text would have been, and the registers. */
static void test_registers(void)
{
	static const u32 variable[] = { USER_IP, USER_DI };
	static u8 block[65536];
	u64 to[2] = { (u64)(uintptr_t)code - FROM, 0x123456789abcdef0 }, found[2] = {};
	struct kl_abi_program program = { .size = sizeof(program), .n_ops = 5 };
	struct kl_abi_op op[5] = {};
	struct kl_abi_session session;
	int reader;

	for (u32 i = 0; i < 2; i++) {
		op[2 * i] = (struct kl_abi_op){ .code = KL_OP_VARIABLE, .imm = variable[i] };
		op[2 * i + 1] = (struct kl_abi_op){ .code = KL_OP_PUT, .b = KL_NUMBER_U64 };
	}
	op[4].code = KL_OP_END;
	program.ops = (u64)(uintptr_t)op;
	open_session(&session);
	if (kl_call(d.fd, KL_IOC_PROGRAM, &program))
		bail("program: %s", kl_why(d.fd));
	d.event[0].program = program.id;
	make();
	if (!attach_and_map(&session))
		bail("map");
	defined_start(&d);
	store_to(0, 0, -FROM)(to[1], 0);
	if (kl_stop(d.fd))
		bail("stop");
	reader = kl_reader(d.fd, 0);
	if (read(reader, block, sizeof(block)) == sizeof(block))
		memcpy(found, block + KL_BLOCK_HEADER_BYTES + KL_RECORD_PREFIX_BYTES + 24, 16);
	tap_result(!memcmp(found, to, 16), "and told, and where the program would have been",
		   "%#llx, %#llx, not %#llx, %#llx", (unsigned long long)found[0],
		   (unsigned long long)found[1], (unsigned long long)to[0],
		   (unsigned long long)to[1]);
	close(reader);
	close_session();
}

/* --------------------------------------------------------------------- threads */

static bool stop;

static void *run_stores(void *count)
{
	u64 (*store)(u64, u64) = (u64(*)(u64, u64))(code + 32);
	u64 n = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (store(n, 1) != n)
			bail("a thread's registers");
		n++;
	}
	*(u64 *)count = n;
	return NULL;
}

static void test_threads(void)
{
	struct kl_abi_session session;
	pthread_t thread[THREADS];
	u64 count[THREADS], sum = 0;
	struct kl_abi_stats stats;
	pid_t child;
	int status;

	open_session(&session);
	d.n--;
	for (u32 i = 1; i < EVENTS; i++)
		defined_add(&d, KL_SOURCE_KIND_STORE, 0, 0, NULL, 0, NULL);
	make();
	if (!attach_and_map(&session))
		bail("map");
	store_to(1, d.n - 1, 0);
	for (u32 i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, run_stores, &count[i]);
	for (u32 i = 0; i < 40; i++) {
		defined_start(&d);
		sleep_ms(5);
		if (kl_stop(d.fd))
			bail("stop");
	}
	defined_start(&d);
	sleep_ms(50);
	child = fork();
	if (!child) {
		for (u64 i = 0; i < 1000; i++)
			store_to(2, 0, 0)(i, 1);
		_exit(0);
	}
	waitpid(child, &status, 0);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (u32 i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		sum += count[i];
	}
	if (kl_stop(d.fd))
		bail("stop");
	stats = kl_stats(d.fd, -1);
	defined_read(&d);
	tap_check(!status && d.seen[0] + stats.lost >= 1000 && d.seen[0] <= 1000,
		  "a child fires what its parent has mapped");
	tap_result(stats.written > 1000 && stats.written + stats.lost <= sum + 1000 && !d.foreign,
		   "threads, while the session starts and stops: none more than there were",
		   "%llu written, %llu lost of %llu", (unsigned long long)stats.written,
		   (unsigned long long)stats.lost, (unsigned long long)sum);
	close_session();
}

/* ---------------------------------------------------------------------- misuse */

static bool dies_of(int signal, void (*fn)(void))
{
	pid_t child = fork();
	int status;

	if (!child) {
		prctl(PR_SET_DUMPABLE, 0);
		fn();
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

static void read_it(void)
{
	(void)memory[0];
}

static void write_byte(void)
{
	memory[0] = 1;
}

/* One byte shorter: the program would go on in the middle of the next instruction. */
static void write_other(void)
{
	static const u8 other[] = { 0x89, 0x05 }; /* movl %eax, DISTANCE(%rip) */

	store_to(0, 8, 0);
	memcpy(code, other, sizeof(other));
	((void (*)(void))code)();
}

static void test_misuse(void)
{
	struct iovec here = { .iov_base = code, .iov_len = 64 };
	struct iovec there = { .iov_len = 64 };
	struct kl_abi_session session;
	int fd = kl_open(), zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	open_session(&session);
	make();
	errno = 0;
	tap_check(map(fd, KL_MMAP_STORES, EVENTS, MAP_SHARED) == MAP_FAILED && errno == ENOTCONN,
		  "a descriptor without a session has nothing to map");
	tap_check(map(d.fd, KL_MMAP_STORES, EVENTS, MAP_PRIVATE) == MAP_FAILED && errno == EINVAL,
		  "not as a private mapping");
	tap_check(map(d.fd, KL_MMAP_STORES + 4096, EVENTS, MAP_SHARED) == MAP_FAILED &&
			  errno == EINVAL,
		  "not from its middle");
	tap_check(map(d.fd, KL_MMAP_STORES, KL_EV_DYNAMIC_MAX + 4097, MAP_SHARED) == MAP_FAILED,
		  "not more than there can be");
	tap_check(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, d.fd, KL_MMAP_STORES) ==
				  MAP_FAILED &&
			  errno == EACCES,
		  "not as code");
	if (!attach_and_map(&session))
		bail("map");
	defined_start(&d);
	tap_check(dies_of(SIGBUS, read_it), "who reads it gets SIGBUS");
	tap_check(dies_of(SIGBUS, write_byte), "who writes in another way, too");
	tap_check(dies_of(SIGBUS, write_other), "and by another instruction of that kind");
	there.iov_base = (void *)memory;
	tap_check(read(zero, (void *)memory, 64) == -1 && errno == EFAULT, "the kernel: EFAULT");
	tap_check(process_vm_readv(getpid(), &here, 1, &there, 1, 0) == -1 && errno == EFAULT,
		  "and on behalf of others");
	store_to(0, d.n, 0)(1, 1);
	store_to(0, EVENTS - 1, 0)(1, 1);
	defined_stop(&d);
	tap_check(!defined_seen(&d) && !d.foreign,
		  "none of that was an event, nor a store to none");
	close_session();
	close(zero);
	close(fd);
}

/* Another user cannot fire. */
static void test_other(void)
{
	struct kl_abi_session session;
	pid_t child;
	int status;

	open_session(&session);
	make();
	child = fork();
	if (!child) {
		if (setresgid(UID_USER2, UID_USER2, UID_USER2) ||
		    setresuid(UID_USER2, UID_USER2, UID_USER2))
			_exit(2);
		_exit(attach_and_map(&session) ? 1 : 0);
	}
	waitpid(child, &status, 0);
	tap_check(WIFEXITED(status) && !WEXITSTATUS(status), "another user cannot map it");
	/* A session of root's shows its owner what users do, but they do not attach to it. */
	child = fork();
	if (!child) {
		if (setresgid(UID_USER1, UID_USER1, UID_USER1) ||
		    setresuid(UID_USER1, UID_USER1, UID_USER1))
			_exit(2);
		_exit(attach_and_map(&session) ? 1 : 0);
	}
	waitpid(child, &status, 0);
	tap_check(WIFEXITED(status) && !WEXITSTATUS(status), "nor a user root's");
	close(d.fd);
}

int main(void)
{
	code = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	if (code == MAP_FAILED || munmap(code + 65536, (1 << 20) - 65536))
		bail("memory");
	test_other();
	if (setresgid(UID_USER1, UID_USER1, UID_USER1) ||
	    setresuid(UID_USER1, UID_USER1, UID_USER1) || prctl(PR_SET_DUMPABLE, 1))
		bail("user");
	test_firing();
	test_registers();
	test_threads();
	test_misuse();
	return tap_end();
}
