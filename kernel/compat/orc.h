/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's unwind tables (ORC) of a module's text. */
#ifndef KL_COMPAT_ORC_H
#define KL_COMPAT_ORC_H

#ifdef CONFIG_UNWINDER_ORC
#include <linux/objtool.h>
#include <asm/orc_types.h>

/* It has another name before v6.4. */
#ifndef ORC_TYPE_CALL
#define ORC_TYPE_CALL UNWIND_HINT_TYPE_CALL
#endif
#endif

#endif /* KL_COMPAT_ORC_H */
