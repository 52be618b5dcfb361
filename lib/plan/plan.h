/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A plan's inside: what it will tell a session, by number. Shared by plan.c
 * (what a user asks for), plan_handler.c (handlers of other modules),
 * plan_place.c (defined events), plan_store.c (programs and rules, each only
 * once) and plan_apply.c.
 */
#ifndef KL_LIB_PLAN_H
#define KL_LIB_PLAN_H

#include <kernlens/buffer.h>
#include <kernlens/plan.h>
#include <kernlens/process_splice.h>
#include <kernlens/program.h>
#include <kernlens/splice.h>
#include "spec.h"

/* A list as the user wrote it; @origin and @line if that was in a file. */
struct kl_plan_list {
	char *text;
	unsigned int handler;
	unsigned int maskset; /* index of the one that it is a part of */
	char *origin;
	unsigned int line;
};

/*
 * A maskset: the first is what -e and -m say, the others are named by `use`. One
 * that the session has already is only referred to.
 */
struct kl_plan_maskset {
	char name[KL_NAME_MAX];
	uint32_t id;
	bool is_there;
	uint8_t *map; /* KL_EV_IDS bytes */
	uint8_t *dynamic; /* a byte a defined event, as far as it goes */
	size_t n_dynamic, dynamic_room;
};

struct kl_plan_program {
	struct kl_abi_op *ops;
	unsigned int n_ops;
	uint8_t *data;
	unsigned int data_bytes;
	uint64_t hash;
	int id; /* in the session, once applied */
};

/* As in struct kl_abi_rule, but programs are numbers in the plan; 0: none. */
struct kl_plan_made {
	struct kl_plan_rule shown;
	unsigned int filter;
	unsigned int value;
	unsigned int key[KL_RULE_KEYS_MAX];
	uint64_t arg;
	char text[KL_RULE_TEXT_MAX];
};

struct kl_plan_event {
	uint32_t kind;
	unsigned int program; /* as above */
	uint64_t address;
	uint64_t arg;
	char *name; /* or NULL */
	unsigned int used_by; /* index of the last maskset that names it, and 1 */
};

/* One place of a spec, with its scope's arguments set. */
struct kl_plan_place {
	const char *list;
	const struct kl_spec *spec;
	unsigned int handler;
	const char *group;
	char name[512]; /* of the event */
	char help[512];
	bool without_arguments; /* they are not fields by themselves */
	struct kl_plan_event event;
};

/* A point of the kernel's text that fires an event. */
struct kl_plan_point {
	size_t function; /* index in the blocks */
	struct kl_splice_target target;
};

/* An expression behind -v. */
struct kl_plan_expression {
	struct kl_plan_variable shown;
	char *text;
	char *why; /* the last error */
	unsigned int program; /* as above */
	bool is_field; /* of some defined event */
};

/* A loaded module's types; @btf is NULL if they cannot be read. */
struct kl_plan_module {
	char *name;
	struct kl_btf *btf;
};

struct kl_plan {
	struct kl_schema *schema;
	struct kl_btf *btf;
	struct kl_plan_module *modules; /* sorted */
	size_t n_modules, modules_room;
	bool has_modules; /* they have been looked for */
	struct kl_symbols *symbols;
	struct kl_program *program; /* the last one whose blocks were named, or NULL */
	struct kl_process_splices *process; /* who may not use uprobes splices programs, or NULL */
	struct kl_scope *scope;
	struct kl_abi_handler_info *handlers; /* of other modules */
	size_t n_handlers, handlers_room;
	uint32_t may; /* KL_MAY_* of who will make the session */
	bool profile; /* `stack` counts traces: the present list's events are counted */
	struct kl_plan_list *lists;
	size_t n_lists, lists_room;
	struct kl_plan_program *programs; /* number - 1 */
	size_t n_programs, programs_room;
	unsigned int *heads; /* by hash: number of the first of a chain */
	unsigned int *chain; /* next of the same hash */
	size_t chain_room;
	struct kl_plan_made rules[KL_RULES_MAX];
	unsigned int n_rules;
	struct kl_plan_event *events;
	size_t n_events, events_room;
	size_t next_event; /* where to look first for one that exists */
	struct kl_blocks *blocks; /* NULL: not yet needed */
	struct kl_splices *splices;
	struct kl_plan_point *points;
	size_t n_points, points_room;
	struct kl_plan_maskset *masksets;
	unsigned int n_masksets;
	unsigned int current; /* the one that is being compiled */
	bool joined; /* the session runs: nothing can be defined */
	char *flags[KL_FLAGS_MAX];
	struct kl_plan_expression variables[KL_VARIABLES_MAX];
	unsigned int n_variables;
	struct kl_buffer note;
	struct kl_code code; /* the one being compiled */
	struct kl_capture capture;
};

