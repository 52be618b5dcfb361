// SPDX-License-Identifier: GPL-2.0
/*
 * Loads and checks unwind tables, and shares them: a table that a privileged user has loaded serves
 * all sessions, one of an ordinary user only theirs. A table lives as long as a session uses it. It
 * is data from a stranger: a wrong one makes wrong traces in the sessions that may use it, and
 * nothing else.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../base/error.h"
#include "account.h"
#include "session.h"
#include "unwind.h"

#define ROWS_AT_ONCE 4096u /* copied and checked between two chances to schedule */

static DEFINE_MUTEX(tables_lock);
static DEFINE_HASHTABLE(tables, 8);

/**
 * kl_unwind_table_bytes - memory that a table takes, to be charged
 * @n: number of rows
 */
u64 kl_unwind_table_bytes(u32 n)
{
	return kl_memory_size(sizeof(struct kl_unwind_table) +
			      (u64)n * sizeof(struct kl_unwind_row));
}

static bool may_use(const struct kl_unwind_table *table, const struct kl_session *s)
{
	return table->trusted || uid_eq(table->uid, s->owner->euid);
}

static struct kl_unwind_table *find(const struct kl_session *s, const struct inode *inode)
{
	struct kl_unwind_table *table;

	lockdep_assert_held(&tables_lock);
	hash_for_each_possible(tables, table, hash, (unsigned long)inode)
		if (table->inode == inode && may_use(table, s))
			return table;
	return NULL;
}

/* Is a row allowed after @before? */
static bool is_ordered(const struct kl_unwind_row *row, const struct kl_unwind_row *before)
{
	return (!before || row->offset > before->offset) && kl_unwind_rule_is_valid(row->rule);
}

static int copy_rows(struct kl_unwind_table *table, u64 from, struct kl_error *why)
{
	for (u32 at = 0; at < table->n;) {
		u32 n = min(table->n - at, ROWS_AT_ONCE);

		if (copy_from_user(&table->row[at],
				   u64_to_user_ptr(from + (u64)at * sizeof(*table->row)),
				   n * sizeof(*table->row)))
			return kl_fail(why, -EFAULT, "cannot read the unwind rows");
		for (; n; n--, at++)
			if (!is_ordered(&table->row[at], at ? &table->row[at - 1] : NULL))
				return kl_fail(why, -EINVAL, "unwind row %u is invalid", at);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	if (table->row[table->n - 1].rule != KL_UNWIND_NONE)
		return kl_fail(why, -EINVAL, "the last unwind row has a rule");
	return 0;
}

static struct kl_unwind_table *load(const struct kl_session *s, const struct kl_abi_unwind *call,
				    struct inode *inode, struct file *file, struct kl_error *why)
{
	struct kl_unwind_table *table =
		kvmalloc(struct_size(table, row, call->n), GFP_KERNEL_ACCOUNT);
	int error;

	if (!table) {
		kl_fail(why, -ENOMEM, "no memory for an unwind table");
		return ERR_PTR(-ENOMEM);
	}
	*table = (struct kl_unwind_table){
		.uid = s->owner->euid,
		.trusted = s->may & KL_MAY_SEE_ALL,
		.n = call->n,
	};
	error = copy_rows(table, call->rows, why);
	if (error) {
		kvfree(table);
		return ERR_PTR(error);
	}
	table->inode = inode;
	table->file = file ? get_file(file) : NULL;
	return table;
}

static void destroy(struct kl_unwind_table *table)
{
	if (table->file)
		fput(table->file);
	kvfree(table);
}

static struct kl_unwind_table *share(const struct kl_session *s, const struct inode *inode)
{
	struct kl_unwind_table *table;

	mutex_lock(&tables_lock);
	table = find(s, inode);
	if (table)
		table->refs++;
	mutex_unlock(&tables_lock);
	return table;
}

/**
 * kl_unwind_table_get - the table of a file: one that is loaded already, or the caller's
 * @s: the session; decides which loaded tables can be used
 * @call: has the rows, or none to use only a table that is loaded
 * @inode: of the file's mappings, or NULL for the vDSO
 * @file: keeps the inode, or NULL
 * @why: set on failure
 *
 * The caller charges kl_unwind_table_bytes() and calls kl_unwind_table_put(). Returns the table, or
 * NULL if there is none and the caller has no rows, or an error: -EINVAL for invalid rows, -EINTR,
 * -EFAULT, -ENOMEM. Context: may sleep.
 */
struct kl_unwind_table *kl_unwind_table_get(const struct kl_session *s,
					    const struct kl_abi_unwind *call, struct inode *inode,
					    struct file *file, struct kl_error *why)
{
	struct kl_unwind_table *table = share(s, inode), *other;

	if (table)
		return table;
	if (!call->n)
		return NULL;
	table = load(s, call, inode, file, why);
	if (IS_ERR(table))
		return table;
	table->refs = 1;
	mutex_lock(&tables_lock);
	other = find(s, inode);
	if (other)
		other->refs++;
	else
		hash_add(tables, &table->hash, (unsigned long)inode);
	mutex_unlock(&tables_lock);
	if (!other)
		return table;
	destroy(table);
	return other;
}

/**
 * kl_unwind_table_put - give back what kl_unwind_table_get() has returned
 * @table: no walk uses it any more
 *
 * Context: may sleep.
 */
void kl_unwind_table_put(struct kl_unwind_table *table)
{
	bool last;

	mutex_lock(&tables_lock);
	last = !--table->refs;
	if (last)
		hash_del(&table->hash);
	mutex_unlock(&tables_lock);
	if (last)
		destroy(table);
}
