// SPDX-License-Identifier: GPL-2.0
/*
 * An ordinary user learns nothing about others. As root in the guest: users 1 and 2 and root run
 * marked workloads; user 1 traces everything it can, in every way, and the output is searched for
 * traces of the others. Then come requests that must be refused, and the limits.
 */
#include <sys/stat.h>

#include "../decode.h"
#include "../workload.h"

#define USER_MEMORY "/sys/module/kernlens/parameters/memory_mb_per_user"

/* ---------------------------------------------- contents of a user's blocks */

/**
 * struct findings - the contents of a session's blocks
 * @own, @own_files: records of user 1's workload, and those with its file names
 * @seen: records that name each owner, by comm or string
 * @seen_changed: records that name a process that has become user 1's
 * @leak: the first thing that should not be there
 */
struct findings {
	u64 records;
	u64 blocks;
	u64 own;
	u64 own_files;
	u64 seen[OWNERS];
	u64 seen_setuid;
	u64 seen_hidden;
	u64 seen_changed;
	bool searching; /* for leaks: the session belongs to user 1 */
	char leak[300];
};

static void leak(struct findings *f, const struct record *r, const char *what, const char *name)
{
	if (!f->leak[0] && f->searching)
		snprintf(f->leak, sizeof(f->leak), "%s in %s%s.%s", what,
			 !r			     ? "a block" :
			 r->id < KL_EV_SYSCALL_ENTRY ? "" :
			 r->id < KL_EV_SYSCALL_EXIT  ? "syscall_entry_" :
						       "syscall_exit_",
			 r ? event_name(r->id) : "", name);
}

static void search_text(struct findings *f, const struct record *r, const char *name,
			const void *text, size_t bytes)
{
	/* All names begin like this: most texts need no further check. */
	if (!memmem(text, bytes, "kl", 2))
		return;
	f->seen_changed += !!memmem(text, bytes, NAME_CHANGED, strlen(NAME_CHANGED));
	for (int owner = OTHER; owner <= ROOT; owner++) {
		if (!memmem(text, bytes, owner_names[owner], strlen(owner_names[owner])))
			continue;
		f->seen[owner]++;
		leak(f, r, owner_names[owner], name);
	}
	if (memmem(text, bytes, NAME_SETUID, strlen(NAME_SETUID))) {
		f->seen_setuid++;
		leak(f, r, NAME_SETUID, name);
	}
	if (memmem(text, bytes, NAME_HIDDEN, strlen(NAME_HIDDEN))) {
		f->seen_hidden++;
		leak(f, r, NAME_HIDDEN, name);
	}
}

/*
 * Numbers of 8 bytes are times and sizes, unless the name says otherwise or it is a call's result.
 */
static bool may_be_tid(const struct value *v)
{
	return v->bytes == 4 ||
	       (v->bytes == 8 &&
		(strstr(v->name, "tid") || strstr(v->name, "pid") || !strcmp(v->name, "ret")));
}

static void search_value(struct findings *f, const struct record *r, const struct value *v)
{
	char text[80];

	if (v->string || v->kind != KIND_INT) {
		search_text(f, r, v->name, v->at, v->bytes);
		if (v->string && memmem(v->at, v->bytes, "klown1-file", 11))
			f->own_files++;
		return;
	}
	if (may_be_tid(v) && is_others_tid(v->number)) {
		snprintf(text, sizeof(text), "another's thread id %llu",
			 (unsigned long long)v->number);
		leak(f, r, text, v->name);
	}
	/* Excludes the small negative numbers at the top. */
	if ((!strcmp(v->format, "ptr") && v->number && r->id < KL_EV_SYSCALL_ENTRY) ||
	    (v->bytes == 8 && v->number >= 0xffff800000000000 && v->number < -0x100000ull)) {
		snprintf(text, sizeof(text), "kernel address %#llx", (unsigned long long)v->number);
		leak(f, r, text, v->name);
	}
}

