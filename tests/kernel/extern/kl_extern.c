// SPDX-License-Identifier: GPL-2.0
/*
 * Handlers of another module, used as badly as possible: one that is for privileged users only and
 * not for NMIs, one that fails, one with much output, one that registers what may not be registered
 * (parameters).
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <kernlens/handler.h>

static unsigned int version = KL_HANDLER_API;
module_param(version, uint, 0444);
static char *name = "t_sum";
module_param(name, charp, 0444);
static unsigned int flags;
module_param(flags, uint, 0444);
static unsigned int bytes = 100000;
module_param(bytes, uint, 0644);
static int inits, exits;
module_param(inits, int, 0444);
module_param(exits, int, 0444);

/* What one CPU has seen. */
struct seen {
	u64 fired;
	u64 in_nmi;
	u64 in_irq;
	u64 key_sum;
	u64 argument_sum;
	u64 field_bytes;
	u64 no_task;
};

/* Slow, so that the module can be unloaded in the meantime. */
static void *sum_init(struct kl_handler_setup *setup)
{
	struct seen __percpu *seen = alloc_percpu(struct seen);

	msleep(2);
	if (!seen)
		return ERR_PTR(-ENOMEM);
	WRITE_ONCE(inits, inits + 1);
	/* Since v6.14, it is in an address space of its own for the compiler, too. */
	return (void *)(__force unsigned long)seen;
}

static void sum_fire(void *data, const struct kl_handler_event *e)
{
	struct seen __percpu *seen = (__force struct seen __percpu *)(unsigned long)data;

	this_cpu_inc(seen->fired);
	if (in_nmi())
		this_cpu_inc(seen->in_nmi);
	else if (in_hardirq())
		this_cpu_inc(seen->in_irq);
	if (e->keys)
		this_cpu_add(seen->key_sum, e->key[0]);
	if (e->arguments)
		this_cpu_add(seen->argument_sum, e->argument[0]);
	this_cpu_add(seen->field_bytes, e->bytes);
	if (!e->task)
		this_cpu_inc(seen->no_task);
}

static ssize_t sum_read(void *data, char *text, size_t room)
{
	struct seen __percpu *seen = (__force struct seen __percpu *)(unsigned long)data;
	struct seen sum = {};
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct seen *one = per_cpu_ptr(seen, cpu);

		sum.fired += one->fired;
		sum.in_nmi += one->in_nmi;
		sum.in_irq += one->in_irq;
		sum.key_sum += one->key_sum;
		sum.argument_sum += one->argument_sum;
		sum.field_bytes += one->field_bytes;
		sum.no_task += one->no_task;
	}
	return snprintf(text, room, "%llu %llu %llu %llu %llu %llu %llu\n", sum.fired, sum.in_nmi,
			sum.in_irq, sum.key_sum, sum.argument_sum, sum.field_bytes, sum.no_task);
}

static void sum_exit(void *data)
{
	free_percpu((__force struct seen __percpu *)(unsigned long)data);
	WRITE_ONCE(exits, exits + 1);
}

static void *fails_init(struct kl_handler_setup *setup)
{
	snprintf(setup->why, sizeof(setup->why), "told \"%s\" with %u keys", setup->args,
		 setup->keys);
	return ERR_PTR(-ERANGE);
}

static void nothing_fire(void *data, const struct kl_handler_event *e)
{
}

static ssize_t much_read(void *data, char *text, size_t room)
{
	size_t n = min_t(size_t, room, bytes);

	for (size_t i = 0; i < n; i++)
		text[i] = 'a' + i % 26;
	return (int)bytes;
}

static struct kl_handler_ops handlers[] = {
	{
		.flags = KL_HANDLER_KEYS,
		.help = "What one CPU has seen, added up",
		.init = sum_init,
		.fire = sum_fire,
		.read = sum_read,
		.exit = sum_exit,
	},
	{
		.name = "t_fails",
		.flags = KL_HANDLER_FOR_ALL | KL_HANDLER_KEYS,
		.init = fails_init,
		.fire = nothing_fire,
	},
	{
		.name = "t_much",
		.flags = KL_HANDLER_FOR_ALL | KL_HANDLER_ANY_CONTEXT,
		.fire = nothing_fire,
		.read = much_read,
	},
	{
		.name = "t_bare",
		.flags = KL_HANDLER_FOR_ALL,
		.fire = nothing_fire,
	},
};

static void unregister(u32 n)
{
	while (n--)
		kl_handler_unregister(&handlers[n]);
}

static int __init extern_init(void)
{
	handlers[0].name = name;
	handlers[0].flags |= flags;
	for (u32 i = 0; i < ARRAY_SIZE(handlers); i++) {
		int error;

		handlers[i].version = version;
		handlers[i].owner = THIS_MODULE;
		error = kl_handler_register(&handlers[i]);
		if (error) {
			unregister(i);
			return error;
		}
	}
	return 0;
}

static void __exit extern_exit(void)
{
	unregister(ARRAY_SIZE(handlers));
}

module_init(extern_init);
module_exit(extern_exit);

MODULE_DESCRIPTION("Handlers for the tests of kernlens");
MODULE_LICENSE("GPL");
