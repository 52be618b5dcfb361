/* SPDX-License-Identifier: GPL-2.0 */
/* Events by process, for the overview of kernlens report. */
#ifndef KL_CLI_TRACE_REPORT_H
#define KL_CLI_TRACE_REPORT_H

#include <stddef.h>
#include <stdint.h>
#include <kernlens/internal.h>

/**
 * struct cli_process - a process in a trace
 * @pid: process; 0 for idle tasks and for tasks that may not be seen
 * @comm: its name when last seen
 * @events: number of its events
 */
struct cli_process {
	int32_t pid;
	char comm[KL_COMM_LEN + 1];
	uint64_t events;
};

/**
 * struct cli_processes - all processes: a hash table with open addressing
 * @n: number of processes
 * @room: number of slots, a power of two
 * @cpus: one bit per CPU that has events, modulo 4096
 * @n_cpus: number of these CPUs
 */
struct cli_processes {
	struct cli_process *slot;
	size_t n;
	size_t room;
	uint64_t cpus[64];
	unsigned int n_cpus;
	uint64_t first_ns;
	uint64_t last_ns;
};

void cli_processes_add(struct cli_processes *processes, const struct kl_event *event);

/* Sort by number of events; nothing can be added afterwards. */
void cli_processes_sort(struct cli_processes *processes);
void cli_processes_deinit(struct cli_processes *processes);

#endif /* KL_CLI_TRACE_REPORT_H */
