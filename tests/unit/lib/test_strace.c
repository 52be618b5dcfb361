// SPDX-License-Identifier: GPL-2.0
/* System calls, signals and exits as strace prints them, from synthesized events. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <kernlens/cursor.h>
#include "synth.h"
#include "unit.h"

#define US 1000ull /* the clock counts nanoseconds here */
#define BEGIN 1000000ull
#define ARGV 0x7ffd00001000ull
#define ENVP 0x7ffd00002000ull
#define BUFFER 0x7ffd00003000ull

static struct kl_schema *schema;
static struct kl_timebase timebase;
static struct synth *s;
static struct kl_buffer out;
static uint64_t now_us; /* of the last event */

static void begin(int tid)
{
	now_us = 0;
	synth_begin(s, BEGIN);
	synth_task(s, tid, tid, "one");
}

static void add(const char *event, uint64_t us, const struct synth_arg *args)
{
	now_us = us;
	if (!synth_add(s, event, BEGIN + us * US, args))
		abort();
}

static void memory(unsigned int when, int nr, uint64_t address, const void *bytes, size_t n)
{
	char digits[KL_STRING_MAX] = "";

	for (size_t i = 0; i < n; i++)
		sprintf(digits + 2 * i, "%02x", ((const uint8_t *)bytes)[i]);
	add("strace_memory", now_us,
	    ARGS(NUMBER(nr), NUMBER(when), NUMBER(address), BYTES(digits)));
}

/* Print the events of the block, and check that the output is as expected. */
static void expect(unsigned int flags, const char *expected, const char *name)
{
	struct kl_strace *strace = kl_strace_create(flags);
	struct kl_item item = { .kind = KL_ITEM_EVENT };
	struct kl_cursor cursor;

	kl_buffer_reset(&out);
	kl_cursor_init(&cursor, schema, &timebase, kl_timebase_ns(&timebase, BEGIN));
	kl_cursor_enter(&cursor, synth_block(s), 0, s->at);
	item.event = &cursor.event;
	while (kl_cursor_next(&cursor) > 0)
		kl_strace_add(strace, &out, &item);
	kl_strace_finish(strace, &out);
	kl_buffer_add_char(&out, 0);
	if (!unit_check(!strcmp(out.data, expected), name))
		printf("# got:\n%s\n# expected:\n%s\n", out.data, expected);
	kl_strace_destroy(strace);
}

/* A trace that has only the calls. */
static void test_calls(void)
{
	begin(11);
	synth_calls(s, BEGIN);
	expect(0,
	       "11    <... close resumed>)              = 0\n"
	       "11    openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY|O_CLOEXEC) = 3 <0.000012>\n"
	       "11    read(3, 0x7ffd0000, 832 <unfinished ...>\n"
	       "20    openat(AT_FDCWD, \"/none\", O_WRONLY|O_CREAT, 0644) = -1 ENOENT "
	       "(No such file or directory) <0.000010>\n"
	       "11    <... read resumed>)               = 832 <0.000020>\n"
	       "11    read(3, NULL, 1)                  = 0 <0.000001>\n"
	       "11    exit_group(0)                     = ?\n",
	       "calls without the memory of arguments");
}

/* Strings that were not in memory until the call had begun. */
static void test_late_strings(void)
{
	begin(11);
	add("syscall_entry_rename", 1, ARGS(BYTES("/old"), BYTES("")));
	add("syscall_late_string", 2, ARGS(NUMBER(82), NUMBER(1), BYTES("/new")));
	add("syscall_exit_rename", 3, ARGS(NUMBER(-4095)));
	add("syscall_entry_rmdir", 4, ARGS(BYTES("")));
	synth_task(s, 12, 10, "two");
	add("syscall_entry_getpid", 5, ARGS(NUMBER(0)));
	synth_task(s, 11, 10, "one");
	add("syscall_late_string", 6, ARGS(NUMBER(84), NUMBER(0), BYTES("/dir")));
	add("syscall_exit_rmdir", 7, ARGS(NUMBER(-512)));
	expect(KL_STRACE_TIMES | KL_STRACE_RELATIVE,
	       "[0.000001000] 11    rename(\"/old\", \"/new\") = -1 (errno 4095) <0.000002>\n"
	       "[0.000004000] 11    rmdir(\"\" <unfinished ...>\n"
	       "[0.000005000] 12    getpid( <unfinished ...>\n"
	       "[0.000006000] 11    <... argument 1 is \"/dir\">\n"
	       "[0.000007000] 11    <... rmdir resumed>) = ? ERESTARTSYS "
	       "(To be restarted if SA_RESTART is set) <0.000003>\n",
	       "strings read late stand where they belong");
}

