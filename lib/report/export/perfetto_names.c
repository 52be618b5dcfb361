// SPDX-License-Identifier: GPL-2.0
/* Names in Perfetto's format: each is written once, in a packet of its own, before it is used. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "perfetto.h"

#define SEQUENCE 1
#define STATE_CLEARED 1
#define NEEDS_STATE 2

/* Key: address of a text that stays where it is. @number: plus 1; 0: new */
struct interned {
	uint64_t key;
	uint64_t number;
};

int kl_perfetto_put(struct kl_export *x, Perfetto__TracePacket *packet)
{
	struct perfetto *p = x->state;
	Perfetto__Trace trace = PERFETTO__TRACE__INIT;
	size_t bytes;
	char *at;

	packet->has_trusted_packet_sequence_id = true;
	packet->trusted_packet_sequence_id = SEQUENCE;
	packet->has_sequence_flags = true;
	packet->sequence_flags = NEEDS_STATE | (p->begun ? 0 : STATE_CLEARED);
	if (!p->begun)
		p->begun = true;
	trace.n_packet = 1;
	trace.packet = &packet;
	bytes = perfetto__trace__get_packed_size(&trace);
	at = kl_buffer_reserve(&x->out, bytes);
	if (!at)
		return -ENOMEM;
	x->out.length += perfetto__trace__pack(&trace, (uint8_t *)at);
	return kl_export_flush(x);
}

static int put_interned(struct kl_export *x, Perfetto__InternedData *data)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	packet.interned_data = data;
	return kl_perfetto_put(x, &packet);
}

/* Note that a number has been written. Returns 1 if it had not been, 0, or -ENOMEM. */
static int note(struct kl_buffer *bits, uint64_t number)
{
	const char bit = (char)(1 << (number & 7));

	while (bits->length <= number >> 3 && !bits->error)
		kl_buffer_add_char(bits, 0);
	if (bits->error)
		return -ENOMEM;
	if (bits->data[number >> 3] & bit)
		return 0;
	bits->data[number >> 3] |= bit;
	return 1;
}

int kl_perfetto_name(struct kl_export *x, uint32_t number)
{
	struct perfetto *p = x->state;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__InternedName name = PERFETTO__INTERNED_NAME__INIT, *one = &name;
	int new = note(&p->names, number);

	if (new <= 0)
		return new;
	name.has_iid = true;
	name.iid = number + 1ULL;
	name.name = (char *)kl_export_plain(x, x->timeline->name[number]);
	data.n_event_names = 1;
	data.event_names = &one;
	return put_interned(x, &data);
}

static int put_field(struct kl_export *x, const char *field)
{
	struct perfetto *p = x->state;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__InternedName name = PERFETTO__INTERNED_NAME__INIT, *one = &name;
	struct interned *entry = kl_hash_get(&p->fields, (uintptr_t)field);

	if (!entry || entry->number)
		return entry ? 0 : -ENOMEM;
	entry->number = p->fields.count;
	name.has_iid = true;
	name.iid = entry->number;
	name.name = (char *)field;
	data.n_debug_annotation_names = 1;
	data.debug_annotation_names = &one;
	return put_interned(x, &data);
}

int kl_perfetto_fields(struct kl_export *x)
{
	const struct kl_class *class = NULL;
	int error = 0;

	while ((class = kl_schema_next(x->schema, class))) {
		if (!kl_hash_find(&x->scan->classes, class->id + 1ULL))
			continue;
		for (unsigned int i = 0; i < class->n_fields && !error; i++)
			error = put_field(x, class->fields[i].name);
	}
	return error;
}

uint64_t kl_perfetto_field(const struct kl_export *x, const char *field)
{
	const struct perfetto *p = x->state;
	const struct interned *entry = kl_hash_find(&p->fields, (uintptr_t)field);

	return entry ? entry->number : 0;
}

