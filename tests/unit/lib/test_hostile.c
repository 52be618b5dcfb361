// SPDX-License-Identifier: GPL-2.0
/*
 * Inputs that are too large for tests/fuzz or not bytes at all: lists that could take quadratic
 * time, chains that could overflow the stack, pipes where files belong, databases that are more
 * than data. Limits are on CPU time, far above what is needed and far below what quadratic time
 * would take.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <kernlens/internal.h>
#include "../../../lib/block/program.h"
#include "../../../lib/ptrace/descriptor.h"
#include "synth.h"
#include "unit.h"

#define SECONDS_MAX 4.0
#define MANY 200000u

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int make_file(const void *bytes, size_t length, char path[64])
{
	int fd = memfd_create("hostile", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, length) != (ssize_t)length)
		abort();
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

/* ------------------------------------------------------------------- squares */

static void test_symbols(void)
{
	struct kl_buffer list = { 0 };
	struct kl_symbols *symbols;
	struct kl_symbol symbol = {};
	double begin;
	char path[64];
	int fd;

	for (unsigned int i = 0; i < MANY; i++)
		kl_buffer_printf(&list, "%x t same\n", 0x1000 + i);
	fd = make_file(list.data, list.length, path);
	begin = now();
	symbols = kl_symbols_open(path);
	unit_check(symbols && now() - begin < SECONDS_MAX, "many symbols of one name are read");
	unit_check(symbols && kl_symbols_lookup(symbols, "same", &symbol) == MANY &&
			   symbol.address == 0x1000,
		   "all of them are found, the first one first");
	kl_symbols_close(symbols);
	kl_buffer_deinit(&list);
	close(fd);
}

/* Each type is an int with the only name there is, which is as long as the types. */
static void test_types(void)
{
	const size_t types = 12u * MANY, strings = 1u << 20;
	uint32_t header[6] = { 0x0001eb9f, 24, 0, types, types, strings };
	const uint32_t type[3] = { 1, 7u << 24, 0 };
	uint8_t *file = calloc(1, sizeof(header) + types + strings);
	struct kl_btf *btf;
	double begin;

	memcpy(file, header, sizeof(header));
	for (unsigned int i = 0; i < MANY; i++)
		memcpy(file + sizeof(header) + 12u * i, type, sizeof(type));
	memset(file + sizeof(header) + types + 1, 'a', strings - 2);
	begin = now();
	btf = kl_btf_parse(file, sizeof(header) + types + strings, NULL);
	unit_check(btf && now() - begin < SECONDS_MAX, "many types of one long name are read");
	begin = now();
	unit_check(btf && kl_btf_find(btf, "nothing", ~0u) == -ENOENT &&
			   now() - begin < SECONDS_MAX,
		   "and another one is not found among them");
	kl_btf_close(btf);
	free(file);
}

/* Calls that never return, each of another thread. */
static void test_report(void)
{
	struct kl_schema *schema = kl_schema_create();
	struct kl_syscall_report *report = kl_syscall_report_create();
	const struct kl_class *class = kl_schema_find(schema, "syscall_entry_getpid");
	struct kl_event event = { .event_class = class, .schema = schema };
	const struct kl_item item = { .kind = KL_ITEM_EVENT, .event = &event };
	const struct kl_syscall_row *rows;
	double begin = now();
	size_t n = 0;

	for (unsigned int i = 1; i <= MANY / 2; i++) {
		event.task = (struct kl_task){ .tid = (int32_t)i, .pid = (int32_t)i };
		kl_syscall_report_add(report, &item);
	}
	rows = kl_syscall_report_rows(report, &n);
	unit_check(rows && n == MANY / 2 && rows[n / 2].unfinished == 1 &&
			   now() - begin < SECONDS_MAX,
		   "many calls that do not return are counted");
	rows = kl_syscall_report_rows(report, &n);
	unit_check(rows && rows[n / 2].unfinished == 1, "and counted only once");
	kl_syscall_report_destroy(report);
	kl_schema_destroy(schema);
}

/* ------------------------------------------------------------------ programs */

#define TEXT_BYTES (1u << 18)
#define TEXT_AT 0x400000u

/* @segments segments, each of which is the whole text. */
static struct kl_blocks *open_text(unsigned int segments, const struct kl_block_function *function,
				   size_t n)
{
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 1 },
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (uint16_t)segments,
	};
	const Elf64_Phdr segment = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = 1u << 20,
		.p_vaddr = TEXT_AT,
		.p_filesz = TEXT_BYTES,
	};
	static uint8_t file[(1u << 20) + TEXT_BYTES];
	char path[64];

	memset(file, 0x90, sizeof(file));
	memcpy(file, &header, sizeof(header));
	for (unsigned int i = 0; i < segments; i++)
		memcpy(file + sizeof(header) + i * sizeof(segment), &segment, sizeof(segment));
	return kl_blocks_open_program(make_file(file, sizeof(file), path), "hostile", function, n);
}

