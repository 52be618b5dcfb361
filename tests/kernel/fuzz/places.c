// SPDX-License-Identifier: GPL-2.0
/*
 * Events at user-defined probe points: functions and their returns, functions of programs,
 * tracepoints of the kernel and of a module that comes and goes, ticks. Each is one session with a
 * few valid events, fired at once by the process that has defined them. Unprivileged users try the
 * same: they are allowed tracepoints, ticks and traps.
 */
#include <sys/syscall.h>

#include "fuzz.h"

#define PLACES 4 /* most events of a session */

__attribute__((noinline)) static int called(int number)
{
	asm volatile("" : "+r"(number));
	return number + 1;
}

static u32 define(struct kl_abi_event *event, u32 program)
{
	static const char *const points[] = {
		"sched_switch",		  "sched_wakeup",     "sys_enter",  "sys_exit",
		"task_newtask",		  "kmem_cache_alloc", "kls_passed", "timer_start",
		"mm_page_alloc",	  "kls_passed",	      "tlb_flush",  "sched_kthread_stop",
		"mmap_lock_start_locking"
	};
	const char *point = points[below(sizeof(points) / sizeof(*points))];
	u32 kind = me->uid ? below(3) : below(6);

	memset(event, 0, PLACES * sizeof(*event));
	event[0].program = event[1].program = program;
	switch (kind) {
	case 0:
		/* Several events at one tracepoint. */
		for (u32 i = 0; i < PLACES; i++) {
			event[i] = event[0];
			event[i].kind = KL_SOURCE_KIND_TRACEPOINT;
			event[i].name = (u64)(uintptr_t)point;
		}
		return 1 + below(PLACES);
	case 1:
		event[0].kind = KL_SOURCE_KIND_TICK;
		event[0].arg = 100 + below(400);
		return 1;
	case 2:
		event[0].kind = KL_SOURCE_KIND_TRAP;
		return 1;
	case 3:
		event[0].kind = KL_SOURCE_KIND_UPROBE;
		event[1].kind = KL_SOURCE_KIND_URETPROBE;
		for (u32 i = 0; i < 2; i++) {
			event[i].name = (u64)(uintptr_t) "/proc/self/exe";
			event[i].arg = kl_file_offset(called);
		}
		return 2;
	default:
		event[0].kind = KL_SOURCE_KIND_FUNCTION;
		event[1].kind = KL_SOURCE_KIND_RETURN;
		/* Functions that this program executes; both events at the same one, or at two. */
		event[0].address =
			common->symbol[one_in(2) ? FUZZ_SYMBOLS - 1 : below(FUZZ_SYMBOLS)];
		event[1].address = one_in(2) ? event[0].address :
					       common->symbol[below(FUZZ_SYMBOLS)];
		return 1 + below(2);
	}
}

static void fire(u32 session, u32 first)
{
	struct kl_abi_trap trap = {
		.opcode = KL_TRAP_OPCODE, .magic = KL_TRAP_MAGIC, .session = session, .event = first
	};

	for (u32 i = 0; i < 5; i++) {
		called(i);
		syscall(SYS_getppid);
	}
	/* Hits the tracepoint of a module; only root may do this. */
	put_file("/sys/module/kl_passed/parameters/pass", "3");
	run_trap(&trap);
	op_work();
}

void op_places(void)
{
	struct kl_abi_session params = { .block_bytes = 4096, .blocks = 4, .mode = below(2) };
	struct kl_abi_event event[PLACES];
	struct kl_abi_events events = { .size = sizeof(events) };
	u32 rules = 0;
	int fd = open_device(O_RDWR);

	if (fd < 0)
		return;
	if (begin_session(fd, &params)) {
		close(fd);
		return;
	}
	events.n = define(event, one_in(2) ? make_program(fd, true) : 0);
	events.event = (u64)(uintptr_t)event;
	if (one_in(3))
		make_stacks(fd);
	else if (one_in(2))
		make_variables(fd, 0);
	TRY(fd, KL_IOC_EVENTS, events);
	for (u32 n = below(3); n; n--)
		rules += make_rule(fd, make_program(fd, false));
	make_maskset(fd, KL_MASKSET_FIRST_USER, rules, events.n);
	/* Some record only this process, which uses the other check of whether a task is traced. */
	if (one_in(3)) {
		kl_filter(fd, KL_FILTER_TASKS, 0);
		kl_tasks(fd, getpid(), KL_TASK_ADD | KL_TASK_PROCESS | KL_TASK_INHERIT);
	}
	kl_use(fd, KL_MASKSET_FIRST_USER);
	me->successes += !kl_start(fd);
	fire(params.id, events.first);
	if (one_in(2))
		kl_stop(fd);
	keep_fd(fd, ROLE_SESSION);
	keep_fd(kl_reader(fd, 0), ROLE_READER);
}
