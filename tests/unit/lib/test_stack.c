// SPDX-License-Identifier: GPL-2.0
/* Stack traces as text: written and read back, cut anywhere, and damaged. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include <kernlens/id_names.h>
#include <kernlens/stack.h>
#include <kernlens/stack_store.h>
#include "unit.h"

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same(const struct kl_stack *a, const struct kl_stack *b)
{
	bool good = a && b && a->id == b->id && a->kind == b->kind && a->flags == b->flags &&
		    a->pid == b->pid && a->n == b->n;

	for (unsigned int i = 0; good && i < a->n; i++)
		good = a->frame[i].address == b->frame[i].address &&
		       a->frame[i].offset == b->frame[i].offset &&
		       a->frame[i].place == b->frame[i].place &&
		       same_text(a->frame[i].symbol, b->frame[i].symbol) &&
		       same_text(a->frame[i].object, b->frame[i].object) &&
		       same_text(a->frame[i].build_id, b->frame[i].build_id) &&
		       same_text(a->frame[i].name, b->frame[i].name) &&
		       same_text(a->frame[i].source, b->frame[i].source) &&
		       a->frame[i].line == b->frame[i].line &&
		       a->frame[i].inlined == b->frame[i].inlined;
	return good;
}

static struct kl_stacks *make(void)
{
	struct kl_frame kernel[] = {
		{ .address = 0xffffffff81000010ull, .symbol = "f", .offset = 16 },
		{ .address = 0xffffffffc0000010ull,
		  .symbol = "g.part.0",
		  .offset = 1,
		  .object = "a_module" }
	};
	struct kl_frame user[] = { { .address = 1 },
				   { .address = 0x7f0000001000ull,
				     .symbol = "-",
				     .object = "/a path\\with \n all\x7f",
				     .build_id = "00ff",
				     .place = 0x1000,
				     .source = "a file.cc",
				     .line = 7,
				     .inlined = true },
				   { .address = 0x7f0000001000ull,
				     .symbol = "_ZN1A1fEi",
				     .offset = 5,
				     .object = "/a",
				     .source = "b.cc",
				     .line = 4000000000u },
				   { .address = ~0ull, .object = "-x" } };
	struct kl_stacks *stacks = kl_stacks_create();
	int error =
		kl_stacks_add(stacks, &(struct kl_stack){ 3, KL_STACK_KERNEL, 1, 0, 2, kernel });

	if (!error)
		error = kl_stacks_add(stacks,
				      &(struct kl_stack){ 100, KL_STACK_USER, 2, -7, 4, user });
	kl_stacks_set_no_room(stacks, 9);
	return error ? NULL : stacks;
}

static void test_round(const struct kl_stacks *stacks, const struct kl_buffer *text)
{
	struct kl_stacks *back = kl_stacks_parse(text->data, text->length);

	unit_check(back && kl_stacks_count(back) == 2 && kl_stacks_no_room(back) == 9,
		   "as many come back");
	unit_check(back && same(kl_stacks_get(stacks, 3), kl_stacks_get(back, 3)),
		   "a trace of the kernel");
	unit_check(back && same(kl_stacks_get(stacks, 100), kl_stacks_get(back, 100)),
		   "a program's, with any bytes in its path");
	unit_check(!kl_stacks_get(back, 0) && !kl_stacks_get(back, 4) &&
			   !kl_stacks_get(back, KL_STACK_NO_ROOM) && !kl_stacks_get(NULL, 3),
		   "there are no others");
	kl_stacks_destroy(back);
}

/* Damaged text is either refused or understood; the sanitizers watch. */
static void test_damage(const struct kl_buffer *text)
{
	unsigned int refused = 0, taken = 0, seed = 1;
	char *copy = malloc(text->length);

	for (size_t bytes = 0; bytes < text->length; bytes++) {
		struct kl_stacks *back = kl_stacks_parse(text->data, bytes);

		refused += !back && errno == EINVAL;
		taken += back != NULL;
		kl_stacks_destroy(back);
	}
	/*
	 * Cuts after the version, after the number, and after the first of the two traces are
	 * accepted.
	 */
	unit_check(refused + taken == text->length && taken == 3, "cut off");
	for (unsigned int i = 0; i < 20000; i++) {
		struct kl_stacks *back;

		memcpy(copy, text->data, text->length);
		for (unsigned int k = 0; k < 1 + i % 3; k++) {
			seed = seed * 1103515245 + 12345;
			copy[(seed >> 8) % text->length] = (char)(seed >> 24);
		}
		back = kl_stacks_parse(copy, text->length);
		refused += !back;
		kl_stacks_destroy(back);
	}
	unit_check(refused > 10000, "damaged");
	free(copy);
}

static void test_print(const struct kl_stacks *stacks)
{
	struct kl_buffer text = { 0 };

	kl_print_stack(&text, stacks, 3, 2);
	unit_check(!strcmp(text.data, "  f+0x10\n  g.part.0+0x1 (a_module)\n  ...\n"),
		   "a line a frame, and that there were more");
	kl_buffer_reset(&text);
	kl_print_stack_json(&text, stacks, 3);
	unit_check(strstr(text.data,
			  "\"symbol\":\"g.part.0\",\"offset\":1,\"module\":\"a_module\""),
		   "as JSON");
	kl_buffer_reset(&text);
	kl_print_stack_json(&text, stacks, 4);
	unit_check(!strcmp(text.data, "null"), "and one that is not there");
	kl_buffer_deinit(&text);
}

