// SPDX-License-Identifier: GPL-2.0
/*
 * Bounds the cost of an event. For each probe point of a session's events it adds up the maximum
 * cost of what the session does there. It refuses a session of an unprivileged user whose sessions
 * together would cost too much at one probe point. Called when a session starts or changes its
 * maskset, under its lock; docs/design/budget.md describes the model.
 */
#include <linux/cred.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sort.h>
#include <linux/tracepoint.h>

#include "../core/stack_internal.h"
#include "../handler/handler.h"
#include "../latency/latency.h"
#include "../source/dynamic/dynamic.h"
#include "../source/source.h"
#include "budget.h"
#include "session.h"

static unsigned int event_operations_per_user = 16384;
module_param(event_operations_per_user, uint, 0644);
MODULE_PARM_DESC(event_operations_per_user,
		 "maximum cost at one probe point of all sessions of an unprivileged user, in "
		 "operations (about 5 instructions each); 0: unlimited");

/* Parts of an event's cost; part_names has their names in messages. */
enum part {
	PART_EVENT,
	PART_FIELDS,
	PART_FILTER,
	PART_KEYS,
	PART_VALUE,
	PART_HANDLER,
	PART_VARIABLES,
	PART_LATENCY,
	PART_OTHERS,
	PARTS
};

static const char *const part_names[PARTS] = {
	[PART_EVENT] = "events and records",
	[PART_FIELDS] = "field programs",
	[PART_FILTER] = "filters",
	[PART_KEYS] = "keys",
	[PART_VALUE] = "values",
	[PART_HANDLER] = "handlers",
	[PART_VARIABLES] = "variables",
	[PART_LATENCY] = "the latency profile",
	[PART_OTHERS] = "other sessions",
};

/* In operations, as measured by tests/kernel/budget. */
#define EVENT 100 /* the gate, access checks, the fields */
#define RECORD 60
#define STRINGS 500 /* of a system call */
/* Copied, in digits, beside records; loads that fault, one for each row of a call; a list. */
#define MEMORY (KL_MEMORY_BYTES_MAX + 6 * 200 + KL_MEMORY_LIST_MAX)
#define LATENCY 150
#define WALK 400 /* of a stack trace: without its frames, but with the load that fails */
#define USER_FRAME 80 /* includes the lookups of its file and of its rule */
#define KERNEL_FRAME 60

struct cost {
	u64 part[PARTS];
};

/**
 * struct claim - what a session costs at a probe point
 * @place: identifies the probe point
 * @name: its name, for messages
 * @cost: of everything that one hit does there
 */
struct claim {
	const void *place;
	const char *name;
	struct cost cost;
};

/**
 * struct kl_budget - what a session costs
 * @list: in the list of all claimed budgets
 * @session: the session, which is charged for the memory
 * @n: number of @claim, sorted by place
 */
struct kl_budget {
	struct list_head list;
	struct kl_session *session;
	u32 n;
	struct claim claim[];
};

/* Budgets of running sessions. The lock nests inside a session's lock. */
static DEFINE_MUTEX(budgets_lock);
static LIST_HEAD(budgets);

static u64 sum_of(const struct cost *cost)
{
	u64 sum = 0;

	for (u32 i = 0; i < PARTS; i++)
		sum += cost->part[i];
	return sum;
}

static void add_cost(struct cost *to, const struct cost *more)
{
	for (u32 i = 0; i < PARTS; i++)
		to->part[i] += more->part[i];
}

/* ------------------------------------------------------- cost of an event */

static u64 walks_cost(const struct kl_session *s, u32 kernel_walks, u32 user_walks)
{
	u32 kernel = KL_STACK_FRAMES_MAX, user = KL_STACK_FRAMES_MAX;

	if (s->stacks) {
		kernel = s->stacks->kernel_frames;
		user = s->stacks->user_frames;
	}
	return (u64)kernel_walks * (WALK + kernel * KERNEL_FRAME) +
	       (u64)user_walks * (WALK + user * USER_FRAME);
}

static u64 operations_of(const struct kl_session *s, struct kl_cost cost)
{
	return cost.operations + walks_cost(s, cost.kernel_walks, cost.user_walks);
}

static u64 program_cost(const struct kl_session *s, const struct kl_program *program)
{
	return program ? operations_of(s, kl_program_cost(program)) : 0;
}

static void add_record(const struct kl_session *s, struct cost *cost)
{
	cost->part[PART_EVENT] += RECORD;
	if (s->variables)
		cost->part[PART_VARIABLES] += operations_of(s, s->variables->cost);
}

