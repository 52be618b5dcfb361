/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between splice_windows.c, which makes windows of targets, and splices.c, which has the module
 * splice them.
 */
#ifndef KL_LIB_SPLICES_H
#define KL_LIB_SPLICES_H

#include <kernlens/splice.h>

#define KL_NO_POINT UINT32_MAX

/* A window, and what has become of it. */
struct kl_splice_window {
	struct kl_abi_window abi;
	uint32_t first; /* of its instruments, which follow each other */
	uint8_t refusal; /* enum kl_splice_refusal */
};

/* An instrument in a window. */
struct kl_splice_instrument {
	struct kl_abi_point abi;
	uint32_t point; /* KL_NO_POINT: the window only lends room */
	uint32_t number; /* of the module; KL_NO_POINT: it is not there */
};

/* Some that follow each other. */
struct kl_splice_span {
	uint32_t first;
	uint32_t n;
};

/*
 * A function's windows, which are spliced in one request: as it is moved, while it is to be, else
 * as it stays.
 */
struct kl_splice_group {
	uint64_t address;
	struct kl_splice_span windows;
	struct kl_splice_span in_place; /* that it has if the others are refused */
	struct kl_splice_span points;
	bool moved;
};

struct kl_splices {
	struct kl_splice_window *window;
	size_t windows;
	size_t window_room;
	struct kl_splice_instrument *instrument;
	size_t instruments;
	size_t instrument_room;
	struct kl_splice_group *group;
	size_t groups;
	size_t group_room;
	struct kl_splice_point *point;
	uint8_t *reason; /* of each, if its function stays */
	uint32_t *number; /* of each point, as above */
	size_t points;
	bool moves; /* functions may be moved */
	uint32_t numbers; /* that the module has given so far */
};

/* One point that is wanted. */
struct kl_splice_need {
	struct kl_block_point at; /* its window; no bytes: it has none, the copy goes through it */
	uint32_t place; /* of the instrument, from the function's start */
	uint32_t point; /* KL_NO_POINT: only the window is needed */
	uint8_t instrument;
	uint32_t event;
};

/*
 * splice_windows.c: make windows of a function's targets, whose points begin at @first. 0 or
 * -ENOMEM. And windows of needs; points of those that become too large have the reason no_room.
 * Needs are added to a list of @n, which has room for two more; returns how many there are then.
 */
int kl_splice_windows(struct kl_splices *s, const struct kl_block_graph *g,
		      const struct kl_splice_target *target, uint32_t n, uint32_t first);
int kl_splice_windows_of(struct kl_splices *s, const struct kl_block_graph *g,
			 struct kl_splice_need *need, uint32_t n, bool moves);
uint32_t kl_splice_add_need(const struct kl_block_graph *g, struct kl_splice_need *list, uint32_t n,
			    struct kl_splice_need need);

/*
 * splice_relocated.c: the same for a function that is moved. 1: they are made, and it is worth it; 0:
 * there are none; or -ENOMEM.
 */
int kl_splice_relocated(struct kl_splices *s, const struct kl_block_graph *g,
			const struct kl_splice_target *target, uint32_t n, uint32_t first);

#endif /* KL_LIB_SPLICES_H */
