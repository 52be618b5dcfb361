// SPDX-License-Identifier: GPL-2.0
/*
 * Writes a timeline: lists, as JSON, and the compressed spans of each track and records of each
 * block. In an HTML page each is an element, with base64; what a page requests from a server is
 * bytes.
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
	const char *prefix; /* of the elements' IDs */
	bool bytes; /* not elements of a page */
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

	if (w->bytes) {
		const uint8_t size[] = { (uint8_t)length, (uint8_t)(length >> 8),
					 (uint8_t)(length >> 16), (uint8_t)(length >> 24) };

		put(w, size, sizeof(size));
		put(w, bytes, length);
		return;
	}
	snprintf(head, sizeof(head), "<script type=\"text/plain\" id=\"%s%c%zu\">", w->prefix, kind,
		 number);
	put_text(w, head);
	put_base64(w, bytes, length);
	put_text(w, "</script>\n");
}

static void put_columns(struct writer *w, char kind, size_t number, struct kl_buffer *columns)
{
	uint8_t *bytes = NULL;
	size_t length = 0;

	if (!w->error &&
	    (columns->error ||
	     kl_deflate(columns->data, columns->length,
			w->bytes ? KL_DEFLATE_FAST : KL_DEFLATE_SMALL, &bytes, &length)))
		w->error = -ENOMEM;
	if (!w->error)
		put_chunk(w, kind, number, bytes, length);
	free(bytes);
	kl_buffer_deinit(columns);
}

/* --------------------------------------------------------------------- spans */

/* How many spans of a track are written. */
static size_t spans_of(const struct kl_timeline *t, const struct kl_track *track)
{
	if (!t->growing)
		return track->n;
	return kl_timeline_hides(t, track) ? 0 : track->n + (track->open ? 1 : 0);
}

/* One of them. What is in progress lasts until now, at least. */
static struct kl_span span_of(const struct kl_timeline *t, const struct kl_track *track, size_t i)
{
	struct kl_span span = i < track->n ? track->span[i] : track->now;

	if (i == track->n)
		span.end = t->last_ns > span.begin ? t->last_ns : span.begin;
	return span;
}

/*
 * The columns of a track, one after the other: gaps before the spans, lengths, names, classes,
 * numbers of spans merged, records, who; and for each merged span, its time by class.
 */
static void add_columns(const struct kl_timeline *t, const struct kl_track *track,
			struct kl_buffer *to)
{
	const size_t n = spans_of(t, track);
	uint64_t at = 0, record = 0;

