// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of reading a variable once, in operations of docs/design/budget.md. Used when programs
 * and a session's variables are created.
 */
#include <linux/cpumask.h>

#include "counter.h"
#include "program.h"
#include "variable.h"

#define LOADS 6

/* Cost of a row; most rows are a few loads. */
static u32 row_cost(u32 id)
{
	switch (id) {
	case KL_VARIABLE_ID_open_files:
		return 150;
	case KL_VARIABLE_ID_wchan:
		return 400;
	case KL_VARIABLE_ID_user_stack_used:
	case KL_VARIABLE_ID_softirqs:
		return 12;
	case KL_VARIABLE_ID_available_memory:
		return 100;
	case KL_VARIABLE_ID_cycles:
	case KL_VARIABLE_ID_reference_cycles:
	case KL_VARIABLE_ID_instructions:
	case KL_VARIABLE_ID_thermal_margin:
		return 40;
	case KL_VARIABLE_ID_pgpgin:
	case KL_VARIABLE_ID_pgpgout:
	case KL_VARIABLE_ID_pswpin:
	case KL_VARIABLE_ID_pswpout:
	case KL_VARIABLE_ID_pgfault:
	case KL_VARIABLE_ID_pgmajfault:
		return LOADS + 2 * num_possible_cpus();
	}
	return kl_counter_is_variable(id) ? 80 : LOADS;
}

static u32 checks_of(u8 access)
{
	if (access == KL_VARIABLE_parent)
		return 2;
	return access == KL_VARIABLE_own;
}

/**
 * kl_variable_cost - add the cost of reading a variable
 * @id: of a variable that a program or a session can use
 * @may: KL_MAY_* of the reader
 * @cost: added to
 */
void kl_variable_cost(u32 id, u32 may, struct kl_cost *cost)
{
	const struct kl_variable_row *row = &kl_variable_rows[id];

	cost->kernel_walks += id == KL_VARIABLE_ID_kstack;
	cost->user_walks += id == KL_VARIABLE_ID_ustack;
	cost->operations += row_cost(id) * (row->more ? 2 : 1);
	if (!(may & KL_MAY_SEE_ALL))
		cost->operations += checks_of(row->access) * KL_COST_SEES;
}
