// SPDX-License-Identifier: GPL-2.0
/*
 * Packs and compressed streams from strangers: cut, changed bit by bit, with names and sizes that
 * lie but have right checksums, and columns of any contents. Nothing outside of the output is
 * written, memory is bounded, and what is unpacked is what was packed or nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>

#include "../../../lib/base/crc.h"
#include "../../../lib/reader/columns.h"
#include "../../../lib/reader/frame.h"
#include "../../../lib/reader/pack.h"
#include "pack.h"
#include "synth.h"
#include "unit.h"

static char *folder;
static struct pack_bytes pack; /* of the trace in "plain" */

static const char *in(const char *name)
{
	return pack_path(folder, name);
}

static void make_pack(void)
{
	struct kl_pack_counts counts;

	if (pack_write(in("plain"), 3, 4096, 0) ||
	    kl_pack_trace(in("plain"), in("good.klp"), false, 3, &counts))
		abort();
	pack = pack_load(in("good.klp"));
}

/* Unpacks "bad.klp": 0: nothing is left, 1: it is the trace, -1: something else. */
static int unpack(void)
{
	struct kl_pack_counts counts;
	int ret = kl_unpack_trace(in("bad.klp"), in("out"), false, 0, &counts);

	if (ret)
		return access(in("out"), F_OK) && *kl_error_text() ? 0 : -1;
	ret = pack_same(in("plain"), in("out"), "cpu0") &&
	      pack_same(in("plain"), in("out"), "cpu1") &&
	      pack_same(in("plain"), in("out"), "cpu2") &&
	      pack_same(in("plain"), in("out"), "metadata") &&
	      pack_same(in("plain"), in("out"), KL_MANIFEST_FILE);
	kl_record_discard(in("out"));
	return ret ? 1 : -1;
}

static void test_cut(void)
{
	unsigned int wrong = 0, read = 0, more = 0;
	struct pack_read whole = pack_read(in("good.klp"), 0);

	for (size_t n = 0; n < pack.length; n++) {
		struct pack_read cut;

		pack_save(in("bad.klp"), pack.at, n);
		wrong += unpack() != 0;
		cut = pack_read(in("bad.klp"), 0);
		read += cut.opened && cut.events;
		more += cut.events > whole.events;
	}
	unit_check(!wrong, "a pack that was cut anywhere is not unpacked");
	unit_check(read > 100 && !more, "but can be read as far as it goes");
}

static void test_flips(void)
{
	unsigned int wrong = 0, accepted = 0;

	for (size_t n = 0; n < pack.length; n++) {
		pack.at[n] ^= 1u << n % 8;
		pack_save(in("bad.klp"), pack.at, pack.length);
		pack.at[n] ^= 1u << n % 8;
		switch (unpack()) {
		case -1:
			wrong++;
			printf("# byte %zu\n", n);
			break;
		case 1:
			accepted++;
		}
		pack_read(in("bad.klp"), 0);
	}
	unit_check(!wrong, "after a flipped bit, what is unpacked is the trace or nothing");
	printf("# %u of %zu bits do not matter: indexes and unused bytes\n", accepted, pack.length);
	unit_check(accepted < pack.length / 10, "mostly nothing");
}

/* ------------------------------------------------------- lies with right checksums */

static struct kl_pack_entry *entry_of(const char *name)
{
	uint8_t *at = pack.at + sizeof(struct kl_pack_head);

	for (;;) {
		struct kl_pack_entry *entry = (struct kl_pack_entry *)at;

		if (entry->kind == KL_PACK_END || !strcmp(entry->name, name))
			return entry;
		at += sizeof(*entry) + entry->stored_bytes;
	}
}

/* Saves the pack with a changed entry, which is then restored. */
static int unpack_with(struct kl_pack_entry *entry, const struct kl_pack_entry *changed)
{
	struct kl_pack_entry before = *entry;
	int ret;

	*entry = *changed;
	entry->crc = kl_pack_entry_crc(entry);
	pack_save(in("bad.klp"), pack.at, pack.length);
	*entry = before;
	ret = unpack();
	pack_read(in("bad.klp"), 0);
	return ret;
}

static void test_names(void)
{
	static const char *const names[] = {
		"../cpu0",
		"/tmp/cpu0",
		"cpu00",
		"cpu8192",
		"cpu99999999999",
		"cpu",
		"cpu-1",
		"cpu0/../../x",
		".kernlens/../../x",
		".kernlens",
		".",
		"..",
		"",
		"metadata/x",
		".kernlens/manifest/",
		"cpu0.klz",
		"METADATA",
		"cpu1",
		"metadata",
		"a name that has all 32 bytes of it",
	};
	struct kl_pack_entry *entry = entry_of("cpu0"), changed;
	unsigned int accepted = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		changed = *entry;
		memset(changed.name, 0, sizeof(changed.name));
		memcpy(changed.name, names[i],
		       strlen(names[i]) < sizeof(changed.name) ? strlen(names[i]) :
								 sizeof(changed.name));
		accepted += unpack_with(entry, &changed) != 0;
	}
	unit_check(!accepted, "names that lead elsewhere, are there twice or are no trace's");
}

