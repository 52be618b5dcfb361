// SPDX-License-Identifier: GPL-2.0
/*
 * Writes a timeline as elements of an HTML page: one with lists of them, as JSON, and one with the
 * compressed spans of each track and the records of each block, as base64.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "timeline.h"

struct writer {
	struct kl_timeline *t;
	kl_timeline_fn write;
	void *context;
	int error;
};

static void put(struct writer *w, const void *bytes, size_t length)
{
	if (!w->error)
		w->error = w->write(w->context, bytes, length);
}

static void put_text(struct writer *w, const char *text)
{
	put(w, text, strlen(text));
}

static void put_buffer(struct writer *w, struct kl_buffer *buffer)
{
	if (buffer->error && !w->error)
		w->error = -ENOMEM;
	put(w, buffer->data, buffer->length);
	kl_buffer_deinit(buffer);
}

/* -------------------------------------------------------------------- base64 */

#define LINE_BYTES 3072 /* a multiple of 3 */

static void put_base64(struct writer *w, const uint8_t *bytes, size_t length)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char line[LINE_BYTES / 3 * 4];

	for (size_t from = 0; from < length; from += LINE_BYTES) {
		const size_t to = length - from < LINE_BYTES ? length : from + LINE_BYTES;
		size_t n = 0;

		for (size_t i = from; i < to; i += 3) {
			const uint32_t left = to - i < 3 ? (uint32_t)(to - i) : 3;
			const uint32_t bits = (uint32_t)bytes[i] << 16 |
					      (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
					      (left > 2 ? bytes[i + 2] : 0);

			line[n++] = letters[bits >> 18];
			line[n++] = letters[bits >> 12 & 63];
			line[n++] = left > 1 ? letters[bits >> 6 & 63] : '=';
			line[n++] = left > 2 ? letters[bits & 63] : '=';
		}
		put(w, line, n);
	}
}

static void put_chunk(struct writer *w, char kind, size_t number, const uint8_t *bytes,
		      size_t length)
{
	char head[64];

	snprintf(head, sizeof(head), "<script type=\"text/plain\" id=\"%c%zu\">", kind, number);
	put_text(w, head);
	put_base64(w, bytes, length);
	put_text(w, "</script>\n");
}

static void put_columns(struct writer *w, char kind, size_t number, struct kl_buffer *columns)
{
	uint8_t *bytes = NULL;
	size_t length = 0;

	if (!w->error &&
	    (columns->error || kl_deflate(columns->data, columns->length, &bytes, &length)))
		w->error = -ENOMEM;
	if (!w->error)
		put_chunk(w, kind, number, bytes, length);
	free(bytes);
	kl_buffer_deinit(columns);
}

/* --------------------------------------------------------------------- spans */

/*
 * The columns of a track, one after the other: gaps before the spans, lengths, names, classes,
 * numbers of spans merged, records, who; and for each merged span, its time by class.
 */
static void add_columns(const struct kl_timeline *t, const struct kl_track *track,
			struct kl_buffer *to)
{
	uint64_t at = 0, record = 0;

	for (size_t i = 0; i < track->n; i++) {
		kl_add_varint(to, track->span[i].begin - at);
		at = track->span[i].end;
	}
	for (size_t i = 0; i < track->n; i++)
		kl_add_varint(to, track->span[i].end - track->span[i].begin);
	for (size_t i = 0; i < track->n; i++)
		kl_add_varint(to, track->span[i].name);
	for (size_t i = 0; i < track->n; i++)
		kl_buffer_add_char(to, (char)track->span[i].class);
	for (size_t i = 0; i < track->n; i++)
		kl_add_varint(to, track->span[i].n - 1);
	for (size_t i = 0; i < track->n; i++) {
		kl_add_zigzag(to, (int64_t)(track->span[i].record - record));
		record = track->span[i].record;
	}
	for (size_t i = 0; i < track->n; i++)
		kl_add_varint(to, track->span[i].by);
	for (size_t i = 0; i < track->n; i++)
		for (unsigned int k = 0; track->span[i].n > 1 && k < KL_SPAN_CLASSES; k++)
			kl_add_varint(to, t->sums[track->span[i].sums].ns[k]);
}

