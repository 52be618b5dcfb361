// SPDX-License-Identifier: GPL-2.0
/*
 * For the tests of splices. Parameters: `byte`, "ADDRESS BYTE", writes one byte of the kernel's
 * text, as code that does not cooperate with kernlens would; `sum`, "A B", adds two numbers in a
 * function whose caller reads the flags that it leaves, and reads as "SUM FLAGS"; `call`, "ADDRESS",
 * calls a function through a pointer, which a processor that tracks indirect branches refuses where
 * there is no landing pad; `jump`, "A B", adds, too, in a function to which another one jumps through
 * a register, and reads as the sum. There is also a function, never called, with a jump that cannot
 * be relocated.
 */
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/static_call.h>

#include <asm/ibt.h>
#include <asm/nospec-branch.h>

/* The kernel has removed the landing pads of these. */
DEFINE_STATIC_CALL_NULL(kl_places_lookup, unsigned long(const char *name));
DEFINE_STATIC_CALL_NULL(kl_places_poke, void *(void *address, const void *bytes, size_t n));
static struct mutex *text;

static int set_byte(const char *said, const struct kernel_param *parameter)
{
	unsigned long address;
	u8 byte;

	if (sscanf(said, "%lx %hhx", &address, &byte) != 2)
		return -EINVAL;
	mutex_lock(text);
	static_call(kl_places_poke)((void *)address, &byte, 1);
	mutex_unlock(text);
	return 0;
}

static const struct kernel_param_ops byte_ops = { .set = set_byte };

module_param_cb(byte, &byte_ops, NULL, 0200);

asm(".pushsection .text\n"
    ".type kls_add, @function\n"
    "kls_add:\n"
    "	" ASM_ENDBR "	add %rsi, %rdi\n"
    "	mov %rdi, %rax\n"
    "	" ASM_RET ".size kls_add, . - kls_add\n"
    ".popsection\n");

void kls_add(void);

asm(".pushsection .text\n"
    ".type kls_loop, @function\n"
    "kls_loop:\n"
    "	" ASM_ENDBR "	mov %rdi, %rcx\n"
    "1:	lea 1(%rax), %rax\n"
    "	loop 1b\n"
    "	" ASM_RET ".size kls_loop, . - kls_loop\n"
    ".popsection\n");

/* Nothing but a function's start can be the target; a processor that tracks branches enforces that. */
asm(".pushsection .text\n"
    ".type kls_jump, @function\n"
    "kls_jump:\n"
    "	" ASM_ENDBR "	mov %rdx, %rax\n"
    "	test %rdi, %rdi\n"
    "	jz 1f\n"
    "	xchg %rdi, %rsi\n"
    "1:	" ANNOTATE_RETPOLINE_SAFE "	jmp *%rax\n"
    "	int3\n"
    ".size kls_jump, . - kls_jump\n"
    ".popsection\n");

u64 kls_jump(u64 a, u64 b, void (*target)(void));

static u64 sum, flags, jumped;

static int set_sum(const char *said, const struct kernel_param *parameter)
{
	void *target = kls_add;
	u64 a, b;

	if (sscanf(said, "%llu %llu", &a, &b) != 2)
		return -EINVAL;
	asm volatile(CALL_NOSPEC "\n\tpushf\n\tpop %[flags]"
		     : "=a"(sum), [flags] "=b"(flags), "+D"(a), "+S"(b), ASM_CALL_CONSTRAINT
		     : [thunk_target] "r"(target)
		     : "cc", "memory");
	return 0;
}

static int get_sum(char *to, const struct kernel_param *parameter)
{
	return sysfs_emit(to, "%llu %#llx\n", sum, flags);
}

static const struct kernel_param_ops sum_ops = { .set = set_sum, .get = get_sum };

module_param_cb(sum, &sum_ops, NULL, 0600);

static int set_jump(const char *said, const struct kernel_param *parameter)
{
	u64 a, b;

	if (sscanf(said, "%llu %llu", &a, &b) != 2)
		return -EINVAL;
	jumped = kls_jump(a, b, kls_add);
	return 0;
}

static int get_jump(char *to, const struct kernel_param *parameter)
{
	return sysfs_emit(to, "%llu\n", jumped);
}

static const struct kernel_param_ops jump_ops = { .set = set_jump, .get = get_jump };

module_param_cb(jump, &jump_ops, NULL, 0600);

static int set_call(const char *said, const struct kernel_param *parameter)
{
	unsigned long address;

	if (kstrtoul(said, 16, &address))
		return -EINVAL;
	((void (*)(void))address)();
	return 0;
}

static const struct kernel_param_ops call_ops = { .set = set_call };

module_param_cb(call, &call_ops, NULL, 0200);

static int __init places_init(void)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	int error = register_kprobe(&probe);
	void *poke;

	if (error)
		return error;
	static_call_update(kl_places_lookup, (void *)probe.addr);
	unregister_kprobe(&probe);
	poke = (void *)static_call(kl_places_lookup)("text_poke");
	text = (void *)static_call(kl_places_lookup)("text_mutex");
	if (!poke || !text)
		return -ENOENT;
	static_call_update(kl_places_poke, poke);
	return 0;
}

static void __exit places_exit(void)
{
}

module_init(places_init);
module_exit(places_exit);

MODULE_DESCRIPTION("Places of text for the tests of kernlens");
MODULE_LICENSE("GPL");