static int64_t intern_object(struct kl_export *x, const char *object)
{
	struct perfetto *p = x->state;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__InternedString path = PERFETTO__INTERNED_STRING__INIT, *one = &path;
	Perfetto__Mapping mapping = PERFETTO__MAPPING__INIT, *map = &mapping;
	struct interned *entry = kl_hash_get(&p->objects, (uintptr_t)object);
	uint64_t number;
	int error;

	if (!entry || entry->number)
		return entry ? (int64_t)entry->number : -ENOMEM;
	entry->number = p->objects.count;
	number = entry->number;
	path.has_iid = true;
	path.iid = number;
	path.has_str = true;
	path.str.data = (uint8_t *)object;
	path.str.len = strlen(object);
	mapping.has_iid = true;
	mapping.iid = number;
	mapping.n_path_string_ids = 1;
	mapping.path_string_ids = &number;
	data.n_mapping_paths = 1;
	data.mapping_paths = &one;
	data.n_mappings = 1;
	data.mappings = &map;
	error = put_interned(x, &data);
	return error ?: (int64_t)number;
}

static int intern_function(struct kl_export *x, uint32_t number)
{
	const struct kl_profile_function *function =
		(const struct kl_profile_function *)x->profile->functions.element + number;
	struct perfetto *p = x->state;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__InternedString name = PERFETTO__INTERNED_STRING__INIT, *one = &name;
	Perfetto__Frame frame = PERFETTO__FRAME__INIT, *of = &frame;
	int new = note(&p->frames, number);
	int64_t mapping;

	if (new <= 0)
		return new;
	mapping = intern_object(x, function->object);
	if (mapping < 0)
		return (int)mapping;
	name.has_iid = true;
	name.iid = number + 1ULL;
	name.has_str = true;
	name.str.data = (uint8_t *)function->name;
	name.str.len = strlen(function->name);
	frame.has_iid = true;
	frame.iid = name.iid;
	frame.has_function_name_id = true;
	frame.function_name_id = name.iid;
	frame.has_mapping_id = true;
	frame.mapping_id = (uint64_t)mapping;
	/* Frames of one mapping and place are taken as one. */
	frame.has_rel_pc = true;
	frame.rel_pc = name.iid;
	data.n_function_names = 1;
	data.function_names = &one;
	data.n_frames = 1;
	data.frames = &of;
	return put_interned(x, &data);
}

int kl_perfetto_path(struct kl_export *x, uint32_t number)
{
	const struct kl_profile_path *path = &x->profile->path[number];
	struct perfetto *p = x->state;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__Callstack stack = PERFETTO__CALLSTACK__INIT, *one = &stack;
	int new = note(&p->paths, number);
	int error = new < 0 ? new : 0;

	if (new <= 0)
		return error;
	for (unsigned int i = 0; i < path->n && !error; i++)
		error = intern_function(x, path->frame[i].function);
	if (error)
		return error;
	stack.has_iid = true;
	stack.iid = number + 1ULL;
	stack.n_frame_ids = path->n;
	stack.frame_ids = malloc((path->n + 1) * sizeof(*stack.frame_ids));
	if (!stack.frame_ids)
		return -ENOMEM;
	for (unsigned int i = 0; i < path->n; i++)
		stack.frame_ids[i] = path->frame[i].function + 1ULL;
	data.n_callstacks = 1;
	data.callstacks = &one;
	error = put_interned(x, &data);
	free(stack.frame_ids);
	return error;
}

int kl_perfetto_categories(struct kl_export *x)
{
	Perfetto__InternedName name[KL_TRACK_KINDS], *list[KL_TRACK_KINDS];
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;

	for (unsigned int i = 0; i < KL_TRACK_KINDS; i++) {
		perfetto__interned_name__init(&name[i]);
		name[i].has_iid = true;
		name[i].iid = i + 1;
		name[i].name = (char *)kl_track_kind_name((enum kl_track_kind)i);
		list[i] = &name[i];
	}
	data.n_event_categories = KL_TRACK_KINDS;
	data.event_categories = list;
	return put_interned(x, &data);
}

void kl_perfetto_init(struct perfetto *p)
{
	p->fields.size = sizeof(struct interned);
	p->objects.size = sizeof(struct interned);
}

void kl_perfetto_clean(struct perfetto *p)
{
	kl_buffer_deinit(&p->names);
	kl_buffer_deinit(&p->frames);
	kl_buffer_deinit(&p->paths);
	kl_hash_deinit(&p->fields);
	kl_hash_deinit(&p->objects);
}
