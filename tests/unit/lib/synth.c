// SPDX-License-Identifier: GPL-2.0
/* Makes blocks of records for the tests, using only struct kl_abi_block. */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "synth.h"

#define US 1000ull /* of a clock that counts ns */

void synth_init(struct synth *s, const struct kl_schema *schema, uint32_t cpu)
{
	memset(s, 0, sizeof(*s));
	s->schema = schema;
	s->cpu = cpu;
	s->block_bytes = SYNTH_BLOCK_BYTES;
	for (int i = 0; i < 16; i++)
		s->uuid[i] = 0x10 + i;
}

struct kl_abi_block *synth_block(struct synth *s)
{
	return (struct kl_abi_block *)s->bytes;
}

void synth_task(struct synth *s, int tid, int pid, const char *comm)
{
	memset(&s->task, 0, sizeof(s->task));
	s->task.tid = tid;
	s->task.pid = pid;
	memcpy(s->task.comm, comm, strnlen(comm, KL_COMM_LEN));
}

void synth_begin(struct synth *s, uint64_t time)
{
	struct kl_abi_block *block = synth_block(s);

	memset(s->bytes, 0, s->block_bytes);
	block->magic = KL_CTF_MAGIC;
	memcpy(block->uuid, s->uuid, 16);
	block->timestamp_begin = time;
	block->packet_bits = (uint64_t)s->block_bytes * 8;
	block->seq = s->seq;
	block->record_first = s->records;
	block->committed = KL_BLOCK_HEADER_BYTES;
	block->header_bytes = KL_BLOCK_HEADER_BYTES;
	block->cpu_id = s->cpu;
	block->session_id = 7;
	s->at = KL_BLOCK_HEADER_BYTES;
	s->count = 0;
}

static size_t put_field(uint8_t *at, const struct kl_field *field, const struct synth_arg *arg)
{
	size_t length = (size_t)field->bytes * field->count;

	if (field->type == KL_TYPE_STRING) {
		length = strlen(arg->bytes) + 1;
		memcpy(at, arg->bytes, length);
	} else if (field->type == KL_TYPE_TEXT) {
		memset(at, 0, length);
		memcpy(at, arg->bytes, strnlen(arg->bytes, length));
	} else if (field->count > 1) {
		memcpy(at, arg->bytes, length);
	} else {
		memcpy(at, &arg->number, length);
	}
	return length;
}

/* Writes which variables changed, and their values; in a block's first record, all of them. */
static uint8_t *put_variables(struct synth *s, uint8_t *at)
{
	const struct kl_variable *v;
	uint64_t changed = !s->count || memcmp(&s->task, &s->written, sizeof(s->task));
	unsigned int n = 0;

	for (; (v = kl_schema_variable(s->schema, n)); n++)
		if (!s->count || memcmp(s->values + v->field.offset, s->told + v->field.offset,
					(size_t)v->field.bytes * v->field.count))
			changed |= 2ull << n;
	memcpy(at, &changed, KL_CHANGED_BYTES(n));
	at += KL_CHANGED_BYTES(n);
	if (changed & KL_CHANGED_TASK) {
		memcpy(at, &s->task, sizeof(s->task));
		at += sizeof(s->task);
	}
	for (unsigned int i = 0; i < n; i++) {
		v = kl_schema_variable(s->schema, i);
		if (!(changed & 2ull << i))
			continue;
		memcpy(at, s->values + v->field.offset, (size_t)v->field.bytes * v->field.count);
		at += (size_t)v->field.bytes * v->field.count;
	}
	return at;
}

bool synth_add(struct synth *s, const char *event, uint64_t time, const struct synth_arg *args)
{
	const struct kl_class *class = kl_schema_find(s->schema, event);
	uint8_t record[KL_RECORD_MAX * 2], *at = record;
	uint64_t head;

	if (!class) {
		fprintf(stderr, "synth: no event %s\n", event);
		abort();
	}
	head = class->id | time << KL_RECORD_ID_BITS;
	memcpy(at, &head, 8);
	at = put_variables(s, at + sizeof(head));
	for (unsigned int i = 0; i < class->n_fields; i++)
		at += put_field(at, &class->fields[i], &args[i]);
	if (s->at + (at - record) > s->block_bytes)
		return false;
	memcpy(s->bytes + s->at, record, at - record);
	s->at += at - record;
	s->written = s->task;
	memcpy(s->told, s->values, sizeof(s->told));
	s->count++;
	synth_block(s)->committed = s->at;
	return true;
}

