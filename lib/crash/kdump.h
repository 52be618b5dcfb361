/* SPDX-License-Identifier: GPL-2.0 */
/* Memory in the compressed dumps of makedumpfile and QEMU. */
#ifndef KL_LIB_CRASH_KDUMP_H
#define KL_LIB_CRASH_KDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kl_kdump;

/* Does a file begin as such a dump? @head: its first 16 bytes. */
bool kl_kdump_is(const void *head);

/*
 * Open one of @bytes. Returns NULL with an error text and errno. @fd must stay open until it is
 * closed, which does not close @fd.
 */
struct kl_kdump *kl_kdump_open(int fd, uint64_t bytes);
void kl_kdump_close(struct kl_kdump *kdump);

/*
 * A run of pages that the dump has.
 * @address: of the first, a physical address
 * @bytes: of memory
 * @page: how many pages the dump has before the first
 */
struct kl_kdump_run {
	uint64_t address;
	uint64_t bytes;
	uint64_t page;
};

/*
 * Set *@run to the run after it, or to the first if its members are 0. Returns false after the
 * last.
 */
bool kl_kdump_next(const struct kl_kdump *kdump, struct kl_kdump_run *run);

/* Read @bytes at @at of @page and those after it; false if a page is damaged or cut off. */
bool kl_kdump_read(const struct kl_kdump *kdump, uint64_t page, uint64_t at, void *to,
		   size_t bytes);

#endif /* KL_LIB_CRASH_KDUMP_H */
