/* SPDX-License-Identifier: GPL-2.0 */
/* Splices in processes, for splice/process_splice.c: made and maintained by a tracer (tracer.h). */
#ifndef KL_LIB_PTRACE_PTRACE_H
#define KL_LIB_PTRACE_PTRACE_H

#include "tracer.h"

/* The processes to splice: running ones, and one that will run a command. */
struct kl_process_request {
	const pid_t *pid;
	size_t pids;
	pid_t command; /* 0: none; counted from its next exec on */
	uint32_t session; /* the session that records the events */
};

struct kl_process_tracer;

/*
 * Splice the processes. A tracer process, our child, maintains the splices. @file and what it
 * refers to must stay valid until this returns. Returns NULL with errno and an error text; then
 * nothing has changed.
 */
struct kl_process_tracer *kl_process_keep(struct kl_tracer_file *file, size_t files,
					  uint32_t counters,
					  const struct kl_process_request *request);

/* Remove all splices, and get the counts, which are valid until kl_process_free(). */
const struct kl_tracer_report *kl_process_leave(struct kl_process_tracer *tracer);
void kl_process_free(struct kl_process_tracer *tracer);

#endif /* KL_LIB_PTRACE_PTRACE_H */
