// SPDX-License-Identifier: GPL-2.0
/* Inputs of several parts, files in memory, blocks of records, and checks of printed output. */
#include <jansson.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kernlens/analysis.h>
#include <kernlens/ber.h>
#include <kernlens/csv.h>
#include <kernlens/format.h>

#include "../../lib/base/base.h"
#include "../../lib/format/schema.h"
#include "lib/synth.h"
#include "shared.h"

char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	fuzz_assert(text);
	memcpy(text, data, size);
	text[size] = 0;
	return text;
}

int fuzz_file(const uint8_t *data, size_t size, char path[64])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	fuzz_assert(fd >= 0 && (!size || pwrite(fd, data, size, 0) == (ssize_t)size));
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

/* ------------------------------------------------------------------- parts */

unsigned int fuzz_parts(const uint8_t *data, size_t size, struct fuzz_part part[FUZZ_PARTS_MAX])
{
	unsigned int n = 0;

	while (size >= FUZZ_PART_HEADER && n < FUZZ_PARTS_MAX) {
		size_t bytes = data[1] | data[2] << 8 | data[3] << 16;

		size -= FUZZ_PART_HEADER;
		bytes = bytes < size ? bytes : size;
		part[n++] = (struct fuzz_part){ data[0], bytes, data + FUZZ_PART_HEADER };
		data += FUZZ_PART_HEADER + bytes;
		size -= bytes;
	}
	return n;
}

size_t fuzz_part_put(uint8_t *to, uint8_t kind, const void *bytes, size_t length)
{
	to[0] = kind;
	to[1] = length & 0xff;
	to[2] = length >> 8 & 0xff;
	to[3] = length >> 16 & 0xff;
	memmove(to + FUZZ_PART_HEADER, bytes, length);
	return FUZZ_PART_HEADER + length;
}

__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room)
{
	return size;
}

static size_t mutate_one(const struct fuzz_part *part, uint8_t *to, size_t room, unsigned int seed,
			 void (*repair)(uint8_t *part, size_t bytes, uint8_t kind))
{
	uint8_t *copy = malloc(room);
	size_t bytes = part->bytes < room - FUZZ_PART_HEADER ? part->bytes : 0;

	fuzz_assert(copy);
	memcpy(copy, part->at, bytes);
	bytes = LLVMFuzzerMutate(copy, bytes, room - FUZZ_PART_HEADER);
	/* Damaged headers are tried occasionally, too. */
	if (repair && seed % 16)
		repair(copy, bytes, part->kind);
	bytes = fuzz_part_put(to, part->kind, copy, bytes);
	free(copy);
	return bytes;
}

size_t fuzz_parts_mutate(uint8_t *data, size_t size, size_t room, unsigned int seed,
			 void (*repair)(uint8_t *part, size_t bytes, uint8_t kind))
{
	struct fuzz_part part[FUZZ_PARTS_MAX];
	unsigned int n = fuzz_parts(data, size, part), which = n ? seed / 64 % n : 0;
	unsigned int how = seed % 64;
	uint8_t *copy;
	size_t used = 0, others = 0;

	if (!n || room < 2 * FUZZ_PART_HEADER)
		return LLVMFuzzerMutate(data, size, room);
	copy = malloc(room);
	fuzz_assert(copy);
	for (unsigned int i = 0; i < n; i++)
		others += i == which ? 0 : FUZZ_PART_HEADER + part[i].bytes;
	for (unsigned int i = 0; i < n; i++) {
		struct fuzz_part now = part[i];

		if (i == which && how == 0)
			continue;
		if (i == which && how == 1)
			now.kind = seed >> 16 & 7;
		if (i == which && how > 3 && others + 2 * FUZZ_PART_HEADER < room)
			used += mutate_one(&now, copy + used, room - others, seed / 7, repair);
		else
			used += fuzz_part_put(copy + used, now.kind, now.at, now.bytes);
	}
	if (how == 2 && used + FUZZ_PART_HEADER + part[which].bytes <= room)
		used += fuzz_part_put(copy + used, part[which].kind, part[which].at,
				      part[which].bytes);
	memcpy(data, copy, used);
	free(copy);
	return used;
}

