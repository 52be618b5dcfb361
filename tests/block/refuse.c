// SPDX-License-Identifier: GPL-2.0
/*
 * refuse: in a virtual machine, requests windows that are each invalid in one way, for each reason
 * that the module knows (uapi/block_refusals.def). Each must be refused for exactly that reason. A
 * patch that is too far away cannot be provoked: all module memory is near enough. With `lockdown`
 * it tests only lockdown, which cannot be undone. Prints TAP lines. Slightly more than 600 lines: a
 * case for each refusal, and all cases share state.
 */
#include <sys/wait.h>

#include "plan.h"

static struct text text;
static struct plan plan;

/* Windows in the text, the first of each kind that is found. */
static struct {
	struct kl_abi_window label, call, fault, hook, pad, fixed, behind_call, entered, between,
		whole;
	struct kl_abi_window past_end, two, jump, taken, branch;
	long bounces; /* index of a function with bounces */
} spot;

static struct kl_abi_window window(uint64_t address, uint32_t bytes, uint8_t tier)
{
	return (struct kl_abi_window){
		.address = address,
		.bytes = bytes,
		.tier = tier,
		.points = 1,
		.hash = kl_window_hash(text.at + (address - text.begin), bytes),
	};
}

/*
 * Request a window with these points: returns the reason for the refusal, 0 if accepted, or a
 * negative errno.
 */
static int ask_points(const struct kl_abi_window *w, const struct kl_abi_point *point, uint32_t n,
		      uint32_t *bad)
{
	struct kl_abi_unsplice unsplice = { .size = sizeof(unsplice) };
	struct kl_abi_splice params = {
		.size = sizeof(params),
		.windows = 1,
		.points = n,
		.window = (uintptr_t)w,
		.point = (uintptr_t)point,
	};

	if (!ioctl(device, KL_IOC_SPLICE, &params)) {
		ioctl(device, KL_IOC_UNSPLICE, &unsplice);
		return 0;
	}
	*bad = params.bad;
	return errno == EINVAL && params.refusal ? (int)params.refusal : -errno;
}

/* The same with one counter before the window's first instruction. */
static int ask(const struct kl_abi_window *w, uint32_t *bad)
{
	const struct kl_abi_point point = { .instrument = KL_INSTRUMENT_COUNT };

	return ask_points(w, &point, 1, bad);
}

static void expect(const char *what, struct kl_abi_window w, int refusal)
{
	uint32_t bad = 0;
	int got = w.address ? ask(&w, &bad) : -ENOENT;

	if (!unit_check(got == refusal && !bad, what))
		printf("# %#" PRIx64 ", %u bytes: %d\n", (uint64_t)w.address, w.bytes, got);
}

static void keep(struct kl_abi_window *to, uint64_t address, uint32_t bytes, uint8_t tier)
{
	if (!to->address)
		*to = window(address, bytes, tier);
}

static void look_at(const struct kl_block_graph *g, uint32_t i)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const struct kl_block_instruction *in = &g->instruction[i], *next = in + 1;
	uint64_t at = g->function.address + in->offset;
	uint64_t left = g->function.address + g->function.bytes - at;
	uint32_t both = i + 1 < g->instructions ? in->bytes + next->bytes : 0;
	bool here;

	if (in->block == UINT32_MAX)
		return;
	if (in->reason == KL_BLOCK_jump_label)
		keep(&spot.label, at, in->bytes, KL_SPLICE_TRAP);
	if (in->reason == KL_BLOCK_static_call)
		keep(&spot.call, at, in->bytes, KL_SPLICE_TRAP);
	if (in->reason == KL_BLOCK_exception_table && in->end == KL_END_FALL)
		keep(&spot.fault, at, in->bytes, KL_SPLICE_TRAP);
	/* A function in which kprobes are allowed, too. */
	here = !strcmp(g->function.name, "vfs_read");
	if (in->reason == KL_BLOCK_function_entry && here && in->bytes == 5)
		keep(&spot.hook, at, in->bytes, KL_SPLICE_TRAP);
	if (in->reason == KL_BLOCK_function_entry && !in->offset &&
	    !memcmp(g->text, endbr64, sizeof(endbr64)))
		keep(&spot.pad, at, in->bytes, KL_SPLICE_TRAP);
	if (in->reason == KL_BLOCK_bug)
		keep(&spot.fixed, at, in->bytes, KL_SPLICE_TRAP);
	if (in->reason || in->nop)
		return;
	if (left < 200)
		keep(&spot.past_end, at, left + 1, KL_SPLICE_JUMP);
	if (in->end == KL_END_FALL && in->bytes >= 6) {
		keep(&spot.between, at + 1, 5, KL_SPLICE_JUMP);
		keep(&spot.whole, at, in->bytes - 1, KL_SPLICE_JUMP);
		keep(&spot.jump, at, in->bytes, KL_SPLICE_CALL);
		if (here)
			keep(&spot.taken, at, in->bytes, KL_SPLICE_JUMP);
	}
	if (in->end == KL_END_BRANCH && here)
		keep(&spot.branch, at, in->bytes, KL_SPLICE_TRAP);
	if (!both || next->reason || next->block == UINT32_MAX || both < 5)
		return;
	if (in->end == KL_END_CALL && in->bytes == 5 && !next->leader)
		keep(&spot.behind_call, at, both, KL_SPLICE_JUMP);
	if (in->end == KL_END_FALL && next->leader)
		keep(&spot.entered, at, both, KL_SPLICE_JUMP);
	if (in->end == KL_END_FALL && next->end == KL_END_FALL && !next->leader)
		keep(&spot.two, at, both, KL_SPLICE_TRAP);
}

