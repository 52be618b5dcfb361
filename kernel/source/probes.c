// SPDX-License-Identifier: GPL-2.0
/*
 * The probes and the event table, generated from events.def. Each probe checks what the session
 * does with the event and whether it is allowed to have it, and writes the record. Reads the
 * session under RCU (preemption is off); takes no lock.
 */
#include "../compat/preempt.h"
#include "../handler/dispatch.h"
#include "../handler/handler.h"
#include "probes.h"
#include "records.h"
#include "source.h"

/* Macros that expand to declarations and code are laid out by hand. */
/* clang-format off */

#define KL_NO_FIELDS

/* Number of strings of an event. */
#define KL_STR(name, text) + 1
#define KL_STRN(name, text, bytes) + 1
#define KL_STR1(name, text) + 1
#define KL_NO_STRINGS
#define KL_EVENT(id, name, group, set, help, source, access, fields, strings)           \
	enum { strings_of_##name = 0 strings };
#include "../../uapi/events.def"
#undef KL_EVENT
#undef KL_STR
#undef KL_STRN
#undef KL_STR1
#undef KL_NO_STRINGS

/* --------------------------------------------------------- the probes */

/*
 * A probe handles the common case: log the event for an owner who may see everything. It makes no
 * call (unless there are strings to measure) and so needs no stack frame. Everything else is a
 * tail call to any_NAME, which starts again: checking the gate, clearing what may not be shown,
 * changed variables, a new block. If the event has a rule, the tail call goes to rule_NAME.
 */

/* 1 for the format `ptr`, 0 for any other. */
#define KL_SECOND(first, second, ...) second
#define KL_IS_SECOND(...) KL_SECOND(__VA_ARGS__)
#define KL_FORMAT_ptr ~, 1
#define KL_IS_PTR(format) KL_IS_SECOND(KL_FORMAT_##format, 0)

/* What an event describes may keep changing: a record has the value at the time of the event. */
#define KL_VALUE(type, format, value)                                                   \
	(KL_IS_PTR(format) && !kl_addresses ? (type)0 : data_race((type)(value)))
#define KL_STR(name, text) kl_strings_add(&kl_texts, text);
#define KL_STRN(name, text, bytes) kl_strings_add_bounded(&kl_texts, text, bytes);
#define KL_STR1(name, text) kl_strings_add(&kl_texts, kl_show1 ? (text) : NULL);
#define KL_NO_STRINGS

#define KL_SELF                                                                         \
	if (!kl_gate_self(kl_s))                                                           \
		return;
#define KL_SYSTEM                                                                       \
	if (!kl_gate_system(kl_s))                                                         \
		return;
#define KL_ABOUT(task)                                                                  \
	struct task_struct *kl_about1 = (task);                                            \
	const bool kl_show1 __maybe_unused = kl_shows(kl_s, kl_about1);                          \
	if (!kl_gate_about(kl_s, kl_about1, NULL))                                            \
		return;
#define KL_ABOUT2(task, other)                                                          \
	struct task_struct *kl_about1 = (task), *kl_about2 = (other);                         \
	const bool kl_show1 __maybe_unused = kl_shows(kl_s, kl_about1);                          \
	const bool kl_show2 __maybe_unused = kl_shows(kl_s, kl_about2);                          \
	if (!kl_gate_about(kl_s, kl_about1, kl_about2))                                          \
		return;

static __always_inline void copy_comm(char *to, const struct task_struct *t, bool show)
{
	if (likely(show))
		data_race(memcpy(to, t->comm, KL_COMM_LEN));
	else
		memset(to, 0, KL_COMM_LEN);
}

#define KL_TP(target, ...) , ##__VA_ARGS__
#define KL_FN(target, ...) , ##__VA_ARGS__
#define KL_OWN(...) , ##__VA_ARGS__

/*
 * With a rule: if one field decides the outcome, it does so before any field is written. Not for
 * sessions with a gate, nor for fields that are not numbers.
 */
#define KL_NUMBER_OF(type)                                                              \
	(2 * (sizeof(type) == 2 ? 1 : sizeof(type) == 4 ? 2 : sizeof(type) == 8 ? 3 : 0) + \
	 ((type)-1 > 0))
#define KL_F(type, name, format, value)                                                 \
	if (kl_rule->guard ==                                                           \
	    KL_FIELD_NUMBER(KL_NUMBER_OF(type), offsetofend(typeof(*kl_rec), name))) {  \
		if (kl_fire_guards(kl_rule, (u64)KL_VALUE(type, format, value)))        \
			return;                                                         \
	} else
#define KL_F1(type, name, format, value) KL_F(type, name, format, value)
#define KL_F2(type, name, format, value) KL_F(type, name, format, value)
#define KL_A(type, name, count, format, pointer)
#define KL_COMM(name, task)
#define KL_COMM1(name, task)
#define KL_COMM2(name, task)
#define KL_EVENT(id, name, group, set, help, source, access, fields, strings)		\
	KL_ROW_##name(									\
	static noinline void any_##name(void *data source);				\
	static noinline void fields_##name(void *data source);				\
	static noinline void rule_##name(void *data source)				\
	{										\
		struct kl_session *kl_s = data;						\
		u8 kl_do = kl_action(kl_s, id) & KL_ACTION_HANDLER;			\
		const bool kl_addresses __maybe_unused = kl_s->see_addresses;		\
		struct kl_rec_##name *kl_rec __maybe_unused;				\
		const struct kl_rule *kl_rule;						\
											\
		if (unlikely(kl_do < KL_ACTION_RULE))					\
			return any_##name(KL_ARGUMENTS_##name(data));			\
		if (unlikely(kl_s->gate))						\
			return fields_##name(KL_ARGUMENTS_##name(data));		\
		kl_rule = kl_rule_of(kl_s, kl_do);					\
		if (!(kl_rule->uses & KL_USES_FIELDS))				\
			return kl_fire_unseen(kl_s, id, kl_rule);			\
		if (kl_rule->guard) {							\
			fields { }							\
		}									\
		fields_##name(KL_ARGUMENTS_##name(data));				\
	})
