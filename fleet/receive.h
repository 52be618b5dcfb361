/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Puts a capture together from its messages, which may come twice, in any order, or not at all. A
 * piece is taken once; the server's own search for duplicates is not relied on.
 */
#ifndef FLEET_RECEIVE_H
#define FLEET_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "manifest.h"

/**
 * struct fleet_piece - the headers of a message, as text; NULL: missing
 * @payload: bytes of the piece, without the zeros at its end
 */
struct fleet_piece {
	const char *run, *file, *piece, *at, *bytes;
	const char *payload;
	size_t length;
};

/**
 * struct fleet_received - counts
 * @taken: pieces
 * @twice: pieces that had been taken before, with equal bytes or not
 * @foreign: messages that do not belong to the capture
 * @missing: at the end: pieces that never came
 * @damaged: at the end: files whose checksum is wrong although no piece is missing
 */
struct fleet_received {
	uint64_t taken, twice, foreign, missing, damaged;
};

struct fleet_receiver;

/**
 * fleet_receiver_create - create the directory of a trace
 * @manifest: must outlive the receiver
 * @path: directory that must not exist
 * @most: maximum size of the trace
 * @why: out: what is wrong, valid until the next call
 *
 * Returns NULL if it cannot be received.
 */
struct fleet_receiver *fleet_receiver_create(const struct fleet_manifest *manifest,
					     const char *path, uint64_t most, const char **why);

/* Take a message. Returns false, with errno, if it cannot be stored. */
bool fleet_receive(struct fleet_receiver *receiver, const struct fleet_piece *piece);

/* Have all pieces come? */
bool fleet_receiver_is_whole(const struct fleet_receiver *receiver);

/**
 * fleet_receiver_finish - check the files, and cut what is missing out of streams
 * @receiver: receiver
 * @counts: out
 *
 * In a stream, the packets that came follow each other; readers find those that are missing by
 * their numbers. Returns false, with errno, if files cannot be read or written.
 */
bool fleet_receiver_finish(struct fleet_receiver *receiver, struct fleet_received *counts);

/* Remove what has been written. */
void fleet_receiver_discard(struct fleet_receiver *receiver);

void fleet_receiver_destroy(struct fleet_receiver *receiver);

#endif /* FLEET_RECEIVE_H */
