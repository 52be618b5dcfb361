// SPDX-License-Identifier: GPL-2.0
/*
 * Call traces with names, by id; as text, for a trace directory, and back. Texts are
 * kept once: a few thousand functions make up all traces.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/stack.h>
#include "../base/base.h"
#include "../base/texts.h"
#include "schema.h"

#define VERSION 2
#define FILE_BYTES_MAX (1u << 30)

struct kl_stacks {
	struct kl_stack *stack; /* by id less one; id 0: not there */
	size_t room;
	size_t n;
	uint64_t no_room;
	struct kl_texts texts;
	bool raw; /* no names, only symbols */
};

struct kl_stacks *kl_stacks_create(void)
{
	struct kl_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		kl_fail(ENOMEM, "out of memory");
	return stacks;
}

void kl_stacks_destroy(struct kl_stacks *stacks)
{
	if (!stacks)
		return;
	for (size_t i = 0; i < stacks->room; i++)
		free(stacks->stack[i].frame);
	free(stacks->stack);
	kl_texts_deinit(&stacks->texts);
	free(stacks);
}

/* --------------------------------------------------------------- traces */

static int make_room(struct kl_stacks *stacks, uint32_t id)
{
	struct kl_stack *grown;
	size_t room = stacks->room ? stacks->room : 64;

	if (id <= stacks->room)
		return 0;
	while (room < id)
		room *= 2;
	grown = reallocarray(stacks->stack, room, sizeof(*grown));
	if (!grown)
		return kl_fail(ENOMEM, "out of memory");
	memset(&grown[stacks->room], 0, (room - stacks->room) * sizeof(*grown));
	stacks->stack = grown;
	stacks->room = room;
	return 0;
}

static void set_name(struct kl_stacks *stacks, struct kl_frame *frame)
{
	bool wanted = frame->symbol && !stacks->raw;

	frame->name = wanted ? kl_texts_demangled(&stacks->texts, frame->symbol) : NULL;
}

static int keep_texts(struct kl_stacks *stacks, struct kl_frame *frame)
{
	if (kl_texts_keep(&stacks->texts, &frame->symbol) ||
	    kl_texts_keep(&stacks->texts, &frame->object) ||
	    kl_texts_keep(&stacks->texts, &frame->build_id) ||
	    kl_texts_keep(&stacks->texts, &frame->source))
		return -ENOMEM;
	set_name(stacks, frame);
	return 0;
}

void kl_stacks_demangle(struct kl_stacks *stacks, bool wanted)
{
	stacks->raw = !wanted;
	for (size_t i = 0; i < stacks->room; i++)
		for (unsigned int k = 0; stacks->stack[i].id && k < stacks->stack[i].n; k++)
			set_name(stacks, &stacks->stack[i].frame[k]);
}

int kl_stacks_add(struct kl_stacks *stacks, const struct kl_stack *stack)
{
	struct kl_frame *frames;
	struct kl_stack *to;

	if (!stack->id || stack->id > KL_STACK_TRACES_MAX || !stack->n || stack->n > KL_FRAMES_MAX)
		return kl_fail(EINVAL, "there cannot be a call trace %u of %u frames", stack->id,
			       stack->n);
	if (make_room(stacks, stack->id))
		return -ENOMEM;
	frames = calloc(stack->n, sizeof(*frames));
	if (!frames)
		return kl_fail(ENOMEM, "out of memory");
	memcpy(frames, stack->frame, stack->n * sizeof(*frames));
	for (unsigned int i = 0; i < stack->n; i++) {
		if (keep_texts(stacks, &frames[i])) {
			free(frames);
			return -ENOMEM;
		}
	}
	to = &stacks->stack[stack->id - 1];
	stacks->n += !to->id;
	free(to->frame);
	*to = *stack;
	to->frame = frames;
	return 0;
}

const struct kl_stack *kl_stacks_get(const struct kl_stacks *stacks, uint64_t id)
{
	if (!stacks || !id || id > stacks->room || !stacks->stack[id - 1].id)
		return NULL;
	return &stacks->stack[id - 1];
}

size_t kl_stacks_count(const struct kl_stacks *stacks)
{
	return stacks->n;
}

uint64_t kl_stacks_no_room(const struct kl_stacks *stacks)
{
	return stacks->no_room;
}

void kl_stacks_set_no_room(struct kl_stacks *stacks, uint64_t number)
{
	stacks->no_room = number;
}

void kl_schema_set_stacks(struct kl_schema *schema, const struct kl_stacks *stacks)
{
	schema->stacks = stacks;
}

/* --------------------------------------------------------------- as text */

