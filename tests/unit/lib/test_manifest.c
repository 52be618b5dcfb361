// SPDX-License-Identifier: GPL-2.0
/*
 * A trace states exactly what is missing. Whatever happens to the streams of a trace whose manifest
 * is intact: each event that is read was recorded, and events and losses add up to all events that
 * hit. If the manifest is damaged, too, the reader reports it. Slightly more than 600 lines: each
 * kind of damage has its function.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../lib/base/crc.h"
#include "synth.h"
#include "unit.h"

#define BEGIN 1000000ull
#define HZ 1000000000ull
#define CPUS 4
#define BLOCKS 8 /* per CPU */
#define RECORDS_MAX (CPUS * BLOCKS * 16)
#define UNSEEN 3
#define FILE_MAX (BLOCKS * SYNTH_BLOCK_BYTES)

static const char numbered[] = "event { /* @task DEFAULT SELF A record with its number */"
			       " name = \"numbered\"; id = 1000; stream_id = 0; fields := struct {"
			       " integer { size = 64; align = 8; signed = 0; base = 10; }"
			       " _n; /* @dec */"
			       " integer { size = 64; align = 8; signed = 0; base = 10; }"
			       " _twice; /* @dec */"
			       " } align(8); };\n";

/* What was recorded. */
struct original {
	char *directory;
	uint64_t fired; /* written, lost and unseen */
	unsigned int n; /* records, by number */
	uint64_t time[RECORDS_MAX];
	uint32_t cpu[RECORDS_MAX];
	uint8_t *stream[CPUS]; /* the undamaged files */
	size_t bytes[CPUS];
	uint8_t *manifest;
	size_t manifest_bytes;
};

/* What a reader reports about it. */
struct told {
	bool opened;
	uint64_t sum;
	unsigned int events, wrong, doubled, unknown;
	uint64_t blocks; /* corrupt */
	uint64_t records[KL_LOSS_KINDS];
	struct kl_trace_counts counts;
	struct kl_trace_state state;
};

static struct kl_schema *schema;
static struct kl_trace_info info;
static struct synth *synths;

static unsigned int random_below(unsigned int n)
{
	return (unsigned int)rand() % n;
}

static void add_record(struct original *o, struct synth *s, uint64_t time)
{
	synth_add(s, "numbered", time, ARGS(NUMBER(o->n), NUMBER(2 * o->n)));
	o->time[o->n] = time;
	o->cpu[o->n] = s->cpu;
	o->n++;
}

/* One CPU's block. @stored: false if it was overwritten before it was read. */
static void add_block(struct original *o, struct kl_trace_writer *writer, struct synth *s,
		      uint64_t time, bool stored)
{
	unsigned int records = 1 + random_below(15);

	synth_begin(s, time);
	for (unsigned int i = 0; i < records; i++)
		add_record(o, s, time + i * 10);
	s->discarded += random_below(4) ? 0 : random_below(20);
	synth_end(s, time + 400);
	if (stored)
		kl_trace_append(writer, synth_block(s), s->block_bytes);
}

/* Returns kl_trace_finish()'s result. The session is stopped at 10 ms. */
static int write_trace(struct original *o, bool overwritten)
{
	struct kl_trace_writer *writer;
	uint64_t unread = 0, lost = 0;

	o->directory = synth_directory();
	writer = kl_trace_create(o->directory, schema, &info);
	if (!writer || kl_trace_set_begin(writer, BEGIN))
		abort();
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		synth_init(&synths[cpu], schema, cpu);
	for (unsigned int k = 0; k < BLOCKS; k++)
		for (uint32_t cpu = 0; cpu < CPUS; cpu++)
			add_block(o, writer, &synths[cpu], BEGIN + 500 + k * 1000 + cpu * 7,
				  !overwritten || k == BLOCKS - 1 || (k > cpu && random_below(5)));
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		/* Losses after the last block: lost on one CPU, unreadable on another. */
		uint64_t written = synths[cpu].records + (cpu == 2 ? 5 : 0);

		unread += written - synths[cpu].records;
		lost += synths[cpu].discarded + (cpu == 1 ? 9 : 0);
		kl_trace_set_total(writer, cpu, written,
				   synths[cpu].discarded + (cpu == 1 ? 9 : 0));
	}
	kl_trace_set_end(writer, BEGIN + HZ / 100, UNSEEN);
	o->fired = o->n + unread + lost + UNSEEN;
	return kl_trace_finish(writer, NULL);
}

static void path_of(const struct original *o, char path[160], const char *name)
{
	snprintf(path, 160, "%s/%s", o->directory, name);
}

