/* SPDX-License-Identifier: GPL-2.0 */
/* Files that makedumpfile (-F) and QEMU wrote in pieces, each with its place, for a pipe. */
#ifndef KL_LIB_CRASH_FLAT_H
#define KL_LIB_CRASH_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kl_flat;

/* Does a file begin as such a file? @head: its first 16 bytes. */
bool kl_flat_is(const void *head);

/*
 * Find the pieces of a file of @bytes. Returns NULL with an error text and errno. @fd must stay
 * open until it is closed, which does not close @fd.
 */
struct kl_flat *kl_flat_open(int fd, uint64_t bytes);
void kl_flat_close(struct kl_flat *flat);

/* Length of the file that the pieces make. */
uint64_t kl_flat_bytes(const struct kl_flat *flat);

/* Read of that file; false if any of it is in no piece. */
bool kl_flat_read(const struct kl_flat *flat, uint64_t at, void *to, size_t bytes);

#endif /* KL_LIB_CRASH_FLAT_H */
