// SPDX-License-Identifier: GPL-2.0
/*
 * Follows calls that take and release locks, in each task and each kind of interrupt. The rules are
 * in docs/design/locks.md.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../values.h"
#include "use.h"

#define CALL "call:"
#define RETURN ":ret"
#define SYS_EXIT "tp:sys_exit"
#define EXIT "sched_process_exit"
#define FLAG "lock_use"

/* Contexts are numbered: tasks by their ID, the others from here on. */
#define IDLE_TASKS (1ull << 40)
#define INTERRUPTS (1ull << 41)

/* What an event is. Key: address of the class. @call: NULL: no such call */
struct call_class {
	uint64_t key;
	bool known;
	bool is_return;
	bool returns; /* there is another event for the return */
	const struct kl_lock_call *call;
	const char *name;
	int lock, result, flags, word, owner;
};

struct numbered_pointer {
	uint64_t key;
	void *pointer;
};

/* ------------------------------------------------------------- what is recorded */

/*
 * Append the calls of @module, of which there must be some, or only those that take locks, of which
 * there may be none.
 */
static void add_specs(struct kl_buffer *buffer, const char *module, bool taking, const char *end)
{
	const struct kl_lock_call *call;

	kl_buffer_printf(buffer, CALL "%s:*:", module);
	for (size_t i = 0; (call = kl_lock_call_at(i)); i++)
		if (!taking || call->operation == KL_LOCK_TAKE)
			kl_buffer_printf(buffer, "%s%s%s", taking || !i ? "" : "|", call->name,
					 taking ? "|" : "");
	kl_buffer_printf(buffer, "%s", end);
}

void kl_lock_use_specs(struct kl_buffer *buffer, const char *module)
{
	add_specs(buffer, module, false, ",");
	add_specs(buffer, module, true, RETURN ",");
	/* A task that has taken a lock says when it returns to user space next. */
	add_specs(buffer, module, true, ":set(" FLAG "),");
	kl_buffer_printf(buffer, SYS_EXIT " /flag(" FLAG ")/," SYS_EXIT " /flag(" FLAG
					  ")/ :clear(" FLAG ")," EXIT);
}

void kl_lock_use_fields(struct kl_buffer *buffer, const struct kl_lock_layout *layout)
{
	kl_buffer_printf(buffer,
			 "lock=(void *)rdi,result=rax,flags=rflags,word=*(u64 *)rdi,"
			 "owner=*(u64 *)(rdi+%u)",
			 layout->owner_at);
}

/* ------------------------------------------------------------------------ layout */

struct kl_lock_layout kl_lock_layout_of(const struct kl_btf *btf, const char *version)
{
	struct kl_lock_layout layout = { .owner_at = 24,
					 .realtime = strstr(version, "PREEMPT_RT") };
	int type = btf ? kl_btf_find(btf, "rt_mutex_base", KL_BTF_BIT(KL_BTF_STRUCT)) : -1;
	struct kl_btf_member owner;

	if (type > 0 && !kl_btf_member_find(btf, (uint32_t)type, "owner", &owner))
		layout.owner_at = owner.bit_offset / 8;
	return layout;
}

/* ---------------------------------------------------------------------- creation */

struct kl_lock_use *kl_lock_use_create(const struct kl_schema *schema,
				       const struct kl_lock_layout *layout, uint64_t limit_ns)
{
	struct kl_lock_use *use = calloc(1, sizeof(*use));

	if (!use) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	use->schema = schema;
	use->layout = *layout;
	use->limit_ns = limit_ns;
	use->kstack = kl_schema_find_variable(schema, "kstack");
	use->in_irq = kl_schema_find_variable(schema, "in_irq");
	use->preempt_count = kl_schema_find_variable(schema, "preempt_count");
	use->sys_exit = kl_schema_find(schema, SYS_EXIT);
	use->exit = kl_schema_find(schema, EXIT);
	use->classes.size = sizeof(struct call_class);
	use->contexts.size = sizeof(struct numbered_pointer);
	use->locks.size = sizeof(struct numbered_pointer);
	use->edge_of.size = 2 * sizeof(uint64_t);
	use->fault_of.size = 2 * sizeof(uint64_t);
	return use;
}

static void free_pointers(struct kl_hash *hash, bool locks)
{
	struct numbered_pointer *entry = NULL;

	while ((entry = kl_hash_next(hash, entry))) {
		if (locks && entry->pointer) {
			free(((struct kl_lock *)entry->pointer)->out.edge);
			free(((struct kl_lock *)entry->pointer)->in.edge);
		}
		free(entry->pointer);
	}
	kl_hash_deinit(hash);
}

