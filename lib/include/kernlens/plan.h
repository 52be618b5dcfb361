/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Translates what a user requests (probe points, filters, handlers, keys) into what a session
 * needs: programs, defined events, rules and masksets. The text is that of option -e, described
 * in kernlens-events(7) and kernlens-expressions(7):
 *
 *   PLACE [/FILTER/] [:HANDLER[(ARGUMENTS)] [by KEY[,KEY...]]]
 */
#ifndef KERNLENS_PLAN_H
#define KERNLENS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/client.h>
#include <kernlens/public.h>
#include <kernlens/result.h>
#include <kernlens/schema.h>

KL_PUBLIC_BEGIN

struct kl_plan;

/**
 * enum kl_collects - what a rule's handler collects: see kl_aggregate_read()
 * @KL_COLLECTS_NOTHING: nothing
 * @KL_COLLECTS_COUNTS: a count for each combination of keys
 * @KL_COLLECTS_VALUES: also sum, minimum and maximum of a value
 * @KL_COLLECTS_BUCKETS: also a histogram of the value
 * @KL_COLLECTS_TEXT: a text by another kernel module: see kl_session_read_handler()
 */
enum kl_collects {
	KL_COLLECTS_NOTHING,
	KL_COLLECTS_COUNTS,
	KL_COLLECTS_VALUES,
	KL_COLLECTS_BUCKETS,
	KL_COLLECTS_TEXT,
};

/**
 * struct kl_plan_rule - a rule, as the user wrote it
 * @text: the complete text
 * @handler: KL_HANDLER_*
 * @collects: what the handler collects
 * @handler_name: name as written; for an external handler, that of the other module
 * @n_keys: number of keys; a text takes two keys of 8 bytes each
 * @key_text: each key as written; NULL: continues the preceding key
 * @key: how to print each key
 * @value: how to print the value, if the handler collects values
 * @width: width of a histogram's buckets; 0: powers of two
 * @low: where the first bucket begins
 * @number: number of the rule in the session; set by kl_plan_apply()
 */
struct kl_plan_rule {
	const char *text;
	unsigned int handler;
	enum kl_collects collects;
	char handler_name[KL_HANDLER_NAME_MAX];
	unsigned int n_keys;
	const char *key_text[KL_RULE_KEYS_MAX];
	struct kl_result key[KL_RULE_KEYS_MAX];
	struct kl_result value;
	uint64_t width;
	int64_t low;
	uint32_t number;
};

/**
 * kl_plan_create - create an empty plan
 * @schema: the events that the plan defines are added to it; must outlive the plan
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_plan *kl_plan_create(struct kl_schema *schema);

/**
 * kl_plan_destroy - free a plan
 * @plan: or NULL
 */
void kl_plan_destroy(struct kl_plan *plan);

/**
 * kl_plan_add_handler - make a handler of another kernel module known to the plan
 * @plan: plan that has not been compiled
 * @info: from kl_device_handler(); copied
 *
 * Returns 0 or -ENOMEM.
 */
int kl_plan_add_handler(struct kl_plan *plan, const struct kl_abi_handler_info *info);

/**
 * kl_plan_add - add a comma-separated list of probe points, as given to option -e
 * @plan: plan
 * @list: copied
 * @handler: KL_HANDLER_* for entries that name none
 *
 * Later lists override earlier ones. Only the syntax is checked here: expressions are checked by
 * kl_plan_compile(), when all flags and variables are known. Returns 0, -EINVAL with an error
 * text that shows the position in the list, or -ENOMEM.
 */
int kl_plan_add(struct kl_plan *plan, const char *list, unsigned int handler);

#define KL_PLAN_NAME_MAX 64

/**
 * struct kl_plan_variable - an expression whose value is recorded
 * @name: as given by the user, or derived from the expression
 * @help: the expression
 * @type: of a number, or KL_TYPE_TEXT of KL_COMM_LEN bytes
 * @format: how to print it
 * @is_of_session: if true, all records have it; else it is a field of those defined events that
 *                 have the arguments it uses
 */
struct kl_plan_variable {
	char name[KL_PLAN_NAME_MAX];
	char *help;
	enum kl_type type;
	enum kl_format format;
	bool is_of_session;
};

/**
 * kl_plan_add_variable - record the value of an expression
 * @plan: plan that is not compiled yet
 * @text: EXPRESSION or NAME=EXPRESSION; copied
 *
 * Returns its index, or a negative errno with an error text.
 */
int kl_plan_add_variable(struct kl_plan *plan, const char *text);

/**
 * kl_plan_variable - a variable of the plan
 * @plan: compiled plan
 * @index: from 0
 *
 * Returns NULL after the last.
 */
const struct kl_plan_variable *kl_plan_variable(const struct kl_plan *plan, unsigned int index);

