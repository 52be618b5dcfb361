// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of typical programs: the difference of the time stamp counter over one run, which in a
 * guest started with --icount counts instructions. The minimum of many runs, minus that of a
 * function that does nothing.
 */
#include <linux/module.h>
#include <asm/msr.h>

#include "test.h"

#define RUNS 1000

/* The fields of sched_switch; see uapi/events.def. */
static const struct __packed {
	char prev_comm[16];
	s32 prev_tid;
	s32 prev_prio;
	s64 prev_state;
	char next_comm[16];
	s32 next_tid;
	s32 next_prio;
} sched_switch = { "bash", 7, 0, 1, "sleep", 42, 0 };

static u64 cycles(void)
{
	u64 now;

	barrier();
	now = rdtsc_ordered();
	barrier();
	return now;
}

static noinline u64 run_nothing(const struct kl_program *p, struct kl_event_ctx *f)
{
	barrier();
	return 0;
}

static noinline u64 run_put(const struct kl_program *p, struct kl_event_ctx *f)
{
	u8 out[64];

	return kl_program_put(p, f, out, sizeof(out));
}

static noinline u64 least_cycles(u64 (*run)(const struct kl_program *p, struct kl_event_ctx *f),
				 const struct kl_program *p, struct kl_event_ctx *f, u64 *result)
{
	u64 least = ~0ull, begun;

	preempt_disable();
	for (int i = 0; i < RUNS; i++) {
		begun = cycles();
		*result = run(p, f);
		least = min(least, cycles() - begun);
	}
	preempt_enable();
	return least;
}

static int report(char *to, int at, const char *name, struct kl_program *p, u64 first, bool put)
{
	u64 arguments[2] = { first, (u64)current };
	struct kl_event_ctx f = {
		.fields = (const u8 *)&sched_switch,
		.bytes = sizeof(sched_switch),
		.argument = arguments,
		.arguments = 2,
	};
	u64 result, cost, empty = least_cycles(run_nothing, p, &f, &result);

	if (!p)
		return at + sysfs_emit_at(to, at, "# %s: not made\n", name);
	cost = least_cycles(put ? run_put : kl_program_run, p, &f, &result) - empty;
	kl_program_destroy(p);
	return at + sysfs_emit_at(to, at, "# %4llu instructions: %s (%lld)\n", cost, name, result);
}

#define FIELD_OF(name, type, reg) \
	OP(FIELD, .dst = reg, .b = type, .imm = offsetof(typeof(sched_switch), name))
#define NEXT_TID_IS(n)                                                         \
	FIELD_OF(next_tid, KL_NUMBER_S32, 0), OP(CONST, .dst = 1, .imm64 = n), \
		OP(ALU, .dst = 0, .a = 1, .b = KL_ALU_EQ)
#define PREV_STATE_IS_NOT_0                                          \
	FIELD_OF(prev_state, KL_NUMBER_S64, 0), OP(CONST, .dst = 1), \
		OP(ALU, .dst = 0, .a = 1, .b = KL_ALU_NE)

/**
 * report_costs - the parameter `costs`
 * @to: a page
 * @parameter: unused
 */
int report_costs(char *to, const struct kernel_param *parameter)
{
	u32 pid = offsetof(struct task_struct, pid), mm = offsetof(struct task_struct, mm);
	int at = 0;

	at = report(to, at, "END", make_program(OP(END)), 0, false);
	at = report(to, at, "next_pid == 42", make_program(NEXT_TID_IS(42), OP(END)), 0, false);
	at = report(to, at, "next_pid == 42 && prev_state != 0",
		    make_program(NEXT_TID_IS(42), OP(JUMP_ZERO, .imm = 3), PREV_STATE_IS_NOT_0,
				 OP(END)),
		    0, false);
	at = report(to, at, "next_pid == 43 && prev_state != 0",
		    make_program(NEXT_TID_IS(43), OP(JUMP_ZERO, .imm = 3), PREV_STATE_IS_NOT_0,
				 OP(END)),
		    0, false);
	at = report(to, at, "current->pid",
		    make_program(OP(CURRENT), OP(LOAD, .b = KL_NUMBER_S32, .imm = pid), OP(END)), 0,
		    false);
	at = report(to, at, "current->mm->pgd and more",
		    make_program(OP(CURRENT), OP(LOAD, .b = KL_NUMBER_U64, .imm = mm),
				 OP(LOAD, .b = KL_NUMBER_U64, .imm = 64), OP(END)),
		    0, false);
	at = report(to, at, "arg1->pid",
		    make_program(OP(ARG, .imm = 1), OP(LOAD, .b = KL_NUMBER_S32, .imm = pid),
				 OP(END)),
		    0, false);
	at = report(to, at, "a field as a key",
		    make_program(FIELD_OF(next_tid, KL_NUMBER_S32, 0), OP(END)), 0, false);
	at = report(to, at, "prev_comm == \"kernel\"",
		    make_program(OP(FIELD_TEXT, .imm = 16 << 16, .imm64 = 6 << 16), OP(END)), 0,
		    false);
	at = report(to, at, "next_pid - prev_pid",
		    make_program(FIELD_OF(next_tid, KL_NUMBER_S32, 0),
				 FIELD_OF(prev_tid, KL_NUMBER_S32, 1),
				 OP(ALU, .dst = 0, .a = 1, .b = KL_ALU_SUB), OP(END)),
		    0, false);
	at = report(to, at, "put two arguments and a load",
		    make_program(OP(ARG), OP(PUT, .b = KL_NUMBER_U64), OP(ARG, .imm = 1),
				 OP(PUT, .b = KL_NUMBER_U64),
				 OP(LOAD, .b = KL_NUMBER_S32, .imm = pid),
				 OP(PUT, .b = KL_NUMBER_S32), OP(END)),
		    0, true);
	at = report(to, at, "put a kernel string of 6 bytes",
		    make_program(OP(ARG), OP(PUT_STRING, .imm = 32), OP(END)),
		    (u64)&sched_switch.next_comm, true);
	return at;
}
