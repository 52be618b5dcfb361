// SPDX-License-Identifier: GPL-2.0
/* Signals: their names, sets, actions and information. */
#include <signal.h>

#include <kernlens/format.h>
#include "../../base/base.h"
#include "printers.h"

#define FIRST_REAL_TIME 32
#define SA_RESTORER_BIT 0x04000000

/* The kernel's struct sigaction. */
struct action {
	uint64_t handler;
	uint64_t flags;
	uint64_t restorer;
	uint64_t mask;
};

static void put_name(struct kl_buffer *out, unsigned int number, const char *prefix)
{
	const char *name = kl_signal_name(number);

	if (name)
		kl_buffer_printf(out, "%s%s", prefix, name + strlen("SIG"));
	else if (number == FIRST_REAL_TIME)
		kl_buffer_printf(out, "%sRTMIN", prefix);
	else
		kl_buffer_printf(out, "%sRT_%u", prefix, number - FIRST_REAL_TIME);
}

void kl_put_signal(struct kl_buffer *out, uint64_t number)
{
	if (number && number <= 64)
		put_name(out, number, "SIG");
	else
		kl_buffer_add_signed(out, (int32_t)number);
}

void kl_put_sigset(struct kl_buffer *out, uint64_t set)
{
	bool any = false;

	/* If most signals are in the set, those that are not are shorter to list. */
	if (__builtin_popcountll(set) >= 64 * 2 / 3) {
		kl_buffer_add_char(out, '~');
		set = ~set;
	}
	kl_buffer_add_char(out, '[');
	for (unsigned int number = 1; number <= 64; number++) {
		if (!(set >> (number - 1) & 1))
			continue;
		if (any)
			kl_buffer_add_char(out, ' ');
		put_name(out, number, "");
		any = true;
	}
	kl_buffer_add_char(out, ']');
}

bool kl_sigset_at(struct kl_call *c, uint64_t address)
{
	uint64_t set;

	if (!kl_call_peek(c, address, &set, sizeof(set))) {
		kl_call_address(c->out, address);
		return false;
	}
	kl_put_sigset(c->out, set);
	return true;
}

void kl_arg_signal(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_put_signal(c->out, c->arg[i]);
}

void kl_arg_sigset(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_sigset_at(c, c->arg[i]);
}

void kl_arg_out_sigset(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	if (kl_call_succeeded(c))
		kl_sigset_at(c, c->arg[i]);
	else
		kl_call_address(c->out, c->arg[i]);
}

void kl_arg_sigaction(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct action action;

	if ((kind->is_out && !kl_call_succeeded(c)) ||
	    !kl_call_peek(c, c->arg[i], &action, sizeof(action)))
		return kl_call_address(c->out, c->arg[i]);
	kl_buffer_add_string(c->out, "{sa_handler=");
	if (action.handler == (uintptr_t)SIG_DFL)
		kl_buffer_add_string(c->out, "SIG_DFL");
	else if (action.handler == (uintptr_t)SIG_IGN)
		kl_buffer_add_string(c->out, "SIG_IGN");
	else
		kl_buffer_add_hex(c->out, action.handler);
	kl_buffer_add_string(c->out, ", sa_mask=");
	kl_put_sigset(c->out, action.mask);
	kl_buffer_add_string(c->out, ", sa_flags=");
	kl_call_flags(c->out, &kl_words_sa_flags, action.flags);
	if (action.flags & SA_RESTORER_BIT) {
		kl_buffer_add_string(c->out, ", sa_restorer=");
		kl_call_address(c->out, action.restorer);
	}
	kl_buffer_add_char(c->out, '}');
}

void kl_arg_stack(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	stack_t stack;

	if ((kind->is_out && !kl_call_succeeded(c)) ||
	    !kl_call_peek(c, c->arg[i], &stack, sizeof(stack)))
		return kl_call_address(c->out, c->arg[i]);
	kl_buffer_add_string(c->out, "{ss_sp=");
	kl_call_address(c->out, (uintptr_t)stack.ss_sp);
	kl_buffer_add_string(c->out, ", ss_flags=");
	kl_call_flags(c->out, &kl_words_ss_flags, (uint32_t)stack.ss_flags);
	kl_buffer_printf(c->out, ", ss_size=%zu}", stack.ss_size);
}

/* ----------------------------------------------------------- information */

