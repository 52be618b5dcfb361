/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internals of a plan: everything to be applied to a session, by number. Shared by plan.c (what a
 * user requests), handler.c (handlers of other modules), place.c (defined events), store.c
 * (programs and rules, without duplicates) and apply.c.
 */
#ifndef KL_LIB_PLAN_H
#define KL_LIB_PLAN_H

#include <kernlens/buffer.h>
#include <kernlens/expression.h>
#include <kernlens/plan_blocks.h>
#include <kernlens/process_splice.h>
#include <kernlens/program.h>
#include <kernlens/splice.h>
#include "spec.h"

/* A list as the user wrote it; @origin and @line if it comes from a file. */
struct kl_plan_list {
	char *text;
	unsigned int handler;
	unsigned int maskset; /* index of the maskset that it belongs to */
	char *origin;
	unsigned int line;
};

/*
 * A maskset: the first comes from -e and -m, the others are named by `use`. One that the session
 * already has is only referred to.
 */
struct kl_plan_maskset {
	char name[KL_NAME_MAX];
	uint32_t id;
	bool is_there;
	uint8_t *map; /* KL_EV_IDS bytes */
	uint8_t *dynamic; /* a byte for each defined event; may be shorter */
	size_t n_dynamic, dynamic_room;
};

struct kl_plan_program {
	struct kl_abi_op *ops;
	unsigned int n_ops;
	uint8_t *data;
	unsigned int data_bytes;
	uint64_t hash;
	int id; /* in the session, after it was applied */
};

/* Like struct kl_abi_rule, but programs are numbers in the plan; 0: none. */
struct kl_plan_made {
	struct kl_plan_rule shown;
	unsigned int filter;
	unsigned int value;
	unsigned int key[KL_RULE_KEYS_MAX];
	uint64_t arg;
	char text[KL_RULE_TEXT_MAX];
};

struct kl_plan_event {
	uint16_t kind;
	bool optional; /* a function that a pattern matches */
	bool is_location; /* another location of the preceding event */
	unsigned int program; /* number in the plan; 0: none */
	uint64_t address;
	uint64_t arg;
	char *name; /* may be NULL */
	unsigned int used_by; /* index of the last maskset that names it, plus 1 */
};

/* A probe point of a spec, with its arguments in the scope. */
struct kl_plan_place {
	const char *list;
	const struct kl_spec *spec;
	unsigned int handler;
	const char *group;
	char name[512]; /* name of the event */
	char help[512];
	bool without_arguments; /* arguments do not become fields automatically */
	struct kl_plan_event event;
};

/* A point of the kernel's text that emits an event. */
struct kl_plan_point {
	size_t function; /* index in the blocks */
	struct kl_splice_target target;
};

/* An expression given with -v. */
struct kl_plan_expression {
	struct kl_plan_variable shown;
	char *text;
	char *why; /* the last error */
	unsigned int program; /* number in the plan; 0: none */
	bool is_field; /* of a defined event */
};

/* A loaded module's types; @btf is NULL if they cannot be read. */
struct kl_plan_module {
	char *name;
	struct kl_btf *btf;
};

struct kl_plan {
	struct kl_schema *schema;
	bool is_foreign; /* another kernel than the running one */
	struct kl_btf *btf;
	struct kl_plan_module *modules; /* sorted by name */
	size_t n_modules, modules_room;
	bool has_modules; /* they have been searched for */
	struct kl_symbols *symbols;
	struct kl_program *program; /* the last one whose blocks were requested, or NULL */
	struct kl_process_splices *process; /* splices of programs, for users without uprobes */
	struct kl_scope *scope;
	struct kl_abi_handler_info *handlers; /* of other modules */
	size_t n_handlers, handlers_room;
	uint32_t may; /* KL_MAY_* of the user who will create the session */
	bool profile; /* `stack` counts traces: events of the current list are counted */
	struct kl_plan_list *lists;
	size_t n_lists, lists_room;
	struct kl_plan_program *programs; /* index is number - 1 */
	size_t n_programs, programs_room;
	unsigned int *heads; /* by hash: number of the first in the chain */
	unsigned int *chain; /* next one with the same hash */
	size_t chain_room;
	struct kl_plan_made rules[KL_RULES_MAX];
	unsigned int n_rules;
	struct kl_plan_event *events;
	size_t n_events, events_room;
	size_t omitted; /* optional functions that the session could not hook */
	size_t next_event; /* where find_event() starts searching */
	struct kl_blocks *blocks; /* NULL: not needed yet */
	bool borrows_blocks; /* they are the caller's */
	struct kl_splices *splices;
	struct kl_plan_point *points;
	size_t n_points, points_room;
	char *calling; /* pattern of the functions whose calls are known, or NULL */
	struct kl_plan_call *calls;
	size_t n_calls, calls_room;
	struct kl_plan_maskset *masksets;
	unsigned int n_masksets;
	unsigned int current; /* index of the one being compiled */
	bool joined; /* the session is running: nothing can be defined */
	char *flags[KL_FLAGS_MAX];
	struct kl_plan_expression variables[KL_VARIABLES_MAX];
	unsigned int n_variables;
	struct kl_buffer note;
	struct kl_code code; /* of the program being compiled */
	struct kl_capture capture;
};

/* store.c: each returns a number from 1 on, or a negative errno. */
int kl_plan_store_program(struct kl_plan *plan, const struct kl_code *code);
/* Returns the byte in a maskset. */
int kl_plan_store_rule(struct kl_plan *plan, const struct kl_plan_made *rule);
int kl_plan_store_event(struct kl_plan *plan, const struct kl_plan_event *event, uint8_t action);
/* Set what a defined event does in the current maskset. */
int kl_plan_store_action(struct kl_plan *plan, size_t index, uint8_t action);
int kl_plan_flag(struct kl_plan *plan, const char *name, bool of_cpu);

