/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Basic blocks of the running kernel: its live text taken apart into functions, blocks and
 * instructions, and where each block could be spliced or why not. docs/design/block.md has the
 * words and rules.
 */
#ifndef KERNLENS_BLOCK_H
#define KERNLENS_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/buffer.h>
#include <kernlens/public.h>
#include <kernlens/symbols.h>

KL_PUBLIC_BEGIN

#define KL_KCORE_PATH "/proc/kcore"

/* Why something has no splice. */
#define KL_BLOCK_REASON(id, name, help) KL_BLOCK_##name = id,
enum kl_block_reason {
#include <kernlens/block_reasons.def>
	KL_BLOCK_REASON_COUNT
};

#undef KL_BLOCK_REASON

/* How the first bytes of a splice divert. */
enum kl_block_tier {
	KL_TIER_NONE,
	KL_TIER_JUMP, /* 5 bytes, of the block or of dead padding behind it */
	KL_TIER_FALL, /* 5 bytes, on into a block that nothing else enters */
	KL_TIER_CALL, /* the target of a call in place */
	KL_TIER_BOUNCE, /* 2 bytes, to 5 bytes near */
	KL_TIER_TRAP, /* 1 byte */
	KL_TIER_COUNT
};

/* What a block's last instruction does. */
enum kl_block_end {
	KL_END_FALL, /* nothing: the next block is entered otherwise, too */
	KL_END_CALL,
	KL_END_BRANCH, /* conditional */
	KL_END_JUMP,
	KL_END_LEAVE, /* jumps to another function */
	KL_END_RETURN,
	KL_END_STOP, /* does not go on: ud2, a call that does not return */
	KL_END_COUNT
};

/* A set of general registers, by number, and of flags that an instrument would change. */
#define KL_LIVE_FLAGS (1u << 16)
#define KL_LIVE_ALL (KL_LIVE_FLAGS | 0xffffu)

/**
 * struct kl_block_instruction - an instruction of a function
 * @offset: from the function's start, bytes
 * @target: of a direct jump or call; 0: it has none
 * @reads: registers and flags (KL_LIVE_FLAGS) that it reads
 * @kills: that it writes as a whole
 * @block: the block that it is in; UINT32_MAX: padding that nothing reaches
 * @bytes: length
 * @end: what it does, if it is the last of its block
 * @reason: why it cannot be moved; 0: it can
 * @leader: something may jump to it
 * @nop: it does nothing
 */
struct kl_block_instruction {
	uint32_t offset;
	uint32_t reads;
	uint32_t kills;
	uint32_t block;
	uint64_t target;
	uint8_t bytes;
	uint8_t end;
	uint8_t reason;
	bool leader;
	bool nop;
};

/* Where an instrument is that must not stand before its block: on the only way there. */
enum kl_block_edge_kind {
	KL_EDGE_NONE, /* it stands there */
	KL_EDGE_NEXT, /* behind the branch that goes on to the block */
	KL_EDGE_TAKEN, /* where the jump goes that leads to it */
	KL_EDGE_COUNT
};

/**
 * struct kl_block_point - one of the two places of a block where an instrument may be
 * @tier: how; KL_TIER_NONE: not at all
 * @reason: then why not
 * @edge: enum kl_block_edge_kind: the window is of the block that leads here
 * @bytes: of the window
 * @begin: of the window, from the function's start, bytes
 * @place: of the instruction that the instrument is before, as @begin; KL_EDGE_TAKEN: of the jump
 * @slot: of a bounce, as @begin; may lie outside of the function
 */
struct kl_block_point {
	uint8_t tier;
	uint8_t reason;
	uint8_t edge;
	uint16_t bytes;
	uint32_t begin;
	uint32_t place;
	int32_t slot;
};

/**
 * struct kl_block - a basic block
 * @begin: first byte, from the function's start
 * @bytes: length
 * @first: index of its first instruction
 * @n: number of instructions
 * @end: enum kl_block_end
 * @entered: it is entered from elsewhere than the blocks of its function that name it
 * @alone: nothing enters it but the block before it, by going on
 * @next: index of the block that it goes on to, or UINT32_MAX
 * @taken: index of the block that its jump goes to, or UINT32_MAX
 * @live: registers and flags that are read behind its start before they are written
 * @pre: before its first instruction
 * @post: behind its last that does not jump
 */
struct kl_block {
	uint32_t begin;
	uint32_t bytes;
	uint32_t first;
	uint32_t n;
	uint8_t end;
	bool entered;
	bool alone;
	uint32_t next;
	uint32_t taken;
	uint32_t live;
	struct kl_block_point pre;
	struct kl_block_point post;
};

/**
 * struct kl_block_function - a function of the kernel
 * @address: of its first byte
 * @bytes: to the next symbol
 * @name: the first of its symbols, a function's if there is one
 * @module: that it belongs to; empty: none
 * @reason: why none of its blocks has a splice; 0: some may
 */
struct kl_block_function {
	uint64_t address;
	uint32_t bytes;
	const char *name;
	const char *module;
	uint8_t reason;
};

/**
 * struct kl_block_edge - a way through a table of jumps
 * @from: index of the block that ends with the jump
 * @to: index of one that it may go to
 */
struct kl_block_edge {
	uint32_t from;
	uint32_t to;
};

/**
 * struct kl_block_graph - a function taken apart
 * @function: which
 * @text: its bytes
 * @instruction: all, by address
 * @instructions: how many
 * @block: blocks, by address
 * @blocks: how many
 * @edge: of a program: where jumps through tables go, by @from, each once
 * @edges: how many
 * @indirect: of a program: it has a jump whose targets are not known
 */
