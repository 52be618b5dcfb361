/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files of this folder as they are in the objects of its pages, and what writes them. The pages
 * share the head and the style, which are in page.o.
 */
#ifndef KL_VIEW_PAGE_FILES_H
#define KL_VIEW_PAGE_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* A file of this folder, between view_page_NAME and view_page_NAME_end. */
#define VIEW_EMBED(name, file)                                          \
	__asm__(".section .rodata\n"                                    \
		".globl view_page_" #name ", view_page_" #name "_end\n" \
		"view_page_" #name ": .incbin \"view/page/" file "\"\n" \
		"view_page_" #name "_end: .byte 0\n"                    \
		".previous\n")

#define VIEW_PAGE_FILE(name)                                                        \
	extern const char view_page_##name[] __attribute__((visibility("hidden"))); \
	extern const char view_page_##name##_end[] __attribute__((visibility("hidden")))

VIEW_PAGE_FILE(head);
VIEW_PAGE_FILE(style);
VIEW_PAGE_FILE(body);
VIEW_PAGE_FILE(data);
VIEW_PAGE_FILE(machines);
VIEW_PAGE_FILE(source);
VIEW_PAGE_FILE(server);
VIEW_PAGE_FILE(query);
VIEW_PAGE_FILE(rows);
VIEW_PAGE_FILE(draw);
VIEW_PAGE_FILE(panel);
VIEW_PAGE_FILE(stacks);
VIEW_PAGE_FILE(calls);
VIEW_PAGE_FILE(why);
VIEW_PAGE_FILE(table);
VIEW_PAGE_FILE(search);
VIEW_PAGE_FILE(main);
VIEW_PAGE_FILE(elements);
VIEW_PAGE_FILE(coverage_style);
VIEW_PAGE_FILE(coverage_body);
VIEW_PAGE_FILE(coverage_main);
VIEW_PAGE_FILE(graph_style);
VIEW_PAGE_FILE(graph_body);
VIEW_PAGE_FILE(graph_layout);
VIEW_PAGE_FILE(graph_draw);
VIEW_PAGE_FILE(graph_panel);
VIEW_PAGE_FILE(graph_main);
VIEW_PAGE_FILE(graph_server);
VIEW_PAGE_FILE(plot_style);
VIEW_PAGE_FILE(plot_body);
VIEW_PAGE_FILE(plot_main);
VIEW_PAGE_FILE(memory_style);
VIEW_PAGE_FILE(memory_body);
VIEW_PAGE_FILE(memory_map);
VIEW_PAGE_FILE(memory_time);
VIEW_PAGE_FILE(memory_code);
VIEW_PAGE_FILE(memory_main);

struct view_part {
	const char *text;
	const char *end;
};

#define VIEW_TEXT(text)                       \
	{                                     \
		text, text + sizeof(text) - 1 \
	}
#define VIEW_FILE(name)                                  \
	{                                                \
		view_page_##name, view_page_##name##_end \
	}

/**
 * view_parts_write - write the parts of a page
 * @part: parts; @n: number of parts
 * @write: called with each part; returns 0 or -errno
 * @context: passed to it
 *
 * Returns 0, or what @write returned.
 */
int view_parts_write(const struct view_part *part, size_t n,
		     int (*write)(void *context, const void *bytes, size_t length), void *context);

/**
 * view_served_head_write - write the head of a page that sends requests to its server
 * @write: called with each part; returns 0 or -errno
 * @context: passed to it
 *
 * The policy in it forbids all other requests. Returns 0, or what @write returned.
 */
int view_served_head_write(int (*write)(void *context, const void *bytes, size_t length),
			   void *context);

/**
 * struct view_data_page - a page that shows data in JSON
 * @style: in addition to that of all pages
 * @id: of the element with the data
 * @script: scripts, which may use those of elements.js; @n_scripts: number of them
 * @served: the page sends requests to its server
 */
struct view_data_page {
	struct view_part style;
	struct view_part body;
	const char *id;
	const struct view_part *script;
	size_t n_scripts;
	bool served;
};

/**
 * view_data_page_write - write a whole page
 * @page: page
 * @data: called to write the JSON text with @write, without any "<"; returns 0 or -errno
 * @write: called with each part; returns 0 or -errno
 * @context: passed to both
 *
 * Returns 0, or what @data or @write returned.
 */
int view_data_page_write(const struct view_data_page *page, int (*data)(void *context),
			 int (*write)(void *context, const void *bytes, size_t length),
			 void *context);

#endif /* KL_VIEW_PAGE_FILES_H */
