// SPDX-License-Identifier: GPL-2.0
/*
 * The reply of the process that reads programs' files, in case such a file has taken it over
 * (symbol/elf_process.c): the input is its reply.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "../../lib/symbol/elf_process.c"
#include "shared.h"

static void check(const char *text)
{
	if (!text)
		return;
	fuzz_assert(strlen(text) < KL_ELF_MESSAGE_BYTES);
	fuzz_check_plain(text, strlen(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct kl_elf_process process;
	struct kl_dwarf_frame frame[KL_ELF_FOUND_MAX];
	struct kl_elf_line line[64];
	uint64_t address[64] = {}, place;
	char id[KL_BUILD_ID_TEXT];
	int pair[2], n;

	/* A shorter reply makes the library end the process, so it would need a real process id. */
	if (size < sizeof(struct kl_elf_answer) || size > KL_ELF_MESSAGE_BYTES)
		return 0;
	fuzz_assert(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	process.pid = getpid();
	process.socket = pair[0];
	for (int i = 0; i < 5; i++)
		fuzz_assert(send(pair[1], data, size, 0) == (ssize_t)size);
	n = kl_elf_process_find(&process, 0, 0, true, frame);
	fuzz_assert(n <= KL_ELF_FOUND_MAX);
	for (int i = 0; i < n; i++) {
		check(frame[i].symbol);
		check(frame[i].source);
	}
	n = kl_elf_process_lines(&process, 0, address, 64, line);
	fuzz_assert(n <= 64);
	for (int i = 0; i < n; i++)
		check(line[i].source);
	kl_elf_process_place(&process, 0, "main", &place);
	check(kl_elf_process_variable(&process, 0, 0, 0, &place));
	kl_elf_process_open(&process, 0, -1, NULL, id);
	fuzz_assert(strlen(id) < KL_BUILD_ID_TEXT);
	close(pair[0]);
	close(pair[1]);
	return 0;
}
