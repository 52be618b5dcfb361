// SPDX-License-Identifier: GPL-2.0
/* The kernels in the cache, as named by the build. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "kernels.h"

const char *kernel_name(unsigned int index)
{
	static char name[32];
	const char *at = KL_TEST_KERNELS;

	for (;;) {
		size_t length;

		at += strspn(at, " ");
		length = strcspn(at, " ");
		if (!length)
			return NULL;
		if (!index--) {
			snprintf(name, sizeof(name), "%.*s", (int)length, at);
			return name;
		}
		at += length;
	}
}

const char *kernel_image(const char *kernel)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s/vmlinux", KL_TEST_CACHE, kernel);
	return path;
}

const char *kernel_test(const char *text, const char *kernel)
{
	static char name[256];

	snprintf(name, sizeof(name), "%s (%s)", text, kernel);
	return name;
}
