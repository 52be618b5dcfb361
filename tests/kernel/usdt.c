// SPDX-License-Identifier: GPL-2.0
/*
 * USDT markers as the module sees them: the registers as arguments, a semaphore that counts the
 * attached events, and locations that fire the event of another. Run as root.
 *
 *	kernel-usdt
 */
#include <sys/wait.h>

#include "defined.h"

#define CALLS 500
#define REGISTERS KL_BLOCK_ARGUMENTS

static struct defined d, other;
static char self[256];

/* In pages of the file that are written only in private, as those of .probes are. */
__attribute__((section(".probes"))) static volatile u16 semaphores[2] = { 0, 7 };

/* Locations: at a nop, with a known value in every register that can have one. */
#define LOCATION(name)                                                                         \
	__attribute__((noinline, noclone)) static void name(u64 i)                             \
	{                                                                                      \
		register u64 r8 __asm__("r8") = 8 * i, r9 __asm__("r9") = 9 * i;               \
		register u64 r10 __asm__("r10") = 10 * i, r11 __asm__("r11") = 11 * i;         \
		register u64 r12 __asm__("r12") = 12 * i, r13 __asm__("r13") = 13 * i;         \
		register u64 r14 __asm__("r14") = 14 * i, r15 __asm__("r15") = 15 * i;         \
                                                                                               \
		__asm__ volatile(".globl " #name "_at\n" #name "_at: nop"                      \
				 : /* nothing */                                               \
				 : "a"(i), "c"(-i), "d"(2 * i), "b"(3 * i), "S"(6 * i),        \
				   "D"(7 * i), "r"(r8), "r"(r9), "r"(r10), "r"(r11), "r"(r12), \
				   "r"(r13), "r"(r14), "r"(r15));                              \
	}                                                                                      \
	extern const u8 name##_at[]

LOCATION(first);
LOCATION(second);

static bool check_registers(const u64 *number, const u8 *at)
{
	u64 i = number[0], here;

	for (u32 r = 6; r < 16; r++)
		if (number[r] != r * i)
			return false;
	/* The stack and the frame are somewhere near. */
	here = (u64)(uintptr_t)&here;
	return i && i <= CALLS && number[1] == -i && number[2] == 2 * i && number[3] == 3 * i &&
	       number[4] - here + 65536 < 131072 && number[KL_BLOCK_FLAGS] & 0x200 &&
	       number[KL_BLOCK_IP] == (u64)(uintptr_t)at;
}

static bool check_first(u64 index, const u64 *number)
{
	return check_registers(number, first_at);
}

static bool check_either(u64 index, const u64 *number)
{
	return check_registers(number, number[KL_BLOCK_IP] == (u64)(uintptr_t)second_at ?
					       second_at :
					       first_at);
}

static u32 add(struct defined *to, const u8 *at, u64 semaphore, check_fn check)
{
	return defined_add(to, KL_SOURCE_KIND_USDT, semaphore, kl_file_offset(at), self, REGISTERS,
			   check);
}

static void run(void)
{
	for (u64 i = 1; i <= CALLS; i++) {
		first(i);
		second(i);
	}
}

static void test_registers(void)
{
	defined_open(&d, KL_MODE_DISCARD);
	add(&d, first_at, 0, check_first);
	if (!tap_result(!defined_make(&d), "a marker is defined", "%s", kl_why(d.fd)))
		return;
	defined_use(&d, d.n);
	defined_start(&d);
	run();
	defined_stop(&d);
	tap_result(d.seen[0] == CALLS && !d.wrong && !d.foreign,
		   "it fires at each hit, with all registers", "%llu of %u, %llu wrong",
		   (unsigned long long)d.seen[0], CALLS, (unsigned long long)d.wrong);
	close(d.fd);
}

static void test_locations(void)
{
	u32 more;

	defined_open(&d, KL_MODE_DISCARD);
	add(&d, first_at, 0, check_either);
	more = add(&d, second_at, 0, check_either);
	d.event[more].flags = KL_EVENT_LOCATION;
	add(&d, second_at, 0, check_either);
	if (!tap_result(!defined_make(&d), "a marker with two locations", "%s", kl_why(d.fd)))
		return;
	/* Only the first event has an action. */
	defined_use(&d, 1);
	defined_start(&d);
	run();
	defined_stop(&d);
	tap_result(d.seen[0] == 2 * CALLS && !d.wrong && !d.foreign && !d.seen[more] &&
			   !d.seen[more + 1],
		   "is one event", "%llu of %u, %llu wrong, %llu and %llu others",
		   (unsigned long long)d.seen[0], 2 * CALLS, (unsigned long long)d.wrong,
		   (unsigned long long)d.seen[more], (unsigned long long)d.seen[more + 1]);
	close(d.fd);

	defined_open(&d, KL_MODE_DISCARD);
	add(&d, first_at, 0, check_either);
	more = add(&d, second_at, 0, check_either);
	d.event[more].flags = KL_EVENT_LOCATION;
	if (defined_make(&d))
		bail("locations: %s", kl_why(d.fd));
	defined_use(&d, d.n);
	defined_start(&d);
	run();
	defined_stop(&d);
	tap_result(d.seen[0] == 2 * CALLS && !d.seen[more],
		   "whatever action the other location has", "%llu of %u, %llu others",
		   (unsigned long long)d.seen[0], 2 * CALLS, (unsigned long long)d.seen[more]);
	close(d.fd);
}