#include "../../uapi/events.def"
#undef KL_EVENT
#undef KL_F
#undef KL_F1
#undef KL_F2
#undef KL_A
#undef KL_COMM
#undef KL_COMM1
#undef KL_COMM2

#define KL_F(type, name, format, value)                                                 \
	KL_WANTED(name) kl_rec->name = KL_VALUE(type, format, value);
#define KL_F1(type, name, format, value)                                                \
	KL_WANTED(name) kl_rec->name = kl_show1 ? KL_VALUE(type, format, value) : (type)0;
#define KL_F2(type, name, format, value)                                                \
	KL_WANTED(name) kl_rec->name = kl_show2 ? KL_VALUE(type, format, value) : (type)0;
#define KL_A(type, name, count, format, pointer)                                        \
	KL_WANTED(name) memcpy(kl_rec->name, pointer, sizeof(kl_rec->name));
#define KL_COMM(name, task)                                                             \
	KL_WANTED(name) copy_comm(kl_rec->name, task, true);
#define KL_COMM1(name, task) KL_WANTED(name) copy_comm(kl_rec->name, task, kl_show1);
#define KL_COMM2(name, task) KL_WANTED(name) copy_comm(kl_rec->name, task, kl_show2);

/*
 * The general case first evaluates the fields that decide whether the event is wanted
 * (@kl_wanted), then the others, each only once. If the event has strings, the fields are written
 * to a per-CPU scratch area, else to the stack.
 */
#define KL_WANTED(name)                                                                 \
	if (kl_wanted & kl_reads(offsetof(typeof(*kl_rec), name), sizeof(kl_rec->name)))
