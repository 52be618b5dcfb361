// SPDX-License-Identifier: GPL-2.0
/*
 * The page on access rights: passes the rows of the tables to the code of the module that decides
 * (rights.h, and program.c for operations). Built and run by scripts/access-doc.
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
		[KL_VARIABLE_parent] = "own, if the parent is, too",
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
		{ KL_SOURCE_KIND_USDT, "marker of a program `usdt:`" },
		{ KL_SOURCE_KIND_TRAP,
		  "block of the owner's own process, by ptrace `block:PATH:`" },
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
		[KL_OP_SINCE] = "the time since it was set",
		[KL_OP_ARG] = "an argument of a function or tracepoint",
		[KL_OP_CURRENT] = "the address of the running task",
		[KL_OP_PERCPU] = "a CPU's own data",
		[KL_OP_LOAD] = "the kernel's memory",
		[KL_OP_LOAD_USER] = "a program's memory",
		[KL_OP_TEXT] = "a text in the kernel's memory",
		[KL_OP_PUT_STRING] = "a text in the kernel's memory, recorded",
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
	put_row("of another module", kl_handler_needs(0), NULL);
	put_row("of another module, marked for all users", kl_handler_needs(KL_HANDLER_FOR_ALL),
		NULL);
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
		[KL_DETAIL_TASK] = "figures of the task",
		[KL_DETAIL_COMMAND] = "command line",
		[KL_DETAIL_PATHS] = "program, working directory, root",
		[KL_DETAIL_FILES] = "open files",
		[KL_DETAIL_SOCKETS] = "sockets",
		[KL_DETAIL_MAPS] = "mappings",
		[KL_DETAIL_MEMORY] = "memory totals",
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
		[KL_DETAIL_PAGES] = "pages",
		[KL_DETAIL_FRAMES] = "pages with frame numbers",
		[KL_DETAIL_SHARED_PAGES] = "pages that are mapped more than once",
	};
	static const char *const guards[] = {
		[KL_GUARD_NONE] = "",
		[KL_GUARD_PARTS] = "for the part about a system call",
		[KL_GUARD_TRACER] = "for everything",
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
		{ KL_LATENCY_KERNEL_STACKS, "kernel stack traces" },
		{ KL_LATENCY_USER_STACKS, "user stack traces" },
		{ KL_LATENCY_WAKERS, "wakers" },
		{ KL_LATENCY_WAKER_STACKS, "stack traces of wakers" },
		{ KL_LATENCY_OWNERS, "owners of locks" },
		{ KL_LATENCY_ENTRIES, "waits by call site" },
		{ KL_LATENCY_TIMES, "how long times were" },
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
	puts("# Access rights\n\n"
	     "Generated by `scripts/access-doc` from the tables and from the code that decides\n"
	     "(`kernel/core/rights.h`, `kernel/core/program.c`). Do not edit.\n"
	     "docs/design/access.md gives the reasons.\n\n"
	     "The capabilities are those that the process had, in the initial user namespace,\n"
	     "when it opened the device. The tables use these words:\n\n"
	     "- yes: allowed for all tasks and for the whole machine\n"
	     "- own: allowed for tasks that the session's owner may read by the kernel's ptrace\n"
	     "  rule for unprivileged processes: the task has the same user and user namespace, no\n"
	     "  capability that the owner lacks, and is dumpable. The check is made for each\n"
	     "  record. Events in interrupt handlers that interrupt such a task are not recorded.\n"
	     "- about own: allowed if the owner may read the running task or a task that the event\n"
	     "  is about. The fields of a task that the owner may not read (listed in the last\n"
	     "  columns) are zero or empty; if it is the running task, so are its variables.\n"
	     "- no: refused; patterns and masksets omit it\n\n"
	     "Fields that contain addresses are zero without CAP_SYS_ADMIN. What handlers store\n"
	     "(tables, flags, texts) is derived only from what these tables allow.\n");
}

static void put_device(void)
{
	puts("## Who may open the device\n\n"
	     "The module creates `/dev/kernlens` with mode 0660, owned by root. The installed\n"
	     "udev rule gives it to the group `kernlens`, which has no members at first:\n"
	     "`usermod -aG kernlens USER` adds one. The tables below apply to everyone who can\n"
	     "open it. Membership grants no rights over other users' processes.\n\n"
	     "Access is limited to a group by default as a second line of defence. Every request\n"
	     "of a member is checked, bounded and charged to the member, but a bug in the module\n"
	     "is a bug in the kernel, and the group limits how many people can reach that code.\n"
	     "Fuzzers with several hostile users find no more bugs in hours of running, and ten\n"
	     "million records of adversarial programs contain nothing that their owners may not\n"
	     "see. But code reviews have found bugs of kinds that neither can detect: a wait for\n"
	     "throttled memory, an account that a user can multiply, and an offset in a command\n"
	     "line that wrapped around to other memory of the same process. Debian does not let\n"
	     "ordinary users run perf either, unless the administrator changes that. Grant\n"
	     "membership as you would grant unprivileged use of perf. These risks remain:\n\n"
	     "- A member can use up the limits of an unprivileged user: memory, sessions, and\n"
	     "  a share of each CPU.\n"
	     "- A member gets precise timestamps and periodic samples of their own processes.\n"
	     "  As with perf, these make timing side channels easier to exploit.\n"
	     "- Records can contain the registers of a member's own processes, as perf samples\n"
	     "  can, and the strings that these processes pass to system calls;\n"
	     "  kernel.yama.ptrace_scope does not restrict that. Reading registers without an\n"
	     "  event, and details of a system call in progress, requires the right to trace, as\n"
	     "  for /proc/PID/syscall.\n"
	     "- PID namespaces are not compared: a process in a container that has the device\n"
	     "  and shares the initial user namespace can record what the same user does outside\n"
	     "  the container.\n"
	     "- Attaching to an event patches the kernel text at the tracepoint, which briefly\n"
	     "  interrupts every CPU.\n"
	     "- The files in `/proc/kernlens` can be read without membership. They show a\n"
	     "  reader only the processes that the reader may see.\n\n"
	     "To let all users open the device, put a rule with `MODE=\"0666\"` into\n"
	     "`/etc/udev/rules.d/70-kernlens.rules`; to restrict it to root, use `GROUP=\"root\"`.\n");
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
	puts("\n## Probe points\n");
	put_head("probe point", "");
	put_kinds();
	puts("");
	put_limits();
	puts("\n## Expressions, filters, keys\n");
	put_head("they read", "");
	put_operations();
	puts("\n## Handlers\n");
	put_head("handler", "");
	put_handlers();
	puts("\n## Reading a session\n");
	put_head("session", "");
	put_sessions(kl_session_needs);
	puts("\nA reader counts as the same user if it has the file-system user and group ID of the\n"
	     "session's owner, the same user namespace, and at least the owner's effective\n"
	     "capabilities; and if the owner was dumpable when it created the session, so it was\n"
	     "neither a set-user-ID program nor one that protects itself. Otherwise, it counts as\n"
	     "another user. A session that a user may not read is treated as nonexistent.");
	puts("\n## Changing a running session: maskset, buffers, snapshot, freeze\n");
	put_head("session", "");
	put_sessions(kl_session_change_needs);
	puts("\n## Details of a process\n");
	put_details();
	puts("\nThe kernel itself decides who may trace a process: the caller proves it with an open\n"
	     "`/proc/PID/mem`. A process that the caller may not see is treated as nonexistent. Other\n"
	     "processes (children, owners of locks, the other end of a pipe) are reported only if\n"
	     "the caller may see them.");
	puts("\n## Latency profiles\n");
	put_latency();
	puts("\nA waker that the caller may not see is reported as \"another user's process\"; an owner\n"
	     "of a lock that the caller may not see is not reported. Functions of timers count as\n"
	     "addresses.");
	puts("\n## Variables\n");
	puts("The table applies to records. Without an event, a caller can read the same variables\n"
	     "of the processes that it may see. CPU times of the machine and its numbers of tasks\n"
	     "are available to all users.\n");
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
