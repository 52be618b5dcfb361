// SPDX-License-Identifier: GPL-2.0
/* Pairs what inserts, issues and completes a request of a block device. */
#include <errno.h>
#include <string.h>

#include "../base/base.h"
#include "requests.h"

/* The sector of requests that have none: the events do not agree on it. */
static uint64_t sector_of(uint64_t sector)
{
	return sector == UINT64_MAX ? 0 : sector;
}

static uint64_t key_of(uint32_t dev, uint64_t sector)
{
	const uint64_t what[2] = { dev, sector };
	const uint64_t key = kl_hash_bytes(KL_HASH_START, what, sizeof(what));

	return key ? key : 1;
}

static struct kl_request *find(const struct kl_requests *requests, uint32_t dev, uint64_t sector)
{
	struct kl_request *request = kl_hash_find(&requests->by_place, key_of(dev, sector));

	return request && request->dev == dev && request->sector == sector ? request : NULL;
}

void kl_requests_deinit(struct kl_requests *requests)
{
	kl_hash_deinit(&requests->by_place);
}

void kl_requests_clear(struct kl_requests *requests)
{
	kl_hash_deinit(&requests->by_place);
}

/*
 * Requests whose begin changes while they are queued, because others are merged with them, are
 * issued at another place than they were inserted at, and remain here.
 */
static int drop_inserted(struct kl_requests *requests)
{
	struct kl_hash kept = { .size = sizeof(struct kl_request) };
	const struct kl_request *request = NULL;

	while ((request = kl_hash_next(&requests->by_place, request))) {
		struct kl_request *copy;

		if (!request->issue_ns)
			continue;
		copy = kl_hash_get(&kept, request->key);
		if (!copy) {
			kl_hash_deinit(&kept);
			return -ENOMEM;
		}
		*copy = *request;
	}
	kl_hash_deinit(&requests->by_place);
	requests->by_place = kept;
	return 0;
}

/* Sets *@request to that of a place, which is added if it is new; NULL: there are too many. */
static int get(struct kl_requests *requests, uint32_t dev, uint64_t sector,
	       struct kl_request **request)
{
	requests->by_place.size = sizeof(struct kl_request);
	*request = find(requests, dev, sector);
	if (*request)
		return 0;
	if (requests->by_place.count >= KL_REQUESTS_MAX && drop_inserted(requests))
		return -ENOMEM;
	if (requests->by_place.count >= KL_REQUESTS_MAX) {
		requests->dropped++;
		return 0;
	}
	*request = kl_hash_get(&requests->by_place, key_of(dev, sector));
	if (!*request)
		return -ENOMEM;
	(*request)->dev = dev;
	(*request)->sector = sector;
	return 0;
}

int kl_requests_insert(struct kl_requests *requests, const struct kl_event *event, uint32_t dev,
		       uint64_t sector)
{
	struct kl_request *request;
	int error = get(requests, dev, sector_of(sector), &request);

	if (error || !request)
		return error;
	requests->unfinished += !!request->issue_ns;
	request->issue_ns = 0;
	request->insert_ns = event->ns;
	request->task = event->task;
	return 0;
}

int kl_requests_issue(struct kl_requests *requests, const struct kl_event *event, uint32_t dev,
		      uint64_t sector, struct kl_request **request)
{
	int error = get(requests, dev, sector_of(sector), request);

	if (error || !*request)
		return error;
	requests->unfinished += !!(*request)->issue_ns;
	if ((*request)->issue_ns)
		(*request)->insert_ns = 0;
	(*request)->issue_ns = event->ns;
	(*request)->tag = 0;
	if (!(*request)->insert_ns)
		(*request)->task = event->task;
	return 0;
}

bool kl_requests_complete(struct kl_requests *requests, uint32_t dev, uint64_t sector,
			  uint64_t sectors, struct kl_request *request)
{
	struct kl_request *rest, *found = find(requests, dev, sector_of(sector));

	if (!found || !found->issue_ns) {
		/*
		 * A write that is also a flush, or nothing else, completes once more without any
		 * sectors: what was issued for that is a flush of the block layer's own.
		 */
		requests->unpaired += sectors != 0;
		return false;
	}
	*request = *found;
	kl_hash_remove(&requests->by_place, found->key);
	if (!sectors || sectors >= request->left)
		return true;
	/* The rest completes by itself, at its own place. */
	if (get(requests, dev, sector + sectors, &rest) || !rest)
		return false;
	requests->unfinished += !!rest->issue_ns;
	request->key = rest->key;
	request->sector = rest->sector;
	request->left -= sectors;
	*rest = *request;
	return false;
}

bool kl_requests_remove(struct kl_requests *requests, uint32_t dev, uint64_t sector)
{
	const struct kl_request *request = find(requests, dev, sector_of(sector));
	const bool issued = request && request->issue_ns;

	if (request)
		kl_hash_remove(&requests->by_place, request->key);
	return issued;
}
