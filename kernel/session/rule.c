// SPDX-License-Identifier: GPL-2.0
/*
 * What a session creates for itself: programs, and rules with their tables and flags. All of it
 * stays until the session ends, so a probe that finds it can use it. Changed under the session's
 * lock.
 */
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "../core/caller.h"
#include "../core/counter.h"
#include "../core/flag_time.h"
#include "../core/program.h"
#include "../core/stack.h"
#include "../core/variable.h"
#include "../handler/external.h"
#include "../handler/handler.h"
#include "../handler/table.h"
#include "../source/source.h"
#include "session.h"

/**
 * kl_session_defs_init - initialize what a session creates for itself
 * @c: of a new session
 */
void kl_session_defs_init(struct kl_session_defs *c)
{
	xa_init_flags(&c->programs, XA_FLAGS_ALLOC1);
}

static void free_rule(struct kl_rule *r)
{
	int cpu;

	if (!r)
		return;
	kl_external_destroy(r->external);
	if (r->table)
		for_each_possible_cpu(cpu)
			kl_table_deinit(per_cpu_ptr(r->table, cpu));
	free_percpu(r->table);
	free_percpu(r->faults);
	kfree(r);
}

/**
 * kl_session_defs_deinit - free everything that a session has created
 * @s: a session that nothing uses any more
 */
void kl_session_defs_deinit(struct kl_session *s)
{
	struct kl_session_defs *c = &s->defs;
	struct kl_program *p;
	unsigned long id;

	for (u32 i = 0; i < c->rule_count; i++)
		free_rule(c->rule[i]);
	xa_for_each(&c->programs, id, p) {
		kl_program_destroy(p);
		cond_resched();
	}
	xa_destroy(&c->programs);
	for (u32 i = 0; i < ARRAY_SIZE(c->task_flag); i++)
		kl_taskset_destroy(c->task_flag[i]);
	for (u32 i = 0; i < ARRAY_SIZE(c->flag_times); i++)
		kl_flag_times_destroy(c->flag_times[i]);
	for (u32 i = 0; i < ARRAY_SIZE(c->metadata); i++)
		kl_metadata_put(c->metadata[i]);
}

/* ------------------------------------------------------------- programs */

/* Number of arguments that a program needs: the highest index that it reads, plus 1. */
static u32 count_arguments(const struct kl_abi_op *ops, u32 n_ops)
{
	u32 most = 0;

	for (u32 i = 0; i < n_ops; i++)
		if (ops[i].code == KL_OP_ARG)
			most = max(most, (u32)ops[i].imm + 1);
	return most;
}

/* Check access to what a program reads that has to be prepared, and prepare it. */
static int prepare_variables(struct kl_session *s, const struct kl_abi_op *ops, u32 n_ops,
			     struct kl_error *why)
{
	char reason[KL_ERROR_TEXT_MAX];
	int error = 0;

	for (u32 i = 0; i < n_ops && !error; i++) {
		if (ops[i].code != KL_OP_VARIABLE || !kl_variable_is_prepared(ops[i].imm))
			continue;
		if (kl_variable_absent(ops[i].imm, s->may, reason) == KL_ABSENT_DENIED)
			return kl_fail(why, -EPERM, "%s", reason);
		mutex_lock(&s->lock);
		error = kl_variable_prepare(s, ops[i].imm, why);
		mutex_unlock(&s->lock);
	}
	return error;
}

static int store_program(struct kl_session *s, struct kl_program *made, u32 arguments, u32 *id,
			 struct kl_error *why)
{
	struct kl_session_defs *c = &s->defs;
	int error = 0;

	mutex_lock(&s->lock);
	/* Sources pass as many arguments as programs needed when the events were defined. */
	if (arguments > c->arguments && s->defined)
		error = kl_fail(
			why, -EBUSY,
			"programs that read arguments must be loaded before events are defined");
	else if (c->program_count >= KL_PROGRAMS_MAX)
		error = kl_fail(why, -ENOSPC, "a session can have at most %u programs",
				KL_PROGRAMS_MAX);
	else if (xa_alloc(&c->programs, id, made, xa_limit_31b, GFP_KERNEL_ACCOUNT))
		error = kl_fail(why, -ENOMEM, "no memory for a program");
	if (!error) {
		c->program_count++;
		kl_meter_note_cost(s, kl_program_cost(made));
		c->arguments = max(c->arguments, arguments);
	}
	mutex_unlock(&s->lock);
	return error;
}

/* Copy from the caller to memory charged to its memory cgroup. May return an error pointer. */
static void *copy_in(u64 from, size_t bytes)
{
	void *copy = kmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);

	if (!copy)
		return ERR_PTR(-ENOMEM);
	if (kl_caller_copy(copy, from, bytes))
		return copy;
	kfree(copy);
	return ERR_PTR(-EFAULT);
}

