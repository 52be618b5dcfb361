// SPDX-License-Identifier: GPL-2.0
/*
 * The calls of faults.c that define things: programs, variables, events, rules, metadata; the start
 * with all of these; and the reads of their results: tables, stack traces, alarms, and the output
 * of another module's handler. Needs kl_extern.ko.
 */
#include <sys/syscall.h>

#include "faults.h"

#define MASKSET_DEFINED 9
#define EVENT_GETPPID (KL_EV_SYSCALL_ENTRY + SYS_getppid)
#define ROOM (1u << 20)

static u8 room[ROOM];

/* ------------------------------------------------------------- definitions */

static const struct kl_abi_op tid_ops[] = { { .code = KL_OP_VARIABLE, .imm = VARIABLE_tid },
					    { .code = KL_OP_END } };

static int do_program(struct world *w)
{
	struct kl_abi_program program = { .size = sizeof(program),
					  .ops = (u64)(uintptr_t)tid_ops,
					  .n_ops = 2 };

	return kl_call(w->fd, KL_IOC_PROGRAM, &program);
}

/* A function of this program, which has an offset in the file. */
__attribute__((noinline)) static void probed(void)
{
	asm volatile("");
}

/* One event of each kind. */
#define EVENTS 7

static u64 called, offset;
static char path[200];

/* Runs before anything fails. */
static void find_places(struct world *w)
{
	called = symbol_address("kls_called");
	offset = kl_file_offset(probed);
	if (!offset)
		bail("no place of ours in a file");
	path[readlink("/proc/self/exe", path, sizeof(path) - 1)] = 0;
}

static int do_events(struct world *w)
{
	struct kl_abi_event event[EVENTS] = {
		{ .kind = KL_SOURCE_KIND_TRACEPOINT, .name = (u64)(uintptr_t) "sched_wakeup" },
		{ .kind = KL_SOURCE_KIND_FUNCTION },
		{ .kind = KL_SOURCE_KIND_RETURN },
		{ .kind = KL_SOURCE_KIND_TICK, .arg = 50 },
		{ .kind = KL_SOURCE_KIND_UPROBE, .name = (u64)(uintptr_t)path },
		{ .kind = KL_SOURCE_KIND_URETPROBE, .name = (u64)(uintptr_t)path },
		{ .kind = KL_SOURCE_KIND_USDT, .name = (u64)(uintptr_t)path },
	};
	struct kl_abi_events events = { .size = sizeof(events),
					.n = EVENTS,
					.event = (u64)(uintptr_t)event };

	event[1].address = event[2].address = called;
	event[4].arg = event[5].arg = event[6].arg = offset;
	return kl_call(w->fd, KL_IOC_EVENTS, &events);
}

static int do_variables(struct world *w)
{
	static const u32 ids[] = { VARIABLE_kstack, VARIABLE_ustack, VARIABLE_comm,
				   KL_VARIABLE_PROGRAM };
	struct kl_abi_variables list = { .size = sizeof(list), .n = 4 };

	for (u32 i = 0; i < 4; i++)
		list.variable[i].variable = ids[i];
	list.variable[3].program = 1;
	list.variable[3].type = KL_NUMBER_S32;
	return kl_call(w->fd, KL_IOC_VARIABLES, &list);
}

static int add_rule(struct world *w, u32 handler, const char *text, u32 n_keys)
{
	struct kl_abi_rule rule = {
		.size = sizeof(rule), .handler = handler, .n_keys = n_keys, .key = { n_keys }
	};

	snprintf(rule.text, sizeof(rule.text), "%s", text);
	return kl_call(w->fd, KL_IOC_RULE, &rule);
}

static int do_rule(struct world *w)
{
	return add_rule(w, KL_HANDLER_count, "", 1);
}

static int do_external(struct world *w)
{
	return add_rule(w, KL_HANDLER_external, "t_much", 0);
}

static int do_metadata(struct world *w)
{
	struct kl_abi_metadata metadata = { .size = sizeof(metadata),
					    .bytes = 9000,
					    .text = (u64)(uintptr_t)room };
	int error = kl_call(w->fd, KL_IOC_METADATA_SET, &metadata);

	return error ? error : kl_call(w->fd, KL_IOC_METADATA_GET, &metadata);
}

/* Replaced, as by a recorder. */
static int do_names(struct world *w)
{
	struct kl_abi_metadata names = { .size = sizeof(names),
					 .kind = KL_METADATA_NAMES,
					 .bytes = 9000,
					 .text = (u64)(uintptr_t)room };
	int error = kl_call(w->fd, KL_IOC_METADATA_SET, &names);

	return error ? error : kl_call(w->fd, KL_IOC_METADATA_SET, &names);
}

