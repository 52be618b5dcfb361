/* SPDX-License-Identifier: GPL-2.0 */
/* Copies the buffers of a flight recorder that has no trace of its own. */
#ifndef KERNLENS_RECORD_COPY_H
#define KERNLENS_RECORD_COPY_H

#include <kernlens/record.h>

/**
 * kl_record_copy - write a trace of what is in the buffers, while the session continues
 * @source: session in overwrite mode
 * @params: `path` of the trace, `names`, `notify` and `compress`
 * @first: kl_device_time() from before the session was started: the clock is fitted from then on
 * @counts: out: what was read and written; or NULL
 *
 * What has been written of a copy that fails stays. Failures are notices. Returns 0 or the negative
 * errno of the first. May sleep.
 */
int kl_record_copy(const struct kl_record_source *source, const struct kl_recorder_params *params,
		   const struct kl_abi_time *first, struct kl_recorder_counts *counts);

#endif /* KERNLENS_RECORD_COPY_H */
