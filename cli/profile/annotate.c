// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens profile --annotate: the basic blocks of a function, with the samples in each. The code
 * is that of the running kernel, or of the program's file as it is now, if it is the one of the
 * trace.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "../block/page.h"
#include "../block/print.h"
#include "annotate.h"

/**
 * struct annotated - functions being printed
 * @counts: execution counts, or NULL
 * @kernel: the kernel's blocks; NULL: not opened yet
 * @list: of functions, for JSON
 */
struct annotated {
	const struct cli_profile *report;
	const struct cli_annotation *of;
	json_t *counts;
	struct kl_symbols *symbols;
	struct kl_blocks *kernel;
	struct kl_source *lines;
	json_t *list;
	struct kl_buffer text;
};

/**
 * struct body - one function
 * @code: where the samples are
 * @shift: bytes from the start of @graph to that of @code: a symbol may be inside a function
 * @place: samples by block; after the last block: where no block is
 * @json: the function, with counts
 */
struct body {
	const struct kl_profile_code *code;
	const struct kl_blocks *blocks;
	struct kl_block_graph graph;
	struct cli_source source;
	const char *program;
	uint64_t shift;
	struct kl_profile_place *place;
	json_t *json;
};

/* -------------------------------------------------------------------- code */

static int open_kernel(struct annotated *a)
{
	if (a->lines)
		return 0;
	cli_busy("reading the kernel's code");
	a->symbols = kl_symbols_open(NULL);
	if (a->symbols)
		a->kernel = kl_blocks_open(NULL, a->symbols);
	if (a->kernel)
		a->lines = kl_source_open(a->kernel, true, NULL);
	cli_busy(NULL);
	return a->lines ? 0 : -errno;
}

/*
 * The address of a kernel function now. After another boot of the same kernel, it is elsewhere, and
 * found if it has a name of its own.
 */
static int find_address(const struct annotated *a, const struct kl_profile_code *code,
			uint64_t *address)
{
	const struct kl_trace_info *about = a->of->about;
	char *name = cli_format("%s:%s", code->object ?: "kernel", code->symbol);
	struct kl_trace_info now;
	struct kl_symbol symbol;
	unsigned int n = kl_symbols_lookup(a->symbols, name, &symbol);

	free(name);
	kl_trace_info_init(&now);
	*address = code->start;
	if (!strcmp(now.boot_id, about->boot_id))
		return 0;
	if (strcmp(now.kernel_release, about->kernel_release) ||
	    strcmp(now.kernel_version, about->kernel_version))
		return cli_error(-EINVAL, "the samples are of another kernel: %s",
				 about->kernel_release);
	if (n != 1)
		return cli_error(-ENOENT,
				 "%s: which of %u functions it was at another boot is unknown",
				 code->symbol, n);
	*address = symbol.address;
	return 0;
}

static int read_kernel(struct annotated *a, struct body *body)
{
	uint64_t address;
	int error = open_kernel(a);
	long index;

	if (error)
		return cli_library_error(error, NULL);
	if (body->code->object)
		error = kl_blocks_add_module(a->kernel, body->code->object);
	if (error)
		return cli_library_error(error, NULL);
	if (find_address(a, body->code, &address))
		return CLI_FAILED;
	index = kl_blocks_find(a->kernel, address);
	error = index < 0 ? (int)index : kl_blocks_graph(a->kernel, (size_t)index, &body->graph);
	if (error)
		return cli_library_error(error, NULL);
	body->blocks = a->kernel;
	body->source.kernel = a->lines;
	body->shift = address - body->graph.function.address;
	return CLI_OK;
}

static int read_program(struct kl_program *program, struct body *body)
{
	const struct kl_profile_code *code = body->code;
	const char *build_id = kl_program_build_id(program);
	uint64_t start;
	int error;
	long index;

	if (code->build_id && (!build_id || strcmp(code->build_id, build_id)))
		return cli_error(-EINVAL, "%s is not the file that the samples are of",
				 code->object);
	body->blocks = kl_program_blocks(program);
	body->program = code->object;
	body->source.program = program;
	index = kl_program_find(program, code->start);
	error = index < 0 ?
			(int)index :
			kl_blocks_graph(kl_program_blocks(program), (size_t)index, &body->graph);
	if (!error)
		error = kl_program_offset(program, body->graph.function.address, &start);
	if (error)
		return cli_library_error(error, NULL);
	body->shift = code->start - start;
	return CLI_OK;
}

/* ----------------------------------------------------------------- samples */

