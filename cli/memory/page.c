// SPDX-License-Identifier: GPL-2.0
/*
 * The page about the memory of a process: its mappings and pages, where they are in physical
 * memory, their history, and which code made it grow, as far as each is known.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../view/page/memory.h"
#include "../base/cli.h"
#include "../base/common.h"
#include "../base/html.h"
#include "memory.h"

/* A page with more would be too slow to open; it says that they are missing. */
#define RUNS_MAX 500000
#define RANGES_MAX 200000
#define TRACKS_MAX 200 /* mappings over time: those that have changed most */

/* [page, pages, flags], and of pages in RAM [..., mappings, node, zone, orders, frame]. */
static json_t *run_json(const struct kl_abi_detail_pages *run)
{
	json_t *to = json_pack("[I, I, I]", (json_int_t)(run->start / KL_DETAIL_PAGE_BYTES),
			       (json_int_t)run->pages, (json_int_t)run->flags);

	if (!kl_page_run_is_in_ram(run))
		return to;
	json_array_append_new(to, json_integer(run->mapcount));
	json_array_append_new(to, json_integer(run->node));
	json_array_append_new(to, json_integer(run->zone));
	json_array_append_new(to, json_integer(run->map_order));
	json_array_append_new(to, json_integer(run->folio_order));
	if (run->frame)
		json_array_append_new(to, json_integer((json_int_t)run->frame));
	return to;
}

/* Which runs belong to each mapping; addresses as numbers of pages, which JavaScript can store. */
static void add_runs(json_t *document, const struct kl_memory *memory)
{
	json_t *mappings = json_object_get(document, "mappings"), *runs = json_array();
	size_t n = memory->runs.n < RUNS_MAX ? memory->runs.n : RUNS_MAX;

	for (size_t i = 0; i < memory->n; i++) {
		const struct kl_memory_mapping *mapping = &memory->mapping[i];
		const struct kl_abi_detail_map *map = &mapping->entry->map;
		json_t *to = json_array_get(mappings, i);

		json_object_set_new(to, "page",
				    json_integer((json_int_t)(map->start / KL_DETAIL_PAGE_BYTES)));
		json_object_set_new(to, "pages",
				    json_integer((json_int_t)((map->end - map->start) /
							      KL_DETAIL_PAGE_BYTES)));
		json_object_set_new(to, "first", json_integer((json_int_t)mapping->first));
		json_object_set_new(to, "last", json_integer((json_int_t)mapping->end));
	}
	for (size_t i = 0; i < n; i++)
		json_array_append_new(runs, run_json(&memory->runs.run[i]));
	json_object_set_new(document, "runs", runs);
	json_object_set_new(document, "left_out", json_integer((json_int_t)(memory->runs.n - n)));
}

static json_t *zone_names_json(void)
{
	json_t *to = json_array();

	for (uint32_t i = 0; i < KL_MEMORY_ZONES; i++)
		json_array_append_new(to, json_string(kl_memory_zone_name(i)));
	return to;
}

static int add_ranges(json_t *document, const struct kl_memory *memory, uint32_t what)
{
	struct kl_page_range *range;
	json_t *to = json_array();
	size_t n;

	json_object_set_new(document, "ranges", what == KL_DETAIL_FRAMES ? to : json_null());
	if (what != KL_DETAIL_FRAMES) {
		json_decref(to);
		return CLI_OK;
	}
	range = kl_page_ranges(&memory->runs, &n);
	if (!range)
		return cli_library_error(-errno, NULL);
	for (size_t i = 0; i < n && i < RANGES_MAX; i++)
		json_array_append_new(to, json_pack("[I, I, i, i]", (json_int_t)range[i].frame,
						    (json_int_t)range[i].pages, (int)range[i].node,
						    (int)range[i].zone));
	json_object_set_new(document, "n_ranges", json_integer((json_int_t)n));
	free(range);
	return CLI_OK;
}

static json_t *process_json(const struct cli_memory *m, const struct cli_memory_walk *walk)
{
	json_t *document = cli_memory_sums_json(m, &walk->last);
	json_t *sharers = m->sharers && !walk->has_ended ? cli_memory_sharers_json(m) : NULL;

	add_runs(document, &walk->last);
	json_object_set_new(document, "states", cli_memory_states_json());
	json_object_set_new(document, "zone_names", zone_names_json());
	json_object_set_new(document, "has_ended", json_boolean(walk->has_ended));
	json_object_set_new(document, "sharers", sharers ? sharers : json_null());
	if (!add_ranges(document, &walk->last, walk->what))
		return document;
	json_decref(document);
	return NULL;
}

