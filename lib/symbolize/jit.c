// SPDX-License-Identifier: GPL-2.0
/*
 * Names code that a process has compiled itself: Node.js and others can write its addresses and
 * names to /tmp/perf-PID.map, line by line. The map of a process in a container is in the
 * container, with the process ID there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/base.h"
#include "../base/texts.h"
#include "jit.h"

/* Anybody may write maps, so what is read and kept of all of them is limited. */
#define BYTES_MAX (128ll << 20)
#define CODES_MAX (2u << 20)
#define PROCESSES_MAX 4096u
#define NAME_MAX_BYTES 1024

/* A function; @order: of two at one address, the later one has replaced the other. */
struct code {
	uint64_t start;
	uint64_t bytes;
	uint32_t order;
	const char *name;
};

/**
 * struct process - a process with frames in no file
 * @seen: its map has been looked at since the last update
 * @at: number of bytes that have been read, up to the end of a line
 * @path: of the map, as the process names it where it is not in a container
 * @dev, @ino: of the map
 * @code: sorted by address
 */
struct process {
	pid_t pid;
	bool seen;
	off_t at;
	const char *path;
	dev_t dev;
	ino_t ino;
	struct code *code;
	size_t n, room;
};

/*
 * @bytes, @codes: of all maps, that have been read
 * @last: process of the last frame
 */
struct kl_jit {
	struct kl_texts texts;
	struct process *process;
	size_t n, room;
	size_t last;
	long long bytes;
	size_t codes;
};

struct kl_jit *kl_jit_create(void)
{
	return calloc(1, sizeof(struct kl_jit));
}

void kl_jit_destroy(struct kl_jit *jit)
{
	if (!jit)
		return;
	for (size_t i = 0; i < jit->n; i++)
		free(jit->process[i].code);
	free(jit->process);
	kl_texts_deinit(&jit->texts);
	free(jit);
}

void kl_jit_update(struct kl_jit *jit)
{
	for (size_t i = 0; i < jit->n; i++)
		jit->process[i].seen = false;
}

/* -------------------------------------------------------------------- the file */

/* The process's ID in its own namespace; 0: it has exited. */
static pid_t own_id(pid_t pid)
{
	char path[64], line[256], *last;
	pid_t own = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && !own && fgets(line, sizeof(line), file)) {
		last = strrchr(line, '\t');
		if (!strncmp(line, "NSpid:", 6) && last)
			own = atoi(last);
	}
	if (file)
		fclose(file);
	return own;
}

/*
 * A map is read if it belongs to root, to us, or to the owner of the process. Anybody can create
 * files in /tmp; what they say about other people's processes is not to be believed.
 */
static bool is_trusted(const struct stat *about, pid_t pid)
{
	struct stat process;
	char path[64];

	if (!about->st_uid || about->st_uid == geteuid())
		return true;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	return !stat(path, &process) && process.st_uid == about->st_uid;
}

/* Open a regular file, without an effect if it is none. */
static int open_map(const char *path, pid_t pid, struct stat *about)
{
	int found = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -1;
	char name[32];

	if (found < 0)
		return -1;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
	if (!fstat(found, about) && S_ISREG(about->st_mode) && is_trusted(about, pid))
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	close(found);
	return fd;
}

static int find_map(pid_t pid, struct stat *about)
{
	pid_t own = own_id(pid);
	char path[96];
	int fd = -1;

	if (own) {
		snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%d.map", pid, own);
		fd = open_map(path, pid, about);
	}
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	return open_map(path, pid, about);
}

/* ------------------------------------------------------------------- its lines */

