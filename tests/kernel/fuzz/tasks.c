// SPDX-License-Identifier: GPL-2.0
/*
 * Inspection of processes: variables of many, details of one, the event of a parameter's change,
 * tasks that a session follows, and a dump of all. The subjects are the zoo (zoo.c), which changes
 * in the meantime, other users' processes, and unused pids.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "fuzz.h"

static const u16 variables[] = {
#define KL_VARIABLE(id, ...) id,
#include "variables.def"
#undef KL_VARIABLE
};

#define VARIABLES (sizeof(variables) / sizeof(*variables))

/* The variables that the module lets this user inspect: one that it refuses fails a whole call. */
static struct {
	pthread_once_t once;
	u32 id[VARIABLES];
	u32 n;
} inspectable = { PTHREAD_ONCE_INIT };

static void find_inspectable(void)
{
	int fd = open_device(O_RDWR);
	s32 pid = getpid();

	for (u32 i = 0; i < VARIABLES; i++) {
		u32 id = variables[i];
		struct kl_abi_inspect call = {
			.size = sizeof(call),
			.n_variables = 1,
			.n_ids = 1,
			.variables = (u64)(uintptr_t)&id,
			.ids = (u64)(uintptr_t)&pid,
			.rows = (u64)(uintptr_t)room,
			.room = FUZZ_BUFFER,
		};

		if (!ioctl(fd, KL_IOC_INSPECT, &call))
			inspectable.id[inspectable.n++] = id;
	}
	close(fd);
	if (!inspectable.n)
		inspectable.id[inspectable.n++] = VARIABLE_tid;
}

/* Successive numbers lead to different ones. */
static u32 inspectable_at(u32 i)
{
	pthread_once(&inspectable.once, find_inspectable);
	return inspectable.id[i % inspectable.n];
}

static u32 any_variable(void)
{
	return one_in(100) ? below(400) : inspectable_at(below(VARIABLES));
}

void op_inspect(void)
{
	u32 *ids = (u32 *)room, *pids = (u32 *)(room + 4096);
	struct kl_abi_inspect call = { .size = sizeof(call), .flags = below(4) };

	call.n_variables = 1 + below(one_in(4) ? KL_INSPECT_VARIABLES_MAX : 12);
	call.n_ids = call.flags & KL_INSPECT_ALL ? 0 : 1 + below(20);
	for (u32 i = 0; i < call.n_variables; i++)
		ids[i] = any_variable();
	for (u32 i = 0; i < call.n_ids; i++)
		pids[i] = any_pid();
	call.variables = (u64)(uintptr_t)odd_or(ids, 4 * call.n_variables);
	call.ids = (u64)(uintptr_t)odd_or(pids, 4 * call.n_ids);
	call.rows = (u64)(uintptr_t)odd_or(room + 8192, 4000);
	call.room = one_in(4) ? below(3000) : FUZZ_BUFFER - 8192;
	TRY(any_fd(), KL_IOC_INSPECT, call);
}

/* Opens the proof that a guarded kind requires. */
static int open_proof(u32 what, s32 pid)
{
	char path[40];

	if (one_in(3))
		return one_in(2) ? -1 : any_fd();
	snprintf(path, sizeof(path), "/proc/%d/%s", pid,
		 what == KL_DETAIL_ENVIRONMENT ? "environ" : "mem");
	return open(path, O_RDONLY | O_CLOEXEC);
}

void op_detail(void)
{
	struct kl_abi_detail call = { .size = sizeof(call) };
	s32 pid = any_pid(), proof;
	int fd = any_fd();
	u32 what = below(KL_DETAIL_KINDS + 1);

	proof = open_proof(what, pid);
	call.cursor = one_in(6) ? odd_number() : 0;
	for (u32 n = 1 + below(6); n; n--) {
		call.size = sizeof(call);
		call.pid = pid;
		call.what = what;
		call.buffer = (u64)(uintptr_t)odd_or(room, 8192);
		call.bytes = KL_DETAIL_BYTES_MIN + (one_in(3) ? below(65536) : 0);
		call.proof = proof;
		call.flags = 0;
		call.records = 0;
		if (TRY(fd, KL_IOC_DETAIL, call) || !(call.flags & KL_DETAIL_MORE))
			break;
	}
	if (proof > 2 && proof != fd && fcntl(proof, F_GETFD) >= 0 && call.proof == proof) {
		char link[40], name[80] = "";

		/* It may be a descriptor in a slot, which must stay open. */
		snprintf(link, sizeof(link), "/proc/self/fd/%d", proof);
		if (readlink(link, name, sizeof(name) - 1) > 0 && !strncmp(name, "/proc/", 6))
			close(proof);
	}
}