/* ------------------------------------------------------------------ traces */

/*
 * Some of the tables' events, covering each kind of event and of field. All of them would be slow.
 */
static void add_events(struct kl_schema *schema)
{
	static const char *const names[] = {
		"sched_switch",		"sched_wakeup",
		"sched_waking",		"sched_wakeup_new",
		"syscall_entry_openat", "syscall_exit_openat",
		"syscall_entry_read",	"syscall_exit_read",
		"syscall_entry_mmap",	"syscall_late_string",
		"sched_process_exec",	"timer_start",
		"irq_handler_entry",	"signal_generate",
		"kmem_kmalloc",		"mark",
		"net_dev_xmit",		"tcp_retransmit_skb",
	};
	struct kl_schema *tables = kl_schema_create();

	fuzz_assert(tables);
	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++) {
		const struct kl_class *class = kl_schema_find(tables, names[i]);
		struct kl_class proto;
		struct kl_field field[KL_FIELDS_MAX];

		if (!class)
			continue;
		proto = *class;
		proto.name = kl_schema_string(schema, class->name, strlen(class->name));
		proto.group = kl_schema_string(schema, class->group, strlen(class->group));
		proto.help = kl_schema_string(schema, class->help, strlen(class->help));
		for (unsigned int k = 0; k < class->n_fields; k++) {
			field[k] = class->fields[k];
			field[k].name =
				kl_schema_string(schema, field[k].name, strlen(field[k].name));
		}
		fuzz_assert(!kl_schema_add(schema, &proto, field, class->n_fields));
	}
	kl_schema_destroy(tables);
}

struct kl_schema *fuzz_schema(void)
{
	static const struct {
		const char *name;
		enum kl_type type;
		enum kl_format format;
	} variables[] = {
		{ "kstack", KL_TYPE_U32, KL_FORMAT_stack }, { "prio", KL_TYPE_S32, KL_FORMAT_dec },
		{ "label", KL_TYPE_TEXT, KL_FORMAT_dec },   { "where", KL_TYPE_U64, KL_FORMAT_ptr },
		{ "state", KL_TYPE_U8, KL_FORMAT_hex },
	};
	struct kl_schema *schema = kl_schema_new();

	fuzz_assert(schema);
	add_events(schema);
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const struct kl_variable v = {
			.name = variables[i].name,
			.unit = "",
			.help = "",
			.field = { .type = variables[i].type, .format = variables[i].format },
		};

		fuzz_assert(kl_schema_add_variable(schema, &v) == (int)i);
	}
	return schema;
}

void fuzz_info(struct kl_trace_info *info)
{
	memset(info, 0, sizeof(*info));
	for (int i = 0; i < 16; i++)
		info->uuid[i] = (uint8_t)(0x10 + i);
	strcpy(info->trace_name, "fuzz");
	strcpy(info->version, "0");
	strcpy(info->boot_id, "00000000-0000-0000-0000-000000000000");
	kl_timebase_init(&info->timebase, KL_CLOCK_MONOTONIC, 1000000000, 1700000000, 0);
}

