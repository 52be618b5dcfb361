/* SPDX-License-Identifier: GPL-2.0 */
/* The full-screen view of a profile that goes on: its interface for the command. */
#ifndef KL_VIEW_TOP_H
#define KL_VIEW_TOP_H

#include <stdbool.h>
#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/profile.h>

/**
 * struct view_top - where the view has its samples from, and how it begins
 * @context: passed to the functions
 * @key: what rows stand for
 * @n_keys: number of keys
 * @interval_ns: time between refreshes
 * @color: use colors
 * @read: takes the samples that have come, if any within @wait_ms; they are dropped if @paused.
 *        Sets @over when it is time to stop. Returns 0 or another status, which ends the view
 * @next: begins the next slice of time, and forgets all others if @all. Returns 0 or another status
 * @profile: the profile, which only @next may replace
 * @summary: appends what the samples are, in one line
 * @tree: appends the lines of a tree of calls
 */
struct view_top {
	void *context;
	enum kl_profile_key key[KL_PROFILE_KEYS_MAX];
	unsigned int n_keys;
	uint64_t interval_ns;
	bool color;
	int (*read)(void *context, int wait_ms, bool paused, bool *over);
	int (*next)(void *context, bool all);
	struct kl_profile *(*profile)(void *context);
	void (*summary)(void *context, struct kl_buffer *to);
	void (*tree)(void *context, enum kl_profile_direction direction, const char *function,
		     struct kl_buffer *to);
};

/**
 * view_profile - show a profile until the user quits
 * @top: source of the data
 *
 * stdin and stdout must be the terminal, which is restored on return. Returns 0, a negative errno
 * if the terminal cannot be used, or the status of a function that has failed.
 */
int view_profile(const struct view_top *top);

/**
 * view_top_is_possible - can the view use this terminal?
 * @why: out: if not, why not
 */
bool view_top_is_possible(const char **why);

#endif /* KL_VIEW_TOP_H */
