// SPDX-License-Identifier: GPL-2.0
/*
 * What each user may see, as a page: pass the rows of the tables to the code of the module that
 * decides (rights.h, and program.c for operations). Built and run by scripts/access-doc.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/core/program.h"
#include "kernel/core/program_values.h"
#include "kernel/core/rights.h"

static const struct opener {
	const char *name;
	bool perfmon, admin, locked_down;
} openers[] = {
	{ "anyone", false, false, false },
	{ "CAP_PERFMON", true, false, false },
	{ "CAP_SYS_ADMIN, kernel locked down", true, true, true },
	{ "CAP_SYS_ADMIN", true, true, false },
};

#define OPENERS (sizeof(openers) / sizeof(*openers))

static u32 rights_of(const struct opener *opener)
{
	return kl_rights_of(opener->perfmon, opener->admin, opener->locked_down);
}

/* One cell per opener: @own if only the tasks that the opener may see are meant. */
static void put_cells(u32 needs, const char *own)
{
	for (size_t i = 0; i < OPENERS; i++) {
		u32 may = rights_of(&openers[i]);

		printf(" %s |", kl_rights_lack(may, needs)		   ? "no" :
				own && kl_rights_lack(may, KL_MAY_SEE_ALL) ? own :
									     "yes");
	}
}

static void put_head(const char *first, const char *more)
{
	printf("| %s |", first);
	for (size_t i = 0; i < OPENERS; i++)
		printf(" %s |", openers[i].name);
	printf("%s\n|---|", more);
	for (size_t i = 0; i < OPENERS; i++)
		printf("---|");
	for (const char *at = more; *at; at++)
		if (*at == '|')
			printf("---|");
	printf("\n");
}

static void put_row(const char *name, u32 needs, const char *own)
{
	printf("| %s |", name);
	put_cells(needs, own);
	printf("\n");
}

/* ------------------------------------------------------------------ tables */

struct field {
	const char *name;
	const char *format;
	int of; /* 1, 2: about that task; 0: about neither */
};

struct event {
	const char *name;
	enum kl_source source;
	enum kl_access access;
	const struct field *fields; /* terminated by one without a name */
};

