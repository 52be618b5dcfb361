// SPDX-License-Identifier: GPL-2.0
/*
 * Finds out whether a kernel, on its processor, has indirect branches tracked (IBT): then they can
 * only go to landing pads. If in doubt, it has not, and the functions with such jumps are left
 * alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/btf.h>

#include "../base/base.h"
#include "block.h"

/* Where the kernel keeps the processor's feature bit (asm/cpufeatures.h). */
#define FEATURE_IBT (18 * 32 + 20)

bool kl_cpu_has_flag(const char *flag)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	size_t size = 0, length = strlen(flag);
	char *line = NULL, *at = NULL;

	while (file && getline(&line, &size, file) > 0)
		if (!strncmp(line, "flags", 5))
			break;
	for (at = line ? strstr(line, flag) : NULL; at; at = strstr(at + 1, flag))
		if (at > line && at[-1] == ' ' && (at[length] == ' ' || at[length] == '\n'))
			break;
	if (file)
		fclose(file);
	free(line);
	return at;
}

/* The feature bit in a kernel's memory. */
static bool has_feature(struct kl_blocks *kernel)
{
	struct kl_btf_member member;
	struct kl_symbol cpu = {};
	uint32_t word = 0;
	int type;

	if (!kl_symbols_lookup(kernel->symbols, "kernel:boot_cpu_data", &cpu) ||
	    kl_types_open(kernel))
		return false;
	type = kl_btf_find(kernel->btf, "cpuinfo_x86", KL_BTF_BIT(KL_BTF_STRUCT));
	if (type <= 0 || kl_btf_member_find(kernel->btf, type, "x86_capability", &member) ||
	    kl_text_read(kernel,
			 cpu.address + member.bit_offset / 8 + FEATURE_IBT / 32 * sizeof(word),
			 &word, sizeof(word)))
		return false;
	return word >> FEATURE_IBT % 32 & 1;
}

/* @live: it is the running kernel, which lists the processor's features without the need of BTF. */
bool kl_tracks_branches(struct kl_blocks *kernel, bool live)
{
	struct kl_symbol symbol = {};

	/* A function of kernels that use this feature of the processor. */
	return kl_symbols_lookup(kernel->symbols, "kernel:ibt_save", &symbol) &&
	       (live ? kl_cpu_has_flag("ibt") : has_feature(kernel));
}
