// SPDX-License-Identifier: GPL-2.0
/*
 * Selects the variables that a session's records carry, and reads single variables for programs.
 * Fed by kernel/device (calls, under the session's lock) and programs; reads the rows of
 * kernel/core/variables.c. Slightly more than 600 lines, because making and reading a slot follow
 * the same layout.
 */
#include <linux/nospec.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../base/task_iter.h"
#include "../compat/clock.h"
#include "counter.h"
#include "program.h"
#include "session.h"
#include "stack.h"
#include "switch.h"
#include "variable.h"

/* Size of a number's type in bytes: enum kl_number is 2 * log2(bytes), plus 1 if unsigned. */
#define NUMBER_BYTES(type) (1u << ((type) >> 1))

/* The result of a program, which can only read the running task, as there is no event. */
static u64 read_program(const struct kl_variable_slot *slot, struct task_struct *t)
{
	struct kl_event_ctx f = { .session = slot->session };

	return kl_program_run(slot->program, &f);
}

/* One word of a program's output, half a text. */
static __always_inline u64 read_output(const struct kl_variable_slot *slot, u32 word)
{
	struct kl_event_ctx f = { .session = slot->session };
	u64 words[KL_COMM_LEN / sizeof(u64)] = {};

	kl_program_put(slot->program, &f, (u8 *)words, sizeof(words));
	return words[word];
}

static u64 read_program_text(const struct kl_variable_slot *slot, struct task_struct *t)
{
	return read_output(slot, 0);
}

static u64 read_program_more(const struct kl_variable_slot *slot, struct task_struct *t)
{
	return read_output(slot, 1);
}

/* The row with an id, which a user may have chosen; NULL if there is none. */
static const struct kl_variable_row *row_of(u32 id)
{
	const struct kl_variable_row *row;

	if (id >= kl_variable_count)
		return NULL;
	row = &kl_variable_rows[array_index_nospec(id, kl_variable_count)];
	return row->name ? row : NULL;
}

/**
 * kl_variable_absent - is a variable unavailable to an opener?
 * @id: any number
 * @may: the opener's KL_MAY_*
 * @reason: set to a sentence; empty if the variable is available
 *
 * Returns enum kl_absent. Context: any.
 */
u32 kl_variable_absent(u32 id, u32 may, char reason[KL_ERROR_TEXT_MAX])
{
	const struct kl_variable_row *row = row_of(id);
	const char *lack;

	reason[0] = 0;
	if (!row) {
		strscpy(reason, "no such variable", KL_ERROR_TEXT_MAX);
		return KL_ABSENT_BUILD;
	}
	lack = row->lacks();
	if (lack) {
		strscpy(reason, lack, KL_ERROR_TEXT_MAX);
		return KL_ABSENT_KERNEL;
	}
	if (kl_rights_lack(may, kl_variable_needs(row->access))) {
		snprintf(reason, KL_ERROR_TEXT_MAX, "%s reports %s", row->name,
			 row->access == KL_VARIABLE_all ?
				 "on the whole system: it needs CAP_PERFMON" :
				 "kernel addresses: it needs CAP_SYS_ADMIN");
		return KL_ABSENT_DENIED;
	}
	return KL_PRESENT;
}

/**
 * kl_variable_is_prepared - does a variable need preparation before it can be read?
 * @id: any number
 */
bool kl_variable_is_prepared(u32 id)
{
	return kl_stack_is_variable(id) || kl_counter_is_variable(id) || kl_switch_is_variable(id);
}

/**
 * kl_variable_prepare - set up what a variable needs before it can be read
 * @s: the session, locked
 * @id: of a variable that the session's owner may read
 * @why: set on failure
 *
 * What is set up lasts until the session ends. Returns 0 or a negative errno. Context: may sleep.
 */
