// SPDX-License-Identifier: GPL-2.0
/* Reads a session's events while it runs. */
#include <errno.h>

#include "../base/common.h"
#include "live.h"

#define ITEMS_AT_ONCE 100000

int cli_live_open(struct cli_live *live, const struct cli_session *session, bool joined)
{
	struct kl_abi_time time;
	int error = kl_device_time(session->device, &time);
	int fd;

	if (error)
		return cli_library_error(error, NULL);
	kl_timebase_fit(&live->timebase, &time, NULL);
	live->began = time.cycles;
	fd = kl_session_reader(session->session, joined ? KL_READER_FROM_NOW : KL_READER_HOLD);
	if (fd < 0)
		return cli_library_error(fd, NULL);
	live->reader = kl_reader_create(fd, kl_device_info(session->device)->cpus,
					session->config.block_bytes, KL_BACKEND_MMAP);
	if (live->reader && joined)
		kl_reader_join(live->reader);
	if (live->reader)
		live->live = kl_live_create(live->reader, session->schema, &live->timebase);
	return live->live ? CLI_OK : cli_library_error(-errno, NULL);
}

int cli_live_read(struct cli_live *live, uint64_t cycles, cli_live_fn take, void *context)
{
	struct kl_item item;
	int got;

	for (int i = 0; i < ITEMS_AT_ONCE; i++) {
		got = kl_live_next(live->live, cycles, &item);
		if (got <= 0)
			return got;
		got = take(context, &item);
		if (got)
			return got;
	}
	return 1;
}

void cli_live_close(struct cli_live *live)
{
	kl_live_destroy(live->live);
	kl_reader_destroy(live->reader);
	*live = (struct cli_live){ 0 };
}
