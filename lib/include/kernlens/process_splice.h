/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How often blocks of programs are passed, for whoever may trace the processes with ptrace: no
 * privilege, no module; and events that they fire, of a session that needs no privilege, either.
 * Their text is diverted meanwhile, and then put back.
 * docs/design/block.md has the words and rules.
 */
#ifndef KERNLENS_PROCESS_SPLICE_H
#define KERNLENS_PROCESS_SPLICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <kernlens/block.h>
#include <kernlens/program.h>
#include <kernlens/public.h>
#include <kernlens/splice.h>

KL_PUBLIC_BEGIN

struct kl_process_splices;

/**
 * struct kl_process_splices_sum - what has become of it
 * @placed: programs that were diverted, those that were forked since not counted
 * @kept: memories of processes that still have what was added, because a thread may come back to it
 * @changed: places of the text that another has written to since; they stay
 * @without: blocks that should fire an event and have no place for an instrument
 * @reason: enum kl_block_reason of the last of these
 * @text: why some process was left out; "": none was
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
 * kl_process_splices_create - nothing to count so far
 *
 * Returns NULL with errno and an error text.
 */
struct kl_process_splices *kl_process_splices_create(void);

/**
 * kl_process_splices_destroy - free it; what is diverted is put back
 * @splices: or NULL
 */
void kl_process_splices_destroy(struct kl_process_splices *splices);

/**
 * kl_process_splices_count - want blocks counted
 * @splices: not begun
 * @text: [block:]PATH:FUNCTION[+OFFSET|#NUMBER][:post]
 *
 * What is wanted twice is counted once. Returns 0 or a negative errno with an error text: -ENOENT
 * if there is no such function or block.
 */
int kl_process_splices_count(struct kl_process_splices *splices, const char *text);

/**
 * kl_process_splices_program - the blocks of a program that fire events
 * @splices: not begun
 * @path: of the program
 * @number: out: for kl_process_splices_fire()
 *
 * Returns it, which is @splices', or NULL with errno and an error text.
 */
struct kl_program *kl_process_splices_program(struct kl_process_splices *splices, const char *path,
					      size_t *number);

/**
 * kl_process_splices_fire - have a block fire an event
 * @splices: not begun
 * @program: number
 * @function: index in the program
 * @of: that
 * @target: block, and the event, KL_SOURCE_KIND_TRAP of the session that begins with it
 *
 * Returns 0 or -ENOMEM.
 */
int kl_process_splices_fire(struct kl_process_splices *splices, size_t program, size_t function,
			    const struct kl_block_function *of,
			    const struct kl_splice_target *target);

/**
 * kl_process_splices_plan - where a function's blocks can be diverted
 * @program: from kl_process_splices_program()
 * @graph: of the function; `pre` and `post` are filled in
 *
 * Returns 0 or a negative errno with an error text.
 */
int kl_process_splices_plan(struct kl_program *program, struct kl_block_graph *graph);

/**
 * kl_process_splices_begin - divert the text of processes
 * @splices: with something to do
 * @pid: running processes
 * @pids: how many
 * @command: one that shall run a program, and is diverted from then on; 0: none
 * @session: id, if events are fired
 *
 * Forks a process that traces them, also what they start from now on. Returns 0, or a negative
 * errno with an error text; then nothing is changed.
 */
int kl_process_splices_begin(struct kl_process_splices *splices, const pid_t *pid, size_t pids,
			     pid_t command, uint32_t session);

/**
 * kl_process_splices_end - put all back, and fetch what was counted
 * @splices: begun
 * @sum: out
 */
void kl_process_splices_end(struct kl_process_splices *splices, struct kl_process_splices_sum *sum);

/**
 * kl_process_splices_get - how often a block was passed
 * @splices: ended
 * @path: of the program, as it was added
 * @address: of the function, in the file
 * @block: index in the function's graph
 * @behind: behind it
 * @passes: out
 *
 * Returns enum kl_block_reason: why it was not counted, 0 if it was.
 */
unsigned int kl_process_splices_get(const struct kl_process_splices *splices, const char *path,
				    uint64_t address, uint32_t block, bool behind,
				    uint64_t *passes);

KL_PUBLIC_END

#endif /* KERNLENS_PROCESS_SPLICE_H */
