// SPDX-License-Identifier: GPL-2.0
/*
 * Computes the upper bound of a program's cost: that of the most expensive path through its steps.
 * Jumps only go forward, so one backward pass finds it. Used by budget.c, which limits what an
 * event may cost, and by the watchdog. docs/design/budget.md has the unit.
 */
#include "program_step.h"
#include "program_values.h"

/* A load that faults: the exception, the search of the exception table, the return. */
#define FAULT 200

/* The most bytes of fields and strings in a record, from a row of a table or from a program. */
#define BYTES_MAX 1024u

static u32 least(u32 a, u32 b)
{
	return a < b ? a : b;
}

/* Bytes of fields and strings that are read to find and compare a text. */
static u32 scanned(const struct kl_step *step)
{
	if (step->a)
		return BYTES_MAX;
	return step->fixed ? least(step->fixed, BYTES_MAX) : KL_PROGRAM_OUT_MAX;
}

/* A byte costs an operation if bytes are compared or searched one at a time. */
static u32 text_cost(const struct kl_step *step)
{
	switch (step->code) {
	case KL_STEP_FIELD_TEXT:
		return 10 + scanned(step) + least(step->text_bytes, BYTES_MAX);
	case KL_STEP_FIELD_BEHIND:
		return 10 + BYTES_MAX;
	case KL_STEP_TEXT:
		return FAULT + 2 * step->text_bytes;
	case KL_STEP_PUT_STRING:
	case KL_STEP_PUT_USER_STRING:
		return FAULT + 2 * step->imm;
	case KL_STEP_PUT_BYTES:
		return FAULT + step->imm;
	}
	return 0;
}

static u32 alu_cost(const struct kl_step *step)
{
	return step->b >= KL_ALU_DIV && step->b <= KL_ALU_UMOD ? 20 : 8;
}

/* Cost of a step, without that of reading a variable. */
static u32 step_cost(const struct kl_step *step)
{
	switch (step->code) {
	case KL_STEP_END_CONST:
	case KL_STEP_END_TASK:
	case KL_STEP_END_FIELD:
	case KL_STEP_END:
	case KL_STEP_JUMP:
		return 2;
	case KL_STEP_TEST_FIELD_S32:
	case KL_STEP_TEST_FIELD_64:
	case KL_STEP_TEST_FIELD_U32:
	case KL_STEP_TEST_FIELD_SMALL:
	case KL_STEP_TEST:
	case KL_STEP_FIELD:
	case KL_STEP_ARG:
	case KL_STEP_PUT:
		return 4;
	case KL_STEP_ALU:
	case KL_STEP_ALU_CONST:
		return alu_cost(step);
	case KL_STEP_LOAD:
	case KL_STEP_LOAD_USER:
		return FAULT;
	case KL_STEP_FLAG:
		return 14;
	case KL_STEP_SINCE:
		return 30;
	case KL_STEP_VARIABLE:
	case KL_STEP_VARIABLE_WORD:
		return 8;
	case KL_STEP_VARIABLE_TEXT:
		return 8 + 2 * KL_VARIABLE_TEXT_MAX;
	}
	return text_cost(step) ?: 6;
}

static bool reads_variable(const struct kl_step *step)
{
	return step->code == KL_STEP_VARIABLE || step->code == KL_STEP_VARIABLE_WORD ||
	       step->code == KL_STEP_VARIABLE_TEXT;
}

/* Does it read a flag of the running task, not one of the CPU? */
static bool reads_task_flag(const struct kl_step *step)
{
	return (step->code == KL_STEP_FLAG || step->code == KL_STEP_SINCE) &&
	       step->imm < KL_FLAGS_MAX / 2;
}

static bool is_end(const struct kl_step *step)
{
	return step->code >= KL_STEP_END_CONST && step->code <= KL_STEP_END;
}

/* The larger of each number, since different paths may have the largest ones. */
static struct kl_cost max_cost(struct kl_cost a, struct kl_cost b)
{
	return (struct kl_cost){
		.operations = a.operations > b.operations ? a.operations : b.operations,
		.kernel_walks = a.kernel_walks > b.kernel_walks ? a.kernel_walks : b.kernel_walks,
		.user_walks = a.user_walks > b.user_walks ? a.user_walks : b.user_walks,
	};
}

static struct kl_cost next_cost(const struct kl_cost *at, const struct kl_step *step)
{
	if (is_end(step))
		return (struct kl_cost){};
	if (step->code == KL_STEP_JUMP)
		return at[step->yes / sizeof(*step)];
	if (step->code == KL_STEP_TEST || step->code < KL_STEP_LAST_JUMP)
		return max_cost(at[step->yes / sizeof(*step)], at[step->no / sizeof(*step)]);
	return at[1];
}

/**
 * kl_program_measure - compute the upper bound of a program's cost
 * @p: the program, whose steps are complete; its `cost` is set
 * @steps: number of steps
 * @may: KL_MAY_* of the program's creator
 * @cost_of: scratch memory, one entry for each step
 */
void kl_program_measure(struct kl_program *p, u32 steps, u32 may, struct kl_cost *cost_of)
{
	for (u32 i = steps; i-- > 0;) {
		const struct kl_step *step = &p->step[i];
		struct kl_cost cost = next_cost(&cost_of[i], step);

		cost.operations += step_cost(step);
		if (reads_variable(step))
			kl_variable_cost(step->imm, may, &cost);
		if (reads_task_flag(step) && !(may & KL_MAY_SEE_ALL))
			cost.operations += KL_COST_SEES;
		cost_of[i] = cost;
	}
	p->cost = cost_of[0];
}

/**
 * kl_program_cost - upper bound of a program's cost
 * @p: the program
 */
struct kl_cost kl_program_cost(const struct kl_program *p)
{
	return p->cost;
}