/* Reads all details of one kind of a process, with the proof that the kind requires. */
static void see_detail(int fd, s32 pid, u32 what)
{
	struct kl_abi_detail call = { .what = what, .proof = -1 };
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid,
		 what == KL_DETAIL_ENVIRONMENT ? "environ" : "mem");
	if (what == KL_DETAIL_SYSCALL || what == KL_DETAIL_WAIT || what == KL_DETAIL_ENVIRONMENT)
		call.proof = open(path, O_RDONLY | O_CLOEXEC);
	for (u32 n = 0; n < 4; n++) {
		call.size = sizeof(call);
		call.pid = pid;
		call.buffer = (u64)(uintptr_t)room;
		call.bytes = one_in(3) ? KL_DETAIL_BYTES_MIN : FUZZ_BUFFER;
		if (TRY(fd, KL_IOC_DETAIL, call) || !(call.flags & KL_DETAIL_MORE))
			break;
	}
	if (call.proof > 2)
		close(call.proof);
}

void op_every_detail(void)
{
	int fd = one_in(4) ? any_fd() : open_device(O_RDWR);
	s32 pid = any_pid();

	for (u32 what = 1; what < KL_DETAIL_KINDS; what++)
		see_detail(fd, pid, what);
	keep_fd(fd, ROLE_DEVICE);
}

/* Reads what each of several waiting processes waits for. */
void op_waits(void)
{
	int fd = open_device(O_RDWR);

	for (u32 n = 2 + below(6); n; n--)
		see_detail(fd, waiting_pid(), KL_DETAIL_WAIT);
	keep_fd(fd, ROLE_DEVICE);
}

/* Reads many variables of all processes or threads, as a process viewer does. */
void op_every_variable(void)
{
	u32 *ids = (u32 *)room, *pids = (u32 *)(room + 4096);
	struct kl_abi_inspect call = { .size = sizeof(call), .flags = below(4) };
	u32 first = below(VARIABLES), n = 1 + below(60);
	int fd = one_in(4) ? any_fd() : open_device(O_RDWR);

	call.n_ids = call.flags & KL_INSPECT_ALL ? 0 : 1 + below(20);
	for (u32 i = 0; i < call.n_ids; i++)
		pids[i] = any_pid();
	for (u32 i = 0; i < n; i++)
		ids[i] = inspectable_at(first + i);
	call.n_variables = n;
	call.variables = (u64)(uintptr_t)ids;
	call.ids = call.n_ids ? (u64)(uintptr_t)pids : 0;
	call.rows = (u64)(uintptr_t)(room + 8192);
	call.room = one_in(3) ? below(20000) : FUZZ_BUFFER - 8192;
	TRY(fd, KL_IOC_INSPECT, call);
	keep_fd(fd, ROLE_DEVICE);
}

/* Changes a parameter by the kernel's own call, between the two steps of the event. */
static int change_setting(u32 what)
{
	struct sched_param param = {};
	struct rlimit limit;
	cpu_set_t cpus;

	switch (what) {
	case KL_SET_NICE:
		return setpriority(PRIO_PROCESS, 0, below(5)) ? errno : 0;
	case KL_SET_POLICY:
	case KL_SET_PRIORITY:
		return sched_setscheduler(0, one_in(2) ? SCHED_BATCH : SCHED_OTHER, &param) ?
			       errno :
			       0;
	case KL_SET_AFFINITY:
		CPU_ZERO(&cpus);
		CPU_SET(below(2), &cpus);
		if (one_in(2))
			CPU_SET(1, &cpus);
		return sched_setaffinity(0, sizeof(cpus), &cpus) ? errno : 0;
	case KL_SET_IOPRIO:
		return syscall(SYS_ioprio_set, 1, 0, 2 << 13 | below(8)) ? errno : 0;
	case KL_SET_OOM_SCORE_ADJ:
		return put_file("/proc/self/oom_score_adj", one_in(2) ? "500" : "600") ? 0 : EACCES;
	case KL_SET_TIMER_SLACK:
		return prctl(PR_SET_TIMERSLACK, 50000 + below(1000)) ? errno : 0;
	}
	if (what < KL_SET_LIMIT || getrlimit(what - KL_SET_LIMIT, &limit))
		return 0;
	if (limit.rlim_cur == RLIM_INFINITY)
		limit.rlim_cur = 1ull << 40;
	return setrlimit(what - KL_SET_LIMIT, &limit) ? errno : 0;
}

