/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checks one reader's records of one CPU as they arrive: none is duplicated, torn or out of order,
 * and the block headers account for every gap.
 */
#ifndef KL_TESTS_CHECK_STREAM_H
#define KL_TESTS_CHECK_STREAM_H

#include "../kl.h"
#include "../stimulus/stimulus.h"

#define CHECK_EVENT_PLAIN 258 /* power_cpu_frequency: state, cpu_id */
#define CHECK_EVENT_TEXT 262 /* suspend_resume: val, start, action */

/**
 * struct stream - what a reader has seen of a CPU
 * @roaming: sources may fire on CPUs other than their own (hotplug)
 * @exact: only tasks fire, so the number of records that a block reports as lost is exact, too
 * @begun: a block has been seen
 * @seq: of the last block
 * @expected: record_first of the next block, if nothing is missed
 * @missed: records in blocks that this reader did not get
 * @lost_noted: events_discarded of the last block
 * @lost_before: events_discarded of the block before it, if @before_known
 * @next: lowest number that may come now, by source and context
 * @count: records seen, by source and context
 * @gap: records of tasks missing after the first record of the last block
 * @what: the first fault; empty if there is none
 */
struct stream {
	u32 cpu;
	bool roaming;
	bool exact;
	bool begun;
	u64 seq;
	u64 expected;
	u64 missed;
	u64 records;
	u64 blocks;
	u64 lost_noted;
	u64 lost_before;
	bool before_known;
	u64 time;
	u64 time_end;
	u64 next[KLS_SOURCES][KLS_CONTEXTS];
	u64 count[KLS_SOURCES][KLS_CONTEXTS];
	s32 tid[KLS_SOURCES];
	struct kl_abi_task task;
	u64 gap;
	char what[256];
};

bool stream_take(struct stream *s, const struct kl_abi_block *block,
		 const struct kl_abi_session *session);

#endif /* KL_TESTS_CHECK_STREAM_H */
