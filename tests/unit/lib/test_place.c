// SPDX-License-Identifier: GPL-2.0
/*
 * Places in a trace, and an index of one: a reader that returns sees the same items, whatever the
 * size of blocks, compressed or not; what is found by number, time and search is what reading from
 * the start finds; and a trace that changes meanwhile is noticed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../lib/base/base.h"
#include "../../../lib/format/print.h"
#include "pack.h"
#include "synth.h"
#include "unit.h"

#define PLACES 64
#define ITEMS_AFTER 60 /* that are compared behind a place */

/* What a trace has, in order. */
struct contents {
	uint64_t *hash; /* of each item */
	uint64_t *since_ns; /* of each event */
	uint64_t *ns;
	size_t n, n_events, room;
};

static uint64_t hash_of(const struct kl_item *item)
{
	const struct kl_event *event = item->event;
	uint64_t hash = KL_HASH_START;

	if (item->kind == KL_ITEM_LOSS) {
		const uint64_t loss[] = { item->loss->kind, item->loss->records,
					  item->loss->begin_ns };

		return kl_hash_bytes(hash, loss, sizeof(loss));
	}
	const uint64_t numbers[] = { event->cycles, event->ns, event->cpu, event->id,
				     (uint64_t)event->task.tid };

	hash = kl_hash_bytes(hash, numbers, sizeof(numbers));
	hash = kl_hash_bytes(hash, event->task.comm, strlen(event->task.comm));
	return kl_hash_bytes(hash, event->payload, event->payload_bytes);
}

static struct contents read_all(const char *path)
{
	struct kl_trace *trace = kl_trace_open(path);
	struct contents all = { 0 };
	struct kl_item item;

	while (trace && kl_trace_next(trace, &item) > 0) {
		if (all.n == all.room) {
			all.room = all.room ? 2 * all.room : 4096;
			all.hash = realloc(all.hash, all.room * sizeof(*all.hash));
			all.ns = realloc(all.ns, all.room * sizeof(*all.ns));
			all.since_ns = realloc(all.since_ns, all.room * sizeof(*all.since_ns));
			if (!all.hash || !all.ns || !all.since_ns)
				abort();
		}
		all.hash[all.n++] = hash_of(&item);
		if (item.kind != KL_ITEM_EVENT)
			continue;
		all.ns[all.n_events] = item.event->ns;
		all.since_ns[all.n_events++] = item.event->since_ns;
	}
	kl_trace_close(trace);
	return all;
}

static void contents_deinit(struct contents *all)
{
	free(all->hash);
	free(all->ns);
	free(all->since_ns);
}

/* -------------------------------------------------------------------- places */

static unsigned int random_below(unsigned int n)
{
	static uint64_t seed = 5;

	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned int)(seed >> 33) % n;
}

/* Places after the first, second, ... part of the items. */
static void take_places(struct kl_trace *trace, size_t items, struct kl_trace_place **place)
{
	struct kl_item item;
	size_t at = 0;

	for (unsigned int i = 0; i < PLACES; i++) {
		for (; at < i * items / PLACES; at++)
			kl_trace_next(trace, &item);
		place[i] = kl_trace_place_take(trace);
		if (!place[i])
			abort();
	}
}

static bool same_behind(struct kl_trace *trace, const struct contents *all, size_t at)
{
	struct kl_item item;

	for (unsigned int i = 0; i < ITEMS_AFTER; i++, at++) {
		if (kl_trace_next(trace, &item) <= 0)
			return at == all->n;
		if (at >= all->n || hash_of(&item) != all->hash[at])
			return false;
	}
	return true;
}

static void test_places(const char *path, const char *what)
{
	struct contents all = read_all(path);
	struct kl_trace *trace = kl_trace_open(path);
	struct kl_trace_place *place[PLACES];
	unsigned int same = 0;
	char text[100];

	take_places(trace, all.n, place);
	for (unsigned int i = 0; i < 4 * PLACES; i++) {
		const unsigned int to = random_below(PLACES);

		same += !kl_trace_place_go(trace, place[to]) &&
			same_behind(trace, &all, to * all.n / PLACES);
	}
	snprintf(text, sizeof(text), "%s: the same items behind each place", what);
	unit_check(all.n > 1000 && same == 4 * PLACES, text);
	for (unsigned int i = 0; i < PLACES; i++)
		kl_trace_place_free(place[i]);
	kl_trace_close(trace);
	contents_deinit(&all);
}

