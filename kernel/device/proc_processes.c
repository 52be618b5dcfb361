// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/kernlens: figures of processes as text, for scripts. Opening a file takes a snapshot with
 * the opener's rights and in its pid namespace; reading prints it. Fed by task/inspect.c. When the
 * files are removed, procfs itself waits for calls in progress and releases open files. See
 * docs/design/proc.md.
 */
#include <linux/bitops.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/sort.h>

#include "../core/variable.h"
#include "../task/inspect.h"
#include "device.h"
#include "proc.h"

#define TOP_ROWS_MIN 10
#define TOP_ROWS_MAX 1000

static unsigned int top_rows = 100;
module_param(top_rows, uint, 0644);
MODULE_PARM_DESC(top_rows, "rows in each file /proc/kernlens/top_*, 10 to 1000");

/* Maximum number of rows in a snapshot; further processes are only counted. */
#define LOOK_ROWS_MAX 65536u
#define ROWS_AT_FIRST 64u
/* Bytes copied between two points where the task can be preempted. */
#define COPY_BYTES SZ_256K

/**
 * struct figure - a variable that the files show
 * @width: of its column in tables; 0: only in `figures`
 * @is_there: available on this kernel
 * @offset: in a row
 */
struct figure {
	const char *name;
	u16 id;
	u8 width;
	bool is_there;
	u16 offset;
};

#define FIGURE(variable, width_)                                                     \
	{                                                                            \
		.name = #variable, .id = KL_VARIABLE_ID_##variable, .width = width_, \
	}

/* Columns of tables are in this order; the name comes last, as it may contain blanks. */
static struct figure figures[] = {
	FIGURE(pid, 8),
	FIGURE(ppid, 0),
	FIGURE(uid, 8),
	FIGURE(state, 5),
	FIGURE(threads, 7),
	FIGURE(nice, 4),
	FIGURE(start_time, 0),
	FIGURE(cpu_time, 16),
	FIGURE(run_delay, 0),
	FIGURE(nvcsw, 0),
	FIGURE(nivcsw, 0),
	FIGURE(rss, 14),
	FIGURE(rss_anon, 0),
	FIGURE(rss_peak, 0),
	FIGURE(vm_size, 0),
	FIGURE(swap_entries, 12),
	FIGURE(min_faults, 12),
	FIGURE(maj_faults, 12),
	FIGURE(io_read_bytes, 14),
	FIGURE(io_write_bytes, 14),
	FIGURE(io_read_chars, 0),
	FIGURE(io_write_chars, 0),
	FIGURE(open_files, 0),
	FIGURE(comm, 16),
};

#define FIGURES ARRAY_SIZE(figures)

/* The available ones: the variables requested from an inspection, and the size of its rows. */
static u32 variables[FIGURES];
static u32 n_variables;
static u32 row_bytes;

/**
 * struct file_kind - a file of /proc/kernlens
 * @by, @and: it is a top list, sorted by the sum of these; 0 if it is not
 * @lines: it has one line for each figure
 */
struct file_kind {
	const char *name;
	u16 by;
	u16 and;
	bool lines;
};

static const struct file_kind kinds[] = {
	{ .name = "processes" },
	{ .name = "figures", .lines = true },
	{ .name = "top_memory", .by = KL_VARIABLE_ID_rss },
	{ .name = "top_faults", .by = KL_VARIABLE_ID_maj_faults },
	{ .name = "top_cpu", .by = KL_VARIABLE_ID_cpu_time },
	{ .name = "top_io",
	  .by = KL_VARIABLE_ID_io_read_bytes,
	  .and = KL_VARIABLE_ID_io_write_bytes },
};

/**
 * struct kept - a row of a snapshot
 * @key: sorts top lists
 * @head, @values: as returned by the inspection
 */
struct kept {
	u64 key;
	struct kl_abi_inspected head;
	u8 values[];
};

/**
 * struct look - the snapshot of an open file
 * @payer: the opener's, charged for the snapshot's memory
 * @most: maximum number of rows to show
 * @rows: struct kept of @stride bytes each; @n of @room are used
 * @there: number of processes that the opener may see
 */
struct look {
	struct kl_inspect_sink sink;
	struct kl_payer payer;
	const struct file_kind *kind;
	u32 stride;
	u32 most;
	u32 n;
	u32 room;
	u32 there;
	u64 monotonic_ns;
	u8 *rows;
};

static struct kept *kept_of(const struct look *look, u32 i)
{
	return (struct kept *)(look->rows + (size_t)i * look->stride);
}

