// SPDX-License-Identifier: GPL-2.0
/*
 * The memory that arguments of system calls point to, for the events strace_memory and strace_list:
 * syscall_memory.def says what is copied. It is copied only if it can be read without a fault:
 * what is not in memory at the entry is read again at the exit, as the kernel itself has read it by
 * then. Called by syscall.c in the calling task, with preemption off, before the event of the entry
 * or exit is recorded.
 */
#include <linux/percpu.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <asm/sigframe.h>

#include "../compat/nofault.h"
#include "../handler/dispatch.h"
#include "../handler/handler.h"
#include "records.h"
#include "source.h"
#include "syscall_internal.h"

/* strace's limits: bytes of a buffer or string, and elements of an array or a list, plus one. */
#define BUFFER 33
#define ARRAY 33
#define ADDRESS 128 /* struct sockaddr_storage */
#define PATH 248
#define PACKET 240 /* so that netlink's messages can be decoded */

/* As two digits for each byte, it fits into a string. */
#define PIECE_BYTES 120
static_assert(2 * PIECE_BYTES < KL_STRING_MAX);

enum kind {
	ONE,
	MANY,
	RESULT,
	BEHIND,
	SETS,
	TEXT,
	PAIR,
	VECTOR,
	MESSAGE,
	STRINGS,
	LIST,
	DIRENTS,
	COMMAND,
	FRAME,
	PARENT,
};

/* A row of syscall_memory.def; @mask: 0: no condition. */
struct row {
	u16 number;
	u8 when;
	u8 kind;
	u8 arg;
	u8 count;
	u16 unit;
	u16 most;
	u8 test;
	u32 mask;
	u32 value;
};

#define KL_SYSCALL(number, name, help, arguments) NUMBER_##name = number,
enum {
#include "../../uapi/syscalls.def"
};

#undef KL_SYSCALL

