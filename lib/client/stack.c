// SPDX-License-Identifier: GPL-2.0
/* The ioctl that reads a session's stack traces. */
#include <kernlens/stack_store.h>
#include "client.h"

int kl_session_stacks(struct kl_session *session, struct kl_abi_stacks *call)
{
	return kl_client_call(session->fd, KL_IOC_STACKS, call, sizeof(*call),
			      "read the stack traces");
}
