// SPDX-License-Identifier: GPL-2.0
/*
 * scan open|keep ROUNDS: do what a process viewer does repeatedly: read /proc/PID/status of every
 * process. `open` opens and closes each file in each round; `keep` opens it once and reads it again
 * from its start. Prints how many files were read in total.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PID_MAX (1 << 22)

/* For each process, the descriptor of its status file plus 1, or 0 if it is not open. */
static int kept[PID_MAX];
static bool keep;
static char text[8192];

static int open_status(const char *pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static bool read_kept(const char *pid)
{
	long number = strtol(pid, NULL, 10);
	int *file = &kept[number % PID_MAX];

	if (!*file)
		*file = open_status(pid) + 1;
	if (*file && pread(*file - 1, text, sizeof(text), 0) > 0)
		return true;
	if (*file)
		close(*file - 1);
	*file = 0;
	return false;
}

static bool read_once(const char *pid)
{
	int file = open_status(pid);
	bool got = file >= 0 && read(file, text, sizeof(text)) > 0;

	if (file >= 0)
		close(file);
	return got;
}

static unsigned long scan(void)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	unsigned long files = 0;

	if (!proc) {
		perror("/proc");
		exit(1);
	}
	while ((entry = readdir(proc)))
		if (isdigit((unsigned char)*entry->d_name))
			files += keep ? read_kept(entry->d_name) : read_once(entry->d_name);
	closedir(proc);
	return files;
}

int main(int argc, char **argv)
{
	long rounds = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
	unsigned long files = 0;

	if (rounds <= 0 || (strcmp(argv[1], "open") && strcmp(argv[1], "keep"))) {
		fputs("usage: scan open|keep ROUNDS\n", stderr);
		return 2;
	}
	keep = !strcmp(argv[1], "keep");
	for (long i = 0; i < rounds; i++)
		files += scan();
	printf("%lu\n", files);
	return 0;
}