#define ENTRY KL_MEMORY_AT_ENTRY
#define EXIT KL_MEMORY_AT_EXIT
#define KL_MEMORY_IF(call, when, arg, kind, count, unit, most, test, mask, value) \
	{ NUMBER_##call, when, kind, arg, count, unit, most, test, mask, value },
#define KL_MEMORY(call, when, arg, kind, count, unit, most) \
	KL_MEMORY_IF(call, when, arg, kind, count, unit, most, 0, 0, 0)
static const struct row rows[] = {
#include "syscall_memory.def"
};

#undef KL_MEMORY
#undef KL_MEMORY_IF

/* Number of a call's first row, plus 1; 0: it has none. */
static u16 first_row[KL_EV_SYSCALL_MAX] __ro_after_init;

/* Only entries and exits of system calls use it, and these do not nest. */
struct scratch {
	u8 bytes[KL_STRING_MAX];
	char digits[KL_STRING_MAX];
};

static struct scratch __percpu *scratch;

/**
 * struct capture - what is being copied
 * @result: of the call, at its exit
 * @left: number of pieces that may still be recorded
 * @bytes: and of bytes in them
 * @missing: something could not be read
 */
struct capture {
	struct kl_session *session;
	const struct pt_regs *regs;
	u32 number;
	u32 when;
	long result;
	u32 left;
	u32 bytes;
	bool missing;
};

static bool copy(void *to, unsigned long from, size_t bytes)
{
	return !kl_nofault(copy_from_user_nofault(to, (const void __user *)from, bytes));
}

/* --------------------------------------------------------------- records */

static u32 write_digits(char *to, const u8 *bytes, u32 n)
{
	static const char digits[] = "0123456789abcdef";

	for (u32 i = 0; i < n; i++) {
		*to++ = digits[bytes[i] >> 4];
		*to++ = digits[bytes[i] & 15];
	}
	*to = 0;
	return 2 * n + 1;
}

static u8 action_of(const struct kl_session *s, u32 id)
{
	return kl_action(s, id) & KL_ACTION_HANDLER;
}

static void record(const struct capture *c, u64 addr, const u8 *bytes, u32 n)
{
	const struct kl_rec_strace_memory fixed = { .nr = c->number,
						    .when = c->when,
						    .addr = addr };
	u8 action = action_of(c->session, KL_EV_strace_memory);
	char *digits = this_cpu_ptr(scratch)->digits;
	u32 length = write_digits(digits, bytes, n), all = sizeof(fixed) + length;
	struct kl_reservation place;

	if (action < KL_ACTION_RULE && action != KL_HANDLER_log)
		return kl_plain_hit(c->session, KL_EV_strace_memory, action);
	place = kl_fire_begin(c->session, KL_EV_strace_memory, action, all);
	if (unlikely(!place.at))
		return;
	memcpy(place.at, &fixed, sizeof(fixed));
	memcpy(place.at + sizeof(fixed), digits, length);
	kl_fire_end(c->session, KL_EV_strace_memory, action, place, all);
}

static void record_list(const struct capture *c, u64 addr, u32 entries, bool more)
{
	const struct kl_rec_strace_list fixed = {
		.nr = c->number, .when = c->when, .addr = addr, .entries = entries, .more = more
	};
	u8 action = action_of(c->session, KL_EV_strace_list);
	struct kl_reservation place;

	if (action < KL_ACTION_RULE && action != KL_HANDLER_log)
		return kl_plain_hit(c->session, KL_EV_strace_list, action);
	place = kl_fire_begin(c->session, KL_EV_strace_list, action, sizeof(fixed));
	if (unlikely(!place.at))
		return;
	memcpy(place.at, &fixed, sizeof(fixed));
	kl_fire_end(c->session, KL_EV_strace_list, action, place, sizeof(fixed));
}

/* ---------------------------------------------------------------- copies */

/* Returns false if not all of it has been recorded. */
static bool take(struct capture *c, unsigned long from, size_t bytes)
{
	u8 *to = this_cpu_ptr(scratch)->bytes;

	while (from && bytes) {
		size_t piece = min_t(size_t, bytes, PIECE_BYTES);

		if (!c->left || c->bytes < piece)
			return false;
		if (!copy(to, from, piece)) {
			c->missing = true;
			return false;
		}
		c->left--;
		c->bytes -= piece;
		record(c, from, to, piece);
		from += piece;
		bytes -= piece;
	}
	return true;
}

/* A string of at most @most bytes, with its NUL if that is among them. */
static bool take_text(struct capture *c, unsigned long from, u32 most)
{
	u8 *to = this_cpu_ptr(scratch)->bytes;
	int got;

	if (!from || !c->left || c->bytes < most)
		return !from;
	/* One more shows whether the string is longer. */
	got = kl_syscall_text((char *)to, from, most + 1);
	if (got < 0) {
		c->missing = true;
		return false;
	}
	c->left--;
	c->bytes -= most;
	record(c, from, to, min_t(u32, got + 1, most));
	return true;
}

/* Pointers to strings and the strings: argv. */
static void take_strings(struct capture *c, unsigned long list, u32 most)
{
	unsigned long at;
	u32 n = 0;

	while (n < ARRAY && copy(&at, list + n * sizeof(at), sizeof(at)) && at)
		n++;
	if (!take(c, list, min(n + 1, ARRAY + 0u) * sizeof(at)))
		return;
	for (u32 i = 0; i < min(n, ARRAY - 1u); i++)
		if (!copy(&at, list + i * sizeof(at), sizeof(at)) || !take_text(c, at, most))
			return;
}

static void count_list(struct capture *c, unsigned long list)
{
	unsigned long at = 1;
	u32 n = 0;

	if (!list)
		return;
	pagefault_disable();
	if (!user_read_access_begin((const void __user *)list,
				    KL_MEMORY_LIST_MAX * sizeof(unsigned long)))
		goto out;
	for (; n < KL_MEMORY_LIST_MAX; n++) {
		unsafe_get_user(at, (const unsigned long __user *)list + n, fault);
		if (!at)
			break;
	}
	user_read_access_end();
	pagefault_enable();
	return record_list(c, list, n, at);
fault:
	user_read_access_end();
out:
	pagefault_enable();
	c->missing = true;
}

/* Both kinds of directory entries have their length, two bytes, after two words. */
static void count_entries(struct capture *c, unsigned long from)
{
	const unsigned long end = from + c->result;
	u32 n = 0;
	u16 bytes;

	if (c->result < 0)
		return;
	pagefault_disable();
	if (!user_read_access_begin((const void __user *)from, c->result))
		goto out;
	for (; from < end && n < KL_MEMORY_LIST_MAX; n++) {
		unsafe_get_user(bytes, (const u16 __user *)(from + 16), fault);
		if (!bytes)
			break;
		from += bytes;
	}
fault:
	user_read_access_end();
out:
	pagefault_enable();
	record_list(c, end - c->result, n, from < end);
}

/* @limit: bytes in all buffers that are of interest */
static void take_vector(struct capture *c, unsigned long vector, u64 n, u64 limit, u32 most)
{
	struct iovec v;

	n = min_t(u64, n, ARRAY);
	if (!take(c, vector, n * sizeof(v)))
		return;
	for (u32 i = 0; i < min_t(u64, n, ARRAY - 1) && limit; i++) {
		u64 bytes;

		if (!copy(&v, vector + i * sizeof(v), sizeof(v)))
			return;
		bytes = min_t(u64, v.iov_len, limit);
		if (!take(c, (unsigned long)v.iov_base, min_t(u64, bytes, most)))
			return;
		limit -= bytes;
	}
}

static void take_message(struct capture *c, unsigned long message, u32 most)
{
	struct user_msghdr m;
	u64 limit = c->when == KL_MEMORY_AT_EXIT ? c->result : MAX_RW_COUNT;

	if (!take(c, message, sizeof(m)) || !copy(&m, message, sizeof(m)))
		return;
	if (m.msg_namelen > 0)
		take(c, (unsigned long)m.msg_name, min_t(u32, m.msg_namelen, ADDRESS));
	take_vector(c, (unsigned long)m.msg_iov, m.msg_iovlen, limit, most);
	take(c, (unsigned long)m.msg_control, min_t(u64, m.msg_controllen, PIECE_BYTES));
}

/* The command says what is copied, and the kernel has done so if the call succeeds. */
static void take_command(struct capture *c, unsigned long from, u32 command, u32 most)
{
	u32 direction = c->when == KL_MEMORY_AT_EXIT ? _IOC_READ : _IOC_WRITE;

	if (_IOC_DIR(command) & direction)
		take(c, from, min_t(u32, _IOC_SIZE(command), most));
}

/* What the interrupted program gets back: its signal mask, and the register of results. */
static void take_frame(struct capture *c)
{
	const struct ucontext __user *frame = (const void __user *)c->regs->sp;

	if (take(c, (unsigned long)&frame->uc_mcontext.ax, sizeof(u64)))
		take(c, (unsigned long)&frame->uc_sigmask, sizeof(u64));
}

static void take_parent(struct capture *c, unsigned long from)
{
	struct clone_args args;

	if (!copy(&args, from, CLONE_ARGS_SIZE_VER0))
		return;
	if (args.flags & CLONE_PARENT_SETTID)
		take(c, args.parent_tid, sizeof(s32));
	if (args.flags & CLONE_PIDFD)
		take(c, args.pidfd, sizeof(s32));
}

static void take_pair(struct capture *c, unsigned long from)
{
	unsigned long pair[2];

	if (from && take(c, from, sizeof(pair)) && copy(pair, from, sizeof(pair)))
		take(c, pair[0], min_t(unsigned long, pair[1], sizeof(u64)));
}

/* Number of elements that a row is about; -1: none, as the call failed. */
static s64 count_of(const struct capture *c, const struct row *r, u64 count)
{
	s32 behind;

	if (r->kind == RESULT)
		return min_t(s64, c->result, count);
	if (r->kind == SETS)
		return BITS_TO_LONGS(min_t(u64, count, 8 * r->most)) * sizeof(long);
	if (r->kind != BEHIND)
		return min_t(u64, count, r->most);
	return copy(&behind, count, sizeof(behind)) ? behind : -1;
}

static void take_row(struct capture *c, const struct row *r)
{
	unsigned long from = kl_syscall_argument(c->regs, r->arg);
	u64 count = kl_syscall_argument(c->regs, r->count);
	s64 n;

	switch (r->kind) {
	case ONE:
		take(c, from, r->unit);
		break;
	case TEXT:
		take_text(c, from, r->most);
		break;
	case PAIR:
		take_pair(c, from);
		break;
	case VECTOR:
		take_vector(c, from, count, c->when == KL_MEMORY_AT_EXIT ? c->result : MAX_RW_COUNT,
			    r->most);
		break;
	case MESSAGE:
		take_message(c, from, r->most);
		break;
	case STRINGS:
		if (from)
			take_strings(c, from, r->most);
		break;
	case LIST:
		count_list(c, from);
		break;
	case DIRENTS:
		count_entries(c, from);
		break;
	case COMMAND:
		take_command(c, from, count, r->most);
		break;
	case FRAME:
		take_frame(c);
		break;
	case PARENT:
		take_parent(c, from);
		break;
	default:
		n = count_of(c, r, count);
		if (n > 0)
			take(c, from, min_t(u64, n * r->unit, r->most));
	}
}

static bool is_met(const struct capture *c, const struct row *r)
{
	return !((kl_syscall_argument(c->regs, r->test) ^ r->value) & r->mask);
}

static void take_rows(struct capture *c, u32 when)
{
	const struct row *r = rows + first_row[c->number] - 1, *end = rows + ARRAY_SIZE(rows);

	for (; r != end && r->number == c->number; r++)
		if (r->when == when && is_met(c, r))
			take_row(c, r);
}

/* ------------------------------------------------------------- interface */

/**
 * kl_syscall_memory_rows - may a call's entry or exit have memory to record?
 * @number: below KL_EV_SYSCALL_MAX
 */
bool kl_syscall_memory_rows(u32 number)
{
	return first_row[number];
}

/**
 * kl_syscall_memory_entry - record the memory that the kernel will read
 * @s: the session, which has strace_memory or strace_list, and whose gate allows the task
 * @regs: the task's registers
 * @number: of the call
 *
 * The task is added to @s->unread if something could not be read. Context: preemption off.
 */
void kl_syscall_memory_entry(struct kl_session *s, const struct pt_regs *regs, u32 number)
{
	struct capture c = { .session = s,
			     .regs = regs,
			     .number = number,
			     .when = KL_MEMORY_AT_ENTRY,
			     .left = KL_MEMORY_PIECES_MAX,
			     .bytes = KL_MEMORY_BYTES_MAX };

	if (!first_row[number] || !kl_access_reads_memory(s))
		return;
	take_rows(&c, KL_MEMORY_AT_ENTRY);
	if (c.missing)
		kl_syscall_note_unread(s, true);
}

/**
 * kl_syscall_memory_exit - record the memory that the kernel has written
 * @s: as for kl_syscall_memory_entry
 * @regs: the task's registers
 * @number: of the call
 * @unread: also record what was not in memory at the entry
 *
 * Context: preemption off.
 */
void kl_syscall_memory_exit(struct kl_session *s, const struct pt_regs *regs, u32 number,
			    bool unread)
{
	struct capture c = { .session = s,
			     .regs = regs,
			     .number = number,
			     .when = KL_MEMORY_LATE,
			     .result = regs->ax,
			     .left = KL_MEMORY_PIECES_MAX,
			     .bytes = KL_MEMORY_BYTES_MAX };

	if (!first_row[number] || !kl_access_reads_memory(s))
		return;
	/* A new program has memory of its own. */
	if (unread && !(kl_syscall_executes(number) && !c.result))
		take_rows(&c, KL_MEMORY_AT_ENTRY);
	c.when = KL_MEMORY_AT_EXIT;
	/* After an error, only what says how much is left of a time is written. */
	if (c.result >= 0 || c.result == -ERESTART_RESTARTBLOCK || c.result == -EINTR)
		take_rows(&c, KL_MEMORY_AT_EXIT);
}

/**
 * kl_syscall_memory_init - index the table, and allocate the scratch areas
 *
 * Returns 0, -ENOMEM, or -EINVAL if the table is broken.
 */
int kl_syscall_memory_init(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 number = rows[i].number;

		if (i && rows[i - 1].number == number)
			continue;
		if (WARN_ON(first_row[number]))
			return -EINVAL;
		first_row[number] = i + 1;
	}
	scratch = alloc_percpu(struct scratch);
	return scratch ? 0 : -ENOMEM;
}

/**
 * kl_syscall_memory_deinit - undo kl_syscall_memory_init
 */
void kl_syscall_memory_deinit(void)
{
	free_percpu(scratch);
}
