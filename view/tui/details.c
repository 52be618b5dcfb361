// SPDX-License-Identifier: GPL-2.0
/*
 * The details of one process, in sections: its variables, its threads, and what the command prints
 * about it: waits, files, mappings ... Read again at each refresh, as long as the process exists.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

#define VARIABLES_MAX KL_INSPECT_VARIABLES_MAX
#define SECTIONS_MAX 16

/**
 * struct details - state of the screen
 * @inspect: all variables available for a process; @id: their IDs
 * @comm: its name when it was selected
 * @gone: it has exited, and the text is the last one known
 */
struct details {
	int32_t pid;
	char comm[VIEW_CELL_MAX];
	size_t section;
	struct kl_inspect *inspect;
	uint32_t id[VARIABLES_MAX];
	size_t n;
	struct view_text text;
	bool gone;
};

/* ------------------------------------------------------------------- values */

static void print_bytes(struct kl_buffer *to, double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	int unit = 0;

	for (; bytes >= 1024 && unit < 4; unit++)
		bytes /= 1024;
	kl_buffer_printf(to, "%.*f %s", unit && bytes < 100 ? 2 : 0, bytes, units[unit]);
}

static void print_value(struct kl_buffer *to, const struct kl_variable *variable,
			const struct kl_value *value)
{
	if (value->field->type == KL_TYPE_TEXT)
		kl_buffer_add(to, value->bytes, value->length);
	else if (!strcmp(variable->unit, "B"))
		print_bytes(to, (double)value->number);
	else if (!strcmp(variable->unit, "ns"))
		kl_buffer_printf(to, "%.6f s", (double)value->number / 1e9);
	else
		kl_print_value(to, value);
	if (*variable->unit && strcmp(variable->unit, "B") && strcmp(variable->unit, "ns"))
		kl_buffer_printf(to, " %s", variable->unit);
	if (strstr(variable->name, "uid"))
		kl_buffer_printf(to, " (%s)", column_user((uint32_t)value->number));
}

static void print_one(const struct details *d, struct kl_buffer *to, size_t at)
{
	const struct kl_variable *variable = kl_variable_get(d->id[at]);
	struct kl_value value = kl_inspect_value(d->inspect, 0, at);

	print_value(to, variable, &value);
}

/* ----------------------------------------------------------------- sections */

/* Print names and values, two pairs per line. */
static void print_named(const struct details *d, struct kl_buffer *to, const char *names)
{
	char *list = strdupa(names), *name;
	int shown = 0;

	while ((name = strsep(&list, " "))) {
		size_t length, at = 0;

		while (at < d->n && strcmp(kl_variable_get(d->id[at])->name, name))
			at++;
		if (at == d->n)
			continue;
		kl_buffer_printf(to, "  %-17s ", name);
		length = to->length;
		print_one(d, to, at);
		length = to->length - length;
		if (shown++ % 2)
			kl_buffer_add_char(to, '\n');
		else
			kl_buffer_printf(to, "%*s", length < 19 ? (int)(19 - length) : 1, "");
	}
	if (shown % 2)
		kl_buffer_add_char(to, '\n');
}

static void print_overview(struct view *v, struct details *d, struct kl_buffer *to)
{
	static const char *const groups[][2] = {
		{ "Identity", "pid ppid parent_comm comm pgid sid uid euid gid egid threads "
			      "start_time cgroup pid_ns" },
		{ "Scheduling", "state cpu policy priority nice rt_priority cpus_allowed cpu_time "
				"utime stime run_delay runs migrations nvcsw nivcsw" },
		{ "Memory", "vm_size vm_peak rss rss_peak rss_anon rss_file rss_shmem swap_entries "
			    "vm_data vm_stack vm_exec vm_locked page_tables mappings min_faults "
			    "maj_faults" },
		{ "Files and I/O",
		  "open_files io_read_bytes io_write_bytes io_read_chars "
		  "io_write_chars io_reads io_writes ioprio blkio_delay swapin_delay" },
		{ "Rights and signals", "capabilities no_new_privs seccomp traced oom_score_adj "
					"signal signal_blocked" },
		{ "In the kernel", "syscall user_ip user_sp" },
	};

	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		kl_buffer_printf(to, "%s%s\n", i ? "\n" : "", groups[i][0]);
		print_named(d, to, groups[i][1]);
	}
}

