// SPDX-License-Identifier: GPL-2.0
/*
 * A trace directory: metadata, two streams, stack traces, addresses; printed in each style, in the
 * reports, as a timeline and parts of it, in all formats of export, and converted to BER and back.
 * Parts: 0 metadata (without one the tables' is used), 1 and 2 the streams, 3 stack traces, 4
 * addresses.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/addresses.h>
#include <kernlens/export.h>
#include <kernlens/growth.h>
#include <kernlens/locks.h>
#include <kernlens/metadata.h>
#include <kernlens/profile.h>
#include <kernlens/stack.h>
#include <kernlens/timeline.h>
#include <kernlens/timeline_index.h>
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

/* Text of names must not end an element of the page. */
static int take_page(void *context, const void *bytes, size_t length)
{
	size_t *total = context;

	*total += length;
	for (size_t i = 0; i + 1 < length; i++)
		if (((const char *)bytes)[i] == '<')
			fuzz_assert(strchr("s/", ((const char *)bytes)[i + 1]));
	return 0;
}

/* With little room, so that spans are merged and records are left out, or with enough. */
static void check_timeline(struct kl_trace *trace, size_t bytes)
{
	struct kl_timeline *timeline = kl_timeline_create(trace, bytes);
	struct kl_item item;
	size_t total = 0;

	fuzz_assert(timeline);
	fuzz_assert(!kl_timeline_explain(timeline));
	kl_trace_rewind(trace);
	while (kl_trace_next(trace, &item) > 0)
		fuzz_assert(!kl_timeline_add(timeline, &item));
	fuzz_assert(!kl_timeline_finish(timeline));
	fuzz_assert(!kl_timeline_write(timeline, "a </script> title", "m0-", take_page, &total) &&
		    total);
	kl_timeline_destroy(timeline);
}

/* A sum over what is read from here on; @n: how many items at most. */
static uint64_t read_on(struct kl_trace *trace, unsigned int n)
{
	struct kl_item item;
	uint64_t sum = 0;

	while (n-- && kl_trace_next(trace, &item) > 0)
		sum = 31 * sum + (item.kind == KL_ITEM_EVENT ?
					  item.event->ns ^ item.event->id ^ item.event->task.tid :
					  item.loss->records ^ item.loss->kind);
	return sum;
}

/* From a place on, a trace has the same items again. */
static void check_places(struct kl_trace *trace)
{
	struct kl_trace_place *place;
	uint64_t first;

	kl_trace_rewind(trace);
	for (unsigned int i = 0; i < 4; i++) {
		read_on(trace, 3);
		place = kl_trace_place_take(trace);
		fuzz_assert(place);
		first = read_on(trace, 100);
		fuzz_assert(!kl_trace_place_go(trace, place));
		fuzz_assert(read_on(trace, 100) == first);
		fuzz_assert(!kl_trace_place_go(trace, place));
		kl_trace_place_free(place);
	}
}

static int take_bytes(void *context, const void *bytes, size_t length)
{
	size_t *total = context;

	(void)bytes;
	*total += length;
	return 0;
}

/* What a page requests, while the trace is read and afterwards. */
static void check_answers(struct kl_timeline_index *index)
{
	static const char *const searches[] = { "prev_state == 2 && next_prio < 100",
						"sched_switch", "a", "comm ~ \"b*\"" };
	const struct kl_timeline_progress state = kl_timeline_index_progress(index);
	const uint64_t from = state.done_ns / 3, to = state.done_ns + 1;
	struct kl_buffer answer = { 0 };
	struct kl_timeline *part;
	size_t total = 0;
	bool exact;

	fuzz_assert(!kl_timeline_index_about(index, "</script>", &answer));
	fuzz_assert(!kl_timeline_index_records(index, state.records / 2, 5, &answer));
	fuzz_assert(kl_timeline_index_number(index, from) >= 0);
	for (unsigned int i = 0; i < sizeof(searches) / sizeof(*searches); i++) {
		kl_timeline_index_search(index, searches[i], 0, 3, 5, &answer);
		kl_timeline_index_search_back(index, searches[i], state.records, &answer);
		kl_timeline_index_count(index, searches[i], 0, 5, 10, &answer);
	}
	kl_timeline_index_why(index, 1, from, to, &answer);
	part = kl_timeline_index_overview(index);
	fuzz_assert(part && !kl_timeline_write_bytes(part, take_bytes, &total) && total);
	part = kl_timeline_index_window(index, from, to, 10000, 1000, &exact);
	fuzz_assert(part || errno == E2BIG);
	fuzz_assert(!part || !kl_timeline_write_bytes(part, take_bytes, &total));
	kl_timeline_destroy(part);
	part = kl_timeline_index_window(index, to + 1, to + 1000, 10000, 1000, &exact);
	fuzz_assert(part || errno == E2BIG);
	kl_timeline_destroy(part);
	kl_buffer_deinit(&answer);
}

