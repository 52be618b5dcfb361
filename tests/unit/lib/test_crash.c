// SPDX-License-Identifier: GPL-2.0
/*
 * What is extracted from the memory of a crashed machine. From memory that is whole: every record
 * that was finished. From damaged memory: records that were written, in their order, and a notice
 * of what is missing. Whatever a file has, extraction ends, and reads nothing outside of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash_feed.h"
#include "unit.h"

static const struct kl_schema *schema;

static void test_formats(void)
{
	const uint64_t shift = 1ull << 30;
	struct crash_made *made = crash_make(CRASH_BASE);

	unit_check(crash_is_whole(made, crash_extract_elf(made)),
		   "all is extracted from an ELF core");
	machine_write_raw(&made->m, crash_image(), 0);
	unit_check(crash_is_whole(made, crash_extract(made, crash_image())), "and from raw memory");
	crash_forget(made);
	made = crash_make((4ull << 30) + CRASH_BASE);
	machine_write_raw(&made->m, crash_image(), shift);
	unit_check(crash_is_whole(made, crash_extract(made, crash_image())),
		   "and if it is above a hole that the file does not have");
	unlink(crash_image());
	crash_forget(made);
}

/* Everywhere: in memory that begins below and above 4 GiB, which has many frames without pages. */
static void test_compressed(enum machine_compression compression, bool pieces, const char *what)
{
	struct crash_made *made =
		crash_make(machine_random(2) ? CRASH_BASE : (4ull << 30) + CRASH_BASE);

	machine_write_kdump(&made->m, crash_image(), compression, pieces);
	unit_check(crash_is_whole(made, crash_extract(made, crash_image())), what);
	crash_forget(made);
}

static void test_compression(void)
{
	test_compressed(MACHINE_RAW, false, "all is extracted from a dump of makedumpfile");
	test_compressed(MACHINE_ZLIB, false, "and if zlib has compressed it");
	test_compressed(MACHINE_LZO, false, "or LZO");
	test_compressed(MACHINE_ZSTD, false, "or zstd");
	test_compressed(MACHINE_ZLIB, true, "and if it was written to a pipe, in pieces");
}

/* ------------------------------------------------------- torn records */

/* Bytes of the record that has number @n; 0: it is not in the block. */
static uint32_t find_record(const struct kl_abi_block *block, uint32_t end, uint64_t n,
			    uint32_t *at)
{
	struct kl_timebase base;
	struct kl_cursor cursor;
	struct kl_value value;
	uint32_t before = block->header_bytes;

	kl_timebase_init(&base, KL_CLOCK_TSC, 1000000000, 0, 0);
	kl_cursor_init(&cursor, schema, &base, 0);
	kl_cursor_enter(&cursor, block, 0, end);
	while (kl_cursor_next(&cursor) > 0) {
		uint32_t after = (uint32_t)(cursor.at - (const uint8_t *)block);

		if (!kl_event_field(&cursor.event, "n", &value) && value.number == n) {
			*at = before;
			return after - before;
		}
		before = after;
	}
	return 0;
}

/*
 * A writer was interrupted in a record of the block that is being filled: it has written nothing of
 * it, or the first bytes, over those of an older record. What follows is of interrupts. Returns the
 * number of the first record that need not be extracted.
 */
static unsigned int tear(struct crash_made *made, uint32_t cpu, unsigned int written)
{
	struct kl_abi_block *block = made->last[cpu];
	uint32_t end = (uint32_t)block->committed, at, bytes;
	unsigned int first = made->n, last = 0, torn;
	uint64_t old;

	for (unsigned int i = 0; i < made->n; i++) {
		if (made->cpu[i] != cpu || !find_record(block, end, i, &at))
			continue;
		first = first < i ? first : i;
		last = i;
	}
	torn = first + machine_random(last - first + 1);
	for (unsigned int i = torn + 1; i <= last; i++) {
		find_record(block, end, i, &at);
		/* No task writes while its CPU is in an interrupt. */
		((uint8_t *)block)[at] = (uint8_t)1000;
		((uint8_t *)block)[at + 1] = (uint8_t)(1000 >> 8);
	}
	bytes = find_record(block, end, torn, &at);
	made->torn[torn] = true;
	block->committed -= bytes;
	written = written < bytes ? written : bytes - 1;
	/* An older record, at the same place or not, with other values. */
	old = 1000 | (CRASH_BEGIN - 50000) << KL_RECORD_ID_BITS;
	for (uint32_t i = written; i < bytes; i++)
		((uint8_t *)block)[at + i] = i < 8 ? (uint8_t)(old >> 8 * i) : (uint8_t)rand();
	return torn;
}

