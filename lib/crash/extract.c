// SPDX-License-Identifier: GPL-2.0
/*
 * Writes the trace of a session that was found in a dump. Blocks are copied as they are; one that
 * is not complete, or damaged, is written up to its last whole record.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <kernlens/error.h>
#include <kernlens/metadata.h>
#include <kernlens/timebase.h>
#include "../base/base.h"
#include "../format/schema.h"
#include "dump.h"

/* The clock may have been noted long before the crash if nothing was recorded in between. */
#define CLOCK_SLACK_S (12 * 3600ull)

/*
 * The writing of a trace.
 * @block: the bytes of a block
 * @cpu: of the blocks before
 * @records, @discarded, @end: on that CPU, up to the block before
 * @seq: expected number of the next block
 * @latest: time of the newest record on any CPU
 */
struct extraction {
	struct kl_dump *dump;
	const struct kl_dump_found *session;
	const struct kl_dump_load *load;
	struct kl_dump_parts parts;
	struct kl_schema *schema;
	struct kl_trace_info info;
	struct kl_trace_writer *writer;
	struct kl_abi_block *block;
	struct kl_dump_counts *counts;
	bool any;
	uint32_t cpu;
	uint64_t records;
	uint64_t discarded;
	uint64_t end;
	uint64_t seq;
	uint64_t latest;
};

/* ------------------------------------------------------- description */

static bool has_tables(const struct kl_schema *schema)
{
	const struct kl_class *first = kl_schema_next(schema, NULL);

	return first && first->id < KL_EV_DYNAMIC;
}

static int own_tables(struct extraction *x, struct kl_schema *defined)
{
	int ret;

	if (x->load->machine.schema_hash != kl_schema_hash())
		return kl_fail(ESTALE,
			       "the events of session %u are not described in the memory, and the "
			       "module's tables (%016llx) are not those of this kernlens (%016llx)",
			       x->session->session.id,
			       (unsigned long long)x->load->machine.schema_hash,
			       (unsigned long long)kl_schema_hash());
	x->schema = kl_schema_create();
	if (!x->schema)
		return -errno;
	ret = defined ? kl_schema_take_defined(x->schema, defined) : 0;
	return ret;
}

/* The clock's rate and offset, from when the session was created and when it was last noted. */
static int fit_clock(struct extraction *x)
{
	const struct kl_crash_time *created = &x->session->page.created, *now = &x->load->now;
	struct kl_abi_time first = {
		.clock = x->load->anchor.clock,
		.cycles = created->cycles,
		.monotonic_ns = created->monotonic_ns,
		.realtime_ns = created->realtime_ns,
		.clock_hz = x->load->anchor.clock_hz,
	};
	struct kl_abi_time last = first;

	last.cycles = now->cycles;
	last.monotonic_ns = now->monotonic_ns;
	last.realtime_ns = now->realtime_ns;
	if (now->sum && now->monotonic_ns > created->monotonic_ns &&
	    !kl_timebase_fit(&x->info.timebase, &first, &last))
		return 0;
	if (!kl_timebase_fit(&x->info.timebase, &first, NULL))
		return 0;
	/* That of the metadata. */
	if (x->info.timebase.hz)
		return 0;
	return kl_fail(EBADMSG, "the rate of the machine's clock is not known");
}

static int describe(struct extraction *x)
{
	const struct kl_dump_machine *m = &x->load->machine;
	const struct kl_dump_bytes *text = &x->parts.region[KL_CRASH_METADATA];
	struct kl_schema *defined = NULL;
	struct kl_trace_info *info = &x->info;
	int ret = 0;

	kl_trace_info_init(info);
	info->hostname[0] = 0;
	if (text->bytes) {
		defined = kl_metadata_parse(text->bytes, text->length, info);
		if (!defined)
			kl_dump_damaged(x->dump,
					"the description of the session's events cannot be "
					"used: %s",
					kl_error_text());
	}
	if (defined && has_tables(defined)) {
		x->schema = defined;
	} else {
		ret = own_tables(x, defined);
		kl_schema_destroy(defined);
	}
	if (ret)
		return ret;
	memcpy(info->uuid, x->session->page.head.uuid, sizeof(info->uuid));
	info->schema_hash = m->schema_hash ? m->schema_hash : info->schema_hash;
	snprintf(info->trace_name, sizeof(info->trace_name), "%s", x->session->session.name);
	if (m->release[0]) {
		snprintf(info->boot_id, sizeof(info->boot_id), "%s", m->boot_id);
		snprintf(info->kernel_release, sizeof(info->kernel_release), "%s", m->release);
		snprintf(info->kernel_version, sizeof(info->kernel_version), "%s", m->version);
		snprintf(info->hostname, sizeof(info->hostname), "%s", m->hostname);
	}
	return fit_clock(x);
}

