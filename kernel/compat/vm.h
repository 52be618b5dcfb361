/* SPDX-License-Identifier: GPL-2.0 */
/* Flags of a mapping: set through accessors since v6.3, which locks them. */
#ifndef KL_COMPAT_VM_H
#define KL_COMPAT_VM_H

#include <linux/mm.h>

#include "compat_config.h"

#ifdef KL_HAVE_VM_FLAGS_SET
#define kl_vm_flags_set(vma, flags) vm_flags_set(vma, flags)
#define kl_vm_flags_clear(vma, flags) vm_flags_clear(vma, flags)
#else
#define kl_vm_flags_set(vma, flags) ((void)((vma)->vm_flags |= (flags)))
#define kl_vm_flags_clear(vma, flags) ((void)((vma)->vm_flags &= ~(flags)))
#endif

#endif /* KL_COMPAT_VM_H */
