// SPDX-License-Identifier: GPL-2.0
/*
 * The head of the list: bars for each CPU, for memory and for swap, and further data of the whole
 * machine. Fed by kernlens/machine.h.
 */
#include <stdio.h>
#include <string.h>

#include "view.h"

/* Maximum number of CPU bars per line, and minimum width of a useful bar. */
enum {
	BARS_MAX = 8,
	BAR_CELLS_MIN = 18,
	TEXTS = 3, /* lines next to memory, swap and interrupts */
};

/**
 * struct part - part of a bar
 * @share: fraction of the bar's length, 0 to 1
 */
struct part {
	enum view_style style;
	double share;
};

static size_t cpus(const struct view *v)
{
	size_t n = 0;

	while (kl_machine_cpu(v->machine, n))
		n++;
	return n;
}

/* Number of bars per line; 0: too many CPUs, draw one bar for their average. */
static size_t bars_in_line(const struct view *v)
{
	size_t most = (size_t)(screen_columns() / BAR_CELLS_MIN), n = cpus(v), beside = 2;
	size_t lines = (size_t)(screen_rows() > 15 ? screen_rows() / 3 : 2);

	while (beside < BARS_MAX && beside * 2 <= most && (n + beside - 1) / beside > 4)
		beside *= 2;
	return (n + beside - 1) / beside <= lines ? beside : 0;
}

static int cpu_rows(const struct view *v)
{
	size_t beside = bars_in_line(v);

	return beside ? (int)((cpus(v) + beside - 1) / beside) : 1;
}

int meter_rows(const struct view *v)
{
	/* Small windows show only the processes. */
	return screen_rows() < 12 || !v->list.meters ? 0 : cpu_rows(v) + TEXTS + 1;
}

/*
 * Draw "caption[
 *
 * |   text]".
 */
static void draw_bar(int y, int x, int width, const char *caption, const struct part *parts,
		     size_t n, const char *text)
{
	int inside = width - text_width(caption) - 2, done = 0;
	int from = inside - (int)strlen(text);
	struct view_line line;
	double share = 0;

	if (inside < 1)
		return;
	line_begin(&line);
	line_text(&line, STYLE_CAPTION, caption);
	line_text(&line, STYLE_EDGE, "[");
	for (size_t i = 0; i < n; i++) {
		share += parts[i].share;
		for (; done < inside && done < (int)(share * inside + 0.5); done++) {
			char c = done >= from && from >= 0 ? text[done - from] : '|';

			/* Text on the bar takes its color, and blanks become part of it. */
			line_bytes(&line, parts[i].style, c == ' ' ? "|" : &c, 1);
		}
	}
	for (; done < inside; done++)
		line_bytes(&line, STYLE_SHADOW,
			   done >= from && from >= 0 ? &text[done - from] : " ", 1);
	line_text(&line, STYLE_EDGE, "]");
	line_draw(&line, y, x, width, 0, STYLE_PLAIN);
}

static void draw_cpu(const struct kl_machine_cpu *cpu, const char *caption, int y, int x, int width)
{
	const struct part parts[] = {
		{ STYLE_NICE, cpu->nice / 100 },
		{ STYLE_USER, cpu->user / 100 },
		{ STYLE_SYSTEM, cpu->system / 100 },
		{ STYLE_IRQ, cpu->irq / 100 },
		{ STYLE_SOFTIRQ, cpu->softirq / 100 },
		{ STYLE_STEAL, (cpu->steal + cpu->guest) / 100 },
	};
	double busy = cpu->nice + cpu->user + cpu->system + cpu->irq + cpu->softirq + cpu->steal +
		      cpu->guest;
	char text[16];

	if (cpu->online)
		snprintf(text, sizeof(text), "%.1f%%", busy);
	draw_bar(y, x, width, caption, parts, sizeof(parts) / sizeof(*parts),
		 cpu->online ? text : "offline");
}

static void draw_cpus(const struct view *v, int columns)
{
	size_t beside = bars_in_line(v), n = cpus(v), rows = (size_t)cpu_rows(v);
	char caption[16];

	if (!beside) {
		draw_cpu(kl_machine_average(v->machine), "Avg", 0, 1, columns - 2);
		return;
	}
	/* Numbered from top to bottom, then from left to right. */
	for (size_t i = 0; i < n; i++) {
		int cells = columns / (int)beside;
		const struct kl_machine_cpu *cpu = kl_machine_cpu(v->machine, i);

		snprintf(caption, sizeof(caption), "%3u", cpu->cpu);
		draw_cpu(cpu, caption, (int)(i % rows), (int)(i / rows) * cells + 1, cells - 2);
	}
}

static void print_size(char text[16], uint64_t bytes)
{
	static const char units[] = "KMGTP";
	double size = (double)bytes / 1024;
	int unit = 0;

	for (; size >= 1000 && unit < 4; unit++)
		size /= 1024;
	snprintf(text, 16, "%.*f%c",
		 !unit	    ? 0 :
		 size < 10  ? 2 :
		 size < 100 ? 1 :
			      0,
		 size, units[unit]);
}

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

