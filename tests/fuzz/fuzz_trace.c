// SPDX-License-Identifier: GPL-2.0
/*
 * A trace directory: metadata, two streams, stack traces, addresses; printed in each style, in the
 * reports, and converted to BER and back. Parts: 0 metadata (without one the tables' is used), 1
 * and 2 the streams, 3 stack traces, 4 addresses.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/addresses.h>
#include <kernlens/metadata.h>
#include <kernlens/stack.h>
#include <kernlens/trace.h>

#include "shared.h"

static char folder[64];
static struct kl_buffer standard; /* metadata */

static const char *const names[] = { "metadata", "cpu0", "cpu1", ".kernlens/stacks",
				     ".kernlens/symbols" };
#define NAMES (sizeof(names) / sizeof(*names))

static void path_of(char path[128], unsigned int i)
{
	snprintf(path, 128, "%s/%s", folder, names[i]);
}

static void remove_files(void)
{
	char path[128];

	for (unsigned int i = 0; i < NAMES; i++) {
		path_of(path, i);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/" KL_TRACE_FOLDER, folder);
	rmdir(path);
	rmdir(folder);
}

static void prepare(void)
{
	struct kl_schema *schema = fuzz_schema();
	struct kl_trace_info info;
	char path[128];

	strcpy(folder, "/dev/shm/kernlens-fuzz.XXXXXX");
	fuzz_assert(mkdtemp(folder));
	atexit(remove_files);
	snprintf(path, sizeof(path), "%s/" KL_TRACE_FOLDER, folder);
	fuzz_assert(!mkdir(path, 0700));
	fuzz_info(&info);
	fuzz_assert(!kl_metadata_write(&standard, schema, &info));
	kl_schema_destroy(schema);
}

static void write_part(unsigned int i, const void *bytes, size_t length)
{
	char path[128];
	int fd;

	path_of(path, i);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	fuzz_assert(fd >= 0 && (!length || write(fd, bytes, length) == (ssize_t)length));
	close(fd);
}

static int next(void *from, struct kl_item *item)
{
	return kl_trace_next(from, item);
}

static void rewind_trace(void *from)
{
	kl_trace_rewind(from);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_part part[FUZZ_PARTS_MAX];
	unsigned int n = fuzz_parts(data, size, part);
	struct kl_trace *trace;
	char path[128];

	if (!*folder)
		prepare();
	write_part(0, standard.data, standard.length);
	for (unsigned int i = 1; i < NAMES; i++) {
		path_of(path, i);
		unlink(path);
	}
	for (unsigned int i = 0; i < n; i++)
		if (part[i].kind < NAMES)
			write_part(part[i].kind, part[i].at, part[i].bytes);
	trace = kl_trace_open(folder);
	if (!trace) {
		fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
		return 0;
	}
	fuzz_items(&(struct fuzz_items){ trace, next, rewind_trace }, kl_trace_schema(trace),
		   kl_trace_about(trace));
	kl_trace_close(trace);
	return 0;
}

static void repair(uint8_t *part, size_t bytes, uint8_t kind)
{
	if (kind == 1 || kind == 2)
		fuzz_repair_blocks(part, bytes);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	return fuzz_parts_mutate(data, size, room, seed, repair);
}
