// SPDX-License-Identifier: GPL-2.0
/*
 * Columns of the list: which exist, and how their cells look. Fed by the library's table, in which
 * each is a column, too; read by the list and the setup.
 */
#include <errno.h>
#include <linux/ioprio.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

/* Print a cell's text, and set its style. */
typedef void (*print_fn)(const struct view *view, const struct view_column *column, size_t row,
			 char text[VIEW_CELL_MAX], enum view_style *style);

/**
 * struct view_kind - a known column
 * @name: name of the library's column; the text of `Command` is built here
 */
struct view_kind {
	const char *name, *title;
	int width;
	bool left;
	print_fn print;
	const char *help;
};

/* PF_KTHREAD in `task_flags`; the kernel exposes it to user space with this value. */
#define FLAG_KERNEL_THREAD 0x00200000u

static const char *const needed[NEED_COUNT] = {
	[NEED_TID] = "tid",	     [NEED_PID] = "pid",	  [NEED_UID] = "uid",
	[NEED_COMM] = "comm",	     [NEED_STATE] = "state",	  [NEED_NICE] = "nice",
	[NEED_FLAGS] = "task_flags", [NEED_START] = "start_time", [NEED_CPU] = "cpu%",
	[NEED_MEMORY] = "mem%",	     [NEED_TIME] = "cpu_time",
};

/* ------------------------------------------------------------------- cells */

static struct kl_value value_of(const struct view *v, const struct view_column *c, size_t row)
{
	return kl_processes_value(v->table, row, c->at);
}

static void print_number(const struct view *v, const struct view_column *c, size_t row,
			 char text[VIEW_CELL_MAX], enum view_style *style)
{
	snprintf(text, VIEW_CELL_MAX, "%.0f", kl_processes_number(v->table, row, c->at));
}

static void print_priority(const struct view *v, const struct view_column *c, size_t row,
			   char text[VIEW_CELL_MAX], enum view_style *style)
{
	double priority = kl_processes_number(v->table, row, c->at);

	if (priority <= -100)
		snprintf(text, VIEW_CELL_MAX, "RT");
	else
		snprintf(text, VIEW_CELL_MAX, "%.0f", priority);
}

static void print_policy(const struct view *v, const struct view_column *c, size_t row,
			 char text[VIEW_CELL_MAX], enum view_style *style)
{
	uint32_t policy = (uint32_t)value_of(v, c, row).number;

	if (!policy)
		*style = STYLE_SHADOW;
	snprintf(text, VIEW_CELL_MAX, "%s", kl_detail_policy_name(policy));
}

/* As in htop: class and level. Without a class, they follow from the nice value. */
static void print_io_priority(const struct view *v, const struct view_column *c, size_t row,
			      char text[VIEW_CELL_MAX], enum view_style *style)
{
	unsigned int value = (unsigned int)value_of(v, c, row).number, level = value & 7;
	int nice = (int)column_number(v, row, NEED_NICE);

	switch (value >> IOPRIO_CLASS_SHIFT) {
	case IOPRIO_CLASS_NONE:
		*style = STYLE_SHADOW;
		snprintf(text, VIEW_CELL_MAX, "B%d", (nice + 20) / 5);
		break;
	case IOPRIO_CLASS_RT:
		*style = STYLE_HIGH;
		snprintf(text, VIEW_CELL_MAX, "R%u", level);
		break;
	case IOPRIO_CLASS_BE:
		snprintf(text, VIEW_CELL_MAX, "B%u", level);
		break;
	default:
		*style = STYLE_LOW;
		strcpy(text, "id");
	}
}

static void print_nice(const struct view *v, const struct view_column *c, size_t row,
		       char text[VIEW_CELL_MAX], enum view_style *style)
{
	double nice = kl_processes_number(v->table, row, c->at);

	*style = nice < 0 ? STYLE_HIGH : nice > 0 ? STYLE_LOW : STYLE_SHADOW;
	snprintf(text, VIEW_CELL_MAX, "%.0f", nice);
}

static void print_user(const struct view *v, const struct view_column *c, size_t row,
		       char text[VIEW_CELL_MAX], enum view_style *style)
{
	snprintf(text, VIEW_CELL_MAX, "%s", column_user((uint32_t)value_of(v, c, row).number));
}

