// SPDX-License-Identifier: GPL-2.0
/*
 * Runs programs on addresses that cannot be read, in a task, with interrupts disabled and in
 * interrupts, and on some that can. Reading the parameter `faults` runs them and returns TAP lines;
 * reading `costs` counts instructions (measure.c). tests/kernel/programs.c reads both.
 */
#include <linux/irq_work.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>
#include <asm/vsyscall.h>

#include "kernel/core/program_values.h"
#include "test.h"

/* ---------------------------------------- stubs for the session's functions */

int kl_fail(struct kl_error *why, int error, const char *format, ...)
{
	return error;
}

enum kl_variable_kind kl_variable_kind(u32 id)
{
	return KL_VARIABLE_NUMBER;
}

bool kl_variable_in_task(u32 id, u32 may, u32 *offset, u32 *number)
{
	return false;
}

void kl_variable_cost(u32 id, u32 may, struct kl_cost *cost)
{
}

u64 kl_variable_number(struct kl_session *s, u32 id, bool *fault)
{
	return id;
}

void kl_variable_text(struct kl_session *s, u32 id, char text[KL_VARIABLE_TEXT_MAX])
{
	memset(text, 0, KL_VARIABLE_TEXT_MAX);
}

bool kl_flag_test(struct kl_session *s, u32 flag)
{
	return false;
}

u64 kl_flag_since(struct kl_session *s, u32 flag, bool *fault)
{
	*fault = true;
	return 0;
}

struct kl_program *create_program(const struct kl_abi_op *ops, u32 n)
{
	struct kl_program *p = kl_program_create(ops, n, "kernel", 6, KL_MAY_HOOK_FUNCTIONS, NULL);

	return IS_ERR(p) ? NULL : p;
}

/* ---------------------------------------------------------------- addresses */

struct place {
	const char *name;
	u64 address;
};

enum {
	KERNEL_PLACES = 14,
	USER_PLACES = 6
};

/**
 * struct ground - what the programs are tried on
 * @page: one page of vmalloc, followed by an unmapped one
 * @kernel: addresses from which LOAD cannot read all 8 bytes
 * @user: addresses from which LOAD_USER cannot
 * @fine: readable user memory
 * @fine_bytes: its size
 * @wrong: loads that did not fault, or returned a value other than 0
 */
struct ground {
	u8 *page;
	struct place kernel[KERNEL_PLACES];
	struct place user[USER_PLACES];
	u64 fine;
	u64 fine_bytes;
	struct kl_program *load[KL_NUMBER_COUNT];
	struct kl_program *load_user;
	struct kl_program *text;
	struct kl_program *out;
	atomic_t tried;
	atomic_t wrong;
	const char *first;
};

static struct ground ground;

static void find_places(struct ground *g, u64 freed)
{
	const struct place kernel[KERNEL_PLACES] = {
		{ "NULL", 0 },
		{ "near NULL", 8 },
		{ "a user's", g->fine },
		{ "the last of users", TASK_SIZE_MAX - 8 },
		{ "no canonical one", 0x0000800000000000 },
		{ "no canonical one, high", 0xfffe7fffffffffff },
		{ "a list's poison", (u64)LIST_POISON1 },
		{ "into the kernel's half", (~0ull << __VIRTUAL_MASK_SHIFT) - 4 },
		{ "the hole before the direct map", ~0ull << __VIRTUAL_MASK_SHIFT },
		{ "freed memory", freed },
		{ "across into an unmapped page", (u64)g->page + PAGE_SIZE - 4 },
		{ "the page of old system calls", VSYSCALL_ADDR },
		{ "across into it", VSYSCALL_ADDR - 4 },
		{ "the end of all", ~0ull - 3 },
	};
	const struct place user[USER_PLACES] = {
		{ "NULL", 0 },
		{ "the kernel's", (u64)g->page },
		{ "no canonical one", 0x0000800000000000 },
		{ "a list's poison", (u64)LIST_POISON1 },
		{ "the end of users", TASK_SIZE_MAX - 4 },
		{ "the end of all", ~0ull - 3 },
	};

	memcpy(g->kernel, kernel, sizeof(kernel));
	memcpy(g->user, user, sizeof(user));
}

/* ----------------------------------------------------------------- attempts */

static void note(struct ground *g, bool right, const char *what)
{
	atomic_inc(&g->tried);
	if (right)
		return;
	atomic_inc(&g->wrong);
	WRITE_ONCE(g->first, what);
}

static void try_place(struct ground *g, const struct place *place)
{
	struct kl_event_ctx f = { .argument = &place->address, .arguments = 1 };
	u8 out[64];

	for (u32 type = KL_NUMBER_S64; type < KL_NUMBER_COUNT; type++) {
		f.fault = false;
		note(g, !kl_program_run(g->load[type], &f) && f.fault, place->name);
	}
	f.fault = false;
	memset(out, 0xff, sizeof(out));
	/* Bytes and a string: zeroes, the bytes that could be read, and a NUL. */
	note(g, kl_program_put(g->out, &f, out, sizeof(out)) >= 9 && f.fault && !out[0],
	     place->name);
	if (place->address % PAGE_SIZE == PAGE_SIZE - 4)
		return;
	/* No byte is readable. */
	for (u32 type = 0; type < KL_NUMBER_S64; type++) {
		f.fault = false;
		note(g, !kl_program_run(g->load[type], &f) && f.fault, place->name);
	}
	f.fault = false;
	note(g, !kl_program_run(g->text, &f) && f.fault, place->name);
}

