// SPDX-License-Identifier: GPL-2.0
/*
 * Loads kl_program.ko, makes it run programs on bad addresses, and checks that the kernel has
 * logged nothing in the meantime. Prints TAP lines.
 *
 *	programs MODULE          what can fault
 *	programs MODULE costs    instructions, in a guest started with --icount
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../unit/unit.h"

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		die(path);
	close(fd);
}

static void read_parameter(const char *name, char *text, size_t room)
{
	char path[64];
	ssize_t bytes;
	int fd;

	snprintf(path, sizeof(path), "/sys/module/kl_program/parameters/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	bytes = fd < 0 ? -1 : read(fd, text, room - 1);
	if (bytes < 0)
		die(path);
	text[bytes] = 0;
	close(fd);
}

/* The module's lines have no numbers. */
static void pass_on(char *text)
{
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n"))) {
		if (!strncmp(line, "ok - ", 5))
			unit_result(true, line + 5, NULL);
		else if (!strncmp(line, "not ok - ", 9))
			unit_result(false, line + 9, NULL);
		else if (*line)
			puts(line);
	}
}

int main(int argc, char **argv)
{
	char text[4096], message[1024];
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t bytes;

	if (argc < 2 || log < 0)
		die("programs MODULE [costs]");
	load(argv[1]);
	if (lseek(log, 0, SEEK_END) < 0)
		die("/dev/kmsg");
	read_parameter(argc > 2 ? argv[2] : "faults", text, sizeof(text));
	bytes = read(log, message, sizeof(message) - 1);
	pass_on(text);
	message[bytes > 0 ? bytes : 0] = 0;
	unit_result(bytes < 0 && errno == EAGAIN, "the kernel has logged nothing of it", message);
	unit_check(!syscall(SYS_delete_module, "kl_program", 0), "the module can be unloaded");
	return unit_end();
}
