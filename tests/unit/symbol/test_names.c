// SPDX-License-Identifier: GPL-2.0
/*
 * Functions, lines and inlined functions of a known program (tests/cli/stack_names.cc), read in a
 * separate process; the same file damaged; names of C++ and Rust; names that are near others; names
 * that match patterns.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../lib/base/demangle.h"
#include "../../../lib/base/names.h"
#include "../../../lib/symbol/elf_names.h"
#include "../../../lib/symbol/elf_process.h"
#include "../../../lib/symbol/elf_rights.h"
#include "../../../lib/symbol/elf_symbol.h"
#include "file.h"
#include "unit.h"

#define ROOM KL_ELF_FOUND_MAX
#define DAMAGED 300
#define CUT 60
#define FLICKERS 2000

static char *program;
static size_t program_bytes;

static void read_program(void)
{
	int fd = open(KL_TEST_PROGRAM, O_RDONLY);
	struct stat about;

	if (fd < 0 || fstat(fd, &about))
		abort();
	program_bytes = (size_t)about.st_size;
	program = malloc(program_bytes);
	if (!program || read(fd, program, program_bytes) != (ssize_t)program_bytes)
		abort();
	close(fd);
}

/* A descriptor for a file with these bytes. */
static int make_file(const char *bytes, size_t length)
{
	int fd = memfd_create("damaged", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, length) != (ssize_t)length)
		abort();
	return fd;
}

/* The number of the source line that ends with a comment. */
static uint32_t find_line(const char *comment)
{
	FILE *file = fopen(KL_TEST_SOURCE, "r");
	uint32_t number = 0;
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		number++;
		if (strstr(line, comment)) {
			fclose(file);
			return number;
		}
	}
	abort();
}

static bool is_frame(const struct kl_dwarf_frame *frame, const char *symbol, const char *comment,
		     bool inlined)
{
	return frame->symbol && !strcmp(frame->symbol, symbol) && frame->source &&
	       strstr(frame->source, "stack_names.cc") && frame->line == find_line(comment) &&
	       frame->inlined == inlined;
}

/* All three frames at the system call. */
static bool is_call(const struct kl_dwarf_frame *frame, int n)
{
	return n == 3 && is_frame(&frame[0], "ask_kernel", "LINE ask_kernel", true) &&
	       is_frame(&frame[1], "_ZN4shop6BasketIlE3askEl", "LINE ask ", true) &&
	       is_frame(&frame[2], "_ZN4shopL5serveEi", "LINE serve", false);
}

static void test_reading(void)
{
	struct kl_elf_names *names =
		kl_elf_names_open(open(KL_TEST_PROGRAM, O_RDONLY), NULL, false);
	struct kl_dwarf_frame frame[ROOM];
	unsigned int calls = 0, mains = 0, without = 0, few = 0, n;

	for (uint64_t place = 0; names && place < program_bytes; place++) {
		n = kl_elf_names_find(names, place, true, frame, ROOM);
		calls += is_call(frame, (int)n);
		mains += n == 1 && is_frame(&frame[0], "main", "LINE main", false);
		if (!is_call(frame, (int)n))
			continue;
		n = kl_elf_names_find(names, place, false, frame, ROOM);
		without += n == 1 && !strcmp(frame[0].symbol, "_ZN4shopL5serveEi") &&
			   !frame[0].line && !frame[0].inlined && frame[0].offset;
		n = kl_elf_names_find(names, place, true, frame, 2);
		few += n == 2 && !frame[1].inlined && !strcmp(frame[1].symbol, "_ZN4shopL5serveEi");
	}
	unit_check(names && kl_elf_names_build_id(names) &&
			   strlen(kl_elf_names_build_id(names)) == 40,
		   "a program and its build id");
	unit_check(calls > 1 && calls < 50, "inlined functions with their lines, innermost first");
	unit_check(mains > 1 && mains < 100, "main, at the call");
	unit_check(calls && without == calls, "without lines: what the text is of");
	unit_check(calls && few == calls, "without room: the function itself is not left out");
	unit_check(!kl_elf_names_open(open(KL_TEST_SOURCE, O_RDONLY), NULL, false),
		   "a file that is not ELF is refused");
	kl_elf_names_close(names);
}

