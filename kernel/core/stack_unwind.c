// SPDX-License-Identifier: GPL-2.0
/*
 * Gives a session unwind tables for the files of its traces (KL_IOC_UNWIND). A table stays until
 * the session ends, as walks may use it at any time.
 */
#include <linux/dcache.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/nospec.h>
#include <linux/slab.h>

#include "session.h"
#include "stack_internal.h"
#include "stack_unwind.h"

static u64 unwind_bytes(void)
{
	return kl_memory_size(sizeof(struct kl_unwind) +
			      nr_cpu_ids * sizeof(((struct kl_unwind *)NULL)->cpu[0])) +
	       kl_memory_size(sizeof(struct kl_unwind_cache)) * KL_UNWIND_LEVELS *
		       num_possible_cpus() +
	       kl_memory_size(KL_UNWIND_COPY_WORDS * sizeof(u64));
}

static void free_unwind(struct kl_unwind *unwind)
{
	if (!unwind)
		return;
	for (u32 cpu = 0; cpu < nr_cpu_ids; cpu++)
		for (u32 i = 0; i < KL_UNWIND_LEVELS; i++)
			kvfree(unwind->cpu[cpu][i]);
	kvfree(unwind->copy);
	kfree(unwind);
}

static struct kl_unwind *create_unwind(void)
{
	struct kl_unwind *unwind =
		kzalloc(struct_size(unwind, cpu, nr_cpu_ids), GFP_KERNEL_ACCOUNT);
	int cpu;

	if (!unwind)
		return NULL;
	unwind->copied = 1;
	unwind->copy = kvcalloc(KL_UNWIND_COPY_WORDS, sizeof(u64), GFP_KERNEL_ACCOUNT);
	if (!unwind->copy) {
		free_unwind(unwind);
		return NULL;
	}
	for_each_possible_cpu(cpu) {
		for (u32 i = 0; i < KL_UNWIND_LEVELS; i++) {
			unwind->cpu[cpu][i] = kvzalloc_node(sizeof(*unwind->cpu[cpu][i]),
							    GFP_KERNEL_ACCOUNT, cpu_to_node(cpu));
			if (!unwind->cpu[cpu][i]) {
				free_unwind(unwind);
				return NULL;
			}
		}
	}
	return unwind;
}

/* What a session needs for any table, once. */
static int prepare(struct kl_session *s, struct kl_error *why)
{
	struct kl_stacks *stacks;
	struct kl_unwind *unwind;
	int error = kl_stacks_prepare(s, why);

	if (error)
		return error;
	stacks = s->stacks;
	if (stacks->unwind)
		return 0;
	error = kl_memory_charge(&s->payer, unwind_bytes(), why);
	if (error)
		return error;
	unwind = create_unwind();
	error = unwind ? kl_unwind_changes_watch(why) :
			 kl_fail(why, -ENOMEM, "no memory for unwind tables");
	if (error) {
		free_unwind(unwind);
		kl_memory_uncharge(&s->payer, unwind_bytes());
		return error;
	}
	/* Probes may be running. Pairs with begin in stack_user.c. */
	smp_store_release(&stacks->unwind, unwind);
	return 0;
}

/* The file is one whose frames have been seen, or one that the caller has open. */
static int find_file(struct kl_stacks *stacks, struct kl_abi_unwind *call, struct file **file,
		     struct inode **inode, struct kl_error *why)
{
	const struct kl_stack_object *object;

	if (!call->object) {
		*file = fget(call->fd);
		if (!*file)
			return kl_fail(why, -EBADF, "%d is not an open file", call->fd);
		/* On an overlay, mappings are of the file below. */
		*inode = d_real_inode((*file)->f_path.dentry);
		if (S_ISREG(file_inode(*file)->i_mode))
			return 0;
		fput(*file);
		return kl_fail(why, -EINVAL, "not a regular file");
	}
	if (call->object > KL_STACK_OBJECTS_MAX)
		return kl_fail(why, -EINVAL, "no file has the number %u", call->object);
	object = &stacks->object[array_index_nospec(call->object - 1, KL_STACK_OBJECTS_MAX)];
	/* Pairs with kl_stack_object. */
	*file = smp_load_acquire(&object->file);
	if (!*file)
		return kl_fail(why, -EINVAL, "no file has the number %u", call->object);
	*inode = object->inode;
	get_file(*file);
	return 0;
}

