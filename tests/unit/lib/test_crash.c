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

#include "machine.h"
#include "unit.h"

#define BEGIN 100000ull
#define BLOCKS 5u
#define RECORDS_MAX 4000u
#define BASE 0x100000ull

#define FIELDS                                                                        \
	"fields := struct { integer { size = 64; align = 8; signed = 0; base = 10; }" \
	" _n; /* @dec */ integer { size = 64; align = 8; signed = 0; base = 10; }"    \
	" _twice; /* @dec */ } align(8); };\n"

/* Only a task writes the second one. */
static const char events[] =
	"event { /* @irq DEFAULT SELF A record with its number */ name = \"numbered\"; id = 1000;"
	" stream_id = 0; " FIELDS
	"event { /* @sched DEFAULT SELF The same */ name = \"sched_switch\"; id = 1;"
	" stream_id = 0; " FIELDS;

/* What was recorded, by number; @torn: was not finished. */
struct made {
	struct machine m;
	unsigned int n;
	uint64_t time[RECORDS_MAX];
	uint32_t cpu[RECORDS_MAX];
	bool torn[RECORDS_MAX];
	struct kl_abi_block *last[MACHINE_CPUS];
};

/* What was extracted. @wrong: was not recorded, or not finished, or is out of order. */
struct got {
	int error;
	unsigned int notices;
	unsigned int sessions;
	unsigned int events;
	unsigned int wrong;
	uint64_t missing; /* as the trace says */
	unsigned int stacks; /* traces of which all frames are right */
	bool has[RECORDS_MAX];
};

static struct kl_schema *schema;
static struct kl_buffer text;
static char *folder;

static void make_schema(void)
{
	struct kl_schema *tables = kl_schema_create();
	struct kl_trace_info info;

	kl_trace_info_init(&info);
	kl_timebase_init(&info.timebase, KL_CLOCK_TSC, 1000000000, 1699999999, 0);
	kl_metadata_write(&text, tables, &info);
	text.length = (size_t)(strstr(text.data, "\nevent {") + 1 - text.data);
	kl_buffer_add_string(&text, events);
	schema = kl_metadata_parse(text.data, text.length, &info);
	kl_schema_destroy(tables);
}

/* ------------------------------------------------------- the machine */

static void add_record(struct made *made, struct synth *s, const char *event, uint64_t time)
{
	if (!synth_add(s, event, time, ARGS(NUMBER(made->n), NUMBER(2 * made->n))))
		abort();
	made->time[made->n] = time;
	made->cpu[made->n] = s->cpu;
	made->n++;
}

/* A CPU's blocks; the last one is being filled. @first: number of the oldest one that is left. */
static void add_cpu(struct made *made, struct synth *s, uint64_t first)
{
	struct kl_abi_ring *ring = made->m.ring[s->cpu];
	uint64_t time = BEGIN + 10 * s->cpu;

	s->seq = first;
	s->records = 17 * first;
	for (unsigned int i = 0; i < BLOCKS; i++, time += 1000) {
		unsigned int records = 5 + machine_random(60);

		synth_begin(s, time);
		for (unsigned int k = 0; k < records; k++)
			add_record(made, s, machine_random(4) ? "numbered" : "sched_switch",
				   time + 10 * k);
		if (i < BLOCKS - 1)
			synth_end(s, time + 1000);
		made->last[s->cpu] = machine_add(&made->m, s);
	}
	ring->head = s->seq;
	ring->tail = first;
	ring->records = s->records;
	ring->position = s->seq << KL_POS_SEQ_SHIFT | (uint64_t)s->count << KL_POS_COUNT_SHIFT |
			 s->at;
	/* One is prepared, and one is free. */
	synth_end(s, time);
	synth_begin(s, 0);
	machine_add(&made->m, s);
	synth_block(s)->seq = KL_SEQ_NONE;
	machine_add(&made->m, s);
}

static struct made *make(uint64_t base)
{
	struct made *made = calloc(1, sizeof(*made));
	struct synth *s = calloc(1, sizeof(*s));

	machine_init(&made->m, base, text.data);
	for (uint32_t cpu = 0; cpu < MACHINE_CPUS; cpu++) {
		synth_init(s, schema, cpu);
		synth_task(s, 5, 5, "task");
		add_cpu(made, s, 3 * cpu);
	}
	free(s);
	return made;
}

