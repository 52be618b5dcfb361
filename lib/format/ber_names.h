/* SPDX-License-Identifier: GPL-2.0 */
/* Resolves the ids of stack traces and the addresses in records of a BER file. */
#ifndef KL_LIB_FORMAT_BER_NAMES_H
#define KL_LIB_FORMAT_BER_NAMES_H

#include <kernlens/address_store.h>
#include <kernlens/event.h>
#include <kernlens/stack_store.h>
#include "ber.h"

/* What has already been written to a file; zero it at the start. */
struct kl_ber_names {
	uint8_t *stacks; /* one bit a stack, by id */
	size_t bytes;
	struct kl_addresses *addresses;
};

void kl_ber_names_deinit(struct kl_ber_names *names);

/* Write the stacks and names that an event needs and the file does not have yet. */
void kl_ber_names_add(struct kl_ber_names *names, struct kl_buffer *buffer,
		      const struct kl_event *event);

/*
 * Read all stacks and names among the items of a file, starting at @at. The bytes may be anything;
 * what cannot be read is skipped. Returns -ENOMEM.
 */
int kl_ber_names_read(struct kl_window *file, uint64_t at, struct kl_stacks *stacks,
		      struct kl_addresses *addresses);

#endif /* KL_LIB_FORMAT_BER_NAMES_H */