/* Let walks use a table. */
static int publish(struct kl_session *s, struct kl_unwind_table **to, struct kl_unwind_table *table,
		   struct kl_error *why)
{
	struct kl_unwind *unwind = s->stacks->unwind;
	u64 bytes = kl_unwind_table_bytes(table->n);
	int error = kl_memory_charge(&s->payer, bytes, why);

	if (error)
		return error;
	if (*to) {
		kl_memory_uncharge(&s->payer, bytes);
		return kl_fail(why, -EEXIST, "the file already has an unwind table");
	}
	/* Pairs with describe in stack_user.c. */
	smp_store_release(to, table);
	/* Whatever was found out without the table is outdated. */
	WRITE_ONCE(unwind->tables, unwind->tables + 1);
	return 0;
}

static int give(struct kl_session *s, struct kl_abi_unwind *call, struct inode *inode,
		struct file *file, struct kl_error *why)
{
	struct kl_unwind_table *table, **to = &s->stacks->unwind->vdso;
	int error;

	if (file) {
		call->object = kl_stack_object(s->stacks, inode, file);
		if (!call->object)
			return kl_fail(why, -ENOSPC, "the session's table of files is full");
		to = &s->stacks->object[call->object - 1].table;
	}
	/* Before rows are copied. */
	error = kl_memory_charge(&s->payer, kl_unwind_table_bytes(call->n), why);
	if (error)
		return error;
	table = kl_unwind_table_get(s, call, inode, file, why);
	kl_memory_uncharge(&s->payer, kl_unwind_table_bytes(call->n));
	if (IS_ERR_OR_NULL(table)) {
		call->n = 0;
		return PTR_ERR_OR_ZERO(table);
	}
	call->n = table->n;
	mutex_lock(&s->lock);
	error = publish(s, to, table, why);
	mutex_unlock(&s->lock);
	if (error)
		kl_unwind_table_put(table);
	return error;
}

/**
 * kl_stack_unwind - KL_IOC_UNWIND
 * @s: the session
 * @call: as in uapi/unwind.h
 * @why: set on failure
 *
 * Context: the caller's system call; may sleep.
 */
int kl_stack_unwind(struct kl_session *s, struct kl_abi_unwind *call, struct kl_error *why)
{
	struct inode *inode = NULL;
	struct file *file = NULL;
	int error;

	if (call->flags & ~KL_UNWIND_VDSO || call->reserved)
		return kl_fail(why, -EINVAL, "unknown flags of an unwind table");
	if (call->n > KL_UNWIND_ROWS_MAX)
		return kl_fail(why, -E2BIG, "more than %u unwind rows", KL_UNWIND_ROWS_MAX);
	mutex_lock(&s->lock);
	error = prepare(s, why);
	mutex_unlock(&s->lock);
	if (error)
		return error;
	if (!(call->flags & KL_UNWIND_VDSO))
		error = find_file(s->stacks, call, &file, &inode, why);
	if (error)
		return error;
	error = give(s, call, inode, file, why);
	if (file)
		fput(file);
	return error;
}

/**
 * kl_stack_unwind_destroy - free the tables of a session that nothing uses any more
 * @stacks: its traces
 *
 * Context: may sleep.
 */
void kl_stack_unwind_destroy(struct kl_stacks *stacks)
{
	if (!stacks->unwind)
		return;
	for (u32 i = 0; i < KL_STACK_OBJECTS_MAX; i++)
		if (stacks->object[i].table)
			kl_unwind_table_put(stacks->object[i].table);
	if (stacks->unwind->vdso)
		kl_unwind_table_put(stacks->unwind->vdso);
	kl_unwind_changes_unwatch();
	free_unwind(stacks->unwind);
}
