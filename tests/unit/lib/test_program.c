// SPDX-License-Identifier: GPL-2.0
/*
 * Blocks of programs: the syntax of probe points, the functions and blocks of a file, and damaged
 * files. KL_TEST_PROGRAM is the built tests/cli/program_blocks.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/error.h>
#include <kernlens/program.h>

#include "unit.h"

#define DAMAGED 400

static void test_what_is_meant(void)
{
	static const char *const programs[] = {
		"/bin/x:main", "./x:main#3", "a/b:c+0x10:post", "../x:*", "a/b:f /rdi == 1/:count",
		"/a<b/c:d",
	};
	static const char *const others[] = {
		"vfs_read",
		"vfs_read#3:post",
		"vfs_read /pid == 1/:log",
		"vfs_read/pid==1/:count",
		"vfs_read /comm == \"a:b\"/",
		"vfs_read /a/b == 1/ :log",
		"x:main",
		"vfs_read,/bin/x:main",
	};
	bool all = true, none = true;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		all &= kl_program_selector_is(programs[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		none &= !kl_program_selector_is(others[i]);
	unit_check(all, "a path is a program's selector");
	unit_check(none, "a slash in a filter makes no path");
}

static void test_parts(void)
{
	static const char *const wrong[] = { "a/b",	 "a/b:",      ":f",
					     "a/b:f#",	 "a/b:f+x",   "a/b:f#1x",
					     "a/b:f#-1", "a/b:f:ret", "a/b:#1" };
	struct kl_program_selector selector;
	bool refused = true;

	unit_check(!kl_program_selector_parse(&selector, "block:/a/b:f+0x1f:post") &&
			   selector.want.at_offset && selector.want.number == 0x1f &&
			   selector.want.behind && !strcmp(selector.path, "/a/b") &&
			   !strcmp(selector.want.pattern, "f") && !selector.want.at_number,
		   "an offset, after the block");
	kl_program_selector_free(&selector);
	unit_check(!kl_program_selector_parse(&selector, "b/c:g*#12:pre") &&
			   selector.want.at_number && selector.want.number == 12 &&
			   !selector.want.behind && !strcmp(selector.want.pattern, "g*"),
		   "a number, before the block");
	kl_program_selector_free(&selector);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		refused &= kl_program_selector_parse(&selector, wrong[i]) == -EINVAL &&
			   !selector.path;
	unit_check(refused, "an invalid selector is refused");
}

/* Do points refer to instructions of their block, and edges to blocks? */
static bool is_sound(const struct kl_block_graph *g)
{
	bool sound = true;

	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block *block = &g->block[i];
		const struct kl_block_point *point[] = { &block->pre, &block->post };

		sound &= block->begin + block->bytes <= g->function.bytes && block->n > 0 &&
			 block->first + block->n <= g->instructions &&
			 (block->next == UINT32_MAX || block->next < g->blocks) &&
			 (block->taken == UINT32_MAX || block->taken < g->blocks);
		for (int k = 0; k < 2; k++) {
			bool there = false;

			for (uint32_t n = 0; n < g->instructions; n++)
				there |= g->instruction[n].offset == point[k]->begin;
			sound &= there && (point[k]->tier == KL_TIER_TRAP ||
					   (point[k]->tier == KL_TIER_NONE && point[k]->reason));
		}
	}
	for (uint32_t i = 0; i < g->edges; i++)
		sound &= g->edge[i].from < g->blocks && g->edge[i].to < g->blocks;
	return sound;
}

/* Checks all functions; false if one of them is not sound. */
static bool go_through(struct kl_program *program)
{
	struct kl_block_graph graph;
	size_t position = 0;
	const char *name;
	bool sound = true;
	long index;

	while ((index = kl_program_next(program, "*", &position, &name)) >= 0) {
		uint64_t offset;

		if (kl_blocks_graph(kl_program_blocks(program), (size_t)index, &graph))
			return false;
		sound &= is_sound(&graph) &&
			 !kl_program_offset(program, graph.function.address, &offset);
		kl_block_graph_free(&graph);
	}
	return sound;
}

