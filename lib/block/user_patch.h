/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Splices of programs: where they fit (user_plan.c), and what is jumped to (user_patch.c). Made
 * with the addresses of the file, for any place in memory. Feeds splice/process_splice.c.
 */
#ifndef KL_LIB_BLOCK_USER_PATCH_H
#define KL_LIB_BLOCK_USER_PATCH_H

#include <stdbool.h>

#include <kernlens/block.h>

#define KL_PAGE_BYTES 4096ull

struct kl_blocks;

/* Once, before kl_user_plan(): where the text may be entered. Returns 0 or -ENOMEM. */
int kl_user_entries(struct kl_blocks *b);
/* Is one of these from @begin to before @end? */
bool kl_user_is_entered(const struct kl_blocks *b, uint64_t begin, uint64_t end);

/* Fill in `pre` and `post` of all blocks, which kl_blocks_graph() has filled in for uprobes. */
int kl_user_plan(const struct kl_blocks *b, struct kl_block_graph *graph);

/* What the instrument has done to stack and flags, where a thread is between two of its parts. */
enum kl_user_undo {
	KL_UNDO_NOTHING,
	KL_UNDO_ZONE, /* past the red zone */
	KL_UNDO_FLAGS, /* and pushed the flags */
	KL_UNDO_CHANGED, /* and changed them */
	KL_UNDO_RETURN, /* pushed where a call returns to */
};

/* Each instruction of a patch, by @at: where a thread that is there would be without. */
struct kl_user_step {
	uint32_t at;
	uint8_t undo;
	uint64_t resume; /* address of the file */
};

enum kl_user_fixup_kind {
	KL_FIXUP_DISTANCE, /* to an address of the file */
	KL_FIXUP_COUNTER, /* distance to a counter, by number */
	KL_FIXUP_LOW, /* of an address of the file; from here on a number, no distance */
	KL_FIXUP_HIGH,
	KL_FIXUP_SESSION, /* its id */
};

struct kl_user_fixup {
	uint32_t at; /* 4 bytes */
	uint32_t end; /* where the distance is from: mostly the instruction's end */
	uint8_t kind;
	uint64_t target;
};

/* What is written to the text: a jump to a patch, or to a slot. */
struct kl_user_write {
	uint64_t address;
	uint32_t patch; /* where it begins; of a bounce's first bytes not used */
	uint8_t bytes;
	bool call; /* the target of a call */
	uint8_t old[5];
	uint8_t bounce[2]; /* if @bytes is 2 */
};

/* A window that has been diverted: threads between its first byte and its end are sent on. */
struct kl_user_window {
	uint64_t begin;
	uint64_t end;
	const uint8_t *text; /* its bytes, as long as what they are from is open */
	uint32_t first; /* of the patch's steps */
	uint32_t n;
};

struct kl_user_patches {
	uint8_t *code;
	size_t bytes, room;
	struct kl_user_fixup *fixup;
	size_t fixups, fixup_room;
	struct kl_user_step *step;
	size_t steps, step_room;
	struct kl_user_write *write; /* in this order; taken back in the other */
	size_t writes, write_room;
	struct kl_user_window *window;
	size_t windows, window_room;
	bool moves_calls; /* as pushes and jumps */
	bool fires;
};

/* An instrument in a window. */
struct kl_user_point {
	uint32_t offset; /* from the function's start */
	uint32_t number; /* of the counter, or the event's id */
	uint32_t text; /* the first bytes that are there */
	bool fires; /* the event, by a trap; otherwise it counts */
	bool flags; /* are live there */
};

/*
 * Add a window's patch: @bytes from @begin on, offsets of the function. @slot: of a bounce, as in a
 * plan. @point: by offset. Windows that lend slots come before those that bounce. 0 or -ENOMEM.
 */
int kl_user_patch_add(struct kl_user_patches *p, const struct kl_blocks *b,
		      const struct kl_block_graph *g, const struct kl_block_point *at,
		      const struct kl_user_point *point, uint32_t points);

/* Once all are there: windows by address. */
void kl_user_patches_sort(struct kl_user_patches *p);

/* Where patches are going to lie: the file's addresses are @bias further than in the file. */
struct kl_user_place {
	uint64_t base;
	uint64_t bias;
	uint64_t counter; /* the first */
	uint32_t session; /* whose events are fired */
};

/* The code for a place: @code, of @p->bytes. False: something is too far away. */
bool kl_user_patches_place(const struct kl_user_patches *p, uint8_t *code,
			   const struct kl_user_place *place);

/* What a write puts there: @bytes of @to. */
bool kl_user_write_make(const struct kl_user_write *w, uint64_t patches, uint64_t bias,
			uint8_t to[5]);

/* The step of a patch at an offset; NULL: it is no instruction's. */
const struct kl_user_step *kl_user_step_at(const struct kl_user_patches *p, uint64_t offset);

/*
 * Where in the patches a thread goes on that is inside a window. -ENOENT: it is not, -EINVAL: it is
 * where no instruction begins.
 */
int64_t kl_user_enter(const struct kl_user_patches *p, uint64_t address);

void kl_user_patches_free(struct kl_user_patches *p);

#endif /* KL_LIB_BLOCK_USER_PATCH_H */
