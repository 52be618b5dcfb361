// SPDX-License-Identifier: GPL-2.0
/*
 * trace.dat, version 6, as trace-cmd(1) and KernelShark read it: descriptions of the events, and
 * for each CPU pages of the kernel's ring buffer. Pages are collected in a temporary file for each
 * CPU, since those of a CPU must follow each other. Events of the scheduler and system calls are
 * named as in the kernel, which both programs know; others keep their names.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "../../base/table.h"
#include "../../format/print.h"
#include "export.h"

#define PAGE_BYTES 4096
#define PAGE_HEAD 16 /* time and length */
#define COMMON_BYTES 8 /* type, flags, preempt count, pid */
#define RECORD_MAX 2048 /* less than the data of a page; longer texts are cut */
#define CPUS_MAX 8192
#define PRIO_BASE 100

/* The type and length of a record, in its first five bits; then the time since the one before. */
#define TYPE_EXTEND 30
#define TYPE_MASK 0x1f
#define DELTA_BITS 27

/* In the length of a page: records are missing before it; and their number is behind its data. */
#define MISSED (1ULL << 31)
#define MISSED_STORED (1ULL << 30)

/* A page that is being filled, and the ones before it. @missed: records, before this page */
struct cpu {
	FILE *pages;
	uint64_t n;
	uint64_t missed;
	uint64_t last_ns;
	uint32_t length;
	uint8_t page[PAGE_BYTES];
};

struct trace_dat {
	struct cpu **cpu;
	size_t n_cpus;
	bool seen[KL_EV_IDS];
	uint8_t record[RECORD_MAX];
	size_t length;
};

/* A field of the kernel's own event that is called otherwise here. */
static const struct {
	const char *event;
	const char *field;
	const char *name;
} renamed[] = {
	{ "sched_switch", "prev_tid", "prev_pid" },
	{ "sched_switch", "next_tid", "next_pid" },
	{ "sched_waking", "tid", "pid" },
	{ "sched_wakeup", "tid", "pid" },
	{ "sched_wakeup_new", "tid", "pid" },
	{ "sched_process_fork", "child_tid", "child_pid" },
	{ "sched_process_fork", "parent_tid", "parent_pid" },
	{ "sched_process_fork", "child_pid", "child_tgid" },
	{ "sched_process_fork", "parent_pid", "parent_tgid" },
	{ "sched_process_exec", "tid", "pid" },
	{ "sched_process_exec", "old_tid", "old_pid" },
};

static const char *name_of(const struct kl_class *class, const struct kl_field *field)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(renamed); i++)
		if (!strcmp(class->name, renamed[i].event) &&
		    !strcmp(field->name, renamed[i].field))
			return renamed[i].name;
	return field->name;
}

static bool is_call(const struct kl_class *class)
{
	return class->kind != KL_CLASS_EVENT;
}

/*
 * "syscall_entry_openat" is "sys_enter_openat" in the kernel. Its readers take only letters, digits
 * and underscores, so "tick:99" becomes "tick_99".
 */
static void add_event_name(struct kl_buffer *to, const struct kl_class *class)
{
	const char *prefix = class->kind == KL_CLASS_SYSCALL_ENTRY ? "syscall_entry_" :
			     class->kind == KL_CLASS_SYSCALL_EXIT  ? "syscall_exit_" :
								     "";

	if (is_call(class))
		kl_buffer_add_string(to, class->kind == KL_CLASS_SYSCALL_ENTRY ? "sys_enter_" :
										 "sys_exit_");
	for (const char *at = class->name + strlen(prefix); *at; at++)
		kl_buffer_add_char(to, isalnum((unsigned char)*at) ? *at : '_');
}

/* The scheduler counts priorities from 0, real-time ones first. */
static bool is_prio(const struct kl_field *field)
{
	return field->format == KL_FORMAT_prio;
}

/* ------------------------------------------------------------------- records */

static void add(struct trace_dat *t, const void *bytes, size_t length)
{
	const size_t room = RECORD_MAX - t->length;

	memcpy(t->record + t->length, bytes, length < room ? length : room);
	t->length += length < room ? length : room;
}

static void add16(struct trace_dat *t, uint16_t value)
{
	add(t, &value, sizeof(value));
}

