/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attaches to probe points in programs. The interface changed in v6.12: registering returns a
 * handle, and detaching has two steps.
 */
#ifndef KL_COMPAT_UPROBE_H
#define KL_COMPAT_UPROBE_H

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/uprobes.h>

#include "compat_config.h"

/* The parameters of a handler, with what newer kernels append, which is not used. */
#ifdef KL_HAVE_UPROBE_DATA
#define KL_UPROBE_PARAMS(...) __VA_ARGS__, __u64 *data
#else
#define KL_UPROBE_PARAMS(...) __VA_ARGS__
#endif

/* Identifies an attached consumer, to detach it; empty if inode and offset identify it. */
struct kl_uprobe_handle {
	struct uprobe *uprobe;
};

/*
 * @semaphore: offset of a 16-bit number in the file, which is incremented while the consumer is
 * attached; 0: none. Context: may sleep.
 */
static inline int kl_uprobe_register(struct kl_uprobe_handle *handle, struct inode *inode,
				     loff_t offset, loff_t semaphore,
				     struct uprobe_consumer *consumer)
{
#ifdef KL_HAVE_UPROBE_HANDLE
	handle->uprobe = uprobe_register(inode, offset, semaphore, consumer);
	return PTR_ERR_OR_ZERO(handle->uprobe);
#else
	return uprobe_register_refctr(inode, offset, semaphore, consumer);
#endif
}

/* A handler may still run until kl_uprobe_synchronize(). Context: may sleep. */
static inline void kl_uprobe_unregister(struct kl_uprobe_handle *handle, struct inode *inode,
					loff_t offset, struct uprobe_consumer *consumer)
{
#ifdef KL_HAVE_UPROBE_HANDLE
	uprobe_unregister_nosync(handle->uprobe, consumer);
#else
	uprobe_unregister(inode, offset, consumer);
#endif
}

/* Wait until no handler of an unregistered consumer runs any more. Context: may sleep. */
static inline void kl_uprobe_synchronize(void)
{
#ifdef KL_HAVE_UPROBE_HANDLE
	uprobe_unregister_sync();
#endif
}

#endif /* KL_COMPAT_UPROBE_H */
