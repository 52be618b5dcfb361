// SPDX-License-Identifier: GPL-2.0
/*
 * Handlers of other modules: the registry, and a rule's use of one. `registry_lock`
 * guards the list; a rule's owner is pinned while it is held, so a handler either
 * is found and its module stays, or is not found. Probes call fire() without a
 * lock: a rule's handler stays until the session is freed, after a grace period.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../compat/clock.h"
#include "../core/record.h"
#include "../include/kernlens/handler.h"
#include "external.h"
#include "handler.h"

#define OPERATIONS 200

/**
 * struct registered - a handler in the list
 * @rules: number of rules that use it; under the lock
 * @ref: held by the list and by each rule
 */
struct registered {
	struct list_head list;
	const struct kl_handler_ops *ops;
	u32 id;
	u32 rules;
	struct kref ref;
};

/* How often a rule's handler was called on a CPU, and how often it could not be called. */
struct calls {
	u64 fired;
	u64 missed;
};

/**
 * struct kl_external - a rule's handler
 * @ops: of its module, which stays loaded
 * @data: returned by its init()
 */
struct kl_external {
	const struct kl_handler_ops *ops;
	void *data;
	struct calls __percpu *calls;
	struct registered *registered;
};

static DEFINE_MUTEX(registry_lock);
static LIST_HEAD(registry);
static u32 last_id;

static void free_registered(struct kref *ref)
{
	kfree(container_of(ref, struct registered, ref));
}

static struct registered *find(const char *name, size_t length)
{
	struct registered *h;

	lockdep_assert_held(&registry_lock);
	list_for_each_entry(h, &registry, list)
		if (strlen(h->ops->name) == length && !memcmp(h->ops->name, name, length))
			return h;
	return NULL;
}

/* --------------------------------------------------------- other modules */