/* In KiB, as long as five digits suffice. */
static void print_size(double bytes, char text[VIEW_CELL_MAX], enum view_style *style)
{
	static const char units[] = "KMGTP";
	double size = bytes / 1024;
	int unit = 0;

	if (size < 100000) {
		snprintf(text, VIEW_CELL_MAX, "%.0f", size);
		return;
	}
	for (; size >= 1000 && unit < 4; unit++)
		size /= 1024;
	*style = unit < 2 ? STYLE_MEGABYTES : STYLE_GIGABYTES;
	snprintf(text, VIEW_CELL_MAX, "%.*f%c",
		 size < 10  ? 2 :
		 size < 100 ? 1 :
			      0,
		 size, units[unit]);
}

static void print_bytes(const struct view *v, const struct view_column *c, size_t row,
			char text[VIEW_CELL_MAX], enum view_style *style)
{
	double bytes = kl_processes_number(v->table, row, c->at);

	if (!bytes)
		*style = STYLE_SHADOW;
	print_size(bytes, text, style);
}

static void print_pages(const struct view *v, const struct view_column *c, size_t row,
			char text[VIEW_CELL_MAX], enum view_style *style)
{
	print_size(kl_processes_number(v->table, row, c->at) * 4096, text, style);
}

static void print_state(const struct view *v, const struct view_column *c, size_t row,
			char text[VIEW_CELL_MAX], enum view_style *style)
{
	struct kl_value value = value_of(v, c, row);
	struct kl_buffer buffer = { 0 };

	kl_print_value(&buffer, &value);
	snprintf(text, VIEW_CELL_MAX, "%.*s", (int)buffer.length, buffer.data ? buffer.data : "");
	kl_buffer_deinit(&buffer);
	*style = *text == 'R' ? STYLE_RUNNING : strchr("DZ", *text) ? STYLE_BLOCKED : STYLE_SHADOW;
}

static void print_percent(const struct view *v, const struct view_column *c, size_t row,
			  char text[VIEW_CELL_MAX], enum view_style *style)
{
	double percent = kl_processes_number(v->table, row, c->at);

	if (isnan(percent))
		percent = 0;
	if (percent < 0.05)
		*style = STYLE_SHADOW;
	snprintf(text, VIEW_CELL_MAX, "%.*f", percent < 999.95 ? 1 : 0, percent);
}

/* Nanoseconds per second, as a percentage. A sum over threads can decrease when one exits. */
static void print_delay(const struct view *v, const struct view_column *c, size_t row,
			char text[VIEW_CELL_MAX], enum view_style *style)
{
	double percent = kl_processes_number(v->table, row, c->at) / 1e7;

	if (!(percent >= 0.05))
		*style = STYLE_SHADOW;
	snprintf(text, VIEW_CELL_MAX, "%.1f", percent > 0 ? percent : 0);
}

static void print_counted_delay(const struct view *v, const struct view_column *c, size_t row,
				char text[VIEW_CELL_MAX], enum view_style *style)
{
	if (kl_machine_state(v->machine)->has_delays) {
		print_delay(v, c, row, text, style);
		return;
	}
	*style = STYLE_SHADOW;
	strcpy(text, "N/A");
}

static void print_time(const struct view *v, const struct view_column *c, size_t row,
		       char text[VIEW_CELL_MAX], enum view_style *style)
{
	unsigned long long hundredths = value_of(v, c, row).number / 10000000;
	unsigned long long seconds = hundredths / 100, hours = seconds / 3600;

	if (hours >= 100)
		snprintf(text, VIEW_CELL_MAX, "%lluh%02llu", hours, seconds / 60 % 60);
	else if (hours)
		snprintf(text, VIEW_CELL_MAX, "%lluh%02llu:%02llu", hours, seconds / 60 % 60,
			 seconds % 60);
	else
		snprintf(text, VIEW_CELL_MAX, "%llu:%02llu.%02llu", seconds / 60, seconds % 60,
			 hundredths % 100);
}

static void print_rate(const struct view *v, const struct view_column *c, size_t row,
		       char text[VIEW_CELL_MAX], enum view_style *style)
{
	double rate = kl_processes_number(v->table, row, c->at);

	if (!(rate > 0))
		*style = STYLE_SHADOW;
	snprintf(text, VIEW_CELL_MAX, "%.0f", isnan(rate) ? 0 : rate);
}

