// SPDX-License-Identifier: GPL-2.0
/*
 * Packs and compressed streams: read, unpacked, and packed again. Parts: 0 a pack, whose checksums
 * are made right, so that what is behind them is read; 1 columns, after the number of records and
 * the size of the block that is restored from them.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/base/crc.h"
#include "../../lib/reader/columns.h"
#include "../../lib/reader/frame.h"
#include "../../lib/reader/pack.h"
#include "shared.h"

#define EVENTS_MAX 100000

static char folder[64];

static void path_of(char path[128], const char *name)
{
	snprintf(path, 128, "%s/%s", folder, name);
}

static void clean(void)
{
	char path[128];

	path_of(path, "out");
	kl_record_discard(path);
	path_of(path, "again.klp");
	unlink(path);
	path_of(path, "in.klp");
	unlink(path);
}

static void remove_folder(void)
{
	clean();
	rmdir(folder);
}

static void prepare(void)
{
	strcpy(folder, "/dev/shm/kernlens-fuzz.XXXXXX");
	fuzz_assert(mkdtemp(folder));
	atexit(remove_folder);
}

static void read_events(const char *path)
{
	struct kl_trace *trace = kl_trace_open(path);
	struct kl_item item;
	uint64_t half;

	if (!trace) {
		fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
		return;
	}
	for (int i = 0; i < EVENTS_MAX && kl_trace_next(trace, &item) > 0; i++)
		;
	half = kl_trace_state(trace)->end_ns / 2;
	kl_trace_skip(trace, half ? half : 1000);
	for (int i = 0; i < EVENTS_MAX && kl_trace_next(trace, &item) > 0; i++)
		;
	kl_trace_close(trace);
}

/* What can be unpacked can be packed again, and is the same when it is unpacked again. */
static void check_pack(const uint8_t *bytes, size_t length)
{
	struct kl_pack_counts counts, again;
	char in[128], out[128], pack[128];
	int fd;

	clean();
	path_of(in, "in.klp");
	path_of(out, "out");
	path_of(pack, "again.klp");
	fd = open(in, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	fuzz_assert(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
	close(fd);
	read_events(in);
	if (kl_unpack_trace(in, out, false, 16 << 20, &counts)) {
		fuzz_assert(access(out, F_OK));
		return;
	}
	read_events(out);
	if (kl_pack_trace(out, pack, false, 1, &again))
		return;
	fuzz_assert(again.plain_bytes == counts.plain_bytes && again.files == counts.files);
	fuzz_assert(!kl_unpack_trace(pack, out, true, 16 << 20, &again));
	fuzz_assert(again.plain_bytes == counts.plain_bytes);
}

static void check_columns(const uint8_t *bytes, size_t length)
{
	struct kl_abi_block header = {
		.magic = KL_CTF_MAGIC,
		.packet_bits = 8 * 65536,
		.header_bytes = KL_BLOCK_HEADER_BYTES,
	};
	struct kl_join *join;
	uint8_t *columns, *block;

	if (length < 8 || length > KL_FRAME_PLAIN_MAX)
		return;
	memcpy(&header.record_count, bytes, 4);
	memcpy(&header.committed, bytes + 4, 2);
	header.content_bits = header.committed * 8;
	if (kl_block_check(&header, 65536, NULL))
		return;
	/* Exactly as much memory as a reader has. */
	columns = calloc(1, length - 8 + KL_JOIN_SLACK);
	block = malloc(65536 + KL_JOIN_SLACK);
	join = kl_join_create();
	fuzz_assert(columns && block && join);
	memcpy(columns, bytes + 8, length - 8);
	if (!kl_join_begin(join, columns, length - 8))
		while (header.record_count && !kl_join_block(join, &header, block))
			;
	kl_join_destroy(join);
	free(columns);
	free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_part part[FUZZ_PARTS_MAX];
	unsigned int n = fuzz_parts(data, size, part);

	if (!*folder)
		prepare();
	for (unsigned int i = 0; i < n; i++) {
		if (part[i].kind == 0)
			check_pack(part[i].at, part[i].bytes);
		else if (part[i].kind == 1)
			check_columns(part[i].at, part[i].bytes);
	}
	return 0;
}

/* ---------------------------------------------------------------- checksums */

static void repair_frames(uint8_t *at, size_t bytes)
{
	struct kl_frame_head head;

	while (bytes >= sizeof(head)) {
		uint64_t whole;

		memcpy(&head, at, sizeof(head));
		whole = kl_frame_bytes(&head);
		if (head.magic != KL_FRAME_MAGIC || whole > bytes)
			return;
		head.table_crc = kl_crc32c(0, at + sizeof(head), head.table_bytes);
		head.body_crc = kl_crc32c(0, at + sizeof(head) + head.table_bytes, head.body_bytes);
		head.crc = kl_frame_crc(&head);
		memcpy(at, &head, sizeof(head));
		at += whole;
		bytes -= whole;
	}
}

static void repair(uint8_t *part, size_t bytes, uint8_t kind)
{
	struct kl_pack_head head;
	struct kl_pack_entry entry;
	size_t at = sizeof(head);

	if (kind || bytes < sizeof(head))
		return;
	memcpy(&head, part, sizeof(head));
	head.crc = kl_crc32c(0, &head, offsetof(struct kl_pack_head, crc));
	memcpy(part, &head, sizeof(head));
	while (bytes - at >= sizeof(entry)) {
		size_t rest;

		memcpy(&entry, part + at, sizeof(entry));
		entry.crc = kl_pack_entry_crc(&entry);
		memcpy(part + at, &entry, sizeof(entry));
		at += sizeof(entry);
		rest = bytes - at;
		if (entry.magic != KL_PACK_ENTRY_MAGIC || entry.stored_bytes > rest)
			return;
		repair_frames(part + at, entry.stored_bytes);
		at += entry.stored_bytes;
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	return fuzz_parts_mutate(data, size, room, seed, repair);
}