#define KL_EVENT(id, name, group, set, help, source, access, fields, strings)		\
	KL_ROW_##name(									\
	static noinline void fields_##name(void *data source)				\
	{										\
		struct kl_session *kl_s = data;						\
		u8 kl_do = kl_action(kl_s, id) & KL_ACTION_HANDLER;			\
		const bool kl_addresses __maybe_unused = kl_s->see_addresses;		\
		struct kl_rec_##name kl_own __maybe_unused;				\
		struct kl_rec_##name *kl_rec __maybe_unused;				\
		struct kl_scratch *kl_scratch;						\
		const struct kl_rule *kl_rule;						\
		struct kl_strings kl_texts;						\
		struct kl_event_ctx kl_f;							\
		u64 kl_wanted;								\
		bool kl_tested = false;							\
											\
		if (unlikely(kl_do < KL_ACTION_RULE))					\
			return any_##name(KL_ARGUMENTS_##name(data));			\
		access									\
		kl_rule = kl_rule_of(kl_s, kl_do);					\
		if (!(kl_rule->uses & KL_USES_FIELDS))				\
			return kl_fire_unseen(kl_s, id, kl_rule);			\
		if (strings_of_##name) {						\
			kl_scratch = kl_scratch_get();					\
			if (unlikely(!kl_scratch))					\
				return kl_fire_drop(kl_s, kl_rule);			\
			kl_rec = (void *)kl_scratch;					\
		} else {								\
			kl_rec = &kl_own;						\
		}									\
		kl_event_ctx_init(&kl_f, kl_s, kl_rec, sizeof(*kl_rec));			\
		kl_wanted = kl_rule->reads;						\
		for (;;) {								\
			fields								\
			if (strings_of_##name &&					\
			    kl_wanted & kl_reads(sizeof(*kl_rec), KL_RECORD_MAX)) {	\
				kl_texts.n = 0;						\
				kl_texts.bytes = 0;					\
				strings							\
				kl_strings_copy(&kl_texts, (u8 *)(kl_rec + 1));		\
				kl_f.bytes = sizeof(*kl_rec) + kl_texts.bytes;		\
			}								\
			if (!kl_tested && !kl_fire_wants(kl_rule, &kl_f))			\
				break;							\
			if (kl_tested || !kl_rule->whole) {				\
				kl_fire_wanted(kl_s, id, kl_rule, &kl_f);		\
				break;							\
			}								\
			kl_tested = true;						\
			kl_wanted = ~kl_wanted;						\
		}									\
		if (strings_of_##name)							\
			kl_scratch_put();						\
	})
#include "../../uapi/events.def"
#undef KL_EVENT
#undef KL_WANTED

#define KL_WANTED(name)
#define KL_EVENT(id, name, group, set, help, source, access, fields, strings)		\
	KL_ROW_##name(									\
	static noinline void any_##name(void *data source)				\
	{										\
		struct kl_session *kl_s = data;						\
		u8 kl_do = kl_action(kl_s, id) & KL_ACTION_HANDLER;			\
		const bool kl_addresses __maybe_unused = kl_s->see_addresses;		\
		struct kl_strings kl_texts;						\
		struct kl_rec_##name *kl_rec;						\
		struct kl_reservation kl_at;							\
											\
		access									\
		if (kl_do != KL_HANDLER_log)						\
			return kl_plain_hit(kl_s, id, kl_do);			\
		kl_texts.n = 0;								\
		kl_texts.bytes = 0;							\
		strings									\
		kl_at = kl_record_begin(kl_s, this_cpu_ptr(kl_s->cpu), id,		\
					sizeof(*kl_rec) + kl_texts.bytes);		\
		if (!kl_at.at)								\
			return;								\
		kl_rec = (void *)kl_at.at;						\
		fields									\
		kl_strings_copy(&kl_texts, (u8 *)(kl_rec + 1));				\
		kl_record_end(kl_at, sizeof(*kl_rec) + kl_texts.bytes);			\
	}										\
											\
	static __always_inline void log_##name(void *data source)			\
	{										\
		struct kl_session *kl_s = data;						\
		u8 kl_do = kl_action(kl_s, id);						\
		const bool kl_show1 __maybe_unused = true;				\
		const bool kl_show2 __maybe_unused = true;				\
		const bool kl_addresses __maybe_unused = true;				\
		struct kl_strings kl_texts;						\
		struct kl_rec_##name *kl_rec;						\
		struct kl_reservation kl_at;							\
											\
		if (unlikely(kl_do != KL_HANDLER_log)) {				\
			if (!(kl_do & KL_ACTION_ASK))					\
				return kl_plain_hit(kl_s, id, kl_do);		\
			if ((kl_do & KL_ACTION_HANDLER) >= KL_ACTION_RULE)		\
				return rule_##name(KL_ARGUMENTS_##name(data));		\
			return any_##name(KL_ARGUMENTS_##name(data));			\
		}									\
		kl_texts.n = 0;								\
		kl_texts.bytes = 0;							\
		strings									\
		if (unlikely(!kl_record_try(this_cpu_ptr(kl_s->cpu), id,		\
					    sizeof(*kl_rec) + kl_texts.bytes, &kl_at)))	\
			return any_##name(KL_ARGUMENTS_##name(data));			\
		kl_rec = (void *)kl_at.at;						\
		fields									\
		kl_strings_copy(&kl_texts, (u8 *)(kl_rec + 1));				\
		kl_record_end(kl_at, sizeof(*kl_rec) + kl_texts.bytes);			\
	}										\
											\
	void kl_probe_##name(void *data source)						\
	{										\
		kl_probe_begin();							\
		log_##name(KL_ARGUMENTS_##name(data));					\
		kl_probe_end();								\
	})
