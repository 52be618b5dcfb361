// SPDX-License-Identifier: GPL-2.0
/*
 * Why a call has failed: recorded where the reason is known, stored with the descriptor of the
 * call, reported by KL_IOC_ERROR.
 */
#include <linux/kernel.h>

#include "error.h"

/**
 * kl_fail - record why a call fails
 * @why: set; may be NULL
 * @error: negative errno
 * @format: one sentence for the user, without a full stop
 * @...: arguments of @format
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