/* A trace of format version 1. */
static void test_old(void)
{
	static const char old[] = "kernlens-stacks 1\nno-room 0\nstack 1 1 2 5 1\n"
				  "1000 _ZN1A1fEi 5 /a 00ff 40\n";
	static const char mixed[] = "kernlens-stacks 2\nno-room 0\nstack 1 1 2 5 1\n"
				    "1000 f 5 /a 00ff 40\n";
	struct kl_stacks *stacks = kl_stacks_parse(old, strlen(old));
	const struct kl_stack *stack = kl_stacks_get(stacks, 1);

	unit_check(stack && stack->frame[0].place == 0x40 && !stack->frame[0].source &&
			   !strcmp(stack->frame[0].name, "A::f(int)"),
		   "the first version of the format");
	kl_stacks_destroy(stacks);
	unit_check(!kl_stacks_parse(mixed, strlen(mixed)),
		   "its lines are too short for the second");
}

static void test_names(struct kl_stacks *stacks)
{
	const struct kl_frame *frame = &kl_stacks_get(stacks, 100)->frame[2];
	struct kl_buffer text = { 0 };

	unit_check(!strcmp(frame->name, "A::f(int)") && !strcmp(frame->symbol, "_ZN1A1fEi"),
		   "a name as in C++ beside the symbol");
	kl_print_stack(&text, stacks, 100, 0);
	unit_check(strstr(text.data,
			  "\n- inlined a file.cc:7\nA::f(int)+0x5 (/a) b.cc:4000000000\n"),
		   "and what it is put into, with lines");
	kl_stacks_demangle(stacks, false);
	unit_check(!frame->name, "not if it is not wanted");
	kl_stacks_demangle(stacks, true);
	unit_check(frame->name, "or again");
	kl_buffer_deinit(&text);
}

/* Compress and parse. Returns what parsing does. */
static int parse_names(const char *text, size_t bytes, struct kl_id_names *names)
{
	size_t room = ZSTD_compressBound(bytes);
	char *to = malloc(room);
	int ret = kl_id_names_parse(to, ZSTD_compress(to, room, text, bytes, 1), names);

	free(to);
	return ret;
}

static void forget_names(struct kl_id_names *names)
{
	kl_stacks_destroy(names->stacks);
	kl_cgroups_destroy(names->cgroups);
}

/* Names of IDs, as a session has them: @stacks, and the path of a cgroup. */
static void test_id_names(struct kl_stacks *stacks)
{
	struct kl_id_names names = { stacks, kl_cgroups_create() }, got;
	struct kl_buffer bytes = {};
	unsigned int wrong = 0;
	char text[10000];
	size_t length;

	unit_check(!kl_cgroups_add(names.cgroups, 7, "/a b") &&
			   !kl_id_names_write(&names, &bytes) &&
			   !kl_id_names_parse(bytes.data, bytes.length, &got) &&
			   kl_stacks_count(got.stacks) == kl_stacks_count(stacks) &&
			   same(kl_stacks_get(got.stacks, 100), kl_stacks_get(stacks, 100)) &&
			   same_text(kl_cgroups_get(got.cgroups, 7), "/a b"),
		   "names of IDs are the same after they were stored");
	forget_names(&got);
	kl_cgroups_destroy(names.cgroups);
	length = ZSTD_decompress(text, sizeof(text), bytes.data, bytes.length);
	/* Without the second part, and without any, they are right. */
	for (size_t cut = 0; cut < length; cut++) {
		int ret = parse_names(text, cut, &got);
		bool between = text[cut - !!cut] == '\n' && !strncmp(text + cut, "part ", 5);

		wrong += between ? ret != 0 : ret != -EINVAL;
		forget_names(&got);
	}
	unit_check(!wrong, "wherever they are cut, that is noticed");
	for (size_t cut = 0; cut < bytes.length; cut++) {
		wrong += kl_id_names_parse(bytes.data, cut, &got) != -EINVAL;
		forget_names(&got);
	}
	unit_check(!wrong, "as compressed, too");
	memcpy(strstr(text, "part cgroups") + 5, "unknown", 7);
	unit_check(!parse_names(text, length, &got) && got.stacks && !got.cgroups,
		   "a part of another kind is passed over");
	forget_names(&got);
	memcpy(strstr(text, "part unknown ") + 13, "-1", 2);
	unit_check(parse_names(text, length, &got) == -EINVAL, "one of an impossible size is not");
	forget_names(&got);
	kl_buffer_deinit(&bytes);
}

int main(void)
{
	struct kl_stacks *stacks = make();
	struct kl_buffer text = { 0 };
	struct kl_frame frame = {};

	unit_check(stacks, "traces are taken");
	unit_check(kl_stacks_add(stacks, &(struct kl_stack){ 0, 0, 0, 0, 1, &frame }) == -EINVAL &&
			   kl_stacks_add(stacks, &(struct kl_stack){ 1, 0, 0, 0, 0, &frame }) ==
				   -EINVAL,
		   "but none without an id or without frames");
	kl_stacks_write(stacks, &text);
	test_round(stacks, &text);
	test_damage(&text);
	test_print(stacks);
	test_old();
	test_names(stacks);
	test_id_names(stacks);
	kl_buffer_deinit(&text);
	kl_stacks_destroy(stacks);
	return unit_end();
}