/* ------------------------------------------------------------------- history */

static json_t *points_json(const struct kl_memory_history *h)
{
	json_t *to = json_array();

	for (unsigned int i = 0; i < h->n; i++) {
		const struct kl_memory_point *p = &h->point[i];

		json_array_append_new(
			to,
			json_pack("[I, I, I, I, I, I, I, I, I, I]", (json_int_t)p->time_ns,
				  (json_int_t)p->rss, (json_int_t)p->pss, (json_int_t)p->swap,
				  (json_int_t)p->hugetlb, (json_int_t)p->change.arrived,
				  (json_int_t)p->change.gone, (json_int_t)p->change.swapped_out,
				  (json_int_t)p->change.swapped_in, (json_int_t)p->change.written));
	}
	return to;
}

/* How much the memory of a mapping has varied. */
struct varied {
	const struct kl_memory_track *track;
	uint64_t range;
};

static int by_range(const void *a, const void *b)
{
	const struct varied *x = a, *y = b;

	if (x->range != y->range)
		return x->range < y->range ? 1 : -1;
	return x->track->start < y->track->start ? -1 : x->track->start > y->track->start;
}

static json_t *track_json(const struct kl_memory_track *track, unsigned int n)
{
	json_t *rss = json_array();

	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(rss, json_integer((json_int_t)track->rss[i]));
	return json_pack("{s:I, s:I, s:o, s:b, s:o}", "page",
			 (json_int_t)(track->start / KL_DETAIL_PAGE_BYTES), "pages",
			 (json_int_t)((track->end - track->start) / KL_DETAIL_PAGE_BYTES), "name",
			 cli_json_text(track->name), "is_there", track->is_there, "rss", rss);
}

static json_t *tracks_json(const struct kl_memory_history *h)
{
	struct varied *varied = cli_alloc((h->n_tracks + 1) * sizeof(*varied));
	json_t *to = json_array();

	for (size_t i = 0; i < h->n_tracks; i++) {
		uint64_t least = UINT64_MAX, most = 0;

		for (unsigned int k = 0; k < h->n; k++) {
			const uint64_t rss = h->track[i]->rss[k];

			least = rss < least ? rss : least;
			most = rss > most ? rss : most;
		}
		varied[i] = (struct varied){ h->track[i], most - least };
	}
	qsort(varied, h->n_tracks, sizeof(*varied), by_range);
	for (size_t i = 0; i < h->n_tracks && i < TRACKS_MAX; i++)
		json_array_append_new(to, track_json(varied[i].track, h->n));
	free(varied);
	return to;
}

static json_t *history_json(const struct cli_memory_walk *walk)
{
	const struct kl_memory_history *h = walk->history;

	return json_pack("{s:I, s:i, s:I, s:o, s:o, s:I, s:I}", "reads", (json_int_t)h->reads,
			 "together", (int)h->together, "interval_ns", (json_int_t)walk->interval_ns,
			 "points", points_json(h), "mappings", tracks_json(h), "n_mappings",
			 (json_int_t)h->n_tracks, "untracked", (json_int_t)h->untracked);
}

/* ----------------------------------------------------------------------- all */

int cli_memory_write_page(const struct cli_memory *m, const struct cli_memory_walk *walk,
			  json_t *growth)
{
	json_t *process = NULL, *data;
	char now[CLI_NUMBER_MAX];

	if (walk && walk->has_last) {
		process = process_json(m, walk);
		if (!process) {
			json_decref(growth);
			return CLI_FAILED;
		}
	}
	data = json_pack("{s:o?, s:o?, s:o?}", "process", process, "history",
			 walk && walk->history && walk->history->n > 1 ? history_json(walk) : NULL,
			 "growth", growth);
	if (!data)
		return cli_error(-ENOMEM, "out of memory");
	cli_print_wall(now, cli_wall_ns());
	return m->refreshes ? cli_html_replace(m->html, data, now, view_memory_write) :
			      cli_html_write(m->html, data, now, view_memory_write);
}

int cli_memory_show_page(struct cli_memory *m)
{
	struct cli_memory_walk walk;
	int status = cli_memory_walk_init(&walk, m, 0, false);

	if (!status)
		status = cli_memory_what(m, &walk.what);
	if (!status)
		status = cli_memory_walk_step(&walk, NULL);
	if (!status && walk.has_ended)
		status = cli_error(-ESRCH, "process %d has ended", m->pid);
	if (!status)
		status = cli_memory_write_page(m, &walk, NULL);
	cli_memory_walk_deinit(&walk);
	return status;
}
