// SPDX-License-Identifier: GPL-2.0
/*
 * How long interrupts and softirqs take. On each CPU, a softirq may be interrupted by a vector, and
 * within that by handlers of devices, so there is at most one of each kind at a time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/irq_report.h>
#include "../base/base.h"
#include "../base/table.h"
#include "events.h"

#define NS_PER_US 1000
#define SOFTIRQS 16

enum {
	DEVICE_ENTRY,
	DEVICE_EXIT,
	SOFTIRQ_ENTRY,
	SOFTIRQ_EXIT,
	SOFTIRQ_RAISE,
	VECTORS, /* entries and exits in turns */
};

#define VECTOR(name)                            \
	{                                       \
		"x86_irq_vectors_" name, false, \
		{                               \
			"vector"                \
		}                               \
	}

static const struct kl_report_event used[] = {
	[DEVICE_ENTRY] = { "irq_handler_entry", true, { "irq", "name" } },
	[DEVICE_EXIT] = { "irq_handler_exit", false, { "irq", "ret" } },
	[SOFTIRQ_ENTRY] = { "irq_softirq_entry", true, { "vec" } },
	[SOFTIRQ_EXIT] = { "irq_softirq_exit", false, { "vec" } },
	[SOFTIRQ_RAISE] = { "irq_softirq_raise", false, { "vec" } },
	[VECTORS] = VECTOR("local_timer_entry"),
	VECTOR("local_timer_exit"),
	VECTOR("reschedule_entry"),
	VECTOR("reschedule_exit"),
	VECTOR("call_function_entry"),
	VECTOR("call_function_exit"),
	VECTOR("call_function_single_entry"),
	VECTOR("call_function_single_exit"),
	VECTOR("irq_work_entry"),
	VECTOR("irq_work_exit"),
	VECTOR("error_apic_entry"),
	VECTOR("error_apic_exit"),
	VECTOR("spurious_apic_entry"),
	VECTOR("spurious_apic_exit"),
	VECTOR("thermal_apic_entry"),
	VECTOR("thermal_apic_exit"),
	VECTOR("threshold_apic_entry"),
	VECTOR("threshold_apic_exit"),
	VECTOR("deferred_error_apic_entry"),
	VECTOR("deferred_error_apic_exit"),
	VECTOR("ipi_entry"),
	VECTOR("ipi_exit"),
};

enum {
	NUMBER,
	NAME,
	RET = NAME,
};

/* Key: hash of kind, number and name. @number: of the row */
struct row_of {
	uint64_t key;
	size_t number;
};

/* Key: CPU, plus 1. @number: of its state */
struct cpu_of {
	uint64_t key;
	size_t number;
};

/* An interrupt in progress. @row: its number, plus 1; 0: none is in progress */
struct open {
	size_t row;
	uint64_t begin_ns;
	struct kl_task task;
	bool wanted;
};

struct cpu {
	struct kl_irq_cpu is;
	struct open open[KL_IRQ_KINDS];
	uint64_t raised_ns[SOFTIRQS];
};

struct kl_irq_report {
	struct kl_report_events events;
	struct kl_hash rows_by_key;
	struct kl_irq_row *row;
	size_t n;
	size_t room;
	struct kl_hash cpus_by_number;
	struct cpu *cpu;
	size_t n_cpus;
	size_t cpus_room;
	struct kl_irq_cpu *shown;
	struct kl_irq_totals totals;
	int32_t pid;
};

/* ---------------------------------------------------------------------- rows */

