// SPDX-License-Identifier: GPL-2.0
/*
 * Who may change a session that another process has created, and what happens when several
 * processes do so concurrently while events fire. Needs kl_stimulus.ko. Run as root.
 *
 *	kernel-control
 */
#include <grp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "defined.h"
#include "stimulus/stimulus.h"
#include "text.h"

#define UID_ONE 60001
#define UID_TWO 60002
#define SWITCHES 60

/* The caller: ids, a capability that it keeps (-1: none), and whether it is undumpable. */
struct who {
	u32 uid, gid;
	int capability;
	bool hidden;
};

static void become(const struct who *who)
{
	if (!who->uid)
		return;
	prctl(PR_SET_KEEPCAPS, 1);
	if (setgroups(0, NULL) || setresgid(who->gid, who->gid, who->gid) ||
	    setresuid(who->uid, who->uid, who->uid))
		bail("setresuid");
	kl_keep_capability(who->capability);
	prctl(PR_SET_DUMPABLE, !who->hidden);
}

/* Makes one call of each kind that changes something; all must return the same 0 or -errno. */
static int change(int fd)
{
	struct kl_abi_maskset *m = calloc(1, sizeof(*m));
	struct kl_abi_op end = { .code = KL_OP_END };
	struct kl_abi_program program = { .size = sizeof(program),
					  .ops = (u64)(uintptr_t)&end,
					  .n_ops = 1 };
	struct kl_abi_rule rule = { .size = sizeof(rule), .handler = KL_HANDLER_log };
	int error[6];

	m->size = sizeof(*m);
	m->id = KL_MASKSET_ANY;
	strcpy(m->name, "brought");
	error[0] = kl_call(fd, KL_IOC_MASKSET_WRITE, m);
	error[1] = kl_use(fd, KL_MASKSET_RNOTHING);
	error[2] = kl_call(fd, KL_IOC_PROGRAM, &program);
	error[3] = kl_call(fd, KL_IOC_RULE, &rule);
	error[4] = kl_call(fd, KL_IOC_FREEZE, NULL);
	/* Allowed, but there is nothing to freeze. */
	if (error[4] == -ENODATA)
		error[4] = 0;
	error[5] = kl_resize(fd, 8);
	free(m);
	for (int i = 1; i < 6; i++)
		if (error[i] != error[0])
			return -EPROTO;
	return error[0];
}

/* Are the calls that only the creator may make refused? */
static bool is_creators(int fd)
{
	struct kl_abi_events events = { .size = sizeof(events) };
	struct kl_abi_variables variables = { .size = sizeof(variables) };
	struct kl_abi_metadata metadata = { .size = sizeof(metadata) };
	struct kl_abi_dump dump = { .size = sizeof(dump) };

	return kl_start(fd) == -EPERM && kl_stop(fd) == -EPERM && kl_filter(fd, 0, 0) == -EPERM &&
	       kl_tasks(fd, 1, KL_TASK_ADD) == -EPERM &&
	       kl_call(fd, KL_IOC_EVENTS, &events) == -EPERM &&
	       kl_call(fd, KL_IOC_VARIABLES, &variables) == -EPERM &&
	       kl_call(fd, KL_IOC_METADATA_SET, &metadata) == -EPERM &&
	       kl_call(fd, KL_IOC_DUMP, &dump) == -EPERM;
}

enum outcome {
	UNKNOWN, /* there is no such session */
	REFUSED, /* it records more than the caller may see */
	READS,
	CHANGES,
	WRONG
};

static enum outcome try(u32 id)
{
	struct kl_abi_attach attach = { .size = sizeof(attach), .id = id };
	int fd = kl_open(), error = kl_call(fd, KL_IOC_ATTACH, &attach);

