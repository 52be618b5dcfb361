/* SPDX-License-Identifier: GPL-2.0 */
/* What went wrong, in words: set by every library function that fails. */
#ifndef KERNLENS_ERROR_H
#define KERNLENS_ERROR_H

#include <kernlens/public.h>

KL_PUBLIC_BEGIN

/**
 * kl_error_text - one sentence about the last failure in this thread
 *
 * Valid until this thread's next library call. Empty if nothing has failed.
 */
const char *kl_error_text(void);

/**
 * kl_error_clear - forget the last failure of this thread
 */
void kl_error_clear(void);

KL_PUBLIC_END

#endif /* KERNLENS_ERROR_H */
