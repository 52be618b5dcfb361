// SPDX-License-Identifier: GPL-2.0
/* Writes the page that shows a timeline. Its style and scripts are part of this object. */
#include <string.h>

#include "files.h"
#include "page.h"

/* A file of this folder, between view_page_NAME and view_page_NAME_end. */
#define EMBED(name, file)                                               \
	__asm__(".section .rodata\n"                                    \
		"view_page_" #name ": .incbin \"view/page/" file "\"\n" \
		"view_page_" #name "_end: .byte 0\n"                    \
		".previous\n")

EMBED(style, "page.css");
EMBED(body, "page.html");
EMBED(data, "data.js");
EMBED(rows, "rows.js");
EMBED(draw, "draw.js");
EMBED(panel, "panel.js");
EMBED(stacks, "stacks.js");
EMBED(main, "main.js");

/* Nothing may be loaded, and nothing is sent anywhere. */
static const char head[] =
	"<!doctype html>\n"
	"<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\"><title>kernlens</title>\n"
	"<link rel=\"icon\" href=\"data:,\">\n"
	"<style>";

static const char scripts[] = "<script>\n'use strict';\n";

struct part {
	const char *text;
	const char *end;
};

static int write_parts(const struct part *part, size_t n, kl_timeline_fn write, void *context)
{
	int error = 0;

	for (size_t i = 0; i < n && !error; i++)
		error = write(context, part[i].text, (size_t)(part[i].end - part[i].text));
	return error;
}

#define TEXT(text)                            \
	{                                     \
		text, text + sizeof(text) - 1 \
	}
#define FILE_OF(name)                                    \
	{                                                \
		view_page_##name, view_page_##name##_end \
	}

int view_page_write(struct kl_timeline *timeline, const char *title, kl_timeline_fn write,
		    void *context)
{
	static const char after_style[] = "</style></head><body>\n",
			  end[] = "</script></body></html>\n";
	const struct part before[] = { TEXT(head), FILE_OF(style), TEXT(after_style),
				       FILE_OF(body) };
	const struct part behind[] = { TEXT(scripts), FILE_OF(data),  FILE_OF(rows),
				       FILE_OF(draw), FILE_OF(panel), FILE_OF(stacks),
				       FILE_OF(main), TEXT(end) };
	int error = write_parts(before, sizeof(before) / sizeof(*before), write, context);

	if (!error)
		error = kl_timeline_write(timeline, title, write, context);
	return error ? error :
		       write_parts(behind, sizeof(behind) / sizeof(*behind), write, context);
}
