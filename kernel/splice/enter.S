/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a patch to kl_block_fire: registers are saved as struct kl_block_registers has them. The
 * patch has saved the flags and rdi, in which it hands over the place. kl_block_enter saves what
 * functions may change, and rbp; kl_block_enter_all all of them, for programs that look at them.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>

#define OTHERS_BYTES (5 * 8) /* rbx and r12 to r15, which stand below the rest */

.macro SAVE_CHANGED
	push	%rax
	push	%rsi
	push	%rdx
	push	%rcx
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	push	%rbp
.endm

.macro RESTORE_CHANGED
	pop	%rbp
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rcx
	pop	%rdx
	pop	%rsi
	pop	%rax
.endm

	.text
SYM_FUNC_START(kl_block_enter)
	SAVE_CHANGED
	lea	-OTHERS_BYTES(%rsp), %rsi
	call	kl_block_fire
	RESTORE_CHANGED
	RET
SYM_FUNC_END(kl_block_enter)

SYM_FUNC_START(kl_block_enter_all)
	SAVE_CHANGED
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, %rsi
	call	kl_block_fire
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	RESTORE_CHANGED
	RET
SYM_FUNC_END(kl_block_enter_all)
