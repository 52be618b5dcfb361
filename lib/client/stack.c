// SPDX-License-Identifier: GPL-2.0
/* The ioctls that read a session's stack traces, and give it unwind tables. */
#include <kernlens/stack_store.h>
#include "client.h"

int kl_session_stacks(struct kl_session *session, struct kl_abi_stacks *call)
{
	return kl_client_call(session->fd, KL_IOC_STACKS, call, sizeof(*call),
			      "read the stack traces");
}

int kl_session_unwind(struct kl_session *session, struct kl_abi_unwind *call)
{
	return kl_client_call(session->fd, KL_IOC_UNWIND, call, sizeof(*call),
			      "load an unwind table");
}