static void print_threads(struct view *v, struct details *d, struct kl_buffer *to)
{
	static const char *const names[] = { "tid",	 "state", "cpu",    "nice",
					     "cpu_time", "nvcsw", "nivcsw", "comm" };
	uint32_t ids[sizeof(names) / sizeof(*names)];
	struct kl_inspect *inspect;
	int rows;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		ids[i] = kl_variable_find(names[i])->id;
	inspect = kl_inspect_create(v->device, ids, sizeof(names) / sizeof(*names));
	if (!inspect)
		return;
	rows = kl_inspect_read(inspect, &d->pid, 1, KL_INSPECT_THREADS);
	kl_buffer_printf(to, "%8s S %4s %4s %14s %10s %10s  COMMAND\n", "TID", "CPU", "NICE",
			 "CPU TIME s", "WAITED", "PREEMPTED");
	for (int i = 0; i < rows; i++) {
		struct kl_value value[sizeof(names) / sizeof(*names)];
		size_t row = (size_t)i;

		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
			value[k] = kl_inspect_value(inspect, row, k);
		kl_buffer_printf(to, "%8d ", (int)value[0].number);
		kl_print_value(to, &value[1]);
		kl_buffer_printf(to, " %4u %4d %14.6f %10llu %10llu  %.*s\n",
				 (unsigned int)value[2].number, (int)value[3].number,
				 (double)value[4].number / 1e9, (unsigned long long)value[5].number,
				 (unsigned long long)value[6].number, (int)value[7].length,
				 (const char *)value[7].bytes);
	}
	kl_inspect_destroy(inspect);
}

static void print_variables(struct view *v, struct details *d, struct kl_buffer *to)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct kl_variable *variable = kl_variable_get(d->id[i]);
		size_t length;

		kl_buffer_printf(to, "%-17s ", variable->name);
		length = to->length;
		print_one(d, to, i);
		length = to->length - length;
		kl_buffer_printf(to, "%*s%s\n", length < 22 ? (int)(22 - length) : 2, "",
				 variable->help);
	}
}

/* The whole command line, as many lines as it takes. Control characters count as one cell each. */
static void print_command(struct view *v, struct details *d, struct kl_buffer *to)
{
	size_t columns = screen_columns() > 8 ? (size_t)screen_columns() : 8, n = 0;
	struct kl_details list;

	if (kl_details_read(v->device, d->pid, KL_DETAIL_COMMAND, &list) || !list.n) {
		kl_buffer_printf(to, "%s\n", d->comm);
		kl_error_clear();
		return;
	}
	for (size_t i = 0; i < list.entry[0].text_bytes; i++) {
		char c = list.entry[0].text[i];

		/* Not inside of a character. */
		if ((c & 0xc0) != 0x80 && n++ == columns) {
			kl_buffer_add_char(to, '\n');
			n = 1;
		}
		kl_buffer_add_char(to, !c || c == '\n' || c == '\t' ? ' ' : c);
	}
	kl_buffer_add_char(to, '\n');
	kl_details_deinit(&list);
}

static void print_locks(struct view *v, struct details *d, struct kl_buffer *to)
{
	locks_print(d->pid, to);
}

static const struct {
	const char *title;
	void (*print)(struct view *v, struct details *d, struct kl_buffer *to);
} own[] = {
	{ "Overview", print_overview },	  { "Threads", print_threads },
	{ "Command", print_command },	  { "Locks", print_locks },
	{ "Variables", print_variables },
};

#define OWN (sizeof(own) / sizeof(*own))

/* Our own sections, with those of the options after the first two. */
#define OWN_FIRST 2

static size_t sections(const struct view *v)
{
	size_t n = OWN + v->options->sections;

	return n < SECTIONS_MAX ? n : SECTIONS_MAX;
}

/* The options' section with this number, or NULL if it is our own, number *@at. */
static const struct view_section *section_of(const struct view *v, size_t section, size_t *at)
{
	size_t others = v->options->sections;

	*at = section < OWN_FIRST ? section : section - others;
	return section >= OWN_FIRST && section < OWN_FIRST + others ?
		       &v->options->section[section - OWN_FIRST] :
		       NULL;
}

static const char *title_of(const struct view *v, size_t section)
{
	size_t at;
	const struct view_section *other = section_of(v, section, &at);

	return other ? other->title : own[at].title;
}

static void print_section(struct view *v, struct details *d, struct kl_buffer *to)
{
	size_t at;
	const struct view_section *other = section_of(v, d->section, &at);

	if (other)
		v->options->print_section(v->device, d->pid, other->what, to);
	else
		own[at].print(v, d, to);
}

/* ------------------------------------------------------------------- screen */

static bool is_there(const struct details *d)
{
	bool there = false;

	if (kl_inspect_read(d->inspect, &d->pid, 1, 0) == 1)
		kl_inspect_row(d->inspect, 0, &there);
	kl_error_clear();
	return there;
}

static void look(struct view *v)
{
	struct details *d = v->data;
	struct kl_buffer text = { 0 };

	d->gone = !is_there(d);
	if (d->gone)
		return;
	print_section(v, d, &text);
	text_clear(&d->text);
	text_add_lines(&d->text, text.data, text.length, SIZE_MAX);
	kl_buffer_deinit(&text);
}