static void put_track(struct writer *w, size_t number)
{
	struct kl_buffer columns = { 0 };

	add_columns(w->t, w->t->track[number], &columns);
	put_columns(w, 't', number, &columns);
}

/* Of a variable: times, each since the one before, and values, the same. */
static void put_counter(struct writer *w, size_t number)
{
	const struct kl_counter *counter = &w->t->counter[number];
	struct kl_buffer columns = { 0 };
	uint64_t ns = 0, value = 0;

	for (size_t i = 0; i < counter->n; i++) {
		kl_add_varint(&columns, counter->point[i].ns - ns);
		ns = counter->point[i].ns;
	}
	for (size_t i = 0; i < counter->n; i++) {
		kl_add_zigzag(&columns, (int64_t)((uint64_t)counter->point[i].value - value));
		value = (uint64_t)counter->point[i].value;
	}
	put_columns(w, 'c', number, &columns);
}

/* The paths; and of samples, times, each since the one before, threads, and paths. */
static void put_samples(struct writer *w)
{
	struct kl_samples *samples = &w->t->samples;
	struct kl_buffer columns = { 0 };
	uint64_t ns = 0;

	if (!samples->n)
		return;
	for (size_t i = 0; i < samples->n; i++) {
		kl_add_zigzag(&columns, (int64_t)(samples->sample[i].ns - ns));
		ns = samples->sample[i].ns;
	}
	for (size_t i = 0; i < samples->n; i++)
		kl_add_varint(&columns, samples->sample[i].thread);
	for (size_t i = 0; i < samples->n; i++)
		kl_add_varint(&columns, samples->sample[i].path);
	put_columns(w, 's', 0, &columns);
	kl_buffer_add(&columns, samples->paths.data, samples->paths.length);
	put_columns(w, 's', 1, &columns);
}

/* ---------------------------------------------------------------------- JSON */

/* Strings are JSON's, and cannot end a script element. */
static void add_string(struct kl_buffer *to, const char *text)
{
	struct kl_buffer string = { 0 };

	kl_print_json_string(&string, text, strlen(text));
	for (size_t i = 0; i < string.length; i++)
		if (string.data[i] == '<')
			kl_buffer_add_string(to, "\\u003c");
		else
			kl_buffer_add_char(to, string.data[i]);
	if (string.error)
		to->error = string.error;
	kl_buffer_deinit(&string);
}

static void add_track(struct kl_buffer *to, const struct kl_track *track)
{
	kl_buffer_printf(to, "{\"kind\":\"%s\",\"id\":%llu,\"n\":%zu,\"sums\":[",
			 kl_track_kind_name(track->kind), (unsigned long long)track->id, track->n);
	for (unsigned int i = 0; i < KL_SPAN_CLASSES; i++)
		kl_buffer_printf(to, "%s%llu", i ? "," : "", (unsigned long long)track->sum_ns[i]);
	kl_buffer_add_string(to, "]");
	if (track->kind == KL_TRACK_DISK) {
		kl_buffer_add_string(to, ",\"device\":\"");
		kl_print_meaning(to, KL_FORMAT_dev, track->id >> 4);
		kl_buffer_add_string(to, "\"");
	}
	kl_buffer_add_string(to, "}");
}

static void add_counter(struct kl_buffer *to, const struct kl_counter *counter)
{
	static const char *const scopes[] = {
		[KL_COUNTER_THREAD] = "thread",
		[KL_COUNTER_CPU] = "cpu",
		[KL_COUNTER_SYSTEM] = "system",
	};

	kl_buffer_printf(to, "{\"scope\":\"%s\",\"id\":%llu,\"n\":%zu,\"thinned\":%s",
			 scopes[counter->scope], (unsigned long long)counter->id, counter->n,
			 counter->thinned ? "true" : "false");
	kl_buffer_add_string(to, ",\"name\":");
	add_string(to, counter->name);
	kl_buffer_add_string(to, ",\"unit\":");
	add_string(to, counter->unit);
	kl_buffer_add_string(to, "}");
}

