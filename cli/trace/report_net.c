// SPDX-License-Identifier: GPL-2.0
/* kernlens report net: TCP connections, packets and queues of devices, dropped packets. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "analysis.h"

static const struct cli_column connection_columns[] = {
	{ "process", NULL, CLI_CELL_TEXT },
	{ NULL, "tid", CLI_CELL_ID },
	{ NULL, "comm", CLI_CELL_TEXT },
	{ "local", "local", CLI_CELL_TEXT },
	{ NULL, "local_port", CLI_CELL_ID },
	{ "", "direction", CLI_CELL_TEXT },
	{ "remote", "remote", CLI_CELL_TEXT },
	{ NULL, "remote_port", CLI_CELL_ID },
	{ "begin", "begin_ns", CLI_CELL_TIME },
	{ "connected in", "connect_ns", CLI_CELL_NS },
	{ "lasted", "lifetime_ns", CLI_CELL_NS },
	{ "sent", "sent", CLI_CELL_BYTES },
	{ "received", "received", CLI_CELL_BYTES },
	{ "retransmits", "retransmits", CLI_CELL_COUNT },
	{ "resets", "resets", CLI_CELL_COUNT },
};

static const struct cli_column device_columns[] = {
	{ "device", "device", CLI_CELL_TEXT },
	{ "sent", "sent", CLI_CELL_COUNT },
	{ "size", "sent_bytes", CLI_CELL_BYTES },
	{ "refused", "refused", CLI_CELL_COUNT },
	{ NULL, "queued", CLI_CELL_COUNT },
	{ "queue", "queue_mean_ns", CLI_CELL_NS },
	{ NULL, "queue_p50_ns", CLI_CELL_NS },
	{ "99%", "queue_p99_ns", CLI_CELL_NS },
	{ "worst", "queue_max_ns", CLI_CELL_NS },
	{ "received", "received", CLI_CELL_COUNT },
	{ "size", "received_bytes", CLI_CELL_BYTES },
	{ NULL, "backlogged", CLI_CELL_COUNT },
	{ "backlog", "backlog_mean_ns", CLI_CELL_NS },
	{ NULL, "backlog_p50_ns", CLI_CELL_NS },
	{ "99%", "backlog_p99_ns", CLI_CELL_NS },
	{ "worst", "backlog_max_ns", CLI_CELL_NS },
	{ NULL, "timeouts", CLI_CELL_COUNT },
};

static const struct cli_column drop_columns[] = {
	{ "packets", "count", CLI_CELL_COUNT }, { "dropped in", "location", CLI_CELL_TEXT },
	{ "reason", "reason", CLI_CELL_ID },	{ "first", "first_ns", CLI_CELL_TIME },
	{ "last", "last_ns", CLI_CELL_TIME },
};

static void add_end(struct cli_rows *rows, uint16_t family, const struct kl_net_end *end)
{
	char text[INET6_ADDRSTRLEN] = "?", *both;

	inet_ntop(family, end->address, text, sizeof(text));
	both = cli_format(family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, end->port);
	cli_rows_add_text(rows, both);
	cli_rows_add_number(rows, end->port);
	free(both);
}

static void add_ns(struct cli_rows *rows, uint64_t begin_ns, uint64_t end_ns)
{
	cli_rows_add_optional(rows, begin_ns && end_ns, end_ns > begin_ns ? end_ns - begin_ns : 0);
}

/* @known: sizes are */
static void add_connection(struct cli_rows *rows, const struct kl_net_connection *is, bool known)
{
	cli_rows_add_task(rows, &is->task, "-");
	add_end(rows, is->family, &is->local);
	cli_rows_add_text(rows, is->active ? "->" : is->begin_ns ? "<-" : "--");
	add_end(rows, is->family, &is->remote);
	cli_rows_add_optional(rows, is->begin_ns, is->begin_ns);
	add_ns(rows, is->active ? is->begin_ns : 0, is->established_ns);
	add_ns(rows, is->begin_ns, is->end_ns);
	cli_rows_add_optional(rows, known, is->sent);
	cli_rows_add_optional(rows, known, is->received);
	cli_rows_add_number(rows, is->retransmits);
	cli_rows_add_number(rows, is->resets);
}

static void add_device(struct cli_rows *rows, const struct kl_net_device *device)
{
	cli_rows_add_text(rows, device->name);
	cli_rows_add_number(rows, device->sent);
	cli_rows_add_number(rows, device->sent_bytes);
	cli_rows_add_number(rows, device->refused);
	cli_rows_add_number(rows, device->queue.n);
	cli_rows_add_spread(rows, &device->queue);
	cli_rows_add_number(rows, device->received);
	cli_rows_add_number(rows, device->received_bytes);
	cli_rows_add_number(rows, device->backlog.n);
	cli_rows_add_spread(rows, &device->backlog);
	cli_rows_add_number(rows, device->timeouts);
}

