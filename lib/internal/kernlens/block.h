/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Basic blocks of the running kernel: decodes its live text into functions, blocks and
 * instructions, and determines where each block can be spliced, or why it cannot.
 * docs/design/block.md explains the terms and rules.
 */
#ifndef KERNLENS_BLOCK_H
#define KERNLENS_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/buffer.h>
#include <kernlens/symbols.h>

#define KL_KCORE_PATH "/proc/kcore"

/* Why a function or block has no splice. */
#define KL_BLOCK_REASON(id, name, help) KL_BLOCK_##name = id,
enum kl_block_reason {
#include <kernlens/block_reasons.def>
	KL_BLOCK_REASON_COUNT
};

#undef KL_BLOCK_REASON

/* How the first bytes of a patch site divert execution. */
enum kl_block_tier {
	KL_TIER_NONE,
	KL_TIER_JUMP, /* 5 bytes: of the block, or of unused padding after it */
	KL_TIER_FALL, /* 5 bytes, extending into a block that is entered only from this one */
	KL_TIER_CALL, /* the target of a call, changed in place */
	KL_TIER_BOUNCE, /* 2 bytes, jumping to a 5-byte jump nearby */
	KL_TIER_TRAP, /* 1 byte: a breakpoint */
	KL_TIER_COUNT
};

/* What a block's last instruction does. */
enum kl_block_end {
	KL_END_FALL, /* execution continues: something else can enter the next block */
	KL_END_CALL,
	KL_END_BRANCH, /* conditional */
	KL_END_JUMP,
	KL_END_LEAVE, /* a jump to another function */
	KL_END_RETURN,
	KL_END_STOP, /* execution ends: ud2, or a call that does not return */
	KL_END_COUNT
};

/*
 * A set of general registers, one bit each by number, and the flags that an instrument would
 * change.
 */
#define KL_LIVE_FLAGS (1u << 16)
#define KL_LIVE_ALL (KL_LIVE_FLAGS | 0xffffu)

/**
 * struct kl_block_instruction - an instruction of a function
 * @offset: bytes from the start of the function
 * @target: of a direct jump or call; 0: none
 * @reads: registers and flags (KL_LIVE_FLAGS) that it reads
 * @kills: registers and flags that it overwrites completely
 * @block: index of its block; UINT32_MAX: padding that cannot be reached
 * @bytes: length
 * @end: enum kl_block_end: what it does if it is the last of its block
 * @reason: enum kl_block_reason: why it cannot be moved; 0: it can
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

/*
 * Where the instrument of a block is that cannot have one at its start: on the only edge that
 * leads to the block.
 */
enum kl_block_edge_kind {
	KL_EDGE_NONE, /* it is at the start of the block */
	KL_EDGE_NEXT, /* after the branch that continues with the block */
	KL_EDGE_TAKEN, /* on the path of the jump that leads to the block */
	KL_EDGE_COUNT
};

/**
 * struct kl_block_point - one of the two points of a block for an instrument: before or after it
 * @tier: enum kl_block_tier; KL_TIER_NONE: no instrument is possible
 * @reason: enum kl_block_reason: why not
 * @edge: enum kl_block_edge_kind; other than KL_EDGE_NONE, the patch site is in the block that
 *        leads here
 * @bytes: size of the patch site
 * @begin: start of the patch site, in bytes from the start of the function
 * @place: the instruction that the instrument precedes, in bytes from the start of the function;
 *         KL_EDGE_TAKEN: the jump
 * @slot: jump that a bounce goes to, in bytes from the start of the function; may be outside of
 *        it
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
 * @begin: first byte, in bytes from the start of the function
 * @bytes: length
 * @first: index of its first instruction
 * @n: number of instructions
 * @end: enum kl_block_end
 * @entered: it can be entered other than from the blocks of its function that lead to it
 * @alone: only the preceding block enters it, by falling through
 * @next: index of the block that execution continues with, or UINT32_MAX
 * @taken: index of the block that its jump goes to, or UINT32_MAX
 * @live: registers and flags that are live at its start: read before they are written
 * @pre: the point before its first instruction
 * @post: the point after its last instruction that is not a jump
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
 * @bytes: up to the next symbol
 * @name: the first of its symbols, preferably one of a function
 * @module: module that contains it; empty: none
 * @reason: enum kl_block_reason: why none of its blocks can have a splice; 0: some may
 */
struct kl_block_function {
	uint64_t address;
	uint32_t bytes;
	const char *name;
	const char *module;
	uint8_t reason;
};

/**
 * struct kl_block_edge - an edge through a jump table
 * @from: index of the block that ends with the jump
 * @to: index of a block that it may go to
 */
struct kl_block_edge {
	uint32_t from;
	uint32_t to;
};

