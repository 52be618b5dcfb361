// SPDX-License-Identifier: GPL-2.0
/* A profile's samples as trees of calls, and as a flame graph. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../base/base.h"
#include "profile.h"

/* Recursion is as deep as the deepest path, which is bounded. */
static void free_children(struct kl_profile_node *node)
{
	for (size_t i = 0; i < node->n; i++) {
		free_children(node->child[i]);
		free(node->child[i]);
	}
	free(node->child);
}

void kl_profile_tree_destroy(struct kl_profile_node *root)
{
	if (!root)
		return;
	free_children(root);
	free(root);
}

static struct kl_profile_node *child_of(struct kl_profile_node *node,
					const struct kl_profile_function *function)
{
	struct kl_profile_node **grown;

	for (size_t i = 0; i < node->n; i++)
		if (node->child[i]->function == function)
			return node->child[i];
	grown = kl_array_grow(node->child, node->n, &node->room, sizeof(struct kl_profile_node *));
	if (!grown)
		return NULL;
	node->child = grown;
	grown[node->n] = calloc(1, sizeof(*node));
	if (!grown[node->n]) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	grown[node->n]->function = function;
	return grown[node->n++];
}

/**
 * struct walk - the part of a path that goes into a tree
 * @first: the frame to begin with
 * @n: number of frames
 * @step: 1 towards the innermost, -1 towards the outermost
 */
struct walk {
	unsigned int first;
	unsigned int n;
	int step;
};

/* Is the path in the tree, and from where on? */
static bool begin(const struct kl_profile *profile, const struct kl_profile_path *path,
		  enum kl_profile_direction direction, const char *name, struct walk *walk)
{
	bool down = direction == KL_PROFILE_CALLEES;

	walk->step = down ? 1 : -1;
	for (unsigned int i = 0; i < path->n; i++) {
		unsigned int at = down ? i : path->n - 1 - i;

		if (name && strcmp(kl_profile_function_of(profile, &path->frame[at])->name, name))
			continue;
		walk->first = at;
		walk->n = path->n - i;
		return true;
	}
	return false;
}

static int add_path(const struct kl_profile *profile, struct kl_profile_node *node,
		    const struct kl_profile_path *path, const struct walk *walk, uint64_t count)
{
	const struct kl_profile_frame *frame = &path->frame[walk->first];

	node->total += count;
	for (unsigned int i = 0; i < walk->n; i++, frame += walk->step) {
		node = child_of(node, kl_profile_function_of(profile, frame));
		if (!node)
			return -ENOMEM;
		node->total += count;
	}
	node->self += count;
	return 0;
}

static int by_total(const void *a, const void *b)
{
	const struct kl_profile_node *x = *(struct kl_profile_node *const *)a;
	const struct kl_profile_node *y = *(struct kl_profile_node *const *)b;
	int order;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	order = strcmp(x->function->name, y->function->name);
	return order ? order : strcmp(x->function->object, y->function->object);
}

static void sort(struct kl_profile_node *node)
{
	if (node->n)
		qsort(node->child, node->n, sizeof(struct kl_profile_node *), by_total);
	for (size_t i = 0; i < node->n; i++)
		sort(node->child[i]);
}

struct kl_profile_node *kl_profile_tree(struct kl_profile *profile,
					enum kl_profile_direction direction, const char *function)
{
	struct kl_profile_node *root = calloc(1, sizeof(*root));
	const struct kl_profile_sample *sample = NULL;
	int error = root ? 0 : kl_fail(ENOMEM, "out of memory");
	struct walk walk;

	while (!error && (sample = kl_profile_next(profile, sample))) {
		const struct kl_profile_path *path = &profile->path[sample->path];

		if (begin(profile, path, direction, function, &walk))
			error = add_path(profile, root, path, &walk, sample->count);
	}
	if (!error && function && !root->total)
		error = kl_fail(ENOENT, "no sample in a function %s", function);
	if (error) {
		kl_profile_tree_destroy(root);
		errno = -error;
		return NULL;
	}
	sort(root);
	return root;
}

static enum kl_flame_kind kind_of(const struct kl_profile_function *function)
{
	return function->kind == KL_PROFILE_WAIT   ? KL_FLAME_STATE :
	       function->kind == KL_PROFILE_KERNEL ? KL_FLAME_KERNEL :
						     KL_FLAME_USER;
}

struct kl_flame *kl_profile_flame(struct kl_profile *profile)
{
	struct kl_flame_frame frame[1 + 2 * KL_FRAMES_MAX + 1];
	const struct kl_profile_sample *sample = NULL;
	struct kl_flame *flame = kl_flame_create();
	int error = flame ? 0 : -ENOMEM;

	while (!error && (sample = kl_profile_next(profile, sample))) {
		const struct kl_profile_path *path = &profile->path[sample->path];

		frame[0] = (struct kl_flame_frame){ kl_profile_task_of(profile, sample)->comm,
						    KL_FLAME_TASK };
		for (unsigned int i = 0; i < path->n; i++) {
			const struct kl_profile_function *function =
				kl_profile_function_of(profile, &path->frame[i]);

			frame[1 + i] = (struct kl_flame_frame){ function->name, kind_of(function) };
		}
		error = kl_flame_add(flame, frame, 1 + path->n,
				     profile->off_event ? sample->count / 1000 : sample->count);
	}
	if (!error)
		return flame;
	kl_flame_destroy(flame);
	errno = -error;
	return NULL;
}
