// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A consumer without acknowledgments. Messages that are lost on the way, because this reader is
 * slow or the connection is cut, leave a gap in the consumer's numbers: a new consumer then
 * starts where the last one was.
 */
#include <stdio.h>
#include <string.h>

#include "feed.h"
#include "link.h"

#define WAIT_MS 3000
#define RESUMES_MAX 12 /* without any message in between */

static natsStatus subscribe(struct fleet_feed *feed, jsErrCode *code)
{
	jsConsumerInfo *info = NULL;
	jsSubOptions options;
	natsStatus status;

	jsSubOptions_Init(&options);
	options.Stream = FLEET_STREAM;
	options.Config.AckPolicy = js_AckNone;
	options.Config.InactiveThreshold = 30ll * 1000000000;
	options.Config.DeliverPolicy = js_DeliverByStartSequence;
	options.Config.OptStartSeq = feed->next;
	feed->serial = 1;
	status = js_SubscribeSync(&feed->sub, feed->js, feed->filter, NULL, &options, code);
	if (status != NATS_OK)
		return status;
	status = natsSubscription_GetConsumerInfo(&info, feed->sub, NULL, code);
	if (status == NATS_OK)
		feed->ended = !info->NumPending && !info->Delivered.Consumer;
	jsConsumerInfo_Destroy(info);
	return status;
}

static void unsubscribe(struct fleet_feed *feed)
{
	natsSubscription_Destroy(feed->sub);
	feed->sub = NULL;
}

int fleet_feed_open(struct fleet_feed *feed, jsCtx *js, const char *filter)
{
	jsErrCode code = 0;
	natsStatus status;

	*feed = (struct fleet_feed){ .js = js, .next = 1 };
	snprintf(feed->filter, sizeof(feed->filter), "%s", filter);
	status = subscribe(feed, &code);
	if (status == NATS_OK)
		return 0;
	unsubscribe(feed);
	/* Nothing has been refused: fleet_feed_next() tries again. */
	if (!code)
		return 0;
	return fleet_error("cannot read the stream: %s", fleet_why(status, code));
}

/* Is it the next one of the consumer? */
static bool take(struct fleet_feed *feed, natsMsg *msg)
{
	jsMsgMetaData *meta = NULL;
	bool good = natsMsg_GetMetaData(&meta, msg) == NATS_OK &&
		    meta->Sequence.Consumer == feed->serial;

	if (good) {
		feed->serial++;
		feed->next = meta->Sequence.Stream + 1;
		feed->ended = !meta->NumPending;
	}
	jsMsgMetaData_Destroy(meta);
	return good;
}

int fleet_feed_next(struct fleet_feed *feed, natsMsg **msg)
{
	jsErrCode code;

	for (unsigned int i = 0; i < RESUMES_MAX && !feed->ended; i++) {
		natsStatus status = feed->sub ? natsSubscription_NextMsg(msg, feed->sub, WAIT_MS) :
						NATS_INVALID_SUBSCRIPTION;

		if (status == NATS_OK && take(feed, *msg))
			return 1;
		if (status == NATS_OK)
			natsMsg_Destroy(*msg);
		feed->resumed++;
		unsubscribe(feed);
		/* Until the server is there again. */
		if (subscribe(feed, &code) != NATS_OK) {
			unsubscribe(feed);
			nats_Sleep(200);
		}
	}
	if (feed->ended)
		return 0;
	fleet_error("the server does not answer");
	return -1;
}

void fleet_feed_close(struct fleet_feed *feed)
{
	unsubscribe(feed);
}

/* Copy the next part of a subject, which another one follows. */
static bool next_part(const char **subject, char *part, size_t bytes)
{
	size_t length = strcspn(*subject, ".");

	if (!(*subject)[length] || length >= bytes)
		return false;
	snprintf(part, bytes, "%.*s", (int)length, *subject);
	*subject += length + 1;
	return fleet_is_token(part, bytes);
}

bool fleet_feed_names(natsMsg *msg, char *host, size_t host_bytes, char *capture,
		      size_t capture_bytes)
{
	const char *subject = natsMsg_GetSubject(msg);
	size_t length = strlen(FLEET_TRACES ".");

	if (strncmp(subject, FLEET_TRACES ".", length))
		return false;
	subject += length;
	return next_part(&subject, host, host_bytes) && next_part(&subject, capture, capture_bytes);
}

bool fleet_feed_head(natsMsg *msg, const char *host, const char *capture,
		     struct fleet_manifest *manifest)
{
	const char *why;

	if (!fleet_manifest_parse(manifest, natsMsg_GetData(msg),
				  (size_t)natsMsg_GetDataLength(msg), &why))
		return !fleet_error("the head of capture %s of %s is damaged: %s", capture, host,
				    why);
	if (strcmp(manifest->host, host) || strcmp(manifest->capture, capture))
		return !fleet_error("the head of capture %s of %s claims another name", capture,
				    host);
	return true;
}
