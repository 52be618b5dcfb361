// SPDX-License-Identifier: GPL-2.0
/* Waits for locks: pairs, owners, types, times and groups, from events and stack traces made here. */
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "unit.h"

#define MS 1000000ull

/* As in the kernel's trace/events/lock.h. */
enum {
	SPIN = 1,
	READ = 2,
	WRITE = 4,
	RT = 8,
	PERCPU = 16,
	MUTEX = 32,
};

/* Addresses of locks. */
enum {
	A = 0x1000,
	B = 0x2000,
};

/* Ids of the stack traces below. */
enum {
	IN_OPEN = 1,
	IN_STAT,
	ONLY_LOCKS,
	IN_MUTEX,
	IN_CONDITION,
	IN_RWLOCK,
	IN_RUST,
	IN_LIBC,
};

static const char traces[] =
	"kernlens-stacks 3\nno-room 0\n"
	"stack 1 0 2 5 5\n"
	"ffe0 __traceiter_contention_begin 5 - - 0 - 0 0 0\n"
	"ffe1 __mutex_lock.constprop.0 5 - - 0 - 0 0 0\n"
	"ffe2 mutex_lock 5 - - 0 - 0 0 0\n"
	"fff1 do_open 5 - - 0 - 0 0 0\n"
	"fff2 do_syscall 5 - - 0 - 0 0 0\n"
	"stack 2 0 2 5 2\n"
	"ffe3 down_read 5 - - 0 - 0 0 0\n"
	"fff3 do_stat 5 a_module - 0 - 0 0 0\n"
	"stack 3 0 2 5 1\n"
	"ffe4 _raw_spin_lock 5 - - 0 - 0 0 0\n"
	"stack 4 1 0 5 3\n"
	"7f00 - 0 /lib/libc.so.6 - 0 - 0 0 0\n"
	"7f10 __GI___pthread_mutex_lock 5 /lib/libc.so.6 - 0 - 0 0 0\n"
	"5500 take_queue 5 /bin/a - 0 - 0 0 0\n"
	"stack 5 1 0 5 3\n"
	"7f00 - 0 /lib/libc.so.6 - 0 - 0 0 0\n"
	"7f20 pthread_cond_wait 5 /lib/libc.so.6 - 0 - 0 0 0\n"
	"5510 wait_for_work 5 /bin/a - 0 - 0 0 0\n"
	"stack 6 1 0 5 2\n"
	"7f30 pthread_rwlock_wrlock 5 /lib/libc.so.6 - 0 - 0 0 0\n"
	"5520 change 5 /bin/a - 0 - 0 0 0\n"
	"stack 7 1 0 5 3\n"
	"7f40 syscall 5 /lib/libc.so.6 - 0 - 0 0 0\n"
	"5530 _ZN3std3sys4sync5mutex5futex5Mutex14lock_contended17h0123456789abcdefE "
	"5 /bin/a - 0 - 0 0 0\n"
	"5540 add 5 /bin/a - 0 - 0 0 0\n"
	"stack 8 1 0 5 2\n"
	"7f00 - 0 /lib/libc.so.6 - 0 - 0 0 0\n"
	"7f01 - 0 /lib/libc.so.6 - 0 - 0 0 0\n";

static struct kl_schema *schema;
static struct kl_stacks *stacks;
static struct kl_addresses *addresses;
static struct kl_locks *locks;

static void make(void)
{
	schema = kl_schema_create();
	stacks = kl_stacks_parse(traces, strlen(traces));
	addresses = kl_addresses_create();
	if (!schema || !stacks || !addresses ||
	    kl_schema_add_variable(schema, kl_variable_find("kstack")) < 0 ||
	    kl_schema_add_variable(schema, kl_variable_find("ustack")) < 0)
		abort();
	kl_schema_set_stacks(schema, stacks);
	kl_schema_set_addresses(schema, addresses);
}

static void add(const char *event, int tid, unsigned int cpu, uint64_t ns, uint32_t stack,
		const void *payload, size_t bytes)
{
	uint8_t values[KL_VARIABLES_BYTES_MAX] = {};
	struct kl_event e = {
		.cpu = cpu,
		.ns = ns,
		.event_class = kl_schema_find(schema, event),
		.task = { .tid = tid, .pid = tid & ~1 },
		.schema = schema,
		.variables = values,
		.payload = payload,
		.payload_bytes = (uint32_t)bytes,
	};

	for (unsigned int i = 0; i < 2; i++)
		memcpy(values + kl_schema_variable(schema, i)->field.offset, &stack, sizeof(stack));
	snprintf(e.task.comm, sizeof(e.task.comm), "task%d", tid);
	if (kl_locks_add(locks, &e))
		abort();
}