	if (error == -ENOENT)
		return UNKNOWN;
	if (error == -EPERM)
		return REFUSED;
	if (error || kl_reader(fd, 0) < 0 || !is_creators(fd))
		return WRONG;
	error = change(fd);
	return !error ? CHANGES : error == -EPERM && strstr(kl_why(fd), "another") ? READS : WRONG;
}

static enum outcome try_as(const struct who *who, u32 id)
{
	pid_t child = fork();
	int status;

	if (!child) {
		become(who);
		_exit((int)try(id));
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? (enum outcome)WEXITSTATUS(status) : WRONG;
}

/* Makes a session as @who, by a process that lives as long as this pipe is open. */
static u32 make_as(const struct who *who, int *hold)
{
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 4096 };
	int down[2], up[2];
	u32 id = 0;

	if (pipe(down) || pipe(up))
		bail("pipe");
	if (!fork()) {
		int fd;

		close(down[1]);
		become(who);
		fd = kl_open();
		if (kl_session(fd, &params) || kl_start(fd))
			bail("session: %s", kl_why(fd));
		if (write(up[1], &params.id, sizeof(params.id)) < 0 || read(down[0], &id, 1))
			bail("pipe");
		_exit(0);
	}
	close(down[0]);
	close(up[1]);
	if (read(up[0], &id, sizeof(id)) != sizeof(id))
		bail("no session");
	close(up[0]);
	*hold = down[1];
	return id;
}

static const struct who root = { 0, 0, -1, false };
static const struct who one = { UID_ONE, UID_ONE, -1, false };
static const struct who one_hidden = { UID_ONE, UID_ONE, -1, true };
static const struct who one_group = { UID_ONE, UID_TWO, -1, false };
static const struct who one_perfmon = { UID_ONE, UID_ONE, CAP_PERFMON, false };
static const struct who one_chown = { UID_ONE, UID_ONE, CAP_CHOWN, false };
static const struct who two = { UID_TWO, UID_TWO, -1, false };
static const struct who two_perfmon = { UID_TWO, UID_TWO, CAP_PERFMON, false };
static const struct who two_admin = { UID_TWO, UID_TWO, CAP_SYS_ADMIN, false };

/* The table in docs/design/access.md. */
static const struct {
	const char *text;
	const struct who *owner, *other;
	enum outcome outcome;
} rows[] = {
	{ "the same user changes its session", &one, &one, CHANGES },
	{ "another user does not even know of it", &one, &two, UNKNOWN },
	{ "CAP_PERFMON reads another user's, and changes nothing", &one, &two_perfmon, READS },
	{ "CAP_SYS_ADMIN changes another user's", &one, &two_admin, CHANGES },
	{ "root changes it", &one, &root, CHANGES },
	{ "the same user with more rights changes it", &one, &one_perfmon, CHANGES },
	{ "with less than it was made with: refused", &one_perfmon, &one, REFUSED },
	{ "with the same: changed", &one_perfmon, &one_perfmon, CHANGES },
	{ "of another's with CAP_PERFMON: read", &one_perfmon, &two_perfmon, READS },
	{ "root's is refused to CAP_PERFMON", &root, &two_perfmon, REFUSED },
	{ "and not known to a user", &root, &one, UNKNOWN },
	{ "root's is changed by CAP_SYS_ADMIN", &root, &two_admin, CHANGES },
	{ "one user with another group: refused", &one_group, &one, REFUSED },
	{ "with a capability that the other lacks: refused", &one_chown, &one, REFUSED },
	{ "with one less: changed", &one, &one_chown, CHANGES },
	{ "made by a program that is not dumpable: refused to its user", &one_hidden, &one,
	  REFUSED },
	{ "read by CAP_PERFMON", &one_hidden, &two_perfmon, READS },
	{ "changed by that user with CAP_PERFMON", &one_hidden, &one_perfmon, CHANGES },
};

static void test_rights(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int hold;
		u32 id = make_as(rows[i].owner, &hold);
		enum outcome outcome = try_as(rows[i].other, id);

		tap_result(outcome == rows[i].outcome, rows[i].text, "outcome %d, expected %d",
			   outcome, rows[i].outcome);
		close(hold);
		wait(NULL);
	}
}

