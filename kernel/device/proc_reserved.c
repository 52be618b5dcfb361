// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/kernlens/kept: the reserved memory, while it has what an earlier boot has left there, as an
 * ELF core with one segment. Writing "forget" gives it up. For root who may see all tasks: this is
 * what a session of theirs has recorded.
 */
#include <linux/elf.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../core/reserved.h"
#include "../core/rights.h"
#include "../core/session.h"
#include "proc.h"

#define FORGET "forget"

/* @elf, @segment: the file's first page; the memory follows */
struct first_page {
	struct elf64_hdr elf;
	struct elf64_phdr segment;
};

static void fill_first_page(struct first_page *page)
{
	const u8 *memory = kl_reserved_memory();

	*page = (struct first_page){
		.elf = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT },
			.e_type = ET_CORE,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = offsetof(struct first_page, segment),
			.e_ehsize = sizeof(page->elf),
			.e_phentsize = sizeof(page->segment),
			.e_phnum = 1,
		},
		.segment = {
			.p_type = PT_LOAD,
			.p_flags = PF_R,
			.p_offset = PAGE_SIZE,
			.p_paddr = kl_reserved_address(memory),
			.p_filesz = kl_reserved_bytes(),
			.p_memsz = kl_reserved_bytes(),
			.p_align = PAGE_SIZE,
		},
	};
}

static ssize_t read_at(char __user *to, size_t bytes, u64 at)
{
	struct first_page page;

	if (at >= PAGE_SIZE)
		return copy_to_user(to, kl_reserved_memory() + (at - PAGE_SIZE), bytes) ? -EFAULT :
											  bytes;
	if (at >= sizeof(page)) {
		bytes = min_t(u64, bytes, PAGE_SIZE - at);
		return clear_user(to, bytes) ? -EFAULT : bytes;
	}
	fill_first_page(&page);
	bytes = min_t(u64, bytes, sizeof(page) - at);
	return copy_to_user(to, (u8 *)&page + at, bytes) ? -EFAULT : bytes;
}

/* A page at a time, so that what another process forgets meanwhile is not read. */
static ssize_t read_file(char __user *to, size_t bytes, loff_t *at)
{
	u64 size = PAGE_SIZE + kl_reserved_bytes();
	ssize_t got = 0, all = 0;

	while (bytes && *at >= 0 && *at < size && got >= 0) {
		if (!kl_reserved_is_full())
			return all ?: -ENODATA;
		if (fatal_signal_pending(current))
			return all ?: -EINTR;
		got = read_at(to + all, min_t(u64, bytes, PAGE_SIZE - offset_in_page(*at)), *at);
		if (got < 0)
			return all ?: got;
		all += got;
		bytes -= got;
		*at += got;
		cond_resched();
	}
	return all;
}

static ssize_t kept_read(struct file *file, char __user *to, size_t bytes, loff_t *at)
{
	ssize_t got;

	/* As in kl_proc_read(). */
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	got = read_file(to, bytes, at);
	module_put(THIS_MODULE);
	return got;
}

static ssize_t kept_write(struct file *file, const char __user *from, size_t bytes, loff_t *at)
{
	char text[sizeof(FORGET) + 1] = {};
	ssize_t error = -EINVAL;

	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	if (bytes >= sizeof(text))
		error = -EINVAL;
	else if (copy_from_user(text, from, bytes))
		error = -EFAULT;
	else if (sysfs_streq(text, FORGET))
		error = kl_reserved_forget();
	module_put(THIS_MODULE);
	return error ?: bytes;
}

static int kept_open(struct inode *inode, struct file *file)
{
	if (!(kl_access_of_opener(file->f_cred) & KL_MAY_SEE_ALL))
		return -EPERM;
	return kl_reserved_is_full() ? 0 : -ENODATA;
}

static const struct proc_ops kept_ops = {
	.proc_open = kept_open,
	.proc_read = kept_read,
	.proc_write = kept_write,
	.proc_lseek = default_llseek,
};

/**
 * kl_proc_add_reserved - create the file, if there is reserved memory
 * @folder: /proc/kernlens
 *
 * Returns 0 or -ENOMEM.
 */
int kl_proc_add_reserved(struct proc_dir_entry *folder)
{
	struct proc_dir_entry *entry;

	if (!kl_reserved_bytes())
		return 0;
	entry = proc_create("kept", 0600, folder, &kept_ops);
	if (!entry)
		return -ENOMEM;
	proc_set_size(entry, PAGE_SIZE + kl_reserved_bytes());
	return 0;
}
