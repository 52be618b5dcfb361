/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between splice_windows.c, which makes windows of wishes, and splices.c, which has the module
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

/* Windows of a function, which are spliced in one request. */
struct kl_splice_group {
	uint64_t address;
	uint32_t first;
	uint32_t n;
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
	uint32_t *number; /* of each point, as above */
	size_t points;
	uint32_t numbers; /* that the module has given so far */
};

/* Make windows of a function's wishes, whose points begin at @first. 0 or -ENOMEM. */
int kl_splice_windows(struct kl_splices *s, const struct kl_block_graph *g,
		      const struct kl_splice_wish *wish, uint32_t n, uint32_t first);

#endif /* KL_LIB_SPLICES_H */