/* Request the first instruction of an excluded function that only the function forbids. */
static void try_excluded(const struct kl_block_graph *g, uint32_t *asked, uint32_t *accepted)
{
	for (uint32_t i = 0; i < g->instructions; i++) {
		const struct kl_block_instruction *in = &g->instruction[i];
		struct kl_abi_window w =
			window(g->function.address + in->offset, in->bytes, KL_SPLICE_TRAP);
		uint32_t bad;

		if (in->reason || in->nop || in->end != KL_END_FALL)
			continue;
		++*asked;
		if (ask(&w, &bad) > 0)
			return;
		++*accepted;
		printf("# %s+%#x (%s) is accepted\n", g->function.name, in->offset,
		       kl_block_reason_name(g->function.reason));
		return;
	}
}

static void look_at_all(struct kl_blocks *blocks)
{
	uint32_t asked = 0, accepted = 0;

	for (size_t f = 0; f < kl_blocks_functions(blocks); f++) {
		struct kl_block_graph g;

		if (kl_blocks_graph(blocks, f, &g))
			continue;
		if (g.function.reason)
			try_excluded(&g, &asked, &accepted);
		for (uint32_t i = 0; !g.function.reason && i < g.instructions; i++)
			look_at(&g, i);
		for (uint32_t i = 0; !spot.bounces && !g.function.reason && i < g.blocks; i++)
			if (g.block[i].pre.tier == KL_TIER_BOUNCE)
				spot.bounces = f;
		kl_block_graph_free(&g);
	}
	printf("# %u functions that the planner leaves alone\n", asked);
	unit_check(asked > 300 && !accepted, "each of them is refused");
}

static void expect_points(const char *what, struct kl_abi_window w,
			  const struct kl_abi_point *point, uint32_t n, int refusal)
{
	uint32_t bad = 0;

	w.points = n;
	unit_check(w.address && ask_points(&w, point, n, &bad) == refusal && !bad, what);
}

/* Points between instructions, and on the taken edge of a jump. */
static void check_points(void)
{
	const struct kl_abi_window w = spot.branch;
	struct kl_abi_point point[2] = { { .instrument = KL_INSTRUMENT_COUNT, .offset = 1 },
					 { .instrument = KL_INSTRUMENT_COUNT, .taken = 1 } };

	expect_points("a point in an instruction", spot.taken, point, 1, KL_SPLICE_boundary);
	point[0].offset = 0;
	expect_points("a point where a branch goes", w, point, 2, 0);
	expect_points("not of an instruction that does not jump", spot.taken, point, 2,
		      KL_SPLICE_boundary);
	point[1].offset = w.bytes;
	expect_points("nor behind the window", w, point, 2, KL_SPLICE_boundary);
	point[0] = (struct kl_abi_point){ .instrument = KL_INSTRUMENT_COUNT, .taken = 1 };
	point[1] = (struct kl_abi_point){ .instrument = KL_INSTRUMENT_COUNT };
	expect_points("nor before what is before the branch", w, point, 2, KL_SPLICE_form);
	point[0].taken = 2;
	expect_points("a way that is none", w, point, 1, KL_SPLICE_form);
	point[0].taken = 0;
	point[0].reserved[1] = 1;
	expect_points("a reserved byte of a point", w, point, 1, KL_SPLICE_form);
}