	for (size_t i = 0; i < n; i++) {
		const struct kl_span span = span_of(t, track, i);

		kl_add_varint(to, span.begin - at);
		at = span.end;
	}
	for (size_t i = 0; i < n; i++)
		kl_add_varint(to, span_of(t, track, i).end - span_of(t, track, i).begin);
	for (size_t i = 0; i < n; i++)
		kl_add_varint(to, span_of(t, track, i).name);
	for (size_t i = 0; i < n; i++)
		kl_buffer_add_char(to, (char)span_of(t, track, i).class);
	for (size_t i = 0; i < n; i++)
		kl_add_varint(to, span_of(t, track, i).n - 1);
	for (size_t i = 0; i < n; i++) {
		const struct kl_span span = span_of(t, track, i);

		kl_add_zigzag(to, (int64_t)(span.record - record));
		record = span.record;
	}
	for (size_t i = 0; i < n; i++)
		kl_add_varint(to, span_of(t, track, i).by);
	for (size_t i = 0; i < n; i++) {
		const struct kl_span span = span_of(t, track, i);

		for (unsigned int k = 0; span.n > 1 && k < KL_SPAN_CLASSES; k++)
			kl_add_varint(to, t->sums[span.sums].ns[k]);
	}
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

static void put_chains(struct writer *w)
{
	struct kl_buffer chains = { 0 };

	if (!w->t->why)
		return;
	if (kl_chains_write(w->t, &chains))
		w->error = -ENOMEM;
	put_columns(w, 'w', 0, &chains);
}

/* ---------------------------------------------------------------------- JSON */

/* Strings are JSON's, and cannot end a script element. */
void kl_timeline_add_string(struct kl_buffer *to, const char *text)
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

static void add_track(const struct kl_timeline *t, struct kl_buffer *to,
		      const struct kl_track *track)
{
	kl_buffer_printf(to, "{\"kind\":\"%s\",\"id\":%llu,\"n\":%zu,\"sums\":[",
			 kl_track_kind_name(track->kind), (unsigned long long)track->id,
			 spans_of(t, track));
	for (unsigned int i = 0; i < KL_SPAN_CLASSES; i++)
		kl_buffer_printf(to, "%s%llu", i ? "," : "", (unsigned long long)track->sum_ns[i]);
	kl_buffer_add_string(to, "]");
	if (t->growing && track->open)
		kl_buffer_add_string(to, ",\"open\":true");
	if (track->kind == KL_TRACK_DISK) {
		kl_buffer_add_string(to, ",\"device\":\"");
		kl_print_meaning(to, KL_FORMAT_dev, track->id >> 4);
		kl_buffer_add_string(to, "\"");
	}
	kl_buffer_add_string(to, "}");
}

static void add_counter(struct kl_buffer *to, const struct kl_counter *counter)
{
	kl_buffer_printf(to, "{\"scope\":\"%s\",\"id\":%llu,\"n\":%zu,\"thinned\":%s",
			 kl_counter_scope_name(counter->scope), (unsigned long long)counter->id,
			 counter->n, counter->thinned ? "true" : "false");
	kl_buffer_add_string(to, ",\"name\":");
	kl_timeline_add_string(to, counter->name);
	kl_buffer_add_string(to, ",\"unit\":");
	kl_timeline_add_string(to, counter->unit);
	kl_buffer_add_string(to, "}");
}

static void add_lists(const struct kl_timeline *t, struct kl_buffer *to)
{
	kl_buffer_add_string(to, ",\n\"names\":[");
	for (size_t i = 0; i < t->n_names; i++) {
		kl_buffer_add_string(to, i ? "," : "");
		kl_timeline_add_string(to, t->name[i]);
	}
	kl_buffer_add_string(to, "],\n\"threads\":[");
	for (size_t i = 0; i < t->n_threads; i++)
		kl_buffer_printf(to, "%s[%d,%d,%u]", i ? "," : "", t->thread[i]->tid,
				 t->thread[i]->pid, t->thread[i]->name);
	kl_buffer_add_string(to, "],\n\"tracks\":[");
	for (size_t i = 0; i < t->counts.tracks; i++) {
		kl_buffer_add_string(to, i ? ",\n" : "\n");
		add_track(t, to, t->track[i]);
	}
	kl_buffer_add_string(to, "],\n\"counters\":[");
	for (size_t i = 0; i < t->n_counters; i++) {
		kl_buffer_add_string(to, i ? ",\n" : "\n");
		add_counter(to, &t->counter[i]);
	}
	kl_buffer_add_string(to, "]");
	if (t->counts.kept)
		kl_words_write(t, to);
	kl_buffer_printf(to, ",\n\"samples\":{\"n\":%zu,\"every\":%llu,\"hz\":%u", t->samples.n,
			 (unsigned long long)t->samples.every, kl_samples_hz(t));
	kl_buffer_printf(to, ",\"paths\":%zu}", kl_samples_paths(t));
	kl_buffer_add_string(to, ",\n\"blocks\":[");
	for (size_t i = 0; i < t->records.n; i++)
		kl_buffer_printf(to, "%s[%u,%llu,%llu]", i ? "," : "", t->records.block[i].n,
				 (unsigned long long)t->records.block[i].first_ns,
				 (unsigned long long)t->records.block[i].last_ns);
	kl_buffer_add_string(to, "]");
}

void kl_timeline_add_trace(struct kl_buffer *to, const struct kl_trace_info *info,
			   const char *title)
{
	kl_buffer_add_string(to, "\"title\":");
	kl_timeline_add_string(to, title);
	kl_buffer_add_string(to, ",\"host\":");
	kl_timeline_add_string(to, info->hostname);
	kl_buffer_add_string(to, ",\"kernel\":");
	kl_timeline_add_string(to, info->kernel_release);
	kl_buffer_add_string(to, ",\"scope\":");
	kl_timeline_add_string(to, info->scope);
	kl_buffer_printf(to, ",\"command\":%d", info->command);
}

static void add_about(const struct kl_timeline *t, const char *title, struct kl_buffer *to)
{
	kl_timeline_add_trace(to, kl_trace_about(t->trace), title);
	kl_buffer_printf(
		to,
		",\"begin\":\"%llu\",\"ns\":%llu,\"resolution\":%llu,\"records\":%llu,"
		"\"kept\":%s,\"lost\":%llu,\"omitted\":%zu,\"explained\":%s,\"interrupts\":%s",
		(unsigned long long)t->first_ns, (unsigned long long)t->last_ns,
		(unsigned long long)t->counts.resolution_ns, (unsigned long long)t->counts.records,
		t->counts.kept ? "true" : "false", (unsigned long long)t->counts.lost,
		t->counts.omitted, t->why ? "true" : "false",
		t->why && kl_why_knows_interrupts(t->why) ? "true" : "false");
	add_lists(t, to);
}

static void put_all(struct writer *w)
{
	for (size_t i = 0; i < w->t->counts.tracks && !w->error; i++)
		put_track(w, i);
	for (size_t i = 0; i < w->t->n_counters && !w->error; i++)
		put_counter(w, i);
	put_samples(w);
	put_chains(w);
	for (size_t i = 0; i < w->t->records.n && !w->error; i++)
		put_chunk(w, 'r', i, w->t->records.block[i].bytes, w->t->records.block[i].length);
}

int kl_timeline_write(struct kl_timeline *t, const char *title, const char *prefix,
		      kl_timeline_fn write, void *context)
{
	struct writer w = { .t = t, .write = write, .context = context, .prefix = prefix };
	struct kl_buffer about = { 0 };

	kl_buffer_printf(&about, "<script type=\"application/json\" id=\"%sabout\">{", prefix);
	add_about(t, title, &about);
	kl_buffer_add_string(&about, "}</script>\n");
	put_buffer(&w, &about);
	put_all(&w);
	return w.error;
}

int kl_timeline_write_bytes(struct kl_timeline *t, kl_timeline_fn write, void *context)
{
	struct writer w = { .t = t, .write = write, .context = context, .bytes = true };
	struct kl_buffer about = { 0 };

	kl_buffer_add_string(&about, "{");
	add_about(t, "", &about);
	kl_buffer_add_string(&about, "}");
	put_chunk(&w, 'a', 0, (const uint8_t *)about.data, about.length);
	kl_buffer_deinit(&about);
	put_all(&w);
	return w.error;
}
