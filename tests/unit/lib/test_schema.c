// SPDX-License-Identifier: GPL-2.0
/* Tables, metadata written and parsed again, damaged metadata, patterns, clock, errors. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/schema_define.h>
#include "synth.h"
#include "unit.h"

#define MUTATIONS 3000

static struct kl_schema *schema;

static bool same_class(const struct kl_class *a, const struct kl_class *b)
{
	if (a->id != b->id || a->kind != b->kind || a->set != b->set || a->access != b->access ||
	    a->syscall != b->syscall || strcmp(a->name, b->name) || strcmp(a->group, b->group) ||
	    strcmp(a->help, b->help) || a->n_fields != b->n_fields ||
	    a->n_strings != b->n_strings || a->tail_bytes != b->tail_bytes)
		return false;
	for (unsigned int i = 0; i < a->n_fields; i++) {
		const struct kl_field *f = &a->fields[i], *g = &b->fields[i];

		if (strcmp(f->name, g->name) || f->type != g->type || f->format != g->format ||
		    f->bytes != g->bytes || f->count != g->count || f->anchor != g->anchor ||
		    f->offset != g->offset)
			return false;
	}
	return true;
}

static void test_tables(void)
{
	const struct kl_class *class = kl_schema_find(schema, "sched_switch");
	const struct kl_class *open = kl_schema_find(schema, "syscall_entry_openat");

	unit_check(class && class->id == 1 && class->n_fields == 7 && class->tail_bytes == 56,
		   "sched_switch has 7 fields in 56 bytes");
	unit_check(class && class->fields[3].format == KL_FORMAT_task_state &&
			   class->fields[3].type == KL_TYPE_S64 && class->fields[3].offset == 24,
		   "prev_state is an s64 with the format task_state");
	unit_check(open && open->id == KL_EV_SYSCALL_ENTRY + 257 && open->n_strings == 1 &&
			   open->fields[1].type == KL_TYPE_STRING && open->fields[2].anchor == 1 &&
			   open->fields[2].offset == 0 && open->tail_bytes == 8,
		   "openat's flags follow its string");
	unit_check(kl_class_field(class, "next_tid") == 5 &&
			   kl_class_field(class, "tid") == -ENOENT,
		   "fields are found by whole names");
	unit_check(!strcmp(kl_handler_name(KL_HANDLER_count), "count") &&
			   kl_handler_find("log") == KL_HANDLER_log && !kl_handler_name(200),
		   "handlers have names");
	unit_check(!strcmp(kl_variable_get(0)->name, "task") && !kl_variable_get(200),
		   "variables have names");
	unit_check(kl_format_find("errno", 5) == KL_FORMAT_errno &&
			   kl_format_find("later", 5) == KL_FORMAT_dec,
		   "an unknown format word is read as dec");
}

static void make_info(struct kl_trace_info *info)
{
	kl_trace_info_init(info);
	for (int i = 0; i < 16; i++)
		info->uuid[i] = 0xf0 - 3 * i;
	strcpy(info->trace_name, "a \"quoted\" \\ name");
	kl_timebase_init(&info->timebase, KL_CLOCK_TSC, 2999999123, 1700000000, 1234567);
	info->clock.known = true;
	info->clock.synchronized = true;
	info->clock.offset_ns = -123456789;
	info->clock.max_error_ns = 16000000000;
	info->clock.estimated_error_ns = 25000;
}

static void test_metadata(void)
{
	struct kl_trace_info info, again;
	const struct kl_class *class = NULL;
	struct kl_buffer text = { 0 };
	struct kl_schema *parsed;
	unsigned int same = 0, all = 0;

	make_info(&info);
	kl_metadata_write(&text, schema, &info);
	parsed = kl_metadata_parse(text.data, text.length, &again);
	unit_result(parsed, "metadata is read again", kl_error_text());
	while (parsed && (class = kl_schema_next(schema, class))) {
		const struct kl_class *other = kl_schema_class(parsed, class->id);

		all++;
		same += other && same_class(class, other);
	}
	unit_check(all > 100 && same == all, "every event comes back as it was");
	unit_check(!memcmp(&info, &again, sizeof(info)), "uuid, names and clocks come back");
	kl_schema_destroy(parsed);
	unit_check(!kl_metadata_parse(text.data, text.length - 3, &again) && errno == EINVAL &&
			   strstr(kl_error_text(), "line"),
		   "cut metadata is refused with its line");
	memcpy(strstr(text.data, "kernlens_format = 1"), "kernlens_format = 9", 19);
	unit_check(!kl_metadata_parse(text.data, text.length, &again) &&
			   strstr(kl_error_text(), "newer"),
		   "a newer format is refused");
	kl_buffer_deinit(&text);
}

/* Change, cut, duplicate and move parts; the sanitizers watch. */
static void test_damage(void)
{
	struct kl_trace_info info, again;
	struct kl_buffer text = { 0 };
	unsigned int refused = 0;
	char *copy;

	make_info(&info);
	kl_metadata_write(&text, schema, &info);
	/* The start has every construct; more would only be slower. */
	text.length = text.length > 12000 ? 12000 : text.length;
	copy = malloc(text.length);
	srand(1);
	for (int i = 0; i < MUTATIONS; i++) {
		size_t length = text.length;
		struct kl_schema *parsed;

		memcpy(copy, text.data, length);
		for (int k = rand() % 8; k >= 0; k--)
			copy[rand() % length] = i & 1 ? rand() :
							"{}[];:=\"/*<>,09\\\n"[rand() % 17];
		if (i % 3 == 0)
			length = rand() % length;
		if (i % 5 == 0)
			memmove(copy + rand() % (length / 2 + 1), copy, length / 2);
		parsed = kl_metadata_parse(copy, length, &again);
		refused += !parsed;
		kl_schema_destroy(parsed);
	}
	unit_check(refused > MUTATIONS / 2, "damaged metadata is refused, and never crashes");
	free(copy);
	kl_buffer_deinit(&text);
}

