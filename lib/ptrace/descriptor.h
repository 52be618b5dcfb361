/* SPDX-License-Identifier: GPL-2.0 */
/* Takes open files of traced processes, for map.c, which shares memory with them. */
#ifndef KL_LIB_PTRACE_DESCRIPTOR_H
#define KL_LIB_PTRACE_DESCRIPTOR_H

#include <sys/types.h>

/*
 * Duplicate the descriptor @fd of a process that we may trace; the result refers to the same open
 * file, and is closed on exec. Returns a descriptor, or a negative errno: -EBADF if there is no
 * such descriptor, -EPERM if the thread @tid does not share its process's descriptors.
 */
int kl_descriptor_take(pid_t tid, int fd);

#endif /* KL_LIB_PTRACE_DESCRIPTOR_H */
