// SPDX-License-Identifier: GPL-2.0
/*
 * Unwind tables: what KL_IOC_UNWIND refuses, who may use whose tables, what they are charged, and
 * that wrong tables, made at random, give traces that end.
 *
 *   unwind
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kl.h"

#define ROWS 4096u
#define USER 1000u
#define TABLES 15

static struct kl_unwind_row rows[ROWS];

/* A valid table of the whole of any file. */
static void fill(u32 n)
{
	for (u32 i = 0; i < n; i++)
		rows[i] = (struct kl_unwind_row){ i * 16, kl_unwind_rule(KL_UNWIND_SP, 1, 0) };
	rows[n - 1].rule = KL_UNWIND_NONE;
}

static int open_session(u32 uid)
{
	struct kl_abi_session params = { .mode = KL_MODE_OVERWRITE };
	int fd = uid ? kl_open_as(uid) : kl_open();

	if (fd < 0 || kl_session(fd, &params))
		bail("session: %s", fd < 0 ? "cannot open the device" : kl_why(fd));
	return fd;
}

static int load_file(int fd, int file, u32 n, struct kl_abi_unwind *call)
{
	*call = (struct kl_abi_unwind){
		.size = sizeof(*call), .fd = file, .rows = (u64)(uintptr_t)rows, .n = n
	};
	return kl_call(fd, KL_IOC_UNWIND, call);
}

static int own_file(void)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (file < 0)
		bail("cannot open /proc/self/exe");
	return file;
}

static u64 memory_used(int fd)
{
	struct kl_abi_limits limits = { .size = sizeof(limits) };

	if (kl_call(fd, KL_IOC_LIMITS, &limits))
		bail("limits: %s", kl_why(fd));
	return limits.used[KL_LIMIT_memory];
}

static void test_refused(void)
{
	int fd = open_session(0), file = own_file(), null = open("/dev/null", O_RDONLY), other;
	struct kl_abi_unwind call;
	struct kl_abi_unwind odd = { .size = sizeof(odd), .flags = 0x80, .fd = file };

	tap_check(kl_call(fd, KL_IOC_UNWIND, &odd) == -EINVAL, "unknown flags");
	fill(10);
	tap_check(load_file(fd, -1, 10, &call) == -EBADF, "no file");
	tap_check(load_file(fd, null, 10, &call) == -EINVAL, "a device");
	tap_check(load_file(fd, file, KL_UNWIND_ROWS_MAX + 1, &call) == -E2BIG, "too many rows");
	rows[5].offset = rows[4].offset;
	tap_check(load_file(fd, file, 10, &call) == -EINVAL && strstr(kl_why(fd), "row 5"),
		  "two rows with one offset");
	fill(10);
	rows[7].rule = kl_unwind_rule(KL_UNWIND_END, 1, 0);
	tap_check(load_file(fd, file, 10, &call) == -EINVAL && strstr(kl_why(fd), "row 7"),
		  "a rule that does not exist");
	fill(10);
	rows[9].rule = rows[8].rule;
	tap_check(load_file(fd, file, 10, &call) == -EINVAL && strstr(kl_why(fd), "last"),
		  "a last row with a rule");
	fill(10);
	odd = (struct kl_abi_unwind){ .size = sizeof(odd), .fd = file, .rows = 8, .n = 10 };
	tap_check(kl_call(fd, KL_IOC_UNWIND, &odd) == -EFAULT, "rows that cannot be read");
	odd = (struct kl_abi_unwind){ .size = sizeof(odd), .object = 77 };
	tap_check(kl_call(fd, KL_IOC_UNWIND, &odd) == -EINVAL, "a number without a file");
	odd.object = KL_STACK_OBJECTS_MAX + 1;
	tap_check(kl_call(fd, KL_IOC_UNWIND, &odd) == -EINVAL, "a number that is too large");
	tap_check(!load_file(fd, file, 0, &call) && call.object && !call.n,
		  "a file without a table has a number");
	tap_check(!load_file(fd, file, 10, &call) && call.n == 10, "a table");
	tap_check(load_file(fd, file, 10, &call) == -EEXIST, "a second one");
	other = kl_open();
	tap_check(load_file(other, file, 10, &call) == -ENOTCONN, "without a session");
	close(other);
	close(null);
	close(file);
	close(fd);
}

