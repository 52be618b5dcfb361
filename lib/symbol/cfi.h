/* SPDX-License-Identifier: GPL-2.0 */
/* Compiles call frame information (.eh_frame, .debug_frame) into unwind tables. */
#ifndef KL_LIB_SYMBOL_CFI_H
#define KL_LIB_SYMBOL_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/abi.h>

/* A range of a file's code: from @address in the address space of the file, at @place in it. */
struct kl_cfi_segment {
	uint64_t address;
	uint64_t place;
	uint64_t bytes;
};

/* A section: .eh_frame if @eh, else .debug_frame. @address: of its first byte. */
struct kl_cfi_section {
	const uint8_t *data;
	size_t bytes;
	uint64_t address;
	bool eh;
};

/* Rows by place, as KL_IOC_UNWIND takes them once kl_cfi_finish() has returned. */
struct kl_cfi_table {
	struct kl_unwind_row *row;
	size_t n, room;
};

/*
 * Add the rows of a section's functions, as far as they are in the segments. Entries that are not
 * understood, or damaged, are left out. The data may be anything. Returns 0, or -ENOMEM or -E2BIG
 * with an error text.
 */
int kl_cfi_add(struct kl_cfi_table *table, const struct kl_cfi_section *section,
	       const struct kl_cfi_segment *segment, size_t segments);

/* Insert a row behind row @i of a finished table. Returns 0 or -ENOMEM. */
int kl_cfi_insert(struct kl_cfi_table *table, size_t i, struct kl_unwind_row row);

/* Sort the rows, and merge those that say the same. */
void kl_cfi_finish(struct kl_cfi_table *table);
void kl_cfi_deinit(struct kl_cfi_table *table);

/* The rule for a place; 0, which is KL_UNWIND_NONE, if there is none. */
uint32_t kl_cfi_find(const struct kl_cfi_table *table, uint64_t place);

#endif /* KL_LIB_SYMBOL_CFI_H */
