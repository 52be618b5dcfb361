// SPDX-License-Identifier: GPL-2.0
/* Details of a task's open files, for detail.c: their kinds and names. */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mutex.h>
#include <linux/pipe_fs_i.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/wait.h>

#include "../../compat/file.h"
#include "../files.h"
#include "detail.h"

/* --------------------------------------------------------------- the table */

/**
 * kl_detail_each_file - visit a task's open files
 * @d: the call; the cursor is the next descriptor
 * @take: writes a record; returns false if there is no room for it
 */
int kl_detail_each_file(struct kl_detail *d,
			bool (*take)(struct kl_detail *d, int fd, struct file *file, bool cloexec))
{
	struct kl_file_batch *b = d->files;
	u64 next = d->cursor;
	bool room = true;

	while (room && next != KL_FILES_END) {
		next = kl_files_take(d->task, b, next);
		for (u32 i = 0; i < b->n && room; i++) {
			room = take(d, b->fd[i], b->file[i], b->cloexec[i]);
			if (room)
				d->cursor = b->fd[i] + 1ull;
			cond_resched();
		}
		kl_files_put(b);
		if (signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/* ------------------------------------------------------------------- kinds */

/* Names that the kernel gives to files which belong to no file system. */
static const struct {
	const char *name;
	u32 kind;
} anonymous[] = {
	{ "[eventfd]", KL_DETAIL_FILE_EVENTFD },   { "[eventpoll]", KL_DETAIL_FILE_EPOLL },
	{ "[timerfd]", KL_DETAIL_FILE_TIMERFD },   { "[signalfd]", KL_DETAIL_FILE_SIGNALFD },
	{ "inotify", KL_DETAIL_FILE_INOTIFY },	   { "[inotify]", KL_DETAIL_FILE_INOTIFY },
	{ "[fanotify]", KL_DETAIL_FILE_FANOTIFY }, { "[pidfd]", KL_DETAIL_FILE_PIDFD },
	{ "[io_uring]", KL_DETAIL_FILE_IO_URING },
};

static u32 anonymous_kind(const struct file *file)
{
	const char *name = (const char *)file->f_path.dentry->d_name.name;

	for (u32 i = 0; i < ARRAY_SIZE(anonymous); i++)
		if (!strcmp(name, anonymous[i].name))
			return anonymous[i].kind;
	return KL_DETAIL_FILE_ANON;
}

static bool is_memfd(const struct file *file)
{
	const struct dentry *dentry = file->f_path.dentry;
	unsigned long magic = file_inode(file)->i_sb->s_magic;

	/* Its directory entry is a root, so no user can create a file of that name. */
	return (magic == TMPFS_MAGIC || magic == HUGETLBFS_MAGIC) && IS_ROOT(dentry) &&
	       !strncmp((const char *)dentry->d_name.name, "memfd:", 6);
}

/**
 * kl_detail_file_kind - the kind of a file
 * @file: with a reference
 *
 * Returns enum kl_detail_file_kind.
 */
u32 kl_detail_file_kind(const struct file *file)
{
	const struct inode *inode = file_inode(file);

	switch (inode->i_sb->s_magic) {
	case ANON_INODE_FS_MAGIC:
		return anonymous_kind(file);
	case NSFS_MAGIC:
		return KL_DETAIL_FILE_NAMESPACE;
#ifdef PID_FS_MAGIC
	case PID_FS_MAGIC:
		return KL_DETAIL_FILE_PIDFD;
#endif
	}
	switch (inode->i_mode & S_IFMT) {
	case S_IFREG:
		return is_memfd(file) ? KL_DETAIL_FILE_MEMFD : KL_DETAIL_FILE_REGULAR;
	case S_IFDIR:
		return KL_DETAIL_FILE_DIRECTORY;
	case S_IFCHR:
		return KL_DETAIL_FILE_CHARACTER;
	case S_IFBLK:
		return KL_DETAIL_FILE_BLOCK;
	case S_IFIFO:
		return inode->i_sb->s_magic == PIPEFS_MAGIC ? KL_DETAIL_FILE_PIPE :
							      KL_DETAIL_FILE_FIFO;
	case S_IFSOCK:
		return KL_DETAIL_FILE_SOCKET;
	case S_IFLNK:
		return KL_DETAIL_FILE_LINK;
	default:
		return KL_DETAIL_FILE_UNKNOWN;
	}
}

/* Bytes in a pipe. A writer may sleep with the pipe's lock, which is not waited for. */
static u64 pipe_bytes(struct inode *inode)
{
	struct pipe_inode_info *pipe = inode->i_pipe;
	u64 bytes = 0;

	if (!mutex_trylock(&pipe->mutex))
		return 0;
	for (unsigned int at = pipe->tail; at != pipe->head; at++)
		bytes += pipe->bufs[at & (pipe->ring_size - 1)].len;
	mutex_unlock(&pipe->mutex);
	return bytes;
}

static bool is_locked(struct inode *inode)
{
	struct file_lock_context *locks = locks_inode_context(inode);

	return locks &&
	       (!list_empty_careful(&locks->flc_flock) || !list_empty_careful(&locks->flc_posix));
}

/*
 * Write a file's description of itself, by the function for /proc/PID/fdinfo, but only for the
 * kernel's own files, as other functions may need more of their caller. Returns its size.
 */
static u32 write_info(struct kl_detail *d, u32 kind, struct file *file, bool *cut)
{
	struct seq_file text = { .buf = d->info, .size = KL_DETAIL_PATH_BYTES_MAX - 1 };

	if (kind != KL_DETAIL_FILE_EVENTFD && kind != KL_DETAIL_FILE_EPOLL &&
	    kind != KL_DETAIL_FILE_TIMERFD && kind != KL_DETAIL_FILE_SIGNALFD &&
	    kind != KL_DETAIL_FILE_INOTIFY)
		return 0;
	if (!file->f_op->show_fdinfo || file->f_op->owner)
		return 0;
	file->f_op->show_fdinfo(&text, file);
	*cut = seq_has_overflowed(&text);
	return min_t(size_t, text.count, text.size);
}

static void fill_record(struct kl_abi_detail_file *to, u32 kind, struct file *file, u32 flags)
{
	struct inode *inode = file_inode(file);

	to->kind = kind;
	to->flags = flags | (file->f_mode & FMODE_READ ? KL_DETAIL_FILE_READ : 0) |
		    (file->f_mode & FMODE_WRITE ? KL_DETAIL_FILE_WRITE : 0) |
		    (is_locked(inode) ? KL_DETAIL_FILE_LOCKED : 0);
	if (d_unlinked(file->f_path.dentry) && S_ISREG(inode->i_mode) &&
	    kind != KL_DETAIL_FILE_MEMFD)
		to->flags |= KL_DETAIL_FILE_DELETED;
	to->open_flags = file->f_flags;
	to->mode = inode->i_mode;
	to->links = inode->i_nlink;
	to->dev_major = MAJOR(inode->i_sb->s_dev);
	to->dev_minor = MINOR(inode->i_sb->s_dev);
	to->rdev_major = MAJOR(inode->i_rdev);
	to->rdev_minor = MINOR(inode->i_rdev);
	to->inode = inode->i_ino;
	to->file_bytes = i_size_read(inode);
	if (S_ISFIFO(inode->i_mode) && !(file->f_mode & FMODE_PATH) && inode->i_pipe)
		to->file_bytes = pipe_bytes(inode);
	to->position = READ_ONCE(file->f_pos);
}

/**
 * kl_detail_add_file - add the record of a file
 * @d: the call
 * @record: kind of the record
 * @fd: descriptor, or -1
 * @file: with a reference
 * @flags: KL_DETAIL_FILE_* that cannot be read from the file
 * @events: of a wait
 *
 * Returns false if there is no room. Context: may sleep.
 */
bool kl_detail_add_file(struct kl_detail *d, u32 record, int fd, struct file *file, u32 flags,
			u32 events)
{
	u32 kind = kl_detail_file_kind(file), text_bytes, info_bytes;
	struct kl_abi_detail_file *to;
	bool cut = false;
	const char *text;

	text = d_path(&file->f_path, d->path, KL_DETAIL_PATH_BYTES_MAX);
	text_bytes = IS_ERR(text) ? 0 : strlen(text);
	info_bytes = write_info(d, kind, file, &cut);
	to = kl_detail_add(d, record, sizeof(*to), text_bytes + info_bytes + 2);
	if (!to)
		return false;
	fill_record(to, kind, file, flags);
	to->fd = fd;
	to->events = events;
	to->text_bytes = text_bytes;
	to->info_bytes = info_bytes;
	to->record.flags = IS_ERR(text) || cut ? KL_DETAIL_CUT : 0;
	if (text_bytes)
		kl_detail_put_text(to, sizeof(*to), text, text_bytes);
	kl_detail_put_text(to, sizeof(*to) + text_bytes + 1, d->info, info_bytes);
	return true;
}

static bool add(struct kl_detail *d, int fd, struct file *file, bool cloexec)
{
	return kl_detail_add_file(d, KL_DETAIL_FILES, fd, file,
				  cloexec ? KL_DETAIL_FILE_CLOEXEC : 0, 0);
}

/**
 * kl_detail_files - KL_DETAIL_FILES
 * @d: the call
 */
int kl_detail_files(struct kl_detail *d)
{
	return kl_detail_each_file(d, add);
}
