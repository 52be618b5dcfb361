/* SPDX-License-Identifier: GPL-2.0 */
/* Error texts, set by every library function that fails unless its description says otherwise. */
#ifndef KERNLENS_ERROR_H
#define KERNLENS_ERROR_H

#include <kernlens/public.h>

KL_PUBLIC_BEGIN

/**
 * kl_error_text - one sentence about the last failure in this thread
 *
 * The text is per thread and valid until this thread's next library call. It is empty if nothing
 * has failed; a call that succeeds does not reset it. It contains no control characters that
 * could disturb a terminal.
 */
const char *kl_error_text(void);

/**
 * kl_error_clear - reset this thread's error text
 */
void kl_error_clear(void);

KL_PUBLIC_END

#endif /* KERNLENS_ERROR_H */
