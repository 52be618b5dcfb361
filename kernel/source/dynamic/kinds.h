/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of defined events: a definition, a session's table of definitions, and the
 * operations of each kind of source. Not for other files.
 */
#ifndef KL_DYNAMIC_KINDS_H
#define KL_DYNAMIC_KINDS_H

#include <linux/cpuhotplug.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>

#include "dynamic.h"

struct kl_tick;
struct kl_uprobe;
struct module;
struct tracepoint;

/**
 * struct kl_dynevent - an event that a session has defined
 *
 * Read when it fires; constant once the table is sealed:
 * @session: the session
 * @program: gives the record's fields; NULL if none
 * @next: the next definition of the same function or place in a program
 * @id: KL_EV_DYNAMIC and up
 * @fires: id of the event that it fires: @id, unless it is another location of an earlier event
 * @kind: enum kl_source_kind
 * @arguments: number of arguments that the source must read
 *
 * Under the table's lock:
 * @attached: the event fires; handlers read it without the lock
 * @gone: the function cannot be hooked, or the module that had it has been unloaded
 * @optional: gone, not an error, if it cannot be hooked
 * @is_location: another location of the preceding definition's event
 */
struct kl_dynevent {
	struct kl_session *session;
	const struct kl_program *program;
	struct kl_dynevent *next;
	u32 id;
	u32 fires;
	u8 kind;
	u8 arguments;
	bool attached;
	bool gone;
	bool optional;
	bool is_location;
	union {
		struct {
			struct tracepoint *tp; /* NULL: its module is not loaded */
			const char *name;
		} tracepoint;
		struct {
			unsigned long address;
			unsigned long ip; /* passed to handlers by ftrace */
		} function;
		struct {
			u64 hz;
			struct kl_tick *state; /* allocated while attached */
		} tick;
		struct kl_uprobe *uprobe;
		struct {
			bool expected;
		} trap;
	};
};

/* Definitions created by one call. */
struct kl_dynevent_batch {
	struct list_head list;
	u64 charged; /* bytes charged for it */
	u32 n;
	struct kl_dynevent of[];
};

struct kl_ip_slot {
	unsigned long ip; /* 0: free */
	struct kl_dynevent *defined;
};

/**
 * struct kl_hooks - functions of a session that share an ftrace hook
 * @slot: hash table from ip to definition, with open addressing and at most half full; constant
 *   while handlers read it
 * @end: after the last slot
 * @shift: 64 - log2 of the number of slots
 * @registered: the hook is in place; handlers do nothing if it is not
 * @func: the handler
 * @flags: the hook's flags
 * @ops: the hook; its filter contains the attached functions
 */
struct kl_hooks {
	struct kl_ip_slot *slot;
	struct kl_ip_slot *end;
	u32 shift;
	bool registered;
	ftrace_func_t func;
	unsigned long flags;
	struct ftrace_ops ops;
};

/**
 * struct kl_dynevent_table - all events that a session has defined
 * @functions: entries
 * @returns: returns; hooked at their functions' entries
 * @missed: hits that a source could not handle, per CPU
 * @traps: by id, those that processes fire, or NULL; constant once set
 * @published: @traps can be looked up by session
 * @pool: tracks calls that have yet to return; never armed as a probe
 * @pool_made: @pool is registered
 * @lock: guards the members below and attaching; nests inside the session's lock
 * @list: in the list of all tables
 * @batches: the definitions
 * @n: number of definitions
 * @hooks: how many of them are not traps
 * @hz: sum of the rates of all ticks
 * @sealed: has been attached once, so no more can be defined
 */
struct kl_dynevent_table {
	struct kl_hooks functions;
	struct kl_hooks returns;
	u64 __percpu *missed;
	const struct kl_dynevent **traps;
	bool published;
	struct kretprobe pool;
	bool pool_made;

	struct mutex lock; /* the members below */
	struct list_head list;
	struct list_head batches;
	u32 n;
	u32 hooks;
	u64 hz;
	bool sealed;
};

#define for_each_defined(table, batch, d)                   \
	list_for_each_entry(batch, &(table)->batches, list) \
		for (d = (batch)->of; d < (batch)->of + (batch)->n; d++)

/* Find a definition by its id, or NULL. Context: process; nothing may be defined concurrently. */
static inline struct kl_dynevent *kl_dynevent_find(const struct kl_dynevent_table *table, u32 id)
{
	struct kl_dynevent_batch *batch;
	u32 i = id - KL_EV_DYNAMIC;

	list_for_each_entry(batch, &table->batches, list) {
		if (i < batch->n)
			return &batch->of[i];
		i -= batch->n;
	}
	return NULL;
}

