/* SPDX-License-Identifier: GPL-2.0 */
/* A tree of stack traces with values, written as folded lines or as a flame graph. */
#ifndef KERNLENS_FLAME_H
#define KERNLENS_FLAME_H

#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>

struct kl_flame;

/* What a frame represents; determines its color. */
enum kl_flame_kind {
	KL_FLAME_TASK,
	KL_FLAME_USER,
	KL_FLAME_KERNEL,
	KL_FLAME_STATE,
};

/**
 * struct kl_flame_frame - a frame of a trace
 * @name: copied
 * @kind: what it represents
 */
struct kl_flame_frame {
	const char *name;
	enum kl_flame_kind kind;
};

/**
 * kl_flame_create - create an empty tree
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_flame *kl_flame_create(void);

/**
 * kl_flame_destroy - free a tree
 * @flame: or NULL
 */
void kl_flame_destroy(struct kl_flame *flame);

/**
 * kl_flame_add - add a trace
 * @flame: changed
 * @frame: outermost first
 * @n: number of frames, at least one
 * @value: added to the trace's value
 *
 * Returns 0 or -ENOMEM.
 */
int kl_flame_add(struct kl_flame *flame, const struct kl_flame_frame *frame, size_t n,
		 uint64_t value);

/**
 * kl_flame_folded - write one line per trace: names separated by semicolons, a blank, the value
 * @flame: sorted by name by this call
 * @buffer: appended to
 */
void kl_flame_folded(struct kl_flame *flame, struct kl_buffer *buffer);

/**
 * kl_flame_svg - write a self-contained SVG that can be searched and zoomed
 * @flame: sorted by name by this call
 * @buffer: appended to
 * @title: shown above the graph
 * @unit: of the values, such as "us"
 */
void kl_flame_svg(struct kl_flame *flame, struct kl_buffer *buffer, const char *title,
		  const char *unit);

/**
 * kl_flame_html - write the flame graph as an HTML page
 * @flame: sorted by name by this call
 * @buffer: appended to
 * @title: shown above the graph
 * @unit: of the values, such as "us"
 */
void kl_flame_html(struct kl_flame *flame, struct kl_buffer *buffer, const char *title,
		   const char *unit);

#endif /* KERNLENS_FLAME_H */
