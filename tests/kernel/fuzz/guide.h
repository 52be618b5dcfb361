/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What guide.c counts and guide_report.c prints.
 */
#ifndef KL_TESTS_FUZZ_GUIDE_H
#define KL_TESTS_FUZZ_GUIDE_H

#include <kernlens/kernlens.h>
#include <kernlens/splice.h>

#include "fuzz.h"

/* A function; its points are @n from @first. */
struct counted {
	char name[96];
	u32 first;
	u32 n;
};

/**
 * struct guide - the blocks of the module that is fuzzed
 * @begin: of each point: its offset in the function
 * @count: how often it was executed, when it was looked at last
 * @seen: was it ever? In memory that all processes share
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