static void search_block(struct findings *f, const u8 *block, u32 block_bytes)
{
	const struct kl_abi_block *header = (const void *)block;
	const u8 *at = block + KL_BLOCK_HEADER_BYTES, *end = block + header->content_bits / 8;
	static struct record r;
	bool own = false;

	f->blocks++;
	for (; at < end; at += r.bytes) {
		if (!decode_record(&r, at, end)) {
			leak(f, NULL, "an invalid record", "");
			return;
		}
		f->records++;
		if (r.task) {
			own = !strncmp(r.task->comm, owner_names[OWN], KL_COMM_LEN);
			search_text(f, &r, "(task) comm", r.task->comm, KL_COMM_LEN);
			if (is_others_tid(r.task->tid) || is_others_tid(r.task->pid))
				leak(f, &r, "another's thread id", "(task) tid");
		}
		f->own += own;
		for (u32 i = 0; i < r.values; i++)
			search_value(f, &r, &r.value[i]);
	}
	/* Whatever the records mean, no byte of a name may be in them or after them. */
	for (int owner = OTHER; owner <= ROOT; owner++)
		if (memmem(block, block_bytes, owner_names[owner], strlen(owner_names[owner])))
			leak(f, NULL, owner_names[owner], "bytes");
}

static void search_session(struct findings *f, int reader, u32 block_bytes)
{
	u8 *buffer = malloc(4 * block_bytes);
	ssize_t got;

	while ((got = read(reader, buffer, 4 * block_bytes)) > 0)
		for (ssize_t at = 0; at < got; at += block_bytes)
			search_block(f, buffer + at, block_bytes);
	if (got < 0)
		bail("read");
	free(buffer);
}

/* ------------------------------------------------------- user 1's sessions */

/* Events that the table reserves for privileged users. */
enum {
	ROW_SELF,
	ROW_ABOUT,
	ROW_SYSTEM
};
#undef KL_STR
#define KL_TP(...) 0
#define KL_OWN(...) 0
#define KL_FN(...) 1
#define KL_SELF ROW_SELF
#define KL_SYSTEM ROW_SYSTEM
#define KL_ABOUT(t) ROW_ABOUT
#define KL_ABOUT2(t, u) ROW_ABOUT
#define KL_EVENT(id, name, group, set, help, source, access, fields, strings) \
	[id] = (access) == ROW_SYSTEM || (source),
static const bool denied[KL_EV_SYSCALL_ENTRY] = {
#include "events.def"
};

static struct kl_abi_event_info event_info(int fd, u32 id)
{
	struct kl_abi_event_info info = { .size = sizeof(info), .id = id };

	if (kl_call(fd, KL_IOC_EVENT_INFO, &info))
		bail("KL_IOC_EVENT_INFO");
	return info;
}

/* Uses a maskset of every available event. */
static int use_all_events(int fd)
{
	static u32 events[KL_EV_MAX];
	u32 n = 0;

	for (u32 id = 1; id < KL_EV_MAX; id++)
		if (!event_info(fd, id).absent)
			events[n++] = id;
	events[n] = 0;
	return kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_log, events);
}

enum way {
	WAY_RALL,
	WAY_EVENTS,
	WAY_TASKS_OTHERS,
	WAY_TASKS_OWN,
	WAY_UID_OTHER,
	WAY_UID_ROOT,
	WAY_UID_OWN
};

static const struct {
	const char *name;
	enum way way;
	bool expects_own;
} ways[] = {
	{ "RALL and a state dump", WAY_RALL, true },
	{ "every event by its id", WAY_EVENTS, true },
	{ "tasks of user 2 and of root", WAY_TASKS_OTHERS, false },
	{ "own tasks and their children", WAY_TASKS_OWN, true },
	{ "uid of user 2", WAY_UID_OTHER, false },
	{ "uid of root", WAY_UID_ROOT, false },
	{ "own uid", WAY_UID_OWN, true },
};

#define TASKS_ALL (KL_TASK_ADD | KL_TASK_PROCESS | KL_TASK_TREE | KL_TASK_INHERIT)

