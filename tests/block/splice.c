// SPDX-License-Identifier: GPL-2.0
/*
 * splice FUNCTION...: in a virtual machine, splices all blocks of the functions that can be spliced
 * and makes system calls; each executed block must have been counted that often. Then removes the
 * splices and splices again, which the module only does if every byte is unchanged. Invalid plans
 * must be refused. Prints TAP lines.
 */
#include <sys/syscall.h>

#include "plan.h"

#define CALLS 1000
#define FUNCTIONS_MAX 1000

static struct plan plan;

static int compare_indices(const void *left, const void *right)
{
	const long *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/*
 * Find the functions of some names, each once, by address. Those that a kernel lacks are left out.
 */
static size_t find_functions(const struct kl_blocks *blocks, const struct kl_symbols *symbols,
			     char **names, long *found)
{
	size_t n = 0, kept = 0;

	for (; *names; names++) {
		struct kl_symbol symbol = {};
		char full[256];

		snprintf(full, sizeof(full), "kernel:%s", *names);
		if (kl_symbols_find(symbols, full, &symbol) >= 0)
			found[n++] = kl_blocks_find(blocks, symbol.address);
	}
	qsort(found, n, sizeof(*found), compare_indices);
	for (size_t i = 0; i < n; i++)
		if (!kept || found[i] != found[kept - 1])
			found[kept++] = found[i];
	return kept;
}

static bool splice_all(uint32_t *first)
{
	struct kl_abi_splice params = plan_target(&plan);
	int ret = device_call(KL_IOC_SPLICE, &params);

	*first = params.first;
	return !ret;
}

/* Is a changed plan refused for the expected reason? */
static bool is_refused(uint32_t window, const struct kl_abi_window *instead, uint32_t refusal)
{
	struct kl_abi_window right = plan.window[window];
	struct kl_abi_splice params = plan_target(&plan);
	int ret;

	plan.window[window] = *instead;
	ret = ioctl(device, KL_IOC_SPLICE, &params);
	plan.window[window] = right;
	if (ret && errno == EINVAL && params.refusal == refusal && params.bad == window)
		return true;
	printf("# %d, window %u, refusal %u\n", ret ? errno : 0, params.bad, params.refusal);
	return false;
}

static void check_refusals(void)
{
	struct kl_abi_window w = plan.window[0];

	w.hash++;
	unit_check(is_refused(0, &w, KL_SPLICE_text), "other text is refused");
	w = plan.window[0];
	w.points = 0;
	unit_check(is_refused(0, &w, KL_SPLICE_form), "a window without points is refused");
	w = plan.window[0];
	w.tier = KL_SPLICE_TRAP + 1;
	unit_check(is_refused(0, &w, KL_SPLICE_form), "an invalid tier is refused");
	w = plan.window[0];
	w.address = 0xffff888000001000;
	unit_check(is_refused(0, &w, KL_SPLICE_bounds),
		   "an address outside of the text is refused");
	w = plan.window[plan.windows - 1];
	w.address = plan.window[0].address;
	unit_check(is_refused(plan.windows - 1, &w, KL_SPLICE_form),
		   "windows out of order are refused");
}

static bool read_counts(uint32_t first, uint64_t *to)
{
	struct kl_abi_splice_counts counts = {
		.size = sizeof(counts),
		.first = first,
		.n = plan.points,
		.count = (uintptr_t)to,
	};

	return !device_call(KL_IOC_SPLICE_COUNTS, &counts) && counts.n == plan.points;
}

/*
 * Each block of the system call under test must have the number of calls; some other blocks must
 * have run.
 */
static void check_counts(uint64_t getppid, uint32_t bytes, const uint64_t *count)
{
	uint32_t right = 0, wrong = 0, passed = 0;

	for (uint32_t i = 0; i < plan.points; i++) {
		passed += count[i] != 0;
		if (plan.block[i] - getppid >= bytes)
			continue;
		right += count[i] == CALLS;
		wrong += !count_is(count[i], CALLS);
	}
	printf("# %u of %u blocks were executed\n", passed, plan.points);
	unit_check(right >= 2 && !wrong, "each block of the system call is counted exactly");
	unit_check(passed > right, "and blocks that other tasks execute");
}

int main(int argc, char **argv)
{
	struct kl_symbols *symbols = kl_symbols_open("/proc/kallsyms");
	struct kl_blocks *blocks = symbols ? kl_blocks_open(NULL, symbols) : NULL;
	struct kl_abi_session session = { .size = sizeof(session) };
	struct kl_abi_unsplice unsplice = { .size = sizeof(unsplice) };
	static uint64_t count[PLAN_POINTS_MAX];
	struct kl_block_function getppid = {};
	static long found[FUNCTIONS_MAX];
	char *name[] = { "__x64_sys_getppid", NULL };
	uint32_t first;
	size_t n;

	if (!blocks || find_functions(blocks, symbols, name, found) != 1 || argc > FUNCTIONS_MAX) {
		fprintf(stderr, "%s\n", kl_error_text());
		return 2;
	}
	kl_blocks_function(blocks, found[0], &getppid);
	n = find_functions(blocks, symbols, argv + 1, found);
	device = open(KL_DEVICE_PATH, O_RDWR);
	unit_check(device >= 0 && !device_call(KL_IOC_SESSION, &session), "a session");
	for (size_t i = 0; i < n; i++)
		plan_add_function(&plan, blocks, found[i], false);
	check_refusals();
	/* In place, again, then relocated. */
	for (int round = 0; round < 3; round++) {
		if (round != 1) {
			plan_clear(&plan);
			for (size_t i = 0; i < n; i++)
				plan_add_function(&plan, blocks, found[i], round > 1);
			printf("# %zu functions, %u moved, %u windows, %u points\n", n, plan.moved,
			       plan.windows, plan.points);
		}
		if (round > 1)
			unit_check(plan.moved > n / 2, "most functions are relocated");
		unit_check(splice_all(&first),
			   round ? "spliced again: the text is as it was" : "spliced");
		for (int i = 0; i < CALLS; i++)
			syscall(SYS_getppid);
		unit_check(read_counts(first, count), "counts are read");
		check_counts(getppid.address, getppid.bytes, count);
		unit_check(!device_call(KL_IOC_UNSPLICE, &unsplice) && !unsplice.lost &&
				   unsplice.windows == plan.windows,
			   "all windows are restored");
	}
	kl_blocks_close(blocks);
	kl_symbols_close(symbols);
	return unit_end();
}
