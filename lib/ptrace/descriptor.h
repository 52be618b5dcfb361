/* SPDX-License-Identifier: GPL-2.0 */
/* Open files of traced processes, for map.c, which shares memory with them. */
#ifndef KL_LIB_PTRACE_DESCRIPTOR_H
#define KL_LIB_PTRACE_DESCRIPTOR_H

#include <sys/types.h>

/*
 * A descriptor of our own, closed on exec, for what a process that we may trace has open as @fd:
 * the open file itself. Returns it, or a negative errno: -EBADF if there is none, -EPERM if the
 * thread @tid does not share the descriptors of its process.
 */
int kl_descriptor_take(pid_t tid, int fd);

#endif /* KL_LIB_PTRACE_DESCRIPTOR_H */
