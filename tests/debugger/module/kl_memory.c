// SPDX-License-Identifier: GPL-2.0
/*
 * The device kl_memory reads and writes physical memory, as a debugger does, from the machine itself.
 * The parameter `root` is the physical address of page tables. For tests/debugger/fuzz.py.
 */
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

static int get_root(char *text, const struct kernel_param *parameter)
{
	return sysfs_emit(text, "%lu\n", read_cr3_pa());
}

static const struct kernel_param_ops root_ops = {
	.get = get_root,
};

module_param_cb(root, &root_ops, NULL, 0400);

/* Is all of it ordinary memory? */
static bool is_memory(loff_t at, size_t bytes)
{
	if (at < 0 || bytes > PAGE_SIZE || at + bytes < at)
		return false;
	return page_is_ram(PHYS_PFN(at)) && (!bytes || page_is_ram(PHYS_PFN(at + bytes - 1)));
}

/* Through a buffer: hardened kernels copy only whole objects between user space and their memory. */
static ssize_t memory_read(struct file *file, char __user *to, size_t bytes, loff_t *at)
{
	ssize_t result = bytes;
	void *buffer;

	if (!is_memory(*at, bytes))
		return -EFAULT;
	buffer = kmemdup(phys_to_virt(*at), bytes, GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	if (copy_to_user(to, buffer, bytes))
		result = -EFAULT;
	kfree(buffer);
	return result;
}

static ssize_t memory_write(struct file *file, const char __user *from, size_t bytes, loff_t *at)
{
	void *buffer;

	if (!is_memory(*at, bytes))
		return -EFAULT;
	buffer = memdup_user(from, bytes);
	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	memcpy(phys_to_virt(*at), buffer, bytes);
	kfree(buffer);
	return bytes;
}

static const struct file_operations memory_fops = {
	.owner = THIS_MODULE,
	.read = memory_read,
	.write = memory_write,
	.llseek = noop_llseek,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kl_memory",
	.fops = &memory_fops,
	.mode = 0600,
};

module_misc_device(device);

MODULE_DESCRIPTION("reads and writes physical memory, for tests");
MODULE_LICENSE("GPL");