/* Its place and length in the record; the text follows the fields. */
static void add_string_place(struct trace_dat *t, size_t *at, size_t length)
{
	add16(t, (uint16_t)*at);
	add16(t, (uint16_t)(length + 1));
	*at += length + 1;
}

static size_t fixed_bytes(const struct kl_field *field)
{
	return field->type == KL_TYPE_STRING ? 4 : (size_t)field->bytes * field->count;
}

static size_t string_length(const struct kl_value *value, size_t room)
{
	return value->length < room ? value->length : room;
}

static void add_fixed(struct trace_dat *t, const struct kl_value *value)
{
	const uint64_t number = value->number + (is_prio(value->field) ? PRIO_BASE : 0);

	if (value->field->type >= KL_TYPE_TEXT) {
		char text[256] = { 0 };
		const size_t bytes = fixed_bytes(value->field);

		memcpy(text, value->bytes, string_length(value, sizeof(text) - 1));
		add(t, text, bytes < sizeof(text) ? bytes : sizeof(text));
	} else if (value->field->count > 1) {
		add(t, value->bytes, fixed_bytes(value->field));
	} else {
		add(t, &number, value->field->bytes);
	}
}

static void make_record(struct trace_dat *t, const struct kl_event *event)
{
	const struct kl_class *class = event->event_class;
	const size_t share = class->n_strings ? RECORD_MAX / 2 / class->n_strings : 0;
	size_t at = COMMON_BYTES;

	t->length = 0;
	add16(t, (uint16_t)(class->id + 1));
	add16(t, 0);
	add(t, &event->task.tid, 4);
	for (unsigned int i = 0; i < class->n_fields; i++)
		at += fixed_bytes(&class->fields[i]);
	for (unsigned int i = 0; i < class->n_fields; i++) {
		const struct kl_value value = kl_event_value(event, i);

		if (value.field->type == KL_TYPE_STRING)
			add_string_place(t, &at, string_length(&value, share));
		else
			add_fixed(t, &value);
	}
	for (unsigned int i = 0; i < class->n_fields; i++) {
		const struct kl_value value = kl_event_value(event, i);

		if (value.field->type != KL_TYPE_STRING)
			continue;
		add(t, value.bytes, string_length(&value, share));
		add(t, "", 1);
	}
}

/* --------------------------------------------------------------------- pages */

static struct cpu *cpu_of(struct trace_dat *t, uint32_t number)
{
	struct cpu **grown;

	if (number >= CPUS_MAX)
		return NULL;
	if (number >= t->n_cpus) {
		grown = realloc(t->cpu, (number + 1ULL) * sizeof(*grown));
		if (!grown)
			return NULL;
		memset(grown + t->n_cpus, 0, (number + 1ULL - t->n_cpus) * sizeof(*grown));
		t->cpu = grown;
		t->n_cpus = number + 1ULL;
	}
	if (!t->cpu[number])
		t->cpu[number] = calloc(1, sizeof(*t->cpu[number]));
	return t->cpu[number];
}

static int end_page(struct cpu *cpu)
{
	const bool stored = cpu->missed && cpu->length + sizeof(cpu->missed) <= PAGE_BYTES;
	const uint64_t commit = (cpu->length - PAGE_HEAD) | (cpu->missed ? MISSED : 0) |
				(stored ? MISSED_STORED : 0);

	if (!cpu->length)
		return 0;
	if (!cpu->pages)
		cpu->pages = tmpfile();
	if (!cpu->pages)
		return -errno;
	memcpy(cpu->page + 8, &commit, sizeof(commit));
	memset(cpu->page + cpu->length, 0, PAGE_BYTES - cpu->length);
	if (stored)
		memcpy(cpu->page + cpu->length, &cpu->missed, sizeof(cpu->missed));
	cpu->n++;
	cpu->length = 0;
	cpu->missed = 0;
	return fwrite(cpu->page, 1, PAGE_BYTES, cpu->pages) == PAGE_BYTES ? 0 : -errno;
}

static void put32(struct cpu *cpu, uint32_t value)
{
	memcpy(cpu->page + cpu->length, &value, sizeof(value));
	cpu->length += sizeof(value);
}