static uint8_t *load(const struct original *o, const char *name, size_t *bytes)
{
	uint8_t *data = calloc(1, FILE_MAX);
	char path[160];
	int fd;

	path_of(o, path, name);
	fd = open(path, O_RDONLY);
	*bytes = fd < 0 ? 0 : (size_t)read(fd, data, FILE_MAX);
	close(fd);
	return data;
}

static void save(const struct original *o, const char *name, const uint8_t *data, size_t bytes)
{
	char path[160];
	int fd;

	path_of(o, path, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		abort();
	close(fd);
}

static void remember(struct original *o)
{
	char name[16];

	for (int cpu = 0; cpu < CPUS; cpu++) {
		snprintf(name, sizeof(name), "cpu%d", cpu);
		o->stream[cpu] = load(o, name, &o->bytes[cpu]);
	}
	o->manifest = load(o, KL_MANIFEST_FILE, &o->manifest_bytes);
}

static void restore(const struct original *o)
{
	char name[16];

	for (int cpu = 0; cpu < CPUS; cpu++) {
		snprintf(name, sizeof(name), "cpu%d", cpu);
		save(o, name, o->stream[cpu], o->bytes[cpu]);
	}
	save(o, KL_MANIFEST_FILE, o->manifest, o->manifest_bytes);
}

static void forget(struct original *o)
{
	for (int cpu = 0; cpu < CPUS; cpu++)
		free(o->stream[cpu]);
	free(o->manifest);
	synth_remove(o->directory);
	free(o);
}

static void take_event(const struct original *o, const struct kl_event *event, struct told *told,
		       bool *seen)
{
	struct kl_value n, twice;

	told->events++;
	if (kl_event_field(event, "n", &n) || kl_event_field(event, "twice", &twice) ||
	    n.number >= o->n || twice.number != 2 * n.number ||
	    event->cycles != o->time[n.number] || event->cpu != o->cpu[n.number]) {
		told->wrong++;
		return;
	}
	told->doubled += seen[n.number];
	seen[n.number] = true;
}

static struct told ask(const struct original *o)
{
	struct kl_trace *trace = kl_trace_open(o->directory);
	bool seen[RECORDS_MAX] = { false };
	struct told told = { .opened = trace };
	struct kl_item item;

	if (!trace)
		return told;
	while (kl_trace_next(trace, &item) > 0) {
		if (item.kind == KL_ITEM_EVENT) {
			take_event(o, item.event, &told, seen);
			continue;
		}
		told.records[item.loss->kind] += item.loss->records;
		told.unknown += !item.loss->records;
		if (item.loss->kind == KL_LOSS_CORRUPT)
			told.blocks += item.loss->blocks;
	}
	told.sum = told.events;
	for (int kind = 0; kind < KL_LOSS_KINDS; kind++)
		told.sum += told.records[kind];
	told.counts = *kl_trace_counted(trace);
	told.state = *kl_trace_state(trace);
	kl_trace_close(trace);
	return told;
}

/* Items, sums and state agree, and account for all events that hit. */
static bool is_exact(const struct original *o, const struct told *told)
{
	const struct kl_trace_counts *c = &told->counts;
	uint64_t counted = c->events + c->discarded + c->overwritten + c->before + c->damaged +
			   c->unstored + c->unseen;

	return told->opened && !told->wrong && !told->doubled && told->sum == o->fired &&
	       counted == o->fired && !told->unknown;
}

static void show(const char *what, unsigned int run, const struct original *o,
		 const struct told *told)
{
	printf("# %s, run %u: fired %llu, told %llu: %u events (%u wrong, %u twice), discarded %llu, "
	       "overwritten %llu, before %llu, corrupt %llu, unstored %llu, unseen %llu, "
	       "%u unknown\n",
	       what, run, (unsigned long long)o->fired, (unsigned long long)told->sum, told->events,
	       told->wrong, told->doubled, (unsigned long long)told->records[0],
	       (unsigned long long)told->records[1], (unsigned long long)told->records[2],
	       (unsigned long long)told->records[3], (unsigned long long)told->records[4],
	       (unsigned long long)told->records[5], told->unknown);
}

/* ---------------------------------------------------------------- damages */

struct bytes {
	uint8_t data[2 * FILE_MAX];
	size_t n;
};

static void flip(struct bytes *b)
{
	for (unsigned int n = 1 + random_below(8); n && b->n; n--)
		b->data[random_below((unsigned int)b->n)] ^= 1u << random_below(8);
}

/* In headers, where damage is hardest to handle. */
static void flip_header(struct bytes *b)
{
	unsigned int blocks = (unsigned int)(b->n / SYNTH_BLOCK_BYTES);

	if (blocks)
		b->data[random_below(blocks) * SYNTH_BLOCK_BYTES +
			random_below(KL_BLOCK_HEADER_BYTES)] ^= 1u << random_below(8);
}

static void cut(struct bytes *b)
{
	b->n = random_below((unsigned int)b->n + 1);
}

static void zero(struct bytes *b)
{
	size_t from = random_below((unsigned int)b->n + 1);

	memset(b->data + from, 0, random_below((unsigned int)(b->n - from) + 1));
}

static void cut_out(struct bytes *b)
{
	size_t from = random_below((unsigned int)b->n + 1);
	size_t n = random_below((unsigned int)(b->n - from) + 1);

	/* Often whole blocks, whose absence only block numbers reveal. */
	if (random_below(2)) {
		from = from / SYNTH_BLOCK_BYTES * SYNTH_BLOCK_BYTES;
		n = n / SYNTH_BLOCK_BYTES * SYNTH_BLOCK_BYTES;
	}
	memmove(b->data + from, b->data + from + n, b->n - from - n);
	b->n -= n;
}

static void put_in(struct bytes *b)
{
	size_t at = random_below((unsigned int)b->n + 1), n = random_below(2 * SYNTH_BLOCK_BYTES);

	if (random_below(2)) {
		at = at / SYNTH_BLOCK_BYTES * SYNTH_BLOCK_BYTES;
		n = n / SYNTH_BLOCK_BYTES * SYNTH_BLOCK_BYTES;
	}
	memmove(b->data + at + n, b->data + at, b->n - at);
	for (size_t i = 0; i < n; i++)
		b->data[at + i] = (uint8_t)rand();
	b->n += n;
}

/* A copy of a valid block in another block's place. */
static void copy_block(struct bytes *b)
{
	unsigned int blocks = (unsigned int)(b->n / SYNTH_BLOCK_BYTES);

	if (blocks)
		memmove(b->data + random_below(blocks) * SYNTH_BLOCK_BYTES,
			b->data + random_below(blocks) * SYNTH_BLOCK_BYTES, SYNTH_BLOCK_BYTES);
}

static const struct {
	const char *name;
	void (*damage)(struct bytes *b);
} damages[] = {
	{ "bits are flipped", flip },	     { "headers are flipped", flip_header },
	{ "a stream is cut", cut },	     { "a stream is zeroed", zero },
	{ "bytes are cut out", cut_out },    { "bytes are put in", put_in },
	{ "a block is copied", copy_block }, { "a stream is removed", NULL },
};

#define DAMAGES (sizeof(damages) / sizeof(*damages))

static void damage_stream(const struct original *o, size_t kind, int cpu)
{
	static struct bytes b;
	char name[16], path[160];

	snprintf(name, sizeof(name), "cpu%d", cpu);
	path_of(o, path, name);
	if (!damages[kind].damage) {
		unlink(path);
		return;
	}
	b.n = o->bytes[cpu];
	memcpy(b.data, o->stream[cpu], b.n);
	damages[kind].damage(&b);
	save(o, name, b.data, b.n);
}

static void test_streams(struct original *o, const char *which, unsigned int runs)
{
	for (size_t kind = 0; kind < DAMAGES; kind++) {
		unsigned int exact = 0, harmed = 0;
		char text[120];

		for (unsigned int run = 0; run < runs; run++) {
			struct told told;

			restore(o);
			for (unsigned int n = 1 + random_below(2); n; n--)
				damage_stream(o, kind, (int)random_below(CPUS));
			told = ask(o);
			if (!is_exact(o, &told) && exact == run)
				show(damages[kind].name, run, o, &told);
			exact += is_exact(o, &told);
			harmed += told.records[KL_LOSS_CORRUPT] > 0;
		}
		snprintf(text, sizeof(text), "%s: %s, and every loss is reported (%u of %u harm)",
			 which, damages[kind].name, harmed, runs);
		unit_result(exact == runs && harmed > runs / 4, text, "not exact, or no damage");
	}
	restore(o);
}

/* With all streams undamaged, all events are read, whatever the manifest contains. */
static void test_manifest(struct original *o, unsigned int runs)
{
	struct told whole = ask(o), told;
	unsigned int good = 0, noticed = 0;
	static struct bytes b;

	for (unsigned int run = 0; run < runs; run++) {
		restore(o);
		memcpy(b.data, o->manifest, o->manifest_bytes);
		b.n = o->manifest_bytes;
		damages[run % 5].damage(&b);
		save(o, KL_MANIFEST_FILE, b.data, b.n);
		told = ask(o);
		if (!told.opened || told.events != whole.events || told.wrong)
			show("manifest", run, o, &told);
		good += told.opened && told.events == whole.events && !told.wrong;
		noticed += !memcmp(b.data, o->manifest, o->manifest_bytes) ||
			   told.state.manifest_damaged || !told.state.finished ||
			   !told.state.manifest;
	}
	unit_check(good == runs, "a damaged manifest hides no event");
	unit_check(noticed == runs, "and is reported");
	restore(o);
}

/* Both damaged: never more than there was, never less without a report. */
static void test_both(struct original *o, unsigned int runs)
{
	unsigned int good = 0;
	static struct bytes b;

	for (unsigned int run = 0; run < runs; run++) {
		struct told told;

		restore(o);
		memcpy(b.data, o->manifest, o->manifest_bytes);
		b.n = o->manifest_bytes;
		damages[run % 4].damage(&b);
		save(o, KL_MANIFEST_FILE, b.data, b.n);
		/* Not in the content: without checksums that cannot be noticed. */
		damage_stream(o, run & 1 ? 2 : DAMAGES - 1, (int)random_below(CPUS));
		told = ask(o);
		if (!told.wrong && told.sum <= o->fired &&
		    (told.sum == o->fired || told.state.manifest_damaged || !told.state.finished ||
		     !told.state.manifest))
			good++;
		else
			show("both", run, o, &told);
	}
	unit_check(good == runs, "streams and manifest damaged: unknown losses are reported");
	restore(o);
}

static void test_without(struct original *o)
{
	struct told told;
	char path[160];

	path_of(o, path, KL_MANIFEST_FILE);
	unlink(path);
	told = ask(o);
	unit_check(told.opened && !told.wrong && !told.state.manifest && told.sum <= o->fired,
		   "without a manifest the trace is read, and it is reported that there is none");
	save(o, KL_MANIFEST_FILE, (const uint8_t *)"", 0);
	told = ask(o);
	unit_check(told.opened && !told.state.finished && told.unknown,
		   "an empty one is one that was not finished");
	restore(o);
}

/* As a killed recorder leaves it: entries up to some moment, then preallocated space. */
static void test_killed(struct original *o, unsigned int runs)
{
	struct told whole = ask(o), told;
	unsigned int good = 0, begun = 0;
	static struct bytes b;

	for (unsigned int run = 0; run < runs; run++) {
		memset(b.data, 0, sizeof(b.data));
		b.n = (o->manifest_bytes + 4095) / 4096 * 4096;
		memcpy(b.data, o->manifest,
		       128 + random_below((unsigned int)o->manifest_bytes - 192));
		save(o, KL_MANIFEST_FILE, b.data, b.n);
		told = ask(o);
		good += told.events == whole.events && !told.wrong && !told.state.finished &&
			(told.unknown || told.sum + UNSEEN == o->fired);
		begun += told.state.begin_ns == kl_timebase_ns(&info.timebase, BEGIN) &&
			 !told.state.end_ns;
	}
	unit_check(good == runs, "an unfinished trace is read, and unknown losses are reported");
	unit_check(begun == runs, "its start is known, its end is not");
	restore(o);
}

/* ----------------------------------------------------------- a full disk */

/* Each file may grow to @limit, as if the disk were full then. */
static void test_full(rlim_t limit)
{
	const struct rlimit small = { limit, RLIM_INFINITY };
	struct original *o = calloc(1, sizeof(*o));
	char text[120], command[200];
	struct rlimit before;
	struct told told;
	int finished;

	getrlimit(RLIMIT_FSIZE, &before);
	setrlimit(RLIMIT_FSIZE, &small);
	finished = write_trace(o, false);
	setrlimit(RLIMIT_FSIZE, &before);
	told = ask(o);
	show("full", (unsigned int)limit, o, &told);
	snprintf(text, sizeof(text), "no room from byte %lu of a stream on: the rest is unstored",
		 (unsigned long)limit);
	unit_check(!finished, "the manifest is finished");
	unit_result(is_exact(o, &told) && told.records[KL_LOSS_UNSTORED] > 5 &&
			    !told.records[KL_LOSS_CORRUPT] && !told.counts.cut_bytes,
		    text, "not exact");
	snprintf(command, sizeof(command),
		 "LC_ALL=C babeltrace2 %s 2>&1 >/dev/null | grep -v discarded", o->directory);
	unit_check(system(command) != 0, "no torn block is left for babeltrace2");
	forget(o);
}

static void test_unstored(void)
{
	struct kl_trace_writer *writer;
	char *directory = synth_directory();
	const struct rlimit small = { 3 * SYNTH_BLOCK_BYTES, RLIM_INFINITY };
	struct original *o = calloc(1, sizeof(*o));
	struct kl_loss loss;
	struct rlimit before;
	int ret = 0;

	getrlimit(RLIMIT_FSIZE, &before);
	writer = kl_trace_create(directory, schema, &info);
	synth_init(&synths[0], schema, 0);
	setrlimit(RLIMIT_FSIZE, &small);
	for (unsigned int k = 0; k < 5; k++) {
		synth_begin(&synths[0], BEGIN + k * 1000);
		add_record(o, &synths[0], BEGIN + k * 1000);
		synth_end(&synths[0], BEGIN + k * 1000 + 500);
		ret = kl_trace_append(writer, synth_block(&synths[0]), SYNTH_BLOCK_BYTES);
		if (k == 2)
			unit_check(!ret && !kl_trace_unstored(writer, 0, &loss), "all is stored");
	}
	setrlimit(RLIMIT_FSIZE, &before);
	unit_check(ret == -EFBIG, "what is not stored is an error");
	unit_check(kl_trace_unstored(writer, 0, &loss) && loss.records == 2 && loss.blocks == 2 &&
			   loss.first_block == 3 &&
			   loss.begin_ns == kl_timebase_ns(&info.timebase, BEGIN + 3000) &&
			   loss.end_ns == kl_timebase_ns(&info.timebase, BEGIN + 4500),
		   "and counted, from when to when");
	unit_check(!kl_trace_unstored(writer, 1, &loss), "of this CPU alone");
	kl_trace_finish(writer, NULL);
	synth_remove(directory);
	free(o);
}

static void test_crc(void)
{
	uint8_t bytes[300];
	unsigned int same = 0;

	unit_check(kl_crc32c(0, "123456789", 9) == 0xe3069283u, "the checksum is CRC-32C");
	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)rand();
	for (unsigned int i = 0; i < sizeof(bytes); i++)
		same += kl_crc32c(0, bytes, i) == kl_crc32c_table(0, bytes, i) &&
			kl_crc32c(kl_crc32c(0, bytes, i), bytes + i, sizeof(bytes) - i) ==
				kl_crc32c_table(0, bytes, sizeof(bytes));
	unit_check(same == sizeof(bytes), "with and without the instruction, and in parts");
}

