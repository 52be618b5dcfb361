// SPDX-License-Identifier: GPL-2.0
/* Times, timers, and the times of files. */
#include <sys/stat.h>
#include <sys/times.h>

#include "../../base/base.h"
#include "printers.h"

void kl_put_timespec(struct kl_buffer *out, const struct timespec *time)
{
	kl_buffer_printf(out, "{tv_sec=%lld, tv_nsec=%lld}", (long long)time->tv_sec,
			 (long long)time->tv_nsec);
}

void kl_put_timeval(struct kl_buffer *out, const struct timeval *time)
{
	kl_buffer_printf(out, "{tv_sec=%lld, tv_usec=%lld}", (long long)time->tv_sec,
			 (long long)time->tv_usec);
}

bool kl_timespec_at(struct kl_call *c, uint64_t address)
{
	struct timespec time;

	if (!kl_call_peek(c, address, &time, sizeof(time))) {
		kl_call_address(c->out, address);
		return false;
	}
	kl_put_timespec(c->out, &time);
	return true;
}

bool kl_timeval_at(struct kl_call *c, uint64_t address)
{
	struct timeval time;

	if (!kl_call_peek(c, address, &time, sizeof(time))) {
		kl_call_address(c->out, address);
		return false;
	}
	kl_put_timeval(c->out, &time);
	return true;
}

void kl_arg_timespec(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	if (kind->is_out && !kl_call_succeeded(c))
		kl_call_address(c->out, c->arg[i]);
	else
		kl_timespec_at(c, c->arg[i]);
}

/* Written only if a signal has ended the sleep. */
void kl_arg_remaining(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	if (c->leaving && (c->result == -516 || c->result == -4))
		kl_timespec_at(c, c->arg[i]);
	else
		kl_call_address(c->out, c->arg[i]);
}

void kl_arg_timeval(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	if (kind->is_out && !kl_call_succeeded(c))
		kl_call_address(c->out, c->arg[i]);
	else
		kl_timeval_at(c, c->arg[i]);
}

void kl_arg_timezone(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct timezone zone;

	if (kl_call_succeeded(c) && kl_call_peek(c, c->arg[i], &zone, sizeof(zone)))
		kl_buffer_printf(c->out, "{tz_minuteswest=%d, tz_dsttime=%d}", zone.tz_minuteswest,
				 zone.tz_dsttime);
	else
		kl_call_address(c->out, c->arg[i]);
}

void kl_arg_itimerval(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct itimerval timer;

	if ((kind->is_out && !kl_call_succeeded(c)) ||
	    !kl_call_peek(c, c->arg[i], &timer, sizeof(timer)))
		return kl_call_address(c->out, c->arg[i]);
	kl_buffer_add_string(c->out, "{it_interval=");
	kl_put_timeval(c->out, &timer.it_interval);
	kl_buffer_add_string(c->out, ", it_value=");
	kl_put_timeval(c->out, &timer.it_value);
	kl_buffer_add_char(c->out, '}');
}

void kl_arg_itimerspec(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct itimerspec timer;

	if ((kind->is_out && !kl_call_succeeded(c)) ||
	    !kl_call_peek(c, c->arg[i], &timer, sizeof(timer)))
		return kl_call_address(c->out, c->arg[i]);
	kl_buffer_add_string(c->out, "{it_interval=");
	kl_put_timespec(c->out, &timer.it_interval);
	kl_buffer_add_string(c->out, ", it_value=");
	kl_put_timespec(c->out, &timer.it_value);
	kl_buffer_add_char(c->out, '}');
}

void kl_arg_times(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct tms t;

	if (!kl_call_succeeded(c) || !kl_call_peek(c, c->arg[i], &t, sizeof(t)))
		return kl_call_address(c->out, c->arg[i]);
	kl_buffer_printf(c->out, "{tms_utime=%lu, tms_stime=%lu, tms_cutime=%lu, tms_cstime=%lu}",
			 t.tms_utime, t.tms_stime, t.tms_cutime, t.tms_cstime);
}

/* A comment with the date, in local time. */
static void put_date(struct kl_buffer *out, time_t seconds, unsigned int digits, long fraction)
{
	char text[64];
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%FT%T", &tm))
		return;
	kl_buffer_printf(out, " /* %s", text);
	if (fraction)
		kl_buffer_printf(out, ".%0*ld", (int)digits, fraction);
	if (strftime(text, sizeof(text), "%z", &tm))
		kl_buffer_printf(out, "%s */", text);
}

static void put_file_time(struct kl_buffer *out, const struct timespec *time)
{
	if (time->tv_nsec == UTIME_NOW)
		return kl_buffer_add_string(out, "UTIME_NOW");
	if (time->tv_nsec == UTIME_OMIT)
		return kl_buffer_add_string(out, "UTIME_OMIT");
	kl_put_timespec(out, time);
	put_date(out, time->tv_sec, 9, time->tv_nsec);
}

void kl_arg_utimes(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct timespec times[2];

	if (!kl_call_peek(c, c->arg[i], times, sizeof(times)))
		return kl_call_address(c->out, c->arg[i]);
	kl_buffer_add_char(c->out, '[');
	put_file_time(c->out, &times[0]);
	kl_comma(c);
	put_file_time(c->out, &times[1]);
	kl_buffer_add_char(c->out, ']');
}

void kl_arg_utimevals(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct timeval times[2];

	if (!kl_call_peek(c, c->arg[i], times, sizeof(times)))
		return kl_call_address(c->out, c->arg[i]);
	for (unsigned int k = 0; k < 2; k++) {
		kl_buffer_add_string(c->out, k ? ", " : "[");
		kl_put_timeval(c->out, &times[k]);
		put_date(c->out, times[k].tv_sec, 6, times[k].tv_usec);
	}
	kl_buffer_add_char(c->out, ']');
}
