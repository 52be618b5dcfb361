// SPDX-License-Identifier: GPL-2.0
/*
 * A session's table of the events that it has defined, whatever their kind. Fed by KL_IOC_EVENTS
 * and by the session's start, stop and change of maskset.
 *
 * Lock order: a session's lock, `tables_lock`, a table's lock, the locks of the kernel's tracing.
 * Module notifiers begin with `tables_lock`. So allocations under a table's lock are charged to
 * the user's account, but not to a memory cgroup, whose memory.high would stall tasks that load
 * modules.
 *
 * More than 600 lines: all code that takes these locks together.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../../compat/uprobe.h"
#include "../../core/session.h"
#include "../source.h"
#include "kinds.h"

static DEFINE_MUTEX(tables_lock);
static LIST_HEAD(tables);

static const struct kl_dynevent_kind *const kinds[] = {
	[KL_SOURCE_KIND_TRACEPOINT] = &kl_dynevent_tracepoint,
	[KL_SOURCE_KIND_FUNCTION] = &kl_dynevent_function,
	[KL_SOURCE_KIND_RETURN] = &kl_dynevent_return,
	[KL_SOURCE_KIND_TICK] = &kl_dynevent_tick,
	[KL_SOURCE_KIND_UPROBE] = &kl_dynevent_uprobe,
	[KL_SOURCE_KIND_URETPROBE] = &kl_dynevent_uretprobe,
	[KL_SOURCE_KIND_BLOCK] = &kl_dynevent_block_kind,
	[KL_SOURCE_KIND_TRAP] = &kl_dynevent_trap,
	[KL_SOURCE_KIND_USDT] = &kl_dynevent_usdt,
};

/**
 * kl_dynevent_visit_tables - call @fn with the table of each session that has one
 * @fn: called with the table's lock held
 * @data: passed to @fn
 *
 * Context: may sleep; must not hold a session's lock.
 */
void kl_dynevent_visit_tables(void (*fn)(struct kl_dynevent_table *table, void *data), void *data)
{
	struct kl_dynevent_table *table;

	mutex_lock(&tables_lock);
	list_for_each_entry(table, &tables, list) {
		mutex_lock(&table->lock);
		fn(table, data);
		mutex_unlock(&table->lock);
	}
	mutex_unlock(&tables_lock);
}

/* ------------------------------------------------------------------ creation */

static const struct kl_dynevent_kind *kind_of(u32 kind)
{
	return kind < ARRAY_SIZE(kinds) ? kinds[kind] : NULL;
}

/**
 * kl_dynevent_name_max - maximum length of a kind's names
 * @kind: any number
 *
 * Returns bytes including the NUL, or 0 if there is no such kind or it has no names.
 */
u32 kl_dynevent_name_max(u32 kind)
{
	return kind_of(kind) ? kind_of(kind)->name_max : 0;
}

static void destroy_batch(struct kl_session *s, struct kl_dynevent_batch *batch)
{
	u64 charged = batch->charged;

	for (u32 i = 0; i < batch->n; i++)
		if (batch->of[i].kind)
			kinds[batch->of[i].kind]->destroy(&batch->of[i]);
	kvfree(batch);
	kl_memory_uncharge(&s->payer, charged);
}

/* Only a marker has several locations. @before: the definition that precedes it, or NULL. */
static int check_location(const struct kl_dynevent_params *params,
			  const struct kl_dynevent_params *before, struct kl_error *why)
{
	if (!params->is_location)
		return 0;
	if (params->kind != KL_SOURCE_KIND_USDT || !before || before->kind != params->kind)
		return kl_fail(why, -EINVAL, "a further location must follow its marker");
	return 0;
}

