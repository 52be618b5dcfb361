/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Data that guide.c collects and guide_report.c prints.
 */
#ifndef KL_TESTS_FUZZ_GUIDE_H
#define KL_TESTS_FUZZ_GUIDE_H

#include <kernlens/internal.h>
#include <kernlens/splice.h>

#include "fuzz.h"

/* A function; its @n points start at @first. */
struct counted {
	char name[96];
	u32 first;
	u32 n;
};

/**
 * struct guide - the blocks of the module under test
 * @begin: each point's offset in its function
 * @count: how often each point had been executed at the last reading
 * @seen: whether it was ever executed; in memory that all processes share
 */
struct guide {
	struct kl_device *device;
	struct kl_session *session;
	struct kl_symbols *symbols;
	struct kl_blocks *blocks;
	struct kl_splices *splices;
	struct counted *function;
	u32 functions;
	u32 points;
	u32 *begin;
	u64 *count;
	u8 *seen;
};

extern struct guide guide;

#endif /* KL_TESTS_FUZZ_GUIDE_H */
