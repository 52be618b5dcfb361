// SPDX-License-Identifier: GPL-2.0
/*
 * How a user affects others within the limits: slow calls make no other user wait, ticks consume
 * tokens as patches of the kernel's text do, and of a block only the pages that are still
 * referenced stay in memory. Called by limits.c.
 */
#include <pthread.h>
#include <sys/uio.h>

#include "limits.h"

/* ------------------------------------------------------------------- resizing */

#define RESIZERS 8
#define LOOKS 50

static volatile u32 *resizes;

static void *resize(void *unused)
{
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 4096, .blocks_max = 64 };
	int fd = kl_open();

	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	for (u32 blocks = 64;; blocks = blocks == 64 ? 4 : 64) {
		if (kl_resize(fd, blocks))
			bail("resize: %s", kl_why(fd));
		__atomic_fetch_add(resizes, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void resize_all_the_time(void)
{
	pthread_t thread;

	for (u32 i = 0; i < RESIZERS; i++)
		pthread_create(&thread, NULL, resize, NULL);
	pause();
}

/*
 * A resize waits for a grace period: a call that has to wait for a resize sees the count of resizes
 * rise in the meantime.
 */
void check_resizers(int fd)
{
	u32 seen = 0, calls = 0, before;
	pid_t child;

	resizes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (resizes == MAP_FAILED)
		bail("shared memory");
	child = start(resize_all_the_time, UID_USER1);
	while (*resizes < 4 * RESIZERS)
		sleep_ms(10);
	for (u32 i = 0; i < LOOKS; i++) {
		sleep_ms(2);
		before = *resizes;
		kl_info(fd);
		seen += *resizes - before;
		calls += *resizes != before;
	}
	/* On a slow kernel, others run during many a call, and resize several times. */
	tap_result(kl_slowness() > 1 ? calls < LOOKS * 9 / 10 : seen < LOOKS / 2,
		   "one who resizes makes nobody else wait", "%u resizes during %u of %u calls",
		   seen, calls, LOOKS);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	munmap((void *)resizes, 4096);
}

/* ---------------------------------------------------------------------- ticks */

void user_with_3_ticks(void)
{
	static u8 handler[] = { KL_HANDLER_count, KL_HANDLER_count, KL_HANDLER_count };
	static struct kl_abi_maskset m;
	int fd = small_session();
	u64 before, started;

	m.size = sizeof(m);
	m.id = KL_MASKSET_FIRST_USER;
	m.dynamic = (u64)(uintptr_t)handler;
	m.n_dynamic = sizeof(handler);
	if (define_ticks(fd, sizeof(handler)) || kl_call(fd, KL_IOC_MASKSET_WRITE, &m) ||
	    kl_use(fd, KL_MASKSET_FIRST_USER))
		bail("ticks: %s", kl_why(fd));
	before = limits_at(fd, 0).patches;
	if (kl_start(fd))
		bail("start: %s", kl_why(fd));
	started = limits_at(fd, 0).patches - before;
	tap_result(started == 2 * sizeof(handler), "ticks take tokens as they are attached",
		   "%llu tokens for %zu", (unsigned long long)started, sizeof(handler));
	close(fd);
}

/* --------------------------------------------------------------- pinned pages */

#define BIG 1048576
#define PINNED 32

static struct kl_abi_session big_blocks(void)
{
	u32 cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return (struct kl_abi_session){ .blocks = PINNED / cpus,
					.blocks_max = PINNED / cpus,
					.block_bytes = BIG };
}

/* Keeps a page of each block in a pipe. */
static void pin_pages(int reader, int to, u32 cpus, u32 blocks)
{
	for (u32 i = 0; i < cpus * blocks; i++) {
		void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, reader,
				  KL_MMAP_BLOCK(i / blocks, i % blocks, BIG));
		struct iovec part = { .iov_base = page, .iov_len = 4096 };

		if (page == MAP_FAILED || vmsplice(to, &part, 1, 0) != 4096)
			bail("page of block %u", i);
		munmap(page, 4096);
	}
}

/* Available memory below @before, in kB, once freed memory has been returned. */
static long memory_lost(long before)
{
	long lost = before - available_memory();

	for (u32 i = 0; i < 50 && lost > 8192; i++) {
		sleep_ms(100);
		lost = before - available_memory();
	}
	return lost;
}

void user_pins_pages(void)
{
	struct kl_abi_session params = big_blocks();
	u32 cpus = sysconf(_SC_NPROCESSORS_ONLN);
	long before = available_memory(), lost;
	int fd = kl_open(), reader, ends[2];

	if (pipe(ends) || fcntl(ends[1], F_SETPIPE_SZ, 64 * 4096) < 0)
		bail("pipe");
	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	reader = kl_reader(fd, 0);
	pin_pages(reader, ends[1], cpus, params.blocks);
	close(reader);
	close(fd);
	lost = memory_lost(before);
	tap_result(lost < 8192, "a pipe with a page of each block keeps no more than these pages",
		   "%ld kB of %u", lost, PINNED * BIG / 1024);
	close(ends[0]);
	close(ends[1]);
}