static u64 number_of(const struct kept *kept, const struct figure *figure)
{
	u64 value = 0;

	/* Little endian: the first bytes of a word are the number. */
	memcpy(&value, kept->values + figure->offset,
	       min_t(u32, kl_variable_rows[figure->id].bytes, sizeof(value)));
	return value;
}

/* ----------------------------------------------------------------- snapshots */

static u64 number_by_id(const struct kept *kept, u32 id)
{
	for (u32 i = 0; i < FIGURES; i++)
		if (figures[i].id == id && figures[i].is_there)
			return number_of(kept, &figures[i]);
	return 0;
}

static int compare_kept(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? 1 : -1;
	return x->head.id < y->head.id ? -1 : x->head.id > y->head.id;
}

/* Keep the first @most rows in order, and drop the others. */
static void cut_look(struct look *look)
{
	/* There are at most twice TOP_ROWS_MAX. */
	cond_resched();
	sort(look->rows, look->n, look->stride, compare_kept, NULL);
	cond_resched();
	look->n = min(look->n, look->most);
}

static u64 bytes_of(const struct look *look, u32 rows)
{
	return kl_memory_size((u64)rows * look->stride);
}

/* Maximum number of rows in memory: a top list is sorted and cut when it has twice its size. */
static u32 room_max(const struct look *look)
{
	return look->kind->by ? 2 * look->most : LOOK_ROWS_MAX;
}

static int grow_look(struct look *look)
{
	u32 room = min(look->room ? 2 * look->room : ROWS_AT_FIRST, room_max(look));
	int error = kl_memory_charge(&look->payer, bytes_of(look, room), NULL);
	u8 *rows;

	if (error)
		return error;
	rows = kvmalloc_array(room, look->stride, GFP_KERNEL_ACCOUNT);
	if (!rows) {
		kl_memory_uncharge(&look->payer, bytes_of(look, room));
		return -ENOMEM;
	}
	for (size_t at = 0; at < (size_t)look->n * look->stride; at += COPY_BYTES) {
		memcpy(rows + at, look->rows + at,
		       min_t(size_t, COPY_BYTES, (size_t)look->n * look->stride - at));
		cond_resched();
	}
	kvfree(look->rows);
	if (look->room)
		kl_memory_uncharge(&look->payer, bytes_of(look, look->room));
	look->rows = rows;
	look->room = room;
	return 0;
}

static int keep_row(struct look *look, const u8 *row)
{
	const struct file_kind *kind = look->kind;
	struct kept *kept;
	int error = 0;

	look->there++;
	if (look->n == room_max(look) && kind->by)
		cut_look(look);
	else if (look->n == LOOK_ROWS_MAX)
		return 0;
	else if (look->n == look->room)
		error = grow_look(look);
	if (error)
		return error;
	kept = kept_of(look, look->n++);
	memcpy((u8 *)kept + offsetof(struct kept, head), row, row_bytes);
	kept->key = !kind->by ? 0 :
				number_by_id(kept, kind->by) +
					(kind->and ? number_by_id(kept, kind->and) : 0);
	return 0;
}

static int take_rows(struct kl_inspect_sink *sink, const u8 *rows, u32 bytes)
{
	struct look *look = container_of(sink, struct look, sink);
	int error = 0;

	for (u32 at = 0; at < bytes && !error; at += row_bytes)
		error = keep_row(look, rows + at);
	return error;
}

static int take_look(struct look *look, const struct cred *cred, u32 may)
{
	struct kl_abi_inspect params = {
		.flags = KL_INSPECT_ALL,
		.n_variables = n_variables,
		.room = ~0ull,
	};
	int error;

	look->sink = (struct kl_inspect_sink){ variables, take_rows };
	look->stride = ALIGN(offsetof(struct kept, head) + row_bytes, sizeof(u64));
	look->most = look->kind->by ? clamp(READ_ONCE(top_rows), TOP_ROWS_MIN, TOP_ROWS_MAX) :
				      LOOK_ROWS_MAX;
	error = kl_task_inspect(&params, cred, may, &look->sink, &look->payer, NULL);
	look->monotonic_ns = params.monotonic_ns;
	if (!error && look->kind->by && look->n)
		cut_look(look);
	return error;
}

/* ------------------------------------------------------------------ as text */

static void *seq_begin(struct seq_file *m, loff_t *pos)
{
	const struct look *look = m->private;

	if (!*pos)
		return SEQ_START_TOKEN;
	return *pos <= look->n ? kept_of(look, *pos - 1) : NULL;
}

static void *seq_go_on(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return seq_begin(m, pos);
}

static void seq_end(struct seq_file *m, void *v)
{
}

