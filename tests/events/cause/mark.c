// SPDX-License-Identifier: GPL-2.0
/* Marks of a program, written to the device as uapi/kernlens.h specifies. */
#include <sys/ioctl.h>

#include "../../../uapi/kernlens.h"
#include "cause.h"

int main(void)
{
	struct kl_abi_mark mark = { .size = sizeof(mark) };
	int fd = CHECK(open(KL_DEVICE_PATH, O_RDWR | O_CLOEXEC));

	for (int i = 0; i < 5; i++) {
		mark.value = 1000000007ull * i;
		snprintf(mark.text, sizeof(mark.text), "mark-%d", i);
		CHECK(ioctl(fd, KL_IOC_MARK, &mark));
		fact("mark value=%llu text=mark-%d", (unsigned long long)mark.value, i);
	}
	memset(mark.text, 'x', sizeof(mark.text));
	if (ioctl(fd, KL_IOC_MARK, &mark) != -1 || errno != EINVAL)
		DIE("a mark without its end was taken");
	return 0;
}