static void check_windows(void)
{
	struct kl_abi_window w = spot.taken;

	expect("an instruction of a jump label", spot.label, KL_SPLICE_excluded);
	expect("a static call", spot.call, KL_SPLICE_excluded);
	expect("an instruction that may fault", spot.fault, KL_SPLICE_excluded);
	expect("where ftrace hooks a function", spot.hook, KL_SPLICE_excluded);
	if (spot.pad.address)
		expect("a landing pad of indirect branches", spot.pad, KL_SPLICE_excluded);
	expect("what traps", spot.fixed, KL_SPLICE_fixed);
	expect("a call that comes back into the window", spot.behind_call, KL_SPLICE_fixed);
	expect("a target of a jump", spot.entered, KL_SPLICE_entered);
	expect("between instructions", spot.between, KL_SPLICE_boundary);
	expect("half an instruction", spot.whole, KL_SPLICE_boundary);
	expect("more than the function", spot.past_end, KL_SPLICE_bounds);
	expect("a breakpoint for two instructions", spot.two, KL_SPLICE_form);
	expect("a call that is none", spot.jump, KL_SPLICE_form);
	w.hash++;
	expect("other text", w, KL_SPLICE_text);
	w = spot.taken;
	w.address = 0xffff888000001000;
	expect("no text", w, KL_SPLICE_bounds);
	w = window(spot.taken.address, spot.taken.bytes, KL_SPLICE_TRAP + 1);
	expect("no tier", w, KL_SPLICE_form);
	w.tier = 0;
	expect("nor is zero one", w, KL_SPLICE_form);
	w = spot.taken;
	w.points = 0;
	expect("no points", w, KL_SPLICE_form);
	w.points = 2;
	expect("points that are not there", w, KL_SPLICE_form);
	w = spot.taken;
	w.reserved[1] = 1;
	expect("a reserved byte", w, KL_SPLICE_form);
	w = spot.taken;
	w.slot = w.address;
	expect("a slot without a bounce", w, KL_SPLICE_form);
	w = spot.taken;
	w.tier = KL_SPLICE_BOUNCE;
	expect("a bounce without a slot", w, KL_SPLICE_form);
	w.address = UINT64_MAX - 3;
	w.tier = KL_SPLICE_JUMP;
	expect("past the last address", w, KL_SPLICE_form);
	expect("and what is right is accepted", spot.taken, 0);
}

/* A point on the taken edge of a jump that cannot be moved, in another module's function. */
static void check_fixed_jump(const struct kl_symbols *symbols)
{
	static const uint8_t before[] = { 0x48, 0x89, 0xf9 }; /* mov %rdi, %rcx */
	struct kl_symbol symbol = {};
	uint8_t bytes[16] = {}, *at;
	uint64_t address;

	kl_symbols_find(symbols, "kl_places:kls_loop", &symbol);
	memory_read(symbol.address, sizeof(bytes), bytes);
	at = memmem(bytes, sizeof(bytes), before, sizeof(before));
	if (!unit_check(at, "a function with a loop instruction"))
		return;
	address = symbol.address + (at - bytes);
	expect("where it goes",
	       (struct kl_abi_window){
		       .address = address,
		       .bytes = 7,
		       .tier = KL_SPLICE_JUMP,
		       .points = 1,
		       .hash = kl_window_hash(at, 7),
	       },
	       KL_SPLICE_entered);
}

/* --------------------------------------------------------------------- slots */

static void expect_slot(uint32_t at, uint64_t slot, const char *what)
{
	struct kl_abi_splice params = plan_target(&plan);
	uint64_t right = plan.window[at].slot;
	int ret;

	plan.window[at].slot = slot;
	ret = ioctl(device, KL_IOC_SPLICE, &params);
	plan.window[at].slot = right;
	unit_check(ret && errno == EINVAL && params.refusal == KL_SPLICE_slot && params.bad == at,
		   what);
}

