// SPDX-License-Identifier: GPL-2.0
/*
 * A session's stack traces outside of probes: allocates the memory for them, and copies them to
 * user space (KL_IOC_STACKS). The memory is allocated under the session's lock and kept until the
 * session ends.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../compat/file.h"
#include "reserved.h"
#include "session.h"
#include "stack_internal.h"

static void *alloc_array(bool reserved, u64 n, u64 size)
{
	return reserved ? kl_reserved_alloc(n * size) : kvcalloc(n, size, GFP_KERNEL_ACCOUNT);
}

static void free_array(void *array, u64 n, u64 size)
{
	if (kl_reserved_has(array))
		kl_reserved_free(array, n * size);
	else
		kvfree(array);
}

/**
 * kl_stacks_destroy - free all traces and release the files
 * @stacks: traces of a session that nothing uses any more; or NULL
 */
void kl_stacks_destroy(struct kl_stacks *stacks)
{
	struct kl_stack_table *t;

	if (!stacks)
		return;
	t = &stacks->table;
	kl_stack_unwind_destroy(stacks);
	for (u32 i = 0; i < KL_STACK_OBJECTS_MAX; i++)
		if (stacks->object[i].file)
			fput(stacks->object[i].file);
	kvfree(t->slot);
	free_array(t->entry, t->traces, sizeof(*t->entry));
	free_array(t->word, t->words, sizeof(*t->word));
	kvfree(stacks);
}

/* The sizes of a table's parts. */
static struct kl_stack_table size_table(const struct kl_stack_limits *limits)
{
	u32 traces = limits->traces ?: KL_STACK_TRACES_DEFAULT;

	return (struct kl_stack_table){
		.traces = traces,
		.words = traces * KL_STACK_WORDS_EACH + KL_STACK_FRAMES_MAX * 2,
		.mask = 2 * roundup_pow_of_two(traces) - 1,
	};
}

static u64 bytes_of(const struct kl_stack_table *t)
{
	return kl_memory_size(sizeof(struct kl_stacks)) +
	       kl_memory_size((t->mask + 1ull) * sizeof(*t->slot)) +
	       kl_memory_size((u64)t->traces * sizeof(*t->entry)) +
	       kl_memory_size((u64)t->words * sizeof(*t->word));
}

/* What extraction reads is in the reserved memory if the session is. */
static struct kl_stacks *create(const struct kl_stack_limits *limits, bool reserved)
{
	struct kl_stacks *stacks = kvzalloc(sizeof(*stacks), GFP_KERNEL_ACCOUNT);
	struct kl_stack_table *t;

	if (!stacks)
		return NULL;
	t = &stacks->table;
	*t = size_table(limits);
	t->seed = get_random_u32();
	stacks->kernel_frames = limits->kernel_frames ?: KL_STACK_FRAMES_DEFAULT;
	stacks->user_frames = limits->user_frames ?: KL_STACK_FRAMES_DEFAULT;
	t->slot = kvcalloc(t->mask + 1ul, sizeof(*t->slot), GFP_KERNEL_ACCOUNT);
	t->entry = alloc_array(reserved, t->traces, sizeof(*t->entry));
	t->word = alloc_array(reserved, t->words, sizeof(*t->word));
	if (t->slot && t->entry && t->word)
		return stacks;
	kl_stacks_destroy(stacks);
	return NULL;
}

/**
 * kl_stacks_prepare - allocate memory for traces, since they will be requested
 * @s: the session; its lock is held
 * @why: set on failure
 *
 * Returns 0 or a negative errno. Context: may sleep.
 */
int kl_stacks_prepare(struct kl_session *s, struct kl_error *why)
{
	const struct kl_stack_table size = size_table(&s->stack_limits);
	struct kl_stacks *stacks;
	int error;

	lockdep_assert_held(&s->lock);
	if (s->stacks)
		return 0;
	error = kl_memory_charge(&s->payer, bytes_of(&size), why);
	if (error)
		return error;
	stacks = create(&s->stack_limits, s->reserved);
	if (!stacks) {
		kl_memory_uncharge(&s->payer, bytes_of(&size));
		return kl_fail(why, -ENOMEM, "no %smemory for stack traces",
			       s->reserved ? "reserved " : "");
	}
	error = kl_crash_add_stacks(s, &stacks->table, why);
	if (error) {
		kl_stacks_destroy(stacks);
		kl_memory_uncharge(&s->payer, bytes_of(&size));
		return error;
	}
	/*
	 * Probes may be running. Pairs with the acquires in kl_stack_kernel_until, kl_stack_user
	 * and kl_stacks_call.
	 */
	smp_store_release(&s->stacks, stacks);
	return 0;
}

