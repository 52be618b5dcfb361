/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From what a user asks for (places, filters, handlers, keys) to what a session
 * is told: programs, defined events, rules and a maskset. The text is that of
 * -e, described in kernlens-events(7) and kernlens-expressions(7):
 *
 *   PLACE [/FILTER/] [:HANDLER[(ARGUMENTS)] [by KEY[,KEY...]]]
 */
#ifndef KERNLENS_PLAN_H
#define KERNLENS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/block.h>
#include <kernlens/client.h>
#include <kernlens/expression.h>
#include <kernlens/maskset.h>
#include <kernlens/public.h>
#include <kernlens/schema.h>

KL_PUBLIC_BEGIN

struct kl_plan;
struct kl_process_splices;

/**
 * struct kl_plan_rule - a rule as its user wrote it
 * @text: the whole of it
 * @handler: KL_HANDLER_*
 * @handler_name: as it was written, also of another module's
 * @n_keys: number of keys; a text takes two of 8 bytes
 * @key_text: each as it was written; NULL: the key before goes on
 * @key: how each is to be printed
 * @value: how the value of sum and hist is to be printed
 * @width: of a histogram's buckets; 0: powers of two
 * @low: where they begin
 * @number: of the rule in the session, once the plan has been applied
 */
struct kl_plan_rule {
	const char *text;
	unsigned int handler;
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
 * kl_plan_create - a plan for nothing yet
 * @schema: gets the events that the plan defines; must outlive it
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
 * kl_plan_add_handler - a handler of another kernel module that may be named
 * @plan: plan that has not been compiled
 * @info: from kl_device_handler(); copied
 *
 * Returns -ENOMEM on failure.
 */
int kl_plan_add_handler(struct kl_plan *plan, const struct kl_abi_handler_info *info);

/**
 * kl_plan_add - one more list of places, with commas, as behind -e
 * @plan: plan
 * @list: copied
 * @handler: of those that name none
 *
 * Later ones win over earlier ones. Returns -EINVAL with an error text that
 * shows the place in the list; what its expressions mean is only looked at by
 * kl_plan_compile(), when all flags and variables are known.
 */
int kl_plan_add(struct kl_plan *plan, const char *list, unsigned int handler);

#define KL_PLAN_NAME_MAX 64

/**
 * struct kl_plan_variable - an expression whose value records carry
 * @name: given by its user, or made of the expression's words
 * @help: the expression
 * @type: a number's, or KL_TYPE_TEXT of KL_COMM_LEN bytes
 * @format: how it is printed
 * @is_of_session: all records have it; else it is a field of the defined events
 *                 that have the arguments it speaks of
 */
struct kl_plan_variable {
	char name[KL_PLAN_NAME_MAX];
	char *help;
	enum kl_type type;
	enum kl_format format;
	bool is_of_session;
};

/**
 * kl_plan_add_variable - one more value to have with records
 * @plan: plan that is not compiled yet
 * @text: EXPRESSION or NAME=EXPRESSION; copied
 *
 * Returns its index, or a negative errno with an error text.
 */
int kl_plan_add_variable(struct kl_plan *plan, const char *text);

/**
 * kl_plan_variable - one of them
 * @plan: compiled plan
 * @index: from 0
 *
 * Returns NULL after the last.
 */
const struct kl_plan_variable *kl_plan_variable(const struct kl_plan *plan, unsigned int index);

/**
 * kl_plan_apply_variables - tell a session which variables its records carry
 * @plan: compiled plan
 * @session: session that has not been started
 * @list: rows of variables.def, and KL_VARIABLE_PROGRAM with the index of one of
 *        the plan's as `program`, which becomes the session's number for it
 *
 * Returns a negative errno with an error text.
 */
int kl_plan_apply_variables(struct kl_plan *plan, struct kl_session *session,
			    struct kl_abi_variables *list);

/**
 * kl_plan_add_maskset - add the lines of a maskset's text
 * @plan: plan
 * @maskset: need not outlive this call
 * @handler: of lines that name none
 *
 * As kl_plan_add() with each line; errors then begin "ORIGIN:LINE:COLUMN: ".
 */
int kl_plan_add_maskset(struct kl_plan *plan, const struct kl_maskset *maskset,
			unsigned int handler);

/**
 * kl_plan_set_name - what the session will call the maskset that this makes
 * @plan: plan
 * @name: "events" if this is not called
 *
 * Returns -EINVAL if it is too long.
 */
int kl_plan_set_name(struct kl_plan *plan, const char *name);

/**
 * kl_plan_join - make the plan for a session that runs
 * @plan: to which nothing has been added; its schema has what the session defines
 * @session: session, also one that was attached to
 *
 * The plan may then only name events and flags that the session has. Masksets that
 * it has are taken by `use` as they are. Returns a negative errno.
 */
int kl_plan_join(struct kl_plan *plan, struct kl_session *session);

/**
 * kl_plan_set_rights - what the session's maker may see
 * @plan: plan
 * @may: KL_MAY_* of the device; all if this is not called
 *
 * Without the right to see addresses the handler `stack` is about programs only.
 */
void kl_plan_set_rights(struct kl_plan *plan, uint32_t may);

/**
 * kl_plan_logs_stacks - shall records of some events have call traces?
 * @plan: compiled plan
 *
 * Then the session needs the variables `kstack` and `ustack`, with the flag
 * KL_VARIABLES_STACKS_ASKED.
 */
bool kl_plan_logs_stacks(const struct kl_plan *plan);

/**
 * kl_plan_compile - look up all names and make the programs
 * @plan: to which nothing is added any more
 *
 * Reads the kernel's types and symbols if something needs them, and the files of
 * the masksets that the handler `use` names. Returns a negative errno with an
 * error text.
 */
int kl_plan_compile(struct kl_plan *plan);

/**
 * kl_plan_map - the handlers of the tables' events
 * @plan: compiled plan
 *
 * A byte an event id below KL_EV_MAX, as in a maskset; the caller may set those
 * that cannot be had to KL_HANDLER_nothing.
 */
uint8_t *kl_plan_map(struct kl_plan *plan);

/**
 * kl_plan_is_named - was an event written out, not only matched by a pattern?
 * @plan: plan
 * @name: of the event
 */
bool kl_plan_is_named(const struct kl_plan *plan, const char *name);

/**
 * kl_plan_defined - how many events the plan defines
 * @plan: compiled plan
 */
size_t kl_plan_defined(const struct kl_plan *plan);

/**
 * kl_plan_maskset_map - the handlers of the tables' events, by maskset
 * @plan: compiled plan
 * @index: 0: kl_plan_map(); from 1: those that `use` names
 *
 * Returns NULL after the last.
 */
uint8_t *kl_plan_maskset_map(struct kl_plan *plan, unsigned int index);

/**
 * kl_plan_has_handler - has an event a handler in one of the masksets?
 * @plan: compiled plan
 * @id: of the event, also of one that the plan defines
 * @handler: KL_HANDLER_*, as it stands in a maskset without a rule
 */
bool kl_plan_has_handler(const struct kl_plan *plan, unsigned int id, unsigned int handler);

/**
 * kl_plan_apply - tell a session
 * @plan: compiled plan; its schema gets the flags and rules
 * @session: session that has not been started, whose masksets from
 *           KL_MASKSET_FIRST_USER on are written; or the one that the plan has
 *           joined. The maskset with the plan's name is then in use
 *
 * Returns a negative errno with an error text.
 */
int kl_plan_apply(struct kl_plan *plan, struct kl_session *session);

/**
 * kl_plan_rule - the rules
 * @plan: applied plan
 * @index: from 0
 *
 * Returns NULL after the last.
 */
const struct kl_plan_rule *kl_plan_rule(const struct kl_plan *plan, unsigned int index);

/**
 * struct kl_plan_blocks - what has become of places in basic blocks
 * @points: that were asked for
 * @placed: of them, those that fire
 * @without: that have no place
 * @refused: that the module does not want
 */
struct kl_plan_blocks {
	uint32_t points;
	uint32_t placed;
	uint32_t without;
	uint32_t refused;
};

/**
 * kl_plan_blocks - the places in basic blocks
 * @plan: applied plan
 */
struct kl_plan_blocks kl_plan_blocks(const struct kl_plan *plan);

/**
 * struct kl_plan_block - a place in a basic block
 * @event: that fires there
 * @function: index of its function, in kl_plan_text()
 * @block: index in the function's graph
 * @behind: behind the block's last instruction that does not jump, not before its first
 * @reason: why nothing fires there, in one word; NULL: it does
 */
struct kl_plan_block {
	uint32_t event;
	size_t function;
	uint32_t block;
	bool behind;
	const char *reason;
};

/**
 * kl_plan_block - one of the places in basic blocks
 * @plan: applied plan
 * @index: below the number of points of kl_plan_blocks()
 */
struct kl_plan_block kl_plan_block(const struct kl_plan *plan, uint32_t index);

/**
 * kl_plan_text - the kernel's text that the places in basic blocks are in
 * @plan: applied plan; it stays the plan's
 *
 * Returns NULL if it has no such places.
 */
struct kl_blocks *kl_plan_text(const struct kl_plan *plan);

/**
 * kl_plan_note - what was assumed or left out, in a sentence each
 * @plan: compiled plan
 *
 * Lines, or an empty string.
 */
const char *kl_plan_note(const struct kl_plan *plan);

/**
 * kl_plan_process_splices - what programs have to be diverted for the plan's events
 * @plan: compiled
 *
 * Whoever may not have uprobes has blocks of programs fire their events themselves: to begin when
 * the session runs. Returns NULL if there is nothing of the kind.
 */
struct kl_process_splices *kl_plan_process_splices(const struct kl_plan *plan);

KL_PUBLIC_END

#endif /* KERNLENS_PLAN_H */