/* As in htop: what the kernel could free is cache, except shared memory, which nobody can free. */
static void draw_memory(const struct kl_machine_state *s, int y, int width)
{
	double total = s->total_memory ? (double)s->total_memory : 1;
	uint64_t files = less(s->file_memory, s->shared_memory) + s->slab_reclaimable;
	uint64_t used = less(s->total_memory, s->free_memory + files);
	uint64_t kernel = less(used, s->anon_memory + s->shared_memory);
	const struct part parts[] = {
		{ STYLE_ANON, (double)s->anon_memory / total },
		{ STYLE_KERNEL_MEMORY, (double)kernel / total },
		{ STYLE_SHARED, (double)s->shared_memory / total },
		{ STYLE_FILE, (double)files / total },
	};
	char size[16], all[16], text[40];

	print_size(size, used);
	print_size(all, s->total_memory);
	snprintf(text, sizeof(text), "%s/%s", size, all);
	draw_bar(y, 1, width, "Mem", parts, sizeof(parts) / sizeof(*parts), text);
}

static void draw_swap(const struct kl_machine_state *s, int y, int width)
{
	uint64_t taken = s->total_swap - s->free_swap;
	const struct part part = { STYLE_SWAP,
				   s->total_swap ? (double)taken / (double)s->total_swap : 0 };
	char used[16], all[16], text[40];

	print_size(used, taken);
	print_size(all, s->total_swap);
	snprintf(text, sizeof(text), "%s/%s", used, all);
	draw_bar(y, 1, width, "Swp", &part, 1, text);
}

static void draw_tasks(const struct kl_machine_state *s, int y, int x, int width)
{
	struct view_line line;

	line_begin(&line);
	line_text(&line, STYLE_CAPTION, "Tasks: ");
	line_printf(&line, STYLE_VALUE, "%u", s->processes);
	line_text(&line, STYLE_CAPTION, ", ");
	line_printf(&line, STYLE_VALUE, "%u", s->threads - s->processes);
	line_text(&line, STYLE_CAPTION, " thr, ");
	line_printf(&line, STYLE_VALUE, "%u", s->kernel_threads);
	line_text(&line, STYLE_CAPTION, " kthr; ");
	line_printf(&line, STYLE_VALUE, "%u", s->running);
	line_text(&line, STYLE_CAPTION, " running");
	line_draw(&line, y, x, width, 0, STYLE_PLAIN);
}

static void draw_load(const struct kl_machine_state *s, int y, int x, int width)
{
	struct view_line line;

	line_begin(&line);
	line_text(&line, STYLE_CAPTION, "Load average: ");
	line_printf(&line, STYLE_BOLD, "%.2f ", s->load[0]);
	line_printf(&line, STYLE_VALUE, "%.2f ", s->load[1]);
	line_printf(&line, STYLE_CAPTION, "%.2f", s->load[2]);
	line_draw(&line, y, x, width, 0, STYLE_PLAIN);
}

static void draw_uptime(const struct kl_machine_state *s, int y, int x, int width)
{
	uint64_t seconds = s->uptime_ns / 1000000000, days = seconds / 86400;
	struct view_line line;

	line_begin(&line);
	line_text(&line, STYLE_CAPTION, "Uptime: ");
	if (days)
		line_printf(&line, STYLE_VALUE, "%llu day%s, ", (unsigned long long)days,
			    days > 1 ? "s" : "");
	line_printf(&line, STYLE_VALUE, "%02u:%02u:%02u", (unsigned int)(seconds / 3600 % 24),
		    (unsigned int)(seconds / 60 % 60), (unsigned int)(seconds % 60));
	line_draw(&line, y, x, width, 0, STYLE_PLAIN);
}

static void draw_interrupts(const struct kl_machine_state *s, int y, int width)
{
	struct view_line line;

	line_begin(&line);
	line_text(&line, STYLE_CAPTION, "Interrupts: ");
	line_printf(&line, STYLE_VALUE, "%.0f", s->interrupts);
	line_text(&line, STYLE_CAPTION, "/s, softirqs: ");
	line_printf(&line, STYLE_VALUE, "%.0f", s->softirqs);
	line_text(&line, STYLE_CAPTION, "/s");
	line_draw(&line, y, 1, width, 0, STYLE_PLAIN);
}

void meter_draw(const struct view *v)
{
	const struct kl_machine_state *s = kl_machine_state(v->machine);
	int columns = screen_columns(), half = columns / 2, y;

	if (!meter_rows(v))
		return;
	draw_cpus(v, columns);
	y = cpu_rows(v);
	draw_memory(s, y, half - 2);
	draw_tasks(s, y, half + 1, columns - half - 1);
	draw_swap(s, y + 1, half - 2);
	draw_load(s, y + 1, half + 1, columns - half - 1);
	draw_interrupts(s, y + 2, half - 2);
	draw_uptime(s, y + 2, half + 1, columns - half - 1);
}
