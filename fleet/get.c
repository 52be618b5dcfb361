// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Fetches a capture into a trace directory, or removes it from the server. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "feed.h"
#include "link.h"
#include "receive.h"

#define STATUS_INCOMPLETE 3
#define TRIES 5
#define MOST_DEFAULT (4ull << 30)

static bool check_names(const struct fleet_options *options)
{
	if (fleet_is_token(options->host, FLEET_HOST_MAX) &&
	    fleet_is_token(options->capture, FLEET_CAPTURE_MAX))
		return true;
	fleet_error("invalid name of a host or capture");
	return false;
}

/* The capture's last head. */
static bool read_head(const struct fleet_options *options, jsCtx *js,
		      struct fleet_manifest *manifest)
{
	char subject[FLEET_SUBJECT_MAX];
	jsErrCode code = 0;
	unsigned int tries = 0;
	natsMsg *msg = NULL;
	natsStatus status;
	bool good;

	*manifest = (struct fleet_manifest){ .n = 0 };
	snprintf(subject, sizeof(subject), "%s.%s.%s.head", FLEET_TRACES, options->host,
		 options->capture);
	do
		status = js_GetLastMsg(&msg, js, FLEET_STREAM, subject, NULL, &code);
	while (status != NATS_OK && status != NATS_NOT_FOUND && !code && ++tries < TRIES);
	if (status == NATS_NOT_FOUND && code != JSStreamNotFoundErr)
		return !fleet_error("the server has no capture %s of %s", options->capture,
				    options->host);
	if (status != NATS_OK)
		return !fleet_error("cannot read the stream: %s", fleet_why(status, code));
	good = fleet_feed_head(msg, options->host, options->capture, manifest);
	natsMsg_Destroy(msg);
	return good;
}

static bool take(struct fleet_receiver *receiver, natsMsg *msg)
{
	struct fleet_piece piece = {
		.payload = natsMsg_GetData(msg),
		.length = (size_t)natsMsg_GetDataLength(msg),
	};

	natsMsgHeader_Get(msg, "Kl-Run", &piece.run);
	natsMsgHeader_Get(msg, "Kl-File", &piece.file);
	natsMsgHeader_Get(msg, "Kl-Piece", &piece.piece);
	natsMsgHeader_Get(msg, "Kl-At", &piece.at);
	natsMsgHeader_Get(msg, "Kl-Bytes", &piece.bytes);
	return fleet_receive(receiver, &piece);
}

static int read_pieces(const struct fleet_options *options, jsCtx *js,
		       struct fleet_receiver *receiver, unsigned int *resumed)
{
	char subject[FLEET_SUBJECT_MAX];
	struct fleet_feed feed;
	natsMsg *msg;
	int status, got = 0;

	snprintf(subject, sizeof(subject), "%s.%s.%s.data", FLEET_TRACES, options->host,
		 options->capture);
	status = fleet_feed_open(&feed, js, subject);
	while (!status && !fleet_receiver_is_whole(receiver) &&
	       (got = fleet_feed_next(&feed, &msg)) > 0) {
		if (!take(receiver, msg))
			status = fleet_error("%s: %s", options->output, strerror(errno));
		natsMsg_Destroy(msg);
	}
	*resumed = feed.resumed;
	fleet_feed_close(&feed);
	return status ? status : got < 0;
}

/* What has been fetched, for the command. */
static int tell(const struct fleet_options *options, const struct fleet_manifest *manifest,
		const struct fleet_received *counts, unsigned int resumed)
{
	bool whole = !counts->missing && !counts->damaged;
	json_t *result = json_pack("{s:s, s:s, s:O, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:i}",
				   "host", manifest->host, "capture", manifest->capture, "about",
				   manifest->about, "whole", whole, "bytes",
				   (json_int_t)fleet_manifest_bytes(manifest), "pieces",
				   (json_int_t)counts->taken, "twice", (json_int_t)counts->twice,
				   "foreign", (json_int_t)counts->foreign, "missing",
				   (json_int_t)counts->missing, "damaged",
				   (json_int_t)counts->damaged, "resumed", (int)resumed);

	fleet_print(result);
	json_decref(result);
	if (whole)
		return 0;
	fleet_error("capture %s of %s is incomplete: %llu pieces are missing, %llu files damaged",
		    options->capture, options->host, (unsigned long long)counts->missing,
		    (unsigned long long)counts->damaged);
	return STATUS_INCOMPLETE;
}

static int receive(const struct fleet_options *options, jsCtx *js,
		   const struct fleet_manifest *manifest)
{
	struct fleet_received counts = { 0 };
	struct fleet_receiver *receiver;
	unsigned int resumed = 0;
	const char *why;
	int status;

	receiver = fleet_receiver_create(manifest, options->output,
					 options->most ? options->most : MOST_DEFAULT, &why);
	if (!receiver)
		return fleet_error("%s: %s", options->output, why);
	status = read_pieces(options, js, receiver, &resumed);
	if (!status && !fleet_receiver_finish(receiver, &counts))
		status = fleet_error("%s: %s", options->output, strerror(errno));
	if (!status)
		status = tell(options, manifest, &counts, resumed);
	if (status && !(status == STATUS_INCOMPLETE && options->partial))
		fleet_receiver_discard(receiver);
	fleet_receiver_destroy(receiver);
	return status;
}

int fleet_get(const struct fleet_options *options)
{
	struct fleet_manifest manifest = { .n = 0 };
	natsConnection *nc = NULL;
	jsCtx *js = NULL;
	int status = 1;

	if (!check_names(options))
		return 2;
	if (fleet_link_stream(options, &nc, &js) && read_head(options, js, &manifest))
		status = receive(options, js, &manifest);
	fleet_manifest_release(&manifest);
	jsCtx_Destroy(js);
	natsConnection_Destroy(nc);
	return status;
}

int fleet_remove(const struct fleet_options *options)
{
	char subject[FLEET_SUBJECT_MAX];
	natsConnection *nc = NULL;
	jsOptions purge;
	jsErrCode code = 0;
	jsCtx *js = NULL;
	natsStatus status = NATS_ERR;

	if (!check_names(options))
		return 2;
	if (fleet_link_stream(options, &nc, &js)) {
		jsOptions_Init(&purge);
		snprintf(subject, sizeof(subject), "%s.%s.%s.>", FLEET_TRACES, options->host,
			 options->capture);
		purge.Stream.Purge.Subject = subject;
		status = js_PurgeStream(js, FLEET_STREAM, &purge, &code);
		if (status != NATS_OK)
			fleet_error("cannot remove capture %s: %s", options->capture,
				    fleet_why(status, code));
	}
	jsCtx_Destroy(js);
	natsConnection_Destroy(nc);
	return status != NATS_OK;
}