/* Programs added by a more privileged caller are checked against the session's rights. */
static void test_programs(void)
{
	struct kl_abi_op ops[] = { { .code = KL_OP_CURRENT }, { .code = KL_OP_END } };
	struct kl_abi_program program = { .size = sizeof(program),
					  .ops = (u64)(uintptr_t)ops,
					  .n_ops = 2 };
	struct kl_abi_attach attach = { .size = sizeof(attach) };
	int hold, fd = kl_open();

	attach.id = make_as(&one, &hold);
	if (kl_call(fd, KL_IOC_ATTACH, &attach))
		bail("attach: %s", kl_why(fd));
	tap_check(kl_call(fd, KL_IOC_PROGRAM, &program) == -EPERM,
		  "root brings no more into a user's session than the user may");
	close(fd);
	close(hold);
	wait(NULL);
}

/* ------------------------------------------------------------ concurrency */

static struct defined d;
static u64 called;
static int stimulus;
static u32 session;
static bool stop;

static void *call_long(void *unused)
{
	u64 n = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (ioctl(stimulus, KLS_IOC_CALL, 100))
			bail("KLS_IOC_CALL");
		n += 100;
	}
	return (void *)n;
}

/* A terminal: writes its own maskset and switches to that one and to the shared one. */
static void *switch_long(void *data)
{
	struct kl_abi_attach attach = { .size = sizeof(attach), .id = session };
	struct kl_abi_maskset *m = calloc(1, sizeof(*m));
	u8 handler[2] = { KL_HANDLER_log, KL_HANDLER_log };
	uintptr_t number = (uintptr_t)data, errors = 0;
	int fd = kl_open();

	if (kl_call(fd, KL_IOC_ATTACH, &attach))
		bail("attach: %s", kl_why(fd));
	m->size = sizeof(*m);
	m->dynamic = (u64)(uintptr_t)handler;
	m->n_dynamic = 2;
	snprintf(m->name, sizeof(m->name), "of %u", (u32)number);
	m->handler[number ? KL_EV_module_load : KL_EV_module_free] = KL_HANDLER_log;
	for (u32 i = 0; i < SWITCHES; i++) {
		m->id = KL_MASKSET_ANY;
		errors += !!kl_call(fd, KL_IOC_MASKSET_WRITE, m);
		errors += m->id == MASKSET || !!kl_use(fd, i & 1 ? m->id : MASKSET);
	}
	free(m);
	close(fd);
	return (void *)errors;
}

static void test_at_once(void)
{
	pthread_t caller, switcher[2];
	uintptr_t errors = 0, more;
	struct kl_abi_stats stats;
	void *times;

	defined_open(&d, KL_MODE_DISCARD);
	defined_own(&d);
	defined_add(&d, KL_SOURCE_KIND_FUNCTION, called, 0, NULL, 0, NULL);
	defined_add(&d, KL_SOURCE_KIND_RETURN, called, 0, NULL, 0, NULL);
	if (defined_make(&d) || defined_write(&d, MASKSET, 2) || kl_use(d.fd, MASKSET))
		bail("switch: %s", kl_why(d.fd));
	session = 0;
	for (struct kl_abi_status status = { .size = sizeof(status) };
	     !kl_call(d.fd, KL_IOC_STATUS, &status); status.index++)
		session = status.id;
	defined_start(&d);
	pthread_create(&caller, NULL, call_long, NULL);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&switcher[i], NULL, switch_long, (void *)i);
	for (u32 i = 0; i < 2; i++) {
		pthread_join(switcher[i], (void **)&more);
		errors += more;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(caller, &times);
	if (kl_stop(d.fd))
		bail("stop");
	stats = kl_stats(d.fd, -1);
	tap_result(!errors, "two terminals switch at once", "%llu refused",
		   (unsigned long long)errors);
	d.foreign = 0;
	defined_read(&d);
	tap_result(d.seen[0] + stats.lost >= (u64)times && d.seen[0] <= (u64)times &&
			   (stats.lost || d.seen[1] == (u64)times) && (u64)times > 1000,
		   "and no call is lost meanwhile", "%llu entries, %llu returns, %llu lost of %llu",
		   (unsigned long long)d.seen[0], (unsigned long long)d.seen[1],
		   (unsigned long long)stats.lost, (unsigned long long)(u64)times);
	close(d.fd);
}