/* The address of the call, as the other process reports it. */
static uint64_t find_call(struct kl_elf_process *process)
{
	struct kl_dwarf_frame frame[ROOM];

	for (uint64_t place = 0; place < program_bytes; place++) {
		int n = kl_elf_process_find(process, 7, place, true, frame);

		if (n < 0)
			return 0;
		if (is_call(frame, n))
			return place;
	}
	return 0;
}

/* Lines of the file that is open as number 7. */
static void test_lines(struct kl_elf_process *process)
{
	uint64_t address[KL_ELF_LINES_MAX], begin = 0;
	struct kl_elf_line line[KL_ELF_LINES_MAX] = {};
	struct kl_dwarf_frame frame[ROOM];
	unsigned int same = 0, known = 0;
	int n;

	unit_check(!kl_elf_process_place(process, 7, "main", &begin) && begin &&
			   kl_elf_process_place(process, 7, "no_such_symbol", &begin) == -ENOENT &&
			   kl_elf_process_place(process, 8, "main", &begin) == -ENOENT,
		   "a symbol is found, or not");
	for (unsigned int i = 0; i < KL_ELF_LINES_MAX; i++)
		address[i] = begin + i;
	n = kl_elf_process_lines(process, 7, address, KL_ELF_LINES_MAX, line);
	unit_check(n == KL_ELF_LINES_MAX && line[0].line && line[0].source &&
			   strstr(line[0].source, "stack_names.cc"),
		   "lines of many addresses at once");
	/* Strings are valid until the next call. */
	for (unsigned int i = 0; i < KL_ELF_LINES_MAX; i++)
		known += line[i].line > 0;
	for (unsigned int i = 0; i < KL_ELF_LINES_MAX; i++) {
		n = kl_elf_process_find(process, 7, address[i], true, frame);
		same += n >= 0 && (n ? frame[0].line : 0) == line[i].line;
	}
	unit_check(known > 20 && same == KL_ELF_LINES_MAX, "the same as one by one");
	unit_check(kl_elf_process_lines(process, 8, address, 1, line) == 0,
		   "and none of a file that is not open");
}

static void test_process(void)
{
	struct kl_elf_process *process = kl_elf_process_create();
	struct kl_dwarf_frame frame[ROOM];
	char id[KL_BUILD_ID_TEXT];
	uint64_t place;
	pid_t first;

	unit_check(!kl_elf_process_pid(process) &&
			   kl_elf_process_find(process, 7, 0, true, frame) == -EPIPE,
		   "nothing is started before it is wanted");
	unit_check(!kl_elf_process_open(process, 7, open(KL_TEST_PROGRAM, O_RDONLY), NULL, id) &&
			   strlen(id) == 40,
		   "a file in a process of its own");
	place = find_call(process);
	unit_check(place, "says the same");
	unit_check(kl_elf_process_find(process, 8, place, true, frame) == 0,
		   "and nothing of a file that is not open");
	test_lines(process);
	first = kl_elf_process_pid(process);
	if (first)
		kill(first, SIGKILL);
	unit_check(kl_elf_process_find(process, 7, place, true, frame) == -EPIPE &&
			   !kl_elf_process_pid(process),
		   "that it has been killed is seen");
	unit_check(!kl_elf_process_open(process, 7, open(KL_TEST_PROGRAM, O_RDONLY), NULL, id) &&
			   kl_elf_process_pid(process) != first &&
			   kl_elf_process_starts(process) == 2 &&
			   is_call(frame, kl_elf_process_find(process, 7, place, true, frame)),
		   "and it is started again");
	unit_check(kl_elf_process_open(process, 9, open(KL_TEST_SOURCE, O_RDONLY), NULL, id) ==
			   -EINVAL,
		   "a file that is not ELF is refused there, too");
	kl_elf_process_destroy(process);
}

