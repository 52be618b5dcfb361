// SPDX-License-Identifier: GPL-2.0
/*
 * Looks up what the kernel does not export to modules. The kernel's own lookup by name is found
 * through a kprobe, as kprobes are exported and take a name.
 */
#include <linux/kprobes.h>
#include <linux/moduleloader.h>

#include "../core/session.h"
#include "kernel.h"

struct kl_kernel kl_kernel;

#define SYMBOL(name)                            \
	{                                       \
#name, (void **)&kl_kernel.name \
	}

struct wanted {
	const char *name;
	void **to;
};

static const struct wanted symbols[] = {
	SYMBOL(text_mutex),
	SYMBOL(kprobe_mutex),
	SYMBOL(kprobe_blacklist),
	SYMBOL(die_chain),
	SYMBOL(_stext),
	SYMBOL(_etext),
	SYMBOL(__start_rodata),
	SYMBOL(__end_rodata),
	SYMBOL(__start___jump_table),
	SYMBOL(__stop___jump_table),
	SYMBOL(__start_static_call_sites),
	SYMBOL(__stop_static_call_sites),
	SYMBOL(__start___ex_table),
	SYMBOL(__stop___ex_table),
};

/* Kernels from v7.1 on do not patch lock prefixes out on a machine with one processor. */
static const struct wanted optional[] = {
	SYMBOL(uniproc_patched),
	SYMBOL(__smp_locks),
	SYMBOL(__smp_locks_end),
};

static_assert((ARRAY_SIZE(symbols) + ARRAY_SIZE(optional)) * sizeof(void *) ==
	      sizeof(struct kl_kernel));

KL_FUNCTION_DEFINE(kallsyms_lookup_name, unsigned long(const char *name));
#define KL_KERNEL_FUNCTION(name, type) KL_FUNCTION_DEFINE(name, type);
#include "kernel.def"
#undef KL_KERNEL_FUNCTION

/**
 * kl_kernel_lookup - the address of a kernel symbol
 * @name: the symbol's name
 *
 * Only after kl_kernel_load(). Returns 0 if there is no such symbol. Context: may sleep.
 */
unsigned long kl_kernel_lookup(const char *name)
{
	return KL_CALL(kallsyms_lookup_name)(name);
}

/* A symbol that splicing cannot do without. */
static void *look_up(const char *name, int *error, struct kl_error *why)
{
	void *found = *error ? NULL : (void *)kl_kernel_lookup(name);

	if (!found && !*error)
		*error = kl_fail(why, -EOPNOTSUPP,
				 "blocks cannot be spliced: the kernel does not have %s", name);
	return found;
}

/**
 * kl_kernel_load - look up all symbols, once
 * @why: set on failure
 *
 * Context: may sleep; one caller at a time.
 */
int kl_kernel_load(struct kl_error *why)
{
	static bool loaded;
	int error = 0;

	if (loaded)
		return 0;
	KL_FUNCTION_FIND(kallsyms_lookup_name);
	if (!KL_FUNCTION_IS_SET(kallsyms_lookup_name))
		return kl_fail(why, -EOPNOTSUPP, "cannot look up kernel symbols");
#define KL_KERNEL_FUNCTION(name, type) KL_FUNCTION_SET(name, look_up(#name, &error, why));
#include "kernel.def"
#undef KL_KERNEL_FUNCTION
	for (int i = 0; i < ARRAY_SIZE(symbols); i++)
		*symbols[i].to = look_up(symbols[i].name, &error, why);
	for (int i = 0; !error && i < ARRAY_SIZE(optional); i++)
		*optional[i].to = (void *)kl_kernel_lookup(optional[i].name);
	loaded = !error;
	return error;
}

/*
 * Memory for text may be read-only from the start, but data is as near to the text. set_memory_x()
 * makes text of it.
 */
#ifdef KL_HAVE_EXECMEM_READ_ONLY
#define EXECMEM_TYPE EXECMEM_MODULE_DATA
#else
#define EXECMEM_TYPE EXECMEM_MODULE_TEXT
#endif

/**
 * kl_kernel_alloc - allocate memory within a jump's reach of all text
 * @bytes: size
 *
 * The memory is of the kind that modules are loaded into: data until it is made text. Free it with
 * vfree(), which makes it data again. Returns NULL if memory is short. Context: may sleep.
 */
void *kl_kernel_alloc(size_t bytes)
{
#ifdef KL_HAVE_EXECMEM
	return KL_CALL(execmem_alloc)(EXECMEM_TYPE, bytes);
#else
	return KL_CALL(module_alloc)(bytes);
#endif
}

/**
 * kl_kernel_probed - does an instruction have a kprobe, enabled or not?
 * @address: of the instruction
 *
 * A kprobe that uses ftrace's hook changes no instruction, and does not count.
 */
bool kl_kernel_probed(unsigned long address)
{
	const struct kprobe *probe;
	bool probed;

	preempt_disable();
	probe = KL_CALL(get_kprobe)((void *)address);
	probed = probe && !(probe->flags & KPROBE_FLAG_FTRACE);
	preempt_enable();
	return probed;
}