/* With its length in a word of its own, as long records have it; in whole words. */
static int put_record(struct trace_dat *t, struct cpu *cpu, uint64_t ns)
{
	const uint32_t bytes = (uint32_t)((t->length + 3) & ~3ULL);
	uint64_t delta = ns > cpu->last_ns ? ns - cpu->last_ns : 0;
	int error = 0;

	if (cpu->length && cpu->length + 16 + bytes > PAGE_BYTES)
		error = end_page(cpu);
	if (error)
		return error;
	if (!cpu->length) {
		cpu->last_ns = ns > cpu->last_ns ? ns : cpu->last_ns;
		memcpy(cpu->page, &cpu->last_ns, sizeof(cpu->last_ns));
		cpu->length = PAGE_HEAD;
		delta = 0;
	}
	cpu->last_ns += delta;
	if (delta >> DELTA_BITS) {
		put32(cpu, (uint32_t)(TYPE_EXTEND | (delta & ((1ULL << DELTA_BITS) - 1)) << 5));
		put32(cpu, (uint32_t)(delta >> DELTA_BITS));
		delta = 0;
	}
	put32(cpu, (uint32_t)(delta << 5));
	put32(cpu, bytes + 4);
	memset(t->record + t->length, 0, bytes - t->length);
	memcpy(cpu->page + cpu->length, t->record, bytes);
	cpu->length += bytes;
	return 0;
}

/* Its records are missing between two pages. Those that are unknown in number count as one. */
static int add_loss(struct kl_export *x, const struct kl_loss *loss)
{
	struct cpu *cpu = loss->kind == KL_LOSS_UNSEEN ? NULL : cpu_of(x->state, loss->cpu);
	int error;

	if (loss->kind == KL_LOSS_UNSEEN || loss->cpu >= CPUS_MAX)
		return 0;
	error = cpu ? end_page(cpu) : -ENOMEM;
	if (!error)
		cpu->missed += loss->records ?: 1;
	return error;
}

static int add_record(struct kl_export *x, const struct kl_event *event)
{
	struct trace_dat *t = x->state;
	struct cpu *cpu = cpu_of(t, event->cpu);

	if (!cpu)
		return event->cpu >= CPUS_MAX ? -E2BIG : -ENOMEM;
	t->seen[event->id] = true;
	make_record(t, event);
	return put_record(t, cpu, event->ns);
}

/* ------------------------------------------------------------- descriptions */

static const char *type_of(const struct kl_field *field)
{
	static const char *const names[] = {
		[KL_TYPE_S8] = "s8",   [KL_TYPE_U8] = "u8",   [KL_TYPE_S16] = "s16",
		[KL_TYPE_U16] = "u16", [KL_TYPE_S32] = "s32", [KL_TYPE_U32] = "u32",
		[KL_TYPE_S64] = "s64", [KL_TYPE_U64] = "u64",
	};

	return names[field->type];
}

static void add_field(struct kl_buffer *to, const struct kl_class *class,
		      const struct kl_field *field, size_t at)
{
	const char *name = name_of(class, field);

	if (field->type == KL_TYPE_STRING)
		kl_buffer_printf(to, "\tfield:__data_loc char[] %s;", name);
	else if (field->type == KL_TYPE_TEXT)
		kl_buffer_printf(to, "\tfield:char %s[%u];", name, field->count);
	else if (field->count > 1)
		kl_buffer_printf(to, "\tfield:%s %s[%u];", type_of(field), name, field->count);
	else
		kl_buffer_printf(to, "\tfield:%s %s;", type_of(field), name);
	kl_buffer_printf(to, "\toffset:%zu;\tsize:%zu;\tsigned:%d;\n", at, fixed_bytes(field),
			 field->type < KL_TYPE_TEXT && *type_of(field) == 's');
}

