// SPDX-License-Identifier: GPL-2.0
/*
 * Every row of events.def as a function that evaluates its values: probe.sh compiles this to find
 * the rows that this kernel supports. Only its errors count; no object is made from it.
 *
 * Each macro keeps the row's text in the row's own expansion, so that an error names the row's line
 * in events.def.
 */
#include "source/event_values.h"

/* clang-format off */
/* By the kind of a row's source: its arguments, and the kernel's own check of a probe's type. */
#define KL_ARGUMENTS_KL_TP(tracepoint, ...) void *kl_data, ##__VA_ARGS__
#define KL_ARGUMENTS_KL_FN(function, ...) void *kl_data, ##__VA_ARGS__
#define KL_ARGUMENTS_KL_OWN(...) void *kl_data, ##__VA_ARGS__
#define KL_CHECK_KL_TP(tracepoint, ...) check_trace_callback_type_##tracepoint
#define KL_CHECK_KL_FN(function, ...) (void)function; (void)
#define KL_CHECK_KL_OWN(...) (void)

#define KL_SELF
#define KL_SYSTEM
#define KL_TASK(t) { const struct task_struct *kl_task = (t); (void)kl_task; }
#define KL_ABOUT(t) KL_TASK(t)
#define KL_ABOUT2(t, u) KL_TASK(t) KL_TASK(u)

#define KL_NO_FIELDS
#define KL_F(type, name, format, value) { type kl_field = (value); (void)kl_field; }
#define KL_F1 KL_F
#define KL_F2 KL_F
#define KL_A(type, name, count, format, pointer)                                          \
	{ type kl_field[count]; memcpy(kl_field, (pointer), sizeof(kl_field)); }
#define KL_COMM(name, task) KL_TASK(task)
#define KL_COMM1 KL_COMM
#define KL_COMM2 KL_COMM

#define KL_NO_STRINGS
#define KL_STR(name, pointer) { const char *kl_string = (pointer); (void)kl_string; }
#define KL_STR1 KL_STR
#define KL_STR2 KL_STR
#define KL_STRN(name, pointer, length) KL_STR(name, pointer) { size_t kl_n = (length); (void)kl_n; }

#define KL_EVENT(id, name, group, set, help, source, access, fields, strings)             \
	KL_ROW_##name(                                                                    \
	static void __maybe_unused kl_row_##name(KL_ARGUMENTS_##source)                   \
	{                                                                                 \
		KL_CHECK_##source (kl_row_##name);                                        \
		access fields strings                                                     \
	})

/* clang-format on */
#include "events.def"
