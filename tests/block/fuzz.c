// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz PLANS [SEED]: in a virtual machine, changes valid plans of random functions at random and
 * requests them. Whatever the module accepts must be valid by the planner's own knowledge of the
 * text: whole, movable instructions that nothing jumps into. Most plans end with a window that is
 * certainly invalid, so that the module checks all windows before it but splices none; other plans
 * that are accepted are removed at once. The text must be unchanged at the end. Prints TAP lines.
 */
#include "plan.h"

#define FUNCTIONS_MAX 3 /* per plan */
#define SHOWN_MAX 20

static struct text text;
static struct plan plan;
static struct kl_blocks *blocks;
static uint64_t state;

static struct {
	uint64_t asked;
	uint64_t let_through; /* plans refused only for the guard window at their end */
	uint64_t accepted;
	uint64_t failed; /* not checked: out of memory, bad pointers */
	uint64_t windows; /* that the module accepted */
	uint64_t wrong;
	uint64_t by_refusal[32];
} sum;

static uint32_t below(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? (state >> 16) % n : 0;
}

/* Hash a window again. If its function is relocated, the hash depends on the last point. */
static void hash_again(struct kl_abi_window *w)
{
	uint64_t at = w->address - text.begin;
	uint32_t points = 0, bytes;

	for (const struct kl_abi_window *before = plan.window; before <= w; before++)
		points += before->points;
	if (!points || points > plan.points)
		return;
	bytes = kl_window_hashed(w, plan.point[points - 1].offset);
	if (at < text.bytes && text.bytes - at > bytes)
		w->hash = kl_window_hash(text.at + at, bytes);
}

static void change_bytes(void *at, size_t bytes)
{
	((uint8_t *)at)[below(bytes)] ^= 1 << below(8);
}

/*
 * Make one change to a window or to the plan. The hash is mostly kept valid, to get past that
 * check.
 */
static void change(void)
{
	struct kl_abi_window *w = &plan.window[below(plan.windows)];
	struct kl_abi_window *other = &plan.window[below(plan.windows)], swapped;

	switch (below(15)) {
	case 0:
	case 1:
		w->address += (int)below(33) - 16;
		break;
	case 2:
	case 3:
		w->bytes += (int)below(33) - 16;
		break;
	case 4:
		w->bytes = below(256);
		break;
	case 5:
		w->tier = below(6);
		break;
	case 6:
		w->slot = w->address + (int)below(400) - 200;
		w->tier = KL_SPLICE_BOUNCE;
		break;
	case 7:
		w->slot += (int)below(33) - 16;
		break;
	case 8:
		w->slot = other->address + below(16);
		break;
	case 9:
		plan.point[below(plan.points)].offset += (int)below(17) - 8;
		if (!below(3))
			plan.point[below(plan.points)].taken ^= 1;
		break;
	case 10:
		if (!below(4))
			w->points += (int)below(3) - 1;
		break;
	case 11:
		w->address = text.begin + below(text.bytes);
		w->bytes = 1 + below(12);
		break;
	case 12:
		swapped = *w;
		*w = *other;
		*other = swapped;
		break;
	case 13:
		w->moves ^= 1;
		break;
	default:
		if (!below(4))
			change_bytes(w, sizeof(*w));
		return;
	}
	if (below(20))
		hash_again(w);
}

/* Drop most windows, so that changed windows seldom overlap others. */
static void thin_out(void)
{
	uint32_t windows = 0, points = 0, point = 0;

	for (uint32_t i = 0; i < plan.windows; i++) {
		uint32_t n = plan.window[i].points;

		if (!below(4) || (i + 1 == plan.windows && !windows)) {
			memmove(plan.point + points, plan.point + point, n * sizeof(*plan.point));
			plan.window[windows++] = plan.window[i];
			points += n;
		}
		point += n;
	}
	plan.windows = windows;
	plan.points = points;
}

/* Drop the points that lie outside a window since it shrank. */
static void mend_points(void)
{
	uint32_t point = 0;

	for (uint32_t i = 0; i < plan.windows; i++)
		for (uint32_t n = plan.window[i].points; n && point < plan.points; n--, point++)
			if (!plan.window[i].moves &&
			    plan.point[point].offset > plan.window[i].bytes)
				plan.point[point].offset = plan.window[i].bytes;
}