static void check_index(struct kl_trace *trace)
{
	const struct kl_timeline_options options = { .bytes = 1000, .to_ns = UINT64_MAX };
	struct kl_timeline_index *index;
	int more;

	kl_trace_rewind(trace);
	index = kl_timeline_index_create(trace, &options);
	fuzz_assert(index);
	fuzz_assert(kl_timeline_index_step(index, 2) >= 0);
	check_answers(index);
	while ((more = kl_timeline_index_step(index, 1000)) > 0)
		;
	fuzz_assert(!more);
	check_answers(index);
	kl_timeline_index_destroy(index);
}

static void check_exports(struct kl_trace *trace)
{
	const struct kl_export_options options = { .title = "title", .to_ns = UINT64_MAX };
	const struct kl_export_format *format;
	struct kl_export_counts counts;
	char path[128];
	FILE *file;
	int error;

	for (unsigned int i = 0; (format = kl_export_format(i)); i++) {
		snprintf(path, sizeof(path), "%s/export", folder);
		file = fopen(path, "w");
		fuzz_assert(file);
		error = kl_export(trace, format, &options, file, path, &counts);
		/* No stack traces, or too many CPUs for a format. */
		fuzz_assert(!error || error == -ENOENT || error == -E2BIG);
		fclose(file);
		unlink(path);
	}
}

/* What came is kept or has been given back, whatever the records say. */
static void check_growth(struct kl_trace *trace)
{
	struct kl_growth *growth = kl_growth_create(kl_trace_schema(trace));
	const struct kl_growth_totals *totals;
	struct kl_item item;

	fuzz_assert(growth);
	kl_trace_rewind(trace);
	while (kl_trace_next(trace, &item) > 0)
		fuzz_assert(!kl_growth_add(growth, &item));
	fuzz_assert(!kl_growth_finish(growth));
	totals = kl_growth_totals(growth);
	fuzz_assert(totals->touched == totals->kept + totals->freed);
	for (unsigned int key = 0; key < KL_GROWTH_KEYS; key++)
		for (unsigned int calls = 0; calls < 2; calls++) {
			uint64_t touched = 0, kept = 0;
			size_t n;
			struct kl_growth_row *row = kl_growth_rows(growth, key, calls, &n);

			for (size_t i = 0; i < n; i++) {
				touched += row[i].touched;
				kept += row[i].kept;
			}
			fuzz_assert(calls || (touched == totals->touched && kept == totals->kept));
			free(row);
		}
	kl_growth_destroy(growth);
}

static void check_reports(struct kl_trace *trace)
{
	struct kl_locks *locks = kl_locks_create(kl_trace_schema(trace), true);
	struct kl_profile *profile = kl_profile_create(kl_trace_schema(trace), NULL);
	struct kl_item item;
	size_t n;

	if (profile && kl_profile_include_waits(profile, true)) {
		kl_profile_destroy(profile);
		profile = NULL;
	}
	kl_trace_rewind(trace);
	while (kl_trace_next(trace, &item) > 0) {
		if (locks && item.kind == KL_ITEM_EVENT)
			fuzz_assert(!kl_locks_add(locks, item.event));
		if (profile && item.kind == KL_ITEM_EVENT)
			fuzz_assert(!kl_profile_add(profile, item.event));
	}
	if (locks)
		free(kl_locks_rows(locks, KL_LOCKS_BY_TYPE, KL_LOCKS_KEYS, 0, &n));
	if (profile)
		fuzz_assert(!kl_profile_finish(profile));
	kl_locks_destroy(locks);
	kl_profile_destroy(profile);
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
	check_timeline(trace, 1 << 20);
	check_timeline(trace, 256);
	check_places(trace);
	check_index(trace);
	check_exports(trace);
	check_reports(trace);
	check_growth(trace);
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
