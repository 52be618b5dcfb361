/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of lib/block: the text and its tables (text.c, table.c), the list of
 * functions (function.c), one function's instructions and blocks (decode.c, graph.c, live.c), what
 * requires all functions (world.c, cache.c), breakpoint handling (breakpoint.c), and where splices
 * fit (plan.c). A module works the same, with tables of its own: module.c. So does a program's
 * file: program.c, jump_table.c, constants.c, uprobe.c, and for splices in programs user_entry.c,
 * user_plan.c, user_patch.c.
 */
#ifndef KL_LIB_BLOCK_BLOCK_H
#define KL_LIB_BLOCK_BLOCK_H

#include <Zydis/Zydis.h>
#include <elf.h>

#include <kernlens/block.h>

#define KL_NO_BLOCK UINT32_MAX

/* A segment of a core file. */
struct kl_segment {
	uint64_t begin;
	uint64_t end;
	uint64_t offset;
	bool changes; /* may be written to at run time */
};

/* Addresses, sorted once all have been added. */
struct kl_addresses_set {
	uint64_t *at;
	size_t n;
	size_t capacity;
};

/* An instruction that one of the kernel's tables lists. */
struct kl_mark {
	uint64_t address; /* must be first, for kl_rows_from() */
	uint8_t reason;
};

struct kl_range {
	uint64_t begin;
	uint64_t end;
	uint8_t reason;
};

/* A direct call between functions, by index. */
struct kl_call {
	uint32_t callee;
	uint32_t caller;
};

/* Addresses that an instruction refers to without jumping there; 0: none. */
struct kl_taken {
	uint64_t taken; /* address that it takes: code, if within the text */
	uint64_t perhaps[3]; /* address that it reads, and immediates that look like addresses */
};

struct kl_function_entry {
	uint64_t address; /* must be first, for kl_rows_from() */
	uint32_t bytes;
	uint8_t reason;
	bool never; /* never returns */
	bool returns_flags; /* callers use the flags after calling it */
	const char *name;
};

struct kl_blocks {
	const struct kl_symbols *symbols;
	char *module; /* the module whose text it is; empty: the kernel's */
	struct kl_blocks *kernel; /* for a module: the kernel's, which has access to memory */
	struct kl_blocks **added; /* modules; their functions follow the kernel's */
	size_t modules;
	size_t added_capacity;
	struct kl_btf *btf; /* the kernel's, loaded when a module is added */
	int fd;
	struct kl_segment *segment;
	size_t segments;
	size_t segment_capacity;
	uint8_t *text;
	uint64_t begin; /* bounds of the text */
	uint64_t end;
	struct kl_function_entry *function;
	size_t functions;
	size_t function_capacity;
	struct kl_mark *mark;
	size_t marks;
	size_t mark_capacity;
	struct kl_range *range;
	size_t ranges;
	size_t range_capacity;
	struct kl_addresses_set leader; /* inside functions, entered from elsewhere */
	struct kl_addresses_set entry; /* of a program, for user_plan.c: includes the leaders */
	struct kl_addresses_set word; /* words of data that may be addresses inside functions */
	struct kl_call *call;
	size_t calls;
	size_t call_capacity;
	uint64_t return_thunk[4]; /* a jump to one is a return */
	size_t return_thunks;
	ZydisDecoder decoder;
	bool program; /* a program's file, which has functions but no symbols */
	bool tracked; /* indirect branches can only go to landing pads (IBT) */
};

/* text.c */
int kl_text_open(struct kl_blocks *b, const char *path);
int kl_text_read_file(int fd, uint64_t offset, void *to, size_t bytes);
int kl_text_add_segment(struct kl_blocks *b, const Elf64_Phdr *phdr);
int kl_text_read(const struct kl_blocks *b, uint64_t address, void *to, size_t bytes);
int kl_text_load(struct kl_blocks *b);

/* A range of the kernel's memory. */
struct kl_kernel_range {
	uint64_t address;
	uint64_t bytes;
};

