/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by kl_stimulus.ko and the tests: the plan of what to fire, and what a fired event states
 * about itself, so that a reader can check each one.
 */
#ifndef KL_STIMULUS_H
#define KL_STIMULUS_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define KLS_DEVICE "/dev/kl_stimulus"
#define KLS_SOURCES 16 /* one for each CPU */
#define KLS_COMM "kls/" /* followed by the source's number: the name of its thread */

/*
 * The context in which an event is fired. No context interrupts itself, so its numbers are in
 * order.
 */
enum kls_context {
	KLS_TASK = 0, /* the source's thread, bound to its CPU */
	KLS_SOFTIRQ = 1, /* tasklet, raised by the thread and by the timer */
	KLS_IRQ_WORK = 2, /* interrupt, raised during the bursts of tasks and softirqs */
	KLS_TIMER = 3, /* timer interrupt, at any point of the others */
	KLS_NMI = 4, /* sent by the neighbor's thread or by the timer */
	KLS_CONTEXTS = 5,
};

/**
 * struct kls_plan - what each source does
 * @records: number that its thread fires; the other contexts' records are added to that
 * @cpus: sources that take part, one bit each
 * @nested: records fired by each softirq, interrupt and NMI
 * @burst: the thread's records between two pauses, 0: no pause
 * @pause_us: length of a pause, 0: only cond_resched()
 * @softirq_every, @irq_every, @nmi_every: the thread's records between two of these, 0: none
 * @timer_us: period of the timer interrupt, 0: none
 * @string_every: every n-th record of a context is a suspend_resume, which has a
 *                string; the others are cpu_frequency
 * @vary: around each event, set what variables read from the running task to the
 *        values of kls_value()
 * @stacks: the `state` of a cpu_frequency is kls_stack_hash() of its callers, as the
 *          kernel itself unwinds them
 */
struct kls_plan {
	__u64 records;
	__u64 cpus;
	__u32 nested;
	__u32 burst;
	__u32 pause_us;
	__u32 softirq_every;
	__u32 irq_every;
	__u32 nmi_every;
	__u32 timer_us;
	__u32 string_every;
	__u32 vary;
	__u32 stacks;
};

/**
 * struct kls_counts - what has been fired since the last start
 * @running: sources whose thread has not finished
 * @probes: functions now attached to any of the kernel's own tracepoints
 */
struct kls_counts {
	__u64 fired[KLS_SOURCES][KLS_CONTEXTS];
	__s32 tid[KLS_SOURCES];
	__u32 running;
	__u32 probes;
};

#define KLS_IOC_START _IOW(0xB8, 1, struct kls_plan)
#define KLS_IOC_COUNTS _IOR(0xB8, 2, struct kls_counts)
#define KLS_IOC_STOP _IO(0xB8, 3)
/* Calls kls_called that many times, with i, 2 i ... 6 i for i from 0; it returns 7 i. */
#define KLS_IOC_CALL _IO(0xB8, 4)

/*
 * cpu_frequency: `state` is the running number of (source, context), `cpu_id` is the mark.
 * suspend_resume: `val` holds source, context and the low 24 bits of the number; `start` is the
 * lowest bit; `action` is the text from that position on.
 */
static inline __u32 kls_mark(__u32 source, __u32 context, __u32 number)
{
	__u32 hash = (number * 2654435761u ^ (source * 8 + context) * 40503u) >> 12;

	return source << 28 | context << 24 | (hash & 0xffffff);
}

#define KLS_MARK_SOURCE(mark) ((mark) >> 28)
#define KLS_MARK_CONTEXT(mark) ((mark) >> 24 & 0xf)

#define KLS_FRAMES 30 /* after the first one, which differs by call site */

static inline __u32 kls_stack_hash(const __u64 *frame, __u32 frames)
{
	__u64 hash = 0;

	for (__u32 i = 1; i < frames && i <= KLS_FRAMES; i++)
		hash = (hash ^ frame[i]) * 0x9E3779B97F4A7C15ull;
	return hash >> 32;
}

/*
 * Variables that the module sets: one that always changes, one that seldom does, and one that
 * changes with the context.
 */
enum kls_value {
	KLS_TIMER_SLACK,
	KLS_MIN_FAULTS,
	KLS_MAJ_FAULTS,
	KLS_VALUES,
};

static inline __u64 kls_value(enum kls_value which, __u32 source, __u32 context, __u32 number)
{
	if (which == KLS_TIMER_SLACK)
		return (__u64)number << 8 | source << 4 | context;
	return which == KLS_MIN_FAULTS ? number / 64 : context * 1000003ull;
}

/* All 16 bytes of a command name; either half may be the same as before. */
static inline void kls_name(__u32 context, __u32 number, char name[16])
{
	for (int i = 0; i < 15; i++)
		name[i] = 'a' + (i < 8 ? number / 16 : context + number / 512) % 26;
	name[15] = 0;
}

#define KLS_TEXT                                                                         \
	"Each event that this module fires says who it is, so that a reader can tell a " \
	"lost one from a doubled one, and a torn one from a whole one."
#define KLS_TEXT_BYTES (sizeof(KLS_TEXT) - 1)

static inline const char *kls_text(__u32 number)
{
	static const char text[] = KLS_TEXT;

	return text + number % KLS_TEXT_BYTES;
}

#endif /* KL_STIMULUS_H */
