// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The part of `kernlens ship` that talks to the server. The recorder is another process, which
 * never waits for this one: captures come through the spool, and requests go through a socket of
 * packets with one JSON object each. The main thread sends captures, one thread reads the socket,
 * and libnats's thread takes requests of the server.
 *
 * to the recorder:   {"do": "hello"}, {"do": "freeze", "capture", "reason", "from", "reply"},
 *                    {"do": "status", "reply"}
 * from the recorder: {"do": "ready"}, {"do": "reply", "reply", "body"},
 *                    {"do": "alarm", "capture", "hosts", "reason"}
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link.h"
#include "ship.h"

#define CONTROL_MAX 8192
#define REQUEST_MAX 4096
#define PAUSE_MS 1000
#define PAUSE_MS_MAX 15000
#define LATE_MAX 8
#define LATE_MS 10000 /* later, the windows of others have nothing to do with an alarm */

/* An alarm that could not be published at once. @text: NULL: none */
struct late {
	char *text;
	int64_t since_ms;
};

/**
 * struct agent - the process
 * @lock: of `shipper.nc`, which is replaced when the server has closed the connection for good, and
 *        of the figures in @shipper
 * @wake: eventfd: there may be something to send
 * @requests: subscriptions
 * @late: alarms of the time without a connection, also protected by @lock
 */
struct agent {
	const struct fleet_options *options;
	struct fleet_shipper shipper;
	pthread_mutex_t lock;
	natsSubscription *requests[3];
	int spool;
	int wake;
	size_t waiting;
	struct late late[LATE_MAX];
};

static void wake(struct agent *agent)
{
	eventfd_write(agent->wake, 1);
}

/* --------------------------------------------------------------- the recorder */

static bool tell_recorder(const struct agent *agent, json_t *object)
{
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	bool good = text && agent->options->control >= 0 && strlen(text) < CONTROL_MAX &&
		    send(agent->options->control, text, strlen(text), MSG_DONTWAIT) >= 0;

	free(text);
	json_decref(object);
	return good;
}

/* Returns false without a connection: what is published then would be sent at any later time. */
static bool publish_text(struct agent *agent, const char *subject, const char *text)
{
	bool good = false;

	pthread_mutex_lock(&agent->lock);
	if (agent->shipper.nc &&
	    natsConnection_Status(agent->shipper.nc) == NATS_CONN_STATUS_CONNECTED)
		good = natsConnection_PublishString(agent->shipper.nc, subject, text) == NATS_OK;
	pthread_mutex_unlock(&agent->lock);
	return good;
}

static void publish(struct agent *agent, const char *subject, const json_t *body)
{
	char *text = json_dumps(body, JSON_COMPACT);

	if (text)
		publish_text(agent, subject, text);
	free(text);
}

/* Answer a request, with what is known here added. */
static void reply(struct agent *agent, const char *subject, json_t *body)
{
	const struct fleet_shipper *shipper = &agent->shipper;

	pthread_mutex_lock(&agent->lock);
	json_object_set_new(body, "host", json_string(shipper->host));
	json_object_set_new(body, "waiting", json_integer((json_int_t)agent->waiting));
	json_object_set_new(body, "sent", json_integer((json_int_t)shipper->captures));
	json_object_set_new(body, "messages", json_integer((json_int_t)shipper->messages));
	json_object_set_new(body, "again", json_integer((json_int_t)shipper->again));
	if (*shipper->error)
		json_object_set_new(body, "error", json_string(shipper->error));
	pthread_mutex_unlock(&agent->lock);
	publish(agent, subject, body);
}

static bool send_alarm(struct agent *agent, const char *text)
{
	char subject[FLEET_SUBJECT_MAX];

	snprintf(subject, sizeof(subject), "%s.%s", FLEET_ALARM, agent->shipper.host);
	return publish_text(agent, subject, text);
}

static void publish_alarm(struct agent *agent, json_t *object)
{
	bool kept = false;
	char *text;

	json_object_del(object, "do");
	text = json_dumps(object, JSON_COMPACT);
	if (!text || send_alarm(agent, text)) {
		free(text);
		return;
	}
	pthread_mutex_lock(&agent->lock);
	for (size_t i = 0; i < LATE_MAX && !kept; i++)
		if (!agent->late[i].text) {
			agent->late[i] = (struct late){ text, fleet_now_ms() };
			kept = true;
		}
	pthread_mutex_unlock(&agent->lock);
	if (!kept)
		free(text);
	wake(agent);
}

/* Publish alarms from before there was a connection. */
static void publish_late(struct agent *agent)
{
	for (size_t i = 0; i < LATE_MAX; i++) {
		struct late late;

		pthread_mutex_lock(&agent->lock);
		late = agent->late[i];
		agent->late[i].text = NULL;
		pthread_mutex_unlock(&agent->lock);
		if (!late.text)
			continue;
		if (fleet_now_ms() - late.since_ms > LATE_MS || send_alarm(agent, late.text)) {
			free(late.text);
			continue;
		}
		pthread_mutex_lock(&agent->lock);
		if (agent->late[i].text)
			free(late.text);
		else
			agent->late[i] = late;
		pthread_mutex_unlock(&agent->lock);
	}
}

