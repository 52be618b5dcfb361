// SPDX-License-Identifier: GPL-2.0
/* in v6.18: the flags of a process's memory are a bitmap */
#include <linux/mm_types.h>

static const unsigned long *__maybe_unused kl_check_mm_flags_bitmap(const struct mm_struct *mm)
{
	return __mm_flags_get_bitmap(mm);
}