static void test_shared(void)
{
	int file = own_file(), root = open_session(0), user = open_session(USER);
	int again = open_session(USER), stranger = open_session(USER + 1);
	struct kl_abi_unwind call;

	fill(20);
	tap_check(!load_file(user, file, 20, &call) && call.n == 20, "an ordinary user's table");
	tap_check(!load_file(again, file, 0, &call) && call.n == 20,
		  "serves this user's other session");
	tap_check(!load_file(stranger, file, 0, &call) && !call.n, "but no other user's");
	tap_check(!load_file(root, file, 0, &call) && !call.n, "nor root's");
	fill(30);
	tap_check(!load_file(root, file, 30, &call) && call.n == 30, "root's own");
	tap_check(!load_file(stranger, file, 0, &call) && call.n == 30, "serves everybody");
	close(root);
	close(again);
	close(user);
	root = open_session(0);
	tap_check(!load_file(root, file, 0, &call) && call.n == 30,
		  "as long as one session uses it");
	close(root);
	close(stranger);
	root = open_session(0);
	tap_check(!load_file(root, file, 0, &call) && !call.n, "and then no longer");
	close(root);
	close(file);
}

static void test_charged(void)
{
	int fd = open_session(USER), file = own_file(), second = open("/bin/sh", O_RDONLY);
	struct kl_abi_unwind call;
	u64 before, with_one, with_two;

	fill(ROWS);
	before = memory_used(fd);
	if (load_file(fd, file, 2, &call) != -EINVAL)
		bail("the last row has a rule");
	with_one = memory_used(fd);
	tap_check(with_one > before, "the caches are charged");
	if (load_file(fd, file, ROWS, &call))
		bail("load: %s", kl_why(fd));
	with_two = memory_used(fd);
	tap_check(with_two >= with_one + sizeof(rows), "and each table");
	tap_check(load_file(fd, file, ROWS, &call) == -EEXIST && memory_used(fd) == with_two,
		  "not one that is refused");
	close(fd);
	fd = open_session(USER);
	tap_result(memory_used(fd) == before, "at the end nothing is left", "%llu, before %llu",
		   (unsigned long long)memory_used(fd), (unsigned long long)before);
	call = (struct kl_abi_unwind){ .size = sizeof(call),
				       .fd = second,
				       .rows = (u64)(uintptr_t)rows };
	kl_set_parameter("memory_mb_per_user", 2);
	call.n = KL_UNWIND_ROWS_MAX;
	tap_check(kl_call(fd, KL_IOC_UNWIND, &call) == -EDQUOT, "the user's limit holds");
	kl_set_parameter("memory_mb_per_user", 256);
	close(second);
	close(file);
	close(fd);
}

static u32 random_rule(void)
{
	u32 rule;

	do
		rule = (u32)random() << 16 ^ (u32)random();
	while (!kl_unwind_rule_is_valid(rule));
	/* Small numbers, which stay on the stack, more often than others. */
	if (random() % 4)
		rule = kl_unwind_rule(kl_unwind_kind_of(rule), (u32)random() % 8,
				      kl_unwind_kind_of(rule) < KL_UNWIND_END ? (u32)random() % 8 :
										0);
	return kl_unwind_rule_is_valid(rule) ? rule : KL_UNWIND_NONE;
}

/* A system call in this program's own code. */
static void call_here(void)
{
	long number = SYS_getppid;

	__asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
}

