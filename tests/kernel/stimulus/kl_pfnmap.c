// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/kl_pfnmap: a mapping of device memory such as graphics cards and VFIO create, without struct
 * pages. It is mapped in pieces of 2 MiB where the kernel lets a file do so, otherwise of 4 KiB.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pgtable.h>

/* Before v6.17, page frame numbers have a type where they may be those of devices. */
#if __has_include(<linux/pfn_t.h>)
#include <linux/pfn_t.h>
#define INSERTED(pfn) pfn_to_pfn_t(pfn)
#else
#define INSERTED(pfn) (pfn)
#endif

/* Below 4 GiB, where machines have devices, far from any RAM. */
#define FIRST_PFN (0xe0000000ul >> PAGE_SHIFT)

static unsigned int huge;
module_param(huge, uint, 0444);
MODULE_PARM_DESC(huge, "pieces of 2 MiB that have been mapped");

static unsigned long pfn_at(const struct vm_fault *vmf, unsigned long address)
{
	return FIRST_PFN + ((address - vmf->vma->vm_start) >> PAGE_SHIFT);
}

static vm_fault_t fault_small(struct vm_fault *vmf)
{
	return vmf_insert_pfn(vmf->vma, vmf->address, pfn_at(vmf, vmf->address));
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
/* The type of @size depends on the kernel; 0 means a small page in all of them. */
static vm_fault_t fault_huge(struct vm_fault *vmf, unsigned int size)
{
	unsigned long at = vmf->address & PMD_MASK;
	vm_fault_t result;

	if (!size || at < vmf->vma->vm_start || at + PMD_SIZE > vmf->vma->vm_end)
		return VM_FAULT_FALLBACK;
	result = vmf_insert_pfn_pmd(vmf, INSERTED(pfn_at(vmf, at)), false);
	huge += result == VM_FAULT_NOPAGE;
	return result;
}
#endif

static const struct vm_operations_struct map_ops = {
	.fault = fault_small,
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	.huge_fault = fault_huge,
#endif
};

static int map(struct file *file, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	/* remap_pfn_range() sets VM_PFNMAP, although the rest of the mapping is still empty. */
	vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	vma->vm_ops = &map_ops;
	return remap_pfn_range(vma, vma->vm_start, FIRST_PFN, PAGE_SIZE, vma->vm_page_prot);
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.mmap = map,
	.get_unmapped_area = thp_get_unmapped_area,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kl_pfnmap",
	.fops = &fops,
	.mode = 0666,
};

module_misc_device(device);

MODULE_DESCRIPTION("Device memory for the tests of kernlens");
MODULE_LICENSE("GPL");
