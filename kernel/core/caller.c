// SPDX-License-Identifier: GPL-2.0
/*
 * Copies what the structs of calls point to. Usually that is memory of the calling process. A
 * kernel thread has none: in calls that the mailbox makes, what would be an address is an offset in
 * its request. Only the calls that define what a session does are made from there, one at a time.
 */
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "caller.h"

/* Set and read only by the worker of the mailbox, under its lock. */
static const u8 *request;
static u32 request_bytes;

/**
 * kl_caller_set_request - set what calls by this kernel thread point into
 * @bytes: a private copy, which nothing changes meanwhile; NULL: none from now on
 * @size: of it
 */
void kl_caller_set_request(const void *bytes, u32 size)
{
	request = bytes;
	request_bytes = bytes ? size : 0;
}

static bool is_in_request(u64 from, size_t bytes)
{
	return request && from <= request_bytes && bytes <= request_bytes - from;
}

/**
 * kl_caller_copy - copy from the caller
 * @to: @bytes bytes
 * @from: an address in user space, or an offset in the request
 * @bytes: may be 0
 *
 * Returns whether all could be read. Context: a call; may sleep.
 */
bool kl_caller_copy(void *to, u64 from, size_t bytes)
{
	if (likely(!(current->flags & PF_KTHREAD)))
		return !copy_from_user(to, u64_to_user_ptr(from), bytes);
	if (!is_in_request(from, bytes))
		return false;
	memcpy(to, request + from, bytes);
	return true;
}

/**
 * kl_caller_string - size of a string of the caller
 * @from: as for kl_caller_copy()
 * @most: of bytes with the NUL, not 0
 *
 * Returns the size with the NUL, more than @most if it is longer, or 0 if it cannot be read.
 * Context: a call; may sleep.
 */
long kl_caller_string(u64 from, u32 most)
{
	size_t bytes;

	if (likely(!(current->flags & PF_KTHREAD)))
		return strnlen_user(u64_to_user_ptr(from), most);
	if (!is_in_request(from, 1))
		return 0;
	bytes = strnlen(request + from, min_t(u64, most, request_bytes - from));
	if (from + bytes == request_bytes)
		return 0;
	return bytes + 1;
}
