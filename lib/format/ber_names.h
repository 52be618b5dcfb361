/* SPDX-License-Identifier: GPL-2.0 */
/* What ids of call traces and addresses in records of a file in BER stand for. */
#ifndef KL_LIB_FORMAT_BER_NAMES_H
#define KL_LIB_FORMAT_BER_NAMES_H

#include <kernlens/addresses.h>
#include <kernlens/event.h>
#include <kernlens/stack.h>
#include "ber.h"

/* What a file that is written has already; zeroed at first. */
struct kl_ber_names {
	uint8_t *stacks; /* a bit a trace, by id */
	size_t bytes;
	struct kl_addresses *addresses;
};

void kl_ber_names_deinit(struct kl_ber_names *names);

/* Write what an event needs that the file does not have yet. */
void kl_ber_names_add(struct kl_ber_names *names, struct kl_buffer *buffer,
		      const struct kl_event *event);

/*
 * Read all that are among the items of a file from @at on, which may be anything: what cannot
 * be read is left out. Returns -ENOMEM.
 */
int kl_ber_names_read(struct kl_window *file, uint64_t at, struct kl_stacks *stacks,
		      struct kl_addresses *addresses);

#endif /* KL_LIB_FORMAT_BER_NAMES_H */
