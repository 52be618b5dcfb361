// SPDX-License-Identifier: GPL-2.0
/*
 * Carries out what a debugger has written into the memory of the stopped machine: uapi/mailbox.h
 * has the layout, docs/design/debugger.md the rules. While the parameter is not set, there is
 * neither a page nor a timer. A request is copied once and then checked; its calls are those of the
 * device, with the same checks, and the rights of the kernel's own threads. `mailbox_lock` guards
 * everything here; a session's lock nests inside.
 */
#include <linux/cred.h>
#include <linux/io.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "../../uapi/mailbox.h"
#include "../base/function.h"
#include "../core/caller.h"
#include "../core/deferred.h"
#include "client.h"
#include "device.h"

#define POLL_MS 100
/* After a request there may be another one. */
#define POLL_AGAIN_MS 1

static_assert(sizeof(struct kl_mailbox) <= PAGE_SIZE);

/* A session that a request has created. */
struct hook {
	struct list_head list;
	struct kl_client *client;
};

/**
 * struct mailbox - its state
 * @ready: between kl_mailbox_init() and kl_mailbox_deinit()
 * @page: shared with debuggers; NULL: it is off
 * @request: KL_MAILBOX_BYTES that a debugger writes
 * @copy: of a request
 * @hooks: sessions; @n_hooks: their number
 */
struct mailbox {
	bool ready;
	struct kl_mailbox *page;
	void *request;
	u8 *copy;
	struct list_head hooks;
	u32 n_hooks;
};

static DEFINE_MUTEX(mailbox_lock);
static struct mailbox mailbox = { .hooks = LIST_HEAD_INIT(mailbox.hooks) };

/* ------------------------------------------------------- hooks */

static void destroy_hook(struct hook *h)
{
	list_del(&h->list);
	mailbox.n_hooks--;
	kl_client_destroy(h->client);
	kfree(h);
}

static void destroy_hooks(void)
{
	struct hook *h, *next;

	list_for_each_entry_safe(h, next, &mailbox.hooks, list)
		destroy_hook(h);
}

/* Calls that define what a session does, and start it. What they point to is in the request. */
static bool is_allowed(u32 cmd)
{
	switch (cmd) {
	case KL_IOC_SESSION:
	case KL_IOC_VARIABLES:
	case KL_IOC_PROGRAM:
	case KL_IOC_EVENTS:
	case KL_IOC_RULE:
	case KL_IOC_MASKSET_WRITE:
	case KL_IOC_MASKSET_USE:
	case KL_IOC_METADATA_SET:
	case KL_IOC_START:
		return true;
	default:
		return false;
	}
}

static int make_call(struct kl_client *client, u32 cmd, u8 *arg, u32 bytes, struct kl_error *why)
{
	void *aligned = NULL;
	int error;

	if (!is_allowed(cmd))
		return kl_fail(why, -EPERM, "a request must not make call %#x", cmd);
	if (bytes) {
		aligned = kmemdup(arg, bytes, GFP_KERNEL);
		if (!aligned)
			return kl_fail(why, -ENOMEM, "no memory for the call");
	}
	error = kl_client_call(client, cmd, aligned, bytes);
	kfree(aligned);
	if (!error)
		return 0;
	*why = client->why;
	/* Not every failure has a text. */
	return why->error == error ? error : kl_fail(why, error, "call %#x: error %d", cmd, error);
}

static int make_calls(struct kl_client *client, const struct kl_mailbox_request *r,
		      struct kl_error *why)
{
	struct kl_mailbox_call call;
	u32 at = r->calls, end = r->calls + r->calls_bytes;
	int error = 0;

	while (!error && end - at >= sizeof(call)) {
		memcpy(&call, mailbox.copy + at, sizeof(call));
		at += sizeof(call);
		if (call.bytes > end - at)
			return kl_fail(why, -EINVAL, "a call is longer than the request");
		error = make_call(client, call.request, mailbox.copy + at, call.bytes, why);
		at += min_t(u32, ALIGN(call.bytes, 8), end - at);
	}
	return error;
}

/* Put the addresses of functions into the copy of the request. */
static int find_symbols(const struct kl_mailbox_request *r, struct kl_error *why)
{
	struct kl_mailbox_symbol symbol;

	for (u32 i = 0; i < r->n_symbols; i++) {
		char name[KL_MAILBOX_SYMBOL_MAX];
		u64 address;

		memcpy(&symbol, mailbox.copy + r->symbols + i * sizeof(symbol), sizeof(symbol));
		if (symbol.at > r->bytes - sizeof(address) || symbol.name >= r->bytes)
			return kl_fail(why, -EINVAL, "a symbol is outside of the request");
		if (strscpy(name, mailbox.copy + symbol.name,
			    min_t(u32, sizeof(name), r->bytes - symbol.name)) <= 0)
			return kl_fail(why, -EINVAL,
				       "the name of a function is too long, or empty");
		address = (unsigned long)kl_function_find(name);
		if (!address)
			return kl_fail(why, -ENOENT,
				       "the kernel has no function %s, or it cannot be probed",
				       name);
		memcpy(mailbox.copy + symbol.at, &address, sizeof(address));
	}
	return 0;
}