static void begin(int tid, unsigned int cpu, uint64_t ns, uint64_t lock, uint32_t flags, int owner,
		  uint32_t stack)
{
	const struct {
		uint64_t lock;
		uint32_t flags;
		int32_t owner;
	} payload = { lock, flags, owner };

	add("contention_begin", tid, cpu, ns, stack, &payload, sizeof(payload));
}

static void end(int tid, unsigned int cpu, uint64_t ns, uint64_t lock, int ret)
{
	const struct {
		uint64_t lock;
		int64_t ret;
	} payload = { lock, ret };

	add("contention_end", tid, cpu, ns, 0, &payload, 12);
}

static void restart(void)
{
	kl_locks_destroy(locks);
	locks = kl_locks_create(schema, false);
	if (!locks)
		abort();
}

/* Are the longest rows by a key these, by name; "-": NULL? */
static bool rows_are(enum kl_lock_key by, size_t n, const char *first, uint64_t first_ns,
		     const char *second, uint64_t second_ns)
{
	size_t found;
	struct kl_lock_row *rows = kl_locks_rows(locks, by, KL_LOCKS_KEYS, 0, &found);
	bool ok = found == n && !strcmp(rows[0].name ?: "-", first) && rows[0].sum.ns == first_ns &&
		  (n < 2 || (!strcmp(rows[1].name ?: "-", second) && rows[1].sum.ns == second_ns));

	free(rows);
	return ok;
}

static bool type_is(uint32_t flags, const char *name)
{
	size_t n;
	struct kl_lock_row *rows;
	bool ok;

	restart();
	begin(10, 0, MS, A, flags, 0, 0);
	end(10, 0, 2 * MS, A, 0);
	rows = kl_locks_rows(locks, KL_LOCKS_BY_TYPE, KL_LOCKS_KEYS, 0, &n);
	ok = n == 1 && !strcmp(kl_lock_type_name(rows[0].type, true), name);
	free(rows);
	return ok;
}

static void types(void)
{
	unit_check(type_is(SPIN, "spinlock"), "spinlocks");
	unit_check(type_is(SPIN | READ, "rwlock, read") && type_is(SPIN | WRITE, "rwlock, write"),
		   "rwlocks");
	unit_check(type_is(MUTEX, "mutex") && type_is(MUTEX | SPIN, "mutex"),
		   "mutexes, also while the task spins");
	unit_check(type_is(READ, "rwsem, read") && type_is(WRITE, "rwsem, write"), "rwsems");
	unit_check(type_is(PERCPU | READ, "percpu-rwsem, read") &&
			   type_is(PERCPU | WRITE, "percpu-rwsem, write"),
		   "percpu-rwsems");
	unit_check(type_is(RT, "rtmutex") && type_is(0, "semaphore"), "rtmutexes and semaphores");
}

