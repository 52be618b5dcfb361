// SPDX-License-Identifier: GPL-2.0
/*
 * Between a plan and a session that is ready to start: sizes of buffers, events that are not
 * available, variables, and the definitions for processes that attach.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <kernlens/define.h>
#include <kernlens/error.h>
#include "../base/base.h"
#include "recorder.h"

/* Default size of buffers per CPU, which is limited to this fraction of a user's limit. */
#define BUFFER_BYTES_DEFAULT (4ull << 20)
#define LIMIT_SHARE 4

int kl_record_set_buffers(const struct kl_device *device, uint64_t bytes,
			  struct kl_abi_session *config)
{
	const struct kl_abi_info *info = kl_device_info(device);
	uint64_t block = KL_BLOCK_BYTES_DEFAULT, blocks;

	if (!bytes) {
		bytes = BUFFER_BYTES_DEFAULT;
		if (!(info->may & KL_MAY_SEE_ALL) &&
		    bytes > info->buffer_bytes_max / LIMIT_SHARE / info->cpus)
			bytes = info->buffer_bytes_max / LIMIT_SHARE / info->cpus;
	}
	while (block > KL_BLOCK_BYTES_MIN && bytes / block < 2 * KL_BLOCKS_MIN)
		block /= 2;
	while (block < KL_BLOCK_BYTES_MAX && bytes / block > KL_BLOCKS_MAX)
		block *= 2;
	blocks = (bytes + block - 1) / block;
	if (blocks > KL_BLOCKS_MAX)
		return kl_fail(EINVAL, "the buffers are too large (per CPU, at most %u GiB)",
			       (unsigned int)((uint64_t)KL_BLOCKS_MAX * KL_BLOCK_BYTES_MAX >> 30));
	config->block_bytes = (uint32_t)block;
	config->blocks = blocks < KL_BLOCKS_MIN ? KL_BLOCKS_MIN : (uint32_t)blocks;
	config->blocks_max = 0; /* the default */
	return 0;
}

/* Handlers of other modules are known by name as long as these modules are loaded. */
int kl_record_prepare_plan(struct kl_device *device, struct kl_plan *plan)
{
	struct kl_abi_handler_info info;
	int error = 0;

	kl_plan_set_rights(plan, kl_device_info(device)->may);
	for (unsigned int i = 0; !error && !kl_device_handler(device, i, &info); i++)
		error = kl_plan_add_handler(plan, &info);
	kl_error_clear();
	return error;
}

/* ------------------------------------------------------------------ events */

/* @n: events omitted so far; @reason: why the first one was */
struct omitting {
	struct kl_device *device;
	const struct kl_schema *schema;
	struct kl_plan *plan;
	struct kl_buffer *names;
	unsigned int n;
	char reason[sizeof(((struct kl_abi_event_info *)0)->reason)];
};

static int omit_event(struct omitting *o, const struct kl_class *event,
		      const struct kl_abi_event_info *info)
{
	if (kl_plan_is_named(o->plan, event->name))
		return kl_fail(info->absent == KL_ABSENT_DENIED ? EPERM : ENOENT,
			       "%s is not available here: %s", event->name, info->reason);
	if (!o->n++)
		memcpy(o->reason, info->reason, sizeof(o->reason));
	if (o->names)
		kl_buffer_printf(o->names, " %s", event->name);
	return 0;
}

/* @left: out: number of available events */
static int omit_of_map(struct omitting *o, uint8_t *map, unsigned int *left)
{
	struct kl_abi_event_info info;
	int error;

	for (unsigned int id = 0; id < KL_EV_MAX; id++) {
		const struct kl_class *event = kl_schema_class(o->schema, id);

		if (map[id] == KL_HANDLER_nothing || !event)
			continue;
		error = kl_device_event(o->device, id, &info);
		if (error)
			return kl_fail_about(error, event->name);
		if (info.absent == KL_PRESENT) {
			(*left)++;
			continue;
		}
		error = omit_event(o, event, &info);
		if (error)
			return error;
		map[id] = KL_HANDLER_nothing;
	}
	return 0;
}

int kl_record_omit_absent(struct kl_device *device, const struct kl_schema *schema,
			  struct kl_plan *plan, struct kl_buffer *omitted)
{
	struct omitting o = {
		.device = device,
		.schema = schema,
		.plan = plan,
		.names = omitted,
	};
	uint8_t *map;

	for (unsigned int i = 0; (map = kl_plan_maskset_map(plan, i)); i++) {
		unsigned int left = 0;
		int error = omit_of_map(&o, map, &left);

		if (error)
			return error;
		if (!left && o.n && !i && !kl_plan_defined(plan))
			return kl_fail(ENOENT, "none of the %u events is available here: %s", o.n,
				       o.reason);
	}
	return 0;
}

/*
 * A string that was not in memory at a system call's entry follows in an event of its own, which is
 * recorded along with entries.
 */