/* ------------------------------------------------------------------ rights */

/* Runs @test in a child. Returns its result, from 0 to 127, or how else the child ended. */
static int in_child(int (*test)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		_exit(test());
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool is_refused(long ret)
{
	return ret == -1 && errno == EPERM;
}

static int without_rights(void)
{
	int fd;

	if (!kl_elf_give_up_rights() || !geteuid())
		return 1;
	fd = open("/proc/self/stat", O_RDONLY);
	if (fd < 0 || close(fd))
		return 2;
	return is_refused(open("/dev/null", O_WRONLY)) &&
			       is_refused(open("/", O_TMPFILE | O_RDWR)) &&
			       is_refused(socket(AF_UNIX, SOCK_DGRAM, 0)) &&
			       is_refused(kill(getpid(), 0)) && is_refused(fork()) &&
			       is_refused(unlink("/nonexistent")) &&
			       is_refused(execl("/bin/true", "true", NULL)) ?
		       0 :
		       3;
}

/* Root of a user namespace without other users cannot become one of them. */
static int as_lonely_root(void)
{
	struct kl_elf_process *process;
	char id[KL_BUILD_ID_TEXT], map[64];

	snprintf(map, sizeof(map), "0 %u 1", geteuid());
	if (unshare(CLONE_NEWUSER) || !put_file("/proc/self/uid_map", map) || geteuid())
		return 2;
	process = kl_elf_process_create();
	return kl_elf_process_open(process, 0, open(KL_TEST_PROGRAM, O_RDONLY), NULL, id) != -EPIPE;
}

static void test_rights(void)
{
	int ret = in_child(as_lonely_root);

	unit_check(!in_child(without_rights), "where files are read, little else can be done");
	if (ret == 2)
		puts("# no user namespaces");
	unit_check(!ret || ret == 2,
		   "nothing is read with root's rights if they cannot be given up");
}

/* ------------------------------------------------------------------ damage */

/*
 * Whatever the file contains, there is an answer. Returns whether the other process had to be
 * ended.
 */
static bool read_damaged(const char *bytes, size_t length, unsigned int *named)
{
	struct kl_elf_process *process = kl_elf_process_create();
	struct kl_dwarf_frame frame[ROOM];
	struct kl_elf_line line[KL_ELF_LINES_MAX];
	uint64_t address[KL_ELF_LINES_MAX];
	char id[KL_BUILD_ID_TEXT];
	int n = kl_elf_process_open(process, 0, make_file(bytes, length), NULL, id);

	for (uint64_t place = 0x1000; n >= 0 && place < 0x1300; place += 16) {
		n = kl_elf_process_find(process, 0, place, true, frame);
		for (int i = 0; i < n; i++)
			*named += frame[i].symbol && *frame[i].symbol;
	}
	for (unsigned int i = 0; i < KL_ELF_LINES_MAX; i++)
		address[i] = 0x1000 + 4 * i;
	if (n >= 0 && kl_elf_process_place(process, 0, "main", &address[0]) != -EPIPE)
		n = kl_elf_process_lines(process, 0, address, KL_ELF_LINES_MAX, line);
	kl_elf_process_destroy(process);
	return n == -EPIPE;
}

static void test_damage(void)
{
	unsigned int seed = 1, ended = 0, named = 0, cut = 0;
	char *copy = malloc(program_bytes);
	char why[100];

	for (unsigned int i = 0; i < DAMAGED; i++) {
		memcpy(copy, program, program_bytes);
		for (unsigned int k = 0; k < 1 + i % 40; k++) {
			seed = seed * 1103515245 + 12345;
			/* Often in the header and the tables that describe the rest. */
			copy[(seed >> 4) % (i % 8 ? program_bytes : 4096)] = (char)(seed >> 24);
		}
		ended += read_damaged(copy, program_bytes, &named);
	}
	for (unsigned int i = 0; i < CUT; i++)
		cut += read_damaged(program, program_bytes * i / CUT, &named);
	free(copy);
	snprintf(why, sizeof(why), "%u and %u ended the process, %u names", ended, cut, named);
	unit_result(named > DAMAGED && ended < DAMAGED / 2, "damaged files are read, or not", why);
	printf("# %s\n", why);
}

/* A file that is truncated while it is mapped: reading it raises SIGBUS. */
static void test_shrinking(void)
{
	struct kl_elf_process *process = kl_elf_process_create();
	struct kl_dwarf_frame frame[ROOM];
	int fd = make_file(program, program_bytes), n;
	char id[KL_BUILD_ID_TEXT];

	n = kl_elf_process_open(process, 0, dup(fd), NULL, id);
	unit_check(!n, "a file that another process has open");
	unit_check(!ftruncate(fd, 0), "is cut");
	n = kl_elf_process_find(process, 0, 0x1150, true, frame);
	unit_check(n == -EPIPE || n >= 0, "whatever that ends, it is not us");
	close(fd);
	kl_elf_process_destroy(process);
}

/* The same for files that this process reads itself, which are not mapped. */
static void test_shrinking_here(void)
{
	int fd = make_file(program, program_bytes);
	struct kl_elf_names *names = kl_elf_names_open(dup(fd), NULL, false);
	struct kl_dwarf_frame frame[ROOM];
	uint64_t address, bytes;
	unsigned int named = 0;
	const char *name;

	unit_check(names && !ftruncate(fd, 0), "a file of which we read the names is cut");
	for (size_t i = 0; (name = kl_elf_names_function(names, i, &address, &bytes)); i++)
		named += strlen(name) > 0;
	unit_check(named > 3, "the names are there");
	for (uint64_t place = 0x1000; place < 0x1300; place += 16)
		if (kl_elf_names_find(names, place, true, frame, ROOM) > ROOM)
			abort();
	unit_check(!kl_elf_names_line(names, address, frame), "unread lines are unavailable");
	close(fd);
	kl_elf_names_close(names);
}

/* Another thread truncates and rewrites the file continuously. */
struct flicker {
	int fd;
	atomic_bool stop;
};

static void *flicker(void *data)
{
	struct flicker *f = data;

	while (!atomic_load(&f->stop))
		if (ftruncate(f->fd, 0) || pwrite(f->fd, program, program_bytes, 0) < 0)
			abort();
	return NULL;
}

static void test_flickering(void)
{
	struct flicker f = { .fd = make_file(program, program_bytes) };
	unsigned int found = 0, failed = 0;
	pthread_t thread;
	uint64_t offset;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", f.fd);
	if (pthread_create(&thread, NULL, flicker, &f))
		abort();
	while (found + failed < FLICKERS)
		kl_elf_file_offset(path, "main", &offset) ? failed++ : found++;
	atomic_store(&f.stop, true);
	pthread_join(thread, NULL);
	unit_check(!kl_elf_file_offset(path, "main", &offset) && offset,
		   "a function of a file that changes while it is read, or none");
	printf("# found %u times, %u times not\n", found, failed);
	close(f.fd);
}

/* ------------------------------------------------------------------- names */

static bool is_name(const char *symbol, const char *wanted)
{
	char *name = kl_demangle(symbol);
	bool same = name && wanted ? !strcmp(name, wanted) : !name && !wanted;

	free(name);
	return same;
}

/* f(A<int, int>, A<A<int, int>, A<int, int> >, ...), each twice as long as the one before. */
static void make_long(char *symbol, unsigned int n)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	symbol += sprintf(symbol, "_Z1f1AIiiE");
	for (unsigned int i = 0; i < n; i++)
		symbol += sprintf(symbol, "S_IS%c_S%c_E", digits[i], digits[i]);
}