/* The index of the block at an offset of the function's code, or the number of blocks. */
static size_t block_at(const void *context, uint64_t offset)
{
	const struct body *body = context;
	const struct kl_block_graph *g = &body->graph;
	size_t low = 0, high = g->blocks;

	offset += body->shift;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (g->block[middle].begin <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || offset - g->block[low - 1].begin >= g->block[low - 1].bytes)
		return g->blocks;
	return low - 1;
}

/* Samples at an instruction; NULL: none. */
static const struct kl_profile_place *place_at(const struct body *body,
					       const struct kl_block_instruction *in)
{
	for (size_t i = 0; i < body->code->n; i++)
		if (body->code->place[i].offset + body->shift == in->offset)
			return &body->code->place[i];
	return NULL;
}

static void add_samples(const struct kl_profile_place *place, json_t *row)
{
	json_object_set_new(row, "self", json_integer((json_int_t)place->self));
	json_object_set_new(row, "total", json_integer((json_int_t)place->total));
}

/* The function as JSON, with samples and counts. */
static void describe(const struct annotated *a, struct body *body)
{
	static const struct kl_profile_place none;
	const struct cli_block_listing listing = {
		.blocks = body->blocks,
		.graph = &body->graph,
		.name = body->code->symbol,
		.program = body->program,
		.source = &body->source,
	};
	json_t *function = cli_block_json(&listing, a->of->instructions), *rows, *row, *list, *in;
	size_t i, k;

	rows = json_object_get(function, "blocks");
	json_array_foreach(rows, i, row)
	{
		const struct kl_block *block = &body->graph.block[i];

		add_samples(&body->place[i], row);
		list = json_object_get(row, "instructions");
		json_array_foreach(list, k, in)
		{
			add_samples(place_at(body, &body->graph.instruction[block->first + k]) ?:
					    &none,
				    in);
		}
	}
	json_object_set_new(function, "self", json_integer((json_int_t)body->code->self));
	json_object_set_new(function, "total", json_integer((json_int_t)body->code->total));
	json_object_set_new(function, "elsewhere",
			    json_integer((json_int_t)body->place[body->graph.blocks].self));
	body->json = json_pack("[o]", function);
	if (a->counts && !cli_page_count(body->json, a->counts))
		cli_note("%s: no counts of %s", a->of->counts, body->code->symbol);
}

/* -------------------------------------------------------------------- text */

/* A share of the function's samples, or nothing. */
static const char *share(char text[CLI_NUMBER_MAX], uint64_t part, uint64_t all)
{
	*text = 0;
	if (part)
		snprintf(text, CLI_NUMBER_MAX, "%.2f%%", 100.0 * (double)part / (double)all);
	return text;
}

static void print_samples(const struct body *body, const struct kl_profile_place *place,
			  struct kl_buffer *text)
{
	char self[CLI_NUMBER_MAX], total[CLI_NUMBER_MAX], number[CLI_NUMBER_MAX] = "";

	if (place->self)
		cli_print_count(number, place->self);
	kl_buffer_printf(text, "%7s %7s %9s", share(self, place->self, body->code->self),
			 share(total, place->total, body->code->total), number);
}

static void print_instructions(struct annotated *a, const struct body *body,
			       const struct kl_block *block)
{
	static const struct kl_profile_place none;

	for (uint32_t i = block->first; i < block->first + block->n; i++) {
		const struct kl_block_instruction *in = &body->graph.instruction[i];

		print_samples(body, place_at(body, in) ?: &none, &a->text);
		kl_buffer_printf(&a->text, "  %*s  +0x%-5x   ", a->counts ? 22 : 6, "", in->offset);
		kl_block_print_instruction(body->blocks, &body->graph, i, &a->text);
		kl_buffer_add_char(&a->text, '\n');
	}
}

static void print_count(struct annotated *a, const json_t *row)
{
	const json_t *count = json_object_get(row, "count");
	char number[CLI_NUMBER_MAX] = "-";

	if (!a->counts)
		return;
	if (count)
		cli_print_count(number, (uint64_t)json_integer_value(count));
	kl_buffer_printf(&a->text, " %15s", number);
}