/* The last record before @n that a task wrote: what is before it must be there. */
static bool has_sure(const struct crash_made *made, const struct crash_got *got, uint32_t cpu,
		     unsigned int n)
{
	const struct kl_abi_block *block = made->last[cpu];
	uint32_t at, end = KL_BLOCK_HEADER_BYTES;
	unsigned int sure = 0;

	for (unsigned int i = 0; i < n; i++) {
		uint32_t bytes =
			made->cpu[i] == cpu ? find_record(block, SYNTH_BLOCK_BYTES, i, &at) : 0;

		if (!bytes)
			continue;
		if (((const uint8_t *)block)[at] == 1 && !((const uint8_t *)block)[at + 1])
			sure = i;
		end = at + bytes;
	}
	for (unsigned int i = 0; i < sure; i++)
		if (!got->has[i])
			return false;
	return end;
}

static void test_torn(unsigned int runs)
{
	unsigned int wrong = 0, unnamed = 0, short_of = 0;

	for (unsigned int run = 0; run < runs; run++) {
		struct crash_made *made = crash_make(CRASH_BASE);
		uint32_t cpu = machine_random(MACHINE_CPUS);
		unsigned int torn = tear(made, cpu, machine_random(40));
		struct crash_got *got = crash_extract_elf(made);

		wrong += got->wrong || got->error;
		unnamed += !got->notices;
		short_of += !has_sure(made, got, cpu, torn);
		crash_forget(made);
	}
	unit_check(!wrong, "a record that was being written is never extracted");
	unit_check(!unnamed, "and it is reported");
	unit_check(!short_of, "what was certainly written before it is extracted");
}

/* The last record of the block is the torn one: the usual case. */
static void test_torn_last(void)
{
	struct crash_made *made = crash_make(CRASH_BASE);
	struct kl_abi_ring *ring = made->m.ring[1];
	struct crash_got *got;

	/* Room was reserved, and nothing was written. */
	ring->position += 40 + (1ull << KL_POS_COUNT_SHIFT);
	got = crash_extract_elf(made);
	unit_check(!got->error && !got->wrong && got->notices == 1 && got->events + 20 > made->n,
		   "a record that was begun at the end is cut");
	unit_check(got->missing == made->n - got->events + 1, "and counted as missing");
	crash_forget(made);
}

/* ------------------------------------------------------- damage */

/* Is what is missing reported? Nothing may be wrong if only the module's own pages are damaged. */
static bool is_honest(const struct crash_made *made, const struct crash_got *got)
{
	return !got->wrong && (got->error || got->events == made->n || got->notices);
}

/* Each byte of the module's own pages, of which anything but the blocks' contents depends. */
static void test_pages(unsigned int runs)
{
	struct crash_made *made = crash_make(CRASH_BASE);
	unsigned int tried = 0, bad = 0, lost = 0;

	for (unsigned int i = 0; i < MACHINE_PAGES; i++) {
		uint8_t *page = made->m.memory + (size_t)i * KL_CRASH_PAGE;

		if (made->m.use[i] != MACHINE_PAGE && made->m.use[i] != MACHINE_RING)
			continue;
		for (unsigned int at = 0; at < 600; at += 1 + machine_random(6000 / runs)) {
			uint8_t old = page[at];
			struct crash_got *got;

			page[at] ^= (uint8_t)(1 + machine_random(255));
			got = crash_extract_elf(made);
			tried++;
			lost += got->error || got->events < made->n;
			if (!is_honest(made, got) && bad++ < 5)
				printf("# page %u (%d) at %u: %u wrong, %u of %u, %u notices\n", i,
				       made->m.use[i], at, got->wrong, got->events, made->n,
				       got->notices);
			page[at] = old;
		}
	}
	printf("# %u bytes changed; records lost in %u cases\n", tried, lost);
	unit_check(!bad,
		   "whatever byte of the module's pages changes, what is extracted was recorded, "
		   "and what is lost is named");
	crash_forget(made);
}

