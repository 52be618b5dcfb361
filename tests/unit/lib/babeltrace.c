// SPDX-License-Identifier: GPL-2.0
/* A trace that test_trace.c has written, read by babeltrace 1 and 2. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "babeltrace.h"
#include "synth.h"
#include "unit.h"

/* The fields in babeltrace2's format. */
static void expect_fields(struct kl_buffer *line, const struct kl_event *event)
{
	kl_buffer_reset(line);
	kl_buffer_add_string(line, " }, { ");
	for (unsigned int i = 0; i < event->event_class->n_fields; i++) {
		struct kl_value value = kl_event_value(event, i);
		const struct kl_field *field = value.field;

		kl_buffer_printf(line, "%s%s = ", i ? ", " : "", field->name);
		if (field->type >= KL_TYPE_TEXT) {
			kl_print_quoted(line, value.bytes, value.length);
		} else if (field->count > 1) {
			kl_buffer_add_string(line, "[ ");
			for (unsigned int k = 0; k < field->count; k++)
				kl_buffer_printf(line, "%s[%u] = %lld", k ? ", " : "", k,
						 (long long)kl_value_element(&value, k));
			kl_buffer_add_string(line, " ]");
		} else if (field->type == KL_TYPE_U64) {
			kl_buffer_add_unsigned(line, value.number, 0);
		} else {
			kl_buffer_add_signed(line, value.number);
		}
	}
	kl_buffer_add_string(line, " }\n");
}

/* Time, host, name, CPU and variables come before the fields. */
static bool is_same(const char *text, const struct kl_event *event, struct kl_buffer *line)
{
	char start[128], cpu[32];
	size_t length = strlen(text);

	snprintf(start, sizeof(start), "[%llu.%09llu] host %s: { record_first",
		 (unsigned long long)event->ns / 1000000000,
		 (unsigned long long)event->ns % 1000000000, event->event_class->name);
	snprintf(cpu, sizeof(cpu), " cpu_id = %u,", event->cpu);
	expect_fields(line, event);
	return !strncmp(text, start, strlen(start)) && strstr(text, cpu) && length > line->length &&
	       !strcmp(text + length - line->length, line->data);
}

void test_babeltrace(const char *directory, unsigned int cpus)
{
	struct kl_trace *trace = kl_trace_open(directory);
	unsigned int same = 0, different = 0, warnings = 0, context = 0;
	struct kl_buffer line = { 0 };
	char command[256], text[4096];
	struct kl_item item;
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "LC_ALL=C babeltrace2 --log-level=W --no-delta --clock-seconds %s 2>%s.stderr",
		 directory, directory);
	pipe = popen(command, "r");
	while (pipe && fgets(text, sizeof(text), pipe)) {
		do {
			if (kl_trace_next(trace, &item) <= 0)
				item.kind = KL_ITEM_LOSS, item.event = NULL;
		} while (item.kind == KL_ITEM_LOSS && item.loss);
		if (item.event && is_same(text, item.event, &line))
			same++;
		else if (!different++)
			printf("# babeltrace2: %s# we: %s", text, line.data ? line.data : "-\n");
	}
	if (pipe)
		pclose(pipe);
	unit_check(same == cpus * 12 && !different, "babeltrace2 reads the same values and times");

	snprintf(command, sizeof(command), "grep -v 'discarded' %s.stderr", directory);
	pipe = popen(command, "r");
	while (fgets(text, sizeof(text), pipe)) {
		warnings++;
		printf("# %s", text);
	}
	pclose(pipe);
	unit_check(!warnings, "babeltrace2 has nothing to complain about");

	snprintf(command, sizeof(command), "grep -c 'discarded 1[012] events' %s.stderr",
		 directory);
	pipe = popen(command, "r");
	unit_check(fgets(text, sizeof(text), pipe) && atoi(text) == (int)cpus,
		   "babeltrace2 tells the discarded events");
	pclose(pipe);

	snprintf(command, sizeof(command),
		 "babeltrace2 %s 2>/dev/null | grep -c '{ tid = 200, pid = 200, comm = "
		 "\"second\" }'",
		 directory);
	pipe = popen(command, "r");
	context = fgets(text, sizeof(text), pipe) ? atoi(text) : 0;
	pclose(pipe);
	snprintf(command, sizeof(command), "%s.stderr", directory);
	unlink(command);
	unit_check(context == cpus * 3, "babeltrace2 reads the variables where they changed");
	kl_buffer_deinit(&line);
	kl_trace_close(trace);
}

/* Count the lines of one of babeltrace 1's outputs with a grep command. */
static int count_babeltrace1(const char *directory, const char *output, const char *grep)
{
	char command[256], text[32];
	FILE *pipe;
	int lines;

	snprintf(command, sizeof(command), "LC_ALL=C babeltrace %s %s | %s", directory, output,
		 grep);
	pipe = popen(command, "r");
	lines = pipe && fgets(text, sizeof(text), pipe) ? atoi(text) : -1;
	if (pipe)
		pclose(pipe);
	return lines;
}

void test_babeltrace1(const char *directory, int records)
{
	int events = count_babeltrace1(directory, "2>/dev/null",
				       "grep -c 'host [a-z_0-9]*: { record_first'");
	int complaints =
		count_babeltrace1(directory, "2>&1 >/dev/null", "grep -vc 'Tracer discarded'");
	char why[80];

	snprintf(why, sizeof(why), "expected %d events, got %d", records, events);
	unit_result(events == records, "babeltrace 1 reads all events", why);
	snprintf(why, sizeof(why), "expected no other line than of discarded events, got %d",
		 complaints);
	unit_result(!complaints, "babeltrace 1 has nothing to complain about", why);
}
