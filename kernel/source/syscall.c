// SPDX-License-Identifier: GPL-2.0
/*
 * System calls: one pair of probes writes the entry and exit events of all of them, with the
 * arguments laid out according to syscalls.def. Runs in the calling task with preemption off. More
 * than 600 lines: entry and exit, in their common and general cases, stay together because a
 * change to one is a change to the other.
 */
#include <linux/jump_label.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/tracepoint.h>
#include <asm/syscall.h>

#include "../compat/preempt.h"
#include "../core/record_values.h"
#include "../handler/dispatch.h"
#include "../handler/handler.h"
#include "hub.h"
#include "probes.h"
#include "source.h"
#include "syscall_internal.h"

/*
 * A call's layout in one word: two bits per argument from bit 0, the number of strings from bit
 * 12, and KNOWN if there is such a call. Without the latter two it gives the arguments' layout in
 * a record.
 */
#define STRINGS_SHIFT 12
#define KNOWN BIT(14)
#define LAYOUT_CODE(layout) ((layout) & ((1u << STRINGS_SHIFT) - 1))
#define LAYOUT_STRINGS(layout) ((layout) & (3u << STRINGS_SHIFT))

#define ARGUMENT_s32(n) +(WIDTH_4 << 2 * (n))
#define ARGUMENT_u32(n) ARGUMENT_s32(n)
#define ARGUMENT_s64(n) +(WIDTH_8 << 2 * (n))
#define ARGUMENT_u64(n) ARGUMENT_s64(n)
#define ARGUMENT_ptr(n) ARGUMENT_s64(n)
#define ARGUMENT_str(n) +(WIDTH_string << 2 * (n)) + (1 << STRINGS_SHIFT)
#define A0(type, name, format) ARGUMENT_##type(0)
#define A1(type, name, format) ARGUMENT_##type(1)
#define A2(type, name, format) ARGUMENT_##type(2)
#define A3(type, name, format) ARGUMENT_##type(3)
#define A4(type, name, format) ARGUMENT_##type(4)
#define A5(type, name, format) ARGUMENT_##type(5)
#define KL_SYSCALL(number, name, help, arguments) [number] = KNOWN arguments,
static const u16 layouts[KL_EV_SYSCALL_MAX] = {
#include "../../uapi/syscalls.def"
};

#undef KL_SYSCALL

/* Size of a call's arguments in bytes, without its strings. */
#define WIDTH_OF(layout, n) ((layout) >> 2 * (n)&3)
#define BYTES_OF(layout, n) (4 * (WIDTH_OF(layout, n) % WIDTH_string))
#define LAYOUT_BYTES(layout)                                                                     \
	(BYTES_OF(layout, 0) + BYTES_OF(layout, 1) + BYTES_OF(layout, 2) + BYTES_OF(layout, 3) + \
	 BYTES_OF(layout, 4) + BYTES_OF(layout, 5))
#define KL_SYSCALL(number, name, help, arguments) [number] = LAYOUT_BYTES(0 arguments),
static const u8 arguments_bytes[KL_EV_SYSCALL_MAX] = {
#include "../../uapi/syscalls.def"
};

#undef KL_SYSCALL

static struct tracepoint *enter, *leave;

/**
 * kl_syscall_is_known - does syscalls.def have a row for this number?
 * @number: of the 64-bit table
 */
bool kl_syscall_is_known(u32 number)
{
	return number < KL_EV_SYSCALL_MAX && layouts[number];
}

/**
 * kl_syscall_strings_number - how many arguments of a call are strings?
 * @number: below KL_EV_SYSCALL_MAX
 */
u32 kl_syscall_strings_number(u32 number)
{
	return LAYOUT_STRINGS(layouts[number]) >> STRINGS_SHIFT;
}

/**
 * kl_syscall_executes - does a call execute a program?
 * @number: of the 64-bit table
 */
bool kl_syscall_executes(u32 number)
{
	return number == __NR_execve || number == __NR_execveat;
}

/* A call's number. The kernel uses no more than 32 bits of the number it was passed. */
static __always_inline unsigned long number_of(const struct pt_regs *regs)
{
	return (u32)regs->orig_ax;
}

/*
 * A call's number clamped to the table. The user chooses it, and the processor may mispredict that
 * it was below KL_EV_SYSCALL_MAX; even under speculation no index exceeds the table. One
 * instruction.
 */
