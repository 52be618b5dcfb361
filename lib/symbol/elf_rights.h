/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Drops the privileges of the process that reads ELF files. elf_process.c calls this in the child.
 */
#ifndef KL_LIB_SYMBOL_ELF_RIGHTS_H
#define KL_LIB_SYMBOL_ELF_RIGHTS_H

#include <stdbool.h>

/*
 * Irrevocably give up root's ids, all capabilities, most system calls, and memory beyond a limit.
 * Returns false if the ids could not be given up; the process must then exit.
 */
bool kl_elf_give_up_rights(void);

#endif /* KL_LIB_SYMBOL_ELF_RIGHTS_H */
