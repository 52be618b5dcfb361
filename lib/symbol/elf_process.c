// SPDX-License-Identifier: GPL-2.0
/*
 * Reads ELF files in a child process, elf_child.c: one request, one answer, over a socket that
 * preserves message boundaries.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/base.h"
#include "../base/plain.h"
#include "elf_message.h"

#define STARTS_MAX 9

struct kl_elf_process {
	pid_t pid; /* 0: not running */
	int socket;
	unsigned int starts;
	char message[KL_ELF_MESSAGE_BYTES] __attribute__((aligned(8)));
};

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
		kl_elf_child_run(pair[1]);
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

static int send_request(const struct kl_elf_process *process, const struct kl_elf_request *request,
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

static size_t argument_bytes(const struct kl_elf_request *request)
{
	if (request->kind == KL_ELF_REQUEST_LINES)
		return request->lines * sizeof(request->address[0]);
	if (request->kind == KL_ELF_REQUEST_VARIABLE)
		return sizeof(request->distance);
	return strlen(request->path) + 1;
}

/* Returns the size of the answer, at least a whole struct, or -EPIPE after ending the child. */
static ssize_t ask(struct kl_elf_process *process, const struct kl_elf_request *request, int fd)
{
	size_t bytes = offsetof(struct kl_elf_request, path) + argument_bytes(request);
	struct pollfd wait = { .fd = process->socket, .events = POLLIN };
	ssize_t n = send_request(process, request, bytes, fd);
	int ready;

	if (!n) {
		do
			ready = poll(&wait, 1, KL_ELF_ANSWER_S * 1000);
		while (ready < 0 && errno == EINTR);
		n = ready > 0 ? recv(process->socket, process->message, KL_ELF_MESSAGE_BYTES, 0) :
				-1;
	}
	if (n >= (ssize_t)sizeof(struct kl_elf_answer))
		return n;
	end(process);
	return -EPIPE;
}

int kl_elf_process_open(struct kl_elf_process *process, unsigned int number, int fd,
			const char *path, char build_id[KL_BUILD_ID_TEXT])
{
	struct kl_elf_request request = { .kind = KL_ELF_REQUEST_OPEN, .number = number };
	const struct kl_elf_answer *answer = (const struct kl_elf_answer *)process->message;
	ssize_t got = start(process);

	*build_id = 0;
	if (path && strlen(path) < KL_ELF_PATH_BYTES)
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
	struct kl_elf_request request = {
		.kind = KL_ELF_REQUEST_FIND, .number = number, .place = place, .lines = lines
	};
	struct kl_elf_answer answer;
	ssize_t bytes = process->pid ? ask(process, &request, -1) : -EPIPE;

	if (bytes < 0)
		return (int)bytes;
	memcpy(&answer, process->message, sizeof(answer));
	if (answer.n < 0 || answer.n > KL_ELF_FOUND_MAX ||
	    sizeof(answer) + (size_t)answer.n * sizeof(struct kl_elf_found) > (size_t)bytes)
		return 0;
	for (int32_t i = 0; i < answer.n; i++) {
		struct kl_elf_found found;

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

/* The one text of the answer, and the answer. NULL: there is none. */
static const char *ask_text(struct kl_elf_process *process, const struct kl_elf_request *request,
			    struct kl_elf_answer *answer)
{
	ssize_t bytes = process->pid ? ask(process, request, -1) : -EPIPE;

	if (bytes < 0)
		return NULL;
	memcpy(answer, process->message, sizeof(*answer));
	return take_text(process, (size_t)bytes, answer->n == 1, sizeof(*answer));
}

const char *kl_elf_process_variable(struct kl_elf_process *process, unsigned int number,
				    uint64_t place, uint64_t distance, uint64_t *offset)
{
	struct kl_elf_request request = { .kind = KL_ELF_REQUEST_VARIABLE,
					  .number = number,
					  .place = place,
					  .distance = distance };
	struct kl_elf_answer answer = { 0 };
	const char *text = ask_text(process, &request, &answer);

	if (text)
		*offset = answer.address;
	return text;
}

int kl_elf_process_place(struct kl_elf_process *process, unsigned int number, const char *name,
			 uint64_t *address)
{
	struct kl_elf_request request = { .kind = KL_ELF_REQUEST_PLACE, .number = number };
	struct kl_elf_answer answer;

	if (strlen(name) >= KL_ELF_PATH_BYTES)
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
	struct kl_elf_request request = { .kind = KL_ELF_REQUEST_LINES,
					  .number = number,
					  .lines = n };
	struct kl_elf_answer answer;
	ssize_t bytes;

	memcpy(request.address, address, n * sizeof(*address));
	bytes = process->pid ? ask(process, &request, -1) : -EPIPE;
	if (bytes < 0)
		return -EPIPE;
	memcpy(&answer, process->message, sizeof(answer));
	if (answer.n < 0 || (uint32_t)answer.n > n ||
	    sizeof(answer) + (size_t)answer.n * sizeof(struct kl_elf_source) > (size_t)bytes)
		return 0;
	for (int32_t i = 0; i < answer.n; i++) {
		struct kl_elf_source found;

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
	struct kl_elf_answer answer;

	memcpy(&answer, process->message, sizeof(answer));
	if (answer.n <= 0 || sizeof(answer) + (size_t)answer.n * KL_ELF_ROW_BYTES > bytes)
		return 0;
	while (table->n + (size_t)answer.n > table->room) {
		grown = kl_array_grow(table->row, table->room, &table->room, KL_ELF_ROW_BYTES);
		if (!grown)
			return -ENOMEM;
		table->row = grown;
	}
	memcpy(&table->row[table->n], process->message + sizeof(answer),
	       (size_t)answer.n * KL_ELF_ROW_BYTES);
	table->n += (size_t)answer.n;
	return answer.n;
}

int kl_elf_process_unwind(struct kl_elf_process *process, unsigned int number,
			  struct kl_cfi_table *table)
{
	struct kl_elf_request request = { .kind = KL_ELF_REQUEST_UNWIND, .number = number };
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
	struct kl_elf_request request = { .kind = KL_ELF_REQUEST_NEEDED,
					  .number = number,
					  .place = index };
	struct kl_elf_answer answer;

	return ask_text(process, &request, &answer);
}
