/* SPDX-License-Identifier: GPL-2.0 */
/* What elf_process.c and its child process, elf_child.c, send each other. */
#ifndef KL_LIB_SYMBOL_ELF_MESSAGE_H
#define KL_LIB_SYMBOL_ELF_MESSAGE_H

#include <stdint.h>

#include "elf_process.h"

#define KL_ELF_ANSWER_S 15 /* time limit of a request */
#define KL_ELF_MESSAGE_BYTES (64u << 10)
#define KL_ELF_PATH_BYTES 4096

enum kl_elf_request_kind {
	KL_ELF_REQUEST_OPEN,
	KL_ELF_REQUEST_FIND,
	KL_ELF_REQUEST_VARIABLE,
	KL_ELF_REQUEST_PLACE,
	KL_ELF_REQUEST_LINES,
	KL_ELF_REQUEST_UNWIND,
	KL_ELF_REQUEST_NEEDED,
};

struct kl_elf_request {
	uint32_t kind;
	uint32_t number;
	uint64_t place; /* FIND, VARIABLE: in the file; UNWIND, NEEDED: the first to send */
	uint32_t lines; /* FIND: whether to include lines; LINES: number of addresses */
	union {
		char path[KL_ELF_PATH_BYTES]; /* OPEN: the file's, may be empty; PLACE: a name */
		uint64_t address[KL_ELF_LINES_MAX];
		uint64_t distance; /* VARIABLE: from the place */
	};
};

/*
 * Followed by entries, struct kl_elf_found (FIND), struct kl_elf_source (LINES) or struct
 * kl_unwind_row (UNWIND), and NUL-terminated texts.
 */
struct kl_elf_answer {
	int32_t n; /* number of entries, or negative errno */
	char build_id[KL_BUILD_ID_TEXT];
	uint64_t address; /* PLACE; VARIABLE: the offset in it */
};

struct kl_elf_found {
	uint64_t offset;
	uint32_t line;
	uint8_t inlined, has_symbol, has_source;
	uint32_t symbol, source; /* offsets in the message */
};

struct kl_elf_source {
	uint32_t line; /* 0: unknown */
	uint32_t source;
};

#define KL_ELF_ROW_BYTES sizeof(struct kl_unwind_row)

/* What the child does, until @socket is closed; it has no other descriptor then. */
void kl_elf_child_run(int socket);

#endif /* KL_LIB_SYMBOL_ELF_MESSAGE_H */
