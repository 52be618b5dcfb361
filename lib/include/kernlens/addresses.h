/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of kernel addresses in event fields: timer functions, callers of kmalloc, and so on. A
 * trace directory stores those that occur in its records (docs/format/trace.md); the print
 * functions look them up through the schema.
 */
#ifndef KERNLENS_ADDRESSES_H
#define KERNLENS_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/public.h>
#include <kernlens/schema.h>

KL_PUBLIC_BEGIN

#define KL_ADDRESSES_FILE ".kernlens/symbols"
#define KL_ADDRESSES_MAX (1u << 17) /* entries, with and without a name */

/**
 * struct kl_address - the name of an address
 * @symbol: function or variable
 * @offset: bytes from the start of the symbol
 * @module: NULL: the kernel itself
 */
struct kl_address {
	const char *symbol;
	uint64_t offset;
	const char *module;
};

struct kl_addresses;

/**
 * kl_addresses_destroy - free a set
 * @addresses: or NULL
 */
void kl_addresses_destroy(struct kl_addresses *addresses);

/**
 * kl_addresses_get - the name of an address
 * @addresses: or NULL: nothing is known
 * @address: any; only kernel addresses have names
 *
 * Returns NULL if it has no name.
 */
const struct kl_address *kl_addresses_get(struct kl_addresses *addresses, uint64_t address);

/**
 * kl_addresses_count - number of addresses that have a name
 * @addresses: addresses
 */
size_t kl_addresses_count(const struct kl_addresses *addresses);

/**
 * kl_addresses_save - store the names in a trace directory
 * @addresses: addresses
 * @path: of the directory; an existing file is replaced atomically
 *
 * Returns 0 or a negative errno with an error text.
 */
int kl_addresses_save(const struct kl_addresses *addresses, const char *path);

/**
 * kl_schema_set_addresses - print names for kernel addresses in events
 * @schema: schema
 * @addresses: must stay valid while the schema uses it; NULL: none
 */
void kl_schema_set_addresses(struct kl_schema *schema, struct kl_addresses *addresses);

/**
 * kl_print_address - print "symbol", "symbol+0x12" or "module:symbol+0x12"
 * @buffer: appended to
 * @address: address
 */
void kl_print_address(struct kl_buffer *buffer, const struct kl_address *address);

/**
 * kl_addresses_of_kernel - create a set that looks addresses up in the running kernel's symbols
 *
 * The symbols are read when an address is first looked up, and again after modules have been
 * loaded or unloaded. Returns NULL with errno ENOMEM.
 */
struct kl_addresses *kl_addresses_of_kernel(void);

/**
 * kl_addresses_collect - look up all kernel addresses that occur in a trace's events
 * @addresses: names of the kernel on which the trace was recorded
 * @path: the trace; arguments of system calls are skipped, since they are user addresses
 * @limit_ns: stop after this time, in ns
 *
 * Returns 1, 0 if the time limit was reached, or the negative errno from opening the trace.
 */
int kl_addresses_collect(struct kl_addresses *addresses, const char *path, uint64_t limit_ns);

KL_PUBLIC_END

#endif /* KERNLENS_ADDRESSES_H */