static_assert(!(KL_EV_SYSCALL_MAX & (KL_EV_SYSCALL_MAX - 1)));
static __always_inline unsigned long clamp_number(unsigned long number)
{
	OPTIMIZER_HIDE_VAR(number);
	return number & (KL_EV_SYSCALL_MAX - 1);
}

/*
 * Read the number again after it has been checked, in a way that the compiler cannot relate to the
 * first read. The mask keeps the index within the table, as in clamp_number.
 */
static __always_inline unsigned long number_again(const struct pt_regs *regs)
{
	return READ_ONCE(regs->orig_ax) & (KL_EV_SYSCALL_MAX - 1);
}

/* Write the arguments in order, with strings from @strings, which is NULL if there are none. */
static __always_inline void write_arguments(u8 *to, const struct pt_regs *regs, u32 code,
					    const struct kl_strings *strings)
{
	u32 string = 0;

	for (u32 n = 0; code; code >>= 2, n++) {
		if ((code & 3) == WIDTH_8) {
			*(u64 *)to = kl_syscall_argument(regs, n);
			to += 8;
		} else if (!strings || (code & 3) == WIDTH_4) {
			*(u32 *)to = kl_syscall_argument(regs, n);
			to += 4;
		} else {
			u32 bytes = strings->of[string].bytes;

			memcpy(to, strings->of[string].text, bytes);
			to += bytes;
			string++;
		}
	}
}

static noinline void log_entry_slow(struct kl_session *s, const struct pt_regs *regs, u8 handler)
{
	u32 number = clamp_number(number_of(regs)), layout = layouts[number];
	u32 bytes = arguments_bytes[number];
	struct kl_strings strings;
	struct kl_reservation place;

	strings.n = 0;
	strings.bytes = 0;
	if (LAYOUT_STRINGS(layout))
		kl_syscall_strings(s, &strings, regs, LAYOUT_CODE(layout));
	bytes += strings.bytes;
	place = kl_fire_begin(s, KL_EV_SYSCALL_ENTRY + number, handler, bytes);
	if (unlikely(!place.at))
		return;
	write_arguments(place.at, regs, LAYOUT_CODE(layout), &strings);
	kl_fire_end(s, KL_EV_SYSCALL_ENTRY + number, handler, place, bytes);
}

/* The same for a session with variables, some of which have changed. */
static noinline void log_entry_changed(struct kl_session *s, const struct pt_regs *regs)
{
	u32 number = number_again(regs), all;
	struct kl_reservation place;

	if (unlikely(!kl_record_change(s->variables, this_cpu_ptr(s->cpu),
				       KL_EV_SYSCALL_ENTRY + number, arguments_bytes[number],
				       &place, &all)))
		return log_entry_slow(s, regs, KL_HANDLER_log);
	number = number_again(regs);
	write_arguments(place.at, regs, layouts[number] - KNOWN, NULL);
	kl_ring_commit_bytes(place.base, all);
}

static __always_inline bool log_entry_same(struct kl_cpu *cpu, const struct pt_regs *regs,
					   bool rest)
{
	unsigned long number;
	struct kl_reservation place;
	u64 old;

	if (unlikely(!kl_values_same(cpu, rest, &old)))
		return false;
	number = number_again(regs);
	if (unlikely(!kl_record_same(cpu, old, KL_EV_SYSCALL_ENTRY + number,
				     arguments_bytes[number], &place)))
		return false;
	number = number_again(regs);
	write_arguments(place.at, regs, layouts[number] - KNOWN, NULL);
	kl_record_same_end(cpu, place, arguments_bytes[number]);
	return true;
}

/* For variables that need a call to compare: separate, so that other calls need no stack frame. */
static noinline void log_entry_rest(struct kl_cpu *cpu, const struct pt_regs *regs)
{
	if (!log_entry_same(cpu, regs, true))
		log_entry_changed(cpu->session, regs);
}

static __always_inline void log_entry_values(struct kl_cpu *cpu, const struct pt_regs *regs)
{
	/* Only a hint, as in kl_record_values. */
	if (unlikely(kl_racy(cpu->not_plain))) {
		if (!kl_racy(cpu->changing))
			return log_entry_rest(cpu, regs);
	} else if (likely(log_entry_same(cpu, regs, false))) {
		return;
	}
	log_entry_changed(cpu->session, regs);
}

