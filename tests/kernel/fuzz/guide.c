// SPDX-License-Identifier: GPL-2.0
/*
 * The guide: kernlens counts the blocks of a second instance of itself, kernlens_target, the module
 * under test. If a sequence executes a block for the first time, its tape is kept. guide_report.c
 * prints the coverage at the end.
 */
#include <malloc.h>
#include <pthread.h>

#include "guide.h"

struct guide guide;
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;

/* ----------------------------------------------------------------- splicing */

/* The target has a kprobe there, which the kernel refuses if the text has been patched. */
static bool has_kprobe(const struct kl_block_graph *graph)
{
	return !strcmp(graph->function.name, "nowhere");
}

static int add_function(void *context, size_t index)
{
	struct kl_splice_target *target;
	struct kl_block_graph graph;
	struct counted *f;
	long first;
	int ret = kl_blocks_graph(guide.blocks, index, &graph);

	if (ret)
		return ret;
	if (has_kprobe(&graph)) {
		kl_block_graph_free(&graph);
		return 0;
	}
	target = calloc(graph.blocks + 1, sizeof(*target));
	guide.function = realloc(guide.function, (guide.functions + 1) * sizeof(*guide.function));
	guide.begin = realloc(guide.begin, (guide.points + graph.blocks) * sizeof(*guide.begin));
	if (!target || !guide.function || !guide.begin)
		abort();
	for (u32 i = 0; i < graph.blocks; i++) {
		target[i] =
			(struct kl_splice_target){ .block = i, .instrument = KL_INSTRUMENT_COUNT };
		guide.begin[guide.points + i] = graph.block[i].begin;
	}
	first = kl_splices_add(guide.splices, &graph, target, graph.blocks);
	if (first >= 0) {
		f = &guide.function[guide.functions++];
		*f = (struct counted){ .first = first, .n = graph.blocks };
		snprintf(f->name, sizeof(f->name), "%s", graph.function.name);
		guide.points += graph.blocks;
	}
	free(target);
	kl_block_graph_free(&graph);
	return first < 0 ? (int)first : 0;
}

static int splice_all(const char *module)
{
	struct kl_block_want want;
	char text[80];
	int ret;

	snprintf(text, sizeof(text), "%s:*", module);
	ret = kl_block_want_parse(&want, text);
	if (ret)
		return ret;
	ret = kl_block_want_visit(&want, guide.symbols, guide.blocks, add_function, NULL);
	kl_block_want_free(&want);
	return ret < 0 ? ret : kl_splices_install(guide.splices, guide.session, NULL, NULL);
}

bool guide_open(const char *module)
{
	struct kl_abi_session config = { .blocks = KL_BLOCKS_MIN, .block_bytes = 4096 };

	guide.device = kl_device_open(NULL);
	guide.session = guide.device ? kl_session_create(guide.device, &config) : NULL;
	guide.symbols = guide.session ? kl_symbols_open(NULL) : NULL;
	guide.blocks = guide.symbols ? kl_blocks_open(NULL, guide.symbols) : NULL;
	guide.splices = guide.blocks ? kl_splices_create(true) : NULL;
	if (!guide.splices || splice_all(module)) {
		printf("# no guide: %s\n", kl_error_text());
		guide_close();
		return false;
	}
	/* Freed so that not every worker has to copy it. */
	kl_blocks_close(guide.blocks);
	kl_symbols_close(guide.symbols);
	guide.blocks = NULL;
	guide.symbols = NULL;
	malloc_trim(0);
	guide.count = calloc(guide.points + 1, sizeof(*guide.count));
	guide.seen = mmap(NULL, guide.points + 1, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return guide.count && guide.seen != MAP_FAILED;
}

void guide_close(void)
{
	if (guide.session)
		kl_session_unsplice(guide.session, NULL);
	kl_splices_destroy(guide.splices);
	kl_blocks_close(guide.blocks);
	kl_symbols_close(guide.symbols);
	kl_session_close(guide.session);
	kl_device_close(guide.device);
	free(guide.function);
	free(guide.begin);
	free(guide.count);
	memset(&guide, 0, sizeof(guide));
}

bool guide_look(void)
{
	bool news = false;

	/* A caller that finds another thread here leaves new blocks to it. */
	if (!guide.count || pthread_mutex_trylock(&looking))
		return false;
	if (!kl_splices_counts(guide.splices, guide.session, guide.count))
		for (u32 i = 0; i < guide.points; i++)
			if (guide.count[i] && !guide.seen[i]) {
				guide.seen[i] = 1;
				news = true;
			}
	pthread_mutex_unlock(&looking);
	return news;
}
