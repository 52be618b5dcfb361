// SPDX-License-Identifier: GPL-2.0
/*
 * The coverage report. There are four kinds of blocks:
 *
 *   - set aside: the splicing engine, which works for one instance at a time and has its own
 *     fuzzer, and the code that unreached.def names;
 *   - generated from the table of events, six functions for each event: events that did not happen
 *     are set aside, the others are printed separately;
 *   - written by hand, for privileged users only (KL_PRIVILEGED in unreached.def);
 *   - written by hand, for all users.
 *
 * The last two together must reach the requested percentage. KL_FUZZ_MAP names a file made by the
 * script `map`: the source files of functions, and the positions of the lines and calls that
 * unreached.def names.
 */
#include <fnmatch.h>

#include "guide.h"

struct row {
	const char *pattern;
	const char *reason;
};

#define KL_UNREACHED(pattern, reason) { pattern, reason },
#define KL_UNREACHED_LINE(pattern, reason)
#define KL_UNREACHED_CALL(pattern, reason)
#define KL_PRIVILEGED(pattern, reason)
static const struct row unreached[] = {
#include "unreached.def"
};
#undef KL_UNREACHED
#undef KL_UNREACHED_LINE
#undef KL_UNREACHED_CALL
#undef KL_PRIVILEGED
#define KL_UNREACHED(pattern, reason)
#define KL_UNREACHED_LINE(pattern, reason) { pattern, reason },
#define KL_UNREACHED_CALL(pattern, reason) { pattern, reason },
#define KL_PRIVILEGED(pattern, reason)
static const struct row lines[] = {
#include "unreached.def"
};
#undef KL_UNREACHED_LINE
#undef KL_UNREACHED_CALL
#undef KL_PRIVILEGED
#define KL_UNREACHED_LINE(pattern, reason)
#define KL_UNREACHED_CALL(pattern, reason)
#define KL_PRIVILEGED(pattern, reason) { pattern, reason },
static const struct row privileged[] = {
#include "unreached.def"
};

#define ROWS(table) (sizeof(table) / sizeof(*(table)))

/* ------------------------------------------------------------------ the map */

/* A part of a function, generated from a line or leading to a call that unreached.def names. */
struct part {
	char function[96];
	u32 begin;
	u32 end;
	u32 row;
};

struct file {
	char function[96];
	char name[64];
};

static struct {
	struct part *part;
	u32 parts;
	struct file *file;
	u32 files;
} map;

static void *one_more(void *array, u32 n, size_t bytes)
{
	/* Grows in steps of 256. */
	if (n % 256)
		return array;
	array = realloc(array, (n + 256) * bytes);
	if (!array)
		abort();
	return array;
}

static void read_map(void)
{
	const char *path = getenv("KL_FUZZ_MAP");
	FILE *from = path ? fopen(path, "re") : NULL;
	char line[300];

	if (!from)
		bail("%s cannot be read", path ?: "KL_FUZZ_MAP");
	while (fgets(line, sizeof(line), from)) {
		struct part part;
		struct file file;

		if (sscanf(line, "F %95s %63s", file.function, file.name) == 2) {
			map.file = one_more(map.file, map.files, sizeof(file));
			map.file[map.files++] = file;
		} else if (sscanf(line, "B %95s %u %u %u", part.function, &part.begin, &part.end,
				  &part.row) == 4) {
			map.part = one_more(map.part, map.parts, sizeof(part));
			map.part[map.parts++] = part;
		}
	}
	fclose(from);
}

static const char *file_of(const char *function)
{
	for (u32 i = 0; i < map.files; i++)
		if (!strcmp(map.file[i].function, function))
			return map.file[i].name;
	return "?";
}

/* Returns the row of `lines` that a point belongs to, or -1. */
static s32 row_of(const char *function, u32 begin)
{
	for (u32 i = 0; i < map.parts; i++)
		if (begin >= map.part[i].begin && begin < map.part[i].end &&
		    map.part[i].row < ROWS(lines) && !strcmp(map.part[i].function, function))
			return map.part[i].row;
	return -1;
}

/* ---------------------------------------------------------------- functions */

struct sum {
	u32 blocks;
	u32 reached;
};

static void add_sum(struct sum *to, struct sum sum)
{
	to->blocks += sum.blocks;
	to->reached += sum.reached;
}

static double percent(struct sum sum)
{
	return sum.blocks ? 100.0 * sum.reached / sum.blocks : 100;
}