/* "START SIZE NAME", both numbers in base 16. Other lines are skipped. */
static int add_line(struct kl_jit *jit, struct process *p, char *line)
{
	struct code code = { .order = (uint32_t)p->n };
	struct code *grown;
	char *end;

	code.start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return 0;
	line = end;
	code.bytes = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || !code.bytes)
		return 0;
	line = end + 1;
	line[strcspn(line, "\n")] = 0;
	if (!*line)
		return 0;
	code.name = line;
	grown = kl_array_grow(p->code, p->n, &p->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	p->code = grown;
	if (kl_texts_keep(&jit->texts, &code.name))
		return -ENOMEM;
	p->code[p->n++] = code;
	jit->codes++;
	return 0;
}

static int by_address(const void *one, const void *two)
{
	const struct code *a = one, *b = two;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Sort, and keep the latest of those at one address. */
static void arrange(struct process *p)
{
	size_t n = 0;

	if (p->n)
		qsort(p->code, p->n, sizeof(*p->code), by_address);
	for (size_t i = 0; i < p->n; i++) {
		if (n && p->code[n - 1].start == p->code[i].start)
			n--;
		p->code[n] = p->code[i];
		p->code[n].order = (uint32_t)n;
		n++;
	}
	p->n = n;
}

static void read_lines(struct kl_jit *jit, struct process *p, int fd)
{
	FILE *file = fdopen(fd, "r");
	char line[NAME_MAX_BYTES + 64];
	bool whole = true;

	if (!file) {
		close(fd);
		return;
	}
	if (fseeko(file, p->at, SEEK_SET))
		goto out;
	/* A line without an end may still be being written, or is longer than a name should be. */
	while (jit->bytes < BYTES_MAX && jit->codes < CODES_MAX &&
	       fgets(line, sizeof(line), file)) {
		bool begins = whole;

		whole = strchr(line, '\n');
		if (!whole && strlen(line) < sizeof(line) - 1)
			break;
		p->at += (off_t)strlen(line);
		jit->bytes += (long long)strlen(line);
		if (begins && add_line(jit, p, line))
			break;
	}
	arrange(p);
out:
	fclose(file);
}

static void look(struct kl_jit *jit, struct process *p)
{
	struct stat about;
	int fd = find_map(p->pid, &about);

	p->seen = true;
	if (fd < 0)
		return;
	/* Another file, or another process with this ID, has other code. */
	if (about.st_dev != p->dev || about.st_ino != p->ino || about.st_size < p->at) {
		p->n = 0;
		p->at = 0;
		p->dev = about.st_dev;
		p->ino = about.st_ino;
	}
	if (about.st_size > p->at)
		read_lines(jit, p, fd);
	else
		close(fd);
}

static struct process *find_process(struct kl_jit *jit, pid_t pid)
{
	struct process *grown;
	char path[48];

	if (jit->last < jit->n && jit->process[jit->last].pid == pid)
		return &jit->process[jit->last];
	for (size_t i = 0; i < jit->n; i++)
		if (jit->process[i].pid == pid) {
			jit->last = i;
			return &jit->process[i];
		}
	if (jit->n == PROCESSES_MAX)
		return NULL;
	grown = kl_array_grow(jit->process, jit->n, &jit->room, sizeof(*grown));
	if (!grown)
		return NULL;
	jit->process = grown;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	grown[jit->n] = (struct process){ .pid = pid, .path = path };
	if (kl_texts_keep(&jit->texts, &grown[jit->n].path))
		return NULL;
	return &grown[jit->n++];
}

/* ------------------------------------------------------------------- interface */

void kl_jit_name(struct kl_jit *jit, pid_t pid, struct kl_frame *frame, bool exact)
{
	struct process *p = find_process(jit, pid);
	uint64_t address = frame->address - !exact;
	size_t low = 0, high;

	if (!p)
		return;
	if (!p->seen)
		look(jit, p);
	high = p->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->code[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - p->code[low - 1].start >= p->code[low - 1].bytes)
		return;
	frame->symbol = p->code[low - 1].name;
	frame->offset = frame->address - p->code[low - 1].start;
	frame->object = p->path;
	frame->build_id = NULL;
	frame->place = 0;
}