static void test_exec(void)
{
	const uint64_t argv[] = { ARGV + 100, ARGV + 200, 0 };

	begin(11);
	memory(KL_MEMORY_AT_ENTRY, 59, ARGV, argv, sizeof(argv));
	memory(KL_MEMORY_AT_ENTRY, 59, ARGV + 100, "ls", 3);
	memory(KL_MEMORY_AT_ENTRY, 59, ARGV + 200, "12345678901234567890123456789012\n", 33);
	add("strace_list", 1, ARGS(NUMBER(59), NUMBER(0), NUMBER(ENVP), NUMBER(23), NUMBER(0)));
	add("syscall_entry_execve", 2, ARGS(BYTES("/bin/ls"), NUMBER(ARGV), NUMBER(ENVP)));
	add("syscall_exit_execve", 3, ARGS(NUMBER(0)));
	expect(0,
	       "11    execve(\"/bin/ls\", [\"ls\", \"12345678901234567890123456789012\"...], "
	       "0x7ffd00002000 /* 23 vars */) = 0 <0.000001>\n",
	       "the arguments of a program, and the number of variables");
}

static void test_memory(void)
{
	const struct stat st = { .st_mode = S_IFREG | 0644, .st_size = 5 };
	const uint8_t *half = (const uint8_t *)&st;

	begin(11);
	memory(KL_MEMORY_AT_ENTRY, 5, ARGV, "", 1);
	/* A struct in two pieces. */
	add("syscall_entry_fstat", 1, ARGS(NUMBER(3), NUMBER(BUFFER)));
	memory(KL_MEMORY_AT_EXIT, 5, BUFFER, half, 100);
	memory(KL_MEMORY_AT_EXIT, 5, BUFFER + 100, half + 100, sizeof(st) - 100);
	add("syscall_exit_fstat", 2, ARGS(NUMBER(0)));
	/* Bytes that need escapes, and a call that another interrupts. */
	add("syscall_entry_read", 3, ARGS(NUMBER(3), NUMBER(BUFFER), NUMBER(100)));
	synth_task(s, 12, 12, "two");
	memory(KL_MEMORY_AT_ENTRY, 1, BUFFER, "a\n\"\\\0001\033", 7);
	add("syscall_entry_write", 4, ARGS(NUMBER(1), NUMBER(BUFFER), NUMBER(7)));
	add("syscall_exit_write", 5, ARGS(NUMBER(7)));
	synth_task(s, 11, 11, "one");
	memory(KL_MEMORY_AT_EXIT, 0, BUFFER, "12345678901234567890123456789012", 32);
	add("syscall_exit_read", 6, ARGS(NUMBER(40)));
	/* Nothing of the last call is left. */
	add("syscall_entry_read", 7, ARGS(NUMBER(3), NUMBER(BUFFER), NUMBER(100)));
	add("syscall_exit_read", 8, ARGS(NUMBER(-11)));
	expect(0,
	       "11    fstat(3, {st_mode=S_IFREG|0644, st_size=5, ...}) = 0 <0.000001>\n"
	       "11    read(3,  <unfinished ...>\n"
	       "12    write(1, \"a\\n\\\"\\\\\\0001\\33\", 7)    = 7 <0.000001>\n"
	       "11    <... read resumed>\"12345678901234567890123456789012\"..., 100) = 40 "
	       "<0.000003>\n"
	       "11    read(3, 0x7ffd00003000, 100)      = -1 EAGAIN (Resource temporarily "
	       "unavailable) <0.000001>\n",
	       "structs and buffers");
}

/* What was not in memory at the entry comes before the exit. */
static void test_late_memory(void)
{
	const uint64_t set = 1 << (SIGCHLD - 1);

	begin(11);
	memory(KL_MEMORY_AT_ENTRY, 14, ARGV, "", 1);
	add("syscall_entry_rt_sigprocmask", 1,
	    ARGS(NUMBER(0), NUMBER(BUFFER), NUMBER(0), NUMBER(8)));
	memory(KL_MEMORY_LATE, 14, BUFFER, &set, 8);
	add("syscall_exit_rt_sigprocmask", 2, ARGS(NUMBER(0)));
	expect(0, "11    rt_sigprocmask(SIG_BLOCK, [CHLD], NULL, 8) = 0 <0.000001>\n",
	       "memory read late");
}

