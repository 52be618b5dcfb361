// SPDX-License-Identifier: GPL-2.0
/* Answers the requests of a served page: parts of the timeline, and records. */
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "page.h"
#include "routes.h"

#define WINDOW_BYTES 6000000 /* of the answer, about */
#define WINDOW_RECORDS 2000000
#define RECORDS_MAX 1000
#define SEARCH_MAX 1000
#define SEARCH_MS 150 /* of one request, after which the page sends another */

static const char json[] = "application/json", bytes[] = "application/octet-stream";

/* --------------------------------------------------------------------- helpers */

static int add_part(void *context, const void *part, size_t length)
{
	struct kl_buffer *body = context;

	kl_buffer_add(body, part, length);
	return body->error ? -ENOMEM : 0;
}

/* What the user typed may be invalid, and a part too large: neither is an error of the page. */
static int refuse_error(struct http_answer *answer, int error)
{
	const char *text = *kl_error_text() ? kl_error_text() : strerror(-error);
	const bool is_search = error == -EINVAL || error == -E2BIG;

	return http_refuse(answer, is_search ? MHD_HTTP_OK : MHD_HTTP_INTERNAL_SERVER_ERROR, text);
}

/* Write a part of JSON with its length before it, as kl_timeline_write_bytes() does. */
static void add_chunk(struct kl_buffer *body, struct kl_buffer *part)
{
	const size_t n = part->length;
	const uint8_t size[] = { (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16),
				 (uint8_t)(n >> 24) };

	kl_buffer_add(body, size, sizeof(size));
	kl_buffer_add(body, part->data, n);
	if (part->error)
		body->error = part->error;
	kl_buffer_deinit(part);
}

/* ---------------------------------------------------------------------- routes */

/* What answers a request; @name: of it. Returns 0 or a negative errno. */
struct route {
	const char *name;
	const char *type;
	int (*answer)(struct kl_timeline_index *index, struct MHD_Connection *connection,
		      struct kl_buffer *body);
};

static int answer_state(struct kl_timeline_index *index, struct MHD_Connection *connection,
			struct kl_buffer *body)
{
	(void)connection;
	return kl_timeline_index_state(index, body);
}

static int answer_overview(struct kl_timeline_index *index, struct MHD_Connection *connection,
			   struct kl_buffer *body)
{
	struct kl_timeline *overview = kl_timeline_index_overview(index);
	struct kl_buffer state = { 0 };

	(void)connection;
	if (!overview)
		return -ENOMEM;
	kl_timeline_index_state(index, &state);
	add_chunk(body, &state);
	return kl_timeline_write_bytes(overview, add_part, body);
}

static int answer_window(struct kl_timeline_index *index, struct MHD_Connection *connection,
			 struct kl_buffer *body)
{
	struct kl_timeline *window;
	struct kl_buffer about = { 0 };
	uint64_t from, to;
	bool exact;
	int error;

	if (!http_number(connection, "from", &from) || !http_number(connection, "to", &to) ||
	    from >= to)
		return -EINVAL;
	window = kl_timeline_index_window(index, from, to, WINDOW_BYTES, WINDOW_RECORDS, &exact);
	if (!window)
		return errno == E2BIG ? 0 : -errno;
	kl_buffer_printf(&about, "{\"from\":%llu,\"to\":%llu,\"exact\":%s}",
			 (unsigned long long)from, (unsigned long long)to,
			 exact ? "true" : "false");
	add_chunk(body, &about);
	error = kl_timeline_write_bytes(window, add_part, body);
	kl_timeline_destroy(window);
	return error;
}

static int answer_records(struct kl_timeline_index *index, struct MHD_Connection *connection,
			  struct kl_buffer *body)
{
	uint64_t from, n;

	if (!http_number(connection, "from", &from) || !http_number(connection, "n", &n) ||
	    n > RECORDS_MAX)
		return -EINVAL;
	return kl_timeline_index_records(index, from, n, body);
}

static int answer_number(struct kl_timeline_index *index, struct MHD_Connection *connection,
			 struct kl_buffer *body)
{
	uint64_t ns;
	int64_t number;

	if (!http_number(connection, "ns", &ns))
		return -EINVAL;
	number = kl_timeline_index_number(index, ns);
	if (number < 0)
		return (int)number;
	kl_buffer_printf(body, "%lld", (long long)number);
	return 0;
}

/* What to look for. NULL: missing or too long */
static const char *take_search(struct MHD_Connection *connection)
{
	const char *text = http_argument(connection, "q");

	return text && *text && strlen(text) <= SEARCH_MAX ? text : NULL;
}

static int answer_search(struct kl_timeline_index *index, struct MHD_Connection *connection,
			 struct kl_buffer *body)
{
	const char *text = take_search(connection);
	uint64_t from, n;

	if (text && http_number(connection, "before", &from))
		return kl_timeline_index_search_back(index, text, from, body);
	if (!text || !http_number(connection, "from", &from) || !http_number(connection, "n", &n) ||
	    n > RECORDS_MAX)
		return -EINVAL;
	return kl_timeline_index_search(index, text, from, n, SEARCH_MS, body);
}

static int answer_count(struct kl_timeline_index *index, struct MHD_Connection *connection,
			struct kl_buffer *body)
{
	const char *text = take_search(connection);
	uint64_t from, step;

	if (!text || !http_number(connection, "from", &from) ||
	    !http_number(connection, "step", &step))
		return -EINVAL;
	return kl_timeline_index_count(index, text, from, SEARCH_MS, step, body);
}

static int answer_why(struct kl_timeline_index *index, struct MHD_Connection *connection,
		      struct kl_buffer *body)
{
	uint64_t tid, from, to;

	if (!http_number(connection, "tid", &tid) || !http_number(connection, "from", &from) ||
	    !http_number(connection, "to", &to) || tid > INT32_MAX || from >= to)
		return -EINVAL;
	return kl_timeline_index_why(index, (int32_t)tid, from, to, body);
}

static const struct route routes[] = {
	{ "state", json, answer_state },    { "overview", bytes, answer_overview },
	{ "window", bytes, answer_window }, { "records", json, answer_records },
	{ "number", json, answer_number },  { "search", json, answer_search },
	{ "count", json, answer_count },    { "why", json, answer_why },
};

static int answer_page(struct kl_timeline_index *index, const char *title,
		       struct http_answer *answer)
{
	struct kl_buffer about = { 0 };
	int error = kl_timeline_index_about(index, title, &about);

	kl_buffer_add_char(&about, 0);
	answer->type = "text/html; charset=utf-8";
	if (!error)
		error = about.error ? -ENOMEM :
				      view_served_page_write(about.data, add_part, &answer->body);
	kl_buffer_deinit(&about);
	return error;
}

int view_route(struct kl_timeline_index *index, const char *title, const char *name,
	       struct MHD_Connection *connection, struct http_answer *answer)
{
	int error = -ENOENT;

	kl_error_clear();
	answer->status = MHD_HTTP_OK;
	if (!*name)
		error = answer_page(index, title, answer);
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++)
		if (!strcmp(name, routes[i].name)) {
			answer->type = routes[i].type;
			error = routes[i].answer(index, connection, &answer->body);
		}
	if (error == -ENOENT)
		return http_refuse(answer, MHD_HTTP_NOT_FOUND, "there is no such page");
	if (error == -EINVAL && !*kl_error_text())
		return http_refuse(answer, MHD_HTTP_BAD_REQUEST, "invalid arguments");
	if (!error && answer->body.error)
		return -ENOMEM;
	return error ? refuse_error(answer, error) : 0;
}
