/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kl_stimulus.ko and the tests agree on: how it is told what to fire, and
 * what a fired event says of itself, so that a reader can check each one.
 */
#ifndef KL_STIMULUS_H
#define KL_STIMULUS_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define KLS_DEVICE "/dev/kl_stimulus"
#define KLS_SOURCES 16 /* one a CPU */
#define KLS_COMM "kls/" /* and the source's number: name of its thread */

/* Where an event is fired. No context interrupts itself, so numbers are in order. */
enum kls_context {
	KLS_TASK = 0, /* the source's thread, bound to its CPU */
	KLS_SOFTIRQ = 1, /* tasklet, raised by the thread and by the timer */
	KLS_IRQ_WORK = 2, /* interrupt, raised in the middle of tasks' and softirqs' bursts */
	KLS_TIMER = 3, /* timer interrupt, at any point of the others */
	KLS_NMI = 4, /* sent by the neighbour's thread or by the timer */
	KLS_CONTEXTS = 5,
};

/**
 * struct kls_plan - what each source does
 * @records: that its thread fires; the other contexts' come on top
 * @cpus: sources that take part, a bit each
 * @nested: records fired by each softirq, interrupt and NMI
 * @burst: the thread's records between two pauses, 0: no pause
 * @pause_us: length of a pause, 0: only give way
 * @softirq_every, @irq_every, @nmi_every: the thread's records between two, 0: none
 * @timer_us: period of the timer interrupt, 0: none
 * @string_every: each so-manieth record of a context is a suspend_resume, which
 *                has a string; the others are cpu_frequency
 * @vary: around each event, set what variables read of the running task to
 *        what kls_value() says
 * @stacks: the `state` of a cpu_frequency is kls_stack_hash() of its callers, as the
 *          kernel itself finds them
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
 * @probes: functions attached to any of the kernel's own tracepoints now
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
 * cpu_frequency: `state` is the running number of (source, context), `cpu_id`
 * is the mark. suspend_resume: `val` is source, context and the number's low
 * 24 bits; `start` its lowest bit; `action` the text from that position on.
 */
static inline __u32 kls_mark(__u32 source, __u32 context, __u32 number)
{
	__u32 hash = (number * 2654435761u ^ (source * 8 + context) * 40503u) >> 12;

	return source << 28 | context << 24 | (hash & 0xffffff);
}

#define KLS_MARK_SOURCE(mark) ((mark) >> 28)
#define KLS_MARK_CONTEXT(mark) ((mark) >> 24 & 0xf)

#define KLS_FRAMES 30 /* behind the first one: which of its calls it is differs */

static inline __u32 kls_stack_hash(const __u64 *frame, __u32 frames)
{
	__u64 hash = 0;

	for (__u32 i = 1; i < frames && i <= KLS_FRAMES; i++)
		hash = (hash ^ frame[i]) * 0x9E3779B97F4A7C15ull;
	return hash >> 32;
}

/* Variables that the module sets: always new, seldom new, new with the context, and a text. */
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

/* All 16 bytes of a command name, of which either half may be the same as before. */
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
