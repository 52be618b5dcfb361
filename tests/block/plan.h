/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the tests of splices: a plan built from functions' graphs, the device that gets it as a
 * request, and the kernel's text, read to be compared. The including file owns the device.
 */
#ifndef KL_TESTS_BLOCK_PLAN_H
#define KL_TESTS_BLOCK_PLAN_H

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <kernlens/internal.h>

#include "../../lib/splice/splices.h"
#include "../../uapi/kernlens.h"
#include "../unit/unit.h"

#define PLAN_POINTS_MAX KL_SPLICE_REQUEST_POINTS_MAX

struct plan {
	struct kl_abi_window window[KL_SPLICE_WINDOWS_MAX];
	struct kl_abi_point point[PLAN_POINTS_MAX];
	uint64_t block[PLAN_POINTS_MAX]; /* address of each point's block; 0: none */
	uint32_t windows;
	uint32_t points;
	uint32_t moved; /* functions relocated */
};

static int device;

static inline void plan_clear(struct plan *plan)
{
	plan->windows = plan->points = plan->moved = 0;
}

static inline void plan_add_group(struct plan *plan, const struct kl_block_graph *g,
				  const struct kl_splices *s)
{
	const struct kl_splice_group *group = s->group;

	plan->moved += group->moved;
	for (uint32_t i = 0; i < group->windows.n; i++) {
		const struct kl_splice_window *w = &s->window[group->windows.first + i];

		plan->window[plan->windows++] = w->abi;
		for (uint32_t k = 0; k < w->abi.points; k++, plan->points++) {
			const struct kl_splice_instrument *in = &s->instrument[w->first + k];

			plan->point[plan->points] = in->abi;
			plan->block[plan->points] =
				in->point == KL_NO_POINT ?
					0 :
					g->function.address + g->block[in->point].begin;
		}
	}
}

/*
 * Add a counter before every block of a function that can be spliced; the function is relocated if
 * @moves. Functions must be added in order of address. Returns false, and adds nothing, if they do
 * not fit.
 */
static inline bool plan_add_graph(struct plan *plan, const struct kl_block_graph *g, bool moves)
{
	struct kl_splice_target *target;
	struct kl_splices *s;

	if (plan->windows + g->blocks >= KL_SPLICE_WINDOWS_MAX ||
	    plan->points + 2 * g->blocks >= PLAN_POINTS_MAX)
		return false;
	if (!g->blocks)
		return true;
	target = calloc(g->blocks, sizeof(*target));
	s = kl_splices_create(moves);
	for (uint32_t i = 0; i < g->blocks; i++)
		target[i] = (struct kl_splice_target){
			.block = i,
			.instrument = KL_INSTRUMENT_COUNT,
		};
	if (!s || kl_splices_add(s, g, target, g->blocks) < 0)
		unit_check(false, kl_error_text());
	else
		plan_add_group(plan, g, s);
	kl_splices_destroy(s);
	free(target);
	return true;
}

static inline bool plan_add_function(struct plan *plan, struct kl_blocks *blocks, long index,
				     bool moves)
{
	struct kl_block_graph g;
	bool fits;

	if (kl_blocks_graph(blocks, index, &g)) {
		unit_check(false, kl_error_text());
		return true;
	}
	fits = plan_add_graph(plan, &g, moves);
	kl_block_graph_free(&g);
	return fits;
}

/* Make an ioctl on the device; prints why it fails. Returns 0 or a negative errno. */
static inline int device_call(unsigned long what, void *arg)
{
	struct kl_abi_error why = { .size = sizeof(why) };
	int ret = ioctl(device, what, arg);

	if (ret) {
		ret = -errno;
		ioctl(device, KL_IOC_ERROR, &why);
		printf("# %s\n", why.text);
	}
	return ret;
}

static inline struct kl_abi_splice plan_target(const struct plan *plan)
{
	return (struct kl_abi_splice){
		.size = sizeof(struct kl_abi_splice),
		.windows = plan->windows,
		.points = plan->points,
		.window = (uintptr_t)plan->window,
		.point = (uintptr_t)plan->point,
	};
}

/* Splice a plan. Returns 0 or a negative errno. */
static inline int plan_splice(const struct plan *plan)
{
	struct kl_abi_splice target = plan_target(plan);

	return device_call(KL_IOC_SPLICE, &target);
}

/*
 * Open a session with one splice: while any exists, the module keeps its analysis of the text, so
 * that thousands of requests are fast. The caller closes the descriptor; negative on failure.
 */
static inline int anchor_open(const struct kl_symbols *symbols, struct kl_blocks *blocks)
{
	static struct plan anchor;
	struct kl_abi_session session = { .size = sizeof(session) };
	struct kl_abi_splice target;
	struct kl_symbol symbol;
	int fd = open(KL_DEVICE_PATH, O_RDWR);

	if (fd < 0 || kl_symbols_find(symbols, "kernel:__x64_sys_getpgid", &symbol) < 0 ||
	    !plan_add_function(&anchor, blocks, kl_blocks_find(blocks, symbol.address), false))
		return -1;
	target = plan_target(&anchor);
	if (!ioctl(fd, KL_IOC_SESSION, &session) && !ioctl(fd, KL_IOC_SPLICE, &target))
		return fd;
	close(fd);
	return -1;
}

/*
 * Add a last window that is certainly invalid, so that all windows before it are checked but
 * nothing is spliced. If they are all valid, the module refuses this one for its bytes.
 */
static inline void plan_add_wrong(struct plan *plan, uint64_t end_of_text)
{
	plan->window[plan->windows++] = (struct kl_abi_window){
		.address = end_of_text - 16,
		.bytes = 5,
		.tier = KL_SPLICE_JUMP,
		.points = 1,
	};
	plan->point[plan->points++] = (struct kl_abi_point){ .instrument = KL_INSTRUMENT_COUNT };
}

