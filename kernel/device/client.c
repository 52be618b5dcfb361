// SPDX-License-Identifier: GPL-2.0
/*
 * The calls of the device. Each client has the rights of whoever opened it and can become a
 * session's. Calls are rows of a table; structs of other sizes than ours are accepted as
 * uapi/kernlens.h defines. `client->lock` guards the client's session and its last error.
 */
#include <linux/fs.h>
#include <linux/nospec.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../compat/clock.h"
#include "../core/deferred.h"
#include "../core/stack.h"
#include "../core/stack_unwind.h"
#include "../core/variable.h"
#include "../handler/external.h"
#include "../latency/latency.h"
#include "../session/set.h"
#include "../source/dynamic/dynamic.h"
#include "../source/source.h"
#include "../source/statedump.h"
#include "../splice/splice.h"
#include "../task/cpus.h"
#include "../task/detail/detail.h"
#include "../task/inspect.h"
#include "client.h"
#include "device.h"

/* Includes an open file, the struct of a call on it, and a pending change of a process. */
static_assert(sizeof(struct kl_client) + sizeof(struct kl_abi_counts) <
	      KL_DESCRIPTOR_BYTES - PAGE_SIZE);

typedef int (*call_fn)(struct kl_client *client, void *arg);

enum needs {
	NEEDS_NOTHING,
	NEEDS_SESSION, /* may read it */
	NEEDS_CHANGE, /* may switch it: kl_access_may_change */
	NEEDS_CREATOR,
};

struct call {
	call_fn fn;
	u32 bytes;
	u8 needs;
	bool tells; /* the struct is copied back on failure, too */
};

static int call_info(struct kl_client *client, void *arg)
{
	struct kl_abi_info *info = arg;

	info->abi_version = KL_ABI_VERSION;
	info->schema_hash = KL_SCHEMA_HASH;
	info->cpus = nr_cpu_ids;
	info->may = client->may;
	info->clock = kl_clock_kind();
	info->clock_hz = kl_clock_hz();
	info->events = kl_event_count;
	info->sessions = kl_session_number(client->cred, client->may);
	info->sessions_max = kl_account_limit(KL_LIMIT_sessions);
	info->buffer_bytes_max = kl_account_limit(KL_LIMIT_memory);
	return 0;
}

static int call_time(struct kl_client *client, void *arg)
{
	kl_clock_sample(arg);
	return 0;
}

static int call_event_info(struct kl_client *client, void *arg)
{
	struct kl_abi_event_info *info = arg;
	struct kl_error why = {};

	info->absent = kl_event_absent(info->id, info->reason);
	if (!info->absent && !kl_event_is_allowed(client->may, info->id, &why)) {
		info->absent = KL_ABSENT_DENIED;
		strscpy(info->reason, why.text, sizeof(info->reason));
	}
	info->sessions = 0;
	if (info->id < KL_EV_MAX)
		info->sessions = kl_sessions_attached(info->id, client->cred, client->may);
	return 0;
}

static int call_variable_info(struct kl_client *client, void *arg)
{
	struct kl_abi_variable_info *info = arg;

	info->absent = kl_variable_absent(info->id, client->may, info->reason);
	return 0;
}

static int call_error(struct kl_client *client, void *arg)
{
	struct kl_abi_error *error = arg;

	error->error = client->why.error;
	memcpy(error->text, client->why.text, sizeof(error->text));
	return 0;
}

static int call_status(struct kl_client *client, void *arg)
{
	return kl_session_status(arg, client->cred, client->may);
}

static int call_limits(struct kl_client *client, void *arg)
{
	return kl_account_read(arg, &client->payer, client->cred->user_ns);
}

static int call_mark(struct kl_client *client, void *arg)
{
	const struct kl_abi_mark *mark = arg;

	if (mark->reserved)
		return kl_fail(&client->why, -EINVAL, "a mark's reserved member is not 0");
	if (strnlen(mark->text, sizeof(mark->text)) == sizeof(mark->text))
		return kl_fail(&client->why, -EINVAL, "the mark's text is not NUL-terminated");
	kl_mark_fire(mark->value, mark->text);
	return 0;
}

static int call_cpus(struct kl_client *client, void *arg)
{
	return kl_cpus(arg, &client->why);
}

