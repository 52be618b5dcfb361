// SPDX-License-Identifier: GPL-2.0
/*
 * System calls: one pair of probes writes the entry and exit events of all of
 * them, with the arguments laid out as syscalls.def says. Runs in the calling
 * task with preemption off.
 */
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <asm/syscall.h>

#include "../handler/handler.h"
#include "../session/record.h"
#include "source.h"

/* How an argument is laid out in a record. */
enum width {
	WIDTH_none,
	WIDTH_4,
	WIDTH_8,
	WIDTH_string,
};

#define WIDTH_s32 WIDTH_4
#define WIDTH_u32 WIDTH_4
#define WIDTH_s64 WIDTH_8
#define WIDTH_u64 WIDTH_8
#define WIDTH_ptr WIDTH_8
#define WIDTH_str WIDTH_string

/* Two bits an argument, by number; a call without a row has KNOWN clear. */
#define KNOWN 0x8000u
#define A0(type, name, format) | WIDTH_##type
#define A1(type, name, format) | WIDTH_##type << 2
#define A2(type, name, format) | WIDTH_##type << 4
#define A3(type, name, format) | WIDTH_##type << 6
#define A4(type, name, format) | WIDTH_##type << 8
#define A5(type, name, format) | WIDTH_##type << 10
#define KL_SYSCALL(number, name, help, arguments) [number] = KNOWN arguments,
static const u16 layout[KL_EV_SYSCALL_MAX] = {
#include "../../uapi/syscalls.def"
};
#undef A0
#undef A1
#undef A2
#undef A3
#undef A4
#undef A5
#undef KL_SYSCALL

/* Bytes of the arguments that are not strings. */
#define BYTES_s32 + 4
#define BYTES_u32 + 4
#define BYTES_s64 + 8
#define BYTES_u64 + 8
#define BYTES_ptr + 8
#define BYTES_str
#define A0(type, name, format) BYTES_##type
#define A1(type, name, format) BYTES_##type
#define A2(type, name, format) BYTES_##type
#define A3(type, name, format) BYTES_##type
#define A4(type, name, format) BYTES_##type
#define A5(type, name, format) BYTES_##type
#define KL_SYSCALL(number, name, help, arguments) [number] = 0 arguments,
static const u8 fixed_bytes[KL_EV_SYSCALL_MAX] = {
#include "../../uapi/syscalls.def"
};

/* Where the arguments are in the saved registers, in order. */
static const u8 register_of[] = {
	offsetof(struct pt_regs, di), offsetof(struct pt_regs, si), offsetof(struct pt_regs, dx),
	offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r8), offsetof(struct pt_regs, r9),
};

/* What a record says of a string that could not be read without faulting. */
#define UNREADABLE "?"

/* Copies of a call's strings: only system call entries use it, which do not nest. */
struct scratch {
	char text[3][KL_STRING_MAX];
};

static struct scratch __percpu *scratch;
static struct tracepoint *enter, *leave;

/**
 * kl_syscall_is_known - has this number a row in syscalls.def?
 * @number: of the 64-bit table
 */
bool kl_syscall_is_known(u32 number)
{
	return number < KL_EV_SYSCALL_MAX && layout[number];
}

static __always_inline unsigned long argument(const struct pt_regs *regs, u32 n)
{
	return *(const unsigned long *)((const u8 *)regs + register_of[n]);
}

/* Copy a user's string as far as it can be had without a fault. */
static void copy_user_text(char *to, unsigned long from)
{
	u32 room = KL_STRING_MAX - 1, got = 0;

	while (got < room) {
		u32 chunk = min_t(u32, room - got, PAGE_SIZE - offset_in_page(from + got));

		if (copy_from_user_nofault(to + got, (const void __user *)from + got, chunk)) {
			if (!got)
				strscpy(to, UNREADABLE, KL_STRING_MAX);
			else
				to[got] = 0;
			return;
		}
		if (memchr(to + got, 0, chunk))
			return;
		got += chunk;
	}
	to[got] = 0;
}

static noinline void collect_strings(struct kl_strings *strings, const struct pt_regs *regs, u32 code)
{
	struct scratch *mine = this_cpu_ptr(scratch);

	for (u32 n = 0; code; code >>= 2, n++) {
		if ((code & 3) != WIDTH_string)
			continue;
		copy_user_text(mine->text[strings->n], argument(regs, n));
		kl_strings_add(strings, mine->text[strings->n]);
	}
}

