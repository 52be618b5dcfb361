// SPDX-License-Identifier: GPL-2.0
/*
 * A trace's stack traces (format/stack.c), names of addresses (format/address.c) and paths of cgroups
 * (format/cgroup.c).
 */
#include <kernlens/addresses.h>
#include <kernlens/cgroup_store.h>
#include <kernlens/stack.h>

#include "shared.h"

static void try_stacks(const char *text, size_t size)
{
	struct kl_stacks *stacks = kl_stacks_parse(text, size), *again;
	struct kl_buffer out = { 0 }, more = { 0 };

	if (!stacks) {
		fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
		return;
	}
	kl_stacks_write(stacks, &out);
	again = kl_stacks_parse(out.data, out.length);
	fuzz_assert(again && kl_stacks_count(again) == kl_stacks_count(stacks));
	kl_stacks_write(again, &more);
	fuzz_assert(out.length == more.length && !memcmp(out.data, more.data, out.length));
	kl_buffer_reset(&out);
	kl_stacks_demangle(stacks, false);
	kl_stacks_demangle(stacks, true);
	for (unsigned int id = 0; id < 70; id++)
		kl_print_stack(&out, stacks, id, 4);
	fuzz_check_plain(out.data, out.length);
	for (unsigned int id = 0; id < 70; id++) {
		kl_buffer_reset(&out);
		kl_print_stack_json(&out, stacks, id);
		fuzz_check_json(out.data, out.length);
	}
	kl_stacks_destroy(again);
	kl_stacks_destroy(stacks);
	kl_buffer_deinit(&out);
	kl_buffer_deinit(&more);
}

static void try_addresses(const char *text, size_t size)
{
	struct kl_addresses *addresses = kl_addresses_parse(text, size), *again;
	const struct kl_address *what;
	struct kl_buffer out = { 0 };
	size_t position = 0;
	uint64_t address;

	if (!addresses) {
		fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
		return;
	}
	kl_addresses_write(addresses, &out);
	again = kl_addresses_parse(out.data, out.length);
	fuzz_assert(again && kl_addresses_count(again) == kl_addresses_count(addresses));
	kl_buffer_reset(&out);
	while ((what = kl_addresses_next(addresses, &position, &address))) {
		fuzz_assert(kl_addresses_get(addresses, address) == what);
		kl_print_address(&out, what);
	}
	fuzz_check_plain(out.data, out.length);
	kl_addresses_destroy(again);
	kl_addresses_destroy(addresses);
	kl_buffer_deinit(&out);
}

static void try_cgroups(const char *text, size_t size)
{
	struct kl_cgroups *cgroups = kl_cgroups_parse(text, size), *again;
	struct kl_buffer out = { 0 }, more = { 0 };

	if (!cgroups) {
		fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
		return;
	}
	kl_cgroups_write(cgroups, &out);
	again = kl_cgroups_parse(out.data, out.length);
	fuzz_assert(again);
	kl_cgroups_write(again, &more);
	fuzz_assert(out.length == more.length);
	kl_buffer_reset(&out);
	for (uint64_t id = 0; id < 70; id++)
		kl_print_cgroup(&out, cgroups, id);
	fuzz_check_plain(out.data, out.length);
	kl_cgroups_destroy(again);
	kl_cgroups_destroy(cgroups);
	kl_buffer_deinit(&out);
	kl_buffer_deinit(&more);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_stacks((const char *)data, size);
	try_addresses((const char *)data, size);
	try_cgroups((const char *)data, size);
	return 0;
}
