// SPDX-License-Identifier: GPL-2.0
/*
 * Takes an open file of a traced process. Opening /proc/PID/fd/N instead would open whatever one of
 * the process's threads has put there meanwhile: a device, or a pipe that is waited for.
 */
#include <errno.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptor.h"
#include "tracer.h"

int kl_descriptor_take(pid_t tid, int fd)
{
	pid_t process = (pid_t)kl_task_status(tid, "Tgid", 10);
	int handle, ours, error;

	if (process <= 0)
		return -ESRCH;
	/* The handle is one of the process, whose descriptors are those of its first thread. */
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
