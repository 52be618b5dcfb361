// SPDX-License-Identifier: GPL-2.0
/*
 * Takes an open file of a traced process. Opening /proc/PID/fd/N instead would open whatever
 * another thread has put there in the meantime: a device, or a pipe that blocks.
 */
#include <errno.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptor.h"
#include "tracer.h"

int kl_descriptor_take(pid_t tid, int fd)
{
	pid_t process = (pid_t)kl_tracee_status(tid, "Tgid", 10);
	int handle, ours, error;

	if (process <= 0)
		return -ESRCH;
	/* A pidfd refers to the process, so it gives access to the first thread's descriptors. */
	if (tid != process && syscall(SYS_kcmp, tid, process, KCMP_FILES, 0, 0))
		return -EPERM;
	handle = (int)syscall(SYS_pidfd_open, process, 0);
	if (handle < 0)
		return -errno;
	ours = (int)syscall(SYS_pidfd_getfd, handle, fd, 0);
	error = ours < 0 ? -errno : 0;
	close(handle);
	return error ? error : ours;
}
