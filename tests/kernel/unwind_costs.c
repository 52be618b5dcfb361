// SPDX-License-Identifier: GPL-2.0
/*
 * The most that a frame of a user stack trace can cost, in a guest started with --icount, compared
 * with what the budget takes for it: the process has just changed its mappings, more files have
 * frames than a walk remembers, their tables are large, and each trace is a new one.
 *
 *   unwind_costs
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kl.h"

#define USER 1000u
#define FILES 12u
#define LINKS 48u /* more than a trace has frames */
#define LEAVES 64u
#define ROWS (1u << 18)
#define CODE_BYTES 4096u
#define LINK_BYTES 32u
#define LEAF_BYTES 16u
#define MAPPINGS 60000u
#define FRAMES ((double)KL_STACK_FRAMES_DEFAULT)

/* Results of the processes of the user. */
struct costs {
	double operations;
	double instructions;
};

static struct kl_unwind_row rows[ROWS];
static u8 *code[FILES + 1]; /* the last has the leaves */
static void *leaf;

static u8 *link_at(u32 i)
{
	return code[i % FILES] + i / FILES * LINK_BYTES;
}

/* sub $8, %rsp; movabs $link, %rax; call *%rax; add $8, %rsp; ret */
static void write_link(u8 *page, u32 i)
{
	static const u8 text[] = { 0x48, 0x83, 0xec, 0x08, 0x48, 0xb8, 0x00, 0x00, 0x00, 0x00, 0x00,
				   0x00, 0x00, 0x00, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	u8 *to = page + i / FILES * LINK_BYTES;
	u64 next = (u64)(uintptr_t)(i + 1 < LINKS ? (void *)link_at(i + 1) : &leaf);

	memcpy(to, text, sizeof(text));
	memcpy(to + 6, &next, sizeof(next));
	if (i + 1 == LINKS)
		to[15] = 0x10; /* call *(%rax) */
}

/* mov $SYS_getppid, %eax; syscall; ret */
static void write_leaf(u8 *page, u32 i)
{
	static const u8 text[] = { 0xb8, SYS_getppid, 0, 0, 0, 0x0f, 0x05, 0xc3 };

	memcpy(page + i * LEAF_BYTES, text, sizeof(text));
}

static void add_row(u32 *n, u32 offset, u32 words)
{
	rows[(*n)++] = (struct kl_unwind_row){ offset, kl_unwind_rule(KL_UNWIND_SP, words, 0) };
}

static void fill_rows(bool leaves)
{
	u32 n = 0;

	for (u32 i = 0; leaves && i < LEAVES; i++)
		add_row(&n, i * LEAF_BYTES, 1);
	for (u32 i = 0; !leaves && i < LINKS / FILES; i++) {
		add_row(&n, i * LINK_BYTES, 1);
		add_row(&n, i * LINK_BYTES + 4, 2);
		add_row(&n, i * LINK_BYTES + 20, 1);
	}
	for (u32 offset = CODE_BYTES; n < ROWS; offset++)
		add_row(&n, offset, 1);
	rows[ROWS - 1].rule = KL_UNWIND_NONE;
}

/* Makes a file of code, maps it where its links expect it, and gives the session its table. */
static void make_file(int fd, u32 which)
{
	static u8 page[CODE_BYTES];
	struct kl_abi_unwind call = { .size = sizeof(call),
				      .rows = (u64)(uintptr_t)rows,
				      .n = ROWS };
	void *mapped;
	char path[60];

	memset(page, 0xcc, sizeof(page));
	for (u32 i = which; which < FILES && i < LINKS; i += FILES)
		write_link(page, i);
	for (u32 i = 0; which == FILES && i < LEAVES; i++)
		write_leaf(page, i);
	fill_rows(which == FILES);
	snprintf(path, sizeof(path), "/dev/shm/unwind-costs-%u", which);
	call.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	if (call.fd < 0 || unlink(path) || write(call.fd, page, sizeof(page)) != sizeof(page))
		bail("%s", path);
	mapped = mmap(code[which], CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
		      call.fd, 0);
	if (mapped != code[which] || kl_call(fd, KL_IOC_UNWIND, &call))
		bail("%s: %s", path, kl_why(fd));
}

static void make_files(int fd)
{
	for (u32 i = 0; i <= FILES; i++) {
		/* Apart, so that each mapping is one. */
		code[i] = mmap(NULL, 2 * CODE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (code[i] == MAP_FAILED)
			bail("mmap");
	}
	for (u32 i = 0; i <= FILES; i++)
		make_file(fd, i);
}

/* As many mappings as a process can have, so that to find one takes long. */
static void make_mappings(void)
{
	u8 *room = mmap(NULL, (size_t)MAPPINGS * CODE_BYTES, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (room == MAP_FAILED)
		bail("mmap");
	for (u32 i = 0; i < MAPPINGS; i += 2)
		if (mprotect(room + (size_t)i * CODE_BYTES, CODE_BYTES, PROT_READ))
			bail("mprotect");
}

/* The shortest time of a call whose trace is new, after a change of the mappings. */
static double call_seconds(void)
{
	void (*first)(void) = (void (*)(void))link_at(0);
	double least = 1, begun, took;

	for (u32 i = 0; i < LEAVES; i++) {
		void *room = mmap(NULL, CODE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		munmap(room, CODE_BYTES);
		leaf = code[FILES] + i * LEAF_BYTES;
		begun = now_seconds();
		first();
		took = now_seconds() - begun;
		if (took < least)
			least = took;
	}
	return least;
}

/* A rule that takes a trace at each getppid(), or not. */
static int use_rule(int fd, u32 maskset, bool traces)
{
	const u32 events[] = { KL_EV_SYSCALL_ENTRY + SYS_getppid, 0 };
	struct kl_abi_op op[] = { { .code = KL_OP_CONST, .dst = 1, .imm64 = 1 },
				  { .code = KL_OP_CONST, .imm64 = 0 },
				  { .code = KL_OP_END } };
	struct kl_abi_program program = { .size = sizeof(program),
					  .ops = (u64)(uintptr_t)op,
					  .n_ops = 3 };
	struct kl_abi_rule rule = { .size = sizeof(rule), .handler = KL_HANDLER_count };

	if (traces)
		op[1] = (struct kl_abi_op){ .code = KL_OP_VARIABLE, .imm = VARIABLE_ustack };
	if (kl_call(fd, KL_IOC_PROGRAM, &program))
		bail("program: %s", kl_why(fd));
	rule.filter = program.id;
	if (kl_call(fd, KL_IOC_RULE, &rule))
		bail("rule: %s", kl_why(fd));
	return kl_use_events(fd, maskset, KL_ACTION_RULE + rule.rule, events);
}

static int open_session(void)
{
	struct kl_abi_session params = { .mode = KL_MODE_OVERWRITE };
	int fd = kl_open();

	if (fd < 0 || kl_session(fd, &params))
		bail("session: %s", fd < 0 ? "cannot open the device" : kl_why(fd));
	return fd;
}

static double refused_operations(bool traces)
{
	int fd = open_session();
	double operations;

	if (use_rule(fd, KL_MASKSET_FIRST_USER, traces) != -EDQUOT ||
	    !strstr(kl_why(fd), " would cost "))
		bail("not refused: %s", kl_why(fd));
	operations = strtod(strstr(kl_why(fd), " would cost ") + 12, NULL);
	close(fd);
	return operations;
}

static double used_seconds(bool traces)
{
	int fd = open_session();
	double seconds;

	make_files(fd);
	if (use_rule(fd, KL_MASKSET_FIRST_USER, traces) || kl_start(fd))
		bail("start: %s", kl_why(fd));
	seconds = call_seconds();
	close(fd);
	return seconds;
}

static void refuse(struct costs *costs)
{
	costs->operations = refused_operations(true) - refused_operations(false);
}

static void use(struct costs *costs)
{
	make_mappings();
	costs->instructions = (used_seconds(true) - used_seconds(false)) / kl_instruction_seconds();
}

static void as_user(void (*run)(struct costs *), struct costs *costs)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		/* A process that has changed its ids is not dumpable: its session would not see it. */
		if (setresgid(USER, USER, USER) || setresuid(USER, USER, USER) ||
		    prctl(PR_SET_DUMPABLE, 1))
			bail("user %u", USER);
		run(costs);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (status)
		bail("the user's process ends with %d", status);
}

int main(void)
{
	struct costs *costs = mmap(NULL, sizeof(*costs), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (costs == MAP_FAILED)
		bail("mmap");
	kl_set_parameter("event_operations_per_user", 1);
	as_user(refuse, costs);
	kl_set_parameter("event_operations_per_user", 0);
	as_user(use, costs);
	kl_set_parameter("event_operations_per_user", 16384);
	printf("# a trace of %.0f frames: %.0f operations, %.0f instructions, %.1f each; %.0f a frame\n",
	       FRAMES, costs->operations, costs->instructions,
	       costs->instructions / costs->operations, costs->instructions / FRAMES);
	tap_result(costs->instructions > 100 * FRAMES &&
			   costs->instructions < 8 * costs->operations,
		   "the model bounds the cost of a trace whose frames must all be looked up",
		   "%.0f operations, %.0f instructions", costs->operations, costs->instructions);
	return tap_end();
}
