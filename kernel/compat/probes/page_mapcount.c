// SPDX-License-Identifier: GPL-2.0
/* until v6.10: number of mappings of a page */
#include <linux/mm.h>

static int __maybe_unused kl_check_page_mapcount(struct page *page)
{
	return page_mapcount(page);
}