static void *read_recorder(void *data)
{
	struct agent *agent = data;
	char text[CONTROL_MAX];
	ssize_t n;

	while ((n = recv(agent->options->control, text, sizeof(text), 0)) > 0 ||
	       (n < 0 && errno == EINTR)) {
		json_t *object = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
		const char *what = fleet_text(object, "do");

		if (!strcmp(what, "ready"))
			wake(agent);
		else if (!strcmp(what, "reply"))
			reply(agent, fleet_text(object, "reply"), json_object_get(object, "body"));
		else if (!strcmp(what, "alarm"))
			publish_alarm(agent, object);
		json_decref(object);
	}
	/* The recorder has ended. Whatever is being sent stays in the spool. */
	_exit(0);
}

/* ------------------------------------------------------------------ requests */

static void refuse(struct agent *agent, const char *subject, const char *why)
{
	json_t *body = json_pack("{s:s}", "refused", why);

	if (subject && body)
		reply(agent, subject, body);
	json_decref(body);
}

/* The host that a request is from: the end of an alarm's subject, which the server has checked. */
static const char *sender(const char *subject)
{
	size_t length = strlen(FLEET_ALARM);

	return !strncmp(subject, FLEET_ALARM ".", length + 1) ? subject + length + 1 : NULL;
}

static void forward_freeze(struct agent *agent, const json_t *request, const char *from,
			   const char *subject)
{
	const char *capture = fleet_text(request, "capture");
	char reason[FLEET_REASON_MAX];
	json_t *object;

	if (!fleet_is_token(capture, FLEET_CAPTURE_MAX)) {
		refuse(agent, subject, "invalid capture ID");
		return;
	}
	fleet_clean(reason, sizeof(reason), fleet_text(request, "reason"));
	object = json_pack("{s:s, s:s, s:s, s:s}", "do", "freeze", "capture", capture, "reason",
			   reason, "from", from ? from : "an operator");
	if (object && subject)
		json_object_set_new(object, "reply", json_string(subject));
	if (!tell_recorder(agent, object))
		refuse(agent, subject, "there is no recorder");
}

static void on_request(natsConnection *nc, natsSubscription *sub, natsMsg *msg, void *data)
{
	const char *subject = natsMsg_GetSubject(msg), *from = sender(subject);
	struct agent *agent = data;
	int length = natsMsg_GetDataLength(msg);
	json_t *request = length <= REQUEST_MAX ?
				  json_loadb(natsMsg_GetData(msg), (size_t)length, 0, NULL) :
				  NULL;
	bool wanted = request && fleet_matches(fleet_text(request, "hosts"), agent->shipper.host);

	/* Our own alarm has been taken care of. */
	if (from)
		wanted = wanted && strcmp(from, agent->shipper.host) &&
			 fleet_is_token(from, FLEET_HOST_MAX) &&
			 fleet_matches(agent->options->heed, from);
	if (wanted && !strcmp(subject, FLEET_STATUS)) {
		const char *to = natsMsg_GetReply(msg);

		if (to &&
		    !tell_recorder(agent, json_pack("{s:s, s:s}", "do", "status", "reply", to)))
			refuse(agent, to, "there is no recorder");
	} else if (wanted) {
		forward_freeze(agent, request, from, natsMsg_GetReply(msg));
	}
	json_decref(request);
	natsMsg_Destroy(msg);
}

/* ---------------------------------------------------------------- connection */

static void disconnect(struct agent *agent)
{
	natsConnection *nc;

	for (size_t i = 0; i < 3; i++)
		natsSubscription_Destroy(agent->requests[i]);
	memset(agent->requests, 0, sizeof(agent->requests));
	natsSubscription_Destroy(agent->shipper.acks);
	agent->shipper.acks = NULL;
	pthread_mutex_lock(&agent->lock);
	nc = agent->shipper.nc;
	agent->shipper.nc = NULL;
	pthread_mutex_unlock(&agent->lock);
	natsConnection_Destroy(nc);
}

