/* SPDX-License-Identifier: GPL-2.0 */
/* The tree of a flame graph; flame.c fills it, flame_svg.c draws it. */
#ifndef KL_LIB_REPORT_FLAME_H
#define KL_LIB_REPORT_FLAME_H

#include <kernlens/flame.h>

/**
 * struct kl_flame_node - a frame and its callees
 * @own: value of the traces that end here
 * @all: @own plus the values of all traces through it
 * @child: sorted by name after kl_flame_sort()
 */
struct kl_flame_node {
	char *name;
	enum kl_flame_kind kind;
	uint64_t own;
	uint64_t all;
	struct kl_flame_node **child;
	size_t n;
	size_t room;
};

struct kl_flame {
	struct kl_flame_node root;
};

void kl_flame_sort(struct kl_flame_node *node);

#endif /* KL_LIB_REPORT_FLAME_H */