static int create_one(struct kl_session *s, struct kl_dynevent *d,
		      const struct kl_dynevent_params *params, struct kl_error *why)
{
	const struct kl_dynevent_kind *kind = kind_of(params->kind);

	if (!kind)
		return kl_fail(why, -EINVAL, "unknown event source kind %u", params->kind);
	d->session = s;
	d->program = params->program;
	d->kind = params->kind;
	d->optional = params->optional;
	d->is_location = params->is_location;
	d->arguments = min(params->arguments, kind->arguments);
	return kind->create(d, params, why);
}

/* Memory that definitions take, including their slots in the tables of functions and traps. */
static u64 batch_bytes(u32 n, const struct kl_dynevent_params *params)
{
	u64 bytes = kl_memory_size(sizeof(struct kl_dynevent_batch) +
				   (u64)n * sizeof(struct kl_dynevent));

	bytes += 4ull * n * sizeof(struct kl_ip_slot);
	for (u32 i = 0; i < n; i++) {
		const struct kl_dynevent_kind *kind = kind_of(params[i].kind);

		if (kind && kind->bytes)
			bytes += kl_memory_size(kind->bytes);
		if (kind && kind->percpu_bytes)
			bytes += kl_memory_percpu(kind->percpu_bytes);
		if (kind && !kind->bytes && params[i].name)
			bytes += kl_memory_size(strlen(params[i].name) + 1);
	}
	return bytes;
}

/* Checks everything that needs no lock. @bad is set to the index of the invalid definition. */
static struct kl_dynevent_batch *create_batch(struct kl_session *s, u32 n,
					      const struct kl_dynevent_params *params, u32 *bad,
					      struct kl_error *why)
{
	u64 bytes = batch_bytes(n, params);
	int error = kl_memory_charge(&s->payer, bytes, why);
	struct kl_dynevent_batch *batch;

	if (error)
		return ERR_PTR(error);
	batch = kvzalloc(struct_size(batch, of, n), GFP_KERNEL_ACCOUNT);
	if (!batch) {
		kl_memory_uncharge(&s->payer, bytes);
		return ERR_PTR(kl_fail(why, -ENOMEM, "no memory for %u events", n));
	}
	batch->charged = bytes;
	for (u32 i = 0; i < n; i++) {
		error = check_location(&params[i], i ? &params[i - 1] : NULL, why);
		if (!error)
			error = create_one(s, &batch->of[i], &params[i], why);
		batch->n++;
		if (error) {
			*bad = i;
			destroy_batch(s, batch);
			return ERR_PTR(error);
		}
		cond_resched();
	}
	return batch;
}

static struct kl_dynevent_table *create_table(void)
{
	struct kl_dynevent_table *table = kzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);

	if (!table)
		return NULL;
	table->missed = alloc_percpu_gfp(u64, GFP_KERNEL_ACCOUNT);
	if (!table->missed) {
		kfree(table);
		return NULL;
	}
	mutex_init(&table->lock);
	INIT_LIST_HEAD(&table->batches);
	kl_functions_init(&table->functions);
	kl_returns_init(&table->returns);
	return table;
}

/* The session's table, created if it has none. */
static struct kl_dynevent_table *table_of(struct kl_session *s, struct kl_error *why)
{
	u64 bytes =
		kl_memory_size(sizeof(struct kl_dynevent_table)) + kl_memory_percpu(sizeof(u64));
	int error;

	lockdep_assert_held(&s->lock);
	if (s->defined)
		return s->defined;
	error = kl_memory_charge(&s->payer, bytes, why);
	if (error)
		return ERR_PTR(error);
	s->defined = create_table();
	if (!s->defined) {
		kl_memory_uncharge(&s->payer, bytes);
		return ERR_PTR(kl_fail(why, -ENOMEM, "no memory for a table of events"));
	}
	mutex_lock(&tables_lock);
	list_add_tail(&s->defined->list, &tables);
	mutex_unlock(&tables_lock);
	return s->defined;
}

