/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Handlers of other modules: what happens at an event, in addition to what kernlens can do itself.
 * A module registers a struct kl_handler_ops; from then on rules may name it, `-e
 * 'PLACE:NAME(...)'`. docs/handlers.md is the manual and examples/handler a complete module.
 *
 * Evolution: any change of this header changes KL_HANDLER_API, which is compared when a handler is
 * registered. The kernel's symbol versions also detect a module that was built against another
 * header.
 */
#ifndef KERNLENS_HANDLER_H
#define KERNLENS_HANDLER_H

#include <linux/module.h>
#include <linux/types.h>

#include "../../../uapi/kernlens.h"

#define KL_HANDLER_API 1
#define KL_HANDLER_WHY_MAX 96

/**
 * struct kl_handler_event - an event that is hit, as the session's owner may see it
 * @id: KL_EV_* of the tables, or from KL_EV_DYNAMIC on if the session has defined it
 * @cpu: CPU on which it is hit
 * @time: time on the trace's clock
 * @fields: the record's fields and strings, packed (docs/format/trace.md); what
 *          the owner may not see is blank
 * @bytes: size of @fields
 * @arguments: number of @argument; 0 for an unprivileged owner
 * @argument: what the kernel passes to the function or tracepoint
 * @task: the running task; NULL if the owner may not see it. It exists while fire() runs
 * @value: value of the rule's expression, with KL_HANDLER_VALUE
 * @key: keys of the rule, with KL_HANDLER_KEYS
 * @keys: number of keys
 * @fault: something that the value or a key depends on could not be read
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
 * struct kl_handler_setup - a rule that is being created
 * @args: the text that follows the value, or ""
 * @keys: number of keys, with KL_HANDLER_KEYS
 * @why: empty; a sentence for the user if init() fails
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
 * @name: lower-case letters, digits and _, beginning with a letter, below KL_HANDLER_NAME_MAX
 *        bytes; not the name of a built-in handler
 * @help: one sentence for `kernlens list handlers`
 * @init: called when a rule is created. Returns the rule's data, which may be NULL, or an error
 *        pointer. May sleep. May be NULL
 * @fire: called when the event is hit. Preemption is off; in any context but NMIs, and also in NMIs
 *        with KL_HANDLER_ANY_CONTEXT. It must not sleep, wait, allocate, or take a lock that is
 *        ever taken with interrupts on. CPUs call it concurrently, and it may interrupt itself
 * @read: writes a text for the user: the data so far, at most @room bytes of it, not terminated by
 *        NUL. Returns the size of the whole text, at most KL_HANDLER_READ_MAX, or a negative errno.
 *        May sleep. Several readers may call it at once, while events are hit. May be NULL
 * @exit: called when the rule is freed; no function is called for it any more. May sleep. May be
 *        NULL
 *
 * The struct and everything to which it points must not change until the owner is unloaded.
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
