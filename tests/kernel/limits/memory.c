// SPDX-License-Identifier: GPL-2.0
/*
 * Memory limits: tables, programs, masksets and everything else that sessions allocate, buffers
 * that are resized while they are mapped, and definitions, which are refused before they are read.
 */
#include <sched.h>
#include <sys/syscall.h>

#include "limits.h"

/* ------------------------------------------------------------------- memory */

/* Adds a rule with a table of 65,536 entries on each CPU. */
static int add_table(int fd, u32 key)
{
	struct kl_abi_rule rule = { .size = sizeof(rule),
				    .handler = KL_HANDLER_count,
				    .n_keys = 1,
				    .key = { key },
				    .entries = 1 << 16 };

	return kl_call(fd, KL_IOC_RULE, &rule);
}

void fill_with_tables(void)
{
	u64 available = meminfo("MemAvailable"), before, now = 0;
	int fd = small_session(), error = 0;
	u32 key, n = 0;

	key = kl_program(fd, (struct kl_abi_op){ .code = KL_OP_CONST, .imm64 = 1 });
	before = used(fd, KL_LIMIT_memory);
	while (n < 48 && !error) {
		now = used(fd, KL_LIMIT_memory);
		error = add_table(fd, key);
		n += !error;
	}
	tap_result(error == -EDQUOT && n, "tables beyond the limit of memory are refused",
		   "%u tables, error %d", n, error);
	tap_check(says(fd, "64 MiB of memory", "of a user", "memory_mb_per_user"),
		  "the refusal says which limit, what is in use and who can raise it");
	tap_result(used(fd, KL_LIMIT_memory) == now && now > before && now <= 64 * MIB,
		   "a refused call leaves the sum as it was", "%llu, then %llu",
		   (unsigned long long)now, (unsigned long long)used(fd, KL_LIMIT_memory));
	available -= meminfo("MemAvailable");
	tap_result((s64)available < 64 * 1024 * 5 / 4 + 8192,
		   "the kernel has no more memory than the limit allows", "%lld KiB more",
		   (long long)available);
	close(fd);
}

/* Everything else that allocates memory, until the limit is reached. */
static int add_program(int fd)
{
	struct kl_abi_op ops[KL_PROGRAM_OPS_MAX] = {};
	struct kl_abi_program program = { .size = sizeof(program),
					  .ops = (u64)(uintptr_t)ops,
					  .n_ops = KL_PROGRAM_OPS_MAX };

	for (u32 i = 0; i < KL_PROGRAM_OPS_MAX - 1; i++)
		ops[i].code = KL_OP_CONST;
	ops[KL_PROGRAM_OPS_MAX - 1].code = KL_OP_END;
	return kl_call(fd, KL_IOC_PROGRAM, &program);
}

static int add_metadata(int fd)
{
	static char text[12 << 20];
	struct kl_abi_metadata metadata = { .size = sizeof(metadata),
					    .bytes = sizeof(text),
					    .text = (u64)(uintptr_t)text };

	return kl_call(fd, KL_IOC_METADATA_SET, &metadata);
}

static int add_flag(int fd)
{
	static u32 flag;
	struct kl_abi_rule rule = { .size = sizeof(rule),
				    .handler = KL_HANDLER_set,
				    .arg = flag++ % 32 };

	return kl_call(fd, KL_IOC_RULE, &rule);
}

int add_stacks(int fd)
{
	struct kl_abi_latency params = { .size = sizeof(params),
					 .flags = KL_LATENCY_USER_STACKS,
					 .tasks = 1024 };

	return kl_call(fd, KL_IOC_LATENCY, &params);
}

static int add_filter(int fd)
{
	return kl_filter(fd, KL_FILTER_TASKS, 0);
}

static int add_maskset(int fd)
{
	static struct kl_abi_maskset m;
	static u32 id = KL_MASKSET_FIRST_USER;

	m.size = sizeof(m);
	m.id = id++;
	return kl_call(fd, KL_IOC_MASKSET_WRITE, &m);
}