/* A module's own parts of the kernel's tables. */
struct kl_module_tables {
	struct kl_kernel_range jumps;
	struct kl_kernel_range static_calls;
	struct kl_kernel_range exceptions;
	struct kl_kernel_range noinstr; /* text */
	struct kl_kernel_range data[4];
};

/* table.c */
int kl_tables_load(struct kl_blocks *b);
int kl_tables_load_module(struct kl_blocks *b, const struct kl_module_tables *tables);
const struct kl_mark *kl_mark_within(const struct kl_blocks *b, uint64_t begin, uint64_t end);
size_t kl_rows_from(const void *rows, size_t n, size_t row, uint64_t address);
int kl_set_add(struct kl_addresses_set *set, uint64_t address);
void kl_set_sort(struct kl_addresses_set *set);
size_t kl_set_from(const struct kl_addresses_set *set, uint64_t address);

/* function.c */
int kl_functions_load(struct kl_blocks *b);
long kl_function_at(const struct kl_blocks *b, uint64_t address);
const struct kl_function_entry *kl_function_entry_at(const struct kl_blocks *b, uint64_t address);

#define KL_LANDING_PAD_BYTES 4
#define KL_HOOK_BYTES 5

/* module.c */
int kl_module_add(struct kl_blocks *b, const char *name);
int kl_types_open(struct kl_blocks *kernel);

/* tracked.c */
bool kl_tracks_branches(struct kl_blocks *kernel, bool live);

static inline const uint8_t *kl_text_of(const struct kl_blocks *b, uint64_t address)
{
	return b->text + (address - b->begin);
}

/* decode.c */
bool kl_decode(const struct kl_blocks *b, uint64_t address, size_t room,
	       struct kl_block_instruction *to);
bool kl_decode_shape(const struct kl_blocks *b, uint64_t address, size_t room,
		     struct kl_block_instruction *to, struct kl_taken *taken);
bool kl_decode_operands(const struct kl_blocks *b, const struct kl_block_graph *g, uint32_t index,
			ZydisDecodedInstruction *in, ZydisDecodedOperand *operand);
/* Number of the general-purpose register that @reg is, or is part of; -1: it is not one. */
int kl_register_number(ZydisRegister reg);
bool kl_is_padding(const uint8_t *at, size_t bytes);

/* graph.c */
int kl_graph_make(const struct kl_blocks *b, size_t index, struct kl_block_graph *graph);
bool kl_is_hook(const uint8_t *at);
bool kl_is_landing_pad(const uint8_t *at);
int kl_graph_returns(const struct kl_blocks *b, const struct kl_block_graph *g);

/* world.c */
int kl_world_load(struct kl_blocks *b);

/* cache.c */
int kl_world_get(struct kl_blocks *b);

/* breakpoint.c */
int kl_breakpoints_load(struct kl_blocks *b);

/* live.c */
void kl_live(const struct kl_blocks *b, struct kl_block_graph *graph);

/* plan.c */
int kl_plan(struct kl_block_graph *graph, bool edges);

/*
 * constants.c: addresses that registers hold at instructions that are jumped to; 0 where unknown.
 * @known: whether a path to the instruction has been found.
 */
#define KL_REGISTERS 16
#define KL_CALLEE_SAVED 0xf028u /* rbx, rbp, r12 to r15 */

struct kl_constants {
	uint64_t (*value)[KL_REGISTERS];
	bool *known;
};

int kl_constants_find(const struct kl_blocks *b, const struct kl_block_graph *g,
		      struct kl_constants *c);
void kl_constants_free(struct kl_constants *c);

/*
 * jump_table.c: find the targets of jumps through tables; edges are offsets. Returns 0 or -ENOMEM.
 */
int kl_jump_tables(const struct kl_blocks *b, struct kl_block_graph *graph);

/* uprobe.c */
bool kl_uprobe_takes(const struct kl_blocks *b, uint64_t address, size_t room);
int kl_uprobe_plan(const struct kl_blocks *b, struct kl_block_graph *graph);

/* graph.c: index of the instruction at an offset; UINT32_MAX if none begins there. */
uint32_t kl_instruction_at(const struct kl_block_graph *g, uint32_t offset);

#endif /* KL_LIB_BLOCK_BLOCK_H */