void op_setting(void)
{
	struct kl_abi_set call = { .size = sizeof(call), .step = KL_SET_BEGIN, .id = getpid() };
	int fd = open_device(O_RDWR), error;
	u32 what = one_in(3) ? KL_SET_LIMIT + below(16) : 1 + below(8);

	if (fd < 0)
		return;
	/* The requested value may be the current one. */
	if (one_in(2))
		change_setting(what);
	call.what = what;
	snprintf(call.asked, sizeof(call.asked), "%u", below(20));
	TRY(fd, KL_IOC_SET, call);
	error = change_setting(what);
	memset(&call, 0, sizeof(call));
	call.step = KL_SET_END;
	call.error = error;
	TRY(fd, KL_IOC_SET, call);
	close(fd);
}

void op_set(void)
{
	struct kl_abi_set call = { .size = sizeof(call), .step = KL_SET_BEGIN, .id = any_pid() };
	int fd = any_fd();

	call.what = one_in(3) ? KL_SET_LIMIT + below(17) : below(10);
	call.start_ns = one_in(5) ? odd_number() : 0;
	snprintf(call.asked, sizeof(call.asked), "%u", below(20));
	TRY(fd, KL_IOC_SET, call);
	if (one_in(2))
		setpriority(PRIO_PROCESS, 0, below(3));
	if (one_in(4))
		return; /* the change is never ended */
	memset(&call, 0, sizeof(call));
	call.size = sizeof(call);
	call.step = KL_SET_END;
	call.error = one_in(3) ? below(KL_SET_ERROR_MAX + 2) : 0;
	TRY(fd, KL_IOC_SET, call);
}

void op_tasks(void)
{
	struct kl_abi_tasks call = { .size = sizeof(call) };
	int fd = session_fd();

	kl_filter(fd, KL_FILTER_TASKS, 0);
	for (u32 n = 1 + below(4); n; n--) {
		call.size = sizeof(call);
		call.pid = any_pid();
		call.flags = (one_in(4) ? KL_TASK_REMOVE : KL_TASK_ADD) | below(16) << 2;
		TRY(fd, KL_IOC_TASKS, call);
	}
}

void op_dump(void)
{
	struct kl_abi_dump call = { .size = sizeof(call), .what = below(8) };

	TRY(session_fd(), KL_IOC_DUMP, call);
}

void op_cpus(void)
{
	struct kl_abi_cpus cpus = { .size = sizeof(cpus), .n_cpus = below(12) };
	struct kl_abi_event_info event = { .size = sizeof(event), .id = below(KL_EV_MAX + 2) };
	struct kl_abi_variable_info variable = { .size = sizeof(variable), .id = below(400) };
	struct kl_abi_handler_info handler = { .size = sizeof(handler), .index = below(6) };
	struct kl_abi_error error = { .size = sizeof(error) };
	struct kl_abi_limits limits = { .size = sizeof(limits), .index = below(4) };
	struct kl_abi_status status = { .size = sizeof(status), .index = below(4) };
	struct kl_abi_info info = { .size = sizeof(info) };
	struct kl_abi_time time = { .size = sizeof(time) };
	int fd = any_fd();

	cpus.cpus = (u64)(uintptr_t)odd_or(room, 12 * sizeof(struct kl_abi_cpu));
	TRY(fd, KL_IOC_CPUS, cpus);
	TRY(fd, KL_IOC_EVENT_INFO, event);
	TRY(fd, KL_IOC_VARIABLE_INFO, variable);
	TRY(fd, KL_IOC_HANDLER_INFO, handler);
	TRY(fd, KL_IOC_ERROR, error);
	TRY(fd, KL_IOC_LIMITS, limits);
	TRY(fd, KL_IOC_STATUS, status);
	TRY(fd, KL_IOC_INFO, info);
	TRY(fd, KL_IOC_TIME, time);
}