/* Assigns rules 0 to 2 to events of the table and to dynamic ones. */
static int do_maskset(struct world *w)
{
	struct kl_abi_maskset *m = (void *)w->answer;
	u8 action[EVENTS];

	for (u32 i = 0; i < EVENTS; i++)
		action[i] = i % 2 ? KL_HANDLER_log : KL_ACTION_RULE;
	memset(m, 0, sizeof(*m));
	m->size = sizeof(*m);
	m->id = MASKSET_DEFINED;
	m->handler[EVENT_GETPPID] = KL_ACTION_RULE + 2;
	m->handler[KL_EV_SYSCALL_EXIT + SYS_getppid] = KL_ACTION_RULE + 1;
	m->handler[KL_EV_sched_switch] = KL_ACTION_RULE;
	m->dynamic = (u64)(uintptr_t)action;
	m->n_dynamic = EVENTS;
	return kl_call(w->fd, KL_IOC_MASKSET_WRITE, m);
}

/* ------------------------------------------------------------------ running */

static void prepare_program(struct world *w)
{
	if (do_program(w))
		bail("program: %s", kl_why(w->fd));
}

static void prepare_rules(struct world *w)
{
	prepare_program(w);
	find_places(w);
	if (do_variables(w) || do_events(w) || do_rule(w) || do_external(w) ||
	    add_rule(w, KL_HANDLER_alarm, "here", 0))
		bail("rules: %s", kl_why(w->fd));
}

static void prepare_all(struct world *w)
{
	prepare_rules(w);
	if (do_maskset(w) || kl_use(w->fd, MASKSET_DEFINED))
		bail("maskset: %s", kl_why(w->fd));
}

static void prepare_running(struct world *w)
{
	prepare_all(w);
	if (kl_start(w->fd))
		bail("start: %s", kl_why(w->fd));
	for (u32 i = 0; i < 3; i++) {
		syscall(SYS_getppid);
		probed();
	}
}

static int do_start(struct world *w)
{
	return kl_start(w->fd);
}

static bool is_stopped(struct world *w)
{
	return !status_of(w).running;
}

/* As another terminal may do: writes and uses a maskset while the session runs. */
static int do_switch(struct world *w)
{
	int error = do_maskset(w);

	return error ? error : kl_use(w->fd, MASKSET_DEFINED);
}

static bool runs(struct world *w)
{
	return status_of(w).running;
}

static int do_table(struct world *w)
{
	struct kl_abi_table table = { .size = sizeof(table),
				      .n = 1000,
				      .entry = (u64)(uintptr_t)room };

	return kl_call(w->fd, KL_IOC_TABLE, &table);
}

static int do_stacks(struct world *w)
{
	struct kl_abi_stacks call = {
		.size = sizeof(call), .first = 1, .buffer = (u64)(uintptr_t)room, .bytes = ROOM
	};
	int error = kl_call(w->fd, KL_IOC_STACKS, &call);

	call = (struct kl_abi_stacks){ .size = sizeof(call),
				       .what = KL_STACKS_OBJECT,
				       .first = 1,
				       .buffer = (u64)(uintptr_t)room,
				       .bytes = ROOM };
	return error ? error : kl_call(w->fd, KL_IOC_STACKS, &call);
}

static int do_handler_read(struct world *w)
{
	struct kl_abi_handler_read call = {
		.size = sizeof(call), .rule = 1, .text = (u64)(uintptr_t)room, .bytes = ROOM
	};

	return kl_call(w->fd, KL_IOC_HANDLER_READ, &call);
}

static int do_alarms(struct world *w)
{
	struct kl_abi_alarms call = {
		.size = sizeof(call), .n = 64, .first = 1, .alarm = (u64)(uintptr_t)room
	};

	return kl_call(w->fd, KL_IOC_ALARMS, &call);
}

static int do_close(struct world *w)
{
	int error = close(w->fd) ? -errno : 0;

	w->fd = -1;
	return error;
}

const struct call define_calls[] = {
	{ "program", MADE, do_program, NULL, 0, NULL },
	{ "variables", MADE, do_variables, NULL, 0, prepare_program },
	{ "events", MADE, do_events, NULL, 0, find_places },
	{ "rule", MADE, do_rule, NULL, 0, prepare_program },
	{ "rule of another module", MADE, do_external, NULL, 0, NULL },
	{ "metadata", MADE, do_metadata, NULL, 0, NULL },
	{ "names", MADE, do_names, NULL, 0, NULL },
	{ "maskset with rules", MADE, do_maskset, NULL, 0, prepare_rules },
	{ "start of what is defined", MADE, do_start, is_stopped, 40, prepare_all },
	{ "maskset with rules while running", MADE, do_switch, runs, 40, prepare_running },
	{ "table", MADE, do_table, runs, 0, prepare_running },
	{ "call traces", MADE, do_stacks, runs, 0, prepare_running },
	{ "what a handler says", MADE, do_handler_read, runs, 0, prepare_running },
	{ "alarms", MADE, do_alarms, runs, 0, prepare_running },
	{ "close of what is defined", MADE, do_close, NULL, 0, prepare_running },
};

const u32 n_define_calls = sizeof(define_calls) / sizeof(*define_calls);
