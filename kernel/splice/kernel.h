/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions and data of the kernel that splicing needs but modules cannot link to, by name. If one
 * of them is missing, splicing is unavailable. See kernel.c.
 */
#ifndef KL_SPLICE_KERNEL_H
#define KL_SPLICE_KERNEL_H

#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/set_memory.h>
#include <asm/text-patching.h>

#include "../base/function.h"
#include "compat_config.h"

#ifdef KL_HAVE_EXECMEM
#include <linux/execmem.h>
#endif

struct kl_error;
struct module;

#ifdef KL_HAVE_KALLSYMS_EACH_MODULE
typedef int (*kl_symbol_fn)(void *data, const char *name, struct module *module,
			    unsigned long address);
#else
typedef int (*kl_symbol_fn)(void *data, const char *name, unsigned long address);
#endif

#define KL_KERNEL_FUNCTION(name, type) KL_FUNCTION_DECLARE(name, type);
#include "kernel.def"
#undef KL_KERNEL_FUNCTION

/* Data. Members are named like the kernel's symbols. */
struct kl_kernel {
	struct mutex *text_mutex; /* guards writes to the text */
	struct mutex *kprobe_mutex; /* guards kprobes and their blacklist */
	struct list_head *kprobe_blacklist;
	struct atomic_notifier_head *die_chain;
	u8 *_stext;
	u8 *_etext;
	unsigned long *__start_rodata;
	unsigned long *__end_rodata;
	u8 *__start___jump_table;
	u8 *__stop___jump_table;
	u8 *__start_static_call_sites;
	u8 *__stop_static_call_sites;
	u8 *__start___ex_table;
	u8 *__stop___ex_table;
	bool *uniproc_patched; /* this and what follows: NULL if the kernel lacks it */
	s32 *__smp_locks;
	s32 *__smp_locks_end;
};

extern struct kl_kernel kl_kernel;

int kl_kernel_load(struct kl_error *why);
unsigned long kl_kernel_lookup(const char *name);
void *kl_kernel_alloc(size_t bytes);
bool kl_kernel_probed(unsigned long address);

/* Have lock prefixes been patched out of the text? A second processor would bring them back. */
static inline bool kl_kernel_is_uniprocessor(void)
{
	return kl_kernel.uniproc_patched && *kl_kernel.uniproc_patched;
}

/* Can indirect jumps and calls only go to landing pads (IBT)? */
static inline bool kl_kernel_tracks_branches(void)
{
#ifdef CONFIG_X86_KERNEL_IBT
	return cpu_feature_enabled(X86_FEATURE_IBT);
#else
	return false;
#endif
}

#endif /* KL_SPLICE_KERNEL_H */
