/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * A page through which a debugger, which writes to the memory of a stopped kernel, has the module
 * create and end sessions. docs/design/debugger.md has the rules. The page begins as those of
 * crash.h do; the anchor has its address while the module's parameter `mailbox` is set.
 *
 * A request is a list of calls of the device, with the structs that ioctl() takes. Where these have
 * pointers, the request has offsets from its own beginning.
 */
#ifndef KL_UAPI_MAILBOX_H
#define KL_UAPI_MAILBOX_H

#include "crash.h"

#define KL_MAILBOX_VERSION 1
/* Of the memory for a request, which is contiguous. */
#define KL_MAILBOX_BYTES 65536u
#define KL_MAILBOX_HOOKS_MAX 64

/*
 * Constant up to @asked. The debugger writes the request, @bytes and @sum, and last @asked; it may
 * do so while @asked equals @answered. The module writes @error, @session and @text, and last
 * @answered.
 *
 * @request: physical address of KL_MAILBOX_BYTES bytes
 * @asked: number of the newest request: one more than the last answered
 * @sum: kl_mailbox_sum() of it
 * @bytes: its size
 * @answered: number of the newest request that has an answer
 * @polls: how often the module has looked for a request
 * @error: 0 or a negative errno; @text: its reason
 * @session: that the request has created, changed or ended
 */
struct kl_mailbox {
	struct kl_crash_head head;
	__u64 request;
	__u32 request_bytes; /* KL_MAILBOX_BYTES */
	__u32 poll_ms;
	__u64 asked;
	__u64 sum;
	__u32 bytes;
	__u32 reserved;
	__u64 answered;
	__u64 polls;
	__s32 error;
	__u32 session;
	char text[KL_ERROR_TEXT_MAX];
};

KL_ABI_ASSERT(offsetof(struct kl_mailbox, asked) == 104, "mailbox");
KL_ABI_ASSERT(sizeof(struct kl_mailbox) <= KL_CRASH_PAGE, "mailbox");

enum kl_mailbox_kind {
	KL_MAILBOX_HOOK = 1, /* carry out calls, which create a session that remains */
	KL_MAILBOX_UNHOOK = 2, /* end the session that a request has created; 0: all of these */
	KL_MAILBOX_USE = 3, /* let a session use one of its masksets, or a built-in one */
};

/*
 * @bytes: of the whole request
 * @session: KL_MAILBOX_UNHOOK, KL_MAILBOX_USE: its id
 * @maskset: KL_MAILBOX_USE: name of the maskset
 * @calls: KL_MAILBOX_HOOK: offset of the first struct kl_mailbox_call; @calls_bytes: of all
 * @symbols: KL_MAILBOX_HOOK: offset of @n_symbols entries
 */
struct kl_mailbox_request {
	__u32 version; /* KL_MAILBOX_VERSION */
	__u32 kind; /* enum kl_mailbox_kind */
	__u64 schema_hash;
	__u32 bytes;
	__u32 session;
	char maskset[KL_NAME_MAX];
	__u32 calls;
	__u32 calls_bytes;
	__u32 symbols;
	__u32 n_symbols;
};

KL_ABI_ASSERT(sizeof(struct kl_mailbox_request) == 72, "request");

/* One call: the argument follows, and then padding to a multiple of 8 bytes. */
struct kl_mailbox_call {
	__u32 request; /* as for ioctl() */
	__u32 bytes; /* of the argument; 0: none */
};

#define KL_MAILBOX_SYMBOLS_MAX 16
#define KL_MAILBOX_SYMBOL_MAX 128 /* bytes of a name, with the NUL */

/* The address of a function, which the module finds by name, replaces 8 bytes of the request. */
struct kl_mailbox_symbol {
	__u32 at; /* offset of these bytes */
	__u32 name; /* offset of the name, which ends with NUL */
};

/* Covers the number, so that an old request with a new number is no request. */
static inline __u64 kl_mailbox_sum(__u64 number, const void *request, __u32 bytes)
{
	return kl_crash_sum(kl_crash_mix(KL_CRASH_SUM_BEGIN, number), request, bytes);
}

#endif /* KL_UAPI_MAILBOX_H */