static void test_programs(void)
{
	struct kl_block_function *function = calloc(TEXT_BYTES, sizeof(*function)), last;
	struct kl_blocks *blocks;
	double begin = now();

	for (unsigned int i = 0; i < TEXT_BYTES; i++)
		function[i] = (struct kl_block_function){ .address = TEXT_AT + i,
							  .bytes = UINT32_MAX,
							  .name = "f" };
	blocks = open_text(1, function, TEXT_BYTES);
	unit_check(blocks && now() - begin < SECONDS_MAX,
		   "a function at each byte, all up to the end, is not read each time");
	if (blocks) {
		kl_blocks_function(blocks, 0, &last);
		unit_check(last.bytes == 1, "they end where the next one begins");
		kl_blocks_close(blocks);
	}
	blocks = open_text(1, function, 2);
	kl_blocks_function(blocks, 0, &last);
	unit_check(last.bytes == TEXT_BYTES, "two may have the same text");
	kl_blocks_close(blocks);
	blocks = open_text(2000, function, 1);
	unit_check(!blocks && errno == EINVAL && strstr(kl_error_text(), "overlap"),
		   "segments over each other are refused");
	kl_blocks_close(blocks);
	free(function);
}

/* -------------------------------------------------------------------- chains */

static void test_rules(void)
{
	struct kl_watch_rules *rules = kl_watch_rules_create();
	struct kl_buffer text = { 0 };
	double begin;

	kl_buffer_add_string(&text, "rss > 1");
	for (unsigned int i = 0; i < MANY; i++)
		kl_buffer_add_string(&text, " and rss > 1");
	unit_check(kl_watch_rules_parse(rules, "f", text.data, text.length) == -EINVAL &&
			   strstr(kl_error_text(), "the expression is too long"),
		   "a rule has so many conditions as can be evaluated");
	kl_watch_rules_destroy(rules);
	kl_buffer_reset(&text);
	for (unsigned int i = 0; i < 5000; i++)
		kl_buffer_add_string(&text, "rss > 1\n");
	rules = kl_watch_rules_create();
	unit_check(kl_watch_rules_parse(rules, "f", text.data, text.length) == -EINVAL &&
			   strstr(kl_error_text(), "4097:1: too many rules"),
		   "and there are so many rules");
	kl_watch_rules_destroy(rules);
	kl_buffer_reset(&text);
	for (unsigned int i = 0; i < 2000; i++) {
		for (unsigned int k = 0; k < 500; k++)
			kl_buffer_add_string(&text, "1*");
		kl_buffer_add_string(&text, "rss > 1\n");
	}
	rules = kl_watch_rules_create();
	begin = now();
	unit_check(!kl_watch_rules_parse(rules, "f", text.data, text.length) &&
			   now() - begin < SECONDS_MAX,
		   "long products take linear time");
	kl_watch_rules_destroy(rules);
	kl_buffer_deinit(&text);
}

/* --------------------------------------------------------------------- files */

static void write_file(const char *folder, const char *name, const char *text, size_t length)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, text, length) != (ssize_t)length)
		abort();
	close(fd);
}

/*
 * Is a pipe in place of @name refused, without even being opened, which could have effects if it
 * were a device? An alarm ends a wait for a writer.
 */
static bool refuses_pipe(const char *folder, const char *name)
{
	char path[256], event[sizeof(struct inotify_event) + 256];
	int opened = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct kl_trace *trace;
	bool refused;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
	if (mkfifo(path, 0600) || inotify_add_watch(opened, path, IN_OPEN) < 0)
		abort();
	alarm(20);
	trace = kl_trace_open(folder);
	alarm(0);
	refused = !trace && strstr(kl_error_text(), "is not a regular file");
	kl_trace_close(trace);
	refused &= read(opened, event, sizeof(event)) < 0 && errno == EAGAIN;
	close(opened);
	unlink(path);
	return refused;
}