static void forget(struct made *made)
{
	machine_deinit(&made->m);
	free(made);
}

/* ------------------------------------------------------- what is extracted */

static void notice(void *context, const char *line)
{
	struct got *got = context;

	(void)line;
	got->notices++;
	if (getenv("KL_SHOW"))
		printf("# %s\n", line);
}

static void look_at(const struct made *made, struct got *got, const struct kl_event *event,
		    int64_t last[MACHINE_CPUS])
{
	struct kl_value n, twice;

	if (kl_event_field(event, "n", &n) || kl_event_field(event, "twice", &twice) ||
	    n.number >= made->n || twice.number != 2 * n.number || event->cpu >= MACHINE_CPUS ||
	    made->cpu[n.number] != event->cpu || made->time[n.number] != event->cycles ||
	    made->torn[n.number] || (int64_t)n.number <= last[event->cpu] ||
	    strcmp(event->task.comm, "task")) {
		got->wrong++;
		return;
	}
	last[event->cpu] = (int64_t)n.number;
	got->has[n.number] = true;
	got->events++;
}

static unsigned int count_stacks(const struct kl_trace *trace)
{
	const struct kl_stacks *stacks = kl_schema_stacks(kl_trace_schema(trace));
	unsigned int right = 0;

	for (uint32_t id = 1; id <= MACHINE_STACKS; id++) {
		const struct kl_stack *stack = kl_stacks_get(stacks, id);
		unsigned int k = 0;

		while (stack && k < stack->n &&
		       stack->frame[k].address == 0xffffffff81000000 + 256 * (id - 1) + k)
			k++;
		right += stack && stack->n == id && k == id;
	}
	return right + (stacks && kl_stacks_count(stacks) > MACHINE_STACKS);
}

static void read_trace(const struct made *made, struct got *got, const char *path)
{
	struct kl_trace *trace = kl_trace_open(path);
	int64_t last[MACHINE_CPUS] = { -1, -1 };
	const struct kl_trace_counts *counts;
	struct kl_item item;

	if (!trace) {
		got->wrong++;
		return;
	}
	while (kl_trace_next(trace, &item))
		if (item.kind == KL_ITEM_EVENT)
			look_at(made, got, item.event, last);
	counts = kl_trace_counted(trace);
	got->missing = counts->corrupt + counts->damaged + counts->discarded + counts->overwritten +
		       counts->unstored + counts->unseen;
	got->stacks = count_stacks(trace);
	kl_trace_close(trace);
}

/* Extract the first session of a file, and compare it with what was recorded. */
static struct got *extract(const struct made *made, const char *path)
{
	static struct got got;
	struct kl_dump_ops ops = { notice, &got };
	struct kl_dump_counts counts;
	struct kl_dump *dump;
	char trace[300];

	got = (struct got){};
	dump = kl_dump_open(path, &ops);
	if (!dump) {
		got.error = -errno;
		return &got;
	}
	while (kl_dump_session(dump, got.sessions))
		got.sessions++;
	snprintf(trace, sizeof(trace), "%s/trace", folder);
	kl_record_clear(trace, true);
	got.error = got.sessions ? kl_dump_extract(dump, 0, trace, &counts) : -ENOENT;
	kl_dump_close(dump);
	if (!got.error)
		read_trace(made, &got, trace);
	return &got;
}

static const char *image_path(void)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s/memory", folder);
	return path;
}

static struct got *extract_elf(const struct made *made)
{
	machine_write_elf(&made->m, image_path());
	return extract(made, image_path());
}

static bool is_whole(const struct made *made, const struct got *got)
{
	bool whole = !got->error && !got->notices && !got->wrong && got->events == made->n &&
		     got->sessions == 1 && got->stacks == MACHINE_STACKS;

	if (!whole)
		printf("# error %d, %u notices, %u wrong, %u of %u events: %s\n", got->error,
		       got->notices, got->wrong, got->events, made->n, kl_error_text());
	return whole;
}

