// SPDX-License-Identifier: GPL-2.0
/*
 * The clock, and waiting in commands that run until Ctrl-C: the signals that end them are
 * blocked, and taken while they wait, so that none is missed between two waits.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "common.h"

static sigset_t ending;

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t cli_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t cli_wall_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

void cli_wait_for_signal(int signal)
{
	sigaddset(&ending, signal);
	sigprocmask(SIG_BLOCK, &ending, NULL);
}

bool cli_wait_until(uint64_t ns)
{
	int signal;

	do {
		uint64_t now = cli_now_ns(), left = ns > now ? ns - now : 0;
		const struct timespec time = { (time_t)(left / 1000000000),
					       (long)(left % 1000000000) };

		signal = sigtimedwait(&ending, NULL, &time);
	} while (signal < 0 && errno == EINTR);
	return signal < 0;
}
