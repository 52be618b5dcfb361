/* SPDX-License-Identifier: GPL-2.0 */
/* Splices in processes, for splice/process_splice.c: made and kept by a tracer (tracer.h). */
#ifndef KL_LIB_PTRACE_PTRACE_H
#define KL_LIB_PTRACE_PTRACE_H

#include "tracer.h"

/* Which processes: those that run, and one that shall run a program. */
struct kl_process_request {
	const pid_t *pid;
	size_t pids;
	pid_t command; /* 0: none; counted from its next program on */
	uint32_t session; /* whose events are fired */
};

struct kl_process_tracer;

/*
 * Splice, with a process of our own that keeps them; it is our child. @file and what it names must
 * stay until then. Returns NULL with errno and an error text; then nothing is changed.
 */
struct kl_process_tracer *kl_process_keep(struct kl_tracer_file *file, size_t files,
					  uint32_t counters,
					  const struct kl_process_request *request);

/* Have all taken back, and what was counted; good until it is freed. */
const struct kl_tracer_report *kl_process_leave(struct kl_process_tracer *tracer);
void kl_process_free(struct kl_process_tracer *tracer);

#endif /* KL_LIB_PTRACE_PTRACE_H */