static void add_late_strings(uint8_t *map)
{
	for (unsigned int id = KL_EV_SYSCALL_ENTRY; id < KL_EV_SYSCALL_EXIT; id++)
		if (map[id] == KL_HANDLER_log)
			map[KL_EV_syscall_late_string] = KL_HANDLER_log;
}

int kl_record_apply(struct kl_session *session, struct kl_plan *plan)
{
	uint8_t *map;

	for (unsigned int i = 0; (map = kl_plan_maskset_map(plan, i)); i++)
		add_late_strings(map);
	return kl_plan_apply(plan, session);
}

/* --------------------------------------------------------------- variables */

/* Get the schema's row of a variable. Returns false if it became a field of events. */
static bool variable_row(const struct kl_plan *plan, const struct kl_abi_variable *params,
			 struct kl_variable *row)
{
	const struct kl_plan_variable *v;

	if (params->variable != KL_VARIABLE_PROGRAM) {
		*row = *kl_variable_get(params->variable);
		return true;
	}
	v = kl_plan_variable(plan, params->program);
	*row = (struct kl_variable){
		.id = KL_VARIABLE_PROGRAM,
		.name = v->name,
		.unit = "",
		.help = v->help,
		.field = { .type = v->type, .format = v->format },
	};
	return v->is_of_session;
}

static bool has_variable(const struct kl_abi_variables *list, uint32_t id)
{
	for (unsigned int i = 0; i < list->n; i++)
		if (list->variable[i].variable == id)
			return true;
	return false;
}

/*
 * Records of the handler `stack` have their stack traces in variables. If the list has one of these
 * already, all records have it.
 */
static int add_stacks(const struct kl_record_source *source, const struct kl_plan *plan,
		      struct kl_abi_variables *list)
{
	bool sees_kernel = kl_device_info(source->device)->may & KL_MAY_SEE_ADDRESSES;
	bool asked = false;

	if (!kl_plan_logs_stacks(plan))
		return 0;
	for (unsigned int i = sees_kernel ? 0 : 1; i < 2; i++) {
		const struct kl_variable *v = kl_variable_find(i ? "ustack" : "kstack");

		if (has_variable(list, v->id)) {
			asked = true;
			continue;
		}
		if (list->n == KL_VARIABLES_MAX)
			return kl_fail(E2BIG, "too many variables (maximum %d)", KL_VARIABLES_MAX);
		list->variable[list->n++].variable = v->id;
	}
	if (!asked)
		list->flags |= KL_VARIABLES_STACKS_ASKED;
	return 0;
}

int kl_record_apply_variables(const struct kl_record_source *source, struct kl_plan *plan,
			      struct kl_abi_variables *list)
{
	struct kl_abi_variables own = {};
	int ret = add_stacks(source, plan, list);

	if (ret)
		return ret;
	own.flags = list->flags;
	for (unsigned int i = 0; i < list->n; i++) {
		struct kl_variable row;

		if (!variable_row(plan, &list->variable[i], &row))
			continue;
		ret = kl_schema_add_variable(source->schema, &row);
		if (ret < 0)
			return ret;
		own.variable[own.n++] = list->variable[i];
	}
	return own.n ? kl_plan_apply_variables(plan, source->session, &own) : 0;
}

/* ------------------------------------------------------------- definitions */

static bool defines(const struct kl_record_source *source, const struct kl_plan *plan)
{
	return kl_plan_defined(plan) || kl_plan_rule(plan, 0) ||
	       kl_schema_variable(source->schema, 0);
}

static int store(const struct kl_record_source *source, const struct kl_trace_info *info,
		 int (*write)(struct kl_buffer *buffer, const struct kl_schema *schema,
			      const struct kl_trace_info *info))
{
	struct kl_buffer text = {};
	int error = write(&text, source->schema, info);

	if (!error)
		error = kl_session_set_metadata(source->session, text.data, text.length);
	kl_buffer_deinit(&text);
	return error;
}

/*
 * A flight recorder stores the description of all events: if the machine crashes, a trace can be
 * made of what is in its memory, whatever the version of the kernlens that does so.
 */
int kl_record_publish(const struct kl_record_source *source, const struct kl_plan *plan)
{
	bool whole = source->config->mode == KL_MODE_OVERWRITE;
	struct kl_trace_info info;
	struct kl_abi_time time;
	int error;

	if (!whole && !defines(source, plan))
		return 0;
	error = kl_device_time(source->device, &time);
	if (!error)
		error = kl_recorder_describe(source, &time, &info);
	if (error)
		return error;
	snprintf(info.scope, sizeof(info.scope), "%s", source->scope);
	info.command = source->command;
	if (whole && !store(source, &info, kl_metadata_write))
		return 0;
	return defines(source, plan) ? store(source, &info, kl_metadata_write_defined) : 0;
}