int kl_variable_prepare(struct kl_session *s, u32 id, struct kl_error *why)
{
	if (kl_stack_is_variable(id))
		return kl_stacks_prepare(s, why);
	if (kl_counter_is_variable(id))
		return kl_counters_prepare(s, id, why);
	return kl_switch_is_variable(id) ? kl_switch_prepare(s, why) : 0;
}

/* May an unprivileged owner see the task's parent? Preemption is off, so RCU keeps the parent. */
static bool may_see_parent(const struct kl_session *s, const struct task_struct *t)
{
	struct task_struct *parent;
	bool may;

	/* A released task may outlive its parent. */
	rcu_read_lock();
	parent = kl_task_is_alive(t) ? rcu_dereference(t->real_parent) : NULL;
	may = parent && kl_access_may_see(s->owner, parent);
	rcu_read_unlock();
	return may;
}

/* Both halves of a variable about the parent, for an unprivileged owner. */
static u64 read_of_parent(const struct kl_variable_slot *slot, struct task_struct *t)
{
	return may_see_parent(slot->session, t) ? slot->row->read(slot, t) : 0;
}

static u64 more_of_parent(const struct kl_variable_slot *slot, struct task_struct *t)
{
	return may_see_parent(slot->session, t) ? slot->row->more(slot, t) : 0;
}

/* Add a slot for a word of variable @i, whose size in @v is already set. */
static struct kl_variable_slot *add_slot(struct kl_variables *v, u32 i, kl_variable_fn read)
{
	struct kl_variable_slot *slot = &v->slot[v->n_slots++];

	*slot = (struct kl_variable_slot){
		.read = read,
		.changed = 2ull << i,
		.mask = ~0ull,
		.bytes = v->of[i].bytes,
	};
	return slot;
}

/* Read the value at its location instead of through its function. */
static void set_place(struct kl_variable_slot *slot, const struct kl_variable_place *place)
{
	slot->base = place->base;
	slot->mask = ~0ull >> (64 - 8 * place->bytes);
	slot->offset = place->offset;
	slot->calculated = place->shift || place->add;
	slot->shift = place->shift;
	slot->add = place->add;
}

/* Add the value of a row, or one half of a text. */
static void add_half(struct kl_session *s, struct kl_variables *v, u32 i,
		     const struct kl_variable_row *row, bool more)
{
	bool of_parent = row->access == KL_VARIABLE_parent;
	kl_variable_fn read = more ? row->more : row->read;
	struct kl_variable_slot *slot;

	if (of_parent && s->gate & KL_GATE_OWN)
		read = more ? more_of_parent : read_of_parent;
	slot = add_slot(v, i, read);
	slot->is_own = of_parent || row->access == KL_VARIABLE_own;
	slot->session = s;
	slot->row = row;
}

static int add_row(struct kl_session *s, struct kl_variables *v, u32 i, u32 id,
		   struct kl_error *why)
{
	char reason[KL_ERROR_TEXT_MAX];
	u32 absent = kl_variable_absent(id, s->may, reason);
	const struct kl_variable_row *row;
	int error;

	if (absent)
		return kl_fail(why,
			       id >= kl_variable_count	  ? -EINVAL :
			       absent == KL_ABSENT_DENIED ? -EPERM :
							    -ENOENT,
			       "variable %u: %s", id, reason);
	id = array_index_nospec(id, kl_variable_count);
	row = &kl_variable_rows[id];
	if (!row->read)
		return kl_fail(why, -EINVAL, "%s is in every record and cannot be requested",
			       row->name);
	for (u32 k = 0; k < v->n_slots; k++)
		if (v->slot[k].row == row)
			return kl_fail(why, -EINVAL, "%s is requested twice", row->name);
	v->of[i].bytes = row->bytes;
	error = kl_variable_prepare(s, id, why);
	if (error)
		return error;
	v->walks |= kl_stack_is_variable(id);
	add_half(s, v, i, row, false);
	v->slot[v->of[i].slot].is_text = row->more;
	if (v->quick && kl_variable_places[id].base)
		set_place(&v->slot[v->of[i].slot], &kl_variable_places[id]);
	if (row->more)
		add_half(s, v, i, row, true);
	kl_variable_cost(id, s->may, &v->cost);
	return 0;
}

