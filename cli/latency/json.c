// SPDX-License-Identifier: GPL-2.0
/* A latency profile as a JSON document. Times are nanoseconds. */
#include "../base/common.h"
#include "print.h"

static json_t *json_sum(const struct kl_abi_latency_sum *sum)
{
	return json_pack("{s:I, s:I, s:I}", "count", (json_int_t)sum->count, "ns",
			 (json_int_t)sum->sum, "worst_ns", (json_int_t)sum->worst);
}

static json_t *json_task(const struct kl_abi_latency_task *t)
{
	json_t *states = json_object();

	for (unsigned int s = 0; s < KL_LATENCY_STATES; s++)
		if (t->in[s].count)
			json_object_set_new(states, kl_latency_state_name(s), json_sum(&t->in[s]));
	return json_pack("{s:i, s:i, s:i, s:o, s:i, s:b, s:b, s:I, s:s, s:o}", "id", (int)t->id,
			 "tid", t->tid, "pid", t->pid, "comm", cli_json_text(t->comm), "uid",
			 (int)t->uid, "ended", !!(t->flags & KL_LATENCY_TASK_ENDED), "kernel",
			 !!(t->flags & KL_LATENCY_TASK_KERNEL), "elapsed_ns",
			 (json_int_t)(t->until - t->since), "state",
			 t->flags & KL_LATENCY_TASK_ENDED ? "ended" :
							    kl_latency_state_name(t->state),
			 "states", states);
}

static json_t *json_hop(struct kl_latency *l, const struct kl_abi_latency_hop *hop)
{
	static const char *const kinds[] = { "",    "task",    "hidden",    "timer",
					     "irq", "softirq", "interrupt", "unknown" };
	const struct kl_abi_latency_task *task =
		hop->kind == KL_LATENCY_WAKER_TASK ? kl_latency_task(l, hop->id) : NULL;
	struct kl_buffer name = { 0 };
	json_t *value;

	kl_latency_print_hop(&name, l, hop);
	kl_buffer_add_char(&name, 0);
	value = json_pack("{s:s, s:o, s:b}", "kind", kinds[hop->kind % 8], "name",
			  cli_json_text(name.error ? "" : name.data), "certain",
			  !(hop->flags & KL_LATENCY_HOP_UNCERTAIN));
	if (task)
		json_object_update_new(value,
				       json_pack("{s:i, s:i}", "tid", task->tid, "pid", task->pid));
	kl_buffer_deinit(&name);
	return value;
}

static void add_stack(json_t *to, const char *name, const struct kl_stacks *stacks, uint32_t id)
{
	if (kl_stacks_get(stacks, id))
		json_object_set_new(to, name, cli_json_stack(stacks, id));
}

static json_t *json_wait(const struct cli_latency *r, const struct kl_abi_latency_entry *e)
{
	const struct kl_abi_latency_task *task = kl_latency_task(r->latency, e->task);
	const struct kl_abi_latency_task *owner = kl_latency_task(r->latency, e->owner);
	const struct kl_stacks *stacks = kl_record_names_stacks(r->session->names);
	const char *call = kl_latency_syscall(r->session->schema, e);
	json_t *value = json_sum(&e->asleep), *hops = json_array();

	if (task)
		json_object_update_new(value, json_pack("{s:i, s:i, s:i, s:o}", "id", (int)task->id,
							"tid", task->tid, "pid", task->pid, "comm",
							cli_json_text(task->comm)));
	for (unsigned int i = 0; i < KL_LATENCY_HOPS && e->hop[i].kind; i++)
		json_array_append_new(hops, json_hop(r->latency, &e->hop[i]));
	json_object_update_new(value, json_pack("{s:s, s:s, s:o}", "state",
						kl_latency_state_name(e->state), "reason",
						kl_latency_reason(stacks, r->session->schema, e),
						"woken_by", hops));
	if (call)
		json_object_set_new(value, "syscall", json_string(call));
	if (owner)
		json_object_set_new(value, "lock_owner",
				    json_pack("{s:i, s:o}", "tid", owner->tid, "comm",
					      cli_json_text(owner->comm)));
	add_stack(value, "kstack", stacks, e->kstack);
	add_stack(value, "ustack", stacks, e->ustack);
	add_stack(value, "waker_kstack", stacks, e->waker_kstack);
	add_stack(value, "waker_ustack", stacks, e->waker_ustack);
	return value;
}

json_t *cli_latency_json(const struct cli_latency *r)
{
	const struct kl_abi_latency_read *about = &r->latency->about;
	json_t *tasks = json_array(), *waits = json_array();
	unsigned int shown = 0;

	for (size_t i = 0; i < r->latency->n_tasks; i++)
		if (!(r->latency->task[i].flags & KL_LATENCY_TASK_OUTSIDE))
			json_array_append_new(tasks, json_task(&r->latency->task[i]));
	for (size_t i = 0; i < r->latency->n_entries && shown < r->top; i++) {
		const struct kl_abi_latency_entry *e = &r->latency->entry[i];

		if (!r->idle && e->state == KL_LATENCY_IDLE)
			continue;
		json_array_append_new(waits, json_wait(r, e));
		shown++;
	}
	return json_pack("{s:f, s:o, s:o, s:o, s:{s:I, s:I, s:I, s:I, s:I}}", "seconds",
			 (double)(about->until - about->start) / 1e9, "tasks", tasks, "waits",
			 waits, "asleep", cli_latency_asleep_json(r), "lost", "tasks",
			 (json_int_t)about->evicted_tasks, "kinds",
			 (json_int_t)about->evicted_entries, "waits", (json_int_t)about->no_entry,
			 "events", (json_int_t)about->missed, "unpaired",
			 (json_int_t)about->unpaired);
}
