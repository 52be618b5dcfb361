/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs: what a session computes when an event is hit (enum kl_op_code of uapi/kernlens.h).
 * program.c checks a program when it is created, program_decode.c decodes it, and program_run.c
 * runs it in any context. They also compile in user space for unit and fuzz tests, which supply the
 * loads. See docs/design/program.md.
 */
#ifndef KL_CORE_PROGRAM_H
#define KL_CORE_PROGRAM_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>

#include <linux/types.h>

typedef __u8 u8;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;
#endif

#include "../../uapi/kernlens.h"

struct kl_session;
struct kl_error;
struct kl_program;

/**
 * struct kl_event_ctx - an event as a program sees it
 * @session: the program's session
 * @fields: the record's fields and strings, as the owner may see them
 * @bytes: size of @fields
 * @argument: arguments of the event's source; NULL if it has none
 * @arguments: number of @argument
 * @fault: set by kl_program_run if something could not be read
 */
struct kl_event_ctx {
	struct kl_session *session;
	const u8 *fields;
	u32 bytes;
	const u64 *argument;
	u32 arguments;
	bool fault;
};

/**
 * struct kl_cost - upper bound of what something costs at an event
 * @operations: of about 5 instructions each, without stack walks
 * @kernel_walks: walks of the kernel stack
 * @user_walks: walks of the user stack
 */
struct kl_cost {
	u32 operations;
	u32 kernel_walks;
	u32 user_walks;
};

/* Operations to check whether a session's owner may see a task. */
#define KL_COST_SEES 26

/* What a program reads besides the running task. */
#define KL_USES_FIELDS 0x01u
#define KL_USES_ARGUMENTS 0x02u
#define KL_USES_OUT 0x04u /* memory where a load can fault, or results of kernel functions */

/*
 * A bitmap of an event's fields and strings: one bit for each 4 bytes, the last bit for all bytes
 * after that.
 */
static inline u64 kl_reads(u32 from, u32 bytes)
{
	u32 last = (from + bytes - 1) / 4;

	from /= 4;
	last = last < 63 ? last : 63;
	from = from < 63 ? from : 63;
	return ~0ull >> (63 - last + from) << from;
}

/* A number among the fields: its type (enum kl_number) and the offset of its end. */
#define KL_FIELD_NUMBER(type, end) ((u32)(end) << 8 | (type))

size_t kl_program_bytes(u32 n_ops, u32 data_bytes);
struct kl_program *kl_program_create(const struct kl_abi_op *ops, u32 n_ops, const u8 *data,
				     u32 data_bytes, u32 may, struct kl_error *why);
void kl_program_destroy(struct kl_program *p);
u64 kl_program_run(const struct kl_program *p, struct kl_event_ctx *f);
u32 kl_program_put(const struct kl_program *p, struct kl_event_ctx *f, u8 *out, u32 room);
u32 kl_program_out_bytes(const struct kl_program *p);
u32 kl_program_uses(const struct kl_program *p);
u64 kl_program_reads(const struct kl_program *p);
struct kl_cost kl_program_cost(const struct kl_program *p);
bool kl_program_is_task_s32(const struct kl_program *p, u32 *offset);
bool kl_program_is_first_field(const struct kl_program *p);
u32 kl_program_guard(const struct kl_program *p, u64 *from, u64 *span, bool *negate);
bool kl_program_is_test(const struct kl_program *p, u64 *from, u64 *span, bool *negate);

#endif /* KL_CORE_PROGRAM_H */
