// SPDX-License-Identifier: GPL-2.0
/*
 * Looks for records of a trace with an index: events, filters of the library, or texts. Takes a
 * bounded time, and says where to go on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kernlens/internal.h>
#include "../../format/print.h"
#include "index.h"

#define CLOCK_RECORDS 1024 /* after which the time is checked */

/**
 * struct kl_search - what is looked for
 * @text: as the user has written it
 * @filter: NULL: records with @part in what is shown of them
 */
struct kl_search {
	char *text;
	struct kl_filter *filter;
	char *part;
	struct kl_buffer shown;
};

void kl_search_free(struct kl_search *search)
{
	if (!search)
		return;
	kl_filter_destroy(search->filter);
	kl_buffer_deinit(&search->shown);
	free(search->part);
	free(search->text);
	free(search);
}

static bool has_operator(const char *text)
{
	static const char *const operators[] = { "==", " = ", "!=", "<", ">", "~", "&&", "||" };

	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++)
		if (strstr(text, operators[i]))
			return true;
	return false;
}

/* "EVENT/.../": has it a filter as option -e has? A path begins with a slash. */
static bool has_slashes(const char *text)
{
	const size_t length = strlen(text);

	return *text != '/' && strchr(text, '/') && text[length - 1] == '/' &&
	       strchr(text, '/') != text + length - 1;
}

/* A text in quotes is only a text. */
static int compile(struct kl_search *search, const struct kl_schema *schema)
{
	const char *text = search->text;
	const size_t length = strlen(text);

	if (length > 2 && *text == '"' && strchr(text + 1, '"') == text + length - 1) {
		search->part = strndup(text + 1, length - 2);
		return search->part ? 0 : -ENOMEM;
	}
	if (kl_schema_find(schema, text) || has_slashes(text))
		search->filter = kl_filter_create(schema, text);
	else if (has_operator(text))
		search->filter = kl_filter_create_any(schema, text);
	else
		search->part = strdup(text);
	return search->filter || search->part ? 0 : -errno;
}

/* What is to be found, which stays for the next time. Returns 0 or a negative errno. */
static int prepare(struct kl_timeline_index *index, const char *text)
{
	struct kl_search *search = index->search;
	int error;

	if (search && !strcmp(search->text, text))
		return 0;
	kl_search_free(search);
	index->search = NULL;
	search = calloc(1, sizeof(*search));
	if (!search)
		return -ENOMEM;
	search->text = strdup(text);
	error = search->text ? compile(search, kl_trace_schema(index->trace)) : -ENOMEM;
	if (error)
		kl_search_free(search);
	else
		index->search = search;
	return error;
}

/* 1, 0 or -ENOMEM. */
static int is_match(struct kl_search *search, const struct kl_event *event)
{
	struct kl_buffer *shown = &search->shown;

	if (search->filter)
		return kl_filter_wants(search->filter, event);
	kl_buffer_reset(shown);
	kl_buffer_printf(shown, "%s %d %s ", event->task.comm, event->task.tid,
			 event->event_class->name);
	kl_print_event_fields(shown, event);
	kl_buffer_add_char(shown, 0);
	return shown->error ? -ENOMEM : !!strcasestr(shown->data, search->part);
}

/* ------------------------------------------------------------------- reading */

/**
 * struct scan - a search in progress
 * @end: records from this on are not looked at
 * @next: number of the record after the last that was looked at
 * @left: how many are still to be found
 * @found: how many were
 * @since, @ms: when it began, and how long it may take; 0: as long as it takes
 * @step_ns, @last_ns: of count
 * @last: the last match; only that is wanted
 * @is_last, @only_count: what is done with a match
 */
struct scan {
	struct kl_timeline_index *index;
	struct kl_buffer *to;
	struct kl_buffer scratch;
	uint64_t from;
	uint64_t end;
	uint64_t next;
	uint64_t left;
	uint64_t found;
	struct timespec since;
	unsigned int ms;
	uint64_t step_ns;
	uint64_t last_ns;
	struct kl_buffer last;
	bool is_last;
	bool only_count;
};

static bool is_late(const struct scan *s)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - s->since.tv_sec) * 1000 + (now.tv_nsec - s->since.tv_nsec) / 1000000 >=
	       s->ms;
}