static int call_inspect(struct kl_client *client, void *arg)
{
	return kl_task_inspect(arg, client->cred, client->may, NULL, &client->payer, &client->why);
}

static int call_set(struct kl_client *client, void *arg)
{
	return kl_set(arg, client->cred, client->may, &client->setting, &client->why);
}

static int adopt_session(struct kl_client *client, struct kl_session *s, bool creator)
{
	if (IS_ERR(s))
		return PTR_ERR(s);
	client->creator = creator;
	client->changes = creator || kl_access_may_change(s, client->cred, client->may);
	/* Pairs with the acquire in device_poll, which takes no lock. */
	smp_store_release(&client->session, s);
	return 0;
}

static int call_session(struct kl_client *client, void *arg)
{
	struct kl_abi_session *params = arg;
	struct kl_session *s;
	int error;

	if (client->session)
		return kl_fail(&client->why, -EBUSY, "this descriptor already has a session");
	s = kl_session_create(params, client->cred, client->may, &client->payer, &client->why);
	error = adopt_session(client, s, true);
	if (error)
		return error;
	params->mode = s->mode;
	params->block_bytes = s->block_bytes;
	params->blocks = s->blocks;
	params->blocks_max = s->blocks_max;
	params->id = s->id;
	memcpy(params->uuid, s->uuid, sizeof(params->uuid));
	return 0;
}

static int call_attach(struct kl_client *client, void *arg)
{
	struct kl_abi_attach *attach = arg;
	struct kl_session *s;
	int error;

	if (client->session)
		return kl_fail(&client->why, -EBUSY, "this descriptor already has a session");
	s = kl_session_find(attach->id, client->cred, client->may, &client->why);
	error = adopt_session(client, s, false);
	if (error)
		return error;
	attach->mode = s->mode;
	attach->block_bytes = s->block_bytes;
	memcpy(attach->uuid, s->uuid, sizeof(attach->uuid));
	return 0;
}

static int call_maskset_use(struct kl_client *client, void *arg)
{
	struct kl_abi_use *use = arg;

	return kl_session_use(client->session, use->maskset, &client->why);
}

static int call_start(struct kl_client *client, void *arg)
{
	return kl_session_start(client->session, &client->why);
}

static int call_stop(struct kl_client *client, void *arg)
{
	kl_session_stop(client->session);
	return 0;
}

static int call_resize(struct kl_client *client, void *arg)
{
	struct kl_abi_resize *resize = arg;

	return kl_buffer_resize(client->session, resize->blocks, &client->why);
}

static int call_stats(struct kl_client *client, void *arg)
{
	struct kl_abi_stats *stats = arg;

	if (stats->cpu < -1 || stats->cpu >= (int)nr_cpu_ids)
		return kl_fail(&client->why, -EINVAL, "CPU %d does not exist", stats->cpu);
	WRITE_ONCE(client->seen, kl_notify_number(client->session));
	/* Read it before the counts, so that later ones are new. No partner: they only grow. */
	smp_rmb();
	kl_session_stats(client->session, stats);
	return 0;
}

static int call_stacks(struct kl_client *client, void *arg)
{
	return kl_stacks_call(client->session, arg, client->creator, client->may, &client->why);
}

static int call_snapshot(struct kl_client *client, void *arg)
{
	return kl_notify_request_snapshot(client->session, &client->why);
}

static int call_freeze(struct kl_client *client, void *arg)
{
	return kl_deferred_freeze_now(client->session, &client->why);
}

static int call_detail(struct kl_client *client, void *arg)
{
	return kl_task_detail(arg, client->cred, client->may, &client->payer, &client->why);
}

static int call_unsplice(struct kl_client *client, void *arg)
{
	kl_splices_remove(client->session, arg);
	return 0;
}

/* Calls that only pass the struct on. */
#define SESSION_CALL(name, function)                                 \
	static int call_##name(struct kl_client *client, void *arg)  \
	{                                                            \
		return function(client->session, arg, &client->why); \
	}

