// SPDX-License-Identifier: GPL-2.0
/*
 * What --print prints, without a server: the list of metrics, alerting rules for Prometheus, and a
 * configuration for Alertmanager that routes these alerts. Strings in YAML are written as in JSON,
 * which is a part of it.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "serve.h"

/* An alarm that is raised and cleared between two scrapes is an alert for this long. */
#define RAISED_WITHIN "2m"

/* ---------------------------------------------------------------------- metrics */

/* The name with which the samples of a metric are written. */
static char *sample_name(const struct kl_metric_info *info)
{
	return cli_format("%s%s", info->name, kl_metric_suffix(info->type));
}

static char *plain_labels(const struct kl_metric_info *info)
{
	char *labels = cli_format("%s", info->labels), *to = labels;

	for (const char *from = labels; *from; from++)
		if (*from != '*')
			*to++ = *from;
	*to = 0;
	return labels;
}

static json_t *metrics_json(void)
{
	const struct kl_metric_info *info;
	json_t *list = json_array();

	for (size_t i = 0; (info = kl_metrics_info(NULL, i)); i++) {
		char *name = sample_name(info), *labels = plain_labels(info);

		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s, s:s, s:s, s:s*, s:I}", "name",
						name, "type", kl_metric_type_name(info->type),
						"unit", info->unit, "labels", labels, "help",
						info->help, "variable", info->variable, "most",
						(json_int_t)info->most));
		free(labels);
		free(name);
	}
	return list;
}

static int print_metrics(void)
{
	const struct kl_metric_info *info;
	struct cli_table *table;

	if (cli_settings.json)
		return cli_json_write(metrics_json());
	cli_start_pager();
	table = cli_table_create("metric|type|labels|>series|what it is");
	for (size_t i = 0; (info = kl_metrics_info(NULL, i)); i++) {
		char *name = sample_name(info), *labels = plain_labels(info);

		cli_table_add(table, "%s", name);
		cli_table_add(table, "%s", kl_metric_type_name(info->type));
		cli_table_add(table, "%s", labels);
		cli_table_add(table, "%zu", info->most);
		cli_table_add(table, "%s", info->help);
		free(labels);
		free(name);
	}
	cli_table_print(table, stdout, 0);
	return CLI_OK;
}

/* ------------------------------------------------------------------------ rules */

static void add_string(struct kl_buffer *to, const char *text)
{
	kl_print_json_string(to, text, strlen(text));
}

/* In an annotation, two braces begin a template. */
static void add_annotation(struct kl_buffer *to, const char *key, const char *before,
			   const char *text)
{
	struct kl_buffer whole = { 0 };

	kl_buffer_add_string(&whole, before);
	for (; *text; text++) {
		if (text[0] == '{' && text[1] == '{')
			kl_buffer_add_string(&whole, "{{ \"{\" }}");
		else
			kl_buffer_add_char(&whole, *text);
	}
	kl_buffer_printf(to, "          %s: ", key);
	add_string(to, whole.data ? whole.data : "");
	kl_buffer_add_char(to, '\n');
	kl_buffer_deinit(&whole);
}

/* The name of an alert has letters, digits and "_". */
static void add_name(struct kl_buffer *to, const char *name)
{
	for (; *name; name++)
		kl_buffer_add_char(to, isalnum((unsigned char)*name) ? *name : '_');
}

static void add_expression(struct kl_buffer *to, const char *name)
{
	struct kl_buffer value = { 0 }, expression = { 0 };

	for (; *name; name++) {
		if (*name == '\\' || *name == '"')
			kl_buffer_add_char(&value, '\\');
		kl_buffer_add_char(&value, *name);
	}
	kl_buffer_printf(&expression,
			 "kernlens_alarm_active{rule=\"%s\"} > 0 or "
			 "increase(kernlens_alarm_raised_total{rule=\"%s\"}[" RAISED_WITHIN
			 "]) > 0",
			 value.data ? value.data : "", value.data ? value.data : "");
	add_string(to, expression.data ? expression.data : "");
	kl_buffer_deinit(&value);
	kl_buffer_deinit(&expression);
}

static void add_rule(struct kl_buffer *to, const struct kl_watch_rule *rule)
{
	kl_buffer_add_string(to, "      - alert: kernlens_");
	add_name(to, rule->name);
	kl_buffer_add_string(to, "\n        expr: ");
	add_expression(to, rule->name);
	kl_buffer_add_string(to, "\n        labels:\n          source: kernlens\n"
				 "          severity: warning\n          rule: ");
	add_string(to, rule->name);
	kl_buffer_add_string(to, "\n        annotations:\n");
	add_annotation(to, "summary", "{{ $labels.instance }}: alarm ", rule->name);
	add_annotation(to, "description", "", rule->text);
}