static void overwrite(const char *path, uint8_t value)
{
	uint8_t *bytes = malloc(64);
	struct stat about;
	int fd = open(path, O_WRONLY);

	memset(bytes, value, 64);
	if (fd < 0 || fstat(fd, &about))
		abort();
	/* Headers of blocks stay, and their records' do not. */
	for (off_t at = 0; at < about.st_size; at += SYNTH_BLOCK_BYTES)
		for (off_t k = KL_BLOCK_HEADER_BYTES; k + 64 <= SYNTH_BLOCK_BYTES; k += 64)
			if (pwrite(fd, bytes, 64, at + k) != 64)
				abort();
	close(fd);
	free(bytes);
}

/* Goes everywhere in a trace that is not what it was. Returns how often that was noticed. */
static unsigned int go_everywhere(struct kl_trace *trace, struct kl_trace_place **place)
{
	struct kl_buffer text = { 0 };
	unsigned int noticed = 0;
	struct kl_item item;

	for (unsigned int i = 0; i < PLACES; i++) {
		noticed += kl_trace_place_go(trace, place[i]) == -EIO;
		for (unsigned int k = 0; k < 200 && kl_trace_next(trace, &item) > 0; k++) {
			kl_buffer_reset(&text);
			if (item.kind == KL_ITEM_EVENT)
				kl_print_event_fields(&text, item.event);
		}
		kl_trace_place_free(place[i]);
	}
	kl_buffer_deinit(&text);
	return noticed;
}

static void test_changed(bool truncated)
{
	char *directory = synth_directory();
	struct kl_trace_place *place[PLACES];
	struct kl_trace *trace;
	struct contents all;

	pack_write(directory, PACK_BLOCKS, SYNTH_BLOCK_BYTES, 0);
	all = read_all(directory);
	trace = kl_trace_open(directory);
	take_places(trace, all.n, place);
	if (truncated && truncate(pack_path(directory, "cpu1"), 20 * SYNTH_BLOCK_BYTES + 100))
		abort();
	if (!truncated)
		overwrite(pack_path(directory, "cpu1"), 0xff);
	unit_check(go_everywhere(trace, place) > PLACES / 4,
		   truncated ? "a truncated trace is noticed" : "other records are noticed");
	kl_trace_close(trace);
	contents_deinit(&all);
	synth_remove(directory);
}

/* --------------------------------------------------------------------- index */

#define LONG_BLOCKS 900 /* enough records for several checkpoints */

static const struct kl_timeline_options everything = { .bytes = 1 << 20, .to_ns = UINT64_MAX };

struct found {
	uint64_t number;
	uint64_t hash;
	unsigned int left;
};

static int take_hash(void *context, const struct kl_event *event, uint64_t number)
{
	const struct kl_item item = { .kind = KL_ITEM_EVENT, .event = event };
	struct found *found = context;

	found->number = number;
	found->hash = hash_of(&item);
	return !--found->left;
}

/* The hashes of events only. */
static size_t leave_events(struct contents *all, const char *path)
{
	struct kl_trace *trace = kl_trace_open(path);
	struct kl_item item;
	size_t n = 0;

	while (kl_trace_next(trace, &item) > 0)
		if (item.kind == KL_ITEM_EVENT)
			all->hash[n++] = hash_of(&item);
	kl_trace_close(trace);
	return n;
}