/* The number of a row, plus 1; 0: there are too many; or -ENOMEM. */
static int64_t get_row(struct kl_irq_report *report, enum kl_irq_kind kind, int32_t number,
		       const char *name)
{
	uint64_t key = kl_hash_bytes(KL_HASH_START, &kind, sizeof(kind));
	struct kl_irq_row *grown;
	struct row_of *entry;

	key = kl_hash_bytes(key, &number, sizeof(number));
	key = kl_hash_bytes(key, name, strlen(name));
	key = key ? key : 1;
	entry = kl_hash_find(&report->rows_by_key, key);
	if (entry || report->n >= KL_IRQ_ROWS_MAX)
		return entry ? (int64_t)entry->number + 1 : 0;
	grown = kl_array_grow(report->row, report->n, &report->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	report->row = grown;
	entry = kl_hash_get(&report->rows_by_key, key);
	if (!entry)
		return -ENOMEM;
	memset(&grown[report->n], 0, sizeof(*grown));
	grown[report->n].kind = kind;
	grown[report->n].number = number;
	snprintf(grown[report->n].name, KL_IRQ_NAME_BYTES, "%s", name);
	kl_histogram_init(&grown[report->n].time, NS_PER_US);
	kl_histogram_init(&grown[report->n].delay, NS_PER_US);
	entry->number = report->n++;
	return (int64_t)entry->number + 1;
}

/* Sets *@cpu, to NULL if there are too many. Returns 0 or -ENOMEM. */
static int get_cpu(struct kl_irq_report *report, uint32_t number, struct cpu **cpu)
{
	struct cpu_of *entry = kl_hash_find(&report->cpus_by_number, (uint64_t)number + 1);
	struct cpu *grown;

	*cpu = entry ? &report->cpu[entry->number] : NULL;
	if (entry || report->n_cpus >= KL_IRQ_CPUS_MAX)
		return 0;
	grown = kl_array_grow(report->cpu, report->n_cpus, &report->cpus_room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	report->cpu = grown;
	entry = kl_hash_get(&report->cpus_by_number, (uint64_t)number + 1);
	if (!entry)
		return -ENOMEM;
	*cpu = &grown[report->n_cpus];
	**cpu = (struct cpu){ .is = { .cpu = number } };
	entry->number = report->n_cpus++;
	return 0;
}

/* --------------------------------------------------------------- interrupts */

static int begin(struct kl_irq_report *report, struct cpu *cpu, const struct kl_event *event,
		 enum kl_irq_kind kind, int32_t number, const char *name)
{
	struct open *open = &cpu->open[kind];
	const int64_t row = get_row(report, kind, number, name);

	if (row < 0)
		return -ENOMEM;
	report->totals.unfinished += open->row != 0;
	report->totals.dropped += !row;
	*open = (struct open){
		.row = (size_t)row,
		.begin_ns = event->ns,
		.task = event->task,
		.wanted = !report->pid || event->task.pid == report->pid ||
			  event->task.tid == report->pid,
	};
	return 0;
}

static void fill(struct kl_worst_case *worst, const struct kl_event *event, const struct open *open,
		 enum kl_irq_kind kind)
{
	worst->end_ns = event->ns;
	worst->cpu = event->cpu;
	worst->task = open->task;
	worst->what = kind;
	worst->detail[0] = open->row - 1;
}

/* The interrupt in progress ends if it is the one with this number. */
static int end(struct kl_irq_report *report, struct cpu *cpu, const struct kl_event *event,
	       enum kl_irq_kind kind, int32_t number, bool handled)
{
	struct open open = cpu->open[kind];
	struct kl_irq_row *row = open.row ? &report->row[open.row - 1] : NULL;
	const uint64_t ns = event->ns > open.begin_ns ? event->ns - open.begin_ns : 0;
	struct kl_worst_case *worst;

	cpu->open[kind].row = 0;
	if (!row || row->number != number) {
		report->totals.unpaired++;
		report->totals.unfinished += !!row;
		return 0;
	}
	if (!open.wanted)
		return 0;
	row->handled += handled;
	cpu->is.n[kind]++;
	cpu->is.ns[kind] += ns;
	if (ns > row->worst.ns || !row->worst.end_ns) {
		row->worst = (struct kl_worst_case){ .ns = ns };
		fill(&row->worst, event, &open, kind);
	}
	worst = kl_worst_place(&report->totals.worst, ns);
	if (worst)
		fill(worst, event, &open, kind);
	if (kl_histogram_add(&report->totals.time[kind == KL_IRQ_SOFTIRQ], ns))
		return -ENOMEM;
	return kl_histogram_add(&row->time, ns);
}

static int enter_softirq(struct kl_irq_report *report, struct cpu *cpu,
			 const struct kl_event *event, int32_t number)
{
	struct kl_buffer name = { 0 };
	uint64_t raised_ns = 0;
	struct open *open = &cpu->open[KL_IRQ_SOFTIRQ];
	int error;

	kl_print_meaning(&name, KL_FORMAT_softirq, (uint64_t)number);
	kl_buffer_add_char(&name, 0);
	error = name.error ? -ENOMEM : begin(report, cpu, event, KL_IRQ_SOFTIRQ, number, name.data);
	kl_buffer_deinit(&name);
	if (number >= 0 && number < SOFTIRQS) {
		raised_ns = cpu->raised_ns[number];
		cpu->raised_ns[number] = 0;
	}
	if (error || !raised_ns || !open->row || !open->wanted)
		return error;
	return kl_histogram_add(&report->row[open->row - 1].delay,
				event->ns > raised_ns ? event->ns - raised_ns : 0);
}

/* "x86_irq_vectors_local_timer_entry" */
static int enter_vector(struct kl_irq_report *report, struct cpu *cpu, const struct kl_event *event,
			int which)
{
	static const char before[] = "x86_irq_vectors_";
	char name[KL_IRQ_NAME_BYTES];

	snprintf(name, sizeof(name), "%s", used[which].name + sizeof(before) - 1);
	name[strlen(name) - strlen("_entry")] = 0;
	return begin(report, cpu, event, KL_IRQ_VECTOR, (which - VECTORS) / 2, name);
}

static int add_event(struct kl_irq_report *report, struct cpu *cpu, const struct kl_event *event,
		     int which)
{
	const int32_t number = (int32_t)kl_report_number(&report->events, event, which, NUMBER);
	char name[KL_IRQ_NAME_BYTES];

	switch (which) {
	case DEVICE_ENTRY:
		kl_report_text(&report->events, event, which, NAME, name, sizeof(name));
		return begin(report, cpu, event, KL_IRQ_DEVICE, number, name);
	case DEVICE_EXIT:
		return end(report, cpu, event, KL_IRQ_DEVICE, number,
			   kl_report_number(&report->events, event, which, RET));
	case SOFTIRQ_ENTRY:
		return enter_softirq(report, cpu, event, number);
	case SOFTIRQ_EXIT:
		return end(report, cpu, event, KL_IRQ_SOFTIRQ, number, false);
	case SOFTIRQ_RAISE:
		/* It stays raised until it runs. */
		if (number >= 0 && number < SOFTIRQS && !cpu->raised_ns[number])
			cpu->raised_ns[number] = event->ns;
		return 0;
	default:
		if ((which - VECTORS) % 2 == 0)
			return enter_vector(report, cpu, event, which);
		return end(report, cpu, event, KL_IRQ_VECTOR, (which - VECTORS) / 2, false);
	}
}

/* Only what the CPU itself recorded is missing. */
static int add_loss(struct kl_irq_report *report, const struct kl_loss *loss)
{
	struct cpu *cpu;
	int error;

	if (loss->kind == KL_LOSS_UNSEEN)
		return 0;
	report->totals.gaps++;
	error = get_cpu(report, loss->cpu, &cpu);
	if (error || !cpu)
		return error;
	memset(cpu->open, 0, sizeof(cpu->open));
	memset(cpu->raised_ns, 0, sizeof(cpu->raised_ns));
	return 0;
}

/* ----------------------------------------------------------------- interface */

struct kl_irq_report *kl_irq_report_create(const struct kl_schema *schema, int32_t pid)
{
	struct kl_irq_report *report = calloc(1, sizeof(*report));

	if (!report) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	kl_report_events_init(&report->events, schema, used, KL_ARRAY_SIZE(used));
	report->rows_by_key.size = sizeof(struct row_of);
	report->cpus_by_number.size = sizeof(struct cpu_of);
	kl_histogram_init(&report->totals.time[0], NS_PER_US);
	kl_histogram_init(&report->totals.time[1], NS_PER_US);
	report->pid = pid;
	return report;
}

void kl_irq_report_destroy(struct kl_irq_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->n; i++) {
		kl_histogram_deinit(&report->row[i].time);
		kl_histogram_deinit(&report->row[i].delay);
	}
	kl_histogram_deinit(&report->totals.time[0]);
	kl_histogram_deinit(&report->totals.time[1]);
	kl_hash_deinit(&report->rows_by_key);
	kl_hash_deinit(&report->cpus_by_number);
	free(report->row);
	free(report->cpu);
	free(report->shown);
	free(report);
}

int kl_irq_report_add(struct kl_irq_report *report, const struct kl_item *item)
{
	const struct kl_event *event = item->event;
	struct cpu *cpu;
	int error, which;

	if (item->kind == KL_ITEM_LOSS)
		return add_loss(report, item->loss);
	which = kl_report_event_of(&report->events, event);
	if (which < 0)
		return 0;
	error = get_cpu(report, event->cpu, &cpu);
	if (!error && !cpu)
		report->totals.dropped++;
	return error || !cpu ? error : add_event(report, cpu, event, which);
}

const struct kl_irq_row *kl_irq_report_rows(const struct kl_irq_report *report, size_t *count)
{
	*count = report->n;
	return report->row;
}

static int compare_cpus(const void *a, const void *b)
{
	const struct kl_irq_cpu *x = a, *y = b;

	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

const struct kl_irq_cpu *kl_irq_report_cpus(struct kl_irq_report *report, size_t *count)
{
	struct kl_irq_cpu *shown =
		reallocarray(report->shown, report->n_cpus + 1, sizeof(*report->shown));

	*count = 0;
	if (!shown) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	report->shown = shown;
	for (size_t i = 0; i < report->n_cpus; i++)
		shown[i] = report->cpu[i].is;
	qsort(shown, report->n_cpus, sizeof(*shown), compare_cpus);
	*count = report->n_cpus;
	return shown;
}

const struct kl_irq_totals *kl_irq_report_totals(struct kl_irq_report *report)
{
	for (size_t i = 0; i < report->n_cpus; i++)
		for (unsigned int j = 0; j < KL_IRQ_KINDS; j++) {
			report->totals.unfinished += report->cpu[i].open[j].row != 0;
			report->cpu[i].open[j].row = 0;
		}
	return &report->totals;
}

void kl_irq_report_missing(const struct kl_irq_report *report, struct kl_buffer *names)
{
	if (!report->n)
		kl_report_missing(&report->events, false, names);
}
