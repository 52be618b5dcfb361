// SPDX-License-Identifier: GPL-2.0
/*
 * Resolves addresses in fields to names: by the running kernel's symbols, and in a pass over a new
 * recording. Feeds format/address.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <kernlens/address_store.h>
#include <kernlens/error.h>
#include <kernlens/event.h>
#include <kernlens/symbols.h>
#include <kernlens/trace.h>
#include "../base/base.h"
#include "modules.h"

#define LOOK_NS 1000000000u /* minimum time between checks of the loaded modules */
#define EVENTS_AT_ONCE 65536 /* between checks of the time limit */

struct kernel {
	struct kl_symbols *symbols;
	uint64_t modules;
	uint64_t looked_ns;
};

static void look_at_modules(struct kernel *kernel)
{
	uint64_t now = kl_monotonic_ns(), modules;

	if (kernel->looked_ns && now - kernel->looked_ns < LOOK_NS)
		return;
	kernel->looked_ns = now;
	modules = kl_modules_hash();
	if (kernel->symbols && modules == kernel->modules)
		return;
	kl_symbols_close(kernel->symbols);
	kernel->symbols = kl_symbols_open(NULL);
	kernel->modules = modules;
}

static bool find(void *data, uint64_t address, struct kl_address *to)
{
	struct kernel *kernel = data;
	struct kl_symbol symbol;
	uint64_t offset;
	int error;

	look_at_modules(kernel);
	error = kernel->symbols ? kl_symbols_around(kernel->symbols, address, &symbol, &offset) :
				  -ENOENT;
	kl_error_clear();
	if (error)
		return false;
	*to = (struct kl_address){ symbol.name, offset, *symbol.module ? symbol.module : NULL };
	return true;
}

static void done(void *data)
{
	struct kernel *kernel = data;

	kl_symbols_close(kernel->symbols);
	free(kernel);
}

struct kl_addresses *kl_addresses_of_kernel(void)
{
	struct kl_addresses *addresses = kl_addresses_create();
	struct kernel *kernel = calloc(1, sizeof(*kernel));

	if (addresses && kernel) {
		kl_addresses_set_source(addresses, find, done, kernel);
		return addresses;
	}
	kl_addresses_destroy(addresses);
	free(kernel);
	kl_fail(ENOMEM, "out of memory");
	return NULL;
}

static bool is_address(const struct kl_field *field)
{
	return field->format == KL_FORMAT_ptr && field->count == 1 && field->bytes == 8;
}

static void take_event(struct kl_addresses *addresses, const struct kl_event *event)
{
	for (unsigned int i = 0; i < event->event_class->n_fields; i++)
		if (is_address(&event->event_class->fields[i]))
			kl_addresses_get(addresses, kl_event_value(event, i).number);
}

/* Find the variables whose values are addresses. Returns their number. */
static unsigned int find_variables(const struct kl_schema *schema, unsigned int *index)
{
	const struct kl_variable *variable;
	unsigned int n = 0;

	for (unsigned int i = 0; (variable = kl_schema_variable(schema, i)); i++)
		if (is_address(&variable->field))
			index[n++] = i;
	return n;
}

int kl_addresses_collect(struct kl_addresses *addresses, const char *path, uint64_t limit_ns)
{
	struct kl_trace *trace = kl_trace_open(path);
	unsigned int variable[KL_VARIABLES_MAX], variables;
	uint64_t begun = kl_monotonic_ns();
	struct kl_item item;
	int more = 1;

	if (!trace)
		return -errno;
	variables = find_variables(kl_trace_schema(trace), variable);
	for (uint64_t n = 1; more && kl_trace_next(trace, &item) > 0; n++) {
		if (n % EVENTS_AT_ONCE == 0 && kl_monotonic_ns() - begun > limit_ns)
			more = 0;
		if (item.kind != KL_ITEM_EVENT)
			continue;
		if (item.event->event_class->kind == KL_CLASS_EVENT)
			take_event(addresses, item.event);
		for (unsigned int i = 0; i < variables; i++)
			kl_addresses_get(addresses,
					 kl_event_variable(item.event, variable[i]).number);
	}
	kl_trace_close(trace);
	return more;
}