static bool is_built_in(const char *name)
{
	static const char *const names[] = {
#define KL_HANDLER(id, name, help) #name,
#include "../../uapi/handlers.def"
#undef KL_HANDLER
	};

	for (u32 i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static bool is_name(const char *name)
{
	size_t length = name ? strnlen(name, KL_HANDLER_NAME_MAX) : 0;

	if (!length || length == KL_HANDLER_NAME_MAX || *name < 'a' || *name > 'z')
		return false;
	for (; *name; name++)
		if (!(*name >= 'a' && *name <= 'z') && !(*name >= '0' && *name <= '9') &&
		    *name != '_')
			return false;
	return true;
}

/**
 * kl_handler_register - offer a handler to all sessions
 * @ops: static data of the owner
 *
 * Register as the last step of a module's init, and unregister as the first of
 * its exit. Rules can use it once the owner's init has succeeded. Returns 0;
 * -EPROTO: another version of the interface; -EINVAL: a member is wrong or
 * missing; -EBUSY: the name is taken; -ENOMEM. Context: may sleep.
 */
int kl_handler_register(const struct kl_handler_ops *ops)
{
	struct registered *h;
	int error = 0;

	/* With another version, the members after it are not read. */
	if (ops->version != KL_HANDLER_API) {
		pr_warn("kernlens: a handler was built for interface version %u, not %u\n",
			ops->version, KL_HANDLER_API);
		return -EPROTO;
	}
	if (!ops->owner || !ops->fire || ops->flags & ~KL_HANDLER_FLAGS || !is_name(ops->name))
		return -EINVAL;
	h = kzalloc(sizeof(*h), GFP_KERNEL);
	if (!h)
		return -ENOMEM;
	h->ops = ops;
	kref_init(&h->ref);
	mutex_lock(&registry_lock);
	if (is_built_in(ops->name) || find(ops->name, strlen(ops->name)))
		error = -EBUSY;
	if (!error) {
		h->id = ++last_id;
		list_add_tail(&h->list, &registry);
	}
	mutex_unlock(&registry_lock);
	if (error)
		kfree(h);
	return error;
}
EXPORT_SYMBOL_GPL(kl_handler_register);

/**
 * kl_handler_unregister - withdraw a handler: no new rule can use it
 * @ops: as registered; nothing happens if it is not
 *
 * Rules that use it keep working, and keep the owner loaded until their sessions end.
 * Context: may sleep.
 */
void kl_handler_unregister(const struct kl_handler_ops *ops)
{
	struct registered *h, *next;

	mutex_lock(&registry_lock);
	list_for_each_entry_safe(h, next, &registry, list) {
		if (h->ops != ops)
			continue;
		list_del(&h->list);
		kref_put(&h->ref, free_registered);
	}
	mutex_unlock(&registry_lock);
}
EXPORT_SYMBOL_GPL(kl_handler_unregister);

/* ----------------------------------------------------------------- rules */

/* The handler with its module pinned; undone by put_handler. */
static struct registered *get_handler(const char *name, size_t length)
{
	struct registered *h;

	mutex_lock(&registry_lock);
	h = find(name, length);
	/*
	 * A pin does not keep a module whose init fails, so its init must have completed.
	 */
	if (h && (READ_ONCE(h->ops->owner->state) != MODULE_STATE_LIVE ||
		  !try_module_get(h->ops->owner)))
		h = NULL;
	if (h) {
		h->rules++;
		kref_get(&h->ref);
	}
	mutex_unlock(&registry_lock);
	return h;
}

static void put_handler(struct registered *h)
{
	struct module *owner = h->ops->owner;

	mutex_lock(&registry_lock);
	h->rules--;
	kref_put(&h->ref, free_registered);
	mutex_unlock(&registry_lock);
	module_put(owner);
}

static int check_use(const struct kl_handler_ops *ops, const struct kl_abi_rule *params, u32 may,
		     struct kl_error *why)
{
	if (kl_rights_lack(may, kl_handler_needs(ops->flags)))
		return kl_fail(why, -EPERM,
			       "%s is restricted: it needs CAP_SYS_ADMIN and no kernel "
			       "lockdown",
			       ops->name);
	if (!!params->value != !!(ops->flags & KL_HANDLER_VALUE))
		return kl_fail(why, -EINVAL, "%s %s", ops->name,
			       params->value ? "takes no value" : "requires a value");
	if (params->n_keys && !(ops->flags & KL_HANDLER_KEYS))
		return kl_fail(why, -EINVAL, "%s takes no keys", ops->name);
	return 0;
}

static int init_data(struct kl_external *e, const char *args, u32 keys, struct kl_error *why)
{
	struct kl_handler_setup setup = { .args = args, .keys = keys };

	if (!e->ops->init)
		return 0;
	e->data = e->ops->init(&setup);
	if (!IS_ERR(e->data))
		return 0;
	setup.why[sizeof(setup.why) - 1] = 0;
	return kl_fail(why, PTR_ERR(e->data), "%s: %s", e->ops->name,
		       setup.why[0] ? setup.why : "cannot initialize the handler");
}

/* Memory of a rule's handler, without what its module allocates. */
static u64 bytes(void)
{
	return kl_memory_size(sizeof(struct kl_external)) + kl_memory_percpu(sizeof(struct calls));
}

/* Called without the session's lock, because it calls another module's init(). */
static int create(const struct kl_session *s, const struct kl_abi_rule *params, struct kl_rule *r,
		  struct kl_error *why)
{
	size_t length = strcspn(params->text, " ");
	struct registered *h = get_handler(params->text, length);
	struct kl_external *e;
	int error;

	if (!h)
		return kl_fail(why, -ENOENT, "no module provides the handler \"%.*s\"", (int)length,
			       params->text);
	error = check_use(h->ops, params, s->may, why);
	if (error)
		goto put;
	e = kzalloc(sizeof(*e), GFP_KERNEL_ACCOUNT);
	if (!e) {
		error = kl_fail(why, -ENOMEM, "no memory for a handler");
		goto put;
	}
	e->registered = h;
	e->ops = h->ops;
	e->calls = alloc_percpu_gfp(struct calls, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!e->calls) {
		error = kl_fail(why, -ENOMEM, "no memory for a handler");
		goto free;
	}
	error = init_data(e, skip_spaces(params->text + length), params->n_keys, why);
	if (error)
		goto free_calls;
	r->external = e;
	return 0;
free_calls:
	free_percpu(e->calls);
free:
	kfree(e);
put:
	put_handler(h);
	return error;
}

const struct kl_handler kl_handler_external = {
	.flags = KL_HANDLES_ITSELF,
	.operations = OPERATIONS,
	.create = create,
	.bytes = bytes,
};

/**
 * kl_external_destroy - release a rule's handler
 * @e: handler that no probe is running; or NULL
 *
 * Context: may sleep.
 */
void kl_external_destroy(struct kl_external *e)
{
	if (!e)
		return;
	if (e->ops->exit)
		e->ops->exit(e->data);
	put_handler(e->registered);
	free_percpu(e->calls);
	kfree(e);
}

/* The running task, if the session's owner may see it here. */
static struct task_struct *shown_task(const struct kl_session *s)
{
	if (!(s->gate & KL_GATE_OWN) || (in_task() && kl_access_may_see(s->owner, current)))
		return current;
	return NULL;
}

KL_HIT(external)
{
	const struct kl_external *e = r->external;
	bool raw = s->may & KL_MAY_HOOK_FUNCTIONS;
	struct kl_handler_event event;
	u64 key[KL_RULE_KEYS_MAX];

	if (in_nmi() && !(e->ops->flags & KL_HANDLER_ANY_CONTEXT)) {
		this_cpu_inc(e->calls->missed);
		return;
	}
	kl_rule_run_keys(r, f, key);
	event = (struct kl_handler_event){
		.id = id,
		.cpu = smp_processor_id(),
		.time = kl_clock(),
		.fields = f->fields,
		.bytes = f->bytes,
		.arguments = raw ? f->arguments : 0,
		.argument = raw ? f->argument : NULL,
		.task = shown_task(s),
		.value = r->value ? kl_program_run(r->value, f) : 0,
		.key = key,
		.keys = r->keys,
	};
	event.fault = f->fault;
	this_cpu_inc(e->calls->fired);
	e->ops->fire(e->data, &event);
}

static int read_text(struct kl_external *e, struct kl_abi_handler_read *to, u32 room,
		     struct kl_error *why)
{
	char *text = kvzalloc(max(room, 1u), GFP_KERNEL_ACCOUNT);
	ssize_t bytes;

	if (!text)
		return kl_fail(why, -ENOMEM, "no memory for the handler's text");
	bytes = e->ops->read(e->data, text, room);
	if (bytes > KL_HANDLER_READ_MAX)
		bytes = -E2BIG;
	if (bytes > 0 && bytes <= room && copy_to_user(u64_to_user_ptr(to->text), text, bytes)) {
		kvfree(text);
		return kl_fail(why, -EFAULT, "cannot write the handler's text to user memory");
	}
	kvfree(text);
	if (bytes < 0)
		return kl_fail(why, bytes, "cannot read handler %s", e->ops->name);
	to->bytes = bytes;
	return 0;
}

/**
 * kl_external_read - get the text of a rule's handler
 * @s: the session, charged for the text while the caller's memory is written
 * @e: of the rule
 * @to: see uapi/define.h
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_external_read(struct kl_session *s, struct kl_external *e, struct kl_abi_handler_read *to,
		     struct kl_error *why)
{
	u32 room = min(to->bytes, KL_HANDLER_READ_MAX);
	u64 bytes = kl_memory_size(max(room, 1u));
	int cpu, error;

	to->fired = 0;
	to->missed = 0;
	for_each_possible_cpu(cpu) {
		to->fired += READ_ONCE(per_cpu_ptr(e->calls, cpu)->fired);
		to->missed += READ_ONCE(per_cpu_ptr(e->calls, cpu)->missed);
	}
	if (!e->ops->read) {
		to->bytes = 0;
		return 0;
	}
	error = kl_memory_charge(&s->payer, bytes, why);
	if (error)
		return error;
	error = read_text(e, to, room, why);
	kl_memory_uncharge(&s->payer, bytes);
	return error;
}

/**
 * kl_external_info - describe one of the handlers that other modules have registered
 * @info: `index` in, the rest out
 * @may: KL_MAY_* of the caller
 *
 * Returns 0, or -ENOENT if `index` is past the last. Context: may sleep.
 */
int kl_external_info(struct kl_abi_handler_info *info, u32 may)
{
	u32 index = info->index;
	struct registered *h;
	int error = -ENOENT;

	mutex_lock(&registry_lock);
	list_for_each_entry(h, &registry, list) {
		if (index--)
			continue;
		info->id = h->id;
		info->flags = h->ops->flags;
		info->absent = kl_rights_lack(may, kl_handler_needs(h->ops->flags)) ?
				       KL_ABSENT_DENIED :
				       KL_PRESENT;
		info->rules = may & KL_MAY_SEE_ALL ? h->rules : 0;
		strscpy(info->name, h->ops->name, sizeof(info->name));
		strscpy(info->module, h->ops->owner->name, sizeof(info->module));
		strscpy(info->help, h->ops->help ?: "", sizeof(info->help));
		error = 0;
		break;
	}
	mutex_unlock(&registry_lock);
	return error;
}