/* Traces of this program with a table that says anything. */
static u32 trace_with_random_rows(int file, u32 *traces)
{
	const u32 events[] = { KL_EV_SYSCALL_ENTRY + SYS_getppid, 0 };
	static u8 room[65536];
	struct kl_abi_stacks stacks = { .size = sizeof(stacks),
					.what = KL_STACKS_TRACES,
					.buffer = (u64)(uintptr_t)room,
					.bytes = sizeof(room) };
	struct kl_abi_variables variables = { .size = sizeof(variables),
					      .n = 1,
					      .variable = { { .variable = VARIABLE_ustack } } };
	int fd = open_session(0);
	struct kl_abi_unwind call;
	u32 most = 0;

	for (u32 i = 0; i + 1 < ROWS; i++)
		rows[i] = (struct kl_unwind_row){ i * 8, random_rule() };
	rows[ROWS - 1] = (struct kl_unwind_row){ ROWS * 8, KL_UNWIND_NONE };
	if (kl_call(fd, KL_IOC_VARIABLES, &variables) || load_file(fd, file, ROWS, &call) ||
	    kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_log, events) ||
	    kl_filter(fd, KL_FILTER_TASKS, 0) || kl_tasks(fd, getpid(), KL_TASK_ADD) < 0 ||
	    kl_start(fd))
		bail("session: %s", kl_why(fd));
	for (u32 i = 0; i < 50; i++)
		call_here();
	kl_stop(fd);
	if (kl_call(fd, KL_IOC_STACKS, &stacks))
		bail("traces: %s", kl_why(fd));
	*traces += stacks.n;
	for (u32 i = 0, at = 0; i < stacks.n; i++) {
		struct kl_abi_stack about;

		memcpy(&about, room + at, sizeof(about));
		most = about.frames > most ? about.frames : most;
		at += sizeof(about) + 16 * about.frames;
	}
	close(fd);
	return most;
}

static void test_random(void)
{
	u32 traces = 0, most = 0, frames;
	int file = own_file();

	srandom(17);
	for (int i = 0; i < TABLES; i++) {
		frames = trace_with_random_rows(file, &traces);
		most = frames > most ? frames : most;
	}
	tap_result(traces >= TABLES, "traces with wrong tables end", "%u traces", traces);
	tap_result(most > 1 && most <= KL_STACK_FRAMES_DEFAULT, "and have a limit", "%u frames",
		   most);
	close(file);
}

/* ------------------------------------------------- code that is replaced */

#define CODE_BYTES 4096u

/* A function that calls getppid() with @frame bytes on its stack, in a file with its table. */
struct code {
	int file;
	u8 frame;
};

static struct code make_code(int fd, const char *path, u8 frame)
{
	u8 text[CODE_BYTES] = {
		0x48, 0x83, 0xec, frame, 0xb8, SYS_getppid, 0,	 0, 0, /* sub, mov */
		0x0f, 0x05, 0x48, 0x83,	 0xc4, frame,	    0xc3
	}; /* syscall, add, ret */
	struct code code = { open(path, O_RDWR | O_CREAT | O_TRUNC, 0700), frame };
	struct kl_abi_unwind call;

	rows[0] = (struct kl_unwind_row){ 0, kl_unwind_rule(KL_UNWIND_SP, 1, 0) };
	rows[1] = (struct kl_unwind_row){ 4, kl_unwind_rule(KL_UNWIND_SP, 1 + frame / 8u, 0) };
	rows[2] = (struct kl_unwind_row){ 16, KL_UNWIND_NONE };
	if (code.file < 0 || write(code.file, text, sizeof(text)) != sizeof(text) ||
	    load_file(fd, code.file, 3, &call))
		bail("%s: %s", path, kl_why(fd));
	return code;
}

static void *map_code(const struct code *code)
{
	void *mapped = mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, code->file, 0);

	if (mapped == MAP_FAILED)
		bail("cannot map code");
	return mapped;
}

static void map_code_at(const struct code *code, void *at)
{
	/* cppcheck-suppress leakReturnValNotUsed ; the caller has the address */
	if (mmap(at, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, code->file, 0) !=
	    at)
		bail("cannot map code");
}

