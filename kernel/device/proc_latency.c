// SPDX-License-Identifier: GPL-2.0
/*
 * The longest waits of all profiles that a reader may see, as text with the kernel's function
 * names, for /proc/kernlens/latency. They are selected and copied when the file is opened, so they
 * stay sorted while they are read.
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "../core/stack_internal.h"
#include "../latency/latency_internal.h"
#include "../session/session.h"
#include "proc_latency.h"

#define SHOWN_MAX 1000u
#define SESSIONS_MAX 64u

struct line {
	struct kl_session *session;
	struct kl_abi_latency_entry is;
	s32 tid;
	char comm[KL_COMM_LEN];
};

/**
 * struct kl_latency_list - the contents of an open file
 * @sessions, @session: the sessions with profiles; held
 * @payer: charged for the list
 * @of, @kept: number of kinds of waits that exist, and that are shown
 */
struct kl_latency_list {
	u32 sessions;
	u32 of;
	u32 kept;
	struct kl_payer payer;
	struct kl_session *session[SESSIONS_MAX];
	struct line line[SHOWN_MAX];
};

struct place {
	u64 sum;
	u32 session;
	u32 index;
};

static int longest_first(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->sum != y->sum)
		return x->sum < y->sum ? 1 : -1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static u64 ns_of(u64 cycles)
{
	u64 hz = kl_clock_hz(), rest;
	u64 seconds = div64_u64_rem(cycles, hz, &rest);

	return seconds * NSEC_PER_SEC + div64_u64(rest * NSEC_PER_SEC, hz);
}

static void find_sessions(struct kl_latency_list *list, const struct cred *cred, u32 may)
{
	struct kl_abi_status status = {};

	for (; list->sessions < SESSIONS_MAX && !kl_session_status(&status, cred, may);
	     status.index++) {
		struct kl_session *s = kl_session_find(status.id, cred, may, NULL);

		if (IS_ERR(s))
			continue;
		if (READ_ONCE(s->latency))
			list->session[list->sessions++] = s;
		else
			kl_session_put(s);
	}
}

/**
 * struct longest - the longest of any number of waits, found with little memory and latency
 * @place: the first @n, in no order
 * @n: the rest is free
 */
struct longest {
	u32 n;
	struct place place[2 * SHOWN_MAX];
};

/* Sorting two thousand places takes less than a millisecond; a million would take a second. */
static void cut(struct longest *longest)
{
	sort(longest->place, longest->n, sizeof(*longest->place), longest_first, NULL);
	longest->n = min(longest->n, SHOWN_MAX);
	cond_resched();
}

/* Returns the number of kinds of waits; the longest of them come first in @longest. */
static u32 find_longest(const struct kl_latency_list *list, struct longest *longest)
{
	u32 of = 0;

	for (u32 i = 0; i < list->sessions; i++) {
		const struct kl_latency *l = list->session[i]->latency;

		for (u32 at = 0; at <= l->entry_mask && !fatal_signal_pending(current); at++) {
			const struct kl_latency_entry *e = &l->entry[at];

			cond_resched();
			if (!READ_ONCE(e->is.task) || e->is.state == KL_LATENCY_IDLE)
				continue;
			of++;
			longest->place[longest->n++] =
				(struct place){ READ_ONCE(e->is.asleep.sum), i, at };
			if (longest->n == ARRAY_SIZE(longest->place))
				cut(longest);
		}
	}
	cut(longest);
	return of;
}

static void copy_line(struct kl_latency_list *list, const struct place *place)
{
	struct line *line = &list->line[list->kept];
	struct kl_session *s = list->session[place->session];
	struct kl_abi_latency_task task;
	struct kl_latency *l = s->latency;

	if (!kl_latency_copy_entry(l, place->index, &line->is) ||
	    !kl_latency_copy_task(l, l->entry[place->index].of, &task) || task.id != line->is.task)
		return;
	/* The sum by which the line was sorted. */
	line->is.asleep.sum = place->sum;
	line->session = s;
	line->tid = task.tid;
	memcpy(line->comm, task.comm, sizeof(line->comm));
	list->kept++;
}

/**
 * kl_latency_list - select what a reader may see
 * @cred: of the opener
 * @may: the opener's KL_MAY_*
 *
 * Returns the list, or an error pointer. Free it with kl_latency_list_free. Context: may sleep.
 */
struct kl_latency_list *kl_latency_list(const struct cred *cred, u32 may)
{
	u64 bytes = kl_memory_size(sizeof(struct longest));
	struct kl_latency_list *list;
	struct longest *longest;
	struct kl_payer payer = {};
	int error;

	error = kl_payer_init(&payer, cred, may);
	if (error)
		return ERR_PTR(error);
	error = kl_memory_charge(&payer, kl_memory_size(sizeof(*list)) + bytes, NULL);
	list = error ? NULL : kvzalloc(sizeof(*list), GFP_KERNEL_ACCOUNT);
	if (!list) {
		kl_payer_deinit(&payer);
		return ERR_PTR(error ?: -ENOMEM);
	}
	list->payer = payer;
	longest = kvzalloc(sizeof(*longest), GFP_KERNEL_ACCOUNT);
	if (!longest) {
		error = -ENOMEM;
		goto free;
	}
	find_sessions(list, cred, may);
	list->of = find_longest(list, longest);
	for (u32 i = 0; i < longest->n; i++) {
		copy_line(list, &longest->place[i]);
		cond_resched();
	}
	kvfree(longest);
	kl_memory_uncharge(&list->payer, bytes);
	return list;
free:
	kl_latency_list_free(list);
	return ERR_PTR(error);
}

