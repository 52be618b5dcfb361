/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the fuzzers: inputs of several parts, files, traces, and checks of printed output. */
#ifndef KL_TESTS_FUZZ_SHARED_H
#define KL_TESTS_FUZZ_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

/* Aborts the program, which the fuzzer reports, unless @condition holds. */
#define fuzz_assert(condition)                                                          \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

/* A copy that ends with NUL; the caller frees it. */
char *fuzz_text(const uint8_t *data, size_t size);

/* An unnamed file with these bytes; its path is valid until the descriptor is closed. */
int fuzz_file(const uint8_t *data, size_t size, char path[64]);

/*
 * An input of several parts: a byte with the part's kind, three with its length, then its bytes. A
 * length beyond the end extends to the end.
 */
struct fuzz_part {
	uint8_t kind;
	size_t bytes;
	const uint8_t *at;
};

#define FUZZ_PARTS_MAX 16
#define FUZZ_PART_HEADER 4u

unsigned int fuzz_parts(const uint8_t *data, size_t size, struct fuzz_part part[FUZZ_PARTS_MAX]);
size_t fuzz_part_put(uint8_t *to, uint8_t kind, const void *bytes, size_t length);

/* Changes one part, or drops, duplicates or retypes one; @repair, if any, is run on that part. */
size_t fuzz_parts_mutate(uint8_t *data, size_t size, size_t room, unsigned int seed,
			 void (*repair)(uint8_t *part, size_t bytes, uint8_t kind));

/* A schema of the tables with a variable of each kind, and the trace info to go with it. */
struct kl_schema *fuzz_schema(void);
void fuzz_info(struct kl_trace_info *info);

/* Makes block headers consistent with their contents, so that the records are read. */
void fuzz_repair_blocks(uint8_t *at, size_t bytes);

/* Prints items in each style and in reports, and checks the output. @rewind: starts again. */
struct fuzz_items {
	void *from;
	int (*next)(void *from, struct kl_item *item);
	void (*rewind)(void *from);
};

void fuzz_items(const struct fuzz_items *items, const struct kl_schema *schema,
		const struct kl_trace_info *info);

/* Checks that the text has no control characters but newline and tab. */
void fuzz_check_plain(const char *text, size_t length);
/* Checks for JSON values, one per line. */
void fuzz_check_json(const char *text, size_t length);
/*
 * Checks for rows of correctly quoted cells, none of which a spreadsheet would take for a formula.
 */
void fuzz_check_csv(const char *text, size_t length);

#endif /* KL_TESTS_FUZZ_SHARED_H */
