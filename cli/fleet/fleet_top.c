// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens fleet top: queries Prometheus twice, first for the machines and for the processes that
 * use most, then for all figures of these processes. None of its texts is trusted.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/output.h"
#include "fleet.h"
#include "fleet_print.h"
#include "fleet_top.h"

/* A figure of machines or processes. @key: in JSON. @expression: $S: selector; $W: window */
struct figure {
	const char *key, *expression;
};

static const struct figure of_hosts[] = {
	{ "up", "max by (instance) (up{$S} and on (instance, job) "
		"last_over_time(kernlens_build_info{$S}[1h]))" },
	{ "cpus", "sum by (instance) (kernlens_cpus_online{$S})" },
	{ "cpu",
	  "sum by (instance) (rate(kernlens_cpu_seconds_total{$S,mode!~\"idle|iowait\"}[$W]))" },
	{ "runnable", "sum by (instance) (kernlens_threads_runnable{$S})" },
	{ "memory_used_bytes", "sum by (instance) (kernlens_memory_total_bytes{$S} - "
			       "kernlens_memory_available_bytes{$S})" },
	{ "memory_bytes", "sum by (instance) (kernlens_memory_total_bytes{$S})" },
	{ "read_bytes_per_second",
	  "sum by (instance) (rate(kernlens_storage_read_bytes_total{$S}[$W]))" },
	{ "written_bytes_per_second",
	  "sum by (instance) (rate(kernlens_storage_written_bytes_total{$S}[$W]))" },
	{ "alarms", "sum by (instance) (kernlens_alarm_active{$S})" },
	{ "lost_records",
	  "sum by (instance) (increase(kernlens_session_lost_records_total{$S}[$W]))" },
};

/* Each process is (instance, pid, start, name). */
static const struct figure of_processes[] = {
	{ "cpu", "rate(kernlens_process_cpu_seconds_total{$S,pid!=\"other\"}[$W])" },
	{ "cpu_wait", "rate(kernlens_process_cpu_wait_seconds_total{$S,pid!=\"other\"}[$W])" },
	{ "memory_bytes", "kernlens_process_resident_memory_bytes{$S,pid!=\"other\"}" },
	{ "read_bytes_per_second",
	  "rate(kernlens_process_storage_read_bytes_total{$S,pid!=\"other\"}[$W])" },
	{ "written_bytes_per_second",
	  "rate(kernlens_process_storage_written_bytes_total{$S,pid!=\"other\"}[$W])" },
};

/* The word of --by for each of them. */
static const char *const orders[] = { "cpu", "wait", "memory", "read", "written" };

#define N_HOST_FIGURES (sizeof(of_hosts) / sizeof(*of_hosts))
#define N_PROCESS_FIGURES (sizeof(of_processes) / sizeof(*of_processes))

static const struct figure *find_order(const char *by)
{
	for (size_t i = 0; i < N_PROCESS_FIGURES; i++)
		if (!strcmp(orders[i], by))
			return &of_processes[i];
	return NULL;
}

bool cli_fleet_can_sort(const char *by)
{
	return find_order(by);
}

/* --------------------------------------------------------------------- queries */

/* A text in a regular expression of Prometheus (RE2), in a string of PromQL. */
static void add_literal(struct kl_buffer *to, char c)
{
	bool plain = isalnum((unsigned char)c) || (unsigned char)c >= 0x80 || c == '_';

	if (c == '\n')
		return;
	/* The string takes one backslash away, and the expression another. */
	if (c == '\\')
		kl_buffer_add_string(to, "\\\\\\");
	else if (!plain)
		kl_buffer_add_string(to, c == '"' ? "\\" : "\\\\");
	kl_buffer_add_char(to, c);
}

/* A set of characters such as "[a-c]" or "[!0-9]". Returns its last character; NULL: it is none. */
static const char *add_set(struct kl_buffer *to, const char *at)
{
	const char *end = strpbrk(at, "],");

	if (!end || *end != ']' || end == at + 1)
		return NULL;
	kl_buffer_add_char(to, '[');
	at++;
	if (*at == '!' && at + 1 < end)
		kl_buffer_add_string(to, "^:");
	for (at += *at == '!' && at + 1 < end; at < end; at++) {
		if (*at == '-')
			kl_buffer_add_char(to, '-');
		else
			add_literal(to, *at);
	}
	kl_buffer_add_char(to, ']');
	return end;
}

