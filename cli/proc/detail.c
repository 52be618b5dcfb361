// SPDX-License-Identifier: GPL-2.0
/*
 * The page about one process: the table of its sections, the first section and the short ones. The
 * others are printed by proc_file.c, proc_memory.c, proc_wait.c and proc_rights.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/output.h"
#include "detail.h"

/* ------------------------------------------------------------------ words */

const char *cli_proc_user(char text[CLI_PROC_ID_MAX], uint32_t id)
{
	const char *name = cli_user_name(id);

	if (name)
		snprintf(text, CLI_PROC_ID_MAX, "%.40s (%u)", name, id);
	else
		snprintf(text, CLI_PROC_ID_MAX, "%u", id);
	return text;
}

/* Print a text of any length. */
static void print_text(const char *text, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += KL_DETAIL_PATH_BYTES_MAX) {
		size_t left = bytes - at;

		fputs(cli_clean_text(text + at, left < KL_DETAIL_PATH_BYTES_MAX ?
							left :
							KL_DETAIL_PATH_BYTES_MAX),
		      stdout);
	}
}

/* ---------------------------------------------------------- the first section */

static void print_words(const char *title, const struct kl_detail *of)
{
	printf("  %-11s", title);
	for (size_t at = 0; at < of->text_bytes;) {
		size_t n = strlen(of->text + at);

		if (at)
			putchar(' ');
		print_text(of->text + at, n);
		at += n + 1;
	}
	putchar('\n');
}

static json_t *words_json(const struct kl_detail *of)
{
	json_t *words = json_array();

	for (size_t at = 0; at < of->text_bytes; at += strlen(of->text + at) + 1)
		json_array_append_new(words, cli_json_text(of->text + at));
	return words;
}

static const char *const path_titles[] = { "executable", "directory", "root" };
static const char *const path_keys[] = { "exe", "cwd", "root" };

static void print_start(const struct kl_abi_detail_task *t)
{
	time_t start = time(NULL) - (time_t)((t->now_ns - t->start_ns) / 1000000000);
	char text[40], cpu[CLI_NUMBER_MAX];
	struct tm when;

	if (localtime_r(&start, &when) && strftime(text, sizeof(text), "%F %T", &when))
		printf("  %-11s%s, %s of CPU time\n", "started", text,
		       cli_print_time(cpu, t->cpu_ns));
}

static void print_task(const struct kl_details *list)
{
	const struct kl_abi_detail_task *t = &list->entry[0].task;
	char user[CLI_PROC_ID_MAX];

	printf("%s", cli_style(stdout, CLI_BOLD));
	printf("%s%s  process %d", cli_clean_comm(t->comm), cli_style(stdout, CLI_PLAIN), t->pid);
	if (t->tid != t->pid)
		printf(", thread %d", t->tid);
	printf(", %s%s\n", kl_detail_state_name(t->state),
	       t->flags & KL_DETAIL_TASK_KERNEL ? ", kernel thread" : "");
	printf("  %-11s%s\n", "user", cli_proc_user(user, t->uid));
	printf("  %-11sparent %d, group %d, session %d", "IDs", t->ppid, t->pgid, t->sid);
	printf(t->tracer ? ", traced by %d\n" : "\n", t->tracer);
	printf("  %-11s%u, CPU %u, %s, nice %d, priority %d\n", "threads", t->threads, t->cpu,
	       kl_detail_policy_name(t->policy), t->nice, t->prio);
	printf("  %-11s%llu minor, %llu major\n", "faults", (unsigned long long)t->min_faults,
	       (unsigned long long)t->maj_faults);
	print_start(t);
}

static json_t *task_json(const struct kl_abi_detail_task *t)
{
	return json_pack("{s:i, s:i, s:o, s:s, s:b, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:i,"
			 " s:i, s:i, s:i, s:s, s:I, s:I, s:I, s:I, s:I}",
			 "tid", t->tid, "pid", t->pid, "comm", cli_json_text(t->comm), "state",
			 kl_detail_state_name(t->state), "kernel",
			 !!(t->flags & KL_DETAIL_TASK_KERNEL), "ppid", t->ppid, "pgid", t->pgid,
			 "sid", t->sid, "tracer", t->tracer, "uid", (json_int_t)t->uid, "gid",
			 (json_int_t)t->gid, "threads", (json_int_t)t->threads, "cpu",
			 (json_int_t)t->cpu, "prio", t->prio, "static_prio", t->static_prio,
			 "normal_prio", t->normal_prio, "nice", t->nice, "policy",
			 kl_detail_policy_name(t->policy), "min_faults", (json_int_t)t->min_faults,
			 "maj_faults", (json_int_t)t->maj_faults, "cpu_ns", (json_int_t)t->cpu_ns,
			 "start_ns", (json_int_t)t->start_ns, "age_ns",
			 (json_int_t)(t->now_ns - t->start_ns));
}

