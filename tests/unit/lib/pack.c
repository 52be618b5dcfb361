// SPDX-License-Identifier: GPL-2.0
/* Traces with records of many shapes, and their contents as sums. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../lib/base/base.h"
#include "pack.h"
#include "synth.h"

#define BEGIN ((1ull << 48) - 4000000) /* the low 48 bits wrap soon */
#define HZ 2000000000ull

static const char events[] =
	"event { /* @task DEFAULT SELF Numbers */ name = \"numbers\"; id = 1000; stream_id = 0;"
	" fields := struct {"
	" integer { size = 64; align = 8; signed = 0; base = 10; } _n; /* @dec */"
	" integer { size = 16; align = 8; signed = 1; base = 10; } _zero; /* @dec */"
	" integer { size = 32; align = 8; signed = 1; base = 10; } _odd; /* @dec */"
	" integer { size = 8; align = 8; signed = 0; encoding = UTF8; } _name[16]; /* @comm */"
	" integer { size = 8; align = 8; signed = 0; encoding = UTF8; } _long[40]; /* @text */"
	" } align(8); };\n"
	"event { /* @task DEFAULT SELF Strings */ name = \"strings\"; id = 1001; stream_id = 0;"
	" fields := struct {"
	" string { encoding = UTF8; } _first; /* @text */"
	" integer { size = 64; align = 8; signed = 0; base = 10; } _n; /* @dec */"
	" string { encoding = UTF8; } _second; /* @path */"
	" } align(8); };\n"
	"event { /* @task DEFAULT SELF Nothing */ name = \"nothing\"; id = 1002; stream_id = 0;"
	" fields := struct { } align(8); };\n";

static struct kl_schema *schema;
static struct kl_trace_info info;

void pack_init(void)
{
	/* A single system call's events would do, too; none keeps packs small. */
	schema = synth_schema(events, HZ, &info);
}

void pack_deinit(void)
{
	kl_schema_destroy(schema);
}

const struct kl_schema *pack_schema(void)
{
	return schema;
}

const struct kl_trace_info *pack_info(void)
{
	return &info;
}

static bool add_record(struct synth *s, uint64_t time, unsigned int n)
{
	static const char long_text[40] = "text of forty bytes, or nearly so many";
	char text[32];

	snprintf(text, sizeof(text), "/path/%u", n * 7919 % 1000);
	if (n % 5 == 0)
		synth_task(s, (int)(100 + n % 4), 100, n % 3 ? "first" : "second");
	if (n % 7 == 3)
		return synth_add(s, "nothing", time, NULL);
	if (n % 3)
		return synth_add(s, "numbers", time,
				 ARGS(NUMBER(n % 11 ? n : ~0ull), NUMBER(0), NUMBER(n % 2 ? -1 : 5),
				      BYTES("sixteen bytes!!!"), BYTES(long_text)));
	return synth_add(s, "strings", time,
			 ARGS(BYTES(n % 2 ? "" : text), NUMBER(n * 1000), BYTES(text)));
}

int pack_write(const char *path, unsigned int blocks, uint32_t block_bytes, int level)
{
	struct kl_trace_writer *writer = kl_trace_create(path, schema, &info);
	struct synth *s = malloc(sizeof(*s));

	if (!s || !writer || (level && kl_trace_compress(writer, level)))
		abort();
	kl_trace_set_begin(writer, BEGIN);
	for (uint32_t cpu = 0; cpu < PACK_CPUS; cpu++) {
		unsigned int n = cpu;

		synth_init(s, schema, cpu);
		s->block_bytes = block_bytes;
		for (unsigned int k = 0; k < blocks; k++) {
			uint64_t time = BEGIN + cpu * 7 + k * 1000000ull;

			synth_begin(s, time);
			while (add_record(s, time, n++))
				time += n % 13 ? n * 31 % 400 : 2000 % (n + 1);
			s->discarded += k == 1 ? 10 + cpu : 0;
			synth_end(s, BEGIN + cpu * 7 + (k + 1) * 1000000ull - 10);
			if (kl_trace_append(writer, synth_block(s), s->block_bytes)) {
				fprintf(stderr, "append: %s\n", kl_error_text());
				abort();
			}
		}
	}
	kl_trace_set_end(writer, BEGIN + HZ, 0);
	free(s);
	return kl_trace_finish(writer, &info.timebase);
}

static void take_event(struct pack_read *read, const struct kl_event *event)
{
	uint64_t numbers[] = { event->cycles, event->cpu, event->id, (uint64_t)event->task.tid };

	read->events++;
	read->hash = kl_hash_bytes(read->hash, numbers, sizeof(numbers));
	read->hash = kl_hash_bytes(read->hash, event->task.comm, strlen(event->task.comm));
	read->hash = kl_hash_bytes(read->hash, event->payload, event->payload_bytes);
}

static struct pack_read read_items(const char *path, uint64_t from_ns, uint64_t most)
{
	struct kl_trace *trace = kl_trace_open(path);
	struct pack_read read = { .opened = trace, .hash = KL_HASH_START };
	struct kl_item item;

	if (trace && from_ns)
		kl_trace_skip(trace, from_ns);
	while (trace && read.events < most && kl_trace_next(trace, &item) > 0) {
		if (item.kind == KL_ITEM_LOSS)
			read.losses += item.loss->records;
		else if (item.event->since_ns >= from_ns)
			take_event(&read, item.event);
	}
	kl_trace_close(trace);
	return read;
}

struct pack_read pack_read(const char *path, uint64_t from_ns)
{
	return read_items(path, from_ns, UINT64_MAX);
}

struct pack_read pack_read_some(const char *path, uint64_t most)
{
	return read_items(path, 0, most);
}

struct pack_bytes pack_load(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct pack_bytes bytes = { 0 };
	off_t length = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);

	if (fd < 0)
		return bytes;
	bytes.at = malloc((size_t)length + 1);
	if (!bytes.at || pread(fd, bytes.at, (size_t)length, 0) != length)
		abort();
	bytes.length = (size_t)length;
	close(fd);
	return bytes;
}

void pack_save(const char *path, const void *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || kl_write_all(fd, bytes, length))
		abort();
	close(fd);
}

const char *pack_path(const char *directory, const char *name)
{
	static char paths[64][256];
	static unsigned int turn;
	char *path = paths[turn++ % 64];

	snprintf(path, sizeof(*paths), "%s/%s", directory, name);
	return path;
}

bool pack_same(const char *one, const char *other, const char *name)
{
	struct pack_bytes a = pack_load(pack_path(one, name));
	struct pack_bytes b = pack_load(pack_path(other, name));
	bool same = !a.at == !b.at && a.length == b.length &&
		    (!a.at || !memcmp(a.at, b.at, a.length));

	free(a.at);
	free(b.at);
	return same;
}
