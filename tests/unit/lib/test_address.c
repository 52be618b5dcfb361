// SPDX-License-Identifier: GPL-2.0
/*
 * Names of addresses: each resolved once, converted to text and back, damaged. Names and stack
 * traces as items of a file in BER, damaged. Paths of cgroups.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/addresses.h>
#include <kernlens/cgroup_store.h>
#include "../../../lib/format/ber_names.h"
#include "unit.h"

#define FIRST 0xffffffff81000000ull
#define N 1000

static unsigned int asked;

/* Every other address has a name. */
static bool find(void *data, uint64_t address, struct kl_address *to)
{
	static char symbol[32];

	asked++;
	if (address & 1)
		return false;
	snprintf(symbol, sizeof(symbol), "f%u", (unsigned int)(address - FIRST));
	*to = (struct kl_address){ symbol, address & 0xf, address & 2 ? "a module" : NULL };
	return true;
}

static void done(void *data)
{
	*(bool *)data = true;
}

static bool is_name(struct kl_addresses *addresses, uint64_t address, const char *wanted)
{
	const struct kl_address *what = kl_addresses_get(addresses, address);
	struct kl_buffer text = { 0 };
	bool same;

	if (!what)
		return !wanted;
	kl_print_address(&text, what);
	same = wanted && !strcmp(text.data, wanted);
	kl_buffer_deinit(&text);
	return same;
}

static struct kl_addresses *make(bool *gone)
{
	struct kl_addresses *addresses = kl_addresses_create();
	unsigned int named = 0;

	kl_addresses_set_source(addresses, find, done, gone);
	for (unsigned int round = 0; round < 2; round++)
		for (unsigned int i = 0; i < N; i++)
			named += kl_addresses_get(addresses, FIRST + i) != NULL;
	unit_check(asked == N && named == N && kl_addresses_count(addresses) == N / 2,
		   "each is looked up once, whether it has a name or not");
	unit_check(is_name(addresses, FIRST, "f0") && is_name(addresses, FIRST + 4, "f4+0x4") &&
			   is_name(addresses, FIRST + 6, "a module:f6+0x6") &&
			   is_name(addresses, FIRST + 7, NULL),
		   "with offset and module");
	unit_check(is_name(addresses, 0x1000, NULL) && asked == N && is_name(NULL, FIRST, NULL),
		   "a program's address is not looked up");
	return addresses;
}

static void test_text(struct kl_addresses *addresses, const struct kl_buffer *text)
{
	struct kl_addresses *back = kl_addresses_parse(text->data, text->length);
	unsigned int same = 0, refused = 0, seed = 1;
	char *copy = malloc(text->length), name[64];

	for (unsigned int i = 0; back && i < N; i += 2) {
		snprintf(name, sizeof(name), "f%u", i);
		same += !strcmp(kl_addresses_get(back, FIRST + i)->symbol, name) &&
			!strcmp(kl_addresses_get(addresses, FIRST + i)->symbol, name);
	}
	unit_check(back && kl_addresses_count(back) == N / 2 && same == N / 2 &&
			   is_name(back, FIRST + 6, "a module:f6+0x6"),
		   "as text there and back");
	kl_addresses_destroy(back);
	for (unsigned int i = 0; i < 3000; i++) {
		memcpy(copy, text->data, text->length);
		seed = seed * 1103515245 + 12345;
		copy[(seed >> 8) % text->length] = (char)(seed >> 24);
		back = kl_addresses_parse(copy, i % 2 ? text->length : i % text->length);
		refused += !back && errno == EINVAL;
		kl_addresses_destroy(back);
	}
	unit_check(refused > 1000 && refused < 3000, "damaged");
	free(copy);
}

/* ----------------------------------------------------------------- cgroups */

/* Finds the cgroup 7, at the second request. */
static void find_cgroup(struct kl_cgroups *cgroups, void *data)
{
	unsigned int *requests = data;

	if (++*requests == 2)
		kl_cgroups_add(cgroups, 7, "/seven");
}

static bool is_path(struct kl_cgroups *cgroups, uint64_t id, const char *wanted)
{
	const char *path = kl_cgroups_get(cgroups, id);

	return wanted ? path && !strcmp(path, wanted) : !path;
}

