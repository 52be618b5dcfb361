// SPDX-License-Identifier: GPL-2.0
/*
 * Processes looked at: variables of many, details of one, the event of a parameter's change, tasks
 * that a session follows, and a dump of all. What is looked at is the zoo (zoo.c), which changes
 * meanwhile, other users' processes, and numbers of none.
 */
#include <sys/resource.h>

#include "fuzz.h"

#define SCOPE_task 1
#define SCOPE_system 1
#define SCOPE_place 0
#define SCOPE_cpu 0

/* Variables of processes and of the machine; `task` itself is none of these. */
static const struct {
	u16 id;
	bool there;
} variables[] = {
#define KL_VARIABLE(id, name, scope, ...) { id, id && SCOPE_##scope },
#include "variables.def"
#undef KL_VARIABLE
};

#define VARIABLES (sizeof(variables) / sizeof(*variables))

static u32 any_variable(void)
{
	u32 i = below(VARIABLES);

	if (one_in(100))
		return below(400);
	while (!variables[i].there)
		i = (i + 1) % VARIABLES;
	return variables[i].id;
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

/* What a guarded kind asks for. */
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

		/* It may be a descriptor of a slot: those stay. */
		snprintf(link, sizeof(link), "/proc/self/fd/%d", proof);
		if (readlink(link, name, sizeof(name) - 1) > 0 && !strncmp(name, "/proc/", 6))
			close(proof);
	}
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
		return; /* never ended */
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
	int fd = any_fd();

	cpus.cpus = (u64)(uintptr_t)odd_or(room, 12 * sizeof(struct kl_abi_cpu));
	TRY(fd, KL_IOC_CPUS, cpus);
	TRY(fd, KL_IOC_EVENT_INFO, event);
	TRY(fd, KL_IOC_VARIABLE_INFO, variable);
	TRY(fd, KL_IOC_HANDLER_INFO, handler);
	TRY(fd, KL_IOC_ERROR, error);
}
