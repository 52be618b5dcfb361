// SPDX-License-Identifier: GPL-2.0
/*
 * Details of a process compared with what /proc and tools report about it while it is stopped; then
 * what processes wait for, who may see what, and processes that change while they are inspected. As
 * root in the guest: details [SECONDS of races].
 */
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "details.h"

struct kl_device *device;

static pid_t children[256];
static unsigned int n_children;

pid_t fork_child(void)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child < 0)
		bail("fork");
	if (child)
		children[n_children++] = child;
	else
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return child;
}

static void end_children(void)
{
	for (unsigned int i = 0; i < n_children; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	n_children = 0;
}

char *read_proc(pid_t pid, const char *name, size_t *bytes)
{
	static char *text;
	static size_t room;
	char path[100];
	size_t n = 0;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!text)
		text = malloc(room = 4 << 20);
	while (fd >= 0 && n < room - 1 && (got = read(fd, text + n, room - 1 - n)) > 0)
		n += got;
	if (fd >= 0)
		close(fd);
	text[n] = 0;
	if (bytes)
		*bytes = n;
	return text;
}

const char *find_line(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
		if (!strncmp(at, name, n) && at[n] == ':')
			return at + n + 1 + strspn(at + n + 1, " \t");
	return NULL;
}

bool wait_asleep(pid_t pid, const char *states)
{
	/* Half a minute: a kernel with checkers on a busy host is slow. */
	for (int i = 0; i < 3000; i++) {
		const char *state = find_line(read_proc(pid, "status", NULL), "State");

		if (state && strchr(states, *state))
			return true;
		sleep_ms(10);
	}
	return false;
}

struct kl_details get(pid_t pid, uint32_t what)
{
	struct kl_details list;
	int error = kl_details_read(device, pid, what, &list);

	if (error)
		bail("details %u of %d: %s", what, pid, kl_error_text());
	return list;
}

/* ------------------------------------------------------------------ numbers */

static u64 number(const char *text, const char *name, int base)
{
	const char *at = find_line(text, name);

	return at ? strtoull(at, NULL, base) : ~0ull;
}

static void test_task(pid_t pid)
{
	struct kl_details list = get(pid, KL_DETAIL_TASK);
	const struct kl_abi_detail_task *t = &list.entry[0].task;
	char *text = read_proc(pid, "stat", NULL), comm[64], state;
	unsigned long minor, major, start;
	int ppid, pgid, sid;
	long prio, nice, threads;

	if (sscanf(strchr(text, '('),
		   "(%63[^)]) %c %d %d %d %*d %*d %*u %lu %*u %lu %*u %*u %*u"
		   " %*d %*d %ld %ld %ld %*d %lu",
		   comm, &state, &ppid, &pgid, &sid, &minor, &major, &prio, &nice, &threads,
		   &start) != 11)
		bail("stat: %s", text);
	tap_result(!strcmp(t->comm, comm) && t->pid == pid && t->tid == pid && t->ppid == ppid &&
			   t->pgid == pgid && t->sid == sid && t->nice == nice &&
			   t->prio == prio + 100 && t->threads == (u32)threads &&
			   kl_detail_state_name(t->state)[0] == (state == 'T' ? 's' : '?'),
		   "task: as /proc/PID/stat", "%s %d %d %d %d", t->comm, t->ppid, t->pgid, t->sid,
		   t->prio);
	tap_result(t->min_faults == minor && t->maj_faults == major &&
			   t->start_ns / 10000000 == start,
		   "task: faults and start", "%llu %lu, %llu %lu, %llu %lu",
		   (unsigned long long)t->min_faults, minor, (unsigned long long)t->maj_faults,
		   major, (unsigned long long)t->start_ns, start);
	kl_details_deinit(&list);
}

static bool near(u64 a, u64 b, u64 most)
{
	return a > b ? a - b <= most : b - a <= most;
}

/* Counters that lag by some pages on each CPU; the kernel sums them up where /proc shows them. */
#define LAG_BYTES (1u << 20)

