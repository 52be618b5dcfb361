// SPDX-License-Identifier: GPL-2.0
/*
 * An example of a handler in another module: `largest(EXPRESSION, N)` keeps the N greatest values
 * of an expression, with the CPU and the task of each. kernlens calls it when the event hits and
 * reads it at the end.
 *
 *   kernlens stat -e 'syscall_exit_read :largest(ret, 5)' -- make
 *
 * It shows how to do without locks: each CPU has its own values, and so does each level of
 * interrupts on it, since an interrupt ends before the writer that it interrupted continues.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <kernlens/handler.h>

/* Task, softirq, interrupt, NMI. */
#define LEVELS 4
#define N_DEFAULT 10
#define N_MAX 100

struct kept {
	s64 value;
	u32 event;
	u32 cpu;
	pid_t tid;
	char comm[TASK_COMM_LEN];
};

/**
 * struct level - the values of one level of one CPU
 * @seq: readers on other CPUs retry if it has changed
 * @n: number of @kept
 * @least: index of the least of them, once @kept is full
 * @seen: number of values so far
 */
struct level {
	seqcount_t seq;
	u32 n;
	u32 least;
	u64 seen;
	struct kept *kept;
};

/**
 * struct of_cpu - data of one CPU
 * @depth: levels in use
 * @missed: values that came while all levels were in use
 */
struct of_cpu {
	u32 depth;
	u64 missed;
	struct level level[LEVELS];
	struct kept kept[];
};

struct largest {
	u32 wanted;
	struct of_cpu *cpu[];
};

/* ------------------------------------------------------------------- fire */

static u32 find_least(const struct level *l)
{
	u32 least = 0;

	for (u32 i = 1; i < l->n; i++)
		if (l->kept[i].value < l->kept[least].value)
			least = i;
	return least;
}

static void keep(struct level *l, u32 wanted, const struct kl_handler_event *e)
{
	struct kept *to;

	l->seen++;
	if (l->n == wanted && e->value <= l->kept[l->least].value)
		return;
	to = &l->kept[l->n < wanted ? l->n++ : l->least];
	to->value = e->value;
	to->event = e->id;
	to->cpu = e->cpu;
	/* Unknown if the session's owner may not see the task. */
	to->tid = e->task ? e->task->pid : 0;
	if (e->task)
		memcpy(to->comm, e->task->comm, sizeof(to->comm));
	else
		memset(to->comm, 0, sizeof(to->comm));
	if (l->n == wanted)
		l->least = find_least(l);
}

static void largest_fire(void *data, const struct kl_handler_event *e)
{
	struct largest *all = data;
	struct of_cpu *c = all->cpu[e->cpu];
	u32 depth = READ_ONCE(c->depth);
	struct level *l = &c->level[depth];

	if (depth == LEVELS) {
		c->missed++;
		return;
	}
	/* An interrupt in between uses the next level, and releases it again. */
	WRITE_ONCE(c->depth, depth + 1);
	barrier();
	raw_write_seqcount_begin(&l->seq);
	keep(l, all->wanted, e);
	raw_write_seqcount_end(&l->seq);
	barrier();
	WRITE_ONCE(c->depth, depth);
}

/* ------------------------------------------------------------------- read */

static int by_value(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return x->value < y->value ? 1 : x->value > y->value ? -1 : 0;
}

/* Copy the values of all levels on all CPUs. Returns how many. */
static u32 collect(const struct largest *all, struct kept *to, u64 *seen, u64 *missed)
{
	u32 n = 0;

	for (u32 cpu = 0; cpu < nr_cpu_ids; cpu++) {
		const struct of_cpu *c = all->cpu[cpu];

		for (u32 i = 0; c && i < LEVELS; i++) {
			const struct level *l = &c->level[i];
			unsigned int seq;
			u64 came;
			u32 kept;

			do {
				seq = raw_read_seqcount_begin(&l->seq);
				kept = READ_ONCE(l->n);
				came = READ_ONCE(l->seen);
				memcpy(to + n, l->kept, kept * sizeof(*to));
			} while (read_seqcount_retry(&l->seq, seq));
			n += kept;
			*seen += came;
		}
		if (c)
			*missed += READ_ONCE(c->missed);
	}
	return n;
}

