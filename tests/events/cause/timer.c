// SPDX-License-Identifier: GPL-2.0
/* Timers of processes: interval timers, timer descriptors, alarms. */
#include <signal.h>
#include <sys/time.h>
#include <sys/timerfd.h>

#include "cause.h"

static volatile int alarms;

static void on_alarm(int number)
{
	alarms++;
}

static void set_interval(int which, int signal)
{
	struct itimerval interval = { .it_interval = { 0, 20000 }, .it_value = { 0, 10000 } };
	struct itimerval none = {};

	if (sigaction(signal, &(struct sigaction){ .sa_handler = on_alarm }, NULL))
		DIE("sigaction");
	alarms = 0;
	CHECK(setitimer(which, &interval, NULL));
	while (alarms < 3)
		if (which == ITIMER_REAL)
			pause();
	CHECK(setitimer(which, &none, NULL));
	fact("itimer_state which=%d value_sec=0 value_nsec=10000000 interval_sec=0 "
	     "interval_nsec=20000000",
	     which);
	fact("itimer_expire which=%d pid=%d", which, getpid());
}

static void use_timerfd(int clock)
{
	struct itimerspec soon = { .it_value = { 0, 5000000 } }, later = { .it_value = { 50, 0 } };
	uint64_t count;
	int fd = timerfd_create(clock, TFD_CLOEXEC);

	if (fd < 0) {
		fprintf(stderr, "timer: no clock %d: %s\n", clock, strerror(errno));
		return;
	}
	CHECK(timerfd_settime(fd, 0, &later, NULL));
	CHECK(timerfd_settime(fd, 0, &soon, NULL));
	CHECK(read(fd, &count, sizeof(count)));
	close(fd);
}

static void cancel_alarm(void)
{
	struct itimerspec later = { .it_value = { 50, 0 } }, none = {};
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	timer_t timer;

	if (timer_create(CLOCK_BOOTTIME_ALARM, &event, &timer)) {
		fprintf(stderr, "timer: no alarm clock: %s\n", strerror(errno));
		return;
	}
	CHECK(timer_settime(timer, 0, &later, NULL));
	CHECK(timer_settime(timer, 0, &none, NULL));
	CHECK(timer_delete(timer));
}

int main(void)
{
	set_interval(ITIMER_REAL, SIGALRM);
	set_interval(ITIMER_VIRTUAL, SIGVTALRM);
	set_interval(ITIMER_PROF, SIGPROF);
	use_timerfd(CLOCK_MONOTONIC);
	use_timerfd(CLOCK_REALTIME_ALARM);
	use_timerfd(CLOCK_BOOTTIME_ALARM);
	cancel_alarm();
	sleep_ms(100);
	return 0;
}
