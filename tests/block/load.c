// SPDX-License-Identifier: GPL-2.0
/*
 * load SECONDS SEED CYCLES FUNCTION...: in a virtual machine, splices or relocates random functions
 * and restores them in cycles, with counters or with an event that is recorded, until the time is
 * over or that many cycles are done. The functions are chosen from those named (hot ones) and from
 * all. In the meantime the machine works: processes, pipes, files, the network, CPU hotplug,
 * modules, and ftrace and kprobes in the same functions. Then the text must be unchanged. KL_READY
 * names a file that exists while this runs (nmi.py), KL_MODULES a directory with a module.
 * /tmp/disk is a disk. Prints TAP lines.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "plan.h"

#define NAMED_MAX 1000
#define CHUNK_MAX 40 /* functions in a cycle */
#define TRACEFS "/sys/kernel/tracing"
#define DISK "/tmp/disk"
#define SLOW_S 40 /* a cycle that takes longer is reported */
#define CPU1 "/sys/devices/system/cpu/cpu1/online"

static struct plan plan;
static struct kl_blocks *blocks;
static uint64_t state;
static long named[NAMED_MAX];
static size_t named_n;

/* The current cycle's functions; the disturbers read the names. */
static struct shared {
	char name[CHUNK_MAX][128];
	uint32_t done[8]; /* by disturber: successes */
	uint32_t failed[8]; /* and failures */
	uint32_t cycles; /* that have ended */
} * shared;

static long chunk[CHUNK_MAX];
static uint32_t chunk_n;
static uint64_t by_refusal[32], windows, moved, passed, spliced, fired;
static uint32_t event; /* the one that the session has defined */
static double longest_splice, longest_unsplice; /* s */