static void put_code(struct kl_buffer *out, int32_t sig, int32_t code)
{
	static const struct {
		int sig, code;
		const char *name;
	} faults[] = {
		{ SIGILL, 1, "ILL_ILLOPC" },   { SIGILL, 2, "ILL_ILLOPN" },
		{ SIGILL, 5, "ILL_PRVOPC" },   { SIGFPE, 1, "FPE_INTDIV" },
		{ SIGFPE, 2, "FPE_INTOVF" },   { SIGFPE, 3, "FPE_FLTDIV" },
		{ SIGSEGV, 1, "SEGV_MAPERR" }, { SIGSEGV, 2, "SEGV_ACCERR" },
		{ SIGSEGV, 3, "SEGV_BNDERR" }, { SIGSEGV, 4, "SEGV_PKUERR" },
		{ SIGBUS, 1, "BUS_ADRALN" },   { SIGBUS, 2, "BUS_ADRERR" },
		{ SIGBUS, 3, "BUS_OBJERR" },   { SIGTRAP, 1, "TRAP_BRKPT" },
		{ SIGTRAP, 2, "TRAP_TRACE" },  { SIGSYS, 1, "SYS_SECCOMP" },
		{ SIGIO, 1, "POLL_IN" },       { SIGIO, 2, "POLL_OUT" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(faults); i++)
		if (faults[i].sig == sig && faults[i].code == code)
			return kl_buffer_add_string(out, faults[i].name);
	if (sig == SIGCHLD && code > 0)
		kl_call_choice(out, &kl_words_chld_codes, (uint32_t)code);
	else
		kl_call_choice(out, &kl_words_kill_codes, (uint64_t)(int64_t)code);
}

static void put_ticks(struct kl_buffer *out, const char *name, uint64_t ticks)
{
	kl_buffer_printf(out, ", %s=%llu", name, (unsigned long long)ticks);
	if (ticks)
		kl_buffer_printf(out, " /* %llu.%02llu s */", (unsigned long long)ticks / 100,
				 (unsigned long long)ticks % 100);
}

static void put_child(struct kl_buffer *out, int32_t code, const uint64_t words[4])
{
	kl_buffer_add_string(out, ", si_status=");
	if (code == CLD_EXITED)
		kl_buffer_add_signed(out, (int32_t)words[1]);
	else
		kl_put_signal(out, (uint32_t)words[1]);
	put_ticks(out, "si_utime", words[2]);
	put_ticks(out, "si_stime", words[3]);
}

static void put_value(struct kl_buffer *out, uint64_t value)
{
	kl_buffer_printf(out, ", si_int=%d, si_ptr=", (int32_t)value);
	kl_call_address(out, value);
}

static bool is_fault(int32_t sig, int32_t code)
{
	return code > 0 && code != SI_KERNEL &&
	       (sig == SIGILL || sig == SIGFPE || sig == SIGSEGV || sig == SIGBUS ||
		sig == SIGTRAP);
}

/* @words: what depends on the code; the first word is two numbers, mostly the sender's ids. */
void kl_put_siginfo(struct kl_buffer *out, int32_t sig, int32_t error, int32_t code,
		    const uint64_t words[4])
{
	kl_buffer_add_string(out, "{si_signo=");
	kl_put_signal(out, sig);
	kl_buffer_add_string(out, ", si_code=");
	put_code(out, sig, code);
	if (error)
		kl_buffer_printf(out, ", si_errno=%d", error);
	if (is_fault(sig, code)) {
		kl_buffer_add_string(out, ", si_addr=");
		kl_call_address(out, words[0]);
	} else if (code == SI_TIMER) {
		kl_buffer_printf(out, ", si_timerid=%#x, si_overrun=%d", (uint32_t)words[0],
				 (int32_t)(words[0] >> 32));
		put_value(out, words[1]);
	} else if (code != SI_KERNEL) {
		kl_buffer_printf(out, ", si_pid=%d, si_uid=%u", (int32_t)words[0],
				 (uint32_t)(words[0] >> 32));
		if (sig == SIGCHLD && code > 0)
			put_child(out, code, words);
		else if (code == SI_QUEUE || code == SI_MESGQ)
			put_value(out, words[1]);
	}
	kl_buffer_add_char(out, '}');
}

void kl_arg_siginfo(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct {
		int32_t sig, error, code, unused;
		uint64_t words[4];
	} info;

	if ((kind->is_out && !kl_call_succeeded(c)) ||
	    !kl_call_peek(c, c->arg[i], &info, sizeof(info)))
		return kl_call_address(c->out, c->arg[i]);
	if (!info.sig)
		kl_buffer_add_string(c->out, "{}");
	else
		kl_put_siginfo(c->out, info.sig, info.error, info.code, info.words);
}

void kl_arg_sigevent(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct {
		uint64_t value;
		int32_t sig, notify;
		int32_t tid;
	} event;

	if (!kl_call_peek(c, c->arg[i], &event, sizeof(event)))
		return kl_call_address(c->out, c->arg[i]);
	kl_buffer_add_char(c->out, '{');
	if (event.value)
		kl_buffer_printf(c->out, "sigev_value={sival_int=%d, sival_ptr=%#llx}, ",
				 (int32_t)event.value, (unsigned long long)event.value);
	kl_buffer_add_string(c->out, "sigev_signo=");
	kl_put_signal(c->out, (uint32_t)event.sig);
	kl_buffer_printf(c->out, ", sigev_notify=%s",
			 event.notify == SIGEV_SIGNAL ? "SIGEV_SIGNAL" :
			 event.notify == SIGEV_NONE   ? "SIGEV_NONE" :
			 event.notify == SIGEV_THREAD ? "SIGEV_THREAD" :
							"SIGEV_THREAD_ID");
	if (event.notify == SIGEV_THREAD_ID)
		kl_buffer_printf(c->out, ", sigev_notify_thread_id=%d", event.tid);
	kl_buffer_add_char(c->out, '}');
}

/* The mask that the frame of the signal handler has; strace.c has found it. */
void kl_print_sigreturn(struct kl_call *c)
{
	if (c->leaving)
		return;
	kl_buffer_add_string(c->out, "{mask=");
	kl_put_sigset(c->out, c->arg[0]);
	kl_buffer_add_char(c->out, '}');
}
