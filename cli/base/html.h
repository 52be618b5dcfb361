/* SPDX-License-Identifier: GPL-2.0 */
/* Pages for a browser, which need nothing but their file. */
#ifndef KL_CLI_HTML_H
#define KL_CLI_HTML_H

#include <jansson.h>

#include "../../view/page/graph.h"

/* Writes a kind of page: view_graph_write() and others. */
typedef int (*cli_html_fn)(int (*data)(void *context), view_write_fn write, void *context);

/**
 * cli_html_write - write a page to a file
 * @path: file
 * @data: of the page; released
 * @about: added to it, or NULL
 * @view: writes the page
 *
 * Returns CLI_OK or CLI_FAILED, after a message.
 */
int cli_html_write(const char *path, json_t *data, const char *about, cli_html_fn view);

/* The same without a message, and without an incomplete page in between. */
int cli_html_replace(const char *path, json_t *data, const char *about, cli_html_fn view);

/**
 * cli_html_json - write JSON as it may be in a page's script
 * @data: data
 * @write: called with each part
 * @context: passed to it
 *
 * Returns 0, -ENOMEM, or what @write returned.
 */
int cli_html_json(const json_t *data, view_write_fn write, void *context);

#endif /* KL_CLI_HTML_H */