void fuzz_repair_blocks(uint8_t *at, size_t bytes)
{
	struct kl_trace_info info;
	uint64_t seq = 0, first = 0, end = 0;

	fuzz_info(&info);
	for (; bytes >= KL_BLOCK_BYTES_MIN; at += KL_BLOCK_BYTES_MIN, bytes -= KL_BLOCK_BYTES_MIN) {
		struct kl_abi_block block;

		memcpy(&block, at, sizeof(block));
		block.magic = KL_CTF_MAGIC;
		memcpy(block.uuid, info.uuid, sizeof(block.uuid));
		block.stream_id = 0;
		block.cpu_id &= 1;
		block.packet_bits = 8 * KL_BLOCK_BYTES_MIN;
		block.committed = KL_BLOCK_HEADER_BYTES +
				  block.committed % (KL_BLOCK_BYTES_MIN - KL_BLOCK_HEADER_BYTES);
		block.content_bits = 8 * block.committed;
		block.header_bytes = KL_BLOCK_HEADER_BYTES;
		block.record_count %=
			1 + (block.committed - KL_BLOCK_HEADER_BYTES) / KL_RECORD_PREFIX_BYTES;
		if (block.timestamp_begin < end)
			block.timestamp_begin = end;
		if (block.timestamp_end < block.timestamp_begin)
			block.timestamp_end = block.timestamp_begin + (1u << 30);
		if (block.seq < seq || block.seq > seq + 3)
			block.seq = seq;
		if (block.record_first < first || block.record_first > first + 100)
			block.record_first = first;
		seq = block.seq + 1;
		first = block.record_first + block.record_count;
		end = block.timestamp_end;
		memcpy(at, &block, sizeof(block));
	}
}

/* ------------------------------------------------------------------ output */

void fuzz_check_plain(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		fuzz_assert((c >= ' ' && c != 0x7f) || c == '\n' || c == '\t');
		/* C1 controls: one byte in Latin-1, two in UTF-8. */
		fuzz_assert(c != 0xc2 || i + 1 == length || (unsigned char)text[i + 1] >= 0xa0);
	}
}

void fuzz_check_json(const char *text, size_t length)
{
	while (length) {
		const char *end = memchr(text, '\n', length);
		size_t line = end ? (size_t)(end - text) : length;
		json_error_t error;
		json_t *value =
			json_loadb(text, line,
				   JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL,
				   &error);

		if (!value)
			fprintf(stderr, "%s\n%.*s\n", error.text, (int)line, text);
		fuzz_assert(value);
		fuzz_check_plain(text, line);
		json_decref(value);
		line += !!end;
		text += line;
		length -= line;
	}
}

void fuzz_check_csv(const char *text, size_t length)
{
	bool quoted = false, begin = true, closed = false;
	size_t columns = 0, cells = 1;

	fuzz_check_plain(text, length);
	for (size_t i = 0; i < length; i++) {
		char c = text[i];

		cells += c == ',' && !quoted;
		if (c == '\n') {
			columns = columns ? columns : cells;
			fuzz_assert(cells == columns);
			cells = 1;
		}

		if (begin && !quoted && c == '"') {
			quoted = true;
			begin = true;
			continue;
		}
		if (quoted && c == '"' && i + 1 < length && text[i + 1] == '"') {
			i++;
			begin = false;
			continue;
		}
		if (quoted && c == '"') {
			quoted = false;
			closed = true;
			continue;
		}
		fuzz_assert(c != '"');
		fuzz_assert(quoted || !closed || c == ',' || c == '\n');
		/* Process ids are negative where there is none. */
		fuzz_assert(!begin || !strchr("=+@\t", c) || !c);
		fuzz_assert(!begin || !quoted || c != '-');
		fuzz_assert(!quoted || c != '\n');
		begin = !quoted && (c == ',' || c == '\n');
		closed = false;
	}
	fuzz_assert(!quoted);
}

static void print_style(const struct fuzz_items *items, enum kl_style style)
{
	struct kl_buffer buffer = { 0 };
	struct kl_item item;

	items->rewind(items->from);
	for (int i = 0; i < 4000 && items->next(items->from, &item) > 0; i++) {
		kl_print_item(&buffer, style, style == KL_STYLE_TEXT ? KL_SHOW_RELATIVE : 0, &item);
		if (item.kind != KL_ITEM_EVENT)
			continue;
		for (unsigned int k = 0; k < item.event->event_class->n_fields; k++) {
			struct kl_value value = kl_event_value(item.event, k);

			fuzz_assert(!value.length || value.bytes >= item.event->payload);
			fuzz_assert(!value.length ||
				    value.bytes + value.length <=
					    item.event->payload + item.event->payload_bytes);
		}
	}
	if (style == KL_STYLE_TEXT)
		fuzz_check_plain(buffer.data, buffer.length);
	else
		fuzz_check_json(buffer.data, buffer.length);
	kl_buffer_deinit(&buffer);
}

