// SPDX-License-Identifier: GPL-2.0
/*
 * Compressed traces and packs: what is read from them is what is read from the plain trace, and
 * what is unpacked is byte for byte what was packed, damaged or not.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pack.h"
#include "synth.h"
#include "unit.h"

static char *folder;

static const char *in(const char *name)
{
	return pack_path(folder, name);
}

static bool is_equal(const struct pack_read *a, const struct pack_read *b)
{
	return a->opened && b->opened && a->events == b->events && a->losses == b->losses &&
	       a->hash == b->hash;
}

static bool same_streams(const char *one, const char *other)
{
	return pack_same(one, other, "cpu0") && pack_same(one, other, "cpu1") &&
	       pack_same(one, other, "cpu2") && pack_same(one, other, "metadata");
}

static bool same_manifest(const char *one, const char *other)
{
	return pack_same(one, other, KL_MANIFEST_FILE);
}

static void test_compressed(void)
{
	struct pack_read plain, small;
	struct stat about[2];

	unit_check(!pack_write(in("plain"), PACK_BLOCKS, 65536, 0) &&
			   !pack_write(in("small"), PACK_BLOCKS, 65536, 3),
		   "a trace is written, plain and compressed");
	plain = pack_read(in("plain"), 0);
	small = pack_read(in("small"), 0);
	unit_check(plain.events > 50000 && plain.losses == 10 + 11 + 12 && is_equal(&plain, &small),
		   "both have the same events and losses");
	unit_check(!stat(in("plain/cpu0"), &about[0]) && !stat(in("small/cpu0.klz"), &about[1]) &&
			   about[1].st_size < about[0].st_size / 5 &&
			   (about[1].st_mode & 0777) == 0600,
		   "the compressed one is much smaller, and its owner's");
	for (uint64_t from = 1; from < 30; from += 7) {
		plain = pack_read(in("plain"), from * 1000000);
		small = pack_read(in("small"), from * 1000000);
		unit_check(is_equal(&plain, &small), "the same from some time on");
	}
	plain = pack_read(in("plain"), 1000000000000ull);
	unit_check(plain.opened && !plain.events && plain.losses == 10 + 11 + 12,
		   "losses are reported, even if all blocks are left out");
}

static void test_pack(void)
{
	struct kl_pack_counts packed, unpacked;
	struct pack_read plain = pack_read(in("plain"), 0), read;
	struct stat about;

	unit_result(!kl_pack_trace(in("plain"), in("a.klp"), false, 3, &packed), "packed",
		    kl_error_text());
	unit_check(packed.files == 5 && packed.plain_bytes > 3 * packed.stored_bytes &&
			   !stat(in("a.klp"), &about) && (about.st_mode & 0777) == 0600 &&
			   (uint64_t)about.st_size == packed.stored_bytes,
		   "into a small file of its owner");
	read = pack_read(in("a.klp"), 0);
	unit_check(is_equal(&plain, &read), "which is read as the trace is");
	unit_check(kl_pack_trace(in("plain"), in("a.klp"), false, 3, &packed) == -EEXIST,
		   "an existing file stays");
	unit_check(!kl_pack_trace(in("plain"), in("a.klp"), true, 1, &packed), "unless forced");
	unit_result(!kl_unpack_trace(in("a.klp"), in("back"), false, 0, &unpacked), "unpacked",
		    kl_error_text());
	unit_check(unpacked.files == 5 && unpacked.plain_bytes == packed.plain_bytes &&
			   same_streams(in("plain"), in("back")) &&
			   same_manifest(in("plain"), in("back")),
		   "it is byte for byte the trace");
	unit_check(!stat(in("back"), &about) && (about.st_mode & 0777) == 0700 &&
			   !stat(in("back/cpu0"), &about) && (about.st_mode & 0777) == 0600,
		   "its owner's, too");
	unit_check(kl_unpack_trace(in("a.klp"), in("back"), false, 0, &unpacked) == -EEXIST,
		   "an existing trace stays");
	unit_check(!kl_unpack_trace(in("a.klp"), in("back"), true, 0, &unpacked), "unless forced");
	unit_check(kl_unpack_trace(in("a.klp"), in("limited"), false, 100000, &unpacked) ==
				   -EFBIG &&
			   access(in("limited"), F_OK),
		   "a limit is kept, and nothing written");
}

static void test_conversions(void)
{
	struct kl_pack_counts counts;

	unit_result(!kl_pack_trace(in("small"), in("b.klp"), false, 3, &counts) &&
			    !kl_unpack_trace(in("b.klp"), in("b"), false, 0, &counts),
		    "a compressed trace is packed and unpacked", kl_error_text());
	unit_check(same_streams(in("plain"), in("b")) && same_manifest(in("small"), in("b")),
		   "to the plain one");
	unit_result(!kl_unpack_trace(in("small"), in("c"), false, 0, &counts),
		    "a compressed trace is unpacked", kl_error_text());
	unit_check(same_streams(in("plain"), in("c")) && same_manifest(in("small"), in("c")),
		   "to the plain one");
	unit_result(!kl_pack_trace(in("b.klp"), in("d.klp"), false, 9, &counts) &&
			    !kl_unpack_trace(in("d.klp"), in("d"), false, 0, &counts) &&
			    same_streams(in("plain"), in("d")),
		    "a pack is packed again", kl_error_text());
	unit_check(kl_unpack_trace(in("small"), in("small"), true, 0, &counts) == -EINVAL,
		   "a trace is not unpacked into itself");
	pack_save(in("small/cpu1"), "", 0);
	unit_check(!pack_read(in("small"), 0).opened && strstr(kl_error_text(), "twice"),
		   "a stream that is there twice is an error");
	unlink(in("small/cpu1"));
	unit_check(kl_pack_trace(folder, in("e.klp"), false, 3, &counts) < 0 &&
			   access(in("e.klp"), F_OK),
		   "what is not a trace leaves no pack");
	unit_check(!kl_record_clear(in("small"), true) && access(in("small/cpu0.klz"), F_OK) &&
			   !access(in("small"), F_OK),
		   "compressed streams are removed with their trace");
}

/* Streams that no recorder writes are packed as they are. */
static void test_damaged_streams(void)
{
	struct kl_pack_counts counts;
	struct pack_bytes bytes = pack_load(in("plain/cpu1"));
	struct pack_read plain, packed;

	memset(bytes.at + 3 * 65536 + 200, 0xff, 1000);
	memset(bytes.at + 7 * 65536, 0, 65536);
	bytes.at[9 * 65536 - 1] = 7; /* after the records */
	pack_save(in("plain/cpu1"), bytes.at, bytes.length - 12345);
	pack_save(in("plain/cpu2"), "too short", 9);
	unit_result(!kl_pack_trace(in("plain"), in("f.klp"), false, 3, &counts) &&
			    !kl_unpack_trace(in("f.klp"), in("f"), false, 0, &counts),
		    "a damaged trace is packed and unpacked", kl_error_text());
	unit_check(same_streams(in("plain"), in("f")) && same_manifest(in("plain"), in("f")),
		   "with its damage");
	plain = pack_read(in("plain"), 0);
	packed = pack_read(in("f.klp"), 0);
	unit_check(is_equal(&plain, &packed) && plain.losses > 33, "and reads the same");
	free(bytes.at);
}