SESSION_CALL(maskset_write, kl_maskset_write)
SESSION_CALL(maskset_read, kl_maskset_read)
SESSION_CALL(filter, kl_session_set_filter)
SESSION_CALL(tasks, kl_session_change_tasks)
SESSION_CALL(reader, kl_reader_create)
SESSION_CALL(counts, kl_session_counts)
SESSION_CALL(dump, kl_dump_state)
SESSION_CALL(program, kl_session_add_program)
SESSION_CALL(events, kl_session_add_events)
SESSION_CALL(rule, kl_session_add_rule)
SESSION_CALL(table, kl_session_table)
SESSION_CALL(metadata_set, kl_session_set_metadata)
SESSION_CALL(metadata_get, kl_session_get_metadata)
SESSION_CALL(unwind, kl_stack_unwind)
SESSION_CALL(handler_read, kl_session_read_handler)
SESSION_CALL(variables, kl_variables_set)
SESSION_CALL(latency, kl_latency_set)
SESSION_CALL(latency_read, kl_latency_read)
SESSION_CALL(splice, kl_splices_add)
SESSION_CALL(splice_counts, kl_splices_counts)
SESSION_CALL(alarms, kl_notify_read)

static int call_handler_info(struct kl_client *client, void *arg)
{
	return kl_external_info(arg, client->may);
}

