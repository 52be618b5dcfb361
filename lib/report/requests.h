/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests of block devices that are in progress: pairs what inserts, issues and completes a
 * request, by its device and sector. Used by the report io and by the timeline.
 */
#ifndef KL_LIB_REPORT_REQUESTS_H
#define KL_LIB_REPORT_REQUESTS_H

#include <stdbool.h>
#include <kernlens/event.h>
#include "../base/table.h"

/* More requests than these are not paired. */
#define KL_REQUESTS_MAX 65536

/* Bits of the field rwbs, which are LTTng's. */
#define KL_RWBS_WRITE (1u << 0)
#define KL_RWBS_DISCARD (1u << 1)
#define KL_RWBS_READ (1u << 2)
#define KL_RWBS_FLUSH (1u << 8)

/**
 * struct kl_request - a request
 * @key: hash of its device and sector
 * @sector: first sector that has not completed; 0 if it has none, such as a flush
 * @dev: its device
 * @rwbs: what it does, as when it was issued
 * @insert_ns: wall time at which it was put into the device's queue; 0: it was not, or unknown
 * @issue_ns: at which it was issued to the driver; 0: it was not
 * @bytes: its size, when it was issued
 * @left: sectors that have not completed
 * @task: who inserted it, or issued it
 * @tag: of the user's own
 */
struct kl_request {
	uint64_t key;
	uint64_t sector;
	uint32_t dev;
	uint32_t rwbs;
	uint64_t insert_ns;
	uint64_t issue_ns;
	uint64_t bytes;
	uint64_t left;
	struct kl_task task;
	uint32_t tag;
};

/**
 * struct kl_requests - those in progress. Zeroed: none
 * @by_place: by device and sector
 * @unfinished: issued, but another one was issued at its place before it completed
 * @unpaired: completed, but not issued
 * @dropped: not paired, since there were too many
 */
struct kl_requests {
	struct kl_hash by_place;
	uint64_t unfinished;
	uint64_t unpaired;
	uint64_t dropped;
};

void kl_requests_deinit(struct kl_requests *requests);

/* Forget all. */
void kl_requests_clear(struct kl_requests *requests);

/*
 * A request is inserted, or issued, at the time of @event and by its task. @request: it, or NULL if
 * there are too many. Valid until the next call. Return 0 or -ENOMEM.
 */
int kl_requests_insert(struct kl_requests *requests, const struct kl_event *event, uint32_t dev,
		       uint64_t sector);
int kl_requests_issue(struct kl_requests *requests, const struct kl_event *event, uint32_t dev,
		      uint64_t sector, struct kl_request **request);

/*
 * Some sectors, from @sector on, have completed. Returns whether all of a request have, which is
 * then copied to @request and forgotten.
 */
bool kl_requests_complete(struct kl_requests *requests, uint32_t dev, uint64_t sector,
			  uint64_t sectors, struct kl_request *request);

/*
 * A request is returned to its queue, or merged into another one: it is forgotten. Returns whether
 * it had been issued.
 */
bool kl_requests_remove(struct kl_requests *requests, uint32_t dev, uint64_t sector);

#endif /* KL_LIB_REPORT_REQUESTS_H */