static void add_signal(const char *event, const struct synth_arg *first, int sig, int code,
		       const uint64_t words[4])
{
	if (first)
		add(event, 9,
		    ARGS(*first, NUMBER(sig), NUMBER(0), NUMBER(code), NUMBER(words[0]),
			 NUMBER(words[1]), NUMBER(words[2]), NUMBER(words[3]), NUMBER(1)));
	else
		add(event, 9,
		    ARGS(NUMBER(sig), NUMBER(0), NUMBER(code), NUMBER(words[0]), NUMBER(words[1]),
			 NUMBER(words[2]), NUMBER(words[3])));
}

static void test_signals(void)
{
	const uint64_t child[4] = { 12, 3, 1, 0 }, user[4] = { 11 }, frame = -4, mask = 0x10000;
	const struct synth_arg parent = NUMBER(11);

	begin(11);
	memory(KL_MEMORY_AT_ENTRY, 61, ARGV, "", 1);
	add("syscall_entry_wait4", 1, ARGS(NUMBER(-1), NUMBER(0), NUMBER(0), NUMBER(0)));
	synth_task(s, 12, 12, "two");
	add("syscall_exit_clone", 2, ARGS(NUMBER(0)));
	add("syscall_entry_exit_group", 3, ARGS(NUMBER(3)));
	add("strace_exit", 4, ARGS(NUMBER(12), NUMBER(3 << 8)));
	add_signal("strace_sent_signal", &parent, SIGCHLD, CLD_EXITED, child);
	synth_task(s, 11, 11, "one");
	add("syscall_exit_wait4", 10, ARGS(NUMBER(12)));
	add_signal("strace_signal", NULL, SIGUSR1, SI_USER, user);
	memory(KL_MEMORY_AT_ENTRY, 15, BUFFER, &frame, 8);
	memory(KL_MEMORY_AT_ENTRY, 15, BUFFER + 8, &mask, 8);
	add("syscall_entry_rt_sigreturn", 11, ARGS(NUMBER(0)));
	add_signal("strace_signal", NULL, SIGKILL, SI_USER, user);
	add("strace_exit", 12, ARGS(NUMBER(11), NUMBER(SIGKILL)));
	expect(0,
	       "11    wait4(-1,  <unfinished ...>\n"
	       "12    exit_group(3)                     = ?\n"
	       "12    +++ exited with 3 +++\n"
	       "11    <... wait4 resumed>NULL, 0, NULL) = 12 <0.000009>\n"
	       "11    --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=12, si_uid=0, "
	       "si_status=3, si_utime=1 /* 0.01 s */, si_stime=0} ---\n"
	       "11    --- SIGUSR1 {si_signo=SIGUSR1, si_code=SI_USER, si_pid=11, si_uid=0} ---\n"
	       "11    rt_sigreturn({mask=[CHLD]})       = -1 EINTR (Interrupted system call)\n"
	       "11    +++ killed by SIGKILL +++\n",
	       "signals, ignored ones too, and exits");
}

/* Memory of calls that are not in the trace does not pile up, and does not get into others. */
static void test_foreign_memory(void)
{
	begin(11);
	for (unsigned int i = 0; i < 5; i++)
		memory(KL_MEMORY_AT_ENTRY, 1, BUFFER, "wrong", 5);
	add("strace_memory", 1, ARGS(NUMBER(0), NUMBER(1), NUMBER(BUFFER), BYTES("61zz")));
	memory(KL_MEMORY_AT_ENTRY, 18, BUFFER + 16, "right", 5);
	add("syscall_entry_pwrite64", 1, ARGS(NUMBER(1), NUMBER(BUFFER), NUMBER(5), NUMBER(0)));
	add("syscall_exit_pwrite64", 2, ARGS(NUMBER(5)));
	expect(0, "11    pwrite64(1, 0x7ffd00003000, 5, 0) = 5 <0.000001>\n",
	       "memory of calls that are missing");
}

int main(void)
{
	schema = kl_schema_create();
	s = malloc(sizeof(*s));
	synth_init(s, schema, 0);
	kl_timebase_init(&timebase, KL_CLOCK_MONOTONIC, 1000000000, 1700000000, 0);
	test_calls();
	test_late_strings();
	test_exec();
	test_memory();
	test_late_memory();
	test_signals();
	test_foreign_memory();
	kl_buffer_deinit(&out);
	kl_schema_destroy(schema);
	free(s);
	return unit_end();
}
