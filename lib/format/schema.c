// SPDX-License-Identifier: GPL-2.0
/* Schema objects: storage, look-up, and the layout of each event's record. */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "../base/plain.h"
#include "schema.h"

#define CHUNK_BYTES 65536

struct kl_chunk {
	struct kl_chunk *next;
	size_t used;
	size_t size;
	uint8_t memory[] __attribute__((aligned(16)));
};

struct type_info {
	const char *name;
	uint8_t bytes;
	uint8_t is_signed;
};

static const struct type_info types[] = {
	[KL_TYPE_S8] = { "s8", 1, 1 },	   [KL_TYPE_U8] = { "u8", 1, 0 },
	[KL_TYPE_S16] = { "s16", 2, 1 },   [KL_TYPE_U16] = { "u16", 2, 0 },
	[KL_TYPE_S32] = { "s32", 4, 1 },   [KL_TYPE_U32] = { "u32", 4, 0 },
	[KL_TYPE_S64] = { "s64", 8, 1 },   [KL_TYPE_U64] = { "u64", 8, 0 },
	[KL_TYPE_TEXT] = { "text", 1, 0 }, [KL_TYPE_STRING] = { "string", 0, 0 },
};

static const struct {
	const char *name;
	const char *help;
} formats[] = {
#define KL_FORMAT(name, help) { #name, help },
#include <kernlens/formats.def>
#undef KL_FORMAT
};