static int add_program(struct kl_session *s, struct kl_abi_program *p, struct kl_error *why)
{
	struct kl_program *made;
	struct kl_abi_op *ops;
	u8 *data = NULL;
	int error = 0;

	ops = copy_in(p->ops, p->n_ops * sizeof(*ops));
	if (IS_ERR(ops))
		return kl_fail(why, PTR_ERR(ops), "cannot read the program from user memory");
	if (p->data_bytes)
		data = copy_in(p->data, p->data_bytes);
	if (IS_ERR(data)) {
		error = kl_fail(why, PTR_ERR(data),
				"cannot read the program's data from user memory");
		goto free_ops;
	}
	made = kl_program_create(ops, p->n_ops, data, p->data_bytes, s->may, why);
	if (IS_ERR(made)) {
		error = PTR_ERR(made);
		goto free_data;
	}
	error = prepare_variables(s, ops, p->n_ops, why) ?: kl_flag_prepare(s, ops, p->n_ops, why);
	if (!error)
		error = store_program(s, made, count_arguments(ops, p->n_ops), &p->id, why);
	if (error)
		kl_program_destroy(made);
free_data:
	kfree(data);
free_ops:
	kfree(ops);
	return error;
}

/**
 * kl_session_add_program - check and store a program
 * @s: the session
 * @p: from the caller; `id` is set
 * @why: set on failure
 *
 * Context: the caller's system call; may sleep.
 */
int kl_session_add_program(struct kl_session *s, struct kl_abi_program *p, struct kl_error *why)
{
	u64 bytes, copies;
	int error;

	if (!p->n_ops || p->n_ops > KL_PROGRAM_OPS_MAX)
		return kl_fail(why, -EINVAL, "a program of %u operations, the range is 1 to %u",
			       p->n_ops, KL_PROGRAM_OPS_MAX);
	if (p->data_bytes > KL_PROGRAM_DATA_MAX)
		return kl_fail(why, -EINVAL, "a program with %u bytes of data, the limit is %u",
			       p->data_bytes, KL_PROGRAM_DATA_MAX);
	bytes = kl_memory_size(kl_program_bytes(p->n_ops, p->data_bytes));
	copies =
		kl_memory_size(p->n_ops * sizeof(struct kl_abi_op)) + kl_memory_size(p->data_bytes);
	error = kl_memory_charge(&s->payer, bytes + copies, why);
	if (error)
		return error;
	error = add_program(s, p, why);
	kl_memory_uncharge(&s->payer, error ? bytes + copies : copies);
	return error;
}

/* ---------------------------------------------------------------- rules */

static int take_program(struct kl_session *s, u32 id, const char *what,
			const struct kl_program **program, struct kl_error *why)
{
	if (!id)
		return 0;
	*program = kl_session_program(s, id);
	if (!*program)
		return kl_fail(why, -ENOENT, "%s: program %u does not exist", what, id);
	if (kl_program_out_bytes(*program))
		return kl_fail(why, -EINVAL, "%s: program %u outputs fields", what, id);
	return 0;
}

static int take_programs(struct kl_session *s, const struct kl_abi_rule *params, struct kl_rule *r,
			 struct kl_error *why)
{
	int error = take_program(s, params->filter, "filter", &r->filter, why);

	if (!error)
		error = take_program(s, params->value, "value", &r->value, why);
	for (u32 i = 0; !error && i < params->n_keys; i++)
		error = take_program(s, params->key[i], "key", &r->key[i], why);
	return error;
}

/* What the rule's programs and handler use. A handler without a table may call the kernel. */
static u32 uses_of(const struct kl_rule *r)
{
	u32 uses = r->filter ? kl_program_uses(r->filter) : 0;

	if (r->value)
		uses |= kl_program_uses(r->value);
	for (u32 i = 0; i < r->keys; i++)
		uses |= kl_program_uses(r->key[i]);
	if (r->whole)
		uses |= KL_USES_FIELDS | KL_USES_ARGUMENTS;
	return r->table ? uses : uses | KL_USES_OUT;
}

/*
 * Fields needed to decide whether the event is wanted. If the handler does not need the whole
 * record, these are all fields that the rule reads.
 */
static u64 reads_of(const struct kl_rule *r)
{
	u64 reads = r->filter ? kl_program_reads(r->filter) : 0;

	if (r->whole)
		return reads;
	if (r->value)
		reads |= kl_program_reads(r->value);
	for (u32 i = 0; i < r->keys; i++)
		reads |= kl_program_reads(r->key[i]);
	return reads;
}

