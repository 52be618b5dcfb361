// SPDX-License-Identifier: GPL-2.0
/*
 * The readers of the test of exits: they make each call and judge whether its answer can be true.
 */
#include <dirent.h>
#include <sys/resource.h>

#include "../latency/latency.h"
#include "exits.h"

bool exact;

/* variables.def has one row a variable. */
enum {
#define KL_VARIABLE(id, name, ...) VAR_##name = id,
#include "variables.def"
};

void wrong(const char *format, ...)
{
	va_list args;

	if (how->wrong++)
		return;
	va_start(args, format);
	vsnprintf(how->said, sizeof(how->said), format, args);
	va_end(args);
}

/* ----------------------------------------------------------------- variables */

/* The name comes first: once a task has its name, the values that follow it no longer change. */
static const u32 wanted[] = {
	VAR_comm, VAR_tid, VAR_pid, VAR_timer_slack, VAR_nice, VAR_uid, VAR_ppid, VAR_start_time,
};

struct row {
	struct kl_abi_inspected is;
	char comm[KL_COMM_LEN];
	s32 tid, pid;
	u64 timer_slack;
	s8 nice;
	u32 uid;
	s32 ppid;
	u64 start_ns;
} __attribute__((packed));

static void judge_row(const struct row *r, bool of_process, bool of_user, u64 now_ns)
{
	struct identity is;

	if (r->is.status == KL_INSPECTED_NOT) {
		how->ended++;
		for (const char *at = r->comm; at < (const char *)(r + 1); at++)
			if (*at)
				return wrong("%d is not there, and has values", r->is.id);
		return;
	}
	if (of_user && r->uid != USER1)
		return wrong("a user sees %d of user %u", r->tid, r->uid);
	if (r->is.id != r->tid || (of_process && r->tid != r->pid) || r->start_ns > now_ns)
		return wrong("%d is %d of %d, started at %lu, now %lu", r->is.id, r->tid, r->pid,
			     (unsigned long)r->start_ns, (unsigned long)now_ns);
	if (!has_name(r->comm, &is))
		return;
	how->there++;
	if (is.tid != (u32)r->tid || r->timer_slack != SLACK_NS + is.number ||
	    r->nice != nice_of(is.number) || r->uid != uid_of(is.number) ||
	    (r->ppid && r->ppid != shared->spawner))
		wrong("%.16s is %d, slack %lu, nice %d, user %u, parent %d", r->comm, r->tid,
		      (unsigned long)r->timer_slack, r->nice, r->uid, r->ppid);
}

static void inspect(int fd, u32 flags, const s32 *ids, u32 n_ids, bool of_user)
{
	static struct row rows[2000];
	struct kl_abi_inspect call = {
		.size = sizeof(call),
		.flags = flags,
		.n_variables = sizeof(wanted) / sizeof(wanted[0]),
		.n_ids = n_ids,
		.variables = (uintptr_t)wanted,
		.ids = (uintptr_t)ids,
		.rows = (uintptr_t)rows,
		.room = sizeof(rows),
	};
	int error = kl_call(fd, KL_IOC_INSPECT, &call);
	struct timespec now;

	how->calls++;
	if (error || call.row_bytes != sizeof(struct row) || call.n_rows > 2000)
		return wrong("KL_IOC_INSPECT: %d, %s, rows of %u", error, kl_why(fd),
			     call.row_bytes);
	clock_gettime(CLOCK_BOOTTIME, &now);
	for (u32 i = 0; i < call.n_rows; i++) {
		if (ids && rows[i].is.id != ids[i])
			wrong("requested %d, not %d", ids[i], rows[i].is.id);
		judge_row(&rows[i], flags == KL_INSPECT_ALL, of_user,
			  now.tv_sec * 1000000000ull + now.tv_nsec);
	}
}

void inspect_all(bool of_user)
{
	static int fd = -1;
	s32 newest[8];

	if (fd < 0)
		fd = kl_open();
	inspect(fd, KL_INSPECT_ALL, NULL, 0, of_user);
	inspect(fd, KL_INSPECT_ALL | KL_INSPECT_THREADS, NULL, 0, of_user);
	for (int i = 0; i < 8; i++)
		newest[i] = (s32)shared->newest + 2 - i;
	for (int i = 0; i < 10; i++)
		inspect(fd, 0, newest, 8, of_user);
}

/* ------------------------------------------------------------------- details */

static struct kl_device *device;

/* Counts a call for details; reports errors that it must not return. */
static void count_call(pid_t pid, u32 what, int error, bool has_ended, bool of_user)
{
	how->calls++;
	how->ended += error == -ESRCH || has_ended;
	how->again += error == -EAGAIN;
	if (error && error != -ESRCH && error != -EAGAIN && error != -EACCES &&
	    !(error == -EPERM && of_user))
		wrong("details %u of %d: %d, %s", what, pid, error, kl_error_text());
}