static void test_numbers(struct kl_timeline_index *index, const struct contents *all,
			 const char *when)
{
	const uint64_t n = kl_timeline_index_progress(index).records;
	unsigned int same = 0, timely = 0;
	char text[100];

	for (unsigned int i = 0; i < 200; i++) {
		/* Every other one is behind the last. */
		const uint64_t to = i % 2 ? random_below((unsigned int)n - 100) :
					    i * (n - 100) / 200;
		struct found found = { .left = 1 + random_below(50) };
		const uint64_t last = to + found.left - 1;
		uint64_t ns = all->ns[to] - all->ns[0], first = to;

		kl_timeline_index_read(index, to, take_hash, &found);
		same += found.number == last && found.hash == all->hash[last];
		while (first && all->ns[first - 1] == all->ns[to])
			first--;
		timely += kl_timeline_index_number(index, ns) == (int64_t)first;
	}
	snprintf(text, sizeof(text), "records by number, %s", when);
	unit_check(same == 200, text);
	snprintf(text, sizeof(text), "and by time, %s", when);
	unit_check(timely == 200, text);
}

/* A number behind a name in JSON; UINT64_MAX: it is null. */
static uint64_t number_in(const struct kl_buffer *json, const char *name)
{
	const char *at = strstr(json->data, name);

	return at && strncmp(at + strlen(name), "null", 4) ? strtoull(at + strlen(name), NULL, 10) :
							     UINT64_MAX;
}

static uint64_t count_all(struct kl_timeline_index *index, const char *search)
{
	uint64_t sum = 0, from = 0;

	while (from != UINT64_MAX) {
		struct kl_buffer json = { 0 };

		if (kl_timeline_index_count(index, search, from, 1, 1000, &json))
			return UINT64_MAX;
		kl_buffer_add_char(&json, 0);
		sum += number_in(&json, "\"n\":");
		from = number_in(&json, "\"next\":");
		kl_buffer_deinit(&json);
	}
	return sum;
}

/* Goes back from match to match. */
static uint64_t count_back(struct kl_timeline_index *index, const char *search)
{
	uint64_t sum = 0, before = UINT64_MAX - 1;

	while (before != UINT64_MAX) {
		struct kl_buffer json = { 0 };
		uint64_t found;

		if (kl_timeline_index_search_back(index, search, before, &json))
			return UINT64_MAX;
		kl_buffer_add_char(&json, 0);
		found = number_in(&json, "\"found\":[[");
		if (!strncmp(json.data, "{\"found\":[]", 11)) {
			before = number_in(&json, "\"next\":");
		} else {
			sum += found < before;
			before = found;
		}
		kl_buffer_deinit(&json);
	}
	return sum;
}

static uint64_t count_filtered(const char *path, const char *list)
{
	struct kl_trace *trace = kl_trace_open(path);
	struct kl_filter *filter = kl_filter_create(kl_trace_schema(trace), list);
	struct kl_item item;
	uint64_t n = 0;

	while (filter && kl_filter_next(filter, trace, &item) > 0)
		n += item.kind == KL_ITEM_EVENT;
	kl_filter_destroy(filter);
	kl_trace_close(trace);
	return n;
}

static void test_search(struct kl_timeline_index *index, const char *path)
{
	static const struct {
		const char *search;
		const char *list;
	} same[] = {
		{ "strings", "strings" },
		{ "odd < 0", "numbers/odd < 0/" },
		{ "n > 9000 && n % 7 == 1",
		  "numbers/n > 9000 && n % 7 == 1/,strings/n > 9000 && n % 7 == 1/" },
		{ "numbers/tid == 101/", "numbers/tid == 101/" },
		{ "comm == \"second\" or cpu == 2", "*/comm == \"second\" or cpu == 2/" },
	};

	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		const uint64_t n = count_filtered(path, same[i].list);

		unit_check(n && count_all(index, same[i].search) == n, same[i].search);
	}
	unit_check(count_back(index, "strings/first == \"/path/505\"/") ==
			   count_filtered(path, "strings/first == \"/path/505\"/"),
		   "going back finds all of them");
}

static struct kl_timeline_index *make_index(struct kl_trace *trace,
					    const struct kl_timeline_options *options)
{
	struct kl_timeline_index *index = kl_timeline_index_create(trace, options);

	if (!index || kl_timeline_index_step(index, 1) < 0)
		abort();
	return index;
}

