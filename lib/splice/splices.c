// SPDX-License-Identifier: GPL-2.0
/*
 * Instruments of many functions: collects them, passes them to the module in requests, and reads
 * the counts. What the module refuses is dropped and reported, and the rest is requested again.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "splices.h"

struct kl_splices *kl_splices_create(bool moves)
{
	struct kl_splices *s = calloc(1, sizeof(*s));

	if (s)
		s->moves = moves;
	else
		kl_fail(ENOMEM, "out of memory");
	return s;
}

void kl_splices_destroy(struct kl_splices *splices)
{
	if (!splices)
		return;
	free(splices->number);
	free(splices->reason);
	free(splices->point);
	free(splices->group);
	free(splices->instrument);
	free(splices->window);
	free(splices);
}

/* ------------------------------------------------------------------ collecting */

static int add_points(struct kl_splices *s, uint32_t n)
{
	size_t points = s->points + n;
	void *point = reallocarray(s->point, points, sizeof(*s->point));
	void *number = point ? reallocarray(s->number, points, sizeof(*s->number)) : NULL;
	void *reason = number ? reallocarray(s->reason, points, sizeof(*s->reason)) : NULL;

	if (point)
		s->point = point;
	if (number)
		s->number = number;
	if (!reason)
		return kl_fail(ENOMEM, "out of memory");
	s->reason = reason;
	for (size_t i = s->points; i < points; i++) {
		s->point[i] = (struct kl_splice_point){};
		s->reason[i] = 0;
		s->number[i] = KL_NO_POINT;
	}
	s->points = points;
	return 0;
}

/*
 * Plan a function in place and, if that is better, relocated. The two differ in what cannot be
 * instrumented.
 */
static int add_group(struct kl_splices *s, const struct kl_block_graph *graph,
		     const struct kl_splice_target *target, struct kl_splice_group *group)
{
	struct kl_splice_span points = group->points;
	uint32_t windows = s->windows;
	int ret = kl_splice_windows(s, graph, target, points.n, points.first);

	group->in_place = (struct kl_splice_span){ windows, s->windows - windows };
	group->windows = group->in_place;
	if (ret || !s->moves)
		return ret;
	for (uint32_t i = points.first; i < points.first + points.n; i++)
		s->reason[i] = s->point[i].reason;
	windows = s->windows;
	ret = kl_splice_relocated(s, graph, target, points.n, points.first);
	if (ret <= 0)
		return ret;
	group->windows = (struct kl_splice_span){ windows, s->windows - windows };
	group->moved = true;
	return 0;
}

long kl_splices_add(struct kl_splices *splices, const struct kl_block_graph *graph,
		    const struct kl_splice_target *target, uint32_t n)
{
	struct kl_splices *s = splices;
	struct kl_splice_group group = {
		.address = graph->function.address,
		.points = { s->points, n },
	};
	void *grown;
	int ret;

	grown = kl_array_grow(s->group, s->groups, &s->group_room, sizeof(*s->group));
	if (!grown)
		return -ENOMEM;
	s->group = grown;
	ret = n ? add_points(s, n) : 0;
	if (!ret)
		ret = add_group(s, graph, target, &group);
	if (ret)
		return ret;
	s->group[s->groups++] = group;
	return group.points.first;
}

/* ------------------------------------------------------------------- installing */

/* A request, and the origin of its parts. */
struct request {
	struct kl_abi_window *window;
	uint32_t *from; /* index of each of its windows */
	struct kl_abi_point *point;
	uint32_t windows;
	uint32_t points;
};

