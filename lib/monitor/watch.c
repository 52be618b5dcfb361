// SPDX-License-Identifier: GPL-2.0
/*
 * Checks alarms: reads a table of processes, evaluates each rule's condition for its processes or
 * for their totals, and reports conditions that have been true, or false, for long enough. Fed by
 * tables of processes; read by kernlens watch.
 */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/abi.h>
#include <kernlens/cgroup.h>
#include <kernlens/format.h>
#include "../base/base.h"
#include "watch.h"

/**
 * struct subject - what a rule knows of a process, or of a total
 * @id: of the process; 0: a total
 * @start: start time of the process
 * @is_raised: the alarm is raised
 * @is_waiting: the condition to raise or clear the alarm has been true since @since_ns
 * @is_seen: the process still exists
 * @raised_ns: when the alarm was raised
 */
struct subject {
	int32_t id;
	uint64_t start;
	bool is_raised;
	bool is_waiting;
	bool is_seen;
	uint64_t since_ns;
	uint64_t raised_ns;
	uint32_t uid;
	char comm[KL_COMM_LEN + 1];
};

/**
 * struct subjects - a rule's subjects with state to keep, sorted by id
 */
struct subjects {
	struct subject *of;
	size_t n, room;
};

/**
 * struct kl_watch - rules being checked
 * @at: for each column of the rules, its column in the table
 * @subjects: by rule; @next is filled while a rule is checked
 * @cgroups: of the current rule; they may change between two checks
 * @row: current row; @total: use totals instead
 * @hasty: do not wait for durations
 */
struct kl_watch {
	const struct kl_watch_rules *rules;
	struct kl_processes *table;
	int *at;
	int pid, uid, comm, start, cgroup;
	struct subjects *subjects;
	struct subjects next;
	kl_watch_fn tell;
	void *data;
	struct kl_cgroup_set cgroups;
	size_t row;
	const struct kl_watch_rule_data *rule;
	bool total;
	bool hasty;
	char text[KL_COMM_LEN + 1];
};

/* ------------------------------------------------------------------- cells */

static const char *text_of(struct kl_watch *w, int column, const struct kl_watch_column *what)
{
	struct kl_value value = kl_processes_value(w->table, w->row, (size_t)column);
	struct kl_buffer letters = { 0 };

	if (what->unit == KL_WATCH_STATE) {
		if (kl_print_meaning(&letters, KL_FORMAT_task_state, value.number))
			snprintf(w->text, sizeof(w->text), "%s", letters.data);
		else
			w->text[0] = 0;
		kl_buffer_deinit(&letters);
	} else {
		snprintf(w->text, sizeof(w->text), "%.*s", (int)value.length, value.bytes);
	}
	return w->text;
}

static bool is_meant(struct kl_watch *w, size_t row);

/* The sum over all of the rule's processes. Processes whose rate is not known yet do not count. */
static double sum_of(struct kl_watch *w, int at, const struct kl_watch_column *column)
{
	double sum = 0;
	size_t n = 0, known = 0;

	for (size_t row = 0; row < kl_processes_count(w->table); row++) {
		double number;

		if (!is_meant(w, row))
			continue;
		n++;
		number = at < 0 ? 1 : kl_processes_number(w->table, row, (size_t)at);
		known += !isnan(number);
		sum += isnan(number) ? 0 : number;
	}
	return n && !known && column->is_rate ? NAN : sum;
}

static struct kl_watch_cell cell_of(void *data, int index)
{
	struct kl_watch *w = data;
	const struct kl_watch_column *column = &w->rules->columns[index];
	int at = w->at[index];
	struct kl_watch_cell cell = { NAN, NULL };

	if (!kl_processes_count(w->table))
		return cell;
	if (w->total && !column->is_machine)
		cell.number = sum_of(w, at, column);
	else if (column->unit == KL_WATCH_TEXT || column->unit == KL_WATCH_STATE)
		cell.text = text_of(w, at, column);
	else
		cell.number = kl_processes_number(w->table, w->total ? 0 : w->row, (size_t)at);
	return cell;
}

/* --------------------------------------------------------------- selection */

static uint64_t number_at(const struct kl_watch *w, size_t row, int column)
{
	return kl_processes_value(w->table, row, (size_t)column).number;
}

static void copy_comm(const struct kl_watch *w, size_t row, char comm[KL_COMM_LEN + 1])
{
	struct kl_value value = kl_processes_value(w->table, row, (size_t)w->comm);

	snprintf(comm, KL_COMM_LEN + 1, "%.*s", (int)value.length, value.bytes);
}

static bool fits(struct kl_watch *w, const struct kl_watch_selector *s, size_t row)
{
	char comm[KL_COMM_LEN + 1];
	uint64_t id;
	bool there;

	switch (s->kind) {
	case KL_WATCH_OF_COMM:
		copy_comm(w, row, comm);
		return !fnmatch(s->text, comm, 0);
	case KL_WATCH_OF_USER:
		return number_at(w, row, w->uid) == s->number;
	case KL_WATCH_OF_PID:
		return (uint64_t)kl_processes_row(w->table, row, &there) == s->number;
	default:
		id = number_at(w, row, w->cgroup);
		return kl_cgroup_set_has(&w->cgroups, id);
	}
}