static void print_path(const struct kl_detail *e)
{
	if (e->path.which > KL_DETAIL_PATH_ROOT)
		return;
	printf("  %-11s", path_titles[e->path.which]);
	print_text(e->text, e->text_bytes);
	puts(e->is_cut ? "(truncated)" : "");
}

/* A kernel thread has no command line. */
static void print_texts(struct kl_device *device, int pid)
{
	struct kl_details list;

	if (!kl_details_read(device, pid, KL_DETAIL_COMMAND, &list)) {
		if (list.n)
			print_words("command", &list.entry[0]);
		kl_details_deinit(&list);
	}
	if (!kl_details_read(device, pid, KL_DETAIL_PATHS, &list)) {
		for (size_t i = 0; i < list.n; i++)
			print_path(&list.entry[i]);
		kl_details_deinit(&list);
	}
}

static void add_texts_json(struct kl_device *device, int pid, json_t *to)
{
	struct kl_details list;

	if (!kl_details_read(device, pid, KL_DETAIL_COMMAND, &list)) {
		json_object_set_new(to, "command",
				    list.n ? words_json(&list.entry[0]) : json_array());
		kl_details_deinit(&list);
	}
	if (!kl_details_read(device, pid, KL_DETAIL_PATHS, &list)) {
		for (size_t i = 0; i < list.n; i++)
			if (list.entry[i].path.which <= KL_DETAIL_PATH_ROOT)
				json_object_set_new(to, path_keys[list.entry[i].path.which],
						    cli_json_text(list.entry[i].text));
		kl_details_deinit(&list);
	}
}

/* -------------------------------------------------------------- short sections */

static void print_io(const struct kl_details *list)
{
	const struct kl_abi_detail_io *io = &list->entry[0].io;
	char read[CLI_NUMBER_MAX], written[CLI_NUMBER_MAX], cancelled[CLI_NUMBER_MAX];

	printf("  %-11s%s read, %s written, %s cancelled\n", "storage",
	       cli_print_bytes(read, io->read_bytes), cli_print_bytes(written, io->write_bytes),
	       cli_print_bytes(cancelled, io->cancelled_write_bytes));
	printf("  %-11s%s in %llu reads, %s in %llu writes\n", "calls",
	       cli_print_bytes(read, io->read_chars), (unsigned long long)io->reads,
	       cli_print_bytes(written, io->write_chars), (unsigned long long)io->writes);
}

static json_t *io_json(const struct kl_detail *e)
{
	const struct kl_abi_detail_io *io = &e->io;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "read_chars",
			 (json_int_t)io->read_chars, "write_chars", (json_int_t)io->write_chars,
			 "reads", (json_int_t)io->reads, "writes", (json_int_t)io->writes,
			 "read_bytes", (json_int_t)io->read_bytes, "write_bytes",
			 (json_int_t)io->write_bytes, "cancelled_write_bytes",
			 (json_int_t)io->cancelled_write_bytes);
}

static void print_namespaces(const struct kl_details *list)
{
	for (size_t i = 0; i < list->n; i++)
		printf("  %-18s%u%s\n", kl_detail_namespace_name(&list->entry[i].ns),
		       list->entry[i].ns.inode,
		       list->entry[i].ns.same ? "" : "  (differs from yours)");
}

static json_t *namespace_json(const struct kl_detail *e)
{
	return json_pack("{s:s, s:I, s:b}", "name", kl_detail_namespace_name(&e->ns), "inode",
			 (json_int_t)e->ns.inode, "same", (int)e->ns.same);
}