/* With all ids taken, another maskset is refused, but one of an existing name is not. */
static void test_ids(void)
{
	struct kl_abi_session params = { .blocks = 4 };
	struct kl_abi_maskset *m = calloc(1, sizeof(*m));
	bool seen[KL_MASKSET_MAX] = {};
	u32 n = 0, doubled = 0;
	int fd = kl_open(), error;

	if (kl_session(fd, &params))
		bail("session");
	do {
		m->size = sizeof(*m);
		m->id = KL_MASKSET_ANY;
		snprintf(m->name, sizeof(m->name), "n%u", n);
		error = kl_call(fd, KL_IOC_MASKSET_WRITE, m);
		if (!error)
			doubled += seen[m->id];
		if (!error)
			seen[m->id] = true;
	} while (!error && ++n < 1000);
	tap_result(error == -ENOSPC && n == KL_MASKSET_MAX - KL_MASKSET_FIRST_USER && !doubled,
		   "253 masksets beside those built in", "%u, error %d", n, error);
	m->id = KL_MASKSET_ANY;
	strcpy(m->name, "n7");
	tap_check(!kl_call(fd, KL_IOC_MASKSET_WRITE, m) && m->id == KL_MASKSET_FIRST_USER + 7,
		  "one of the same name is replaced");
	m->id = KL_MASKSET_ANY;
	m->name[0] = 0;
	tap_check(kl_call(fd, KL_IOC_MASKSET_WRITE, m) == -EINVAL, "one without a name is refused");
	free(m);
	close(fd);
}

/* Switching to a maskset that does not exist is counted and has no other effect. */
static void test_unswitched(void)
{
	struct kl_abi_rule rule = { .size = sizeof(rule), .handler = KL_HANDLER_use, .arg = 77 };
	struct kl_abi_session params = { .blocks = 4 };
	u32 events[] = { KL_EV_SYSCALL_ENTRY + SYS_getppid, 0 };
	struct kl_abi_rule never = { .size = sizeof(never),
				     .handler = KL_HANDLER_freeze,
				     .arg = ~0ull };
	struct kl_abi_rule traces = { .size = sizeof(traces),
				      .handler = KL_HANDLER_stack,
				      .arg = (KL_STACKS_KERNEL | KL_STACKS_USER) + 1 };
	int fd = kl_open();

	if (kl_session(fd, &params) || kl_call(fd, KL_IOC_RULE, &rule) ||
	    kl_use_events(fd, MASKSET, KL_ACTION_RULE, events) || kl_start(fd))
		bail("session: %s", kl_why(fd));
	tap_check(kl_call(fd, KL_IOC_RULE, &never) == -EINVAL && strstr(kl_why(fd), "records"),
		  "more records than a session can count are refused");
	tap_check(kl_call(fd, KL_IOC_RULE, &traces) == -EINVAL && strstr(kl_why(fd), "traces"),
		  "and unknown stack traces");
	syscall(SYS_getppid);
	for (u32 i = 0; i < 500 && !kl_stats(fd, -1).unswitched; i++)
		sleep_ms(10);
	tap_check(kl_stats(fd, -1).unswitched == 1 && kl_stats(fd, -1).maskset == MASKSET,
		  "a switch that cannot be made is counted");
	close(fd);
}