static void add_drop(struct cli_analysis *a, struct cli_rows *rows, const struct kl_net_drop *drop)
{
	const struct kl_address *place =
		kl_addresses_get(kl_schema_addresses(kl_trace_schema(a->trace)), drop->location);
	struct kl_buffer text = {};

	if (place)
		kl_print_address(&text, place);
	else
		kl_buffer_printf(&text, "0x%llx", (unsigned long long)drop->location);
	kl_buffer_add_char(&text, 0);
	cli_rows_add_number(rows, drop->n);
	cli_rows_add_text(rows, text.error ? "?" : text.data);
	cli_rows_add_number(rows, drop->reason);
	cli_rows_add_number(rows, drop->first_ns);
	cli_rows_add_number(rows, drop->last_ns);
	kl_buffer_deinit(&text);
}

static void summarize(struct cli_analysis *a, const struct kl_net_totals *totals)
{
	char count[CLI_NUMBER_MAX];

	kl_buffer_printf(&a->summary, "%s TCP connection%s",
			 cli_print_count(count, totals->connections),
			 totals->connections == 1 ? "" : "s");
	if (totals->connect.n) {
		kl_buffer_add_string(&a->summary, ", established in: ");
		cli_analysis_print_spread(a, &totals->connect);
	}
	kl_buffer_add_char(&a->summary, '\n');
	cli_analysis_print_if(a, totals->retransmits, "segments retransmitted");
	cli_analysis_print_if(a, totals->synack_retransmits, "SYN-ACKs retransmitted");
	cli_analysis_print_if(a, totals->resets_sent, "resets sent");
	cli_analysis_print_if(a, totals->resets_received, "resets received");
	cli_analysis_print_if(a, totals->bad_checksums, "segments with a bad checksum");
	cli_analysis_print_if(a, totals->full, "packets for sockets whose queue was full");
	cli_analysis_print_if(a, totals->limits, "times that sockets exceeded their memory");
	cli_analysis_print_if(a, totals->drops, "packets dropped");
	cli_analysis_print_if(a, totals->omitted, "connections are not listed");
	if (a->partial)
		kl_buffer_add_string(&a->summary, "The session did not record all tasks: packets "
						  "that came while others ran are missing\n");
	cli_analysis_print_gaps(a, 0, totals->dropped, totals->gaps);
}

static json_t *json_totals(const struct kl_net_totals *t)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "connections_total", (json_int_t)t->connections, "retransmits",
			 (json_int_t)t->retransmits, "synack_retransmits",
			 (json_int_t)t->synack_retransmits, "resets_sent",
			 (json_int_t)t->resets_sent, "resets_received",
			 (json_int_t)t->resets_received, "bad_checksums",
			 (json_int_t)t->bad_checksums, "queue_full", (json_int_t)t->full, "limits",
			 (json_int_t)t->limits, "packets_dropped", (json_int_t)t->drops, "omitted",
			 (json_int_t)t->omitted, "dropped", (json_int_t)t->dropped, "gaps",
			 (json_int_t)t->gaps);
}

static int fill(struct cli_analysis *a, void *report)
{
	const struct kl_net_totals *totals = kl_net_report_totals(report);
	const struct kl_net_connection *connection;
	const struct kl_net_device *device;
	const struct kl_net_drop *drop;
	struct cli_rows *rows;
	size_t n;

	summarize(a, totals);
	connection = kl_net_report_connections(report, &n);
	rows = cli_analysis_section(a, "connections", connection_columns,
				    CLI_COUNT(connection_columns), "TCP connections, by end");
	for (size_t i = 0; i < n; i++)
		add_connection(rows, &connection[i], totals->lengths);
	device = kl_net_report_devices(report, &n);
	rows = cli_analysis_section(a, "devices", device_columns, CLI_COUNT(device_columns),
				    "Devices");
	for (size_t i = 0; i < n; i++)
		add_device(rows, &device[i]);
	drop = kl_net_report_drops(report, &n);
	rows = cli_analysis_section(a, "drops", drop_columns, CLI_COUNT(drop_columns),
				    "Dropped packets");
	for (size_t i = 0; i < n; i++)
		add_drop(a, rows, &drop[i]);
	cli_analysis_histogram(a, "connect", cli_analysis_times, &totals->connect, NULL,
			       "Connections, by time to be established");
	cli_analysis_histogram(a, "lifetimes", cli_analysis_times, &totals->lifetime, NULL,
			       "Connections, by time from begin to end");
	a->json = json_totals(totals);
	return CLI_OK;
}

CLI_ANALYSIS_FUNCTIONS(net)

static void *create(const struct cli_analysis *a)
{
	return kl_net_report_create(kl_trace_schema(a->trace), (int32_t)a->pid);
}

static int finish(void *report, const struct cli_analysis *a)
{
	(void)a;
	return kl_net_report_finish(report);
}

const struct cli_analysis_ops cli_analysis_net = {
	.name = "net",
	.events = "net",
	.finish = finish,
	CLI_ANALYSIS_OWN_FUNCTIONS,
};