/*
 * The common case makes no further call and so needs no stack frame; everything else starts again
 * in log_entry_slow. Not for calls with strings. The number is read again where it is used:
 * holding it would take more registers than are available without a frame.
 */
static __always_inline void log_entry(struct kl_cpu *cpu, const struct pt_regs *regs,
				      unsigned long number)
{
	struct kl_reservation place;
	u64 time;

	if (unlikely(!kl_record_take(cpu, arguments_bytes[number], &place, &time)))
		return log_entry_slow(cpu->session, regs, KL_HANDLER_log);
	number = number_again(regs);
	kl_record_head(place, time, KL_EV_SYSCALL_ENTRY + number);
	write_arguments(place.at, regs, layouts[number] - KNOWN, NULL);
	kl_record_end(place, arguments_bytes[number]);
}

/* An entry that has a rule: writes no fields unless the rule reads them. */
static noinline void fire_entry(struct kl_session *s, const struct pt_regs *regs, u8 action)
{
	const struct kl_rule *r = kl_rule_of(s, action);
	u32 number = clamp_number(number_of(regs)), layout;
	u8 fields[KL_SYSCALL_ARGUMENTS_MAX * sizeof(u64)];
	struct kl_event_ctx f;

	kl_event_ctx_init(&f, s, fields, 0);
	if (r->uses & KL_USES_FIELDS) {
		layout = layouts[number];
		if (LAYOUT_STRINGS(layout))
			return log_entry_slow(s, regs, action);
		f.bytes = arguments_bytes[number];
		write_arguments(fields, regs, LAYOUT_CODE(layout), NULL);
	}
	kl_fire_rule(s, KL_EV_SYSCALL_ENTRY + number, r, &f);
}

/* An exit that has a rule. */
static noinline void fire_exit(struct kl_session *s, const struct pt_regs *regs, u8 action)
{
	u64 result = regs->ax;
	struct kl_event_ctx f;

	kl_event_ctx_init(&f, s, &result, sizeof(result));
	kl_fire_rule(s, KL_EV_SYSCALL_EXIT + number_of(regs), kl_rule_of(s, action), &f);
}

static noinline void log_exit_slow(struct kl_session *s, const struct pt_regs *regs)
{
	u32 id = KL_EV_SYSCALL_EXIT + number_of(regs);
	struct kl_reservation place = kl_record_begin(s, this_cpu_ptr(s->cpu), id, sizeof(u64));

	if (unlikely(!place.at))
		return;
	*(u64 *)place.at = regs->ax;
	kl_record_end(place, sizeof(u64));
}

static noinline void log_exit_changed(struct kl_session *s, const struct pt_regs *regs)
{
	struct kl_reservation place;
	u32 all;

	if (unlikely(!kl_record_change(s->variables, this_cpu_ptr(s->cpu),
				       KL_EV_SYSCALL_EXIT + number_of(regs), sizeof(u64), &place,
				       &all)))
		return log_exit_slow(s, regs);
	*(u64 *)place.at = regs->ax;
	kl_ring_commit_bytes(place.base, all);
}

static __always_inline bool log_exit_same(struct kl_cpu *cpu, const struct pt_regs *regs, bool rest)
{
	struct kl_reservation place;
	u64 old;

	if (unlikely(!kl_values_same(cpu, rest, &old)) ||
	    unlikely(!kl_record_same(cpu, old, KL_EV_SYSCALL_EXIT + number_of(regs), sizeof(u64),
				     &place)))
		return false;
	*(u64 *)place.at = regs->ax;
	kl_record_same_end(cpu, place, sizeof(u64));
	return true;
}

static noinline void log_exit_rest(struct kl_cpu *cpu, const struct pt_regs *regs)
{
	if (!log_exit_same(cpu, regs, true))
		log_exit_changed(cpu->session, regs);
}

static __always_inline void log_exit_values(struct kl_cpu *cpu, const struct pt_regs *regs)
{
	/* Only a hint, as in kl_record_values. */
	if (unlikely(kl_racy(cpu->not_plain))) {
		if (!kl_racy(cpu->changing))
			return log_exit_rest(cpu, regs);
	} else if (likely(log_exit_same(cpu, regs, false))) {
		return;
	}
	log_exit_changed(cpu->session, regs);
}

