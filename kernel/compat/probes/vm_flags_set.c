// SPDX-License-Identifier: GPL-2.0
/* in v6.3: vm_flags is read-only; vm_flags_set and vm_flags_clear change it */
#include <linux/mm.h>

static void __maybe_unused kl_check_vm_flags_set(struct vm_area_struct *vma)
{
	vm_flags_set(vma, VM_DONTCOPY);
	vm_flags_clear(vma, VM_MAYWRITE);
}