/**
 * struct kl_dynevent_kind - properties and operations of a kind of source
 * @arguments: number of arguments it has
 * @name_max: maximum bytes of its name including the NUL; 0 if it has none
 * @bytes: allocated per definition in addition to its name and struct kl_dynevent
 * @percpu_bytes: the same, for each possible CPU
 * @create: check the params and store what is needed; may sleep, holds no lock
 * @destroy: undo @create; may be called if @create failed
 * @resolve: find the probe point; the table is locked; NULL if there is nothing to find
 * @attach: make the event fire; NULL if kl_hooks_update does so for all at once
 * @detach: undo @attach
 */
struct kl_dynevent_kind {
	u32 arguments;
	u32 name_max;
	u32 bytes;
	u32 percpu_bytes;
	int (*create)(struct kl_dynevent *d, const struct kl_dynevent_params *params,
		      struct kl_error *why);
	void (*destroy)(struct kl_dynevent *d);
	int (*resolve)(struct kl_dynevent *d, struct kl_error *why);
	int (*attach)(struct kl_dynevent *d, struct kl_error *why);
	void (*detach)(struct kl_dynevent *d);
};

extern const struct kl_dynevent_kind kl_dynevent_tracepoint;
extern const struct kl_dynevent_kind kl_dynevent_function;
extern const struct kl_dynevent_kind kl_dynevent_return;
extern const struct kl_dynevent_kind kl_dynevent_tick;
extern const struct kl_dynevent_kind kl_dynevent_uprobe;
extern const struct kl_dynevent_kind kl_dynevent_uretprobe;
extern const struct kl_dynevent_kind kl_dynevent_usdt;
extern const struct kl_dynevent_kind kl_dynevent_block_kind;
extern const struct kl_dynevent_kind kl_dynevent_trap;

/* dynamic.c: for each table, while none is added or removed */
void kl_dynevent_visit_tables(void (*fn)(struct kl_dynevent_table *table, void *data), void *data);

/* dynamic/hooks.c: shared by function entries and returns */
int kl_hooks_create(struct kl_dynevent *d, const struct kl_dynevent_params *params,
		    struct kl_error *why);
int kl_hooks_check(struct kl_dynevent_batch *batch, u32 *bad, struct kl_error *why);
int kl_hooks_prepare(struct kl_dynevent_table *table, struct kl_hooks *hooks, u8 kind);
int kl_hooks_update(struct kl_hooks *hooks, struct kl_error *why);
void kl_hooks_destroy(struct kl_hooks *hooks);
int kl_hooks_init(void);
void kl_hooks_deinit(void);

/* Fibonacci hashing: the upper bits of the product are well distributed. */
static __always_inline u64 kl_ip_hash(unsigned long ip, u32 shift)
{
	return ip * 0x9e3779b97f4a7c15ul >> shift;
}

/* The definitions of a function: the first of a list, or NULL. Context: any. */
static __always_inline struct kl_dynevent *kl_hooks_find(const struct kl_hooks *hooks,
							 unsigned long ip)
{
	const struct kl_ip_slot *slot = &hooks->slot[kl_ip_hash(ip, hooks->shift)];

	while (unlikely(slot->ip != ip)) {
		if (!slot->ip)
			return NULL;
		if (++slot == hooks->end)
			slot = hooks->slot;
	}
	return slot->defined;
}

bool kl_hooks_idle_may_fire(void);

/*
 * RCU does not watch a CPU that is idle or offline: what a handler reads there might be freed. No
 * other kernel code that RCU does not watch can be hooked (noinstr).
 */
static __always_inline bool kl_hooks_may_fire(void)
{
	return likely(!is_idle_task(current)) || kl_hooks_idle_may_fire();
}

/* dynamic/function.c, dynamic/return.c */
void kl_functions_init(struct kl_hooks *hooks);
void kl_returns_init(struct kl_hooks *hooks);
int kl_returns_check(struct kl_dynevent_batch *batch, u32 *bad, struct kl_error *why);
int kl_returns_prepare(struct kl_dynevent_table *table, u32 n, struct kl_error *why);
void kl_returns_destroy(struct kl_dynevent_table *table);

/* dynamic/uprobe.c */
int kl_uprobes_prepare(struct kl_dynevent_table *table);

/* dynamic/trap.c */
int kl_traps_prepare(struct kl_session *s, struct kl_error *why);
void kl_traps_destroy(const struct kl_session *s);

/* dynamic/tracepoint.c */
int kl_dynevent_tracepoints_init(void);
void kl_dynevent_tracepoints_deinit(void);

/* dynamic/tick.c */
int kl_ticks_init(void);
void kl_ticks_deinit(void);

#endif /* KL_DYNAMIC_KINDS_H */
