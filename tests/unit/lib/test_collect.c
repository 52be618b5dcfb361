// SPDX-License-Identifier: GPL-2.0
/*
 * Collecting a session's stack traces, of which this file plays the module's part: traces whose
 * files are not known yet, or never will be.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include <kernlens/stack.h>
#include <kernlens/stack_store.h>
#include "unit.h"

#define TRACES 1000
#define CALLS 1000
#define FRAMES 2
#define FOUND 7 /* the trace whose file is known after a while */
#define TRACE_BYTES (sizeof(struct kl_abi_stack) + 16 * FRAMES)

static uint64_t place; /* of the frames of FOUND */
static uint64_t copied; /* traces */

static void copy(uint8_t *to, uint32_t id)
{
	const struct kl_abi_stack about = {
		.id = id, .frames = FRAMES, .kind = KL_STACK_USER, .pid = 1
	};
	uint64_t frames[2 * FRAMES] = { 0x1000, 0x2000 };

	if (id == FOUND)
		frames[FRAMES] = place;
	memcpy(to, &about, sizeof(about));
	memcpy(to + sizeof(about), frames, sizeof(frames));
}

/* These two are in place of those of the library. */
int kl_session_stacks(struct kl_session *session, struct kl_abi_stacks *call)
{
	uint8_t *to = (uint8_t *)(uintptr_t)call->buffer;
	uint32_t room = call->bytes;

	(void)session;
	call->n = 0;
	call->bytes = 0;
	call->no_room = 0;
	if (call->what != KL_STACKS_TRACES)
		return 0;
	for (; call->first <= TRACES && call->bytes + TRACE_BYTES <= room; call->first++) {
		copy(to + call->bytes, call->first);
		call->bytes += TRACE_BYTES;
		call->n++;
	}
	copied += call->n;
	return 0;
}

int kl_session_unwind(struct kl_session *session, struct kl_abi_unwind *call)
{
	(void)session;
	(void)call;
	return -ENODEV;
}

static uint64_t place_of(const struct kl_stacks *stacks, uint32_t id)
{
	const struct kl_stack *stack = kl_stacks_get(stacks, id);

	return stack && stack->n == FRAMES ? stack->frame[0].place : UINT64_MAX;
}

int main(void)
{
	struct kl_stacks *stacks = kl_stacks_create();
	struct kl_stack_collector *collector = stacks ? kl_stack_collector_create(NULL, stacks) :
							NULL;
	int error = 0;
	char text[96];

	if (!collector)
		abort();
	unit_check(kl_stack_collect(collector, false) == TRACES && copied == TRACES,
		   "traces are fetched");
	for (int i = 1; i < CALLS && !error; i++)
		error = kl_stack_collect(collector, false);
	snprintf(text, sizeof(text), "%d calls: each was fetched %.1f times", CALLS,
		 (double)copied / TRACES);
	/* After 1, 2, 4, 8 calls, and so on. */
	unit_check(!error && copied >= 5 * TRACES && copied <= 12 * TRACES, text);
	unit_check(!place_of(stacks, FOUND), "their files are not known");
	place = 1ull << KL_STACK_PLACE_SHIFT | 0x3000;
	unit_check(kl_stack_collect(collector, true) >= 0, "the last call");
	unit_check(place_of(stacks, FOUND), "tries all of them");
	kl_stack_collector_destroy(collector);
	kl_stacks_destroy(stacks);
	return unit_end();
}