/* Limits on the definitions of an unprivileged owner. @hooks: how many of @n are not traps. */
static int check_limits(const struct kl_session *s, const struct kl_dynevent_table *table, u32 n,
			u32 hooks, u64 hz, struct kl_error *why)
{
	if (table->n + n > KL_EV_DYNAMIC_MAX)
		return kl_fail(why, -ENOSPC, "a session can define at most %u events",
			       KL_EV_DYNAMIC_MAX);
	if (s->may & KL_MAY_SEE_ALL)
		return 0;
	if (table->hooks + hooks > KL_DEFINED_UNPRIVILEGED_MAX)
		return kl_fail(why, -ENOSPC,
			       "without CAP_PERFMON a session can define at most %u events",
			       KL_DEFINED_UNPRIVILEGED_MAX);
	if (table->n - table->hooks + n - hooks > KL_DEFINED_UNPRIVILEGED_TRAPS)
		return kl_fail(
			why, -ENOSPC,
			"without CAP_PERFMON a session can have at most %u events of processes",
			KL_DEFINED_UNPRIVILEGED_TRAPS);
	if (table->hz + hz > KL_DEFINED_UNPRIVILEGED_HZ)
		return kl_fail(why, -EPERM,
			       "without CAP_PERFMON a session can have at most %u ticks per second",
			       KL_DEFINED_UNPRIVILEGED_HZ);
	return 0;
}

/**
 * kl_dynevent_check_number - may a session define this many more events?
 * @s: the session
 * @n: any number
 * @why: set on failure
 *
 * Called before the definitions are read; their kinds are checked against the limits later.
 */
int kl_dynevent_check_number(const struct kl_session *s, u32 n, struct kl_error *why)
{
	u32 most = KL_EV_DYNAMIC_MAX, has = kl_dynevent_number(s);

	if (!n || n > most)
		return kl_fail(why, -EINVAL, "%u events requested, the range is 1 to %u", n, most);
	if (!(s->may & KL_MAY_SEE_ALL))
		most = KL_DEFINED_UNPRIVILEGED_MAX + KL_DEFINED_UNPRIVILEGED_TRAPS;
	if (n > most - min(most, has))
		return kl_fail(why, -ENOSPC,
			       "a session can define at most %u events, this one has defined %u",
			       most, has);
	return 0;
}

/* Resolve the probe points and add all definitions to the table, or none. */
static int add_batch(struct kl_session *s, struct kl_dynevent_table *table,
		     struct kl_dynevent_batch *batch, u32 *bad, struct kl_error *why)
{
	u32 hooks = 0;
	u64 hz = 0;
	int error;

	lockdep_assert_held(&table->lock);
	if (table->sealed)
		return kl_fail(why, -EBUSY, "events must be defined before the session starts");
	for (u32 i = 0; i < batch->n; i++) {
		struct kl_dynevent *d = &batch->of[i];
		const struct kl_dynevent_kind *kind = kinds[d->kind];

		*bad = i;
		error = kind->resolve ? kind->resolve(d, why) : 0;
		if (error)
			return error;
		if (d->kind == KL_SOURCE_KIND_TICK)
			hz += d->tick.hz;
		hooks += d->kind != KL_SOURCE_KIND_TRAP;
		error = check_limits(s, table, i + 1, hooks, hz, why);
		if (error)
			return error;
		d->id = KL_EV_DYNAMIC + table->n + i;
		d->fires = d->is_location ? d[-1].fires : d->id;
	}
	error = kl_hooks_check(batch, bad, why);
	if (!error)
		error = kl_returns_check(batch, bad, why);
	if (!error)
		error = kl_payer_charge(&s->payer, KL_LIMIT_events, hooks, why);
	if (error)
		return error;
	list_add_tail(&batch->list, &table->batches);
	table->n += batch->n;
	table->hooks += hooks;
	table->hz += hz;
	*bad = 0;
	return 0;
}

static u32 count_gone(const struct kl_dynevent_batch *batch)
{
	u32 n = 0;

	for (u32 i = 0; i < batch->n; i++)
		n += batch->of[i].gone;
	return n;
}

