/* SPDX-License-Identifier: GPL-2.0 */
/* Why a call has failed: see error.c. */
#ifndef KL_BASE_ERROR_H
#define KL_BASE_ERROR_H

#include <linux/types.h>

#include "../../uapi/kernlens.h"

/**
 * struct kl_error - why a call failed, for KL_IOC_ERROR
 */
struct kl_error {
	int error;
	char text[KL_ERROR_TEXT_MAX];
};

/* Record a reason and return @error, so that `return kl_fail(...)` reads well. */
__printf(3, 4) int kl_fail(struct kl_error *why, int error, const char *format, ...);

#endif /* KL_BASE_ERROR_H */
