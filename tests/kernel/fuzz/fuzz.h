/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of the fuzzer. A worker is a process of one user with a few threads, which
 * share descriptors and mappings. main.c starts the workers and their adversaries, zoo.c and
 * trouble.c.
 *
 * A thread runs sequences of operations. Every decision in a sequence comes from its tape, a list
 * of numbers: first the rest of an old one, then new random ones, which are appended. So a tape
 * that has reached a new block of the module can be kept, mutated and replayed, and the result
 * still consists of valid calls.
 */
#ifndef KL_TESTS_FUZZ_H
#define KL_TESTS_FUZZ_H

#include "../kl.h"

#define FUZZ_THREADS 3
#define FUZZ_LOCAL 6 /* descriptors of each thread */
#define FUZZ_SHARED 12 /* descriptors of the process */
#define FUZZ_MAPS 16
#define FUZZ_BUFFER (256u << 10)
#define ZOO_KINDS 24 /* kinds of processes to inspect */
#define ZOO_WAITING 13 /* this many, at the start, wait for something */
#define FUZZ_SYMBOLS 26
#define FUZZ_SYMBOLS_GOOD 13 /* this many, at the start, can be hooked */
#define FUZZ_USERS 3
#define FUZZ_CALLS 128

/* ------------------------------------------------------------ shared memory */

#define TAPE_MAX 1536
#define TAPES_KEPT 512

struct tape {
	volatile u32 words;
	u32 word[TAPE_MAX];
};

/* What a user's workers have done. */
struct fuzz_user {
	u32 uid;
	volatile u64 sequences;
	volatile u64 calls;
	volatile u64 successes;
	volatile s32 targets[ZOO_KINDS]; /* processes to inspect */
	char broken[200]; /* the first thing that should not have been possible */
};

/* Lives in memory that all processes of the fuzzer share. */
struct fuzz_common {
	struct fuzz_user user[FUZZ_USERS];
	volatile s32 manager; /* root's; other users must never see it */
	volatile u32 kept; /* tapes ever kept; in a full table the newest replaces a random one */
	volatile u64 trouble[8]; /* by kind, in the order of trouble_names */
	volatile u32 tried[FUZZ_CALLS]; /* by number: calls most of which should be accepted */
	volatile u32 accepted[FUZZ_CALLS];
	u64 symbol[FUZZ_SYMBOLS];
	u64 session_newest;
	char device[64];
	struct tape tape[TAPES_KEPT];
};

extern struct fuzz_common *common;
extern struct fuzz_user *me;
extern int rights[2]; /* a socket through which workers pass descriptors to each other */
extern u32 slowness; /* about how many times slower this kernel is than a stock one */

/* --------------------------------------------------------------------- tape */

void tape_seed(u64 seed);
void tape_begin(void);
void tape_keep(void);
u32 tape_next(void);

static inline u32 below(u32 n)
{
	return (u64)tape_next() * n >> 32;
}

static inline u64 any(void)
{
	u64 high = tape_next();

	return high << 32 | tape_next();
}

static inline bool one_in(u32 n)
{
	return !below(n);
}

/* A value that tends to break code. */
u64 odd_number(void);

/* -------------------------------------------------------------------- world */

/* A thread's memory for arguments, followed by an unmapped page. */
extern __thread u8 *memory;
/* Another buffer, for the data that arguments point to. */
extern __thread u8 *room;

enum role {
	ROLE_DEVICE,
	ROLE_SESSION,
	ROLE_READER,
};

struct slot {
	volatile int fd;
	volatile u32 role;
};

void world_init(void);
void world_thread_init(void);
void world_begin(void);
void world_broken(const char *what);
struct slot *any_slot(void);
int any_fd(void);
/* Usually a session's or a reader's descriptor; created if there is none. */
int session_fd(void);
int reader_fd(void);
int open_device(int flags);
/* Stores a descriptor in some slot, and closes the slot's previous one. */
void keep_fd(int fd, enum role role);
/* Where to put an argument of @bytes: sometimes @own, sometimes an invalid or slow place. */
void *odd_place(void *own, u32 bytes);
void mutate(void *argument, u32 bytes);
/* Usually @own; now and then another place. */
static inline void *odd_or(void *own, u32 bytes)
{
	return one_in(20) ? odd_place(own, bytes) : own;
}

/* Makes a call with the contents of @argument, sometimes mutated. Returns 0 or -errno. */
int try_call(int fd, unsigned long command, void *argument, u32 bytes);
/* A pid: from the zoo, this process's, or any number. */
s32 any_pid(void);
/* A pid from this user's zoo that waits for something. */
s32 waiting_pid(void);