/**
 * kl_dynevent_create - define events, all or none
 * @s: the session; its lock is not held
 * @events: `n` in; `first` and `omitted`, or on failure `bad`, out
 * @params: the events
 * @why: set on failure
 *
 * Context: the process that the events' file names belong to; may sleep.
 */
int kl_dynevent_create(struct kl_session *s, struct kl_abi_events *events,
		       const struct kl_dynevent_params *params, struct kl_error *why)
{
	struct kl_dynevent_batch *batch;
	struct kl_dynevent_table *table;
	int error;

	events->bad = 0;
	batch = create_batch(s, events->n, params, &events->bad, why);
	if (IS_ERR(batch))
		return PTR_ERR(batch);
	mutex_lock(&s->lock);
	table = table_of(s, why);
	error = PTR_ERR_OR_ZERO(table);
	if (!error) {
		mutex_lock(&table->lock);
		events->first = KL_EV_DYNAMIC + table->n;
		error = add_batch(s, table, batch, &events->bad, why);
		events->omitted = error ? 0 : count_gone(batch);
		mutex_unlock(&table->lock);
	}
	mutex_unlock(&s->lock);
	if (error)
		destroy_batch(s, batch);
	return error;
}

/**
 * kl_dynevent_destroy - free the events that a session has defined
 * @s: a session that is not running and that nothing uses any more
 *
 * Context: may sleep.
 */
void kl_dynevent_destroy(struct kl_session *s)
{
	struct kl_dynevent_table *table = s->defined;
	struct kl_dynevent_batch *batch, *next;

	if (!table)
		return;
	mutex_lock(&tables_lock);
	list_del(&table->list);
	mutex_unlock(&tables_lock);
	/* Remove entries that can still be looked up before freeing the definitions. */
	kl_traps_destroy(s);
	kl_hooks_destroy(&table->functions);
	kl_hooks_destroy(&table->returns);
	kl_returns_destroy(table);
	list_for_each_entry_safe(batch, next, &table->batches, list)
		destroy_batch(s, batch);
	free_percpu(table->missed);
	mutex_destroy(&table->lock);
	kfree(table);
	s->defined = NULL;
}

/* ----------------------------------------------------------------- attaching */

/* No definition can be added from here on, so create the tables that are read without a lock. */
static int seal(struct kl_session *s, struct kl_dynevent_table *table, struct kl_error *why)
{
	struct kl_dynevent_batch *batch;
	struct kl_dynevent *d;
	u32 returns = 0;
	int error;

	if (table->sealed)
		return 0;
	for_each_defined(table, batch, d)
		returns += d->kind == KL_SOURCE_KIND_RETURN;
	error = kl_hooks_prepare(table, &table->functions, KL_SOURCE_KIND_FUNCTION);
	if (!error)
		error = kl_hooks_prepare(table, &table->returns, KL_SOURCE_KIND_RETURN);
	if (error)
		return kl_fail(why, error, "no memory for the table of functions");
	error = kl_uprobes_prepare(table);
	if (error)
		return kl_fail(why, error, "no memory to order the probes of programs");
	if (returns)
		error = kl_returns_prepare(table, returns, why);
	if (!error)
		error = kl_traps_prepare(s, why);
	table->sealed = !error;
	return error;
}

/* The session's table, locked; NULL if it has none. */
static struct kl_dynevent_table *lock_table(struct kl_session *s)
{
	lockdep_assert_held(&s->lock);
	if (s->defined)
		mutex_lock(&s->defined->lock);
	return s->defined;
}

static bool is_wanted(const struct kl_dynevent *d, const u8 *action, u32 n)
{
	u32 i = d->fires - KL_EV_DYNAMIC;

	return action && i < n && action[i] != KL_HANDLER_nothing;
}

static u32 patches_of(const struct kl_dynevent *d)
{
	if (d->kind == KL_SOURCE_KIND_TRACEPOINT)
		return kl_tracepoint_patches(d->tracepoint.tp);
	return d->kind != KL_SOURCE_KIND_TRAP;
}

