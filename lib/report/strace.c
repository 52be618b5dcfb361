// SPDX-License-Identifier: GPL-2.0
/*
 * Prints system calls as strace does. One line is open at a time, that of the last entry. Any other
 * output closes it with "<unfinished ...>", and the call's return then gets a line of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>

#include <kernlens/format.h>
#include <kernlens/strace.h>
#include "../base/base.h"
#include "../base/table.h"

#define ERROR_MAX 4095
#define LATE_MAX 2 /* maximum strings of a call */

/* The call that a thread is in. Key: tid + 1. */
struct thread {
	uint64_t key;
	uint64_t since_ns;
	int16_t number;
	bool inside;
};

/* A string argument that was not in memory at the call's entry. */
struct late {
	unsigned int index;
	uint32_t length;
	uint8_t text[KL_STRING_MAX];
};

struct kl_strace {
	unsigned int flags;
	struct kl_hash threads;
	struct kl_buffer line; /* text of the last entry */
	uint64_t open; /* the thread's key, 0: no line is open */
	struct kl_event entry; /* the entry in the open line */
	uint8_t payload[KL_RECORD_MAX];
	struct late late[LATE_MAX];
	unsigned int n_late;
};

struct kl_strace *kl_strace_create(unsigned int flags)
{
	struct kl_strace *strace = calloc(1, sizeof(*strace));

	if (!strace) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	strace->flags = flags;
	strace->threads.size = sizeof(struct thread);
	return strace;
}

void kl_strace_destroy(struct kl_strace *strace)
{
	if (!strace)
		return;
	kl_hash_deinit(&strace->threads);
	kl_buffer_deinit(&strace->line);
	free(strace);
}

static void print_prefix(const struct kl_strace *strace, struct kl_buffer *buffer,
			 const struct kl_event *event)
{
	uint64_t ns = strace->flags & KL_STRACE_RELATIVE ? event->since_ns : event->ns;

	if (strace->flags & KL_STRACE_TIMES)
		kl_buffer_printf(buffer, "[%llu.%09llu] ", (unsigned long long)ns / KL_NS_PER_S,
				 (unsigned long long)ns % KL_NS_PER_S);
	kl_buffer_printf(buffer, "%-7d ", event->task.tid);
}

static const char *call_name(const struct kl_event *event)
{
	return event->event_class->name + (event->event_class->kind == KL_CLASS_SYSCALL_ENTRY ?
						   strlen("syscall_entry_") :
						   strlen("syscall_exit_"));
}

/* strace prints a null pointer as NULL, and file descriptors as signed. */
static void print_argument(struct kl_buffer *buffer, const struct kl_value *value)
{
	if (value->field->format == KL_FORMAT_ptr && !value->number)
		kl_buffer_add_string(buffer, "NULL");
	else if (value->field->format == KL_FORMAT_fd &&
		 !kl_print_meaning(buffer, KL_FORMAT_fd, value->number))
		kl_buffer_add_signed(buffer, (int32_t)value->number);
	else if (value->field->format != KL_FORMAT_fd)
		kl_print_value(buffer, value);
}

/* A file mode is only meaningful if the call creates a file. */
static bool is_wanted(const struct kl_event *event, unsigned int index)
{
	struct kl_value before;

	if (!index || event->event_class->fields[index].format != KL_FORMAT_mode ||
	    event->event_class->fields[index - 1].format != KL_FORMAT_open_flags)
		return true;
	before = kl_event_value(event, index - 1);
	return before.number & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY));
}

/* Close the open line before other output. */
static void leave_unfinished(struct kl_strace *strace, struct kl_buffer *buffer)
{
	if (!strace->open)
		return;
	kl_buffer_add(buffer, strace->line.data, strace->line.length);
	kl_buffer_add_string(buffer, " <unfinished ...>\n");
	strace->open = 0;
}

static void print_arguments(const struct kl_strace *strace, struct kl_buffer *buffer)
{
	const struct kl_event *event = &strace->entry;

	for (unsigned int i = 0; i < event->event_class->n_fields; i++) {
		struct kl_value value = kl_event_value(event, i);

		if (!is_wanted(event, i))
			continue;
		for (unsigned int k = 0; k < strace->n_late; k++) {
			if (strace->late[k].index != i || value.field->type != KL_TYPE_STRING)
				continue;
			value.bytes = strace->late[k].text;
			value.length = strace->late[k].length;
		}
		if (i)
			kl_buffer_add_string(buffer, ", ");
		print_argument(buffer, &value);
	}
}

/* Format the entry again, now that more strings are known. */
static void print_line(struct kl_strace *strace)
{
	kl_buffer_reset(&strace->line);
	print_prefix(strace, &strace->line, &strace->entry);
	kl_buffer_printf(&strace->line, "%s(", call_name(&strace->entry));
	print_arguments(strace, &strace->line);
}