static void test_program(void)
{
	struct kl_program *program = kl_program_open(KL_TEST_PROGRAM);
	struct kl_block_graph graph = {};
	struct kl_source_line line = {};
	const char *name = NULL;
	char text[256] = "";
	struct kl_program_selector selector = {};
	size_t position = 0, again;
	long index;

	unit_check(program && go_through(program), "a program's functions are sound");
	if (!program)
		return;
	index = kl_program_next(program, "choose", &position, &name);
	again = position;
	unit_check(index >= 0 && !strcmp(name, "choose") &&
			   kl_program_next(program, "choose", &again, &name) == -ENOENT,
		   "a function comes once");
	unit_check(index >= 0 &&
			   !kl_blocks_graph(kl_program_blocks(program), (size_t)index, &graph) &&
			   graph.edges == 7 && !graph.indirect,
		   "its table is followed");
	position = 0;
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)graph.function.address + 3);
	unit_check(kl_program_next(program, text, &position, &name) == index &&
			   !strcmp(name, "choose"),
		   "it is found by an address");
	unit_check(kl_program_lines(program, &graph.function.address, 1, &line) && line.line > 0 &&
			   strstr(line.file, "program_blocks.c"),
		   "it has lines");
	unit_check(!kl_program_selector_parse(&selector, "a/b:choose:post") &&
			   !kl_program_selector_name(&selector, "choose", &graph, 1, text,
						     sizeof(text)) &&
			   !strcmp(text, "block:a/b:choose#1:post") &&
			   kl_program_selector_name(&selector, "choose", &graph, 1, text, 10) ==
				   -EINVAL,
		   "events have names");
	kl_program_selector_free(&selector);
	kl_block_graph_free(&graph);
	kl_program_close(program);
	unit_check(!kl_program_open("/dev/null") && errno == EINVAL &&
			   !kl_program_open("/nowhere") && errno == ENOENT,
		   "not a regular file, or missing");
}

/* A linear congruential generator, for the same sequence each time. */
static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void test_damaged(void)
{
	int fd = open(KL_TEST_PROGRAM, O_RDONLY);
	char path[] = "/tmp/kernlens-test-XXXXXX";
	uint32_t state = 1, opened = 0;
	struct stat about = {};
	uint8_t *bytes;
	bool sound = true;

	unit_check(fd >= 0 && !fstat(fd, &about), "the program is there");
	bytes = malloc((size_t)about.st_size + 1);
	close(mkstemp(path));
	for (int i = 0; bytes && i < DAMAGED; i++) {
		/*
		 * The headers in the first kilobyte, or anywhere: the text, or the tables at the
		 * end.
		 */
		uint32_t room = i % 3 ? (uint32_t)about.st_size : 1024;
		struct kl_program *program;
		int copy = open(path, O_WRONLY | O_TRUNC);
		ssize_t n = pread(fd, bytes, (size_t)about.st_size, 0);

		for (int k = 0; n > 0 && k < (i % 3 == 1 ? 64 : 3); k++)
			bytes[next_random(&state) % room] = (uint8_t)next_random(&state);
		if (i % 7 == 6)
			n = next_random(&state) % about.st_size;
		sound &= n > 0 && write(copy, bytes, (size_t)n) == n;
		close(copy);
		program = kl_program_open(path);
		if (program)
			go_through(program);
		opened += !!program;
		kl_program_close(program);
	}
	unit_check(sound && opened > DAMAGED / 4 && opened < DAMAGED,
		   "damaged files are refused or decoded");
	free(bytes);
	unlink(path);
	close(fd);
}

int main(void)
{
	test_what_is_meant();
	test_parts();
	test_program();
	test_damaged();
	return unit_end();
}