static __printf(4, 5) void put(char *text, size_t room, size_t *at, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	*at += vsnprintf(*at < room ? text + *at : NULL, *at < room ? room - *at : 0, format, args);
	va_end(args);
}

static ssize_t largest_read(void *data, char *text, size_t room)
{
	const struct largest *all = data;
	u64 seen = 0, missed = 0;
	struct kept *kept;
	size_t at = 0;
	u32 n;

	kept = kvcalloc(num_possible_cpus() * LEVELS * all->wanted, sizeof(*kept),
			GFP_KERNEL_ACCOUNT);
	if (!kept)
		return -ENOMEM;
	n = collect(all, kept, &seen, &missed);
	sort(kept, n, sizeof(*kept), by_value, NULL);
	n = min(n, all->wanted);
	put(text, room, &at, "the %u largest of %llu values\n", n, seen);
	if (missed)
		put(text, room, &at, "%llu more were missed\n", missed);
	for (u32 i = 0; i < n; i++)
		put(text, room, &at, "%12lld  cpu %u  tid %d  %.*s\n", kept[i].value, kept[i].cpu,
		    kept[i].tid, TASK_COMM_LEN, kept[i].comm);
	kvfree(kept);
	return at;
}

/* --------------------------------------------------------------- a rule */

static void largest_exit(void *data)
{
	struct largest *all = data;

	for (u32 cpu = 0; cpu < nr_cpu_ids; cpu++)
		kvfree(all->cpu[cpu]);
	kfree(all);
}

static struct of_cpu *make_cpu(u32 wanted, int node)
{
	struct of_cpu *c =
		kvzalloc_node(struct_size(c, kept, LEVELS * wanted), GFP_KERNEL_ACCOUNT, node);

	for (u32 i = 0; c && i < LEVELS; i++) {
		seqcount_init(&c->level[i].seq);
		c->level[i].kept = c->kept + i * wanted;
	}
	return c;
}

static void *largest_init(struct kl_handler_setup *setup)
{
	struct largest *all;
	u32 wanted = N_DEFAULT;
	int cpu;

	if (*setup->args && (kstrtou32(setup->args, 10, &wanted) || !wanted || wanted > N_MAX)) {
		snprintf(setup->why, sizeof(setup->why), "\"%.20s\" is not a number from 1 to %u",
			 setup->args, N_MAX);
		return ERR_PTR(-EINVAL);
	}
	all = kzalloc(struct_size(all, cpu, nr_cpu_ids), GFP_KERNEL_ACCOUNT);
	if (!all)
		return ERR_PTR(-ENOMEM);
	all->wanted = wanted;
	for_each_possible_cpu(cpu) {
		all->cpu[cpu] = make_cpu(wanted, cpu_to_node(cpu));
		if (!all->cpu[cpu]) {
			largest_exit(all);
			return ERR_PTR(-ENOMEM);
		}
	}
	return all;
}

static const struct kl_handler_ops largest = {
	.version = KL_HANDLER_API,
	.flags = KL_HANDLER_ANY_CONTEXT | KL_HANDLER_FOR_ALL | KL_HANDLER_VALUE,
	.owner = THIS_MODULE,
	.name = "largest",
	.help = "largest(EXPRESSION, N): the N greatest values are kept, with CPU and task",
	.init = largest_init,
	.fire = largest_fire,
	.read = largest_read,
	.exit = largest_exit,
};

static int __init kl_largest_init(void)
{
	return kl_handler_register(&largest);
}

static void __exit kl_largest_exit(void)
{
	kl_handler_unregister(&largest);
}

module_init(kl_largest_init);
module_exit(kl_largest_exit);

MODULE_DESCRIPTION("An example of a handler for kernlens: keeps the largest values");
MODULE_LICENSE("GPL");