static int add_entry(struct kl_strace *strace, struct kl_buffer *buffer,
		     const struct kl_event *event)
{
	struct thread *thread = kl_hash_get(&strace->threads, (uint64_t)event->task.tid + 1);

	if (!thread)
		return -ENOMEM;
	leave_unfinished(strace, buffer);
	thread->inside = true;
	thread->since_ns = event->ns;
	thread->number = event->event_class->syscall;
	if (event->payload_bytes > sizeof(strace->payload))
		return kl_fail(EINVAL, "%s is too long for a record", event->event_class->name);
	strace->entry = *event;
	memcpy(strace->payload, event->payload, event->payload_bytes);
	strace->entry.payload = strace->payload;
	strace->n_late = 0;
	strace->open = thread->key;
	print_line(strace);
	return strace->line.error;
}

/* Add the string to the line if it is still open, else print a line of its own. */
static int add_late(struct kl_strace *strace, struct kl_buffer *buffer,
		    const struct kl_event *event)
{
	struct kl_value index, text;
	struct late *late;

	if (kl_event_field(event, "arg", &index) || kl_event_field(event, "text", &text))
		return 0;
	if (strace->open != (uint64_t)event->task.tid + 1) {
		leave_unfinished(strace, buffer);
		print_prefix(strace, buffer, event);
		kl_buffer_printf(buffer, "<... argument %llu is ",
				 (unsigned long long)index.number + 1);
		kl_print_quoted(buffer, text.bytes, text.length);
		kl_buffer_add_string(buffer, ">\n");
		return buffer->error;
	}
	if (strace->n_late == LATE_MAX || text.length > KL_STRING_MAX)
		return 0;
	late = &strace->late[strace->n_late++];
	late->index = index.number;
	late->length = text.length;
	memcpy(late->text, text.bytes, text.length);
	print_line(strace);
	return strace->line.error;
}

static void print_result(struct kl_buffer *buffer, const struct kl_event *event)
{
	int64_t result = kl_event_value(event, 0).number;
	const char *name = NULL;
	char words[128];

	if (result < 0 && result >= -ERROR_MAX)
		name = kl_errno_name(-result);
	if (name && result > -512)
		kl_buffer_printf(buffer, " = -1 %s (%s)", name,
				 strerror_r(-result, words, sizeof(words)));
	else if (name)
		kl_buffer_printf(buffer, " = ? %s", name);
	else if (result > 0xffffffffll || result < -ERROR_MAX)
		kl_buffer_printf(buffer, " = 0x%llx", (unsigned long long)result);
	else
		kl_buffer_printf(buffer, " = %lld", (long long)result);
}

static int add_exit(struct kl_strace *strace, struct kl_buffer *buffer,
		    const struct kl_event *event)
{
	struct thread *thread = kl_hash_get(&strace->threads, (uint64_t)event->task.tid + 1);
	bool paired;
	uint64_t ns;

	if (!thread)
		return -ENOMEM;
	paired = thread->inside && thread->number == event->event_class->syscall;
	if (strace->open == thread->key && paired) {
		kl_buffer_add(buffer, strace->line.data, strace->line.length);
		kl_buffer_add_char(buffer, ')');
		strace->open = 0;
	} else {
		leave_unfinished(strace, buffer);
		print_prefix(strace, buffer, event);
		kl_buffer_printf(buffer, "<... %s resumed>)", call_name(event));
	}
	print_result(buffer, event);
	if (paired) {
		ns = event->ns - thread->since_ns;
		kl_buffer_printf(buffer, " <%llu.%06llu>", (unsigned long long)ns / KL_NS_PER_S,
				 (unsigned long long)ns % KL_NS_PER_S / 1000);
	}
	kl_buffer_add_char(buffer, '\n');
	thread->inside = false;
	return buffer->error;
}

int kl_strace_add(struct kl_strace *strace, struct kl_buffer *buffer, const struct kl_item *item)
{
	struct thread *thread = NULL;
	unsigned int show;

	if (item->kind == KL_ITEM_LOSS) {
		leave_unfinished(strace, buffer);
		while ((thread = kl_hash_next(&strace->threads, thread)))
			thread->inside = false;
		show = strace->flags & KL_STRACE_TIMES && !(strace->flags & KL_STRACE_RELATIVE) ?
			       0 :
			       KL_SHOW_RELATIVE;
		kl_print_loss(buffer, KL_STYLE_TEXT, show, item->loss);
		return buffer->error;
	}
	if (item->event->event_class->kind == KL_CLASS_SYSCALL_ENTRY)
		return add_entry(strace, buffer, item->event);
	if (item->event->event_class->kind == KL_CLASS_SYSCALL_EXIT &&
	    item->event->event_class->n_fields)
		return add_exit(strace, buffer, item->event);
	if (!strcmp(item->event->event_class->name, "syscall_late_string"))
		return add_late(strace, buffer, item->event);
	return 0;
}

void kl_strace_finish(struct kl_strace *strace, struct kl_buffer *buffer)
{
	leave_unfinished(strace, buffer);
}