static void test_memory(pid_t pid)
{
	struct kl_details list = get(pid, KL_DETAIL_MEMORY);
	const struct kl_abi_detail_memory *m = &list.entry[0].memory;
	char *text = read_proc(pid, "status", NULL);
	unsigned long code[3], data[3], arg[4];

	tap_result(m->size == number(text, "VmSize", 10) << 10 &&
			   m->size_peak == number(text, "VmPeak", 10) << 10 &&
			   m->data == number(text, "VmData", 10) << 10 &&
			   m->stack == number(text, "VmStk", 10) << 10 &&
			   m->locked == number(text, "VmLck", 10) << 10 &&
			   m->pinned == number(text, "VmPin", 10) << 10 &&
			   m->page_tables == number(text, "VmPTE", 10) << 10,
		   "memory: sizes as /proc/PID/status", "size %llu data %llu stack %llu",
		   (unsigned long long)m->size, (unsigned long long)m->data,
		   (unsigned long long)m->stack);
	tap_result(m->locked && near(m->rss, number(text, "VmRSS", 10) << 10, LAG_BYTES) &&
			   near(m->rss_anon, number(text, "RssAnon", 10) << 10, LAG_BYTES) &&
			   near(m->rss_file, number(text, "RssFile", 10) << 10, LAG_BYTES) &&
			   near(m->rss_shared, number(text, "RssShmem", 10) << 10, LAG_BYTES) &&
			   near(m->rss_peak, number(text, "VmHWM", 10) << 10, LAG_BYTES),
		   "memory: what is in RAM", "rss %llu, status %llu", (unsigned long long)m->rss,
		   (unsigned long long)number(text, "VmRSS", 10) << 10);
	text = strrchr(read_proc(pid, "stat", NULL), ')');
	if (sscanf(text,
		   ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d"
		   " %*d %*u %*u %*d %*u %lu %lu %lu %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d"
		   " %*d %*u %*u %*u %*u %*d %lu %lu %lu %lu %lu %lu %lu",
		   &code[0], &code[1], &code[2], &data[0], &data[1], &data[2], &arg[0], &arg[1],
		   &arg[2], &arg[3]) != 10)
		bail("stat: %s", text);
	tap_result(m->code_start == code[0] && m->code_end == code[1] &&
			   m->stack_start == code[2] && m->data_start == data[0] &&
			   m->data_end == data[1] && m->heap_start == data[2] &&
			   m->arguments_start == arg[0] && m->arguments_end == arg[1] &&
			   m->environment_start == arg[2] && m->environment_end == arg[3],
		   "memory: places as /proc/PID/stat", "code %#llx %#lx, heap %#llx %#lx",
		   (unsigned long long)m->code_start, code[0], (unsigned long long)m->heap_start,
		   data[2]);
	kl_details_deinit(&list);
}

static void test_signals(pid_t pid)
{
	struct kl_details list = get(pid, KL_DETAIL_SIGNALS);
	const struct kl_abi_detail_signals *s = &list.entry[0].signals;
	char *text = read_proc(pid, "status", NULL);

	tap_result(s->pending == number(text, "SigPnd", 16) &&
			   s->pending_process == number(text, "ShdPnd", 16) &&
			   s->blocked == number(text, "SigBlk", 16) &&
			   s->ignored == number(text, "SigIgn", 16) &&
			   s->caught == number(text, "SigCgt", 16) &&
			   s->queued == number(text, "SigQ", 10) && s->pending_process &&
			   s->blocked && s->ignored && s->caught,
		   "signals: as /proc/PID/status", "pending %llx blocked %llx ignored %llx",
		   (unsigned long long)s->pending_process, (unsigned long long)s->blocked,
		   (unsigned long long)s->ignored);
	kl_details_deinit(&list);
}

static void test_rights(pid_t pid)
{
	struct kl_details list = get(pid, KL_DETAIL_RIGHTS);
	const struct kl_abi_detail_rights *r = &list.entry[0].rights;
	char *text = read_proc(pid, "status", NULL), groups[200] = "", ids[2][100];
	const char *line = find_line(text, "Groups");

	snprintf(ids[0], sizeof(ids[0]), "%u\t%u\t%u\t%u\n", r->uid, r->euid, r->suid, r->fsuid);
	snprintf(ids[1], sizeof(ids[1]), "%u\t%u\t%u\t%u\n", r->gid, r->egid, r->sgid, r->fsgid);
	for (size_t i = 0; i < list.entry[0].text_bytes; i += 4) {
		u32 group;

		memcpy(&group, list.entry[0].text + i, 4);
		snprintf(groups + strlen(groups), sizeof(groups) - strlen(groups), "%u ", group);
	}
	tap_result(!strncmp(find_line(text, "Uid"), ids[0], strlen(ids[0])) &&
			   !strncmp(find_line(text, "Gid"), ids[1], strlen(ids[1])) && *groups &&
			   line && !strncmp(line, groups, strlen(groups) - 1),
		   "rights: users and groups", "%s, %.40s", groups, line);
	tap_result(r->inheritable == number(text, "CapInh", 16) &&
			   r->permitted == number(text, "CapPrm", 16) &&
			   r->effective == number(text, "CapEff", 16) &&
			   r->bounding == number(text, "CapBnd", 16) &&
			   r->ambient == number(text, "CapAmb", 16) && r->bounding &&
			   r->no_new_privs == number(text, "NoNewPrivs", 10) &&
			   r->seccomp == number(text, "Seccomp", 10),
		   "rights: capabilities, seccomp", "permitted %llx",
		   (unsigned long long)r->permitted);
	kl_details_deinit(&list);
}