static const char word_letters[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

/* Zeroed memory that lives as long as the schema. NULL with error ENOMEM. */
static void *schema_alloc(struct kl_schema *schema, size_t bytes)
{
	struct kl_chunk *chunk = schema->arena;
	void *memory;

	bytes = (bytes + 15) & ~(size_t)15;
	if (!chunk || chunk->size - chunk->used < bytes) {
		size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;

		chunk = calloc(1, sizeof(*chunk) + size);
		if (!chunk) {
			kl_fail(ENOMEM, "out of memory");
			return NULL;
		}
		chunk->size = size;
		chunk->next = schema->arena;
		schema->arena = chunk;
	}
	memory = chunk->memory + chunk->used;
	chunk->used += bytes;
	return memory;
}

char *kl_schema_string(struct kl_schema *schema, const char *text, size_t length)
{
	char *copy = schema_alloc(schema, length + 1);

	if (copy)
		memcpy(copy, text, length);
	return copy;
}

struct kl_schema *kl_schema_new(void)
{
	struct kl_schema *schema = calloc(1, sizeof(*schema));

	if (!schema)
		kl_fail(ENOMEM, "out of memory");
	return schema;
}

void kl_schema_destroy(struct kl_schema *schema)
{
	struct kl_chunk *chunk, *next;

	if (!schema)
		return;
	for (chunk = schema->arena; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(schema->defined);
	free(schema);
}

/* Size in bytes of one element; 0 for strings. */
static unsigned int type_bytes(enum kl_type type)
{
	return types[type].bytes;
}

int kl_type_is_signed(enum kl_type type)
{
	return types[type].is_signed;
}

unsigned int kl_format_base(enum kl_format format)
{
	switch (format) {
	case KL_FORMAT_hex:
	case KL_FORMAT_ptr:
	case KL_FORMAT_gfp:
	case KL_FORMAT_page_flags:
	case KL_FORMAT_clone_flags:
	case KL_FORMAT_ioctl_cmd:
		return 16;
	case KL_FORMAT_oct:
	case KL_FORMAT_mode:
		return 8;
	default:
		return 10;
	}
}

const char *kl_type_name(enum kl_type type)
{
	return types[type].name;
}

const char *kl_format_name(enum kl_format format)
{
	return formats[format].name;
}

const char *kl_format_help(enum kl_format format)
{
	return formats[format].help;
}

enum kl_format kl_format_find(const char *name, size_t length)
{
	for (unsigned int i = 0; i < KL_ARRAY_SIZE(formats); i++)
		if (strlen(formats[i].name) == length && !memcmp(formats[i].name, name, length))
			return i;
	return KL_FORMAT_dec;
}

static int lay_out(struct kl_class *class, struct kl_field *fields)
{
	unsigned int anchor = 0, offset = 0;

	for (unsigned int i = 0; i < class->n_fields; i++) {
		struct kl_field *field = &fields[i];

		field->bytes = type_bytes(field->type);
		field->anchor = anchor;
		field->offset = offset;
		if (field->type == KL_TYPE_STRING) {
			field->count = 1;
			anchor++;
			offset = 0;
			continue;
		}
		if (!field->count || field->count > KL_FIELD_COUNT_MAX)
			return kl_fail(EINVAL, "event %s: field %s has %u elements", class->name,
				       field->name, field->count);
		offset += field->bytes * field->count;
	}
	class->n_strings = anchor;
	class->tail_bytes = offset;
	return 0;
}

/* The slot of a class; NULL with an error text on failure. */
static struct kl_class **find_slot(struct kl_schema *schema, unsigned int id)
{
	struct kl_class **more;
	size_t index = id - KL_EV_DYNAMIC;

	if (id < KL_EV_MAX)
		return &schema->classes[id];
	for (; schema->n_defined <= index; schema->n_defined++) {
		more = kl_array_grow(schema->defined, schema->n_defined, &schema->defined_capacity,
				     sizeof(*more));
		if (!more)
			return NULL;
		schema->defined = more;
		more[schema->n_defined] = NULL;
	}
	return &schema->defined[index];
}

/* Set the kind from the id, whatever a file claims. */
static void classify(struct kl_class *class)
{
	class->kind = KL_CLASS_EVENT;
	class->syscall = -1;
	if (class->id >= KL_EV_DYNAMIC)
		return;
	if (class->id >= KL_EV_SYSCALL_EXIT) {
		class->kind = KL_CLASS_SYSCALL_EXIT;
		class->syscall = (int16_t)(class->id - KL_EV_SYSCALL_EXIT);
	} else if (class->id >= KL_EV_SYSCALL_ENTRY) {
		class->kind = KL_CLASS_SYSCALL_ENTRY;
		class->syscall = (int16_t)(class->id - KL_EV_SYSCALL_ENTRY);
	}
}

/* Printers print names unchanged, and reports rely on the prefix of system call names. */
static int check_names(const struct kl_class *class, const struct kl_field *fields, unsigned int n)
{
	static const char *const begins[] = {
		[KL_CLASS_EVENT] = "",
		[KL_CLASS_SYSCALL_ENTRY] = "syscall_entry_",
		[KL_CLASS_SYSCALL_EXIT] = "syscall_exit_",
	};
	const char *begin = begins[class->kind];

	if (!*class->name || !kl_is_plain(class->name, strlen(class->name)) ||
	    strncmp(class->name, begin, strlen(begin)) != 0)
		return kl_fail(EINVAL, "invalid name \"%s\" of event %u", class->name, class->id);
	if (!kl_is_plain(class->group, strlen(class->group)) || strchr(class->group, ' ') ||
	    !kl_is_plain(class->help, strlen(class->help)))
		return kl_fail(EINVAL, "event %s has an invalid group or help", class->name);
	for (unsigned int i = 0; i < n; i++)
		if (!*fields[i].name || fields[i].name[strspn(fields[i].name, word_letters)])
			return kl_fail(EINVAL, "event %s: invalid field name \"%s\"", class->name,
				       fields[i].name);
	return 0;
}

int kl_schema_add(struct kl_schema *schema, const struct kl_class *proto,
		  const struct kl_field *fields, unsigned int n)
{
	struct kl_class *class, **slot;
	struct kl_field *copy;
	int ret;

	if (!proto->id || proto->id >= KL_EV_IDS)
		return kl_fail(EINVAL, "event %s has the invalid ID %u", proto->name, proto->id);
	slot = find_slot(schema, proto->id);
	if (!slot)
		return -ENOMEM;
	if (*slot)
		return kl_fail(EINVAL, "events %s and %s have the same ID %u", proto->name,
			       (*slot)->name, proto->id);
	if (n > KL_FIELDS_MAX)
		return kl_fail(EINVAL, "event %s has more than %u fields", proto->name,
			       KL_FIELDS_MAX);
	class = schema_alloc(schema, sizeof(*class));
	copy = schema_alloc(schema, sizeof(*copy) * n);
	if (!class || !copy)
		return -ENOMEM;
	*class = *proto;
	classify(class);
	ret = check_names(class, fields, n);
	if (ret)
		return ret;
	if (n)
		memcpy(copy, fields, sizeof(*copy) * n);
	class->fields = copy;
	class->n_fields = n;
	ret = lay_out(class, copy);
	if (!ret)
		*slot = class;
	return ret;
}

/* Make a printable copy. */
static const char *keep(struct kl_schema *schema, const char *text)
{
	size_t length = strlen(text);
	char *copy = kl_schema_string(schema, text, length);

	if (copy)
		kl_make_plain(copy, length);
	return copy;
}

int kl_schema_define(struct kl_schema *schema, const struct kl_class *class)
{
	struct kl_class proto = *class;
	struct kl_field fields[KL_FIELDS_MAX];
	unsigned int n = class->n_fields;
	int ret;

	if (n > KL_FIELDS_MAX)
		return kl_fail(EINVAL, "event %s has more than %u fields", class->name,
			       KL_FIELDS_MAX);
	proto.id = (uint16_t)(KL_EV_DYNAMIC + schema->n_defined);
	proto.name = keep(schema, class->name);
	proto.group = keep(schema, class->group);
	proto.help = keep(schema, class->help);
	for (unsigned int i = 0; i < n; i++) {
		fields[i] = class->fields[i];
		fields[i].name = keep(schema, fields[i].name);
		if (!fields[i].name)
			return -ENOMEM;
	}
	if (!proto.name || !proto.group || !proto.help)
		return -ENOMEM;
	ret = kl_schema_add(schema, &proto, fields, n);
	return ret ? ret : proto.id;
}

int kl_schema_skip(struct kl_schema *schema)
{
	unsigned int next = KL_EV_DYNAMIC + (unsigned int)schema->n_defined;

	return find_slot(schema, next) ? 0 : -ENOMEM;
}

const struct kl_class *kl_schema_class(const struct kl_schema *schema, unsigned int id)
{
	if (id < KL_EV_MAX)
		return schema->classes[id];
	return id - KL_EV_DYNAMIC < schema->n_defined ? schema->defined[id - KL_EV_DYNAMIC] : NULL;
}

const struct kl_class *kl_schema_next(const struct kl_schema *schema, const struct kl_class *class)
{
	unsigned int end = KL_EV_DYNAMIC + (unsigned int)schema->n_defined;

	for (unsigned int id = class ? class->id + 1 : 0; id < end; id++) {
		const struct kl_class *found = kl_schema_class(schema, id);

		if (found)
			return found;
	}
	return NULL;
}

const struct kl_class *kl_schema_find(const struct kl_schema *schema, const char *name)
{
	const struct kl_class *class = NULL;

	while ((class = kl_schema_next(schema, class)))
		if (!strcmp(class->name, name))
			return class;
	return NULL;
}

int kl_class_field(const struct kl_class *class, const char *name)
{
	for (unsigned int i = 0; i < class->n_fields; i++)
		if (!strcmp(class->fields[i].name, name))
			return i;
	return -ENOENT;
}

/* Is the name an identifier in every language that uses it? */
static int is_word(const char *name)
{
	const char *at = name;

	while ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_' ||
	       (at > name && *at >= '0' && *at <= '9'))
		at++;
	return at > name && !*at && at - name < KL_VARIABLE_NAME_MAX;
}

static int check_variable(const struct kl_schema *schema, const struct kl_variable *v,
			  unsigned int bytes)
{
	if (!is_word(v->name))
		return kl_fail(EINVAL, "invalid variable name \"%s\"", v->name);
	if (kl_schema_find_variable(schema, v->name) >= 0)
		return kl_fail(EINVAL, "duplicate variable %s", v->name);
	if (v->field.type > KL_TYPE_TEXT)
		return kl_fail(EINVAL, "the variable %s is neither a number nor a string", v->name);
	if (schema->n_variables == KL_VARIABLES_MAX ||
	    schema->variable_bytes + bytes > KL_VARIABLES_BYTES_MAX)
		return kl_fail(EINVAL, "too many variables (maximum %d, %d bytes)",
			       KL_VARIABLES_MAX, KL_VARIABLES_BYTES_MAX);
	return 0;
}

int kl_schema_add_variable(struct kl_schema *schema, const struct kl_variable *variable)
{
	unsigned int count = variable->field.type == KL_TYPE_TEXT ? KL_COMM_LEN : 1;
	unsigned int bytes = type_bytes(variable->field.type) * count;
	struct kl_variable *copy;
	int ret = check_variable(schema, variable, bytes);

	if (ret)
		return ret;
	copy = schema_alloc(schema, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = (struct kl_variable){
		.id = variable->id,
		.name = kl_schema_string(schema, variable->name, strlen(variable->name)),
		.scope = "",
		.type = kl_type_name(variable->field.type),
		.unit = keep(schema, variable->unit),
		.access = "",
		.cost = "",
		.help = keep(schema, variable->help),
	};
	if (!copy->name || !copy->unit || !copy->help)
		return -ENOMEM;
	copy->field = (struct kl_field){
		.name = copy->name,
		.type = variable->field.type,
		.format = variable->field.format,
		.bytes = type_bytes(variable->field.type),
		.count = count,
		.offset = schema->variable_bytes,
	};
	schema->variable_bytes += bytes;
	schema->variables[schema->n_variables] = copy;
	return schema->n_variables++;
}

const struct kl_variable *kl_schema_variable(const struct kl_schema *schema, unsigned int index)
{
	return index < schema->n_variables ? schema->variables[index] : NULL;
}

int kl_schema_find_variable(const struct kl_schema *schema, const char *name)
{
	for (unsigned int i = 0; i < schema->n_variables; i++)
		if (!strcmp(schema->variables[i]->name, name))
			return i;
	return -ENOENT;
}

static int set_text(struct kl_schema *schema, const char **slots, unsigned int n,
		    unsigned int index, const char *text)
{
	if (index >= n)
		return kl_fail(EINVAL, "index %u is out of range (%u in the session)", index, n);
	slots[index] = keep(schema, text);
	return slots[index] ? 0 : -ENOMEM;
}

int kl_schema_set_flag(struct kl_schema *schema, unsigned int flag, const char *name)
{
	return set_text(schema, schema->flags, KL_FLAGS_MAX, flag, name);
}

const char *kl_schema_flag(const struct kl_schema *schema, unsigned int flag)
{
	return flag < KL_FLAGS_MAX ? schema->flags[flag] : NULL;
}

int kl_schema_set_rule(struct kl_schema *schema, unsigned int rule, const char *text)
{
	return set_text(schema, schema->rules, KL_RULES_MAX, rule, text);
}

const char *kl_schema_rule(const struct kl_schema *schema, unsigned int rule)
{
	return rule < KL_RULES_MAX ? schema->rules[rule] : NULL;
}

int kl_schema_take_defined(struct kl_schema *schema, const struct kl_schema *from)
{
	int ret = 0;

	for (size_t i = 0; ret >= 0 && i < from->n_defined; i++) {
		const struct kl_class *class = from->defined[i];

		if (!class || schema->n_defined != i)
			return kl_fail(EINVAL, "the session's event IDs are not consecutive");
		ret = kl_schema_define(schema, class);
	}
	for (unsigned int i = 0; ret >= 0 && i < from->n_variables; i++)
		ret = kl_schema_add_variable(schema, from->variables[i]);
	for (unsigned int i = 0; ret >= 0 && i < KL_FLAGS_MAX; i++)
		if (from->flags[i])
			ret = kl_schema_set_flag(schema, i, from->flags[i]);
	for (unsigned int i = 0; ret >= 0 && i < KL_RULES_MAX; i++)
		if (from->rules[i])
			ret = kl_schema_set_rule(schema, i, from->rules[i]);
	return ret < 0 ? ret : 0;
}