/*
 * Patterns of the shell as a regular expression; a port may follow the name. Only a single star
 * also matches numeric addresses of IPv6, which have colons.
 */
static void add_patterns(struct kl_buffer *to, const char *patterns)
{
	const char *end;

	if (!strcmp(patterns, "*")) {
		kl_buffer_add_string(to, "instance!=\"\"");
		return;
	}
	kl_buffer_add_string(to, "instance=~\"(");
	for (; *patterns; patterns++) {
		switch (*patterns) {
		case '*':
			kl_buffer_add_string(to, "[^:]*");
			break;
		case '?':
			kl_buffer_add_string(to, "[^:]");
			break;
		case ',':
			kl_buffer_add_char(to, '|');
			break;
		case '[':
			end = add_set(to, patterns);
			if (!end)
				add_literal(to, '[');
			patterns = end ? end : patterns;
			break;
		default:
			add_literal(to, *patterns);
		}
	}
	kl_buffer_add_string(to, ")(:[0-9]+)?\"");
}

/* An expression with its selector and window. */
static void add_expression(struct kl_buffer *to, const char *expression, const char *selector,
			   uint64_t window_ns)
{
	for (; *expression; expression++) {
		if (expression[0] == '$' && expression[1] == 'S')
			kl_buffer_add_string(to, selector);
		else if (expression[0] == '$')
			kl_buffer_printf(to, "%llums", (unsigned long long)window_ns / 1000000);
		else
			kl_buffer_add_char(to, *expression);
		expression += *expression == '$';
	}
}

static void add_query(struct cli_fleet_words *words, const char *before, const char *expression,
		      const char *after, const char *selector, uint64_t window_ns)
{
	struct kl_buffer query = {};

	kl_buffer_add_string(&query, before);
	add_expression(&query, expression, selector, window_ns);
	kl_buffer_add_string(&query, after);
	cli_fleet_add(words, "--query=%s", query.data);
	kl_buffer_deinit(&query);
}

/* Run the queries in @words, and free these. */
static int ask(const struct cli_fleet_top *top, struct cli_fleet_words *words, json_t **rows)
{
	int status;

	cli_fleet_add(words, "--prometheus=%s", top->prometheus);
	cli_fleet_add(words, "--wait=30000");
	if (top->login)
		cli_fleet_add(words, "--login-file=%s", top->login);
	if (top->ca)
		cli_fleet_add(words, "--tls-ca=%s", top->ca);
	status = cli_fleet_run("query", words, rows);
	cli_fleet_free(words);
	return status;
}

#define EACH_PROCESS "max by (instance, pid, start, name) ("

/* The figures of machines, and then what processes are sorted by, of those with most of it. */
static int ask_first(const struct cli_fleet_top *top, const char *selector, json_t **rows)
{
	struct cli_fleet_words words = { .n = 0 };
	char *before = cli_format("topk(%llu, " EACH_PROCESS, (unsigned long long)top->top);

	for (size_t i = 0; i < N_HOST_FIGURES; i++)
		add_query(&words, "", of_hosts[i].expression, "", selector, top->window_ns);
	add_query(&words, before, find_order(top->by)->expression, "))", selector, top->window_ns);
	free(before);
	return ask(top, &words, rows);
}

/* Of any process with one of these IDs; the others are left out later. */
static int ask_more(const struct cli_fleet_top *top, const char *selector, const char *pids,
		    json_t **rows)
{
	struct cli_fleet_words words = { .n = 0 };
	char *own = cli_format("%s,pid=~\"%s\"", selector, pids);

	for (size_t i = 0; i < N_PROCESS_FIGURES; i++)
		add_query(&words, EACH_PROCESS, of_processes[i].expression, ")", own,
			  top->window_ns);
	free(own);
	return ask(top, &words, rows);
}

/* --------------------------------------------------------------------- results */

