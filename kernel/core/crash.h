/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages that lead from nothing but the machine's memory to each session's blocks and metadata, for
 * `kernlens extract` after a crash. Fed by buffer.c, and by kernel/session; nothing in the module
 * reads them. The recording path does not touch them.
 */
#ifndef KL_CORE_CRASH_H
#define KL_CORE_CRASH_H

#include <linux/atomic.h>

#include "../../uapi/crash.h"
#include "../base/error.h"

struct kl_session;
struct kl_ring_block;
struct kl_stack_table;

/* Slots of one kind. @free: unused ones, linked by their second word. */
struct kl_crash_slots {
	u64 *free;
};

/**
 * struct kl_crash - a session's pages
 * @page: its own page; NULL before kl_crash_create()
 * @first, @last: of the chain of pages with slots, whatever their kind; under size_lock
 * @rings, @blocks: slots in these pages; under size_lock
 * @listed: where the anchor lists @page; NULL: nowhere
 * @stacks: regions of its stack traces, or NULL
 * @generation: of the newest region
 */
struct kl_crash {
	struct kl_crash_session *page;
	struct kl_crash_pieces *first;
	struct kl_crash_pieces *last;
	struct kl_crash_slots rings;
	struct kl_crash_slots blocks;
	u64 *listed;
	struct kl_crash_region *stacks[2];
	atomic64_t generation;
};

int kl_crash_init(void);
void kl_crash_deinit(void);
void kl_crash_tick(void);

int kl_crash_create(struct kl_session *s, struct kl_error *why);
void kl_crash_publish(struct kl_session *s);
void kl_crash_withdraw(struct kl_session *s);
void kl_crash_destroy(struct kl_session *s);
void kl_crash_began(struct kl_session *s, u64 cycles);
void kl_crash_ended(struct kl_session *s, u64 cycles);

int kl_crash_add_ring(struct kl_session *s, u32 cpu, const void *shared, struct kl_error *why);
int kl_crash_add_block(struct kl_session *s, u32 cpu, struct kl_ring_block *block,
		       struct kl_error *why);
void kl_crash_remove_block(struct kl_session *s, struct kl_ring_block *block);

struct kl_crash_region *kl_crash_region_create(struct kl_session *s, enum kl_crash_region_kind kind,
					       const void *memory, u64 bytes, struct kl_error *why);
void kl_crash_region_publish(struct kl_session *s, const struct kl_crash_region *region);
void kl_crash_region_destroy(struct kl_session *s, struct kl_crash_region *region);
int kl_crash_add_stacks(struct kl_session *s, const struct kl_stack_table *table,
			struct kl_error *why);

void *kl_crash_mailbox_create(void);
void kl_crash_mailbox_publish(void *page, u32 constant);
void kl_crash_mailbox_destroy(void *page);

#endif /* KL_CORE_CRASH_H */
