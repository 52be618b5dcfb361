/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the programs that cause events. A program that knows a value which ftrace does not
 * record prints it on stdout: a line "fact EVENT FIELD=VALUE..." requires a record of EVENT with
 * these values. If something fails, the program exits with a message and status 1.
 */
#ifndef CAUSE_H
#define CAUSE_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DIE(...) die_at(__FILE__, __LINE__, __VA_ARGS__)
/* Evaluates a call that returns -1 on failure, and returns its value. */
#define CHECK(call) check_at(__FILE__, __LINE__, #call, (long)(call))

__attribute__((noreturn, format(printf, 3, 4), unused)) static void
die_at(const char *file, int line, const char *format, ...)
{
	int error = errno;
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s:%d: ", file, line);
	vfprintf(stderr, format, args);
	fprintf(stderr, ": %s\n", strerror(error));
	va_end(args);
	exit(1);
}

__attribute__((unused)) static long check_at(const char *file, int line, const char *call,
					     long result)
{
	if (result == -1)
		die_at(file, line, "%s", call);
	return result;
}

__attribute__((format(printf, 1, 2), unused)) static void fact(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("fact ", stdout);
	vprintf(format, args);
	putchar('\n');
	va_end(args);
	fflush(stdout);
}

/* Writes a text to a file of /proc or /sys; returns false, with errno, if the kernel rejects it. */
__attribute__((unused)) static bool try_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t length = strlen(text), done;

	if (fd < 0)
		return false;
	done = write(fd, text, length);
	close(fd);
	return done == length;
}

__attribute__((unused)) static void must_write(const char *path, const char *text)
{
	if (!try_write(path, text))
		DIE("%s: cannot write \"%s\"", path, text);
}

/* The first line of a file without its newline; empty if there is none. */
__attribute__((unused)) static const char *read_line(const char *path)
{
	static char line[4096];
	FILE *file = fopen(path, "re");

	line[0] = 0;
	if (!file)
		return line;
	if (!fgets(line, sizeof(line), file))
		line[0] = 0;
	fclose(file);
	line[strcspn(line, "\n")] = 0;
	return line;
}

__attribute__((unused)) static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CHECK(sched_setaffinity(0, sizeof(set), &set));
}

__attribute__((unused)) static void run_anywhere(void)
{
	cpu_set_t set;

	memset(&set, 0xff, sizeof(set));
	CHECK(sched_setaffinity(0, sizeof(set), &set));
}

__attribute__((unused)) static void sleep_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

/* Runs a command given as words, without a shell; returns its exit status. */
#define RUN(...) run_words((const char *[]){ __VA_ARGS__, NULL })

__attribute__((unused)) static int run_words(const char *const *words)
{
	pid_t pid = CHECK(vfork());
	int status;

	if (!pid) {
		execvp(words[0], (char *const *)words);
		_exit(127);
	}
	CHECK(waitpid(pid, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define MUST_RUN(...)                                                         \
	do {                                                                  \
		if (RUN(__VA_ARGS__))                                         \
			DIE("%s failed", (const char *[]){ __VA_ARGS__ }[0]); \
	} while (0)

#endif