/* Has any argument the width `string`, which is both bits set? */
static __always_inline bool has_string(u32 code)
{
	return code & code >> 1 & 0x555;
}

static __always_inline void write_arguments(u8 *to, const struct pt_regs *regs, u32 code,
					    const struct kl_strings *strings)
{
	u32 string = 0;

	for (u32 n = 0; code; code >>= 2, n++) {
		if ((code & 3) == WIDTH_8) {
			*(u64 *)to = argument(regs, n);
			to += 8;
		} else if ((code & 3) == WIDTH_4) {
			*(u32 *)to = argument(regs, n);
			to += 4;
		} else {
			u32 bytes = strings->of[string].bytes;

			memcpy(to, strings->of[string].text, bytes);
			to += bytes;
			string++;
		}
	}
}

static void on_enter(void *data, struct pt_regs *regs, long number)
{
	struct kl_session *s = data;
	struct kl_strings strings;
	struct kl_writer w;
	u32 code, bytes, id;
	u8 action;
	u8 *to;

	if (unlikely((unsigned long)number >= KL_EV_SYSCALL_MAX || in_ia32_syscall()))
		return;
	id = KL_EV_SYSCALL_ENTRY + number;
	action = kl_action(s, id);
	if (action == KL_HANDLER_nothing || !kl_gate_self(s))
		return;
	if (unlikely(action != KL_HANDLER_log)) {
		kl_handler_fire(s, id, action);
		return;
	}
	code = layout[number] & ~KNOWN;
	bytes = fixed_bytes[number];
	if (unlikely(has_string(code))) {
		strings.n = 0;
		strings.bytes = 0;
		collect_strings(&strings, regs, code);
		bytes += strings.bytes;
	}
	to = kl_record_begin(s, &w, id, bytes);
	if (unlikely(!to))
		return;
	write_arguments(to, regs, code, &strings);
	kl_record_end(&w);
}

static void on_exit(void *data, struct pt_regs *regs, long result)
{
	struct kl_session *s = data;
	long number = regs->orig_ax;
	struct kl_writer w;
	u8 action;
	u32 id;
	u8 *to;

	if (unlikely((unsigned long)number >= KL_EV_SYSCALL_MAX || in_ia32_syscall()))
		return;
	id = KL_EV_SYSCALL_EXIT + number;
	action = kl_action(s, id);
	if (action == KL_HANDLER_nothing || !kl_gate_self(s))
		return;
	if (unlikely(action != KL_HANDLER_log)) {
		kl_handler_fire(s, id, action);
		return;
	}
	to = kl_record_begin(s, &w, id, sizeof(u64));
	if (unlikely(!to))
		return;
	*(u64 *)to = result;
	kl_record_end(&w);
}

/**
 * kl_syscalls_attach - make all system calls fire for a session
 * @s: the session; its lock is held
 * @why: set on failure
 *
 * The session's actions decide which of them do something. Context: may sleep.
 */
int kl_syscalls_attach(struct kl_session *s, struct kl_error *why)
{
	int error;

	lockdep_assert_held(&s->lock);
	if (!enter || !leave)
		return kl_fail(why, -ENOENT, "this kernel has no system call tracepoints");
	error = tracepoint_probe_register(leave, on_exit, s);
	if (error)
		return kl_fail(why, error, "cannot attach to sys_exit");
	error = tracepoint_probe_register(enter, on_enter, s);
	if (error) {
		tracepoint_probe_unregister(leave, on_exit, s);
		return kl_fail(why, error, "cannot attach to sys_enter");
	}
	return 0;
}

/**
 * kl_syscalls_detach - undo kl_syscalls_attach
 * @s: the session; its lock is held
 */
void kl_syscalls_detach(struct kl_session *s)
{
	lockdep_assert_held(&s->lock);
	tracepoint_probe_unregister(enter, on_enter, s);
	tracepoint_probe_unregister(leave, on_exit, s);
}

/**
 * kl_syscall_init - find the tracepoints
 *
 * Returns 0 or -ENOMEM.
 */
int kl_syscall_init(void)
{
	enter = kl_tracepoint_find("sys_enter");
	leave = kl_tracepoint_find("sys_exit");
	scratch = alloc_percpu(struct scratch);
	return scratch ? 0 : -ENOMEM;
}

/**
 * kl_syscall_deinit - undo kl_syscall_init
 */
void kl_syscall_deinit(void)
{
	free_percpu(scratch);
}