/**
 * kl_latency_list_free - undo kl_latency_list
 * @list: what it returned
 */
void kl_latency_list_free(struct kl_latency_list *list)
{
	for (u32 i = 0; i < list->sessions; i++)
		kl_session_put(list->session[i]);
	kl_payer_deinit(&list->payer);
	kvfree(list);
}

/**
 * kl_latency_list_lines - number of parts: a heading, and one for each wait
 * @list: the list
 */
u32 kl_latency_list_lines(const struct kl_latency_list *list)
{
	return list->kept + 1;
}

/* A name that a user has chosen, escaped to be a single word. */
static void show_text(const char *text, struct seq_file *to)
{
	seq_escape_str(to, text, ESCAPE_OCTAL | ESCAPE_NAP | ESCAPE_APPEND, " \\");
}

static void show_head(const struct kl_latency_list *list, struct seq_file *to)
{
	seq_printf(to, "%u of %u kinds of waits in %u profiles, longest first\n", list->kept,
		   list->of, list->sessions);
	for (u32 i = 0; i < list->sessions; i++) {
		struct kl_abi_latency_read about;

		kl_latency_totals(list->session[i]->latency, &about);
		seq_printf(to, "session %u ", list->session[i]->id);
		show_text(list->session[i]->name, to);
		seq_printf(
			to,
			": %llu ms, evicted %llu tasks, %llu waits; dropped %llu waits, %llu events\n",
			ns_of(about.until - about.start) / NSEC_PER_MSEC, about.evicted_tasks,
			about.evicted_entries, about.no_entry, about.missed);
	}
	seq_puts(to, "\nasleep_us count worst_us session task/tid state syscall\n");
}

static void show_kernel(const struct kl_stacks *stacks, const struct kl_stack_entry *entry,
			struct seq_file *to)
{
	for (u32 i = 0; i < entry->about.frames; i++)
		seq_printf(to, "    %pS\n", (void *)(long)stacks->table.word[entry->at + i]);
}

static void show_user(const struct kl_stacks *stacks, const struct kl_stack_entry *entry,
		      struct seq_file *to)
{
	for (u32 i = 0; i < entry->about.frames; i++) {
		const u64 *word = &stacks->table.word[entry->at + i];
		u64 place = READ_ONCE(word[entry->about.frames]);
		u64 number = place >> KL_STACK_PLACE_SHIFT;
		char name[NAME_MAX + 1];
		struct file *file = NULL;

		if (number && number <= KL_STACK_OBJECTS_MAX)
			/* Pairs with find_object. */
			file = smp_load_acquire(&stacks->object[number - 1].file);
		if (file) {
			/* The creator of the file has chosen its name. */
			snprintf(name, sizeof(name), "%pD", file);
			seq_puts(to, "    ");
			show_text(name, to);
			seq_printf(to, "+0x%llx\n", place & ((1ull << KL_STACK_PLACE_SHIFT) - 1));
		} else {
			seq_printf(to, "    0x%llx\n", word[0]);
		}
	}
}

static void show_stack(struct kl_session *s, u32 id, struct seq_file *to)
{
	/* As in kl_stack_kernel. */
	struct kl_stacks *stacks = smp_load_acquire(&s->stacks);
	const struct kl_stack_entry *entry = stacks ? kl_stack_entry(&stacks->table, id) : NULL;

	if (!entry || entry->state != KL_STACK_READY)
		return;
	if (entry->about.kind == KL_STACK_KERNEL)
		show_kernel(stacks, entry, to);
	else
		show_user(stacks, entry, to);
}

/**
 * kl_latency_list_show - print a part as text
 * @list: the list
 * @index: below kl_latency_list_lines()
 * @to: printed to
 */
void kl_latency_list_show(const struct kl_latency_list *list, u32 index, struct seq_file *to)
{
	static const char *const states[KL_LATENCY_STATES] = {
		"running",	   "runnable", "preempted", "interruptible",
		"uninterruptible", "io",       "idle",	    "stopped",
	};
	const struct line *line;

	if (!index)
		return show_head(list, to);
	line = &list->line[index - 1];
	seq_printf(to, "\n%llu %llu %llu %u ", ns_of(line->is.asleep.sum) / NSEC_PER_USEC,
		   line->is.asleep.count, ns_of(line->is.asleep.worst) / NSEC_PER_USEC,
		   line->session->id);
	show_text(line->comm, to);
	seq_printf(to, "/%d %s %d\n", line->tid, states[line->is.state % KL_LATENCY_STATES],
		   line->is.syscall);
	show_stack(line->session, line->is.kstack, to);
	show_stack(line->session, line->is.ustack, to);
}
