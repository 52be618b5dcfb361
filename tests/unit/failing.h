/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Failures on demand, on a kernel with fault injection (vm/debug-kernel): the n-th injection point
 * that a thread reaches, an allocation or a copy from or to user space, fails once.
 */
#ifndef KL_TESTS_FAILING_H
#define KL_TESTS_FAILING_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "file.h"

/*
 * Configure fault injection for this thread; returns its descriptor for the functions below. -1:
 * the kernel does not support it.
 */
static inline int failing_open(void)
{
	static const char *const settings[][2] = {
		{ "failslab/ignore-gfp-wait", "N" },
		{ "failslab/verbose", "0" },
		{ "fail_page_alloc/ignore-gfp-wait", "N" },
		{ "fail_page_alloc/ignore-gfp-highmem", "N" },
		{ "fail_page_alloc/min-order", "0" },
		{ "fail_page_alloc/verbose", "0" },
		{ "fail_usercopy/verbose", "0" },
		/*
		 * Must be the first fail_page_alloc setting that enables failures: without it,
		 * every process's page allocations would fail, even this one's.
		 */
		{ "fail_page_alloc/task-filter", "Y" },
		{ "fail_page_alloc/probability", "100" },
		{ "fail_page_alloc/times", "-1" },
	};

	char path[100];

	for (unsigned int i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s", settings[i][0]);
		if (!put_file(path, settings[i][1]))
			return -1;
	}
	return open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
}

/* The @nth injection point will fail; 0: none. */
static inline bool failing_at(int fd, unsigned int nth)
{
	char text[16];
	int bytes = snprintf(text, sizeof(text), "%u", nth);

	/* Writing reaches an injection point itself, and may fail once. */
	return pwrite(fd, text, bytes, 0) == bytes || pwrite(fd, text, bytes, 0) == bytes;
}

/*
 * Stop injecting. Returns how many injection points were left before the one to fail; negative if
 * unknown.
 */
static inline int failing_end(int fd)
{
	char text[16] = "";
	/* Reading reaches an injection point itself: if it fails, one was left. */
	int left = pread(fd, text, sizeof(text) - 1, 0) < 0 ? 1 : atoi(text);

	return failing_at(fd, 0) ? left : -1;
}

#endif /* KL_TESTS_FAILING_H */
