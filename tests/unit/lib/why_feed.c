// SPDX-License-Identifier: GPL-2.0
/* Makes the events of tasks, interrupts, packets and work items, and adds them to timelines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "why_feed.h"

struct kl_schema *schema;
struct kl_why *why;
struct kl_why *twin;
uint8_t in_irq;
bool has_in_irq;

void put(struct payload *p, const void *bytes, size_t n)
{
	memcpy(p->bytes + p->n, bytes, n);
	p->n += (uint32_t)n;
}

void put_number(struct payload *p, int64_t number, size_t n)
{
	put(p, &number, n);
}

void put_comm(struct payload *p, const char *comm)
{
	char text[KL_COMM_LEN] = "";

	snprintf(text, sizeof(text), "%s", comm);
	put(p, text, sizeof(text));
}

int try_add(const char *event, uint64_t us, unsigned int cpu, int tid, const struct payload *p)
{
	uint8_t values[KL_VARIABLES_BYTES_MAX] = {};
	struct kl_event e = {
		.cpu = cpu,
		.ns = us * 1000,
		.event_class = kl_schema_find(schema, event),
		.task = { .tid = tid, .pid = tid },
		.schema = schema,
		.variables = values,
		.payload = p->bytes,
		.payload_bytes = p->n,
	};

	if (has_in_irq)
		values[kl_schema_variable(schema, 0)->field.offset] = in_irq;
	if (!e.event_class)
		abort();
	if (twin && kl_why_add(twin, &e))
		abort();
	return kl_why_add(why, &e);
}

void add(const char *event, uint64_t us, unsigned int cpu, int tid, const struct payload *p)
{
	if (try_add(event, us, cpu, tid, p))
		abort();
}

/* Valid until the next call. */
static const char *name_of(int tid)
{
	static const char *const names[] = { "main", "helper", "child", "other" };
	static char name[KL_COMM_LEN];

	if (tid >= MAIN && tid <= OTHER)
		return names[tid - MAIN];
	snprintf(name, sizeof(name), "task%d", tid);
	return tid ? name : "other";
}

void change(uint64_t us, unsigned int cpu, int from, int64_t state, int to)
{
	struct payload p = { .n = 0 };

	put_comm(&p, name_of(from));
	put_number(&p, from, 4);
	put_number(&p, 20, 4);
	put_number(&p, state, 8);
	put_comm(&p, name_of(to));
	put_number(&p, to, 4);
	put_number(&p, 20, 4);
	add("sched_switch", us, cpu, from, &p);
}

void wake(uint64_t us, unsigned int cpu, int waker, int tid)
{
	struct payload p = { .n = 0 };

	put_comm(&p, name_of(tid));
	put_number(&p, tid, 4);
	put_number(&p, 20, 4);
	put_number(&p, cpu, 4);
	add("sched_waking", us, cpu, waker, &p);
}

void interrupt(const char *event, uint64_t us, unsigned int cpu, const char *name)
{
	struct payload p = { .n = 0 };

	put_number(&p, 3, 4);
	if (name)
		put(&p, name, strlen(name) + 1);
	add(event, us, cpu, 0, &p);
}

void packet(const char *event, uint64_t us, unsigned int cpu, int tid, uint64_t address,
	    const char *device)
{
	static const uint8_t others[28];
	struct payload p = { .n = 0 };

	put_number(&p, (int64_t)address, 8);
	put(&p, others, sizeof(others));
	put(&p, device, strlen(device) + 1);
	add(event, us, cpu, tid, &p);
}

void work(const char *event, uint64_t us, unsigned int cpu, int tid, uint64_t address)
{
	struct payload p = { .n = 0 };

	put_number(&p, (int64_t)address, 8);
	put_number(&p, 0x1000, 8);
	if (!strcmp(event, "workqueue_queue_work"))
		put_number(&p, 0, 8);
	add(event, us, cpu, tid, &p);
}

void fork_at(uint64_t us, int parent, int child)
{
	struct payload p = { .n = 0 };

	put_comm(&p, name_of(parent));
	put_number(&p, parent, 4);
	put_number(&p, parent, 4);
	put_number(&p, 1, 4);
	put_comm(&p, name_of(child));
	put_number(&p, child, 4);
	put_number(&p, 0, 4);
	put_number(&p, child, 4);
	put_number(&p, 1, 4);
	add("sched_process_fork", us, 0, parent, &p);
}

void exit_at(uint64_t us, unsigned int cpu, int tid)
{
	struct payload p = { .n = 0 };

	put_comm(&p, name_of(tid));
	put_number(&p, tid, 4);
	put_number(&p, 20, 4);
	put_number(&p, 0, 4);
	add("sched_process_exit", us, cpu, tid, &p);
}

void begin(void)
{
	kl_why_destroy(why);
	why = kl_why_create(schema);
	in_irq = IN_TASK;
	if (!why)
		abort();
}

struct kl_why_node *explain(int tid, uint64_t from_us, uint64_t to_us)
{
	size_t n;
	const struct kl_why_task *tasks = kl_why_tasks(why, &n);

	for (size_t i = n; i--;)
		if (tasks[i].tid == tid)
			return kl_why_explain(why, i, from_us * 1000, to_us * 1000);
	return NULL;
}

uint64_t us_of(const struct kl_why_node *node)
{
	return node ? node->ns / 1000 : 0;
}

const struct kl_why_node *part(const struct kl_why_node *node, enum kl_why_kind kind,
			       const char *text)
{
	for (size_t i = 0; node && i < node->n; i++)
		if (node->child[i]->kind == kind && (!text || !strcmp(node->child[i]->text, text)))
			return node->child[i];
	return NULL;
}

bool adds_up(const struct kl_why_node *node)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < node->n; i++) {
		sum += node->child[i]->ns;
		if (!adds_up(node->child[i]))
			return false;
	}
	return !node->n || sum == node->ns;
}