/*
 * Is a block's count as expected in a function whose blocks are all executed? A kernel with lockdep
 * also has blocks that only report problems, and those stay at 0.
 */
static inline bool count_is(uint64_t count, uint64_t expected)
{
	return count == expected || (!count && !access("/proc/lockdep", F_OK));
}

/* Append a line to a kernel file; false, with errno, if the kernel rejects it. */
static inline bool write_file(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line);
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return ok;
}

/* ------------------------------------------------------------------ the text */

struct text {
	uint64_t begin;
	size_t bytes;
	uint8_t *at;
};

static inline uint64_t symbol_address(const struct kl_symbols *symbols, const char *name)
{
	struct kl_symbol symbol = {};
	char full[256];

	snprintf(full, sizeof(full), "kernel:%s", name);
	return kl_symbols_find(symbols, full, &symbol) < 0 ? 0 : symbol.address;
}

/* Read the kernel's memory as it is now from /proc/kcore. Returns false if that fails. */
static inline bool memory_read(uint64_t begin, size_t bytes, uint8_t *to)
{
	int core = open(KL_KCORE_PATH, O_RDONLY | O_CLOEXEC);
	Elf64_Phdr part;
	Elf64_Ehdr head;
	bool ok = core >= 0 && pread(core, &head, sizeof(head), 0) == sizeof(head);
	size_t got = 0;

	for (int i = 0; ok && i < head.e_phnum && !got; i++) {
		ok = pread(core, &part, sizeof(part), head.e_phoff + i * sizeof(part)) ==
		     sizeof(part);
		if (!ok || part.p_type != PT_LOAD || begin < part.p_vaddr ||
		    begin + bytes > part.p_vaddr + part.p_memsz)
			continue;
		while (got < bytes) {
			ssize_t n = pread(core, to + got, bytes - got,
					  part.p_offset + (begin - part.p_vaddr) + got);

			if (n <= 0)
				break;
			got += n;
		}
	}
	close(core);
	return got == bytes;
}

/* Read the kernel's text. Returns false if that fails. */
static inline bool text_read(const struct kl_symbols *symbols, struct text *text)
{
	uint64_t begin = symbol_address(symbols, "_stext");
	uint64_t end = symbol_address(symbols, "_etext");

	*text = (struct text){ .begin = begin, .bytes = end - begin, .at = malloc(end - begin) };
	return begin && end > begin && memory_read(begin, text->bytes, text->at);
}

/* Does the kernel itself rewrite this byte: jump labels, static calls, ftrace's hooks? */
static inline bool text_is_kernels(struct kl_blocks *blocks, uint64_t address)
{
	struct kl_block_graph g;
	long index = kl_blocks_find(blocks, address);
	bool found = false;

	if (index < 0 || kl_blocks_graph(blocks, index, &g))
		return false;
	for (uint32_t i = 0; i < g.instructions; i++) {
		const struct kl_block_instruction *in = &g.instruction[i];
		uint64_t at = g.function.address + in->offset;

		if (address - at < in->bytes)
			found = in->reason == KL_BLOCK_jump_label ||
				in->reason == KL_BLOCK_static_call ||
				in->reason == KL_BLOCK_function_entry ||
				g.function.reason == KL_BLOCK_static_call_trampoline;
	}
	kl_block_graph_free(&g);
	return found;
}

/* Is the text unchanged, except where the kernel rewrites it? Prints where it is not. */
static inline bool text_is(const struct kl_symbols *symbols, struct kl_blocks *blocks,
			   const struct text *before)
{
	struct text now;
	size_t wrong = 0, kernels = 0;

	if (!text_read(symbols, &now) || now.bytes != before->bytes) {
		free(now.at);
		return false;
	}
	for (size_t i = 0; i < now.bytes; i++) {
		if (now.at[i] == before->at[i])
			continue;
		if (text_is_kernels(blocks, now.begin + i))
			kernels++;
		else if (wrong++ < 10)
			printf("# at %#" PRIx64 " %02x was %02x\n", now.begin + i, now.at[i],
			       before->at[i]);
	}
	printf("# text: %zu bytes, hash %016" PRIx64
	       ", %zu differ, and %zu of jump labels and such\n",
	       now.bytes, (uint64_t)kl_window_hash(now.at, now.bytes), wrong, kernels);
	free(now.at);
	return !wrong;
}

/* "text", "window" ...: the name of a row of block_refusals.def. */
static inline const char *refusal_name(uint32_t refusal)
{
	switch (refusal) {
#define KL_SPLICE_REFUSAL(id, name, help) \
	case id:                          \
		return #name;
#include "../../uapi/block_refusals.def"
#undef KL_SPLICE_REFUSAL
	}
	return "other errors";
}

/*
 * Read the text, open the device with a session, and another session with a splice, which the first
 * must leave alone. Returns the other's descriptor, or -1 after a message.
 */
static inline int begin_with_anchor(const struct kl_symbols *symbols, struct kl_blocks *blocks,
				    struct text *text)
{
	struct kl_abi_session session = { .size = sizeof(session) };
	int anchor;

	if (!blocks || !text_read(symbols, text)) {
		fprintf(stderr, "%s\n", kl_error_text());
		return -1;
	}
	device = open(KL_DEVICE_PATH, O_RDWR);
	unit_check(device >= 0 && !device_call(KL_IOC_SESSION, &session), "a session");
	anchor = anchor_open(symbols, blocks);
	unit_check(anchor >= 0, "another with a splice");
	return anchor;
}

#endif /* KL_TESTS_BLOCK_PLAN_H */
