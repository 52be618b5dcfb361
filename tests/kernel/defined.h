/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the tests of dynamic events: define events with programs that output the first
 * arguments as 64-bit numbers, and count their records.
 */
#ifndef KL_TESTS_DEFINED_H
#define KL_TESTS_DEFINED_H

#include "kl.h"

#define DEFINED_MAX 16384
#define MASKSET KL_MASKSET_FIRST_USER

/* Called with the numbers of each record; returns false if they are wrong. */
typedef bool (*check_fn)(u64 index, const u64 *number);

struct defined {
	int fd;
	u32 n; /* events */
	u32 first;
	u32 bad;
	u32 omitted;
	u8 numbers[DEFINED_MAX]; /* that a record has */
	u64 seen[DEFINED_MAX]; /* records, by event */
	u64 wrong; /* records with wrong numbers */
	u64 foreign; /* records with other ids */
	check_fn check[DEFINED_MAX];
	struct kl_abi_event event[DEFINED_MAX];
};

static inline void defined_open(struct defined *d, u32 mode)
{
	struct kl_abi_session params = { .mode = mode, .block_bytes = 65536, .blocks = 64 };

	memset(d, 0, sizeof(*d));
	d->fd = kl_open();
	if (kl_session(d->fd, &params))
		bail("session: %s", kl_why(d->fd));
}

/* Adds a program that outputs arguments 0..n-1; returns 0 if @n is 0. */
static inline u32 defined_program(int fd, u32 n)
{
	struct kl_abi_op op[2 * KL_BLOCK_ARGUMENTS + 1] = {};
	struct kl_abi_program program = {
		.size = sizeof(program),
		.ops = (u64)(uintptr_t)op,
		.n_ops = 2 * n + 1,
	};

	if (!n)
		return 0;
	for (u32 i = 0; i < n; i++) {
		op[2 * i] = (struct kl_abi_op){ .code = KL_OP_ARG, .dst = 0, .imm = i };
		op[2 * i + 1] = (struct kl_abi_op){ .code = KL_OP_PUT, .a = 0, .b = KL_NUMBER_U64 };
	}
	op[2 * n] = (struct kl_abi_op){ .code = KL_OP_END };
	if (kl_call(fd, KL_IOC_PROGRAM, &program))
		bail("program: %s", kl_why(fd));
	return program.id;
}

/* Queues an event for defined_make(); returns its index. */
static inline u32 defined_add(struct defined *d, u32 kind, u64 address, u64 arg, const char *name,
			      u32 numbers, check_fn check)
{
	u32 i = d->n++;

	d->event[i] = (struct kl_abi_event){
		.kind = kind,
		.program = defined_program(d->fd, numbers),
		.address = address,
		.arg = arg,
		.name = (u64)(uintptr_t)name,
	};
	d->numbers[i] = numbers;
	d->check[i] = check;
	return i;
}

static inline int defined_make(struct defined *d)
{
	struct kl_abi_events events = {
		.size = sizeof(events),
		.n = d->n,
		.event = (u64)(uintptr_t)d->event,
	};
	int error = kl_call(d->fd, KL_IOC_EVENTS, &events);

	d->first = events.first;
	d->bad = events.bad;
	d->omitted = events.omitted;
	return error;
}

/* Writes maskset @id, which logs the first @n events. */
static inline int defined_write(struct defined *d, u32 id, u32 n)
{
	static struct kl_abi_maskset m;
	static u8 handler[DEFINED_MAX];

	memset(&m, 0, sizeof(m));
	memset(handler, KL_HANDLER_log, n);
	m.size = sizeof(m);
	m.id = id;
	m.dynamic = (u64)(uintptr_t)handler;
	m.n_dynamic = n;
	return kl_call(d->fd, KL_IOC_MASKSET_WRITE, &m);
}

static inline void defined_use(struct defined *d, u32 n)
{
	if (defined_write(d, MASKSET, n) || kl_use(d->fd, MASKSET))
		bail("maskset: %s", kl_why(d->fd));
}

/* Traces only this process and its children. */
static inline void defined_own(struct defined *d)
{
	if (kl_filter(d->fd, KL_FILTER_TASKS, 0) ||
	    kl_tasks(d->fd, getpid(), KL_TASK_ADD | KL_TASK_PROCESS | KL_TASK_INHERIT))
		bail("filter: %s", kl_why(d->fd));
}

static inline void defined_start(struct defined *d)
{
	if (kl_start(d->fd))
		bail("start: %s", kl_why(d->fd));
}

static inline void defined_take_block(struct defined *d, const u8 *block)
{
	const struct kl_abi_block *b = (const struct kl_abi_block *)block;
	const u8 *at = block + KL_BLOCK_HEADER_BYTES, *end = block + b->content_bits / 8;

	while (at < end) {
		u32 id = (u16) * (const u64 *)at, i = id - d->first;
		u64 number[KL_BLOCK_ARGUMENTS];

		if (i >= d->n) {
			d->foreign++;
			return;
		}
		at += KL_RECORD_PREFIX_BYTES + (at[8] & KL_CHANGED_TASK ? 24 : 0);
		memcpy(number, at, 8 * d->numbers[i]);
		at += 8 * d->numbers[i];
		if (d->check[i] && !d->check[i](d->seen[i], number))
			d->wrong++;
		d->seen[i]++;
	}
}

/* Reads all records of a stopped session. */
static inline void defined_read(struct defined *d)
{
	static u8 block[65536];
	int reader = kl_reader(d->fd, 0);

	if (reader < 0)
		bail("reader: %s", kl_why(d->fd));
	while (read(reader, block, sizeof(block)) == sizeof(block))
		defined_take_block(d, block);
	close(reader);
}

static inline void defined_stop(struct defined *d)
{
	if (kl_stop(d->fd))
		bail("stop: %s", kl_why(d->fd));
	defined_read(d);
}

static inline u64 defined_seen(const struct defined *d)
{
	u64 sum = 0;

	for (u32 i = 0; i < d->n; i++)
		sum += d->seen[i];
	return sum;
}

#endif /* KL_TESTS_DEFINED_H */
