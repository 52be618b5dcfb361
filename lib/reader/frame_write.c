// SPDX-License-Identifier: GPL-2.0
/* Compresses parts of files into frames. Used while recording and for packs. */
#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include <kernlens/cursor.h>
#include <kernlens/error.h>
#include "../base/base.h"
#include "../base/crc.h"
#include "frame.h"

struct kl_frame_writer {
	struct kl_split *split; /* NULL: only bytes */
	struct kl_buffer columns;
	ZSTD_CCtx *zstd;
};

/* What a body is made of. */
struct source {
	const uint8_t *bytes;
	const size_t *cuts;
	size_t n_cuts;
};

struct kl_frame_writer *kl_frame_writer_create(const struct kl_schema *schema, int level)
{
	struct kl_frame_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		goto fail;
	writer->zstd = ZSTD_createCCtx();
	if (schema)
		writer->split = kl_split_create(schema);
	if (!writer->zstd || (schema && !writer->split))
		goto fail;
	ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_compressionLevel, level);
	return writer;
fail:
	kl_frame_writer_destroy(writer);
	kl_fail(ENOMEM, "out of memory");
	return NULL;
}

void kl_frame_writer_destroy(struct kl_frame_writer *writer)
{
	if (!writer)
		return;
	kl_split_destroy(writer->split);
	kl_buffer_deinit(&writer->columns);
	ZSTD_freeCCtx(writer->zstd);
	free(writer);
}

/*
 * Append the compressed body. What lies between two cuts is compressed with its own statistics,
 * but may repeat what came before.
 */
static int compress(struct kl_frame_writer *writer, const struct source *source,
		    struct kl_buffer *out)
{
	size_t length = source->cuts[source->n_cuts - 1], from = 0;
	ZSTD_outBuffer to = { .size = KL_FRAME_BODY_MAX };

	to.dst = kl_buffer_reserve(out, to.size + KL_FRAME_ALIGN);
	if (!to.dst)
		return kl_fail(ENOMEM, "out of memory");
	ZSTD_CCtx_reset(writer->zstd, ZSTD_reset_session_only);
	ZSTD_CCtx_setPledgedSrcSize(writer->zstd, length);
	for (size_t i = 0; i < source->n_cuts; i++) {
		ZSTD_inBuffer part = { source->bytes + from, source->cuts[i] - from, 0 };
		bool last = i + 1 == source->n_cuts;
		size_t left = ZSTD_compressStream2(writer->zstd, &to, &part,
						   last ? ZSTD_e_end : ZSTD_e_flush);

		/* There is always room for it: see KL_FRAME_BODY_MAX. */
		if (left)
			return kl_fail(EINVAL, "cannot compress: %s",
				       ZSTD_isError(left) ? ZSTD_getErrorName(left) : "no room");
		from = source->cuts[i];
	}
	out->length += to.pos;
	return 0;
}

uint32_t kl_frame_crc(const struct kl_frame_head *head)
{
	return kl_crc32c(0, &head->version,
			 sizeof(*head) - offsetof(struct kl_frame_head, version));
}

/* Append the blocks' headers. */
static void add_headers(const uint8_t *plain, size_t bytes, struct kl_frame_head *head,
			struct kl_buffer *out)
{
	const struct kl_abi_block *block;

	for (size_t at = 0; at < bytes; at += block->packet_bits / 8) {
		block = (const struct kl_abi_block *)(plain + at);
		kl_buffer_add(out, block, sizeof(*block));
		head->table_bytes += sizeof(*block);
	}
}

/* Fill in the checksums and the header that belongs at @start, and align what follows. */
static void finish(struct kl_frame_head *head, struct kl_buffer *out, size_t start)
{
	static const char zeros[KL_FRAME_ALIGN];
	uint8_t *frame = (uint8_t *)out->data + start;
	uint8_t *table = frame + sizeof(*head);

	head->magic = KL_FRAME_MAGIC;
	head->version = KL_FRAME_VERSION;
	head->table_crc = kl_crc32c(0, table, head->table_bytes);
	head->body_crc = kl_crc32c(0, table + head->table_bytes, head->body_bytes);
	head->crc = kl_frame_crc(head);
	memcpy(frame, head, sizeof(*head));
	kl_buffer_add(out, zeros, kl_frame_bytes(head) - (out->length - start));
}

int kl_frame_write(struct kl_frame_writer *writer, const void *plain, size_t bytes,
		   struct kl_buffer *out)
{
	struct kl_frame_head head = { .kind = KL_FRAME_BYTES, .plain_bytes = (uint32_t)bytes };
	struct source source = { plain, &bytes, 1 };
	size_t start = out->length, body;
	int ret = -EINVAL;

	if (writer->split)
		ret = kl_split(writer->split, plain, bytes, &writer->columns, &source.cuts,
			       &source.n_cuts);
	if (ret == -ENOMEM)
		return kl_fail(ENOMEM, "out of memory");
	head.plain_crc = kl_crc32c(0, plain, bytes);
	kl_buffer_add(out, &head, sizeof(head));
	if (!ret) {
		head.kind = KL_FRAME_BLOCKS;
		source.bytes = (const uint8_t *)writer->columns.data;
		add_headers(plain, bytes, &head, out);
	}
	body = out->length;
	head.columns_bytes = (uint32_t)source.cuts[source.n_cuts - 1];
	ret = compress(writer, &source, out);
	if (ret) {
		out->length = start;
		return ret;
	}
	head.body_bytes = (uint32_t)(out->length - body);
	finish(&head, out, start);
	return out->error ? kl_fail(ENOMEM, "out of memory") : 0;
}

int kl_frame_write_index(const struct kl_frame_place *places, size_t n, uint64_t at,
			 struct kl_buffer *out)
{
	struct kl_frame_head head = {
		.kind = KL_FRAME_INDEX,
		.table_bytes = (uint32_t)(n * sizeof(*places)),
		.index_at = at,
	};
	struct kl_frame_tail tail = { .index_at = at, .magic = KL_FRAME_MAGIC };
	size_t start = out->length;

	/* A file of 100 million frames is read without an index. */
	if (n > UINT32_MAX / sizeof(*places))
		return 0;
	kl_buffer_add(out, &head, sizeof(head));
	kl_buffer_add(out, places, n * sizeof(*places));
	if (out->error)
		return kl_fail(ENOMEM, "out of memory");
	finish(&head, out, start);
	tail.crc = kl_crc32c(0, &tail, offsetof(struct kl_frame_tail, crc));
	kl_buffer_add(out, &tail, sizeof(tail));
	return out->error ? kl_fail(ENOMEM, "out of memory") : 0;
}