static void test_sizes(void)
{
	static const uint64_t sizes[] = {
		0, 1, 47, 48, 100, 1u << 20, 1ull << 40, ~0ull, ~0ull - 63
	};
	struct kl_pack_entry *entry = entry_of("cpu1"), *end = entry_of(""), changed;
	unsigned int accepted = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		changed = *entry;
		changed.stored_bytes = sizes[i];
		accepted += unpack_with(entry, &changed) != 0;
		changed = *entry;
		changed.plain_bytes = sizes[i];
		accepted += unpack_with(entry, &changed) != 0;
		changed = *end;
		changed.entries = (uint32_t)sizes[i];
		accepted += unpack_with(end, &changed) != 0;
	}
	unit_check(!accepted, "sizes and counts that are wrong");
}

/* A frame's header with other sizes. */
static void test_frame_sizes(void)
{
	static const size_t places[] = { offsetof(struct kl_frame_head, plain_bytes),
					 offsetof(struct kl_frame_head, table_bytes),
					 offsetof(struct kl_frame_head, body_bytes),
					 offsetof(struct kl_frame_head, columns_bytes),
					 offsetof(struct kl_frame_head, kind) };
	static const uint32_t values[] = { 0,	     1,	   2,	 3,    103,	 104,
					   208,	     4095, 4096, 8192, 1u << 20, (1u << 20) + 1,
					   1u << 31, ~0u };
	struct kl_pack_entry *entry = entry_of("cpu0");
	struct kl_frame_head *head = (struct kl_frame_head *)(entry + 1), before = *head;
	unsigned int wrong = 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		for (size_t k = 0; k < sizeof(values) / sizeof(*values); k++) {
			uint16_t kind = (uint16_t)values[k];

			if (places[i] == offsetof(struct kl_frame_head, kind))
				head->kind = kind;
			else
				memcpy((uint8_t *)head + places[i], &values[k], sizeof(values[k]));
			head->crc = kl_frame_crc(head);
			pack_save(in("bad.klp"), pack.at, pack.length);
			wrong += unpack() < 0;
			pack_read(in("bad.klp"), 0);
			*head = before;
		}
	unit_check(!wrong, "frames that lie about their sizes");
}

/* A pack whose only file is one frame without a body, the first that is read. */
static void test_empty_body(void)
{
	struct kl_pack_head head = { .magic = KL_PACK_MAGIC, .version = KL_PACK_VERSION };
	struct kl_pack_entry entry = { .magic = KL_PACK_ENTRY_MAGIC,
				       .kind = KL_PACK_FILE,
				       .name = "metadata",
				       .stored_bytes = sizeof(struct kl_frame_head),
				       .plain_bytes = 100 };
	struct kl_pack_entry end = { .magic = KL_PACK_ENTRY_MAGIC,
				     .kind = KL_PACK_END,
				     .entries = 1 };
	struct kl_frame_head frame = { .magic = KL_FRAME_MAGIC,
				       .version = KL_FRAME_VERSION,
				       .kind = KL_FRAME_BYTES,
				       .plain_bytes = 100,
				       .columns_bytes = 100 };
	struct kl_buffer file = { 0 };

	head.crc = kl_crc32c(0, &head, offsetof(struct kl_pack_head, crc));
	entry.crc = kl_pack_entry_crc(&entry);
	end.crc = kl_pack_entry_crc(&end);
	frame.crc = kl_frame_crc(&frame);
	kl_buffer_add(&file, &head, sizeof(head));
	kl_buffer_add(&file, &entry, sizeof(entry));
	kl_buffer_add(&file, &frame, sizeof(frame));
	kl_buffer_add(&file, &end, sizeof(end));
	pack_save(in("bad.klp"), file.data, file.length);
	unit_check(!pack_read(in("bad.klp"), 0).opened, "a frame without a body is refused");
	kl_buffer_deinit(&file);
}

/* ----------------------------------------------------------------- expansion */

