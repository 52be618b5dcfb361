// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts at every machine instruction of the writer, as compiled with optimization. One run
 * under the trap flag lists the instructions that a scenario's record executes; then each in turn
 * is replaced by a breakpoint whose handler runs the nested records. Pairs of instructions are
 * sampled: inside the first interrupt or after it, at any instruction of any scenario.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "../unit.h"
#include "nesting.h"

#define POINTS_MAX 4096
#define PAIRS 4000 /* per scenario */
#define BREAKPOINT 0xCC
#define TRAP_FLAG 0x100

extern u8 __executable_start[], etext[];

struct point {
	u8 *at;
	u32 occurrence; /* in the record, from 1 */
};

/* An instruction to interrupt. */
struct site {
	u8 *at;
	u8 saved;
	u32 countdown;
	bool planted;
	const struct action *action;
};

static struct {
	struct bench *bench;
	struct site site[2];
	bool inside; /* the second site counts from when the first action begins */
	struct site *stepping; /* to be planted again after one instruction */
	bool recording;
	u64 stack; /* stack pointer at the record's call: above it, the call has returned */
	struct point point[POINTS_MAX];
	u32 points;
} plan;

/* Every instruction that any scenario executes, as candidates for the second of a pair. */
static u8 *place[POINTS_MAX];
static u32 places;

static void plant(struct site *site)
{
	site->saved = *site->at;
	*site->at = BREAKPOINT;
	site->planted = true;
}

static void lift(struct site *site)
{
	if (site->planted)
		*site->at = site->saved;
	site->planted = false;
}

static void record_point(u8 *at, u64 stack)
{
	u32 occurrence = 1;

	if (at == (u8 *)bench_fire_bytes)
		plan.stack = stack;
	if (!plan.stack || at < __executable_start || at >= etext)
		return;
	if (stack > plan.stack) {
		plan.recording = false;
		return;
	}
	for (u32 i = 0; i < plan.points; i++)
		occurrence += plan.point[i].at == at;
	if (plan.points < POINTS_MAX)
		plan.point[plan.points++] = (struct point){ at, occurrence };
}

static void hit(struct site *site, greg_t *flags)
{
	bool second = site == &plan.site[1];

	lift(site);
	if (--site->countdown) {
		plan.stepping = site;
		*flags |= TRAP_FLAG;
		return;
	}
	if (!second && plan.site[1].at && plan.inside)
		plant(&plan.site[1]);
	site->action->run(plan.bench);
	if (!second && plan.site[1].at && !plan.inside)
		plant(&plan.site[1]);
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	u8 *at = (u8 *)regs[REG_RIP];

	(void)signal;
	(void)info;
	if (plan.recording) {
		record_point(at, regs[REG_RSP]);
		if (!plan.recording)
			regs[REG_EFL] &= ~TRAP_FLAG;
		return;
	}
	if (plan.stepping) {
		plant(plan.stepping);
		plan.stepping = NULL;
		regs[REG_EFL] &= ~TRAP_FLAG;
		return;
	}
	for (int i = 0; i < 2; i++) {
		struct site *site = &plan.site[i];

		if (!site->planted || site->at != at - 1)
			continue;
		regs[REG_RIP] = (greg_t)site->at;
		hit(site, &regs[REG_EFL]);
		return;
	}
}

static bool fire_recorded(struct bench *bench, u32 bytes)
{
	plan.points = 0;
	plan.stack = 0;
	plan.recording = true;
	asm volatile("lea -128(%%rsp), %%rsp; pushfq; orq %0, (%%rsp); popfq;"
		     "lea 128(%%rsp), %%rsp" ::"i"(TRAP_FLAG)
		     : "memory", "cc");
	bench_fire_bytes(bench, bytes);
	/* The trap flag is cleared with the first instruction after the return. */
	asm volatile("nop" ::: "memory");
	return plan.points > 0;
}

static bool fire_interrupted(struct bench *bench, u32 bytes)
{
	plan.bench = bench;
	plan.stepping = NULL;
	plant(&plan.site[0]);
	bench_fire_bytes(bench, bytes);
	lift(&plan.site[0]);
	lift(&plan.site[1]);
	return true;
}

static bool explore_singles(const struct scenario *scenario, u32 *runs)
{
	plan.site[1].at = NULL;
	for (u32 j = 0; j < nesting_action_count; j++) {
		for (u32 i = 0; i < plan.points; i++, ++*runs) {
			plan.site[0] = (struct site){ .at = plan.point[i].at,
						      .countdown = plan.point[i].occurrence,
						      .action = &nesting_actions[j] };
			if (!nesting_run_once(scenario, fire_interrupted,
					      nesting_actions[j].is_small))
				return false;
		}
	}
	return true;
}

static bool explore_pairs(const struct scenario *scenario, u32 *runs)
{
	static u64 dice = 1;

	for (u32 i = 0; i < PAIRS; i++, ++*runs) {
		const struct action *action[2];
		struct point *point;

		dice = dice * 6364136223846793005ull + 1442695040888963407ull;
		point = &plan.point[(dice >> 33) % plan.points];
		action[0] = &nesting_actions[(dice >> 20) % nesting_action_count];
		action[1] = &nesting_actions[(dice >> 25) % nesting_action_count];
		dice = dice * 6364136223846793005ull + 1442695040888963407ull;
		plan.inside = dice >> 63;
		plan.site[0] = (struct site){ .at = point->at,
					      .countdown = point->occurrence,
					      .action = action[0] };
		plan.site[1] = (struct site){ .at = place[(dice >> 33) % places],
					      .countdown = 1,
					      .action = action[1] };
		if (!nesting_run_once(scenario, fire_interrupted,
				      action[0]->is_small && action[1]->is_small))
			return false;
	}
	return true;
}

static void collect_places(void)
{
	for (u32 i = 0; i < nesting_scenario_count; i++) {
		nesting_run_once(&nesting_scenarios[i], fire_recorded, false);
		for (u32 j = 0; j < plan.points; j++) {
			u32 k = 0;

			while (k < places && place[k] != plan.point[j].at)
				k++;
			if (k == places && places < POINTS_MAX)
				place[places++] = plan.point[j].at;
		}
	}
}

void nesting_run(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_NODEFER | SA_SIGINFO };
	u8 *start = (u8 *)((u64)__executable_start & ~4095ull);

	sigaction(SIGTRAP, &action, NULL);
	if (mprotect(start, etext - start, PROT_READ | PROT_WRITE | PROT_EXEC)) {
		unit_result(true, "interrupted at instructions # SKIP text cannot be patched",
			    NULL);
		return;
	}
	collect_places();
	for (u32 i = 0; i < nesting_scenario_count; i++) {
		const struct scenario *scenario = &nesting_scenarios[i];
		char name[160], why[600] = "";
		u32 runs = 0;
		bool sound;

		sound = nesting_run_once(scenario, fire_recorded, false) &&
			explore_singles(scenario, &runs) && explore_pairs(scenario, &runs);
		if (!sound)
			snprintf(why, sizeof(why), "%s at %p (%u), then at %p: %s",
				 plan.site[0].action->name, plan.site[0].at, plan.site[0].countdown,
				 plan.site[1].at, nesting_trouble);
		snprintf(name, sizeof(name), "interrupted at %u instructions: %s (%u runs)",
			 plan.points, scenario->name, runs);
		unit_result(sound, name, why);
	}
}