static void test_cgroups(void)
{
	struct kl_cgroups *cgroups = kl_cgroups_create(), *back;
	unsigned int *requests = calloc(1, sizeof(*requests));
	struct kl_buffer text = { 0 }, line = { 0 };
	unsigned int refused = 0;

	kl_cgroups_add(cgroups, 1, "/");
	kl_cgroups_add(cgroups, 1ull << 40, "/a b\\c\n\"d\x80");
	kl_cgroups_add(cgroups, 5, "/old");
	kl_cgroups_add(cgroups, 5, "/new");
	unit_check(is_path(cgroups, 1, "/") && is_path(cgroups, 5, "/new") &&
			   is_path(cgroups, 6, NULL) && is_path(cgroups, 0, NULL) &&
			   is_path(NULL, 1, NULL) && kl_cgroups_add(cgroups, 0, "/") == -EINVAL,
		   "paths of cgroups by ID");
	kl_cgroups_set_source(cgroups, find_cgroup, requests);
	unit_check(is_path(cgroups, 7, NULL) && is_path(cgroups, 7, "/seven") &&
			   is_path(cgroups, 7, "/seven") && *requests == 2,
		   "those that are not known are looked for");
	unit_check(kl_print_cgroup(&line, cgroups, 1ull << 40) && !strchr(line.data, '\n') &&
			   !kl_print_cgroup(&line, cgroups, 99),
		   "printed on one line");
	kl_cgroups_write(cgroups, &text);
	back = kl_cgroups_parse(text.data, text.length);
	unit_check(back && is_path(back, 1ull << 40, "/a b\\c\n\"d\x80") &&
			   is_path(back, 7, "/seven") && is_path(back, 6, NULL),
		   "as text there and back");
	kl_cgroups_destroy(back);
	for (size_t i = 0; i < text.length; i++) {
		back = kl_cgroups_parse(text.data, i);
		refused += !back && errno == EINVAL;
		kl_cgroups_destroy(back);
	}
	unit_check(refused > 20 && refused < text.length, "cut");
	kl_cgroups_destroy(cgroups);
	kl_buffer_deinit(&text);
	kl_buffer_deinit(&line);
}

/* One item each, as ber_names.c writes them. */
static void make_items(struct kl_buffer *items)
{
	size_t frames, frame;

	kl_ber_add_number(items, KL_BER_INTEGER, 5, false);
	kl_ber_add_number(items, KL_BER_ENUMERATED, KL_STACK_USER, false);
	kl_ber_add_number(items, KL_BER_INTEGER, 2, false);
	kl_ber_add_number(items, KL_BER_INTEGER, (uint64_t)-3, true);
	frames = items->length;
	for (unsigned int i = 0; i < 3; i++) {
		frame = items->length;
		kl_ber_add_number(items, KL_BER_INTEGER, 0x1000 + i, false);
		kl_ber_add(items, KL_BER_CONTEXT(0), "_ZN1A1fEi", 9);
		kl_ber_add_number(items, KL_BER_CONTEXT(1), 7, false);
		kl_ber_add(items, KL_BER_CONTEXT(5), "a.cc", 4);
		kl_ber_add_number(items, KL_BER_CONTEXT(6), 12, false);
		if (i < 2)
			kl_ber_add(items, KL_BER_CONTEXT(7), "", 0);
		kl_ber_wrap(items, frame, KL_BER_SEQUENCE);
	}
	kl_ber_wrap(items, frames, KL_BER_SEQUENCE);
	kl_ber_wrap(items, 0, KL_BER_STACK);
	frame = items->length;
	kl_ber_add_number(items, KL_BER_INTEGER, FIRST, false);
	kl_ber_add(items, KL_BER_OCTETS, "symbol", 6);
	kl_ber_add_number(items, KL_BER_INTEGER, 16, false);
	kl_ber_wrap(items, frame, KL_BER_SYMBOL);
}

/* Returns how many stack traces and names were read. */
static size_t read_items(const void *bytes, size_t length)
{
	struct kl_stacks *stacks = kl_stacks_create();
	struct kl_addresses *addresses = kl_addresses_create();
	struct kl_window items = kl_window_on(bytes, length);
	const struct kl_stack *stack;
	size_t n;

	if (kl_ber_names_read(&items, 0, stacks, addresses))
		abort();
	n = kl_stacks_count(stacks) + kl_addresses_count(addresses);
	stack = kl_stacks_get(stacks, 5);
	if (n == 2 && (!stack || stack->n != 3))
		n = 0;
	kl_stacks_destroy(stacks);
	kl_addresses_destroy(addresses);
	return n;
}

static void test_items(void)
{
	unsigned int seed = 1, whole = 0, other = 0;
	struct kl_buffer items = { 0 };
	char *copy;

	make_items(&items);
	unit_check(read_items(items.data, items.length) == 2, "a trace and a name from BER");
	copy = malloc(items.length);
	for (unsigned int i = 0; i < 20000; i++) {
		memcpy(copy, items.data, items.length);
		for (unsigned int k = 0; k < 1 + i % 3; k++) {
			seed = seed * 1103515245 + 12345;
			copy[(seed >> 8) % items.length] = (char)(seed >> 24);
		}
		*(read_items(copy, i % 4 ? items.length : i % items.length) == 2 ? &whole :
										   &other) += 1;
	}
	unit_check(whole > 1000 && other > 1000, "damaged");
	free(copy);
	kl_buffer_deinit(&items);
}

int main(void)
{
	bool gone = false;
	struct kl_addresses *addresses = make(&gone);
	struct kl_buffer text = { 0 };

	kl_addresses_write(addresses, &text);
	test_text(addresses, &text);
	kl_buffer_deinit(&text);
	unit_check(!gone, "the source stays");
	kl_addresses_destroy(addresses);
	unit_check(gone, "as long as they do");
	test_items();
	test_cgroups();
	return unit_end();
}