static int configure(int fd, enum way way)
{
	int error = way == WAY_EVENTS ? use_all_events(fd) : kl_use(fd, KL_MASKSET_RALL);

	if (error)
		return error;
	switch (way) {
	case WAY_TASKS_OTHERS:
	case WAY_TASKS_OWN:
		error = kl_filter(fd, KL_FILTER_TASKS, 0);
		if (error || way == WAY_TASKS_OWN)
			return error ?: kl_tasks(fd, shared->process[OWN], TASKS_ALL);
		/* Either result is right: refused, or without effect. */
		kl_tasks(fd, shared->process[OTHER], TASKS_ALL);
		kl_tasks(fd, shared->process[ROOT], TASKS_ALL);
		return 0;
	case WAY_UID_OTHER:
		return kl_filter(fd, KL_FILTER_UID, UID_USER2);
	case WAY_UID_ROOT:
		return kl_filter(fd, KL_FILTER_UID, 0);
	case WAY_UID_OWN:
		return kl_filter(fd, KL_FILTER_UID, UID_USER1);
	default:
		return 0;
	}
}

static struct kl_abi_session big_session(void)
{
	return (struct kl_abi_session){ .mode = KL_MODE_DISCARD,
					.blocks = 128,
					.block_bytes = 65536 };
}

static u32 rounds_wanted = 2;

/* Waits until every owner has completed some full rounds. */
static void wait_for_rounds(void)
{
	double until = now_seconds() + 20;
	u32 before[OWNERS];

	for (int owner = 0; owner < OWNERS; owner++)
		before[owner] = shared->rounds[owner];
	for (int owner = 0; owner < OWNERS; owner++)
		while (shared->rounds[owner] - before[owner] <= rounds_wanted &&
		       now_seconds() < until)
			sleep_ms(5);
}

static void trace(int fd, int reader, bool dump, struct findings *f)
{
	struct kl_abi_dump all = { .size = sizeof(all),
				   .what = KL_DUMP_PROCESSES | KL_DUMP_FILES | KL_DUMP_MAPPINGS };

	if (kl_start(fd))
		bail("start: %s", kl_why(fd));
	if (dump && kl_call(fd, KL_IOC_DUMP, &all))
		bail("dump: %s", kl_why(fd));
	wait_for_rounds();
	if (kl_stop(fd))
		bail("stop");
	search_session(f, reader, 65536);
}

static void trace_as_user(u32 i)
{
	struct kl_abi_session params = big_session();
	struct findings f = { .searching = true };
	int fd = kl_open(), reader;
	double begun = now_seconds();
	char name[120];

	if (kl_session(fd, &params) || configure(fd, ways[i].way))
		bail("%s: %s", ways[i].name, kl_why(fd));
	reader = kl_reader(fd, 0);
	trace(fd, reader, ways[i].way == WAY_RALL, &f);
	snprintf(name, sizeof(name), "user 1 with %s: nothing of others", ways[i].name);
	tap_result(!f.leak[0], name, "%s", f.leak);
	snprintf(name, sizeof(name), "user 1 with %s: %s", ways[i].name,
		 ways[i].expects_own ? "its own processes" : "no record");
	tap_result(ways[i].expects_own ? f.own > 50 && f.own_files &&
						 (f.seen_changed || ways[i].way == WAY_TASKS_OWN) :
					 !f.records,
		   name, "records %llu own %llu files %llu changed %llu",
		   (unsigned long long)f.records, (unsigned long long)f.own,
		   (unsigned long long)f.own_files, (unsigned long long)f.seen_changed);
	printf("# %.1f s, %llu records, %llu of its workload, lost %llu\n", now_seconds() - begun,
	       (unsigned long long)f.records, (unsigned long long)f.own,
	       (unsigned long long)kl_stats(fd, -1).lost);
	close(reader);
	close(fd);
}

/* ------------------------------------------------------------------ refusals */

