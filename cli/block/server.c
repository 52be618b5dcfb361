// SPDX-License-Identifier: GPL-2.0
/*
 * The server of kernlens blocks --serve: one thread answers the page's requests, and looks for
 * calls in between. Everything is done with the rights of this process, so the address with its
 * token gives them to who has it, and to nobody else (view/http/local.c). The kernel's text is read
 * once, before anything is spliced: a function can be planned again while others are spliced.
 */
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "../../view/http/local.h"
#include "../../view/page/graph.h"
#include "../base/cli.h"
#include "../base/common.h"
#include "../base/html.h"
#include "../base/output.h"
#include "../base/served.h"
#include "armed.h"
#include "calls.h"
#include "page.h"
#include "print.h"
#include "requests.h"
#include "server.h"

#define FIRST_MAX 64 /* functions that the page begins with */
#define NAMES_MAX 40
#define NAME_MAX_BYTES 128
#define STEP_FUNCTIONS 100

/**
 * struct server - state
 * @device: opened for the first instrument; NULL: not yet
 * @first: indices of the functions that the page begins with
 * @armed: by time
 * @searches: callers have been requested
 */
struct server {
	struct kl_symbols *symbols;
	struct kl_blocks *blocks;
	struct cli_source source;
	struct kl_device *device;
	size_t first[FIRST_MAX];
	size_t n_first;
	struct cli_armed *armed[CLI_ARMED_MAX];
	size_t n_armed;
	struct cli_calls calls;
	bool searches;
};

/* --------------------------------------------------------------------- answers */

static int add_part(void *context, const void *part, size_t length)
{
	struct kl_buffer *body = context;

	kl_buffer_add(body, part, length);
	return body->error ? -ENOMEM : 0;
}

/* Answer with a document, which is released. */
static int send_json(struct http_answer *answer, json_t *document)
{
	int error = cli_html_json(document, add_part, &answer->body);

	answer->type = "application/json";
	json_decref(document);
	return error;
}

/* What cannot be done is not an error of the page: it shows the text. */
static int send_error(struct http_answer *answer, const char *text)
{
	return http_refuse(answer, MHD_HTTP_OK, text);
}

static int send_library_error(struct http_answer *answer, int error)
{
	return send_error(answer, cli_library_reason(error));
}

static json_t *json_function(struct server *s, size_t index)
{
	struct cli_block_listing listing = { .blocks = s->blocks, .source = &s->source };
	struct kl_block_graph graph;
	json_t *function;

	if (kl_blocks_graph(s->blocks, index, &graph))
		return NULL;
	cli_source_read(&s->source, &graph);
	listing.graph = &graph;
	listing.name = graph.function.name;
	function = cli_block_json(&listing, true);
	s->source.graph = NULL;
	kl_block_graph_free(&graph);
	return function;
}

/* The function that an argument names by an address in it. Returns its index, or -errno. */
static long function_of(const struct server *s, struct MHD_Connection *connection)
{
	uint64_t address;

	if (!cli_request_address(connection, "at", &address))
		return -EINVAL;
	return kl_blocks_find(s->blocks, address);
}

/* -------------------------------------------------------------------- the page */

struct page {
	json_t *data;
	struct kl_buffer *body;
};

static int write_data(void *context)
{
	const struct page *page = context;

	return cli_html_json(page->data, add_part, page->body);
}

static int write_part(void *context, const void *part, size_t length)
{
	const struct page *page = context;

	return add_part(page->body, part, length);
}

static int answer_page(struct server *s, struct MHD_Connection *connection,
		       struct http_answer *answer)
{
	json_t *functions = json_array(), *function;
	struct page page = { .body = &answer->body };
	int error;

	(void)connection;
	for (size_t i = 0; i < s->n_first; i++) {
		function = json_function(s, s->first[i]);
		if (function)
			json_array_append_new(functions, function);
	}
	page.data = json_pack("{s:o, s:b, s:i, s:i}", "functions", functions, "served", true,
			      "armed_max", CLI_ARMED_MAX, "times_max", CLI_TIMES_MAX);
	answer->type = "text/html; charset=utf-8";
	error = view_served_graph_write(write_data, write_part, &page);
	json_decref(page.data);
	return error;
}

