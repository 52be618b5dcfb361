// SPDX-License-Identifier: GPL-2.0
/*
 * A page that a process maps if its text has traps (struct kl_abi_trap): the mapping holds the
 * file, and thereby the module, for as long as the process may hit one. See KL_MMAP_KEEP in
 * uapi/kernlens.h.
 */
#include <linux/mm.h>

#include "../../uapi/kernlens.h"
#include "../compat/vm.h"
#include "../source/dynamic/dynamic.h"
#include "device.h"

static void keep_open(struct vm_area_struct *vma)
{
	kl_traps_expect(true);
}

static void keep_close(struct vm_area_struct *vma)
{
	kl_traps_expect(false);
}

/* The page has no content: touching it raises SIGBUS. */
static const struct vm_operations_struct keep_vm_ops = {
	.open = keep_open,
	.close = keep_close,
};

/**
 * kl_keep_mmap - map the page
 * @vma: to be mapped, from a file of the device
 *
 * Returns 0 or a negative errno.
 */
int kl_keep_mmap(struct vm_area_struct *vma)
{
	if (vma->vm_pgoff != KL_MMAP_KEEP >> PAGE_SHIFT || vma_pages(vma) != 1 ||
	    !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & (VM_READ | VM_WRITE | VM_EXEC))
		return -EACCES;
	kl_vm_flags_clear(vma, VM_MAYREAD | VM_MAYWRITE | VM_MAYEXEC);
	kl_vm_flags_set(vma, VM_IO | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &keep_vm_ops;
	kl_traps_expect(true);
	return 0;
}