static void add_program_slot(struct kl_session *s, struct kl_variables *v, u32 i,
			     kl_variable_fn read, const struct kl_program *program)
{
	struct kl_variable_slot *slot = add_slot(v, i, read);

	struct kl_cost cost = kl_program_cost(program);

	slot->session = s;
	slot->program = program;
	v->cost.operations += cost.operations;
	v->cost.kernel_walks += cost.kernel_walks;
	v->cost.user_walks += cost.user_walks;
}

static int add_program(struct kl_session *s, struct kl_variables *v, u32 i,
		       const struct kl_abi_variable *params, struct kl_error *why)
{
	const struct kl_program *program = kl_session_program(s, params->program);
	bool is_text = params->type == KL_VARIABLE_TYPE_TEXT;

	if (!program)
		return kl_fail(why, -ENOENT,
			       "variable %u of the session: program %u does not exist", i,
			       params->program);
	if (params->type > KL_VARIABLE_TYPE_TEXT)
		return kl_fail(why, -EINVAL, "variable %u of the session: unknown type %u", i,
			       params->type);
	if (kl_program_out_bytes(program) > (is_text ? KL_COMM_LEN : 0))
		return kl_fail(why, -EINVAL,
			       "variable %u of the session: program %u outputs %u bytes", i,
			       params->program, kl_program_out_bytes(program));
	v->of[i].bytes = is_text ? KL_COMM_LEN : NUMBER_BYTES(params->type);
	/* A program blanks what the owner may not see of the task where it reads it. */
	add_program_slot(s, v, i, is_text ? read_program_text : read_program, program);
	if (is_text)
		add_program_slot(s, v, i, read_program_more, program);
	v->slot[v->of[i].slot].is_text = is_text;
	return 0;
}

static int add_variable(struct kl_session *s, struct kl_variables *v,
			const struct kl_abi_variable *params, struct kl_error *why)
{
	u32 i = v->n++;
	int error;

	if (params->reserved)
		return kl_fail(why, -EINVAL,
			       "variable %u of the session: the reserved member is %u, not 0", i,
			       params->reserved);
	v->of[i].slot = v->n_slots;
	if (params->variable == KL_VARIABLE_PROGRAM)
		error = add_program(s, v, i, params, why);
	else
		error = add_row(s, v, i, params->variable, why);
	if (error)
		return error;
	v->bytes += v->of[i].bytes;
	v->all |= 2ull << i;
	if (v->bytes > KL_VARIABLES_BYTES_MAX)
		return kl_fail(why, -E2BIG, "the variables take more than %u bytes in total",
			       KL_VARIABLES_BYTES_MAX);
	return 0;
}

static u64 read_asked_kernel(const struct kl_variable_slot *slot, struct task_struct *t)
{
	return kl_stack_requested(slot->session, KL_STACK_KERNEL);
}

static u64 read_asked_user(const struct kl_variable_slot *slot, struct task_struct *t)
{
	return kl_stack_requested(slot->session, KL_STACK_USER);
}

/*
 * Make stack trace variables return the traces that the handler `stack` has taken for the record.
 */
static void read_asked_stacks(struct kl_variables *v)
{
	for (u32 i = 0; i < v->n_slots; i++)
		if (v->slot[i].read == kl_variable_rows[KL_VARIABLE_ID_kstack].read)
			v->slot[i].read = read_asked_kernel;
		else if (v->slot[i].read == kl_variable_rows[KL_VARIABLE_ID_ustack].read)
			v->slot[i].read = read_asked_user;
}

/**
 * kl_stack_is_variable - is a variable a stack trace?
 * @id: any number
 */
