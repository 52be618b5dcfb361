/* SPDX-License-Identifier: GPL-2.0 */
/* What the fuzzers share: inputs of several parts, files, traces, and checks of what is printed. */
#ifndef KL_TESTS_FUZZ_SHARED_H
#define KL_TESTS_FUZZ_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/kernlens.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

/* Ends the program, which the fuzzer reports, unless @condition holds. */
#define fuzz_assert(condition)                                                          \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

/* A copy that ends with NUL; to be freed. */
char *fuzz_text(const uint8_t *data, size_t size);

/* A file without a name that has these bytes; its path is good until the descriptor is closed. */
int fuzz_file(const uint8_t *data, size_t size, char path[64]);

/*
 * An input of several parts: a byte with the part's kind, three with its length, its bytes. A
 * length beyond the end means up to the end.
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

/* Changes one part, or drops, doubles or retypes one; @repair, if any, is run on that part. */
size_t fuzz_parts_mutate(uint8_t *data, size_t size, size_t room, unsigned int seed,
			 void (*repair)(uint8_t *part, size_t bytes, uint8_t kind));

/* A schema of the tables with a variable of each kind, and what such a trace says of itself. */
struct kl_schema *fuzz_schema(void);
void fuzz_info(struct kl_trace_info *info);

/* Makes headers of blocks agree with what there is, so that their records are read. */
void fuzz_repair_blocks(uint8_t *at, size_t bytes);

/* Printed in each style, and in reports; what comes out is checked. @rewind: starts again. */
struct fuzz_items {
	void *from;
	int (*next)(void *from, struct kl_item *item);
	void (*rewind)(void *from);
};

void fuzz_items(const struct fuzz_items *items, const struct kl_schema *schema,
		const struct kl_trace_info *info);

/* Nothing that a terminal would act on but the newline and the tabulator. */
void fuzz_check_plain(const char *text, size_t length);
/* One or more JSON values, one a line. */
void fuzz_check_json(const char *text, size_t length);
/* Rows of cells, quoted right, none of which a spreadsheet would take for a formula. */
void fuzz_check_csv(const char *text, size_t length);

#endif /* KL_TESTS_FUZZ_SHARED_H */