/* Print texts and signed numbers as such; @width of the column is as in printf. */
static void show_figure(struct seq_file *m, const struct kept *kept, const struct figure *figure,
			int width)
{
	const struct kl_variable_row *row = &kl_variable_rows[figure->id];
	char text[TASK_COMM_LEN + 1] = "";
	u64 value;

	if (figure->id == KL_VARIABLE_ID_comm) {
		memcpy(text, kept->values + figure->offset, TASK_COMM_LEN);
		seq_escape_str(m, text, ESCAPE_SPACE | ESCAPE_SPECIAL, "\n\\\r\t\033");
		return;
	}
	value = number_of(kept, figure);
	/* In the opener's pid namespace. */
	if (figure->id == KL_VARIABLE_ID_pid)
		seq_printf(m, "%*d", width, kept->head.id);
	else if (figure->id == KL_VARIABLE_ID_state)
		seq_printf(m, "%*c", width, task_index_to_char(fls((u32)value)));
	else if (row->number & 1)
		seq_printf(m, "%*llu", width, value);
	else
		seq_printf(m, "%*lld", width, sign_extend64(value, row->bytes * 8 - 1));
}

static void show_head(struct seq_file *m)
{
	const struct look *look = m->private;

	if (look->kind->lines) {
		seq_printf(m, "machine.monotonic_ns %llu\nmachine.processes %u\n",
			   look->monotonic_ns, look->there);
		return;
	}
	for (u32 i = 0; i < FIGURES; i++)
		if (figures[i].width && figures[i].is_there)
			seq_printf(m, i + 1 < FIGURES ? "%*s " : "%.*s\n", figures[i].width,
				   figures[i].name);
}

static int seq_show_row(struct seq_file *m, void *v)
{
	const struct look *look = m->private;
	const struct kept *kept = v;

	if (v == SEQ_START_TOKEN) {
		show_head(m);
		return 0;
	}
	for (u32 i = 0; i < FIGURES; i++) {
		const struct figure *figure = &figures[i];

		if (!figure->is_there || (!look->kind->lines && !figure->width))
			continue;
		if (look->kind->lines)
			seq_printf(m, "%d.%s ", kept->head.id, figure->name);
		show_figure(m, kept, figure, look->kind->lines ? 0 : figure->width);
		seq_putc(m, look->kind->lines || i + 1 == FIGURES ? '\n' : ' ');
	}
	return 0;
}

static const struct seq_operations look_ops = {
	.start = seq_begin,
	.next = seq_go_on,
	.stop = seq_end,
	.show = seq_show_row,
};

static int look_open(struct inode *inode, struct file *file)
{
	struct look *look = __seq_open_private(file, &look_ops, sizeof(*look));
	u32 may = kl_access_of_opener(file->f_cred);
	int error;

	if (!look)
		return -ENOMEM;
	look->kind = pde_data(inode);
	error = kl_payer_init(&look->payer, file->f_cred, may);
	if (error)
		goto release;
	error = take_look(look, file->f_cred, may);
	if (!error)
		return 0;
	kvfree(look->rows);
	kl_payer_deinit(&look->payer);
release:
	seq_release_private(inode, file);
	return error;
}

static int look_release(struct inode *inode, struct file *file)
{
	struct look *look = ((struct seq_file *)file->private_data)->private;

	kvfree(look->rows);
	kl_payer_deinit(&look->payer);
	return seq_release_private(inode, file);
}

static const struct proc_ops look_proc_ops = {
	.proc_open = look_open,
	.proc_read = kl_proc_read,
	.proc_lseek = seq_lseek,
	.proc_release = look_release,
};

/* --------------------------------------------------------------- the files */

static void place_figures(void)
{
	char reason[KL_ERROR_TEXT_MAX];
	u32 offset = 0;

	n_variables = 0;
	for (u32 i = 0; i < FIGURES; i++) {
		/*
		 * These variables belong to a task: the kernel may lack them, but they need no
		 * capability.
		 */
		figures[i].is_there = !kl_variable_absent(figures[i].id, 0, reason);
		if (!figures[i].is_there)
			continue;
		figures[i].offset = offset;
		offset += kl_variable_rows[figures[i].id].bytes;
		variables[n_variables++] = figures[i].id;
	}
	row_bytes = sizeof(struct kl_abi_inspected) + offset;
}

/**
 * kl_proc_add_processes - create the files of processes in /proc/kernlens
 * @folder: /proc/kernlens; the files are removed with it
 *
 * Returns 0 or -ENOMEM.
 */
int kl_proc_add_processes(struct proc_dir_entry *folder)
{
	place_figures();
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!proc_create_data(kinds[i].name, 0444, folder, &look_proc_ops,
				      (void *)&kinds[i]))
			return -ENOMEM;
	return 0;
}