#define KL_F(type, name, format, value) { #name, #format, 0 },
#define KL_F1(type, name, format, value) { #name, #format, 1 },
#define KL_F2(type, name, format, value) { #name, #format, 2 },
#define KL_A(type, name, count, format, pointer) { #name, #format, 0 },
#define KL_COMM(name, task) { #name, "comm", 0 },
#define KL_COMM1(name, task) { #name, "comm", 1 },
#define KL_COMM2(name, task) { #name, "comm", 2 },
#define KL_STR(name, pointer) { #name, "text", 0 },
#define KL_STR1(name, pointer) { #name, "text", 1 },
#define KL_STRN(name, pointer, length) { #name, "text", 0 },
#define KL_NO_FIELDS
#define KL_NO_STRINGS
#define KL_TP(...) KL_SOURCE_TRACEPOINT
#define KL_FN(...) KL_SOURCE_FUNCTION
#define KL_OWN(...) KL_SOURCE_OWN
#define KL_SELF KL_ACCESS_SELF
#define KL_SYSTEM KL_ACCESS_SYSTEM
#define KL_ABOUT(t) KL_ACCESS_ABOUT
#define KL_ABOUT2(t, u) KL_ACCESS_ABOUT
#define KL_EVENT(id, name, group, set, help, source, access, fields, strings) \
	{ #name, source, access, (const struct field[]){ fields strings{ NULL, NULL, 0 } } },
static const struct event events[] = {
#include "uapi/events.def"
};

#undef KL_EVENT

struct variable {
	const char *name;
	enum kl_variable_access access;
};

#define KL_VARIABLE(id, name, scope, type, unit, format, access, ...) \
	{ #name, KL_VARIABLE_##access },
static const struct variable variables[] = {
#include "uapi/variables.def"
};

#define KL_HANDLER(id, name, help) #name,
static const char *const handlers[] = {
#include "uapi/handlers.def"
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Fields of an event that are hidden from users who may not see task 1 or 2, or (0) addresses. */
static void put_fields(const struct event *e, int of)
{
	const char *between = " ";

	for (const struct field *f = e->fields; f->name; f++) {
		if (of ? f->of != of : strcmp(f->format, "ptr") != 0)
			continue;
		printf("%s`%s`", between, f->name);
		between = ", ";
	}
	printf(" |");
}

static void put_events(void)
{
	static const char *const own[] = {
		[KL_ACCESS_SELF] = "own",
		[KL_ACCESS_ABOUT] = "about own",
	};

	put_head("event", " of one task | of the other | addresses |");
	for (size_t i = 0; i < COUNT(events); i++) {
		const struct event *e = &events[i];

		printf("| `%s` |", e->name);
		put_cells(kl_event_needs(e->access, e->source),
			  e->access == KL_ACCESS_SYSTEM ? NULL : own[e->access]);
		for (int of = 1; of <= 2; of++)
			put_fields(e, of);
		put_fields(e, 0);
		printf("\n");
	}
}

static void put_variables(void)
{
	static const char *const own[KL_VARIABLE_address + 1] = {
		[KL_VARIABLE_own] = "own",
		[KL_VARIABLE_parent] = "own, of an own parent",
	};

	put_head("variable", "");
	for (size_t i = 0; i < COUNT(variables); i++) {
		char name[64];

		snprintf(name, sizeof(name), "`%s`", variables[i].name);
		put_row(name, kl_variable_needs(variables[i].access), own[variables[i].access]);
	}
}

/* ------------------------------------------------------- parts of a session */

static void put_kinds(void)
{
	static const struct {
		u32 kind;
		const char *name;
	} kinds[] = {
		{ KL_SOURCE_KIND_TRACEPOINT, "tracepoint `tp:`" },
		{ KL_SOURCE_KIND_FUNCTION, "function `fn:`" },
		{ KL_SOURCE_KIND_RETURN, "its return `fn:...:ret`" },
		{ KL_SOURCE_KIND_TICK, "tick `tick:`" },
		{ KL_SOURCE_KIND_BLOCK, "basic block `block:`" },
		{ KL_SOURCE_KIND_UPROBE, "function of a program `uprobe:`" },
		{ KL_SOURCE_KIND_URETPROBE, "its return `uprobe:...:ret`" },
		{ KL_SOURCE_KIND_TRAP,
		  "block of a process of the owner's, by ptrace `block:PATH:`" },
	};

	put_row("system call", 0, "own");
	for (size_t i = 0; i < COUNT(kinds); i++)
		put_row(kinds[i].name, kl_kind_needs(kinds[i].kind), "own");
}

/* The rights without which the module's own check of programs returns -EPERM for an operation. */
static u32 operation_needs(u32 code)
{
	static const u32 rights[] = { 0, KL_MAY_SEE_ALL, KL_MAY_SEE_ADDRESSES,
				      KL_MAY_HOOK_FUNCTIONS };
	struct kl_abi_op ops[] = { { .code = (u8)code }, { .code = KL_OP_END } };

	for (size_t i = 0; i < COUNT(rights); i++) {
		struct kl_program *p = kl_program_create(ops, 2, NULL, 0, rights[i], NULL);

		if ((long)p == -EPERM)
			continue;
		if (!IS_ERR(p))
			kl_program_destroy(p);
		return rights[i];
	}
	return ~0u;
}

static void put_operations(void)
{
	static const char *const names[KL_OP_COUNT] = {
		[KL_OP_FIELD] = "a field of the event, as the record shows it",
		[KL_OP_FIELD_TEXT] = "a text of the event, as the record shows it",
		[KL_OP_VARIABLE] = "a variable, as the record shows it",
		[KL_OP_VARIABLE_TEXT] = "a variable that is text, as the record shows it",
		[KL_OP_FLAG] = "a flag of the session",
		[KL_OP_SINCE] = "since when it is set",
		[KL_OP_ARG] = "an argument of a function or tracepoint",
		[KL_OP_CURRENT] = "the address of the running task",
		[KL_OP_PERCPU] = "a CPU's own data",
		[KL_OP_LOAD] = "the kernel's memory",
		[KL_OP_LOAD_USER] = "a program's memory",
		[KL_OP_TEXT] = "a text in the kernel's memory",
		[KL_OP_PUT_STRING] = "the same, recorded",
		[KL_OP_PUT_USER_STRING] = "a text in a program's memory, recorded",
		[KL_OP_PUT_BYTES] = "bytes of the kernel's memory, recorded",
	};

	for (u32 code = 0; code < KL_OP_COUNT; code++)
		if (names[code])
			put_row(names[code], operation_needs(code), NULL);
		else if (operation_needs(code))
			put_row("an operation that has no name here", operation_needs(code), NULL);
}

static void put_handlers(void)
{
	for (size_t i = 0; i < COUNT(handlers); i++) {
		char name[64];

		snprintf(name, sizeof(name), "`%s`", handlers[i]);
		if (strcmp(handlers[i], "external"))
			put_row(name, 0, NULL);
	}
	put_row("another module's", kl_handler_needs(0), NULL);
	put_row("another module's that is for all", kl_handler_needs(KL_HANDLER_FOR_ALL), NULL);
}

static void put_sessions(u32 (*needs)(u32 of, bool same_user))
{
	for (int same = 1; same >= 0; same--)
		for (size_t i = 0; i < OPENERS; i++) {
			char name[100];

			snprintf(name, sizeof(name), "of %s, %s",
				 same ? "the same user" : "another user", openers[i].name);
			put_row(name, needs(rights_of(&openers[i]), same), NULL);
		}
}

/* ------------------------------------------------------ processes, profiles */

static void put_details(void)
{
	static const char *const names[KL_DETAIL_KINDS] = {
		[KL_DETAIL_TASK] = "numbers of the task",
		[KL_DETAIL_COMMAND] = "command line",
		[KL_DETAIL_PATHS] = "program, working directory, root",
		[KL_DETAIL_FILES] = "open files",
		[KL_DETAIL_SOCKETS] = "sockets",
		[KL_DETAIL_MAPS] = "mappings",
		[KL_DETAIL_MEMORY] = "sums of memory",
		[KL_DETAIL_SIGNALS] = "signals",
		[KL_DETAIL_NAMESPACES] = "namespaces",
		[KL_DETAIL_CGROUPS] = "cgroups",
		[KL_DETAIL_RIGHTS] = "rights",
		[KL_DETAIL_AFFINITY] = "CPUs and memory nodes",
		[KL_DETAIL_LIMITS] = "limits",
		[KL_DETAIL_IO] = "input and output",
		[KL_DETAIL_SYSCALL] = "system call and its arguments",
		[KL_DETAIL_STACK] = "kernel stack trace",
		[KL_DETAIL_WAIT] = "what it waits for",
		[KL_DETAIL_CHILDREN] = "children",
		[KL_DETAIL_ENVIRONMENT] = "environment",
	};
	static const char *const guards[] = {
		[KL_GUARD_NONE] = "",
		[KL_GUARD_PARTS] = "for what is in a system call",
		[KL_GUARD_TRACER] = "for all of it",
		[KL_GUARD_ADDRESSES] = "",
	};

	put_head("details", " right to trace the process |");
	for (u32 what = 1; what < KL_DETAIL_KINDS; what++) {
		printf("| %s |", names[what] ?: "a kind that has no name here");
		put_cells(kl_detail_needs(what), "own");
		printf(" %s |\n", guards[kl_detail_guard(what)]);
	}
}

static void put_latency(void)
{
	static const struct {
		u32 flag;
		const char *name;
	} parts[] = {
		{ 0, "times of tasks" },
		{ KL_LATENCY_KERNEL_STACKS, "call traces in the kernel" },
		{ KL_LATENCY_USER_STACKS, "call traces of programs" },
		{ KL_LATENCY_WAKERS, "wakers" },
		{ KL_LATENCY_WAKER_STACKS, "call traces of wakers" },
		{ KL_LATENCY_OWNERS, "owners of locks" },
		{ KL_LATENCY_ENTRIES, "waits, each by its place" },
	};
	u32 known = 0;

	put_head("part of a profile", "");
	for (size_t i = 0; i < COUNT(parts); i++) {
		put_row(parts[i].name, kl_latency_needs(parts[i].flag), "own");
		known |= parts[i].flag;
	}
	if (known != KL_LATENCY_FLAGS)
		put_row("a part that has no name here", kl_latency_needs(~known), NULL);
	printf("\nWithout CAP_PERFMON a profile has at most %u tasks and %u entries.\n",
	       KL_LATENCY_TASKS_UNPRIVILEGED, KL_LATENCY_ENTRIES_UNPRIVILEGED);
}

static void put_limits(void)
{
	printf("Without CAP_PERFMON a session defines at most %u events, %u more by ptrace, "
	       "and\n%u ticks a second.\n",
	       KL_DEFINED_UNPRIVILEGED_MAX, KL_DEFINED_UNPRIVILEGED_TRAPS,
	       KL_DEFINED_UNPRIVILEGED_HZ);
}

static void put_intro(void)
{
	puts("# What each may see\n\n"
	     "Made by `scripts/access-doc` of the tables and of the code that decides\n"
	     "(`kernel/core/rights.h`, `kernel/core/program.c`); not to be edited.\n"
	     "docs/design/access.md says why it is so.\n\n"
	     "Capabilities are those of the opener of the device, in the initial user\n"
	     "namespace. In the tables\n\n"
	     "- yes: of all tasks, of the machine;\n"
	     "- own: of tasks that the owner may see (the kernel's ptrace read rule without\n"
	     "  its ways for the privileged: same user, same user namespace, no capability that\n"
	     "  the owner has not, dumpable), asked when the record is made, and not of what\n"
	     "  interrupts them;\n"
	     "- about own: if the running task or one that it speaks of may be seen; fields\n"
	     "  of a hidden one, in the columns behind, are zero or empty, and so are the\n"
	     "  variables of the running task;\n"
	     "- no: refused, and left out of patterns and masksets.\n\n"
	     "Fields that are addresses are zero without CAP_SYS_ADMIN. What handlers keep\n"
	     "(tables, flags, texts) is made of nothing but what these tables show.\n");
}

static void put_device(void)
{
	puts("## Who may open the device\n\n"
	     "The module creates `/dev/kernlens` with mode 0660, owned by root. The installed\n"
	     "udev rule gives it to the group `kernlens`, which has no members at first:\n"
	     "`usermod -aG kernlens USER` adds one. The tables below hold for whoever can open\n"
	     "it, member or root; membership grants no rights over other users' processes.\n\n"
	     "The group is a second line of defence. Everything a member can ask of the module\n"
	     "is checked, bounded and charged to the member, but a bug in the module is a bug\n"
	     "in the kernel, so the number of people who can reach that code is kept small.\n"
	     "The fuzzers find nothing, but some faults are of kinds that they cannot find (a\n"
	     "wait for memory that is throttled, an account that a user can multiply). Debian\n"
	     "does not let ordinary users run perf either, unless the administrator changes\n"
	     "that. Grant membership as you would grant unprivileged use of perf. What\n"
	     "remains:\n\n"
	     "- A member can use up the limits of an unprivileged user: memory, sessions, and\n"
	     "  a share of each CPU.\n"
	     "- A member has precise timestamps and periodic samples of their own processes,\n"
	     "  which make timing side channels easier to exploit, as perf does.\n"
	     "- A member can read the registers of their own processes, as perf's samples have\n"
	     "  them: kernel.yama.ptrace_scope does not restrict that. The details of a system\n"
	     "  call that is in progress do need the right to trace, as /proc/PID/syscall does.\n"
	     "- Attaching to an event patches the kernel's text at the tracepoint, which every\n"
	     "  CPU notices briefly.\n"
	     "- The files in `/proc/kernlens` can be read without membership. They show a\n"
	     "  reader only the processes that the reader may see.\n\n"
	     "To let every user open the device, put a rule with `MODE=\"0666\"` into\n"
	     "`/etc/udev/rules.d/70-kernlens.rules`; to allow root only, one with\n"
	     "`GROUP=\"root\"`.\n");
}

static void put_rights(void)
{
	puts("## Rights\n");
	puts("| opener | all tasks | addresses | hooks |\n|---|---|---|---|");
	for (size_t i = 0; i < OPENERS; i++) {
		u32 may = rights_of(&openers[i]);

		printf("| %s | %s | %s | %s |\n", openers[i].name,
		       may & KL_MAY_SEE_ALL ? "yes" : "no",
		       may & KL_MAY_SEE_ADDRESSES ? "yes" : "no",
		       may & KL_MAY_HOOK_FUNCTIONS ? "yes" : "no");
	}
}

int main(void)
{
	put_intro();
	put_device();
	put_rights();
	puts("\n## Places\n");
	put_head("place", "");
	put_kinds();
	puts("");
	put_limits();
	puts("\n## Expressions, filters, keys\n");
	put_head("what they look at", "");
	put_operations();
	puts("\n## Handlers\n");
	put_head("handler", "");
	put_handlers();
	puts("\n## Reading a session\n");
	put_head("session", "");
	put_sessions(kl_session_needs);
	puts("\nThe same user: who reads has the file-system user and group of the session's\n"
	     "owner, the same user namespace and at least the owner's effective capabilities,\n"
	     "and the owner was dumpable when it made the session (so it was no set-user-id\n"
	     "program, and none that protects itself). Else it is another user. Sessions that\n"
	     "one may not read seem not to be there.");
	puts("\n## Changing a session that runs: its maskset, its buffers, a snapshot, freezing it\n");
	put_head("session", "");
	put_sessions(kl_session_change_needs);
	puts("\n## Details of a process\n");
	put_details();
	puts("\nThe right to trace is the kernel's own, asked by its opening of `/proc/PID/mem`. Of one\n"
	     "that may not be seen the same is said as of one that is not there. Others that are\n"
	     "told of (children, owners of locks, the other end of a pipe) are those that may be\n"
	     "seen.");
	puts("\n## Latency profiles\n");
	put_latency();
	puts("\nA waker that may not be seen is \"another user's process\"; the owner of a lock that may\n"
	     "not be seen is not told. Functions of timers are addresses.");
	puts("\n## Variables\n");
	puts("Recorded by sessions; of processes without an event the same, of those that\n"
	     "may be seen. Times of CPUs and numbers of tasks on the machine: everybody.\n");
	put_variables();
	puts("\n## Events of the tables\n");
	put_events();
	return 0;
}

/* --------------------------------------- what program.c needs from other files */

int kl_fail(struct kl_error *why, int error, const char *format, ...)
{
	return error;
}

void *kl_program_alloc(size_t bytes)
{
	return calloc(1, bytes);
}

void kl_program_free(void *memory)
{
	free(memory);
}

enum kl_variable_kind kl_variable_kind(u32 id)
{
	return KL_VARIABLE_NUMBER;
}

bool kl_variable_in_task(u32 id, u32 may, u32 *offset, u32 *number)
{
	return false;
}

void kl_variable_cost(u32 id, u32 may, struct kl_cost *cost)
{
}

/* No program is executed here. */
u64 kl_variable_number(struct kl_session *s, u32 id, bool *fault)
{
	abort();
}

void kl_variable_text(struct kl_session *s, u32 id, char text[KL_VARIABLE_TEXT_MAX])
{
	abort();
}

bool kl_flag_test(struct kl_session *s, u32 flag)
{
	abort();
}

u64 kl_flag_since(struct kl_session *s, u32 flag, bool *fault)
{
	abort();
}

bool kl_kernel_copy(void *to, u64 from, u32 bytes)
{
	abort();
}

bool kl_user_copy(void *to, u64 from, u32 bytes)
{
	abort();
}

const u8 *kl_running_task(void)
{
	abort();
}

u64 kl_percpu_offset(void)
{
	abort();
}