/* ------------------------------------------------------- blocks */

static void lose_block(struct extraction *x, const struct kl_dump_block *block, const char *why)
{
	x->parts.damaged++;
	kl_dump_damaged(x->dump, "CPU %u: block %llu is left out: %s", block->cpu,
			(unsigned long long)block->header.seq, why);
}

static bool read_block(struct extraction *x, const struct kl_dump_block *block)
{
	uint8_t *to = (uint8_t *)x->block;

	for (uint32_t at = 0; at < x->session->page.block_bytes; at += KL_CRASH_PAGE)
		if (!kl_image_read(x->dump->image, block->addresses[at / KL_CRASH_PAGE], to + at,
				   KL_CRASH_PAGE))
			return false;
	/* The file may have changed. */
	*x->block = block->header;
	return true;
}

static bool is_time_possible(const struct extraction *x, const struct kl_abi_block *block)
{
	uint64_t slack = CLOCK_SLACK_S * x->info.timebase.hz;
	const struct kl_crash_time *now = &x->load->now;

	if (block->timestamp_begin < x->session->page.created.cycles ||
	    (x->any && block->cpu_id == x->cpu && block->timestamp_begin < x->end))
		return false;
	return !now->sum || block->timestamp_begin <= now->cycles + slack;
}

/* Why a block cannot be one of this CPU at this place; NULL if it can. */
static const char *check_place(const struct extraction *x, const struct kl_dump_block *block,
			       const struct kl_dump_ring *ring)
{
	uint64_t seq = block->header.seq;

	if (ring->sound && (ring->shared.head == KL_SEQ_NONE || seq < ring->shared.tail ||
			    seq > ring->shared.head + 1))
		return "its number is damaged";
	if (!is_time_possible(x, &block->header))
		return "its time is damaged";
	return NULL;
}

/* Correct counters that cannot be right, which would otherwise show as losses. */
static void repair(struct extraction *x, const struct kl_dump_ring *ring)
{
	struct kl_abi_block *b = x->block;
	uint64_t lost = ring->sound ? ring->shared.lost : KL_SEQ_NONE;
	bool follows = x->any && b->cpu_id == x->cpu;
	bool damaged = false;

	if (!b->content_bits)
		b->events_discarded = ring->sound ? lost : follows ? x->discarded : 0;
	if (b->events_discarded > lost || (follows && b->events_discarded < x->discarded)) {
		b->events_discarded = follows ? x->discarded : 0;
		damaged = true;
	}
	if (follows &&
	    (b->seq == x->seq ? b->record_first != x->records : b->record_first < x->records)) {
		b->record_first = x->records;
		damaged = true;
	}
	if (!damaged)
		return;
	x->parts.damaged++;
	kl_dump_damaged(x->dump, "CPU %u: block %llu: its counters are damaged", b->cpu_id,
			(unsigned long long)b->seq);
}

/* @records: of the block, including those that are left out. */
static void went_past(struct extraction *x, uint64_t end, uint64_t records)
{
	const struct kl_abi_block *b = x->block;

	x->any = true;
	x->cpu = b->cpu_id;
	x->records = b->record_first + records;
	x->discarded = b->events_discarded;
	x->end = end;
	x->seq = b->seq + 1;
	if (end > x->latest)
		x->latest = end;
}

/* Write a block's records up to the cut. */
static int write_block(struct extraction *x, const struct kl_dump_cut *cut)
{
	struct kl_abi_block *b = x->block;
	uint64_t all = b->content_bits ? b->record_count : cut->records;
	uint64_t seq = b->seq, count = cut->records;
	uint64_t ended = b->timestamp_begin;
	bool whole = !cut->why && b->content_bits && !kl_block_check(b, b->packet_bits / 8, NULL);
	int ret;

	if (cut->why || (b->content_bits && !whole)) {
		x->counts->cut++;
		kl_dump_damaged(x->dump,
				"CPU %u: block %llu: %s: only its first %llu records are kept",
				b->cpu_id, (unsigned long long)seq,
				cut->why ? cut->why : "its header is damaged",
				(unsigned long long)count);
	}
	if (!whole)
		b->content_bits = 0;
	else
		ended = b->timestamp_end;
	went_past(x, ended, all > count ? all : count);
	if (!count)
		return 0;
	ret = kl_trace_append(x->writer, b, whole ? b->packet_bits / 8 : cut->end);
	if (ret)
		return ret;
	x->counts->blocks++;
	x->counts->records += count;
	return 0;
}

