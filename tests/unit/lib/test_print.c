// SPDX-License-Identifier: GPL-2.0
/* The output styles, symbolic names of flags, quoting, and the reports, on a small trace. */
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/analysis.h>
#include <kernlens/csv.h>
#include <kernlens/cursor.h>
#include <kernlens/schema_define.h>
#include "synth.h"
#include "unit.h"

#define US 1000ull /* the clock counts nanoseconds here */
#define BEGIN 1000000ull

static struct kl_schema *schema;
static struct kl_timebase timebase;
static struct synth *s;
static struct kl_buffer out;

static const char *meaning(enum kl_format format, uint64_t number)
{
	kl_buffer_reset(&out);
	if (!kl_print_meaning(&out, format, number))
		return "-";
	return out.data;
}

static void check_meaning(enum kl_format format, uint64_t number, const char *expected)
{
	char name[128];

	snprintf(name, sizeof(name), "%s %#llx is %s", kl_format_name(format),
		 (unsigned long long)number, expected);
	unit_result(!strcmp(meaning(format, number), expected), name, out.data);
}

static void test_words(void)
{
	check_meaning(KL_FORMAT_open_flags, O_RDONLY | O_CLOEXEC, "O_RDONLY|O_CLOEXEC");
	check_meaning(KL_FORMAT_open_flags, O_WRONLY | O_CREAT | O_TRUNC,
		      "O_WRONLY|O_CREAT|O_TRUNC");
	check_meaning(KL_FORMAT_open_flags, O_RDWR | O_TMPFILE, "O_RDWR|O_TMPFILE");
	check_meaning(KL_FORMAT_prot, 0, "PROT_NONE");
	check_meaning(KL_FORMAT_prot, 5, "PROT_READ|PROT_EXEC");
	check_meaning(KL_FORMAT_map_flags, 0x22, "MAP_PRIVATE|MAP_ANONYMOUS");
	check_meaning(KL_FORMAT_signal, 9, "SIGKILL");
	check_meaning(KL_FORMAT_errno, -2ll, "-ENOENT");
	check_meaning(KL_FORMAT_errno, 11, "EAGAIN");
	check_meaning(KL_FORMAT_futex_op, 128, "FUTEX_WAIT|FUTEX_PRIVATE_FLAG");
	check_meaning(KL_FORMAT_whence, 2, "SEEK_END");
	check_meaning(KL_FORMAT_clone_flags, 0x01200011,
		      "SIGCHLD|CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID");
	check_meaning(KL_FORMAT_family, 10, "AF_INET6");
	check_meaning(KL_FORMAT_socktype, 02000001, "SOCK_STREAM|SOCK_CLOEXEC");
	check_meaning(KL_FORMAT_task_state, 0, "R");
	check_meaning(KL_FORMAT_task_state, 2, "D");
	check_meaning(KL_FORMAT_task_state, 0x100, "R+");
	check_meaning(KL_FORMAT_softirq, 9, "RCU");
	check_meaning(KL_FORMAT_dev, 8 << 20 | 1, "8:1");
	check_meaning(KL_FORMAT_ipv4, 0x0100007f, "127.0.0.1");
	check_meaning(KL_FORMAT_fd, -100ll, "AT_FDCWD");
	check_meaning(KL_FORMAT_fd, 0xffffff9c, "AT_FDCWD");
	check_meaning(KL_FORMAT_fd, 3, "-");
	check_meaning(KL_FORMAT_mode, 0100644, "S_IFREG|0644");
	check_meaning(KL_FORMAT_rwbs, 1 | 1 << 5 | 1 << 9, "WFS");
	check_meaning(KL_FORMAT_ioctl_cmd, 0xc0089314, "_IOWR(0x93, 0x14, 8)");
	check_meaning(KL_FORMAT_at_flags, 0x1100, "AT_SYMLINK_NOFOLLOW|AT_EMPTY_PATH");
	check_meaning(KL_FORMAT_dec, 3, "-");
	check_meaning(KL_FORMAT_open_flags, 0x40000000, "O_RDONLY|0x40000000");
}

/* Passes the events of the block to @take. */
static void feed(void (*take)(void *to, const struct kl_item *item), void *to)
{
	struct kl_cursor cursor;
	struct kl_item item = { .kind = KL_ITEM_EVENT };

	kl_cursor_init(&cursor, schema, &timebase, kl_timebase_ns(&timebase, BEGIN));
	kl_cursor_enter(&cursor, synth_block(s), 0, s->at);
	item.event = &cursor.event;
	while (kl_cursor_next(&cursor) > 0)
		take(to, &item);
}