/*
 * variable.c: the session's variables, compiled before any event; then the fields of each logged
 * event.
 */
int kl_plan_compile_variables(struct kl_plan *plan);
int kl_plan_add_fields(struct kl_plan *plan);
/* Fails if there is an expression that no event could evaluate. */
int kl_plan_check_fields(struct kl_plan *plan);
void kl_plan_free_variables(struct kl_plan *plan);

/* apply.c: add the programs that the session does not have yet. */
int kl_plan_apply_programs(struct kl_plan *plan, struct kl_session *session);

/* plan.c: the action of a spec, as the byte in a maskset, in the plan's scope. */
int kl_plan_action(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		   unsigned int handler);

/* Copy a part to a string; NULL with an error text. */
char *kl_plan_copy_part(const struct kl_part *part);
/* Compile a user's expression into a stored program; 0 if there is none. @result may be NULL. */
int kl_plan_compile_part(struct kl_plan *plan, const char *what, const struct kl_part *part,
			 struct kl_result *result);
/* key.c */
int kl_plan_take_keys(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		      struct kl_plan_made *rule);

/* handler/external.c: the other module's handler that a spec names; NULL: none. */
const struct kl_abi_handler_info *kl_plan_external(const struct kl_plan *plan,
						   const struct kl_spec *spec);

/*
 * actions.c: add a maskset and return its index; find the maskset of a name: a built-in id, or
 * KL_MASKSET_FIRST_USER plus the index; read the masksets that `use` names from files.
 */
int kl_plan_new_maskset(struct kl_plan *plan, const char *name);
int kl_plan_find_maskset(const struct kl_plan *plan, const char *name, size_t length);
int kl_plan_load_masksets(struct kl_plan *plan);
/* Add a list to the maskset with the index that it has. */
int kl_plan_add_list(struct kl_plan *plan, const struct kl_plan_list *list);

/* stack.c: the stack traces of `stack`, `stack(kernel)` or `stack(user)`: @kinds: KL_STACKS_* */
int kl_plan_take_stacks(const struct kl_plan *plan, const char *list, const struct kl_spec *spec,
			unsigned int *kinds);

/*
 * stack.c: where events are counted, `stack by KEY` means `count by kstack, ustack, KEY`. Users who
 * are not allowed to see addresses get only ustack.
 */
int kl_plan_make_profile(const struct kl_plan *plan, const char *list, const struct kl_spec *spec,
			 struct kl_spec *made);

/* place.c */
int kl_plan_define(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		   unsigned int handler);
/* Define the event, unless another maskset has. Returns 0 or a negative errno. */
int kl_plan_add_place(struct kl_plan *plan, struct kl_plan_place *place);

/* The steps of it, for a probe point whose event has to be made otherwise. */
/* Find another maskset's event of that name. */
bool kl_plan_find_event(struct kl_plan *plan, const char *name, size_t *index);
/* Fails if the plan can define no further event. */
int kl_plan_check_new(const struct kl_plan *plan, const struct kl_plan_place *place);
/* Does the action write a record? */
bool kl_plan_is_log(const struct kl_plan *plan, int action);
/*
 * Describe the event in plan->capture, with the arguments in the scope as fields. Returns the
 * number of the program that outputs them, or 0 if there are none.
 */
int kl_plan_capture(struct kl_plan *plan, const struct kl_plan_place *place);
/* Note what plan->capture lacks. */
void kl_plan_note_capture(struct kl_plan *plan, const struct kl_plan_place *place);
/* Add the event that plan->capture describes. On failure, the caller still owns its name. */
int kl_plan_add_event(struct kl_plan *plan, const struct kl_plan_place *place, int action);

/* usdt.c: add the markers that the spec names. */
int kl_plan_add_usdt(struct kl_plan *plan, struct kl_plan_place *place, const char *path);

/* block.c: add the points that @pattern names after `block:`; have the session splice them. */
int kl_plan_add_blocks(struct kl_plan *plan, struct kl_plan_place *place, const char *pattern);
/* Add the kernel's text; fails with an error text. */
int kl_plan_open_blocks(struct kl_plan *plan);
/* Add the event of @place, which is fired at a point of a function. */
int kl_plan_add_point(struct kl_plan *plan, struct kl_plan_place *place, size_t function,
		      uint32_t block, bool behind);
int kl_plan_splice(struct kl_plan *plan, struct kl_session *session);
void kl_plan_free_blocks(struct kl_plan *plan);

/* call.c: add the calls from the functions that @pattern names after `call:`. */
int kl_plan_add_calls(struct kl_plan *plan, struct kl_plan_place *place, const char *pattern);
void kl_plan_free_calls(struct kl_plan *plan);

/* block_program.c: the blocks of a program. */
int kl_plan_add_program_blocks(struct kl_plan *plan, struct kl_plan_place *place);

/* module.c: types of the loaded modules, on top of the kernel's. */
int kl_plan_read_modules(struct kl_plan *plan);
/* NULL: no such module, or it has no types. */
const struct kl_btf *kl_plan_module_btf(struct kl_plan *plan, const char *module);
void kl_plan_free_modules(struct kl_plan *plan);

/* The kernel's types and symbols, read on first use; NULL with an error text. */
const struct kl_btf *kl_plan_btf(struct kl_plan *plan);
const struct kl_symbols *kl_plan_symbols(struct kl_plan *plan);

#endif /* KL_LIB_PLAN_H */
