/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by windows.c and relocate.c, which make windows from targets, and splices.c, which has the
 * module splice them.
 */
#ifndef KL_LIB_SPLICES_H
#define KL_LIB_SPLICES_H

#include <kernlens/splice.h>

#define KL_NO_POINT UINT32_MAX

/* A window, and its result. */
struct kl_splice_window {
	struct kl_abi_window abi;
	uint32_t first; /* index of its first instrument; they are consecutive */
	uint8_t refusal; /* enum kl_splice_refusal */
};

/* An instrument in a window. */
struct kl_splice_instrument {
	struct kl_abi_point abi;
	uint32_t point; /* KL_NO_POINT: the window only lends space */
	uint32_t number; /* the module's number; KL_NO_POINT: not installed */
};

/* A range of consecutive elements. */
struct kl_splice_span {
	uint32_t first;
	uint32_t n;
};

/*
 * A function's windows, which are spliced in one request: those of the relocated function, as long
 * as it is to be relocated, else those in place.
 */
struct kl_splice_group {
	uint64_t address;
	struct kl_splice_span windows;
	struct kl_splice_span in_place; /* used if the others are refused */
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
	uint8_t *reason; /* for each point, if its function stays in place */
	uint32_t *number; /* for each point, the module's number */
	size_t points;
	bool moves; /* functions may be relocated */
	uint32_t numbers; /* assigned by the module so far */
};

/* A point to be instrumented. */
struct kl_splice_need {
	struct kl_block_point at; /* its window; no bytes: none, reached in the copy */
	uint32_t place; /* offset of the instrument from the function's start */
	uint32_t point; /* KL_NO_POINT: only the window is needed */
	uint8_t instrument;
	uint32_t event;
};

/*
 * windows.c: make windows of a function's targets, whose points begin at @first, or of needs.
 * Returns 0 or -ENOMEM. Points of windows that become too large get the reason no_room.
 * kl_splice_add_need() adds to a list of @n needs with room for two more, and returns the new
 * number.
 */
int kl_splice_windows(struct kl_splices *s, const struct kl_block_graph *g,
		      const struct kl_splice_target *target, uint32_t n, uint32_t first);
int kl_splice_windows_of(struct kl_splices *s, const struct kl_block_graph *g,
			 struct kl_splice_need *need, uint32_t n, bool moves);
uint32_t kl_splice_add_need(const struct kl_block_graph *g, struct kl_splice_need *list, uint32_t n,
			    struct kl_splice_need need);

/*
 * relocate.c: the same for a relocated function. Returns 1 if windows were made, 0 if relocating is
 * not possible or not better, or -ENOMEM.
 */
int kl_splice_relocated(struct kl_splices *s, const struct kl_block_graph *g,
			const struct kl_splice_target *target, uint32_t n, uint32_t first);

#endif /* KL_LIB_SPLICES_H */
