// SPDX-License-Identifier: GPL-2.0
/* /dev/kernlens: each open file is a client (client.c). */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>

#include "client.h"
#include "device.h"

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long user)
{
	return kl_client_call_user(file->private_data, cmd, (void __user *)user);
}

/*
 * Does not take the client's lock, which a call can hold for long. EPOLLPRI: there have been
 * notifications since the statistics were last read through this descriptor.
 */
static __poll_t device_poll(struct file *file, poll_table *table)
{
	struct kl_client *client = file->private_data;
	/* Pairs with the release in adopt_session. */
	struct kl_session *s = smp_load_acquire(&client->session);

	if (!s)
		return EPOLLERR;
	poll_wait(file, &s->notify.waiters.wait, table);
	smp_mb(); /* pairs with kl_waiters_kick */
	return kl_notify_number(s) == READ_ONCE(client->seen) ? 0 : EPOLLPRI;
}

static int device_mmap(struct file *file, struct vm_area_struct *vma)
{
	const struct kl_client *client = file->private_data;

	/* The mapping would keep the descriptor's session alive. */
	return client->session ? -EBUSY : kl_keep_mmap(vma);
}

static int device_open(struct inode *inode, struct file *file)
{
	struct kl_client *client = kl_client_create(file->f_cred);

	if (IS_ERR(client))
		return PTR_ERR(client);
	file->private_data = client;
	return 0;
}

static int device_release(struct inode *inode, struct file *file)
{
	kl_client_destroy(file->private_data);
	return 0;
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = device_poll,
	.mmap = device_mmap,
	.llseek = noop_llseek,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = KBUILD_MODNAME,
	.fops = &device_fops,
	/* packaging/udev sets the group: a module cannot know its number. */
	.mode = 0660,
};

/**
 * kl_device_init - create /dev/kernlens, and the mailbox
 *
 * Returns 0 or a negative errno.
 */
int kl_device_init(void)
{
	int error = misc_register(&device);

	if (error)
		return error;
	error = kl_mailbox_init();
	if (error)
		misc_deregister(&device);
	return error;
}

/**
 * kl_device_deinit - remove /dev/kernlens; none of its files is open
 */
void kl_device_deinit(void)
{
	kl_mailbox_deinit();
	misc_deregister(&device);
}
