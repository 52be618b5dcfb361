// SPDX-License-Identifier: GPL-2.0
/*
 * cost CASE COMMAND...: in a virtual machine, counts one instruction that a system call executes
 * once (getppid, in __task_pid_nr_ns) while COMMAND runs; bench/guest measures with it. CASE is
 * dead (flags are dead there), live, or one of these with `shared`: a counter shared by all
 * processors, as large requests have. Fails unless the instruction is counted once per call.
 */
#include <sys/syscall.h>
#include <sys/wait.h>

#include "plan.h"

#define CALLS 1000
#define MANY 65 /* points from which on counters are shared */

static struct plan plan;

/* A comparison and the branch that uses it: flags are live between them. */
static bool find_pair(const struct kl_block_graph *g, const struct kl_block_instruction **first)
{
	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block *block = &g->block[i];
		const struct kl_block_instruction *last =
			&g->instruction[block->first + block->n - 1];

		if (block->end != KL_END_BRANCH || block->n < 2 || last->reason || last->leader ||
		    last[-1].reason || last[-1].bytes + last->bytes < 5)
			continue;
		*first = last - 1;
		return true;
	}
	return false;
}

static void add_pair(const struct kl_block_graph *g, const struct kl_block_instruction *first,
		     bool live, uint32_t points)
{
	uint32_t bytes = first[0].bytes + first[1].bytes;

	plan.window[plan.windows++] = (struct kl_abi_window){
		.address = g->function.address + first->offset,
		.bytes = bytes,
		.tier = KL_SPLICE_JUMP,
		.points = points,
		.hash = kl_window_hash(g->text + first->offset, bytes),
	};
	plan.point[plan.points++] = (struct kl_abi_point){
		.instrument = KL_INSTRUMENT_COUNT,
		.offset = live ? first->bytes : 0,
	};
}

/*
 * Add blocks of functions that are not called during the measurement, to reach MANY points. Windows
 * ascend.
 */
static void add_others(struct kl_blocks *blocks, long after)
{
	struct kl_block_function f;

	while (plan.points < MANY) {
		kl_blocks_function(blocks, ++after, &f);
		if (!f.reason && strstr(f.name, "reboot"))
			plan_add_function(&plan, blocks, after, false);
		else if (strstr(f.name, "_show"))
			plan_add_function(&plan, blocks, after, false);
	}
}

static uint64_t count_of(uint32_t point)
{
	uint64_t count = 0;
	struct kl_abi_splice_counts counts = {
		.size = sizeof(counts),
		.first = point,
		.n = 1,
		.count = (uintptr_t)&count,
	};

	return device_call(KL_IOC_SPLICE_COUNTS, &counts) ? 0 : count;
}

static int run(char **command)
{
	pid_t child = fork();
	int status;

	if (!child) {
		execvp(*command, command);
		_exit(127);
	}
	return waitpid(child, &status, 0) == child ? status : 1;
}

int main(int argc, char **argv)
{
	struct kl_symbols *symbols = kl_symbols_open("/proc/kallsyms");
	struct kl_blocks *blocks = symbols ? kl_blocks_open(NULL, symbols) : NULL;
	uint64_t address = blocks ? symbol_address(symbols, "__task_pid_nr_ns") : 0, count;
	struct kl_abi_session session = { .size = sizeof(session) };
	const struct kl_block_instruction *first;
	struct kl_abi_splice params;
	struct kl_block_graph g;
	long index;

	if (!address || argc < 2) {
		fprintf(stderr, "%s\n", kl_error_text());
		return 2;
	}
	index = kl_blocks_find(blocks, address);
	if (kl_blocks_graph(blocks, index, &g) || !find_pair(&g, &first))
		return 2;
	add_pair(&g, first, strstr(argv[1], "live"), 1);
	if (strstr(argv[1], "shared"))
		add_others(blocks, index);
	device = open(KL_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	params = plan_target(&plan);
	if (device < 0 || device_call(KL_IOC_SESSION, &session) ||
	    device_call(KL_IOC_SPLICE, &params))
		return 1;
	count = count_of(0);
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	count = count_of(0) - count;
	if (count < CALLS || count > CALLS + CALLS / 10) {
		fprintf(stderr, "passed %" PRIu64 " times in %d calls\n", count, CALLS);
		return 1;
	}
	return run(argv + 2) ? 1 : 0;
}
