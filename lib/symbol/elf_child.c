// SPDX-License-Identifier: GPL-2.0
/*
 * The child process that reads ELF files for elf_process.c. It has none of the parent's
 * descriptors, no capabilities, limited memory, and a time limit for each request. If root starts
 * it, it does not even have a user's rights (elf_rights.c). It exits when the socket closes.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/base.h"
#include "../base/plain.h"
#include "elf_message.h"
#include "elf_names.h"
#include "elf_rights.h"

#define NEAR 16 /* preceding lines that are searched for the same file name */
#define TEXT_BYTES 1800 /* of a name or path; a message holds 2 * KL_ELF_FOUND_MAX */
#define ROWS_MAX ((KL_ELF_MESSAGE_BYTES - sizeof(struct kl_elf_answer)) / KL_ELF_ROW_BYTES)

/* Ctrl-C is for the parent, which needs answers until it exits. */
static void set_signals(void)
{
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGQUIT);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGHUP);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	signal(SIGALRM, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGABRT, SIG_DFL);
}

/* Returns the number of bytes. *@fd is the descriptor that was passed along, or -1. */
static ssize_t receive(int socket, struct kl_elf_request *request, int *fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec vector = { request, sizeof(*request) };
	struct msghdr message = { .msg_iov = &vector,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *header = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	*fd = -1;
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(header), sizeof(*fd));
	return n;
}

/* Append a text in printable form; returns its offset, or 0. */
static uint32_t add_text(char *message, size_t *length, const char *text)
{
	uint32_t at = (uint32_t)*length;
	size_t bytes = text ? strnlen(text, TEXT_BYTES - 1) : 0;

	if (!text)
		return 0;
	memcpy(message + at, text, bytes);
	kl_make_plain(message + at, bytes);
	message[at + bytes] = 0;
	*length += bytes + 1;
	return at;
}

static size_t answer_find(struct kl_elf_names *names, const struct kl_elf_request *request,
			  char *message)
{
	struct kl_dwarf_frame frame[KL_ELF_FOUND_MAX];
	struct kl_elf_answer *answer = (struct kl_elf_answer *)message;
	size_t length = sizeof(*answer);

	if (names)
		answer->n = (int32_t)kl_elf_names_find(names, request->place, request->lines, frame,
						       KL_ELF_FOUND_MAX);
	length += (size_t)answer->n * sizeof(struct kl_elf_found);
	for (int32_t i = 0; i < answer->n; i++) {
		struct kl_elf_found found = {
			.offset = frame[i].offset,
			.line = frame[i].line,
			.inlined = frame[i].inlined,
			.has_symbol = !!frame[i].symbol,
			.has_source = !!frame[i].source,
		};

		found.symbol = add_text(message, &length, frame[i].symbol);
		found.source = add_text(message, &length, frame[i].source);
		memcpy(message + sizeof(*answer) + (size_t)i * sizeof(found), &found,
		       sizeof(found));
	}
	return length;
}

static size_t answer_variable(struct kl_elf_names *names, const struct kl_elf_request *request,
			      char *message)
{
	struct kl_elf_answer *answer = (struct kl_elf_answer *)message;
	size_t length = sizeof(*answer);
	const char *name = names ? kl_elf_names_variable(names, request->place, request->distance,
							 &answer->address) :
				   NULL;

	answer->n = !!name;
	add_text(message, &length, name);
	return length;
}

/* Offset of a file name that the message already contains, or 0. */
static uint32_t near_source(const struct kl_elf_source *line, uint32_t i, const char *source,
			    const char *message)
{
	for (uint32_t k = i; k > 0 && i - k < NEAR; k--)
		if (line[k - 1].line && !strcmp(message + line[k - 1].source, source))
			return line[k - 1].source;
	return 0;
}

/* Looks up fewer addresses than requested if the file names do not fit the message. */
static size_t answer_lines(struct kl_elf_names *names, const struct kl_elf_request *request,
			   char *message)
{
	struct kl_elf_answer *answer = (struct kl_elf_answer *)message;
	struct kl_elf_source line[KL_ELF_LINES_MAX] = {};
	uint32_t n = request->lines < KL_ELF_LINES_MAX ? request->lines : KL_ELF_LINES_MAX;
	size_t length = sizeof(*answer) + n * sizeof(*line);
	const char *last = NULL;
	uint32_t source = 0;

	for (uint32_t i = 0; names && i < n && length + TEXT_BYTES <= KL_ELF_MESSAGE_BYTES; i++) {
		struct kl_dwarf_frame frame;

		answer->n++;
		if (!kl_elf_names_line(names, request->address[i], &frame))
			continue;
		/* Consecutive addresses are mostly in the same file, or in a recent one. */
		if (frame.source != last)
			source = near_source(line, i, frame.source, message);
		if (!source)
			source = add_text(message, &length, frame.source);
		line[i] = (struct kl_elf_source){ frame.line, source };
		last = frame.source;
	}
	memcpy(message + sizeof(*answer), line, n * sizeof(*line));
	return length;
}

