// SPDX-License-Identifier: GPL-2.0
/* Nice values of a child, set by a system call between the two steps of KL_IOC_SET. */
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "../../../uapi/kernlens.h"
#include "cause.h"

static void set_nice(int fd, pid_t pid, int from, int to)
{
	struct kl_abi_set set = {
		.size = sizeof(set), .step = KL_SET_BEGIN, .id = pid, .what = KL_SET_NICE
	};

	snprintf(set.asked, sizeof(set.asked), "%d", to);
	CHECK(ioctl(fd, KL_IOC_SET, &set));
	CHECK(setpriority(PRIO_PROCESS, pid, to));
	set.step = KL_SET_END;
	CHECK(ioctl(fd, KL_IOC_SET, &set));
	if (set.flags != KL_SET_TOLD || set.old_value != from || set.new_value != to)
		DIE("told of a change from %lld to %lld", set.old_value, set.new_value);
	fact("process_set tid=%d pid=%d what=1 old_value=%d new_value=%d error=0 old_text=%d new_text=%d asked=%d",
	     pid, pid, from, to, from, to, to);
}

int main(void)
{
	int fd = CHECK(open(KL_DEVICE_PATH, O_RDWR | O_CLOEXEC));
	struct kl_abi_set set = { .size = sizeof(set), .step = KL_SET_END };
	pid_t pid = CHECK(fork());

	if (!pid) {
		pause();
		_exit(0);
	}
	set_nice(fd, pid, 0, 5);
	set_nice(fd, pid, 5, -3);
	if (ioctl(fd, KL_IOC_SET, &set) != -1 || errno != EINVAL)
		DIE("what has not begun was ended");
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0));
	return 0;
}
