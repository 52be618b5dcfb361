// SPDX-License-Identifier: GPL-2.0
/* in v6.18: the type of a namespace is in what all namespaces begin with */
#include <linux/ns_common.h>

static u32 __maybe_unused kl_check_ns_common_type(const struct ns_common *ns)
{
	return ns->ns_type;
}
