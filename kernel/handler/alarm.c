// SPDX-License-Identifier: GPL-2.0
/*
 * Handler `alarm`: a record of the event `alarm`, a notification to whoever polls the session, and
 * readers are woken.
 */
#include "../core/notify.h"
#include "handler.h"

#define OPERATIONS 200

/* The event's probe is generated from the table of events, in a layer above. */
static void (*alarm_probe)(void *session, u32 id, const char *text) __ro_after_init;

/**
 * kl_alarm_set_probe - what fires the event `alarm`
 * @probe: its probe
 *
 * Context: before the first session.
 */
void __init kl_alarm_set_probe(void (*probe)(void *session, u32 id, const char *text))
{
	alarm_probe = probe;
}

/**
 * kl_alarm_fire - fire the event `alarm`
 * @s: the session
 * @id: event that the rule belongs to. A rule of `alarm` itself does not fire it again, which
 *      would never end.
 * @text: of the alarm
 *
 * Context: any, preemption off.
 */
void kl_alarm_fire(struct kl_session *s, u32 id, const char *text)
{
	if (id != KL_EV_alarm)
		alarm_probe(s, id, text);
}

static int prepare(struct kl_session *s, const struct kl_rule *r, struct kl_error *why)
{
	return kl_notify_prepare(s, why);
}

const struct kl_handler kl_handler_alarm = {
	.operations = OPERATIONS,
	.fires = KL_EV_alarm,
	.prepare = prepare,
};

KL_HIT(alarm)
{
	kl_alarm_fire(s, id, r->text);
	kl_notify_alarm(s, id, r);
	kl_waiters_kick(&s->waiters, &this_cpu_ptr(s->cpu)->wake);
}