/* Makes a call with a struct of its type on the stack; the struct receives the answer. */
#define TRY(fd, command, object) try_call(fd, command, &(object), sizeof(object))

/* --------------------------------------------------------------- operations */

/* calls.c */
void op_raw_call(void);
void op_open(void);
void op_close(void);
void op_mark(void);
void op_attach(void);
void op_outside(void);

/* programs.c; these return the number of a program that the module has accepted, or 0 */
void op_program(void);
u32 make_program(int fd, bool puts);
/* A variable that this user may use; successive numbers lead to different ones. */
u32 variable_at(u32 i);

/* define.c */
int begin_session(int fd, struct kl_abi_session *params);
/* Blocks of a session that gets all of the reserved memory; 0 without such memory. */
u32 reserved_blocks(void);
/* All of it must be free again. */
void check_reserved(u32 before);
int make_session(int fd);
u32 make_events(int fd, u32 program);
void make_variables(int fd, u32 program);
void make_stacks(int fd);
void make_plain_variables(int fd);
u32 any_flag(void);
bool make_rule(int fd, u32 program);
void make_maskset(int fd, u32 id, u32 rules, u32 defined);
void make_latency(int fd);
void set_filter(int fd);
void limit_stacks(int fd);
void op_session(void);
void op_events(void);
void op_variables(void);
void op_rule(void);
void op_maskset(void);
void op_use(void);
void op_metadata(void);
void op_stack_limits(void);
void op_latency(void);
void op_filter(void);
void op_start_stop(void);
void op_whole_session(void);

/* fire.c */
void fire_calls(void);
void fire_packets(void);
void fire_frames(void);

/* recorder.c */
void op_recorder(void);
/* A session of root; while it is the only one, its probes are called without a lookup. */
void record_alone(bool values);

/* wrong.c */
void op_wrong(void);

/* places.c */
void op_places(void);

/* slow_file.c: memory whose pages a FUSE server provides at its own pace */
void slow_file_begin(void);
void slow_file_end(void);
/* Returns a part of it, readable, and writable if @writable; NULL if there is none. */
void *slow_file_memory(u32 bytes, bool writable);
bool slow_file_has(const void *at);
void op_slow_file(void);

/* read.c */
void op_reader(void);
void op_read(void);
void op_poll(void);
void op_mmap(void);
void op_map_use(void);
void op_tables(void);
void op_stacks(void);
void op_latency_read(void);
void op_news(void);
void op_proc(void);

/* tasks.c */
void op_inspect(void);
void op_detail(void);
void op_every_detail(void);
void op_waits(void);
void op_every_variable(void);
void op_setting(void);
void op_set(void);
void op_tasks(void);
void op_dump(void);
void op_cpus(void);

/* people.c */
void op_pass(void);
void op_killed(void);
void op_fork(void);
void op_namespace(void);
void op_set_user_id(void);
void op_thread(void);
void op_trap(void);
void run_trap(const struct kl_abi_trap *trap);
void op_work(void);
void op_fail(void);
void op_splice(void);
int set_user_id_main(int argc, char **argv);

/* ------------------------------------------------------ zoo, trouble, guide */

/* zoo.c: becomes one kind of process to inspect; does not return. */
__attribute__((noreturn)) void zoo_run(u32 kind, u64 seed);
void zoo_change_program(void);
void sleep_forever(void);
void *sleep_in_thread(void *unused);

/* zoo_waits.c */
void wait_on_files(void);
void wait_on_sockets(void);
void wait_on_locks(void);
void wait_on_children(void);
void wait_on_signals(void);

/* One disturbance of the machine by root, in parallel to the workers; random by its own state. */
void trouble_begin(void);
void trouble_make(u64 *state);
void trouble_end(void);
extern const char *const trouble_names[];
/* Moves a worker into a cgroup of its own; returns false if there are no cgroups. */
bool trouble_confine(u32 number, u64 limit_bytes);

/*
 * Starts counting the target's blocks with the other instance; returns false if that is not
 * possible.
 */
bool guide_open(const char *module);
/* After a sequence: has it, or anything that ran in parallel, reached a new block? */
bool guide_look(void);
/* Prints the coverage; returns it per mille of the reachable blocks, or -1. */
int guide_report(void);
void guide_close(void);

#endif /* KL_TESTS_FUZZ_H */