static void check_denied_events(void)
{
	u32 wrong_info = 0, wrong_write = 0, no_text = 0, number = 0;
	struct kl_abi_session params = { .blocks = 4 };
	int fd = kl_open();

	if (kl_session(fd, &params))
		bail("session");
	for (u32 id = 1; id < KL_EV_SYSCALL_ENTRY; id++) {
		u32 events[] = { id, 0 }, absent = event_info(fd, id).absent;
		int error;

		if (!layouts[id].name)
			continue;
		if (absent && absent != KL_ABSENT_DENIED)
			continue;
		wrong_info += denied[id] != (absent == KL_ABSENT_DENIED);
		error = kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_log, events);
		wrong_write += error != (denied[id] ? -EPERM : 0);
		no_text += error && strlen(kl_why(fd)) < 10;
		number += denied[id];
	}
	tap_result(!wrong_write && number > 20,
		   "user 1: system-wide and function events are refused with EPERM", "%u wrong",
		   wrong_write);
	tap_result(!no_text, "user 1: the refusal says why", "%u without", no_text);
	tap_result(!wrong_info, "user 1: the list says what is denied", "%u wrong", wrong_info);
	close(fd);
}

static void check_others_sessions(void)
{
	struct kl_abi_status status = { .size = sizeof(status) };
	u32 foreign = 0;
	int fd = kl_open();

	for (int owner = OTHER; owner <= ROOT; owner++) {
		struct kl_abi_attach attach = { .size = sizeof(attach),
						.id = shared->session[owner] };
		int error = kl_call(fd, KL_IOC_ATTACH, &attach);

		tap_result(error == -EPERM || error == -ENOENT,
			   owner == ROOT ? "user 1 cannot attach to root's session" :
					   "user 1 cannot attach to user 2's session",
			   "error %d", error);
	}
	while (!kl_call(fd, KL_IOC_STATUS, &status)) {
		foreign += status.uid != UID_USER1;
		status.index++;
	}
	tap_check(!foreign, "user 1's status lists only its own sessions");
	close(fd);
}

/* The same user may read a session from another process, but do nothing else. */
static void check_own_attach(void)
{
	struct kl_abi_session params = { .blocks = 4 };
	struct kl_abi_attach attach = { .size = sizeof(attach) };
	int fd = kl_open(), other = kl_open(), reader;

	if (kl_session(fd, &params))
		bail("session");
	attach.id = params.id;
	tap_check(!kl_call(other, KL_IOC_ATTACH, &attach), "user 1 attaches to its own session");
	reader = kl_reader(other, 0);
	tap_check(reader >= 0, "user 1 reads its own session from elsewhere");
	tap_check(kl_start(other) == -EPERM && kl_stop(other) == -EPERM &&
			  kl_filter(other, 0, 0) == -EPERM,
		  "an attached reader cannot start, stop or filter the session");
	tap_check(!kl_use(other, KL_MASKSET_RNOTHING) && !kl_resize(other, 8),
		  "but switch its maskset, and resize its buffers");
	tap_check(kl_stats(fd, -1).blocks == 8 * sysconf(_SC_NPROCESSORS_ONLN),
		  "which its owner then sees");
	close(fd);
	close(other);
	close(reader);
}

static void check_limits(void)
{
	struct kl_abi_info info;
	int fds[64], fd, error = 0;
	struct kl_abi_session params;
	u32 n, blocks;

	fd = kl_open();
	info = kl_info(fd);
	for (n = 0; n < 64 && !error; n++) {
		fds[n] = kl_open();
		params = (struct kl_abi_session){ .blocks = 4, .block_bytes = 4096 };
		error = kl_session(fds[n], &params);
	}
	tap_result(error == -EDQUOT && n == info.sessions_max + 1, "sessions of a user are limited",
		   "%u sessions, error %d", n, error);
	while (n--)
		close(fds[n]);
	/* Root has set the limit to 8 MiB: 4 MiB are allowed, 8 MiB more are not. */
	blocks = (4u << 20) / 65536 / sysconf(_SC_NPROCESSORS_ONLN);
	params = (struct kl_abi_session){ .blocks = blocks,
					  .blocks_max = 8 * blocks,
					  .block_bytes = 65536 };
	tap_check(info.buffer_bytes_max == 8u << 20, "the limit of buffers is reported");
	tap_check(!kl_session(fd, &params), "buffers within the limit");
	tap_check(kl_resize(fd, 8 * blocks) == -EDQUOT && strlen(kl_why(fd)) > 10,
		  "resizing beyond the limit is refused");
	tap_check(!kl_resize(fd, 2 * blocks - 1), "resizing up to the limit is not");
	fds[0] = kl_open();
	params = (struct kl_abi_session){ .blocks = blocks, .block_bytes = 65536 };
	tap_check(kl_session(fds[0], &params) == -EDQUOT,
		  "a second session beyond the limit is refused");
	close(fd);
	tap_check(!kl_session(fds[0], &params), "and is possible once the first has ended");
	close(fds[0]);
}