struct kl_block_graph {
	struct kl_block_function function;
	const uint8_t *text;
	struct kl_block_instruction *instruction;
	uint32_t instructions;
	struct kl_block *block;
	uint32_t blocks;
	struct kl_block_edge *edge;
	uint32_t edges;
	bool indirect;
};

/**
 * struct kl_block_survey - the whole kernel, added up
 * @functions: all; @regular: of them, those that are not excluded as a whole
 * @blocks: of regular functions; @bytes: of the blocks
 * @instructions: of the blocks
 * @pre: by tier; @post: the same
 * @pre_edge: by enum kl_block_edge_kind
 * @pre_reason: blocks that have no splice before, by reason; @post_reason: behind
 * @excluded: functions by reason
 * @by_size: blocks of 1, 2 to 4, 5 to 9, and more bytes
 * @flags_live: blocks at whose start flags are live; @registers_live: all general registers
 * @never: functions that do not return
 */
struct kl_block_survey {
	uint64_t functions;
	uint64_t regular;
	uint64_t blocks;
	uint64_t bytes;
	uint64_t instructions;
	uint64_t pre[KL_TIER_COUNT];
	uint64_t post[KL_TIER_COUNT];
	uint64_t pre_edge[KL_EDGE_COUNT];
	uint64_t pre_reason[KL_BLOCK_REASON_COUNT];
	uint64_t post_reason[KL_BLOCK_REASON_COUNT];
	uint64_t excluded[KL_BLOCK_REASON_COUNT];
	uint64_t by_size[4];
	uint64_t flags_live;
	uint64_t registers_live;
	uint64_t never;
};

struct kl_blocks;

/**
 * kl_block_reason_name - a reason's name
 * @reason: enum kl_block_reason
 */
const char *kl_block_reason_name(unsigned int reason);

/**
 * kl_block_reason_help - a reason in words
 * @reason: enum kl_block_reason
 */
const char *kl_block_reason_help(unsigned int reason);

/**
 * kl_block_tier_name - a tier's name
 * @tier: enum kl_block_tier
 */
const char *kl_block_tier_name(unsigned int tier);

/**
 * kl_block_edge_name - the name of where an instrument is
 * @edge: enum kl_block_edge_kind
 */
const char *kl_block_edge_name(unsigned int edge);

/**
 * kl_block_end_name - the name of what a block ends with
 * @end: enum kl_block_end
 */
const char *kl_block_end_name(unsigned int end);

/**
 * kl_blocks_open - read a kernel's text and what is known about it
 * @core: ELF core file of it; NULL: the running kernel's, /proc/kcore
 * @symbols: of the same kernel; must outlive what is opened
 *
 * Goes through the whole text once, which takes some seconds. Needs CAP_SYS_RAWIO for the
 * running kernel's. Returns NULL with errno and an error text.
 */
struct kl_blocks *kl_blocks_open(const char *core, const struct kl_symbols *symbols);

/**
 * kl_blocks_close - free it
 * @blocks: or NULL
 */
void kl_blocks_close(struct kl_blocks *blocks);

/**
 * kl_blocks_add_module - the functions of a loaded module, too
 * @blocks: a kernel's, opened
 * @module: its name
 *
 * They come behind all that there are. Needs the kernel's types (BTF). Does nothing for a module
 * that is there. Returns 0 or a negative errno with an error text.
 */
int kl_blocks_add_module(struct kl_blocks *blocks, const char *module);

/**
 * kl_blocks_functions - how many functions the text has, with those of modules that were added
 * @blocks: opened
 */
size_t kl_blocks_functions(const struct kl_blocks *blocks);

/**
 * kl_blocks_function - one of them
 * @blocks: opened
 * @index: below kl_blocks_functions()
 * @function: out
 */
void kl_blocks_function(const struct kl_blocks *blocks, size_t index,
			struct kl_block_function *function);

/**
 * kl_blocks_find - the function that an address is in
 * @blocks: opened
 * @address: of the kernel's text
 *
 * Returns its index, or -ENOENT with an error text.
 */
long kl_blocks_find(const struct kl_blocks *blocks, uint64_t address);

/**
 * kl_blocks_graph - take a function apart
 * @blocks: opened
 * @index: below kl_blocks_functions()
 * @graph: out; free it with kl_block_graph_free()
 *
 * A function that is not instructions from start to end has those up to where it is not, and
 * the reason. Returns 0, or -ENOMEM with an error text.
 */
int kl_blocks_graph(struct kl_blocks *blocks, size_t index, struct kl_block_graph *graph);

/**
 * kl_block_graph_free - free what kl_blocks_graph() has allocated
 * @graph: or all zero
 */
void kl_block_graph_free(struct kl_block_graph *graph);

/**
 * kl_block_print_instruction - an instruction in the words of the kernel's assembler
 * @blocks: opened
 * @graph: of it
 * @index: below @graph->instructions
 * @buffer: appended to; targets of jumps and calls as symbols
 */
void kl_block_print_instruction(const struct kl_blocks *blocks, const struct kl_block_graph *graph,
				uint32_t index, struct kl_buffer *buffer);

/**
 * kl_blocks_survey - add up the whole kernel
 * @blocks: opened
 * @survey: out
 *
 * Takes some seconds. Returns 0, or -ENOMEM with an error text.
 */
int kl_blocks_survey(struct kl_blocks *blocks, struct kl_block_survey *survey);

KL_PUBLIC_END

#endif /* KERNLENS_BLOCK_H */