static bool is_inside(const struct kl_mailbox_request *r, u32 at, u64 bytes)
{
	return at <= r->bytes && bytes <= r->bytes - at;
}

static int fill_hook(struct hook *h, const struct kl_mailbox_request *r, struct kl_error *why)
{
	int error = find_symbols(r, why);

	if (error)
		return error;
	kl_caller_set_request(mailbox.copy, r->bytes);
	error = make_calls(h->client, r, why);
	kl_caller_set_request(NULL, 0);
	if (!error && !h->client->session)
		error = kl_fail(why, -EINVAL, "the request creates no session");
	return error;
}

/* Create a session. Returns its id, or a negative errno. */
static int hook(const struct kl_mailbox_request *r, struct kl_error *why)
{
	struct hook *h;
	int error;

	if (!is_inside(r, r->calls, r->calls_bytes) || r->n_symbols > KL_MAILBOX_SYMBOLS_MAX ||
	    !is_inside(r, r->symbols, r->n_symbols * sizeof(struct kl_mailbox_symbol)))
		return kl_fail(why, -EINVAL, "the request's parts are outside of it");
	if (mailbox.n_hooks >= KL_MAILBOX_HOOKS_MAX)
		return kl_fail(why, -ENOSPC, "there can be %u hooks: use unhook first",
			       KL_MAILBOX_HOOKS_MAX);
	h = kzalloc(sizeof(*h), GFP_KERNEL);
	if (!h)
		return kl_fail(why, -ENOMEM, "no memory for a hook");
	h->client = kl_client_create(current_cred());
	if (IS_ERR(h->client)) {
		error = kl_fail(why, PTR_ERR(h->client), "no memory for a hook");
		kfree(h);
		return error;
	}
	list_add_tail(&h->list, &mailbox.hooks);
	mailbox.n_hooks++;
	error = fill_hook(h, r, why);
	if (!error)
		return h->client->session->id;
	destroy_hook(h);
	return error;
}

/* End one session, or all. */
static int unhook(const struct kl_mailbox_request *r, struct kl_error *why)
{
	struct hook *h;

	if (!r->session) {
		destroy_hooks();
		return 0;
	}
	list_for_each_entry(h, &mailbox.hooks, list)
		if (h->client->session->id == r->session) {
			destroy_hook(h);
			return r->session;
		}
	return kl_fail(why, -ENOENT, "session %u was not created by a debugger", r->session);
}

static int attach_and_use(struct kl_client *client, const struct kl_mailbox_request *r)
{
	struct kl_abi_attach attach = { .size = sizeof(attach), .id = r->session };
	struct kl_abi_use use = { .size = sizeof(use) };
	int ret = kl_client_call(client, KL_IOC_ATTACH, &attach, sizeof(attach));

	if (!ret)
		ret = kl_maskset_find(client->session, r->maskset, &client->why);
	if (ret < 0)
		return ret;
	use.maskset = ret;
	return kl_client_call(client, KL_IOC_MASKSET_USE, &use, sizeof(use));
}

/* Let a session use another maskset. */
static int use(const struct kl_mailbox_request *r, struct kl_error *why)
{
	struct kl_client *client;
	int error;

	if (strnlen(r->maskset, KL_NAME_MAX) == KL_NAME_MAX)
		return kl_fail(why, -EINVAL, "the maskset's name is not NUL-terminated");
	client = kl_client_create(current_cred());
	if (IS_ERR(client))
		return kl_fail(why, PTR_ERR(client), "no memory for the call");
	error = attach_and_use(client, r);
	if (error && client->why.error == error)
		*why = client->why;
	else if (error)
		kl_fail(why, error, "cannot use maskset %s: error %d", r->maskset, error);
	kl_client_destroy(client);
	return error ?: r->session;
}

/* ------------------------------------------------------- requests */

/* Copy the request, and check that it is whole. Nothing else reads the debugger's bytes. */
static int take_request(u64 number, struct kl_mailbox_request *r, struct kl_error *why)
{
	u32 bytes = READ_ONCE(mailbox.page->bytes);

	if (bytes < sizeof(*r) || bytes > KL_MAILBOX_BYTES)
		return kl_fail(why, -EINVAL, "a request of %u bytes, the range is %zu to %u", bytes,
			       sizeof(*r), KL_MAILBOX_BYTES);
	memcpy(mailbox.copy, mailbox.request, bytes);
	if (kl_mailbox_sum(number, mailbox.copy, bytes) != READ_ONCE(mailbox.page->sum))
		return kl_fail(why, -EBADMSG, "the request is damaged");
	memcpy(r, mailbox.copy, sizeof(*r));
	if (r->version != KL_MAILBOX_VERSION || r->schema_hash != KL_SCHEMA_HASH)
		return kl_fail(why, -EPROTO,
			       "the request was made by another release of kernlens: install the "
			       "same one of both");
	if (r->bytes != bytes)
		return kl_fail(why, -EINVAL, "the request does not have the size that it states");
	return 0;
}