static bool is_meant(struct kl_watch *w, size_t row)
{
	for (size_t i = 0; i < w->rule->n_selectors; i++)
		if (!fits(w, &w->rule->selectors[i], row))
			return false;
	return true;
}

/* ---------------------------------------------------------------- subjects */

static void tell(struct kl_watch *w, const struct subject *s, enum kl_watch_state state)
{
	const struct kl_watch_column *column = &w->rules->columns[w->rule->first];
	struct kl_watch_cell cell = { NAN, NULL };
	char text[KL_WATCH_VALUE_MAX];

	if (state == KL_WATCH_RAISED || state == KL_WATCH_CLEARED)
		cell = cell_of(w, w->rule->first);
	kl_watch_print(text, column, &cell);
	kl_make_plain(text, strlen(text));
	w->tell(w->data, &(struct kl_watch_alarm){
				 .rule = &w->rule->public,
				 .state = state,
				 .pid = s->id,
				 .uid = s->uid,
				 .comm = s->comm,
				 .value = cell.number,
				 .text = text,
				 .since_ns = state == KL_WATCH_RAISED ? s->since_ns : s->raised_ns,
				 .now_ns = kl_processes_time_ns(w->table),
			 });
}

/* Update the state, and raise or clear the alarm if the condition has been true for long enough. */
static void step(struct kl_watch *w, struct subject *s)
{
	const struct kl_watch_rule_data *rule = w->rule;
	uint64_t now = kl_processes_time_ns(w->table);
	uint64_t wait = s->is_raised ? rule->public.clear_for_ns : rule->public.for_ns;
	const struct kl_node *node = s->is_raised && rule->clear ? rule->clear : rule->raise;
	int holds = kl_watch_evaluate(w->rules, node, cell_of, w);

	if (s->is_raised && !rule->clear && holds >= 0)
		holds = !holds;
	if (holds != 1) {
		s->is_waiting = false;
		return;
	}
	if (!s->is_waiting)
		s->since_ns = now;
	s->is_waiting = true;
	if (!w->hasty && now - s->since_ns < wait)
		return;
	s->is_waiting = false;
	s->is_raised = !s->is_raised;
	if (s->is_raised)
		s->raised_ns = now;
	tell(w, s, s->is_raised ? KL_WATCH_RAISED : KL_WATCH_CLEARED);
}

static int keep(struct kl_watch *w, const struct subject *s)
{
	struct subject *of;

	if (!s->is_raised && !s->is_waiting)
		return 0;
	of = kl_array_grow(w->next.of, w->next.n, &w->next.room, sizeof(*of));
	if (!of)
		return -ENOMEM;
	w->next.of = of;
	of[w->next.n++] = *s;
	return 0;
}

static int check_total(struct kl_watch *w, const struct subjects *old)
{
	struct subject s = { 0 };

	if (old->n)
		s = old->of[0];
	w->total = true;
	step(w, &s);
	w->total = false;
	return keep(w, &s);
}

