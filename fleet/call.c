// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Requests to all hosts whose name matches, and their answers, as a line of JSON each. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "manifest.h"

#define ANSWERS_MAX 100000
#define ANSWER_MAX 8192

/* An answer is one JSON object; whatever else comes is left out. */
static void print_answer(natsMsg *msg)
{
	int length = natsMsg_GetDataLength(msg);
	json_t *answer = length <= ANSWER_MAX ?
				 json_loadb(natsMsg_GetData(msg), (size_t)length, 0, NULL) :
				 NULL;

	if (fleet_is_token(fleet_text(answer, "host"), FLEET_HOST_MAX))
		fleet_print(answer);
	json_decref(answer);
}

static int collect(natsSubscription *sub, uint64_t wait_ms)
{
	int64_t until = fleet_now_ms() + (int64_t)wait_ms, left;
	natsMsg *msg;

	for (unsigned int n = 0; n < ANSWERS_MAX && (left = until - fleet_now_ms()) > 0; n++) {
		natsStatus status = natsSubscription_NextMsg(&msg, sub, left);

		if (status == NATS_TIMEOUT)
			return 0;
		if (status == NATS_NO_RESPONDERS)
			return 0;
		if (status != NATS_OK)
			return fleet_error("cannot receive answers: %s",
					   natsStatus_GetText(status));
		print_answer(msg);
		natsMsg_Destroy(msg);
	}
	return 0;
}

int fleet_call(const struct fleet_options *options, bool freeze)
{
	json_t *request = json_pack("{s:s}", "hosts", options->host);
	natsSubscription *sub = NULL;
	natsInbox *inbox = NULL;
	natsConnection *nc;
	natsStatus status;
	char *text;
	int result = 1;

	if (freeze) {
		json_object_set_new(request, "capture",
				    json_string(options->capture ? options->capture : ""));
		json_object_set_new(request, "reason", json_string(options->reason));
	}
	text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	nc = text ? fleet_link(options, NULL) : NULL;
	if (nc) {
		status = natsInbox_Create(&inbox);
		if (status == NATS_OK)
			status = natsConnection_SubscribeSync(&sub, nc, inbox);
		if (status == NATS_OK)
			status = natsConnection_PublishRequestString(nc,
								     freeze ? FLEET_FREEZE :
									      FLEET_STATUS,
								     inbox, text);
		if (status == NATS_OK)
			status = natsConnection_FlushTimeout(nc, 5000);
		result = status == NATS_OK ? collect(sub, options->wait_ms) :
					     fleet_error("cannot send the request: %s",
							 natsStatus_GetText(status));
	}
	natsSubscription_Destroy(sub);
	natsInbox_Destroy(inbox);
	natsConnection_Destroy(nc);
	free(text);
	json_decref(request);
	return result;
}