static void print_byte_rate(const struct view *v, const struct view_column *c, size_t row,
			    char text[VIEW_CELL_MAX], enum view_style *style)
{
	double rate = kl_processes_number(v->table, row, c->at);

	if (!(rate > 0)) {
		*style = STYLE_SHADOW;
		snprintf(text, VIEW_CELL_MAX, "0");
	} else if (rate < 1000) {
		snprintf(text, VIEW_CELL_MAX, "%.0fB", rate);
	} else {
		print_size(rate, text, style);
		if (rate < 100000 * 1024.0)
			strcat(text, "K");
	}
}

static void print_value(const struct view *v, const struct view_column *c, size_t row,
			char text[VIEW_CELL_MAX], enum view_style *style)
{
	struct kl_value value = value_of(v, c, row);
	struct kl_buffer buffer = { 0 };

	if (value.field->type == KL_TYPE_TEXT)
		kl_buffer_add(&buffer, value.bytes, value.length);
	else if (kl_processes_column(v->table, c->at)->kind == KL_PROCESS_VALUE)
		kl_print_value(&buffer, &value);
	else
		kl_buffer_printf(&buffer, "%.1f", kl_processes_number(v->table, row, c->at));
	snprintf(text, VIEW_CELL_MAX, "%.*s", (int)buffer.length, buffer.data ? buffer.data : "");
	kl_buffer_deinit(&buffer);
}

static void print_command(const struct view *v, const struct view_column *c, size_t row,
			  char text[VIEW_CELL_MAX], enum view_style *style)
{
	*style = column_number(v, row, NEED_TID) != column_number(v, row, NEED_PID) ? STYLE_THREAD :
		 column_number(v, row, NEED_STATE) == 0				    ? STYLE_BOLD :
										      STYLE_PLAIN;
	column_command(v, row, text);
}

/* ------------------------------------------------------------------- table */