int add_reader(int fd)
{
	int reader = kl_reader(fd, 0);

	if (reader >= 0)
		close(reader);
	return reader < 0 ? reader : 0;
}

static const struct {
	const char *name;
	int (*add)(int fd);
} kinds[] = {
	{ "programs", add_program },	  { "metadata", add_metadata },
	{ "flags of tasks", add_flag },	  { "a latency profile", add_stacks },
	{ "a set of tasks", add_filter }, { "masksets", add_maskset },
};

/* With 4 MiB each kind reaches the limit or its maximum; a failed call frees what it allocated. */
static void check_kinds(void)
{
	for (u32 i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		int fd = small_session(), error = 0;
		u64 before = used(fd, KL_LIMIT_memory), last = before;
		u32 n = 0;

		for (; n < 2000 && !error; n++) {
			last = used(fd, KL_LIMIT_memory);
			error = kinds[i].add(fd);
			if (n && !error && used(fd, KL_LIMIT_memory) == last)
				break;
		}
		if (error == -EDQUOT)
			tap_result(says(fd, "4 MiB of memory", "of a user", "memory_mb_per_user") &&
					   used(fd, KL_LIMIT_memory) == last,
				   kinds[i].name, "%llu of %llu after it",
				   (unsigned long long)used(fd, KL_LIMIT_memory),
				   (unsigned long long)last);
		else
			tap_result(used(fd, KL_LIMIT_memory) > before && n, kinds[i].name,
				   "error %d after %u", error, n);
		close(fd);
	}
}

/* A resize that does not fit, and one that does. */
static void check_resize(void)
{
	struct kl_abi_session params = { .blocks = 8, .block_bytes = 4096, .blocks_max = 4096 };
	int fd = kl_open();
	u64 before;

	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	before = used(fd, KL_LIMIT_memory);
	tap_check(kl_resize(fd, 4096) == -EDQUOT && used(fd, KL_LIMIT_memory) == before,
		  "a buffer beyond the limit is refused and not charged");
	tap_check(!kl_resize(fd, 16) && used(fd, KL_LIMIT_memory) >= before + 8 * 4096,
		  "a larger one is charged");
	close(fd);
}

static void *map_block(int reader, u32 index)
{
	return mmap(NULL, 4096, PROT_READ, MAP_SHARED, reader, KL_MMAP_BLOCK(0, index, 4096));
}

/* Blocks that the session frees while a reader has them mapped are still charged. */
static void check_mapped(void)
{
	static const u32 calls[] = { KL_EV_SYSCALL_ENTRY + SYS_getppid, 0 };
	struct kl_abi_session params = { .mode = KL_MODE_OVERWRITE,
					 .blocks = 32,
					 .block_bytes = 4096 };
	int fd = kl_open(), reader, mapped = 0;
	u64 before, kept, after;
	void *block[32];

	kl_pin(0);
	if (kl_session(fd, &params) || kl_use_events(fd, 3, KL_HANDLER_log, calls) || kl_start(fd))
		bail("session: %s", kl_why(fd));
	reader = kl_reader(fd, 0);
	for (u32 i = 0; i < 32; i++) {
		block[i] = map_block(reader, i);
		mapped += block[i] != MAP_FAILED;
	}
	before = used(fd, KL_LIMIT_memory);
	if (kl_resize(fd, 4))
		bail("resize: %s", kl_why(fd));
	for (u32 i = 0; i < 20000; i++)
		syscall(SYS_getppid);
	kl_resize(fd, 5);
	kept = used(fd, KL_LIMIT_memory);
	for (u32 i = 0; i < 32; i++)
		if (block[i] != MAP_FAILED)
			munmap(block[i], 4096);
	kl_resize(fd, 4);
	after = used(fd, KL_LIMIT_memory);
	tap_result(mapped == 32 && kept >= before && after + 20 * 4096 <= kept,
		   "blocks stay charged while they are mapped", "%d mapped; %lld, %lld, %lld",
		   mapped, (long long)before, (long long)kept, (long long)after);
	close(reader);
	close(fd);
}