/* A block's header. Its fields also say what the records mean. */
static void test_headers(unsigned int runs)
{
	struct crash_made *made = crash_make(CRASH_BASE);
	unsigned int bad = 0;

	for (unsigned int run = 0; run < 10 * runs; run++) {
		unsigned int i = machine_random(MACHINE_PAGES), at;
		uint8_t *page = made->m.memory + (size_t)i * KL_CRASH_PAGE, old;
		struct crash_got *got;

		if (made->m.use[i] != MACHINE_BLOCK)
			continue;
		at = machine_random(KL_BLOCK_HEADER_BYTES);
		old = page[at];
		page[at] ^= (uint8_t)(1 << machine_random(8));
		got = crash_extract_elf(made);
		if ((got->wrong || got->error) && bad++ < 5)
			printf("# block header at %u: %u wrong, %u of %u, %u notices\n", at,
			       got->wrong, got->events, made->n, got->notices);
		page[at] = old;
	}
	unit_check(!bad,
		   "whatever bit of a block's header changes, what is extracted was recorded");
	crash_forget(made);
}

/* Bits in a tenth of all pages. */
static void test_bits(unsigned int runs)
{
	unsigned int named = 0, recovered = 0;

	for (unsigned int run = 0; run < runs; run++) {
		struct crash_made *made = crash_make(CRASH_BASE);
		struct crash_got *got;

		for (unsigned int i = 0; i < MACHINE_PAGES; i++)
			if (!machine_random(10))
				for (unsigned int k = machine_random(4) + 1; k; k--)
					made->m.memory[(size_t)i * KL_CRASH_PAGE +
						       machine_random(KL_CRASH_PAGE)] ^=
						(uint8_t)(1 << machine_random(8));
		got = crash_extract_elf(made);
		named += got->error || got->notices || got->events + got->wrong == made->n;
		recovered += got->events > made->n / 2;
		crash_forget(made);
	}
	printf("# more than half of the records in %u of %u cases\n", recovered, runs);
	unit_check(named == runs,
		   "of memory in which a tenth of the pages is damaged, the damage is "
		   "named");
	unit_check(recovered > runs / 4, "and most records are extracted in many cases");
}

/* The file itself: any byte of its headers, and any length. */
static void test_files(unsigned int runs)
{
	struct crash_made *made = crash_make(CRASH_BASE);
	unsigned int wrong = 0;

	for (unsigned int run = 0; run < 3 * runs; run++) {
		uint8_t byte = (uint8_t)rand();
		int fd;

		machine_write_elf(&made->m, crash_image());
		fd = open(crash_image(), O_RDWR);
		if (machine_random(4)) {
			if (pwrite(fd, &byte, 1, machine_random(240)) != 1)
				abort();
		} else if (ftruncate(fd, machine_random(MACHINE_PAGES * KL_CRASH_PAGE))) {
			abort();
		}
		close(fd);
		wrong += crash_extract(made, crash_image())->wrong;
	}
	unit_check(!wrong, "nor is anything wrong extracted from a file that is cut or changed");
	crash_forget(made);
}

/* A compressed dump: any byte before its pages, and any length. */
static void test_compressed_files(unsigned int runs, bool pieces)
{
	struct crash_made *made = crash_make(CRASH_BASE);
	unsigned int wrong = 0, whole = 0;

	for (unsigned int run = 0; run < 3 * runs; run++) {
		uint64_t head = machine_write_kdump(&made->m, crash_image(), MACHINE_ZLIB, pieces);
		unsigned int n = 1u << machine_random(8);
		struct crash_got *got;
		int fd = open(crash_image(), O_RDWR);

		if (!machine_random(4)) {
			if (ftruncate(fd, machine_random((unsigned int)head + 60 * KL_CRASH_PAGE)))
				abort();
		} else {
			for (; n; n--) {
				uint8_t byte = (uint8_t)rand();
				/* Headers have the most to be wrong. */
				unsigned int most = machine_random(2) ? (unsigned int)head : 5000;

				if (pwrite(fd, &byte, 1, machine_random(most)) != 1)
					abort();
			}
		}
		close(fd);
		got = crash_extract(made, crash_image());
		wrong += got->wrong;
		whole += got->events == made->n;
	}
	printf("# whole nevertheless: %u of %u\n", whole, 3 * runs);
	unit_check(!wrong, pieces ? "nor from a dump in pieces that is cut or changed" :
				    "nor from a compressed dump that is cut or changed");
	crash_forget(made);
}

