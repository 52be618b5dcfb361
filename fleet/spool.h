/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The spool: a directory of captures that have not been sent. A capture is a directory NAME.new
 * while the recorder writes it, NAME.ready from then on, and NAME.sent once the server has all of
 * it and it is being removed. In it:
 *
 *   trace/      the trace
 *   about.json  what the recorder says of it
 *   head.json   its head, written before the first message
 *   sent        number of pieces that the server has acknowledged, all of them from the first on
 */
#ifndef FLEET_SPOOL_H
#define FLEET_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "manifest.h"

/**
 * struct fleet_spooled - a capture in the spool
 * @dir: its directory
 * @trace: that of the trace
 * @manifest: its head
 * @head: the head's text
 * @sent: pieces acknowledged
 */
struct fleet_spooled {
	char name[FLEET_CAPTURE_MAX];
	int dir, trace;
	struct fleet_manifest manifest;
	char *head;
	uint64_t sent;
};

/**
 * struct fleet_cut - a piece of a file of a trace
 * @file: index in the manifest
 * @piece: number in the file
 * @ordinal: number in the capture
 * @data: @bytes of them
 */
struct fleet_cut {
	size_t file;
	uint32_t piece;
	uint64_t ordinal;
	uint64_t at;
	uint32_t bytes;
	char *data;
};

/**
 * struct fleet_cutter - cuts the files of a trace into pieces, one for each packet
 * @next: what the next piece begins with
 */
struct fleet_cutter {
	const struct fleet_spooled *spooled;
	struct fleet_cut next;
	int fd;
};

/**
 * fleet_spool_open - open a spool
 * @path: directory
 * @lock: no other process may use it
 * @first: no recorder is writing to it: what was being written when one was killed becomes
 *         ready
 *
 * Captures that were being removed are removed. Returns a descriptor, or -1 with errno;
 * EWOULDBLOCK: another process has it.
 */
int fleet_spool_open(const char *path, bool lock, bool first);

/* A capture that cannot be sent is renamed to NAME.bad. */
void fleet_spool_set_aside(int spool, const char *name);

/* Number of captures that are ready; the oldest's name is copied to @oldest. */
size_t fleet_spool_count(int spool, char oldest[FLEET_CAPTURE_MAX]);

/**
 * fleet_spooled_open - open a capture, and make its head if there is none
 * @spool: descriptor
 * @name: of the capture
 * @host: this host
 * @spooled: filled in
 *
 * Returns false with errno; @spooled is then closed.
 */
bool fleet_spooled_open(int spool, const char *name, const char *host,
			struct fleet_spooled *spooled);
void fleet_spooled_close(struct fleet_spooled *spooled);

/* Remember how many pieces the server has. A failure only costs time later. */
void fleet_spooled_note(struct fleet_spooled *spooled, uint64_t sent);

/* The server has the whole capture: remove it. */
bool fleet_spooled_remove(int spool, const struct fleet_spooled *spooled);

/* CRC-32 of further bytes, as in heads. */
uint32_t fleet_crc(uint32_t crc, const void *bytes, size_t length);

/* Begin with the piece of an ordinal. Returns false with errno. */
bool fleet_cutter_start(struct fleet_cutter *cutter, const struct fleet_spooled *spooled,
			uint64_t ordinal);

/**
 * fleet_cutter_next - the next piece
 * @cutter: cutter
 * @cut: filled in; `data` is to be freed
 *
 * Returns 1, 0 after the last piece, or -1 with errno.
 */
int fleet_cutter_next(struct fleet_cutter *cutter, struct fleet_cut *cut);
void fleet_cutter_stop(struct fleet_cutter *cutter);

#endif /* FLEET_SPOOL_H */
