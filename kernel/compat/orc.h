/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel's unwinder knows of a module's text. */
#ifndef KL_COMPAT_ORC_H
#define KL_COMPAT_ORC_H

#ifdef CONFIG_UNWINDER_ORC
#include <linux/objtool.h>
#include <asm/orc_types.h>

/* Another name before v6.4. */
#ifndef ORC_TYPE_CALL
#define ORC_TYPE_CALL UNWIND_HINT_TYPE_CALL
#endif
#endif

#endif /* KL_COMPAT_ORC_H */
