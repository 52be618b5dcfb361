// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that make hardly any sense: every call with random arguments, on any descriptor; and
 * repeated attempts at what must not be possible.
 */
#include "fuzz.h"

struct call {
	unsigned long command;
	u32 bytes;
	u32 range; /* of the second word, which is often a number of something; 0: no range */
};

#define CALL(command, type, range)                  \
	{                                           \
		command, sizeof(struct type), range \
	}

static const struct call calls[] = {
	CALL(KL_IOC_INFO, kl_abi_info, 0),
	CALL(KL_IOC_TIME, kl_abi_time, 0),
	CALL(KL_IOC_EVENT_INFO, kl_abi_event_info, KL_EV_MAX + 2),
	CALL(KL_IOC_ERROR, kl_abi_error, 0),
	CALL(KL_IOC_STATUS, kl_abi_status, 4),
	CALL(KL_IOC_LIMITS, kl_abi_limits, 4),
	CALL(KL_IOC_VARIABLE_INFO, kl_abi_variable_info, 300),
	CALL(KL_IOC_MARK, kl_abi_mark, 1),
	CALL(KL_IOC_HANDLER_INFO, kl_abi_handler_info, 6),
	CALL(KL_IOC_INSPECT, kl_abi_inspect, 60),
	CALL(KL_IOC_CPUS, kl_abi_cpus, 12),
	CALL(KL_IOC_SET, kl_abi_set, 3),
	CALL(KL_IOC_DETAIL, kl_abi_detail, 300),
	CALL(KL_IOC_SESSION, kl_abi_session, 0),
	CALL(KL_IOC_ATTACH, kl_abi_attach, 1000),
	CALL(KL_IOC_MASKSET_WRITE, kl_abi_maskset, 12),
	CALL(KL_IOC_MASKSET_READ, kl_abi_maskset, 12),
	CALL(KL_IOC_MASKSET_USE, kl_abi_use, 12),
	CALL(KL_IOC_FILTER, kl_abi_filter, 4),
	CALL(KL_IOC_TASKS, kl_abi_tasks, 0),
	{ KL_IOC_START, 0, 0 },
	{ KL_IOC_STOP, 0, 0 },
	CALL(KL_IOC_RESIZE, kl_abi_resize, 32),
	CALL(KL_IOC_READER, kl_abi_reader, 4),
	CALL(KL_IOC_STATS, kl_abi_stats, 4),
	CALL(KL_IOC_COUNTS, kl_abi_counts, 0),
	CALL(KL_IOC_DUMP, kl_abi_dump, 8),
	CALL(KL_IOC_PROGRAM, kl_abi_program, 0),
	CALL(KL_IOC_VARIABLES, kl_abi_variables, 12),
	CALL(KL_IOC_EVENTS, kl_abi_events, 4),
	CALL(KL_IOC_RULE, kl_abi_rule, 0),
	CALL(KL_IOC_TABLE, kl_abi_table, 4),
	CALL(KL_IOC_METADATA_SET, kl_abi_metadata, 9000),
	CALL(KL_IOC_METADATA_GET, kl_abi_metadata, 9000),
	CALL(KL_IOC_STACKS, kl_abi_stacks, 4),
	CALL(KL_IOC_UNWIND, kl_abi_unwind, 4),
	CALL(KL_IOC_ALARMS, kl_abi_alarms, 4),
	CALL(KL_IOC_HANDLER_READ, kl_abi_handler_read, 4),
	{ KL_IOC_SNAPSHOT, 0, 0 },
	{ KL_IOC_FREEZE, 0, 0 },
	CALL(KL_IOC_LATENCY, kl_abi_latency, 64),
	CALL(KL_IOC_LATENCY_READ, kl_abi_latency_read, 20),
	CALL(KL_IOC_SPLICE, kl_abi_splice, 4),
	CALL(KL_IOC_UNSPLICE, kl_abi_unsplice, 0),
	CALL(KL_IOC_SPLICE_COUNTS, kl_abi_splice_counts, 4),
};