/* Wait for the value in a child that was started before. */
static bool child_has(int to, int from, u16 value)
{
	u16 seen;

	return write(to, "?", 1) == 1 && read(from, &seen, sizeof(seen)) == sizeof(seen) &&
	       seen == value;
}

static void test_semaphore(void)
{
	u64 at = kl_file_offset((const void *)&semaphores[0]);
	int to[2], from[2];
	char c;

	if (pipe(to) || pipe(from))
		bail("pipe");
	if (!fork()) {
		close(to[1]);
		while (read(to[0], &c, 1) == 1)
			if (write(from[1], (void *)&semaphores[0], 2) != 2)
				break;
		_exit(0);
	}
	close(to[0]);
	defined_open(&d, KL_MODE_DISCARD);
	add(&d, first_at, at, check_first);
	if (!tap_result(!defined_make(&d), "a marker with a semaphore", "%s", kl_why(d.fd)))
		return;
	defined_use(&d, d.n);
	tap_check(!semaphores[0], "a definition does not change it");
	defined_start(&d);
	tap_check(semaphores[0] == 1, "while attached, it is 1");
	tap_check(child_has(to[1], from[0], 1), "in another process, too");
	defined_open(&other, KL_MODE_DISCARD);
	add(&other, first_at, at, check_first);
	add(&other, second_at, at, check_either);
	if (defined_make(&other))
		bail("another session: %s", kl_why(other.fd));
	defined_use(&other, other.n);
	defined_start(&other);
	/* The kernel has one probe for each location, whatever the number of sessions. */
	tap_result(semaphores[0] == 2, "another location makes it 2", "%u", semaphores[0]);
	run();
	defined_stop(&other);
	tap_check(semaphores[0] == 1 && semaphores[1] == 7,
		  "one that stops leaves it to the other");
	/* Without any action, the marker is detached. */
	defined_use(&d, 0);
	tap_check(!semaphores[0] && child_has(to[1], from[0], 0),
		  "another maskset without the marker: 0");
	defined_use(&d, 1);
	tap_check(semaphores[0] == 1, "and 1 again with it");
	defined_stop(&d);
	tap_check(!semaphores[0] && child_has(to[1], from[0], 0), "after the end, it is 0");
	close(other.fd);
	close(d.fd);
	close(to[1]);
	wait(NULL);
}

/* The kernel keeps one semaphore for a location. */
static void test_two_semaphores(void)
{
	u64 at = kl_file_offset((const void *)&semaphores[0]);
	u64 at_other = kl_file_offset((const void *)&semaphores[1]);

	defined_open(&d, KL_MODE_DISCARD);
	add(&d, first_at, at, check_first);
	add(&d, first_at, at_other, check_first);
	if (defined_make(&d))
		bail("two semaphores: %s", kl_why(d.fd));
	defined_use(&d, d.n);
	tap_result(kl_start(d.fd) == -EINVAL && !semaphores[0] && semaphores[1] == 7,
		   "two semaphores for one location are refused, and neither stays incremented",
		   "%s; %u and %u", kl_why(d.fd), semaphores[0], semaphores[1]);
	close(d.fd);
}

static void refuse(struct kl_abi_event event, u32 n, int error, const char *name)
{
	struct kl_abi_event pair[2] = { event, event };
	struct kl_abi_events events = { .size = sizeof(events),
					.n = n,
					.event = (u64)(uintptr_t)pair };
	struct kl_abi_session params = {};
	int fd = kl_open(), got;

	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	got = kl_call(fd, KL_IOC_EVENTS, &events);
	tap_result(got == error && kl_why(fd)[0], name, "%d: %s", got, kl_why(fd));
	printf("# %s\n", kl_why(fd));
	close(fd);
}

static void test_errors(void)
{
	struct kl_abi_event good = {
		.kind = KL_SOURCE_KIND_USDT,
		.arg = kl_file_offset(first_at),
		.name = (u64)(uintptr_t)self,
	}, event = good;

	event.flags = KL_EVENT_LOCATION;
	refuse(event, 1, -EINVAL, "a location without a marker");
	event = good;
	event.address = 1;
	refuse(event, 1, -EINVAL, "a semaphore at an odd offset");
	event.address = 1ull << 40;
	refuse(event, 1, -EINVAL, "a semaphore beyond the file");
	event = good;
	event.name = 0;
	refuse(event, 1, -EINVAL, "no file");
	event = good;
	event.arg = 1ull << 40;
	refuse(event, 1, -EINVAL, "a location beyond the file");
	event = good;
	event.kind = KL_SOURCE_KIND_UPROBE;
	event.flags = KL_EVENT_LOCATION;
	refuse(event, 2, -EINVAL, "a location of something other than a marker");
	event = good;
	event.kind = KL_SOURCE_KIND_UPROBE;
	event.address = 16;
	refuse(event, 1, -EINVAL, "a semaphore of something other than a marker");
	fflush(stdout);
	if (!fork()) {
		if (setgid(65534) || setuid(65534))
			bail("setuid");
		refuse(good, 1, -EPERM, "a user without privilege: no marker");
		_exit(tap.failures);
	}
}

int main(void)
{
	int status = 0;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || !kl_file_offset(first_at) ||
	    !kl_file_offset((const void *)semaphores))
		bail("/proc/self");
	test_registers();
	test_locations();
	test_semaphore();
	test_two_semaphores();
	test_errors();
	wait(&status);
	tap.tests++;
	tap_check(!status, "a user without privilege");
	return tap_end();
}
