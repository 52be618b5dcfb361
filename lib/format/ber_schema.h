/* SPDX-License-Identifier: GPL-2.0 */
/* What a file of docs/format/kernlens.asn1 begins with. */
#ifndef KL_LIB_FORMAT_BER_SCHEMA_H
#define KL_LIB_FORMAT_BER_SCHEMA_H

#include <kernlens/metadata.h>
#include "ber.h"

struct kl_ber_head {
	struct kl_schema *schema;
	struct kl_trace_info info;
	uint64_t begin_ns; /* 0: not told */
};

/*
 * Read what a Trace, the first item of a file, holds; it is bad if there is none. Returns
 * -EINVAL, -ENOMEM; a schema that was made belongs to the caller even then.
 */
int kl_ber_read_head(struct kl_ber_head *head, struct kl_ber trace);

#endif /* KL_LIB_FORMAT_BER_SCHEMA_H */
