// SPDX-License-Identifier: GPL-2.0
/* A system call in generated code that keeps a frame pointer. */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

__attribute__((noinline, optimize("no-omit-frame-pointer"))) static void caller(void (*code)(void))
{
	code();
	__asm__ volatile("");
}

int main(void)
{
	/* push %rbp; mov %rsp, %rbp; mov $SYS_getppid, %eax; syscall; pop %rbp; ret */
	static const unsigned char text[] = { 0x55, 0x48, 0x89, 0xe5, 0xb8, SYS_getppid, 0,
					      0,    0,	  0x0f, 0x05, 0x5d, 0xc3 };
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(code, text, sizeof(text));
	for (int i = 0; i < 3; i++)
		caller((void (*)(void))code);
	return 0;
}
