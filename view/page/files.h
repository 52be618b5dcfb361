/* SPDX-License-Identifier: GPL-2.0 */
/* The files of this folder as they are in page.o. */
#ifndef KL_VIEW_PAGE_FILES_H
#define KL_VIEW_PAGE_FILES_H

#define VIEW_PAGE_FILE(name)                                                        \
	extern const char view_page_##name[] __attribute__((visibility("hidden"))); \
	extern const char view_page_##name##_end[] __attribute__((visibility("hidden")))

VIEW_PAGE_FILE(style);
VIEW_PAGE_FILE(body);
VIEW_PAGE_FILE(data);
VIEW_PAGE_FILE(rows);
VIEW_PAGE_FILE(draw);
VIEW_PAGE_FILE(panel);
VIEW_PAGE_FILE(stacks);
VIEW_PAGE_FILE(main);

#endif /* KL_VIEW_PAGE_FILES_H */
