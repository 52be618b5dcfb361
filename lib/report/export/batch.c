// SPDX-License-Identifier: GPL-2.0
/*
 * Makes the calls of a format in batches, each on one of several threads. What follows from the
 * order of events is found by one thread at a time, which fills a batch with the calls and with
 * copies of the events that they need; what the calls append is written batch by batch. Batches are
 * the same however many threads there are, and so is the output.
 */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "export.h"

/* Enough that threads rarely wait for each other, and few enough for their caches. */
#define CALLS 4096

/* @event, @entry: numbers of copies, plus 1; 0: none */
struct kept {
	struct kl_export_call call;
	size_t event;
	size_t entry;
};

/**
 * struct kl_export_batch - calls that follow each other
 * @own: what they are made with
 * @head: what was written while they were found
 * @copies: events, each followed by its variables and payload in @bytes
 * @last_copy: of the last event that was copied while it was added, the record @last_record
 */
struct kl_export_batch {
	struct kl_export own;
	struct kl_buffer head;
	struct kept *kept;
	size_t n;
	size_t room;
	struct kl_event *copy;
	size_t n_copies;
	size_t copies_room;
	struct kl_buffer bytes;
	size_t variable_bytes;
	uint64_t last_record;
	size_t last_copy;
	int error;
};

int kl_export_begin_part(struct kl_export *x)
{
	x->part = calloc(1, x->ops->part_bytes + 1);
	return x->part ? 0 : -ENOMEM;
}

void kl_export_clean_part(struct kl_export *x)
{
	if (x->part && x->ops->clean_part)
		x->ops->clean_part(x);
	free(x->part);
}

/* -------------------------------------------------------------------- calls */

static const struct kl_export_args *args_of(struct kl_export *x, const struct kl_export_call *call)
{
	if (!call->entry && !call->event)
		return NULL;
	kl_export_args_reset(&x->args);
	if (call->entry)
		kl_export_args_add(&x->args, call->entry);
	if (call->event)
		kl_export_args_add(&x->args, call->event);
	return &x->args;
}

static int make_span(struct kl_export *x, struct kl_export_call *call)
{
	call->span.name = kl_export_plain(x, call->span.name);
	call->span.args = args_of(x, call);
	return x->args.text.error ? -ENOMEM : x->ops->span(x, &call->span);
}

int kl_export_make_call(struct kl_export *x, struct kl_export_call *call)
{
	x->number = call->number;
	switch (call->what) {
	case KL_EXPORT_RECORD:
		return x->ops->record(x, call->event);
	case KL_EXPORT_SPAN:
		return make_span(x, call);
	case KL_EXPORT_POINT:
		return x->ops->point(x, &call->point);
	case KL_EXPORT_SAMPLE:
		call->sample.event = call->event;
		return x->ops->sample(x, &call->sample);
	case KL_EXPORT_LOSS:
		return x->ops->loss(x, &call->loss);
	}
	return -EINVAL;
}

/* The number of a copy, plus 1, or 0 without memory. */
static size_t copy(struct kl_export_batch *batch, const struct kl_event *event)
{
	struct kl_event *grown =
		kl_array_grow(batch->copy, batch->n_copies, &batch->copies_room, sizeof(*grown));

	if (!grown)
		return 0;
	batch->copy = grown;
	grown[batch->n_copies] = *event;
	kl_buffer_add(&batch->bytes, event->variables, batch->variable_bytes);
	kl_buffer_add(&batch->bytes, event->payload, event->payload_bytes);
	return ++batch->n_copies;
}

/* The same of the event that is being added, of which one copy is enough. */
static size_t copy_event(struct kl_export *x, const struct kl_event *event)
{
	struct kl_export_batch *batch = x->batch;

	if (batch->last_record != x->counts.records) {
		batch->last_copy = copy(batch, event);
		batch->last_record = x->counts.records;
	}
	return batch->last_copy;
}

