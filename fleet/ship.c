// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Sends a capture: its head, its pieces in batches, its end. The next step is not taken before the
 * server has acknowledged all of the last one, so that an end is never stored before what it ends.
 * A message without an acknowledgment is sent again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "ship.h"

#define BATCH_MAX 128
#define BATCH_BYTES (8u << 20)
#define ACK_MS 3000 /* a message without an acknowledgment for so long is sent again */
#define TRIES 5
#define NOT_STORED "the server does not store captures"

/* A message of a batch. @acked: the server has it */
struct letter {
	struct fleet_cut cut;
	bool acked;
};

struct batch {
	struct letter letter[BATCH_MAX];
	size_t n, open;
	size_t bytes;
	const char *subject;
	const struct fleet_manifest *manifest;
	uint64_t serial; /* of the first letter */
};

static void free_batch(struct batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		free(batch->letter[i].cut.data);
	batch->n = 0;
	batch->open = 0;
	batch->bytes = 0;
}

/* ----------------------------------------------------------------- messages */

static bool set_number(natsMsg *msg, const char *key, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return natsMsgHeader_Set(msg, key, text) == NATS_OK;
}

/* The name of a message by which the server recognizes it if it comes again. */
static bool set_id(natsMsg *msg, const struct batch *batch, const struct fleet_cut *cut)
{
	const struct fleet_manifest *m = batch->manifest;
	char id[320];

	if (!cut->bytes)
		snprintf(id, sizeof(id), "%s.%s.%s.%s.%s", m->host, m->boot, m->capture, m->run,
			 strrchr(batch->subject, '.') + 1);
	else
		snprintf(id, sizeof(id), "%s.%s.%s.%s.%s.%u", m->host, m->boot, m->capture, m->run,
			 m->files[cut->file].name, cut->piece);
	return natsMsgHeader_Set(msg, "Nats-Msg-Id", id) == NATS_OK;
}

/* Zeros at the end of a packet are not sent. */
static size_t without_zeros(const struct fleet_cut *cut)
{
	size_t n = cut->bytes;

	while (n && !cut->data[n - 1])
		n--;
	return n;
}

static natsMsg *make_message(const struct fleet_shipper *shipper, const struct batch *batch,
			     size_t i)
{
	const struct fleet_cut *cut = &batch->letter[i].cut;
	const char *data = cut->data;
	size_t length = cut->bytes ? without_zeros(cut) : strlen(data);
	char reply[224];
	natsMsg *msg;
	bool good;

	snprintf(reply, sizeof(reply), "%s.%llu", shipper->inbox,
		 (unsigned long long)(batch->serial + i));
	if (natsMsg_Create(&msg, batch->subject, reply, data, (int)length) != NATS_OK)
		return NULL;
	good = set_id(msg, batch, cut) &&
	       natsMsgHeader_Set(msg, "Nats-Expected-Stream", FLEET_STREAM) == NATS_OK &&
	       natsMsgHeader_Set(msg, "Kl-Run", batch->manifest->run) == NATS_OK;
	if (good && cut->bytes)
		good = set_number(msg, "Kl-File", cut->file) &&
		       set_number(msg, "Kl-Piece", cut->piece) &&
		       set_number(msg, "Kl-At", cut->at) && set_number(msg, "Kl-Bytes", cut->bytes);
	if (good)
		return msg;
	natsMsg_Destroy(msg);
	return NULL;
}

static bool send_open(struct fleet_shipper *shipper, struct batch *batch, bool again)
{
	for (size_t i = 0; i < batch->n; i++) {
		natsMsg *msg;
		natsStatus status;

		if (batch->letter[i].acked)
			continue;
		msg = make_message(shipper, batch, i);
		if (!msg)
			return false;
		status = natsConnection_PublishMsg(shipper->nc, msg);
		shipper->bytes += (uint64_t)natsMsg_GetDataLength(msg);
		natsMsg_Destroy(msg);
		shipper->messages++;
		shipper->again += again;
		if (status != NATS_OK)
			return false;
	}
	return true;
}

/* --------------------------------------------------------- acknowledgments */

void fleet_shipper_note(struct fleet_shipper *shipper, const char *what, const char *text)
{
	char clean[sizeof(shipper->error)];

	fleet_clean(clean, sizeof(clean), text);
	if (strcmp(clean, shipper->error))
		fleet_error("%s: %s", what, clean);
	strcpy(shipper->error, clean);
}

/* Which letter is acknowledged; -1: none of this batch. */
static ssize_t find_letter(const struct fleet_shipper *shipper, const struct batch *batch,
			   natsMsg *msg)
{
	const char *dot = strrchr(natsMsg_GetSubject(msg), '.');
	uint64_t serial = dot ? strtoull(dot + 1, NULL, 10) : 0;

	return serial >= batch->serial && serial - batch->serial < batch->n ?
		       (ssize_t)(serial - batch->serial) :
		       -1;
}

