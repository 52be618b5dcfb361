// SPDX-License-Identifier: GPL-2.0
/* Output of kernlens watch: for people, for journald, and as JSON. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../base/common.h"
#include "watch.h"

static const char *const states[] = {
	[KL_WATCH_RAISED] = "raised",
	[KL_WATCH_CLEARED] = "cleared",
	[KL_WATCH_ENDED] = "ended",
	[KL_WATCH_DROPPED] = "dropped",
};

static void write_line(json_t *object)
{
	json_dumpf(object, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	putchar('\n');
	fflush(stdout);
	json_decref(object);
}

static double wall_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Each line begins with the priority: an error in a rule has several. */
static void write_prefixed(int priority, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		fprintf(stderr, "<%d>%.*s\n", priority, (int)length, text);
		text += length + (text[length] == '\n');
	}
}

void cli_watch_log(const struct cli_watch_acts *acts, int priority, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = cli_format_list(format, args);
	va_end(args);
	if (cli_settings.json) {
		write_line(json_pack("{s:f, s:i, s:o}", "time", wall_time(), "priority", priority,
				     "message", cli_json_text(text)));
	} else {
		kl_make_plain_message(text);
		fflush(stdout);
		if (acts->prefixed)
			write_prefixed(priority, text);
		else
			fprintf(stderr, "kernlens: %s\n", text);
	}
	free(text);
}

static void say_json(const struct kl_watch_alarm *alarm)
{
	json_t *object = json_pack("{s:f, s:I, s:o, s:s, s:o}", "time", wall_time(), "monotonic_ns",
				   (json_int_t)alarm->now_ns, "alarm",
				   cli_json_text(alarm->rule->name), "state", states[alarm->state],
				   "rule", cli_json_text(alarm->rule->text));

	if (alarm->pid) {
		json_object_set_new(object, "pid", json_integer(alarm->pid));
		json_object_set_new(object, "comm", cli_json_text(alarm->comm));
		json_object_set_new(object, "uid", json_integer(alarm->uid));
	}
	if (!isnan(alarm->value))
		json_object_set_new(object, "value", json_real(alarm->value));
	json_object_set_new(object, "text", cli_json_text(alarm->text));
	json_object_set_new(object, "seconds",
			    json_real((double)(alarm->now_ns - alarm->since_ns) / 1e9));
	write_line(object);
}

void cli_watch_say(const struct cli_watch_acts *acts, const struct kl_watch_alarm *alarm)
{
	const char *user = alarm->pid ? cli_user_name(alarm->uid) : NULL;

	if (cli_settings.json) {
		say_json(alarm);
		return;
	}
	if (acts->prefixed)
		printf("<%d>",
		       alarm->state == KL_WATCH_RAISED ? CLI_WATCH_WARNING : CLI_WATCH_NOTICE);
	printf("%s %s", states[alarm->state], alarm->rule->name);
	if (alarm->state == KL_WATCH_RAISED || alarm->state == KL_WATCH_CLEARED)
		printf(": %s", alarm->text);
	if (user)
		printf(" (%s, pid %d, %s)", alarm->comm, alarm->pid, user);
	else if (alarm->pid)
		printf(" (%s, pid %d, uid %u)", alarm->comm, alarm->pid, alarm->uid);
	if (alarm->state != KL_WATCH_RAISED)
		printf(" after %.0f s", (double)(alarm->now_ns - alarm->since_ns) / 1e9);
	printf(" [%s]\n", alarm->rule->text);
	fflush(stdout);
}