static __always_inline void log_exit(struct kl_cpu *cpu, const struct pt_regs *regs)
{
	struct kl_reservation place;
	u64 time;

	if (unlikely(!kl_record_take(cpu, sizeof(u64), &place, &time)))
		return log_exit_slow(cpu->session, regs);
	kl_record_head(place, time, KL_EV_SYSCALL_EXIT + number_of(regs));
	*(u64 *)place.at = regs->ax;
	kl_record_end(place, sizeof(u64));
}

/*
 * A task that a session awaits is not in the set yet when it executes its program, and stays out
 * if that fails; the call itself is recorded. The entry and exit of such a call always come here
 * (kl_maskset_ask).
 */
static bool is_awaited_exec(const struct kl_session *s, u32 number)
{
	return kl_syscall_executes(number) && kl_gate_awaits(s, current) &&
	       kl_access_shows_current(s);
}

static __always_inline void enter_allowed(struct kl_session *s, const struct pt_regs *regs)
{
	u32 id = KL_EV_SYSCALL_ENTRY + clamp_number(number_of(regs));
	u8 handler = kl_action(s, id) & KL_ACTION_HANDLER;

	if (handler >= KL_ACTION_RULE)
		return fire_entry(s, regs, handler);
	if (handler == KL_HANDLER_log) {
		if (kl_syscall_wants_memory(s))
			kl_syscall_memory_entry(s, regs, id - KL_EV_SYSCALL_ENTRY);
		return log_entry_slow(s, regs, handler);
	}
	kl_plain_hit(s, id, handler);
}

static noinline void enter_refused(struct kl_session *s, const struct pt_regs *regs)
{
	if (is_awaited_exec(s, clamp_number(number_of(regs))))
		enter_allowed(s, regs);
}

/* The general case: the gate, strings, other handlers. */
static noinline void enter_any(struct kl_session *s, const struct pt_regs *regs)
{
	if (!kl_gate_self(s))
		return enter_refused(s, regs);
	enter_allowed(s, regs);
}

static __always_inline void exit_allowed(struct kl_session *s, const struct pt_regs *regs)
{
	u32 number = clamp_number(number_of(regs)), id = KL_EV_SYSCALL_EXIT + number;
	u8 handler = kl_action(s, id) & KL_ACTION_HANDLER;
	bool unread = kl_syscall_is_unread(s);

	if (unread) {
		kl_syscall_note_unread(s, false);
		kl_syscall_late_strings(s, regs, number, LAYOUT_CODE(layouts[number]));
	}
	if (kl_syscall_wants_memory(s) && handler == KL_HANDLER_log)
		kl_syscall_memory_exit(s, regs, number, unread);
	if (handler >= KL_ACTION_RULE)
		return fire_exit(s, regs, handler);
	if (handler == KL_HANDLER_log)
		return log_exit_slow(s, regs);
	kl_plain_hit(s, id, handler);
}

static noinline void exit_refused(struct kl_session *s, const struct pt_regs *regs)
{
	if (is_awaited_exec(s, clamp_number(number_of(regs))))
		exit_allowed(s, regs);
}

static noinline void exit_any(struct kl_session *s, const struct pt_regs *regs)
{
	if (!kl_gate_self(s))
		return exit_refused(s, regs);
	exit_allowed(s, regs);
}

/* Is an action a rule? At most the check of the task set has been made, and masked out. */
static __always_inline bool is_rule(u8 action)
{
	return (u8)(action - KL_ACTION_RULE) < KL_ACTION_TASKS - KL_ACTION_RULE;
}

/* Neither logged nor counted: either a rule that is completed here, or the general case. */
static noinline void enter_other(struct kl_session *s, const struct pt_regs *regs, u8 action)
{
	if (action & KL_ACTION_TASKS) {
		if (!kl_taskset_has(s->tasks, current->pid))
			return;
		action -= KL_ACTION_TASKS;
	}
	if (!is_rule(action) || !kl_fire_blind(kl_rule_of(s, action)))
		enter_any(s, regs);
}

static noinline void exit_other(struct kl_session *s, const struct pt_regs *regs, u8 action)
{
	if (action & KL_ACTION_TASKS) {
		if (!kl_taskset_has(s->tasks, current->pid))
			return;
		action -= KL_ACTION_TASKS;
	}
	if (!is_rule(action) || !kl_fire_fastpath(kl_rule_of(s, action), regs->ax))
		exit_any(s, regs);
}