static uint32_t below(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? (state >> 16) % n : 0;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* -------------------------------------------------------------- disturbances */

static bool run(const char *command)
{
	int status = system(command);

	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool work_processes(void)
{
	return run("cat /proc/self/status /proc/meminfo | wc -l >/tmp/kl-load && rm /tmp/kl-load");
}

static bool work_network(void)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	static char data[65536];
	int server = -1;
	size_t sent = 0;
	bool ok;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ok = !bind(listener, (void *)&address, size) && !listen(listener, 1) &&
	     !getsockname(listener, (void *)&address, &size) &&
	     !connect(client, (void *)&address, size);
	if (ok)
		server = accept(listener, NULL, NULL);
	for (int i = 0; ok && i < 50; i++) {
		ssize_t n = send(client, data, 8192, 0);

		for (ok = n > 0, sent = n; ok && sent;) {
			n = recv(server, data, sent, 0);
			ok = n > 0;
			sent -= n;
		}
	}
	close(server);
	close(client);
	close(listener);
	return ok;
}

static bool work_files(void)
{
	static char data[65536];
	int fd = open(DISK "/kl-file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	bool ok = fd >= 0;

	for (int i = 0; ok && i < 20; i++)
		ok = write(fd, data, sizeof(data)) == sizeof(data) &&
		     pread(fd, data, sizeof(data), 0) == sizeof(data);
	ok = ok && !fsync(fd);
	close(fd);
	return ok && !unlink(DISK "/kl-file");
}

/* CPU hotplug fails with EBUSY while breakpoints are written. */
static bool disturb_processors(void)
{
	bool went = write_file(CPU1, "0");

	usleep(100000);
	while (!write_file(CPU1, "1") && errno == EBUSY)
		usleep(20000);
	/* Splicing was blocked by the hotplug; let it proceed. */
	sleep(1);
	return went;
}

static bool disturb_modules(void)
{
	bool ok = run("modprobe -q dummy; insmod $KL_MODULES/kl_awake.ko");

	usleep(50000);
	return run("rmmod -s dummy; rmmod kl_awake") && ok;
}

static bool disturb_ftrace(void)
{
	bool ok;

	write_file(TRACEFS "/current_tracer", "nop");
	close(open(TRACEFS "/set_ftrace_filter", O_WRONLY | O_TRUNC));
	ok = write_file(TRACEFS "/set_ftrace_filter", shared->name[getpid() % 8]) &&
	     write_file(TRACEFS "/set_ftrace_filter", shared->name[(time(NULL) + 3) % CHUNK_MAX]) &&
	     write_file(TRACEFS "/current_tracer", "function");
	usleep(50000);
	ok &= write_file(TRACEFS "/current_tracer", "nop");
	usleep(500000);
	return ok;
}

/* Optimized kprobes take a while to be installed, and to be removed. */
static bool disturb_kprobes(void)
{
	char line[256];
	bool ok;

	snprintf(line, sizeof(line), "p:kl_load %s+%ld\n", shared->name[time(NULL) % CHUNK_MAX],
		 time(NULL) % 2 * 5);
	ok = write_file(TRACEFS "/kprobe_events", line) &&
	     write_file(TRACEFS "/events/kprobes/kl_load/enable", "1");
	usleep(150000);
	write_file(TRACEFS "/events/kprobes/kl_load/enable", "0");
	write_file(TRACEFS "/kprobe_events", "-:kl_load\n");
	/* The kprobe optimizer holds the text mutex for long. */
	sleep(1);
	return ok;
}

static const struct {
	const char *name;
	bool (*act)(void);
} disturbers[] = {
	{ "processes", work_processes }, { "network", work_network },
	{ "files", work_files },	 { "processors", disturb_processors },
	{ "modules", disturb_modules },	 { "ftrace", disturb_ftrace },
	{ "kprobes", disturb_kprobes },
};

#define DISTURBERS (sizeof(disturbers) / sizeof(*disturbers))

static volatile sig_atomic_t over;

static void on_term(int number)
{
	over = 1;
}

/* Print a task's stack in the kernel, if it is neither asleep nor idle, or is @main. */
static void print_stack(int pid, int main)
{
	char path[64], line[512], *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return;
	state = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	if (!state || (pid != main && !strchr("RD", state[2])))
		return;
	printf("# %.*s %c:", (int)(state + 1 - line), line, state[2]);
	snprintf(path, sizeof(path), "/proc/%d/stack", pid);
	file = fopen(path, "re");
	for (int i = 0; file && i < 8 && fgets(line, sizeof(line), file); i++)
		printf(" %.*s", (int)strcspn(line + 5, "+\n"), line + 5);
	if (file)
		fclose(file);
	printf("\n");
}

/* Report what a slow cycle waits for: the stacks of all tasks that run or are blocked. */
static pid_t watch(void)
{
	uint32_t cycles = 0, waited = 0;
	int main = getpid();
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(device);
	for (;; sleep(1)) {
		struct dirent *entry;
		DIR *dir;

		waited = shared->cycles == cycles ? waited + 1 : 0;
		cycles = shared->cycles;
		dir = waited && !(waited % SLOW_S) ? opendir("/proc") : NULL;
		if (!dir)
			continue;
		printf("# cycle %u has taken %u s; tasks that run or are blocked:\n", cycles,
		       waited);
		while ((entry = readdir(dir)))
			if (atoi(entry->d_name) > 0)
				print_stack(atoi(entry->d_name), main);
		closedir(dir);
		fflush(stdout);
	}
}

static pid_t start(unsigned int i)
{
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(device);
	signal(SIGTERM, on_term);
	while (!over) {
		if (disturbers[i].act())
			shared->done[i]++;
		else
			shared->failed[i]++;
		/* A pause: the kernel waits for tasks to sleep, longer if many of them run. */
		usleep(30000);
	}
	_exit(0);
}

/* -------------------------------------------------------------------- cycles */

/* The instruction that contains the byte at @offset. */
static const struct kl_block_instruction *instruction_of(const struct kl_block_graph *g,
							 uint32_t offset)
{
	uint32_t i = 0;

	while (i + 1 < g->instructions && g->instruction[i + 1].offset <= offset)
		i++;
	return &g->instruction[i];
}

/*
 * Splice every block by a breakpoint: at its jump if the instrument is on the edge to it. Functions
 * that need a bounce are left alone.
 */
static void make_traps(struct kl_block_graph *g)
{
	for (uint32_t i = 0; i < g->blocks; i++)
		if (g->block[i].pre.tier == KL_TIER_BOUNCE)
			return;
	for (uint32_t i = 0; i < g->blocks; i++) {
		struct kl_block_point *pre = &g->block[i].pre;
		const struct kl_block_instruction *in =
			instruction_of(g, pre->place - (pre->edge == KL_EDGE_NEXT));

		if (pre->tier == KL_TIER_NONE)
			continue;
		pre->tier = KL_TIER_TRAP;
		pre->begin = in->offset;
		pre->bytes = in->bytes;
	}
}

static void add_chunk(bool traps, bool fires, bool moves)
{
	plan_clear(&plan);
	for (uint32_t i = 0; i < chunk_n; i++) {
		struct kl_block_graph g;

		if (kl_blocks_graph(blocks, chunk[i], &g))
			continue;
		if (traps && !(chunk[i] % 4))
			make_traps(&g);
		plan_add_graph(&plan, &g, moves);
		kl_block_graph_free(&g);
	}
	for (uint32_t i = 0; fires && i < plan.points; i++) {
		plan.point[i].instrument = KL_INSTRUMENT_FIRE;
		plan.point[i].event = event;
	}
}

static int compare_indices(const void *left, const void *right)
{
	const long *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static void choose(void)
{
	uint32_t n = 1 + below(CHUNK_MAX), kept = 0;

	for (uint32_t i = 0; i < n; i++)
		chunk[i] = below(2) ? named[below(named_n)] : below(kl_blocks_functions(blocks));
	qsort(chunk, n, sizeof(*chunk), compare_indices);
	for (uint32_t i = 0; i < n; i++) {
		struct kl_block_function f;

		kl_blocks_function(blocks, chunk[i], &f);
		/*
		 * ftrace matches a filter against all names without rescheduling: leave out
		 * kallsyms, which would hit an event for each letter.
		 */
		if (f.reason || f.bytes > 8000 || strstr(f.name, "kallsyms") ||
		    (kept && chunk[kept - 1] == chunk[i]))
			continue;
		snprintf(shared->name[kept], sizeof(shared->name[0]), "%s", f.name);
		chunk[kept++] = chunk[i];
	}
	chunk_n = kept;
	/* ftrace traces all functions if one without a name is requested. */
	for (uint32_t i = kept; kept && i < CHUNK_MAX; i++)
		memcpy(shared->name[i], shared->name[i % kept], sizeof(shared->name[i]));
}

static void leave_out(uint64_t address)
{
	long index = kl_blocks_find(blocks, address);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < chunk_n; i++)
		if (chunk[i] != index)
			chunk[kept++] = chunk[i];
	chunk_n = kept;
}

/* Functions that a kprobe is in, or is being added to or removed from, are left out. */
static bool splice_chunk(bool traps, bool fires, bool moves, uint32_t *first)
{
	while (chunk_n) {
		struct kl_abi_splice params;
		double begin;
		int ret;

		add_chunk(traps, fires, moves);
		if (!plan.windows)
			break;
		params = plan_target(&plan);
		begin = now();
		ret = ioctl(device, KL_IOC_SPLICE, &params);
		longest_splice = fmax(longest_splice, now() - begin);
		*first = params.first;
		if (!ret)
			return true;
		by_refusal[params.refusal % 32]++;
		if (params.refusal != KL_SPLICE_probed && params.refusal != KL_SPLICE_text &&
		    params.refusal != KL_SPLICE_undecodable) {
			device_call(KL_IOC_SPLICE, &params);
			return false;
		}
		leave_out(plan.window[params.bad].address);
	}
	plan.windows = 0;
	return true;
}

static uint64_t records(void)
{
	struct kl_abi_stats stats = { .size = sizeof(stats), .cpu = -1 };

	return device_call(KL_IOC_STATS, &stats) ? 0 : stats.written;
}

static bool cycle(bool fires)
{
	static uint64_t count[PLAN_POINTS_MAX];
	struct kl_abi_unsplice unsplice = { .size = sizeof(unsplice) };
	struct kl_abi_splice_counts counts = { .size = sizeof(counts), .count = (uintptr_t)count };
	uint64_t before = records();
	double begin;
	bool ok;

	choose();
	ok = splice_chunk(!below(2), fires, below(2), &counts.first);
	moved += plan.moved;
	spliced += ok && plan.windows;
	usleep(below(60) * 1000);
	counts.n = plan.points;
	if (ok && plan.windows)
		ok = !device_call(KL_IOC_SPLICE_COUNTS, &counts) && counts.n == plan.points;
	for (uint32_t i = 0; ok && plan.windows && i < counts.n; i++)
		passed += count[i] != 0;
	windows += plan.windows;
	fired += records() - before;
	begin = now();
	ok = !device_call(KL_IOC_UNSPLICE, &unsplice) && !unsplice.lost &&
	     unsplice.windows == (ok ? plan.windows : 0u) && ok;
	longest_unsplice = fmax(longest_unsplice, now() - begin);
	return ok;
}

static void find_named(const struct kl_symbols *symbols, char **names)
{
	for (; *names && named_n < NAMED_MAX; names++) {
		uint64_t address = symbol_address(symbols, *names);
		long index = address ? kl_blocks_find(blocks, address) : -1;

		if (index >= 0)
			named[named_n++] = index;
	}
}

/* A session that keeps the last records of one event, which blocks hit. */
static bool record(void)
{
	static struct kl_abi_maskset m = { .size = sizeof(m), .id = KL_MASKSET_FIRST_USER };
	struct kl_abi_session session = { .size = sizeof(session), .mode = KL_MODE_OVERWRITE };
	struct kl_abi_use use = { .size = sizeof(use), .maskset = m.id };
	struct kl_abi_event of = { .kind = KL_SOURCE_KIND_BLOCK };
	struct kl_abi_events events = { .size = sizeof(events), .n = 1, .event = (uintptr_t)&of };
	uint8_t handler = KL_HANDLER_log;

	if (device < 0 || device_call(KL_IOC_SESSION, &session) ||
	    device_call(KL_IOC_EVENTS, &events))
		return false;
	event = events.first;
	m.dynamic = (uintptr_t)&handler;
	m.n_dynamic = 1;
	snprintf(m.name, sizeof(m.name), "load");
	return !device_call(KL_IOC_MASKSET_WRITE, &m) && !device_call(KL_IOC_MASKSET_USE, &use) &&
	       !device_call(KL_IOC_START, NULL);
}

static void set_ready(bool ready)
{
	const char *path = getenv("KL_READY");

	if (path && ready)
		close(open(path, O_CREAT | O_WRONLY, 0600));
	else if (path)
		unlink(path);
}

/* Stop the disturbers and restore whatever they may have left changed. */
static void stop(const pid_t *child)
{
	for (unsigned int i = 0; i < DISTURBERS; i++)
		kill(child[i], SIGTERM);
	for (unsigned int i = 0; i < DISTURBERS; i++)
		waitpid(child[i], NULL, 0);
	for (unsigned int i = 0; i < DISTURBERS; i++)
		printf("# %s: %u times, %u not\n", disturbers[i].name, shared->done[i],
		       shared->failed[i]);
	write_file(TRACEFS "/current_tracer", "nop");
	close(open(TRACEFS "/set_ftrace_filter", O_WRONLY | O_TRUNC));
	/* The kernel unoptimizes kprobes in the background. */
	sleep(2);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 30, end;
	uint32_t most = argc > 3 ? (uint32_t)atoi(argv[3]) : UINT32_MAX, cycles;
	struct kl_symbols *symbols = kl_symbols_open("/proc/kallsyms");
	pid_t child[DISTURBERS], watcher;
	struct text text;
	bool ok = true;

	printf("# seed %s\n", argc > 2 ? argv[2] : "1");
	state = (argc > 2 ? strtoull(argv[2], NULL, 0) : 1) * 0x9e3779b97f4a7c15 | 1;
	blocks = symbols ? kl_blocks_open(NULL, symbols) : NULL;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (!blocks || argc < 5 || shared == MAP_FAILED || !text_read(symbols, &text)) {
		fprintf(stderr, "%s\n", kl_error_text());
		return 2;
	}
	find_named(symbols, argv + 4);
	device = open(KL_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	unit_check(record() && named_n, "a session");
	run("ip link set lo up");
	do
		choose();
	while (!chunk_n);
	for (unsigned int i = 0; i < DISTURBERS; i++)
		child[i] = start(i);
	watcher = watch();
	set_ready(true);
	/* On a slow machine, a few cycles may have chosen only functions that never run. */
	for (end = now() + seconds;
	     ok && now() < end + (passed ? 0 : 2 * seconds) && shared->cycles < most;
	     shared->cycles++)
		ok = cycle(shared->cycles % 2);
	cycles = shared->cycles;
	set_ready(false);
	kill(watcher, SIGKILL);
	waitpid(watcher, NULL, 0);
	stop(child);
	printf("# %u cycles, %" PRIu64 " with splices: %" PRIu64 " windows, %" PRIu64
	       " functions moved, %" PRIu64 " points were passed, %" PRIu64
	       " records; refused: %" PRIu64 " probed, %" PRIu64 " changed\n",
	       cycles, spliced, windows, moved, passed, fired, by_refusal[KL_SPLICE_probed],
	       by_refusal[KL_SPLICE_text]);
	printf("# a splice took up to %.1f s, taking back up to %.1f s\n", longest_splice,
	       longest_unsplice);
	unit_check(ok, "all has been spliced and taken back");
	unit_check(spliced && passed, "while it was passed");
	unit_check(fired || cycles < 6, "and events were recorded");
	for (unsigned int i = 0; i < DISTURBERS; i++)
		unit_check(shared->done[i], disturbers[i].name);
	unit_check(!shared->failed[0] && !shared->failed[1] && !shared->failed[2],
		   "processes, the network and files worked");
	unit_check(text_is(symbols, blocks, &text), "the text is what it was");
	kl_blocks_close(blocks);
	kl_symbols_close(symbols);
	return unit_end();
}