/* Returns the event x of "fields_x" or "any_x.cold"; NULL if the function is not from a table. */
static const char *event_of(const char *name)
{
	static const char *const prefixes[] = { "kl_probe_", "fields_", "any_",
						"rule_",     "kl_hub_", "members_of_" };

	if (!strcmp(name, "kl_hub_attach") || !strcmp(name, "kl_hub_detach"))
		return NULL;
	for (u32 i = 0; i < ROWS(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return name + strlen(prefixes[i]);
	return NULL;
}

static bool same_event(const char *a, const char *b)
{
	size_t n = strcspn(a, ".");

	return n == strcspn(b, ".") && !memcmp(a, b, n);
}

static bool is_placed(u32 point)
{
	return kl_splices_point(guide.splices, point).placed;
}

/* Sums up all points of a function. */
static struct sum sum_of(const struct counted *f)
{
	struct sum sum = {};

	for (u32 i = f->first; i < f->first + f->n; i++) {
		if (!is_placed(i))
			continue;
		sum.blocks++;
		sum.reached += guide.seen[i];
	}
	return sum;
}

/* Did the event's probe ever run? */
static bool happened(const char *event)
{
	for (u32 i = 0; i < guide.functions; i++) {
		const struct counted *f = &guide.function[i];

		if (!strncmp(f->name, "kl_probe_", 9) && same_event(f->name + 9, event))
			return sum_of(f).reached;
	}
	return true;
}

/* Is the function one of the splicing engine? The file KL_FUZZ_ASIDE lists these, one a line. */
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
			bail("%s: %s", path, bytes ? "cannot be read" : "is empty");
	}
	for (const char *at = list; at && *at; at = strchr(at, '\n') + 1)
		if (!strncmp(at, name, n) && at[n] == '\n')
			return true;
	return false;
}

/* Returns the row of a table that names a function, or -1. */
static s32 find_row(const struct row *table, u32 rows, const char *function)
{
	char name[200];

	snprintf(name, sizeof(name), "%s:%s", file_of(function), function);
	for (u32 i = 0; i < rows; i++)
		if (!fnmatch(table[i].pattern, name, FNM_EXTMATCH))
			return i;
	return -1;
}

/* ------------------------------------------------------------------- report */

static struct {
	struct sum whole, engine, absent, tables, root, user;
	struct sum unreached[ROWS(unreached)];
	struct sum lines[ROWS(lines)];
} sums;

/* Adds up hand-written code, and prints which of its blocks were not reached. */
static void report_written(const struct counted *f, struct sum *to)
{
	struct sum sum = {};

	for (u32 i = f->first; i < f->first + f->n; i++) {
		s32 row = is_placed(i) ? row_of(f->name, guide.begin[i]) : -1;
		struct sum one = { is_placed(i), is_placed(i) && guide.seen[i] };

		add_sum(row < 0 ? &sum : &sums.lines[row], one);
	}
	add_sum(to, sum);
	if (sum.reached == sum.blocks)
		return;
	printf("# never reached: %s: %u of %u blocks:", f->name, sum.blocks - sum.reached,
	       sum.blocks);
	for (u32 i = f->first; i < f->first + f->n; i++)
		if (is_placed(i) && !guide.seen[i] && row_of(f->name, guide.begin[i]) < 0)
			printf(" +%x", guide.begin[i]);
	printf("\n");
}

static void report_function(const struct counted *f)
{
	const char *event = event_of(f->name);
	struct sum sum = sum_of(f);
	s32 row = find_row(unreached, ROWS(unreached), f->name);

	add_sum(&sums.whole, sum);
	if (event)
		add_sum(happened(event) ? &sums.tables : &sums.absent, sum);
	else if (is_listed(f->name))
		add_sum(&sums.engine, sum);
	else if (row >= 0)
		add_sum(&sums.unreached[row], sum);
	else
		report_written(f, find_row(privileged, ROWS(privileged), f->name) >= 0 ?
					  &sums.root :
					  &sums.user);
}

static void print_sum(const char *what, struct sum sum)
{
	printf("# %5u of %5u blocks (%5.1f %%): %s\n", sum.reached, sum.blocks, percent(sum), what);
}

int guide_report(void)
{
	struct sum written;

	if (!guide.count)
		return -1;
	guide_look();
	read_map();
	for (u32 i = 0; i < guide.functions; i++)
		report_function(&guide.function[i]);
	print_sum("all that can be counted", sums.whole);
	print_sum("the splicing engine, set aside", sums.engine);
	print_sum("made of the table of events, which did not happen", sums.absent);
	print_sum("made of the table of events, which did", sums.tables);
	for (u32 i = 0; i < ROWS(unreached); i++)
		print_sum(unreached[i].reason, sums.unreached[i]);
	for (u32 i = 0; i < ROWS(lines); i++)
		print_sum(lines[i].reason, sums.lines[i]);
	print_sum("written by hand, only for the privileged", sums.root);
	print_sum("written by hand, for everybody", sums.user);
	written = sums.root;
	add_sum(&written, sums.user);
	print_sum("written by hand", written);
	fflush(stdout);
	return (int)(percent(written) * 10);
}