/* --------------------------------------------------------- what must be refused */

static bool is_filling(const struct kl_block_instruction *in, const uint8_t *at)
{
	return in->nop || *at == 0xcc;
}

/*
 * The planner treats each call at a function's entry as ftrace's; the module consults ftrace.
 * Functions are not traced here, so all of ftrace's calls are no-operations.
 */
static bool is_call(const struct kl_block_instruction *in, const uint8_t *at)
{
	return in->end == KL_END_CALL ||
	       (in->reason == KL_BLOCK_function_entry && in->bytes == 5 && *at == 0xe8);
}

static bool can_move(const struct kl_block_instruction *in, const uint8_t *at)
{
	return !in->reason || (in->reason == KL_BLOCK_function_entry && is_call(in, at));
}

/* Is a point with `taken` at a jump in its window? */
static bool are_points_right(const struct kl_abi_window *w, const struct kl_abi_point *point,
			     const struct kl_block_graph *g)
{
	for (uint32_t i = 0; i < w->points; i++) {
		uint64_t at = w->address + point[i].offset;
		bool jumps = false;

		if (!point[i].taken)
			continue;
		for (uint32_t k = 0; k < g->instructions; k++) {
			const struct kl_block_instruction *in = &g->instruction[k];

			jumps |= g->function.address + in->offset == at && in->target &&
				 (in->end == KL_END_BRANCH || in->end == KL_END_JUMP ||
				  in->end == KL_END_LEAVE);
		}
		if (!jumps || w->moves || at >= w->address + w->bytes)
			return false;
	}
	return true;
}

/* Are the bytes of a window valid to splice, as far as the planner knows? */
static bool is_right(const struct kl_abi_window *w, const struct kl_abi_point *point)
{
	long index = kl_blocks_find(blocks, w->address);
	uint64_t at = w->address, end = w->address + w->bytes;
	struct kl_block_graph g;
	bool right, passed = true;

	if (index < 0 || kl_blocks_graph(blocks, index, &g))
		return false;
	right = !g.function.reason && end <= g.function.address + g.function.bytes;
	for (uint32_t i = 0; right && i < g.instructions && at < end; i++) {
		const struct kl_block_instruction *in = &g.instruction[i];

		if (g.function.address + in->offset < at)
			continue;
		right = g.function.address + in->offset == at &&
			(at == w->address || !in->leader) &&
			(passed ? can_move(in, g.text + in->offset) :
				  is_filling(in, g.text + in->offset));
		passed &= in->end == KL_END_FALL || in->end == KL_END_BRANCH;
		at += in->bytes;
		if (is_call(in, g.text + in->offset) && at != end)
			right = false;
	}
	right = right && are_points_right(w, point, &g);
	kl_block_graph_free(&g);
	return right && at == end;
}

static void show(const struct kl_abi_window *w, const struct kl_abi_point *point)
{
	printf("# %#" PRIx64 ", %u bytes, tier %u, slot %#" PRIx64 "%s, points",
	       (uint64_t)w->address, w->bytes, w->tier, (uint64_t)w->slot,
	       w->moves ? ", function moved" : "");
	for (uint32_t i = 0; i < w->points; i++)
		printf(" +%#x%s", point[i].offset, point[i].taken ? " taken" : "");
	printf(" has been let through\n");
}

static void look_at(const struct kl_abi_window *window, uint32_t windows,
		    const struct kl_abi_point *point)
{
	for (uint32_t i = 0; i < windows; point += window[i++].points) {
		const struct kl_abi_window *w = &window[i];

		sum.windows++;
		if (is_right(w, point))
			continue;
		if (sum.wrong++ < SHOWN_MAX)
			show(w, point);
	}
}

/* ------------------------------------------------------------------ requests */

static void make_plan(void)
{
	size_t index = below(kl_blocks_functions(blocks));
	uint32_t most = 1 + below(FUNCTIONS_MAX);

	do {
		plan_clear(&plan);
		for (uint32_t n = 0; n < most && index < kl_blocks_functions(blocks); n++) {
			struct kl_block_function f;

			kl_blocks_function(blocks, index, &f);
			if (f.bytes < 4000)
				plan_add_function(&plan, blocks, index, below(2));
			index += 1 + below(3);
		}
		index = below(kl_blocks_functions(blocks));
	} while (!plan.windows || plan.windows >= KL_SPLICE_WINDOWS_MAX - 1);
}