int kl_export_keep_call(struct kl_export *x, const struct kl_export_call *call)
{
	struct kl_export_batch *batch = x->batch;
	struct kept *grown = kl_array_grow(batch->kept, batch->n, &batch->room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	batch->kept = grown;
	grown += batch->n++;
	*grown = (struct kept){ .call = *call };
	if (call->event)
		grown->event = copy_event(x, call->event);
	if (call->entry)
		grown->entry = copy(batch, call->entry);
	return (call->event && !grown->event) || (call->entry && !grown->entry) ? -ENOMEM : 0;
}

/* Only now do the bytes have their place. */
static void set_pointers(struct kl_export_batch *batch)
{
	const uint8_t *at = (const uint8_t *)batch->bytes.data;

	for (size_t i = 0; i < batch->n_copies; i++) {
		batch->copy[i].variables = at;
		batch->copy[i].payload = at + batch->variable_bytes;
		at = batch->copy[i].payload + batch->copy[i].payload_bytes;
	}
	for (size_t i = 0; i < batch->n; i++) {
		struct kept *kept = &batch->kept[i];

		kept->call.event = kept->event ? &batch->copy[kept->event - 1] : NULL;
		kept->call.entry = kept->entry ? &batch->copy[kept->entry - 1] : NULL;
	}
}

/* ------------------------------------------------------------------ batches */

static void destroy_batch(void *context, void *item)
{
	struct kl_export_batch *batch = item;

	(void)context;
	kl_export_clean_part(&batch->own);
	kl_buffer_deinit(&batch->own.args.text);
	kl_texts_deinit(&batch->own.texts);
	kl_buffer_deinit(&batch->own.out);
	kl_buffer_deinit(&batch->head);
	kl_buffer_deinit(&batch->bytes);
	free(batch->kept);
	free(batch->copy);
	free(batch);
}

static void *create_batch(void *context)
{
	const struct kl_export *x = context;
	struct kl_export_batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return NULL;
	batch->variable_bytes = kl_items_variable_bytes(x->schema);
	batch->own = (struct kl_export){
		.trace = x->trace,
		.schema = x->schema,
		.options = x->options,
		.ops = x->ops,
		.scan = x->scan,
		.profile = x->profile,
		.held = true,
		.state = x->state,
	};
	if (!kl_export_begin_part(&batch->own))
		return batch;
	destroy_batch(context, batch);
	return NULL;
}

static int fill_batch(void *context, void *item)
{
	struct kl_export_batch *batch = item;
	struct kl_export *x = context;
	struct kl_buffer before;
	int more = 1;

	batch->n = 0;
	batch->n_copies = 0;
	batch->last_record = 0;
	kl_buffer_reset(&batch->bytes);
	kl_buffer_reset(&batch->head);
	x->batch = batch;
	while (more > 0 && batch->n < CALLS)
		more = kl_export_read(x);
	x->batch = NULL;
	before = x->out;
	x->out = batch->head;
	batch->head = before;
	set_pointers(batch);
	batch->error = more < 0 ? more : batch->bytes.error ? -ENOMEM : 0;
	return more > 0 && !batch->error;
}

static void make_calls(void *context, void *item)
{
	struct kl_export_batch *batch = item;
	struct kl_export *own = &batch->own;
	int error = batch->error;

	(void)context;
	for (size_t i = 0; i < batch->n && !error; i++)
		error = kl_export_make_call(own, &batch->kept[i].call);
	if (!error && own->ops->end_part)
		error = own->ops->end_part(own);
	batch->error = error;
}

static int write_buffer(FILE *file, struct kl_buffer *text)
{
	if (text->error)
		return -ENOMEM;
	if (text->length && fwrite(text->data, 1, text->length, file) != text->length)
		return -errno;
	kl_buffer_reset(text);
	return 0;
}

static int write_batch(void *context, void *item)
{
	struct kl_export_batch *batch = item;
	struct kl_export *x = context;
	int error = batch->error ?: write_buffer(x->file, &batch->head);

	return error ?: write_buffer(x->file, &batch->own.out);
}

int kl_export_read_batches(struct kl_export *x)
{
	static const struct kl_turns_ops ops = {
		.create = create_batch,
		.destroy = destroy_batch,
		.take = fill_batch,
		.work = make_calls,
		.put = write_batch,
	};
	const unsigned int threads = kl_trace_is_complete(x->trace) ? kl_turns_threads() : 1;
	int error = write_buffer(x->file, &x->out);

	x->held = true;
	error = error ?: kl_turns_run(&ops, x, threads);
	x->held = false;
	/* The text of an error belongs to the thread in which it occurred. */
	if (error == -ENOMEM)
		kl_fail(ENOMEM, "out of memory");
	return error;
}
