// SPDX-License-Identifier: GPL-2.0
/* CPU hotplug, limits on power saving, and an attempt to suspend that ends early. */
#include <sys/timerfd.h>

#include "cause.h"

#define CPU1 "/sys/devices/system/cpu/cpu1/online"

static void switch_cpu(void)
{
	must_write(CPU1, "0");
	must_write(CPU1, "1");
}

static void limit_latency(void)
{
	int32_t us = 100;
	int fd = CHECK(open("/dev/cpu_dma_latency", O_RDWR | O_CLOEXEC));

	CHECK(write(fd, &us, sizeof(us)));
	us = 50;
	CHECK(write(fd, &us, sizeof(us)));
	close(fd);
	fact("pm_qos_update_request value=100");
	fact("pm_qos_update_request value=50");
	fact("pm_qos_update_target curr_value=50");
}

/* One of the first devices to be suspended refuses, so all suspended ones resume. */
static void suspend_refused(void)
{
	MUST_RUN("sh", "-c", "insmod ${KL_BUILD:-build}/$(uname -r)/kl_cause.ko what=suspend");
	if (try_write("/sys/power/state", "freeze"))
		DIE("the machine slept");
	MUST_RUN("rmmod", "kl_cause");
	fact("device_pm_callback_start event=2 device=kl_cause_willing.0 driver=kl_cause_willing");
	fact("device_pm_callback_end error=-16 device=kl_cause_unwilling.0");
	fact("suspend_resume action=freeze_processes val=0 start=1");
}

/*
 * With an alarm set, the alarm timer device reports what it will wake up for; the suspend ends
 * there.
 */
static void suspend_with_alarm(void)
{
	struct itimerspec later = { .it_value = { 500, 0 } };
	int fd = timerfd_create(CLOCK_BOOTTIME_ALARM, TFD_CLOEXEC);

	if (fd < 0 || timerfd_settime(fd, 0, &later, NULL)) {
		fprintf(stderr, "power: no alarm clock: %s\n", strerror(errno));
		return;
	}
	MUST_RUN("sh", "-c", "insmod ${KL_BUILD:-build}/$(uname -r)/kl_cause.ko what=alarm");
	if (try_write("/sys/power/state", "freeze"))
		DIE("the machine slept");
	MUST_RUN("rmmod", "kl_cause");
	close(fd);
}

int main(int argc, char **argv)
{
	must_write("/sys/power/pm_async", "0");
	switch_cpu();
	limit_latency();
	suspend_refused();
	suspend_with_alarm();
	return 0;
}
