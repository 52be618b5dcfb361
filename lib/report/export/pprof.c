// SPDX-License-Identifier: GPL-2.0
/* pprof's profile (pprof.proto), compressed by gzip as its readers expect. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "../../base/table.h"
#include "export.h"
#include "pprof.pb-c.h"

#define LABELS 3 /* of a sample: command, process, thread */
#define GZIP_WINDOW (15 + 16)

/* Strings that the format knows from the start; the first one is empty. */
enum {
	STRING_NONE,
	STRING_SAMPLES,
	STRING_COUNT,
	STRING_CPU,
	STRING_NANOSECONDS,
	STRING_COMM,
	STRING_PID,
	STRING_TID,
	STRINGS,
};

static const char *const words[STRINGS] = { "",	    "samples", "count", "cpu", "nanoseconds",
					    "comm", "pid",     "tid" };

/* Key: address of a text of the profile. @number: plus 1; 0: new */
struct string_of {
	uint64_t key;
	uint64_t number;
};

/**
 * struct pprof - state of the format
 * @string: texts of the profile, which it keeps, and of @words
 * @objects: struct string_of, by text: numbers of mappings
 */
struct pprof {
	char **string;
	size_t n_strings;
	size_t strings_room;
	struct kl_hash strings;
	Pprof__Mapping *mapping;
	size_t n_mappings;
	size_t mappings_room;
	struct kl_hash objects;
};

static int begin_pprof(struct kl_export *x)
{
	struct pprof *p = x->state;

	p->strings.size = sizeof(struct string_of);
	p->objects.size = sizeof(struct string_of);
	return 0;
}

static int add_sample(struct kl_export *x, const struct kl_export_sample *sample)
{
	return kl_profile_add(x->profile, sample->event);
}