static bool connect_server(struct agent *agent)
{
	static const char *const subjects[] = { FLEET_FREEZE, FLEET_STATUS, FLEET_ALARM ".*" };
	struct fleet_shipper *shipper = &agent->shipper;
	char run[FLEET_RUN_MAX], all[224];
	natsStatus status = NATS_OK;
	natsConnection *nc = fleet_link(agent->options, shipper->host);

	if (!nc)
		return false;
	fleet_random_name(run);
	snprintf(shipper->inbox, sizeof(shipper->inbox), "%s.%s.%s", FLEET_INBOX, shipper->host,
		 run);
	snprintf(all, sizeof(all), "%s.*", shipper->inbox);
	pthread_mutex_lock(&agent->lock);
	shipper->nc = nc;
	pthread_mutex_unlock(&agent->lock);
	status = natsConnection_SubscribeSync(&shipper->acks, nc, all);
	for (size_t i = 0; i < 3 && status == NATS_OK; i++)
		status = natsConnection_Subscribe(&agent->requests[i], nc, subjects[i], on_request,
						  agent);
	if (status == NATS_OK)
		return true;
	fleet_error("cannot subscribe: %s", natsStatus_GetText(status));
	disconnect(agent);
	return false;
}

/* The server may accept less than a piece; the captures then wait until it is configured. */
static bool accepts_pieces(struct agent *agent)
{
	int64_t most = natsConnection_GetMaxPayload(agent->shipper.nc);

	if (most >= (int64_t)FLEET_PIECE_MAX + 4096)
		return true;
	snprintf(agent->shipper.error, sizeof(agent->shipper.error),
		 "max_payload is %lld, and must be at least %u", (long long)most,
		 FLEET_PIECE_MAX + 4096);
	return false;
}

/* -------------------------------------------------------------------- sending */

/* Send the oldest capture. Returns false if there is none, or to wait before the next try. */
static bool send_oldest(struct agent *agent)
{
	struct fleet_spooled spooled;
	char name[FLEET_CAPTURE_MAX];
	bool good;

	agent->waiting = fleet_spool_count(agent->spool, name);
	if (!agent->waiting || !agent->shipper.nc || !accepts_pieces(agent) ||
	    natsConnection_Status(agent->shipper.nc) != NATS_CONN_STATUS_CONNECTED)
		return false;
	if (!fleet_spooled_open(agent->spool, name, agent->shipper.host, &spooled)) {
		int error = errno;

		fleet_error("cannot read capture %s: %s", name, strerror(error));
		/* Others wait behind it. */
		if (error == ENOENT || error == ENOTDIR || error == ELOOP || error == EIO)
			fleet_spool_set_aside(agent->spool, name);
		return false;
	}
	good = fleet_ship(&agent->shipper, &spooled);
	if (good) {
		good = fleet_spooled_remove(agent->spool, &spooled);
		agent->waiting--;
	}
	fleet_spooled_close(&spooled);
	return good;
}

/* For example a wrong password. The file with it is read again at the next try. */
static void note_closed(struct agent *agent)
{
	const char *text = NULL;

	if (!agent->shipper.nc)
		return;
	natsConnection_GetLastError(agent->shipper.nc, &text);
	fleet_shipper_note(&agent->shipper, "no connection to the server",
			   text && *text ? text : "it was closed");
}

static bool is_closed(const struct agent *agent)
{
	return !agent->shipper.nc ||
	       natsConnection_Status(agent->shipper.nc) == NATS_CONN_STATUS_CLOSED;
}

static void run(struct agent *agent)
{
	struct pollfd fd = { .fd = agent->wake, .events = POLLIN };
	int pause_ms = PAUSE_MS;
	eventfd_t times;

	for (;;) {
		if (is_closed(agent)) {
			note_closed(agent);
			disconnect(agent);
			connect_server(agent);
		}
		publish_late(agent);
		if (send_oldest(agent)) {
			pause_ms = PAUSE_MS;
			continue;
		}
		/* A server that refuses is not asked all the time. */
		pause_ms = *agent->shipper.error && pause_ms < PAUSE_MS_MAX ? pause_ms * 2 :
									      PAUSE_MS;
		if (poll(&fd, 1, pause_ms) > 0)
			eventfd_read(agent->wake, &times);
	}
}

int fleet_agent(const struct fleet_options *options)
{
	struct agent agent = { .options = options, .lock = PTHREAD_MUTEX_INITIALIZER };
	bool alone = options->control < 0;
	pthread_t reader;

	if (!fleet_is_token(options->host, FLEET_HOST_MAX))
		return fleet_error("\"%s\" is not a name of a host: letters, digits, - and _",
				   options->host);
	snprintf(agent.shipper.host, sizeof(agent.shipper.host), "%s", options->host);
	signal(SIGPIPE, SIG_IGN);
	agent.spool = fleet_spool_open(options->spool, alone, alone || options->first);
	if (agent.spool < 0)
		return fleet_error("%s: %s", options->spool,
				   errno == EWOULDBLOCK ? "another process uses this spool" :
							  strerror(errno));
	agent.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (agent.wake < 0)
		return fleet_error("eventfd: %s", strerror(errno));
	if (!alone && (!tell_recorder(&agent, json_pack("{s:s}", "do", "hello")) ||
		       pthread_create(&reader, NULL, read_recorder, &agent)))
		return fleet_error("cannot talk to the recorder: %s", strerror(errno));
	run(&agent);
	return 0;
}
