// SPDX-License-Identifier: GPL-2.0
/*
 * Copies the buffers of the flight recorder to the spool. A capture is a directory whose name ends
 * in .new until all of it is on the disk; nothing is ever overwritten.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/common.h"
#include "../base/output.h"
#include "../session/recorder.h"
#include "ship.h"

int cli_ship_open_spool(struct cli_ship *ship)
{
	if (mkdir(ship->spool, 0700) && errno != EEXIST)
		return cli_error(-errno, "%s: %s", ship->spool, strerror(errno));
	ship->spool_fd = kl_trace_folder(AT_FDCWD, ship->spool);
	if (ship->spool_fd < 0)
		return cli_library_error(ship->spool_fd, NULL);
	if (flock(ship->spool_fd, LOCK_EX | LOCK_NB))
		return cli_error(-errno, "%s: %s", ship->spool,
				 errno == EWOULDBLOCK ? "another process uses this spool" :
							strerror(errno));
	return CLI_OK;
}

uint64_t cli_ship_window(const struct cli_ship *ship)
{
	const struct kl_abi_session *config = &ship->session.config;

	return (uint64_t)config->block_bytes * config->blocks *
	       kl_device_info(ship->session.device)->cpus;
}

static uint64_t spooled;

static int add_file(const char *path, const struct stat *about, int type, struct FTW *ftw)
{
	if (type == FTW_F)
		spooled += (uint64_t)about->st_blocks * 512;
	return 0;
}

uint64_t cli_ship_spooled(const struct cli_ship *ship)
{
	spooled = 0;
	nftw(ship->spool, add_file, 8, FTW_PHYS);
	return spooled;
}

/* ----------------------------------------------------------------- refusals */

static void refuse(struct cli_ship *ship, const struct cli_ship_request *request, const char *why)
{
	ship->refused++;
	snprintf(ship->why, sizeof(ship->why), "%s", why);
	cli_note("no capture %s (%s): %s", request->capture, request->reason, why);
	cli_ship_reply(ship, request->reply,
		       json_pack("{s:s, s:s}", "capture", request->capture, "refused", why));
}

static bool is_recent(const struct cli_ship *ship, const char *id)
{
	for (size_t i = 0; i < CLI_SHIP_RECENT; i++)
		if (!strcmp(ship->recent[i], id))
			return true;
	return false;
}

/* Why a capture cannot be taken now; NULL: it can. */
static const char *check(const struct cli_ship *ship, const struct cli_ship_request *request)
{
	if (is_recent(ship, request->capture))
		return "it has been taken";
	if (ship->last_ns && cli_now_ns() - ship->last_ns < ship->rest_ns)
		return "the last one was taken a short time ago (--rest)";
	if (cli_ship_spooled(ship) + cli_ship_window(ship) > ship->spool_most)
		return "the spool is full (--spool-size)";
	return NULL;
}

/* ------------------------------------------------------------------ captures */

static bool write_about(const struct cli_ship *ship, const struct cli_ship_request *request,
			const char *path, uint64_t frozen_ns,
			const struct kl_recorder_counts *counts, int error)
{
	json_t *about = json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "reason",
				  cli_json_text(request->reason), "from",
				  cli_json_text(request->from), "frozen_ns", (json_int_t)frozen_ns,
				  "took_ns", (json_int_t)(cli_wall_ns() - frozen_ns), "records",
				  (json_int_t)(counts->read.read - counts->unstored), "overwritten",
				  (json_int_t)counts->read.missed, "lost",
				  (json_int_t)counts->read.lost, "unstored",
				  (json_int_t)counts->unstored, "refused",
				  (json_int_t)ship->refused, "failed", (json_int_t)ship->failed);
	struct kl_trace_clock clock;
	char boot[64];
	FILE *file;
	bool good;

	kl_trace_clock_read(&clock);
	json_object_set_new(about, "clock", cli_json_clock(&clock));
	if (error)
		json_object_set_new(about, "error", cli_json_text(kl_error_text()));
	if (cli_read_line("/proc/sys/kernel/random/boot_id", boot, sizeof(boot), ""))
		json_object_set_new(about, "boot", json_string(boot));
	file = cli_create_file(path);
	good = file && !json_dumpf(about, file, JSON_COMPACT);
	if (file && fclose(file))
		good = false;
	json_decref(about);
	return good;
}

static int copy_buffers(struct cli_ship *ship, const char *path, struct kl_recorder_counts *counts)
{
	const struct kl_record_source source = cli_session_source(&ship->session);
	const struct kl_recorder_params params = {
		.path = path,
		.names = cli_session_names(&ship->session),
		.notify = cli_recorder_notice,
	};

	return kl_record_copy(&source, &params, &ship->first, counts);
}

/* Returns false if there is nothing to send. */
static bool write_capture(struct cli_ship *ship, const struct cli_ship_request *request,
			  uint64_t frozen_ns)
{
	char *folder = cli_format("%s/%s.new", ship->spool, request->capture);
	char *ready = cli_format("%s/%s.ready", ship->spool, request->capture);
	char *trace = cli_format("%s/trace", folder), *about = cli_format("%s/about.json", folder);
	struct kl_recorder_counts counts = { 0 };
	bool good = !mkdir(folder, 0700);
	int error = 0, failure = 0;

	if (good) {
		error = copy_buffers(ship, trace, &counts);
		/* On a full disk there is still what was written before. */
		good = !error || counts.read.read > counts.unstored;
		if (good)
			write_about(ship, request, about, frozen_ns, &counts, error);
	}
	/* All of it is on the disk before it has its name. */
	if (good && (syncfs(ship->spool_fd) || rename(folder, ready)))
		good = false;
	if (good) {
		fsync(ship->spool_fd);
	} else {
		failure = errno;
		kl_record_discard(trace);
		unlink(about);
		rmdir(folder);
	}
	ship->failed += !good || error;
	if (!good)
		cli_note("capture %s cannot be written: %s", request->capture,
			 error ? kl_error_text() : strerror(failure));
	free(folder);
	free(ready);
	free(trace);
	free(about);
	return good;
}

void cli_ship_capture(struct cli_ship *ship, const struct cli_ship_request *request)
{
	const char *why = check(ship, request);
	uint64_t frozen_ns = cli_wall_ns();

	if (why) {
		refuse(ship, request, why);
		return;
	}
	strcpy(ship->recent[ship->next_recent++ % CLI_SHIP_RECENT], request->capture);
	cli_ship_reply(ship, request->reply,
		       json_pack("{s:s, s:I}", "capture", request->capture, "frozen_ns",
				 (json_int_t)frozen_ns));
	if (write_capture(ship, request, frozen_ns)) {
		ship->taken++;
		cli_note("capture %s: %s", request->capture, request->reason);
		cli_ship_tell_agent(ship, json_pack("{s:s}", "do", "ready"));
	}
	/* Taking it may have taken longer than the pause: so it begins at the end. */
	ship->last_ns = cli_now_ns();
}
