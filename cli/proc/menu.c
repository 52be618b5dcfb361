// SPDX-License-Identifier: GPL-2.0
/*
 * A numbered menu about one process: read a number and print the answer, until "exit" or the end of
 * input. Each answer is read from the module on request; that the process has ended in the meantime
 * is an answer, too. The last item sets a parameter.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "detail.h"

static void show_name(const struct kl_abi_detail_task *t)
{
	printf("  %s\n", cli_clean_comm(t->comm));
}

/* The kernel's thread group: the number that the threads of a process share. */
static void show_group(const struct kl_abi_detail_task *t)
{
	printf("  thread group %d\n", t->pid);
}

static void show_parent(const struct kl_abi_detail_task *t)
{
	if (t->ppid)
		printf("  %d\n", t->ppid);
	else
		puts("  none visible to you");
}

static void show_leader(const struct kl_abi_detail_task *t)
{
	printf("  thread group %d, process group %d, session %d\n", t->pid, t->pgid, t->sid);
}

static void show_priority(const struct kl_abi_detail_task *t)
{
	printf("  static %d (nice %d)\n  dynamic %d\n  normal %d\n", t->static_prio, t->nice,
	       t->prio, t->normal_prio);
}

static void show_state(const struct kl_abi_detail_task *t)
{
	printf("  %s, policy %s\n", kl_detail_state_name(t->state),
	       kl_detail_policy_name(t->policy));
}

static void show_cpu(const struct kl_abi_detail_task *t)
{
	printf("  CPU %u%s\n", t->cpu,
	       t->flags & KL_DETAIL_TASK_ON_CPU ? "" : ", when it last ran");
}

static void show_faults(const struct kl_abi_detail_task *t)
{
	printf("  %llu: %llu minor, %llu major\n",
	       (unsigned long long)(t->min_faults + t->maj_faults),
	       (unsigned long long)t->min_faults, (unsigned long long)t->maj_faults);
}

static void show_start(const struct kl_abi_detail_task *t)
{
	uint64_t s = t->start_ns / 1000000000;

	printf("  %02llu:%02llu:%02llu.%06llu after boot\n", (unsigned long long)(s / 3600),
	       (unsigned long long)(s / 60 % 60), (unsigned long long)(s % 60),
	       (unsigned long long)(t->start_ns / 1000 % 1000000));
}

/*
 * The number of symbolic links being followed was a member of the task until v4.2; now it is known
 * only during a path lookup.
 */
static void show_links(const struct kl_abi_detail_task *t)
{
	puts("  not available: Linux 4.2 and later do not keep it per task");
	if (t->exe_links)
		printf("  its executable has %u hard link%s\n", t->exe_links,
		       t->exe_links == 1 ? "" : "s");
}

static void show_segments(const struct kl_details *list)
{
	const struct kl_abi_detail_memory *m = &list->entry[0].memory;

	printf("  code  %#llx - %#llx\n", (unsigned long long)m->code_start,
	       (unsigned long long)m->code_end);
	printf("  data  %#llx - %#llx\n", (unsigned long long)m->data_start,
	       (unsigned long long)m->data_end);
	printf("  heap  %#llx - %#llx\n", (unsigned long long)m->heap_start,
	       (unsigned long long)m->heap_end);
	printf("  stack %#llx\n", (unsigned long long)m->stack_start);
}

static void show_children(const struct kl_details *list)
{
	for (size_t i = 0; i < list->n; i++)
		printf("  %d %s\n", list->entry[i].child.pid,
		       cli_clean_comm(list->entry[i].child.comm));
	if (!list->n)
		puts("  none");
}