void user_with_4_mib(void)
{
	int fd = kl_open();
	u64 before = used(fd, KL_LIMIT_memory);

	check_kinds();
	check_resize();
	check_mapped();
	tap_result(used(fd, KL_LIMIT_memory) == before && !used(fd, KL_LIMIT_sessions) &&
			   !used(fd, KL_LIMIT_readers),
		   "nothing is charged after the sessions", "%llu bytes more",
		   (unsigned long long)(used(fd, KL_LIMIT_memory) - before));
}

/* -------------------------------------------------------------- definitions */

void user_defines(void)
{
	static char name[5000];
	struct kl_abi_event event = { .kind = KL_SOURCE_KIND_TRACEPOINT,
				      .name = (u64)(uintptr_t)name };
	struct kl_abi_events events = { .size = sizeof(events),
					.n = KL_EV_DYNAMIC_MAX,
					.event = 4096 };
	int fd = small_session();
	u64 before = used(fd, KL_LIMIT_memory);

	tap_check(kl_call(fd, KL_IOC_EVENTS, &events) == -ENOSPC,
		  "more events than there may be are refused before they are read");
	memset(name, 'x', 4000);
	events.n = 1;
	events.event = (u64)(uintptr_t)&event;
	tap_check(kl_call(fd, KL_IOC_EVENTS, &events) == -EINVAL && strstr(kl_why(fd), "255"),
		  "a tracepoint's name of 4000 bytes is refused");
	tap_check(used(fd, KL_LIMIT_memory) == before, "neither is charged");
	close(fd);
}

u32 define_ticks(int fd, u32 n)
{
	struct kl_abi_event event[64];
	struct kl_abi_events events = { .size = sizeof(events),
					.n = n,
					.event = (u64)(uintptr_t)event };

	for (u32 i = 0; i < n; i++)
		event[i] = (struct kl_abi_event){ .kind = KL_SOURCE_KIND_TICK, .arg = 1 };
	return kl_call(fd, KL_IOC_EVENTS, &events);
}

void user_with_10_events(void)
{
	int fd = small_session(), other = small_session();

	tap_check(!define_ticks(fd, 6) && used(fd, KL_LIMIT_events) == 6, "events are counted");
	tap_check(define_ticks(other, 6) == (u32)-EDQUOT &&
			  says(other, "10 events", "of a user", "events_per_user"),
		  "those of all sessions of a user are limited");
	close(fd);
	tap_check(!define_ticks(other, 6), "and possible when the others have gone");
	close(other);
}

/* 100 MB of names, as root: refused by the machine's limit while they are read. */
void check_names(int fd)
{
	u32 n = 25000;
	struct kl_abi_event *event = calloc(n, sizeof(*event));
	struct kl_abi_events events = { .size = sizeof(events),
					.n = n,
					.event = (u64)(uintptr_t)event };
	int other = small_session();
	static char name[4096];
	u64 before = used(fd, KL_LIMIT_memory);

	memset(name, '/', 4000);
	for (u32 i = 0; i < n; i++)
		event[i] = (struct kl_abi_event){ .kind = KL_SOURCE_KIND_UPROBE,
						  .name = (u64)(uintptr_t)name };
	kl_set_parameter("memory_mb_machine", (before >> 20) + 33);
	tap_check(kl_call(other, KL_IOC_EVENTS, &events) == -ENOSPC &&
			  says(other, "MiB of memory", "of the machine", "memory_mb_machine") &&
			  events.bad > 1000 && events.bad < 10000,
		  "names are charged as they are copied, also root's");
	tap_check(used(fd, KL_LIMIT_memory) == before, "and given back");
	kl_set_parameter("memory_mb_machine", 512);
	free(event);
	close(other);
}
