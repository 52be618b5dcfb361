/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How often blocks of programs are passed, for whoever may trace the processes with ptrace: no
 * privilege, no module. Their text is diverted to counters while it is counted, and then put back.
 * docs/design/block.md has the words and rules.
 */
#ifndef KERNLENS_PROCESS_COUNT_H
#define KERNLENS_PROCESS_COUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <kernlens/block.h>
#include <kernlens/program.h>

#pragma GCC visibility push(default)

struct kl_process_count;

/**
 * struct kl_process_count_sum - what has become of it
 * @placed: programs that were diverted, those that were forked since not counted
 * @kept: memories of processes that still have what was added, because a thread may come back to it
 * @changed: places of the text that another has written to since; they stay
 * @text: why some process was not counted; "": none was left out
 */
struct kl_process_count_sum {
	uint32_t placed;
	uint32_t kept;
	uint32_t changed;
	char text[256];
};

/**
 * kl_process_count_create - nothing to count so far
 *
 * Returns NULL with errno and an error text.
 */
struct kl_process_count *kl_process_count_create(void);

/**
 * kl_process_count_destroy - free it; what is diverted is put back
 * @count: or NULL
 */
void kl_process_count_destroy(struct kl_process_count *count);

/**
 * kl_process_count_add - want blocks counted
 * @count: not begun
 * @text: [block:]PATH:FUNCTION[+OFFSET|#NUMBER][:post]
 *
 * What is wanted twice is counted once. Returns 0 or a negative errno with an error text: -ENOENT
 * if there is no such function or block.
 */
int kl_process_count_add(struct kl_process_count *count, const char *text);

/**
 * kl_process_count_begin - divert the text of processes
 * @count: with something to count
 * @pid: running processes
 * @pids: how many
 * @command: one that shall run a program, and is counted from then on; 0: none
 *
 * Forks a process that traces them, also what they start from now on. Returns 0, or a negative
 * errno with an error text; then nothing is changed.
 */
int kl_process_count_begin(struct kl_process_count *count, const pid_t *pid, size_t pids,
			   pid_t command);

/**
 * kl_process_count_end - put all back, and fetch what was counted
 * @count: begun
 * @sum: out
 */
void kl_process_count_end(struct kl_process_count *count, struct kl_process_count_sum *sum);

/**
 * kl_process_count_get - how often a block was passed
 * @count: ended
 * @path: of the program, as it was added
 * @address: of the function, in the file
 * @block: index in the function's graph
 * @behind: behind it
 * @passes: out
 *
 * Returns enum kl_block_reason: why it was not counted, 0 if it was.
 */
unsigned int kl_process_count_get(const struct kl_process_count *count, const char *path,
				  uint64_t address, uint32_t block, bool behind, uint64_t *passes);

#pragma GCC visibility pop

#endif /* KERNLENS_PROCESS_COUNT_H */