static void print_cgroups(const struct kl_details *list)
{
	for (size_t i = 0; i < list->n; i++) {
		printf("  %u:%s:", list->entry[i].cgroup.hierarchy, list->entry[i].text);
		print_text(list->entry[i].more, list->entry[i].more_bytes);
		putchar('\n');
	}
}

static json_t *cgroup_json(const struct kl_detail *e)
{
	return json_pack("{s:I, s:o, s:o, s:I}", "hierarchy", (json_int_t)e->cgroup.hierarchy,
			 "controllers", cli_json_text(e->text), "path", cli_json_text(e->more),
			 "id", (json_int_t)e->cgroup.id);
}

static void print_children(const struct kl_details *list)
{
	struct cli_table *table = cli_table_create(">pid|name|state|>created by");

	for (size_t i = 0; i < list->n; i++) {
		const struct kl_abi_detail_child *c = &list->entry[i].child;

		cli_table_add(table, "%d", c->pid);
		cli_table_add(table, "%s", cli_clean_comm(c->comm));
		cli_table_add(table, "%s", kl_detail_state_name(c->state));
		cli_table_add(table, "%d", c->parent);
	}
	cli_table_print(table, stdout, 2);
}

static json_t *child_json(const struct kl_detail *e)
{
	return json_pack("{s:i, s:o, s:s, s:i}", "pid", e->child.pid, "comm",
			 cli_json_text(e->child.comm), "state",
			 kl_detail_state_name(e->child.state), "parent", e->child.parent);
}

static void print_environment(const struct kl_details *list)
{
	const struct kl_detail *e = &list->entry[0];

	for (size_t at = 0; at < e->text_bytes; at += strlen(e->text + at) + 1) {
		fputs("  ", stdout);
		print_text(e->text + at, strlen(e->text + at));
		putchar('\n');
	}
}

/* ------------------------------------------------------------------ the page */

/**
 * struct section - a section of the page
 * @one: JSON of the only entry
 * @each: JSON of each entry of a list
 * @all: JSON of the whole list
 */
static const struct section {
	const char *name;
	const char *title;
	uint32_t what;
	void (*print)(const struct kl_details *list);
	json_t *(*one)(const struct kl_detail *entry);
	json_t *(*each)(const struct kl_detail *entry);
	json_t *(*all)(const struct kl_details *list);
} sections[CLI_PROC_SECTIONS] = {
	[CLI_PROC_TASK] = { .name = "task", .what = KL_DETAIL_TASK, .print = print_task },
	[CLI_PROC_WAIT] = { "wait", "waits for", KL_DETAIL_WAIT, cli_proc_print_wait,
			    .all = cli_proc_wait_json },
	[CLI_PROC_SYSCALL] = { "syscall", "system call", KL_DETAIL_SYSCALL, cli_proc_print_syscall,
			       .one = cli_proc_syscall_json },
	[CLI_PROC_STACK] = { "stack", "kernel stack trace", KL_DETAIL_STACK, cli_proc_print_stack,
			     .all = cli_proc_stack_json },
	[CLI_PROC_MEMORY] = { "memory", "memory", KL_DETAIL_MEMORY, cli_proc_print_memory,
			      .one = cli_proc_memory_json },
	[CLI_PROC_MAPS] = { "maps", "mappings", KL_DETAIL_MAPS, cli_proc_print_maps,
			    .each = cli_proc_map_json },
	[CLI_PROC_FILES] = { "files", "open files", KL_DETAIL_FILES, cli_proc_print_files,
			     .each = cli_proc_file_json },
	[CLI_PROC_SOCKETS] = { "sockets", "sockets", KL_DETAIL_SOCKETS, cli_proc_print_sockets,
			       .each = cli_proc_socket_json },
	[CLI_PROC_IO] = { "io", "I/O", KL_DETAIL_IO, print_io, .one = io_json },
	[CLI_PROC_SIGNALS] = { "signals", "signals", KL_DETAIL_SIGNALS, cli_proc_print_signals,
			       .one = cli_proc_signals_json },
	[CLI_PROC_RIGHTS] = { "rights", "rights", KL_DETAIL_RIGHTS, cli_proc_print_rights,
			      .one = cli_proc_rights_json },
	[CLI_PROC_LIMITS] = { "limits", "limits", KL_DETAIL_LIMITS, cli_proc_print_limits,
			      .one = cli_proc_limits_json },
	[CLI_PROC_AFFINITY] = { "affinity", "CPU affinity", KL_DETAIL_AFFINITY,
				cli_proc_print_affinity, .one = cli_proc_affinity_json },
	[CLI_PROC_NAMESPACES] = { "namespaces", "namespaces", KL_DETAIL_NAMESPACES,
				  print_namespaces, .each = namespace_json },
	[CLI_PROC_CGROUPS] = { "cgroups", "cgroups", KL_DETAIL_CGROUPS, print_cgroups,
			       .each = cgroup_json },
	[CLI_PROC_CHILDREN] = { "children", "children", KL_DETAIL_CHILDREN, print_children,
				.each = child_json },
	[CLI_PROC_ENV] = { "env", "environment", KL_DETAIL_ENVIRONMENT, print_environment,
			   .one = words_json },
};