/* Of the server itself, whatever the rules are. */
static const struct {
	const char *name, *expression, *wait, *summary;
} own_rules[] = {
	{ "KernlensDown", "up{job=\"kernlens\"} == 0", "1m", "kernlens serve does not answer" },
	{ "KernlensRecordsLost", "increase(kernlens_session_lost_records_total[5m]) > 0", NULL,
	  "a session of kernlens loses records" },
	{ "KernlensReadErrors", "increase(kernlens_serve_read_errors_total[5m]) > 0", NULL,
	  "kernlens serve cannot read some figures" },
	{ "KernlensReloadFailed", "kernlens_serve_last_reload_successful == 0", NULL,
	  "kernlens serve keeps old rules or certificates, because the new files are wrong" },
	{ "KernlensChecksMissed", "increase(kernlens_alarm_checks_missed_total[5m]) > 10", NULL,
	  "rules of alarms are not checked in time" },
};

static void add_own_rules(struct kl_buffer *to)
{
	for (size_t i = 0; i < sizeof(own_rules) / sizeof(*own_rules); i++) {
		kl_buffer_printf(to, "      - alert: %s\n        expr: ", own_rules[i].name);
		add_string(to, own_rules[i].expression);
		if (own_rules[i].wait)
			kl_buffer_printf(to, "\n        for: %s", own_rules[i].wait);
		kl_buffer_add_string(to, "\n        labels:\n          source: kernlens\n"
					 "          severity: warning\n        annotations:\n");
		add_annotation(to, "summary", "{{ $labels.instance }}: ", own_rules[i].summary);
	}
}

static int print_rules(const struct kl_watch_rules *rules)
{
	struct kl_buffer to = { 0 };
	const struct kl_watch_rule *rule;

	kl_buffer_add_string(
		&to, "# Made by kernlens serve --print prometheus-rules. For how long a\n"
		     "# condition must hold is part of the rules that kernlens serve checks.\n"
		     "groups:\n");
	kl_buffer_add_string(&to, "  - name: kernlens\n    rules:\n");
	add_own_rules(&to);
	if (rules && kl_watch_rule(rules, 0))
		kl_buffer_add_string(&to, "  - name: kernlens-alarms\n    rules:\n");
	for (size_t i = 0; rules && (rule = kl_watch_rule(rules, i)); i++)
		add_rule(&to, rule);
	if (to.error)
		return cli_error(to.error, "out of memory");
	return cli_write_buffer(&to, stdout) ? CLI_OK : CLI_FAILED;
}

/* ----------------------------------------------------------------- Alertmanager */

static int print_alertmanager(const struct kl_watch_rules *rules)
{
	struct kl_buffer to = { 0 };
	const struct kl_watch_rule *rule;

	kl_buffer_add_string(
		&to, "# Made by kernlens serve --print alertmanager. Change the receiver, or take\n"
		     "# its route into your own configuration.\n"
		     "route:\n"
		     "  receiver: default\n"
		     "  routes:\n"
		     "    - receiver: kernlens\n"
		     "      matchers: ['source=\"kernlens\"']\n"
		     "      group_by: [alertname, instance]\n"
		     "      group_wait: 1s\n"
		     "      group_interval: 1m\n"
		     "      repeat_interval: 4h\n");
	if (rules && kl_watch_rule(rules, 0))
		kl_buffer_add_string(&to, "# Labels `rule`, for routes of single rules:\n");
	for (size_t i = 0; rules && (rule = kl_watch_rule(rules, i)); i++)
		kl_buffer_printf(&to, "#   %s\n", rule->name);
	kl_buffer_add_string(&to, "# A machine that does not answer needs no other alerts.\n"
				  "inhibit_rules:\n"
				  "  - source_matchers: ['alertname=\"KernlensDown\"']\n"
				  "    target_matchers: ['source=\"kernlens\"', "
				  "'alertname!=\"KernlensDown\"']\n"
				  "    equal: [instance]\n"
				  "receivers:\n"
				  "  - name: default\n"
				  "  - name: kernlens\n"
				  "    webhook_configs:\n"
				  "      - url: http://127.0.0.1:9095/\n"
				  "        send_resolved: true\n");
	if (to.error)
		return cli_error(to.error, "out of memory");
	return cli_write_buffer(&to, stdout) ? CLI_OK : CLI_FAILED;
}

int cli_serve_print(const struct cli_command *self, enum cli_serve_print what,
		    const char *rules_file)
{
	struct kl_watch_rules *rules = kl_watch_rules_create();
	int status;

	if (!rules)
		abort();
	if (what == CLI_SERVE_PRINT_METRICS) {
		status = print_metrics();
	} else if (cli_settings.json) {
		cli_usage_error(self, "--print %s cannot be used with --json",
				what == CLI_SERVE_PRINT_RULES ? "prometheus-rules" :
								"alertmanager");
	} else if (rules_file && kl_watch_rules_read(rules, rules_file)) {
		cli_usage_message(NULL, kl_error_text());
		status = CLI_USAGE;
	} else {
		status = what == CLI_SERVE_PRINT_RULES ? print_rules(rules) :
							 print_alertmanager(rules);
	}
	kl_watch_rules_destroy(rules);
	return status;
}
