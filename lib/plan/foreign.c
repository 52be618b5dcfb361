// SPDX-License-Identifier: GPL-2.0
/*
 * What kernlens calls a probe point that is written as for bpftrace, perf, trace-cmd or strace.
 * plan.c says so when it does not know the text.
 */
#include <stdio.h>
#include <string.h>

#include <kernlens/schema.h>
#include "../base/base.h"
#include "spec.h"

/* Prefixes of probe points, and what is put before and after the rest. */
static const struct {
	const char *prefix, *before, *after;
} probes[] = {
	{ "kprobe:", "fn:", "" },
	{ "k:", "fn:", "" },
	{ "kfunc:", "fn:", "" },
	{ "fentry:", "fn:", "" },
	{ "kretprobe:", "fn:", ":ret" },
	{ "kr:", "fn:", ":ret" },
	{ "kretfunc:", "fn:", ":ret" },
	{ "fexit:", "fn:", ":ret" },
	{ "uretprobe:", "uprobe:", ":ret" },
	{ "ur:", "uprobe:", ":ret" },
	{ "u:", "uprobe:", "" },
	{ "U:", "usdt:", "" },
	{ "profile:hz:", "tick:", "" },
};

/* Whole names. */
static const struct {
	const char *theirs, *ours;
} names[] = {
	{ "raw_syscalls:sys_enter", "tp:sys_enter" },
	{ "raw_syscalls:sys_exit", "tp:sys_exit" },
	{ "context-switches", "sched_switch" },
	{ "cs", "sched_switch" },
	{ "cpu-migrations", "sched_migrate_task" },
	{ "migrations", "sched_migrate_task" },
	{ "cpu-clock", "tick:99:stack" },
	{ "cpu-cycles", "tick:99:stack" },
	{ "cycles", "tick:99:stack" },
	{ "page-faults", "x86_exceptions_page_fault_user" },
	{ "faults", "x86_exceptions_page_fault_user" },
};

/* Remove a prefix. Returns false if the text does not have it. */
static bool skip(const char **text, const char *prefix)
{
	size_t length = strlen(prefix);

	if (strncmp(*text, prefix, length))
		return false;
	*text += length;
	return true;
}

static bool is_event(const struct kl_schema *schema, const char *format, const char *name)
{
	char whole[KL_SPEC_NAME_MAX];

	return snprintf(whole, sizeof(whole), format, name) < (int)sizeof(whole) &&
	       kl_schema_find(schema, whole);
}

static bool find_probe(const char *text, char *ours, size_t size)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++)
		if (!strcmp(text, names[i].theirs))
			return snprintf(ours, size, "%s", names[i].ours) < (int)size;
	for (size_t i = 0; i < KL_ARRAY_SIZE(probes); i++) {
		const char *rest = text;

		if (skip(&rest, probes[i].prefix) && *rest)
			return snprintf(ours, size, "%s%s%s", probes[i].before, rest,
					probes[i].after) < (int)size;
	}
	return false;
}

static bool find_syscall(const struct kl_schema *schema, const char *text, char *ours, size_t size)
{
	skip(&text, "syscalls:");
	if (skip(&text, "sys_enter_"))
		return is_event(schema, "syscall_entry_%s", text) &&
		       snprintf(ours, size, "syscall_entry_%s", text) < (int)size;
	if (skip(&text, "sys_exit_"))
		return is_event(schema, "syscall_exit_%s", text) &&
		       snprintf(ours, size, "syscall_exit_%s", text) < (int)size;
	skip(&text, "sys_");
	return is_event(schema, "syscall_entry_%s", text) &&
	       snprintf(ours, size, "syscall_entry_%s,syscall_exit_%s", text, text) < (int)size;
}

bool kl_foreign_name(const struct kl_schema *schema, const char *text, char *ours, size_t size)
{
	bool is_tracepoint = skip(&text, "tracepoint:") || skip(&text, "t:") ||
			     skip(&text, "rawtracepoint:");
	const char *colon = strchr(text, ':');

	if (find_syscall(schema, text, ours, size) || find_probe(text, ours, size))
		return true;
	if (colon && is_event(schema, "%s", colon + 1))
		return snprintf(ours, size, "%s", colon + 1) < (int)size;
	return is_tracepoint && snprintf(ours, size, "tp:%s", colon ? colon + 1 : text) < (int)size;
}
