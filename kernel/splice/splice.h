/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Splices: windows of the kernel's text that are diverted to patches. A session's requests come
 * through kl_splices_add (splice.c), are checked (check.c), get patches (patch.c), and are written
 * and taken back (write.c). docs/design/block.md has the order and who pairs with whom.
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
 * @patch: address where it goes
 * @slot: of a bounce: address of the jump that it goes over; else 0
 * @bytes: length
 * @tier: enum kl_splice_tier
 * @several: it has more than one instruction: a task may be inside
 * @lends: slots are in it
 * @probed: a kprobe has come to it: it is lost
 * @leaves: it is being taken back
 * @gone: it has been taken back
 * @moves: its function is moved
 * @original: bytes that were there; as many as the tier changes
 * @written: bytes that are there now
 * @slot_original: bytes that were in the slot
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
 * struct kl_splices - windows of one request
 * @list: in its set
 * @published: in the list that breakpoints look at, while there may be any
 * @n: windows
 * @splice: they, by address
 * @points: counters
 * @counter: they; in memory near the text
 * @place: of the points that fire, or NULL; there, too
 * @hot: of few points a counter for each processor, or NULL: then @counter's is used
 * @arena: patches
 * @arena_bytes: its size
 * @listed: functions that kprobes must leave alone
 * @listed_n: how many
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
 * struct kl_splice_set - splices of a session
 * @list: of all sets
 * @session: whose; it stays if windows are lost
 * @splices: they, by request
 * @points: of all together; a point's number is the same for as long as the session lives
 * @held: windows could not be taken back: nothing is freed, the session and this module stay
 */
struct kl_splice_set {
	struct list_head list;
	struct kl_session *session;
	struct list_head splices;
	u32 points;
	bool held;
};

/**
 * struct kl_request - a request while it is looked at
 * @windows: how many
 * @window: they
 * @points: how many
 * @point: they
 * @first: index of each window's first point
 * @event: what each point fires, or NULL; NULL: none does
 * @bad: window at fault
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

/* Patches being made: bytes, and numbers in them that depend on where they will lie. */
struct kl_fixup {
	u32 at; /* of the 4 bytes */
	u32 end; /* of their instruction */
	bool inside; /* the target is among the patches */
	unsigned long target; /* address, or where it is among them */
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