static int compare_groups(const void *left, const void *right)
{
	const struct kl_splice_group *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

/* Maximum number of windows, in place or relocated. */
static uint32_t windows_of(const struct kl_splice_group *group)
{
	return group->windows.n > group->in_place.n ? group->windows.n : group->in_place.n;
}

/* Index after the last group that fits the same request as @from; at least one group. */
static size_t groups_together(const struct kl_splices *s, size_t from)
{
	uint32_t windows = 0, points = 0;
	size_t i;

	for (i = from; i < s->groups; i++) {
		windows += windows_of(&s->group[i]);
		/* Each point may need another window that only lends space. */
		points += 2 * s->group[i].points.n;
		if (i > from &&
		    (windows > KL_SPLICE_WINDOWS_MAX || points > KL_SPLICE_REQUEST_POINTS_MAX))
			break;
	}
	return i;
}

/* Add all windows of some groups that have not been refused. */
static void fill_request(const struct kl_splices *s, struct request *r, size_t from, size_t to)
{
	r->windows = 0;
	r->points = 0;
	for (size_t i = from; i < to; i++)
		for (uint32_t k = 0; k < s->group[i].windows.n; k++) {
			const struct kl_splice_window *w =
				&s->window[s->group[i].windows.first + k];

			if (w->refusal)
				continue;
			r->from[r->windows] = w - s->window;
			r->window[r->windows++] = w->abi;
			for (uint32_t p = 0; p < w->abi.points; p++)
				r->point[r->points++] = s->instrument[w->first + p].abi;
		}
}

static void refuse_window(struct kl_splices *s, struct kl_splice_window *w, uint8_t refusal)
{
	w->refusal = refusal;
	for (uint32_t p = 0; p < w->abi.points; p++) {
		uint32_t point = s->instrument[w->first + p].point;

		if (point != KL_NO_POINT)
			s->point[point].refusal = refusal;
	}
}

static bool is_in(const struct kl_abi_window *w, uint64_t address)
{
	return address >= w->address && address < w->address + w->bytes;
}

/* Does the refusal concern the whole function rather than one window? */
static bool is_of_function(uint8_t refusal)
{
	return refusal == KL_SPLICE_bounds || refusal == KL_SPLICE_undecodable ||
	       refusal == KL_SPLICE_indirect || refusal == KL_SPLICE_probed;
}

/* Do not relocate a function after all. */
static void put_in_place(struct kl_splices *s, struct kl_splice_group *group, uint8_t refusal)
{
	for (uint32_t k = 0; k < group->windows.n; k++)
		s->window[group->windows.first + k].refusal = refusal;
	for (uint32_t i = group->points.first; i < group->points.first + group->points.n; i++)
		s->point[i].reason = s->reason[i];
	group->windows = group->in_place;
	group->moved = false;
}

/* Drop a window, and those whose slots it would have contained; or the whole function. */
static void leave_out(struct kl_splices *s, size_t from, size_t to, uint32_t window,
		      uint8_t refusal)
{
	struct kl_splice_window *bad = &s->window[window];
	struct kl_splice_group *group = &s->group[from];

	while (group + 1 < &s->group[to] && window - group->windows.first >= group->windows.n)
		group++;
	if (group->moved) {
		put_in_place(s, group, refusal);
		return;
	}
	for (uint32_t k = 0; k < group->windows.n; k++) {
		struct kl_splice_window *w = &s->window[group->windows.first + k];

		if (w->refusal)
			continue;
		if (w == bad || is_of_function(refusal))
			refuse_window(s, w, refusal);
		else if (w->abi.slot && is_in(&bad->abi, w->abi.slot))
			refuse_window(s, w, KL_SPLICE_slot);
	}
}

/* Drop everything that the module refused: at least one window. */
static void take_refusals(struct kl_splices *s, size_t from, size_t to, const struct request *r,
			  const struct kl_abi_splice *target)
{
	leave_out(s, from, to, r->from[target->bad], target->refusal);
	for (uint32_t i = 0; i < r->windows; i++)
		if (r->window[i].refusal && !s->window[r->from[i]].refusal)
			leave_out(s, from, to, r->from[i], r->window[i].refusal);
}

static void take_numbers(struct kl_splices *s, const struct request *r, uint32_t first)
{
	for (uint32_t i = 0; i < r->windows; i++) {
		const struct kl_splice_window *w = &s->window[r->from[i]];

		for (uint32_t p = 0; p < w->abi.points; p++, first++) {
			struct kl_splice_instrument *in = &s->instrument[w->first + p];

			in->number = first;
			if (in->point == KL_NO_POINT)
				continue;
			s->number[in->point] = first;
			s->point[in->point].placed = true;
		}
	}
	s->numbers = first;
}

static int install_groups(struct kl_splices *s, struct kl_session *session, struct request *r,
			  size_t from, size_t to)
{
	for (;;) {
		struct kl_abi_splice target = {
			.window = (uintptr_t)r->window,
			.point = (uintptr_t)r->point,
		};
		int ret;

		fill_request(s, r, from, to);
		target.windows = r->windows;
		target.points = r->points;
		if (!r->windows)
			return 0;
		ret = kl_session_splice(session, &target);
		if (!ret) {
			take_numbers(s, r, target.first);
			return 0;
		}
		if (ret != -EINVAL || !target.refusal || target.bad >= r->windows)
			return ret;
		take_refusals(s, from, to, r, &target);
	}
}

static int make_request(const struct kl_splices *s, struct request *r)
{
	size_t most = 0;

	for (size_t i = 0; i < s->groups; i++)
		most = windows_of(&s->group[i]) > most ? windows_of(&s->group[i]) : most;
	if (most > KL_SPLICE_WINDOWS_MAX)
		return kl_fail(E2BIG,
			       "a function needs %zu patch sites; a request allows at most %u",
			       most, KL_SPLICE_WINDOWS_MAX);
	r->window = calloc(KL_SPLICE_WINDOWS_MAX, sizeof(*r->window));
	r->from = calloc(KL_SPLICE_WINDOWS_MAX, sizeof(*r->from));
	r->point = calloc(s->instruments + 1, sizeof(*r->point));
	return r->window && r->from && r->point ? 0 : kl_fail(ENOMEM, "out of memory");
}

int kl_splices_install(struct kl_splices *splices, struct kl_session *session,
		       int (*progress)(void *context, uint32_t done, uint32_t windows),
		       void *context)
{
	struct kl_splices *s = splices;
	struct request r = {};
	uint32_t done = 0, windows = 0;
	int ret = make_request(s, &r);

	qsort(s->group, s->groups, sizeof(*s->group), compare_groups);
	for (size_t i = 1; i < s->groups && !ret; i++)
		if (s->group[i].address == s->group[i - 1].address)
			ret = kl_fail(EEXIST, "duplicate function at %#llx",
				      (unsigned long long)s->group[i].address);
	for (size_t i = 0; i < s->groups; i++)
		windows += s->group[i].windows.n;
	for (size_t from = 0, to; from < s->groups && !ret; from = to) {
		to = groups_together(s, from);
		if (progress)
			ret = progress(context, done, windows);
		if (!ret)
			ret = install_groups(s, session, &r, from, to);
		done += r.windows;
	}
	free(r.point);
	free(r.from);
	free(r.window);
	return ret;
}

/* --------------------------------------------------------------------- reading */

struct kl_splice_point kl_splices_point(const struct kl_splices *splices, uint32_t point)
{
	return splices->point[point];
}

struct kl_splices_sum kl_splices_sum(const struct kl_splices *splices)
{
	struct kl_splices_sum sum = { .points = splices->points };

	for (size_t i = 0; i < splices->points; i++) {
		sum.placed += splices->point[i].placed;
		sum.refused += !!splices->point[i].refusal;
		sum.without += !!splices->point[i].reason;
	}
	for (size_t i = 0; i < splices->groups; i++)
		sum.moved += splices->group[i].moved;
	for (size_t i = 0; i < splices->windows; i++)
		sum.windows += !splices->window[i].refusal &&
			       splices->instrument[splices->window[i].first].number != KL_NO_POINT;
	return sum;
}

int kl_splices_counts(const struct kl_splices *splices, struct kl_session *session, uint64_t *count)
{
	uint64_t *all = calloc(splices->numbers + 1, sizeof(*all));
	struct kl_abi_splice_counts call = { .n = splices->numbers, .count = (uintptr_t)all };
	int ret;

	if (!all)
		return kl_fail(ENOMEM, "out of memory");
	ret = kl_session_splice_counts(session, &call);
	for (size_t i = 0; !ret && i < splices->points; i++)
		count[i] = splices->number[i] < call.n ? all[splices->number[i]] : 0;
	free(all);
	return ret;
}
