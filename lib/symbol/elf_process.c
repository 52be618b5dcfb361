// SPDX-License-Identifier: GPL-2.0
/*
 * Reads ELF files in a child process: one request, one answer, over a socket that preserves message
 * boundaries. The child has none of our descriptors, no capabilities, limited memory, and a time
 * limit for each request. If root starts it, it does not even have a user's rights (elf_rights.c).
 * It exits when the socket closes.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/base.h"
#include "../base/plain.h"
#include "elf_names.h"
#include "elf_process.h"
#include "elf_rights.h"

#define ANSWER_S 15 /* time limit of a request */
#define STARTS_MAX 9
#define MESSAGE_BYTES (64u << 10)
#define PATH_BYTES 4096
#define NEAR 16 /* preceding lines that are searched for the same file name */
#define TEXT_BYTES 1800 /* of a name or path; a message holds 2 * KL_ELF_FOUND_MAX */

enum request_kind {
	REQUEST_OPEN,
	REQUEST_FIND,
	REQUEST_VARIABLE,
	REQUEST_PLACE,
	REQUEST_LINES,
	REQUEST_UNWIND,
	REQUEST_NEEDED,
};

struct request {
	uint32_t kind;
	uint32_t number;
	uint64_t place; /* FIND, VARIABLE: in the file; UNWIND, NEEDED: number of the first row, the name */
	uint32_t lines; /* FIND: whether to include lines; LINES: number of addresses */
	union {
		char path[PATH_BYTES]; /* OPEN: the file's path, may be empty; PLACE: a name */
		uint64_t address[KL_ELF_LINES_MAX];
		uint64_t distance; /* VARIABLE: from the place */
	};
};

/*
 * Followed by struct found (FIND), struct line (LINES) or struct kl_unwind_row (UNWIND) entries,
 * and NUL-terminated texts.
 */
struct answer {
	int32_t n; /* number of entries, or negative errno */
	char build_id[KL_BUILD_ID_TEXT];
	uint64_t address; /* PLACE; VARIABLE: the offset in it */
};

struct found {
	uint64_t offset;
	uint32_t line;
	uint8_t inlined, has_symbol, has_source;
	uint32_t symbol, source; /* offsets in the message */
};

struct line {
	uint32_t line; /* 0: unknown */
	uint32_t source;
};

#define ROW_BYTES sizeof(struct kl_unwind_row)
#define ROWS_MAX ((MESSAGE_BYTES - sizeof(struct answer)) / ROW_BYTES)

struct kl_elf_process {
	pid_t pid; /* 0: not running */
	int socket;
	unsigned int starts;
	char message[MESSAGE_BYTES] __attribute__((aligned(8)));
};

/* --------------------------------------------------------------- the child */

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
static ssize_t receive(int socket, struct request *request, int *fd)
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

