// SPDX-License-Identifier: GPL-2.0
/*
 * A request for splices: it is read, checked window by window, and its patches are generated and
 * written. The splices then belong to the session's set (spliced.c). Under kl_splice_lock.
 */
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "../core/session.h"
#include "../source/dynamic/block.h"
#include "kernel.h"
#include "map.h"
#include "splice.h"

static unsigned int splices_max = 1u << 20;
module_param(splices_max, uint, 0644);
MODULE_PARM_DESC(splices_max, "maximum patch sites in use in the kernel's text");

/* Requests with at most this many points have per-CPU counters. */
#define HOT_POINTS_MAX 64

/* -------------------------------------------------------- kprobes keep away */

/**
 * kl_splices_unlist - allow kprobes again
 * @c: splices that have been removed
 */
void kl_splices_unlist(struct kl_splices *c)
{
	mutex_lock(kl_kernel.kprobe_mutex);
	for (u32 i = 0; i < c->listed_n; i++)
		list_del_rcu(&c->listed[i].list);
	mutex_unlock(kl_kernel.kprobe_mutex);
	c->listed_n = 0;
}

/* Forbid kprobes in this function; adjacent functions share a range. kprobe_mutex is held. */
static void list_function(struct kl_splices *c, const struct kl_function *f)
{
	struct kprobe_blacklist_entry *last = c->listed_n ? &c->listed[c->listed_n - 1] : NULL;

	if (last && last->end_addr == f->begin) {
		WRITE_ONCE(last->end_addr, f->end);
		return;
	}
	last = &c->listed[c->listed_n++];
	last->start_addr = f->begin;
	last->end_addr = f->end;
	list_add_tail_rcu(&last->list, kl_kernel.kprobe_blacklist);
}

/* ----------------------------------------------------------------- requests */

/* Per-CPU counters for each point, if they lie where an instruction can address them. */
static void make_hot(struct kl_splices *c)
{
	if (c->points > HOT_POINTS_MAX)
		return;
	c->hot = kcalloc(c->points, sizeof(*c->hot), GFP_KERNEL);
	for (u32 i = 0; c->hot && i < c->points; i++) {
		c->hot[i] = alloc_percpu(u64);
		if (c->hot[i] && (__force long)c->hot[i] == (s32)(__force long)c->hot[i])
			continue;
		while (1) {
			free_percpu(c->hot[i]);
			if (!i--)
				break;
		}
		kfree(c->hot);
		c->hot = NULL;
	}
}

static struct kl_splices *create(const struct kl_request *r)
{
	struct kl_splices *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	c->points = r->points;
	c->splice = kvcalloc(r->windows, sizeof(*c->splice), GFP_KERNEL);
	c->listed = kvcalloc(r->windows, sizeof(*c->listed), GFP_KERNEL);
	c->counter = kl_kernel_alloc(array_size(r->points, sizeof(*c->counter)));
	if (r->event)
		c->place = kl_kernel_alloc(array_size(r->points, sizeof(*c->place)));
	if (c->splice && c->listed && c->counter && (c->place || !r->event)) {
		memset(c->counter, 0, r->points * sizeof(*c->counter));
		make_hot(c);
		return c;
	}
	kl_splices_free(c);
	return NULL;
}

/* Add an accepted window: what will be written, and its patch. */
static int add_splice(struct kl_splices *c, const struct kl_request *r, u32 i,
		      const struct kl_function *f, struct kl_patches *p)
{
	const struct kl_abi_window *w = &r->window[i];
	struct kl_splice *sp = &c->splice[c->n];
	u32 offset = w->address - f->begin;
	const struct kl_text_step *step = &f->step[kl_function_step(f, offset)];
	int patch = step->moved ? (int)step->copy : kl_patches_add(p, r, i, f, c);

	if (patch < 0)
		return patch;
	sp->address = w->address;
	sp->patch = patch; /* plus the arena's address, once that is known */
	sp->slot = w->slot;
	sp->bytes = w->bytes;
	sp->tier = w->tier;
	sp->several = step->in.bytes < w->bytes;
	sp->moves = w->moves;
	memcpy(sp->original, f->text + offset, min_t(u32, w->bytes, sizeof(sp->original)));
	if (w->slot)
		memcpy(sp->slot_original, f->text + (w->slot - f->begin), KL_JUMP_BYTES);
	c->n++;
	return 0;
}