static void add_lists(const struct kl_timeline *t, struct kl_buffer *to)
{
	kl_buffer_add_string(to, ",\n\"names\":[");
	for (size_t i = 0; i < t->n_names; i++) {
		kl_buffer_add_string(to, i ? "," : "");
		add_string(to, t->name[i]);
	}
	kl_buffer_add_string(to, "],\n\"threads\":[");
	for (size_t i = 0; i < t->n_threads; i++)
		kl_buffer_printf(to, "%s[%d,%d,%u]", i ? "," : "", t->thread[i]->tid,
				 t->thread[i]->pid, t->thread[i]->name);
	kl_buffer_add_string(to, "],\n\"tracks\":[");
	for (size_t i = 0; i < t->counts.tracks; i++) {
		kl_buffer_add_string(to, i ? ",\n" : "\n");
		add_track(to, t->track[i]);
	}
	kl_buffer_add_string(to, "],\n\"counters\":[");
	for (size_t i = 0; i < t->n_counters; i++) {
		kl_buffer_add_string(to, i ? ",\n" : "\n");
		add_counter(to, &t->counter[i]);
	}
	kl_buffer_printf(to, "],\n\"samples\":{\"n\":%zu,\"every\":%llu,\"hz\":%u", t->samples.n,
			 (unsigned long long)t->samples.every, kl_samples_hz(t));
	kl_buffer_printf(to, ",\"paths\":%zu}", kl_samples_paths(t));
	kl_buffer_add_string(to, ",\n\"blocks\":[");
	for (size_t i = 0; i < t->records.n; i++)
		kl_buffer_printf(to, "%s[%u,%llu,%llu]", i ? "," : "", t->records.block[i].n,
				 (unsigned long long)t->records.block[i].first_ns,
				 (unsigned long long)t->records.block[i].last_ns);
	kl_buffer_add_string(to, "]");
}

static void put_about(struct writer *w, const char *title)
{
	const struct kl_trace_info *info = kl_trace_about(w->t->trace);
	const struct kl_timeline *t = w->t;
	struct kl_buffer to = { 0 };

	kl_buffer_add_string(&to, "<script type=\"application/json\" id=\"about\">{\"title\":");
	add_string(&to, title);
	kl_buffer_add_string(&to, ",\"host\":");
	add_string(&to, info->hostname);
	kl_buffer_add_string(&to, ",\"kernel\":");
	add_string(&to, info->kernel_release);
	kl_buffer_add_string(&to, ",\"scope\":");
	add_string(&to, info->scope);
	kl_buffer_printf(&to,
			 ",\"begin\":\"%llu\",\"ns\":%llu,\"resolution\":%llu,\"records\":%llu,"
			 "\"kept\":%s,\"lost\":%llu,\"omitted\":%zu",
			 (unsigned long long)t->first_ns, (unsigned long long)t->last_ns,
			 (unsigned long long)t->counts.resolution_ns,
			 (unsigned long long)t->counts.records, t->counts.kept ? "true" : "false",
			 (unsigned long long)t->counts.lost, t->counts.omitted);
	add_lists(t, &to);
	kl_buffer_add_string(&to, "}</script>\n");
	put_buffer(w, &to);
}

int kl_timeline_write(struct kl_timeline *t, const char *title, kl_timeline_fn write, void *context)
{
	struct writer w = { .t = t, .write = write, .context = context };

	put_about(&w, title);
	for (size_t i = 0; i < t->counts.tracks && !w.error; i++)
		put_track(&w, i);
	for (size_t i = 0; i < t->n_counters && !w.error; i++)
		put_counter(&w, i);
	put_samples(&w);
	for (size_t i = 0; i < t->records.n && !w.error; i++)
		put_chunk(&w, 'r', i, t->records.block[i].bytes, t->records.block[i].length);
	return w.error;
}
