// SPDX-License-Identifier: GPL-2.0
/*
 * Calls about tasks, charged for their memory while they last, which may be long, as the caller's
 * memory can block them. Called by device.c.
 */
#include "../task/detail/detail.h"
#include "../task/inspect.h"
#include "device.h"

/* Lists of tasks and rows; and, in addition to the caller's buffer, paths, a stack and batches. */
#define INSPECT_BYTES (256u << 10)
#define DETAIL_BYTES (64u << 10)

/**
 * kl_task_inspect - kl_inspect, charging the caller
 * @params: as in the contract
 * @cred: of the descriptor's opener
 * @may: the opener's KL_MAY_*
 * @sink: as for kl_inspect()
 * @payer: the descriptor's
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_task_inspect(struct kl_abi_inspect *params, const struct cred *cred, u32 may,
		    struct kl_inspect_sink *sink, struct kl_payer *payer, struct kl_error *why)
{
	int error = kl_memory_charge(payer, INSPECT_BYTES, why);

	if (error)
		return error;
	error = kl_inspect(params, cred, may, sink, payer, why);
	kl_memory_uncharge(payer, INSPECT_BYTES);
	return error;
}

/**
 * kl_task_detail - kl_detail_read, charging the caller
 * @call: as in the contract
 * @cred: of the descriptor's opener
 * @may: the opener's KL_MAY_*
 * @payer: the descriptor's
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_task_detail(struct kl_abi_detail *call, const struct cred *cred, u32 may,
		   struct kl_payer *payer, struct kl_error *why)
{
	u64 bytes = kl_memory_size(min(call->bytes, KL_DETAIL_BYTES_MAX)) + DETAIL_BYTES;
	int error = kl_memory_charge(payer, bytes, why);

	if (error)
		return error;
	error = kl_detail_read(call, cred, may, why);
	kl_memory_uncharge(payer, bytes);
	return error;
}