static void add(const char *event, uint64_t us, const struct synth_arg *args)
{
	if (!synth_add(s, event, BEGIN + us * US, args))
		abort();
}

static void print_item(void *to, const struct kl_item *item)
{
	kl_print_item(&out, *(enum kl_style *)to, KL_SHOW_RELATIVE, item);
}

static void print_row(void *to, const struct kl_item *item)
{
	unit_check(kl_csv_print(to, &out, KL_SHOW_RELATIVE, item), "each field has a column");
}

static const char *print_all(enum kl_style style)
{
	kl_buffer_reset(&out);
	feed(print_item, &style);
	return out.data;
}

static const char *print_csv(const uint8_t *events)
{
	struct kl_csv *csv = kl_csv_create(schema, events);

	kl_buffer_reset(&out);
	kl_csv_print_header(csv, &out);
	feed(print_row, csv);
	kl_csv_destroy(csv);
	return out.data;
}

static void expect(const char *got, const char *expected, const char *name)
{
	if (!unit_check(!strcmp(got, expected), name))
		printf("# got:\n%s\n# expected:\n%s\n", got, expected);
}

static bool is_made(const char *from, const char *to)
{
	char text[128];

	snprintf(text, sizeof(text), "%s", from);
	kl_make_plain_message(text);
	return !strcmp(text, to);
}

static void test_messages(void)
{
	unit_check(is_made("a: wrong\n  a b\n  \t^", "a: wrong\n  a b\n  \t^"),
		   "excerpts keep their lines");
	unit_check(is_made("a\n<0>b\n c\n\n  d\n", "a?<0>b? c?\n  d?"),
		   "what a name holds begins no line");
	unit_check(is_made("\033[31m\302\233\377\177 \303\266", "?[31m???? \303\266"),
		   "control characters and what is no UTF-8 are replaced");
}

static void test_styles(void)
{
	static uint8_t seen[KL_EV_IDS];
	json_error_t error;
	json_t *object;

	synth_task(s, 12, 10, "my \"task\"");
	synth_begin(s, BEGIN);
	add("sched_switch", 1500000,
	    ARGS(BYTES("bash"), NUMBER(12), NUMBER(20), NUMBER(1), BYTES("\xffnew"), NUMBER(13),
		 NUMBER(-1)));
	add("syscall_entry_openat", 1500001,
	    ARGS(NUMBER(-100), BYTES("/a \"b\"\n\xc3\xa4\xff"), NUMBER(O_RDONLY | O_CLOEXEC),
		 NUMBER(0)));
	expect(print_all(KL_STYLE_TEXT),
	       "[1.500000000] 000 my \"task\"-12 sched_switch: prev_comm=bash prev_tid=12 "
	       "prev_prio=20 prev_state=S next_comm=?new next_tid=13 next_prio=-1\n"
	       "[1.500001000] 000 my \"task\"-12 syscall_entry_openat: dfd=AT_FDCWD "
	       "filename=\"/a \\\"b\\\"\\n\xc3\xa4\\377\" flags=O_RDONLY|O_CLOEXEC mode=0\n",
	       "text");
	seen[kl_schema_find(schema, "sched_switch")->id] = 1;
	seen[kl_schema_find(schema, "syscall_entry_openat")->id] = 1;
	expect(print_csv(seen),
	       "time_ns,event,cpu,pid,tid,comm,loss,lost,prev_comm,prev_tid,prev_prio,prev_state,"
	       "next_comm,next_tid,next_prio,dfd,filename,flags,mode\n"
	       "1500000000,sched_switch,0,10,12,\"my \"\"task\"\"\",,,bash,12,20,1,?new,13,-1,,,,\n"
	       "1500001000,syscall_entry_openat,0,10,12,\"my \"\"task\"\"\",,,,,,,,,,-100,"
	       "\"/a \"\"b\"\"?\xc3\xa4?\",524288,0\n",
	       "CSV");
	print_all(KL_STYLE_JSON);
	*strchr(out.data, '\n') = 0;
	object = json_loads(out.data, 0, &error);
	unit_check(object &&
			   json_integer_value(json_object_get(json_object_get(object, "fields"),
							      "next_prio")) == -1 &&
			   !strcmp(json_string_value(json_object_get(
					   json_object_get(object, "meanings"), "prev_state")),
				   "S") &&
			   json_integer_value(json_object_get(object, "since_ns")) == 1500000000,
		   "JSON has numbers, meanings and times");
	unit_check(object && !strcmp(json_string_value(json_object_get(
					     json_object_get(object, "fields"), "next_comm")),
				     "\xef\xbf\xbdnew"),
		   "bytes that are not UTF-8 become U+FFFD");
	json_decref(object);
	object = json_loads(out.data + strlen(out.data) + 1, 0, &error);
	unit_check(object && !strcmp(json_string_value(json_object_get(
					     json_object_get(object, "fields"), "filename")),
				     "/a \"b\"\n\xc3\xa4\xef\xbf\xbd"),
		   "JSON strings are escaped");
	json_decref(object);
}