static int set_limits(struct kl_session *s, const struct kl_abi_stacks *call, struct kl_error *why)
{
	u32 most = s->may & KL_MAY_SEE_ALL ? KL_STACK_TRACES_MAX : KL_STACK_TRACES_DEFAULT;
	int error = 0;

	if (call->traces > most)
		return kl_fail(why, -EINVAL, "%u stack traces requested, the limit is %u",
			       call->traces, most);
	if (call->kernel_frames > KL_STACK_FRAMES_MAX || call->user_frames > KL_STACK_FRAMES_MAX)
		return kl_fail(why, -EINVAL, "a stack trace has at most %u frames",
			       KL_STACK_FRAMES_MAX);
	mutex_lock(&s->lock);
	if (s->stacks)
		error = kl_fail(why, -EBUSY, "the session already has stack traces");
	else
		s->stack_limits = (struct kl_stack_limits){
			.traces = call->traces,
			.kernel_frames = call->kernel_frames,
			.user_frames = call->user_frames,
		};
	mutex_unlock(&s->lock);
	return error;
}

/* Copy one more trace. Returns 1 if done, 0 if the buffer is full, or -EFAULT. */
static int copy_trace(const struct kl_stacks *stacks, const struct kl_stack_entry *entry,
		      struct kl_abi_stacks *call, u32 room)
{
	u8 __user *to = u64_to_user_ptr(call->buffer + call->bytes);
	u32 copied = 0, bytes, places = kl_stack_words(&entry->about);
	const u64 *word = &stacks->table.word[entry->at], *copy = NULL;

	/* The last word is where the copy of the stack is. */
	if (entry->about.flags & KL_STACK_COPY)
		copy = &stacks->unwind->copy[word[--places]];
	if (copy)
		copied = kl_unwind_copy_words((const struct kl_abi_stack_copy *)copy);
	bytes = sizeof(entry->about) + (places + copied) * sizeof(u64);
	if (bytes > room - call->bytes)
		return 0;
	if (copy_to_user(to, &entry->about, sizeof(entry->about)) ||
	    copy_to_user(to + sizeof(entry->about), word, places * sizeof(u64)) ||
	    copy_to_user(to + bytes - copied * sizeof(u64), copy, copied * sizeof(u64)))
		return -EFAULT;
	call->bytes += bytes;
	call->n++;
	return 1;
}

static int copy_traces(struct kl_session *s, struct kl_stacks *stacks, struct kl_abi_stacks *call,
		       struct kl_error *why)
{
	const struct kl_stack_entry *entry;
	u32 room = call->bytes;
	int copied = 1;

	call->bytes = 0;
	call->first = max(call->first, 1u);
	call->traces = kl_stack_taken(&stacks->table);
	call->no_room = READ_ONCE(stacks->table.no_room);
	for (; (entry = kl_stack_entry(&stacks->table, call->first)); call->first++) {
		/* A session whose owner may not see addresses has no kernel traces. */
		if (entry->state == KL_STACK_DROPPED ||
		    (entry->about.kind == KL_STACK_KERNEL && WARN_ON_ONCE(!s->see_addresses)))
			continue;
		copied = copy_trace(stacks, entry, call, room);
		if (copied <= 0)
			break;
		cond_resched();
	}
	return copied < 0 ? kl_fail(why, copied, "cannot write the stack traces to user memory") :
			    0;
}

/*
 * Open a descriptor to read the file, as its path may name another file for the caller. Returns -1
 * if only the path is available, or if the caller may not read the file.
 */
static int open_object(const struct kl_stack_object *object, u32 may, struct file **file)
{
	int fd;

	if (!(may & KL_MAY_SEE_ADDRESSES) || !S_ISREG(file_inode(object->file)->i_mode) ||
	    file_permission(object->file, MAY_READ))
		return -1;
	*file = dentry_open(&object->file->f_path, O_RDONLY | O_LARGEFILE | O_NOATIME,
			    current_cred());
	if (IS_ERR(*file))
		return -1;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		fput(*file);
		return -1;
	}
	return fd;
}

static int write_object(const struct kl_abi_object *about, const char *path,
			struct kl_abi_stacks *call, struct kl_error *why)
{
	u8 __user *to = u64_to_user_ptr(call->buffer);
	u32 length = strlen(path) + 1;

	if (call->bytes < sizeof(*about) + length)
		return kl_fail(why, -ENOSPC, "the buffer is too small for the path");
	if (copy_to_user(to, about, sizeof(*about)) ||
	    copy_to_user(to + sizeof(*about), path, length))
		return kl_fail(why, -EFAULT, "cannot write the path to user memory");
	call->bytes = sizeof(*about) + length;
	call->n = 1;
	return 0;
}

