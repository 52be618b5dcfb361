/* SPDX-License-Identifier: GPL-2.0 */
/* What the process that reads ELF files may still do. elf_process.c calls it in the child. */
#ifndef KL_LIB_SYMBOL_ELF_RIGHTS_H
#define KL_LIB_SYMBOL_ELF_RIGHTS_H

#include <stdbool.h>

/*
 * Give up root's ids, all capabilities, most system calls, and memory beyond a limit, for good.
 * False if the ids could not be given up: then the process must end.
 */
bool kl_elf_give_up_rights(void);

#endif /* KL_LIB_SYMBOL_ELF_RIGHTS_H */