/**
 * kl_dynevent_count_missing - number of patches that kl_dynevent_attach would make
 * @s: the session; its lock is held
 * @action: as in kl_dynevent_attach
 * @n: bytes of @action
 *
 * Counts the kinds whose attaching disturbs other tasks. All of them patch the kernel's text,
 * except ticks, which take the CPU hotplug lock and run on every CPU. Traps do not count, as they
 * only exist in their own process.
 */
u32 kl_dynevent_count_missing(struct kl_session *s, const u8 *action, u32 n)
{
	struct kl_dynevent_table *table = lock_table(s);
	struct kl_dynevent_batch *batch;
	struct kl_dynevent *d;
	u32 number = 0;

	if (!table)
		return 0;
	for_each_defined(table, batch, d)
		if (!d->attached && !d->gone && is_wanted(d, action, n))
			number += patches_of(d);
	mutex_unlock(&table->lock);
	return number;
}

static int attach_one(struct kl_dynevent *d, struct kl_error *why)
{
	struct kl_payer *payer = &d->session->payer;
	bool counts = d->kind != KL_SOURCE_KIND_TRAP;
	int error = kl_payer_charge(payer, KL_LIMIT_probes, counts, why);

	if (error)
		return error;
	if (kinds[d->kind]->attach)
		error = kinds[d->kind]->attach(d, why);
	if (error)
		kl_payer_uncharge(payer, KL_LIMIT_probes, counts);
	else
		d->attached = true;
	return error;
}

static int attach_wanted(struct kl_dynevent_table *table, const u8 *action, u32 n,
			 struct kl_error *why)
{
	bool functions = false, returns = false;
	struct kl_dynevent_batch *batch;
	struct kl_dynevent *d;
	int error;

	for_each_defined(table, batch, d) {
		if (d->attached || d->gone || !is_wanted(d, action, n))
			continue;
		error = attach_one(d, why);
		if (error)
			return error;
		functions |= d->kind == KL_SOURCE_KIND_FUNCTION;
		returns |= d->kind == KL_SOURCE_KIND_RETURN;
		cond_resched();
	}
	error = functions ? kl_hooks_update(&table->functions, why) : 0;
	if (!error && returns)
		error = kl_hooks_update(&table->returns, why);
	return error;
}

/**
 * kl_dynevent_attach - make defined events fire, in addition to those that already do
 * @s: the session; its lock is held
 * @action: the action for each event, from KL_EV_DYNAMIC on
 * @n: bytes of @action; further events are not wanted
 * @why: set on failure; what was attached before stays attached, what this call has attached is
 *   detached by kl_dynevent_detach
 *
 * Context: may sleep.
 */
int kl_dynevent_attach(struct kl_session *s, const u8 *action, u32 n, struct kl_error *why)
{
	struct kl_dynevent_table *table = lock_table(s);
	int error;

	if (!table)
		return 0;
	error = seal(s, table, why);
	if (!error)
		error = attach_wanted(table, action, n, why);
	mutex_unlock(&table->lock);
	return error;
}

/**
 * kl_dynevent_detach - stop defined events from firing
 * @s: the session; its lock is held
 * @action: as in kl_dynevent_attach: events with an action stay attached; NULL detaches all
 * @n: bytes of @action
 *
 * A probe of a tracepoint may still be running: kl_source_synchronize waits for it. Context: may
 * sleep.
 */
