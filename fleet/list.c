// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Lists the captures in the stream, as a line of JSON each; and creates the stream. */
#include <stdio.h>
#include <string.h>

#include "feed.h"
#include "link.h"
#include "manifest.h"

static void key_of(char key[192], const char *host, const char *capture, const char *run)
{
	snprintf(key, 192, "%s.%s.%s", host, capture, run);
}

/* Add the capture of a head. Its names are those of its subject, or it is not listed. */
static void add_head(json_t *all, const char *host, const char *capture, natsMsg *msg)
{
	struct fleet_manifest manifest;
	char key[192];

	if (fleet_feed_head(msg, host, capture, &manifest)) {
		key_of(key, host, capture, manifest.run);
		json_object_set_new(all, key,
				    json_pack("{s:s, s:s, s:s, s:O, s:I, s:b}", "host", host,
					      "capture", capture, "boot", manifest.boot, "about",
					      manifest.about, "bytes",
					      (json_int_t)fleet_manifest_bytes(&manifest), "whole",
					      0));
	}
	fleet_manifest_release(&manifest);
}

static void add_end(json_t *all, const char *host, const char *capture, natsMsg *msg)
{
	json_t *end = json_loadb(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg), 0, NULL);
	char key[192];

	key_of(key, host, capture, fleet_text(end, "run"));
	if (json_object_get(all, key))
		json_object_set_new(json_object_get(all, key), "whole", json_true());
	json_decref(end);
}

/* Read all messages of one kind. Returns an exit status. */
static int read_kind(const struct fleet_options *options, jsCtx *js, const char *kind, json_t *all,
		     void (*add)(json_t *, const char *, const char *, natsMsg *))
{
	char filter[128], host[FLEET_HOST_MAX], capture[FLEET_CAPTURE_MAX];
	struct fleet_feed feed;
	natsMsg *msg;
	int status, got = 0;

	snprintf(filter, sizeof(filter), "%s.*.*.%s", FLEET_TRACES, kind);
	status = fleet_feed_open(&feed, js, filter);
	while (!status && (got = fleet_feed_next(&feed, &msg)) > 0) {
		if (fleet_feed_names(msg, host, sizeof(host), capture, sizeof(capture)) &&
		    fleet_matches(options->host, host))
			add(all, host, capture, msg);
		natsMsg_Destroy(msg);
	}
	fleet_feed_close(&feed);
	return status ? status : got < 0;
}

int fleet_list(const struct fleet_options *options)
{
	json_t *all = json_object(), *row;
	natsConnection *nc = NULL;
	const char *key;
	jsCtx *js = NULL;
	int status = 1;

	if (fleet_link_stream(options, &nc, &js))
		status = read_kind(options, js, "head", all, add_head);
	if (!status)
		status = read_kind(options, js, "end", all, add_end);
	json_object_foreach(all, key, row)
	{
		fleet_print(row);
	}
	json_decref(all);
	jsCtx_Destroy(js);
	natsConnection_Destroy(nc);
	return status;
}

int fleet_create(const struct fleet_options *options)
{
	const char *subjects[] = { FLEET_TRACES ".>" };
	natsConnection *nc = NULL;
	jsStreamConfig config;
	jsErrCode code = 0;
	natsStatus status = NATS_ERR;
	jsCtx *js = NULL;

	if (!fleet_link_stream(options, &nc, &js))
		goto out;
	jsStreamConfig_Init(&config);
	config.Name = FLEET_STREAM;
	config.Subjects = subjects;
	config.SubjectsLen = 1;
	config.Storage = js_FileStorage;
	/* What has been acknowledged stays; hosts keep what does not fit. */
	config.Discard = js_DiscardNew;
	config.Replicas = options->replicas;
	config.MaxBytes = options->most ? (int64_t)options->most : -1;
	config.MaxAge = (int64_t)options->age_s * 1000000000;
	/* Not the other way round: a server that is nearly full would refuse a second one. */
	status = js_UpdateStream(NULL, js, &config, NULL, &code);
	if (code == JSStreamNotFoundErr)
		status = js_AddStream(NULL, js, &config, NULL, &code);
	if (status != NATS_OK)
		fleet_error("cannot create the stream: %s", fleet_why(status, code));
out:
	jsCtx_Destroy(js);
	natsConnection_Destroy(nc);
	return status != NATS_OK;
}