/*
 * A rule at the event `alarm` that raises an alarm itself, or takes a snapshot: that does not hit
 * the rule again.
 */
static void user_alarms(u32 handler)
{
	struct kl_abi_session params = { .mode = KL_MODE_OVERWRITE, .blocks = 4 };
	struct kl_abi_rule rule = { .size = sizeof(rule), .handler = handler, .text = "here" };
	struct kl_abi_mark mark = { .size = sizeof(mark), .text = "mark" };
	static struct kl_abi_alarm alarm[KL_ALARMS_KEPT];
	struct kl_abi_alarms alarms = { .size = sizeof(alarms),
					.n = KL_ALARMS_KEPT,
					.alarm = (u64)(uintptr_t)alarm };
	u32 events[] = { KL_EV_mark, KL_EV_alarm, 0 };
	int fd = kl_open();
	u64 news;

	if (kl_session(fd, &params) || kl_call(fd, KL_IOC_RULE, &rule) ||
	    kl_use_events(fd, MASKSET, KL_ACTION_RULE, events) || kl_start(fd))
		bail("session: %s", kl_why(fd));
	if (kl_call(fd, KL_IOC_MARK, &mark) || kl_call(fd, KL_IOC_ALARMS, &alarms))
		bail("mark: %s", kl_why(fd));
	news = handler == KL_HANDLER_alarm ? alarms.n : kl_stats(fd, -1).snapshots;
	alarms.first = ~0ull;
	alarms.n = KL_ALARMS_KEPT;
	for (u32 i = 0; i < KL_ALARMS_KEPT; i++)
		kl_call(fd, KL_IOC_MARK, &mark);
	tap_result(!kl_call(fd, KL_IOC_ALARMS, &alarms) && !alarms.n && !alarms.missed,
		   "there are no alarms after the last one", "%u, %llu missed", alarms.n,
		   (unsigned long long)alarms.missed);
	tap_result(news == 2, "a rule of the event `alarm` does not fire it again",
		   "handler %u: %llu", handler, (unsigned long long)news);
	close(fd);
}

static void test_alarms_of_alarms(void)
{
	static const struct who one = { UID_ONE, UID_ONE, -1, false };
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		become(&one);
		tap.failures = 0;
		user_alarms(KL_HANDLER_alarm);
		user_alarms(KL_HANDLER_snapshot);
		_exit(tap.failures);
	}
	waitpid(pid, &status, 0);
	tap.tests += 4;
	tap.failures += WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

/* Deferred-work interrupts (irq_work), on all CPUs since boot. */
static u64 irq_works(void)
{
	char line[1024];
	FILE *file = fopen("/proc/interrupts", "r");
	u64 sum = 0;

	while (file && fgets(line, sizeof(line), file)) {
		char *at = strstr(line, "IWI:"), *end;

		for (at = at ? at + 4 : NULL; at; at = end) {
			u64 n = strtoull(at, &end, 10);

			if (end == at)
				break;
			sum += n;
		}
	}
	if (file)
		fclose(file);
	return sum;
}

static void *wait_for_notification(void *argument)
{
	int fd = *(int *)argument;
	struct pollfd news = { .fd = fd, .events = POLLPRI };

	while (kl_stats(fd, -1).running)
		if (poll(&news, 1, 100) < 0)
			break;
	return NULL;
}

static void *wait_for_records(void *argument)
{
	static char block[1 << 16];
	int reader = *(int *)argument;

	while (read(reader, block, sizeof(block)) > 0)
		;
	return NULL;
}

static void *make_marks(void *argument)
{
	int fd = *(int *)argument;
	struct kl_abi_mark mark = { .size = sizeof(mark), .text = "mark" };

	kl_pin(0);
	while (kl_stats(fd, -1).running && !kl_call(fd, KL_IOC_MARK, &mark))
		sleep_ms(5);
	return NULL;
}

