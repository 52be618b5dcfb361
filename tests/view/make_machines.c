// SPDX-License-Identifier: GPL-2.0
/*
 * make-machines DIRECTORY: writes traces of three machines below it, with the same thread and CPU
 * numbers: web and db exchange packets, and db's clock is 5 s ahead; nothing connects lone to them.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "../unit/lib/synth.h"

#define BLOCK_BYTES (1u << 20)
#define US 1000ull
#define BEGIN (20 * 1000 * US)
#define TURNS 50
#define TURN (1000 * US)
#define AHEAD (5000000 * US)

struct machine {
	struct synth synth;
	struct kl_trace_writer *writer;
	uint64_t ahead;
};

static struct kl_schema *schema;
static struct machine web, db = { .ahead = AHEAD }, lone;

static void add(struct machine *m, const char *event, uint64_t ns, const struct synth_arg *args)
{
	if (!synth_add(&m->synth, event, BEGIN + ns + m->ahead, args))
		abort();
}

/* The thread that works runs from one time to another. */
static void run(struct machine *m, const char *comm, uint64_t from, uint64_t to)
{
	synth_switch(&m->synth, BEGIN + from + m->ahead, "swapper", 0, comm, 100);
	synth_task(&m->synth, 100, 100, comm);
	synth_switch(&m->synth, BEGIN + to + m->ahead, comm, 100, "swapper", 0);
	synth_task(&m->synth, 0, 0, "swapper");
}

static void packet(struct machine *m, const char *event, uint64_t ns, int from, int to, int number)
{
	add(m, event, ns,
	    ARGS(NUMBER(1), NUMBER(100), NUMBER(0x0800), NUMBER(6),
		 NUMBER(htonl(0x0a000000u + (unsigned int)from)),
		 NUMBER(htonl(0x0a000000u + (unsigned int)to)), NUMBER(1000 + from),
		 NUMBER(1000 + to), NUMBER(number * 10), NUMBER(7), NUMBER(0x10), BYTES("eth0")));
}

static void begin(struct machine *m, const char *directory, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	m->writer = synth_writer(path, schema);
	if (!m->writer)
		exit(1);
	synth_init(&m->synth, schema, 0);
	m->synth.block_bytes = BLOCK_BYTES;
	synth_task(&m->synth, 0, 0, "swapper");
	synth_begin(&m->synth, BEGIN + m->ahead);
}

static int end(struct machine *m)
{
	synth_end(&m->synth, BEGIN + TURNS * TURN + m->ahead);
	return kl_trace_append(m->writer, synth_block(&m->synth), BLOCK_BYTES) ||
	       kl_trace_finish(m->writer, NULL);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	schema = kl_schema_create();
	begin(&web, argv[1], "web");
	begin(&db, argv[1], "db");
	begin(&lone, argv[1], "lone");
	/* A request takes 200 us there, and the answer 150 us back. */
	for (int i = 0; i < TURNS; i++) {
		const uint64_t at = (uint64_t)i * TURN;

		run(&web, "web", at + 10 * US, at + 30 * US);
		packet(&web, "net_dev_queue", at + 40 * US, 1, 2, i);
		packet(&db, "netif_receive_skb", at + 240 * US, 1, 2, i);
		run(&db, "db", at + 250 * US, at + 290 * US);
		packet(&db, "net_dev_queue", at + 300 * US, 2, 1, i);
		packet(&web, "netif_receive_skb", at + 450 * US, 2, 1, i);
		run(&lone, "lone", at + 500 * US, at + 560 * US);
	}
	if (end(&web) || end(&db) || end(&lone))
		return 1;
	kl_schema_destroy(schema);
	return 0;
}