void synth_switch(struct synth *s, uint64_t time, const char *from, int prev, const char *to,
		  int next)
{
	if (!synth_add(s, "sched_switch", time,
		       ARGS(BYTES(from), NUMBER(prev), NUMBER(20), NUMBER(1), BYTES(to),
			    NUMBER(next), NUMBER(-5))))
		abort();
}

void synth_end(struct synth *s, uint64_t time)
{
	struct kl_abi_block *block = synth_block(s);

	block->timestamp_end = time;
	block->content_bits = s->at * 8ull;
	block->record_count = s->count;
	block->events_discarded = s->discarded;
	s->records += s->count;
	s->seq++;
}

static void add_call(struct synth *s, const char *event, uint64_t time,
		     const struct synth_arg *args)
{
	if (!synth_add(s, event, time, args))
		abort();
}

void synth_calls(struct synth *s, uint64_t begin)
{
	add_call(s, "syscall_exit_close", begin + 0 * US, ARGS(NUMBER(0)));
	add_call(s, "syscall_entry_openat", begin + 10 * US,
		 ARGS(NUMBER(-100), BYTES("/etc/passwd"), NUMBER(O_RDONLY | O_CLOEXEC), NUMBER(0)));
	add_call(s, "syscall_exit_openat", begin + 22 * US, ARGS(NUMBER(3)));
	add_call(s, "syscall_entry_read", begin + 30 * US,
		 ARGS(NUMBER(3), NUMBER(0x7ffd0000), NUMBER(832)));
	synth_task(s, 20, 20, "two");
	add_call(s, "syscall_entry_openat", begin + 31 * US,
		 ARGS(NUMBER(-100), BYTES("/none"), NUMBER(O_WRONLY | O_CREAT), NUMBER(0644)));
	add_call(s, "syscall_exit_openat", begin + 41 * US, ARGS(NUMBER(-2)));
	synth_task(s, 11, 10, "one");
	add_call(s, "syscall_exit_read", begin + 50 * US, ARGS(NUMBER(832)));
	add_call(s, "syscall_entry_read", begin + 60 * US, ARGS(NUMBER(3), NUMBER(0), NUMBER(1)));
	add_call(s, "syscall_exit_read", begin + 61 * US, ARGS(NUMBER(0)));
	add_call(s, "syscall_entry_exit_group", begin + 70 * US, ARGS(NUMBER(0)));
}

/* Of blocks of synth_init(). */
static void init_info(struct kl_trace_info *info)
{
	kl_trace_info_init(info);
	for (unsigned int i = 0; i < sizeof(info->uuid); i++)
		info->uuid[i] = (uint8_t)(0x10 + i);
}

struct kl_schema *synth_schema(const char *events, uint64_t hz, struct kl_trace_info *info)
{
	struct kl_schema *tables = kl_schema_create(), *schema;
	struct kl_buffer text = { 0 };

	init_info(info);
	kl_timebase_init(&info->timebase, KL_CLOCK_TSC, hz, 1700000000, 1000);
	kl_metadata_write(&text, tables, info);
	text.length = strstr(text.data, "\nevent {") + 1 - text.data;
	kl_buffer_add_string(&text, events);
	schema = kl_metadata_parse(text.data, text.length, info);
	if (!schema) {
		fprintf(stderr, "%s\n", kl_error_text());
		abort();
	}
	kl_buffer_deinit(&text);
	kl_schema_destroy(tables);
	return schema;
}

struct kl_trace_writer *synth_writer(const char *path, const struct kl_schema *schema)
{
	struct kl_trace_writer *writer;
	struct kl_trace_info info;

	init_info(&info);
	strcpy(info.scope, "all");
	kl_timebase_init(&info.timebase, KL_CLOCK_TSC, 1000000000, 1700000000, 0);
	writer = kl_trace_create(path, schema, &info);
	if (!writer)
		fprintf(stderr, "%s cannot be written\n", path);
	return writer;
}

char *synth_directory(void)
{
	char *directory = strdup("/tmp/kl-unit-XXXXXX");

	if (!directory || !mkdtemp(directory))
		abort();
	return directory;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
	(void)about;
	(void)kind;
	(void)where;
	return remove(path);
}

void synth_remove(char *directory)
{
	nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(directory);
}