void kl_dynevent_detach(struct kl_session *s, const u8 *action, u32 n)
{
	struct kl_dynevent_table *table = lock_table(s);
	bool functions = false, returns = false, programs = false;
	struct kl_dynevent_batch *batch;
	struct kl_dynevent *d;

	if (!table)
		return;
	for_each_defined(table, batch, d) {
		if (!d->attached || is_wanted(d, action, n))
			continue;
		if (kinds[d->kind]->detach)
			kinds[d->kind]->detach(d);
		d->attached = false;
		kl_payer_uncharge(&s->payer, KL_LIMIT_probes, d->kind != KL_SOURCE_KIND_TRAP);
		functions |= d->kind == KL_SOURCE_KIND_FUNCTION;
		returns |= d->kind == KL_SOURCE_KIND_RETURN;
		programs |= d->kind == KL_SOURCE_KIND_UPROBE ||
			    d->kind == KL_SOURCE_KIND_URETPROBE || d->kind == KL_SOURCE_KIND_USDT;
		cond_resched();
	}
	/* If memory is short, the functions stay hooked and their hits do nothing. */
	if (functions)
		kl_hooks_update(&table->functions, NULL);
	if (returns)
		kl_hooks_update(&table->returns, NULL);
	if (programs)
		/* Wait once for all of them, as each wait takes equally long. */
		kl_uprobe_synchronize();
	mutex_unlock(&table->lock);
}

/* ------------------------------------------------------------------- numbers */

/**
 * kl_dynevent_number - number of events that a session has defined
 * @s: the session
 */
u32 kl_dynevent_number(const struct kl_session *s)
{
	return s->defined ? READ_ONCE(s->defined->n) : 0;
}

/**
 * kl_dynevent_missed - number of hits that the sources could not handle
 * @s: the session
 *
 * More calls were open than returns can be tracked; a tracer called a function while it handled an
 * event; ticks came too late. Each is a lost record. Context: any.
 */
u64 kl_dynevent_missed(const struct kl_session *s)
{
	struct kl_dynevent_table *table = READ_ONCE(s->defined);
	u64 missed = 0;
	int cpu;

	if (!table)
		return 0;
	for_each_possible_cpu(cpu)
		missed += READ_ONCE(*per_cpu_ptr(table->missed, cpu));
	return missed + READ_ONCE(table->pool.nmissed);
}

/* What kl_event_place returns for a defined event: the probe point and its name. */
static const void *place_of(const struct kl_dynevent *d, const char **name)
{
	*name = "a tick";
	if (d->kind != KL_SOURCE_KIND_TRACEPOINT)
		return kinds[d->kind];
	*name = d->tracepoint.name;
	/* All tracepoints whose module is unloaded count as one probe point. */
	return d->tracepoint.tp ? (const void *)d->tracepoint.tp : kinds[d->kind];
}

/**
 * kl_dynevent_visit - call @fn with each event that a session has defined
 * @s: the session; its lock is held
 * @fn: called with the id of the event that fires, its kind, its probe point and that point's name,
 *   and the program of its fields, which may be NULL
 * @data: passed to @fn
 *
 * Context: may sleep.
 */
void kl_dynevent_visit(struct kl_session *s, kl_dynevent_fn fn, void *data)
{
	struct kl_dynevent_table *table = lock_table(s);
	struct kl_dynevent_batch *batch;
	struct kl_dynevent *d;

	if (!table)
		return;
	for_each_defined(table, batch, d) {
		const char *name;
		const void *place = place_of(d, &name);

		fn(d->fires, d->kind, place, name, d->program, data);
		cond_resched();
	}
	mutex_unlock(&table->lock);
}

/**
 * kl_dynevent_init - set up all kinds, before the first session
 *
 * Returns 0 or a negative errno.
 */
int kl_dynevent_init(void)
{
	int error = kl_ticks_init();

	if (error)
		return error;
	error = kl_hooks_init();
	if (error)
		goto deinit_ticks;
	error = kl_dynevent_tracepoints_init();
	if (error)
		goto deinit_hooks;
	return 0;

deinit_hooks:
	kl_hooks_deinit();
deinit_ticks:
	kl_ticks_deinit();
	return error;
}

/**
 * kl_dynevent_deinit - undo kl_dynevent_init, after the last session
 */
void kl_dynevent_deinit(void)
{
	kl_dynevent_tracepoints_deinit();
	kl_hooks_deinit();
	kl_ticks_deinit();
}