static void test_pipes(void)
{
	char *folder = synth_directory(), path[256];
	struct kl_schema *schema = kl_schema_create();
	struct kl_buffer text = { 0 };
	struct kl_trace_info info = { .version = "0" };
	struct kl_trace *trace;

	kl_timebase_init(&info.timebase, KL_CLOCK_MONOTONIC, 1000000000, 0, 0);
	kl_metadata_write(&text, schema, &info);
	write_file(folder, "metadata", text.data, text.length);
	snprintf(path, sizeof(path), "%s/" KL_TRACE_FOLDER, folder);
	mkdir(path, 0700);
	trace = kl_trace_open(folder);
	unit_check(trace, "a trace directory opens");
	kl_trace_close(trace);
	unit_check(refuses_pipe(folder, "cpu0") && refuses_pipe(folder, KL_STACKS_FILE) &&
			   refuses_pipe(folder, KL_ADDRESSES_FILE),
		   "a pipe in it is refused, neither opened nor waited for");
	unit_check(refuses_pipe(folder, "metadata"), "as metadata, too");
	synth_remove(folder);
	kl_buffer_deinit(&text);
	kl_schema_destroy(schema);
}

/*
 * A file that another process has open: it must not be opened again, but shared, with its position.
 */
static void test_descriptors(void)
{
	int file = memfd_create("taken", MFD_CLOEXEC | MFD_ALLOW_SEALING), ends[2], ours;
	pid_t pid;

	if (file < 0 || ftruncate(file, 100) || pipe(ends))
		abort();
	pid = fork();
	if (!pid) {
		close(ends[1]);
		_exit(read(ends[0], &ours, 1) ? 1 : 0);
	}
	ours = kl_descriptor_take(pid, file);
	unit_check(ours >= 0 && lseek(ours, 42, SEEK_SET) == 42 && lseek(file, 0, SEEK_CUR) == 42 &&
			   fcntl(ours, F_GETFD) == FD_CLOEXEC,
		   "another process's file is taken as it is open there");
	unit_check(kl_descriptor_take(pid, 1000) == -EBADF, "one that is not open is not");
	close(ours);
	close(file);
	close(ends[0]);
	close(ends[1]);
	waitpid(pid, NULL, 0);
}

/* A damaged schema whose error is followed by a number, and invalid names. */
static void test_metadata(void)
{
	struct kl_schema *schema = kl_schema_create(), *parsed;
	struct kl_trace_info info = { .version = "0" }, again;
	struct kl_buffer text = { 0 };
	char *at;

	kl_timebase_init(&info.timebase, KL_CLOCK_MONOTONIC, 1000000000, 0, 0);
	kl_metadata_write(&text, schema, &info);
	at = strstr(text.data, "id = 2;");
	at[5] = '1';
	errno = 0;
	parsed = kl_metadata_parse(text.data, text.length, &again);
	unit_check(!parsed && errno == EINVAL, "two events with one number are an error");
	at[5] = '2';
	at = strstr(text.data, "\"syscall_entry_read\"");
	memcpy(at, "\"r\"                 ", 20);
	parsed = kl_metadata_parse(text.data, text.length, &again);
	unit_check(!parsed && errno == EINVAL && strstr(kl_error_text(), "invalid name"),
		   "a system call's event is called after it");
	kl_buffer_deinit(&text);
	kl_schema_destroy(schema);
}

/* ------------------------------------------------------------------- history */

static bool refuses_history(const char *path, const char *sql)
{
	struct kl_history *h;
	sqlite3 *db;
	bool refused;

	unlink(path);
	kl_history_close(kl_history_open(path, KL_HISTORY_BYTES_MIN));
	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		abort();
	sqlite3_close(db);
	h = kl_history_open(path, 0);
	refused = !h && errno == EINVAL && strstr(kl_error_text(), "more than tables");
	kl_history_close(h);
	h = kl_history_open(path, KL_HISTORY_BYTES_MIN);
	refused &= !h;
	kl_history_close(h);
	return refused;
}

static void test_history(void)
{
	char *folder = synth_directory(), path[256];

	snprintf(path, sizeof(path), "%s/history", folder);
	unit_check(!refuses_history(path, "CREATE INDEX i ON subject(uid)"), "a history opens");
	unit_check(refuses_history(path,
				   "DROP TABLE summary; CREATE VIEW summary AS WITH RECURSIVE "
				   "c(level) AS (SELECT 0 UNION ALL SELECT level FROM c) "
				   "SELECT * FROM c"),
		   "a view that never ends is refused");
	unit_check(refuses_history(path, "CREATE TRIGGER t AFTER INSERT ON summary BEGIN "
					 "DELETE FROM subject; END"),
		   "and one with a trigger");
	synth_remove(folder);
}

int main(void)
{
	test_symbols();
	test_types();
	test_report();
	test_programs();
	test_rules();
	test_pipes();
	test_descriptors();
	test_metadata();
	test_history();
	return unit_end();
}
