/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a schema is built: by tables.c from the tables, by tsdl_parse.c or ber_schema.c from a trace.
 */
#ifndef KL_LIB_FORMAT_SCHEMA_H
#define KL_LIB_FORMAT_SCHEMA_H

#include <kernlens/abi.h>
#include <kernlens/schema.h>
#include <kernlens/schema_define.h>

#define KL_FIELDS_MAX 32 /* of an event; the tables allow 16 and some strings */
#define KL_FIELD_COUNT_MAX 256 /* maximum elements of an array */
#define KL_VARIABLE_NAME_MAX 64

/*
 * @classes points to allocated classes. Their names, helps, groups and fields are in @arena or, for
 * the built-in schema, in the tables. @variables are in the order in which records carry them;
 * @variable_bytes is their total size.
 */
struct kl_schema {
	struct kl_class *classes[KL_EV_MAX];
	struct kl_class **defined; /* indexed by id - KL_EV_DYNAMIC, may have gaps */
	size_t n_defined;
	size_t defined_capacity;
	const struct kl_variable *variables[KL_VARIABLES_MAX];
	unsigned int n_variables;
	unsigned int variable_bytes;
	const char *flags[KL_FLAGS_MAX]; /* names; NULL: none */
	const char *rules[KL_RULES_MAX]; /* as the user wrote them; NULL: none */
	const struct kl_stacks *stacks; /* resolves stack ids; may be NULL */
	struct kl_addresses *addresses; /* resolves addresses; may be NULL */
	struct kl_cgroups *cgroups; /* resolves ids of cgroups; may be NULL */
	struct kl_chunk *arena;
};

/* A copy that lives as long as the schema. NULL with error ENOMEM. */
char *kl_schema_string(struct kl_schema *schema, const char *text, size_t length);
struct kl_schema *kl_schema_new(void);

int kl_type_is_signed(enum kl_type type);
/* Base that numbers are printed in: 8, 10 or 16. */
unsigned int kl_format_base(enum kl_format format);

/*
 * Copy @proto and @n fields (name, type, format and count set; KL_TYPE_STRING without count) into
 * the schema, and compute the layout. Names must live as long as the schema. Returns -EINVAL for
 * invalid ids, sizes or duplicates.
 */
int kl_schema_add(struct kl_schema *schema, const struct kl_class *proto,
		  const struct kl_field *fields, unsigned int n);

#endif /* KL_LIB_FORMAT_SCHEMA_H */
