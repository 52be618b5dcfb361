// SPDX-License-Identifier: GPL-2.0
/*
 * whole [WINDOWS [EVERY [PART]]]: in a virtual machine, has the module check all functions that the
 * planner has windows for, in requests that end with an invalid window; it may refuse none of them.
 * Then counts all blocks of the whole kernel (or of every EVERY-th function) at once, in requests
 * of WINDOWS windows. PART selects the half of the functions that are relocated. All patches are
 * read (patch.c). The machine must keep working, system calls are counted exactly, everything is
 * removed, and the text is unchanged. Prints TAP lines, and figures as comments.
 */
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "patch.h"

#define CALLS 1000
#define CHUNK_FUNCTIONS 8192
#define SHOWN_MAX 40

static struct plan plan;
static struct patches patches;
static struct text text;
static bool only_look;
static int part;
static uint64_t anchor_address; /* of the function that the anchor session splices */
static long chunk[CHUNK_FUNCTIONS];
static uint32_t chunk_n;

/* Totals. */
static struct {
	uint32_t requests;
	uint32_t functions;
	uint32_t refused;
	uint64_t moved;
	uint64_t windows;
	uint64_t points;
	uint64_t by_tier[KL_SPLICE_TRAP + 1];
	uint64_t by_refusal[32];
	double seconds; /* spent in requests */
	double longest;
} sum;

/* The points of the system call under test. */
static struct {
	uint64_t address;
	uint32_t bytes;
	uint32_t first;
	uint32_t n;
} own;

/* Half of the functions are relocated, the other half with another @part. */
static bool moves(long function)
{
	return ((uint32_t)function * 0x9e3779b1u >> 16) % 2 == (uint32_t)part;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static long meminfo(const char *field)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[128];
	long kib = 0;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, field, strlen(field)))
			kib = atol(line + strlen(field));
	if (file)
		fclose(file);
	return kib;
}

static void note_refusal(struct kl_blocks *blocks, const struct kl_abi_splice *params, uint32_t at)
{
	const struct kl_abi_window *w = &plan.window[params->bad];
	struct kl_block_function f;

	kl_blocks_function(blocks, chunk[at], &f);
	sum.refused++;
	sum.by_refusal[params->refusal % 32]++;
	if (sum.refused <= SHOWN_MAX)
		printf("# refused: %s+%#" PRIx64 " tier %u, %u bytes, slot %+" PRId64 ": %s\n",
		       f.name, (uint64_t)(w->address - f.address), w->tier, w->bytes,
		       w->slot ? (int64_t)(w->slot - w->address) : 0,
		       refusal_name(params->refusal));
}

/* Remove the function of the refused window from the chunk. */
static bool leave_out(struct kl_blocks *blocks, const struct kl_abi_splice *params)
{
	long index = kl_blocks_find(blocks, plan.window[params->bad].address);

	for (uint32_t i = 0; i < chunk_n; i++) {
		if (chunk[i] != index)
			continue;
		note_refusal(blocks, params, i);
		memmove(chunk + i, chunk + i + 1, (--chunk_n - i) * sizeof(*chunk));
		plan_clear(&plan);
		for (i = 0; i < chunk_n; i++)
			plan_add_function(&plan, blocks, chunk[i], moves(chunk[i]));
		return true;
	}
	return false;
}

static void note_request(uint32_t first)
{
	sum.requests++;
	sum.functions += chunk_n;
	sum.moved += plan.moved;
	sum.windows += plan.windows;
	sum.points += plan.points;
	for (uint32_t i = 0; i < plan.windows; i++)
		sum.by_tier[plan.window[i].tier]++;
	for (uint32_t i = 0; i < plan.points; i++) {
		if (plan.block[i] - own.address >= own.bytes)
			continue;
		if (!own.n++)
			own.first = first + i;
	}
}

static void note_time(double seconds)
{
	sum.seconds += seconds;
	if (seconds > sum.longest)
		sum.longest = seconds;
}

/* Request what has been collected. */
static bool request(struct kl_blocks *blocks)
{
	while (plan.windows) {
		uint32_t last = plan.windows;
		struct kl_abi_splice params;
		double began = now();
		int ret;

		if (only_look)
			plan_add_wrong(&plan, text.begin + text.bytes);
		params = plan_target(&plan);
		ret = ioctl(device, KL_IOC_SPLICE, &params);
		if (only_look && ret && params.refusal == KL_SPLICE_text && params.bad == last) {
			plan.windows--;
			plan.points--;
			ret = 0;
		}
		if (!ret) {
			note_request(params.first);
			note_time(now() - began);
			if (!only_look)
				patches_read(&patches, blocks, &plan);
			break;
		}
		if (!params.refusal || !leave_out(blocks, &params)) {
			printf("# errno %d, refusal %u\n", errno, params.refusal);
			return false;
		}
	}
	plan_clear(&plan);
	chunk_n = 0;
	return true;
}

static bool splice_whole(struct kl_blocks *blocks, uint32_t windows, uint32_t every)
{
	size_t n = kl_blocks_functions(blocks);

	for (size_t i = 0; i < n; i++) {
		struct kl_block_function f;

		kl_blocks_function(blocks, i, &f);
		if (f.reason || (i % every && f.address != own.address) ||
		    (only_look && f.address == anchor_address))
			continue;
		if ((plan.windows >= windows || chunk_n == CHUNK_FUNCTIONS) && !request(blocks))
			return false;
		if (!plan_add_function(&plan, blocks, i, moves(i))) {
			if (!request(blocks))
				return false;
			plan_add_function(&plan, blocks, i, moves(i));
		}
		chunk[chunk_n++] = i;
	}
	return request(blocks);
}

