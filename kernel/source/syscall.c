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
#include <asm/word-at-a-time.h>

#include "../handler/handler.h"
#include "../session/record.h"
#include "probes.h"
#include "source.h"

/* How an argument is laid out in a record. */
enum width {
	WIDTH_none,
	WIDTH_4,
	WIDTH_8,
	WIDTH_string,
};

/*
 * A call's layout in one word: two bits an argument from bit 0, the number of
 * strings from bit 12, a bit that says that there is such a call, and the bytes
 * of the record but for its strings from bit 24.
 */
#define STRINGS_SHIFT 12
#define KNOWN BIT(14)
#define BYTES_SHIFT 24
#define LAYOUT_CODE(layout) ((layout) & ((1u << STRINGS_SHIFT) - 1))
#define LAYOUT_STRINGS(layout) ((layout) & (3u << STRINGS_SHIFT))
#define LAYOUT_BYTES(layout) (((layout) >> BYTES_SHIFT) - KL_RECORD_PREFIX_BYTES)

#define ARGUMENT_s32(n) +(WIDTH_4 << 2 * (n)) + (4 << BYTES_SHIFT)
#define ARGUMENT_u32(n) ARGUMENT_s32(n)
#define ARGUMENT_s64(n) +(WIDTH_8 << 2 * (n)) + (8 << BYTES_SHIFT)
#define ARGUMENT_u64(n) ARGUMENT_s64(n)
#define ARGUMENT_ptr(n) ARGUMENT_s64(n)
#define ARGUMENT_str(n) +(WIDTH_string << 2 * (n)) + (1 << STRINGS_SHIFT)
#define A0(type, name, format) ARGUMENT_##type(0)
#define A1(type, name, format) ARGUMENT_##type(1)
#define A2(type, name, format) ARGUMENT_##type(2)
#define A3(type, name, format) ARGUMENT_##type(3)
#define A4(type, name, format) ARGUMENT_##type(4)
#define A5(type, name, format) ARGUMENT_##type(5)
#define KL_SYSCALL(number, name, help, arguments) \
	[number] = KNOWN + (KL_RECORD_PREFIX_BYTES << BYTES_SHIFT) arguments,
static const u32 layouts[KL_EV_SYSCALL_MAX] = {
#include "../../uapi/syscalls.def"
};

/* Where the arguments are in the saved registers, in order. */
static const u8 register_of[] = {
	offsetof(struct pt_regs, di),  offsetof(struct pt_regs, si), offsetof(struct pt_regs, dx),
	offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r8), offsetof(struct pt_regs, r9),
};

/* What a record says of a string that could not be read without faulting. */
#define UNREADABLE "?"
/* And of none at all. */
#define NO_STRING "(null)"

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
	return number < KL_EV_SYSCALL_MAX && layouts[number];
}

/**
 * kl_syscall_has_strings - is any argument of a call a string?
 * @number: below KL_EV_SYSCALL_MAX
 */
bool kl_syscall_has_strings(u32 number)
{
	return LAYOUT_STRINGS(layouts[number]);
}

static __always_inline unsigned long argument(const struct pt_regs *regs, u32 n)
{
	return *(const unsigned long *)((const u8 *)regs + register_of[n]);
}

/*
 * Copy a user's string as far as it can be had without a fault. Words are read
 * at aligned addresses, so that none reaches into a page behind the string's.
 * Returns the bytes copied, without the NUL that is always set, or -1 if the
 * first could not be read.
 */
