/* SPDX-License-Identifier: GPL-2.0 */
/* The full-screen view of processes: its interface for the command. */
#ifndef KL_VIEW_TUI_H
#define KL_VIEW_TUI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/client.h>

/**
 * struct view_section - a section of the details of a process
 * @title: one word
 * @what: passed to `print_section`
 */
struct view_section {
	const char *title;
	uint32_t what;
};

/**
 * struct view_options - initial settings
 * @columns: names separated by commas, as in `kernlens proc -v`; NULL: as saved
 * @uid: only this user's processes; UINT64_MAX: all users
 * @interval_ns: time between refreshes; 0: as saved
 * @threads: one row per thread; false: as saved
 * @no_mouse: leave the mouse to the terminal
 * @no_setup: neither use nor save a setup
 * @color: use colors
 * @section: sections of the details, in addition to the view's own
 * @sections: number of them
 * @print_section: appends a section's lines; also called for processes that have exited
 */
struct view_options {
	const char *columns;
	uint64_t uid;
	uint64_t interval_ns;
	bool threads;
	bool no_mouse;
	bool no_setup;
	bool color;
	const struct view_section *section;
	size_t sections;
	void (*print_section)(struct kl_device *device, int32_t pid, uint32_t what,
			      struct kl_buffer *to);
};

/**
 * view_processes - show processes until the user quits
 * @device: source of the data
 * @options: initial settings
 *
 * stdin and stdout must be the terminal, which is restored on return. When the user quits, the
 * setup is saved in the user's configuration directory, if it has changed; an error text with a
 * result of 0 says why it could not be saved. Returns 0, or a negative errno with the library's
 * error text or, if that is empty, for an error of the terminal. A signal that ends programs is
 * raised again after the terminal has been restored.
 */
int view_processes(struct kl_device *device, const struct view_options *options);

/**
 * view_is_possible - can the view use this terminal?
 * @why: out: if not, why not
 */
bool view_is_possible(const char **why);

#endif /* KL_VIEW_TUI_H */
