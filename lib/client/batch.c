// SPDX-License-Identifier: GPL-2.0
/*
 * Collects the calls of a session instead of making them, for the mailbox. What the structs of the
 * calls point to is copied into the request, and the pointers become offsets. Numbers that a call
 * would return are those that a new session gives: all count up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kernlens/buffer.h>
#include <kernlens/error.h>
#include <kernlens/mailbox.h>
#include <kernlens/schema.h>
#include "../../uapi/mailbox.h"
#include "../base/base.h"
#include "batch.h"
#include "client.h"

/*
 * @data: what calls point to, which comes first in the request
 * @calls: of struct kl_mailbox_call and their arguments
 * @symbols: of struct kl_mailbox_symbol; @names: their names
 */
struct kl_batch {
	struct kl_buffer data;
	struct kl_buffer calls;
	struct kl_mailbox_symbol symbols[KL_MAILBOX_SYMBOLS_MAX];
	uint32_t n_symbols;
	uint64_t unresolved;
	const char *function;
	uint32_t programs, rules, events, masksets;
};

struct kl_batch *kl_batch_create(void)
{
	struct kl_batch *batch = calloc(1, sizeof(*batch));

	if (batch)
		batch->masksets = KL_MASKSET_FIRST_USER;
	else
		kl_fail(ENOMEM, "out of memory");
	return batch;
}

void kl_batch_destroy(struct kl_batch *batch)
{
	if (!batch)
		return;
	kl_buffer_deinit(&batch->data);
	kl_buffer_deinit(&batch->calls);
	free(batch);
}

static uint32_t size_of(const struct kl_batch *batch)
{
	return (uint32_t)(sizeof(struct kl_mailbox_request) + batch->data.length +
			  batch->calls.length);
}

static void pad(struct kl_buffer *buffer)
{
	static const char zeros[8];

	kl_buffer_add(buffer, zeros, -buffer->length % sizeof(zeros));
}

/* Copy bytes into the request. Returns their offset. */
static uint64_t add_data(struct kl_batch *batch, uint64_t pointer, size_t bytes)
{
	uint64_t at = sizeof(struct kl_mailbox_request) + batch->data.length;

	kl_buffer_add(&batch->data, (const void *)(uintptr_t)pointer, bytes);
	pad(&batch->data);
	return at;
}

static int add_symbol(struct kl_batch *batch, uint64_t at)
{
	const char *name = batch->function;
	struct kl_mailbox_symbol *symbol = &batch->symbols[batch->n_symbols];

	if (batch->n_symbols == KL_MAILBOX_SYMBOLS_MAX)
		return kl_fail(E2BIG, "too many functions (maximum %d)", KL_MAILBOX_SYMBOLS_MAX);
	if (strlen(name) >= KL_MAILBOX_SYMBOL_MAX)
		return kl_fail(EINVAL, "the name of a function must not exceed %d bytes",
			       KL_MAILBOX_SYMBOL_MAX - 1);
	symbol->at = (uint32_t)at;
	symbol->name = (uint32_t)add_data(batch, (uintptr_t)name, strlen(name) + 1);
	batch->n_symbols++;
	return 0;
}

static int add_events(struct kl_batch *batch, struct kl_abi_events *call)
{
	const struct kl_abi_event *from = (const void *)(uintptr_t)call->event;
	struct kl_abi_event *events = calloc(call->n + 1, sizeof(*events));
	int ret = 0;

	if (!events)
		return kl_fail(ENOMEM, "out of memory");
	memcpy(events, from, call->n * sizeof(*events));
	for (uint32_t i = 0; i < call->n; i++)
		if (from[i].name)
			events[i].name =
				add_data(batch, from[i].name,
					 strlen((const char *)(uintptr_t)from[i].name) + 1);
	call->event = add_data(batch, (uintptr_t)events, call->n * sizeof(*events));
	for (uint32_t i = 0; !ret && i < call->n; i++)
		if (batch->function && events[i].address == batch->unresolved)
			ret = add_symbol(batch, call->event + i * sizeof(*events) +
							offsetof(struct kl_abi_event, address));
	free(events);
	call->first = KL_EV_DYNAMIC + batch->events;
	batch->events += call->n;
	return ret;
}

/* Replace the pointers of a call's struct, and number what it creates. */
static int take_call(struct kl_batch *batch, unsigned long request, void *argument)
{
	struct kl_abi_program *program = argument;
	struct kl_abi_maskset *maskset = argument;
	struct kl_abi_metadata *metadata = argument;
	struct kl_abi_rule *rule = argument;

	switch (request) {
	case KL_IOC_PROGRAM:
		program->ops =
			add_data(batch, program->ops, program->n_ops * sizeof(struct kl_abi_op));
		program->data = add_data(batch, program->data, program->data_bytes);
		program->id = ++batch->programs;
		return 0;
	case KL_IOC_EVENTS:
		return add_events(batch, argument);
	case KL_IOC_RULE:
		rule->rule = batch->rules++;
		return 0;
	case KL_IOC_MASKSET_WRITE:
		maskset->dynamic = add_data(batch, maskset->dynamic, maskset->n_dynamic);
		if (maskset->id == KL_MASKSET_ANY)
			maskset->id = batch->masksets++;
		return 0;
	case KL_IOC_METADATA_SET:
		metadata->text = add_data(batch, metadata->text, metadata->bytes);
		return 0;
	case KL_IOC_SESSION:
	case KL_IOC_VARIABLES:
	case KL_IOC_MASKSET_USE:
	case KL_IOC_START:
		return 0;
	default:
		return kl_fail(ENOTSUP, "a debugger cannot make this call");
	}
}