bool kl_stack_is_variable(u32 id)
{
	return id == KL_VARIABLE_ID_kstack || id == KL_VARIABLE_ID_ustack;
}

/* Give slots in the same base consecutive known words. */
static u32 place_slots(struct kl_variables *v, u32 base, u32 at)
{
	for (u32 i = 0; i < v->n_slots; i++) {
		if (v->slot[i].base != base)
			continue;
		v->slot[i].at = offsetof(struct kl_known, word[at]);
		at++;
	}
	return at;
}

static void sort_slots(struct kl_variables *v)
{
	u32 end;

	for (u32 i = 0; i < v->n_slots; i++)
		v->guards |= v->slot[i].base == KL_BASE_PARENT;
	v->placed = v->guards;
	for (u32 base = KL_BASE_TASK; base < KL_BASE_COUNT; base++) {
		end = place_slots(v, base, v->placed);
		/* The group of the task always exists. */
		if (end == v->placed && base != KL_BASE_TASK)
			continue;
		v->placed = end;
		v->group[v->groups] = kl_variable_bases[base];
		v->group[v->groups++].end = end;
		if (base < KL_BASE_PGID)
			v->plain_groups = v->groups;
	}
	place_slots(v, KL_BASE_NONE, v->placed);
}

/* Split the slots, in the order of records, into runs of the same base. */
static void find_runs(struct kl_variables *v)
{
	struct kl_variable_run *run = v->run;

	for (u32 i = 0; i < v->n_slots; i++) {
		if (i && v->slot[i].base != v->slot[i - 1].base)
			run++;
		run->end = &v->slot[i + 1];
		run->base = kl_variable_bases[v->slot[i].base];
		run->functions = !v->slot[i].base;
	}
	v->last_run = run + 1;
}

static u32 words_of(const struct kl_variables *v)
{
	return v->guards + v->n_slots;
}

static void init_known(const struct kl_variables *v, struct kl_known *known)
{
	u32 plain = v->group[v->plain_groups - 1].end;

	known->task_end = &known->word[v->group[0].end];
	known->hop_end = &known->word[plain];
	known->stage = (u8 *)&known->word[words_of(v)];
	/* Compared before all other words. It is not a slot, so it is never staged and stays 0. */
	if (v->guards)
		known->word[0] = (struct kl_word){
			.mask = KL_PARENT_GONE,
			.offset = offsetof(struct task_struct, exit_state),
		};
	for (u32 i = 0; i < v->n_slots; i++) {
		const struct kl_variable_slot *slot = &v->slot[i];
		struct kl_word *word = kl_word_of(known, slot);

		word->mask = slot->mask;
		word->offset = slot->offset;
		word->hop = kl_variable_bases[slot->base].hop;
	}
}

/*
 * The known words, the staging area for the task and all variables, and the end of the last word
 * stored there.
 */
static size_t known_bytes(const struct kl_variables *v)
{
	return sizeof(struct kl_known) + words_of(v) * sizeof(struct kl_word) +
	       sizeof(struct kl_abi_task) + v->bytes + sizeof(u64);
}

static u64 bytes_of(const struct kl_variables *v)
{
	return kl_memory_size(sizeof(*v)) + kl_memory_percpu(known_bytes(v));
}

static int make_known(struct kl_variables *v)
{
	int cpu;

	v->known = __alloc_percpu_gfp(known_bytes(v), sizeof(u64), GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!v->known)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		init_known(v, per_cpu_ptr(v->known, cpu));
	return 0;
}

static int check_params(const struct kl_abi_variables *params, struct kl_error *why)
{
	if (params->n > KL_VARIABLES_MAX)
		return kl_fail(why, -EINVAL, "%u variables requested, the limit is %u", params->n,
			       KL_VARIABLES_MAX);
	if (params->flags & ~(KL_VARIABLES_FULL | KL_VARIABLES_STACKS_ASKED) || params->reserved)
		return kl_fail(why, -EINVAL, "unknown variable flags: %#x", params->flags);
	return 0;
}

