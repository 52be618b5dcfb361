// SPDX-License-Identifier: GPL-2.0
/* Calls whose arguments depend on the first ones: prctl, futex, restarted calls. */
#include <linux/futex.h>
#include <sys/prctl.h>

#include "../../base/base.h"
#include "printers.h"

/* Number of arguments of a prctl operation that has only numbers, besides the operation. */
static unsigned int count_of_prctl(uint32_t option)
{
	switch (option) {
	case PR_GET_DUMPABLE:
	case PR_GET_KEEPCAPS:
	case PR_GET_SECCOMP:
	case PR_GET_TIMERSLACK:
	case PR_GET_TIMING:
	case PR_GET_SECUREBITS:
		return 0;
	case PR_SET_KEEPCAPS:
	case PR_SET_CHILD_SUBREAPER:
	case PR_SET_TIMERSLACK:
	case PR_SET_PTRACER:
		return 1;
	default:
		return 4;
	}
}

static const char *dumpable_name(uint64_t number)
{
	static const char *const names[] = { "SUID_DUMP_DISABLE", "SUID_DUMP_USER",
					     "SUID_DUMP_ROOT" };

	return number < KL_ARRAY_SIZE(names) ? names[number] : "SUID_DUMP_???";
}

static void print_prctl_numbers(struct kl_call *c, uint32_t option)
{
	bool plain = option == PR_SET_NO_NEW_PRIVS || option == PR_SET_KEEPCAPS ||
		     option == PR_SET_CHILD_SUBREAPER || option == PR_SET_TIMERSLACK ||
		     option == PR_SET_PTRACER || option == PR_GET_NO_NEW_PRIVS;

	for (unsigned int i = 1; i <= count_of_prctl(option); i++) {
		kl_comma(c);
		if (plain)
			kl_buffer_add_unsigned(c->out, c->arg[i], 0);
		else
			kl_call_hex(c->out, c->arg[i]);
	}
}

static void print_prctl_arguments(struct kl_call *c, uint32_t option)
{
	switch (option) {
	case PR_SET_NAME:
	case PR_GET_NAME:
		kl_comma(c);
		if ((option == PR_GET_NAME && !kl_call_succeeded(c)) ||
		    !kl_call_string(c, c->arg[1]))
			kl_call_address(c->out, c->arg[1]);
		break;
	case PR_SET_PDEATHSIG:
		kl_comma(c);
		kl_put_signal(c->out, c->arg[1]);
		break;
	case PR_SET_DUMPABLE:
		kl_buffer_printf(c->out, ", %s", dumpable_name(c->arg[1]));
		break;
	case PR_CAPBSET_READ:
	case PR_CAPBSET_DROP:
		kl_comma(c);
		kl_call_choice(c->out, &kl_words_capabilities, c->arg[1]);
		break;
	default:
		print_prctl_numbers(c, option);
	}
}

void kl_print_prctl(struct kl_call *c)
{
	uint32_t option = c->arg[0];
	bool late = option == PR_GET_NAME && c->has_memory;

	if (!c->leaving)
		kl_call_choice(c->out, &kl_words_prctl, option);
	if (c->leaving == late)
		print_prctl_arguments(c, option);
	if (c->leaving && option == PR_GET_DUMPABLE && kl_call_succeeded(c))
		kl_buffer_add_string(&c->aux, dumpable_name(c->result));
}

/* ----------------------------------------------------------------- futex */

static void print_operation(struct kl_call *c, uint32_t op)
{
	kl_call_choice(c->out, &kl_words_futex, op & FUTEX_CMD_MASK);
	if (op & FUTEX_PRIVATE_FLAG)
		kl_buffer_add_string(c->out, "_PRIVATE");
	if (op & FUTEX_CLOCK_REALTIME)
		kl_buffer_add_string(c->out, "|FUTEX_CLOCK_REALTIME");
}

static void print_number(struct kl_call *c, uint64_t number)
{
	kl_buffer_printf(c->out, ", %u", (uint32_t)number);
}

static void print_mask(struct kl_call *c, uint64_t mask)
{
	if ((uint32_t)mask == FUTEX_BITSET_MATCH_ANY)
		kl_buffer_add_string(c->out, ", FUTEX_BITSET_MATCH_ANY");
	else
		kl_buffer_printf(c->out, ", %#x", (uint32_t)mask);
}

static void print_timeout(struct kl_call *c)
{
	kl_comma(c);
	kl_timespec_at(c, c->arg[3]);
}

static void print_second(struct kl_call *c)
{
	kl_comma(c);
	kl_call_address(c->out, c->arg[4]);
}

void kl_print_futex(struct kl_call *c)
{
	uint32_t op = c->arg[1];

	if (c->leaving)
		return;
	kl_call_address(c->out, c->arg[0]);
	kl_comma(c);
	print_operation(c, op);
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
		print_number(c, c->arg[2]);
		print_timeout(c);
		break;
	case FUTEX_WAIT_BITSET:
		print_number(c, c->arg[2]);
		print_timeout(c);
		print_mask(c, c->arg[5]);
		break;
	case FUTEX_WAKE_BITSET:
		print_number(c, c->arg[2]);
		print_mask(c, c->arg[5]);
		break;
	case FUTEX_REQUEUE:
		print_number(c, c->arg[2]);
		print_number(c, c->arg[3]);
		print_second(c);
		break;
	case FUTEX_CMP_REQUEUE:
	case FUTEX_CMP_REQUEUE_PI:
		print_number(c, c->arg[2]);
		print_number(c, c->arg[3]);
		print_second(c);
		print_number(c, c->arg[5]);
		break;
	case FUTEX_WAKE_OP:
		print_number(c, c->arg[2]);
		print_number(c, c->arg[3]);
		print_second(c);
		kl_buffer_printf(c->out, ", %#x", (uint32_t)c->arg[5]);
		break;
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		print_timeout(c);
		break;
	case FUTEX_UNLOCK_PI:
	case FUTEX_TRYLOCK_PI:
		break;
	default:
		print_number(c, c->arg[2]);
	}
}

/* The name of the call that goes on, which strace.c has put into the first text. */
void kl_print_restart(struct kl_call *c)
{
	if (c->leaving)
		return;
	kl_buffer_add_string(c->out, "<... resuming interrupted ");
	if (c->text[0].is_there)
		kl_buffer_add(c->out, c->texts.data + c->text[0].at, c->text[0].length);
	else
		kl_buffer_add_string(c->out, "system call");
	kl_buffer_add_string(c->out, " ...>");
}
