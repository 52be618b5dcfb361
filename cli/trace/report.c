// SPDX-License-Identifier: GPL-2.0
/* Count events by process, and the CPUs that had any, in one pass. */
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "report.h"

#define ROOM_FIRST 256

static struct cli_process *find_slot(struct cli_process *slot, size_t room, int32_t pid)
{
	size_t at = (uint32_t)pid * 2654435761u & (room - 1);

	while (slot[at].events && slot[at].pid != pid)
		at = (at + 1) & (room - 1);
	return &slot[at];
}

static void grow(struct cli_processes *processes)
{
	size_t room = processes->room ? 2 * processes->room : ROOM_FIRST;
	struct cli_process *slot = cli_alloc(room * sizeof(*slot));

	for (size_t i = 0; i < processes->room; i++)
		if (processes->slot[i].events)
			*find_slot(slot, room, processes->slot[i].pid) = processes->slot[i];
	free(processes->slot);
	processes->slot = slot;
	processes->room = room;
}

void cli_processes_add(struct cli_processes *processes, const struct kl_event *event)
{
	uint64_t *word = &processes->cpus[event->cpu / 64 % 64], bit = 1ull << event->cpu % 64;
	struct cli_process *process;

	if (2 * processes->n >= processes->room)
		grow(processes);
	process = find_slot(processes->slot, processes->room, event->task.pid);
	processes->n += !process->events++;
	process->pid = event->task.pid;
	/* A process has the name of its first thread. */
	if (event->task.tid == event->task.pid || !*process->comm)
		memcpy(process->comm, event->task.comm, sizeof(process->comm));
	processes->n_cpus += !(*word & bit);
	*word |= bit;
	if (!processes->first_ns)
		processes->first_ns = event->ns;
	processes->last_ns = event->ns;
}

static int compare(const void *a, const void *b)
{
	const struct cli_process *x = a, *y = b;

	if (x->events != y->events)
		return x->events < y->events ? 1 : -1;
	return x->pid - y->pid;
}

void cli_processes_sort(struct cli_processes *processes)
{
	if (processes->slot)
		qsort(processes->slot, processes->room, sizeof(*processes->slot), compare);
}

void cli_processes_deinit(struct cli_processes *processes)
{
	free(processes->slot);
	*processes = (struct cli_processes){};
}