/* Free variables that no probe uses any more; NULL is allowed. */
static void destroy_variables(struct kl_variables *v)
{
	if (!v)
		return;
	free_percpu(v->known);
	kfree(v);
}

static struct kl_variables *
make_variables(struct kl_session *s, const struct kl_abi_variables *params, struct kl_error *why)
{
	struct kl_variables *v = kzalloc(sizeof(*v), GFP_KERNEL_ACCOUNT);
	int error = 0;

	/*
	 * Enough for everything that fits into KL_VARIABLES_BYTES_MAX: few texts, or few numbers.
	 */
	BUILD_BUG_ON(KL_VARIABLE_SLOTS_MAX <
		     KL_VARIABLES_MAX + KL_VARIABLES_BYTES_MAX / KL_COMM_LEN);
	if (!v)
		return ERR_PTR(kl_fail(why, -ENOMEM, "no memory for variables"));
	v->all = KL_CHANGED_TASK;
	v->full = params->flags & KL_VARIABLES_FULL;
	v->quick = !v->full && !(s->gate & KL_GATE_OWN) && kl_clock_kind() == KL_CLOCK_TSC;
	for (u32 i = 0; i < params->n && !error; i++)
		error = add_variable(s, v, &params->variable[i], why);
	v->prefix = sizeof(u64) + KL_CHANGED_BYTES(v->n);
	v->stacks_asked = params->flags & KL_VARIABLES_STACKS_ASKED;
	if (v->stacks_asked)
		read_asked_stacks(v);
	v->walks = v->walks && !v->stacks_asked;
	kl_meter_note_cost(s, v->cost);
	/* If each record must be measured, record.c does that. */
	v->quick = v->quick && !s->meter.each;
	if (!error) {
		sort_slots(v);
		find_runs(v);
		error = kl_memory_charge(&s->payer, bytes_of(v), why);
	}
	if (!error && make_known(v)) {
		kl_memory_uncharge(&s->payer, bytes_of(v));
		error = kl_fail(why, -ENOMEM, "no memory for variables");
	}
	if (!error)
		return v;
	destroy_variables(v);
	return ERR_PTR(error);
}

/**
 * kl_variables_deinit - free a session's variables and counters
 * @s: the session, which no probe uses any more
 */
void kl_variables_deinit(struct kl_session *s)
{
	destroy_variables(s->variables);
	kl_counters_destroy(s->counters);
	kl_switch_release(s);
}

/* Cache what records of a CPU need; @v is NULL if there are no variables. */
static void set_known(struct kl_cpu *c, const struct kl_variables *v, int cpu)
{
	c->known = v ? per_cpu_ptr(v->known, cpu) : NULL;
	c->prefix = v ? v->prefix : KL_RECORD_PREFIX_BYTES;
	c->rest = v && v->group[v->plain_groups - 1].end != words_of(v);
}

/**
 * kl_variables_set - select the variables that a session's records carry
 * @s: the session, which has never been started
 * @params: all variables; replaces the previous selection
 * @why: set on failure; the selection is then unchanged
 *
 * Context: may sleep.
 */
int kl_variables_set(struct kl_session *s, const struct kl_abi_variables *params,
		     struct kl_error *why)
{
	struct kl_variables *v = NULL;
	int error = check_params(params, why), cpu;

	if (error)
		return error;
	mutex_lock(&s->lock);
	if (s->defs.began)
		error = kl_fail(why, -EBUSY,
				"variables can be set only before the session is first started");
	if (!error && params->n) {
		v = make_variables(s, params, why);
		error = PTR_ERR_OR_ZERO(v);
	}
	if (!error) {
		if (s->variables)
			kl_memory_uncharge(&s->payer, bytes_of(s->variables));
		destroy_variables(s->variables);
		s->variables = v;
		for_each_possible_cpu(cpu)
			set_known(per_cpu_ptr(s->cpu, cpu), v, cpu);
	}
	mutex_unlock(&s->lock);
	return error;
}

