/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Execution counts of basic blocks in programs, and events that such blocks fire. Needs neither
 * privileges nor, for counts, the module: only the right to trace the processes with ptrace(2).
 * The text of the processes is diverted while this runs and is restored afterwards.
 * docs/design/block.md explains the terms and rules.
 */
#ifndef KERNLENS_PROCESS_SPLICE_H
#define KERNLENS_PROCESS_SPLICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <kernlens/block.h>
#include <kernlens/program.h>
#include <kernlens/splice.h>

struct kl_process_splices;

/**
 * struct kl_process_splices_sum - result of a run
 * @placed: programs that were diverted, not counting those forked in the meantime
 * @kept: address spaces that still contain the added code, because a thread may return to it
 * @changed: patch sites that something else has modified in the meantime; they are left as they
 *           are
 * @without: blocks that should fire an event but have no place for an instrument
 * @reason: enum kl_block_reason of the last of the blocks counted in @without
 * @text: why a process was left out; "": none was
 */
struct kl_process_splices_sum {
	uint32_t placed;
	uint32_t kept;
	uint32_t changed;
	uint32_t without;
	unsigned int reason;
	char text[256];
};

/**
 * kl_process_splices_create - create an empty set of splices
 *
 * Returns NULL with errno ENOMEM and an error text.
 */
struct kl_process_splices *kl_process_splices_create(void);

/**
 * kl_process_splices_destroy - restore the text of all processes, and free
 * @splices: or NULL
 */
void kl_process_splices_destroy(struct kl_process_splices *splices);

/**
 * kl_process_splices_count - request execution counts of blocks
 * @splices: not begun
 * @text: [block:]PATH:FUNCTION[+OFFSET|#NUMBER][:post]
 *
 * A block that is requested twice is counted once. Opens the program. Returns 0 or a negative
 * errno with an error text: -ENOENT if there is no such function or block.
 */
int kl_process_splices_count(struct kl_process_splices *splices, const char *text);

/**
 * kl_process_splices_program - open a program whose blocks will fire events
 * @splices: not begun
 * @path: of the program
 * @number: out: for kl_process_splices_fire()
 *
 * Returns the program, which belongs to @splices, or NULL with errno and an error text.
 */
struct kl_program *kl_process_splices_program(struct kl_process_splices *splices, const char *path,
					      size_t *number);

/**
 * kl_process_splices_fire - have a block fire an event
 * @splices: not begun
 * @program: number from kl_process_splices_program()
 * @function: index of the function in the program
 * @of: that function
 * @target: the block, and an event of kind KL_SOURCE_KIND_TRAP that the session passed to
 *          kl_process_splices_begin() has defined
 *
 * Returns 0 or -ENOMEM.
 */
int kl_process_splices_fire(struct kl_process_splices *splices, size_t program, size_t function,
			    const struct kl_block_function *of,
			    const struct kl_splice_target *target);

/**
 * kl_process_splices_plan - find where the blocks of a function can be diverted
 * @program: from kl_process_splices_program()
 * @graph: of the function; `pre` and `post` of its blocks are filled in
 *
 * Returns 0 or a negative errno with an error text.
 */
int kl_process_splices_plan(struct kl_program *program, struct kl_block_graph *graph);

/**
 * kl_process_splices_begin - divert the text of processes
 * @splices: with at least one block to count or to fire an event
 * @pid: running processes
 * @pids: number of processes
 * @command: a process that is about to execute a program and is diverted from then on; 0: none
 * @session: id of the session whose events are fired; ignored if there are none
 *
 * Forks a process that traces them, including any processes that they start. Returns 0, or a
 * negative errno with an error text; nothing is changed then.
 */
int kl_process_splices_begin(struct kl_process_splices *splices, const pid_t *pid, size_t pids,
			     pid_t command, uint32_t session);

/**
 * kl_process_splices_end - restore the text of all processes, and fetch the counts
 * @splices: begun
 * @sum: out
 */
void kl_process_splices_end(struct kl_process_splices *splices, struct kl_process_splices_sum *sum);

/**
 * kl_process_splices_get - execution count of a block
 * @splices: ended
 * @path: of the program, as it was added
 * @address: of the function, in the ELF file
 * @block: index in the function's graph
 * @behind: the point after the block rather than before it
 * @passes: out: number of executions; left alone if the block was never requested
 *
 * Returns enum kl_block_reason: 0 if the block was counted, else why not; KL_BLOCK_unreached if
 * it was never requested.
 */
unsigned int kl_process_splices_get(const struct kl_process_splices *splices, const char *path,
				    uint64_t address, uint32_t block, bool behind,
				    uint64_t *passes);

#endif /* KERNLENS_PROCESS_SPLICE_H */