/*
 * The probes: the common case, and tail calls for all others, so that neither a recorded call nor
 * an unwanted one pays for what it does not need.
 */
static __always_inline void enter_with(struct kl_session *s, struct pt_regs *regs,
				       unsigned long number, bool values)
{
	u8 action;

	if (unlikely(in_ia32_syscall()))
		return kl_probe_compat_syscall_entry(s, regs);
	if (unlikely(number >= KL_EV_SYSCALL_MAX))
		return;
	number = clamp_number(number);
	action = kl_action(s, KL_EV_SYSCALL_ENTRY + number);
	if (action == (KL_HANDLER_log | KL_ACTION_TASKS)) {
		if (!kl_taskset_has(s->tasks, current->pid))
			return;
	} else if (action != KL_HANDLER_log) {
		if (action == KL_HANDLER_count)
			return kl_count_hit(s, KL_EV_SYSCALL_ENTRY + number);
		if (likely(action == KL_HANDLER_nothing))
			return;
		if (action & KL_ACTION_ASK)
			return enter_any(s, regs);
		return enter_other(s, regs, action);
	}
	if (values)
		log_entry_values(this_cpu_ptr(s->cpu), regs);
	else
		log_entry(this_cpu_ptr(s->cpu), regs, number);
}

static void on_enter(void *data, struct pt_regs *regs, long number)
{
	kl_probe_begin();
	enter_with(data, regs, number, false);
	kl_probe_end();
}

static void on_enter_values(void *data, struct pt_regs *regs, long number)
{
	kl_probe_begin();
	enter_with(data, regs, number, true);
	kl_probe_end();
}

static __always_inline void leave_with(struct kl_session *s, struct pt_regs *regs, long result,
				       bool values)
{
	unsigned long number = number_of(regs);
	u8 action;

	if (unlikely(in_ia32_syscall()))
		return kl_probe_compat_syscall_exit(s, regs, result);
	if (unlikely(number >= KL_EV_SYSCALL_MAX))
		return;
	number = clamp_number(number);
	action = kl_action(s, KL_EV_SYSCALL_EXIT + number);
	if (action == (KL_HANDLER_log | KL_ACTION_TASKS)) {
		if (!kl_taskset_has(s->tasks, current->pid))
			return;
	} else if (action != KL_HANDLER_log) {
		if (action == KL_HANDLER_count)
			return kl_count_hit(s, KL_EV_SYSCALL_EXIT + number);
		if (likely(action == KL_HANDLER_nothing))
			return;
		if (action & KL_ACTION_ASK)
			return exit_any(s, regs);
		return exit_other(s, regs, action);
	}
	if (values)
		log_exit_values(this_cpu_ptr(s->cpu), regs);
	else
		log_exit(this_cpu_ptr(s->cpu), regs);
}

static void on_exit(void *data, struct pt_regs *regs, long result)
{
	kl_probe_begin();
	leave_with(data, regs, result, false);
	kl_probe_end();
}

static void on_exit_values(void *data, struct pt_regs *regs, long result)
{
	kl_probe_begin();
	leave_with(data, regs, result, true);
	kl_probe_end();
}

/*
 * For all sessions with a gate. If there is only one, and it only follows tasks, its probe is
 * called without the hub's test: the probe checks the session's set as fast as the hub checks the
 * union of all. A session toggles only one of the two branches, which an event reads once, so the
 * event is neither missed nor recorded twice. `session` only changes while both branches are off
 * and no probe that saw one of them on is running.
 */
struct solo {
	struct static_key_false is_plain;
	struct static_key_false has_variables;
	struct kl_session *session;
};

static struct solo solo_enter = { .is_plain = STATIC_KEY_FALSE_INIT,
				  .has_variables = STATIC_KEY_FALSE_INIT };
static struct solo solo_leave = { .is_plain = STATIC_KEY_FALSE_INIT,
				  .has_variables = STATIC_KEY_FALSE_INIT };

static noinline void enter_members(void *data, struct pt_regs *regs, long number)
{
	kl_hub_call(data, NULL, NULL, on_enter, kl_data, regs, number);
}

static void on_enter_hub(void *data, struct pt_regs *regs, long number)
{
	kl_probe_begin();
	if (static_branch_likely(&solo_enter.is_plain))
		enter_with(READ_ONCE(solo_enter.session), regs, number, false);
	else if (static_branch_unlikely(&solo_enter.has_variables))
		enter_with(READ_ONCE(solo_enter.session), regs, number, true);
	else if (unlikely(kl_gate_wants(current)))
		enter_members(data, regs, number);
	kl_probe_end();
}