static void pairs(void)
{
	const struct kl_locks_counts *counts;
	struct kl_lock_row *rows;
	size_t n;

	restart();
	end(10, 0, MS, A, 0);
	/* A mutex: the task spins, then sleeps; the owner is known only then. */
	begin(10, 0, 2 * MS, A, MUTEX | SPIN, 0, IN_OPEN);
	begin(10, 0, 3 * MS, A, MUTEX, 20, IN_STAT);
	/* Within it, a spinlock. */
	begin(10, 0, 4 * MS, B, SPIN, 0, ONLY_LOCKS);
	end(10, 0, 5 * MS, B, 0);
	end(10, 0, 12 * MS, A, 0);
	/* Another task, which is interrupted; a third, which still waits. */
	begin(12, 1, 12 * MS, A, MUTEX, 10, IN_OPEN);
	end(12, 1, 14 * MS, A, -EINTR);
	begin(14, 1, 15 * MS, A, MUTEX, 99, IN_STAT);
	begin(16, 1, 18 * MS, B, SPIN, 0, IN_STAT);
	end(16, 1, 18 * MS, B, 0);
	counts = kl_locks_counts(locks);
	unit_check(counts->waits == 5 && counts->ns == 16 * MS, "waits are paired and summed up");
	unit_check(counts->unpaired == 1 && !counts->dropped, "an end without a beginning is not");
	unit_check(counts->first_ns == MS && counts->last_ns == 18 * MS, "the time of the trace");
	rows = kl_locks_rows(locks, KL_LOCKS_BY_LOCK, KL_LOCKS_KEYS, 0, &n);
	unit_check(n == 2 && rows[0].address == A && rows[0].sum.waits == 3 &&
			   rows[0].sum.ns == 15 * MS && rows[0].sum.worst_ns == 10 * MS,
		   "by lock, the longest first");
	unit_check(rows[0].sum.failed == 1 && rows[0].sum.unfinished == 1,
		   "those that failed, and those that have not ended");
	unit_check(rows[0].sum.bucket[24] == 1 && rows[0].sum.bucket[21] == 1 &&
			   rows[0].sum.bucket[22] == 1 && rows[1].sum.bucket[0] == 1 &&
			   rows[1].sum.bucket[20] == 1,
		   "times are in their buckets");
	free(rows);
	unit_check(rows_are(KL_LOCKS_BY_FUNCTION, 3, "do_open", 12 * MS, "do_stat", 3 * MS),
		   "by the function that takes the lock: the one before those of locks");
	unit_check(rows_are(KL_LOCKS_BY_OWNER, 4, "-", 10 * MS, "-", 3 * MS),
		   "owners that no event names have no name");
	unit_check(rows_are(KL_LOCKS_BY_PROCESS, 4, "task10", 11 * MS, "task14", 3 * MS),
		   "by the process that waits");
	unit_check(rows_are(KL_LOCKS_BY_STACK, 3, "do_open", 12 * MS, "do_stat", 3 * MS),
		   "by stack trace");
}

static void parts(void)
{
	struct kl_lock_row *rows, *within;
	size_t n, m;

	rows = kl_locks_rows(locks, KL_LOCKS_BY_FUNCTION, KL_LOCKS_KEYS, 0, &n);
	within = kl_locks_rows(locks, KL_LOCKS_BY_OWNER, KL_LOCKS_BY_FUNCTION, rows[0].key, &m);
	unit_check(m == 2 && within[0].id == 20 && within[0].sum.ns == 10 * MS &&
			   within[1].id == 10 && within[1].sum.ns == 2 * MS &&
			   !strcmp(within[1].name, "task10"),
		   "the owners in one function");
	free(within);
	within = kl_locks_rows(locks, KL_LOCKS_BY_LOCK, KL_LOCKS_BY_OWNER, 12345, &m);
	unit_check(!within && !m && !errno, "none of a row that is not there");
	free(within);
	free(rows);
}

static void missing(void)
{
	const struct kl_locks_counts *counts;

	restart();
	begin(10, 0, MS, A, MUTEX, 0, IN_OPEN);
	kl_locks_add_loss(locks);
	end(10, 0, 9 * MS, A, 0);
	begin(10, 0, 10 * MS, A, MUTEX, 0, IN_OPEN);
	end(10, 0, 11 * MS, A, 0);
	counts = kl_locks_counts(locks);
	unit_check(counts->waits == 1 && counts->ns == MS && counts->dropped == 1 &&
			   counts->unpaired == 1,
		   "a wait in which records are missing is not counted");
}

/* Idle tasks of two CPUs have the same ID. */
static void idle(void)
{
	struct kl_lock_row *rows;
	size_t n;

	restart();
	begin(0, 0, MS, A, SPIN, 0, ONLY_LOCKS);
	begin(0, 1, 2 * MS, A, SPIN, 0, ONLY_LOCKS);
	end(0, 1, 4 * MS, A, 0);
	end(0, 0, 5 * MS, A, 0);
	rows = kl_locks_rows(locks, KL_LOCKS_BY_LOCK, KL_LOCKS_KEYS, 0, &n);
	unit_check(n == 1 && rows[0].sum.waits == 2 && rows[0].sum.ns == 6 * MS,
		   "interrupts of two idle CPUs wait for one lock");
	free(rows);
	unit_check(rows_are(KL_LOCKS_BY_FUNCTION, 1, "-", 6 * MS, "", 0),
		   "a stack trace of locking only has no function");
}

