// SPDX-License-Identifier: GPL-2.0
/*
 * faults: in a virtual machine, on a kernel with fault injection, makes every allocation and every
 * copy inside the ioctls that splice fail once: the first, then the second, and so on until the
 * call succeeds. After each failure nothing is spliced, and the same call succeeds, which shows
 * that the text is unchanged since it was planned. KASAN, lockdep and kmemleak watch. Prints TAP
 * lines.
 */
#include "../unit/failing.h"
#include "plan.h"

/* Which instrument its points have, and whether the function is relocated. */
static const struct {
	const char *name;
	bool moves;
	bool fires;
} functions[] = {
	{ "vfs_read", true, false },
	{ "vfs_write", false, false },
	{ "vfs_statx", false, true },
	{ "path_openat", true, false },
};

#define FUNCTIONS (sizeof(functions) / sizeof(*functions))

static struct plan plan;
static int fail_nth;
static uint32_t injected;

struct call {
	const char *name;
	bool known; /* the module has cached the text: another session has splices */
	bool spliced; /* it has been spliced before */
	int (*run)(void);
	uint32_t most; /* from this injection point on, steps double; 0: try each */
};

static int do_splice(void)
{
	return plan_splice(&plan);
}

static int do_counts(void)
{
	static uint64_t count[PLAN_POINTS_MAX];
	struct kl_abi_splice_counts counts = {
		.size = sizeof(counts),
		.n = plan.points,
		.count = (uintptr_t)count,
	};

	return device_call(KL_IOC_SPLICE_COUNTS, &counts);
}

static int do_unsplice(void)
{
	struct kl_abi_unsplice unsplice = { .size = sizeof(unsplice) };
	int ret = device_call(KL_IOC_UNSPLICE, &unsplice);

	return !ret && unsplice.lost ? -EBUSY : ret;
}

static const struct call calls[] = {
	{ "splice", true, false, do_splice, 0 },
	{ "the first splice", false, false, do_splice, 8 },
	{ "counts", true, true, do_counts, 0 },
	{ "unsplice", true, true, do_unsplice, 0 },
};

/* Open a session and define the event that the points hit. */
static bool open_session(void)
{
	struct kl_abi_session session = { .size = sizeof(session) };
	struct kl_abi_event of = { .kind = KL_SOURCE_KIND_BLOCK };
	struct kl_abi_events events = { .size = sizeof(events), .n = 1, .event = (uintptr_t)&of };

	device = open(KL_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	return device >= 0 && !device_call(KL_IOC_SESSION, &session) &&
	       !device_call(KL_IOC_EVENTS, &events);
}

/* Make one call with its @nth injection point failing. Returns whether the call reached it. */
static bool try_place(const struct call *call, uint32_t nth, char wrong[100])
{
	int ret, left;

	if (!open_session() || (call->spliced && do_splice())) {
		snprintf(wrong, 100, "place %u: nothing can be spliced before it", nth);
		return false;
	}
	failing_at(fail_nth, nth);
	ret = call->run();
	left = failing_end(fail_nth);
	injected += !left;
	if (ret && left)
		snprintf(wrong, 100, "place %u: fails by itself: %d", nth, ret);
	else if (ret && ret != -ENOMEM && ret != -EFAULT)
		snprintf(wrong, 100, "place %u: error %d", nth, ret);
	/*
	 * After -EFAULT the splice may be in place: only copying the result to the caller failed.
	 */
	if (ret == -EFAULT && !call->spliced)
		do_unsplice();
	if (ret && !*wrong && call->run())
		snprintf(wrong, 100, "place %u: fails afterwards, too", nth);
	close(device);
	return !left;
}

static void test_call(const struct call *call, const struct kl_symbols *symbols,
		      struct kl_blocks *blocks)
{
	int anchor = call->known ? anchor_open(symbols, blocks) : -1;
	uint32_t nth = 1, step = 1;
	char wrong[100] = "";

	while (try_place(call, nth, wrong) && !*wrong) {
		/*
		 * For a long call, the first injection points one by one, then at doubling steps.
		 */
		if (call->most && nth >= call->most)
			step *= 2;
		nth += step;
	}
	unit_result(!*wrong && nth > 1, call->name, wrong);
	printf("# %s: %u places\n", call->name, nth - 1);
	close(anchor);
}

static int compare_addresses(const void *left, const void *right)
{
	const long *a = left, *b = right;

	return (a[0] > b[0]) - (a[0] < b[0]);
}

static bool make_plan(const struct kl_symbols *symbols, struct kl_blocks *blocks)
{
	long found[FUNCTIONS][2];

	for (size_t i = 0; i < FUNCTIONS; i++) {
		found[i][0] = kl_blocks_find(blocks, symbol_address(symbols, functions[i].name));
		found[i][1] = i;
		if (found[i][0] < 0)
			return false;
	}
	qsort(found, FUNCTIONS, sizeof(*found), compare_addresses);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		uint32_t first = plan.points;

		plan_add_function(&plan, blocks, found[i][0], functions[found[i][1]].moves);
		for (; functions[found[i][1]].fires && first < plan.points; first++) {
			plan.point[first].instrument = KL_INSTRUMENT_FIRE;
			plan.point[first].event = KL_EV_DYNAMIC;
		}
	}
	printf("# %u windows, %u points, %u functions moved\n", plan.windows, plan.points,
	       plan.moved);
	return plan.windows > 40 && plan.moved == 2;
}

int main(void)
{
	struct kl_symbols *symbols = kl_symbols_open("/proc/kallsyms");
	struct kl_blocks *blocks = symbols ? kl_blocks_open(NULL, symbols) : NULL;
	struct text text;

	fail_nth = failing_open();
	if (!blocks || fail_nth < 0 || !text_read(symbols, &text)) {
		fprintf(stderr, "%s\n",
			blocks ? "a kernel with fault injection?" : kl_error_text());
		return 2;
	}
	unit_check(make_plan(symbols, blocks), "functions to be spliced");
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		test_call(&calls[i], symbols, blocks);
	printf("# %u faults\n", injected);
	unit_check(text_is(symbols, blocks, &text), "the text is what it was");
	kl_blocks_close(blocks);
	kl_symbols_close(symbols);
	return unit_end();
}