static void check_slots(struct kl_blocks *blocks)
{
	struct kl_abi_unsplice unsplice = { .size = sizeof(unsplice) };
	struct kl_abi_splice params;
	uint32_t at = 0;
	uint64_t address;

	plan_add_function(&plan, blocks, spot.bounces, false);
	while (at < plan.windows && plan.window[at].tier != KL_SPLICE_BOUNCE)
		at++;
	address = plan.window[at].address;
	expect_slot(at, address + 300, "a slot that is too far away");
	expect_slot(at, address, "one in the bounce itself");
	expect_slot(at, plan.window[at ? at - 1 : 1].address + 1, "one in another's jump");
	expect_slot(at, 1, "one elsewhere");
	plan.window[at].tier = KL_SPLICE_TRAP;
	address = plan.window[at].slot;
	plan.window[at].slot = 0;
	params = plan_target(&plan);
	ioctl(device, KL_IOC_SPLICE, &params);
	ioctl(device, KL_IOC_UNSPLICE, &unsplice);
	plan.window[at].tier = KL_SPLICE_BOUNCE;
	plan.window[at].slot = address;
	unit_check(!plan_splice(&plan), "and the right one is accepted");
	unit_check(!device_call(KL_IOC_UNSPLICE, &unsplice) && !unsplice.lost, "and taken back");
}

/* -------------------------------------------------------- relocated functions */

/* Request a plan. Returns a refusal, 0, or a negative errno; an accepted plan stays if @keep. */
static int ask_plan(const struct plan *p, bool keep)
{
	struct kl_abi_unsplice unsplice = { .size = sizeof(unsplice) };
	struct kl_abi_splice params = plan_target(p);

	if (ioctl(device, KL_IOC_SPLICE, &params))
		return errno == EINVAL && params.refusal ? (int)params.refusal : -errno;
	return keep ? 0 : device_call(KL_IOC_UNSPLICE, &unsplice);
}

static void hash_window(struct kl_abi_window *w, const struct kl_abi_point *last)
{
	w->hash = kl_window_hash(text.at + (w->address - text.begin),
				 kl_window_hashed(w, last->offset));
}

/* Remove a window: its points move to the window before it, from which text leads there. */
static void leave_window(struct plan *p, uint32_t at)
{
	struct kl_abi_window *before = &p->window[at - 1], *w = &p->window[at];
	uint32_t point = 0;

	for (uint32_t i = 0; i < at; i++)
		point += p->window[i].points;
	for (uint32_t i = point; i < point + w->points; i++)
		p->point[i].offset += w->address - before->address;
	before->points += w->points;
	hash_window(before, &p->point[point + w->points - 1]);
	memmove(w, w + 1, (--p->windows - at) * sizeof(*w));
}

/* Open another session to make the following requests. Returns the previous session's device. */
static int other_session(const char *what)
{
	struct kl_abi_session session = { .size = sizeof(session) };
	int before = device;

	device = open(KL_DEVICE_PATH, O_RDWR);
	unit_check(!device_call(KL_IOC_SESSION, &session), what);
	return before;
}

static void check_relocated(const struct kl_symbols *symbols, struct kl_blocks *blocks)
{
	long index = kl_blocks_find(blocks, symbol_address(symbols, "ksys_read"));
	static struct plan moved, in_place, bad;
	uint32_t unseen = 0, needed = 0;
	int first, got;

	plan_add_function(&moved, blocks, index, true);
	plan_add_function(&in_place, blocks, index, false);
	unit_check(moved.moved == 1 && moved.windows > 3 && moved.windows < in_place.windows,
		   "a function that is moved has fewer windows");
	for (uint32_t i = 1; i < moved.windows; i++) {
		bad = moved;
		leave_window(&bad, i);
		got = ask_plan(&bad, false);
		unseen += got == KL_SPLICE_unseen;
		/* Other windows may have their slots in it. */
		needed += got == KL_SPLICE_unseen || got == KL_SPLICE_slot;
	}
	unit_check(needed == moved.windows - 1 && unseen > needed / 2,
		   "each of its windows is needed");
	bad = moved;
	bad.window[1].moves = 0;
	unit_check(ask_plan(&bad, false) == KL_SPLICE_form, "moved in part");
	bad = moved;
	bad.window[0].moves = 2;
	unit_check(ask_plan(&bad, false) == KL_SPLICE_form, "moved twice");
	bad = moved;
	bad.point[bad.window[0].points - 1].offset = bad.window[1].address - bad.window[0].address;
	unit_check(ask_plan(&bad, false) == KL_SPLICE_form, "a point in the next window");
	bad = moved;
	bad.point[bad.window[0].points - 1].offset++;
	hash_window(&bad.window[0], &bad.point[bad.window[0].points - 1]);
	unit_check(ask_plan(&bad, false) == KL_SPLICE_boundary, "a point between instructions");
	bad = moved;
	bad.point[bad.points - 1].offset = 1 << 20;
	unit_check(ask_plan(&bad, false) == KL_SPLICE_bounds, "a point behind the function");
	bad = moved;
	bad.point[0].taken = 1;
	unit_check(ask_plan(&bad, false) == KL_SPLICE_form, "a point where a moved jump goes");
	bad = moved;
	bad.window[0].hash++;
	unit_check(ask_plan(&bad, false) == KL_SPLICE_text, "other text, moved");

	unit_check(!ask_plan(&moved, true), "it is moved");
	first = other_session("another session");
	unit_check(ask_plan(&in_place, false) == KL_SPLICE_taken, "no window where it is moved");
	unit_check(ask_plan(&moved, false) == KL_SPLICE_taken, "nor is it moved again");
	close(first);
	unit_check(!ask_plan(&in_place, true), "it is back: a window for each block");
	first = other_session("another session");
	unit_check(ask_plan(&moved, false) == KL_SPLICE_taken, "nothing is moved that has some");
	close(first);
	unit_check(!ask_plan(&moved, false), "when they are gone it is");
}