/* plan_store.c: each returns a number from 1, or a negative errno. */
int kl_plan_store_program(struct kl_plan *plan, const struct kl_code *code);
/* Returns the byte for a maskset. */
int kl_plan_store_rule(struct kl_plan *plan, const struct kl_plan_made *rule);
int kl_plan_store_event(struct kl_plan *plan, const struct kl_plan_event *event, uint8_t action);
/* What happens at a defined event in the present maskset. */
int kl_plan_store_action(struct kl_plan *plan, size_t index, uint8_t action);
int kl_plan_flag(struct kl_plan *plan, const char *name, bool of_cpu);

/* plan_variable.c: of the session, before there is an event; then of each that is logged. */
int kl_plan_compile_variables(struct kl_plan *plan);
int kl_plan_add_fields(struct kl_plan *plan);
/* Those that no event could have: an error. */
int kl_plan_check_fields(struct kl_plan *plan);
void kl_plan_free_variables(struct kl_plan *plan);

/* plan_apply.c: those that the session has not yet. */
int kl_plan_apply_programs(struct kl_plan *plan, struct kl_session *session);

/* plan.c: what a spec does, as the byte for a maskset, in the plan's scope. */
int kl_plan_action(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		   unsigned int handler);

/* A part as a string; NULL with an error text. */
char *kl_plan_copy_part(const struct kl_part *part);
/* An expression of the user's to a stored program; 0 if it is not there. @result: or NULL. */
int kl_plan_compile_part(struct kl_plan *plan, const char *what, const struct kl_part *part,
			 struct kl_result *result);
/* plan_key.c */
int kl_plan_take_keys(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		      struct kl_plan_made *rule);

/* plan_handler.c: another module's handler that a spec names; NULL: there is none. */
const struct kl_abi_handler_info *kl_plan_external(const struct kl_plan *plan,
						   const struct kl_spec *spec);
/* Its name and, behind a blank, the arguments from @first on, as a rule's text. */
/*
 * plan_maskset.c: one more, by index; which one a name means: a built-in id, or
 * KL_MASKSET_FIRST_USER and the index; those that `use` names, read from files.
 */
int kl_plan_new_maskset(struct kl_plan *plan, const char *name);
int kl_plan_find_maskset(const struct kl_plan *plan, const char *name, size_t length);
int kl_plan_load_masksets(struct kl_plan *plan);
/* Into the maskset with an index. */
int kl_plan_add_list(struct kl_plan *plan, const struct kl_plan_list *list);

/*
 * plan_stack.c: where events are counted, `stack by KEY` is `count by kstack, ustack, KEY`.
 * Whoever may not see addresses gets the programs' half.
 */
int kl_plan_make_profile(const struct kl_plan *plan, const char *list, const struct kl_spec *spec,
			 struct kl_spec *made);

/* plan_place.c */
int kl_plan_define(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		   unsigned int handler);
/* Define its event, unless another maskset has. Returns 0 or a negative errno. */
int kl_plan_add_place(struct kl_plan *plan, struct kl_plan_place *place);

/* plan_block.c: the places of `block:` in @pattern; have the session splice them. */
int kl_plan_add_blocks(struct kl_plan *plan, struct kl_plan_place *place, const char *pattern);
int kl_plan_splice(struct kl_plan *plan, struct kl_session *session);
void kl_plan_free_blocks(struct kl_plan *plan);

/* plan_block_program.c: the same of programs' `block:`. */
int kl_plan_add_program_blocks(struct kl_plan *plan, struct kl_plan_place *place);

/* plan_module.c: types of the loaded modules, on top of the kernel's. */
int kl_plan_read_modules(struct kl_plan *plan);
/* NULL: it has none, or there is no such module. */
const struct kl_btf *kl_plan_module_btf(struct kl_plan *plan, const char *module);
void kl_plan_free_modules(struct kl_plan *plan);

/* The kernel's types and symbols, read when first needed; NULL with an error text. */
const struct kl_btf *kl_plan_btf(struct kl_plan *plan);
const struct kl_symbols *kl_plan_symbols(struct kl_plan *plan);

#endif /* KL_LIB_PLAN_H */
