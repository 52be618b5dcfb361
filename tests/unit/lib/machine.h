/* SPDX-License-Identifier: GPL-2.0 */
/* The memory of a machine with the module's pages in it, as the kernel would write them. */
#ifndef KL_TESTS_UNIT_LIB_MACHINE_H
#define KL_TESTS_UNIT_LIB_MACHINE_H

#include <kernlens/internal.h>

#include "../../../uapi/crash.h"
#include "synth.h"

#define MACHINE_PAGES 256u
#define MACHINE_CPUS 2u
#define MACHINE_STACKS 60u /* more than fit into a page */
#define MACHINE_NAMED 40u /* the recorder has stored their names: larger than a page */

/* What a page of the memory is. */
enum machine_use {
	MACHINE_FREE,
	MACHINE_PAGE, /* one of the module's, or of the text */
	MACHINE_RING,
	MACHINE_BLOCK,
};

/*
 * @memory: of MACHINE_PAGES pages from address @base on
 * @free: the end of a ring's memory that no slot uses yet
 */
struct machine {
	uint8_t *memory;
	uint64_t base;
	enum machine_use use[MACHINE_PAGES];
	uint8_t load[16];
	struct kl_crash_anchor *anchor;
	struct kl_crash_session *session;
	struct kl_crash_pieces *rings;
	struct kl_crash_pieces *blocks;
	unsigned int n_rings, n_blocks;
	struct kl_abi_ring *ring[MACHINE_CPUS];
};

/* A random number below @n, from the same sequence in each run. */
unsigned int machine_random(unsigned int n);

void machine_init(struct machine *m, uint64_t base, const char *text);
void machine_deinit(struct machine *m);
/* A page of its own, zeroed. */
void *machine_page(struct machine *m, enum machine_use use);
uint64_t machine_address(const struct machine *m, const void *at);
/* Address of a frame of a stack trace, from 0. The outermost frame of all is that of the first. */
uint64_t machine_frame(uint32_t stack, unsigned int frame);

/* Its name. */
const char *machine_function(uint64_t address);

/* Computes the head of a page again, after a change. */
void machine_seal(struct machine *m, void *page, enum kl_crash_kind kind, size_t constant);

/* Adds a block to the session; @synth has it. Returns its first page. */
struct kl_abi_block *machine_add(struct machine *m, struct synth *synth);

/* Writes the memory to a file. @shift: of a hole below 4 GiB. */
void machine_write_elf(const struct machine *m, const char *path);
void machine_write_raw(const struct machine *m, const char *path, uint64_t shift);

/* How the pages of a compressed dump are stored, as makedumpfile numbers it. */
enum machine_compression {
	MACHINE_RAW = 0,
	MACHINE_ZLIB = 1,
	MACHINE_LZO = 2,
	MACHINE_ZSTD = 32,
};

/*
 * Writes the pages that are not zero as a compressed dump. @pieces: as for a pipe. Returns how many
 * bytes come before the pages.
 */
uint64_t machine_write_kdump(const struct machine *m, const char *path,
			     enum machine_compression compression, bool pieces);

#endif /* KL_TESTS_UNIT_LIB_MACHINE_H */
