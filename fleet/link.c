// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Connects to the server, with TLS and the user's secrets. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "link.h"

#define RECONNECT_MS 500
#define PING_MS 5000
#define WAIT_MS 2000 /* for an answer of JetStream */

int fleet_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("kernlens: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	return 1;
}

const char *fleet_why(natsStatus status, jsErrCode code)
{
	static char clean[256];
	natsStatus last = NATS_OK;
	const char *text;

	if (code == JSStreamNotFoundErr)
		return "there is no stream " FLEET_STREAM " (kernlens fleet create)";
	text = nats_GetLastError(&last);
	fleet_clean(clean, sizeof(clean), text && *text ? text : natsStatus_GetText(status));
	return clean;
}

void fleet_random_name(char name[FLEET_RUN_MAX])
{
	uint64_t number = 0;

	while (getrandom(&number, sizeof(number), 0) != sizeof(number))
		;
	snprintf(name, FLEET_RUN_MAX, "%016llx", (unsigned long long)number);
}

int64_t fleet_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A file that others must not be able to read. */
static bool check_secret(const char *path)
{
	struct stat file;

	if (stat(path, &file))
		return !fleet_error("%s: %s", path, strerror(errno));
	if (!S_ISREG(file.st_mode) || file.st_size > (off_t)FLEET_LOGIN_MAX * 16)
		return !fleet_error("%s: not a regular file of at most 64 KiB", path);
	if (file.st_mode & 0006)
		return !fleet_error("%s: other users can read or write it (chmod o-rw)", path);
	return true;
}

bool fleet_read_login(const char *path, char text[FLEET_LOGIN_MAX])
{
	FILE *file = check_secret(path) ? fopen(path, "re") : NULL;

	if (!file)
		return false;
	if (!fgets(text, FLEET_LOGIN_MAX, file))
		*text = 0;
	fclose(file);
	text[strcspn(text, "\r\n")] = 0;
	return *text || !fleet_error("%s: no login in it", path);
}

static natsStatus set_login(natsOptions *nats, char *text)
{
	char *colon = strchr(text, ':');
	natsStatus status;

	if (colon)
		*colon++ = 0;
	status = colon ? natsOptions_SetUserInfo(nats, text, colon) :
			 natsOptions_SetToken(nats, text);
	explicit_bzero(text, FLEET_LOGIN_MAX);
	return status;
}

static natsStatus set_secrets(natsOptions *nats, const struct fleet_options *options)
{
	natsStatus status = NATS_OK;
	char login[FLEET_LOGIN_MAX];

	if ((options->credentials && !check_secret(options->credentials)) ||
	    (options->key && !check_secret(options->key)) ||
	    (options->login && !fleet_read_login(options->login, login)))
		return NATS_ERR;
	if (options->credentials)
		status = natsOptions_SetUserCredentialsFromFiles(nats, options->credentials, NULL);
	if (status == NATS_OK && options->login)
		status = set_login(nats, login);
	if (status == NATS_OK && (options->ca || options->certificate))
		status = natsOptions_SetSecure(nats, true);
	if (status == NATS_OK && options->ca)
		status = natsOptions_LoadCATrustedCertificates(nats, options->ca);
	if (status == NATS_OK && options->certificate)
		status =
			natsOptions_LoadCertificatesChain(nats, options->certificate, options->key);
	if (status != NATS_OK)
		fleet_error("cannot use the certificates or secrets: %s",
			    natsStatus_GetText(status));
	return status;
}

/* Messages of the server, such as violations of permissions. They are rare, but may repeat. */
static void on_error(natsConnection *nc, natsSubscription *sub, natsStatus status, void *data)
{
	static time_t last;
	const char *text = NULL;
	char clean[256];
	time_t now = time(NULL);

	if (__atomic_exchange_n(&last, now, __ATOMIC_RELAXED) == now)
		return;
	natsConnection_GetLastError(nc, &text);
	fleet_clean(clean, sizeof(clean), text && *text ? text : natsStatus_GetText(status));
	fleet_error("server: %s", clean);
}

static void on_late_connect(natsConnection *nc, void *data)
{
}

static natsStatus set_host(natsOptions *nats, const char *host)
{
	natsStatus status = natsOptions_SetName(nats, host ? host : "kernlens fleet");

	if (status == NATS_OK && host)
		status = natsOptions_SetRetryOnFailedConnect(nats, true, on_late_connect, NULL);
	if (status == NATS_OK)
		status = natsOptions_SetMaxReconnect(nats, host ? -1 : 20);
	if (status == NATS_OK)
		status = natsOptions_SetReconnectWait(nats, RECONNECT_MS);
	if (status == NATS_OK)
		status = natsOptions_SetPingInterval(nats, PING_MS);
	/* Servers named by the server are not those that the user has named. */
	if (status == NATS_OK)
		status = natsOptions_SetIgnoreDiscoveredServers(nats, true);
	if (status == NATS_OK)
		status = natsOptions_SetErrorHandler(nats, on_error, NULL);
	return status;
}

natsConnection *fleet_link(const struct fleet_options *options, const char *host)
{
	natsConnection *nc = NULL;
	natsOptions *nats = NULL;
	natsStatus status = natsOptions_Create(&nats);

	if (status == NATS_OK)
		status = natsOptions_SetURL(nats, options->server);
	if (status != NATS_OK)
		fleet_error("%s is not the address of a server", options->server);
	if (status == NATS_OK) {
		status = set_secrets(nats, options);
		if (status == NATS_OK)
			status = set_host(nats, host);
		if (status == NATS_OK) {
			status = natsConnection_Connect(&nc, nats);
			if (status != NATS_OK && status != NATS_NOT_YET_CONNECTED)
				fleet_error("cannot connect to %s: %s", options->server,
					    natsStatus_GetText(status));
		}
	}
	natsOptions_Destroy(nats);
	if (status == NATS_OK || status == NATS_NOT_YET_CONNECTED)
		return nc;
	natsConnection_Destroy(nc);
	return NULL;
}

bool fleet_link_stream(const struct fleet_options *options, natsConnection **nc, jsCtx **js)
{
	jsOptions js_options;
	natsStatus status;

	*js = NULL;
	*nc = fleet_link(options, NULL);
	if (!*nc)
		return false;
	jsOptions_Init(&js_options);
	js_options.Wait = WAIT_MS;
	status = natsConnection_JetStream(js, *nc, &js_options);
	return status == NATS_OK || !fleet_error("JetStream: %s", natsStatus_GetText(status));
}