/* ------------------------------------------------------------------- functions */

static int answer_names(struct server *s, struct MHD_Connection *connection,
			struct http_answer *answer)
{
	const char *text = http_argument(connection, "q");
	json_t *names;

	if (!text || !*text || strlen(text) > NAME_MAX_BYTES)
		return -EINVAL;
	names = cli_request_names(s->blocks, text, NAMES_MAX);
	return names ? send_json(answer, names) : send_library_error(answer, -ENOENT);
}

static int answer_function(struct server *s, struct MHD_Connection *connection,
			   struct http_answer *answer)
{
	long index = function_of(s, connection);
	json_t *function;

	if (index == -EINVAL)
		return -EINVAL;
	if (index < 0)
		return send_library_error(answer, (int)index);
	function = json_function(s, (size_t)index);
	return function ? send_json(answer, function) : -ENOMEM;
}

static int answer_callers(struct server *s, struct MHD_Connection *connection,
			  struct http_answer *answer)
{
	long index = function_of(s, connection);

	if (index == -EINVAL)
		return -EINVAL;
	if (index < 0)
		return send_library_error(answer, (int)index);
	s->searches = true;
	return send_json(answer, cli_calls_json(&s->calls, s->blocks, (size_t)index));
}

/* ----------------------------------------------------------------- instruments */

static json_t *json_state(const struct server *s)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < s->n_armed; i++) {
		json_t *row = cli_armed_json(s->armed[i]);

		if (row)
			json_array_append_new(rows, row);
	}
	return json_pack("{s:o}", "armed", rows);
}

static int answer_state(struct server *s, struct MHD_Connection *connection,
			struct http_answer *answer)
{
	(void)connection;
	return send_json(answer, json_state(s));
}

static size_t find_armed(const struct server *s, size_t function)
{
	size_t i = 0;

	while (i < s->n_armed && cli_armed_params(s->armed[i])->function != function)
		i++;
	return i;
}

static void take_out(struct server *s, size_t i)
{
	cli_armed_destroy(s->armed[i]);
	s->n_armed--;
	memmove(&s->armed[i], &s->armed[i + 1], (s->n_armed - i) * sizeof(*s->armed));
}

/* Install instruments. NULL: it worked; else why it did not, to be freed. */
static char *put_in(struct server *s, const struct cli_arm_params *params)
{
	struct cli_armed *armed;
	char *why = NULL;

	kl_error_clear();
	if (!s->device)
		s->device = kl_device_open(NULL);
	if (!s->device)
		return cli_format("%s", cli_library_reason(-errno));
	armed = cli_armed_create(s->device, s->symbols, s->blocks, params, &why);
	if (armed)
		s->armed[s->n_armed++] = armed;
	return why;
}

/*
 * Replace all instruments of a function. If the new ones are refused, it has those again that it
 * had, which count anew. Returns NULL, or an error text to be freed.
 */
static char *rearm(struct server *s, const struct cli_arm_params *params)
{
	const size_t i = find_armed(s, params->function);
	struct cli_arm_params before = {};
	char *why = NULL;

	if (i < s->n_armed) {
		before = cli_arm_params_copy(cli_armed_params(s->armed[i]));
		take_out(s, i);
	} else if (s->n_armed == CLI_ARMED_MAX) {
		return cli_format("%u functions have instruments, which is the maximum",
				  CLI_ARMED_MAX);
	}
	if (params->counters || params->times)
		why = put_in(s, params);
	if (why && before.counted)
		free(put_in(s, &before));
	cli_arm_params_deinit(&before);
	return why;
}

static int answer_arm(struct server *s, struct MHD_Connection *connection,
		      struct http_answer *answer)
{
	struct cli_arm_params params = {};
	long index = function_of(s, connection);
	char *why;
	int ret;

	if (index == -EINVAL)
		return -EINVAL;
	if (index < 0)
		return send_library_error(answer, (int)index);
	ret = cli_request_instruments(connection, s->blocks, (size_t)index, &params);
	if (ret)
		return ret;
	why = rearm(s, &params);
	cli_arm_params_deinit(&params);
	ret = why ? send_error(answer, why) : send_json(answer, json_state(s));
	free(why);
	return ret;
}

/* ---------------------------------------------------------------------- routes */

