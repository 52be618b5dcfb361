// SPDX-License-Identifier: GPL-2.0
/* in v6.15: is_endbr() takes an address, and __is_endbr() the word */
#include <linux/types.h>
#include <asm/ibt.h>

static bool __maybe_unused kl_check_endbr_word(u32 word)
{
	return __is_endbr(word);
}
