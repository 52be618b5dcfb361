/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel's addresses in fields of events are called: timers' functions, callers of
 * kmalloc, and so on. A trace directory keeps those that its records have
 * (docs/format/trace.md); printing finds them through the schema.
 */
#ifndef KERNLENS_ADDRESSES_H
#define KERNLENS_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/public.h>
#include <kernlens/schema.h>

KL_PUBLIC_BEGIN

#define KL_ADDRESSES_FILE "kernlens/symbols"
#define KL_ADDRESSES_MAX (1u << 17) /* with a name or known to have none */

/**
 * struct kl_address - what an address is called
 * @symbol: function or variable
 * @offset: bytes from its beginning
 * @module: NULL: the kernel itself
 */
struct kl_address {
	const char *symbol;
	uint64_t offset;
	const char *module;
};

struct kl_addresses;

/* Asked for an address that is not there yet. Returns false if it has no name. */
typedef bool (*kl_address_fn)(void *data, uint64_t address, struct kl_address *to);

/**
 * kl_addresses_create - none yet
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_addresses *kl_addresses_create(void);

/**
 * kl_addresses_destroy - free them
 * @addresses: or NULL
 */
void kl_addresses_destroy(struct kl_addresses *addresses);

/**
 * kl_addresses_set_source - where to ask for those that are not there
 * @addresses: changed
 * @find: asked once for each address
 * @done: called when @addresses go, with @data
 * @data: for both
 */
void kl_addresses_set_source(struct kl_addresses *addresses, kl_address_fn find,
			     void (*done)(void *data), void *data);

/**
 * kl_addresses_add - one more
 * @addresses: changed
 * @address: of the kernel
 * @what: copied; NULL: it has no name
 *
 * Returns -ENOSPC if there are KL_ADDRESSES_MAX, -ENOMEM.
 */
int kl_addresses_add(struct kl_addresses *addresses, uint64_t address,
		     const struct kl_address *what);

/**
 * kl_addresses_get - what an address is called
 * @addresses: or NULL: nothing is known
 * @address: any; only those of the kernel have names
 *
 * Returns NULL if it has no name.
 */
const struct kl_address *kl_addresses_get(struct kl_addresses *addresses, uint64_t address);

/**
 * kl_addresses_next - go through those that have a name
 * @addresses: addresses
 * @position: in and out: 0 to begin
 * @address: out
 *
 * Returns NULL after the last.
 */
const struct kl_address *kl_addresses_next(const struct kl_addresses *addresses, size_t *position,
					   uint64_t *address);

/**
 * kl_addresses_count - how many have a name
 * @addresses: addresses
 */
size_t kl_addresses_count(const struct kl_addresses *addresses);

/**
 * kl_addresses_load - those of a trace directory
 * @path: of the directory
 *
 * Returns NULL with errno ENOENT if it has none, EINVAL (with the line's number in the error
 * text) or ENOMEM.
 */
struct kl_addresses *kl_addresses_load(const char *path);

/**
 * kl_addresses_parse - what is in such a file
 * @text: any bytes
 * @bytes: of them
 *
 * Returns NULL as kl_addresses_load().
 */
struct kl_addresses *kl_addresses_parse(const char *text, size_t bytes);

/**
 * kl_addresses_write - as such a file has them
 * @addresses: addresses
 * @buffer: appended to
 */
void kl_addresses_write(const struct kl_addresses *addresses, struct kl_buffer *buffer);

/**
 * kl_addresses_save - put them into a trace directory
 * @addresses: addresses
 * @path: of the directory; what is there already is replaced at once
 *
 * Returns what the system said.
 */
int kl_addresses_save(const struct kl_addresses *addresses, const char *path);

/**
 * kl_schema_set_addresses - print names where events have addresses of the kernel
 * @schema: schema
 * @addresses: must outlive its use; NULL: none
 */
void kl_schema_set_addresses(struct kl_schema *schema, struct kl_addresses *addresses);

/**
 * kl_print_address - "symbol", "symbol+0x12" or "module:symbol+0x12"
 * @buffer: appended to
 * @address: address
 */
void kl_print_address(struct kl_buffer *buffer, const struct kl_address *address);

/**
 * kl_addresses_of_kernel - addresses that ask the running kernel's symbols
 *
 * They are read when an address is first asked for, and anew when modules have come or gone.
 * Returns NULL with errno ENOMEM.
 */
struct kl_addresses *kl_addresses_of_kernel(void);

/**
 * kl_addresses_collect - look at all addresses of the kernel that a trace's events have
 * @addresses: of the kernel that it was recorded on
 * @path: the trace; system calls' arguments, which are programs' addresses, are left out
 * @limit_ns: stop after this time
 *
 * Returns 1, 0 if it was stopped, or what opening the trace said.
 */
int kl_addresses_collect(struct kl_addresses *addresses, const char *path, uint64_t limit_ns);

KL_PUBLIC_END

#endif /* KERNLENS_ADDRESSES_H */
