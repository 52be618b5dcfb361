// SPDX-License-Identifier: GPL-2.0
/* Parses settings of processes: "nice=5", "limit.nofile=1024:4096". */
#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <kernlens/set.h>
#include "../base/base.h"

#define POLICY_DEADLINE 6
#define POLICY_EXT 7
#define IOPRIO_CLASS_SHIFT 13
#define IOPRIO_DEFAULT_LEVEL 4

enum scope {
	thread,
	process,
};

static const struct row {
	const char *name;
	const char *help;
	enum scope scope;
} rows[] = {
#define KL_SETTING(id, macro, name, scope, help) [id] = { name, help, scope },
#include "../../uapi/settings.def"
#undef KL_SETTING
};

_Static_assert(!(KL_SET_LIMIT_NOFILE - KL_SET_LIMIT - RLIMIT_NOFILE), "numbered as resources");
_Static_assert(!(KL_SET_LIMIT_RTTIME - KL_SET_LIMIT - RLIMIT_RTTIME), "numbered as resources");

const char *kl_setting_name(uint32_t what)
{
	return what < KL_ARRAY_SIZE(rows) ? rows[what].name : NULL;
}

const char *kl_setting_help(uint32_t what)
{
	return what < KL_ARRAY_SIZE(rows) ? rows[what].help : NULL;
}

bool kl_setting_is_of_process(uint32_t what)
{
	return what < KL_ARRAY_SIZE(rows) && rows[what].scope == process;
}

/* ----------------------------------------------------------------- numbers */

/* Returns the text after the number, or NULL if there is none or it is too large. */
static const char *take_unsigned(const char *text, uint64_t *number)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return NULL;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return errno ? NULL : end;
}

static bool parse_int(const char *text, int *number)
{
	bool negative = *text == '-';
	uint64_t value;
	const char *end = take_unsigned(text + (negative || *text == '+'), &value);

	if (!end || *end || value > INT32_MAX)
		return false;
	*number = negative ? -(int)value : (int)value;
	return true;
}

static bool scale(uint64_t *number, uint64_t by)
{
	return !__builtin_mul_overflow(*number, by, number);
}

/* Parse a time, in ns or with a unit. Returns the text after it, or NULL. */
static const char *take_time(const char *text, uint64_t *ns)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", KL_NS_PER_S } };

	text = take_unsigned(text, ns);
	for (size_t i = 0; text && i < KL_ARRAY_SIZE(units); i++) {
		size_t length = strlen(units[i].unit);

		if (!strncmp(text, units[i].unit, length))
			return scale(ns, units[i].ns) ? text + length : NULL;
	}
	return text;
}

/* ------------------------------------------------------------------ values */

static bool parse_number(struct kl_setting *s, const char *text)
{
	if (!parse_int(text, &s->number))
		return false;
	snprintf(s->asked, sizeof(s->asked), "%d", s->number);
	return true;
}

static const char *const policies[] = {
	[SCHED_OTHER] = "other", [SCHED_FIFO] = "fifo", [SCHED_RR] = "rr",
	[SCHED_BATCH] = "batch", [SCHED_IDLE] = "idle", [POLICY_DEADLINE] = "deadline",
	[POLICY_EXT] = "ext",
};

static void say_policy(struct kl_setting *s)
{
	const char *name = policies[s->policy.number];
	const char *reset = s->policy.reset_on_fork ? ",reset_on_fork" : "";

	if (s->policy.number == POLICY_DEADLINE)
		snprintf(s->asked, sizeof(s->asked), "%s:%llu:%llu:%llu%s", name,
			 (unsigned long long)s->policy.runtime_ns,
			 (unsigned long long)s->policy.deadline_ns,
			 (unsigned long long)s->policy.period_ns, reset);
	else if (s->policy.priority)
		snprintf(s->asked, sizeof(s->asked), "%s:%u%s", name, s->policy.priority, reset);
	else
		snprintf(s->asked, sizeof(s->asked), "%s%s", name, reset);
}

/* RUNTIME:DEADLINE[:PERIOD] */
static const char *take_deadline(struct kl_setting *s, const char *text)
{
	text = take_time(text, &s->policy.runtime_ns);
	if (!text || *text != ':')
		return NULL;
	text = take_time(text + 1, &s->policy.deadline_ns);
	if (!text || *text != ':')
		return text;
	return take_time(text + 1, &s->policy.period_ns);
}

