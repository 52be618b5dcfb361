/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Handlers of other modules: what happens at an event, beside what kernlens can
 * do itself. A module registers a struct kl_handler_ops; from then on rules may
 * name it, `-e 'PLACE:NAME(...)'`. docs/handlers.md is the manual and
 * examples/handler a whole module.
 *
 * Rules of growth: any change of what stands here changes KL_HANDLER_API, which
 * is compared when a handler is registered; the kernel's symbol versions tell
 * a module that was built against another header, too.
 */
#ifndef KERNLENS_HANDLER_H
#define KERNLENS_HANDLER_H

#include <linux/module.h>
#include <linux/types.h>

#include "../../../uapi/kernlens.h"

#define KL_HANDLER_API 1
#define KL_HANDLER_WHY_MAX 96

/**
 * struct kl_handler_event - an event that fires, as the session's owner may see it
 * @id: KL_EV_* of the tables, or from KL_EV_DYNAMIC on if the session has defined it
 * @cpu: on which it fires
 * @time: of the trace's clock
 * @fields: the record's fields and strings, packed (docs/format/trace.md); what
 *          the owner may not see is blank
 * @bytes: of them
 * @arguments: number of @argument; 0 for an owner without privilege
 * @argument: what the kernel passes to the function or tracepoint
 * @task: the running one; NULL where the owner may not see it. It exists as long
 *        as fire() runs
 * @value: of the rule's expression, with KL_HANDLER_VALUE
 * @key: of the rule, with KL_HANDLER_KEYS
 * @keys: number of them
 * @fault: something that the value or a key is made of could not be read
 */
struct kl_handler_event {
	u32 id;
	u32 cpu;
	u64 time;
	const void *fields;
	u32 bytes;
	u32 arguments;
	const u64 *argument;
	struct task_struct *task;
	s64 value;
	const u64 *key;
	u32 keys;
	bool fault;
};

/**
 * struct kl_handler_setup - a rule that is being made
 * @args: what was written behind the value, or ""
 * @keys: number of keys, with KL_HANDLER_KEYS
 * @why: empty; a sentence for the user where init() fails
 */
struct kl_handler_setup {
	const char *args;
	u32 keys;
	char why[KL_HANDLER_WHY_MAX];
};

/**
 * struct kl_handler_ops - a handler
 * @version: KL_HANDLER_API; stays the first member
 * @flags: KL_HANDLER_ANY_CONTEXT, KL_HANDLER_FOR_ALL, KL_HANDLER_VALUE,
 *         KL_HANDLER_KEYS
 * @owner: THIS_MODULE; it cannot be unloaded while a rule uses the handler
 * @name: lower-case letters, digits and _, a letter first, below
 *        KL_HANDLER_NAME_MAX bytes; no name of a built-in handler
 * @help: one sentence for `kernlens list handlers`
 * @init: a rule is made. Returns its data, which may be NULL, or an error
 *        pointer. May sleep. May be NULL
 * @fire: the event happens. Preemption is off; in any context but NMIs, and in
 *        those with KL_HANDLER_ANY_CONTEXT. It must not sleep, wait, take a lock
 *        that anything else takes with interrupts on, or allocate. CPUs call it
 *        at once, and it may interrupt itself
 * @read: a text for the user: what there is, at most @room bytes of it, not
 *        ended by NUL. Returns the bytes of all of it, at most
 *        KL_HANDLER_READ_MAX, or a negative errno. May sleep. Several may read at
 *        once, while it fires. May be NULL
 * @exit: the rule is gone; nothing of it is called any more. May sleep. May be
 *        NULL
 *
 * The struct and all that it points to stay as they are until the owner is
 * unloaded.
 */
struct kl_handler_ops {
	u32 version;
	u32 flags;
	struct module *owner;
	const char *name;
	const char *help;
	void *(*init)(struct kl_handler_setup *setup);
	void (*fire)(void *data, const struct kl_handler_event *event);
	ssize_t (*read)(void *data, char *text, size_t room);
	void (*exit)(void *data);
};

int kl_handler_register(const struct kl_handler_ops *ops);
void kl_handler_unregister(const struct kl_handler_ops *ops);

#endif /* KERNLENS_HANDLER_H */
