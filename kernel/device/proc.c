// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/kernlens: files for people, one for each row of the table below, and those of
 * proc_processes.c and proc_reserved.c. An opener sees what the device would show it.
 */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "../core/session.h"
#include "proc.h"
#include "proc_latency.h"

/**
 * kl_proc_read - seq_read, during which the module cannot be unloaded
 * @file: of a sequence
 * @to: the reader's memory
 * @bytes: size of the memory
 * @at: position in the file; advanced
 *
 * Removing a file waits for its readers, and a fault on a reader's memory may never complete. With
 * the reference, unloading fails at once because the module is in use. An open file alone does not
 * hold the module. Returns bytes or a negative errno. Context: may sleep.
 */
ssize_t kl_proc_read(struct file *file, char __user *to, size_t bytes, loff_t *at)
{
	ssize_t got;

	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	got = seq_read(file, to, bytes, at);
	module_put(THIS_MODULE);
	return got;
}

/* ---------------------------------------------------------------- latency */

static void *latency_at(struct seq_file *to, loff_t at)
{
	const struct kl_latency_list *list = to->private;

	return at < kl_latency_list_lines(list) ? (void *)(unsigned long)(at + 1) : NULL;
}

static void *latency_start(struct seq_file *to, loff_t *at)
{
	return latency_at(to, *at);
}

static void *latency_next(struct seq_file *to, void *last, loff_t *at)
{
	return latency_at(to, ++*at);
}

static void latency_stop(struct seq_file *to, void *last)
{
}

static int latency_show(struct seq_file *to, void *at)
{
	kl_latency_list_show(to->private, (unsigned long)at - 1, to);
	return 0;
}

static const struct seq_operations latency_operations = {
	.start = latency_start,
	.next = latency_next,
	.stop = latency_stop,
	.show = latency_show,
};

static int latency_open(struct inode *inode, struct file *file)
{
	u32 may = kl_access_of_opener(file->f_cred);
	struct kl_latency_list *list = kl_latency_list(file->f_cred, may);
	int error;

	if (IS_ERR(list))
		return PTR_ERR(list);
	error = seq_open(file, &latency_operations);
	if (error)
		kl_latency_list_free(list);
	else
		((struct seq_file *)file->private_data)->private = list;
	return error;
}

static int latency_release(struct inode *inode, struct file *file)
{
	kl_latency_list_free(((struct seq_file *)file->private_data)->private);
	return seq_release(inode, file);
}

static const struct proc_ops latency_ops = {
	.proc_open = latency_open,
	.proc_read = kl_proc_read,
	.proc_lseek = seq_lseek,
	.proc_release = latency_release,
};

/* ----------------------------------------------------------------- limits */

static const char *const limit_names[] = {
#define KL_LIMIT_ROW(id, name, help) [id] = #name,
#include "../../uapi/limits.def"
#undef KL_LIMIT_ROW
};

/* @payer: the opener's, which decides what accounts may be shown. @limits: the current account. */
struct limits_file {
	struct kl_payer payer;
	const struct cred *cred;
	struct kl_abi_limits limits;
};

static void show_account(struct seq_file *to, const struct kl_abi_limits *limits)
{
	static const char *const kinds[] = { "user", "privileged", "all_users", "machine" };

	seq_puts(to, kinds[limits->kind]);
	if (limits->kind < KL_ACCOUNT_ALL_USERS)
		seq_printf(to, ":%u", limits->uid);
	for (u32 i = 0; i < KL_LIMITS; i++) {
		seq_printf(to, " %llu", limits->used[i]);
		if (limits->limit[i] == KL_LIMIT_NONE)
			seq_puts(to, "/-");
		else
			seq_printf(to, "/%llu", limits->limit[i]);
	}
	seq_printf(to, " %llu %llu %llu %llu\n", limits->patches, limits->waits, limits->work_us,
		   limits->refused);
}

/* A heading, then one line for each account. */
static void *limits_at(struct seq_file *to, loff_t at)
{
	struct limits_file *file = to->private;

	cond_resched();
	if (!at)
		return SEQ_START_TOKEN;
	file->limits.index = at - 1;
	return kl_account_read(&file->limits, &file->payer, file->cred->user_ns) ? NULL : file;
}

static void *limits_start(struct seq_file *to, loff_t *at)
{
	return limits_at(to, *at);
}

static void *limits_next(struct seq_file *to, void *last, loff_t *at)
{
	return limits_at(to, ++*at);
}

static void limits_stop(struct seq_file *to, void *last)
{
}

static int limits_show(struct seq_file *to, void *at)
{
	const struct limits_file *file = to->private;

	if (at != SEQ_START_TOKEN) {
		show_account(to, &file->limits);
		return 0;
	}
	seq_puts(to, "account");
	for (u32 i = 0; i < KL_LIMITS; i++)
		seq_printf(to, " %s", limit_names[i]);
	seq_puts(to, " patches waits work_us refused\n");
	return 0;
}

static const struct seq_operations limits_operations = {
	.start = limits_start,
	.next = limits_next,
	.stop = limits_stop,
	.show = limits_show,
};

static int limits_open(struct inode *inode, struct file *file)
{
	u32 may = kl_access_of_opener(file->f_cred);
	struct limits_file *opened;
	int error;

	opened = __seq_open_private(file, &limits_operations, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	opened->cred = file->f_cred;
	error = kl_payer_init(&opened->payer, file->f_cred, may);
	if (error)
		goto close;
	error = kl_payer_charge_base(&opened->payer, KL_DESCRIPTOR_BYTES);
	if (error)
		goto deinit_payer;
	return 0;

deinit_payer:
	kl_payer_deinit(&opened->payer);
close:
	seq_release_private(inode, file);
	return error;
}

static int limits_release(struct inode *inode, struct file *file)
{
	struct limits_file *opened = ((struct seq_file *)file->private_data)->private;

	kl_payer_deinit(&opened->payer);
	return seq_release_private(inode, file);
}

static const struct proc_ops limits_ops = {
	.proc_open = limits_open,
	.proc_read = kl_proc_read,
	.proc_lseek = seq_lseek,
	.proc_release = limits_release,
};

/* ------------------------------------------------------------ the folder */

static const struct {
	const char *name;
	umode_t mode;
	const struct proc_ops *ops;
} files[] = {
	{ "latency", 0444, &latency_ops },
	{ "limits", 0444, &limits_ops },
};

static struct proc_dir_entry *folder;

/**
 * kl_proc_init - create /proc/kernlens
 *
 * Returns 0, or -ENOMEM; nothing is left then.
 */
int kl_proc_init(void)
{
	folder = proc_mkdir(KBUILD_MODNAME, NULL);
	if (!folder)
		return -ENOMEM;
	for (u32 i = 0; i < ARRAY_SIZE(files); i++) {
		if (proc_create(files[i].name, files[i].mode, folder, files[i].ops))
			continue;
		kl_proc_deinit();
		return -ENOMEM;
	}
	if (kl_proc_add_processes(folder) || kl_proc_add_reserved(folder)) {
		kl_proc_deinit();
		return -ENOMEM;
	}
	return 0;
}

/**
 * kl_proc_deinit - remove /proc/kernlens; waits for its readers
 */
void kl_proc_deinit(void)
{
	proc_remove(folder);
}