/* A pack with one file, of @frames frames that expand to 1 MiB of zeros each. */
static size_t make_bomb(const char *name, unsigned int frames)
{
	struct kl_frame_writer *writer = kl_frame_writer_create(NULL, 19);
	struct kl_pack_head head = { .magic = KL_PACK_MAGIC, .version = KL_PACK_VERSION };
	struct kl_pack_entry entry = { .magic = KL_PACK_ENTRY_MAGIC, .kind = KL_PACK_FILE };
	struct kl_pack_entry end = { .magic = KL_PACK_ENTRY_MAGIC,
				     .kind = KL_PACK_END,
				     .entries = 1 };
	void *zeros = calloc(1, KL_FRAME_PLAIN_MAX);
	struct kl_buffer frame = { 0 }, file = { 0 };
	size_t length;

	if (!writer || !zeros || kl_frame_write(writer, zeros, KL_FRAME_PLAIN_MAX, &frame))
		abort();
	head.crc = kl_crc32c(0, &head, offsetof(struct kl_pack_head, crc));
	strcpy(entry.name, name);
	entry.stored_bytes = (uint64_t)frame.length * frames;
	entry.plain_bytes = (uint64_t)KL_FRAME_PLAIN_MAX * frames;
	entry.crc = kl_pack_entry_crc(&entry);
	end.crc = kl_pack_entry_crc(&end);
	kl_buffer_add(&file, &head, sizeof(head));
	kl_buffer_add(&file, &entry, sizeof(entry));
	for (unsigned int i = 0; i < frames; i++)
		kl_buffer_add(&file, frame.data, frame.length);
	kl_buffer_add(&file, &end, sizeof(end));
	pack_save(in("bad.klp"), file.data, file.length);
	length = file.length;
	kl_frame_writer_destroy(writer);
	kl_buffer_deinit(&frame);
	kl_buffer_deinit(&file);
	free(zeros);
	return length;
}

static long resident_kb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void test_bombs(void)
{
	struct kl_pack_counts counts;
	long before = resident_kb();
	size_t length;

	length = make_bomb("metadata", 10000);
	unit_check(length < 2000000 && !pack_read(in("bad.klp"), 0).opened &&
			   strstr(kl_error_text(), "too large"),
		   "metadata of 10 GB from 1 MB are not read");
	make_bomb("metadata", 10);
	unit_check(!pack_read(in("bad.klp"), 0).opened && strstr(kl_error_text(), "too large"),
		   "nor 10 MB from 1 KB");
	make_bomb("cpu0", 10000);
	unit_check(kl_unpack_trace(in("bad.klp"), in("out"), false, 0, &counts) < 0 &&
			   access(in("out"), F_OK),
		   "a stream of 10 GB is not unpacked");
	/* Checkers keep memory that was freed. */
	unit_check(resident_kb() - before < 400000, "in little memory");
}

/* ------------------------------------------------------------------- columns */

/* Columns with any change: whatever they mean, no memory but their own is touched. */
static void test_columns(void)
{
	struct pack_bytes plain = pack_load(in("plain/cpu0"));
	struct kl_split *split = kl_split_create(pack_schema());
	struct kl_join *join = kl_join_create();
	struct kl_buffer columns = { 0 };
	const struct kl_abi_block *block = (const struct kl_abi_block *)plain.at;
	const size_t *cuts;
	size_t n_cuts;
	unsigned int whole = 0, refused = 0;
	uint8_t *copy, *to;

	if (!split || !join || kl_split(split, plain.at, plain.length, &columns, &cuts, &n_cuts))
		abort();
	copy = malloc(columns.length + KL_JOIN_SLACK);
	to = malloc(4096 + KL_JOIN_SLACK);
	for (unsigned int run = 0; run < 20000; run++) {
		size_t length = columns.length;
		bool same = true;

		memset(copy, 0, length + KL_JOIN_SLACK);
		memcpy(copy, columns.data, length);
		for (unsigned int i = run % 4; i; i--)
			copy[(size_t)rand() % (run % 2 ? length : 200)] ^= 1u << rand() % 8;
		if (run % 5 == 4)
			length = (size_t)rand() % length;
		if (kl_join_begin(join, copy, length)) {
			refused++;
			continue;
		}
		for (unsigned int i = 0; i < 3; i++) {
			const uint8_t *at = plain.at + i * 4096;

			if (kl_join_block(join, (const struct kl_abi_block *)at, to))
				break;
			same = same && !memcmp(to, at, 4096);
		}
		whole += same;
	}
	unit_check(block->record_count > 20 && whole >= 4000 && refused > 1000,
		   "columns that were changed at random");
	free(copy);
	free(to);
	free(plain.at);
	kl_buffer_deinit(&columns);
	kl_split_destroy(split);
	kl_join_destroy(join);
}

int main(void)
{
	folder = synth_directory();
	pack_init();
	make_pack();
	test_cut();
	test_flips();
	test_names();
	test_sizes();
	test_frame_sizes();
	test_empty_body();
	test_bombs();
	test_columns();
	free(pack.at);
	pack_deinit();
	synth_remove(folder);
	return unit_end();
}