/* How a field is printed: its format, or if @value, what it is applied to. */
static void add_print(struct kl_buffer *to, const struct kl_class *class,
		      const struct kl_field *field, bool value)
{
	const char *name = name_of(class, field);

	if (!value && field->type >= KL_TYPE_TEXT)
		kl_buffer_printf(to, "%s=%%s", name);
	else if (!value && field->count > 1)
		kl_buffer_printf(to, "%s=%%s", name);
	else if (!value)
		kl_buffer_printf(to, "%s=%s", name,
				 field->format == KL_FORMAT_ptr ? "0x%llx" :
				 *type_of(field) == 's'		? "%lld" :
								  "%llu");
	else if (field->type == KL_TYPE_STRING)
		kl_buffer_printf(to, ", __get_str(%s)", name);
	else if (field->type < KL_TYPE_TEXT && field->count > 1)
		kl_buffer_printf(to, ", __print_array(REC->%s, %u, %u)", name, field->count,
				 field->bytes);
	else
		kl_buffer_printf(to, ", REC->%s", name);
}

static void add_description(struct kl_buffer *to, const struct kl_class *class)
{
	size_t at = COMMON_BYTES;

	kl_buffer_add_string(to, "name: ");
	add_event_name(to, class);
	kl_buffer_printf(to,
			 "\nID: %u\nformat:\n"
			 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			 "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
			 "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;"
			 "\tsigned:0;\n"
			 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
			 class->id + 1);
	for (unsigned int i = 0; i < class->n_fields; i++) {
		add_field(to, class, &class->fields[i], at);
		at += fixed_bytes(&class->fields[i]);
	}
	kl_buffer_add_string(to, "\nprint fmt: \"");
	for (unsigned int i = 0; i < class->n_fields; i++) {
		kl_buffer_add_string(to, i ? " " : "");
		add_print(to, class, &class->fields[i], false);
	}
	kl_buffer_add_char(to, '"');
	for (unsigned int i = 0; i < class->n_fields; i++)
		add_print(to, class, &class->fields[i], true);
	kl_buffer_add_char(to, '\n');
}

/* ---------------------------------------------------------------------- file */

static void put_number(struct kl_buffer *to, uint64_t value, unsigned int bytes)
{
	kl_buffer_add(to, &value, bytes);
}

/* A text with its length before it. */
static void put_sized(struct kl_buffer *to, const char *text, size_t length, unsigned int bytes)
{
	put_number(to, length, bytes);
	kl_buffer_add(to, text, length);
}

static const char header_page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				  "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				  "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

static const char header_event[] = "# compressed entry header\n"
				   "\ttype_len    :    5 bits\n"
				   "\ttime_delta  :   27 bits\n"
				   "\tarray       :   32 bits\n"
				   "\n"
				   "\tpadding     : type == 29\n"
				   "\ttime_extend : type == 30\n"
				   "\ttime_stamp : type == 31\n"
				   "\tdata max type_len  == 28\n";

static const struct kl_class *next_seen(const struct kl_export *x, const struct kl_class *class)
{
	const struct trace_dat *t = x->state;

	do
		class = kl_schema_next(x->schema, class);
	while (class && !t->seen[class->id]);
	return class;
}

static bool same_system(const struct kl_class *class, const char *group)
{
	return !strcmp(class->group, group);
}

/* Has an event of this group been listed before @class? */
static bool is_listed(const struct kl_export *x, const struct kl_class *class)
{
	const struct kl_class *other = NULL;

	while ((other = next_seen(x, other)) != class)
		if (same_system(other, class->group))
			return true;
	return false;
}

static void put_system(struct kl_export *x, struct kl_buffer *to, const char *group)
{
	const struct kl_class *class = NULL;
	uint32_t n = 0;

	while ((class = next_seen(x, class)))
		n += same_system(class, group);
	kl_buffer_add(to, group, strlen(group) + 1);
	put_number(to, n, 4);
	while ((class = next_seen(x, class))) {
		struct kl_buffer text = { 0 };

		if (!same_system(class, group))
			continue;
		add_description(&text, class);
		put_sized(to, text.data, text.length, 8);
		to->error = to->error ?: text.error;
		kl_buffer_deinit(&text);
	}
}

static void put_systems(struct kl_export *x, struct kl_buffer *to)
{
	const struct kl_class *class = NULL;
	uint32_t n = 0;

	while ((class = next_seen(x, class)))
		n += !is_listed(x, class);
	put_number(to, n, 4);
	while ((class = next_seen(x, class)))
		if (!is_listed(x, class))
			put_system(x, to, class->group);
}

