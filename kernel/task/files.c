// SPDX-License-Identifier: GPL-2.0
/*
 * The open files of any task. They are taken from its table with references, a batch at a time,
 * and used without a lock: a caller's work with a file may take long, and a table may have a
 * million descriptors. Used by details and by the state dump.
 */
#include <linux/bitmap.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/nospec.h>
#include <linux/sched/task.h>

#include "../compat/file.h"
#include "files.h"

/* Descriptors scanned at once: the table may be large and empty. */
#define SLOTS_MAX BIT(18)

static void add(struct kl_file_batch *b, struct fdtable *table, u32 fd)
{
	struct file *file = kl_get_file_rcu(&table->fd[fd]);

	/* Not opened yet, or being closed. */
	if (!file)
		return;
	b->fd[b->n] = fd;
	/* The owner may be changing the table: the value was right a moment ago, or is now. */
	b->cloexec[b->n] = data_race(test_bit(fd, table->close_on_exec));
	b->file[b->n++] = file;
}

/*
 * A set bit is only a hint: the owner opens and closes files concurrently, under a lock that we do
 * not take. Only looking up the descriptor shows whether it is open.
 */
static unsigned long next_open(const struct fdtable *table, unsigned long end, unsigned long from)
{
	return data_race(find_next_bit(table->open_fds, end, from));
}

/* The task's lock holds its files, and RCU the table. */
static u64 take_from(struct fdtable *table, struct kl_file_batch *b, u64 from)
{
	unsigned long fd, end;

	if (from >= table->max_fds)
		return KL_FILES_END;
	end = min_t(u64, from + SLOTS_MAX, table->max_fds);
	for (fd = next_open(table, end, from); fd < end; fd = next_open(table, end, fd + 1)) {
		if (b->n == KL_FILES_BATCH)
			return fd;
		add(b, table, fd);
	}
	return end < table->max_fds ? end : KL_FILES_END;
}

/**
 * kl_files_take - take a batch of a task's open files
 * @t: task, with a reference
 * @b: filled in; to be released with kl_files_put()
 * @from: descriptor to begin with
 *
 * Returns the descriptor to continue with, even if @b is empty, or KL_FILES_END. Context: any, but
 * not with the task's lock held.
 */
u64 kl_files_take(struct task_struct *t, struct kl_file_batch *b, u64 from)
{
	u64 next = KL_FILES_END;

	b->n = 0;
	task_lock(t);
	rcu_read_lock();
	if (t->files)
		next = take_from(files_fdtable(t->files), b, from);
	rcu_read_unlock();
	task_unlock(t);
	return next;
}

/**
 * kl_files_put - release a batch from kl_files_take()
 * @b: the batch
 *
 * Context: may sleep.
 */
void kl_files_put(struct kl_file_batch *b)
{
	for (u32 i = 0; i < b->n; i++)
		fput(b->file[i]);
	b->n = 0;
}

/**
 * kl_files_get - find a task's open file by its descriptor
 * @t: task, with a reference
 * @fd: descriptor, any number
 *
 * Returns the file with a reference, or NULL. Context: as for kl_files_take().
 */
struct file *kl_files_get(struct task_struct *t, unsigned int fd)
{
	struct file *file = NULL;
	struct fdtable *table;

	task_lock(t);
	rcu_read_lock();
	if (t->files) {
		table = files_fdtable(t->files);
		if (fd < table->max_fds)
			file = kl_get_file_rcu(&table->fd[array_index_nospec(fd, table->max_fds)]);
	}
	rcu_read_unlock();
	task_unlock(t);
	return file;
}