static void test_demangle(void)
{
	char symbol[8192], *name;

	unit_check(is_name("_ZN4shop6BasketIlE3askEl", "shop::Basket<long>::ask(long)"), "C++");
	unit_check(is_name("_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example"), "Rust");
	unit_check(is_name("_ZN4core3fmt9Formatter3pad17h2a2b2c2d2e2f2a2bE",
			   "core::fmt::Formatter::pad"),
		   "older Rust, without the hash");
	unit_check(is_name("main", NULL) && is_name("", NULL) && is_name("_Z", NULL) &&
			   is_name("_R", NULL) && is_name("_ZZZZ", NULL) &&
			   is_name("_ZN4shop", NULL),
		   "what is none stays");
	make_long(symbol, 3);
	name = kl_demangle(symbol);
	unit_check(name && strlen(name) > 100, "a name longer than its symbol");
	free(name);
	make_long(symbol, 30);
	unit_check(is_name(symbol, NULL), "one of 2^30 bytes is not made");
	memset(symbol, 'a', sizeof(symbol) - 1);
	memcpy(symbol, "_Z5000", 6);
	symbol[sizeof(symbol) - 1] = 0;
	unit_check(is_name(symbol, NULL), "nor a symbol of 8 KiB read");
}

/* The nearest of the names, or "". */
static const char *nearest(const char *name, const char *const *names)
{
	struct kl_near near;

	kl_near_init(&near, name, strlen(name));
	for (; *names; names++)
		kl_near_offer(&near, *names);
	return near.best ? near.best : "";
}