#define CALL(ioc, name, type, needs_) \
	[_IOC_NR(ioc)] = { .fn = call_##name, .bytes = sizeof(type), .needs = needs_ }

/* Looked up by number only: the rest of the command's code changes when a struct grows. */
static const struct call calls[] = {
	CALL(KL_IOC_INFO, info, struct kl_abi_info, NEEDS_NOTHING),
	CALL(KL_IOC_TIME, time, struct kl_abi_time, NEEDS_NOTHING),
	CALL(KL_IOC_EVENT_INFO, event_info, struct kl_abi_event_info, NEEDS_NOTHING),
	CALL(KL_IOC_ERROR, error, struct kl_abi_error, NEEDS_NOTHING),
	CALL(KL_IOC_STATUS, status, struct kl_abi_status, NEEDS_NOTHING),
	CALL(KL_IOC_VARIABLE_INFO, variable_info, struct kl_abi_variable_info, NEEDS_NOTHING),
	CALL(KL_IOC_MARK, mark, struct kl_abi_mark, NEEDS_NOTHING),
	CALL(KL_IOC_LIMITS, limits, struct kl_abi_limits, NEEDS_NOTHING),
	CALL(KL_IOC_CPUS, cpus, struct kl_abi_cpus, NEEDS_NOTHING),
	CALL(KL_IOC_INSPECT, inspect, struct kl_abi_inspect, NEEDS_NOTHING),
	CALL(KL_IOC_SESSION, session, struct kl_abi_session, NEEDS_NOTHING),
	CALL(KL_IOC_ATTACH, attach, struct kl_abi_attach, NEEDS_NOTHING),
	CALL(KL_IOC_MASKSET_WRITE, maskset_write, struct kl_abi_maskset, NEEDS_CHANGE),
	CALL(KL_IOC_MASKSET_READ, maskset_read, struct kl_abi_maskset, NEEDS_SESSION),
	CALL(KL_IOC_MASKSET_USE, maskset_use, struct kl_abi_use, NEEDS_CHANGE),
	CALL(KL_IOC_FILTER, filter, struct kl_abi_filter, NEEDS_CREATOR),
	CALL(KL_IOC_TASKS, tasks, struct kl_abi_tasks, NEEDS_CREATOR),
	[_IOC_NR(KL_IOC_START)] = { .fn = call_start, .needs = NEEDS_CREATOR },
	[_IOC_NR(KL_IOC_STOP)] = { .fn = call_stop, .needs = NEEDS_CREATOR },
	CALL(KL_IOC_RESIZE, resize, struct kl_abi_resize, NEEDS_CHANGE),
	CALL(KL_IOC_READER, reader, struct kl_abi_reader, NEEDS_SESSION),
	CALL(KL_IOC_STATS, stats, struct kl_abi_stats, NEEDS_SESSION),
	CALL(KL_IOC_COUNTS, counts, struct kl_abi_counts, NEEDS_SESSION),
	CALL(KL_IOC_DUMP, dump, struct kl_abi_dump, NEEDS_CREATOR),
	CALL(KL_IOC_PROGRAM, program, struct kl_abi_program, NEEDS_CHANGE),
	[_IOC_NR(KL_IOC_EVENTS)] = { .fn = call_events,
				     .bytes = sizeof(struct kl_abi_events),
				     .needs = NEEDS_CREATOR,
				     .tells = true },
	CALL(KL_IOC_RULE, rule, struct kl_abi_rule, NEEDS_CHANGE),
	CALL(KL_IOC_TABLE, table, struct kl_abi_table, NEEDS_SESSION),
	CALL(KL_IOC_METADATA_SET, metadata_set, struct kl_abi_metadata, NEEDS_CREATOR),
	CALL(KL_IOC_METADATA_GET, metadata_get, struct kl_abi_metadata, NEEDS_SESSION),
	CALL(KL_IOC_SET, set, struct kl_abi_set, NEEDS_NOTHING),
	CALL(KL_IOC_DETAIL, detail, struct kl_abi_detail, NEEDS_NOTHING),
	CALL(KL_IOC_HANDLER_INFO, handler_info, struct kl_abi_handler_info, NEEDS_NOTHING),
	CALL(KL_IOC_HANDLER_READ, handler_read, struct kl_abi_handler_read, NEEDS_SESSION),
	CALL(KL_IOC_STACKS, stacks, struct kl_abi_stacks, NEEDS_SESSION),
	CALL(KL_IOC_UNWIND, unwind, struct kl_abi_unwind, NEEDS_CREATOR),
	CALL(KL_IOC_ALARMS, alarms, struct kl_abi_alarms, NEEDS_SESSION),
	[_IOC_NR(KL_IOC_SNAPSHOT)] = { .fn = call_snapshot, .needs = NEEDS_CHANGE },
	[_IOC_NR(KL_IOC_FREEZE)] = { .fn = call_freeze, .needs = NEEDS_CHANGE },
	CALL(KL_IOC_VARIABLES, variables, struct kl_abi_variables, NEEDS_CREATOR),
	[_IOC_NR(KL_IOC_SPLICE)] = { .fn = call_splice,
				     .bytes = sizeof(struct kl_abi_splice),
				     .needs = NEEDS_CREATOR,
				     .tells = true },
	CALL(KL_IOC_UNSPLICE, unsplice, struct kl_abi_unsplice, NEEDS_CREATOR),
	CALL(KL_IOC_SPLICE_COUNTS, splice_counts, struct kl_abi_splice_counts, NEEDS_SESSION),
	CALL(KL_IOC_LATENCY, latency, struct kl_abi_latency, NEEDS_CREATOR),
	CALL(KL_IOC_LATENCY_READ, latency_read, struct kl_abi_latency_read, NEEDS_SESSION),
};

/* The largest struct that a newer caller may pass. */
#define CALL_BYTES_MAX (64u << 10)

static int check_needs(struct kl_client *client, const struct call *call)
{
	if (call->needs >= NEEDS_SESSION && !client->session)
		return kl_fail(&client->why, -ENOTCONN, "this descriptor has no session");
	if (call->needs == NEEDS_CREATOR && !client->creator)
		return kl_fail(&client->why, -EPERM, "only the session's creator can do this");
	if (call->needs == NEEDS_CHANGE && !client->changes)
		return kl_fail(
			&client->why, -EPERM,
			"the session belongs to another user: changing it needs CAP_SYS_ADMIN");
	return 0;
}

static int call_with_struct(struct kl_client *client, const struct call *call, void __user *user)
{
	u32 bytes;
	void *arg;
	int error;

	if (get_user(bytes, (u32 __user *)user))
		return kl_fail(&client->why, -EFAULT, "cannot read the argument from user memory");
	if (bytes < sizeof(u32) || bytes > CALL_BYTES_MAX)
		return kl_fail(&client->why, -EINVAL, "invalid struct size: %u bytes", bytes);
	arg = kvzalloc(call->bytes, GFP_KERNEL_ACCOUNT);
	if (!arg)
		return kl_fail(&client->why, -ENOMEM, "no memory for the call");
	error = copy_struct_from_user(arg, call->bytes, user, bytes);
	if (error == -E2BIG)
		kl_fail(&client->why, error,
			"the caller is newer than the module and requests an unknown feature");
	else if (error)
		kl_fail(&client->why, error, "cannot read the argument from user memory");
	/* A call whose result cannot be returned must not take effect. */
	if (!error && copy_to_user(user, &bytes, sizeof(bytes)))
		error = kl_fail(&client->why, -EFAULT, "cannot write the result to user memory");
	if (!error)
		error = call->fn(client, arg);
	*(u32 *)arg = bytes;
	if ((!error || call->tells) && copy_to_user(user, arg, min(bytes, call->bytes)))
		error = kl_fail(&client->why, -EFAULT, "cannot write the result to user memory");
	kvfree(arg);
	return error;
}

/* The call's row, or NULL. */
static const struct call *find_call(unsigned int cmd)
{
	u32 nr = _IOC_NR(cmd);

	if (_IOC_TYPE(cmd) != KL_IOC_TYPE || nr >= ARRAY_SIZE(calls))
		return NULL;
	nr = array_index_nospec(nr, ARRAY_SIZE(calls));
	return calls[nr].fn ? &calls[nr] : NULL;
}

/**
 * kl_client_call_user - make a call for the process that has opened the device
 * @client: the open file's
 * @cmd: of ioctl()
 * @user: its argument
 *
 * Returns 0 or a negative errno. Context: the process; may sleep.
 */
long kl_client_call_user(struct kl_client *client, unsigned int cmd, void __user *user)
{
	const struct call *call = find_call(cmd);
	struct mem_cgroup *memcg;
	int error;

	if (!call)
		return -ENOTTY;
	if (mutex_lock_interruptible(&client->lock))
		return -EINTR;
	/* A session's memory is charged to its creator, regardless of the caller. */
	memcg = set_active_memcg(client->session ? client->session->memcg : NULL);
	error = check_needs(client, call);
	if (!error)
		error = call->bytes ? call_with_struct(client, call, user) : call->fn(client, NULL);
	set_active_memcg(memcg);
	mutex_unlock(&client->lock);
	return error;
}

/**
 * kl_client_call - make a call for the module itself
 * @client: from kl_client_create(); no other call of it is in progress
 * @cmd: as for ioctl()
 * @arg: its struct, with results afterwards; what it points to is as kl_caller_copy() says
 * @bytes: size of @arg, which must be that of this release
 *
 * Returns 0, or a negative errno with `client->why`. Context: a kernel thread; may sleep.
 */
int kl_client_call(struct kl_client *client, unsigned int cmd, void *arg, u32 bytes)
{
	const struct call *call = find_call(cmd);
	struct mem_cgroup *memcg;
	int error;

	if (!call || call->bytes != bytes)
		return kl_fail(&client->why, -EINVAL, "unknown call %#x with %u bytes", cmd, bytes);
	mutex_lock(&client->lock);
	memcg = set_active_memcg(client->session ? client->session->memcg : NULL);
	error = check_needs(client, call) ?: call->fn(client, arg);
	set_active_memcg(memcg);
	mutex_unlock(&client->lock);
	return error;
}

/**
 * kl_client_create - create a client without a session
 * @cred: its rights
 *
 * Returns it, or an error pointer. Context: may sleep.
 */
struct kl_client *kl_client_create(const struct cred *cred)
{
	struct kl_client *client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);
	u32 may = kl_access_of_opener(cred);
	int error;

	if (!client)
		return ERR_PTR(-ENOMEM);
	error = kl_payer_init(&client->payer, cred, may);
	if (error)
		goto free_client;
	error = kl_payer_charge_base(&client->payer, KL_DESCRIPTOR_BYTES);
	if (error)
		goto deinit_payer;
	mutex_init(&client->lock);
	client->cred = kl_cred_get(cred);
	client->may = may;
	return client;

deinit_payer:
	kl_payer_deinit(&client->payer);
free_client:
	kfree(client);
	return ERR_PTR(error);
}

/**
 * kl_client_destroy - close a client's session, if it is its own, and free it
 * @client: which makes no calls any more
 *
 * Context: may sleep.
 */
void kl_client_destroy(struct kl_client *client)
{
	kl_set_abandon(client->setting);
	if (client->session) {
		if (client->creator) {
			kl_session_close(client->session);
			kl_splices_close(client->session);
		}
		kl_session_put(client->session);
	}
	kl_payer_deinit(&client->payer);
	put_cred(client->cred);
	mutex_destroy(&client->lock);
	kfree(client);
}