/* ------------------------------------------------------------------ processes */

/* A session of user 2 that stays while user 1 tries to access it. */
static void hold_session(void)
{
	struct kl_abi_session params = { .blocks = 4, .name = "of user 2" };
	int fd = kl_open();

	if (kl_session(fd, &params) || kl_use(fd, KL_MASKSET_RNOTHING) || kl_start(fd))
		bail("session of user 2: %s", kl_why(fd));
	shared->session[OTHER] = params.id;
	while (!shared->stop)
		sleep_ms(20);
}

static void user1(void)
{
	u32 may;
	int fd = kl_open();

	may = kl_info(fd).may;
	close(fd);
	tap_result(!may, "user 1 has no rights", "%#x", may);
	for (u32 i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		trace_as_user(i);
	check_denied_events();
	check_others_sessions();
	check_own_attach();
}

static void user1_limits(void)
{
	check_limits();
}

/* TAP numbers continue across processes. */
static int finish(pid_t child)
{
	int status;

	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void check_root(int fd, int reader)
{
	struct findings f = {};

	if (kl_stop(fd))
		bail("stop of root's session");
	search_session(&f, reader, 65536);
	tap_result(f.own > 50 && f.own_files && f.seen[OTHER] > 50 && f.seen[ROOT] > 50 &&
			   f.seen_setuid && f.seen_hidden && f.seen_changed,
		   "root's session shows all of them",
		   "user 1 %llu files %llu user 2 %llu root %llu setuid %llu hidden %llu of %llu",
		   (unsigned long long)f.own, (unsigned long long)f.own_files,
		   (unsigned long long)f.seen[OTHER], (unsigned long long)f.seen[ROOT],
		   (unsigned long long)f.seen_setuid, (unsigned long long)f.seen_hidden,
		   (unsigned long long)f.records);
}

int main(int argc, char **argv)
{
	struct kl_abi_session params = big_session();
	int fd, reader, failures;
	pid_t workers[WORKERS + 1];

	if (argc > 1 && !strcmp(argv[1], "suid"))
		return run_setuid();
	if (argc > 1 && !strcmp(argv[1], "suid2"))
		return run_setuid2();
	if (argc > 1)
		rounds_wanted = atoi(argv[1]);
	prepare_workload();
	/* Not RALL, which would keep the emulator busy and give the test too much to search. */
	fd = kl_open();
	if (kl_session(fd, &params) || kl_use(fd, KL_MASKSET_RDEFAULT) || kl_start(fd))
		bail("session of root: %s", kl_why(fd));
	shared->session[ROOT] = params.id;
	reader = kl_reader(fd, 0);
	start_workers(workers);
	workers[WORKERS] = start(hold_session, UID_USER2);
	while (!shared->session[OTHER] || !shared->rounds[OWN] || !shared->rounds[OTHER] ||
	       !shared->rounds[ROOT])
		sleep_ms(10);
	wait_for_rounds();
	check_root(fd, reader);
	check_flags();
	failures = finish(start(user1, UID_USER1));
	shared->stop = 1;
	for (int i = 0; i < WORKERS + 1; i++)
		failures += finish(workers[i]);
	close(fd);
	close(reader);
	if (!put_file(USER_MEMORY, "8"))
		bail("module parameter");
	failures += finish(start(user1_limits, UID_USER1));
	/* Restores the default for other tests in the same guest. */
	if (!put_file(USER_MEMORY, "256"))
		bail("module parameter");
	tap.failures += failures;
	printf("# rounds: %u, %u, %u\n", shared->rounds[OWN], shared->rounds[OTHER],
	       shared->rounds[ROOT]);
	return tap.failures ? 1 : 0;
}
