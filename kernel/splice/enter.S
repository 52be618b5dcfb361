/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Entry from a patch to kl_block_fire: saves the registers in the layout of struct
 * kl_block_registers. The patch has saved the flags and rdi, in which it passes a struct
 * kl_block_place. kl_block_enter saves the registers that functions may change, and rbp;
 * kl_block_enter_all saves all of them, for programs that read them.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>

#define OTHERS_BYTES (5 * 8) /* rbx and r12 to r15, which lie below the others */

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
	ANNOTATE_NOENDBR /* patches call it directly */
	SAVE_CHANGED
	lea	-OTHERS_BYTES(%rsp), %rsi
	call	kl_block_fire
	RESTORE_CHANGED
	RET
SYM_FUNC_END(kl_block_enter)

SYM_FUNC_START(kl_block_enter_all)
	ANNOTATE_NOENDBR
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