static size_t answer_find(struct kl_elf_names *names, const struct request *request, char *message)
{
	struct kl_dwarf_frame frame[KL_ELF_FOUND_MAX];
	struct answer *answer = (struct answer *)message;
	size_t length = sizeof(*answer);

	if (names)
		answer->n = (int32_t)kl_elf_names_find(names, request->place, request->lines, frame,
						       KL_ELF_FOUND_MAX);
	length += (size_t)answer->n * sizeof(struct found);
	for (int32_t i = 0; i < answer->n; i++) {
		struct found found = {
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

static size_t answer_variable(struct kl_elf_names *names, const struct request *request,
			      char *message)
{
	struct answer *answer = (struct answer *)message;
	size_t length = sizeof(*answer);
	const char *name = names ? kl_elf_names_variable(names, request->place, request->distance,
							 &answer->address) :
				   NULL;

	answer->n = !!name;
	add_text(message, &length, name);
	return length;
}

/* Offset of a file name that the message already contains, or 0. */
static uint32_t near_source(const struct line *line, uint32_t i, const char *source,
			    const char *message)
{
	for (uint32_t k = i; k > 0 && i - k < NEAR; k--)
		if (line[k - 1].line && !strcmp(message + line[k - 1].source, source))
			return line[k - 1].source;
	return 0;
}

/* Looks up fewer addresses than requested if the file names do not fit the message. */
static size_t answer_lines(struct kl_elf_names *names, const struct request *request, char *message)
{
	struct answer *answer = (struct answer *)message;
	struct line line[KL_ELF_LINES_MAX] = {};
	uint32_t n = request->lines < KL_ELF_LINES_MAX ? request->lines : KL_ELF_LINES_MAX;
	size_t length = sizeof(*answer) + n * sizeof(*line);
	const char *last = NULL;
	uint32_t source = 0;

	for (uint32_t i = 0; names && i < n && length + TEXT_BYTES <= MESSAGE_BYTES; i++) {
		struct kl_dwarf_frame frame;

		answer->n++;
		if (!kl_elf_names_line(names, request->address[i], &frame))
			continue;
		/* Consecutive addresses are mostly in the same file, or in a recent one. */
		if (frame.source != last)
			source = near_source(line, i, frame.source, message);
		if (!source)
			source = add_text(message, &length, frame.source);
		line[i] = (struct line){ frame.line, source };
		last = frame.source;
	}
	memcpy(message + sizeof(*answer), line, n * sizeof(*line));
	return length;
}

static size_t answer_place(struct kl_elf_names *names, const struct request *request, char *message)
{
	struct answer *answer = (struct answer *)message;

	if (!names || !kl_elf_names_place(names, request->path, &answer->address))
		answer->n = -ENOENT;
	return sizeof(*answer);
}

/* As many rows as fit. */
static size_t answer_unwind(struct kl_elf_names *names, const struct request *request,
			    char *message)
{
	const struct kl_cfi_table *table = names ? kl_elf_names_unwind(names) : NULL;
	struct answer *answer = (struct answer *)message;
	size_t n = table && request->place < table->n ? table->n - request->place : 0;

	if (n > ROWS_MAX)
		n = ROWS_MAX;
	answer->n = (int32_t)n;
	if (n)
		memcpy(message + sizeof(*answer), &table->row[request->place], n * ROW_BYTES);
	return sizeof(*answer) + n * ROW_BYTES;
}

static size_t answer_needed(struct kl_elf_names *names, const struct request *request,
			    char *message)
{
	struct answer *answer = (struct answer *)message;
	size_t length = sizeof(*answer);
	const char *name = names ? kl_elf_names_needed(names, request->place) : NULL;

	answer->n = !!name;
	add_text(message, &length, name);
	return length;
}

static size_t answer_open(struct kl_elf_names **names, const struct request *request, int fd,
			  char *message)
{
	struct answer *answer = (struct answer *)message;
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
	static char message[MESSAGE_BYTES] __attribute__((aligned(8)));
	struct request request = {};
	size_t length;
	int fd;

	while (receive(socket, &request, &fd) > 0) {
		struct kl_elf_names **of = &names[request.number % KL_ELF_FILES_MAX];

		memset(message, 0, sizeof(struct answer));
		/* In case the parent is no longer there to kill us. */
		alarm(2 * ANSWER_S);
		switch (request.kind) {
		case REQUEST_OPEN:
			length = answer_open(of, &request, fd, message);
			break;
		case REQUEST_VARIABLE:
			length = answer_variable(*of, &request, message);
			break;
		case REQUEST_PLACE:
			length = answer_place(*of, &request, message);
			break;
		case REQUEST_LINES:
			length = answer_lines(*of, &request, message);
			break;
		case REQUEST_UNWIND:
			length = answer_unwind(*of, &request, message);
			break;
		case REQUEST_NEEDED:
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

static void run(int socket)
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

/* -------------------------------------------------------------- the parent */

struct kl_elf_process *kl_elf_process_create(void)
{
	struct kl_elf_process *process = calloc(1, sizeof(*process));

	if (!process)
		kl_fail(ENOMEM, "out of memory");
	return process;
}

static void end(struct kl_elf_process *process)
{
	if (!process->pid)
		return;
	close(process->socket);
	kill(process->pid, SIGKILL);
	while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
		;
	process->pid = 0;
}

void kl_elf_process_destroy(struct kl_elf_process *process)
{
	if (!process)
		return;
	end(process);
	free(process);
}

unsigned int kl_elf_process_starts(const struct kl_elf_process *process)
{
	return process->starts;
}

pid_t kl_elf_process_pid(const struct kl_elf_process *process)
{
	return process->pid;
}

static int start(struct kl_elf_process *process)
{
	int pair[2];

	if (process->pid)
		return 0;
	if (process->starts == STARTS_MAX ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -ENOENT;
	process->pid = fork();
	if (!process->pid)
		run(pair[1]);
	close(pair[1]);
	if (process->pid < 0) {
		process->pid = 0;
		close(pair[0]);
		return -ENOENT;
	}
	process->socket = pair[0];
	process->starts++;
	return 0;
}

static int send_request(const struct kl_elf_process *process, const struct request *request,
			size_t bytes, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec vector = { (void *)request, bytes };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	return sendmsg(process->socket, &message, MSG_NOSIGNAL) == (ssize_t)bytes ? 0 : -EPIPE;
}

static size_t argument_bytes(const struct request *request)
{
	if (request->kind == REQUEST_LINES)
		return request->lines * sizeof(request->address[0]);
	if (request->kind == REQUEST_VARIABLE)
		return sizeof(request->distance);
	return strlen(request->path) + 1;
}

/* Returns the size of the answer, at least a whole struct, or -EPIPE after ending the child. */
static ssize_t ask(struct kl_elf_process *process, const struct request *request, int fd)
{
	size_t bytes = offsetof(struct request, path) + argument_bytes(request);
	struct pollfd wait = { .fd = process->socket, .events = POLLIN };
	ssize_t n = send_request(process, request, bytes, fd);
	int ready;

	if (!n) {
		do
			ready = poll(&wait, 1, ANSWER_S * 1000);
		while (ready < 0 && errno == EINTR);
		n = ready > 0 ? recv(process->socket, process->message, MESSAGE_BYTES, 0) : -1;
	}
	if (n >= (ssize_t)sizeof(struct answer))
		return n;
	end(process);
	return -EPIPE;
}

int kl_elf_process_open(struct kl_elf_process *process, unsigned int number, int fd,
			const char *path, char build_id[KL_BUILD_ID_TEXT])
{
	struct request request = { .kind = REQUEST_OPEN, .number = number };
	const struct answer *answer = (const struct answer *)process->message;
	ssize_t got = start(process);

	*build_id = 0;
	if (path && strlen(path) < PATH_BYTES)
		strcpy(request.path, path);
	if (!got)
		got = ask(process, &request, fd);
	close(fd);
	if (got < 0)
		return (int)got;
	memcpy(build_id, answer->build_id, KL_BUILD_ID_TEXT);
	build_id[KL_BUILD_ID_TEXT - 1] = 0;
	return answer->n < 0 ? answer->n : 0;
}

/*
 * A file that has taken over the child may send anything. The child makes its texts printable. A
 * text that is not printable is rejected rather than fixed, because another text of the answer may
 * share its bytes.
 */
static const char *take_text(const struct kl_elf_process *process, size_t bytes, bool has,
			     uint32_t at)
{
	const char *text;

	if (!has || at >= bytes || !memchr(process->message + at, 0, bytes - at))
		return NULL;
	text = process->message + at;
	return kl_is_plain(text, strlen(text)) ? text : NULL;
}

int kl_elf_process_find(struct kl_elf_process *process, unsigned int number, uint64_t place,
			bool lines, struct kl_dwarf_frame *frame)
{
	struct request request = {
		.kind = REQUEST_FIND, .number = number, .place = place, .lines = lines
	};
	struct answer answer;
	ssize_t bytes = process->pid ? ask(process, &request, -1) : -EPIPE;

	if (bytes < 0)
		return (int)bytes;
	memcpy(&answer, process->message, sizeof(answer));
	if (answer.n < 0 || answer.n > KL_ELF_FOUND_MAX ||
	    sizeof(answer) + (size_t)answer.n * sizeof(struct found) > (size_t)bytes)
		return 0;
	for (int32_t i = 0; i < answer.n; i++) {
		struct found found;

		memcpy(&found, process->message + sizeof(answer) + (size_t)i * sizeof(found),
		       sizeof(found));
		frame[i] = (struct kl_dwarf_frame){
			.symbol = take_text(process, (size_t)bytes, found.has_symbol, found.symbol),
			.offset = found.offset,
			.source = take_text(process, (size_t)bytes, found.has_source, found.source),
			.line = found.line,
			.inlined = found.inlined,
		};
	}
	return answer.n;
}

const char *kl_elf_process_variable(struct kl_elf_process *process, unsigned int number,
				    uint64_t place, uint64_t distance, uint64_t *offset)
{
	struct request request = {
		.kind = REQUEST_VARIABLE, .number = number, .place = place, .distance = distance
	};
	ssize_t bytes = process->pid ? ask(process, &request, -1) : -EPIPE;
	struct answer answer;

	if (bytes < 0)
		return NULL;
	memcpy(&answer, process->message, sizeof(answer));
	*offset = answer.address;
	return take_text(process, (size_t)bytes, answer.n == 1, sizeof(answer));
}

int kl_elf_process_place(struct kl_elf_process *process, unsigned int number, const char *name,
			 uint64_t *address)
{
	struct request request = { .kind = REQUEST_PLACE, .number = number };
	struct answer answer;

	if (strlen(name) >= PATH_BYTES)
		return -ENOENT;
	strcpy(request.path, name);
	if (!process->pid || ask(process, &request, -1) < 0)
		return -EPIPE;
	memcpy(&answer, process->message, sizeof(answer));
	if (answer.n < 0)
		return -ENOENT;
	*address = answer.address;
	return 0;
}

int kl_elf_process_lines(struct kl_elf_process *process, unsigned int number,
			 const uint64_t *address, unsigned int n, struct kl_elf_line *line)
{
	struct request request = { .kind = REQUEST_LINES, .number = number, .lines = n };
	struct answer answer;
	ssize_t bytes;

	memcpy(request.address, address, n * sizeof(*address));
	bytes = process->pid ? ask(process, &request, -1) : -EPIPE;
	if (bytes < 0)
		return -EPIPE;
	memcpy(&answer, process->message, sizeof(answer));
	if (answer.n < 0 || (uint32_t)answer.n > n ||
	    sizeof(answer) + (size_t)answer.n * sizeof(struct line) > (size_t)bytes)
		return 0;
	for (int32_t i = 0; i < answer.n; i++) {
		struct line found;

		memcpy(&found, process->message + sizeof(answer) + (size_t)i * sizeof(found),
		       sizeof(found));
		line[i].source = take_text(process, (size_t)bytes, found.line, found.source);
		line[i].line = line[i].source ? found.line : 0;
	}
	return answer.n;
}

/* Add the rows from an answer. Returns how many, or a negative errno. */
static int take_rows(const struct kl_elf_process *process, size_t bytes, struct kl_cfi_table *table)
{
	struct kl_unwind_row *grown;
	struct answer answer;

	memcpy(&answer, process->message, sizeof(answer));
	if (answer.n <= 0 || sizeof(answer) + (size_t)answer.n * ROW_BYTES > bytes)
		return 0;
	while (table->n + (size_t)answer.n > table->room) {
		grown = kl_array_grow(table->row, table->room, &table->room, ROW_BYTES);
		if (!grown)
			return -ENOMEM;
		table->row = grown;
	}
	memcpy(&table->row[table->n], process->message + sizeof(answer),
	       (size_t)answer.n * ROW_BYTES);
	table->n += (size_t)answer.n;
	return answer.n;
}

int kl_elf_process_unwind(struct kl_elf_process *process, unsigned int number,
			  struct kl_cfi_table *table)
{
	struct request request = { .kind = REQUEST_UNWIND, .number = number };
	int got;

	*table = (struct kl_cfi_table){};
	do {
		ssize_t bytes = process->pid ? ask(process, &request, -1) : -EPIPE;

		got = bytes < 0 ? (int)bytes : take_rows(process, (size_t)bytes, table);
		request.place = table->n;
	} while (got > 0 && table->n < KL_UNWIND_ROWS_MAX);
	if (got < 0)
		kl_cfi_deinit(table);
	return got < 0 ? got : 0;
}

const char *kl_elf_process_needed(struct kl_elf_process *process, unsigned int number,
				  unsigned int index)
{
	struct request request = { .kind = REQUEST_NEEDED, .number = number, .place = index };
	ssize_t bytes = process->pid ? ask(process, &request, -1) : -EPIPE;
	struct answer answer;

	if (bytes < 0)
		return NULL;
	memcpy(&answer, process->message, sizeof(answer));
	return take_text(process, (size_t)bytes, answer.n == 1, sizeof(answer));
}