/* Returns false if the server refuses the message. */
static bool take_ack(struct fleet_shipper *shipper, struct batch *batch, natsMsg *msg)
{
	ssize_t i = find_letter(shipper, batch, msg);
	const json_t *error;
	bool good = true;
	json_t *ack;

	if (i < 0)
		return true;
	ack = json_loadb(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg), 0, NULL);
	error = json_object_get(ack, "error");
	if (error) {
		fleet_shipper_note(shipper, NOT_STORED, fleet_text(error, "description"));
		good = false;
	} else if (!strcmp(fleet_text(ack, "stream"), FLEET_STREAM) && fleet_number(ack, "seq") &&
		   !batch->letter[i].acked) {
		batch->letter[i].acked = true;
		batch->open--;
	}
	json_decref(ack);
	return good;
}

/* Returns false if the server refuses a message. */
static bool wait_for_acks(struct fleet_shipper *shipper, struct batch *batch)
{
	int64_t until = fleet_now_ms() + ACK_MS, left;
	bool good = true;
	natsMsg *msg;

	while (batch->open && good && (left = until - fleet_now_ms()) > 0) {
		natsStatus status = natsSubscription_NextMsg(&msg, shipper->acks, left);

		if (status == NATS_NO_RESPONDERS) {
			fleet_shipper_note(shipper, NOT_STORED,
					   "there is no stream for them (kernlens fleet create)");
			good = false;
		}
		if (status != NATS_OK)
			break;
		good = take_ack(shipper, batch, msg);
		natsMsg_Destroy(msg);
		/* It is making progress. */
		if (good)
			until = fleet_now_ms() + ACK_MS;
	}
	return good;
}

static bool send_batch(struct fleet_shipper *shipper, struct batch *batch)
{
	batch->open = batch->n;
	batch->serial = shipper->serial + 1;
	shipper->serial += batch->n;
	for (unsigned int i = 0; i < TRIES && batch->open; i++) {
		/* What is published without a connection is kept in memory, and may be lost. */
		if (natsConnection_Status(shipper->nc) != NATS_CONN_STATUS_CONNECTED)
			return false;
		if (!send_open(shipper, batch, i) || !wait_for_acks(shipper, batch))
			return false;
	}
	return !batch->open;
}

/* ----------------------------------------------------------------- captures */

/* The next pieces. Returns 1, 0 if there are no more, or -1 with errno. */
static int fill(struct batch *batch, struct fleet_cutter *cutter)
{
	int got = 1;

	free_batch(batch);
	while (batch->n < BATCH_MAX && batch->bytes < BATCH_BYTES && got > 0) {
		struct letter *letter = &batch->letter[batch->n];

		*letter = (struct letter){ .acked = false };
		got = fleet_cutter_next(cutter, &letter->cut);
		if (got > 0) {
			batch->bytes += letter->cut.bytes;
			batch->n++;
		}
	}
	return got < 0 ? -1 : batch->n ? 1 : 0;
}

static bool send_pieces(struct fleet_shipper *shipper, struct fleet_spooled *spooled,
			struct batch *batch)
{
	struct fleet_cutter cutter;
	bool good = fleet_cutter_start(&cutter, spooled, spooled->sent);
	int got = 1;

	while (good && (got = fill(batch, &cutter)) > 0) {
		good = send_batch(shipper, batch);
		if (good)
			fleet_spooled_note(spooled, cutter.next.ordinal);
	}
	if (got < 0)
		fleet_error("cannot read capture %s: %s", spooled->name, strerror(errno));
	fleet_cutter_stop(&cutter);
	free_batch(batch);
	return good && !got;
}

/* A message that is no piece. */
static bool send_text(struct fleet_shipper *shipper, struct batch *batch, const char *text)
{
	bool good;

	free_batch(batch);
	batch->letter[0] = (struct letter){ .cut.data = strdup(text) };
	if (!batch->letter[0].cut.data)
		return false;
	batch->n = 1;
	good = send_batch(shipper, batch);
	free_batch(batch);
	return good;
}

bool fleet_ship(struct fleet_shipper *shipper, struct fleet_spooled *spooled)
{
	struct batch *batch = calloc(1, sizeof(*batch));
	char prefix[FLEET_SUBJECT_MAX], subject[FLEET_SUBJECT_MAX + 8], end[64];
	bool good;

	if (!batch)
		return false;
	snprintf(prefix, sizeof(prefix), "%s.%s.%s", FLEET_TRACES, spooled->manifest.host,
		 spooled->manifest.capture);
	snprintf(end, sizeof(end), "{\"run\":\"%s\"}", spooled->manifest.run);
	batch->subject = subject;
	batch->manifest = &spooled->manifest;
	snprintf(subject, sizeof(subject), "%s.head", prefix);
	good = send_text(shipper, batch, spooled->head);
	if (good) {
		snprintf(subject, sizeof(subject), "%s.data", prefix);
		good = send_pieces(shipper, spooled, batch);
	}
	if (good) {
		snprintf(subject, sizeof(subject), "%s.end", prefix);
		good = send_text(shipper, batch, end);
	}
	free(batch);
	if (good) {
		shipper->captures++;
		*shipper->error = 0;
	}
	return good;
}
