// SPDX-License-Identifier: GPL-2.0
/* Reads variables of processes, with a buffer that grows as needed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/inspect.h>
#include "../base/base.h"
#include "client.h"

struct kl_inspect {
	struct kl_device *device;
	size_t n;
	uint32_t *ids;
	size_t *offset; /* offset of each value in a row */
	uint8_t *rows;
	size_t room;
	struct kl_abi_inspect answer;
};

bool kl_variable_is_inspected(const struct kl_variable *variable)
{
	return !strcmp(variable->scope, "system") || !strcmp(variable->name, "cpu") ||
	       !strcmp(variable->name, "numa_node") ||
	       (!strcmp(variable->scope, "task") && strcmp(variable->type, "task"));
}

static size_t value_bytes(const struct kl_field *field)
{
	return (size_t)field->bytes * field->count;
}

struct kl_inspect *kl_inspect_create(struct kl_device *device, const uint32_t *ids, size_t n)
{
	struct kl_inspect *in = calloc(1, sizeof(*in));
	size_t at = sizeof(struct kl_abi_inspected);

	if (in) {
		in->device = device;
		in->n = n;
		in->ids = calloc(n + 1, sizeof(*in->ids));
		in->offset = calloc(n + 1, sizeof(*in->offset));
	}
	if (!in || !in->ids || !in->offset) {
		kl_inspect_destroy(in);
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		in->ids[i] = ids[i];
		in->offset[i] = at;
		at += value_bytes(&kl_variable_get(ids[i])->field);
	}
	return in;
}

void kl_inspect_destroy(struct kl_inspect *in)
{
	if (!in)
		return;
	free(in->ids);
	free(in->offset);
	free(in->rows);
	free(in);
}

static int make_room(struct kl_inspect *in, size_t rows)
{
	size_t room = rows * in->answer.row_bytes;
	uint8_t *more;

	if (room <= in->room)
		return 0;
	more = realloc(in->rows, room);
	if (!more)
		return kl_fail(ENOMEM, "out of memory");
	in->rows = more;
	in->room = room;
	return 0;
}

int kl_inspect_read(struct kl_inspect *in, const int32_t *ids, size_t n, unsigned int flags)
{
	int ret;

	do {
		struct kl_abi_inspect call = {
			.flags = flags | (ids ? 0 : KL_INSPECT_ALL),
			.n_variables = (uint32_t)in->n,
			.n_ids = ids ? (uint32_t)n : 0,
			.variables = (uintptr_t)in->ids,
			.ids = (uintptr_t)ids,
			.rows = (uintptr_t)in->rows,
			.room = in->room,
		};

		ret = kl_client_call(in->device->fd, KL_IOC_INSPECT, &call, sizeof(call),
				     "inspect processes");
		if (ret)
			return ret;
		in->answer = call;
		/* Some extra, for processes that start in the meantime. */
		if (call.n_rows < call.n_there)
			ret = make_room(in, call.n_there + call.n_there / 8 + 16);
	} while (!ret && in->answer.n_rows < in->answer.n_there);
	return ret ? ret : (int)in->answer.n_rows;
}

uint64_t kl_inspect_time_ns(const struct kl_inspect *in)
{
	return in->answer.monotonic_ns;
}

int32_t kl_inspect_row(const struct kl_inspect *in, size_t row, bool *there)
{
	struct kl_abi_inspected head;

	memcpy(&head, in->rows + row * in->answer.row_bytes, sizeof(head));
	*there = head.status == KL_INSPECTED;
	return head.id;
}

struct kl_value kl_inspect_value(const struct kl_inspect *in, size_t row, size_t column)
{
	const uint8_t *at = in->rows + row * in->answer.row_bytes + in->offset[column];

	return kl_value_of(&kl_variable_get(in->ids[column])->field, at);
}