static int add_match(struct scan *s, const struct kl_event *event, uint64_t number,
		     struct kl_buffer *to)
{
	kl_buffer_printf(to, "%s[%llu,", to == s->to && s->found ? ",\n" : "",
			 (unsigned long long)number);
	return kl_index_add_record(s->index, event, to, &s->scratch);
}

/* Times that are close together are one. */
static int count_match(struct scan *s, const struct kl_event *event)
{
	const uint64_t ns = kl_timeline_time(s->index->overview, event->ns);

	if (!s->found || ns >= s->last_ns + s->step_ns) {
		kl_buffer_printf(s->to, "%s%llu", s->found ? "," : "", (unsigned long long)ns);
		s->last_ns = ns;
	}
	s->found++;
	return s->to->error ? -ENOMEM : 0;
}

static int take_match(struct scan *s, const struct kl_event *event, uint64_t number)
{
	int error;

	if (s->only_count)
		return count_match(s, event);
	if (s->is_last)
		kl_buffer_reset(&s->last);
	error = add_match(s, event, number, s->is_last ? &s->last : s->to);
	s->found++;
	return error ? error : !s->is_last && !--s->left;
}

static int look_at(void *context, const struct kl_event *event, uint64_t number)
{
	struct scan *s = context;
	int ret;

	if (number >= s->end)
		return 1;
	s->next = number + 1;
	ret = is_match(s->index->search, event);
	if (ret > 0)
		ret = take_match(s, event, number);
	if (ret || !s->ms || number % CLOCK_RECORDS)
		return ret;
	return is_late(s);
}

static int scan(struct scan *s)
{
	int ret;

	clock_gettime(CLOCK_MONOTONIC, &s->since);
	s->next = s->from;
	ret = kl_timeline_index_read(s->index, s->from, look_at, s);
	kl_buffer_deinit(&s->scratch);
	return ret < 0 ? ret : 0;
}

/* What has not been read yet is looked at later. */
static void add_next(const struct scan *s)
{
	const bool more = s->next < s->end || !s->index->complete;

	if (more)
		kl_buffer_printf(s->to, ",\"next\":%llu}", (unsigned long long)s->next);
	else
		kl_buffer_add_string(s->to, ",\"next\":null}");
}

int kl_timeline_index_search(struct kl_timeline_index *index, const char *text, uint64_t from,
			     uint64_t n, unsigned int ms, struct kl_buffer *to)
{
	struct scan s = { .index = index,
			  .to = to,
			  .from = from,
			  .next = from,
			  .end = index->overview->counts.records,
			  .left = n,
			  .ms = ms };
	int error = prepare(index, text);

	kl_buffer_add_string(to, "{\"found\":[");
	if (!error && n && from < s.end)
		error = scan(&s);
	kl_buffer_add_string(to, "]");
	add_next(&s);
	return error ? error : to->error ? -ENOMEM : 0;
}

int kl_timeline_index_search_back(struct kl_timeline_index *index, const char *text,
				  uint64_t before, struct kl_buffer *to)
{
	const uint64_t records = index->overview->counts.records;
	struct scan s = { .index = index, .to = to, .is_last = true };
	int error = prepare(index, text);

	s.end = before < records ? before : records;
	if (!error && s.end) {
		s.from = kl_checkpoint_of(index, s.end - 1)->records;
		error = scan(&s);
	}
	kl_buffer_add_string(to, "{\"found\":[");
	kl_buffer_add(to, s.last.data, s.last.length);
	if (s.found || !s.from)
		kl_buffer_add_string(to, "],\"next\":null}");
	else
		kl_buffer_printf(to, "],\"next\":%llu}", (unsigned long long)s.from);
	kl_buffer_deinit(&s.last);
	return error ? error : to->error ? -ENOMEM : 0;
}

int kl_timeline_index_count(struct kl_timeline_index *index, const char *text, uint64_t from,
			    unsigned int ms, uint64_t step_ns, struct kl_buffer *to)
{
	struct scan s = { .index = index,
			  .to = to,
			  .from = from,
			  .next = from,
			  .end = index->overview->counts.records,
			  .ms = ms,
			  .step_ns = step_ns,
			  .only_count = true };
	int error = prepare(index, text);

	kl_buffer_add_string(to, "{\"times\":[");
	if (!error && from < s.end)
		error = scan(&s);
	kl_buffer_printf(to, "],\"n\":%llu", (unsigned long long)s.found);
	add_next(&s);
	return error ? error : to->error ? -ENOMEM : 0;
}
