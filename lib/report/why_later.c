// SPDX-License-Identifier: GPL-2.0
/*
 * Collects what explains who wakes tasks, and what they run: interrupts and timers; packets of the
 * loopback device, and work items of kernel threads, which tasks leave to be done later; and ticks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../base/base.h"
#include "profile.h"
#include "why.h"

/* Values of in_irq. */
#define IN_SOFTIRQ 1
#define IN_IRQ 2

/* -------------------------------------------------------------------- causes */

/* Without the variable, what began and ended on the CPU says it. The idle task wakes none. */
static uint64_t context_of(const struct kl_why *why, const struct kl_event *event,
			   const struct kl_why_cpu *cpu)
{
	if (why->in_irq >= 0)
		return kl_variable_of(event, why->in_irq);
	if (cpu->irq || cpu->timer || cpu->vectors)
		return IN_IRQ;
	return cpu->softirq ? IN_SOFTIRQ : event->task.tid ? 0 : IN_IRQ;
}

bool kl_why_knows_interrupts(const struct kl_why *why)
{
	return why->in_irq >= 0 || why->interrupts;
}

int kl_why_cause_of(struct kl_why *why, const struct kl_event *event, struct kl_why_cause *cause)
{
	const struct kl_why_cpu *cpu = kl_why_cpu(why, event->cpu);
	const struct kl_why_thread *thread;
	const char *name;
	uint64_t context;

	if (!cpu)
		return -ENOMEM;
	context = context_of(why, event, cpu);
	*cause = (struct kl_why_cause){ .ns = event->ns, .thread = KL_WHY_NO_TASK };
	if (!context && event->task.tid) {
		thread = kl_why_running(why, event, event->task.tid);
		if (!thread)
			return -ENOMEM;
		cause->kind = KL_WHY_TASK;
		cause->thread = kl_why_index(why, thread);
		return 0;
	}
	if (context == IN_SOFTIRQ && cpu->sender.ns) {
		*cause = cpu->sender;
		return 0;
	}
	if (cpu->disk && (cpu->timer || context == IN_SOFTIRQ)) {
		cause->kind = KL_WHY_DISK;
		cause->text = cpu->disk;
		return 0;
	}
	name = context == IN_IRQ ? cpu->irq : cpu->softirq;
	cause->kind = cpu->timer ? KL_WHY_TIMER : context == IN_IRQ ? KL_WHY_IRQ : KL_WHY_SOFTIRQ;
	/* Interrupts between processors have no event of their own. */
	cause->text = name ? name : "";
	return 0;
}

/* ---------------------------------------------------------------- interrupts */

static int enter_irq(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_cpu *cpu = kl_why_cpu(why, event->cpu);

	why->interrupts = true;
	return cpu ? kl_why_keep_text(why, event, "name", &cpu->irq) : -ENOMEM;
}

static int leave_irq(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_cpu *cpu = kl_why_cpu(why, event->cpu);

	if (!cpu)
		return -ENOMEM;
	cpu->irq = NULL;
	return 0;
}

static int enter_vector(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_cpu *cpu = kl_why_cpu(why, event->cpu);

	if (!cpu)
		return -ENOMEM;
	why->interrupts = true;
	cpu->vectors++;
	return 0;
}

static int leave_vector(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_cpu *cpu = kl_why_cpu(why, event->cpu);

	if (!cpu)
		return -ENOMEM;
	if (cpu->vectors)
		cpu->vectors--;
	return 0;
}

static int leave_softirq(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_cpu *cpu = kl_why_cpu(why, event->cpu);

	if (!cpu)
		return -ENOMEM;
	cpu->softirq = NULL;
	cpu->disk = NULL;
	cpu->sender.ns = 0;
	return 0;
}

static int enter_softirq(struct kl_why *why, const struct kl_event *event)
{
	const int error = leave_softirq(why, event);

	why->interrupts = true;
	return error ? error :
		       kl_why_keep_text(why, event, "vec", &kl_why_cpu(why, event->cpu)->softirq);
}

static int enter_timer(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_cpu *cpu = kl_why_cpu(why, event->cpu);

	if (!cpu)
		return -ENOMEM;
	why->interrupts = true;
	cpu->timer++;
	cpu->disk = NULL;
	return 0;
}