static bool parse_policy(struct kl_setting *s, const char *text)
{
	size_t length = strcspn(text, ":,"), i = 0;
	uint64_t priority;

	while (i < KL_ARRAY_SIZE(policies) && !(policies[i] && strlen(policies[i]) == length &&
						!strncmp(policies[i], text, length)))
		i++;
	if (i == KL_ARRAY_SIZE(policies))
		return false;
	s->policy.number = (uint32_t)i;
	text += length;
	if (*text == ':' && i == POLICY_DEADLINE) {
		text = take_deadline(s, text + 1);
	} else if (*text == ':') {
		text = take_unsigned(text + 1, &priority);
		if (!text || priority > INT32_MAX)
			return false;
		s->policy.priority = (uint32_t)priority;
		s->policy.has_priority = true;
	}
	if (!text || (*text && strcmp(text, ",reset_on_fork")))
		return false;
	s->policy.reset_on_fork = *text;
	say_policy(s);
	return true;
}

/* FIRST[-LAST[:STEP]] */
static const char *take_cpus(struct kl_setting *s, const char *text)
{
	const size_t bits = 8 * sizeof(s->cpus[0]);
	uint64_t first, last, step = 1;

	text = take_unsigned(text, &first);
	last = first;
	if (text && *text == '-')
		text = take_unsigned(text + 1, &last);
	if (text && *text == ':')
		text = take_unsigned(text + 1, &step);
	if (!text || last < first || last >= KL_SETTING_CPUS || !step)
		return NULL;
	for (uint64_t i = first; i <= last; i += step)
		s->cpus[i / bits] |= 1ul << i % bits;
	return text;
}

static bool parse_affinity(struct kl_setting *s, const char *text)
{
	snprintf(s->asked, sizeof(s->asked), "%s", text);
	if (!strcmp(text, "all")) {
		memset(s->cpus, 0xff, sizeof(s->cpus));
		return true;
	}
	for (;;) {
		text = take_cpus(s, text);
		if (!text || !*text)
			return text;
		if (*text++ != ',')
			return false;
	}
}

static bool parse_ioprio(struct kl_setting *s, const char *text)
{
	static const struct {
		const char *word;
		int class;
	} words[] = {
		{ "none", 0 },	      { "realtime", 1 }, { "rt", 1 },
		{ "best-effort", 2 }, { "be", 2 },	 { "idle", 3 },
	};
	static const char *const names[] = { "none", "realtime", "best-effort", "idle" };
	size_t length = strcspn(text, ":"), i = 0;
	bool has_level;
	uint64_t level;

	while (i < KL_ARRAY_SIZE(words) &&
	       !(strlen(words[i].word) == length && !strncmp(words[i].word, text, length)))
		i++;
	if (i == KL_ARRAY_SIZE(words))
		return false;
	has_level = words[i].class == 1 || words[i].class == 2;
	level = has_level ? IOPRIO_DEFAULT_LEVEL : 0;
	text += length;
	if (*text == ':') {
		text = take_unsigned(text + 1, &level);
		if (!text || *text || level >= 1 << IOPRIO_CLASS_SHIFT)
			return false;
		has_level = true;
	}
	s->ioprio = words[i].class << IOPRIO_CLASS_SHIFT | (int)level;
	if (has_level)
		snprintf(s->asked, sizeof(s->asked), "%s:%d", names[words[i].class], (int)level);
	else
		snprintf(s->asked, sizeof(s->asked), "%s", names[words[i].class]);
	return true;
}

static bool parse_slack(struct kl_setting *s, const char *text)
{
	text = take_time(text, &s->slack_ns);
	snprintf(s->asked, sizeof(s->asked), "%llu", (unsigned long long)s->slack_ns);
	return text && !*text;
}

static bool parse_cgroup(struct kl_setting *s, const char *text)
{
	s->cgroup = text;
	snprintf(s->asked, sizeof(s->asked), "%s", text);
	return *text == '/';
}