static const struct view_kind kinds[] = {
	{ "tid", "PID", 7, false, print_number, "ID of the process or thread" },
	{ "pid", "TGID", 7, false, print_number, "ID of the thread's process" },
	{ "ppid", "PPID", 7, false, print_number, "ID of the parent process" },
	{ "pgid", "PGRP", 7, false, print_number, "Process group" },
	{ "sid", "SESN", 7, false, print_number, "Session ID" },
	{ "uid", "USER", 9, true, print_user, "User" },
	{ "priority", "PRI", 3, false, print_priority, "Scheduling priority" },
	{ "nice", "NI", 3, false, print_nice, "Nice value" },
	{ "policy", "POLICY", 8, true, print_policy, "Scheduling policy" },
	{ "vm_size", "VIRT", 5, false, print_bytes, "Address space" },
	{ "rss", "RES", 5, false, print_bytes, "Resident memory" },
	{ "shared", "SHR", 5, false, print_bytes, "Resident file and shared memory" },
	{ "rss_anon", "ANON", 5, false, print_bytes, "Resident anonymous memory" },
	{ "rss_peak", "PEAK", 5, false, print_bytes, "Peak resident memory" },
	{ "vm_locked", "LOCK", 5, false, print_bytes, "Memory locked in RAM" },
	{ "swap_entries", "SWAP", 5, false, print_pages, "Memory in swap" },
	{ "state", "S", 1, true, print_state, "State: R S D T t Z X I" },
	{ "cpu%", "CPU%", 5, false, print_percent, "CPU time, percent of one CPU" },
	{ "mem%", "MEM%", 4, false, print_percent, "Resident memory, percent of RAM" },
	{ "cpu_time", "TIME+", 8, false, print_time, "CPU time" },
	{ "utime", "UTIME+", 8, false, print_time, "CPU time in user mode" },
	{ "stime", "STIME+", 8, false, print_time, "CPU time in the kernel" },
	{ "run_delay/s", "DELAY%", 6, false, print_delay, "Time spent waiting for a CPU" },
	{ "cpu", "CPU", 3, false, print_number, "CPU that it last ran on" },
	{ "threads", "NLWP", 4, false, print_number, "Threads" },
	{ "open_files", "FILES", 5, false, print_number, "Open files" },
	{ "min_faults/s", "MINFLT", 7, false, print_rate, "Minor page faults per second" },
	{ "maj_faults/s", "MAJFLT", 6, false, print_rate, "Major page faults per second" },
	{ "io_read_bytes/s", "READ/s", 6, false, print_byte_rate,
	  "Bytes read from storage per second" },
	{ "io_write_bytes/s", "WRITE/s", 7, false, print_byte_rate,
	  "Bytes written to storage per second" },
	{ "io/s", "DISK/s", 6, false, print_byte_rate, "Bytes read and written per second" },
	{ "io_bytes", "TOTAL", 5, false, print_bytes, "Bytes read and written so far" },
	{ "io_read_bytes", "READ", 5, false, print_bytes, "Bytes read from storage so far" },
	{ "io_write_bytes", "WRITE", 5, false, print_bytes, "Bytes written to storage so far" },
	{ "io_reads/s", "RCALL/s", 7, false, print_rate, "Calls that read, per second" },
	{ "io_writes/s", "WCALL/s", 7, false, print_rate, "Calls that write, per second" },
	{ "blkio_delay/s", "IOD%", 5, false, print_counted_delay, "Time blocked on I/O" },
	{ "swapin_delay/s", "SWPD%", 5, false, print_counted_delay, "Time waiting for swap" },
	{ "ioprio", "IO", 2, true, print_io_priority, "I/O priority: class and level" },
	{ "switches/s", "CSW/s", 6, false, print_rate, "Context switches per second" },
	{ "migrations/s", "MIGR/s", 6, false, print_rate, "CPU migrations per second" },
	{ "oom_score_adj", "OOM", 5, false, print_number, "OOM killer score adjustment" },
	{ "comm", "Command", 16, true, print_command, "Command" },
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

static const struct view_kind other_kind = { .width = 8, .print = print_value };

const char *column_known(size_t index, const char **title, const char **help)
{
	if (index >= KINDS)
		return NULL;
	*title = kinds[index].title;
	*help = kinds[index].help;
	return kinds[index].name;
}

static const struct view_kind *find_kind(const char *name)
{
	for (size_t i = 0; i < KINDS; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return &other_kind;
}

/* ------------------------------------------------------------------ choice */

static int add_column(struct view *v, const char *name)
{
	/* The lists of the command use this name. */
	const char *own = !strcmp(name, "user") ? "uid" : name;
	const struct view_kind *kind = find_kind(own);
	int at = kl_processes_add(v->table, own), title;
	struct view_column *columns;

	if (at < 0)
		return at;
	columns = reallocarray(v->column, v->n_columns + 1, sizeof(*columns));
	if (!columns)
		return -ENOMEM;
	v->column = columns;
	columns += v->n_columns;
	*columns = (struct view_column){
		.name = strdup(own), .kind = kind, .at = (size_t)at, .left = kind->left
	};
	if (!columns->name)
		return -ENOMEM;
	v->n_columns++;
	columns->title = kind->title ? kind->title : columns->name;
	title = text_width(columns->title);
	columns->width = kind->width > title ? kind->width : title;
	return 0;
}

void column_free_all(struct view *v)
{
	for (size_t i = 0; i < v->n_columns; i++)
		free(v->column[i].name);
	free(v->column);
	v->column = NULL;
	v->n_columns = 0;
	kl_processes_destroy(v->table);
	v->table = NULL;
}

/* A column that is not shown can be the sort column, too. */
static void keep_sorted(struct view *v, const char *by)
{
	int at = kl_processes_add(v->table, by);

	v->list.sort = at < 0 ? v->need[NEED_CPU] : (size_t)at;
}

int column_set_all(struct view *v, const char *names, const char *sort)
{
	char *by = strdup(sort ? sort : column_sorted(v)), *rest, *name;
	char *list = strdup(names);
	int ret = by && list ? 0 : -ENOMEM;

	column_free_all(v);
	v->table = kl_processes_create(v->device);
	if (!v->table)
		ret = -ENOMEM;
	for (rest = list; !ret && (name = strsep(&rest, ","));)
		if (*name)
			ret = add_column(v, name);
	for (int i = 0; !ret && i < NEED_COUNT; i++) {
		int at = kl_processes_add(v->table, needed[i]);

		v->need[i] = (size_t)at;
		ret = at < 0 ? at : 0;
	}
	if (!ret)
		keep_sorted(v, by);
	free(list);
	free(by);
	return ret;
}

char *column_names(const struct view *v)
{
	struct kl_buffer list = { 0 };

	for (size_t i = 0; i < v->n_columns; i++)
		kl_buffer_printf(&list, "%s%s", i ? "," : "", v->column[i].name);
	if (!list.error)
		return list.data;
	kl_buffer_deinit(&list);
	return NULL;
}

const char *column_sorted(const struct view *v)
{
	return v->table ? kl_processes_column(v->table, v->list.sort)->name : "cpu%";
}

bool column_is_valid(struct view *v, const char *name)
{
	struct kl_processes *table = kl_processes_create(v->device);
	int at = table ? kl_processes_add(table, name) : -1;
	struct kl_abi_variable_info info;
	bool valid = at >= 0;

	if (valid) {
		uint32_t id = kl_processes_column(table, (size_t)at)->variable->id;

		valid = !kl_device_variable(v->device, id, &info) && info.absent == KL_PRESENT;
	}
	kl_processes_destroy(table);
	kl_error_clear();
	return valid;
}

/* -------------------------------------------------------------------- cells */

uint64_t column_number(const struct view *v, size_t row, enum view_need need)
{
	return kl_processes_value(v->table, row, v->need[need]).number;
}

bool is_of_kernel(const struct view *v, size_t row)
{
	return column_number(v, row, NEED_FLAGS) & FLAG_KERNEL_THREAD;
}

bool column_is_text(const struct view *v, size_t at)
{
	return kl_processes_column(v->table, at)->variable->field.type == KL_TYPE_TEXT;
}

/* Without the directories of the program's path. Its end is not known if it contains blanks. */
static const char *skip_path(const char *line)
{
	const char *name = line;

	for (const char *at = line; *at && *at != ' '; at++)
		if (*at == '/' && at[1] && at[1] != ' ')
			name = at + 1;
	return name;
}

/* The command line; of threads other than the first, and of kernel threads, the name. */
void column_command(const struct view *v, size_t row, char text[VIEW_CELL_MAX])
{
	struct kl_value comm = kl_processes_value(v->table, row, v->need[NEED_COMM]);
	bool first = column_number(v, row, NEED_TID) == column_number(v, row, NEED_PID);
	char name[KL_COMM_LEN] = "";
	const char *line;

	memcpy(name, comm.bytes, comm.length < KL_COMM_LEN ? comm.length : KL_COMM_LEN);
	line = first && !is_of_kernel(v, row) ? command_line(v, row, name) : NULL;
	if (line)
		snprintf(text, VIEW_CELL_MAX, "%s", v->list.path ? line : skip_path(line));
	else
		snprintf(text, VIEW_CELL_MAX, "%.*s", (int)comm.length, (const char *)comm.bytes);
}

/* Looking up a user may take long: do it once for each. */
const char *column_user(uint32_t uid)
{
	static struct {
		uint32_t uid;
		char name[32];
	} known[64];
	static unsigned int n;
	const struct passwd *user;
	unsigned int at;

	for (unsigned int i = 0; i < n && i < sizeof(known) / sizeof(*known); i++)
		if (known[i].uid == uid)
			return known[i].name;
	user = getpwuid(uid);
	at = n++ % (sizeof(known) / sizeof(*known));
	known[at].uid = uid;
	if (user)
		snprintf(known[at].name, sizeof(known[at].name), "%s", user->pw_name);
	else
		snprintf(known[at].name, sizeof(known[at].name), "%u", uid);
	return known[at].name;
}

void column_print(const struct view *v, const struct view_column *c, size_t row,
		  struct view_line *line, enum view_style *style)
{
	char text[VIEW_CELL_MAX] = "";
	int begin = line->n;

	*style = STYLE_PLAIN;
	c->kind->print(v, c, row, text, style);
	if (!c->left) {
		line_right(line, c->width, *style, text);
		return;
	}
	line_text(line, *style, text);
	/* Names may have any length, the column does not. */
	if (c->kind->width < 16 && line->n > begin + c->width) {
		line->n = begin + c->width - 1;
		line_text(line, *style, "+");
	}
	line_to(line, begin + c->width, *style);
}
