/* SPDX-License-Identifier: GPL-2.0 */
/* How a schema is put together: by tables.c from the tables, by parse.c. */
#ifndef KL_LIB_FORMAT_SCHEMA_H
#define KL_LIB_FORMAT_SCHEMA_H

#include <kernlens/abi.h>
#include <kernlens/schema.h>

#define KL_FIELDS_MAX 32 /* of an event; the tables allow 16 and some strings */
#define KL_FIELD_COUNT_MAX 256 /* elements of an array */
#define KL_VARIABLE_NAME_MAX 64

/*
 * @classes points to allocated classes, whose names, helps, groups and fields
 * belong to @arena's chunks or, for the built-in schema, to the tables. The
 * variables that records carry are in their order; @variable_bytes of them all.
 */
struct kl_schema {
	struct kl_class *classes[KL_EV_MAX];
	struct kl_class **defined; /* by id less KL_EV_DYNAMIC, may have gaps */
	size_t n_defined;
	size_t defined_capacity;
	const struct kl_variable *variables[KL_VARIABLES_MAX];
	unsigned int n_variables;
	unsigned int variable_bytes;
	const char *flags[KL_FLAGS_MAX]; /* names; NULL: none */
	const char *rules[KL_RULES_MAX]; /* as their user wrote them; NULL: none */
	const struct kl_stacks *stacks; /* what ids of traces stand for, or NULL */
	struct kl_addresses *addresses; /* what addresses are called, or NULL */
	struct kl_chunk *arena;
};

/* Memory that lives as long as the schema, zeroed. NULL with error ENOMEM. */
void *kl_schema_alloc(struct kl_schema *schema, size_t bytes);
char *kl_schema_string(struct kl_schema *schema, const char *text, size_t length);
struct kl_schema *kl_schema_new(void);

/* Size in bytes of one element; 0 for strings. */
unsigned int kl_type_bytes(enum kl_type type);
int kl_type_is_signed(enum kl_type type);
/* In which numbers are printed: 8, 10 or 16. */
unsigned int kl_format_base(enum kl_format format);

/*
 * Copy @proto and @n fields (name, type, format and count set; KL_TYPE_STRING
 * without count) into the schema, and compute the layout. Names must live as
 * long as the schema. Returns -EINVAL for impossible ids, sizes or doubles.
 */
int kl_schema_add(struct kl_schema *schema, const struct kl_class *proto,
		  const struct kl_field *fields, unsigned int n);

#endif /* KL_LIB_FORMAT_SCHEMA_H */