/* What sources can do with the rule themselves: see enum kl_fastpath. */
static u8 fastpath_of(const struct kl_handler *handler, struct kl_rule *r)
{
	u8 filter = KL_FASTPATH_NONE;

	if (r->filter) {
		r->tested = kl_program_is_test(r->filter, &r->from, &r->span, &r->negate);
		if (!r->tested)
			return KL_FASTPATH_NONE;
		filter = KL_FASTPATH_FILTER;
	}
	if (r->keys) {
		r->one_key = r->keys == 1 && kl_program_is_task_s32(r->key[0], &r->key_offset);
		if (!r->one_key)
			return filter;
	}
	if (handler->fastpath == KL_FASTPATH_COUNT)
		return r->uses ? KL_FASTPATH_COUNT : KL_FASTPATH_BLIND;
	if (!(handler->flags & KL_HANDLES_VALUE) || !kl_program_is_first_field(r->value))
		return filter;
	return handler->fastpath;
}

static int check_rule(const struct kl_session *s, const struct kl_handler *handler,
		      const struct kl_abi_rule *params, struct kl_error *why)
{
	bool itself = handler->flags & KL_HANDLES_ITSELF;

	if (params->reserved)
		return kl_fail(why, -EINVAL, "a reserved member of the rule is not 0");
	if (strnlen(params->text, KL_RULE_TEXT_MAX) == KL_RULE_TEXT_MAX)
		return kl_fail(why, -EINVAL, "the rule's text is not NUL-terminated");
	if (handler->flags & KL_HANDLES_VALUE && !params->value)
		return kl_fail(why, -EINVAL, "the handler requires a value");
	if (params->value && !(handler->flags & KL_HANDLES_VALUE) && !itself)
		return kl_fail(why, -EINVAL, "the handler takes no value");
	if (params->n_keys > KL_RULE_KEYS_MAX)
		return kl_fail(why, -EINVAL, "%u keys requested, the limit is %u", params->n_keys,
			       KL_RULE_KEYS_MAX);
	if (params->n_keys && !(handler->flags & KL_HANDLES_TABLE) && !itself)
		return kl_fail(why, -EINVAL, "the handler takes no keys");
	for (u32 i = 0; i < KL_RULE_KEYS_MAX; i++) {
		bool wanted = i < params->n_keys;

		if (wanted != !!params->key[i])
			return kl_fail(why, -EINVAL, "key %u is %s the %u requested keys", i + 1,
				       wanted ? "missing from" : "beyond", params->n_keys);
	}
	if (params->entries > KL_TABLE_ENTRIES_MAX)
		return kl_fail(why, -EINVAL, "a table of %u entries, the limit is %u",
			       params->entries, KL_TABLE_ENTRIES_MAX);
	return handler->check ? handler->check(s, params, why) : 0;
}

static int make_tables(const struct kl_handler *handler, struct kl_rule *r, u32 entries)
{
	int cpu;

	r->table = alloc_percpu_gfp(struct kl_table, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!r->table)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		if (kl_table_init(per_cpu_ptr(r->table, cpu), entries ?: KL_TABLE_ENTRIES_DEFAULT,
				  r->keys, handler->flags & KL_HANDLES_BUCKETS, cpu_to_node(cpu)))
			return -ENOMEM;
	return 0;
}

/* Memory that a rule takes, on all CPUs. */
static u64 rule_bytes(const struct kl_handler *handler, const struct kl_abi_rule *params)
{
	u64 bytes = kl_memory_size(sizeof(struct kl_rule)) + kl_memory_percpu(sizeof(u64));

	if (handler->flags & KL_HANDLES_TABLE)
		bytes += kl_memory_percpu(sizeof(struct kl_table)) +
			 num_possible_cpus() *
				 kl_table_bytes(params->entries ?: KL_TABLE_ENTRIES_DEFAULT,
						params->n_keys,
						handler->flags & KL_HANDLES_BUCKETS);
	if (handler->bytes)
		bytes += handler->bytes();
	return bytes;
}

static int get_memory(struct kl_session *s, const struct kl_handler *handler, struct kl_rule *r,
		      u32 entries, struct kl_error *why)
{
	int error = 0;

	r->faults = alloc_percpu_gfp(u64, GFP_KERNEL_ACCOUNT);
	if (!r->faults || (handler->flags & KL_HANDLES_TABLE && make_tables(handler, r, entries)))
		return kl_fail(why, -ENOMEM, "no memory for a rule's table");
	if (handler->prepare)
		error = handler->prepare(s, r, why);
	if (!error && s->running && kl_session_has_flags(s))
		error = kl_follow_attach(s, why);
	return error;
}

/**
 * kl_session_has_flags - does any rule set flags of tasks?
 * @s: the session; its lock is held
 */