/* Any bytes make a valid JSON string. */
static void test_json_bytes(void)
{
	unsigned int valid = 0, runs = 2000;
	json_error_t error;
	uint8_t bytes[24];

	srand(3);
	for (unsigned int i = 0; i < runs; i++) {
		json_t *string;

		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = i & 1 ? rand() : 0x80 | rand();
		kl_buffer_reset(&out);
		kl_print_json_string(&out, bytes, sizeof(bytes));
		string = json_loads(out.data, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
		valid += !!string;
		json_decref(string);
	}
	unit_check(valid == runs, "any bytes make valid JSON");
}

static void take_syscall(void *to, const struct kl_item *item)
{
	kl_syscall_report_add(to, item);
}

static void take_sleep(void *to, const struct kl_item *item)
{
	kl_sleep_report_add(to, item);
}

static void take_count(void *to, const struct kl_item *item)
{
	kl_count_report_add(to, item);
}

static void make_calls(void)
{
	synth_begin(s, BEGIN);
	synth_task(s, 11, 10, "one");
	synth_calls(s, BEGIN);
}

static const struct kl_syscall_row *find_call(const struct kl_syscall_row *rows, size_t n, int pid,
					      const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].pid == pid && !strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

static void test_losses(void)
{
	static const uint8_t no_events[KL_EV_IDS];
	const uint64_t origin = 1700000000ull * 1000000000;
	struct kl_loss loss = {
		.kind = KL_LOSS_CORRUPT,
		.cpu = 3,
		.records = 12,
		.blocks = 2,
		.first_block = 7,
		.origin_ns = origin,
		.begin_ns = origin + 1500000000,
		.end_ns = origin + 2000000001,
	};
	const struct kl_item item = { .kind = KL_ITEM_LOSS, .loss = &loss };
	struct kl_csv *csv = kl_csv_create(schema, no_events);
	struct kl_buffer text = { 0 };

	kl_print_loss(&text, KL_STYLE_TEXT, KL_SHOW_RELATIVE, &loss);
	unit_check(!strcmp(text.data,
			   "CPU 3: 12 events are in damaged or missing blocks (2 blocks, "
			   "starting at 7), between 1.500000000 and 2.000000001\n"),
		   "a loss has times since the start, as the events around it");
	kl_buffer_reset(&text);
	kl_print_loss(&text, KL_STYLE_TEXT, 0, &loss);
	unit_check(strstr(text.data, "between 1700000001.500000000 and 1700000002.000000001\n"),
		   "or wall time, if they have");
	kl_buffer_reset(&text);
	kl_csv_print(csv, &text, KL_SHOW_RELATIVE, &item);
	unit_check(!strcmp(text.data, "2000000001,kernlens_loss,3,,,,corrupt,12\n"),
		   "in CSV, too, with its own columns");
	kl_csv_destroy(csv);
	kl_buffer_reset(&text);
	loss = (struct kl_loss){ .kind = KL_LOSS_UNSTORED,
				 .begin_ns = origin - 1,
				 .origin_ns = origin };
	kl_print_loss(&text, KL_STYLE_TEXT, KL_SHOW_RELATIVE, &loss);
	unit_check(!strcmp(text.data, "CPU 0: an unknown number of events were not stored, after "
				      "-0.000000001\n"),
		   "what is not known is said");
	kl_buffer_deinit(&text);
}

static size_t cells_of(const char *line)
{
	size_t cells = 1;

	for (bool quoted = false; *line && *line != '\n'; line++) {
		quoted ^= *line == '"';
		cells += *line == ',' && !quoted;
	}
	return cells;
}

/* All events in one table, with variables whose names fields have, too. */
static void test_columns(void)
{
	struct kl_schema *all = kl_schema_create();
	struct kl_csv *csv;
	struct kl_buffer text = { 0 };
	json_t *names = json_object();
	char *rest, *name;
	size_t n = 0;

	kl_schema_add_variable(all, kl_variable_find("comm"));
	kl_schema_add_variable(all, kl_variable_find("prev_tid"));
	kl_schema_add_variable(all, kl_variable_find("rss"));
	csv = kl_csv_create(all, NULL);
	kl_csv_print_header(csv, &text);
	rest = strtok(text.data, "\n");
	while ((name = strsep(&rest, ","))) {
		for (char *at = name; *at; at++)
			*at = *at >= 'A' && *at <= 'Z' ? (char)(*at + 32) : *at;
		json_object_set_new(names, name, json_true());
		n++;
	}
	unit_check(json_object_size(names) == n, "no two columns have one name");
	unit_check(n > 200 && n < 2000, "fewer columns than SQLite's limit");
	unit_check(json_object_get(names, "field_comm") &&
			   json_object_get(names, "variable_comm") &&
			   json_object_get(names, "prev_tid") &&
			   json_object_get(names, "variable_prev_tid") &&
			   json_object_get(names, "variable_rss"),
		   "variables, and fields whose names are taken, have a prefix");
	json_decref(names);
	kl_csv_destroy(csv);
	kl_buffer_deinit(&text);
	kl_schema_destroy(all);
}

/* What any user can choose must not break a table, nor be run by a spreadsheet. */
static void test_hostile_texts(void)
{
	static const char *const names[] = { "=1+1", "+1", "-1", "@a", ",,,", "\"", "=\",", "a\nb" };
	uint8_t none[KL_EV_IDS] = { 0 };
	const char *row = "";
	size_t cells = 0;

	none[kl_schema_find(schema, "sched_process_exec")->id] = 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		synth_task(s, 5, 5, names[i]);
		synth_begin(s, BEGIN);
		add("sched_process_exec", 1500000, ARGS(NUMBER(5), NUMBER(5), BYTES(names[i])));
		row = print_csv(none);
		cells = cells_of(row);
		row = strchr(row, '\n') + 1;
		unit_check(cells_of(row) == cells && strchr(row, '\n') == row + strlen(row) - 1,
			   "a row has as many cells as the header");
		unit_check(!strpbrk(names[i], "=+-@") ||
				   (!strstr(row, ",=") && !strstr(row, ",\"=") &&
				    !strstr(row, ",+") && !strstr(row, ",-") && !strstr(row, ",@")),
			   "no text is a formula");
	}
}

