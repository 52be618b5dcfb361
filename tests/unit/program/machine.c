// SPDX-License-Identifier: GPL-2.0
/* The environment of kernel/core/program*.c in these tests. */
#include <stdarg.h>

#include "machine.h"

struct machine machine = { .allocations_left = -1 };
struct kl_session session;
u64 random_state = 88172645463325252ull;

int kl_fail(struct kl_error *why, int error, const char *format, ...)
{
	va_list args;

	if (!why)
		return error;
	why->error = error;
	va_start(args, format);
	vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	return error;
}

static bool copy(void *to, const u8 *memory, u64 base, u64 from, u32 bytes)
{
	u64 at = from - base;

	if (from < base || at > MEMORY_BYTES || bytes > MEMORY_BYTES - at)
		return false;
	if (at < HOLE_AT + HOLE_BYTES && at + bytes > HOLE_AT)
		return false;
	memcpy(to, memory + at, bytes);
	return true;
}

bool kl_kernel_copy(void *to, u64 from, u32 bytes)
{
	u64 task = (u64)(unsigned long)machine.task;

	if (from >= task && bytes <= sizeof(machine.task) &&
	    from - task <= sizeof(machine.task) - bytes) {
		memcpy(to, machine.task + (from - task), bytes);
		return true;
	}
	return copy(to, machine.kernel, KERNEL_BASE, from, bytes);
}

bool kl_user_copy(void *to, u64 from, u32 bytes)
{
	return copy(to, machine.user, USER_BASE, from, bytes);
}

const u8 *kl_running_task(void)
{
	return machine.task;
}

u64 kl_percpu_offset(void)
{
	return PERCPU_OFFSET;
}

void *kl_program_alloc(size_t bytes)
{
	if (!machine.allocations_left)
		return NULL;
	machine.allocations_left--;
	machine.allocations++;
	return calloc(1, bytes);
}

void kl_program_free(void *memory)
{
	if (memory)
		machine.allocations--;
	free(memory);
}

enum kl_variable_kind kl_variable_kind(u32 id)
{
	static const enum kl_variable_kind kind[VARIABLE_COUNT] = {
		[VARIABLE_STRUCT] = KL_VARIABLE_OTHER,	 [VARIABLE_NUMBER] = KL_VARIABLE_NUMBER,
		[VARIABLE_TEXT] = KL_VARIABLE_TEXT,	 [VARIABLE_UNREADABLE] = KL_VARIABLE_NUMBER,
		[VARIABLE_IN_TASK] = KL_VARIABLE_NUMBER,
	};

	return id < VARIABLE_COUNT ? kind[id] : KL_VARIABLE_ABSENT;
}

bool kl_variable_in_task(u32 id, u32 may, u32 *offset, u32 *number)
{
	*offset = VARIABLE_OFFSET;
	*number = KL_NUMBER_S16;
	return id == VARIABLE_IN_TASK && may & KL_MAY_SEE_ALL;
}

void kl_variable_cost(u32 id, u32 may, struct kl_cost *cost)
{
	/* An expensive variable, one that takes a user stack trace, and cheap ones. */
	cost->operations += id == VARIABLE_TEXT ? 1000 : 10;
	cost->user_walks += id == VARIABLE_UNREADABLE;
}

u64 kl_variable_number(struct kl_session *s, u32 id, bool *fault)
{
	short in_task;

	if (id == VARIABLE_NUMBER && s == &session)
		return machine.number;
	if (id == VARIABLE_IN_TASK && s == &session) {
		memcpy(&in_task, machine.task + VARIABLE_OFFSET, sizeof(in_task));
		return (s64)in_task;
	}
	*fault = true;
	return 0;
}

void kl_variable_text(struct kl_session *s, u32 id, char text[KL_VARIABLE_TEXT_MAX])
{
	memset(text, 0, KL_VARIABLE_TEXT_MAX);
	if (id == VARIABLE_TEXT && s == &session)
		memcpy(text, machine.text, KL_VARIABLE_TEXT_MAX);
}

bool kl_flag_test(struct kl_session *s, u32 flag)
{
	return s == &session && machine.flags >> flag & 1;
}

u64 kl_flag_since(struct kl_session *s, u32 flag, bool *fault)
{
	if (s == &session && (flag == KL_SINCE_SESSION || kl_flag_test(s, flag)))
		return SINCE + flag;
	*fault = true;
	return 0;
}

/* ------------------------------------------------------------------ helpers */

u64 random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

u32 random_below(u32 n)
{
	return (random_number() >> 16) % n;
}

u8 *exact_copy(const void *from, size_t bytes)
{
	u8 *memory = malloc(bytes ? bytes : 1);

	if (!memory)
		abort();
	if (bytes)
		memcpy(memory, from, bytes);
	return memory;
}

bool program_outcome(const struct kl_program *p, const struct kl_event_ctx *f,
		     struct outcome *outcome)
{
	u32 room = kl_program_out_bytes(p);
	struct kl_event_ctx run = *f, put = *f;
	u8 *out = exact_copy(outcome->out, room);

	memset(outcome, 0, sizeof(*outcome));
	run.fault = false;
	put.fault = false;
	outcome->result = kl_program_run(p, &run);
	outcome->bytes = kl_program_put(p, &put, out, room);
	outcome->fault = put.fault;
	if (outcome->bytes <= room)
		memcpy(outcome->out, out, outcome->bytes);
	free(out);
	/* A run without output does not read what only the output needs. */
	return outcome->bytes <= room && (room ? run.fault <= put.fault : run.fault == put.fault);
}

bool outcomes_equal(const struct outcome *x, const struct outcome *y)
{
	return x->result == y->result && x->fault == y->fault && x->bytes == y->bytes &&
	       !memcmp(x->out, y->out, x->bytes);
}