/* Names of the threads, a line each. */
static void put_commands(struct kl_export *x, struct kl_buffer *to)
{
	struct kl_buffer text = { 0 };

	for (size_t i = 0; i < x->scan->n_threads; i++) {
		const struct kl_timeline_thread *thread = x->scan->thread[i];

		if (!thread->tid)
			continue;
		kl_buffer_printf(&text, "%d ", thread->tid);
		kl_print_plain(&text, kl_export_comm(x, thread), strlen(kl_export_comm(x, thread)));
		kl_buffer_add_char(&text, '\n');
	}
	put_sized(to, text.data, text.length, 8);
	to->error = to->error ?: text.error;
	kl_buffer_deinit(&text);
}

static void put_header(struct kl_export *x, struct kl_buffer *to)
{
	static const char magic[] = "\x17\x08\x44tracing6";
	const struct trace_dat *t = x->state;

	kl_buffer_add(to, magic, sizeof(magic));
	kl_buffer_add_char(to, 0);
	kl_buffer_add_char(to, 8);
	put_number(to, PAGE_BYTES, 4);
	kl_buffer_add(to, "header_page", sizeof("header_page"));
	put_sized(to, header_page, sizeof(header_page) - 1, 8);
	kl_buffer_add(to, "header_event", sizeof("header_event"));
	put_sized(to, header_event, sizeof(header_event) - 1, 8);
	put_number(to, 0, 4); /* events of ftrace itself */
	put_systems(x, to);
	put_number(to, 0, 4); /* symbols of the kernel */
	put_number(to, 0, 4); /* formats of trace_printk() */
	put_commands(x, to);
	put_number(to, t->n_cpus, 4);
	kl_buffer_add(to, "flyrecord", sizeof("flyrecord"));
}

static int copy_pages(struct kl_export *x, struct cpu *cpu)
{
	uint8_t page[PAGE_BYTES];

	if (!cpu || !cpu->pages)
		return 0;
	rewind(cpu->pages);
	for (uint64_t i = 0; i < cpu->n; i++)
		if (fread(page, 1, PAGE_BYTES, cpu->pages) != PAGE_BYTES ||
		    fwrite(page, 1, PAGE_BYTES, x->file) != PAGE_BYTES)
			return errno ? -errno : -EIO;
	return 0;
}

static int end_trace_dat(struct kl_export *x)
{
	struct trace_dat *t = x->state;
	struct kl_buffer *to = &x->out;
	uint64_t at;
	int error = 0;

	for (size_t i = 0; i < t->n_cpus && !error; i++)
		error = t->cpu[i] ? end_page(t->cpu[i]) : 0;
	if (error)
		return error;
	put_header(x, to);
	/* Pages begin at the next one of the file after the table of where they are. */
	at = (to->length + t->n_cpus * 16 + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	for (size_t i = 0; i < t->n_cpus; i++) {
		const uint64_t bytes = t->cpu[i] ? t->cpu[i]->n * PAGE_BYTES : 0;

		put_number(to, at, 8);
		put_number(to, bytes, 8);
		at += bytes;
	}
	while (to->length % PAGE_BYTES && !to->error)
		kl_buffer_add_char(to, 0);
	if (to->error)
		return -ENOMEM;
	if (fwrite(to->data, 1, to->length, x->file) != to->length)
		return -errno;
	kl_buffer_reset(to);
	for (size_t i = 0; i < t->n_cpus && !error; i++)
		error = copy_pages(x, t->cpu[i]);
	return error;
}

static void clean_trace_dat(struct kl_export *x)
{
	struct trace_dat *t = x->state;

	for (size_t i = 0; i < t->n_cpus; i++) {
		if (t->cpu[i] && t->cpu[i]->pages)
			fclose(t->cpu[i]->pages);
		free(t->cpu[i]);
	}
	free(t->cpu);
}

const struct kl_export_ops kl_export_trace_dat = {
	.format = { .name = "trace-dat",
		    .extension = "dat",
		    .help = "events, for trace-cmd and KernelShark" },
	.has_spans = true,
	.state_bytes = sizeof(struct trace_dat),
	.record = add_record,
	.loss = add_loss,
	.end = end_trace_dat,
	.clean = clean_trace_dat,
};