static void test_near(void)
{
	static const char *const names[] = {
		"record", "report", "sched_switch", "sched_waking", "rss", "fd", NULL
	};
	char longest[200];

	unit_check(!kl_name_distance("same", "same") && kl_name_distance("", "abc") == 3 &&
			   kl_name_distance("kitten", "sitting") == 3 &&
			   kl_name_distance("abcd", "abdc") == 1 &&
			   kl_name_distance("ca", "abc") == 3,
		   "distances");
	unit_check(!strcmp(nearest("recrod", names), "record") &&
			   !strcmp(nearest("repoort", names), "report") &&
			   !strcmp(nearest("rzs", names), "rss"),
		   "the nearest name");
	unit_check(!strcmp(nearest("rxxord", names), "record") && !*nearest("rxxxrd", names) &&
			   !*nearest("rzz", names),
		   "one more change for five bytes");
	unit_check(!strcmp(nearest("sched_w", names), "sched_waking") &&
			   !strcmp(nearest("rec", names), "record") && !*nearest("re", names),
		   "an abbreviation of three bytes");
	unit_check(!*nearest("f", names) && !*nearest("", names), "nothing is near one byte");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	unit_check(!*nearest(longest, names) && kl_name_distance(longest, "") == KL_NEAR_BYTES,
		   "long names are cut");
}

/* The word of these characters that has this number. */
static void make_word(char *word, const char *characters, unsigned int number)
{
	unsigned int n = strlen(characters);

	for (; number; number = (number - 1) / n)
		*word++ = characters[(number - 1) % n];
	*word = 0;
}

/* All patterns of up to five characters, with all names of up to four, as fnmatch() has them. */
static void test_patterns(void)
{
	unsigned int fit = 0, differ = 0;
	char pattern[8], name[8];

	for (unsigned int i = 0; i < 1365; i++)
		for (unsigned int k = 0; k < 31; k++) {
			bool fits;

			make_word(pattern, "ab*?", i);
			make_word(name, "ab", k);
			fits = kl_name_fits(pattern, name);
			fit += fits;
			differ += fits != !fnmatch(pattern, name, 0);
		}
	unit_check(fit > 5000 && !differ, "patterns match what fnmatch() matches");
	unit_check(kl_name_fits("[a-c]x*", "bxy") && !kl_name_fits("[a-c]x*", "dxy") &&
			   kl_name_fits("a\\*", "a*") && !kl_name_fits("a\\*", "ab"),
		   "sets of characters, and quoted ones");
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	read_program();
	test_reading();
	test_process();
	test_rights();
	test_damage();
	test_shrinking();
	test_shrinking_here();
	test_flickering();
	test_demangle();
	test_near();
	test_patterns();
	free(program);
	return unit_end();
}