static size_t answer_place(struct kl_elf_names *names, const struct kl_elf_request *request,
			   char *message)
{
	struct kl_elf_answer *answer = (struct kl_elf_answer *)message;

	if (!names || !kl_elf_names_place(names, request->path, &answer->address))
		answer->n = -ENOENT;
	return sizeof(*answer);
}

/* As many rows as fit. */
static size_t answer_unwind(struct kl_elf_names *names, const struct kl_elf_request *request,
			    char *message)
{
	const struct kl_cfi_table *table = names ? kl_elf_names_unwind(names) : NULL;
	struct kl_elf_answer *answer = (struct kl_elf_answer *)message;
	size_t n = table && request->place < table->n ? table->n - request->place : 0;

	if (n > ROWS_MAX)
		n = ROWS_MAX;
	answer->n = (int32_t)n;
	if (n)
		memcpy(message + sizeof(*answer), &table->row[request->place],
		       n * KL_ELF_ROW_BYTES);
	return sizeof(*answer) + n * KL_ELF_ROW_BYTES;
}

static size_t answer_needed(struct kl_elf_names *names, const struct kl_elf_request *request,
			    char *message)
{
	struct kl_elf_answer *answer = (struct kl_elf_answer *)message;
	size_t length = sizeof(*answer);
	const char *name = names ? kl_elf_names_needed(names, request->place) : NULL;

	answer->n = !!name;
	add_text(message, &length, name);
	return length;
}

static size_t answer_open(struct kl_elf_names **names, const struct kl_elf_request *request, int fd,
			  char *message)
{
	struct kl_elf_answer *answer = (struct kl_elf_answer *)message;
	const char *id;

	kl_elf_names_close(*names);
	*names = kl_elf_names_open(fd, *request->path ? request->path : NULL, true);
	id = *names ? kl_elf_names_build_id(*names) : NULL;
	answer->n = *names ? 0 : -EINVAL;
	if (id)
		memcpy(answer->build_id, id, strlen(id));
	return sizeof(*answer);
}

static void serve(int socket)
{
	static struct kl_elf_names *names[KL_ELF_FILES_MAX];
	static char message[KL_ELF_MESSAGE_BYTES] __attribute__((aligned(8)));
	struct kl_elf_request request = {};
	size_t length;
	int fd;

	while (receive(socket, &request, &fd) > 0) {
		struct kl_elf_names **of = &names[request.number % KL_ELF_FILES_MAX];

		memset(message, 0, sizeof(struct kl_elf_answer));
		/* In case the parent is no longer there to kill us. */
		alarm(2 * KL_ELF_ANSWER_S);
		switch (request.kind) {
		case KL_ELF_REQUEST_OPEN:
			length = answer_open(of, &request, fd, message);
			break;
		case KL_ELF_REQUEST_VARIABLE:
			length = answer_variable(*of, &request, message);
			break;
		case KL_ELF_REQUEST_PLACE:
			length = answer_place(*of, &request, message);
			break;
		case KL_ELF_REQUEST_LINES:
			length = answer_lines(*of, &request, message);
			break;
		case KL_ELF_REQUEST_UNWIND:
			length = answer_unwind(*of, &request, message);
			break;
		case KL_ELF_REQUEST_NEEDED:
			length = answer_needed(*of, &request, message);
			break;
		default:
			length = answer_find(*of, &request, message);
		}
		alarm(0);
		if (send(socket, message, length, MSG_NOSIGNAL) < 0)
			return;
	}
}

void kl_elf_child_run(int socket)
{
	if (dup2(socket, 3) < 0)
		_exit(1);
	syscall(SYS_close_range, 4u, ~0u, 0u);
	close(0);
	close(1);
	set_signals();
	/* Untrusted files must not be read as root. */
	if (!kl_elf_give_up_rights())
		_exit(1);
	serve(3);
	_exit(0);
}
