// SPDX-License-Identifier: GPL-2.0
/*
 * Rules of alarms, checked at an interval as kernlens watch does, because how long a condition has
 * held is a matter of checks, not of scrapes. Their states are published; their actions are not
 * carried out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "serve.h"

static void on_alarm(void *data, const struct kl_watch_alarm *alarm)
{
	struct cli_serve_alarms *alarms = data;

	for (size_t i = 0; i < alarms->n; i++) {
		struct cli_serve_alarm *of = &alarms->of[i];

		if (of->rule != alarm->rule)
			continue;
		of->raised += alarm->state == KL_WATCH_RAISED;
		of->active += alarm->state == KL_WATCH_RAISED;
		of->active -= alarm->state != KL_WATCH_RAISED && of->active;
	}
}

void cli_serve_check_rules(struct cli_serve_alarms *alarms)
{
	alarms->checks++;
	if (kl_watch_check(alarms->watch, on_alarm, alarms) < 0)
		alarms->failed++;
}

/* What is known of rules whose text is unchanged stays. */
static void count_rules(struct cli_serve_alarms *alarms, const struct kl_watch_rules *rules)
{
	struct cli_serve_alarm *of;
	size_t n = 0;

	while (kl_watch_rule(rules, n))
		n++;
	of = cli_alloc((n + 1) * sizeof(*of));
	for (size_t i = 0; i < n; i++) {
		of[i].rule = kl_watch_rule(rules, i);
		for (size_t k = 0; k < alarms->n; k++)
			if (!strcmp(of[i].rule->text, alarms->of[k].rule->text)) {
				of[i].active = alarms->of[k].active;
				of[i].raised = alarms->of[k].raised;
				break;
			}
	}
	free(alarms->of);
	alarms->of = of;
	alarms->n = n;
}

bool cli_serve_read_rules(struct cli_serve_alarms *alarms, struct kl_device *device, char **why)
{
	struct kl_watch_rules *rules = kl_watch_rules_create();
	struct kl_watch *watch = NULL;

	if (!rules)
		abort();
	if (!kl_watch_rules_read(rules, alarms->file))
		watch = kl_watch_create(device, rules);
	if (!watch) {
		*why = cli_format("%s", kl_error_text());
		kl_watch_rules_destroy(rules);
		return false;
	}
	if (alarms->watch)
		kl_watch_take(watch, alarms->watch, on_alarm, alarms);
	count_rules(alarms, rules);
	kl_watch_destroy(alarms->watch);
	kl_watch_rules_destroy(alarms->rules);
	alarms->watch = watch;
	alarms->rules = rules;
	return true;
}

void cli_serve_add_alarms(struct kl_metrics *metrics, const struct cli_serve_alarms *alarms)
{
	kl_metrics_add(metrics, KL_METRIC_alarm_rules, (double)alarms->n, NULL);
	for (size_t i = 0; i < alarms->n; i++) {
		const char *name = alarms->of[i].rule->name;

		kl_metrics_add(metrics, KL_METRIC_alarm_active, alarms->of[i].active, &name);
		kl_metrics_add(metrics, KL_METRIC_alarm_raised, (double)alarms->of[i].raised,
			       &name);
	}
	kl_metrics_add(metrics, KL_METRIC_alarm_checks, (double)alarms->checks, NULL);
	kl_metrics_add(metrics, KL_METRIC_alarm_late, (double)alarms->late, NULL);
}

void cli_serve_free_alarms(struct cli_serve_alarms *alarms)
{
	kl_watch_destroy(alarms->watch);
	kl_watch_rules_destroy(alarms->rules);
	free(alarms->of);
}
