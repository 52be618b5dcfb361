// SPDX-License-Identifier: GPL-2.0
/*
 * The guide: kernlens counts the blocks of a second instance of itself, kernlens_target, which is
 * what is fuzzed. A block that is passed for the first time is worth keeping the sequence that was
 * just played; at the end the counts say what was never reached, and of which functions.
 *
 * Functions that are made of the tables of events come four to an event. Those of events that never
 * happened are set aside, and so is what unreached.def names.
 */
#include <fnmatch.h>
#include <malloc.h>
#include <pthread.h>

#include <kernlens/kernlens.h>
#include <kernlens/splice.h>

#include "fuzz.h"

struct counted {
	char name[96];
	u32 first;
	u32 n;
};

static struct {
	struct kl_device *device;
	struct kl_session *session;
	struct kl_symbols *symbols;
	struct kl_blocks *blocks;
	struct kl_splices *splices;
	struct counted *function;
	u32 functions;
	u32 points;
	u64 *count;
	u8 *seen; /* shared by all processes */
} guide;

static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;

static const struct {
	const char *pattern;
	const char *reason;
} unreached[] = {
#define KL_UNREACHED(pattern, reason) { pattern, reason },
#include "unreached.def"
#undef KL_UNREACHED
};

#define UNREACHED (sizeof(unreached) / sizeof(*unreached))

/* ----------------------------------------------------------------- splicing */

static int add_function(void *context, size_t index)
{
	struct kl_splice_wish *wish;
	struct kl_block_graph graph;
	struct counted *f;
	long first;
	int ret = kl_blocks_graph(guide.blocks, index, &graph);

	if (ret)
		return ret;
	wish = calloc(graph.blocks + 1, sizeof(*wish));
	guide.function = realloc(guide.function, (guide.functions + 1) * sizeof(*guide.function));
	if (!wish || !guide.function)
		abort();
	for (u32 i = 0; i < graph.blocks; i++)
		wish[i] = (struct kl_splice_wish){ .block = i, .instrument = KL_INSTRUMENT_COUNT };
	first = kl_splices_add(guide.splices, &graph, wish, graph.blocks);
	if (first >= 0) {
		f = &guide.function[guide.functions++];
		*f = (struct counted){ .first = first, .n = graph.blocks };
		snprintf(f->name, sizeof(f->name), "%s", graph.function.name);
		guide.points += graph.blocks;
	}
	free(wish);
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
	/* Each worker would have to copy what is not needed any more. */
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
	free(guide.count);
	memset(&guide, 0, sizeof(guide));
}

bool guide_look(void)
{
	bool news = false;

	/* Who finds another thread here leaves the news to that. */
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

/* ---------------------------------------------------------------- reporting */

/* What is told of a set of functions. */
struct sum {
	u32 blocks;
	u32 reached;
};

/* "fields_x", "any_x.cold": the event x; NULL: the function is of no table. */
static const char *event_of(const char *name)
{
	static const char *const prefixes[] = { "kl_probe_", "fields_", "any_", "rule_" };

	for (u32 i = 0; i < 4; i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return name + strlen(prefixes[i]);
	return NULL;
}

static bool same_event(const char *a, const char *b)
{
	size_t n = strcspn(a, ".");

	return n == strcspn(b, ".") && !memcmp(a, b, n);
}

static struct sum sum_of(const struct counted *f)
{
	struct sum sum = {};

	for (u32 i = f->first; i < f->first + f->n; i++) {
		if (!kl_splices_point(guide.splices, i).placed)
			continue;
		sum.blocks++;
		sum.reached += guide.seen[i];
	}
	return sum;
}

/* Did its probe ever run? */
static bool happened(const char *event)
{
	for (u32 i = 0; i < guide.functions; i++) {
		const struct counted *f = &guide.function[i];

		if (!strncmp(f->name, "kl_probe_", 9) && same_event(f->name + 9, event))
			return sum_of(f).reached;
	}
	return true;
}

/*
 * Functions by name, a line each, in the file KL_FUZZ_ASIDE: those of the splicing engine, which
 * works for one instance at a time, and has a fuzzer of its own (tests/block).
 */
static bool is_listed(const char *name)
{
	static char *list;
	const char *path = getenv("KL_FUZZ_ASIDE");
	size_t n = strlen(name);

	if (!list && path) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t bytes;

		list = calloc(1, 256 << 10);
		bytes = list && fd >= 0 ? read(fd, list, (256 << 10) - 1) : -1;
		close(fd);
		if (bytes <= 0)
			bail("%s cannot be read", path);
	}
	for (const char *at = list; at && *at; at = strchr(at, '\n') + 1)
		if (!strncmp(at, name, n) && at[n] == '\n')
			return true;
	return false;
}

/* Why a user cannot reach it; NULL: he can. */
static const char *reason_of(const struct counted *f)
{
	const char *event = event_of(f->name);

	if (event && !happened(event))
		return "their events did not happen";
	if (is_listed(f->name))
		return "the splicing engine";
	for (u32 i = 0; i < UNREACHED; i++)
		if (!fnmatch(unreached[i].pattern, f->name, 0))
			return unreached[i].reason;
	return NULL;
}

static void add_sum(struct sum *to, struct sum sum)
{
	to->blocks += sum.blocks;
	to->reached += sum.reached;
}

static double percent(struct sum sum)
{
	return sum.blocks ? 100.0 * sum.reached / sum.blocks : 100;
}

int guide_report(void)
{
	struct sum whole = {}, aside = {}, tables = {}, written = {};
	u32 never = 0;

	if (!guide.count)
		return -1;
	guide_look();
	for (u32 i = 0; i < guide.functions; i++) {
		const struct counted *f = &guide.function[i];
		const char *reason = reason_of(f);
		struct sum sum = sum_of(f);

		add_sum(&whole, sum);
		if (reason) {
			add_sum(&aside, sum);
			continue;
		}
		add_sum(event_of(f->name) ? &tables : &written, sum);
		if (event_of(f->name) || sum.reached == sum.blocks)
			continue;
		never++;
		printf("# never reached: %s: %u of %u blocks\n", f->name, sum.blocks - sum.reached,
		       sum.blocks);
	}
	printf("# %u of the module's blocks were reached, of %u that can be counted in %u "
	       "functions\n"
	       "# set aside: %u blocks, %u of them reached: no user reaches them (unreached.def), "
	       "or their events did not happen\n"
	       "# of events that happened: %u of %u (%.1f %%)\n"
	       "# of all others: %u of %u (%.1f %%), some in %u functions are left\n",
	       whole.reached, whole.blocks, guide.functions, aside.blocks, aside.reached,
	       tables.reached, tables.blocks, percent(tables), written.reached, written.blocks,
	       percent(written), never);
	fflush(stdout);
	add_sum(&written, tables);
	return (int)(percent(written) * 10);
}