/* Parse a number, optionally with K, M, G or T (powers of 1024), or "unlimited". */
static const char *take_limit(const char *text, uint64_t *limit)
{
	static const char word[] = "unlimited", units[] = "KMGT";
	const char *unit;

	*limit = RLIM_INFINITY;
	if (!strncmp(text, word, strlen(word)))
		return text + strlen(word);
	text = take_unsigned(text, limit);
	if (!text || !*text || *text == ':')
		return text;
	unit = strchr(units, toupper((unsigned char)*text));
	return unit && scale(limit, 1ull << 10 * (unit - units + 1)) ? text + 1 : NULL;
}

static void say_limit(struct kl_setting *s)
{
	char soft[24] = "", hard[24] = "";

	if (s->limit.has_soft)
		snprintf(soft, sizeof(soft), "%llu", (unsigned long long)s->limit.soft);
	if (s->limit.has_hard)
		snprintf(hard, sizeof(hard), "%llu", (unsigned long long)s->limit.hard);
	snprintf(s->asked, sizeof(s->asked), "%s:%s",
		 s->limit.has_soft && s->limit.soft == RLIM_INFINITY ? "unlimited" : soft,
		 s->limit.has_hard && s->limit.hard == RLIM_INFINITY ? "unlimited" : hard);
}

/* Like prlimit(1): BOTH, SOFT:HARD, SOFT: or :HARD. */
static bool parse_limit(struct kl_setting *s, const char *text)
{
	s->limit.has_soft = *text != ':';
	if (s->limit.has_soft)
		text = take_limit(text, &s->limit.soft);
	if (!text || (*text && *text != ':'))
		return false;
	if (!*text) {
		s->limit.hard = s->limit.soft;
		s->limit.has_hard = true;
	} else if (text[1]) {
		text = take_limit(text + 1, &s->limit.hard);
		if (!text || *text)
			return false;
		s->limit.has_hard = true;
	}
	say_limit(s);
	return s->limit.has_soft || s->limit.has_hard;
}

static bool parse_value(struct kl_setting *s, const char *text)
{
	switch (s->what) {
	case KL_SET_NICE:
	case KL_SET_PRIORITY:
	case KL_SET_OOM_SCORE_ADJ:
		return parse_number(s, text);
	case KL_SET_POLICY:
		return parse_policy(s, text);
	case KL_SET_AFFINITY:
		return parse_affinity(s, text);
	case KL_SET_IOPRIO:
		return parse_ioprio(s, text);
	case KL_SET_TIMER_SLACK:
		return parse_slack(s, text);
	case KL_SET_CGROUP:
		return parse_cgroup(s, text);
	default:
		return parse_limit(s, text);
	}
}

int kl_setting_parse(struct kl_setting *s, const char *text)
{
	const char *value = strchr(text, '=');
	size_t length = value ? (size_t)(value - text) : strlen(text);

	memset(s, 0, sizeof(*s));
	for (uint32_t i = 0; i < KL_ARRAY_SIZE(rows); i++)
		if (rows[i].name && strlen(rows[i].name) == length &&
		    !strncmp(rows[i].name, text, length))
			s->what = i;
	if (!s->what)
		return kl_fail(ENOENT, "unknown parameter \"%.*s\"", (int)length, text);
	if (!value)
		return kl_fail(EINVAL, "%s=VALUE: %s", text, rows[s->what].help);
	if (!parse_value(s, value + 1))
		return kl_fail(EINVAL, "invalid value \"%s\" for %s: %s", value + 1,
			       rows[s->what].name, rows[s->what].help);
	return 0;
}

/* The only setting of this parameter; NULL: there is none, or more than one. */
static struct kl_setting *find(struct kl_setting *settings, size_t n, uint32_t what)
{
	struct kl_setting *found = NULL;

	for (size_t i = 0; i < n; i++) {
		if (settings[i].what != what)
			continue;
		if (found)
			return NULL;
		found = &settings[i];
	}
	return found;
}

size_t kl_settings_join(struct kl_setting *settings, size_t n)
{
	struct kl_setting *policy = find(settings, n, KL_SET_POLICY);
	struct kl_setting *priority = find(settings, n, KL_SET_PRIORITY);

	if (!policy || !priority || policy->policy.has_priority || priority->number < 0)
		return n;
	policy->policy.priority = (uint32_t)priority->number;
	policy->policy.has_priority = true;
	say_policy(policy);
	memmove(priority, priority + 1,
		(size_t)(&settings[n] - (priority + 1)) * sizeof(*settings));
	return n - 1;
}