/* The number of a text, which stays where it is; or -ENOMEM. */
static int64_t string_of(struct pprof *p, const char *text)
{
	struct string_of *entry = kl_hash_get(&p->strings, (uintptr_t)text);
	char **grown;

	if (!entry || entry->number)
		return entry ? (int64_t)entry->number - 1 : -ENOMEM;
	grown = kl_array_grow(p->string, p->n_strings, &p->strings_room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	p->string = grown;
	grown[p->n_strings] = (char *)text;
	entry->number = ++p->n_strings;
	return (int64_t)entry->number - 1;
}

static int add_words(struct pprof *p)
{
	int error = 0;

	for (unsigned int i = 0; i < STRINGS && !error; i++)
		error = string_of(p, words[i]) < 0 ? -ENOMEM : 0;
	return error;
}

/* The ID of a mapping, from 1, or -ENOMEM. */
static int64_t mapping_of(struct pprof *p, const char *object)
{
	struct string_of *entry = kl_hash_get(&p->objects, (uintptr_t)object);
	const int64_t name = string_of(p, object);
	Pprof__Mapping *grown;

	if (!entry || name < 0 || entry->number)
		return entry && name >= 0 ? (int64_t)entry->number : -ENOMEM;
	grown = kl_array_grow(p->mapping, p->n_mappings, &p->mappings_room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	p->mapping = grown;
	entry->number = ++p->n_mappings;
	grown += entry->number - 1;
	pprof__mapping__init(grown);
	grown->id = entry->number;
	grown->filename = name;
	grown->has_functions = true;
	return (int64_t)entry->number;
}

/**
 * struct message - a profile as it is written, with what it points to
 * @function, @location, @line: by the number of the function
 * @sample: @n_samples of them, with LABELS labels and two values each
 */
struct message {
	Pprof__Profile profile;
	Pprof__ValueType type[3];
	Pprof__ValueType *types[2];
	Pprof__Function *function;
	Pprof__Location *location;
	Pprof__Line *line;
	Pprof__Line **lines;
	Pprof__Sample *sample;
	Pprof__Label *label;
	Pprof__Label **labels;
	int64_t *value;
	uint64_t *place;
	void **list;
	size_t n_samples;
};

static int fill_functions(struct kl_export *x, struct message *m)
{
	const struct kl_profile_function *function = x->profile->functions.element;
	struct pprof *p = x->state;

	for (size_t i = 0; i < x->profile->functions.n; i++) {
		const int64_t name = string_of(p, kl_export_plain(x, function[i].name));
		const int64_t mapping = mapping_of(p, kl_export_plain(x, function[i].object));

		if (name < 0 || mapping < 0)
			return -ENOMEM;
		pprof__function__init(&m->function[i]);
		m->function[i].id = i + 1;
		m->function[i].name = name;
		m->function[i].system_name = name;
		pprof__line__init(&m->line[i]);
		m->line[i].function_id = i + 1;
		m->lines[i] = &m->line[i];
		pprof__location__init(&m->location[i]);
		m->location[i].id = i + 1;
		m->location[i].mapping_id = (uint64_t)mapping;
		m->location[i].n_line = 1;
		m->location[i].line = &m->lines[i];
	}
	return 0;
}

static int fill_labels(struct kl_export *x, const struct kl_profile_task *task, Pprof__Label *label,
		       Pprof__Label **list)
{
	const int64_t comm = string_of(x->state, kl_export_plain(x, task->comm));

	for (unsigned int i = 0; i < LABELS; i++) {
		pprof__label__init(&label[i]);
		list[i] = &label[i];
	}
	label[0].key = STRING_COMM;
	label[0].str = comm;
	label[1].key = STRING_PID;
	label[1].num = task->pid;
	label[2].key = STRING_TID;
	label[2].num = task->tid;
	return comm < 0 ? -ENOMEM : 0;
}

static int fill_samples(struct kl_export *x, struct message *m)
{
	const struct kl_profile_sample *sample = NULL;
	const uint64_t period = kl_export_period_ns(x);
	uint64_t *place = m->place;
	int error = 0;

	for (size_t i = 0; !error && (sample = kl_profile_next(x->profile, sample)); i++) {
		const struct kl_profile_path *path = &x->profile->path[sample->path];
		Pprof__Sample *to = &m->sample[i];

		pprof__sample__init(to);
		to->n_location_id = path->n;
		to->location_id = place;
		/* Innermost first. */
		for (unsigned int k = path->n; k > 0; k--)
			*place++ = path->frame[k - 1].function + 1ULL;
		m->value[2 * i] = (int64_t)sample->count;
		m->value[2 * i + 1] = (int64_t)(sample->count * period);
		to->n_value = period ? 2 : 1;
		to->value = &m->value[2 * i];
		to->n_label = LABELS;
		to->label = &m->labels[i * LABELS];
		error = fill_labels(x, kl_profile_task_of(x->profile, sample),
				    &m->label[i * LABELS], to->label);
		m->list[i] = to;
	}
	return error;
}

static void fill_types(struct kl_export *x, struct message *m)
{
	static const int64_t type[][2] = { { STRING_SAMPLES, STRING_COUNT },
					   { STRING_CPU, STRING_NANOSECONDS },
					   { STRING_CPU, STRING_NANOSECONDS } };
	const uint64_t period = kl_export_period_ns(x);

	for (unsigned int i = 0; i < KL_ARRAY_SIZE(type); i++) {
		pprof__value_type__init(&m->type[i]);
		m->type[i].type = type[i][0];
		m->type[i].unit = type[i][1];
	}
	m->types[0] = &m->type[0];
	m->types[1] = &m->type[1];
	m->profile.n_sample_type = period ? 2 : 1;
	m->profile.sample_type = m->types;
	if (period) {
		m->profile.period_type = &m->type[2];
		m->profile.period = (int64_t)period;
	}
}

/* Compress what has been packed, and append it. */
static int add_gzip(struct kl_buffer *to, uint8_t *bytes, size_t length)
{
	z_stream z = { .next_in = bytes, .avail_in = (uInt)length };
	char *at;
	int code;

	if (length > UINT32_MAX)
		return -EFBIG;
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	at = kl_buffer_reserve(to, deflateBound(&z, length));
	z.next_out = (Bytef *)at;
	z.avail_out = (uInt)deflateBound(&z, length);
	code = at ? deflate(&z, Z_FINISH) : Z_MEM_ERROR;
	to->length += code == Z_STREAM_END ? z.total_out : 0;
	deflateEnd(&z);
	return code == Z_STREAM_END ? 0 : -ENOMEM;
}

static int write_message(struct kl_export *x, struct message *m)
{
	const size_t bytes = pprof__profile__get_packed_size(&m->profile);
	uint8_t *packed = malloc(bytes + 1);
	int error = packed ? 0 : -ENOMEM;

	if (!error) {
		pprof__profile__pack(&m->profile, packed);
		error = add_gzip(&x->out, packed, bytes);
	}
	free(packed);
	return error;
}

/* The lists of pointers that the library takes: mappings, locations, functions, samples. */
static int write_lists(struct kl_export *x, struct message *m)
{
	const size_t n = x->profile->functions.n;
	struct pprof *p = x->state;
	void **list = calloc(p->n_mappings + 2 * n + 1, sizeof(*list));
	int error;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_mappings; i++)
		list[i] = &p->mapping[i];
	for (size_t i = 0; i < n; i++) {
		list[p->n_mappings + i] = &m->location[i];
		list[p->n_mappings + n + i] = &m->function[i];
	}
	m->profile.n_mapping = p->n_mappings;
	m->profile.mapping = (Pprof__Mapping **)list;
	m->profile.n_location = n;
	m->profile.location = (Pprof__Location **)(list + p->n_mappings);
	m->profile.n_function = n;
	m->profile.function = (Pprof__Function **)(list + p->n_mappings + n);
	m->profile.n_sample = m->n_samples;
	m->profile.sample = (Pprof__Sample **)m->list;
	m->profile.n_string_table = p->n_strings;
	m->profile.string_table = p->string;
	error = write_message(x, m);
	free(list);
	return error;
}

static int allocate(struct kl_export *x, struct message *m)
{
	const size_t n = x->profile->functions.n + 1;
	const struct kl_profile_sample *sample = NULL;
	size_t places = 1, room;

	while ((sample = kl_profile_next(x->profile, sample))) {
		places += x->profile->path[sample->path].n;
		m->n_samples++;
	}
	room = m->n_samples + 1;
	m->function = calloc(n, sizeof(*m->function));
	m->location = calloc(n, sizeof(*m->location));
	m->line = calloc(n, sizeof(*m->line));
	m->lines = calloc(n, sizeof(*m->lines));
	m->sample = calloc(room, sizeof(*m->sample));
	m->label = calloc(room * LABELS, sizeof(*m->label));
	m->labels = calloc(room * LABELS, sizeof(*m->labels));
	m->value = calloc(room * 2, sizeof(*m->value));
	m->place = calloc(places, sizeof(*m->place));
	m->list = calloc(room, sizeof(*m->list));
	return m->function && m->location && m->line && m->lines && m->sample && m->label &&
			       m->labels && m->value && m->place && m->list ?
		       0 :
		       -ENOMEM;
}

static void release(struct message *m)
{
	free(m->function);
	free(m->location);
	free(m->line);
	free(m->lines);
	free(m->sample);
	free(m->label);
	free(m->labels);
	free(m->value);
	free(m->place);
	free(m->list);
}

static int end_pprof(struct kl_export *x)
{
	const struct kl_profile_counts *counts = kl_profile_counts(x->profile);
	struct message m = { .profile = PPROF__PROFILE__INIT };
	int error = add_words(x->state);

	error = error ?: allocate(x, &m);
	error = error ?: fill_functions(x, &m);
	error = error ?: fill_samples(x, &m);
	if (!error) {
		fill_types(x, &m);
		m.profile.time_nanos = (int64_t)counts->first_ns;
		m.profile.duration_nanos = (int64_t)(counts->last_ns - counts->first_ns);
		error = write_lists(x, &m);
	}
	release(&m);
	return error;
}

static void clean_pprof(struct kl_export *x)
{
	struct pprof *p = x->state;

	free(p->string);
	free(p->mapping);
	kl_hash_deinit(&p->strings);
	kl_hash_deinit(&p->objects);
}

const struct kl_export_ops kl_export_pprof = {
	.format = { .name = "pprof", .extension = "pb.gz", .help = "stack traces, for pprof" },
	.needs_samples = true,
	.state_bytes = sizeof(struct pprof),
	.begin = begin_pprof,
	.sample = add_sample,
	.end = end_pprof,
	.clean = clean_pprof,
};
