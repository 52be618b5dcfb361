/* SPDX-License-Identifier: GPL-2.0 */
/* Fills sets of named addresses: from a source, from a trace directory, and from text. */
#ifndef KERNLENS_ADDRESS_STORE_H
#define KERNLENS_ADDRESS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/addresses.h>

/* Called for an address that has no entry yet. Returns false if it has no name. */
typedef bool (*kl_address_fn)(void *data, uint64_t address, struct kl_address *to);

/**
 * kl_addresses_create - create an empty set
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_addresses *kl_addresses_create(void);

/**
 * kl_schema_addresses - the set that a schema uses
 * @schema: schema
 *
 * Returns NULL if it has none.
 */
struct kl_addresses *kl_schema_addresses(const struct kl_schema *schema);

/**
 * kl_addresses_set_source - set where to look up addresses that have no entry
 * @addresses: changed
 * @find: called once for each address
 * @done: called with @data when @addresses is destroyed
 * @data: passed to @find and @done
 */
void kl_addresses_set_source(struct kl_addresses *addresses, kl_address_fn find,
			     void (*done)(void *data), void *data);

/**
 * kl_addresses_add - add an address
 * @addresses: changed
 * @address: of the kernel
 * @what: copied; NULL: the address has no name
 *
 * Returns 0, -EINVAL (not a kernel address), -ENOSPC (there are KL_ADDRESSES_MAX entries already)
 * or -ENOMEM, with an error text.
 */
int kl_addresses_add(struct kl_addresses *addresses, uint64_t address,
		     const struct kl_address *what);

/**
 * kl_addresses_next - iterate over the addresses that have a name
 * @addresses: addresses
 * @position: in and out: 0 to begin
 * @address: out
 *
 * Returns NULL after the last.
 */
const struct kl_address *kl_addresses_next(const struct kl_addresses *addresses, size_t *position,
					   uint64_t *address);

/**
 * kl_addresses_parse - parse the contents of KL_ADDRESSES_FILE
 * @text: any bytes
 * @bytes: size of @text
 *
 * Returns NULL with errno EINVAL (the error text contains the line number) or ENOMEM.
 */
struct kl_addresses *kl_addresses_parse(const char *text, size_t bytes);

/**
 * kl_addresses_write - format addresses as in KL_ADDRESSES_FILE
 * @addresses: addresses
 * @buffer: appended to
 */
void kl_addresses_write(const struct kl_addresses *addresses, struct kl_buffer *buffer);

#endif /* KERNLENS_ADDRESS_STORE_H */