void kl_lock_use_destroy(struct kl_lock_use *use)
{
	if (!use)
		return;
	free_pointers(&use->contexts, false);
	while (use->spare) {
		struct kl_lock_context *next = use->spare->next;

		free(use->spare);
		use->spare = next;
	}
	free_pointers(&use->locks, true);
	kl_hash_deinit(&use->classes);
	kl_hash_deinit(&use->edge_of);
	kl_hash_deinit(&use->fault_of);
	for (size_t i = 0; i < use->n_faults; i++)
		free(use->fault[i].step);
	free(use->fault);
	free(use->edge);
	free(use->unused.edge);
	free(use->kept);
	kl_texts_deinit(&use->texts);
	free(use);
}

/* An entry's record, created if it is new. @entry: NULL: out of memory */
static void *made(struct numbered_pointer *entry, size_t size)
{
	if (entry && !entry->pointer)
		entry->pointer = calloc(1, size);
	if (!entry || !entry->pointer) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	return entry->pointer;
}

struct kl_lock *kl_lock_get(struct kl_lock_use *use, uint64_t address)
{
	struct kl_lock *lock = made(kl_hash_get(&use->locks, address), sizeof(*lock));

	if (lock)
		lock->times.lock = address;
	return lock;
}

/* ---------------------------------------------------------------------- decoding */

/* Names are "call:FUNCTION+0xOFFSET:CALLED" and the same with ":ret". */
static void describe_class(struct kl_lock_use *use, struct call_class *c,
			   const struct kl_class *class)
{
	const char *name = class->name, *called;
	size_t length = strlen(name);
	char other[512];

	c->known = true;
	if (strncmp(name, CALL, strlen(CALL)))
		return;
	if (length > strlen(RETURN) && !strcmp(name + length - strlen(RETURN), RETURN)) {
		c->is_return = true;
		length -= strlen(RETURN);
	}
	called = memrchr(name, ':', length);
	if (called < name + strlen(CALL))
		return;
	called++;
	c->call = kl_lock_call_find(called, (size_t)(name + length - called));
	c->name = name + strlen(CALL);
	snprintf(other, sizeof(other), "%s" RETURN, name);
	c->returns = !c->is_return && kl_schema_find(use->schema, other);
	c->lock = kl_class_field(class, "lock");
	c->result = kl_class_field(class, "result");
	c->flags = kl_class_field(class, "flags");
	c->word = kl_class_field(class, "word");
	c->owner = kl_class_field(class, "owner");
	if (c->lock < 0 || c->flags < 0 || (c->is_return && c->result < 0))
		c->call = NULL;
}

static const struct call_class *class_of(struct kl_lock_use *use,
					 const struct kl_class *event_class)
{
	struct call_class *c = kl_hash_get(&use->classes, (uintptr_t)event_class);

	if (c && !c->known)
		describe_class(use, c, event_class);
	return c;
}

static int decode(struct kl_lock_use *use, const struct call_class *c, const struct kl_event *event,
		  struct kl_lock_event *e)
{
	*e = (struct kl_lock_event){
		.call = c->call,
		.is_return = c->is_return,
		.returns = c->returns,
		.lock = kl_field_of(event, c->lock),
		.result = kl_field_of(event, c->result),
		.flags = kl_field_of(event, c->flags),
		.word = kl_field_of(event, c->word),
		.owner = kl_field_of(event, c->owner),
		.has_words = c->word >= 0 && c->owner >= 0,
		.place = {
			.call = c->name,
			.stack = (uint32_t)kl_variable_of(event, use->kstack),
			.tid = event->task.tid,
			.comm = event->task.comm,
			.ns = event->ns,
			.context = (unsigned int)kl_variable_of(event, use->in_irq),
		},
		.preempt_count = (uint32_t)kl_variable_of(event, use->preempt_count),
	};
	return kl_texts_keep(&use->texts, &e->place.comm);
}

static struct numbered_pointer *context_entry(struct kl_lock_use *use, const struct kl_event *event,
					      unsigned int level)
{
	uint64_t key = level	       ? INTERRUPTS + 4ull * event->cpu + level :
		       event->task.tid ? (uint64_t)(uint32_t)event->task.tid :
					 IDLE_TASKS + event->cpu;

	return kl_hash_get(&use->contexts, key);
}

static struct kl_lock_context *context_of(struct kl_lock_use *use, const struct kl_event *event,
					  unsigned int level)
{
	struct numbered_pointer *entry = context_entry(use, event, level);

	if (entry && !entry->pointer && use->spare) {
		entry->pointer = use->spare;
		use->spare = use->spare->next;
	}
	return made(entry, sizeof(struct kl_lock_context));
}

/*
 * A task has exited: another one may have its context. Locks that remember it as the last to take
 * them find out that it does not hold them.
 */
static void spare_context(struct kl_lock_use *use, const struct kl_event *event)
{
	struct numbered_pointer *entry = context_entry(use, event, 0);
	struct kl_lock_context *context = entry ? entry->pointer : NULL;

	if (!context)
		return;
	entry->pointer = NULL;
	context->next = use->spare;
	use->spare = context;
}

