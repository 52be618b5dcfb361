/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Boot sector of the guests of vm/run --ibt. The emulator has already put the kernel, the initramfs
 * and the parameters into memory (vm/ibt.sh). What remains is to ask the BIOS for the memory map,
 * and to enter the kernel in 32-bit mode as the PVH ABI of Xen says (Documentation/virt in the
 * kernel; Xen's docs/misc/pvh.pandoc): physical address of struct hvm_start_info in ebx.
 */
#define MAP 0x8000 /* entries of struct hvm_memmap_table_entry, 24 bytes each */
#define START_INFO 0x200000
#define MEMMAP_ENTRIES 48 /* offset of that member */
#define ENTRY (START_INFO + 0x60) /* where vm/ibt.sh puts the kernel's entry point */

	.code16
	.globl	_start
_start:
	cli
	cld
	xor	%eax, %eax
	mov	%ax, %ds
	mov	%ax, %es
	mov	%ax, %ss
	mov	$0x7c00, %sp
	ljmp	$0, $1f
1:	mov	$MAP, %di
	xor	%ebx, %ebx
2:	movl	$0, 20(%di)
	mov	$0xe820, %eax
	mov	$0x534d4150, %edx /* "SMAP" */
	mov	$20, %ecx
	int	$0x15
	jc	3f
	add	$24, %di
	test	%ebx, %ebx
	jnz	2b
3:	cli
	in	$0x92, %al /* enable the address line A20 */
	or	$2, %al
	out	%al, $0x92
	lgdtl	gdtr
	mov	%cr0, %eax
	or	$1, %al
	mov	%eax, %cr0
	ljmpl	$8, $4f

	.code32
4:	mov	$16, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	movzwl	%di, %eax
	sub	$MAP, %eax
	xor	%edx, %edx
	mov	$24, %ecx
	div	%ecx
	mov	%eax, START_INFO + MEMMAP_ENTRIES
	mov	$START_INFO, %ebx
	jmp	*ENTRY

	.balign	8
gdt:	.quad	0
	.quad	0x00cf9b000000ffff /* code: 4 GiB from 0 */
	.quad	0x00cf93000000ffff /* data: the same */
gdtr:	.word	. - gdt - 1
	.long	gdt

	.org	510
	.word	0xaa55