int kl_batch_add(struct kl_batch *batch, unsigned long request, void *argument, size_t size)
{
	const struct kl_mailbox_call call = { (uint32_t)request, (uint32_t)size };
	const struct kl_abi_metadata *metadata = argument;
	uint32_t bytes = (uint32_t)size;
	int ret;

	if (argument)
		memcpy(argument, &bytes, sizeof(bytes));
	/* A description of all events does not fit. Its caller then describes only its own. */
	if (request == KL_IOC_METADATA_SET && metadata->bytes > KL_MAILBOX_BYTES / 2)
		return kl_fail(E2BIG, "the metadata are too large for a request");
	ret = take_call(batch, request, argument);
	if (ret)
		return ret;
	kl_buffer_add(&batch->calls, &call, sizeof(call));
	kl_buffer_add(&batch->calls, argument, size);
	pad(&batch->calls);
	if (batch->calls.error || batch->data.error)
		return kl_fail(ENOMEM, "out of memory");
	if (size_of(batch) > KL_MAILBOX_BYTES - sizeof(batch->symbols))
		return kl_fail(E2BIG, "the request is larger than %u bytes", KL_MAILBOX_BYTES);
	return 0;
}

void kl_mailbox_set_symbol(struct kl_session *session, uint64_t address, const char *name)
{
	session->batch->unresolved = address;
	session->batch->function = name;
}

/* ---------------------------------------------------------------- requests */

static int add_request(struct kl_buffer *to, const struct kl_mailbox_request *request)
{
	struct kl_mailbox_request head = *request;

	head.version = KL_MAILBOX_VERSION;
	head.schema_hash = kl_schema_hash();
	if (!head.bytes)
		head.bytes = sizeof(head);
	kl_buffer_add(to, &head, sizeof(head));
	return to->error ? kl_fail(ENOMEM, "out of memory") : 0;
}

int kl_mailbox_hook(const struct kl_session *session, struct kl_buffer *to)
{
	const struct kl_batch *batch = session->batch;
	const struct kl_mailbox_request head = {
		.kind = KL_MAILBOX_HOOK,
		.bytes = size_of(batch) + batch->n_symbols * (uint32_t)sizeof(*batch->symbols),
		.calls = (uint32_t)(sizeof(head) + batch->data.length),
		.calls_bytes = (uint32_t)batch->calls.length,
		.symbols = size_of(batch),
		.n_symbols = batch->n_symbols,
	};
	int ret = add_request(to, &head);

	if (ret)
		return ret;
	kl_buffer_add(to, batch->data.data, batch->data.length);
	kl_buffer_add(to, batch->calls.data, batch->calls.length);
	kl_buffer_add(to, batch->symbols, batch->n_symbols * sizeof(*batch->symbols));
	return to->error ? kl_fail(ENOMEM, "out of memory") : 0;
}

int kl_mailbox_unhook(uint32_t session, struct kl_buffer *to)
{
	const struct kl_mailbox_request head = { .kind = KL_MAILBOX_UNHOOK, .session = session };

	return add_request(to, &head);
}

int kl_mailbox_use(uint32_t session, const char *maskset, struct kl_buffer *to)
{
	struct kl_mailbox_request head = { .kind = KL_MAILBOX_USE, .session = session };

	if (strlen(maskset) >= sizeof(head.maskset))
		return kl_fail(EINVAL, "a maskset's name must not exceed %zu bytes",
			       sizeof(head.maskset) - 1);
	strcpy(head.maskset, maskset);
	return add_request(to, &head);
}

/* ---------------------------------------------------------------- device */

struct kl_device *kl_device_offline(void)
{
	struct kl_device *device = calloc(1, sizeof(*device));

	if (!device) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	device->fd = -1;
	device->is_offline = true;
	device->info = (struct kl_abi_info){
		.abi_version = KL_ABI_VERSION,
		.schema_hash = kl_schema_hash(),
		.cpus = 1,
		.may = ~0u,
		.clock_hz = 1000000000,
	};
	return device;
}

/* Any time will do: what reads a session's metadata takes its clock from elsewhere. */
void kl_batch_time(struct kl_abi_time *time)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	time->realtime_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	clock_gettime(CLOCK_MONOTONIC, &now);
	time->monotonic_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	time->cycles = time->monotonic_ns;
	time->clock = KL_CLOCK_MONOTONIC;
}
