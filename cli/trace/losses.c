// SPDX-License-Identifier: GPL-2.0
/* What is missing from a recorded trace: sums of the losses, and what is not known. */
#include "../base/common.h"
#include "../base/output.h"
#include "losses.h"

/* A BER file is converted from a trace directory: it has the losses, but no manifest. */
static bool is_directory(const struct kl_trace *trace)
{
	return kl_trace_state(trace)->streams || kl_trace_state(trace)->manifest;
}

static bool is_uncertain(const struct kl_trace *trace)
{
	const struct kl_trace_state *state = kl_trace_state(trace);

	return is_directory(trace) &&
	       (!state->manifest || !state->finished || state->manifest_damaged);
}

static bool has_losses(const struct kl_trace_counts *c)
{
	return c->discarded | c->overwritten | c->corrupt | c->cut_bytes | c->damaged |
	       c->unstored | c->unseen;
}

bool cli_losses_any(const struct kl_trace *trace)
{
	const struct kl_trace_counts *counts = kl_trace_counted(trace);

	return has_losses(counts) || counts->before || is_uncertain(trace) ||
	       kl_trace_state(trace)->streams_missing;
}

static void print_if(FILE *file, uint64_t number, const char *what)
{
	char text[CLI_NUMBER_MAX];

	if (number)
		fprintf(file, ", %s %s", cli_print_count(text, number), what);
}

void cli_losses_print(const struct kl_trace *trace, FILE *file)
{
	const struct kl_trace_counts *c = kl_trace_counted(trace);
	const char *style = has_losses(c) ? cli_style(file, CLI_RED) : "";
	char number[2][CLI_NUMBER_MAX];

	fprintf(file, "%s%s discarded because buffers were full, %s overwritten", style,
		cli_print_count(number[0], c->discarded),
		cli_print_count(number[1], c->overwritten));
	print_if(file, c->unstored, "read but not stored");
	print_if(file, c->unseen, "missed by their sources");
	print_if(file, c->damaged, "in damaged or missing blocks");
	fputs(*style ? cli_style(file, CLI_PLAIN) : "", file);
	print_if(file, c->before, "before the trace's start");
	print_if(file, c->corrupt + !!c->cut_bytes, "blocks damaged or missing");
	print_if(file, kl_trace_state(trace)->streams_missing, "CPUs' files missing");
}

void cli_losses_explain(const struct kl_trace *trace)
{
	const struct kl_trace_state *state = kl_trace_state(trace);
	char number[CLI_NUMBER_MAX];

	if (!is_directory(trace))
		return;
	if (state->manifest_damaged)
		cli_note("the trace's manifest is damaged (%s entries); more records may be "
			 "missing",
			 cli_print_count(number, state->manifest_damaged));
	else if (!state->manifest)
		cli_note("the trace has no manifest: records missing at the ends of its files "
			 "cannot be detected");
	if (state->manifest && !state->finished)
		cli_note("the recorder did not finish this trace: the number of records not yet "
			 "stored is unknown");
}

void cli_losses_warn(const struct kl_trace *trace)
{
	if (!cli_losses_any(trace))
		return;
	fputs("kernlens: missing from this trace: ", stderr);
	cli_losses_print(trace, stderr);
	fputc('\n', stderr);
	cli_losses_explain(trace);
}

json_t *cli_losses_json(const struct kl_trace *trace)
{
	const struct kl_trace_counts *c = kl_trace_counted(trace);
	const struct kl_trace_state *state = kl_trace_state(trace);

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:b, s:b, s:I}",
			 "discarded", (json_int_t)c->discarded, "overwritten",
			 (json_int_t)c->overwritten, "before", (json_int_t)c->before,
			 "corrupt_blocks", (json_int_t)c->corrupt, "damaged",
			 (json_int_t)c->damaged, "cut_bytes", (json_int_t)c->cut_bytes, "unstored",
			 (json_int_t)c->unstored, "unseen", (json_int_t)c->unseen, "missing_files",
			 (int)state->streams_missing, "manifest", state->manifest, "finished",
			 state->finished, "manifest_damaged", (json_int_t)state->manifest_damaged);
}