/* A compressed stream that was cut anywhere, as when its recorder is killed. */
static void test_killed(void)
{
	struct pack_bytes bytes;
	struct pack_read whole, read;
	unsigned int wrong = 0, decreasing = 0;
	uint64_t before = UINT64_MAX;

	if (pack_write(in("killed"), 6, 4096, 3))
		abort();
	bytes = pack_load(in("killed/cpu1.klz"));
	unlink(in("killed/" KL_MANIFEST_FILE));
	whole = pack_read(in("killed"), 0);
	pack_save(in("killed/cpu1.klz"), bytes.at, bytes.length - 20);
	read = pack_read(in("killed"), 0);
	unit_check(whole.events && is_equal(&whole, &read),
		   "a stream without an index is complete");
	for (size_t n = bytes.length; n-- > 0;) {
		pack_save(in("killed/cpu1.klz"), bytes.at, n);
		read = pack_read(in("killed"), 0);
		wrong += !read.opened || read.events > whole.events;
		decreasing += read.events > before;
		before = read.events;
	}
	unit_check(!wrong && !decreasing && before && before < whole.events,
		   "one that was cut anywhere has what comes before");
	free(bytes.at);
}

/* All blocks are stored or counted when the disk is full. */
static void test_full_disk(void)
{
	const struct rlimit limit = { 2000000, RLIM_INFINITY },
			    none = { RLIM_INFINITY, RLIM_INFINITY };
	struct kl_trace_writer *writer = kl_trace_create(in("full"), pack_schema(), pack_info());
	struct synth *s = malloc(sizeof(*s));
	uint64_t written = 0, unstored;
	struct pack_read read;
	struct kl_loss loss;
	int error = 0;

	if (!writer || !s || kl_trace_compress(writer, 1))
		abort();
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	synth_init(s, pack_schema(), 0);
	s->block_bytes = 65536;
	for (unsigned int k = 0; k < 200; k++) {
		uint64_t time = 1000000 + k * 1000000ull, n = 0;

		synth_begin(s, time);
		while (synth_add(s, "numbers", time += rand() % 1000,
				 ARGS(NUMBER((uint64_t)rand() << 20 | n++), NUMBER(rand()),
				      NUMBER(rand()), BYTES("0123456789abcdef"),
				      BYTES("0123456789abcdef0123456789abcdef0123456"))))
			written++;
		synth_end(s, 1000000 + (k + 1) * 1000000ull - 1);
		error = kl_trace_append(writer, synth_block(s), s->block_bytes);
	}
	error = kl_trace_flush(writer, 0);
	unit_check(error == -EFBIG && kl_trace_unstored(writer, 0, &loss), "the disk is full");
	unstored = loss.records;
	kl_trace_finish(writer, NULL);
	setrlimit(RLIMIT_FSIZE, &none);
	read = pack_read(in("full"), 0);
	unit_check(read.events && read.events + unstored == written && read.losses == unstored,
		   "what is not stored is counted, to the last record");
	free(s);
}

int main(void)
{
	folder = synth_directory();
	pack_init();
	test_compressed();
	test_pack();
	test_conversions();
	test_damaged_streams();
	test_killed();
	test_full_disk();
	pack_deinit();
	synth_remove(folder);
	return unit_end();
}