/* Returns 0 or the call's error. */
static int ask(pid_t pid, u32 what, struct kl_details *list, bool of_user)
{
	int error = kl_details_read(device, pid, what, list);

	count_call(pid, what, error, !error && list->flags & KL_DETAIL_ENDED, of_user);
	return error;
}

/*
 * Identifies a process. Returns false if it is not part of the swarm, or does not have its name
 * yet.
 */
static bool identify(pid_t pid, struct identity *is, bool of_user)
{
	struct kl_details list;
	bool named = false;

	if (!ask(pid, KL_DETAIL_TASK, &list, of_user)) {
		const struct kl_abi_detail_task *t = &list.entry[0].task;

		/* A task that has been released no longer has a number. */
		bool gone = list.flags & KL_DETAIL_ENDED && !t->tid;

		if (list.n != 1 || (t->tid != pid && !gone) || t->start_ns > t->now_ns)
			wrong("%zu answers, %d is %d", list.n, pid, t->tid);
		if (of_user && t->uid != USER1)
			wrong("a user sees %d of user %u", pid, t->uid);
		named = has_name(t->comm, is);
		how->there += named;
		if (named &&
		    (is->tid != (u32)pid || t->nice != nice_of(is->number) ||
		     t->uid != uid_of(is->number) || (t->ppid && t->ppid != shared->spawner)))
			wrong("details: %.16s is %d, nice %d, user %u, parent %d", t->comm, t->tid,
			      t->nice, t->uid, t->ppid);
	}
	kl_details_deinit(&list);
	return named;
}

/* Judges details of a process that was the same before and after the call. */
static void judge_known(u32 what, const struct kl_details *list, const struct identity *is)
{
	const struct kl_detail *e = list->entry;
	bool ended = list->flags & KL_DETAIL_ENDED;
	u64 files;

	switch (what) {
	case KL_DETAIL_COMMAND:
		if (!list->n || !e->text_bytes)
			break;
		if (!strstr(e->text, "kernel-exits"))
			wrong("the command line of %u: %s", is->tid, e->text);
		break;
	case KL_DETAIL_RIGHTS:
		if (list->n && e->rights.uid != uid_of(is->number))
			wrong("%u has user %u", is->tid, e->rights.uid);
		break;
	case KL_DETAIL_LIMITS:
		files = list->n ? e->limits.soft[RLIMIT_NOFILE] : 0;
		if (files != OPEN_FILES + is->number && !(ended && !files))
			wrong("%u may open %llu files, not %u", is->tid, (unsigned long long)files,
			      OPEN_FILES + is->number);
		break;
	}
}

/* Judges details of any process: entries are in order, and no value is impossible. */
static void judge_list(u32 what, const struct kl_details *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct kl_detail *e = &list->entry[i], *last = i ? e - 1 : NULL;

		if (what == KL_DETAIL_FILES && last && e->file.fd <= last->file.fd)
			wrong("descriptor %d after %d", e->file.fd, last->file.fd);
		if (what == KL_DETAIL_MAPS &&
		    (e->map.start >= e->map.end || (last && e->map.start < last->map.end)))
			wrong("a mapping from %llx to %llx", (unsigned long long)e->map.start,
			      (unsigned long long)e->map.end);
		if (what == KL_DETAIL_WAIT && !i && !kl_detail_wait_name(e->wait.reason))
			wrong("a wait for %u", e->wait.reason);
	}
}

/* Pages in RAM are mapped at least once, and runs are in order. */
static void ask_pages(pid_t pid, u32 what, bool of_user)
{
	struct kl_page_runs pages;
	int error = kl_page_runs_read(device, pid, what, &pages);
	u64 end = 0;

	count_call(pid, what, error, false, of_user);
	for (size_t i = 0; i < pages.n; i++) {
		const struct kl_abi_detail_pages *run = &pages.run[i];
		u32 unmapped = KL_PAGE_SWAPPED | KL_PAGE_MIGRATING | KL_PAGE_ZERO;

		if (run->start < end || !run->pages)
			wrong("%u pages at %llx, after the page before %llx", run->pages,
			      (unsigned long long)run->start, (unsigned long long)end);
		if (!run->mapcount != !!(run->flags & unmapped))
			wrong("%u mappings of a page with flags %x", run->mapcount, run->flags);
		end = run->start + (u64)run->pages * KL_DETAIL_PAGE_BYTES;
	}
	kl_page_runs_deinit(&pages);
}