static int compare_subjects(const void *a, const void *b)
{
	const struct subject *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* The stored state of a process. If another process has reused the id, the alarm ends. */
static struct subject take_old(struct kl_watch *w, const struct subjects *old)
{
	struct subject s = { .start = number_at(w, w->row, w->start) };
	struct subject *found = NULL;
	bool there;

	s.id = kl_processes_row(w->table, w->row, &there);
	if (old->n)
		found = bsearch(&s, old->of, old->n, sizeof(s), compare_subjects);
	if (found && found->start == s.start) {
		found->is_seen = true;
		s = *found;
		s.is_seen = false;
	}
	s.uid = (uint32_t)number_at(w, w->row, w->uid);
	copy_comm(w, w->row, s.comm);
	/* Users choose the names of processes, and they end up in a line of a log. */
	kl_make_plain(s.comm, strlen(s.comm));
	return s;
}

static int check_each(struct kl_watch *w, const struct subjects *old)
{
	int error = 0;

	for (w->row = 0; w->row < kl_processes_count(w->table) && !error; w->row++) {
		struct subject s;

		if (!is_meant(w, w->row))
			continue;
		s = take_old(w, old);
		step(w, &s);
		error = keep(w, &s);
	}
	for (size_t i = 0; i < old->n; i++)
		if (old->of[i].is_raised && !old->of[i].is_seen)
			tell(w, &old->of[i], KL_WATCH_ENDED);
	if (w->next.n)
		qsort(w->next.of, w->next.n, sizeof(*w->next.of), compare_subjects);
	return error;
}

static int check_rule(struct kl_watch *w, size_t i)
{
	struct subjects *old = &w->subjects[i];
	struct subjects used;
	int error;

	w->rule = w->rules->rules[i];
	for (size_t k = 0; k < w->rule->n_selectors; k++)
		if (w->rule->selectors[k].kind == KL_WATCH_OF_CGROUP)
			kl_cgroup_set_read(&w->cgroups, w->rule->selectors[k].text);
	w->next.n = 0;
	error = w->rule->public.is_total ? check_total(w, old) : check_each(w, old);
	used = *old;
	*old = w->next;
	w->next = used;
	return error;
}

int kl_watch_check(struct kl_watch *w, kl_watch_fn fn, void *data)
{
	int ret = kl_processes_read(w->table, NULL, 0, 0), raised = 0;

	w->tell = fn;
	w->data = data;
	if (ret >= 0)
		kl_processes_sort(w->table, (size_t)w->pid, false);
	for (size_t i = 0; i < w->rules->n && ret >= 0; i++)
		ret = check_rule(w, i);
	for (size_t i = 0; i < w->rules->n; i++)
		for (size_t k = 0; k < w->subjects[i].n; k++)
			raised += w->subjects[i].of[k].is_raised;
	return ret < 0 ? ret : raised;
}

void kl_watch_hurry(struct kl_watch *w)
{
	w->hasty = true;
}

int kl_watch_prepare(struct kl_watch *w)
{
	int ret;

	for (size_t i = 0; i < w->rules->n_columns; i++)
		if (w->rules->columns[i].is_rate) {
			ret = kl_processes_read(w->table, NULL, 0, 0);
			return ret < 0 ? ret : 1;
		}
	return 0;
}

void kl_watch_take(struct kl_watch *w, struct kl_watch *old, kl_watch_fn fn, void *data)
{
	old->tell = fn;
	old->data = data;
	for (size_t i = 0; i < old->rules->n; i++) {
		size_t k = 0;

		old->rule = old->rules->rules[i];
		while (k < w->rules->n &&
		       strcmp(w->rules->rules[k]->public.text, old->rule->public.text) != 0)
			k++;
		for (size_t n = 0; k == w->rules->n && n < old->subjects[i].n; n++)
			if (old->subjects[i].of[n].is_raised)
				tell(old, &old->subjects[i].of[n], KL_WATCH_DROPPED);
		if (k == w->rules->n)
			continue;
		free(w->subjects[k].of);
		w->subjects[k] = old->subjects[i];
		old->subjects[i] = (struct subjects){ 0 };
	}
}

/* ------------------------------------------------------------------ set-up */

static bool needs_cgroup(const struct kl_watch_rules *rules)
{
	for (size_t i = 0; i < rules->n; i++)
		for (size_t k = 0; k < rules->rules[i]->n_selectors; k++)
			if (rules->rules[i]->selectors[k].kind == KL_WATCH_OF_CGROUP)
				return true;
	return false;
}

static int add_columns(struct kl_watch *w)
{
	const struct {
		int *at;
		const char *name;
	} own[] = {
		{ &w->pid, "pid" },
		{ &w->uid, "uid" },
		{ &w->comm, "comm" },
		{ &w->start, "start_time" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(own); i++) {
		*own[i].at = kl_processes_add(w->table, own[i].name);
		if (*own[i].at < 0)
			return *own[i].at;
	}
	/* Not every kernel has it. */
	if (needs_cgroup(w->rules)) {
		w->cgroup = kl_processes_add(w->table, "cgroup");
		if (w->cgroup < 0)
			return w->cgroup;
	}
	for (size_t i = 0; i < w->rules->n_columns; i++) {
		w->at[i] = -1;
		if (!strcmp(w->rules->columns[i].name, "processes"))
			continue;
		w->at[i] = kl_processes_add(w->table, w->rules->columns[i].name);
		if (w->at[i] < 0)
			return w->at[i];
	}
	return 0;
}

struct kl_watch *kl_watch_create(struct kl_device *device, const struct kl_watch_rules *rules)
{
	struct kl_watch *w = calloc(1, sizeof(*w));

	if (w) {
		w->rules = rules;
		w->at = calloc(rules->n_columns + 1, sizeof(*w->at));
		w->subjects = calloc(rules->n + 1, sizeof(*w->subjects));
		w->table = kl_processes_create(device);
	}
	if (!w || !w->at || !w->subjects || !w->table) {
		kl_watch_destroy(w);
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	if (add_columns(w)) {
		kl_watch_destroy(w);
		return NULL;
	}
	return w;
}

void kl_watch_destroy(struct kl_watch *w)
{
	if (!w)
		return;
	for (size_t i = 0; w->subjects && i < w->rules->n; i++)
		free(w->subjects[i].of);
	free(w->next.of);
	free(w->subjects);
	free(w->at);
	kl_cgroup_set_deinit(&w->cgroups);
	kl_processes_destroy(w->table);
	free(w);
}