/* The name of a machine: that of its instance, without a port. */
static char *host_of(const char *instance)
{
	const char *colon = strrchr(instance, ':');
	size_t length = strlen(instance);

	if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1))
		length = (size_t)(colon - instance);
	return cli_format("%.*s", (int)length, instance);
}

/* The object of a machine or process in @all, which is made if @make. */
static json_t *entry_of(json_t *all, const json_t *labels, bool process, bool make)
{
	const char *instance = cli_json_get_text(labels, "instance");
	const char *pid = cli_json_get_text(labels, "pid");
	const char *name = cli_json_get_text(labels, "name");
	char *key = process ? cli_format("%s %s %s %s", instance, pid,
					 cli_json_get_text(labels, "start"), name) :
			      cli_format("%s", instance);
	json_t *entry = json_object_get(all, key);
	char *host;

	if (!entry && make) {
		host = host_of(instance);
		entry = json_pack("{s:s, s:s}", "host", host, "instance", instance);
		free(host);
		if (process) {
			json_object_set_new(entry, "pid", json_integer(strtoll(pid, NULL, 10)));
			json_object_set_new(entry, "name", json_string(name));
		}
		json_object_set_new(all, key, entry);
	}
	free(key);
	return entry;
}

/* Put samples into objects. @first: number of the first query. */
static void take_samples(json_t *all, const json_t *rows, const struct figure *figures,
			 size_t n_figures, size_t first, bool process, bool make)
{
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		uint64_t query = cli_json_get_number(row, "query");
		json_t *entry;

		if (query < first || query >= first + n_figures)
			continue;
		entry = entry_of(all, json_object_get(row, "labels"), process, make);
		if (entry)
			json_object_set(entry, figures[query - first].key,
					json_object_get(row, "value"));
	}
}

static double number_of(const json_t *entry, const char *key)
{
	return json_number_value(json_object_get(entry, key));
}

static double load_of(const json_t *host)
{
	double cpus = number_of(host, "cpus");

	return cpus > 0 ? number_of(host, "cpu") / cpus : 0;
}

static const char *sort_key;

static int compare_processes(const void *a, const void *b)
{
	double one = number_of(*(json_t *const *)a, sort_key);
	double other = number_of(*(json_t *const *)b, sort_key);

	return one < other ? 1 : one > other ? -1 : 0;
}

static int compare_hosts(const void *a, const void *b)
{
	double one = load_of(*(json_t *const *)a), other = load_of(*(json_t *const *)b);

	return one < other ? 1 : one > other ? -1 : 0;
}

/* The values of an object as an array. Releases the object. */
static json_t *values_of(json_t *all)
{
	json_t *values = json_array(), *value;
	const char *key;

	json_object_foreach(all, key, value)
	{
		json_array_append(values, value);
	}
	json_decref(all);
	return values;
}

/* --------------------------------------------------------------------- printing */

static const char *clean(const json_t *entry, const char *key)
{
	const char *text = cli_json_get_text(entry, key);

	return cli_clean_text(text, strlen(text));
}

static void add_bytes(struct cli_table *table, const json_t *entry, const char *key)
{
	double value = number_of(entry, key);
	char text[CLI_NUMBER_MAX];

	if (!json_object_get(entry, key))
		cli_table_add(table, "-");
	else
		cli_table_add(table, "%s",
			      cli_print_bytes(text,
					      value > 0 && value < 1e18 ? (uint64_t)value : 0));
}

static void add_number(struct cli_table *table, const json_t *entry, const char *key)
{
	if (!json_object_get(entry, key))
		cli_table_add(table, "-");
	else
		cli_table_add(table, "%.0f", number_of(entry, key));
}

/* Of one CPU, or of all. */
static void add_percent(struct cli_table *table, const json_t *entry, const char *key, double most)
{
	if (!json_object_get(entry, key) || !(most > 0))
		cli_table_add(table, "-");
	else
		cli_table_add(table, "%.1f %%", 100 * number_of(entry, key) / most);
}