void ask_details(bool of_user)
{
	static u32 turn;
	pid_t pid = (s32)shared->newest - (s32)(turn / KL_DETAIL_KINDS % 6);
	u32 what = 1 + turn++ % (KL_DETAIL_KINDS - 1);
	struct identity before, after;
	struct kl_details list;
	bool known;

	if (!device)
		device = kl_device_open(NULL);
	if (!device)
		bail("%s", kl_error_text());
	if (pid < 2)
		return;
	if (what >= KL_DETAIL_PAGES) {
		ask_pages(pid, what, of_user);
		return;
	}
	known = identify(pid, &before, of_user);
	if (!ask(pid, what, &list, of_user)) {
		judge_list(what, &list);
		if (known && identify(pid, &after, of_user) && after.number == before.number)
			judge_known(what, &list, &before);
	}
	kl_details_deinit(&list);
}

/* --------------------------------------------------- profiles, CPUs and /proc */

static void read_cpus(int fd)
{
	static struct kl_abi_cpu before[64];
	struct kl_abi_cpu now[64] = {};
	struct kl_abi_cpus call = { .size = sizeof(call), .n_cpus = 64, .cpus = (uintptr_t)now };

	how->calls++;
	if (kl_call(fd, KL_IOC_CPUS, &call) || call.n_cpus > 64)
		return wrong("KL_IOC_CPUS: %s", kl_why(fd));
	if (!call.processes || call.threads < call.processes || call.threads > 2000)
		wrong("%u processes, %u threads", call.processes, call.threads);
	for (u32 i = 0; i < call.n_cpus; i++) {
		if (now[i].cpu != i || now[i].user_ns < before[i].user_ns ||
		    now[i].softirqs < before[i].softirqs)
			wrong("CPU %u", i);
		before[i] = now[i];
	}
}

static void read_profile(bool of_user)
{
	static int fd = -1;
	static u32 turn;

	if (fd < 0 || turn++ % 20 == 19) {
		if (fd >= 0)
			close(fd);
		fd = open_profile(KL_LATENCY_WAKERS | KL_LATENCY_OWNERS | KL_LATENCY_USER_STACKS,
				  256, 256);
		start(fd);
		sleep_ms(50);
	}
	fetch(fd);
	how->calls++;
	if (n_tasks && !add_up())
		wrong("a profile does not add up");
	for (u32 i = 0; i < n_tasks; i++) {
		struct identity is;

		if (of_user && tasks[i].uid != USER1)
			wrong("a profile shows a user %d of user %u", tasks[i].tid, tasks[i].uid);
		how->ended += !!(tasks[i].flags & KL_LATENCY_TASK_ENDED);
		if (!has_name(tasks[i].comm, &is))
			continue;
		how->there++;
		if (is.tid != (u32)tasks[i].tid || tasks[i].uid != uid_of(is.number))
			wrong("a profile: %.16s is %d of user %u", tasks[i].comm, tasks[i].tid,
			      tasks[i].uid);
	}
}

/* A line with a name of the swarm must contain its tid, too. */
static void judge_line(const char *name, char *line)
{
	struct identity is = {};
	bool named = false, found = false;

	for (char *at = line; (at = strchr(at, 'k')); at++) {
		char comm[KL_COMM_LEN] = "";

		snprintf(comm, 15, "%s", at);
		named = has_name(comm, &is);
		if (named)
			break;
	}
	if (!named)
		return;
	how->there++;
	for (char *at = line; *at && !found; at++)
		found = (at == line || at[-1] < '0' || (at[-1] > '9' && at[-1] != 'k')) &&
			strtoul(at, NULL, 10) == is.tid && *at >= '1' && *at <= '9';
	if (!found)
		wrong("%s: %.100s", name, line);
}

static void read_files(void)
{
	DIR *folder = opendir("/proc/kernlens");
	char path[300], line[1000];
	struct dirent *entry;
	FILE *file;

	while (folder && (entry = readdir(folder))) {
		if (entry->d_type != DT_REG)
			continue;
		how->calls++;
		snprintf(path, sizeof(path), "/proc/kernlens/%s", entry->d_name);
		file = fopen(path, "re");
		if (!file) {
			wrong("%s: %s", path, strerror(errno));
			continue;
		}
		while (fgets(line, sizeof(line), file))
			judge_line(path, line);
		if (ferror(file))
			wrong("%s: %s", path, strerror(errno));
		fclose(file);
	}
	if (folder)
		closedir(folder);
}

void read_machine(bool of_user)
{
	static int fd = -1;

	if (fd < 0)
		fd = kl_open();
	if (cycles_per_ns == 0)
		cycles_per_ns = kl_info(fd).clock_hz / 1e9;
	read_cpus(fd);
	read_profile(of_user);
	read_files();
}