static int copy_user_text(char *to, unsigned long from)
{
	const struct word_at_a_time constants = WORD_AT_A_TIME_CONSTANTS;
	int got = 0, room = KL_STRING_MAX - 1;
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

/* Returns false if some string could not be read, although there is one. */
static noinline bool collect_strings(struct kl_strings *strings, const struct pt_regs *regs,
				     u32 code)
{
	struct scratch *mine = this_cpu_ptr(scratch);
	bool all = true;
	char *text;
	int bytes;

	for (u32 n = 0; code; code >>= 2, n++) {
		if ((code & 3) != WIDTH_string)
			continue;
		text = mine->text[strings->n];
		bytes = copy_user_text(text, argument(regs, n));
		if (bytes < 0) {
			all &= !argument(regs, n);
			bytes = strscpy(text, argument(regs, n) ? UNREADABLE : NO_STRING,
					KL_STRING_MAX);
		}
		kl_strings_add_measured(strings, text, bytes);
	}
	return all;
}

/*
 * At the exit of a call whose entry could not read a string: the kernel itself
 * has read it since, so it is in memory now. (Not after a successful execve: the
 * memory is another program's.)
 */
static noinline void log_late_strings(struct kl_session *s, const struct pt_regs *regs, u32 number)
{
	struct scratch *mine = this_cpu_ptr(scratch);
	u32 code = LAYOUT_CODE(layouts[number]);

	kl_taskset_set(s->unread, current->pid, false, false, 0);
	for (u32 n = 0; code; code >>= 2, n++)
		if ((code & 3) == WIDTH_string &&
		    copy_user_text(mine->text[0], argument(regs, n)) >= 0)
			kl_probe_syscall_late_string(s, number, n, mine->text[0]);
}

/* Write the arguments that are not strings, in order; strings from @strings. */
static __always_inline void write_arguments(u8 *to, const struct pt_regs *regs, u32 code,
					    const struct kl_strings *strings)
{
	u32 string = 0;

	for (u32 n = 0; code; code >>= 2, n++) {
		if ((code & 3) == WIDTH_8) {
			*(u64 *)to = argument(regs, n);
			to += 8;
		} else if (!strings || (code & 3) == WIDTH_4) {
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

static noinline void log_entry_slow(struct kl_cpu *cpu, const struct pt_regs *regs)
{
	u32 number = regs->orig_ax, layout = layouts[number], bytes = LAYOUT_BYTES(layout);
	struct kl_strings strings;
	struct kl_place place;

	strings.n = 0;
	strings.bytes = 0;
	if (LAYOUT_STRINGS(layout) && !collect_strings(&strings, regs, LAYOUT_CODE(layout)))
		kl_taskset_set(cpu->session->unread, current->pid, true, false,
			       GFP_NOWAIT | __GFP_NOWARN);
	bytes += strings.bytes;
	place = kl_record_begin(cpu->session, cpu, KL_EV_SYSCALL_ENTRY + number, bytes);
	if (unlikely(!place.at))
		return;
	write_arguments(place.at, regs, LAYOUT_CODE(layout), &strings);
	kl_record_end(place, bytes);
}

/*
 * The usual case of a call without strings makes no further call and so needs
 * no stack frame; anything else starts again in log_entry_slow.
 */
static __always_inline void log_entry(struct kl_cpu *cpu, const struct pt_regs *regs,
				      unsigned long number)
{
	u32 layout = layouts[number], bytes = LAYOUT_BYTES(layout);
	struct kl_place place;

	if (unlikely(LAYOUT_STRINGS(layout) ||
		     !kl_record_try(cpu, KL_EV_SYSCALL_ENTRY + number, bytes, &place)))
		return log_entry_slow(cpu, regs);
	write_arguments(place.at, regs, LAYOUT_CODE(layout), NULL);
	kl_record_end(place, bytes);
}

static noinline void log_exit_slow(struct kl_cpu *cpu, const struct pt_regs *regs, long result)
{
	struct kl_place place;

	place = kl_record_begin(cpu->session, cpu, KL_EV_SYSCALL_EXIT + regs->orig_ax, sizeof(u64));
	if (unlikely(!place.at))
		return;
	*(u64 *)place.at = result;
	kl_record_end(place, sizeof(u64));
}

static __always_inline void log_exit(struct kl_cpu *cpu, const struct pt_regs *regs, long result)
{
	struct kl_place place;

	if (unlikely(!kl_record_try(cpu, KL_EV_SYSCALL_EXIT + regs->orig_ax, sizeof(u64), &place)))
		return log_exit_slow(cpu, regs, result);
	*(u64 *)place.at = result;
	kl_record_end(place, sizeof(u64));
}

/* Other handlers than `log`; @id of the entry or exit. */
static noinline void fire_other(struct kl_session *s, u32 id, u8 handler)
{
	kl_handler_fire(s, id, handler);
}

/* The session may have this task's calls: what does it do with them? */
static __always_inline void enter_passed(struct kl_session *s, const struct pt_regs *regs,
					 u32 number)
{
	u8 handler = kl_action(s, KL_EV_SYSCALL_ENTRY + number) & ~KL_ACTION_ASK;

	if (likely(handler == KL_HANDLER_log))
		return log_entry(this_cpu_ptr(s->cpu), regs, number);
	fire_other(s, KL_EV_SYSCALL_ENTRY + number, handler);
}

static __always_inline void exit_passed(struct kl_session *s, const struct pt_regs *regs,
					long result)
{
	u8 handler = kl_action(s, KL_EV_SYSCALL_EXIT + regs->orig_ax) & ~KL_ACTION_ASK;

	if (LAYOUT_STRINGS(layouts[regs->orig_ax]) && kl_taskset_has(s->unread, current->pid))
		log_late_strings(s, regs, regs->orig_ax);
	if (likely(handler == KL_HANDLER_log))
		return log_exit(this_cpu_ptr(s->cpu), regs, result);
	fire_other(s, KL_EV_SYSCALL_EXIT + regs->orig_ax, handler);
}

/* Gates that take a call to ask. */
static noinline void enter_gated(struct kl_session *s, const struct pt_regs *regs, u32 number)
{
	if (kl_gate_self(s))
		enter_passed(s, regs, number);
}

static noinline void exit_gated(struct kl_session *s, const struct pt_regs *regs, long result)
{
	if (kl_gate_self(s))
		exit_passed(s, regs, result);
}

/* Most sessions that must be asked follow some tasks. */
static noinline void enter_asking(struct kl_session *s, const struct pt_regs *regs, u32 number)
{
	if (s->gate != KL_GATE_TASKS)
		return enter_gated(s, regs, number);
	if (kl_taskset_has(s->tasks, current->pid))
		enter_passed(s, regs, number);
}

static noinline void exit_asking(struct kl_session *s, const struct pt_regs *regs, long result)
{
	if (s->gate != KL_GATE_TASKS)
		return exit_gated(s, regs, result);
	if (kl_taskset_has(s->tasks, current->pid))
		exit_passed(s, regs, result);
}

/*
 * The probes: the usual case, and tail calls for all others, so that neither a
 * call which is recorded nor one which is not wanted pays for what it needs not.
 */
static void on_enter(void *data, struct pt_regs *regs, long number)
{
	struct kl_session *s = data;
	u8 action;

	if (unlikely(in_ia32_syscall()))
		return kl_probe_compat_syscall_entry(s, regs);
	if (unlikely((unsigned long)number >= KL_EV_SYSCALL_MAX))
		return;
	action = kl_action(s, KL_EV_SYSCALL_ENTRY + number);
	if (likely(action == KL_HANDLER_log))
		return log_entry(this_cpu_ptr(s->cpu), regs, number);
	if (action & KL_ACTION_ASK)
		return enter_asking(s, regs, number);
	if (action != KL_HANDLER_nothing)
		fire_other(s, KL_EV_SYSCALL_ENTRY + number, action);
}

static void on_exit(void *data, struct pt_regs *regs, long result)
{
	unsigned long number = regs->orig_ax;
	struct kl_session *s = data;
	u8 action;

	if (unlikely(in_ia32_syscall()))
		return kl_probe_compat_syscall_exit(s, regs, result);
	if (unlikely(number >= KL_EV_SYSCALL_MAX))
		return;
	action = kl_action(s, KL_EV_SYSCALL_EXIT + number);
	if (likely(action == KL_HANDLER_log))
		return log_exit(this_cpu_ptr(s->cpu), regs, result);
	if (action & KL_ACTION_ASK)
		return exit_asking(s, regs, result);
	if (action != KL_HANDLER_nothing)
		fire_other(s, KL_EV_SYSCALL_EXIT + number, action);
}

/* Which tracepoint and probe a system call event comes from. */
static struct tracepoint *tracepoint_of(bool exit, void **probe)
{
	*probe = exit ? (void *)on_exit : (void *)on_enter;
	return exit ? leave : enter;
}

/**
 * kl_syscalls_attach - make entries or exits of all calls fire for a session
 * @s: the session; its lock is held
 * @exit: the exits
 * @why: set on failure
 *
 * The session's actions decide which of them do something. Context: may sleep.
 */
int kl_syscalls_attach(struct kl_session *s, bool exit, struct kl_error *why)
{
	void *probe;
	struct tracepoint *tp = tracepoint_of(exit, &probe);
	int error;

	lockdep_assert_held(&s->lock);
	if (!tp)
		return kl_fail(why, -ENOENT, "this kernel has no system call tracepoints");
	error = tracepoint_probe_register(tp, probe, s);
	return error ? kl_fail(why, error, "cannot attach to %s", tp->name) : 0;
}

/**
 * kl_syscalls_detach - undo kl_syscalls_attach
 * @s: the session; its lock is held
 * @exit: the exits
 */
void kl_syscalls_detach(struct kl_session *s, bool exit)
{
	void *probe;
	struct tracepoint *tp = tracepoint_of(exit, &probe);

	lockdep_assert_held(&s->lock);
	tracepoint_probe_unregister(tp, probe, s);
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