/* What answers a request; returns 0, -EINVAL (its arguments are invalid) or another error. */
struct route {
	const char *name;
	int (*answer)(struct server *server, struct MHD_Connection *connection,
		      struct http_answer *answer);
};

static const struct route readers[] = {
	{ "", answer_page },	       { "names", answer_names }, { "function", answer_function },
	{ "callers", answer_callers }, { "state", answer_state }, {},
};

static const struct route changers[] = { { "arm", answer_arm }, {} };

static int answer_with(const struct route *routes, struct server *s, const char *name,
		       struct MHD_Connection *connection, struct http_answer *answer)
{
	int error;

	for (; routes->name && strcmp(name, routes->name) != 0;)
		routes++;
	if (!routes->name)
		return http_refuse(answer, MHD_HTTP_NOT_FOUND, "there is no such page");
	kl_error_clear();
	error = routes->answer(s, connection, answer);
	return error == -EINVAL ? http_refuse(answer, MHD_HTTP_BAD_REQUEST, "invalid arguments") :
				  error;
}

static int answer_read(void *context, const char *name, struct MHD_Connection *connection,
		       struct http_answer *answer)
{
	return answer_with(readers, context, name, connection, answer);
}

static int answer_change(void *context, const char *name, struct MHD_Connection *connection,
			 struct http_answer *answer)
{
	return answer_with(changers, context, name, connection, answer);
}

/* ------------------------------------------------------------------- beginning */

static int open_kernel(struct server *s, const char *debug)
{
	cli_busy("reading the kernel's code");
	s->symbols = kl_symbols_open(NULL);
	s->blocks = s->symbols ? kl_blocks_open(NULL, s->symbols) : NULL;
	s->source.kernel = s->blocks ? kl_source_open(s->blocks, true, debug) : NULL;
	cli_busy(NULL);
	return s->source.kernel ? CLI_OK : cli_library_error(-errno, NULL);
}

static int add_first(void *context, size_t index)
{
	struct server *s = context;

	if (s->n_first == FIRST_MAX)
		return -E2BIG;
	s->first[s->n_first++] = index;
	return 0;
}

static int find_first(struct server *s, const char *name)
{
	struct kl_block_want want = {};
	int ret = kl_block_want_parse(&want, name), status = CLI_OK;

	if (!ret && (want.at_offset || want.at_number || want.behind))
		status = cli_error(-EINVAL, "invalid function \"%s\"; expected [MODULE:]FUNCTION",
				   name);
	else if (!ret)
		ret = kl_block_want_visit(&want, s->symbols, s->blocks, add_first, s);
	kl_block_want_free(&want);
	if (ret == -E2BIG)
		return cli_error(ret, "the page can begin with %u functions; search others there",
				 FIRST_MAX);
	return ret < 0 ? cli_library_error(ret, NULL) : status;
}

static int serve(struct server *s, uint16_t port)
{
	const struct http_local_routes routes = { answer_read, answer_change, s };
	struct http_local *http = http_local_create(port, &routes);
	bool more = false;
	int status;

	if (!http)
		return cli_error(-errno, "cannot serve at port %u: %s", port, strerror(errno));
	cli_stop_on_signals();
	status = cli_print_url(http_local_url(http));
	while (!status && !cli_is_stopped()) {
		http_local_run(http, more ? 0 : 1000);
		if (s->searches)
			more = cli_calls_step(&s->calls, s->blocks, STEP_FUNCTIONS);
	}
	http_local_destroy(http);
	return status;
}

int cli_blocks_serve(uint16_t port, const char *debug, char *const *names, size_t n)
{
	struct server *s = cli_alloc(sizeof(*s));
	int status = open_kernel(s, debug);

	for (size_t i = 0; i < n && !status; i++)
		status = find_first(s, names[i]);
	if (!status)
		status = serve(s, port);
	while (s->n_armed)
		take_out(s, s->n_armed - 1);
	if (s->device)
		kl_device_close(s->device);
	cli_calls_deinit(&s->calls);
	kl_source_close(s->source.kernel);
	cli_source_deinit(&s->source);
	kl_blocks_close(s->blocks);
	kl_symbols_close(s->symbols);
	free(s);
	return status;
}
