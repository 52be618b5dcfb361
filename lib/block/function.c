// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of the kernel's text: every symbol there begins one, which ends at the next. Those
 * that are excluded as a whole get their reason.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>

#include "../base/base.h"
#include "block.h"

/* By name, where no section or list of the kernel tells them. */
static const struct {
	const char *pattern;
	enum kl_block_reason reason;
} names[] = {
	{ "__SCT__*", KL_BLOCK_static_call_trampoline },
	{ "__static_call_return0", KL_BLOCK_static_call_trampoline },
	{ "__x86_indirect_*", KL_BLOCK_thunk },
	{ "__x86_return_*", KL_BLOCK_thunk },
	{ "retbleed_*", KL_BLOCK_thunk },
	{ "srso_*", KL_BLOCK_thunk },
	{ "zen_untrain_ret", KL_BLOCK_thunk },
	{ "entry_untrain_ret", KL_BLOCK_thunk },
	{ "entry_ibpb", KL_BLOCK_thunk },
	{ "its_*_thunk*", KL_BLOCK_thunk },
	{ "write_ibpb", KL_BLOCK_thunk },
	{ "startup_64*", KL_BLOCK_head },
	{ "secondary_startup_64*", KL_BLOCK_head },
	{ "early_setup_idt", KL_BLOCK_head },
	{ "start_cpu0", KL_BLOCK_head },
	{ "soft_restart_cpu", KL_BLOCK_head },
	{ "vc_boot_ghcb", KL_BLOCK_head },
	{ "sev_verify_cbit", KL_BLOCK_head },
	{ "__startup_*", KL_BLOCK_head },
	{ "relocate_*", KL_BLOCK_head },
	{ "identity_mapped", KL_BLOCK_head },
	{ "virtual_mapped", KL_BLOCK_head },
	{ "swap_pages", KL_BLOCK_head },
	{ "restore_image", KL_BLOCK_head },
	{ "core_restore_code", KL_BLOCK_head },
	{ "restore_registers", KL_BLOCK_head },
	{ "swsusp_arch_suspend", KL_BLOCK_head },
	{ "do_suspend_lowlevel", KL_BLOCK_head },
	{ "wakeup_long64", KL_BLOCK_head },
	{ "sme_*", KL_BLOCK_head },
	{ "__enc_copy*", KL_BLOCK_head },
	{ "ftrace_caller*", KL_BLOCK_head },
	{ "ftrace_regs_caller*", KL_BLOCK_head },
	{ "ftrace_stub*", KL_BLOCK_head },
	{ "arch_rethook_trampoline*", KL_BLOCK_kprobe_blacklist },
	{ "optprobe_template_*", KL_BLOCK_head },
	{ "xen_hypercall_*", KL_BLOCK_head },
	{ "hypercall_page", KL_BLOCK_head },
};

static uint8_t reason_of(const struct kl_blocks *b, const struct kl_function_entry *f)
{
	for (size_t i = 0; i < b->ranges; i++) {
		const struct kl_range *range = &b->range[i];

		if (f->address < range->end && range->begin < f->address + f->bytes)
			return range->reason;
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++)
		if (!fnmatch(names[i].pattern, f->name, 0))
			return names[i].reason;
	return 0;
}

static bool is_return_thunk(const char *name)
{
	return !strcmp(name, "__x86_return_thunk") || !strcmp(name, "retbleed_return_thunk") ||
	       !strcmp(name, "srso_return_thunk") || !strcmp(name, "srso_alias_return_thunk") ||
	       !strcmp(name, "its_return_thunk");
}

static int add_function(struct kl_blocks *b, const struct kl_symbol *symbol)
{
	struct kl_function_entry *grown;

	if (is_return_thunk(symbol->name) && b->return_thunks < KL_ARRAY_SIZE(b->return_thunk))
		b->return_thunk[b->return_thunks++] = symbol->address;
	if (b->functions && b->function[b->functions - 1].address == symbol->address)
		return 0;
	grown = kl_array_grow(b->function, b->functions, &b->function_capacity, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	b->function = grown;
	grown[b->functions++] = (struct kl_function_entry){
		.address = symbol->address,
		.name = symbol->name,
	};
	return 0;
}

/* Nops before a function are no function, but they end the one before them. */
static bool is_prefix(const char *name)
{
	return !strncmp(name, "__pfx_", 6) || !strncmp(name, "__cfi_", 6);
}

int kl_functions_load(struct kl_blocks *b)
{
	struct kl_symbol symbol;
	size_t position = 0, kept = 0;

	while (kl_symbols_next(b->symbols, NULL, false, &position, &symbol)) {
		if (*symbol.module || symbol.address < b->begin || symbol.address >= b->end)
			continue;
		if (add_function(b, &symbol))
			return -ENOMEM;
	}
	if (!b->functions)
		return kl_fail(EINVAL, "the kernel's text has no symbols");
	for (size_t i = 0; i < b->functions; i++) {
		uint64_t end = i + 1 < b->functions ? b->function[i + 1].address : b->end;

		b->function[i].bytes = end - b->function[i].address;
	}
	for (size_t i = 0; i < b->functions; i++) {
		if (is_prefix(b->function[i].name))
			continue;
		b->function[kept] = b->function[i];
		b->function[kept].reason = reason_of(b, &b->function[kept]);
		kept++;
	}
	b->functions = kept;
	return 0;
}

/* Index of the function that has an address, or -1. */
long kl_function_at(const struct kl_blocks *b, uint64_t address)
{
	size_t i = kl_rows_from(b->function, b->functions, sizeof(*b->function), address + 1);

	if (!i || address - b->function[i - 1].address >= b->function[i - 1].bytes)
		return -1;
	return i - 1;
}
