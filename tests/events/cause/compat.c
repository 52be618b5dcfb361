// SPDX-License-Identifier: GPL-2.0
/* System calls made through the 32-bit entry, from this 64-bit program. */
#include "cause.h"

/* In the 32-bit table 20 is getpid, 24 getuid, 4 write; a number without a system call fails. */
static int call32(int number, unsigned int a, unsigned int b, unsigned int c)
{
	int result;

	/* The sixth argument is in ebp. */
	asm volatile("mov %%rbp, %%r12\n\tmov $66, %%ebp\n\tint $0x80\n\tmov %%r12, %%rbp"
		     : "=a"(result)
		     : "a"(number), "b"(a), "c"(b), "d"(c), "S"(44), "D"(55)
		     : "memory", "r8", "r9", "r10", "r11", "r12");
	return result;
}

int main(void)
{
	for (int i = 0; i < 10; i++) {
		if (call32(20, i, 22, 33) != getpid())
			DIE("getpid");
		fact("compat_syscall_entry nr=20 arg0=%d arg1=22 arg2=33 arg3=44 arg4=55 arg5=66",
		     i);
		fact("compat_syscall_exit nr=20 ret=%d", getpid());
	}
	call32(4, 99, 0, 0);
	fact("compat_syscall_entry nr=4 arg0=99");
	fact("compat_syscall_exit nr=4 ret=-9");
	return 0;
}
