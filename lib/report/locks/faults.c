// SPDX-License-Identifier: GPL-2.0
/* Collects what is wrong with the use of locks, and finds orders of locks that contradict. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "use.h"

struct numbered {
	uint64_t key;
	uint64_t number; /* plus 1; 0: new */
};

static const struct {
	const char *name;
	const char *text;
} kinds[KL_LOCK_FAULT_KINDS] = {
	[KL_LOCK_FREE_RELEASED] = { "released_free", "released although it is not held" },
	[KL_LOCK_FOREIGN_RELEASED] = { "released_foreign",
				       "released by a task that does not hold it" },
	[KL_LOCK_WRONG_MODE] = { "wrong_mode",
				 "taken for reading and released for writing, or vice versa" },
	[KL_LOCK_KEPT] = { "kept", "still held when the task returned to user space" },
	[KL_LOCK_LEFT] = { "left", "still held when the task exited" },
	[KL_LOCK_TWICE] = { "twice", "taken by a task that already holds it" },
	[KL_LOCK_ORDER] = { "order", "taken in an order that can deadlock" },
	[KL_LOCK_SLEEP_SPIN] = { "sleep_spin", "may sleep while holding a spinlock" },
	[KL_LOCK_SLEEP_IRQ] = { "sleep_irq",
				"may sleep with interrupts disabled, or in an interrupt" },
	[KL_LOCK_IN_IRQ] = { "in_irq",
			     "taken in interrupts, and elsewhere while these are enabled" },
	[KL_LOCK_INIT_HELD] = { "init_held", "initialized while it is held" },
	[KL_LOCK_LONG] = { "long", "held for longer than the limit" },
};

const char *kl_lock_fault_name(enum kl_lock_fault_kind kind)
{
	return kinds[kind].name;
}

const char *kl_lock_fault_text(enum kl_lock_fault_kind kind)
{
	return kinds[kind].text;
}

/* ------------------------------------------------------------------------ faults */

/* Faults are the same if they have the same kind at the same places, whatever the lock. */
static uint64_t key_of(const struct kl_lock_fault *fault)
{
	const uintptr_t what[] = { fault->kind, (uintptr_t)fault->here.call,
				   (uintptr_t)fault->there.call };
	uint64_t key = kl_hash_bytes(KL_HASH_START, what, sizeof(what));

	for (size_t i = 0; i < fault->steps; i++) {
		const uintptr_t step[] = { (uintptr_t)fault->step[i].hold.call,
					   (uintptr_t)fault->step[i].take.call };

		key = kl_hash_bytes(key, step, sizeof(step));
	}
	return key ?: 1;
}