static void test_formats(void)
{
	const uint64_t shift = 1ull << 30;
	struct made *made = make(BASE);

	unit_check(is_whole(made, extract_elf(made)), "all is extracted from an ELF core");
	machine_write_raw(&made->m, image_path(), 0);
	unit_check(is_whole(made, extract(made, image_path())), "and from raw memory");
	forget(made);
	made = make((4ull << 30) + BASE);
	machine_write_raw(&made->m, image_path(), shift);
	unit_check(is_whole(made, extract(made, image_path())),
		   "and if it is above a hole that the file does not have");
	unlink(image_path());
	forget(made);
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
static unsigned int tear(struct made *made, uint32_t cpu, unsigned int written)
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
	old = 1000 | (BEGIN - 50000) << KL_RECORD_ID_BITS;
	for (uint32_t i = written; i < bytes; i++)
		((uint8_t *)block)[at + i] = i < 8 ? (uint8_t)(old >> 8 * i) : (uint8_t)rand();
	return torn;
}

/* The last record before @n that a task wrote: what is before it must be there. */
static bool has_sure(const struct made *made, const struct got *got, uint32_t cpu, unsigned int n)
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
		struct made *made = make(BASE);
		uint32_t cpu = machine_random(MACHINE_CPUS);
		unsigned int torn = tear(made, cpu, machine_random(40));
		struct got *got = extract_elf(made);

		wrong += got->wrong || got->error;
		unnamed += !got->notices;
		short_of += !has_sure(made, got, cpu, torn);
		forget(made);
	}
	unit_check(!wrong, "a record that was being written is never extracted");
	unit_check(!unnamed, "and it is reported");
	unit_check(!short_of, "what was certainly written before it is extracted");
}

/* The last record of the block is the torn one: the usual case. */
static void test_torn_last(void)
{
	struct made *made = make(BASE);
	struct kl_abi_ring *ring = made->m.ring[1];
	struct got *got;

	/* Room was reserved, and nothing was written. */
	ring->position += 40 + (1ull << KL_POS_COUNT_SHIFT);
	got = extract_elf(made);
	unit_check(!got->error && !got->wrong && got->notices == 1 && got->events + 20 > made->n,
		   "a record that was begun at the end is cut");
	unit_check(got->missing == made->n - got->events + 1, "and counted as missing");
	forget(made);
}

/* ------------------------------------------------------- damage */

/* Is what is missing reported? Nothing may be wrong if only the module's own pages are damaged. */
static bool is_honest(const struct made *made, const struct got *got)
{
	return !got->wrong && (got->error || got->events == made->n || got->notices);
}