/*
 * The inode as fstat() describes it. An overlay gives a file that it has copied the number of the
 * original, and a mapping from before the copy is not of the file that the path now leads to.
 */
static struct kl_abi_object identify(const struct kl_stack_object *object)
{
	const struct path *path = kl_file_user_path(object->file);
	u64 ino = object->inode->i_ino;
	dev_t dev = object->inode->i_sb->s_dev;
	struct kstat stat;

	if (d_real_inode(path->dentry) == object->inode &&
	    !vfs_getattr(path, &stat, STATX_INO, AT_STATX_DONT_SYNC)) {
		ino = stat.ino;
		dev = stat.dev;
	}
	return (struct kl_abi_object){
		.inode = ino,
		.dev = MAJOR(dev) << 20 | MINOR(dev),
	};
}

static int give_object(const struct kl_stack_object *object, u32 may, struct kl_abi_stacks *call,
		       struct kl_error *why)
{
	struct kl_abi_object about = identify(object);
	char *memory = (char *)__get_free_page(GFP_KERNEL_ACCOUNT), *path;
	struct file *file = NULL;
	int error;

	if (!memory)
		return kl_fail(why, -ENOMEM, "no memory for a path");
	path = d_path(kl_file_user_path(object->file), memory, PAGE_SIZE);
	/* Its mount has been removed; what is left is its path within its file system. */
	if ((IS_ERR(path) || !strcmp(path, "/")) && may & KL_MAY_SEE_ALL)
		path = dentry_path_raw(kl_file_user_path(object->file)->dentry, memory, PAGE_SIZE);
	about.fd = open_object(object, may, &file);
	error = write_object(&about, IS_ERR(path) ? "" : path, call, why);
	if (about.fd >= 0 && error) {
		put_unused_fd(about.fd);
		fput(file);
	} else if (about.fd >= 0) {
		fd_install(about.fd, file);
	}
	free_page((unsigned long)memory);
	return error;
}

static int copy_wanted(const struct kl_stacks *stacks, struct kl_abi_stacks *call,
		       struct kl_error *why)
{
	u32 room = call->bytes / sizeof(u32), number = max(call->first, 1u);
	u32 __user *to = u64_to_user_ptr(call->buffer);

	call->traces = stacks->table.traces;
	for (; number <= KL_STACK_OBJECTS_MAX && call->n < room; number++) {
		const struct kl_stack_object *object =
			&stacks->object[array_index_nospec(number - 1, KL_STACK_OBJECTS_MAX)];

		if (!READ_ONCE(object->file) || READ_ONCE(object->table))
			continue;
		if (put_user(number, &to[call->n]))
			return kl_fail(why, -EFAULT, "cannot write the numbers to user memory");
		call->n++;
	}
	call->first = number;
	call->bytes = call->n * sizeof(u32);
	return 0;
}

/**
 * kl_stacks_call - KL_IOC_STACKS
 * @s: the session
 * @call: as in uapi/kernlens.h
 * @creator: the caller has created the session
 * @may: the caller's KL_MAY_*
 * @why: set on failure
 *
 * Context: the caller's system call; may sleep.
 */
int kl_stacks_call(struct kl_session *s, struct kl_abi_stacks *call, bool creator, u32 may,
		   struct kl_error *why)
{
	/* As in kl_stack_kernel_until. */
	struct kl_stacks *stacks = smp_load_acquire(&s->stacks);
	const struct kl_stack_object *object;

	call->n = 0;
	if (call->what > KL_STACKS_WANTED)
		return kl_fail(why, -EINVAL, "unknown stack trace request %u", call->what);
	if (call->what == KL_STACKS_LIMITS)
		return creator ? set_limits(s, call, why) :
				 kl_fail(why, -EPERM, "only the session's creator can do this");
	call->no_room = 0;
	call->traces = 0;
	if (stacks && call->what == KL_STACKS_TRACES)
		return copy_traces(s, stacks, call, why);
	if (stacks && call->what == KL_STACKS_WANTED)
		return copy_wanted(stacks, call, why);
	if (!stacks || call->what != KL_STACKS_OBJECT || !call->first ||
	    call->first > KL_STACK_OBJECTS_MAX)
		goto none;
	object = &stacks->object[array_index_nospec(call->first - 1, KL_STACK_OBJECTS_MAX)];
	/* Pairs with find_object. */
	if (smp_load_acquire(&object->file))
		return give_object(object, may, call, why);
none:
	call->bytes = 0;
	return 0;
}