/* Refuse a window. The first refusal is reported for the whole request. */
static void refuse(struct kl_request *r, u32 i, u32 refusal)
{
	r->window[i].refusal = refusal;
	if (refusal && !r->refusal) {
		r->bad = i;
		r->refusal = refusal;
	}
}

/* Load the function of a window. Returns a negative errno, or a refusal. */
static int load_function(struct kl_splices *c, struct kl_function *f, unsigned long address)
{
	int error;

	if (f->end && address >= f->begin && address < f->end)
		return 0;
	cond_resched();
	error = kl_function_load(f, address);
	if (error) {
		f->end = 0;
		return error == -ENOENT ? KL_SPLICE_bounds : error;
	}
	kl_function_find_live(f);
	list_function(c, f);
	return 0;
}

/* Check what concerns all windows of a function together. */
static u32 check_together(const struct kl_request *r, u32 first, u32 last,
			  const struct kl_function *f)
{
	bool moves = r->window[first].moves;

	for (u32 i = first + 1; i < last; i++)
		if (r->window[i].moves != moves)
			return KL_SPLICE_form;
	/* Execution in a copy would bypass the windows of other requests. */
	if (moves ? kl_splices_taken(f->begin, f->end) : kl_splices_relocated(f->begin, f->end))
		return KL_SPLICE_taken;
	return 0;
}

/* Check all windows of a function: refuse some of them, or add the splices of all. */
static int check_function(struct kl_splices *c, struct kl_request *r, u32 first, u32 last,
			  struct kl_function *f, struct kl_patches *p)
{
	u32 together = check_together(r, first, last, f);
	bool right = true;
	int error = 0;

	for (u32 i = first; i < last; i++) {
		u32 refusal = together ?: kl_request_check_window(r, i, f);

		if (!refusal && r->window[i].slot)
			refusal = kl_request_check_slot(r, i, f);
		refuse(r, i, refusal);
		right &= !refusal;
	}
	if (right && r->window[first].moves) {
		u32 bad = first, refusal = kl_function_move(f, r, first, last, &bad);

		refuse(r, bad, refusal);
		if (!r->refusal)
			error = kl_patches_add_relocated(p, r, first, last, f, c);
	}
	for (u32 i = first; i < last && !r->refusal && !error; i++)
		error = add_splice(c, r, i, f, p);
	return error;
}

/* Check all windows of a request, function by function, so that all refusals are found. */
static int check_windows(struct kl_splices *c, struct kl_request *r, struct kl_patches *p)
{
	struct kl_function f = {};
	int error = 0;

	for (u32 i = 0, last; i < r->windows && error >= 0; i = last) {
		last = i + 1;
		error = load_function(c, &f, r->window[i].address);
		if (error > 0)
			refuse(r, i, error);
		if (error)
			continue;
		while (last < r->windows && r->window[last].address < f.end)
			last++;
		error = check_function(c, r, i, last, &f, p);
	}
	kl_function_free(&f);
	return min(error, 0);
}

/* Place the patches within reach of the text, and make them executable. */
static int place_patches(struct kl_splices *c, struct kl_request *r, struct kl_patches *p)
{
	int pages = PAGE_ALIGN(p->n) >> PAGE_SHIFT;

	c->arena_bytes = (size_t)pages << PAGE_SHIFT;
	c->arena = kl_kernel_alloc(c->arena_bytes);
	if (!c->arena)
		return -ENOMEM;
	memset(c->arena, INT3_INSN_OPCODE, c->arena_bytes);
	if (!kl_patches_place(p, c->arena)) {
		r->refusal = KL_SPLICE_far;
		return 0;
	}
	if (KL_CALL(set_memory_ro)((unsigned long)c->arena, pages) ||
	    KL_CALL(set_memory_x)((unsigned long)c->arena, pages))
		return -ENOMEM;
	for (u32 i = 0; i < c->n; i++)
		c->splice[i].patch += (unsigned long)c->arena;
	return 0;
}