#include "../../uapi/events.def"
#undef KL_EVENT
#undef KL_TP
#undef KL_FN
#undef KL_OWN
#undef KL_SELF
#undef KL_SYSTEM
#undef KL_ABOUT
#undef KL_ABOUT2
#undef KL_WANTED

/* ---------------------------------------------------------- the table */

/* A function that this kernel does not export is unavailable; the module loads nevertheless. */
#define KL_TP(target, ...)
#define KL_FN(target, ...) extern typeof(target) target __weak;
#define KL_OWN(...)
#define KL_EVENT(id, name, group, set, help, source, access, fields, strings)           \
	KL_ROW_##name(source)
#include "../../uapi/events.def"
#undef KL_EVENT
#undef KL_TP
#undef KL_FN
#undef KL_OWN

#define KL_SELF KL_ACCESS_SELF
#define KL_SYSTEM KL_ACCESS_SYSTEM
#define KL_ABOUT(task) KL_ACCESS_ABOUT
#define KL_ABOUT2(task, other) KL_ACCESS_ABOUT
#define KL_TP(target_, ...) .source = KL_SOURCE_TRACEPOINT, .target = #target_
#define KL_FN(target_, ...) .source = KL_SOURCE_FUNCTION, .target = #target_
#define KL_OWN(...) .source = KL_SOURCE_OWN, .target = ""
#define KL_FUNCTION_KL_TP(...) NULL
#define KL_FUNCTION_KL_FN(target, ...) (void *)target
#define KL_FUNCTION_KL_OWN(...) NULL
#define KL_FIRST(first, ...) first
#define KL_FIRST_OF(...) KL_FIRST(__VA_ARGS__)
#define KL_EVENT(id_, name_, group_, set_, help_, source_, access_, fields_, strings_)  \
	{                                                                               \
		.id = id_,                                                              \
		.name = #name_,                                                         \
		.set = KL_SET_##set_,                                                   \
		source_,                                                                \
		.access = access_,                                                      \
		.probe = KL_FIRST_OF(KL_ROW_##name_((void *)kl_probe_##name_,) NULL),   \
		.hub = KL_FIRST_OF(KL_ROW_##name_((void *)kl_hub_##name_,) NULL),       \
		.function = KL_FIRST_OF(KL_ROW_##name_(KL_FUNCTION_##source_,) NULL),   \
		.absent = KL_ROW_REASON_##name_,                                        \
	},
/* clang-format on */
const struct kl_event kl_events[] = {
#include "../../uapi/events.def"
};

const u32 kl_event_count = ARRAY_SIZE(kl_events);