static void print_blocks(struct annotated *a, const struct body *body)
{
	const struct kl_block_graph *g = &body->graph;
	const json_t *rows = json_object_get(json_array_get(body->json, 0), "blocks");
	char next[CLI_BLOCK_WORD_MAX], taken[CLI_BLOCK_WORD_MAX], where[CLI_SOURCE_MAX];

	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block *block = &g->block[i];

		print_samples(body, &body->place[i], &a->text);
		print_count(a, json_array_get(rows, i));
		kl_buffer_printf(&a->text, "  %6u  +0x%-5x %5u %5u  %-6s  %5s %5s %s\n", i,
				 block->begin, block->bytes, block->n,
				 kl_block_end_name(block->end), cli_block_word(block->next, next),
				 cli_block_taken(g, i, taken),
				 cli_source_text(&body->source, block, where));
		if (a->of->instructions)
			print_instructions(a, body, block);
	}
	if (body->place[g->blocks].total) {
		print_samples(body, &body->place[g->blocks], &a->text);
		kl_buffer_add_string(&a->text, "  where no block is\n");
	}
}

static void print_body(struct annotated *a, const struct body *body)
{
	const struct kl_profile_code *code = body->code;
	uint64_t all = kl_profile_counts(a->report->profile)->samples;
	char number[2][CLI_NUMBER_MAX];

	if (body->program)
		kl_buffer_printf(&a->text, "%s:", body->program);
	cli_print_function(&body->graph, code->name ?: code->symbol, "cannot be instrumented",
			   &a->text);
	kl_buffer_printf(
		&a->text,
		"self: %s samples, %.2f%% of all; total, with what it calls: %s, %.2f%%\n\n",
		cli_print_count(number[0], code->self), 100.0 * (double)code->self / (double)all,
		cli_print_count(number[1], code->total), 100.0 * (double)code->total / (double)all);
	kl_buffer_printf(&a->text, "%7s %7s %9s", "self", "total", "samples");
	if (a->counts)
		kl_buffer_printf(&a->text, " %15s", "count");
	kl_buffer_printf(&a->text, "  %6s  %-8s %5s %5s  %-6s  %5s %5s %s\n", "block", "offset",
			 "bytes", "instr", "ends", "next", "taken",
			 body->source.graph ? " source" : "");
	print_blocks(a, body);
	kl_buffer_add_char(&a->text, '\n');
}

/* --------------------------------------------------------------- functions */

static int annotate_graph(struct annotated *a, struct body *body)
{
	size_t groups = body->graph.blocks + 1u;
	int error;

	body->place = cli_alloc(groups * sizeof(*body->place));
	error = kl_profile_code_groups(a->report->profile, body->code, block_at, body, body->place,
				       groups);
	if (error)
		return cli_library_error(error, NULL);
	cli_source_read(&body->source, &body->graph);
	describe(a, body);
	if (a->list)
		json_array_append(a->list, json_array_get(body->json, 0));
	else
		print_body(a, body);
	return CLI_OK;
}

static int annotate_code(struct annotated *a, const struct kl_profile_code *code)
{
	struct body body = { .code = code };
	struct kl_program *program = NULL;
	int status;

	if (code->kernel) {
		status = read_kernel(a, &body);
	} else {
		program = kl_program_open(code->object);
		status = program ? read_program(program, &body) : cli_library_error(-errno, NULL);
	}
	if (!status)
		status = annotate_graph(a, &body);
	json_decref(body.json);
	free(body.place);
	cli_source_deinit(&body.source);
	kl_block_graph_free(&body.graph);
	kl_program_close(program);
	return status;
}

static int write_result(struct annotated *a, FILE *file)
{
	if (!a->list)
		return cli_write_buffer(&a->text, file) ? CLI_OK : CLI_FAILED;
	return cli_json_write(json_pack("{s:I, s:O}", "samples",
					(json_int_t)kl_profile_counts(a->report->profile)->samples,
					"functions", a->list));
}

int cli_profile_annotate(const struct cli_profile *report, const struct cli_annotation *annotation,
			 FILE *file)
{
	struct annotated a = { .report = report, .of = annotation };
	struct kl_profile_code *code;
	size_t n = 0;
	int status = CLI_OK;

	if (annotation->counts) {
		a.counts = cli_page_counts_load(annotation->counts);
		if (!a.counts)
			return CLI_FAILED;
	}
	if (cli_settings.json)
		a.list = json_array();
	code = kl_profile_code(report->profile, annotation->function, &n);
	if (!code)
		status = cli_library_error(-errno, NULL);
	for (size_t i = 0; !status && i < n; i++)
		status = annotate_code(&a, &code[i]);
	if (!status)
		status = write_result(&a, file);
	kl_profile_code_free(code, n);
	json_decref(a.counts);
	json_decref(a.list);
	kl_buffer_deinit(&a.text);
	kl_source_close(a.lines);
	kl_blocks_close(a.kernel);
	kl_symbols_close(a.symbols);
	return status;
}
