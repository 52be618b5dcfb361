// SPDX-License-Identifier: GPL-2.0
/* Address spaces and their page faults, floating-point states, and page allocation. */
#include <immintrin.h>
#include <signal.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "cause.h"

#define PAGES 64
#define MANY_BYTES (8 << 20)

static volatile double number = 1;

static void touch(void)
{
	char *pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	int fd = CHECK(open("/dev/zero", O_RDONLY | O_CLOEXEC));

	if (pages == MAP_FAILED)
		DIE("mmap");
	for (int i = 0; i < PAGES / 2; i++) {
		pages[i * 4096] = 1;
		fact("x86_exceptions_page_fault_user address=%p error_code=6", pages + i * 4096);
	}
	/* The kernel writes to pages that are not present yet. */
	for (int i = PAGES / 2; i < PAGES; i++) {
		CHECK(read(fd, pages + i * 4096, 8));
		fact("x86_exceptions_page_fault_kernel address=%p error_code=2", pages + i * 4096);
	}
	close(fd);
	fact("vm_unmapped_area addr=%p length=%d", pages, PAGES * 4096);
	CHECK(mprotect(pages, 4096, PROT_READ));
	CHECK(munmap(pages, PAGES * 4096));
}

/* Enough that CPUs take pages from the zone's free lists and return them. */
static void touch_many(void)
{
	char *memory =
		mmap(NULL, MANY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		DIE("mmap");
	CHECK(madvise(memory, MANY_BYTES, MADV_NOHUGEPAGE));
	for (long at = 0; at < MANY_BYTES; at += 4096)
		memory[at] = 1;
	CHECK(munmap(memory, MANY_BYTES));
}

/* The kernel reads the registers of a task that dumps core. */
static void dump_core(void)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	pid_t pid;

	must_write("/proc/sys/kernel/core_pattern", "/tmp/kl-core");
	pid = CHECK(fork());
	if (!pid) {
		CHECK(setrlimit(RLIMIT_CORE, &all));
		number = number * 1.5;
		abort();
	}
	CHECK(waitpid(pid, NULL, 0));
	unlink("/tmp/kl-core");
}

static void move_break(void)
{
	char *end = sbrk(0);

	for (int i = 0; i < 4; i++) {
		CHECK((long)sbrk(16384));
		end[i * 16384] = 1;
	}
	CHECK((long)sbrk(-4 * 16384));
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	/*
	 * Clear the magic of the extended state: the kernel restores only the first 512 bytes and
	 * notes it.
	 */
	if (number == SIGUSR2)
		*(uint32_t *)((char *)uc->uc_mcontext.fpregs + 464) = 0;
}

static void use_floats(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	CHECK(sigaction(SIGUSR1, &action, NULL));
	CHECK(sigaction(SIGUSR2, &action, NULL));
	for (int i = 0; i < 5; i++) {
		pid_t pid = CHECK(fork());

		if (!pid) {
			for (int k = 0; k < 1000; k++)
				number = number * 1.0001;
			if (i & 1)
				execl("/bin/true", "true", NULL);
			_exit(0);
		}
		number = number + 1;
		CHECK(waitpid(pid, NULL, 0));
		CHECK(raise(SIGUSR1));
		CHECK(raise(SIGUSR2));
	}
}

static void read_files(void)
{
	char buffer[65536];
	int fd = CHECK(open("/tmp/kl-fault", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));

	memset(buffer, 1, sizeof(buffer));
	CHECK(write(fd, buffer, sizeof(buffer)));
	CHECK(fsync(fd));
	CHECK(ftruncate(fd, 0));
	close(fd);
	unlink("/tmp/kl-fault");
}

static void change_oom_score(void)
{
	must_write("/proc/self/oom_score_adj", "123");
	fact("oom_score_adj_update tid=%d comm=fault oom_score_adj=123", getpid());
	must_write("/proc/self/oom_score_adj", "0");
}

int main(void)
{
	touch();
	touch_many();
	dump_core();
	move_break();
	use_floats();
	read_files();
	change_oom_score();
	return 0;
}