static int extract_block(struct extraction *x, const struct kl_dump_block *block)
{
	static const struct kl_dump_ring none;
	const struct kl_dump_ring *ring =
		block->cpu < x->parts.n_rings ? &x->parts.rings[block->cpu] : &none;
	const struct kl_abi_block *header = &block->header;
	struct kl_dump_cut cut;
	const char *why;

	/* Prepared, and nothing is in it. */
	if (!header->content_bits && header->committed == KL_BLOCK_HEADER_BYTES &&
	    (!ring->sound || header->seq == ring->shared.head + 1))
		return 0;
	why = check_place(x, block, ring);
	if (!why && !read_block(x, block))
		why = "a part of it is not in the file";
	if (why) {
		lose_block(x, block, why);
		return 0;
	}
	repair(x, ring);
	cut = kl_dump_cut(x->schema, &x->info.timebase, x->block, ring);
	return write_block(x, &cut);
}

/* ------------------------------------------------------- the trace */

static int set_totals(struct extraction *x)
{
	uint64_t end = x->session->page.ended ? x->session->page.ended : x->latest;
	int ret = kl_trace_set_begin(x->writer, x->session->page.began);

	for (size_t cpu = 0; cpu < x->parts.n_rings && !ret; cpu++) {
		const struct kl_dump_ring *ring = &x->parts.rings[cpu];

		if (ring->sound)
			ret = kl_trace_set_total(x->writer, (uint32_t)cpu,
						 ring->shared.records +
							 KL_POS_COUNT(ring->shared.position),
						 ring->shared.lost);
	}
	kl_trace_set_end(x->writer, end, 0);
	return ret;
}

static int write_trace(struct extraction *x, const char *path)
{
	int ret = 0, closed;

	x->writer = kl_trace_create(path, x->schema, &x->info);
	if (!x->writer)
		return -errno;
	for (size_t i = 0; i < x->parts.n_blocks && !ret; i++)
		ret = extract_block(x, &x->parts.blocks[i]);
	if (!ret)
		ret = set_totals(x);
	x->counts->bytes = kl_trace_written(x->writer);
	closed = kl_trace_finish(x->writer, NULL);
	return ret ? ret : closed;
}

int kl_dump_extract(struct kl_dump *dump, size_t session, const char *path,
		    struct kl_dump_counts *counts)
{
	struct extraction x = { .dump = dump, .counts = counts };
	int ret;

	*counts = (struct kl_dump_counts){};
	x.session = &dump->sessions[session];
	x.load = &dump->loads[x.session->session.machine];
	ret = kl_dump_collect(dump, x.session, &x.parts);
	if (!ret && !x.parts.n_blocks)
		ret = kl_fail(ENODATA, "session %u has no blocks with records",
			      x.session->session.id);
	if (!ret)
		ret = describe(&x);
	if (!ret) {
		x.block = malloc(x.session->page.block_bytes);
		ret = x.block ? 0 : kl_fail(ENOMEM, "out of memory");
	}
	if (!ret)
		ret = write_trace(&x, path);
	if (!ret)
		ret = kl_dump_save_names(dump, x.load, &x.parts, path);
	counts->damaged = x.parts.damaged;
	if (!ret && !counts->records)
		ret = kl_fail(ENODATA, "no record of session %u could be recovered",
			      x.session->session.id);
	free(x.block);
	kl_schema_destroy(x.schema);
	kl_dump_parts_free(&x.parts);
	return ret;
}

/* ------------------------------------------------------- the dump */

struct kl_dump *kl_dump_open(const char *path, const struct kl_dump_ops *ops)
{
	struct kl_dump *dump = calloc(1, sizeof(*dump));
	int error;

	if (!dump) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	dump->ops = *ops;
	dump->image = kl_image_open(path);
	if (!dump->image) {
		error = -errno;
		free(dump);
		errno = -error;
		return NULL;
	}
	error = kl_dump_find(dump);
	if (!error)
		return dump;
	kl_fail_about(error, path);
	kl_dump_close(dump);
	errno = -error;
	return NULL;
}

void kl_dump_close(struct kl_dump *dump)
{
	if (!dump)
		return;
	kl_image_close(dump->image);
	free(dump->pages);
	free(dump->loads);
	free(dump->sessions);
	free(dump);
}

const struct kl_dump_machine *kl_dump_machine(const struct kl_dump *dump, size_t i)
{
	return i < dump->n_loads ? &dump->loads[i].machine : NULL;
}

const struct kl_dump_session *kl_dump_session(const struct kl_dump *dump, size_t i)
{
	return i < dump->n_sessions ? &dump->sessions[i].session : NULL;
}