static unsigned int count(const uint8_t *map, const char *start, unsigned int handler)
{
	unsigned int n = 0;

	for (unsigned int id = 0; id < KL_EV_MAX; id++) {
		const struct kl_class *class = kl_schema_class(schema, id);

		n += class && map[id] == handler && !strncmp(class->name, start, strlen(start));
	}
	return n;
}

static int match(const char *patterns, uint8_t *map)
{
	memset(map, 0, KL_EV_IDS);
	return kl_events_match(schema, patterns, KL_HANDLER_log, map);
}

static void test_match(void)
{
	uint8_t map[KL_EV_IDS], before[KL_EV_IDS];
	int n;

	unit_check(match("sched_switch", map) == 1 && map[1] == KL_HANDLER_log, "one name");
	n = match("sched_*,!sched_switch", map);
	unit_check(n > 3 && !map[1] && count(map, "sched_", KL_HANDLER_log) == (unsigned int)n,
		   "a glob without one");
	n = match("irq:irq_handler_*", map);
	unit_check(n == 2, "a glob in a group");
	match("sched", map);
	unit_check(map[KL_EV_sched_switch] && !map[KL_EV_rcu_utilization],
		   "a group without what is too frequent");
	match("rcu_*", map);
	unit_check(map[KL_EV_rcu_utilization], "which a glob has");
	n = match("syscalls", map);
	unit_check(count(map, "syscall_entry_", 1) == count(map, "syscall_exit_", 1) &&
			   count(map, "syscall_", 1) + count(map, "compat_syscall_", 1) ==
				   (unsigned int)n &&
			   n > 600,
		   "all system calls");
	n = match("syscall_entry_open*,sched:sched_wak*:count,sched_switch:nothing", map);
	unit_check(count(map, "syscall_entry_open", KL_HANDLER_log) >= 3 &&
			   count(map, "sched_wak", KL_HANDLER_count) >= 3 && !map[1],
		   "handlers after colons");
	memcpy(before, map, sizeof(map));
	unit_check(kl_events_match(schema, "sched_switch,shced_waking", 1, map) == -EINVAL &&
			   strstr(kl_error_text(), "sched_waking"),
		   "a wrong name is reported with the nearest one");
	unit_check(!memcmp(before, map, sizeof(map)), "and changes nothing");
	unit_check(match("nogroup:x", map) == -EINVAL && match("", map) == -EINVAL &&
			   match("a,,b", map) == -EINVAL,
		   "no group, no pattern, an empty pattern");
}

static void test_timebase(void)
{
	struct kl_abi_time first = { .clock = KL_CLOCK_TSC,
				     .cycles = 5000000000000ull,
				     .monotonic_ns = 2000000000000ull,
				     .realtime_ns = 1700000000123456789ull,
				     .clock_hz = 2500000000ull };
	struct kl_abi_time last = first;
	struct kl_timebase base;

	unit_check(!kl_timebase_fit(&base, &first, NULL) && base.hz == 2500000000ull,
		   "one sample: the nominal frequency");
	last.monotonic_ns += 10000000000ull;
	last.realtime_ns += 10000000000ull;
	last.cycles += 24999990000ull;
	unit_check(!kl_timebase_fit(&base, &first, &last) && base.hz == 2499999000ull,
		   "two samples: the fitted frequency");
	unit_check(kl_timebase_ns(&base, first.cycles) - first.realtime_ns + 1 <= 2,
		   "the first sample maps to its wall time");
	unit_check(kl_timebase_ns(&base, last.cycles) - last.realtime_ns + 2 <= 4,
		   "and so does the last");
	last.cycles = first.cycles - 1;
	unit_check(kl_timebase_fit(&base, &first, &last) == -EINVAL, "a clock that ran backward");
	kl_timebase_init(&base, KL_CLOCK_MONOTONIC, 1000000000, 100, 5);
	unit_check(kl_timebase_ns(&base, 7) == 100000000012ull, "nanoseconds are exact");
}

int main(void)
{
	schema = kl_schema_create();
	if (!unit_result(schema, "the tables make a schema", kl_error_text()))
		return unit_end();
	test_tables();
	test_metadata();
	test_damage();
	test_match();
	test_timebase();
	unit_check(!kl_device_open("/nonexistent/kernlens") && errno == ENOENT &&
			   strstr(kl_error_text(), "module is not loaded"),
		   "no device: the text says what to do");
	unit_check(!kl_device_open("/dev/null") && strstr(kl_error_text(), "query the device"),
		   "another device is refused");
	kl_schema_destroy(schema);
	return unit_end();
}