/* Does the machine still run processes, and use pipes and files? */
static bool works(void)
{
	for (int i = 0; i < 20; i++) {
		int status = -1, pipes[2];
		char byte = 0;
		pid_t child;

		if (pipe(pipes))
			return false;
		child = fork();
		if (!child) {
			if (write(pipes[1], "x", 1) != 1)
				_exit(2);
			execlp("sh", "sh", "-c", "ls / >/tmp/kl-whole && test -s /tmp/kl-whole",
			       (char *)NULL);
			_exit(3);
		}
		if (child < 0 || read(pipes[0], &byte, 1) != 1 || byte != 'x' ||
		    waitpid(child, &status, 0) != child || status)
			return false;
		close(pipes[0]);
		close(pipes[1]);
	}
	return true;
}

static bool counts_are_right(void)
{
	static uint64_t count[256];
	struct kl_abi_splice_counts counts = { .size = sizeof(counts), .count = (uintptr_t)count };
	uint64_t before[256];
	bool right = own.n && own.n <= 256;

	counts.first = own.first;
	counts.n = own.n;
	right = right && !device_call(KL_IOC_SPLICE_COUNTS, &counts);
	memcpy(before, count, sizeof(count));
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	counts.n = own.n;
	right = right && !device_call(KL_IOC_SPLICE_COUNTS, &counts);
	for (uint32_t i = 0; right && i < own.n; i++)
		right = count_is(count[i] - before[i], CALLS);
	return right;
}

/* Are all landing pads of indirect branches as they were, while splices exist? */
static bool keeps_landing_pads(const struct kl_symbols *symbols)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint32_t pads = 0, gone = 0;
	struct text now;
	bool read = text_read(symbols, &now) && now.bytes == text.bytes;

	for (size_t i = 0; read && i + sizeof(endbr64) <= text.bytes; i++) {
		if (memcmp(text.at + i, endbr64, sizeof(endbr64)) != 0)
			continue;
		pads++;
		gone += memcmp(now.at + i, endbr64, sizeof(endbr64)) != 0;
	}
	printf("# %u landing pads, %u of them changed\n", pads, gone);
	free(now.at);
	return read && !gone;
}

static void measure_calls(const char *when)
{
	double began = now();

	for (int i = 0; i < 100000; i++)
		syscall(SYS_getppid);
	printf("# getppid %s: %.0f ns\n", when, (now() - began) * 1e4);
}

static void report(void)
{
	printf("# spliced in %.1f s: %u functions, %" PRIu64 " moved, %" PRIu64 " windows, %" PRIu64
	       " points, %u requests, the longest %.2f s\n",
	       sum.seconds, sum.functions, sum.moved, sum.windows, sum.points, sum.requests,
	       sum.longest);
	printf("# by tier: jump %" PRIu64 ", call %" PRIu64 ", bounce %" PRIu64 ", trap %" PRIu64
	       "\n",
	       sum.by_tier[KL_SPLICE_JUMP], sum.by_tier[KL_SPLICE_CALL],
	       sum.by_tier[KL_SPLICE_BOUNCE], sum.by_tier[KL_SPLICE_TRAP]);
	for (uint32_t i = 0; i < 32; i++)
		if (sum.by_refusal[i])
			printf("# refused for %s: %" PRIu64 "\n", refusal_name(i),
			       sum.by_refusal[i]);
}

int main(int argc, char **argv)
{
	uint32_t windows = argc > 1 ? atoi(argv[1]) : 4000, every = argc > 2 ? atoi(argv[2]) : 1;
	struct kl_symbols *symbols = kl_symbols_open("/proc/kallsyms");
	struct kl_blocks *blocks = symbols ? kl_blocks_open(NULL, symbols) : NULL;
	struct kl_abi_unsplice unsplice = { .size = sizeof(unsplice) };
	struct kl_block_function f;
	double began;
	int anchor;
	long memory;

	own.address = symbols ? symbol_address(symbols, "__x64_sys_getppid") : 0;
	if (!own.address || !windows || !every) {
		fprintf(stderr, "%s\n", kl_error_text());
		return 2;
	}
	anchor = begin_with_anchor(symbols, blocks, &text);
	if (anchor < 0)
		return 2;
	kl_blocks_function(blocks, kl_blocks_find(blocks, own.address), &f);
	own.bytes = f.bytes;
	part = argc > 3 ? atoi(argv[3]) & 1 : 0;
	anchor_address = symbol_address(symbols, "__x64_sys_getpgid");
	only_look = true;
	unit_check(splice_whole(blocks, windows, 1) && !sum.refused,
		   "the whole kernel is planned, and nothing refused");
	report();
	close(anchor);
	only_look = false;
	memset(&sum, 0, sizeof(sum));
	own.n = 0;
	measure_calls("before");
	memory = meminfo("MemAvailable:");
	unit_check(splice_whole(blocks, windows, every), "the whole kernel is spliced");
	report();
	printf("# memory: %ld KiB\n", memory - meminfo("MemAvailable:"));
	unit_check(!sum.refused, "no function is refused");
	patches_report(&patches);
	unit_check(keeps_landing_pads(symbols), "no landing pad is changed");
	unit_check(works(), "processes, pipes and files work");
	unit_check(counts_are_right(), "each block of the system call is counted exactly");
	measure_calls("spliced");
	began = now();
	unit_check(!device_call(KL_IOC_UNSPLICE, &unsplice) && !unsplice.lost &&
			   unsplice.windows == sum.windows,
		   "all is taken back");
	printf("# taken back in %.1f s\n", now() - began);
	measure_calls("after");
	unit_check(works(), "the machine works");
	unit_check(text_is(symbols, blocks, &text), "the text is what it was");
	kl_blocks_close(blocks);
	kl_symbols_close(symbols);
	return unit_end();
}