static void names(void)
{
	const struct kl_address what = { .symbol = "a_lock" };

	restart();
	if (kl_addresses_add(addresses, 0xffffffff81000000, &what))
		abort();
	begin(10, 0, MS, 0xffffffff81000000, MUTEX, 0, IN_OPEN);
	end(10, 0, 2 * MS, 0xffffffff81000000, 0);
	unit_check(rows_are(KL_LOCKS_BY_LOCK, 1, "a_lock", MS, "", 0), "a lock with a name");
	/* Without addresses, locks differ by type only. */
	restart();
	begin(10, 0, MS, 0, MUTEX, 0, IN_OPEN);
	end(10, 0, 2 * MS, 0, 0);
	begin(10, 0, 3 * MS, 0, SPIN, 0, IN_OPEN);
	end(10, 0, 7 * MS, 0, 0);
	unit_check(rows_are(KL_LOCKS_BY_LOCK, 2, "-", 4 * MS, "-", MS), "locks without addresses");
}

/* ------------------------------------------------------------------ programs */

static void call(int tid, uint64_t ns, uint64_t word, int op, uint32_t value, uint32_t stack)
{
	const struct {
		uint64_t uaddr;
		int32_t op;
		uint32_t val;
		uint64_t utime, uaddr2;
		uint32_t val3;
	} __attribute__((packed)) payload = { word, op, value, 0, 0, 0 };

	add("syscall_entry_futex", tid, 0, ns, stack, &payload, sizeof(payload));
}

static void back(int tid, uint64_t ns, int64_t ret)
{
	add("syscall_exit_futex", tid, 0, ns, 0, &ret, sizeof(ret));
}

/* One wait of thread 10, for 1 ms; what is it for? "-": for nothing */
static const char *wait_is(uint64_t word, int op, uint32_t value, uint32_t stack, uint64_t *address)
{
	const char *name = "-";
	struct kl_lock_row *rows;
	size_t n;

	kl_locks_destroy(locks);
	locks = kl_locks_create(schema, true);
	if (!locks)
		abort();
	/* So that the thread has a name. */
	call(77, 0, A, FUTEX_WAKE_PRIVATE, 1, 0);
	call(10, MS, word, op, value, stack);
	back(10, 2 * MS, 0);
	rows = kl_locks_rows(locks, KL_LOCKS_BY_LOCK, KL_LOCKS_KEYS, 0, &n);
	if (n == 1 && rows[0].sum.ns == MS) {
		name = kl_lock_type_name(rows[0].type, true);
		*address = rows[0].address;
	}
	free(rows);
	return name;
}

static void program_types(void)
{
	uint64_t at;

	unit_check(!strcmp(wait_is(A, FUTEX_WAIT_PRIVATE, 2, IN_MUTEX, &at), "pthread mutex") &&
			   at == A,
		   "a mutex, below a function of libc without a name");
	unit_check(!strcmp(wait_is(A, FUTEX_WAIT_BITSET_PRIVATE, 0, IN_CONDITION, &at),
			   "condition"),
		   "a condition");
	unit_check(!strcmp(wait_is(A, FUTEX_WAIT_PRIVATE, 2, IN_CONDITION, &at), "pthread mutex"),
		   "the mutex of a condition");
	unit_check(!strcmp(wait_is(A + 8, FUTEX_WAIT_BITSET_PRIVATE, 3, IN_RWLOCK, &at),
			   "pthread rwlock, write") &&
			   at == A && wait_is(A + 12, FUTEX_WAIT_PRIVATE, 1, IN_RWLOCK, &at) &&
			   at == A,
		   "both words of a rwlock");
	unit_check(!strcmp(wait_is(A, FUTEX_WAIT_PRIVATE, 2, IN_RUST, &at), "Rust mutex"),
		   "a mutex of Rust");
	unit_check(!strcmp(wait_is(A, FUTEX_WAIT_PRIVATE, 0, IN_LIBC, &at), "futex") &&
			   !strcmp(wait_is(A, FUTEX_WAIT_PRIVATE, 0, 0, &at), "futex"),
		   "what is unknown");
	unit_check(!strcmp(wait_is(A, FUTEX_LOCK_PI_PRIVATE, 0, IN_LIBC, &at), "pthread mutex"),
		   "a mutex with priority inheritance");
	unit_check(!strcmp(wait_is(A, FUTEX_WAIT, 77, IN_LIBC, &at), "end of a thread") &&
			   !strcmp(wait_is(A, FUTEX_WAIT, 78, IN_LIBC, &at), "futex") &&
			   !strcmp(wait_is(A, FUTEX_WAIT_PRIVATE, 77, IN_LIBC, &at), "futex"),
		   "a thread, by its number in memory that is shared with the kernel");
}