static struct cost cost_of(const struct kl_session *s, const struct kl_actions *actions, u32 id);

/* The handler fires another event, which the session may handle, too. */
static void add_fired(const struct kl_session *s, const struct kl_actions *actions, u32 id,
		      u32 times, struct cost *cost)
{
	struct cost fired;

	if (!actions->action[id])
		return;
	fired = cost_of(s, actions, id);
	while (times--)
		add_cost(cost, &fired);
}

/* @id: the event that the handler runs for */
static void add_handler(const struct kl_session *s, const struct kl_actions *actions, u32 id,
			const struct kl_rule *r, struct cost *cost)
{
	const struct kl_handler *handler = kl_handler_find(r->handler);

	cost->part[PART_HANDLER] += handler->operations;
	if (handler->walks)
		cost->part[PART_HANDLER] += walks_cost(s, s->see_addresses, 1);
	if (handler->flags & KL_HANDLES_RECORD)
		add_record(s, cost);
	if (handler->fires && handler->fires != id)
		add_fired(s, actions, handler->fires, 1, cost);
}

static void add_rule(const struct kl_session *s, const struct kl_actions *actions, u32 id,
		     const struct kl_rule *r, struct cost *cost)
{
	cost->part[PART_FILTER] += program_cost(s, r->filter);
	cost->part[PART_VALUE] += program_cost(s, r->value);
	for (u32 i = 0; i < r->keys; i++)
		cost->part[PART_KEYS] += program_cost(s, r->key[i]);
	add_handler(s, actions, id, r, cost);
}

/* The cost of what a session does with an event that it handles. */
static struct cost cost_of(const struct kl_session *s, const struct kl_actions *actions, u32 id)
{
	struct cost cost = { .part[PART_EVENT] = EVENT };
	u8 action = actions->action[id] & KL_ACTION_HANDLER;

	if (action >= KL_ACTION_RULE)
		add_rule(s, actions, id, s->defs.rule[action - KL_ACTION_RULE], &cost);
	else if (action == KL_HANDLER_log)
		add_record(s, &cost);
	else
		cost.part[PART_HANDLER] += KL_HANDLER_OPERATIONS;
	return cost;
}

/* ------------------------------------------------------- cost at a probe point */

/* Rows, system calls, two probe points of the profile, defined events; one for all traps. */
#define CLAIMS_MAX (KL_EV_SYSCALL_ENTRY + 2 + 2 + KL_DEFINED_UNPRIVILEGED_MAX + 1)

static void add_claim(struct kl_budget *b, const void *place, const char *name,
		      const struct cost *cost)
{
	if (!WARN_ON_ONCE(b->n == CLAIMS_MAX))
		b->claim[b->n++] = (struct claim){ .place = place, .name = name, .cost = *cost };
}

static void add_rows(const struct kl_session *s, const struct kl_actions *actions,
		     struct kl_budget *b)
{
	for (u32 id = 1; id < KL_EV_SYSCALL_ENTRY; id++) {
		struct cost cost;
		const char *name;
		const void *place;

		if (!actions->action[id])
			continue;
		cost = cost_of(s, actions, id);
		place = kl_event_place(id, &name);
		add_claim(b, place, name, &cost);
	}
}

/* The exit copies strings that were not in memory at the entry, and fires an event for each. */
static void add_strings(const struct kl_session *s, const struct kl_actions *actions, u32 n,
			bool exit, struct cost *cost)
{
	if (!exit || actions->action[KL_EV_syscall_late_string])
		cost->part[PART_EVENT] += STRINGS;
	if (exit)
		add_fired(s, actions, KL_EV_syscall_late_string, n, cost);
}

/* Both the entry and the exit fire an event for each piece of memory, and two for lists. */
static void add_arguments(const struct kl_session *s, const struct kl_actions *actions, u32 number,
			  struct cost *cost)
{
	const u8 *action = actions->action;

	if (!kl_syscall_memory_rows(number) ||
	    !(action[KL_EV_strace_memory] || action[KL_EV_strace_list]))
		return;
	cost->part[PART_EVENT] += MEMORY;
	add_fired(s, actions, KL_EV_strace_memory, KL_MEMORY_PIECES_MAX, cost);
	add_fired(s, actions, KL_EV_strace_list, 2, cost);
}