/*
 * Fills the stack with addresses that are not the caller's, and calls the code. Inlined, so that
 * each use has a return address of its own.
 */
static inline __attribute__((always_inline)) u64 call_code(void *code)
{
	u64 after;

	__asm__ volatile("lea -512(%%rsp), %%rsp\n\t"
			 "lea 1f(%%rip), %%rax\n\tsub $64, %%rax\n\t"
			 "mov %%rax, -8(%%rsp)\n\tmov %%rax, -16(%%rsp)\n\t"
			 "mov %%rax, -24(%%rsp)\n\tmov %%rax, -32(%%rsp)\n\t"
			 "mov %%rax, -40(%%rsp)\n\tmov %%rax, -48(%%rsp)\n\t"
			 "call *%[code]\n"
			 "1:\n\tlea 1b(%%rip), %[after]\n\t"
			 "lea 512(%%rsp), %%rsp"
			 : [after] "=&r"(after)
			 : [code] "r"(code)
			 : "rax", "rcx", "r11", "memory");
	return after;
}

/* Returns whether the latest trace of the session has @caller as its second, certain, frame. */
static bool latest_has(int fd, u32 *next, u64 caller)
{
	static u8 room[65536];
	struct kl_abi_stacks stacks = { .size = sizeof(stacks),
					.what = KL_STACKS_TRACES,
					.first = *next,
					.buffer = (u64)(uintptr_t)room,
					.bytes = sizeof(room) };
	struct kl_abi_stack about;
	u64 frame;

	if (kl_call(fd, KL_IOC_STACKS, &stacks) || stacks.n != 1)
		return false;
	*next = stacks.first;
	memcpy(&about, room, sizeof(about));
	memcpy(&frame, room + sizeof(about) + 8, sizeof(frame));
	return about.frames > 1 && about.certain > 1 && frame == caller;
}

/* What a session has found out about code is not used once other code is at the same address. */
static void test_replaced(void)
{
	const u32 events[] = { KL_EV_SYSCALL_ENTRY + SYS_getppid, 0 };
	struct kl_abi_variables variables = { .size = sizeof(variables),
					      .n = 1,
					      .variable = { { .variable = VARIABLE_ustack } } };
	int fd = open_session(0);
	struct code a, b;
	void *at, *elsewhere;
	u32 next = 1;

	if (kl_call(fd, KL_IOC_VARIABLES, &variables) ||
	    kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_log, events) ||
	    kl_filter(fd, KL_FILTER_TASKS, 0) || kl_tasks(fd, getpid(), KL_TASK_ADD) < 0)
		bail("session: %s", kl_why(fd));
	a = make_code(fd, "/dev/shm/unwind-a", 8);
	b = make_code(fd, "/dev/shm/unwind-b", 40);
	if (kl_start(fd))
		bail("start: %s", kl_why(fd));
	at = map_code(&a);
	tap_check(latest_has(fd, &next, call_code(at)), "the caller of code with a table");
	map_code_at(&b, at);
	tap_check(latest_has(fd, &next, call_code(at)), "of code that is mapped in its place");
	elsewhere = map_code(&a);
	if (mremap(elsewhere, CODE_BYTES, CODE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, at) != at)
		bail("cannot move code");
	tap_check(latest_has(fd, &next, call_code(at)), "of code that is moved there");
	munmap(at, CODE_BYTES);
	map_code_at(&b, at);
	tap_check(latest_has(fd, &next, call_code(at)), "of code that is mapped after an unmap");
	kl_stop(fd);
	close(fd);
	close(a.file);
	close(b.file);
	unlink("/dev/shm/unwind-a");
	unlink("/dev/shm/unwind-b");
}

int main(void)
{
	test_refused();
	test_shared();
	test_charged();
	test_random();
	test_replaced();
	return tap_end();
}