/* Find the windows that contain slots. */
static void find_lenders(struct kl_splices *c)
{
	for (u32 i = 0; i < c->n; i++) {
		u32 at = c->splice[i].slot ? kl_splices_from(c, c->splice[i].slot + 1) : 0;
		struct kl_splice *owner = at ? &c->splice[at - 1] : NULL;

		if (owner && c->splice[i].slot < owner->address + owner->bytes) {
			owner->lends = true;
			/*
			 * An instruction may begin at the slot: tasks must leave the window first.
			 */
			owner->several = true;
		}
	}
}

static int write(struct kl_request *r, struct kl_splices *c)
{
	struct kl_patches p = {};
	int error = check_windows(c, r, &p);

	if (!error && !r->refusal)
		refuse(r, r->bad, kl_request_check_slots(r));
	if (!error && !r->refusal) {
		find_lenders(c);
		error = place_patches(c, r, &p);
	}
	kl_patches_free(&p);
	if (error || r->refusal)
		return error;
	kl_splices_publish(c);
	if (kl_splices_write(c, &r->bad))
		return 0;
	kl_splices_withdraw(c);
	refuse(r, r->bad, KL_SPLICE_text);
	return 0;
}

static int splice(struct kl_request *r, struct kl_splices *c, struct kl_error *why)
{
	int error;

	/*
	 * A task that checked kprobes' blacklist before this function was on it may still register
	 * a kprobe. Keep it from doing so between our read of a function and its splices, or the
	 * kprobe would continue in the middle of one.
	 */
	mutex_lock(kl_kernel.kprobe_mutex);
	error = write(r, c);
	mutex_unlock(kl_kernel.kprobe_mutex);
	if (!error && !r->refusal)
		return 0;
	kl_splices_unlist(c);
	/*
	 * Wait for users of the breakpoints or of kprobes' blacklist as they were. Expedited, as a
	 * caller may try many plans.
	 */
	synchronize_rcu_expedited();
	if (error)
		return kl_fail(why, error, "no memory for %u splices", r->windows);
	return -EINVAL;
}

static int start(const struct kl_request *r, struct kl_error *why)
{
	int error = kl_kernel_load(why);

	if (!error)
		error = kl_splices_handle_breakpoints(why);
	if (!error)
		error = kl_map_load(why);
	for (u32 i = 0; i < r->windows && !error; i++)
		error = kl_map_load_module(r->window[i].address, why);
	return error;
}

static const char *refusal_text(u32 refusal)
{
	static const char *const texts[] = {
#define KL_SPLICE_REFUSAL(id, name, help) [id] = help,
#include "../../uapi/block_refusals.def"
#undef KL_SPLICE_REFUSAL
	};

	return texts[refusal];
}

/* Report all refusals, so that the caller can leave out all of these windows at once. */
static void tell_refusals(const struct kl_request *r, const struct kl_abi_splice *params)
{
	struct kl_abi_window __user *to = u64_to_user_ptr(params->window);

	for (u32 i = 0; i < r->windows; i++)
		if (r->window[i].refusal && put_user(r->window[i].refusal, &to[i].refusal))
			break;
}

static void forget_request(struct kl_request *r)
{
	kvfree(r->event);
	kvfree(r->first);
	kvfree(r->point);
	kvfree(r->window);
}

/* Find the events that points fire. An unknown id leaves NULL, which is refused later. */
static int find_events(struct kl_request *r, struct kl_session *s, struct kl_error *why)
{
	for (u32 i = 0; i < r->points; i++) {
		if (r->point[i].instrument != KL_INSTRUMENT_FIRE)
			continue;
		if (!r->event)
			r->event = kvcalloc(r->points, sizeof(*r->event), GFP_KERNEL);
		if (!r->event)
			return kl_fail(why, -ENOMEM, "no memory for %u points", r->points);
		r->event[i] = kl_dynevent_block(s, r->point[i].event);
	}
	return 0;
}