static void print_hosts(const json_t *hosts)
{
	struct cli_table *table = cli_table_create(
		"HOST|>CPU|>CPUS|>RUNNABLE|>MEMORY|>OF|>READ/s|>WRITTEN/s|>ALARMS|>LOST|STATE");

	for (size_t i = 0; i < json_array_size(hosts); i++) {
		const json_t *host = json_array_get(hosts, i);

		cli_table_add(table, "%s", clean(host, "host"));
		add_percent(table, host, "cpu", number_of(host, "cpus"));
		add_number(table, host, "cpus");
		add_number(table, host, "runnable");
		add_bytes(table, host, "memory_used_bytes");
		add_bytes(table, host, "memory_bytes");
		add_bytes(table, host, "read_bytes_per_second");
		add_bytes(table, host, "written_bytes_per_second");
		add_number(table, host, "alarms");
		add_number(table, host, "lost_records");
		cli_table_add(table, "%s", number_of(host, "up") > 0 ? "up" : "cannot be scraped");
	}
	cli_table_print(table, stdout, 0);
}

static void print_processes(const json_t *processes)
{
	struct cli_table *table =
		cli_table_create("HOST|>PID|NAME|>CPU|>WAITS FOR CPU|>MEMORY|>READ/s|>WRITTEN/s");

	for (size_t i = 0; i < json_array_size(processes); i++) {
		const json_t *process = json_array_get(processes, i);

		cli_table_add(table, "%s", clean(process, "host"));
		cli_table_add(table, "%llu",
			      (unsigned long long)cli_json_get_number(process, "pid"));
		cli_table_add(table, "%s", clean(process, "name"));
		add_percent(table, process, "cpu", 1);
		add_percent(table, process, "cpu_wait", 1);
		add_bytes(table, process, "memory_bytes");
		add_bytes(table, process, "read_bytes_per_second");
		add_bytes(table, process, "written_bytes_per_second");
	}
	cli_table_print(table, stdout, 0);
}

static int print(const struct cli_fleet_top *top, json_t *hosts, json_t *processes)
{
	if (cli_settings.json)
		return cli_json_write(json_pack("{s:f, s:O, s:O}", "window_seconds",
						(double)top->window_ns / 1e9, "hosts", hosts,
						"processes", processes));
	if (!json_array_size(hosts))
		return cli_error(-ENOENT, "Prometheus has no figures of kernlens serve%s",
				 strcmp(top->hosts, "*") ? " of such hosts" : "");
	print_hosts(hosts);
	if (json_array_size(processes)) {
		putchar('\n');
		print_processes(processes);
	}
	return cli_finish_output();
}

static char *list_pids(const json_t *processes)
{
	struct kl_buffer list = {};
	const json_t *process;
	char *text;
	const char *key;

	json_object_foreach((json_t *)processes, key, process)
	{
		kl_buffer_printf(&list, "%s%llu", list.length ? "|" : "",
				 (unsigned long long)cli_json_get_number(process, "pid"));
	}
	text = cli_format("%s", list.data ? list.data : "");
	kl_buffer_deinit(&list);
	return text;
}

int cli_fleet_print_top(const struct cli_fleet_top *top)
{
	json_t *hosts = json_object(), *processes = json_object(), *rows = NULL, *more = NULL;
	struct kl_buffer selector = {};
	char *pids;
	int status;

	add_patterns(&selector, top->hosts);
	status = ask_first(top, selector.data, &rows);
	take_samples(hosts, rows, of_hosts, N_HOST_FIGURES, 0, false, true);
	sort_key = find_order(top->by)->key;
	take_samples(processes, rows, find_order(top->by), 1, N_HOST_FIGURES, true, true);
	pids = list_pids(processes);
	if (!status && *pids)
		status = ask_more(top, selector.data, pids, &more);
	take_samples(processes, more, of_processes, N_PROCESS_FIGURES, 0, true, false);
	hosts = cli_fleet_sort(values_of(hosts), compare_hosts);
	processes = cli_fleet_sort(values_of(processes), compare_processes);
	if (!status)
		status = print(top, hosts, processes);
	json_decref(hosts);
	json_decref(processes);
	json_decref(rows);
	json_decref(more);
	kl_buffer_deinit(&selector);
	free(pids);
	return status;
}