/* Masksets that take the emulator seconds to attach are left to define.c. */
static bool is_slow_call(unsigned long command, const u32 *words)
{
	return command == KL_IOC_MASKSET_USE &&
	       (words[1] == KL_MASKSET_RALL || words[1] == KL_MASKSET_RDEFAULT);
}

void op_raw_call(void)
{
	const struct call *call = &calls[below(sizeof(calls) / sizeof(*calls))];
	unsigned long command = call->command;
	u32 *words = (u32 *)memory;
	void *argument = memory;

	if (one_in(10))
		command = one_in(2) ? odd_number() : (command ^ 1ull << below(32));
	memset(memory, 0, call->bytes + 64);
	words[0] = call->bytes;
	words[1] = call->range ? below(call->range) : 0;
	if (!one_in(3))
		mutate(memory, call->bytes ? call->bytes + 64 : 64);
	if (one_in(10))
		argument = odd_place(memory, call->bytes);
	if (is_slow_call(command, words))
		return;
	me->calls++;
	if (ioctl(any_fd(), command, argument) < 0)
		return;
	me->successes++;
	if (command == KL_IOC_READER && argument == memory)
		keep_fd(((struct kl_abi_reader *)memory)->fd, ROLE_READER);
}

void op_open(void)
{
	static const int flags[] = { O_RDWR, O_RDWR, O_RDONLY, O_WRONLY, O_RDWR | O_NONBLOCK };

	keep_fd(one_in(4) ? dup(any_fd()) : open_device(flags[below(5)]), ROLE_DEVICE);
}

void op_close(void)
{
	int old = __atomic_exchange_n(&any_slot()->fd, -1, __ATOMIC_RELAXED);

	if (old >= 0)
		close(old);
}

void op_mark(void)
{
	struct kl_abi_mark mark = { .value = odd_number() };

	snprintf(mark.text, sizeof(mark.text), "%.*s", (int)below(sizeof(mark.text)),
		 "a mark that is as long as one can be, or shorter, or there is none at all");
	TRY(any_fd(), KL_IOC_MARK, mark);
}

/* ------------------------------------------------------- sessions of others */

/*
 * Returns the id of a session, if possible one that the status lists; it must not list other
 * users'.
 */
static u32 any_session(int fd, bool *foreign)
{
	u32 id = 1 + below(common->session_newest + 3);

	for (u32 i = 0; i < 40; i++) {
		struct kl_abi_status status = { .size = sizeof(status), .index = i };

		if (ioctl(fd, KL_IOC_STATUS, &status))
			break;
		if (status.uid != me->uid)
			*foreign = true;
		if (one_in(3))
			id = status.id;
	}
	return id;
}

/* A session has the rights of the task that opened its descriptor, so this opens one itself. */
void op_attach(void)
{
	struct kl_abi_attach attach = { .size = sizeof(attach) };
	int fd = open_device(O_RDWR);
	bool foreign = false;

	if (fd < 0)
		return;
	attach.id = any_session(fd, &foreign);
	if (foreign && me->uid)
		world_broken("the status names another user's session");
	keep_fd(fd, TRY(fd, KL_IOC_ATTACH, attach) ? ROLE_DEVICE : ROLE_SESSION);
}

/* The manager is root's: an ordinary user must not see it. */
void op_outside(void)
{
	struct kl_abi_detail detail = { .size = sizeof(detail), .proof = -1 };
	int fd = open_device(O_RDWR);

	if (fd < 0)
		return;
	detail.pid = common->manager;
	detail.what = below(KL_DETAIL_KINDS + 1);
	detail.buffer = (u64)(uintptr_t)room;
	detail.bytes = FUZZ_BUFFER;
	if (!ioctl(fd, KL_IOC_DETAIL, &detail) && detail.pid == common->manager && me->uid)
		world_broken("details of root's process");
	if (one_in(2) && write(fd, memory, 64) >= 0)
		world_broken("write() to a descriptor worked");
	close(fd);
}