/* A hit is only one of the calls: take the most expensive one. */
static void add_calls(const struct kl_session *s, const struct kl_actions *actions, bool exit,
		      struct kl_budget *b)
{
	u32 first = exit ? KL_EV_SYSCALL_EXIT : KL_EV_SYSCALL_ENTRY;
	struct cost most = {};
	const char *name;
	const void *place = kl_event_place(first, &name);

	for (u32 nr = 0; nr < KL_EV_SYSCALL_MAX; nr++) {
		u32 strings = kl_syscall_strings_number(nr);
		struct cost cost;

		if (!actions->action[first + nr])
			continue;
		cost = cost_of(s, actions, first + nr);
		if (strings)
			add_strings(s, actions, strings, exit, &cost);
		if ((actions->action[first + nr] & KL_ACTION_HANDLER) == KL_HANDLER_log)
			add_arguments(s, actions, nr, &cost);
		if (sum_of(&cost) > sum_of(&most))
			most = cost;
	}
	if (sum_of(&most))
		add_claim(b, place, name, &most);
}

static void add_latency(const struct kl_session *s, struct kl_budget *b)
{
	static const u32 ids[] = { KL_EV_sched_switch, KL_EV_sched_waking };
	struct cost cost = {};

	if (!s->latency)
		return;
	cost.part[PART_LATENCY] = LATENCY + operations_of(s, kl_latency_cost(s->latency));
	for (u32 i = 0; i < ARRAY_SIZE(ids); i++) {
		const char *name;
		const void *place = kl_event_place(ids[i], &name);

		add_claim(b, place, name, &cost);
	}
}

struct adding {
	const struct kl_session *s;
	const struct kl_actions *actions;
	struct kl_budget *b;
	struct cost trap;
};

static void add_defined(u32 id, u32 kind, const void *place, const char *name,
			const struct kl_program *fields, void *data)
{
	struct adding *adding = data;
	struct cost cost;

	if (id >= adding->actions->n || !adding->actions->action[id])
		return;
	cost = cost_of(adding->s, adding->actions, id);
	cost.part[PART_FIELDS] += program_cost(adding->s, fields);
	if (kind != KL_SOURCE_KIND_TRAP)
		add_claim(adding->b, place, name, &cost);
	else if (sum_of(&cost) > sum_of(&adding->trap))
		/* A breakpoint fires only one event. */
		adding->trap = cost;
}

static int compare_places(const void *a, const void *b)
{
	const void *first = ((const struct claim *)a)->place;
	const void *second = ((const struct claim *)b)->place;

	return first < second ? -1 : first > second;
}

/* Merge the claims into one for each probe point. */
static void merge(struct kl_budget *b)
{
	u32 n = 0;

	sort(b->claim, b->n, sizeof(*b->claim), compare_places, NULL);
	for (u32 i = 0; i < b->n; i++) {
		if (n && b->claim[n - 1].place == b->claim[i].place)
			add_cost(&b->claim[n - 1].cost, &b->claim[i].cost);
		else
			b->claim[n++] = b->claim[i];
	}
	b->n = n;
}

static u64 bytes_of(const struct kl_budget *b)
{
	return kl_memory_size(struct_size(b, claim, b->n));
}

/* Keep and charge only the used part, which is much smaller than the maximum. */
static struct kl_budget *keep_budget(const struct kl_budget *b, struct kl_error *why)
{
	int error = kl_memory_charge(&b->session->payer, bytes_of(b), why);
	struct kl_budget *small;

	if (error)
		return ERR_PTR(error);
	small = kvmalloc(struct_size(b, claim, b->n), GFP_KERNEL_ACCOUNT);
	if (!small) {
		kl_memory_uncharge(&b->session->payer, bytes_of(b));
		return ERR_PTR(kl_fail(why, -ENOMEM, "no memory for the session's budget"));
	}
	memcpy(small, b, struct_size(b, claim, b->n));
	INIT_LIST_HEAD(&small->list);
	return small;
}

static void free_budget(struct kl_budget *b)
{
	struct kl_session *s = b->session;
	u64 bytes = bytes_of(b);

	kvfree(b);
	kl_memory_uncharge(&s->payer, bytes);
}

static struct kl_budget *make_budget(struct kl_session *s, const struct kl_actions *actions,
				     struct kl_error *why)
{
	struct adding adding = { .s = s, .actions = actions };
	struct kl_budget *b, *small;

