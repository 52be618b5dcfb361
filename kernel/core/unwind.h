/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unwind tables of programs: loaded by user space for a session's files, and shared by the sessions
 * that may. docs/design/unwind.md has the rules.
 */
#ifndef KL_CORE_UNWIND_H
#define KL_CORE_UNWIND_H

#include <linux/hash.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/types.h>
#include <linux/uidgid.h>

#include "../../uapi/kernlens.h"

struct file;
struct inode;
struct kl_error;
struct kl_session;

/**
 * struct kl_unwind_table - the checked table of a file; constant
 * @hash: of all tables; under tables_lock of unwind_table.c
 * @inode: of the file's mappings; NULL: the vDSO
 * @file: keeps it
 * @uid: who has loaded it
 * @trusted: that was a user who may see all tasks, so everybody may use it
 * @refs: number of objects that use it; under tables_lock
 * @n: number of rows
 */
struct kl_unwind_table {
	struct hlist_node hash;
	struct inode *inode;
	struct file *file;
	kuid_t uid;
	bool trusted;
	u32 refs;
	u32 n;
	struct kl_unwind_row row[];
};

struct kl_unwind_table *kl_unwind_table_get(const struct kl_session *s,
					    const struct kl_abi_unwind *call, struct inode *inode,
					    struct file *file, struct kl_error *why);
void kl_unwind_table_put(struct kl_unwind_table *table);
u64 kl_unwind_table_bytes(u32 n);
int kl_unwind_changes_watch(struct kl_error *why);
void kl_unwind_changes_unwatch(void);

/* CFA is a number of words above sp or bp, and the caller's bp is below CFA or unchanged. */
static inline bool kl_unwind_rule_is_plain(u32 rule)
{
	u32 kind = kl_unwind_kind_of(rule);

	return (kind == KL_UNWIND_SP || kind == KL_UNWIND_BP) && kl_unwind_a(rule) &&
	       kl_unwind_b(rule) <= KL_UNWIND_B_CFA_MAX;
}

/* The rule for a place in a table's file. */
static inline u32 kl_unwind_table_find(const struct kl_unwind_table *table, u64 place)
{
	u32 from = 0, to = table->n;

	while (from < to) {
		u32 middle = from + (to - from) / 2;

		if (table->row[middle].offset <= place)
			from = middle + 1;
		else
			to = middle;
	}
	return from ? table->row[from - 1].rule : KL_UNWIND_NONE;
}

/*
 * Counts changes of executable mappings, by a hash of the mm: a count that has not changed means
 * that no code has been mapped into that mm since.
 */
#define KL_UNWIND_CHANGES_BITS 10

extern atomic_t kl_unwind_changes[1u << KL_UNWIND_CHANGES_BITS];

static inline u32 kl_unwind_changes_of(const struct mm_struct *mm)
{
	return atomic_read(&kl_unwind_changes[hash_ptr(mm, KL_UNWIND_CHANGES_BITS)]);
}

#endif /* KL_CORE_UNWIND_H */