static int carry_out(u64 number, struct kl_error *why)
{
	struct kl_mailbox_request r;
	int error = take_request(number, &r, why);

	if (error)
		return error;
	switch (r.kind) {
	case KL_MAILBOX_HOOK:
		return hook(&r, why);
	case KL_MAILBOX_UNHOOK:
		return unhook(&r, why);
	case KL_MAILBOX_USE:
		return use(&r, why);
	default:
		return kl_fail(why, -EINVAL, "unknown kind of request %u", r.kind);
	}
}

static void answer(u64 number)
{
	struct kl_mailbox *page = mailbox.page;
	struct kl_error why = {};
	int ret;

	/* P: the debugger writes the request before its number. */
	smp_rmb();
	ret = carry_out(number, &why);
	page->error = min(ret, 0);
	page->session = max(ret, 0);
	memcpy(page->text, why.text, sizeof(page->text));
	/* Q: the answer is complete before the debugger sees its number. */
	smp_wmb();
	WRITE_ONCE(page->answered, number);
}

static void poll(struct work_struct *work)
{
	struct delayed_work *poll_work = to_delayed_work(work);
	u32 ms = POLL_MS;
	u64 number;

	mutex_lock(&mailbox_lock);
	if (mailbox.page) {
		number = READ_ONCE(mailbox.page->asked);
		if (number != mailbox.page->answered) {
			answer(number);
			ms = POLL_AGAIN_MS;
		}
		WRITE_ONCE(mailbox.page->polls, mailbox.page->polls + 1);
		kl_worker_queue_delayed(poll_work, ms);
	}
	mutex_unlock(&mailbox_lock);
}

static DECLARE_DELAYED_WORK(poll_work, poll);

/* ------------------------------------------------------- on and off */

static void switch_off(void)
{
	lockdep_assert_held(&mailbox_lock);
	destroy_hooks();
	if (mailbox.page)
		kl_crash_mailbox_destroy(mailbox.page);
	if (mailbox.request)
		free_pages_exact(mailbox.request, KL_MAILBOX_BYTES);
	kvfree(mailbox.copy);
	mailbox.page = NULL;
	mailbox.request = NULL;
	mailbox.copy = NULL;
}

static int switch_on(void)
{
	struct kl_mailbox *page;

	lockdep_assert_held(&mailbox_lock);
	mailbox.request = alloc_pages_exact(KL_MAILBOX_BYTES, GFP_KERNEL | __GFP_ZERO);
	mailbox.copy = kvmalloc(KL_MAILBOX_BYTES, GFP_KERNEL);
	page = kl_crash_mailbox_create();
	if (page) {
		page->request = mailbox.request ? virt_to_phys(mailbox.request) : 0;
		page->request_bytes = KL_MAILBOX_BYTES;
		page->poll_ms = POLL_MS;
		mailbox.page = page;
	}
	if (!page || !mailbox.request || !mailbox.copy) {
		switch_off();
		return -ENOMEM;
	}
	kl_crash_mailbox_publish(page, offsetof(struct kl_mailbox, asked));
	kl_worker_queue_delayed(&poll_work, POLL_MS);
	pr_notice("kernlens: the mailbox is on: a debugger can create sessions\n");
	return 0;
}

static bool wanted;

static int set_wanted(const char *value, const struct kernel_param *parameter)
{
	bool on;
	int error = kstrtobool(value, &on);

	if (error)
		return error;
	mutex_lock(&mailbox_lock);
	if (mailbox.ready && on && !mailbox.page)
		error = switch_on();
	else if (mailbox.ready && !on)
		switch_off();
	if (!error)
		wanted = on;
	mutex_unlock(&mailbox_lock);
	return error;
}

static const struct kernel_param_ops wanted_ops = {
	.set = set_wanted,
	.get = param_get_bool,
};

module_param_cb(mailbox, &wanted_ops, &wanted, 0600);
MODULE_PARM_DESC(mailbox, "let a debugger that writes to the kernel's memory create sessions");

/**
 * kl_mailbox_init - switch the mailbox on, if the parameter is set
 *
 * Returns 0 or a negative errno.
 */
int kl_mailbox_init(void)
{
	int error = 0;

	mutex_lock(&mailbox_lock);
	if (wanted)
		error = switch_on();
	mailbox.ready = !error;
	mutex_unlock(&mailbox_lock);
	return error;
}

/**
 * kl_mailbox_deinit - end what requests have created, before the device is removed
 */
void kl_mailbox_deinit(void)
{
	mutex_lock(&mailbox_lock);
	mailbox.ready = false;
	switch_off();
	mutex_unlock(&mailbox_lock);
	cancel_delayed_work_sync(&poll_work);
}
