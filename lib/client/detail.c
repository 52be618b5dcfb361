// SPDX-License-Identifier: GPL-2.0
/*
 * KL_IOC_DETAIL: reads all records of a kind, in several calls, and decodes them. The records come
 * from the module, but nothing outside the received data is accessed, whatever they contain.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <kernlens/detail.h>
#include "../base/base.h"
#include "client.h"

#define ROOM 65536 /* bytes a call */
#define CALLS_MAX 100000 /* for one list; a process cannot grow it forever */

/* ------------------------------------------------------------------ reading */

/* The file is not read: being able to open it is the proof. */
static int open_proof(int pid, uint32_t what)
{
	char path[64];

	switch (what) {
	case KL_DETAIL_SYSCALL:
	case KL_DETAIL_WAIT:
		snprintf(path, sizeof(path), "/proc/%d/mem", pid);
		break;
	case KL_DETAIL_ENVIRONMENT:
		snprintf(path, sizeof(path), "/proc/%d/environ", pid);
		break;
	default:
		return -1;
	}
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int read_all(struct kl_device *device, struct kl_abi_detail *call, struct kl_details *to)
{
	for (unsigned int i = 0; i < CALLS_MAX; i++) {
		char *room = kl_buffer_reserve(&to->records, ROOM);
		const uint64_t cursor = call->cursor;
		int ret;

		if (!room)
			return kl_fail(ENOMEM, "out of memory");
		call->buffer = (uintptr_t)room;
		call->bytes = ROOM;
		ret = kl_client_call(device->fd, KL_IOC_DETAIL, call, sizeof(*call),
				     "inspect the process");
		if (ret)
			return ret;
		to->records.length += call->bytes;
		to->flags |= call->flags;
		/* A call that has looked at many pages may have found none. */
		if (!(call->flags & KL_DETAIL_MORE) || call->cursor == cursor)
			break;
	}
	to->flags &= ~KL_DETAIL_MORE;
	return 0;
}

/* ------------------------------------------------------------------ decoding */

/* Sizes of the structs, and which members hold the lengths of their texts. */
struct layout {
	uint16_t bytes;
	uint16_t text_at; /* offset of the first text's length in the struct; 0: no text */
	uint16_t more_at;
};

#define LAYOUT(name)                                         \
	{                                                    \
		.bytes = sizeof(struct kl_abi_detail_##name) \
	}
#define LAYOUT_TEXT(name, first)                                         \
	{                                                                \
		.bytes = sizeof(struct kl_abi_detail_##name),            \
		.text_at = offsetof(struct kl_abi_detail_##name, first), \
	}
#define LAYOUT_TEXTS(name, first, second)                                 \
	{                                                                 \
		.bytes = sizeof(struct kl_abi_detail_##name),             \
		.text_at = offsetof(struct kl_abi_detail_##name, first),  \
		.more_at = offsetof(struct kl_abi_detail_##name, second), \
	}

static const struct layout layouts[] = {
	[KL_DETAIL_TASK] = LAYOUT(task),
	[KL_DETAIL_COMMAND] = LAYOUT_TEXT(bytes, text_bytes),
	[KL_DETAIL_PATHS] = LAYOUT_TEXT(path, text_bytes),
	[KL_DETAIL_FILES] = LAYOUT_TEXTS(file, text_bytes, info_bytes),
	[KL_DETAIL_SOCKETS] = LAYOUT(socket),
	[KL_DETAIL_MAPS] = LAYOUT_TEXT(map, text_bytes),
	[KL_DETAIL_MEMORY] = LAYOUT(memory),
	[KL_DETAIL_SIGNALS] = LAYOUT(signals),
	[KL_DETAIL_NAMESPACES] = LAYOUT(namespace),
	[KL_DETAIL_CGROUPS] = LAYOUT_TEXTS(cgroup, name_bytes, text_bytes),
	[KL_DETAIL_RIGHTS] = LAYOUT_TEXT(rights, text_bytes),
	[KL_DETAIL_AFFINITY] = LAYOUT_TEXTS(affinity, cpu_bytes, node_bytes),
	[KL_DETAIL_LIMITS] = LAYOUT(limits),
	[KL_DETAIL_IO] = LAYOUT(io),
	[KL_DETAIL_SYSCALL] = LAYOUT(syscall),
	[KL_DETAIL_STACK] = LAYOUT(frame),
	[KL_DETAIL_WAIT] = LAYOUT_TEXT(wait, text_bytes),
	[KL_DETAIL_CHILDREN] = LAYOUT(child),
	[KL_DETAIL_ENVIRONMENT] = LAYOUT_TEXT(bytes, text_bytes),
	[KL_DETAIL_PAGES] = LAYOUT(pages),
	[KL_DETAIL_RECORD_WAIT_ON] = LAYOUT_TEXTS(file, text_bytes, info_bytes),
	[KL_DETAIL_RECORD_WAIT_SOCKET] = LAYOUT(socket),
	[KL_DETAIL_RECORD_WAIT_OTHER] = LAYOUT(other),
};

/* Bit sets and numbers are not NUL-terminated. */
static bool has_nul(uint32_t kind)
{
	return kind != KL_DETAIL_AFFINITY && kind != KL_DETAIL_RIGHTS;
}

/* Take the text of @bytes at *@at; false if it exceeds the record. */
static bool take_text(const char *record, size_t end, size_t *at, uint32_t bytes, bool nul,
		      const char **text, size_t *text_bytes)
{
	if (bytes > end - *at || (nul && (bytes == end - *at || record[*at + bytes])))
		return false;
	*text = record + *at;
	*text_bytes = bytes;
	*at += bytes + nul;
	return true;
}

static bool decode(struct kl_detail *to, const char *record, size_t bytes)
{
	const struct kl_abi_detail_record *head = (const void *)record;
	const struct layout *layout;
	bool nul = has_nul(head->kind);
	size_t at;

	if (head->kind >= KL_ARRAY_SIZE(layouts) || !layouts[head->kind].bytes)
		return false;
	layout = &layouts[head->kind];
	at = layout->bytes;
	if (bytes < at)
		return false;
	memset(to, 0, sizeof(*to));
	memcpy(&to->record, record, at);
	to->kind = head->kind;
	to->is_cut = head->flags & KL_DETAIL_CUT;
	to->text = "";
	to->more = "";
	if (layout->text_at && !take_text(record, bytes, &at, kl_get32(record + layout->text_at),
					  nul, &to->text, &to->text_bytes))
		return false;
	return !layout->more_at || take_text(record, bytes, &at, kl_get32(record + layout->more_at),
					     nul, &to->more, &to->more_bytes);
}

static size_t record_bytes(const struct kl_details *details, size_t at)
{
	size_t left = details->records.length - at;
	uint32_t bytes;

	if (left < sizeof(struct kl_abi_detail_record))
		return 0;
	bytes = kl_get32(details->records.data + at);
	return bytes >= sizeof(struct kl_abi_detail_record) && !(bytes & 7) && bytes <= left ?
		       bytes :
		       0;
}

static int decode_all(struct kl_details *to)
{
	size_t n = 0, bytes;

	for (size_t at = 0; (bytes = record_bytes(to, at)); at += bytes)
		n++;
	to->entry = calloc(n + 1, sizeof(*to->entry));
	if (!to->entry)
		return kl_fail(ENOMEM, "out of memory");
	for (size_t at = 0; (bytes = record_bytes(to, at)); at += bytes)
		if (!decode(&to->entry[to->n++], to->records.data + at, bytes))
			return kl_fail(EPROTO, "cannot decode the module's reply");
	return 0;
}

/* Join the parts of a text; the result replaces the records. */
static int join(struct kl_details *to)
{
	size_t bytes = 0;
	char *all;

	for (size_t i = 0; i < to->n; i++)
		bytes += to->entry[i].text_bytes;
	all = malloc(bytes + 1);
	if (!all)
		return kl_fail(ENOMEM, "out of memory");
	bytes = 0;
	for (size_t i = 0; i < to->n; i++) {
		memcpy(all + bytes, to->entry[i].text, to->entry[i].text_bytes);
		bytes += to->entry[i].text_bytes;
	}
	all[bytes] = 0;
	kl_buffer_deinit(&to->records);
	to->records = (struct kl_buffer){ .data = all, .length = bytes, .capacity = bytes + 1 };
	to->entry[0].text = all;
	to->entry[0].text_bytes = bytes;
	to->n = 1;
	return 0;
}

int kl_details_read(struct kl_device *device, int pid, uint32_t what, struct kl_details *details)
{
	struct kl_abi_detail call = { .pid = pid, .what = what };
	int ret;

	memset(details, 0, sizeof(*details));
	call.proof = open_proof(pid, what);
	ret = read_all(device, &call, details);
	if (call.proof >= 0)
		close(call.proof);
	if (!ret)
		ret = decode_all(details);
	if (!ret && details->n > 1 && (what == KL_DETAIL_COMMAND || what == KL_DETAIL_ENVIRONMENT))
		ret = join(details);
	if (ret)
		kl_details_deinit(details);
	return ret;
}

void kl_details_deinit(struct kl_details *details)
{
	free(details->entry);
	kl_buffer_deinit(&details->records);
	memset(details, 0, sizeof(*details));
}
