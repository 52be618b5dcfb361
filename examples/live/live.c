// SPDX-License-Identifier: GPL-2.0
/*
 * live EVENTS SECONDS: trace the machine as `kernlens live` does, and print events as they happen:
 *
 *	live 'sched_switch,syscall_exit_openat /ret < 0/' 5
 *
 * It shows how your own program can control a session: what -e accepts becomes a plan, the session
 * gets it, and a reader merges the buffers of all CPUs by time. Kernel addresses are printed by
 * name. Build it as ../read/read.c says; load the module first (kernlens(1)).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kernlens/kernlens.h>

struct live {
	struct kl_device *device;
	struct kl_schema *schema;
	struct kl_plan *plan;
	struct kl_session *session;
	struct kl_addresses *addresses;
	struct kl_timebase timebase;
	struct kl_reader *reader;
	struct kl_live *live;
	struct kl_buffer text;
};

/* The events that the module of this kernel lacks are left out. */
static int drop_absent(struct live *l)
{
	uint8_t *map = kl_plan_map(l->plan);
	struct kl_abi_event_info info;
	int error = 0;

	for (unsigned int id = 0; id < KL_EV_MAX && !error; id++) {
		if (map[id] == KL_HANDLER_nothing || !kl_schema_class(l->schema, id))
			continue;
		error = kl_device_event(l->device, id, &info);
		if (!error && info.absent != KL_PRESENT)
			map[id] = KL_HANDLER_nothing;
	}
	return error;
}

/* Resolve the list of events, and load the result into a new session. */
static int make_session(struct live *l, const char *events)
{
	struct kl_abi_session config;
	int error;

	l->device = kl_device_open(NULL);
	l->schema = l->device ? kl_schema_create() : NULL;
	l->plan = l->schema ? kl_plan_create(l->schema) : NULL;
	if (!l->plan)
		return -errno;
	kl_plan_set_rights(l->plan, kl_device_info(l->device)->may);
	error = kl_plan_add(l->plan, events, KL_HANDLER_log);
	if (!error)
		error = kl_plan_compile(l->plan);
	if (!error)
		error = drop_absent(l);
	if (error)
		return error;
	memset(&config, 0, sizeof(config));
	config.mode = KL_MODE_DISCARD;
	strcpy(config.name, "live");
	l->session = kl_session_create(l->device, &config);
	l->addresses = kl_addresses_of_kernel();
	if (!l->session || !l->addresses)
		return -errno;
	kl_schema_set_addresses(l->schema, l->addresses);
	return kl_plan_apply(l->plan, l->session);
}

/* The clock's frequency and offset are measured once, at the start. */
static int make_reader(struct live *l)
{
	struct kl_abi_time time;
	int error = kl_device_time(l->device, &time), fd;

	if (!error)
		error = kl_timebase_fit(&l->timebase, &time, NULL);
	if (error)
		return error;
	fd = kl_session_reader(l->session, KL_READER_HOLD);
	if (fd < 0)
		return fd;
	l->reader = kl_reader_create(fd, kl_device_info(l->device)->cpus,
				     kl_session_block_bytes(l->session), KL_BACKEND_MMAP);
	l->live = l->reader ? kl_live_create(l->reader, l->schema, &l->timebase) : NULL;
	return l->live ? 0 : -errno;
}

/* Print what happened up to @cycles. Returns 0 or a negative errno. */
static int print_until(struct live *l, uint64_t cycles)
{
	struct kl_item item;
	int got;

	while ((got = kl_live_next(l->live, cycles, &item)) > 0) {
		kl_buffer_reset(&l->text);
		kl_print_item(&l->text, KL_STYLE_TEXT, 0, &item);
		fwrite(l->text.data, 1, l->text.length, stdout);
	}
	return got;
}

static int follow(struct live *l, double seconds)
{
	struct kl_abi_time now;
	uint64_t end_ns = 0;
	int error = kl_session_start(l->session);

	while (!error) {
		error = kl_device_time(l->device, &now);
		if (error)
			break;
		if (!end_ns)
			end_ns = now.monotonic_ns + (uint64_t)(seconds * 1e9);
		if (now.monotonic_ns >= end_ns)
			break;
		/* A record that is being written now may have a time from before this. */
		error = print_until(l, now.cycles - now.clock_hz / 1000);
		if (!error && (error = kl_reader_wait(l->reader, 50)) > 0)
			error = 0;
	}
	if (!error)
		error = kl_session_stop(l->session);
	return error ? error : print_until(l, UINT64_MAX);
}

int main(int argc, char **argv)
{
	struct live l;
	int error;

	if (argc != 3) {
		fprintf(stderr, "usage: %s EVENTS SECONDS\n", argv[0]);
		return 2;
	}
	memset(&l, 0, sizeof(l));
	error = make_session(&l, argv[1]);
	if (!error)
		error = make_reader(&l);
	if (!error)
		error = follow(&l, atof(argv[2]));
	if (error)
		fprintf(stderr, "%s: %s: %s\n", argv[0], strerror(-error), kl_error_text());
	kl_live_destroy(l.live);
	kl_reader_destroy(l.reader);
	kl_session_close(l.session);
	kl_plan_destroy(l.plan);
	kl_schema_destroy(l.schema);
	kl_addresses_destroy(l.addresses);
	kl_device_close(l.device);
	kl_buffer_deinit(&l.text);
	return error != 0;
}
