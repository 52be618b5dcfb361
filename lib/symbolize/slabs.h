/* SPDX-License-Identifier: GPL-2.0 */
/* Names what is in objects that the kernel has allocated: the member of a struct at an address. */
#ifndef KL_LIB_SYMBOLIZE_SLABS_H
#define KL_LIB_SYMBOLIZE_SLABS_H

#include <stdbool.h>
#include <stdint.h>
#include <kernlens/buffer.h>

struct kl_slabs;

/*
 * Read the kernel's slab caches from its memory, and its types. NULL with errno and an error text,
 * as without CAP_SYS_RAWIO, or on a kernel whose memory is laid out in another way.
 */
struct kl_slabs *kl_slabs_open(void);
void kl_slabs_close(struct kl_slabs *slabs);

/*
 * Append the name of the member at an address, "STRUCT.MEMBER.MEMBER", if the address is in an
 * object of a slab cache whose struct is known, and the member is of one of the types. It is the
 * object that is there now. @types: names of structs or typedefs, separated by commas. Returns
 * whether it was appended. Sets no error text.
 */
bool kl_slabs_name(const struct kl_slabs *slabs, uint64_t address, const char *types,
		   struct kl_buffer *name);

#endif /* KL_LIB_SYMBOLIZE_SLABS_H */