/**
 * kl_plan_apply_variables - set the variables that a session's records carry
 * @plan: compiled plan
 * @session: session that has not been started
 * @list: rows of variables.def, and entries with KL_VARIABLE_PROGRAM whose `program` is the index
 *        of a variable of the plan; it is replaced by the id of the program in the session
 *
 * Returns 0, or a negative errno with an error text.
 */
int kl_plan_apply_variables(struct kl_plan *plan, struct kl_session *session,
			    struct kl_abi_variables *list);

/**
 * kl_plan_set_name - set the name that the resulting maskset gets in the session
 * @plan: plan
 * @name: "events" if this function is not called
 *
 * Returns 0, or -EINVAL if it is too long.
 */
int kl_plan_set_name(struct kl_plan *plan, const char *name);

/**
 * kl_plan_join - prepare the plan for an existing session
 * @plan: to which nothing has been added; its schema contains what the session defines
 * @session: session, possibly attached
 *
 * The plan can then only use events and flags that the session already has. The handler `use`
 * selects the session's own masksets, which are left unchanged. Returns 0 or a negative errno.
 */
int kl_plan_join(struct kl_plan *plan, struct kl_session *session);

/**
 * kl_plan_set_rights - set what the creator of the session may see
 * @plan: plan
 * @may: KL_MAY_* of the device; everything if this function is not called
 *
 * Without the right to see addresses, the handler `stack` only records user stack traces. Without
 * KL_MAY_HOOK_FUNCTIONS, points in basic blocks of programs never fire in a session that a program
 * makes with the library: the command diverts such programs itself.
 */
void kl_plan_set_rights(struct kl_plan *plan, uint32_t may);

/**
 * kl_plan_logs_stacks - do records of some events have stack traces?
 * @plan: compiled plan
 *
 * If so, the session needs the variables `kstack` and `ustack`, with the flag
 * KL_VARIABLES_STACKS_ASKED.
 */
bool kl_plan_logs_stacks(const struct kl_plan *plan);

/**
 * kl_plan_compile - resolve all names and compile the programs
 * @plan: to which nothing will be added any more
 *
 * Reads the kernel's types and symbols if they are needed, and the files of masksets that the
 * handler `use` names. Returns 0, or a negative errno with an error text.
 */
int kl_plan_compile(struct kl_plan *plan);

/**
 * kl_plan_map - the handlers of the predefined events
 * @plan: compiled plan
 *
 * Returns one byte for each event id below KL_EV_MAX, as in a maskset. The array belongs to the
 * plan; the caller may set unavailable events to KL_HANDLER_nothing.
 */
uint8_t *kl_plan_map(struct kl_plan *plan);

/**
 * kl_plan_is_named - was an event named literally rather than only matched by a pattern?
 * @plan: plan
 * @name: of the event
 */
bool kl_plan_is_named(const struct kl_plan *plan, const char *name);

/**
 * kl_plan_defined - number of events that the plan defines
 * @plan: compiled plan
 */
size_t kl_plan_defined(const struct kl_plan *plan);

/**
 * kl_plan_maskset_map - the handlers of the predefined events, by maskset
 * @plan: compiled plan
 * @index: 0: as kl_plan_map(); from 1: the masksets that the handler `use` names
 *
 * Returns NULL after the last.
 */
uint8_t *kl_plan_maskset_map(struct kl_plan *plan, unsigned int index);

/**
 * kl_plan_has_handler - does an event have a handler in one of the masksets?
 * @plan: compiled plan
 * @id: of the event, which the plan may have defined
 * @handler: KL_HANDLER_*; only handlers that a maskset contains without a rule are found
 */
bool kl_plan_has_handler(const struct kl_plan *plan, unsigned int id, unsigned int handler);

/**
 * kl_plan_apply - load the plan into a session
 * @plan: compiled plan; its flags and rules are added to the schema
 * @session: session that has not been started, whose masksets from KL_MASKSET_FIRST_USER on are
 *           overwritten; or the session that the plan has joined. Afterwards the session uses the
 *           maskset with the plan's name
 *
 * Returns 0, or a negative errno with an error text.
 */
int kl_plan_apply(struct kl_plan *plan, struct kl_session *session);

/**
 * kl_plan_omitted - number of functions that match a pattern and cannot be hooked
 * @plan: applied plan
 *
 * Their events are defined, but never happen.
 */
size_t kl_plan_omitted(const struct kl_plan *plan);

/**
 * kl_plan_rule - a rule of the plan
 * @plan: applied plan
 * @index: from 0
 *
 * Returns NULL after the last.
 */
const struct kl_plan_rule *kl_plan_rule(const struct kl_plan *plan, unsigned int index);

/**
 * kl_plan_note - what was assumed or omitted, one sentence per line
 * @plan: compiled plan
 *
 * Returns an empty string if there is nothing to note.
 */
const char *kl_plan_note(const struct kl_plan *plan);

KL_PUBLIC_END

#endif /* KERNLENS_PLAN_H */
