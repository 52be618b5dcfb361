/* SPDX-License-Identifier: GPL-2.0 */
/* Unwind tables of a session, as its descriptor gives them. */
#ifndef KL_CORE_STACK_UNWIND_H
#define KL_CORE_STACK_UNWIND_H

struct kl_abi_unwind;
struct kl_error;
struct kl_session;

int kl_stack_unwind(struct kl_session *s, struct kl_abi_unwind *call, struct kl_error *why);

#endif /* KL_CORE_STACK_UNWIND_H */
