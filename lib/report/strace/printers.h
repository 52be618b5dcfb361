/* SPDX-License-Identifier: GPL-2.0 */
/* The printers that kinds.def and calls.def name, and what they share. */
#ifndef KL_LIB_REPORT_STRACE_PRINTERS_H
#define KL_LIB_REPORT_STRACE_PRINTERS_H

#include <sys/time.h>
#include <time.h>

#include "call.h"

#define KIND(name, print, words, is_out, is_absent) kl_argument_fn print;
#include "kinds.def"
#undef KIND

#define CALL(name, result, arguments)
#define SPECIAL(name, result, print) void print(struct kl_call *c);
#include "calls.def"
#undef SPECIAL
#undef CALL

bool kl_no_open_mode(const struct kl_call *c, unsigned int i);
bool kl_no_device(const struct kl_call *c, unsigned int i);

/* Append without an argument's context. */
void kl_put_signal(struct kl_buffer *out, uint64_t number);
void kl_put_sigset(struct kl_buffer *out, uint64_t set);
void kl_put_siginfo(struct kl_buffer *out, int32_t sig, int32_t error, int32_t code,
		    const uint64_t words[4]);
void kl_put_timespec(struct kl_buffer *out, const struct timespec *time);
void kl_put_timeval(struct kl_buffer *out, const struct timeval *time);
void kl_put_file_mode(struct kl_buffer *out, uint32_t mode);
void kl_put_open_flags(struct kl_buffer *out, uint64_t flags);

/* Print what an argument points to, or its address if that is not known. */
void kl_vector_at(struct kl_call *c, uint64_t address, uint64_t n, bool is_out);
bool kl_sigset_at(struct kl_call *c, uint64_t address);
bool kl_timespec_at(struct kl_call *c, uint64_t address);
bool kl_timeval_at(struct kl_call *c, uint64_t address);

/* Elements that an array is followed by: print "..." instead. Returns whether to stop. */
bool kl_array_next(struct kl_buffer *out, uint64_t i);

/* Print the comma between two arguments of a function that prints all. */
static inline void kl_comma(struct kl_call *c)
{
	kl_buffer_add(c->out, ", ", 2);
}

#endif /* KL_LIB_REPORT_STRACE_PRINTERS_H */