static void test_index(const char *path)
{
	struct contents all = read_all(path);
	struct kl_trace *trace = kl_trace_open(path);
	struct kl_timeline_index *index = make_index(trace, &everything);

	unit_check(leave_events(&all, path) == all.n_events && all.n_events > 3 * 65536,
		   "there are several checkpoints");
	kl_timeline_index_step(index, all.n_events / 2);
	test_numbers(index, &all, "while it is read");
	while (kl_timeline_index_step(index, 10000) > 0)
		kl_timeline_index_number(index, 1000);
	unit_check(kl_timeline_index_progress(index).records == all.n_events &&
			   kl_timeline_index_progress(index).complete,
		   "all records are read");
	test_numbers(index, &all, "afterwards");
	test_search(index, path);
	kl_timeline_index_destroy(index);
	kl_trace_close(trace);
	contents_deinit(&all);
}

/* Times are since the begin of the trace, as kernlens print counts them. */
static void test_range(const char *path)
{
	struct contents all = read_all(path);
	const uint64_t end = all.since_ns[all.n_events - 1];
	const struct kl_timeline_options part = { .bytes = 1 << 20,
						  .from_ns = end / 3,
						  .to_ns = end / 2 };
	struct kl_trace *trace = kl_trace_open(path);
	struct kl_timeline_index *index = make_index(trace, &part);
	uint64_t n = 0;

	for (size_t i = 0; i < all.n_events; i++)
		n += all.since_ns[i] >= part.from_ns && all.since_ns[i] <= part.to_ns;
	while (kl_timeline_index_step(index, 10000) > 0)
		;
	unit_check(n > 1000 && kl_timeline_index_progress(index).records == n,
		   "a part has the records of that time");
	kl_timeline_index_destroy(index);
	kl_trace_close(trace);
	contents_deinit(&all);
}

/* It must not look as if there were no more records. */
static void test_truncated(const char *path)
{
	struct kl_trace *trace = kl_trace_open(path);
	struct kl_timeline_index *index = make_index(trace, &everything);
	int ret;

	kl_timeline_index_step(index, 100000);
	for (unsigned int i = 0; i < PACK_CPUS; i++)
		if (truncate(pack_path(path, i == 0 ? "cpu0" : i == 1 ? "cpu1" : "cpu2"), 10000))
			abort();
	unit_check(kl_timeline_index_number(index, 1000) == -EIO, "a request fails");
	while ((ret = kl_timeline_index_step(index, 10000)) > 0)
		;
	unit_check(ret == -EIO && !kl_timeline_index_progress(index).complete,
		   "and the index is not complete");
	kl_timeline_index_destroy(index);
	kl_trace_close(trace);
}

int main(void)
{
	static const struct {
		const char *what;
		uint32_t block_bytes;
		unsigned int blocks;
		int level;
	} kinds[] = {
		{ "blocks of 4 KiB", SYNTH_BLOCK_BYTES, 100, 0 },
		{ "of 20 KiB", 5 * SYNTH_BLOCK_BYTES, PACK_BLOCKS, 0 },
		{ "of 64 KiB", 16 * SYNTH_BLOCK_BYTES, PACK_BLOCKS, 0 },
		{ "compressed, of 4 KiB", SYNTH_BLOCK_BYTES, 400, 1 },
		{ "compressed, of 64 KiB", 16 * SYNTH_BLOCK_BYTES, PACK_BLOCKS, 1 },
	};
	char *directory;

	pack_init();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		directory = synth_directory();
		pack_write(directory, kinds[i].blocks, kinds[i].block_bytes, kinds[i].level);
		test_places(directory, kinds[i].what);
		synth_remove(directory);
	}
	test_changed(true);
	test_changed(false);
	directory = synth_directory();
	pack_write(directory, LONG_BLOCKS, 2 * SYNTH_BLOCK_BYTES, 0);
	test_index(directory);
	test_range(directory);
	test_truncated(directory);
	synth_remove(directory);
	pack_deinit();
	return unit_end();
}