/* ------------------------------------------------------- errors and forgeries */

static void test_errors(void)
{
	struct crash_made *made = crash_make(CRASH_BASE);
	uint8_t *copy = machine_page(&made->m, MACHINE_FREE);

	made->m.anchor->head.version++;
	unit_check(crash_extract_elf(made)->error == -EPROTONOSUPPORT ||
			   crash_extract_elf(made)->events,
		   "another version is refused, or its sessions are read without it");
	made->m.anchor->head.version--;
	memcpy(copy, made->m.anchor, KL_CRASH_PAGE);
	memset(made->m.anchor, 0, KL_CRASH_PAGE);
	memset(made->m.session, 0, sizeof(struct kl_crash_head));
	unit_check(crash_extract_elf(made)->error == -EBADMSG, "a copy of an anchor is no anchor");
	for (unsigned int i = 0; i < MACHINE_PAGES; i++)
		memset(made->m.memory + (size_t)i * KL_CRASH_PAGE, 0, 16);
	unit_check(crash_extract_elf(made)->error == -ENOENT, "memory without one is reported");
	memcpy(made->m.memory, "KDUMP   ", 8);
	machine_write_raw(&made->m, crash_image(), CRASH_BASE);
	unit_check(crash_extract(made, crash_image())->error == -EINVAL,
		   "a dump without pages is, too");
	memcpy(made->m.memory, "DISKDUMP", 8);
	machine_write_raw(&made->m, crash_image(), CRASH_BASE);
	unit_check(crash_extract(made, crash_image())->error == -ENOTSUP, "and one of diskdump");
	unit_check(crash_extract(made, "/dev/null")->error < 0, "and what is no file");
	crash_forget(made);
}

/* A process knows all but the module's random number: its pages are those of another machine. */
static void test_forged(void)
{
	struct crash_made *made = crash_make(CRASH_BASE);
	struct machine other = made->m;
	struct crash_got *got;

	other.anchor = machine_page(&made->m, MACHINE_FREE);
	memcpy(other.anchor, made->m.anchor, KL_CRASH_PAGE);
	other.load[3] ^= 1;
	machine_seal(&other, other.anchor, KL_CRASH_ANCHOR, offsetof(struct kl_crash_anchor, now));
	/* A list of blocks for the real session. */
	other.blocks = machine_page(&made->m, MACHINE_FREE);
	memcpy(other.blocks, made->m.blocks, KL_CRASH_PAGE);
	other.anchor = made->m.anchor;
	machine_seal(&other, other.blocks, KL_CRASH_PIECES, offsetof(struct kl_crash_pieces, next));
	got = crash_extract_elf(made);
	unit_check(!got->error && !got->wrong && got->events == made->n && got->sessions == 1,
		   "pages without the random number add nothing to a session");
	crash_forget(made);
}

int main(void)
{
	unsigned int runs = getenv("KL_RUNS") ? (unsigned int)atoi(getenv("KL_RUNS")) : 60;

	srand(getenv("KL_SEED") ? (unsigned int)atoi(getenv("KL_SEED")) : 1);
	schema = crash_begin();
	if (!unit_result(schema, "a schema with two events", kl_error_text()))
		return unit_end();
	test_formats();
	test_compression();
	test_torn_last();
	test_torn(2 * runs);
	test_pages(runs);
	test_headers(runs);
	test_bits(runs);
	test_files(runs);
	test_compressed_files(runs, false);
	test_compressed_files(runs, true);
	test_errors();
	test_forged();
	crash_end();
	return unit_end();
}