static int leave_timer(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_cpu *cpu = kl_why_cpu(why, event->cpu);

	if (!cpu)
		return -ENOMEM;
	if (cpu->timer)
		cpu->timer--;
	cpu->disk = NULL;
	return 0;
}

/* The interrupt of a device has its name; a softirq or timer does not say which disk it is for. */
static int complete_request(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_cpu *cpu = kl_why_cpu(why, event->cpu);

	if (!cpu)
		return -ENOMEM;
	return cpu->irq && !cpu->timer ? 0 : kl_why_keep_text(why, event, "dev", &cpu->disk);
}

/*
 * Interrupts have ended when tasks switch, even if the trace lost the event that says so. Softirqs
 * of a real-time kernel have not, but only a trace with the variable says when these wake a task.
 */
int kl_why_leave_interrupts(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_cpu *cpu = kl_why_cpu(why, event->cpu);

	if (!cpu)
		return -ENOMEM;
	if (why->in_irq >= 0)
		return 0;
	cpu->irq = NULL;
	cpu->vectors = 0;
	cpu->timer = 0;
	return leave_softirq(why, event);
}

/* ------------------------------------------------------------------- packets */

/* The request that an event is about; NULL without an error: the event does not have it. */
static struct kl_why_request *request_of(struct kl_hash *requests, const struct kl_event *event,
					 const char *field, int *error)
{
	struct kl_value address;
	struct kl_why_request *request;

	*error = 0;
	if (kl_event_field(event, field, &address) || !address.number)
		return NULL;
	requests->size = sizeof(*request);
	request = kl_hash_get(requests, address.number);
	if (!request)
		*error = -ENOMEM;
	return request;
}

/*
 * The loopback device only: what it sends is received, by the same address. Elsewhere, the memory
 * of a packet that has been sent is used again for another that has been received.
 */
static bool is_loopback(const struct kl_event *event)
{
	struct kl_value name;

	return !kl_event_field(event, "name", &name) && name.length == 2 &&
	       !memcmp(name.bytes, "lo", 2);
}

/* What a softirq sends, such as an acknowledgment, has no sender. */
static int send_packet(struct kl_why *why, const struct kl_event *event)
{
	const struct kl_why_cpu *cpu = kl_why_cpu(why, event->cpu);
	struct kl_why_request *request;
	int error;

	if (!cpu)
		return -ENOMEM;
	if (!is_loopback(event))
		return 0;
	request = request_of(&why->packets, event, "skbaddr", &error);
	if (!request)
		return error;
	request->by.ns = 0;
	return context_of(why, event, cpu) ? 0 : kl_why_cause_of(why, event, &request->by);
}

static int receive_packet(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_cpu *cpu = kl_why_cpu(why, event->cpu);
	struct kl_why_request *request;
	int error;

	if (!cpu)
		return -ENOMEM;
	cpu->sender.ns = 0;
	if (!is_loopback(event))
		return 0;
	request = request_of(&why->packets, event, "skbaddr", &error);
	if (!request)
		return error;
	cpu->sender = request->by;
	cpu->sender.text = cpu->softirq ? cpu->softirq : "";
	request->by.ns = 0;
	return 0;
}

/* ---------------------------------------------------------------- work items */

static int queue_work(struct kl_why *why, const struct kl_event *event)
{
	int error;
	struct kl_why_request *request = request_of(&why->works, event, "work", &error);

	return request ? kl_why_cause_of(why, event, &request->by) : error;
}

static const char *function_of(const struct kl_why *why, const struct kl_event *event)
{
	const struct kl_address *place = NULL;
	struct kl_value function;

	if (!kl_event_field(event, "function", &function))
		place = kl_addresses_get(kl_schema_addresses(why->schema), function.number);
	return place && place->symbol ? place->symbol : "";
}

static int begin_work(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_thread *thread = kl_why_running(why, event, event->task.tid);
	struct kl_why_work *grown = thread ? kl_array_grow(thread->work, thread->n_works,
							   &thread->works_room, sizeof(*grown)) :
					     NULL;
	struct kl_why_request *request;
	int error;

	if (!grown)
		return -ENOMEM;
	thread->work = grown;
	grown += thread->n_works++;
	*grown = (struct kl_why_work){ .ns = event->ns, .function = function_of(why, event) };
	request = request_of(&why->works, event, "work", &error);
	if (!request)
		return error;
	grown->by = request->by;
	request->by.ns = 0;
	return 0;
}