static void print_csv(const struct fuzz_items *items, const struct kl_schema *schema)
{
	uint8_t *seen = calloc(KL_EV_IDS, 1);
	struct kl_buffer buffer = { 0 };
	struct kl_csv *csv;
	struct kl_item item;

	items->rewind(items->from);
	for (int i = 0; i < 4000 && items->next(items->from, &item) > 0; i++)
		if (item.kind == KL_ITEM_EVENT)
			seen[item.event->id] = 1;
	csv = kl_csv_create(schema, seen);
	items->rewind(items->from);
	kl_csv_print_header(csv, &buffer);
	for (int i = 0; i < 4000 && items->next(items->from, &item) > 0; i++)
		kl_csv_print(csv, &buffer, 0, &item);
	fuzz_check_csv(buffer.data, buffer.length);
	kl_csv_destroy(csv);
	free(seen);
	kl_buffer_deinit(&buffer);
}

static void make_reports(const struct fuzz_items *items)
{
	struct kl_syscall_report *calls = kl_syscall_report_create();
	struct kl_sleep_report *sleeps = kl_sleep_report_create();
	struct kl_count_report *counts = kl_count_report_create();
	struct kl_strace *strace = kl_strace_create(KL_STRACE_TIMES);
	struct kl_buffer buffer = { 0 };
	struct kl_item item;
	size_t n;

	items->rewind(items->from);
	for (int i = 0; i < 4000 && items->next(items->from, &item) > 0; i++) {
		kl_syscall_report_add(calls, &item);
		kl_sleep_report_add(sleeps, &item);
		kl_count_report_add(counts, &item);
		kl_strace_add(strace, &buffer, &item);
	}
	kl_strace_finish(strace, &buffer);
	fuzz_check_plain(buffer.data, buffer.length);
	fuzz_assert(kl_syscall_report_rows(calls, &n) && kl_sleep_report_rows(sleeps, &n));
	kl_count_report_rows(counts, &n);
	kl_buffer_deinit(&buffer);
	kl_strace_destroy(strace);
	kl_count_report_destroy(counts);
	kl_sleep_report_destroy(sleeps);
	kl_syscall_report_destroy(calls);
}

static int next_of_ber(void *from, struct kl_item *item)
{
	return kl_ber_reader_next(from, item);
}

/* What is written as BER must be completely readable again. */
static void convert(const struct fuzz_items *items, const struct kl_schema *schema,
		    const struct kl_trace_info *info)
{
	struct kl_buffer file = { 0 };
	struct kl_ber_writer *writer = kl_ber_writer_create(&file, schema, info, 1);
	struct kl_ber_reader *reader;
	struct kl_item item;
	unsigned int events = 0, again = 0;

	items->rewind(items->from);
	for (int i = 0; i < 2000 && items->next(items->from, &item) > 0; i++) {
		kl_ber_writer_add(writer, &file, &item);
		events += item.kind == KL_ITEM_EVENT;
	}
	kl_ber_writer_finish(writer, &file, NULL);
	reader = kl_ber_reader_create(file.data, file.length);
	fuzz_assert(reader || !file.length);
	while (reader && next_of_ber(reader, &item) > 0)
		again += item.kind == KL_ITEM_EVENT;
	fuzz_assert(again == events);
	kl_ber_reader_destroy(reader);
	kl_ber_writer_destroy(writer);
	kl_buffer_deinit(&file);
}

void fuzz_items(const struct fuzz_items *items, const struct kl_schema *schema,
		const struct kl_trace_info *info)
{
	print_style(items, KL_STYLE_TEXT);
	print_csv(items, schema);
	print_style(items, KL_STYLE_JSON);
	make_reports(items);
	convert(items, schema, info);
}