/**
 * struct kl_block_graph - a decoded function
 * @function: the function
 * @text: its bytes
 * @instruction: all instructions, by address
 * @instructions: number of instructions
 * @block: all blocks, by address
 * @blocks: number of blocks
 * @edge: for programs: targets of jumps through tables, sorted by @from, each edge once
 * @edges: number of edges
 * @indirect: for programs: a jump has unknown targets
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
 * struct kl_block_survey - totals over the whole kernel
 * @functions: all functions; @regular: those that are not excluded as a whole
 * @blocks: blocks of regular functions; @bytes: their size
 * @instructions: instructions of these blocks
 * @pre: blocks by the tier of the point before them; @post: by the tier of the point after them
 * @pre_edge: blocks by enum kl_block_edge_kind
 * @pre_reason: blocks without a splice before them, by reason; @post_reason: after them
 * @excluded: functions by reason
 * @by_size: blocks of 1, 2 to 4, 5 to 9, and more bytes
 * @flags_live: blocks at whose start the flags are live; @registers_live: all general registers
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
 * kl_block_reason_name - name of a reason
 * @reason: enum kl_block_reason
 */
const char *kl_block_reason_name(unsigned int reason);

/**
 * kl_block_reason_help - description of a reason
 * @reason: enum kl_block_reason
 */
const char *kl_block_reason_help(unsigned int reason);

/**
 * kl_block_tier_name - name of a tier
 * @tier: enum kl_block_tier
 */
const char *kl_block_tier_name(unsigned int tier);

/**
 * kl_block_edge_name - name of where an instrument is
 * @edge: enum kl_block_edge_kind
 */
const char *kl_block_edge_name(unsigned int edge);

/**
 * kl_block_end_name - name of how a block ends
 * @end: enum kl_block_end
 */
const char *kl_block_end_name(unsigned int end);

/**
 * kl_blocks_open - read a kernel's text and the tables that describe it
 * @core: ELF core file of the kernel; NULL: the running kernel's, /proc/kcore
 * @symbols: of the same kernel; must outlive the result
 *
 * Scans the whole text once, which takes some seconds. Reading the running kernel requires
 * CAP_SYS_RAWIO. Returns NULL with errno and an error text.
 */
struct kl_blocks *kl_blocks_open(const char *core, const struct kl_symbols *symbols);

/**
 * kl_cpu_has_flag - does the first processor have a feature?
 * @flag: as among the flags in /proc/cpuinfo
 */
bool kl_cpu_has_flag(const char *flag);

/**
 * kl_blocks_close - close and free
 * @blocks: or NULL
 */
void kl_blocks_close(struct kl_blocks *blocks);

/**
 * kl_blocks_add_module - add the functions of a loaded module
 * @blocks: of a kernel
 * @module: name of the module
 *
 * They are appended to the existing functions. Requires the kernel's type information (BTF). Does
 * nothing if the module has been added before. Returns 0 or a negative errno with an error text.
 */
int kl_blocks_add_module(struct kl_blocks *blocks, const char *module);

/**
 * kl_blocks_functions - number of functions, including those of added modules
 * @blocks: opened
 */
size_t kl_blocks_functions(const struct kl_blocks *blocks);

/**
 * kl_blocks_function - a function by its index
 * @blocks: opened
 * @index: less than kl_blocks_functions()
 * @function: out
 */
void kl_blocks_function(const struct kl_blocks *blocks, size_t index,
			struct kl_block_function *function);

/**
 * kl_blocks_find - the function that contains an address
 * @blocks: opened
 * @address: of the kernel's text
 *
 * Returns its index, or -ENOENT with an error text.
 */
long kl_blocks_find(const struct kl_blocks *blocks, uint64_t address);

/**
 * kl_blocks_graph - decode a function
 * @blocks: opened
 * @index: less than kl_blocks_functions()
 * @graph: out: free it with kl_block_graph_free()
 *
 * If a function contains bytes that are not instructions, @graph ends before them and the
 * function has a reason. Returns 0, or -ENOMEM with an error text.
 */
int kl_blocks_graph(struct kl_blocks *blocks, size_t index, struct kl_block_graph *graph);

/**
 * kl_blocks_read - read the kernel's memory as it is now
 * @blocks: blocks
 * @address: of the first byte
 * @to: read here
 * @bytes: number
 *
 * Returns 0, or -ENOENT or another negative errno with an error text.
 */
int kl_blocks_read(const struct kl_blocks *blocks, uint64_t address, void *to, size_t bytes);

/**
 * kl_block_graph_free - free what kl_blocks_graph() allocated
 * @graph: filled in, or all zero
 */
void kl_block_graph_free(struct kl_block_graph *graph);

/**
 * kl_block_print_instruction - print an instruction in the syntax of the kernel's assembler
 * @blocks: opened
 * @graph: of its function
 * @index: less than @graph->instructions
 * @buffer: appended to; targets of jumps and calls are printed as symbols
 */
void kl_block_print_instruction(const struct kl_blocks *blocks, const struct kl_block_graph *graph,
				uint32_t index, struct kl_buffer *buffer);

/**
 * kl_blocks_survey - compute totals over the whole kernel
 * @blocks: opened
 * @survey: out
 *
 * Takes some seconds. Returns 0, or -ENOMEM with an error text.
 */
int kl_blocks_survey(struct kl_blocks *blocks, struct kl_block_survey *survey);

#endif /* KERNLENS_BLOCK_H */