static void test_limits(pid_t pid)
{
	struct kl_details list = get(pid, KL_DETAIL_LIMITS);
	const struct kl_abi_detail_limits *l = &list.entry[0].limits;
	u32 wrong = 0;
	cpu_set_t set;

	for (int i = 0; i < KL_DETAIL_LIMITS_NUMBER; i++) {
		struct rlimit limit;

		if (prlimit(pid, i, NULL, &limit))
			bail("prlimit");
		wrong += l->soft[i] != limit.rlim_cur || l->hard[i] != limit.rlim_max;
	}
	tap_result(!wrong && l->soft[RLIMIT_CORE] == 12345, "limits: as prlimit(2)", "%u differ",
		   wrong);
	kl_details_deinit(&list);
	list = get(pid, KL_DETAIL_AFFINITY);
	if (sched_getaffinity(pid, sizeof(set), &set))
		bail("affinity");
	tap_result(list.entry[0].text_bytes >= 8 &&
			   !memcmp(list.entry[0].text, &set, list.entry[0].text_bytes) &&
			   CPU_COUNT(&set) == 1,
		   "affinity: as sched_getaffinity(2)", "%d CPUs", CPU_COUNT(&set));
	kl_details_deinit(&list);
}

static void test_io(pid_t pid)
{
	struct kl_details list = get(pid, KL_DETAIL_IO);
	const struct kl_abi_detail_io *io = &list.entry[0].io;
	char *text = read_proc(pid, "io", NULL);

	tap_result(io->read_chars == number(text, "rchar", 10) &&
			   io->write_chars == number(text, "wchar", 10) &&
			   io->reads == number(text, "syscr", 10) &&
			   io->writes == number(text, "syscw", 10) &&
			   io->read_bytes == number(text, "read_bytes", 10) &&
			   io->write_bytes == number(text, "write_bytes", 10) &&
			   io->cancelled_write_bytes == number(text, "cancelled_write_bytes", 10) &&
			   io->writes,
		   "io: as /proc/PID/io", "written %llu", (unsigned long long)io->write_chars);
	kl_details_deinit(&list);
}

void test_numbers(pid_t pid)
{
	test_task(pid);
	test_memory(pid);
	test_signals(pid);
	test_rights(pid);
	test_limits(pid);
	test_io(pid);
}

/* -------------------------------------------------------------- other processes */

/* Kernel threads have no memory and no program, only the paths that every process has. */
static void test_kernel_thread(void)
{
	struct kl_details list = get(2, KL_DETAIL_TASK);

	tap_check(list.n == 1 && list.entry[0].task.flags & KL_DETAIL_TASK_KERNEL &&
			  !strcmp(list.entry[0].task.comm, "kthreadd"),
		  "a kernel thread is one");
	kl_details_deinit(&list);
	for (u32 what = 1; what < KL_DETAIL_KINDS; what++) {
		if (kl_details_read(device, 2, what, &list))
			bail("%u of a kernel thread: %s", what, kl_error_text());
		if (list.n && (what == KL_DETAIL_COMMAND || what == KL_DETAIL_MAPS ||
			       what == KL_DETAIL_FILES || what == KL_DETAIL_ENVIRONMENT))
			tap_check(false, "a kernel thread has no program");
		kl_details_deinit(&list);
	}
}

/* Each kind can be requested, and reports that the process has ended. */
static void test_zombie(void)
{
	pid_t pid = fork_child();
	struct kl_details list;
	u32 ended = 0;

	if (!pid)
		_exit(3);
	if (!wait_asleep(pid, "Z"))
		bail("no zombie");
	for (u32 what = 1; what < KL_DETAIL_KINDS; what++) {
		if (kl_details_read(device, pid, what, &list))
			bail("%u of a zombie: %s", what, kl_error_text());
		ended += !!(list.flags & KL_DETAIL_ENDED);
		if (what == KL_DETAIL_TASK)
			tap_check(list.entry[0].task.state == KL_TASK_STATE_ZOMBIE &&
					  list.entry[0].task.exit_code == 3 << 8,
				  "a zombie: its state and exit code");
		if (what == KL_DETAIL_WAIT)
			tap_check(list.entry[0].wait.reason == KL_WAIT_PARENT &&
					  list.entry[0].wait.pid == getpid(),
				  "a zombie waits for its parent");
		kl_details_deinit(&list);
	}
	tap_check(ended == KL_DETAIL_KINDS - 1, "a zombie has ended, whatever is asked");
	waitpid(pid, NULL, 0);
	tap_check(kl_details_read(device, pid, KL_DETAIL_FILES, &list) == -ESRCH,
		  "a process that was collected is not there");
}

int main(int argc, char **argv)
{
	pid_t subject;

	if (argc > 1 && !strcmp(argv[1], "klsuidsecret"))
		return run_setuid_phase();
	device = kl_device_open(NULL);
	if (!device)
		bail("%s", kl_error_text());
	subject = start_subject();
	test_numbers(subject);
	test_lists(subject);
	test_files(subject, "a process with all kinds of files");
	test_maps(subject, "a process with many mappings");
	test_tools(subject);
	test_files(1, "init");
	test_maps(1, "init");
	test_kernel_thread();
	test_zombie();
	kill(subject, SIGKILL);
	test_waits();
	end_children();
	test_access();
	end_children();
	test_races(argc > 1 ? atoi(argv[1]) : 10);
	end_children();
	kl_device_close(device);
	return tap_end();
}
