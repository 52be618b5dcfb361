// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Queries Prometheus, and prints each sample as a line of JSON: the number of its query, its
 * labels, and its value. Nothing that the server says is trusted: it can be large, wrong, or point
 * elsewhere.
 */
#include <curl/curl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "manifest.h"

#define ANSWER_MAX (64u << 20)
#define URL_MAX 2048

struct answer {
	char *bytes;
	size_t length;
	bool too_large;
};

static size_t take_bytes(char *bytes, size_t size, size_t n, void *data)
{
	struct answer *answer = data;
	size_t length = size * n;
	char *grown;

	answer->too_large = length > ANSWER_MAX - answer->length;
	grown = answer->too_large ? NULL : realloc(answer->bytes, answer->length + length + 1);
	if (!grown)
		return 0;
	memcpy(grown + answer->length, bytes, length);
	answer->bytes = grown;
	answer->length += length;
	return length;
}

/* A line USER:PASSWORD, or a token. */
static bool set_login(CURL *curl, const char *path)
{
	char text[FLEET_LOGIN_MAX];
	bool set;

	if (!fleet_read_login(path, text))
		return false;
	if (strchr(text, ':'))
		set = !curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC) &&
		      !curl_easy_setopt(curl, CURLOPT_USERPWD, text);
	else
		set = !curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER) &&
		      !curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, text);
	explicit_bzero(text, sizeof(text));
	return set || !fleet_error("%s: cannot use the login", path);
}

/* Secrets go to the named server only: no redirections, and no other protocol. */
static bool set_up(CURL *curl, const struct fleet_options *options, struct answer *answer)
{
	char url[URL_MAX];
	size_t length = strlen(options->prometheus);

	while (length && options->prometheus[length - 1] == '/')
		length--;
	if ((size_t)snprintf(url, sizeof(url), "%.*s/api/v1/query", (int)length,
			     options->prometheus) >= sizeof(url))
		return !fleet_error("the URL is too long");
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)options->wait_ms);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "kernlens");
	if (options->ca)
		curl_easy_setopt(curl, CURLOPT_CAINFO, options->ca);
	if (curl_easy_setopt(curl, CURLOPT_URL, url))
		return !fleet_error("out of memory");
	return !options->login || set_login(curl, options->login);
}

/* What the server says of a failed query, or that it is not Prometheus. */
static int refused(const struct fleet_options *options, long code, const json_t *answer)
{
	const char *said = fleet_text(answer, "error");
	char clean[256];

	fleet_clean(clean, sizeof(clean), *said ? said : "no answer that Prometheus gives");
	return fleet_error("%s: %s (HTTP status %ld)", options->prometheus, clean, code);
}

/* A vector: [{"metric": {labels}, "value": [time, "number"]}, ...]. */
static void print_samples(unsigned int query, json_t *result)
{
	json_t *sample;
	size_t i;

	json_array_foreach(result, i, sample)
	{
		json_t *labels = json_object_get(sample, "metric");
		const char *text =
			json_string_value(json_array_get(json_object_get(sample, "value"), 1));
		double value = text ? strtod(text, NULL) : NAN;
		json_t *row;

		if (!json_is_object(labels) || !isfinite(value))
			continue;
		row = json_pack("{s:i, s:O, s:f}", "query", (int)query, "labels", labels, "value",
				value);
		if (row)
			fleet_print(row);
		json_decref(row);
	}
}

static int ask(CURL *curl, const struct fleet_options *options, struct answer *answer,
	       unsigned int number)
{
	char *query = curl_easy_escape(curl, options->query[number], 0);
	char *form = query ? malloc(strlen(query) + 7) : NULL;
	json_t *json, *data;
	CURLcode error;
	long code = 0;
	int status = 0;

	if (form)
		sprintf(form, "query=%s", query);
	curl_free(query);
	answer->length = 0;
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, form ? form : "");
	error = curl_easy_perform(curl);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, NULL);
	free(form);
	if (error)
		return fleet_error("%s: %s", options->prometheus,
				   answer->too_large ? "the answer is larger than 64 MiB" :
						       curl_easy_strerror(error));
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
	json = json_loadb(answer->length ? answer->bytes : "", answer->length, 0, NULL);
	data = json_object_get(json, "data");
	if (code == 200 && !strcmp(fleet_text(json, "status"), "success") &&
	    !strcmp(fleet_text(data, "resultType"), "vector"))
		print_samples(number, json_object_get(data, "result"));
	else
		status = refused(options, code, json);
	json_decref(json);
	return status;
}

int fleet_query(const struct fleet_options *options)
{
	struct answer answer = {};
	CURL *curl;
	int status;

	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return fleet_error("out of memory");
	curl = curl_easy_init();
	status = !curl || !set_up(curl, options, &answer);
	for (unsigned int i = 0; i < options->n_queries && !status; i++)
		status = ask(curl, options, &answer, i);
	curl_easy_cleanup(curl);
	curl_global_cleanup();
	free(answer.bytes);
	return status;
}
