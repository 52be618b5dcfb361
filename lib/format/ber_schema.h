/* SPDX-License-Identifier: GPL-2.0 */
/* The header of a file of docs/format/kernlens.asn1. */
#ifndef KL_LIB_FORMAT_BER_SCHEMA_H
#define KL_LIB_FORMAT_BER_SCHEMA_H

#include <kernlens/metadata.h>
#include "ber.h"

struct kl_ber_head {
	struct kl_schema *schema;
	struct kl_trace_info info;
	uint64_t begin_ns; /* 0: unknown */
};

/*
 * Read the contents of a Trace, the first item of a file; @trace is bad if the file has none.
 * Returns -EINVAL or -ENOMEM. If a schema was created, the caller owns it even then.
 */
int kl_ber_read_head(struct kl_ber_head *head, struct kl_ber trace);

#endif /* KL_LIB_FORMAT_BER_SCHEMA_H */
