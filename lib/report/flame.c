// SPDX-License-Identifier: GPL-2.0
/* A tree of stack traces with values; writes folded lines, which other tools read, too. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "../format/print.h"
#include "flame.h"

struct kl_flame *kl_flame_create(void)
{
	struct kl_flame *flame = calloc(1, sizeof(*flame));

	if (!flame)
		kl_fail(ENOMEM, "out of memory");
	return flame;
}

/* Recursion is as deep as the deepest trace, which is bounded. */
static void free_node(struct kl_flame_node *node)
{
	for (size_t i = 0; i < node->n; i++) {
		free_node(node->child[i]);
		free(node->child[i]);
	}
	free(node->child);
	free(node->name);
}

void kl_flame_destroy(struct kl_flame *flame)
{
	if (!flame)
		return;
	free_node(&flame->root);
	free(flame);
}

static struct kl_flame_node *child_of(struct kl_flame_node *node,
				      const struct kl_flame_frame *frame)
{
	struct kl_flame_node *child, **grown;

	for (size_t i = 0; i < node->n; i++)
		if (node->child[i]->kind == frame->kind &&
		    !strcmp(node->child[i]->name, frame->name))
			return node->child[i];
	grown = kl_array_grow(node->child, node->n, &node->room, sizeof(*grown));
	if (!grown)
		return NULL;
	node->child = grown;
	child = calloc(1, sizeof(*child));
	if (child)
		child->name = strdup(frame->name);
	if (!child || !child->name) {
		free(child);
		return NULL;
	}
	child->kind = frame->kind;
	node->child[node->n++] = child;
	return child;
}

int kl_flame_add(struct kl_flame *flame, const struct kl_flame_frame *frame, size_t n,
		 uint64_t value)
{
	struct kl_flame_node *node = &flame->root;

	for (size_t i = 0; i < n; i++) {
		node = child_of(node, &frame[i]);
		if (!node)
			return kl_fail(ENOMEM, "out of memory");
	}
	node->own += value;
	node = &flame->root;
	node->all += value;
	for (size_t i = 0; i < n; i++) {
		node = child_of(node, &frame[i]);
		node->all += value;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct kl_flame_node *x = *(struct kl_flame_node *const *)a;
	const struct kl_flame_node *y = *(struct kl_flame_node *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : (int)x->kind - (int)y->kind;
}

void kl_flame_sort(struct kl_flame_node *node)
{
	if (node->n)
		qsort(node->child, node->n, sizeof(struct kl_flame_node *), by_name);
	for (size_t i = 0; i < node->n; i++)
		kl_flame_sort(node->child[i]);
}

/* Separators must not occur in a name. */
static void add_name(struct kl_buffer *line, const char *name)
{
	const size_t from = line->length;

	kl_print_plain(line, name, strlen(name));
	for (size_t i = from; i < line->length; i++)
		if (line->data[i] == ';')
			line->data[i] = '_';
}

static void fold(const struct kl_flame_node *node, struct kl_buffer *line, struct kl_buffer *to)
{
	size_t length = line->length;

	if (node->name) {
		if (length)
			kl_buffer_add_char(line, ';');
		add_name(line, node->name);
	}
	if (node->own) {
		kl_buffer_add(to, line->data, line->length);
		kl_buffer_printf(to, " %llu\n", (unsigned long long)node->own);
	}
	for (size_t i = 0; i < node->n; i++)
		fold(node->child[i], line, to);
	line->length = length;
}

void kl_flame_folded(struct kl_flame *flame, struct kl_buffer *buffer)
{
	struct kl_buffer line = { 0 };

	kl_flame_sort(&flame->root);
	fold(&flame->root, &line, buffer);
	if (line.error && !buffer->error)
		buffer->error = line.error;
	kl_buffer_deinit(&line);
}