bool kl_session_has_flags(const struct kl_session *s)
{
	lockdep_assert_held(&s->lock);
	for (u32 i = 0; i < ARRAY_SIZE(s->defs.task_flag); i++)
		if (s->defs.task_flag[i])
			return true;
	return false;
}

static int add_rule(struct kl_session *s, const struct kl_handler *handler,
		    struct kl_abi_rule *params, struct kl_error *why)
{
	struct kl_rule *r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	struct kl_session_defs *c = &s->defs;
	int error = 0;

	if (!r)
		return kl_fail(why, -ENOMEM, "no memory for a rule");
	r->handler = params->handler;
	r->keys = params->n_keys;
	r->arg = params->arg;
	r->low = params->low;
	memcpy(r->text, params->text, sizeof(r->text));
	if (handler->create)
		error = handler->create(s, params, r, why);
	if (error) {
		free_rule(r);
		return error;
	}
	mutex_lock(&s->lock);
	error = take_programs(s, params, r, why);
	if (!error && c->rule_count == KL_RULES_MAX)
		error = kl_fail(why, -ENOSPC, "a session can have at most %u rules", KL_RULES_MAX);
	if (!error)
		error = get_memory(s, handler, r, params->entries, why);
	if (!error) {
		r->logs = handler->flags & KL_HANDLES_RECORD;
		r->whole = r->logs || r->external;
		r->uses = uses_of(r);
		r->reads = reads_of(r);
		if (r->filter)
			r->guard = kl_program_guard(r->filter, &r->guard_from, &r->guard_span,
						    &r->guard_opposite);
		r->fastpath = fastpath_of(handler, r);
		params->rule = c->rule_count;
		c->rule[c->rule_count++] = r;
	}
	mutex_unlock(&s->lock);
	if (error)
		free_rule(r);
	return error;
}

/**
 * kl_session_add_rule - create a rule that masksets can refer to
 * @s: the session
 * @params: from the caller; `rule` is set
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_session_add_rule(struct kl_session *s, struct kl_abi_rule *params, struct kl_error *why)
{
	const struct kl_handler *handler = kl_handler_find(params->handler);
	int error;

	if (!handler)
		return kl_fail(why, -EINVAL, "handler %u does not exist", params->handler);
	error = check_rule(s, handler, params, why);
	if (!error)
		error = kl_memory_charge(&s->payer, rule_bytes(handler, params), why);
	if (error)
		return error;
	error = add_rule(s, handler, params, why);
	if (error)
		kl_memory_uncharge(&s->payer, rule_bytes(handler, params));
	return error;
}

/**
 * kl_session_table - copy what a rule has counted on one CPU
 * @s: the session
 * @t: `rule`, `cpu` and the room are read, the rest is filled in
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_session_table(struct kl_session *s, struct kl_abi_table *t, struct kl_error *why)
{
	const struct kl_rule *r = NULL;
	u32 cpu;
	int error;

	mutex_lock(&s->lock);
	if (t->rule < s->defs.rule_count)
		r = s->defs.rule[array_index_nospec(t->rule, KL_RULES_MAX)];
	mutex_unlock(&s->lock);
	if (!r)
		return kl_fail(why, -ENOENT, "rule %u does not exist", t->rule);
	if (t->cpu >= nr_cpu_ids || !cpu_possible(t->cpu))
		return kl_fail(why, -EINVAL, "CPU %u does not exist", t->cpu);
	cpu = array_index_nospec(t->cpu, nr_cpu_ids);
	t->faults = READ_ONCE(*per_cpu_ptr(r->faults, cpu));
	t->overflow = 0;
	if (!r->table) {
		t->n = 0;
		return 0;
	}
	error = kl_table_copy(per_cpu_ptr(r->table, cpu), t);
	if (error == -ENOSPC)
		/* Not a failure: the caller gets the number of entries. */
		return 0;
	return error ? kl_fail(why, error, "cannot write the table to user memory") : 0;
}

/**
 * kl_session_read_handler - read what another module's handler has to report for a rule
 * @s: the session
 * @to: `rule` and the room are read, the rest is filled in
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_session_read_handler(struct kl_session *s, struct kl_abi_handler_read *to,
			    struct kl_error *why)
{
	const struct kl_rule *r = NULL;

	if (to->reserved)
		return kl_fail(why, -EINVAL, "a reserved member of the call is not 0");
	mutex_lock(&s->lock);
	if (to->rule < s->defs.rule_count)
		r = s->defs.rule[array_index_nospec(to->rule, KL_RULES_MAX)];
	mutex_unlock(&s->lock);
	if (!r)
		return kl_fail(why, -ENOENT, "rule %u does not exist", to->rule);
	if (!r->external)
		return kl_fail(why, -EINVAL, "rule %u does not use another module's handler",
			       to->rule);
	return kl_external_read(s, r->external, to, why);
}