int kl_lock_add_fault(struct kl_lock_use *use, const struct kl_lock_fault *fault)
{
	struct numbered *entry = kl_hash_get(&use->fault_of, key_of(fault));
	struct kl_lock_fault *known, *grown;

	if (!entry)
		return -ENOMEM;
	if (entry->number) {
		known = &use->fault[entry->number - 1];
		known->times++;
		known->certain |= fault->certain;
		if (fault->held_ns > known->held_ns)
			known->held_ns = fault->held_ns;
		return 0;
	}
	if (use->n_faults == KL_LOCK_FAULTS_MAX)
		return 0;
	grown = kl_array_grow(use->fault, use->n_faults, &use->faults_room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	use->fault = grown;
	known = &grown[use->n_faults++];
	*known = *fault;
	known->times = 1;
	known->step = NULL;
	if (fault->steps) {
		known->step = malloc(fault->steps * sizeof(*known->step));
		if (!known->step)
			return kl_fail(ENOMEM, "out of memory");
		memcpy(known->step, fault->step, fault->steps * sizeof(*known->step));
	}
	entry->number = use->n_faults;
	return 0;
}

const struct kl_lock_fault *kl_lock_use_fault(const struct kl_lock_use *use, size_t index)
{
	return index < use->n_faults ? &use->fault[index] : NULL;
}

/* ------------------------------------------------------------------------- order */

static struct numbered *edge_entry(struct kl_lock_use *use, uint64_t held, uint64_t taken)
{
	uint64_t key = kl_hash_bytes(KL_HASH_START, &held, sizeof(held));

	key = kl_hash_bytes(key, &taken, sizeof(taken));
	return kl_hash_get(&use->edge_of, key ?: 1);
}

/*
 * Search the edges from @from for a way to @to, and mark each lock on it with the edge by which it
 * was reached. Returns 1 if there is one, 0, or -ENOMEM.
 */
static int find_way(struct kl_lock_use *use, uint64_t from, uint64_t to)
{
	uint64_t *open = malloc((use->n_edges + 1) * sizeof(*open));
	size_t n = 0;
	int found = 0;

	if (!open)
		return kl_fail(ENOMEM, "out of memory");
	use->searches++;
	open[n++] = from;
	while (n && !found) {
		struct kl_lock *lock = kl_lock_get(use, open[--n]);

		for (size_t i = 0; lock && i < lock->out.n && !found; i++) {
			uint32_t edge = lock->out.edge[i];
			uint64_t taken = use->edge[edge].taken;
			struct kl_lock *next = kl_lock_get(use, taken);

			if (!next || next->seen == use->searches)
				continue;
			next->seen = use->searches;
			next->from_edge = edge;
			open[n++] = taken;
			found = taken == to;
		}
	}
	free(open);
	return found;
}

/* There is a way from the lock that is taken to the one that is held. */
static int report_circle(struct kl_lock_use *use, const struct kl_lock_step *last)
{
	struct kl_lock_fault fault = {
		.kind = KL_LOCK_ORDER,
		.lock = last->taken,
		.other = last->held,
		.here = last->take,
		.certain = true,
	};
	uint64_t at = last->held;
	size_t n = 1;
	int ret;

	for (uint64_t lock = at; lock != last->taken; n++)
		lock = use->edge[kl_lock_get(use, lock)->from_edge].held;
	fault.step = calloc(n, sizeof(*fault.step));
	if (!fault.step)
		return kl_fail(ENOMEM, "out of memory");
	fault.steps = n;
	fault.step[n - 1] = *last;
	for (size_t i = n - 1; i--;) {
		fault.step[i] = use->edge[kl_lock_get(use, at)->from_edge];
		at = fault.step[i].held;
	}
	ret = kl_lock_add_fault(use, &fault);
	free(fault.step);
	return ret;
}

static int add_to(struct kl_lock_edges *edges, uint32_t edge)
{
	uint32_t *grown = kl_array_grow(edges->edge, edges->n, &edges->room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	edges->edge = grown;
	edges->edge[edges->n++] = edge;
	return 0;
}

static void remove_from(struct kl_lock_edges *edges, uint32_t edge)
{
	for (size_t i = 0; i < edges->n; i++)
		if (edges->edge[i] == edge) {
			edges->edge[i] = edges->edge[--edges->n];
			return;
		}
}

/* Store an edge. Returns its index or -ENOMEM. */
static int64_t store_edge(struct kl_lock_use *use, const struct kl_lock_step *step)
{
	struct kl_lock_step *grown;
	uint32_t edge;

	if (use->unused.n) {
		edge = use->unused.edge[--use->unused.n];
		use->edge[edge] = *step;
		return edge;
	}
	grown = kl_array_grow(use->edge, use->n_edges, &use->edges_room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	use->edge = grown;
	grown[use->n_edges] = *step;
	return (int64_t)use->n_edges++;
}

int kl_lock_note_order(struct kl_lock_use *use, const struct kl_held *held, uint64_t lock,
		       const struct kl_lock_place *place)
{
	struct kl_lock_step step = {
		.held = held->lock, .taken = lock, .hold = held->place, .take = *place
	};
	struct numbered *entry = edge_entry(use, held->lock, lock);
	struct kl_lock *from, *to;
	int64_t edge;
	int ret;

	if (!entry)
		return -ENOMEM;
	if (entry->number)
		return 0;
	if (use->n_edges == KL_LOCK_EDGES_MAX && !use->unused.n) {
		use->full = true;
		return 0;
	}
	ret = find_way(use, lock, held->lock);
	if (ret > 0)
		ret = report_circle(use, &step);
	if (ret < 0)
		return ret;
	edge = store_edge(use, &step);
	from = kl_lock_get(use, held->lock);
	to = kl_lock_get(use, lock);
	if (edge < 0 || !from || !to || add_to(&from->out, (uint32_t)edge) ||
	    add_to(&to->in, (uint32_t)edge))
		return -ENOMEM;
	entry->number = 1;
	return 0;
}

static int forget_edge(struct kl_lock_use *use, uint32_t edge)
{
	const struct kl_lock_step *step = &use->edge[edge];
	struct kl_lock *from = kl_lock_get(use, step->held), *to = kl_lock_get(use, step->taken);
	struct numbered *entry = edge_entry(use, step->held, step->taken);

	if (!from || !to || !entry)
		return -ENOMEM;
	entry->number = 0;
	remove_from(&from->out, edge);
	remove_from(&to->in, edge);
	return add_to(&use->unused, edge);
}

int kl_lock_forget(struct kl_lock_use *use, struct kl_lock *lock)
{
	int ret = 0;

	while (!ret && lock->out.n)
		ret = forget_edge(use, lock->out.edge[lock->out.n - 1]);
	while (!ret && lock->in.n)
		ret = forget_edge(use, lock->in.edge[lock->in.n - 1]);
	memset(lock->irq, 0, sizeof(lock->irq));
	return ret;
}

bool kl_lock_use_is_full(const struct kl_lock_use *use)
{
	return use->full;
}