static void test_trace(bool overwritten, unsigned int runs)
{
	const char *which = overwritten ? "flight recorder" : "recording";
	struct original *o = calloc(1, sizeof(*o));
	struct told told;

	unit_check(!write_trace(o, overwritten), "a trace is written");
	remember(o);
	told = ask(o);
	show(which, 0, o, &told);
	unit_check(is_exact(o, &told) && !told.records[KL_LOSS_CORRUPT], "it is whole");
	unit_check(told.state.manifest && told.state.finished && !told.state.manifest_damaged &&
			   told.state.streams == CPUS && !told.state.streams_missing &&
			   told.state.end_ns - told.state.begin_ns == HZ / 100 / (HZ / 1000000000),
		   "and its manifest, with the session's start and end");
	unit_check(told.records[KL_LOSS_UNSEEN] == UNSEEN && told.records[KL_LOSS_UNSTORED] == 5,
		   "records not seen, or not stored, are reported");
	test_streams(o, which, runs);
	test_manifest(o, runs);
	test_both(o, runs);
	test_without(o);
	test_killed(o, runs / 4);
	forget(o);
}

int main(void)
{
	unsigned int runs = getenv("KL_RUNS") ? (unsigned int)atoi(getenv("KL_RUNS")) : 100;

	srand(getenv("KL_SEED") ? (unsigned int)atoi(getenv("KL_SEED")) : 1);
	/* A single event, as metadata is read after each damage. */
	schema = synth_schema(numbered, HZ, &info);
	if (!unit_result(schema, "a schema with one event", kl_error_text()))
		return unit_end();
	synths = calloc(CPUS, sizeof(*synths));
	test_crc();
	test_trace(false, runs);
	test_trace(true, runs);
	signal(SIGXFSZ, SIG_IGN);
	test_full(3 * SYNTH_BLOCK_BYTES);
	test_full(3 * SYNTH_BLOCK_BYTES + 100);
	test_full(5 * SYNTH_BLOCK_BYTES - 1);
	test_unstored();
	kl_schema_destroy(schema);
	free(synths);
	return unit_end();
}