/* --------------------------------------------------- text patched by others */

#define TRACEFS "/sys/kernel/tracing"

static void check_others(struct kl_blocks *blocks)
{
	struct kl_abi_point point = { .instrument = KL_INSTRUMENT_COUNT };
	struct kl_abi_splice params = {
		.size = sizeof(params),
		.windows = 1,
		.points = 1,
		.window = (uintptr_t)&spot.taken,
		.point = (uintptr_t)&point,
	};
	struct kl_block_function f;
	int first;
	char probe[512];

	kl_blocks_function(blocks, kl_blocks_find(blocks, spot.taken.address), &f);
	/* Not at ftrace's hook: a kprobe there uses ftrace and changes no other text. */
	snprintf(probe, sizeof(probe), "p:kl_refuse %s+%" PRIu64 "\n", f.name,
		 (uint64_t)(spot.taken.address - f.address));
	/* kprobes already knows the instruction after which it will continue. */
	unit_check(write_file(TRACEFS "/kprobe_events", probe), "a kprobe");
	expect("a function that has it, not enabled", spot.taken, KL_SPLICE_probed);
	unit_check(write_file(TRACEFS "/events/kprobes/kl_refuse/enable", "1"), "it is enabled");
	expect("a function that has it", spot.taken, KL_SPLICE_probed);
	write_file(TRACEFS "/events/kprobes/kl_refuse/enable", "0");
	write_file(TRACEFS "/kprobe_events", "-:kl_refuse\n");
	unit_check(!device_call(KL_IOC_SPLICE, &params), "it is gone: spliced");
	write_file(TRACEFS "/kprobe_events", probe);
	unit_check(!write_file(TRACEFS "/events/kprobes/kl_refuse/enable", "1"),
		   "no kprobe where there is a splice");
	write_file(TRACEFS "/kprobe_events", "-:kl_refuse\n");
	first = other_session("another session");
	expect("a window that is another's", spot.taken, KL_SPLICE_taken);
	close(device);
	close(first);
	other_session("a new session");
	expect("the first has been closed", spot.taken, 0);
}

/* Have another module write BYTE at ADDRESS. */
static bool write_byte(uint64_t address, uint8_t byte)
{
	char line[40];

	snprintf(line, sizeof(line), "%#" PRIx64 " %#x", address, byte);
	return write_file("/sys/module/kl_places/parameters/byte", line);
}

static struct kl_abi_unsplice take_back(void)
{
	struct kl_abi_unsplice result = { .size = sizeof(result) };

	device_call(KL_IOC_UNSPLICE, &result);
	return result;
}

/* Keep only windows that are patched by a jump and need no other window. */
static void keep_jumps(struct plan *p)
{
	uint32_t windows = 0, points = 0, from = 0;

	for (uint32_t i = 0; i < p->windows; i++) {
		struct kl_abi_window w = p->window[i];

		for (uint32_t k = from; k < from + w.points && w.tier == KL_SPLICE_JUMP; k++)
			p->point[points++] = p->point[k];
		if (w.tier == KL_SPLICE_JUMP)
			p->window[windows++] = w;
		from += w.points;
	}
	p->windows = windows;
	p->points = points;
}