/* A word: what would end it, and backslashes, as \ooo; nothing as -. */
static void write_word(struct kl_buffer *buffer, const char *text)
{
	if (!text || !*text) {
		kl_buffer_add_char(buffer, '-');
		return;
	}
	for (const char *at = text; *at; at++) {
		unsigned char c = *at;

		if (c <= ' ' || c == 0x7f || c == '\\' || (c == '-' && !text[1]))
			kl_buffer_printf(buffer, "\\%03o", c);
		else
			kl_buffer_add_char(buffer, *at);
	}
}

void kl_stacks_write(const struct kl_stacks *stacks, struct kl_buffer *buffer)
{
	kl_buffer_printf(buffer, "kernlens-stacks %d\nno-room %llu\n", VERSION,
			 (unsigned long long)stacks->no_room);
	for (size_t i = 0; i < stacks->room; i++) {
		const struct kl_stack *stack = &stacks->stack[i];

		if (!stack->id)
			continue;
		kl_buffer_printf(buffer, "stack %u %u %u %d %u\n", stack->id,
				 (unsigned int)stack->kind, stack->flags, stack->pid, stack->n);
		for (unsigned int k = 0; k < stack->n; k++) {
			const struct kl_frame *frame = &stack->frame[k];

			kl_buffer_printf(buffer, "%llx ", (unsigned long long)frame->address);
			write_word(buffer, frame->symbol);
			kl_buffer_printf(buffer, " %llx ", (unsigned long long)frame->offset);
			write_word(buffer, frame->object);
			kl_buffer_add_char(buffer, ' ');
			write_word(buffer, frame->build_id);
			kl_buffer_printf(buffer, " %llx ", (unsigned long long)frame->place);
			write_word(buffer, frame->source);
			kl_buffer_printf(buffer, " %u %d\n", frame->line, frame->inlined);
		}
	}
}

/* What is parsed: a copy that is cut into words. */
struct lines {
	char *at;
	char *end;
	unsigned int number;
	uint64_t version;
};

static char *next_line(struct lines *lines)
{
	char *line = lines->at, *end;

	if (line >= lines->end)
		return NULL;
	end = memchr(line, '\n', (size_t)(lines->end - line));
	if (!end)
		return NULL;
	*end = 0;
	lines->at = end + 1;
	lines->number++;
	return line;
}

static bool take_number(char **at, int base, uint64_t *number)
{
	char *end;

	if (**at == ' ')
		(*at)++;
	if (!**at || **at == ' ')
		return false;
	errno = 0;
	*number = strtoull(*at, &end, base);
	if (errno || (*end && *end != ' '))
		return false;
	*at = end;
	return true;
}

static bool is_octal(const char *at)
{
	return at[0] >= '0' && at[0] <= '3' && at[1] >= '0' && at[1] <= '7' && at[2] >= '0' &&
	       at[2] <= '7' && (at[0] | at[1] | at[2]) != '0';
}

/* Undone in place. */
static bool take_word(char **at, const char **word)
{
	char *from = *at, *to;

	if (*from == ' ')
		from++;
	*word = to = from;
	while (*from && *from != ' ') {
		if (*from != '\\') {
			*to++ = *from++;
			continue;
		}
		if (!is_octal(from + 1))
			return false;
		*to++ = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
		from += 4;
	}
	if (!*from) {
		*at = from;
	} else {
		*from = 0;
		*at = from + 1;
	}
	if (to == *word)
		return false;
	if (to == *word + 1 && **word == '-' && from == *word + 1) {
		*word = NULL;
		return true;
	}
	*to = 0;
	return true;
}

/* What version 2 has beside the rest. */
static bool parse_source(char **line, struct kl_frame *frame)
{
	uint64_t number, inlined;

	if (!take_word(line, &frame->source) || !take_number(line, 10, &number) ||
	    !take_number(line, 10, &inlined) || number > UINT32_MAX || inlined > 1)
		return false;
	frame->line = (uint32_t)number;
	frame->inlined = inlined;
	return true;
}

static bool parse_frame(const struct lines *lines, char *line, struct kl_frame *frame)
{
	*frame = (struct kl_frame){};
	return take_number(&line, 16, &frame->address) && take_word(&line, &frame->symbol) &&
	       take_number(&line, 16, &frame->offset) && take_word(&line, &frame->object) &&
	       take_word(&line, &frame->build_id) && take_number(&line, 16, &frame->place) &&
	       (lines->version == 1 || (*line == ' ' && parse_source(&line, frame))) && !*line;
}