	b = kvzalloc(struct_size(b, claim, CLAIMS_MAX), GFP_KERNEL_ACCOUNT);
	if (!b)
		return ERR_PTR(kl_fail(why, -ENOMEM, "no memory for the session's budget"));
	INIT_LIST_HEAD(&b->list);
	b->session = s;
	adding.b = b;
	add_rows(s, actions, b);
	add_calls(s, actions, false, b);
	add_calls(s, actions, true, b);
	add_latency(s, b);
	kl_dynevent_visit(s, add_defined, &adding);
	if (sum_of(&adding.trap))
		add_claim(b, &add_defined, "a breakpoint", &adding.trap);
	merge(b);
	small = keep_budget(b, why);
	kvfree(b);
	return small;
}

/* ------------------------------------------------------- cost of a user */

static const struct claim *find_claim(const struct kl_budget *b, const void *place)
{
	u32 low = 0, high = b->n;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (b->claim[middle].place == place)
			return &b->claim[middle];
		if (b->claim[middle].place < place)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* The cost of the user's other sessions at a probe point. */
static u64 others_cost(const struct kl_budget *b, const void *place)
{
	const struct kl_budget *other;
	u64 sum = 0;

	lockdep_assert_held(&budgets_lock);
	list_for_each_entry(other, &budgets, list) {
		const struct claim *claim;

		/* The list has the sessions of all users, of which there may be many. */
		cond_resched();
		if (other->session == b->session ||
		    !kl_payer_shares(&other->session->payer, &b->session->payer))
			continue;
		claim = find_claim(other, place);
		sum += claim ? sum_of(&claim->cost) : 0;
	}
	return sum;
}

static int refuse(const struct claim *claim, u64 limit, struct kl_error *why)
{
	u32 most = 0;

	for (u32 i = 1; i < PARTS; i++)
		if (claim->cost.part[i] > claim->cost.part[most])
			most = i;
	return kl_fail(why, -EDQUOT,
		       "%.40s would cost %llu operations each time it fires, the limit is %llu; "
		       "%llu are for %s",
		       claim->name, sum_of(&claim->cost), limit, claim->cost.part[most],
		       part_names[most]);
}

static int check_claims(struct kl_budget *b, bool others, struct kl_error *why)
{
	u64 limit = READ_ONCE(event_operations_per_user);

	for (u32 i = 0; limit && i < b->n; i++) {
		struct claim claim = b->claim[i];

		if (others)
			claim.cost.part[PART_OTHERS] = others_cost(b, claim.place);
		if (sum_of(&claim.cost) > limit)
			return refuse(&claim, limit, why);
	}
	return 0;
}

/**
 * kl_budget_claim - count a session's actions among those of its user
 * @s: the session, which is running or about to; its lock is held
 * @actions: its future actions
 * @why: set on failure
 *
 * The session's previous claim is not counted, and stays valid. Returns the claim, NULL if none is
 * needed, or an error pointer: -EDQUOT if the limit would be exceeded. Context: may sleep.
 */
struct kl_budget *kl_budget_claim(struct kl_session *s, const struct kl_actions *actions,
				  struct kl_error *why)
{
	struct kl_budget *b;
	int error;

	lockdep_assert_held(&s->lock);
	if (s->may & KL_MAY_SEE_ALL)
		return NULL;
	b = make_budget(s, actions, why);
	if (IS_ERR(b))
		return b;
	mutex_lock(&budgets_lock);
	error = check_claims(b, true, why);
	if (!error)
		list_add_tail(&b->list, &budgets);
	mutex_unlock(&budgets_lock);
	if (!error)
		return b;
	free_budget(b);
	return ERR_PTR(error);
}

/**
 * kl_budget_check - would a session's actions be allowed if it was its user's only session?
 * @s: a session that is not running; its lock is held
 * @actions: the actions to check
 * @why: set on failure
 *
 * Returns 0, -EDQUOT or -ENOMEM. Context: may sleep.
 */
int kl_budget_check(struct kl_session *s, const struct kl_actions *actions, struct kl_error *why)
{
	struct kl_budget *b;
	int error;

	lockdep_assert_held(&s->lock);
	if (s->may & KL_MAY_SEE_ALL)
		return 0;
	b = make_budget(s, actions, why);
	if (IS_ERR(b))
		return PTR_ERR(b);
	error = check_claims(b, false, why);
	free_budget(b);
	return error;
}

/**
 * kl_budget_release - undo kl_budget_claim
 * @budget: what it returned, including NULL and error pointers
 */
void kl_budget_release(struct kl_budget *budget)
{
	if (IS_ERR_OR_NULL(budget))
		return;
	mutex_lock(&budgets_lock);
	list_del(&budget->list);
	mutex_unlock(&budgets_lock);
	free_budget(budget);
}