static const struct item {
	const char *name;
	void (*task)(const struct kl_abi_detail_task *t);
	void (*list)(const struct kl_details *list);
	uint32_t what;
} items[] = {
	{ .name = "process name", .task = show_name },
	{ .name = "group id", .task = show_group },
	{ .name = "parent process", .task = show_parent },
	{ .name = "process group leader", .task = show_leader },
	{ "child processes created", NULL, show_children, KL_DETAIL_CHILDREN },
	{ "process memory segments", NULL, show_segments, KL_DETAIL_MEMORY },
	{ "virtual memory mapping", NULL, cli_proc_print_maps, KL_DETAIL_MAPS },
	{ .name = "process priority", .task = show_priority },
	{ .name = "process state", .task = show_state },
	{ .name = "cpu used by process", .task = show_cpu },
	{ .name = "total fault count of process", .task = show_faults },
	{ .name = "process start time", .task = show_start },
	{ .name = "process link count", .task = show_links },
	{ .name = "set a parameter" },
};

#define ITEMS (sizeof(items) / sizeof(*items))

static void print_menu(void)
{
	for (size_t i = 0; i < ITEMS; i++)
		printf("%2zu. %s\n", i + 1, items[i].name);
	puts(" 0. exit");
}

/* Returns false if the process does not exist, or no longer does. */
static bool answer(struct kl_device *device, int pid, const struct item *item)
{
	struct kl_details list;
	int error = kl_details_read(device, pid, item->task ? KL_DETAIL_TASK : item->what, &list);

	if (error == -ESRCH) {
		printf("  process %d does not exist\n", pid);
		return false;
	}
	if (error)
		printf("  %s\n", kl_error_text());
	else if (item->list && (list.n || item->what == KL_DETAIL_CHILDREN))
		item->list(&list);
	else if (item->task && list.n)
		item->task(&list.entry[0].task);
	else
		puts("  none: it is a kernel thread, or has ended");
	kl_details_deinit(&list);
	return true;
}

/* The texts may be cgroup paths, whose names the owner of a parent cgroup chooses. */
static void print_change(const struct kl_setting *setting, const struct kl_abi_set *told)
{
	printf("  %s was %s", kl_setting_name(setting->what),
	       cli_clean_text(told->old_text, strnlen(told->old_text, sizeof(told->old_text))));
	printf(", is now %s\n",
	       cli_clean_text(told->new_text, strnlen(told->new_text, sizeof(told->new_text))));
}

/* Read a line with a parameter and its value, and set it; an empty line does nothing. */
static void set_parameter(struct kl_device *device, int pid, uint64_t start_ns)
{
	struct kl_setting setting;
	struct kl_abi_set told;
	char line[512];

	printf("NAME=VALUE: ");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return;
	line[strcspn(line, "\n")] = 0;
	if (!line[0])
		return;
	if (kl_setting_parse(&setting, line) || kl_set(device, pid, start_ns, &setting, &told))
		printf("  %s\n", kl_error_text());
	else if (told.flags & KL_SET_TOLD)
		print_change(&setting, &told);
}

/* Start time of the process; 0 if it does not exist. */
static uint64_t start_of(struct kl_device *device, int pid)
{
	struct kl_details list;
	uint64_t start_ns = 0;

	if (kl_details_read(device, pid, KL_DETAIL_TASK, &list))
		return 0;
	if (list.n)
		start_ns = list.entry[0].task.start_ns;
	kl_details_deinit(&list);
	return start_ns;
}

int cli_proc_menu(struct kl_device *device, int pid)
{
	uint64_t start_ns = start_of(device, pid);
	char line[64];
	bool there = answer(device, pid, &items[0]);

	if (!there)
		return CLI_FAILED;
	print_menu();
	for (;;) {
		uint64_t number;

		printf("option: ");
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			break;
		line[strcspn(line, "\n")] = 0;
		if (!strcmp(line, "exit") || !strcmp(line, "quit") || !strcmp(line, "0"))
			break;
		if (!cli_parse_unsigned(line, ITEMS, &number) || !number)
			print_menu();
		else if (number == ITEMS)
			set_parameter(device, pid, start_ns);
		else
			there = answer(device, pid, &items[number - 1]);
	}
	return there ? CLI_OK : CLI_FAILED;
}