static void programs(void)
{
	const struct kl_locks_counts *counts;
	struct kl_lock_row *rows;
	size_t n;

	restart();
	call(10, MS, A, FUTEX_WAIT_PRIVATE, 2, IN_MUTEX);
	call(11, 2 * MS, A, FUTEX_WAKE_PRIVATE, 1, 0);
	back(11, 2 * MS, 1);
	back(10, 4 * MS, 0);
	/* Woken before it waits, by a signal, too late, and by another process. */
	call(10, 5 * MS, A, FUTEX_WAIT_PRIVATE, 2, IN_MUTEX);
	back(10, 6 * MS, -EAGAIN);
	call(10, 7 * MS, A, FUTEX_WAIT_PRIVATE, 2, IN_MUTEX);
	back(10, 8 * MS, -EINTR);
	call(20, 8 * MS, A, FUTEX_WAKE_PRIVATE, 1, 0);
	back(20, 8 * MS, 0);
	/* The same address in another process. */
	call(20, 10 * MS, A, FUTEX_WAIT_PRIVATE, 2, IN_MUTEX);
	back(20, 15 * MS, 0);
	call(20, 16 * MS, B, FUTEX_WAIT_BITSET_PRIVATE, 0, IN_CONDITION);
	back(20, 18 * MS, 0);
	counts = kl_locks_counts(locks);
	unit_check(counts->waits == 3 && counts->ns == 9 * MS, "waits of programs");
	unit_check(counts->conditions == 1 && counts->conditions_ns == 2 * MS,
		   "conditions are counted, not shown");
	rows = kl_locks_rows(locks, KL_LOCKS_BY_LOCK, KL_LOCKS_KEYS, 0, &n);
	unit_check(n == 2 && rows[0].id == 20 && rows[0].address == A && rows[0].sum.ns == 5 * MS &&
			   rows[1].id == 10 && rows[1].address == A && rows[1].sum.failed == 1,
		   "two locks at the same address");
	free(rows);
	unit_check(rows_are(KL_LOCKS_BY_OWNER, 2, "-", 6 * MS, "task11", 3 * MS),
		   "the owner is the one that released it during the wait");
	unit_check(rows_are(KL_LOCKS_BY_FUNCTION, 1, "take_queue", 9 * MS, "", 0),
		   "the function that takes the lock");
	/* Memory that processes share. */
	restart();
	call(10, MS, A, FUTEX_WAIT, 2, IN_MUTEX);
	call(20, 2 * MS, A, FUTEX_WAIT, 2, IN_MUTEX);
	call(30, 3 * MS, A, FUTEX_WAKE, 2, 0);
	back(10, 4 * MS, 0);
	back(20, 5 * MS, 0);
	rows = kl_locks_rows(locks, KL_LOCKS_BY_LOCK, KL_LOCKS_KEYS, 0, &n);
	unit_check(n == 1 && !rows[0].id && rows[0].sum.waits == 2, "a lock of two processes");
	free(rows);
	unit_check(rows_are(KL_LOCKS_BY_OWNER, 1, "task30", 6 * MS, "", 0), "released by a third");
}

static void nothing(void)
{
	size_t n;

	restart();
	unit_check(!kl_locks_rows(locks, KL_LOCKS_BY_LOCK, KL_LOCKS_KEYS, 0, &n) && !n && !errno &&
			   !kl_locks_counts(locks)->waits,
		   "no events, no rows");
}

int main(void)
{
	make();
	types();
	pairs();
	parts();
	missing();
	idle();
	names();
	program_types();
	programs();
	nothing();
	kl_locks_destroy(locks);
	kl_schema_destroy(schema);
	kl_stacks_destroy(stacks);
	kl_addresses_destroy(addresses);
	return unit_end();
}
