// SPDX-License-Identifier: GPL-2.0
/*
 * Orders tables of processes as trees: each row follows its parent. Fed and read like processes.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "processes.h"

#define NO_ROW SIZE_MAX

/**
 * struct tree - rows by their parents; indices are in the current order
 * @tids: thread ids with their rows, sorted by id
 * @child: first child of each row
 * @next: next sibling
 * @depth: of the rows already in @out
 */
struct tree {
	struct kl_processes *p;
	struct kl_process_old *tids;
	size_t *child;
	size_t *next;
	size_t *parent;
	bool *placed;
	size_t *out;
	unsigned int *depth;
	size_t n_out;
};

static size_t row_of(const struct tree *t, int32_t tid)
{
	struct kl_process_old key = { .id = tid };
	const struct kl_process_old *found =
		bsearch(&key, t->tids, t->p->n, sizeof(key), kl_process_old_compare);

	return found ? found->row : NO_ROW;
}

static size_t parent_of(const struct tree *t, size_t row)
{
	size_t at = t->p->order[row];
	int32_t tid = (int32_t)kl_processes_hidden(t->p, at, KL_HIDDEN_TID);
	int32_t pid = (int32_t)kl_processes_hidden(t->p, at, KL_HIDDEN_PID);
	size_t parent = row_of(t, tid == pid ?
					  (int32_t)kl_processes_hidden(t->p, at, KL_HIDDEN_PPID) :
					  pid);

	return parent == row ? NO_ROW : parent;
}

/* Link in reverse, so that siblings keep their order. */
static void link_rows(struct tree *t)
{
	size_t n = t->p->n;

	for (size_t row = 0; row < n; row++) {
		t->tids[row].id =
			(int32_t)kl_processes_hidden(t->p, t->p->order[row], KL_HIDDEN_TID);
		t->tids[row].row = row;
		t->child[row] = NO_ROW;
	}
	qsort(t->tids, n, sizeof(*t->tids), kl_process_old_compare);
	for (size_t row = n; row--;) {
		t->parent[row] = parent_of(t, row);
		if (t->parent[row] == NO_ROW)
			continue;
		t->next[row] = t->child[t->parent[row]];
		t->child[t->parent[row]] = row;
	}
}

static void place(struct tree *t, size_t row, unsigned int depth)
{
	t->placed[row] = true;
	t->depth[t->n_out] = depth;
	t->out[t->n_out++] = t->p->order[row];
}

/* Place a row and all its descendants, without recursion. */
static void place_below(struct tree *t, size_t root)
{
	unsigned int depth = 0;
	size_t row = root;

	for (;;) {
		place(t, row, depth);
		if (t->child[row] != NO_ROW) {
			row = t->child[row];
			depth++;
			continue;
		}
		while (row != root && t->next[row] == NO_ROW) {
			row = t->parent[row];
			depth--;
		}
		if (row == root)
			return;
		row = t->next[row];
	}
}

static bool alloc_tree(struct tree *t, size_t n)
{
	t->tids = calloc(n + 1, sizeof(*t->tids));
	t->child = calloc(n + 1, sizeof(*t->child));
	t->next = calloc(n + 1, sizeof(*t->next));
	t->parent = calloc(n + 1, sizeof(*t->parent));
	t->placed = calloc(n + 1, sizeof(*t->placed));
	t->out = calloc(n + 1, sizeof(*t->out));
	t->depth = calloc(n + 1, sizeof(*t->depth));
	for (size_t row = 0; t->next && row < n; row++)
		t->next[row] = NO_ROW;
	return t->tids && t->child && t->next && t->parent && t->placed && t->out && t->depth;
}

int kl_processes_sort_tree(struct kl_processes *p)
{
	struct tree t = { .p = p };
	bool there = alloc_tree(&t, p->n);

	if (there) {
		link_rows(&t);
		for (size_t row = 0; row < p->n; row++)
			if (t.parent[row] == NO_ROW)
				place_below(&t, row);
		/* Ids that were reused while rows were read can form a cycle. */
		for (size_t row = 0; row < p->n; row++)
			if (!t.placed[row])
				place(&t, row, 0);
		free(p->order);
		free(p->depth);
		p->order = t.out;
		p->depth = t.depth;
	} else {
		free(t.out);
		free(t.depth);
	}
	free(t.tids);
	free(t.child);
	free(t.next);
	free(t.parent);
	free(t.placed);
	return there ? 0 : kl_fail(ENOMEM, "out of memory");
}
