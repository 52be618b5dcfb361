// SPDX-License-Identifier: GPL-2.0
/*
 * Strings of system calls. Those that can be read without a fault are copied at the entry, the
 * others at the exit. Called by syscall.c in the calling task, with preemption off.
 */
#include <linux/percpu.h>
#include <linux/uaccess.h>
#include <asm/word-at-a-time.h>

#include "probes.h"
#include "syscall_internal.h"

/* The text recorded for a string that could not be read without faulting. */
#define UNREADABLE "?"
/* The text recorded for a NULL string. */
#define NO_STRING "(null)"

/* Copies of a call's strings. Only system call entries and exits use it, and these do not nest. */
struct scratch {
	char text[3][KL_STRING_MAX];
};

static struct scratch __percpu *scratch;

/*
 * Copy as much of a user's string as is readable without a fault. Words are read at aligned
 * addresses, so that none reaches into the page after the string's. @whole: also the last bytes of
 * @room that do not fill a word. Returns the number of bytes copied, without the NUL, which is
 * always set; or -1 if the first byte could not be read.
 */
static __always_inline int copy_text(char *to, unsigned long from, int room, bool whole)
{
	const struct word_at_a_time constants = WORD_AT_A_TIME_CONSTANTS;
	int got = 0;
	unsigned long word, bits;
	char byte;

	to[0] = 0;
	pagefault_disable();
	if (!user_read_access_begin((const void __user *)from, KL_STRING_MAX)) {
		pagefault_enable();
		return -1;
	}
	for (; (from + got) % sizeof(word); got++) {
		unsafe_get_user(byte, (const char __user *)from + got, fault);
		to[got] = byte;
		if (!byte)
			goto done;
	}
	while (got + (int)sizeof(word) <= room) {
		unsafe_get_user(word, (const unsigned long __user *)(from + got), fault);
		*(unsigned long *)(to + got) = word;
		if (has_zero(word, &bits, &constants)) {
			bits = create_zero_mask(prep_zero_mask(word, bits, &constants));
			got += find_zero(bits);
			goto done;
		}
		got += sizeof(word);
	}
	for (; whole && got < room; got++) {
		unsafe_get_user(byte, (const char __user *)from + got, fault);
		to[got] = byte;
		if (!byte)
			break;
	}
	goto done;
fault:
	if (!got)
		got = -1;
done:
	user_read_access_end();
	pagefault_enable();
	if (got > 0)
		to[got] = 0;
	return got;
}

/**
 * kl_syscall_text - copy as much of a user's string as is readable without a fault
 * @to: the copy
 * @from: its address
 * @most: room for the string and its NUL, from 16 to KL_STRING_MAX bytes
 *
 * Returns the number of bytes copied, without the NUL, which is always set; or -1 if the first byte
 * could not be read. Context: preemption off.
 */
int kl_syscall_text(char *to, unsigned long from, u32 most)
{
	return copy_text(to, from, most - 1, true);
}

/* Returns false if a string that is not NULL could not be read. */
static bool collect_strings(struct kl_strings *strings, const struct pt_regs *regs, u32 code)
{
	struct scratch *mine = this_cpu_ptr(scratch);
	bool all = true;
	char *text;
	int bytes;

	for (u32 n = 0; code; code >>= 2, n++) {
		if ((code & 3) != WIDTH_string)
			continue;
		text = mine->text[strings->n];
		bytes = copy_text(text, kl_syscall_argument(regs, n), KL_STRING_MAX - 1, false);
		if (bytes < 0) {
			all &= !kl_syscall_argument(regs, n);
			bytes = strscpy(text, kl_syscall_argument(regs, n) ? UNREADABLE : NO_STRING,
					KL_STRING_MAX);
		}
		kl_strings_add_measured(strings, text, bytes);
	}
	return all;
}

/**
 * kl_syscall_note_unread - note whether the running task is in a call of which something is unread
 * @s: the session
 * @is: it is
 */
void kl_syscall_note_unread(struct kl_session *s, bool is)
{
	struct kl_taskset *unread = READ_ONCE(s->unread);

	if (unread)
		kl_taskset_set(unread, current->pid, is);
}

/**
 * kl_syscall_strings - copy a call's strings at its entry
 * @s: the session; the task is added to @s->unread if a string could not be read
 * @strings: filled in
 * @regs: the task's registers
 * @code: layout of a call with strings
 *
 * Context: preemption off; the copies are in this CPU's scratch area and valid until the next
 * call.
 */
void kl_syscall_strings(struct kl_session *s, struct kl_strings *strings,
			const struct pt_regs *regs, u32 code)
{
	if (!collect_strings(strings, regs, code))
		kl_syscall_note_unread(s, true);
}

/**
 * kl_syscall_late_strings - record the strings that were unreadable at a call's entry
 * @s: a session in whose @unread set the running task is
 * @regs: its registers, at the call's exit
 * @number: of the call
 * @code: its layout
 *
 * The kernel itself has read them in the meantime, so they are in memory now. (Not after a
 * successful execve: the memory then belongs to the new program.) Context: preemption off.
 */
void kl_syscall_late_strings(struct kl_session *s, const struct pt_regs *regs, u32 number, u32 code)
{
	struct scratch *mine = this_cpu_ptr(scratch);

	for (u32 n = 0; code; code >>= 2, n++)
		if ((code & 3) == WIDTH_string &&
		    kl_syscall_text(mine->text[0], kl_syscall_argument(regs, n), KL_STRING_MAX) >=
			    0)
			kl_probe_syscall_late_string(s, number, n, mine->text[0]);
}

/**
 * kl_syscall_strings_init - allocate the scratch areas
 *
 * Returns 0 or -ENOMEM.
 */
int kl_syscall_strings_init(void)
{
	scratch = alloc_percpu(struct scratch);
	return scratch ? 0 : -ENOMEM;
}

/**
 * kl_syscall_strings_deinit - undo kl_syscall_strings_init
 */
void kl_syscall_strings_deinit(void)
{
	free_percpu(scratch);
}
