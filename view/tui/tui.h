/* SPDX-License-Identifier: GPL-2.0 */
/* The full-screen view of processes, as the command starts it. */
#ifndef KL_VIEW_TUI_H
#define KL_VIEW_TUI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/client.h>

/**
 * struct view_section - of the details of a process
 * @title: one word
 * @what: is handed on
 */
struct view_section {
	const char *title;
	uint32_t what;
};

/**
 * struct view_options - how it begins
 * @columns: names with commas, as in `kernlens proc -v`; NULL: the usual ones
 * @uid: only this user's processes; UINT64_MAX: of all
 * @interval_ns: between two looks at the processes
 * @threads: a row for each thread
 * @color: colours may be used
 * @section: of the details, beside those that the view makes itself
 * @sections: number of them
 * @print_section: appends one's lines; of processes that have ended, too
 */
struct view_options {
	const char *columns;
	uint64_t uid;
	uint64_t interval_ns;
	bool threads;
	bool color;
	const struct view_section *section;
	size_t sections;
	void (*print_section)(struct kl_device *device, int32_t pid, uint32_t what,
			      struct kl_buffer *to);
};

/**
 * view_processes - show processes until the user leaves
 * @device: what to ask
 * @options: how it begins
 *
 * stdin and stdout are the terminal, which is as before when this returns: 0, or a
 * negative errno with the library's error text or, if that is empty, of the terminal.
 * A signal that ends programs ends this one when the terminal is restored.
 */
int view_processes(struct kl_device *device, const struct view_options *options);

#endif /* KL_VIEW_TUI_H */