static void test_syscall_report(void)
{
	struct kl_syscall_report *report = kl_syscall_report_create();
	const struct kl_loss loss = { .kind = KL_LOSS_DISCARDED };
	const struct kl_item lost = { .kind = KL_ITEM_LOSS, .loss = &loss };
	const struct kl_syscall_row *rows, *row;
	size_t n;

	make_calls();
	feed(take_syscall, report);
	rows = kl_syscall_report_rows(report, &n);
	row = find_call(rows, n, 10, "read");
	unit_check(n == 5 && row == rows && row->calls == 2 && row->total_ns == 21 * US &&
			   row->max_ns == 20 * US && !row->errors && !strcmp(row->comm, "one"),
		   "read: two calls, the longest total first");
	row = find_call(rows, n, 20, "openat");
	unit_check(row && row->calls == 1 && row->errors == 1 && row->total_ns == 10 * US,
		   "openat of the other process failed");
	row = find_call(rows, n, 10, "exit_group");
	unit_check(row && !row->calls && row->unfinished == 1, "exit_group does not return");
	row = find_call(rows, n, 10, "close");
	unit_check(row && !row->calls && row->unpaired == 1, "close began before the trace");
	kl_syscall_report_add(report, &lost);
	rows = kl_syscall_report_rows(report, &n);
	row = find_call(rows, n, 10, "exit_group");
	unit_check(row && row->unfinished == 1, "a loss counts what was open, once");
	kl_syscall_report_destroy(report);
}