const char *cli_proc_section_name(unsigned int section)
{
	return section < CLI_PROC_SECTIONS ? sections[section].name : NULL;
}

static bool has_ended(const struct kl_details *list, int error)
{
	return error == -ESRCH || list->flags & KL_DETAIL_ENDED;
}

static void print_section(struct kl_device *device, int pid, unsigned int number)
{
	const struct section *s = &sections[number];
	struct kl_details list;
	int error = kl_details_read(device, pid, s->what, &list);

	if (s->title)
		printf("\n%s%s%s\n", cli_style(stdout, CLI_BOLD), s->title,
		       cli_style(stdout, CLI_PLAIN));
	if (error) {
		printf("  %s\n", error == -ESRCH ? "the process has ended" : kl_error_text());
		return;
	}
	if (list.n)
		s->print(&list);
	else
		printf("  %s\n",
		       has_ended(&list, 0) ? "the process is exiting or has ended" : "none");
	if (list.flags & KL_DETAIL_CUT)
		puts("  ... list truncated");
	kl_details_deinit(&list);
}

static json_t *list_json(const struct section *s, const struct kl_details *list)
{
	json_t *array;

	if (s->all)
		return s->all(list);
	if (s->one)
		return list->n ? s->one(&list->entry[0]) : json_null();
	array = json_array();
	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(array, s->each(&list->entry[i]));
	return array;
}

static int write_json(struct kl_device *device, int pid, uint32_t wanted,
		      const struct kl_details *first)
{
	json_t *document = json_object(), *refused = json_object(), *task;
	bool ended = has_ended(first, 0);

	task = task_json(&first->entry[0].task);
	add_texts_json(device, pid, task);
	json_object_set_new(document, "task", task);
	for (unsigned int i = CLI_PROC_TASK + 1; i < CLI_PROC_SECTIONS; i++) {
		struct kl_details list;
		int error;

		if (!(wanted & 1u << i))
			continue;
		error = kl_details_read(device, pid, sections[i].what, &list);
		ended = ended || has_ended(&list, error);
		if (error)
			json_object_set_new(refused, sections[i].name,
					    cli_json_text(kl_error_text()));
		else
			json_object_set_new(document, sections[i].name,
					    list_json(&sections[i], &list));
		kl_details_deinit(&list);
	}
	json_object_set_new(document, "refused", refused);
	json_object_set_new(document, "ended", json_boolean(ended));
	return cli_json_write(document);
}

int cli_proc_details(struct kl_device *device, int pid, uint32_t wanted)
{
	struct kl_details first;
	int error = kl_details_read(device, pid, KL_DETAIL_TASK, &first), status = CLI_OK;

	if (!error && !first.n)
		error = -ESRCH;
	if (error == -ESRCH)
		status = cli_error(error, "process %d does not exist", pid);
	else if (error)
		status = cli_library_error(error, NULL);
	if (status != CLI_OK) {
		kl_details_deinit(&first);
		return status;
	}
	if (cli_settings.json) {
		status = write_json(device, pid, wanted, &first);
	} else {
		print_task(&first);
		if (wanted & 1u << CLI_PROC_TASK)
			print_texts(device, pid);
		for (unsigned int i = CLI_PROC_TASK + 1; i < CLI_PROC_SECTIONS; i++)
			if (wanted & 1u << i)
				print_section(device, pid, i);
	}
	kl_details_deinit(&first);
	return status;
}