/* The titles, of which as many are scrolled out as the selected one needs. Returns their number. */
static int add_titles(const struct view *v, struct view_line *line, int end[SECTIONS_MAX])
{
	const struct details *d = v->data;
	int columns = screen_columns();

	line_begin(line);
	for (size_t i = 0; i < sections(v); i++) {
		line_printf(line, i == d->section ? STYLE_SELECTED : STYLE_CAPTION, " %s ",
			    title_of(v, i));
		end[i] = line->n;
	}
	return end[d->section] > columns ? end[d->section] - columns : 0;
}

static void draw(struct view *v)
{
	static const char *const keys[] = { "Tab", "Section ", "e",   "Events ",
					    "s",   "Calls ",   "Esc", "List  " };
	struct details *d = v->data;
	int end[SECTIONS_MAX] = { 0 }, from;
	struct view_line line;

	line_begin(&line);
	line_printf(&line, STYLE_HEAD, "%d ", d->pid);
	line_text(&line, STYLE_HEAD, d->comm);
	if (d->gone)
		line_text(&line, STYLE_HEAD, " (has ended)");
	line_to(&line, screen_columns(), STYLE_HEAD);
	line_draw(&line, 0, 0, screen_columns(), 0, STYLE_PLAIN);
	from = add_titles(v, &line, end);
	line_draw(&line, 1, 0, screen_columns(), from, STYLE_PLAIN);
	text_draw(&d->text, 2, screen_rows() - 3);
	view_draw_keys(v, keys, sizeof(keys) / sizeof(*keys));
	screen_show(-1, 0);
}

static void choose(struct view *v, size_t section)
{
	struct details *d = v->data;

	d->section = section % sections(v);
	d->text.top = 0;
	d->text.left = 0;
	look(v);
}

static size_t find_section(const struct view *v, const char *title)
{
	for (size_t i = 0; i < sections(v); i++)
		if (!strcmp(title_of(v, i), title))
			return i;
	return 0;
}

static void key(struct view *v, int key)
{
	struct details *d = v->data;

	if (text_key(&d->text, key, screen_rows() - 3))
		return;
	switch (key) {
	case VIEW_KEY_TAB:
		choose(v, d->section + 1);
		break;
	case VIEW_KEY_BACK_TAB:
		choose(v, d->section + sections(v) - 1);
		break;
	case 'l':
		choose(v, find_section(v, "Files"));
		break;
	case 'w':
		choose(v, find_section(v, "Command"));
		break;
	case 'x':
		choose(v, find_section(v, "Locks"));
		break;
	case 'e':
		events_enter(v, d->pid, d->comm, false);
		break;
	case 's':
		events_enter(v, d->pid, d->comm, true);
		break;
	case VIEW_KEY_ESCAPE:
	case VIEW_KEY_F + 10:
	case VIEW_KEY_ENTER:
	case 'q':
		view_enter(v, &list_screen);
		break;
	}
}

static bool take_mouse(struct view *v, const struct view_mouse *mouse)
{
	int end[SECTIONS_MAX] = { 0 }, from;
	struct view_line line;

	if (mouse->kind != MOUSE_CLICK || mouse->y != 1)
		return false;
	from = add_titles(v, &line, end);
	for (size_t i = 0; i < sections(v); i++)
		if (from + mouse->x < end[i]) {
			choose(v, i);
			break;
		}
	return true;
}

static void leave(struct view *v)
{
	struct details *d = v->data;

	text_clear(&d->text);
	kl_inspect_destroy(d->inspect);
	free(d);
	v->data = NULL;
}

static const struct view_screen screen = {
	.draw = draw,
	.key = key,
	.mouse = take_mouse,
	.tick = look,
	.leave = leave,
};

/* Find the variables of tasks that are available to this user. */
static void find_variables(const struct view *v, struct details *d)
{
	const struct kl_variable *variable;

	for (unsigned int i = 0; (variable = kl_variable_get(i)) && d->n < VARIABLES_MAX; i++) {
		struct kl_abi_variable_info info;

		if (kl_variable_is_inspected(variable) && strcmp(variable->scope, "system") &&
		    !kl_device_variable(v->device, i, &info) && info.absent == KL_PRESENT)
			d->id[d->n++] = i;
	}
}

void details_enter(struct view *v, const char *section)
{
	struct details *d = calloc(1, sizeof(*d));
	int32_t id;

	if (!d || !list_selected(v, &id)) {
		free(d);
		return;
	}
	d->pid = id;
	column_command(v, v->list.shown[v->list.at], d->comm);
	if (section)
		d->section = find_section(v, section);
	find_variables(v, d);
	d->inspect = kl_inspect_create(v->device, d->id, d->n);
	if (!d->inspect) {
		free(d);
		return;
	}
	view_enter(v, &screen);
	v->data = d;
	look(v);
}
