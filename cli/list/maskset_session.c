// SPDX-License-Identifier: GPL-2.0
/* kernlens maskset on an existing session: list or show its masksets, and switch to one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "../session/attach.h"
#include "maskset.h"

/* A maskset of the session. */
struct entry {
	struct kl_abi_maskset set;
	uint8_t *dynamic;
};

static uint8_t action_at(const struct entry *entry, unsigned int id)
{
	if (id < KL_EV_MAX)
		return entry->set.handler[id];
	return id - KL_EV_DYNAMIC < entry->set.n_dynamic ? entry->dynamic[id - KL_EV_DYNAMIC] : 0;
}

static unsigned int count_events(const struct cli_session *s, const struct entry *entry)
{
	const struct kl_class *class = NULL;
	unsigned int n = 0;

	while ((class = kl_schema_next(s->schema, class)))
		n += action_at(entry, class->id) != KL_HANDLER_nothing;
	return n;
}

/* Returns 1, 0 if no maskset has this ID, or negative after an error message. */
static int read_entry(const struct cli_session *s, uint32_t id, struct entry *entry)
{
	int error = kl_session_read_defined(s->session, id, &entry->set, &entry->dynamic);

	if (error == -ENOENT)
		return 0;
	if (!error)
		return 1;
	cli_library_error(error, NULL);
	return error;
}

/* Like read_entry(), by name. */
static int find_entry(const struct cli_session *s, const char *name, struct entry *entry)
{
	int builtin = cli_maskset_find(name), got = 0;

	if (builtin >= 0)
		return read_entry(s, (uint32_t)builtin, entry);
	for (uint32_t id = KL_MASKSET_FIRST_USER; id < KL_MASKSET_MAX; id++) {
		got = read_entry(s, id, entry);
		if (got < 0 || (got && !strcmp(entry->set.name, name)))
			return got;
		if (got)
			free(entry->dynamic);
	}
	return 0;
}

static int list(const struct cli_session *s)
{
	struct cli_table *table = cli_settings.json ? NULL :
						      cli_table_create(">id|maskset||>events");
	json_t *rows = table ? NULL : json_array();
	struct kl_abi_stats stats;
	struct entry entry;
	int got = kl_session_stats(s->session, -1, &stats);

	if (got)
		return cli_library_error(got, NULL);
	for (uint32_t id = 0; got >= 0 && id < KL_MASKSET_MAX; id++) {
		unsigned int n;

		got = read_entry(s, id, &entry);
		if (got <= 0)
			continue;
		n = count_events(s, &entry);
		free(entry.dynamic);
		if (rows) {
			json_array_append_new(rows, json_pack("{s:i, s:o, s:b, s:i}", "id", (int)id,
							      "name", cli_json_text(entry.set.name),
							      "used", id == stats.maskset, "events",
							      (int)n));
			continue;
		}
		cli_table_add(table, "%u", id);
		cli_table_add(table, "%s", entry.set.name);
		cli_table_add(table, "%s", id == stats.maskset ? "in use" : "");
		cli_table_add(table, "%u", n);
	}
	if (got < 0)
		return CLI_FAILED;
	if (table)
		cli_table_print(table, stdout, 0);
	return rows ? cli_json_write(rows) : CLI_OK;
}

/* The action at an event: a handler, or a rule as its user wrote it. */
static char *action_text(const struct cli_session *s, uint8_t action)
{
	const char *rule;

	if (action < KL_ACTION_RULE)
		return cli_format("%s", kl_handler_name(action));
	rule = kl_schema_rule(s->schema, action - KL_ACTION_RULE);
	return rule ? cli_format("%s", rule) : cli_format("rule %u", action - KL_ACTION_RULE);
}

static int show(const struct cli_session *s, const char *name)
{
	struct cli_table *table = cli_settings.json ? NULL : cli_table_create("event|action");
	json_t *rows = table ? NULL : json_array();
	const struct kl_class *class = NULL;
	struct entry entry;
	int got = find_entry(s, name, &entry);

	if (!got)
		return cli_error(-ENOENT, "the session has no maskset \"%s\"", name);
	if (got < 0)
		return CLI_FAILED;
	while ((class = kl_schema_next(s->schema, class))) {
		uint8_t action = action_at(&entry, class->id);
		char *text = action ? action_text(s, action) : NULL;

		if (text && rows)
			json_array_append_new(rows, json_pack("{s:s, s:o}", "event", class->name,
							      "action", cli_json_text(text)));
		if (text && table) {
			cli_table_add(table, "%s", class->name);
			cli_table_add(table, "%s", text);
		}
		free(text);
	}
	free(entry.dynamic);
	if (table)
		cli_table_print(table, stdout, 0);
	return rows ? cli_json_write(rows) : CLI_OK;
}

/* Load a maskset from its file, if the session lacks it or --load is given. */
static int load(struct cli_session *s, const char *name)
{
	struct kl_maskset *m = kl_maskset_load(name);
	int error;

	if (!m)
		return cli_library_error(-errno, NULL);
	s->plan = kl_plan_create(s->schema);
	error = s->plan ? kl_plan_join(s->plan, s->session) : -errno;
	if (!error)
		error = kl_plan_add_maskset(s->plan, m, KL_HANDLER_log);
	if (!error)
		error = kl_plan_set_name(s->plan, name);
	if (!error)
		error = kl_plan_compile(s->plan);
	kl_maskset_destroy(m);
	if (error == -EINVAL) {
		cli_usage_message("Try: kernlens help maskset", kl_error_text());
		return CLI_USAGE;
	}
	if (error)
		return cli_library_error(error, NULL);
	s->map = kl_plan_map(s->plan);
	return cli_session_apply(s);
}

static int use(struct cli_session *s, const char *name, bool anew)
{
	struct entry entry;
	int got = find_entry(s, name, &entry), error;

	if (got < 0)
		return CLI_FAILED;
	if (got)
		free(entry.dynamic);
	if (!got || (anew && entry.set.id >= KL_MASKSET_FIRST_USER))
		return load(s, name);
	error = kl_session_use_maskset(s->session, entry.set.id);
	return error ? cli_library_error(error, NULL) : CLI_OK;
}

int cli_maskset_session(const struct cli_maskset_options *o, const char *verb, const char *name)
{
	struct cli_session session = { .command = o->command };
	int status = cli_attach(&session, o->session);

	if (!status && !strcmp(verb, "list"))
		status = list(&session);
	else if (!status && !strcmp(verb, "show"))
		status = show(&session, name);
	else if (!status)
		status = use(&session, name, o->load);
	cli_session_close(&session);
	return status;
}