static bool parse_stack(struct kl_stacks *stacks, char *line, struct lines *lines)
{
	struct kl_frame frames[KL_FRAMES_MAX];
	struct kl_stack stack = { .frame = frames };
	uint64_t id, kind, flags, n;
	char *pid;

	if (!take_number(&line, 10, &id) || !take_number(&line, 10, &kind) || kind > 1 ||
	    !take_number(&line, 10, &flags) || *line != ' ')
		return false;
	pid = line + 1;
	stack.pid = (int32_t)strtol(pid, &line, 10);
	if (line == pid || !take_number(&line, 10, &n) || *line || !n || n > KL_FRAMES_MAX ||
	    id > KL_STACK_TRACES_MAX)
		return false;
	stack.id = (uint32_t)id;
	stack.kind = (enum kl_stack_kind)kind;
	stack.flags = (unsigned int)flags;
	stack.n = (unsigned int)n;
	for (unsigned int i = 0; i < n; i++) {
		line = next_line(lines);
		if (!line || !parse_frame(lines, line, &frames[i]))
			return false;
	}
	return !kl_stacks_add(stacks, &stack);
}

static bool parse_lines(struct kl_stacks *stacks, struct lines *lines)
{
	char *line = next_line(lines);

	if (!line || strncmp(line, "kernlens-stacks ", 16) != 0)
		return false;
	line += 16;
	if (!take_number(&line, 10, &lines->version) || !lines->version || lines->version > VERSION)
		return false;
	while ((line = next_line(lines))) {
		if (!strncmp(line, "no-room ", 8)) {
			line += 8;
			if (!take_number(&line, 10, &stacks->no_room))
				return false;
		} else if (!strncmp(line, "stack ", 6)) {
			if (!parse_stack(stacks, line + 6, lines))
				return false;
		} else {
			return false;
		}
	}
	return lines->at == lines->end;
}

struct kl_stacks *kl_stacks_parse(const char *text, size_t bytes)
{
	struct kl_stacks *stacks = kl_stacks_create();
	char *copy = malloc(bytes + 1);
	struct lines lines = {};
	int error = 0;

	if (!stacks || !copy) {
		error = ENOMEM;
	} else {
		memcpy(copy, text, bytes);
		copy[bytes] = 0;
		lines = (struct lines){ .at = copy, .end = copy + bytes };
		if (memchr(copy, 0, bytes) || !parse_lines(stacks, &lines))
			error = EINVAL;
	}
	free(copy);
	if (!error)
		return stacks;
	kl_fail(error, "call traces: line %u cannot be understood", lines.number);
	kl_stacks_destroy(stacks);
	errno = error;
	return NULL;
}

/* ----------------------------------------------------- a trace's directory */

static int read_all(int fd, struct kl_buffer *buffer)
{
	ssize_t n;

	do {
		char *at = kl_buffer_reserve(buffer, 1u << 16);

		if (!at || buffer->length > FILE_BYTES_MAX)
			return kl_fail(ENOMEM, "out of memory");
		n = read(fd, at, 1u << 16);
		if (n > 0)
			buffer->length += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n ? kl_fail_system(errno, KL_STACKS_FILE) : 0;
}

struct kl_stacks *kl_stacks_load(const char *path)
{
	struct kl_buffer buffer = { 0 };
	struct kl_stacks *stacks = NULL;
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd, error;

	fd = dir < 0 ? -1 : openat(dir, KL_STACKS_FILE, O_RDONLY | O_CLOEXEC);
	error = fd < 0 ? kl_fail_system(errno, "%s/%s", path, KL_STACKS_FILE) :
			 read_all(fd, &buffer);
	if (!error) {
		stacks = kl_stacks_parse(buffer.data ? buffer.data : "", buffer.length);
		error = stacks ? 0 : -errno;
	}
	kl_buffer_deinit(&buffer);
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	errno = -error;
	return stacks;
}

static int write_file(int dir, const struct kl_buffer *buffer)
{
	int fd = openat(dir, KL_STACKS_FILE ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int error;

	if (fd < 0)
		return -errno;
	error = kl_write_all(fd, buffer->data, buffer->length);
	if (close(fd) && !error)
		error = -errno;
	if (!error && renameat(dir, KL_STACKS_FILE ".new", dir, KL_STACKS_FILE))
		error = -errno;
	return error;
}

int kl_stacks_save(const struct kl_stacks *stacks, const char *path)
{
	struct kl_buffer buffer = { 0 };
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), error;

	if (dir < 0)
		return kl_fail_system(errno, "%s", path);
	kl_stacks_write(stacks, &buffer);
	if (buffer.error)
		error = -ENOMEM;
	else if (mkdirat(dir, KL_STACKS_FOLDER, 0777) && errno != EEXIST)
		error = -errno;
	else
		error = write_file(dir, &buffer);
	kl_buffer_deinit(&buffer);
	close(dir);
	return error ? kl_fail_system(-error, "%s/%s", path, KL_STACKS_FILE) : 0;
}