static noinline void leave_members(void *data, struct pt_regs *regs, long result)
{
	kl_hub_call(data, NULL, NULL, on_exit, kl_data, regs, result);
}

static void on_exit_hub(void *data, struct pt_regs *regs, long result)
{
	kl_probe_begin();
	if (static_branch_likely(&solo_leave.is_plain))
		leave_with(READ_ONCE(solo_leave.session), regs, result, false);
	else if (static_branch_unlikely(&solo_leave.has_variables))
		leave_with(READ_ONCE(solo_leave.session), regs, result, true);
	else if (unlikely(kl_gate_wants(current)))
		leave_members(data, regs, result);
	kl_probe_end();
}

/**
 * kl_syscall_hub - the probe to register with a tracepoint for sessions with a gate
 * @tp: the tracepoint
 *
 * Returns NULL unless it is one of the two of system calls.
 */
void *kl_syscall_hub(const struct tracepoint *tp)
{
	if (tp == enter)
		return on_enter_hub;
	return tp == leave ? on_exit_hub : NULL;
}

/**
 * kl_syscall_solo - call one session without a search, or search the hub again
 * @tp: sys_enter or sys_exit
 * @s: the only session in its hub, whose gate is KL_GATE_TASKS alone; or NULL
 *
 * Between two sessions there must be a call with NULL, which waits for the probes that use the
 * first one. Context: may sleep.
 */
void kl_syscall_solo(const struct tracepoint *tp, struct kl_session *s)
{
	struct solo *solo = tp == enter ? &solo_enter : &solo_leave;

	if (!s) {
		static_branch_disable(&solo->is_plain);
		static_branch_disable(&solo->has_variables);
		/* Probes run with preemption off. */
		synchronize_rcu();
		return;
	}
	WRITE_ONCE(solo->session, s);
	if (s->variables)
		static_branch_enable(&solo->has_variables);
	else
		static_branch_enable(&solo->is_plain);
}

/*
 * The tracepoint and probe of a system call event. Whether a session has variables does not change
 * once it has been started.
 */
static struct tracepoint *tracepoint_of(const struct kl_session *s, bool exit, void **probe)
{
	if (exit)
		*probe = s->variables ? (void *)on_exit_values : (void *)on_exit;
	else
		*probe = s->variables ? (void *)on_enter_values : (void *)on_enter;
	return exit ? leave : enter;
}

/**
 * kl_syscalls_attach - make the entries or exits of all calls fire for a session
 * @s: the session; its lock is held
 * @exit: attach to the exits instead of the entries
 * @why: set on failure
 *
 * The session's actions decide what is done for each call. Context: may sleep.
 */
int kl_syscalls_attach(struct kl_session *s, bool exit, struct kl_error *why)
{
	void *probe;
	struct tracepoint *tp = tracepoint_of(s, exit, &probe);
	int error;

	lockdep_assert_held(&s->lock);
	if (!tp)
		return kl_fail(why, -ENOENT, "this kernel has no system call tracepoints");
	error = kl_hub_attach(s, tp, probe, s);
	return error ? kl_fail(why, error, "cannot attach to %s", tp->name) : 0;
}

/**
 * kl_syscalls_detach - undo kl_syscalls_attach
 * @s: the session; its lock is held
 * @exit: as given to kl_syscalls_attach
 */
void kl_syscalls_detach(struct kl_session *s, bool exit)
{
	void *probe;
	struct tracepoint *tp = tracepoint_of(s, exit, &probe);

	lockdep_assert_held(&s->lock);
	kl_hub_detach(s, tp, probe, s);
}

/**
 * kl_syscall_tracepoint - the tracepoint that all system calls hit
 * @exit: at their exits instead of their entries
 */
const struct tracepoint *kl_syscall_tracepoint(bool exit)
{
	return exit ? leave : enter;
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
	return kl_syscall_strings_init() ?: kl_syscall_memory_init();
}

/**
 * kl_syscall_deinit - undo kl_syscall_init
 */
void kl_syscall_deinit(void)
{
	kl_syscall_memory_deinit();
	kl_syscall_strings_deinit();
}
