// SPDX-License-Identifier: GPL-2.0
/* The ioctls for splices, and the names of the module's refusals. */
#include <kernlens/splice.h>

#include "../base/base.h"
#include "client.h"

#define KL_SPLICE_REFUSAL(id, name, help) [id] = { #name, help },
static const struct {
	const char *name;
	const char *help;
} refusals[] = {
#include "../../uapi/block_refusals.def"
};

#undef KL_SPLICE_REFUSAL

const char *kl_splice_refusal_name(unsigned int refusal)
{
	if (refusal >= KL_ARRAY_SIZE(refusals) || !refusals[refusal].name)
		return "?";
	return refusals[refusal].name;
}

const char *kl_splice_refusal_help(unsigned int refusal)
{
	if (refusal >= KL_ARRAY_SIZE(refusals) || !refusals[refusal].help)
		return "?";
	return refusals[refusal].help;
}

int kl_session_splice(struct kl_session *session, struct kl_abi_splice *params)
{
	return kl_client_call(session->fd, KL_IOC_SPLICE, params, sizeof(*params), "splice blocks");
}

int kl_session_unsplice(struct kl_session *session, struct kl_abi_unsplice *result)
{
	struct kl_abi_unsplice own;

	if (!result)
		result = &own;
	*result = (struct kl_abi_unsplice){};
	return kl_client_call(session->fd, KL_IOC_UNSPLICE, result, sizeof(*result),
			      "remove splices");
}

int kl_session_splice_counts(struct kl_session *session, struct kl_abi_splice_counts *counts)
{
	return kl_client_call(session->fd, KL_IOC_SPLICE_COUNTS, counts, sizeof(*counts),
			      "read block counts");
}