static int end_work(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_thread *thread = kl_why_running(why, event, event->task.tid);

	if (!thread)
		return -ENOMEM;
	if (thread->n_works)
		thread->work[thread->n_works - 1].end_ns = event->ns;
	return 0;
}

/* --------------------------------------------------------------------- ticks */

static const struct kl_frame *innermost(const struct kl_stack *stack, bool kernel)
{
	for (unsigned int i = 0; stack && i < stack->n; i++)
		if (!kernel || !kl_frame_is_tracing(&stack->frame[i]))
			return &stack->frame[i];
	return NULL;
}

/* "FUNCTION (OBJECT)", in the caller's buffer. */
static void name_place(const struct kl_why *why, const struct kl_event *event, char *text,
		       size_t bytes)
{
	const struct kl_stacks *stacks = kl_schema_stacks(why->schema);
	struct kl_value user = { .number = 0 };
	const struct kl_frame *frame;
	char label[256];
	int stack;

	if (kl_event_field(event, "user", &user))
		user.number = 0;
	stack = user.number ? why->ustack : why->kstack;
	frame = innermost(kl_stacks_get(stacks, (uint32_t)kl_variable_of(event, stack)),
			  !user.number);
	if (!frame)
		snprintf(text, bytes, "%s", user.number ? "[unknown]" : "[kernel]");
	else if (!user.number)
		snprintf(text, bytes, "%s (kernel)", kl_frame_label(frame, label, sizeof(label)));
	else
		snprintf(text, bytes, "%s (%s)", kl_frame_label(frame, label, sizeof(label)),
			 frame->object ? kl_file_of(frame->object) : "unknown");
}

static int add_tick(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_thread *thread;
	struct kl_why_sample *grown;
	const char *function;
	char text[512];

	if (!event->task.tid)
		return 0;
	thread = kl_why_running(why, event, event->task.tid);
	grown = thread ? kl_array_grow(thread->sample, thread->n_samples, &thread->samples_room,
				       sizeof(*grown)) :
			 NULL;
	if (!grown)
		return -ENOMEM;
	thread->sample = grown;
	name_place(why, event, text, sizeof(text));
	function = text;
	if (kl_texts_keep(&why->texts, &function))
		return -ENOMEM;
	grown[thread->n_samples++] = (struct kl_why_sample){ event->ns, function };
	return 0;
}

/* ------------------------------------------------------------------- choosing */

static void choose_vector(struct kl_why *why, const struct kl_class *event)
{
	static const char prefix[] = "x86_irq_vectors_";
	const char *end = strrchr(event->name, '_');

	if (strncmp(event->name, prefix, sizeof(prefix) - 1) || !end)
		return;
	if (!strcmp(end, "_entry"))
		why->add[event->id] = enter_vector;
	else if (!strcmp(end, "_exit"))
		why->add[event->id] = leave_vector;
}

void kl_why_choose_later(struct kl_why *why)
{
	static const struct kl_why_adder adders[] = {
		{ "irq_handler_entry", enter_irq },
		{ "irq_handler_exit", leave_irq },
		{ "irq_softirq_entry", enter_softirq },
		{ "irq_softirq_exit", leave_softirq },
		{ "timer_hrtimer_expire_entry", enter_timer },
		{ "timer_hrtimer_expire_exit", leave_timer },
		{ "timer_expire_entry", enter_timer },
		{ "timer_expire_exit", leave_timer },
		{ "block_rq_complete", complete_request },
		{ "net_dev_queue", send_packet },
		{ "netif_receive_skb", receive_packet },
		{ "workqueue_queue_work", queue_work },
		{ "workqueue_execute_start", begin_work },
		{ "workqueue_execute_end", end_work },
		{ "sched_kthread_work_queue_work", queue_work },
		{ "sched_kthread_work_execute_start", begin_work },
		{ "sched_kthread_work_execute_end", end_work }
	};
	const struct kl_class *event = NULL;

	kl_why_choose(why, adders, sizeof(adders) / sizeof(*adders));
	while ((event = kl_schema_next(why->schema, event))) {
		choose_vector(why, event);
		if (kl_profile_is_tick(event))
			why->add[event->id] = add_tick;
	}
}
