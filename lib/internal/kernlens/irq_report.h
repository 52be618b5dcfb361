/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long interrupts and softirqs take, by handler and CPU: what the tools hardirqs and softirqs
 * show.
 */
#ifndef KERNLENS_IRQ_REPORT_H
#define KERNLENS_IRQ_REPORT_H

#include <stdbool.h>
#include <kernlens/buffer.h>
#include <kernlens/histogram.h>
#include <kernlens/trace.h>

/* Handlers and CPUs that have rows of their own. */
#define KL_IRQ_ROWS_MAX 1024
#define KL_IRQ_CPUS_MAX 8192

#define KL_IRQ_NAME_BYTES 64

enum kl_irq_kind {
	KL_IRQ_DEVICE, /* a handler of a device */
	KL_IRQ_VECTOR, /* of the CPU: its timer, and messages of other CPUs */
	KL_IRQ_SOFTIRQ,
	KL_IRQ_KINDS,
};

/**
 * struct kl_irq_row - a handler, a vector or a softirq
 * @number: of the interrupt, or of the softirq
 * @name: of the handler, "local_timer", or "NET_RX"
 * @time: how long each took, with the interrupts that came meanwhile
 * @handled: KL_IRQ_DEVICE: how often it was an interrupt of this device
 * @delay: KL_IRQ_SOFTIRQ: times from being raised to running
 * @worst: the longest; @task is what it interrupted
 */
struct kl_irq_row {
	enum kl_irq_kind kind;
	int32_t number;
	char name[KL_IRQ_NAME_BYTES];
	struct kl_histogram time;
	uint64_t handled;
	struct kl_histogram delay;
	struct kl_worst_case worst;
};

/**
 * struct kl_irq_cpu - a CPU
 * @n: how many interrupts it had, by kind
 * @ns: how long these took
 */
struct kl_irq_cpu {
	uint32_t cpu;
	uint64_t n[KL_IRQ_KINDS];
	uint64_t ns[KL_IRQ_KINDS];
};

/**
 * struct kl_irq_totals - all interrupts
 * @time: of interrupts (KL_IRQ_DEVICE and KL_IRQ_VECTOR), and of softirqs
 * @worst: the longest; @what is the kind, @detail[0] the index of the row
 * @unpaired: ends without a begin
 * @unfinished: begins without an end
 * @dropped: interrupts for which a table had no room
 * @gaps: how often records were missing; interrupts in progress there are not counted
 */
struct kl_irq_totals {
	struct kl_histogram time[2];
	struct kl_worst worst;
	uint64_t unpaired;
	uint64_t unfinished;
	uint64_t dropped;
	uint64_t gaps;
};

struct kl_irq_report;

/**
 * kl_irq_report_create - create an empty report
 * @schema: of the trace; must outlive the report
 * @pid: only what interrupted this process or thread; 0: all
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_irq_report *kl_irq_report_create(const struct kl_schema *schema, int32_t pid);

/**
 * kl_irq_report_destroy - free
 * @report: or NULL
 */
void kl_irq_report_destroy(struct kl_irq_report *report);

/**
 * kl_irq_report_add - add an item
 * @report: report
 * @item: any
 *
 * Returns 0 or -ENOMEM.
 */
int kl_irq_report_add(struct kl_irq_report *report, const struct kl_item *item);

/**
 * kl_irq_report_rows - the handlers, in the order in which they first occurred
 * @report: report
 * @count: out: number of rows
 *
 * Returns the rows, which belong to the report.
 */
const struct kl_irq_row *kl_irq_report_rows(const struct kl_irq_report *report, size_t *count);

/**
 * kl_irq_report_cpus - the CPUs, by number
 * @report: report
 * @count: out: number of CPUs
 *
 * Returns the CPUs, which belong to the report, or NULL with errno ENOMEM.
 */
const struct kl_irq_cpu *kl_irq_report_cpus(struct kl_irq_report *report, size_t *count);

/**
 * kl_irq_report_totals - all interrupts
 * @report: report
 */
const struct kl_irq_totals *kl_irq_report_totals(struct kl_irq_report *report);

/**
 * kl_irq_report_missing - if there are neither interrupts nor softirqs, append the events' names
 * @report: report
 * @names: appended to, separated by commas
 */
void kl_irq_report_missing(const struct kl_irq_report *report, struct kl_buffer *names);

#endif /* KERNLENS_IRQ_REPORT_H */
