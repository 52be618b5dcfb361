/* SPDX-License-Identifier: GPL-2.0 */
/* Source lines of many addresses of a file that a separate process has open. */
#ifndef KL_LIB_SYMBOLIZE_SRCLINE_ASK_H
#define KL_LIB_SYMBOLIZE_SRCLINE_ASK_H

#include <kernlens/source.h>

#include "../base/texts.h"
#include "../symbol/elf_process.h"

/*
 * @address: addresses in the file. @line: filled in; names are stored in @texts. Returns 0, or
 * -EPIPE if reading killed the process; the remaining lines are then unknown.
 */
int kl_source_ask(struct kl_elf_process *process, unsigned int number, struct kl_texts *texts,
		  const uint64_t *address, size_t n, struct kl_source_line *line);

#endif /* KL_LIB_SYMBOLIZE_SRCLINE_ASK_H */