/* Each byte of the module's own pages, of which anything but the blocks' contents depends. */
static void test_pages(unsigned int runs)
{
	struct made *made = make(BASE);
	unsigned int tried = 0, bad = 0, lost = 0;

	for (unsigned int i = 0; i < MACHINE_PAGES; i++) {
		uint8_t *page = made->m.memory + (size_t)i * KL_CRASH_PAGE;

		if (made->m.use[i] != MACHINE_PAGE && made->m.use[i] != MACHINE_RING)
			continue;
		for (unsigned int at = 0; at < 600; at += 1 + machine_random(6000 / runs)) {
			uint8_t old = page[at];
			struct got *got;

			page[at] ^= (uint8_t)(1 + machine_random(255));
			got = extract_elf(made);
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
	forget(made);
}

/* A block's header. Its fields also say what the records mean. */
static void test_headers(unsigned int runs)
{
	struct made *made = make(BASE);
	unsigned int bad = 0;

	for (unsigned int run = 0; run < 10 * runs; run++) {
		unsigned int i = machine_random(MACHINE_PAGES), at;
		uint8_t *page = made->m.memory + (size_t)i * KL_CRASH_PAGE, old;
		struct got *got;

		if (made->m.use[i] != MACHINE_BLOCK)
			continue;
		at = machine_random(KL_BLOCK_HEADER_BYTES);
		old = page[at];
		page[at] ^= (uint8_t)(1 << machine_random(8));
		got = extract_elf(made);
		if ((got->wrong || got->error) && bad++ < 5)
			printf("# block header at %u: %u wrong, %u of %u, %u notices\n", at,
			       got->wrong, got->events, made->n, got->notices);
		page[at] = old;
	}
	unit_check(!bad,
		   "whatever bit of a block's header changes, what is extracted was recorded");
	forget(made);
}

/* Bits in a tenth of all pages. */
static void test_bits(unsigned int runs)
{
	unsigned int named = 0, recovered = 0;

	for (unsigned int run = 0; run < runs; run++) {
		struct made *made = make(BASE);
		struct got *got;

		for (unsigned int i = 0; i < MACHINE_PAGES; i++)
			if (!machine_random(10))
				for (unsigned int k = machine_random(4) + 1; k; k--)
					made->m.memory[(size_t)i * KL_CRASH_PAGE +
						       machine_random(KL_CRASH_PAGE)] ^=
						(uint8_t)(1 << machine_random(8));
		got = extract_elf(made);
		named += got->error || got->notices || got->events + got->wrong == made->n;
		recovered += got->events > made->n / 2;
		forget(made);
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
	struct made *made = make(BASE);
	unsigned int wrong = 0;

	for (unsigned int run = 0; run < 3 * runs; run++) {
		uint8_t byte = (uint8_t)rand();
		int fd;

		machine_write_elf(&made->m, image_path());
		fd = open(image_path(), O_RDWR);
		if (machine_random(4)) {
			if (pwrite(fd, &byte, 1, machine_random(240)) != 1)
				abort();
		} else if (ftruncate(fd, machine_random(MACHINE_PAGES * KL_CRASH_PAGE))) {
			abort();
		}
		close(fd);
		wrong += extract(made, image_path())->wrong;
	}
	unit_check(!wrong, "nor is anything wrong extracted from a file that is cut or changed");
	forget(made);
}

/* ------------------------------------------------------- errors and forgeries */

static void test_errors(void)
{
	struct made *made = make(BASE);
	uint8_t *copy = machine_page(&made->m, MACHINE_FREE);

	made->m.anchor->head.version++;
	unit_check(extract_elf(made)->error == -EPROTONOSUPPORT || extract_elf(made)->events,
		   "another version is refused, or its sessions are read without it");
	made->m.anchor->head.version--;
	memcpy(copy, made->m.anchor, KL_CRASH_PAGE);
	memset(made->m.anchor, 0, KL_CRASH_PAGE);
	memset(made->m.session, 0, sizeof(struct kl_crash_head));
	unit_check(extract_elf(made)->error == -EBADMSG, "a copy of an anchor is no anchor");
	for (unsigned int i = 0; i < MACHINE_PAGES; i++)
		memset(made->m.memory + (size_t)i * KL_CRASH_PAGE, 0, 16);
	unit_check(extract_elf(made)->error == -ENOENT, "memory without one is reported");
	memcpy(made->m.memory, "KDUMP   ", 8);
	machine_write_raw(&made->m, image_path(), BASE);
	unit_check(extract(made, image_path())->error == -ENOTSUP, "a compressed dump is, too");
	unit_check(extract(made, "/dev/null")->error < 0, "and what is no file");
	forget(made);
}

/* A process knows all but the module's random number: its pages are those of another machine. */
static void test_forged(void)
{
	struct made *made = make(BASE);
	struct machine other = made->m;
	struct got *got;

	other.anchor = machine_page(&made->m, MACHINE_FREE);
	memcpy(other.anchor, made->m.anchor, KL_CRASH_PAGE);
	other.load[3] ^= 1;
	machine_seal(&other, other.anchor, KL_CRASH_ANCHOR, offsetof(struct kl_crash_anchor, now));
	/* A list of blocks for the real session. */
	other.blocks = machine_page(&made->m, MACHINE_FREE);
	memcpy(other.blocks, made->m.blocks, KL_CRASH_PAGE);
	other.anchor = made->m.anchor;
	machine_seal(&other, other.blocks, KL_CRASH_PIECES, offsetof(struct kl_crash_pieces, next));
	got = extract_elf(made);
	unit_check(!got->error && !got->wrong && got->events == made->n && got->sessions == 1,
		   "pages without the random number add nothing to a session");
	forget(made);
}

int main(void)
{
	unsigned int runs = getenv("KL_RUNS") ? (unsigned int)atoi(getenv("KL_RUNS")) : 60;

	srand(getenv("KL_SEED") ? (unsigned int)atoi(getenv("KL_SEED")) : 1);
	folder = synth_directory();
	make_schema();
	if (!unit_result(schema, "a schema with two events", kl_error_text()))
		return unit_end();
	test_formats();
	test_torn_last();
	test_torn(2 * runs);
	test_pages(runs);
	test_headers(runs);
	test_bits(runs);
	test_files(runs);
	test_errors();
	test_forged();
	kl_schema_destroy(schema);
	kl_buffer_deinit(&text);
	synth_remove(folder);
	return unit_end();
}