static void try_places(void *data)
{
	struct ground *g = data;
	u64 address = (u64)g->page;
	struct kl_event_ctx f = { .argument = &address, .arguments = 1 };

	for (u32 i = 0; i < KERNEL_PLACES; i++)
		try_place(g, &g->kernel[i]);
	note(g, kl_program_run(g->load[KL_NUMBER_U64], &f) == *(u64 *)g->page && !f.fault,
	     "what can be read");
	note(g, kl_program_run(g->text, &f) == 1 && !f.fault, "a text that can be read");
	/* The four bytes before an unmapped page can be read. */
	address += PAGE_SIZE - 4;
	note(g, kl_program_run(g->load[KL_NUMBER_U32], &f) == 0x5a5a5a5a && !f.fault,
	     "the last of a page");
	for (u32 i = 0; i < USER_PLACES; i++) {
		f.argument = &g->user[i].address;
		f.fault = false;
		note(g, !kl_program_run(g->load_user, &f) && f.fault, g->user[i].name);
	}
}

static void try_user(struct ground *g)
{
	struct kl_event_ctx f = { .argument = &g->fine, .arguments = 1 };

	note(g, kl_program_run(g->load_user, &f) == g->fine_bytes && !f.fault, "a user's word");
}

/* ------------------------------------------------------------------- report */

static bool make_programs(struct ground *g)
{
	bool made = true;

	for (u32 type = 0; type < KL_NUMBER_COUNT; type++) {
		g->load[type] = make_program(OP(ARG), OP(LOAD, .b = type), OP(END));
		made &= !!g->load[type];
	}
	g->load_user = make_program(OP(ARG), OP(LOAD_USER, .b = KL_NUMBER_U64), OP(END));
	g->text = make_program(OP(ARG), OP(TEXT, .b = KL_TEXT_EQUAL, .imm64 = 6 << 16), OP(END));
	g->out = make_program(OP(ARG), OP(PUT_BYTES, .imm = 8), OP(PUT_STRING, .imm = 16), OP(END));
	return made && g->load_user && g->text && g->out;
}

static void free_programs(struct ground *g)
{
	for (u32 type = 0; type < KL_NUMBER_COUNT; type++)
		kl_program_destroy(g->load[type]);
	kl_program_destroy(g->load_user);
	kl_program_destroy(g->text);
	kl_program_destroy(g->out);
}

static int conclude(struct ground *g, char *to, int at, const char *where)
{
	u32 wrong = atomic_xchg(&g->wrong, 0), tried = atomic_xchg(&g->tried, 0);

	at += sysfs_emit_at(to, at, "%s - programs on %u addresses %s: faults, and no others\n",
			    wrong || !tried ? "not ok" : "ok", tried, where);
	if (wrong)
		at += sysfs_emit_at(to, at, "# %u wrong, one of them: %s\n", wrong, g->first);
	return at;
}

static int report_faults(char *to, const struct kernel_param *parameter)
{
	struct ground *g = &ground;
	void *freed = vmalloc(PAGE_SIZE);
	unsigned long flags;
	int at = 0;

	g->page = vmalloc(PAGE_SIZE);
	g->fine = current->mm->arg_start;
	if (!g->page || !freed || !make_programs(g) ||
	    copy_from_user(&g->fine_bytes, (const void __user *)g->fine, 8)) {
		at = -ENOMEM;
		goto end;
	}
	memset(g->page, 0x5a, PAGE_SIZE);
	strscpy(g->page, "kernel", 8);
	vfree(freed);
	vm_unmap_aliases();
	find_places(g, (u64)freed);
	freed = NULL;

	preempt_disable();
	try_places(g);
	try_user(g);
	preempt_enable();
	at = conclude(g, to, at, "in a task");
	local_irq_save(flags);
	try_places(g);
	try_user(g);
	local_irq_restore(flags);
	at = conclude(g, to, at, "with interrupts off");
	smp_call_function(try_places, g, true);
	if (num_online_cpus() > 1)
		at = conclude(g, to, at, "in an interrupt");
end:
	free_programs(g);
	vfree(freed);
	vfree(g->page);
	return at;
}

static const struct kernel_param_ops faults_ops = { .get = report_faults };
static const struct kernel_param_ops costs_ops = { .get = report_costs };

module_param_cb(faults, &faults_ops, NULL, 0400);
module_param_cb(costs, &costs_ops, NULL, 0400);

static int __init program_init(void)
{
	return 0;
}

static void __exit program_exit(void)
{
}

module_init(program_init);
module_exit(program_exit);

MODULE_DESCRIPTION("Runs programs for the tests of kernlens");
MODULE_LICENSE("GPL");