/* Is the owner of @s allowed to see a row's value now? */
static bool is_shown(const struct kl_session *s, const struct kl_variable_row *row)
{
	if (row->access == KL_VARIABLE_own || row->access == KL_VARIABLE_parent)
		return kl_access_shows_current(s) &&
		       (row->access == KL_VARIABLE_own || !(s->gate & KL_GATE_OWN) ||
			may_see_parent(s, current));
	return !kl_rights_lack(s->may, kl_variable_needs(row->access));
}

/*
 * The row of a variable that can be read now, else NULL. The id comes from a program that has been
 * checked, so speculation does not reach beyond the table.
 */
static const struct kl_variable_row *readable_row(const struct kl_session *s, u32 id)
{
	const struct kl_variable_row *row = &kl_variable_rows[id];

	if (id >= kl_variable_count || !row->read || row->lacks() || !is_shown(s, row))
		return NULL;
	return row;
}

/**
 * kl_variable_kind - what a program can do with a variable
 * @id: any number
 */
enum kl_variable_kind kl_variable_kind(u32 id)
{
	const struct kl_variable_row *row = row_of(id);

	if (!row || row->lacks())
		return KL_VARIABLE_ABSENT;
	if (!row->read)
		return KL_VARIABLE_OTHER;
	return row->more ? KL_VARIABLE_TEXT : KL_VARIABLE_NUMBER;
}

/**
 * kl_variable_in_task - is a variable just a number in the running task?
 * @id: any number
 * @may: KL_MAY_* of the program's creator
 * @offset: set to where it is in the task, if so
 * @number: set to its type, if so
 */
bool kl_variable_in_task(u32 id, u32 may, u32 *offset, u32 *number)
{
	const struct kl_variable_place *place;

	if (id >= kl_variable_count)
		return false;
	id = array_index_nospec(id, kl_variable_count);
	place = &kl_variable_places[id];
	if (place->base != KL_BASE_TASK || place->shift || place->add || !(may & KL_MAY_SEE_ALL) ||
	    kl_variable_rows[id].lacks())
		return false;
	*offset = place->offset;
	*number = kl_variable_rows[id].number;
	return place->offset <= KL_TASK_BYTES - sizeof(u64);
}

/**
 * kl_variable_number - a variable's value, for a program
 * @s: session of the program
 * @id: row of variables.def that is a number
 * @fault: set if the value is unavailable; not set if it is only hidden from the owner
 *
 * Returns the value as a record would carry it, or 0. Context: any, preemption off.
 */
u64 kl_variable_number(struct kl_session *s, u32 id, bool *fault)
{
	const struct kl_variable_row *row = readable_row(s, id);
	u64 value;

	if (!row || row->more) {
		*fault |= id >= kl_variable_count || kl_variable_rows[id].lacks() ||
			  !kl_variable_rows[id].read || kl_variable_rows[id].more;
		return 0;
	}
	value = row->read(&s->single, current);
	if (unlikely(value == KL_UNCOUNTED) && kl_counter_is_variable(id)) {
		*fault = true;
		return 0;
	}
	return value;
}

/**
 * kl_variable_text - value of a variable that is text, for a program
 * @s: session of the program
 * @id: row of variables.def that is text
 * @text: set; empty if the value is hidden from the owner or unavailable
 *
 * Context: any, preemption off.
 */
void kl_variable_text(struct kl_session *s, u32 id, char text[KL_COMM_LEN])
{
	const struct kl_variable_row *row = readable_row(s, id);
	u64 words[2] = {};

	if (row && row->more) {
		words[0] = row->read(&s->single, current);
		words[1] = row->more(&s->single, current);
	}
	memcpy(text, words, KL_COMM_LEN);
}
