// SPDX-License-Identifier: GPL-2.0
/* Finds interrupts and requests of disks, for a timeline. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "../values.h"
#include "timeline.h"

#define LANES_MAX 8

/* ---------------------------------------------------------------- interrupts */

static int enter(struct kl_timeline *t, const struct kl_event *event, enum kl_track_kind kind,
		 const char *name)
{
	struct kl_track *track = kl_timeline_track(t, kind, event->cpu);

	/* Within another one of this kind, which is shown. */
	if (!track || track->open)
		return track ? 0 : -ENOMEM;
	return kl_track_begin(t, track, kl_timeline_time(t, event->ns), KL_SPAN_RUNNING,
			      kl_timeline_name(t, name), 0);
}

int kl_timeline_leave_irq(struct kl_timeline *t, const struct kl_event *event)
{
	struct kl_track *track = kl_timeline_track(t, KL_TRACK_IRQ, event->cpu);

	return track ? kl_track_end(t, track, kl_timeline_time(t, event->ns)) : -ENOMEM;
}

int kl_timeline_enter_irq(struct kl_timeline *t, const struct kl_event *event)
{
	char text[128], name[160];

	snprintf(name, sizeof(name), "irq %lld %s", (long long)kl_number_of(event, "irq"),
		 kl_timeline_text(event, "name", text));
	return enter(t, event, KL_TRACK_IRQ, name);
}

/* "x86_irq_vectors_local_timer_entry" */
int kl_timeline_enter_vector(struct kl_timeline *t, const struct kl_event *event)
{
	static const char before[] = "x86_irq_vectors_";
	const char *whole = event->event_class->name + sizeof(before) - 1;
	const size_t length = strlen(whole) - strlen("_entry");
	char name[128];

	if (length >= sizeof(name))
		return 0;
	memcpy(name, whole, length);
	name[length] = 0;
	return enter(t, event, KL_TRACK_IRQ, name);
}

int kl_timeline_enter_softirq(struct kl_timeline *t, const struct kl_event *event)
{
	struct kl_buffer name = { 0 };
	int error;

	kl_buffer_add_string(&name, "softirq ");
	kl_print_meaning(&name, KL_FORMAT_softirq, (uint64_t)kl_number_of(event, "vec"));
	kl_buffer_add_char(&name, 0);
	error = name.error ? -ENOMEM : enter(t, event, KL_TRACK_SOFTIRQ, name.data);
	kl_buffer_deinit(&name);
	return error;
}

int kl_timeline_leave_softirq(struct kl_timeline *t, const struct kl_event *event)
{
	struct kl_track *track = kl_timeline_track(t, KL_TRACK_SOFTIRQ, event->cpu);

	return track ? kl_track_end(t, track, kl_timeline_time(t, event->ns)) : -ENOMEM;
}

/* --------------------------------------------------------------------- disks */

static uint32_t device_of(const struct kl_event *event)
{
	return (uint32_t)kl_number_of(event, "dev");
}

static struct kl_track *lane_of(struct kl_timeline *t, uint64_t device, uint32_t lane)
{
	return kl_timeline_track(t, KL_TRACK_DISK, device << 4 | lane);
}

/* The tag of a request is the number of its lane, plus 1; 0: none was free. */
int kl_timeline_issue(struct kl_timeline *t, const struct kl_event *event)
{
	const uint32_t device = device_of(event);
	struct kl_request *request;
	struct kl_buffer name = { 0 };
	struct kl_track *lane = NULL;
	uint32_t i = 0;
	int error = kl_requests_issue(&t->requests, event, device,
				      (uint64_t)kl_number_of(event, "sector"), &request);

	if (error || !request)
		return error;
	request->left = (uint32_t)kl_number_of(event, "nr_sector");
	do
		lane = lane_of(t, device, i++);
	while (lane && lane->open && i < LANES_MAX);
	if (!lane || lane->open)
		return lane ? 0 : -ENOMEM;
	request->tag = i;
	kl_print_meaning(&name, KL_FORMAT_rwbs, (uint64_t)kl_number_of(event, "rwbs"));
	kl_buffer_printf(&name, " %lld KB", (long long)kl_number_of(event, "bytes") / 1024);
	kl_buffer_add_char(&name, 0);
	error = name.error ?
			-ENOMEM :
			kl_track_begin(t, lane, kl_timeline_time(t, event->ns), KL_SPAN_RUNNING,
				       kl_timeline_name(t, name.data),
				       event->task.tid ?
					       (uint32_t)kl_timeline_thread_of(t, event->task.tid) +
						       1 :
					       0);
	kl_buffer_deinit(&name);
	return error;
}

int kl_timeline_complete(struct kl_timeline *t, const struct kl_event *event)
{
	const uint32_t device = device_of(event);
	struct kl_request request;
	struct kl_track *lane;

	if (!kl_requests_complete(&t->requests, device, (uint64_t)kl_number_of(event, "sector"),
				  (uint32_t)kl_number_of(event, "nr_sector"), &request) ||
	    !request.tag)
		return 0;
	lane = lane_of(t, device, request.tag - 1);
	if (!lane)
		return -ENOMEM;
	if (lane->open && kl_number_of(event, "error"))
		lane->now.class = KL_SPAN_FAILED;
	return kl_track_end(t, lane, kl_timeline_time(t, event->ns));
}
