/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writes USDT markers whose operands are chosen by the test instead of the compiler. USDT() is the
 * text of an asm statement: a nop, and its note. ADDRESS is .8byte or .4byte, for the size of the
 * program's addresses.
 */
#ifndef TESTS_CLI_USDT_NOTE_H
#define TESTS_CLI_USDT_NOTE_H

/* Once in each program: the section whose address the notes contain. */
#define USDT_BASE                                                                   \
	".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n" \
	".weak _.stapsdt.base\n"                                                    \
	".hidden _.stapsdt.base\n"                                                  \
	"_.stapsdt.base: .space 1\n"                                                \
	".size _.stapsdt.base, 1\n"                                                 \
	".popsection\n"

/*
 * @semaphore: symbol or 0. @moved: added to all addresses in the note, as if the file's addresses
 * had been changed after it was linked.
 */
#define USDT(name, arguments, semaphore, moved, ADDRESS)                                   \
	"990: nop\n"                                                                       \
	".pushsection .note.stapsdt, \"\", \"note\"\n"                                     \
	".balign 4\n"                                                                      \
	".4byte 992f - 991f, 994f - 993f, 3\n"                                             \
	"991: .asciz \"stapsdt\"\n"                                                        \
	"992: .balign 4\n"                                                                 \
	"993: " ADDRESS " 990b + " #moved ", _.stapsdt.base + " #moved ", " semaphore "\n" \
	".asciz \"kltest\"\n"                                                              \
	".asciz \"" name "\"\n"                                                            \
	".asciz \"" arguments "\"\n"                                                       \
	"994: .balign 4\n"                                                                 \
	".popsection\n"

#endif /* TESTS_CLI_USDT_NOTE_H */