/* Another writer overwrites a splice, in a function that is never called, and restores it later. */
static void check_lost(const struct kl_symbols *symbols, struct kl_blocks *blocks)
{
	static const char sleep[] = "/sys/power/state";
	static struct plan written, other;
	struct kl_abi_unsplice result;
	uint64_t at;

	plan_add_function(&written, blocks,
			  kl_blocks_find(blocks, symbol_address(symbols, "vfs_rmdir")), false);
	plan_add_function(&other, blocks,
			  kl_blocks_find(blocks, symbol_address(symbols, "ksys_read")), false);
	keep_jumps(&written);
	if (!unit_check(written.windows > 1, "a function that nobody calls"))
		return;
	at = written.window[1].address;
	/* Without the overwritten splice the machine would suspend and never wake up. */
	if (!unit_check(!plan_splice(&written) && write_byte(at, 0x90),
			"somebody writes over a splice"))
		return;
	result = take_back();
	unit_check(result.lost == 1 && result.windows == written.windows - 1,
		   "it is lost, and the others are taken back");
	unit_check(!plan_splice(&other), "others may follow");
	result = take_back();
	unit_check(result.lost == 1 && result.windows == other.windows,
		   "and are taken back without it");
	unit_check(access(sleep, W_OK) || (!write_file(sleep, "freeze") && errno == EBUSY),
		   "the machine does not go to sleep with it");
	unit_check(write_byte(at, 0xe9), "it is there again");
	result = take_back();
	unit_check(!result.lost && result.windows == 1, "and is taken back");
}

static void check_limits(const struct kl_symbols *symbols, struct kl_blocks *blocks)
{
	long index = kl_blocks_find(blocks, symbol_address(symbols, "ksys_read"));
	static const char limit[] = "/sys/module/kernlens/parameters/splices_max";
	struct kl_abi_session session = { .size = sizeof(session) };
	uint32_t bad;
	pid_t child;
	int status;

	unit_check(write_file(limit, "0"), "no windows are allowed");
	expect("then there is no room", spot.taken, -ENOSPC);
	plan_clear(&plan);
	plan_add_function(&plan, blocks, index, true);
	plan.windows = 1;
	for (plan.points = 0; plan.points < 3000; plan.points++)
		plan.point[plan.points] = plan.point[0];
	plan.window[0].points = plan.points;
	hash_window(&plan.window[0], &plan.point[0]);
	write_file(limit, "50");
	unit_check(ask_plan(&plan, false) == -ENOSPC, "points that are many count as windows");
	write_file(limit, "1000");
	unit_check(!ask_plan(&plan, false), "where there is room for them they are accepted");
	write_file(limit, "1048576");
	fflush(stdout);
	child = fork();
	if (!child) {
		if (setgid(65534) || setuid(65534))
			_exit(2);
		device = open(KL_DEVICE_PATH, O_RDWR);
		if (device < 0 || ioctl(device, KL_IOC_SESSION, &session))
			_exit(3);
		_exit(ask(&spot.taken, &bad) == -EPERM ? 0 : 1);
	}
	waitpid(child, &status, 0);
	unit_check(!status, "an ordinary user may not");
}

/* Lockdown also takes effect for a session that could splice before. */
static void check_lockdown(const struct kl_symbols *symbols, struct kl_blocks *blocks)
{
	plan_clear(&plan);
	plan_add_function(&plan, blocks,
			  kl_blocks_find(blocks, symbol_address(symbols, "ksys_read")), true);
	unit_check(!ask_plan(&plan, true), "what is not locked down is spliced");
	unit_check(write_file("/sys/kernel/security/lockdown", "confidentiality"),
		   "it is locked down");
	unit_check(ask_plan(&plan, false) == -EPERM, "then nothing is");
	unit_check(take_back().windows == plan.windows, "what is there can be taken back");
	other_session("a session");
	unit_check(ask_plan(&plan, false) == -EPERM, "nor for another session");
}

int main(int argc, char **argv)
{
	struct kl_symbols *symbols = kl_symbols_open("/proc/kallsyms");
	struct kl_blocks *blocks = symbols ? kl_blocks_open(NULL, symbols) : NULL;
	int anchor;

	anchor = begin_with_anchor(symbols, blocks, &text);
	if (anchor < 0)
		return 2;
	if (argc > 1) {
		check_lockdown(symbols, blocks);
		return unit_end();
	}
	look_at_all(blocks);
	check_windows();
	check_points();
	check_fixed_jump(symbols);
	check_slots(blocks);
	check_relocated(symbols, blocks);
	check_others(blocks);
	check_limits(symbols, blocks);
	check_lost(symbols, blocks);
	close(anchor);
	unit_check(text_is(symbols, blocks, &text), "the text is what it was");
	kl_blocks_close(blocks);
	kl_symbols_close(symbols);
	return unit_end();
}