bool kl_lock_use_is_in(const struct kl_schema *schema)
{
	struct kl_lock_use use = { .schema = schema };
	const struct kl_class *class = NULL;

	while ((class = kl_schema_next(schema, class))) {
		struct call_class c = {};

		describe_class(&use, &c, class);
		if (c.call)
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------------ events */

static int add_call(struct kl_lock_use *use, const struct kl_event *event,
		    const struct call_class *c)
{
	struct kl_lock_context *context;
	struct kl_lock_event e;
	int ret = decode(use, c, event, &e);

	context = ret ? NULL : context_of(use, event, e.place.context);
	if (!context)
		return -ENOMEM;
	if (e.is_return)
		return kl_lock_returned(use, context, &e);
	ret = kl_lock_settle(use, context);
	if (ret || (!e.lock && e.call->operation != KL_LOCK_SLEEP))
		return ret;
	switch (e.call->operation) {
	case KL_LOCK_TAKE:
		return kl_lock_take(use, context, &e);
	case KL_LOCK_RELEASE:
		return kl_lock_release(use, context, &e);
	case KL_LOCK_DOWNGRADE:
		return kl_lock_downgrade(context, &e);
	case KL_LOCK_INIT:
		return kl_lock_initialize(use, &e);
	default:
		return kl_lock_check_sleep(use, context, &e);
	}
}

/* A task goes where it must hold no lock. If it has one nevertheless, it is kept, not held. */
static int leave(struct kl_lock_use *use, const struct kl_event *event, bool exits)
{
	struct kl_lock_context *context = context_of(use, event, 0);
	struct kl_held *grown;
	int ret = context ? kl_lock_settle(use, context) : -ENOMEM;

	for (unsigned int i = 0; !ret && i < context->n; i++) {
		struct kl_held held = context->held[i];

		if (held.call->type == KL_LOCK_SEMAPHORE)
			continue;
		held.exited = exits;
		grown = kl_array_grow(use->kept, use->n_kept, &use->kept_room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		use->kept = grown;
		use->kept[use->n_kept++] = held;
	}
	if (ret)
		return ret;
	context->n = 0;
	if (exits)
		spare_context(use, event);
	return 0;
}

int kl_lock_use_add(struct kl_lock_use *use, const struct kl_event *event)
{
	const struct call_class *c;

	if (event->event_class == use->sys_exit || event->event_class == use->exit)
		return leave(use, event, event->event_class == use->exit);
	c = class_of(use, event->event_class);
	if (!c)
		return -ENOMEM;
	return c->call ? add_call(use, event, c) : 0;
}

void kl_lock_use_add_loss(struct kl_lock_use *use)
{
	struct numbered_pointer *entry = NULL;

	while ((entry = kl_hash_next(&use->contexts, entry)))
		if (entry->pointer) {
			((struct kl_lock_context *)entry->pointer)->n = 0;
			((struct kl_lock_context *)entry->pointer)->call = NULL;
		}
	use->n_kept = 0;
}

/* -------------------------------------------------------------------- at the end */

static int finish_one(struct kl_lock_use *use, const struct kl_held *held, kl_lock_word_fn read,
		      void *context)
{
	struct kl_lock_fault fault = {
		.kind = held->exited ? KL_LOCK_LEFT : KL_LOCK_KEPT,
		.lock = held->lock,
		.here = held->place,
	};
	const bool realtime = use->layout.realtime;
	uint64_t word, owner = 0;

	if (read && read(context, held->lock, &word) &&
	    (!kl_lock_has_owner(held->call, realtime) ||
	     read(context, held->lock + use->layout.owner_at, &owner))) {
		if (kl_lock_is_free(held->call, realtime, word, owner))
			return 0;
		fault.certain = true;
	}
	return kl_lock_add_fault(use, &fault);
}

int kl_lock_use_finish(struct kl_lock_use *use, kl_lock_word_fn read, void *context)
{
	int ret = 0;

	for (size_t i = 0; i < use->n_kept && !ret; i++)
		ret = finish_one(use, &use->kept[i], read, context);
	return ret;
}

static int compare_times(const void *left, const void *right)
{
	const struct kl_lock_times *a = left, *b = right;
	uint64_t x = a->waited_ns + a->held_ns, y = b->waited_ns + b->held_ns;

	if (x != y)
		return x < y ? 1 : -1;
	return (a->lock > b->lock) - (a->lock < b->lock);
}

struct kl_lock_times *kl_lock_use_times(const struct kl_lock_use *use, size_t *n)
{
	struct kl_lock_times *times = malloc((use->locks.count + 1) * sizeof(*times));
	struct numbered_pointer *entry = NULL;

	*n = 0;
	if (!times) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	while ((entry = kl_hash_next(&use->locks, entry)))
		if (entry->pointer && ((struct kl_lock *)entry->pointer)->times.taken)
			times[(*n)++] = ((struct kl_lock *)entry->pointer)->times;
	qsort(times, *n, sizeof(*times), compare_times);
	return times;
}
