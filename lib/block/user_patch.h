/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Splices in programs: where they fit (user_plan.c), and what they jump to (user_patch.c). They are
 * created with the addresses of the file and can be placed anywhere in memory. Feeds
 * splice/process_splice.c.
 */
#ifndef KL_LIB_BLOCK_USER_PATCH_H
#define KL_LIB_BLOCK_USER_PATCH_H

#include <stdbool.h>

#include <kernlens/block.h>

#define KL_PAGE_BYTES 4096ull

struct kl_blocks;

/* Call once, before kl_user_plan(): find where the text may be entered. Returns 0 or -ENOMEM. */
int kl_user_entries(struct kl_blocks *b);
/* Is there an entry in [@begin, @end)? */
bool kl_user_is_entered(const struct kl_blocks *b, uint64_t begin, uint64_t end);

/* Fill in `pre` and `post` of all blocks, which kl_blocks_graph() has filled in for uprobes. */
int kl_user_plan(const struct kl_blocks *b, struct kl_block_graph *graph);

/* What the instrument has done to the stack and flags so far, if a thread stops inside it. */
enum kl_user_undo {
	KL_UNDO_NOTHING,
	KL_UNDO_ZONE, /* moved the stack pointer past the red zone */
	KL_UNDO_FLAGS, /* ... and pushed the flags */
	KL_UNDO_CHANGED, /* ... and changed the flags */
	KL_UNDO_RETURN, /* pushed a call's return address */
};

/* An instruction of a patch, by @at: where a thread at it would be without the patch. */
struct kl_user_step {
	uint32_t at;
	uint8_t undo;
	uint64_t resume; /* address in the file */
};

enum kl_user_fixup_kind {
	KL_FIXUP_DISTANCE, /* distance to an address in the file */
	KL_FIXUP_COUNTER, /* distance to a counter, by number */
	KL_FIXUP_LOW, /* half of an address in the file; from here on absolute, not a distance */
	KL_FIXUP_HIGH,
	KL_FIXUP_SESSION, /* the session's id */
};

struct kl_user_fixup {
	uint32_t at; /* offset of the 4 bytes */
	uint32_t end; /* where a distance counts from: mostly the instruction's end */
	uint8_t kind;
	uint64_t target;
};

/* A write to the text: a jump to a patch, or to a slot. */
struct kl_user_write {
	uint64_t address;
	uint32_t patch; /* offset of the patch; unused for the first bytes of a bounce */
	uint8_t bytes;
	bool call; /* changes the target of a call */
	uint8_t old[5];
	uint8_t bounce[2]; /* if @bytes is 2 */
};

/* A diverted window: threads between its first byte and its end are moved to the patch. */
struct kl_user_window {
	uint64_t begin;
	uint64_t end;
	const uint8_t *text; /* its bytes; valid as long as the file is open */
	uint32_t first; /* index of the patch's first step */
	uint32_t n;
};

struct kl_user_patches {
	uint8_t *code;
	size_t bytes, room;
	struct kl_user_fixup *fixup;
	size_t fixups, fixup_room;
	struct kl_user_step *step;
	size_t steps, step_room;
	struct kl_user_write *write; /* in the order of writing; undone in reverse */
	size_t writes, write_room;
	struct kl_user_window *window;
	size_t windows, window_room;
	bool moves_calls; /* calls are replaced by pushes and jumps */
	bool fires;
};

/* An instrument in a window. */
struct kl_user_point {
	uint32_t offset; /* from the start of the function */
	uint32_t number; /* number of the counter, or id of the event */
	uint32_t text; /* the original text there, for stack traces */
	bool fires; /* emits the event, by a trap; otherwise it counts */
	bool flags; /* flags are live there */
};

/*
 * Add the patch of a window: @at->bytes from @at->begin on, relative to the function. @at->slot is
 * the slot of a bounce, as in a plan. @point: sorted by offset. Add windows that lend slots before
 * those that bounce. Returns 0 or -ENOMEM.
 */
int kl_user_patch_add(struct kl_user_patches *p, const struct kl_blocks *b,
		      const struct kl_block_graph *g, const struct kl_block_point *at,
		      const struct kl_user_point *point, uint32_t points);

/* Call after adding all patches: sorts the windows by address. */
void kl_user_patches_sort(struct kl_user_patches *p);

/* Where the patches will be: in memory, the file's addresses are offset by @bias. */
struct kl_user_place {
	uint64_t base;
	uint64_t bias;
	uint64_t counter; /* address of the first counter */
	uint32_t session; /* the session that records the events */
};

/* Create the code for a location: @code, of @p->bytes. False: something is out of reach. */
bool kl_user_patches_place(const struct kl_user_patches *p, uint8_t *code,
			   const struct kl_user_place *place);

/* The bytes of a write: @w->bytes of @to. */
bool kl_user_write_make(const struct kl_user_write *w, uint64_t patches, uint64_t bias,
			uint8_t to[5]);

/* The step of a patch at an offset; NULL: no instruction begins there. */
const struct kl_user_step *kl_user_step_at(const struct kl_user_patches *p, uint64_t offset);

/*
 * The offset in the patches where a thread inside a window continues. -ENOENT: the thread is in no
 * window; -EINVAL: it is at no instruction boundary.
 */
int64_t kl_user_enter(const struct kl_user_patches *p, uint64_t address);

void kl_user_patches_free(struct kl_user_patches *p);

#endif /* KL_LIB_BLOCK_USER_PATCH_H */
