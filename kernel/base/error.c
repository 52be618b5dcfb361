// SPDX-License-Identifier: GPL-2.0
/*
 * Why a call has failed: noted where it is known, kept by the descriptor that the call came by,
 * told by KL_IOC_ERROR.
 */
#include <linux/kernel.h>

#include "error.h"

/**
 * kl_fail - note why a call fails
 * @why: where to; may be NULL
 * @error: negative errno
 * @format: one sentence for the user, without a dot
 * @...: what @format takes
 *
 * Returns @error.
 */
int kl_fail(struct kl_error *why, int error, const char *format, ...)
{
	va_list args;

	if (!why)
		return error;
	why->error = error;
	va_start(args, format);
	vscnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	return error;
}
