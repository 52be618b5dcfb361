/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Splices: windows of the kernel's text that are diverted to patches. A session's requests enter
 * through kl_splices_add (splice.c), are checked (check.c), get patches (patch.c), and are written
 * and removed (write.c). docs/design/block.md describes the order, and what pairs with what.
 */
#ifndef KL_SPLICE_SPLICE_H
#define KL_SPLICE_SPLICE_H

#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/types.h>

#include "../../uapi/kernlens.h"

struct kl_block_place;
struct kl_dynevent;
struct kl_error;
struct kl_function;
struct kl_session;

#define KL_JUMP_BYTES 5
#define KL_BOUNCE_BYTES 2

/**
 * struct kl_splice - a window
 * @address: of its first byte
 * @patch: address that it is diverted to
 * @slot: of a bounce: address of the jump that it leads to; else 0
 * @bytes: length
 * @tier: enum kl_splice_tier
 * @several: it has more than one instruction: a task may be inside
 * @lends: it contains slots
 * @probed: it has a kprobe: it is lost
 * @leaves: it is being removed
 * @gone: it has been removed
 * @moves: its function is moved
 * @original: original bytes, as many as the tier changes
 * @written: bytes that replace them
 * @slot_original: original bytes of the slot
 */
struct kl_splice {
	unsigned long address;
	unsigned long patch;
	unsigned long slot;
	u8 bytes;
	u8 tier;
	bool several;
	bool lends;
	bool probed;
	bool leaves;
	bool gone;
	bool moves;
	u8 original[KL_JUMP_BYTES];
	u8 written[KL_JUMP_BYTES];
	u8 slot_original[KL_JUMP_BYTES];
};

/**
 * struct kl_splices - the windows of one request
 * @list: in its set
 * @published: in the list that breakpoints search, as long as there may be any
 * @n: number of windows
 * @splice: the windows, sorted by address
 * @points: number of points
 * @counter: their counters, in memory near the text
 * @place: of the points that fire, or NULL; near the text, too
 * @hot: for few points, per-CPU counters, or NULL if @counter is used
 * @arena: the patches
 * @arena_bytes: its size
 * @listed: functions that kprobes must leave alone
 * @listed_n: their number
 */
struct kl_splices {
	struct list_head list;
	struct list_head published;
	u32 n;
	struct kl_splice *splice;
	u32 points;
	u64 *counter;
	struct kl_block_place *place;
	u64 __percpu **hot;
	u8 *arena;
	size_t arena_bytes;
	struct kprobe_blacklist_entry *listed;
	u32 listed_n;
};

/**
 * struct kl_splice_set - the splices of a session
 * @list: in the list of all sets
 * @session: the session, which stays if windows are lost
 * @splices: the splices, by request
 * @points: of all requests; a point's number does not change during the session
 * @held: windows could not be removed: nothing is freed, the session and this module stay
 */
struct kl_splice_set {
	struct list_head list;
	struct kl_session *session;
	struct list_head splices;
	u32 points;
	bool held;
};

/**
 * struct kl_request - a request that is being handled
 * @windows: number of windows
 * @window: the windows
 * @points: number of points
 * @point: the points
 * @first: index of each window's first point
 * @event: the event that each point fires, or NULL; NULL if no point fires
 * @bad: the invalid window
 * @refusal: enum kl_splice_refusal, or 0
 */
struct kl_request {
	u32 windows;
	struct kl_abi_window *window;
	u32 points;
	struct kl_abi_point *point;
	u32 *first;
	const struct kl_dynevent **event;
	u32 bad;
	u32 refusal;
};

extern struct mutex kl_splice_lock;

/* splice.c */
int kl_splices_add(struct kl_session *s, struct kl_abi_splice *params, struct kl_error *why);
void kl_splices_unlist(struct kl_splices *c);

/* spliced.c */
extern struct notifier_block kl_splice_die_block;

int kl_splices_handle_breakpoints(struct kl_error *why);
int kl_splices_room(u32 n, u32 points, u32 most, struct kl_error *why);
struct kl_splice_set *kl_splices_of(struct kl_session *s);
void kl_splices_keep(struct kl_splice_set *set, struct kl_splices *c);
void kl_splices_free(struct kl_splices *c);
void kl_splices_rest(void);
u32 kl_splices_from(const struct kl_splices *c, unsigned long address);
void kl_splices_restore(unsigned long begin, unsigned long end, u8 *text);
bool kl_splices_taken(unsigned long begin, unsigned long end);
bool kl_splices_relocated(unsigned long begin, unsigned long end);
void kl_splices_remove(struct kl_session *s, struct kl_abi_unsplice *result);
int kl_splices_counts(struct kl_session *s, struct kl_abi_splice_counts *counts,
		      struct kl_error *why);
void kl_splices_close(struct kl_session *s);
void kl_splices_destroy(struct kl_session *s);
int kl_splices_init(void);
void kl_splices_deinit(void);

/* check.c */
u32 kl_request_check_form(struct kl_request *r);
u32 kl_request_check_window(const struct kl_request *r, u32 i, const struct kl_function *f);
u32 kl_request_check_slot(const struct kl_request *r, u32 i, const struct kl_function *f);
u32 kl_request_check_slots(struct kl_request *r);

/* relocate.c */
u32 kl_function_move(struct kl_function *f, const struct kl_request *r, u32 first, u32 last,
		     u32 *bad);

/* Patches under construction: bytes, and distances in them that depend on their location. */
struct kl_fixup {
	u32 at; /* offset of the 4 bytes */
	u32 end; /* end of their instruction */
	bool inside; /* the target is among the patches */
	unsigned long target; /* address, or offset among the patches */
};

struct kl_patches {
	u8 *bytes;
	u32 n;
	size_t room;
	struct kl_fixup *fixup;
	u32 fixups;
	size_t fixup_room;
};

/* patch.c */
int kl_patches_add(struct kl_patches *p, const struct kl_request *r, u32 i,
		   const struct kl_function *f, const struct kl_splices *to);
int kl_patches_add_relocated(struct kl_patches *p, const struct kl_request *r, u32 first, u32 last,
			     struct kl_function *f, const struct kl_splices *to);
bool kl_patches_place(struct kl_patches *p, u8 *at);
void kl_patches_free(struct kl_patches *p);

/* write.c */
bool kl_splices_write(struct kl_splices *c, u32 *bad);
bool kl_splices_probed(struct kl_splice_set *set);
void kl_splices_unwrite(struct kl_splice_set *set);
void kl_splices_publish(struct kl_splices *c);
void kl_splices_withdraw(struct kl_splices *c);
const struct kl_splice *kl_splices_find(unsigned long address);

#endif /* KL_SPLICE_SPLICE_H */