static int read_request(struct kl_request *r, const struct kl_abi_splice *params,
			struct kl_error *why)
{
	int error;

	r->windows = params->windows;
	r->points = params->points;
	if (!r->windows || r->windows > KL_SPLICE_WINDOWS_MAX || r->points < r->windows ||
	    r->points > KL_SPLICE_REQUEST_POINTS_MAX)
		return kl_fail(
			why, -EINVAL,
			"%u patch sites, %u points: the limits are 1 to %u patch sites, %u points",
			r->windows, r->points, KL_SPLICE_WINDOWS_MAX, KL_SPLICE_REQUEST_POINTS_MAX);
	r->window = vmemdup_user(u64_to_user_ptr(params->window),
				 array_size(r->windows, sizeof(*r->window)));
	if (IS_ERR(r->window)) {
		error = PTR_ERR(r->window);
		r->window = NULL;
		return kl_fail(why, error, "cannot read the patch sites from user memory");
	}
	r->point = vmemdup_user(u64_to_user_ptr(params->point),
				array_size(r->points, sizeof(*r->point)));
	if (IS_ERR(r->point)) {
		error = PTR_ERR(r->point);
		r->point = NULL;
		return kl_fail(why, error, "cannot read the points from user memory");
	}
	r->first = kvcalloc(r->windows, sizeof(*r->first), GFP_KERNEL);
	if (!r->first)
		return kl_fail(why, -ENOMEM, "no memory for %u patch sites", r->windows);
	return 0;
}

static int add(struct kl_splice_set *set, struct kl_request *r, struct kl_error *why)
{
	int error = kl_splices_room(r->windows, r->points, splices_max, why);
	struct kl_splices *c;

	if (!error)
		error = start(r, why);
	if (error)
		return error;
	c = create(r);
	if (!c)
		return kl_fail(why, -ENOMEM, "no memory for %u splices", r->windows);
	error = splice(r, c, why);
	if (error)
		kl_splices_free(c);
	else
		kl_splices_keep(set, c);
	return error;
}

/**
 * kl_splices_add - splice all windows of a request, or none
 * @s: the session that the splices belong to
 * @params: the request; `first` is set, or on failure `bad` and `refusal`
 * @why: set on failure
 *
 * Context: the session's creator; may sleep.
 */
int kl_splices_add(struct kl_session *s, struct kl_abi_splice *params, struct kl_error *why)
{
	struct kl_splice_set *set;
	struct kl_request r = {};
	int error;

	params->bad = 0;
	params->refusal = 0;
	/* Lockdown may have been enabled since the session was created. */
	if (kl_rights_lack(s->may, kl_splice_needs()) || security_locked_down(LOCKDOWN_KPROBES))
		return kl_fail(why, -EPERM,
			       "splicing blocks needs CAP_SYS_ADMIN and no kernel lockdown");
	error = read_request(&r, params, why);
	if (!error)
		error = find_events(&r, s, why);
	if (!error)
		r.refusal = kl_request_check_form(&r);
	/*
	 * The holder of the lock may be creating the map of the kernel's text, which takes a
	 * while.
	 */
	if (!error && !r.refusal)
		error = mutex_lock_killable(&kl_splice_lock);
	if (!error && !r.refusal) {
		set = kl_splices_of(s);
		params->first = set ? set->points : 0;
		error = set ? add(set, &r, why) : kl_fail(why, -ENOMEM, "no memory for splices");
		kl_splices_rest();
		mutex_unlock(&kl_splice_lock);
	}
	params->bad = r.bad;
	params->refusal = r.refusal;
	if (r.refusal) {
		tell_refusals(&r, params);
		error = kl_fail(why, -EINVAL, "patch site %u at %pS is rejected: %s", r.bad,
				(void *)r.window[r.bad].address, refusal_text(r.refusal));
	}
	forget_request(&r);
	return error;
}