/* Corrupt sizes, counts and pointers. */
static void change_target(struct kl_abi_splice *params)
{
	static const uint64_t bad[] = {
		0, 1, 0xffff888000000000, 0xffffffff81000000, 0x7ffffffff000, UINT64_MAX
	};

	switch (below(5)) {
	case 0:
		params->window = bad[below(6)];
		break;
	case 1:
		params->point = bad[below(6)];
		break;
	case 2:
		params->windows = below(2) ? below(2 * KL_SPLICE_WINDOWS_MAX) : below(UINT32_MAX);
		break;
	case 3:
		params->points = below(2) ? below(2 * KL_SPLICE_WINDOWS_MAX) : below(UINT32_MAX);
		break;
	default:
		change_bytes(params, sizeof(*params));
	}
}

static bool take_back(void)
{
	struct kl_abi_unsplice unsplice = { .size = sizeof(unsplice) };

	return !device_call(KL_IOC_UNSPLICE, &unsplice) && !unsplice.lost;
}

/* Returns false if an accepted plan cannot be removed. */
static bool ask(void)
{
	bool guarded = below(50), misled = !below(20);
	struct kl_abi_splice params;

	make_plan();
	if (below(3))
		thin_out();
	for (uint32_t n = 1 + below(3); n; n--)
		change();
	if (below(20))
		mend_points();
	if (guarded)
		plan_add_wrong(&plan, text.begin + text.bytes);
	params = plan_target(&plan);
	if (misled)
		change_target(&params);
	sum.asked++;
	if (!ioctl(device, KL_IOC_SPLICE, &params)) {
		sum.accepted++;
		/* The windows that the module was passed, wherever they are in memory. */
		look_at((void *)(uintptr_t)params.window, params.windows,
			(void *)(uintptr_t)params.point);
		return take_back();
	}
	sum.by_refusal[errno == EINVAL ? params.refusal % 32 : 0]++;
	sum.failed += !params.refusal;
	if (guarded && !misled && params.refusal == KL_SPLICE_text &&
	    params.bad == plan.windows - 1) {
		sum.let_through++;
		look_at(plan.window, plan.windows - 1, plan.point);
	}
	return true;
}

int main(int argc, char **argv)
{
	uint64_t plans = argc > 1 ? strtoull(argv[1], NULL, 0) : 2000;
	struct kl_symbols *symbols = kl_symbols_open("/proc/kallsyms");
	bool taken_back = true;
	int anchor;

	printf("# seed %s\n", argc > 2 ? argv[2] : "1");
	state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	state = state * 0x9e3779b97f4a7c15 | 1;
	blocks = symbols ? kl_blocks_open(NULL, symbols) : NULL;
	anchor = begin_with_anchor(symbols, blocks, &text);
	if (anchor < 0)
		return 2;
	while (sum.asked < plans && taken_back)
		taken_back = ask();
	printf("# %" PRIu64 " plans: %" PRIu64 " accepted, of %" PRIu64
	       " all windows are right, %" PRIu64 " not looked at; %" PRIu64
	       " windows let through\n",
	       sum.asked, sum.accepted, sum.let_through, sum.failed, sum.windows);
	for (uint32_t i = 0; i < 32; i++)
		if (sum.by_refusal[i])
			printf("# %s: %" PRIu64 "\n", refusal_name(i), sum.by_refusal[i]);
	unit_check(sum.asked == plans && taken_back, "what was accepted has been taken back");
	unit_check(!sum.wrong, "nothing has been let through that is wrong");
	unit_check(sum.let_through > plans / 100 && sum.by_refusal[KL_SPLICE_boundary] &&
			   sum.by_refusal[KL_SPLICE_entered] && sum.by_refusal[KL_SPLICE_slot] &&
			   sum.by_refusal[KL_SPLICE_form],
		   "the plans have come far");
	close(anchor);
	unit_check(text_is(symbols, blocks, &text), "the text is what it was");
	kl_blocks_close(blocks);
	kl_symbols_close(symbols);
	return unit_end();
}