/* A session with a rule at the interrupt that its own notifications and requests cause. */
static void storm(u32 handler, const char *name)
{
	struct kl_abi_session params = { .mode = KL_MODE_OVERWRITE, .blocks = 4 };
	struct kl_abi_rule rule = { .size = sizeof(rule), .handler = handler };
	u32 events[] = { KL_EV_mark, KL_EV_x86_irq_vectors_irq_work_entry,
			 KL_EV_x86_irq_vectors_irq_work_exit, 0 };
	pthread_t news, records, marks;
	int fd = kl_open(), reader;
	u64 before, n;

	if (handler == KL_HANDLER_use)
		rule.arg = MASKSET;
	else
		strcpy(rule.text, "here");
	if (kl_session(fd, &params) || kl_call(fd, KL_IOC_RULE, &rule) ||
	    kl_use_events(fd, MASKSET, KL_ACTION_RULE, events))
		bail("session: %s", kl_why(fd));
	reader = kl_reader(fd, 0);
	if (reader < 0 || kl_start(fd))
		bail("session: %s", kl_why(fd));
	pthread_create(&news, NULL, wait_for_notification, &fd);
	pthread_create(&records, NULL, wait_for_records, &reader);
	sleep_ms(50);
	before = irq_works();
	pthread_create(&marks, NULL, make_marks, &fd);
	sleep_ms(1000);
	n = irq_works() - before;
	kl_stop(fd);
	pthread_join(marks, NULL);
	pthread_join(news, NULL);
	pthread_join(records, NULL);
	close(reader);
	close(fd);
	/* Each of two waits may be woken twice a jiffy, and HZ is 250. */
	tap_result(n > 10 && n < 2000, name, "%llu interrupts in a second", (unsigned long long)n);
}

static void test_storms(void)
{
	storm(KL_HANDLER_alarm, "alarms at the interrupt that they cause come to an end");
	storm(KL_HANDLER_snapshot, "so do snapshots");
	storm(KL_HANDLER_use, "so do switches");
}

/* Names of IDs contain addresses of the kernel, which a process that attaches may not see. */
static void test_metadata(void)
{
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 4096 };
	char said[64] = "";
	struct kl_abi_metadata m = { .size = sizeof(m), .text = (u64)(uintptr_t) "defined" };
	int fd = kl_open();

	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	m.bytes = 7;
	tap_check(!kl_call(fd, KL_IOC_METADATA_SET, &m), "metadata is stored");
	m.kind = KL_METADATA_NAMES;
	m.text = (u64)(uintptr_t) "names";
	m.bytes = 5;
	tap_check(!kl_call(fd, KL_IOC_METADATA_SET, &m), "names of IDs, too");
	m.text = (u64)(uintptr_t)said;
	m.bytes = sizeof(said);
	tap_check(kl_call(fd, KL_IOC_METADATA_GET, &m) == -EPERM && !*said,
		  "which nobody can read");
	m.kind = KL_METADATA_DEFINED;
	tap_check(!kl_call(fd, KL_IOC_METADATA_GET, &m) && m.bytes == 7 && !strcmp(said, "defined"),
		  "the other text is as before");
	m.kind = KL_METADATA_KINDS;
	tap_check(kl_call(fd, KL_IOC_METADATA_SET, &m) == -EINVAL, "another kind is refused");
	m.kind = KL_METADATA_DEFINED;
	m.reserved = 1;
	tap_check(kl_call(fd, KL_IOC_METADATA_SET, &m) == -EINVAL, "and a member that has no use");
	close(fd);
}

int main(void)
{
	called = symbol_address("kls_called");
	stimulus = open(KLS_DEVICE, O_RDWR | O_CLOEXEC);
	if (stimulus < 0)
		bail("no stimulus");
	test_rights();
	test_programs();
	test_ids();
	test_unswitched();
	test_alarms_of_alarms();
	test_storms();
	test_at_once();
	test_metadata();
	return tap_end();
}