static void switch_to(uint64_t us, int prev, int state, int next)
{
	add("sched_switch", us,
	    ARGS(BYTES("p"), NUMBER(prev), NUMBER(20), NUMBER(state), BYTES("n"), NUMBER(next),
		 NUMBER(20)));
}

static void test_sleep_report(void)
{
	struct kl_sleep_report *report = kl_sleep_report_create();
	const struct kl_sleep_row *rows;
	size_t n;

	synth_begin(s, BEGIN);
	switch_to(0, 0, 0, 1); /* 1 runs */
	switch_to(100, 1, 1, 2); /* 1 sleeps, 2 runs */
	add("sched_waking", 400, ARGS(BYTES("one"), NUMBER(1), NUMBER(20), NUMBER(0)));
	add("sched_wakeup", 410, ARGS(BYTES("one"), NUMBER(1), NUMBER(20), NUMBER(0)));
	switch_to(450, 2, 0x100, 1); /* 2 is preempted, 1 runs */
	switch_to(500, 1, 2, 2); /* 1 waits for a disk, 2 runs */
	switch_to(900, 2, 1, 1); /* 1's wakeup was not seen */
	feed(take_sleep, report);
	rows = kl_sleep_report_rows(report, &n);
	unit_check(n == 2 && rows[0].tid == 1 && rows[0].sleeps == 2 &&
			   rows[0].sleep_ns == (300 + 400) * US &&
			   rows[0].sleep_max_ns == 400 * US && !rows[0].open,
		   "task 1 slept twice");
	unit_check(rows[0].runnable_ns == 50 * US && rows[0].run_ns == 150 * US,
		   "it waited for a CPU from its first wakeup, and ran");
	unit_check(rows[1].tid == 2 && !rows[1].sleeps && rows[1].runnable_ns == 50 * US &&
			   rows[1].run_ns == 750 * US && rows[1].open,
		   "task 2 was preempted, and is asleep at the end");
	kl_sleep_report_destroy(report);
}

/* The session follows task 1; tasks 2 and 3 come before and after it, and 2 is woken by it. */
static void test_partial_sleep_report(bool partial, size_t expected)
{
	struct kl_sleep_report *report = kl_sleep_report_create();
	const struct kl_sleep_row *rows;
	char name[80];
	size_t n;

	if (partial)
		kl_sleep_report_set_partial(report);
	synth_begin(s, BEGIN);
	switch_to(0, 0, 0, 1);
	add("sched_wakeup", 50, ARGS(BYTES("two"), NUMBER(2), NUMBER(20), NUMBER(0)));
	switch_to(100, 1, 1, 2);
	/* Task 2 runs, sleeps and is woken unseen. */
	switch_to(900, 3, 1, 1);
	feed(take_sleep, report);
	rows = kl_sleep_report_rows(report, &n);
	snprintf(name, sizeof(name), "with %zu of three tasks followed, so many have rows",
		 expected);
	unit_check(n == expected && kl_sleep_report_omitted(report) == 3 - expected, name);
	unit_check(n && rows[n == 3 ? 0 : n - 1].tid == 1 && rows[0].sleep_ns == 800 * US,
		   "and the one that is followed has its figures");
	kl_sleep_report_destroy(report);
}

static void test_count_report(void)
{
	struct kl_count_report *report = kl_count_report_create();
	const struct kl_count_row *rows;
	size_t n;

	make_calls();
	feed(take_count, report);
	rows = kl_count_report_rows(report, &n);
	unit_check(n == 6 && rows[0].count == 2 && rows[5].count == 1 &&
			   !strcmp(rows[0].event_class->name, "syscall_entry_read") &&
			   rows[0].first_ns + 30 * US == rows[0].last_ns,
		   "events are counted, the most frequent first");
	kl_count_report_destroy(report);
}

int main(void)
{
	schema = kl_schema_create();
	s = malloc(sizeof(*s));
	synth_init(s, schema, 0);
	kl_timebase_init(&timebase, KL_CLOCK_MONOTONIC, 1000000000, 1700000000, 0);
	test_words();
	test_messages();
	test_styles();
	test_columns();
	test_hostile_texts();
	test_json_bytes();
	test_losses();
	test_syscall_report();
	test_sleep_report();
	test_partial_sleep_report(false, 3);
	test_partial_sleep_report(true, 1);
	test_count_report();
	kl_buffer_deinit(&out);
	kl_schema_destroy(schema);
	free(s);
	return unit_end();
}
