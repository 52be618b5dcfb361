/* SPDX-License-Identifier: GPL-2.0 */
/* A tree of call traces with values, as folded lines and as a flame graph. */
#ifndef KERNLENS_FLAME_H
#define KERNLENS_FLAME_H

#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

struct kl_flame;

/* What a frame is: decides its colour. */
enum kl_flame_kind {
	KL_FLAME_TASK,
	KL_FLAME_USER,
	KL_FLAME_KERNEL,
	KL_FLAME_STATE,
};

/**
 * struct kl_flame_frame - a step from the root
 * @name: copied
 * @kind: of it
 */
struct kl_flame_frame {
	const char *name;
	enum kl_flame_kind kind;
};

/**
 * kl_flame_create - an empty tree
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_flame *kl_flame_create(void);

/**
 * kl_flame_destroy - free it
 * @flame: or NULL
 */
void kl_flame_destroy(struct kl_flame *flame);

/**
 * kl_flame_add - add a trace
 * @flame: changed
 * @frame: outermost first
 * @n: number of them, at least one
 * @value: added to what the trace has
 *
 * Returns -ENOMEM.
 */
int kl_flame_add(struct kl_flame *flame, const struct kl_flame_frame *frame, size_t n,
		 uint64_t value);

/**
 * kl_flame_folded - a line a trace: names with semicolons, a blank, the value
 * @flame: sorted by name by this call
 * @buffer: appended to
 */
void kl_flame_folded(struct kl_flame *flame, struct kl_buffer *buffer);

/**
 * kl_flame_svg - a picture that can be searched and zoomed, with nothing from elsewhere
 * @flame: sorted by name by this call
 * @buffer: appended to
 * @title: above it
 * @unit: of the values, as "us"
 */
void kl_flame_svg(struct kl_flame *flame, struct kl_buffer *buffer, const char *title,
		  const char *unit);

/**
 * kl_flame_html - the same as a page
 * @flame: sorted by name by this call
 * @buffer: appended to
 * @title: above it
 * @unit: of the values
 */
void kl_flame_html(struct kl_flame *flame, struct kl_buffer *buffer, const char *title,
		   const char *unit);

KL_PUBLIC_END

#endif /* KERNLENS_FLAME_H */
