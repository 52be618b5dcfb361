// SPDX-License-Identifier: GPL-2.0
/* Lists of details against /proc, entry by entry, and against lsof, pmap and ss. */
#include <dirent.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>

#include "details.h"

static char *link_of(pid_t pid, const char *name)
{
	static char text[5000];
	char path[100];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	n = readlink(path, text, sizeof(text) - 1);
	text[n < 0 ? 0 : n] = 0;
	return text;
}

static void test_text(pid_t pid, u32 what, const char *name)
{
	struct kl_details list = get(pid, what);
	char title[60];
	size_t bytes;
	char *text = read_proc(pid, name, &bytes);

	snprintf(title, sizeof(title), "%s: as /proc", name);
	tap_result(list.n == 1 && bytes && list.entry[0].text_bytes == bytes &&
			   !memcmp(list.entry[0].text, text, bytes),
		   title, "%zu bytes, %zu", list.n ? list.entry[0].text_bytes : 0, bytes);
	kl_details_deinit(&list);
}

static void test_paths(pid_t pid)
{
	static const char *const names[] = { "exe", "cwd", "root" };
	struct kl_details list = get(pid, KL_DETAIL_PATHS);
	u32 same = 0;

	for (size_t i = 0; i < list.n; i++)
		same += !strcmp(list.entry[i].text, link_of(pid, names[list.entry[i].path.which]));
	tap_result(list.n == 3 && same == 3, "paths: as /proc", "%u of %zu", same, list.n);
	kl_details_deinit(&list);
}

static void test_namespaces(pid_t pid)
{
	struct kl_details list = get(pid, KL_DETAIL_NAMESPACES);
	u32 same = 0, other = 0;

	for (size_t i = 0; i < list.n; i++) {
		const char *name = kl_detail_namespace_name(&list.entry[i].ns);
		char path[40], *text;

		snprintf(path, sizeof(path), "ns/%s", name);
		text = strchr(link_of(pid, path), '[');
		same += text && strtoul(text + 1, NULL, 10) == list.entry[i].ns.inode;
		other += !list.entry[i].ns.same;
	}
	tap_result(list.n == 10 && same == 10 && other == 1, "namespaces: as /proc/PID/ns",
		   "%u of %zu, %u others", same, list.n, other);
	kl_details_deinit(&list);
}

static void test_cgroups(pid_t pid)
{
	struct kl_details list = get(pid, KL_DETAIL_CGROUPS);
	const char *text = read_proc(pid, "cgroup", NULL);
	u32 same = 0, lines = 0;

	for (const char *at = text; *at; at = strchr(at, '\n') + 1)
		lines++;
	for (size_t i = 0; i < list.n; i++) {
		char line[5000];

		snprintf(line, sizeof(line), "%u:%s:%s\n", list.entry[i].cgroup.hierarchy,
			 list.entry[i].text, list.entry[i].more);
		same += !!strstr(text, line);
	}
	tap_result(list.n && same == list.n && lines == list.n, "cgroups: as /proc/PID/cgroup",
		   "%u of %zu, %u lines: %s", same, list.n, lines, text);
	kl_details_deinit(&list);
}

static void test_children(pid_t pid)
{
	struct kl_details list = get(pid, KL_DETAIL_CHILDREN);
	u32 same = 0, zombies = 0, n = 0;
	char name[40], *at, *end;

	snprintf(name, sizeof(name), "task/%d/children", pid);
	at = read_proc(pid, name, NULL);
	for (; strtol(at, &end, 10) && end != at; at = end, n++)
		for (size_t i = 0; i < list.n; i++)
			same += list.entry[i].child.pid == strtol(at, NULL, 10) &&
				list.entry[i].child.parent == pid;
	for (size_t i = 0; i < list.n; i++)
		zombies += list.entry[i].child.state == KL_TASK_STATE_ZOMBIE;
	tap_result(n == 4 && list.n == 4 && same == 4 && zombies == 1,
		   "children: as /proc/PID/task/PID/children", "%u of %zu, %u there, %u zombies",
		   same, list.n, n, zombies);
	kl_details_deinit(&list);
}

static void test_call(pid_t pid)
{
	struct kl_details list = get(pid, KL_DETAIL_SYSCALL);
	const struct kl_abi_detail_syscall *s = &list.entry[0].syscall;
	char text[400];

	snprintf(text, sizeof(text), "%d %#llx %#llx %#llx %#llx %#llx %#llx %#llx %#llx\n",
		 s->number, (unsigned long long)s->argument[0], (unsigned long long)s->argument[1],
		 (unsigned long long)s->argument[2], (unsigned long long)s->argument[3],
		 (unsigned long long)s->argument[4], (unsigned long long)s->argument[5],
		 (unsigned long long)s->sp, (unsigned long long)s->ip);
	/* printf() prints 0 without "0x". */
	for (char *at; (at = strstr(text, " 0 "));)
		memmove(at + 5, at + 3, strlen(at + 3) + 1), memcpy(at, " 0x0 ", 5);
	tap_result(s->number >= 0 && !strcmp(text, read_proc(pid, "syscall", NULL)),
		   "system call: as /proc/PID/syscall", "%s%s", text,
		   read_proc(pid, "syscall", NULL));
	kl_details_deinit(&list);
}

/* The kernel omits the scheduler's frames, which we show. */
static void test_stack(pid_t pid)
{
	struct kl_details list = get(pid, KL_DETAIL_STACK);
	struct kl_symbols *symbols = kl_symbols_open(NULL);
	char *at = read_proc(pid, "stack", NULL);
	u32 n = 0, same = 0, skipped = 0;

	for (size_t i = 0; i < list.n && *at; i++) {
		char line[300], wanted[300];
		struct kl_symbol symbol;
		uint64_t offset;

		if (kl_symbols_at(symbols, list.entry[i].frame.address, &symbol, &offset))
			bail("%s", kl_error_text());
		snprintf(wanted, sizeof(wanted), "[<0>] %s+%#llx/", symbol.name,
			 (unsigned long long)offset);
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
		if (!n && strncmp(line, wanted, strlen(wanted))) {
			skipped++;
			continue;
		}
		n++;
		same += !strncmp(line, wanted, strlen(wanted));
		at += strcspn(at, "\n") + 1;
	}
	tap_result(n > 2 && same == n && !*at && skipped <= 3, "call trace: as /proc/PID/stack",
		   "%u of %u, %u skipped, left: %s", same, n, skipped, at);
	kl_symbols_close(symbols);
	kl_details_deinit(&list);
}

void test_lists(pid_t pid)
{
	test_text(pid, KL_DETAIL_COMMAND, "cmdline");
	test_text(pid, KL_DETAIL_ENVIRONMENT, "environ");
	test_paths(pid);
	test_namespaces(pid);
	test_cgroups(pid);
	test_children(pid);
	test_call(pid);
	test_stack(pid);
}

/* ---------------------------------------------------------------------- files */

static bool is_file_same(pid_t pid, const struct kl_detail *e)
{
	const struct kl_abi_detail_file *f = &e->file;
	char name[40];
	const char *text;
	u32 flags;

	snprintf(name, sizeof(name), "fd/%d", f->fd);
	if (strcmp(e->text, link_of(pid, name)))
		return false;
	snprintf(name, sizeof(name), "fdinfo/%d", f->fd);
	text = read_proc(pid, name, NULL);
	flags = f->open_flags | (f->flags & KL_DETAIL_FILE_CLOEXEC ? O_CLOEXEC : 0);
	if (f->position != strtoull(find_line(text, "pos"), NULL, 10) ||
	    flags != strtoul(find_line(text, "flags"), NULL, 8))
		return false;
	/* fdinfo contains it only since v5.14. */
	if (find_line(text, "ino") && f->inode != strtoull(find_line(text, "ino"), NULL, 10))
		return false;
	/* The remaining time has changed by now. */
	if (f->kind == KL_DETAIL_FILE_TIMERFD)
		return !strncmp(find_line(text, "clockid"), find_line(e->more, "clockid"), 20);
	return !e->more_bytes || strstr(text, e->more);
}

static u32 count_fds(pid_t pid)
{
	struct dirent *entry;
	char path[40];
	DIR *dir;
	u32 n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	if (!dir)
		bail("%s", path);
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

void test_files(pid_t pid, const char *what)
{
	struct kl_details list = get(pid, KL_DETAIL_FILES);
	u32 same = 0, there = count_fds(pid), kinds = 0;
	char title[100], first[300] = "";

	for (size_t i = 0; i < list.n; i++) {
		bool is_same = is_file_same(pid, &list.entry[i]);

		same += is_same;
		kinds |= 1u << list.entry[i].file.kind;
		if (!is_same && !*first)
			snprintf(first, sizeof(first), "%d %.200s", list.entry[i].file.fd,
				 list.entry[i].text);
	}
	snprintf(title, sizeof(title), "files of %s: as /proc/PID/fd and fdinfo", what);
	tap_result(list.n && list.n == there && same == there, title,
		   "%u of %zu same, %u there, %s", same, list.n, there, first);
	if (pid != 1)
		tap_result(there > SUBJECT_FD_MANY && __builtin_popcount(kinds) >= 15,
			   "files: of all kinds", "%u files, kinds %#x", there, kinds);
	kl_details_deinit(&list);
}

/* ------------------------------------------------------------------- mappings */

static u64 kilobytes(const char *text, const char *name)
{
	const char *at = find_line(text, name);

	return at ? strtoull(at, NULL, 10) << 10 : 0;
}

/* @text: a mapping's entry in smaps. */
static bool is_map_same(const struct kl_detail *e, const char *text)
{
	const struct kl_abi_detail_map *m = &e->map;
	unsigned long start, end, offset, inode;
	unsigned int major, minor;
	char mode[5], name[4200] = "";

	if (sscanf(text, "%lx-%lx %4s %lx %x:%x %lu%*[ ]%4199[^\n]", &start, &end, mode, &offset,
		   &major, &minor, &inode, name) < 7)
		return false;
	return m->start == start && m->end == end &&
	       mode[0] == (m->flags & KL_DETAIL_MAP_READ ? 'r' : '-') &&
	       mode[1] == (m->flags & KL_DETAIL_MAP_WRITE ? 'w' : '-') &&
	       mode[2] == (m->flags & KL_DETAIL_MAP_EXEC ? 'x' : '-') &&
	       mode[3] == (m->flags & KL_DETAIL_MAP_SHARED ? 's' : 'p') && m->offset == offset &&
	       m->dev_major == major && m->dev_minor == minor && m->inode == inode &&
	       !strcmp(e->text, name) && m->rss == kilobytes(text, "Rss") &&
	       m->swapped == kilobytes(text, "Swap") &&
	       m->huge == kilobytes(text, "AnonHugePages") + kilobytes(text, "ShmemPmdMapped") +
				  kilobytes(text, "FilePmdMapped") &&
	       m->hugetlb ==
		       kilobytes(text, "Shared_Hugetlb") + kilobytes(text, "Private_Hugetlb") &&
	       m->page_bytes == kilobytes(text, "KernelPageSize");
}

#define NR_HUGEPAGES "/proc/sys/vm/nr_hugepages"
#define TRANSPARENT_HUGEPAGE "/sys/kernel/mm/transparent_hugepage"

void test_maps(pid_t pid, const char *what)
{
	struct kl_details list = get(pid, KL_DETAIL_MAPS);
	char *text = read_proc(pid, "smaps", NULL), title[100], first[300] = "";
	u32 same = 0, n = 0, huge = 0, hugetlb = 0;
	bool has_hugetlb = !access(NR_HUGEPAGES, F_OK);
	bool has_huge = !access(TRANSPARENT_HUGEPAGE, F_OK);

	for (char *end; *text; text = end, n++) {
		/* The entry ends with the line of VmFlags. */
		end = strstr(text, "VmFlags:");
		end = strchr(end, '\n') + 1;
		end[-1] = 0;
		/* Not the process's own; the kernel adds it to each list. */
		if (strstr(text, "[vsyscall]")) {
			n--;
			continue;
		}
		if (n < list.n && is_map_same(&list.entry[n], text)) {
			same++;
			huge += list.entry[n].map.huge > 0;
			hugetlb += list.entry[n].map.hugetlb > 0;
		} else if (!*first && n < list.n) {
			snprintf(first, sizeof(first), "%llx %s rss %llu huge %llu: %.250s",
				 (unsigned long long)list.entry[n].map.start, list.entry[n].text,
				 (unsigned long long)list.entry[n].map.rss,
				 (unsigned long long)list.entry[n].map.huge, text);
		}
	}
	snprintf(title, sizeof(title), "mappings of %s: as /proc/PID/smaps", what);
	tap_result(n && same == n && n == list.n, title, "%u of %zu same, %u there: %s", same,
		   list.n, n, first);
	if (pid != 1)
		tap_result(n > SUBJECT_MAPS_MANY && (huge || !has_huge) &&
				   (hugetlb || !has_hugetlb),
			   "mappings: many, huge pages and hugetlb", "%u, %u huge, %u hugetlb", n,
			   huge, hugetlb);
	if (pid != 1 && !has_hugetlb)
		tap_skip("mappings: hugetlb", "the kernel has no " NR_HUGEPAGES);
	if (pid != 1 && !has_huge)
		tap_skip("mappings: huge pages", "the kernel has no " TRANSPARENT_HUGEPAGE);
	kl_details_deinit(&list);
}

/* ---------------------------------------------------------------------- tools */

static void test_pmap(pid_t pid)
{
	struct kl_details list = get(pid, KL_DETAIL_MAPS);
	unsigned long long size = 0, rss = 0, all[2] = {};
	char command[60], line[5000];
	FILE *pmap;

	snprintf(command, sizeof(command), "pmap -x %d", pid);
	pmap = popen(command, "r");
	if (!pmap)
		bail("%s", command);
	while (fgets(line, sizeof(line), pmap))
		sscanf(line, "total kB %llu %llu", &all[0], &all[1]);
	pclose(pmap);
	for (size_t i = 0; i < list.n; i++) {
		size += list.entry[i].map.end - list.entry[i].map.start;
		rss += list.entry[i].map.rss;
	}
	/* It counts the kernel's vsyscall page. */
	tap_result(size && size >> 10 <= all[0] && all[0] - (size >> 10) <= 4 &&
			   rss >> 10 == all[1],
		   "mappings: sums as pmap -x", "%llu %llu, %llu %llu", size >> 10, all[0],
		   rss >> 10, all[1]);
	kl_details_deinit(&list);
}

/* lsof's name for types that we name differently. */
static bool is_lsof_type(const char *type, const struct kl_abi_detail_file *f)
{
	switch (f->kind) {
	case KL_DETAIL_FILE_REGULAR:
	case KL_DETAIL_FILE_MEMFD:
	case KL_DETAIL_FILE_NAMESPACE:
		return !strcmp(type, "REG");
	case KL_DETAIL_FILE_DIRECTORY:
		return !strcmp(type, "DIR");
	case KL_DETAIL_FILE_CHARACTER:
		return !strcmp(type, "CHR");
	case KL_DETAIL_FILE_PIPE:
	case KL_DETAIL_FILE_FIFO:
		return !strcmp(type, "FIFO");
	case KL_DETAIL_FILE_LINK:
		return !strcmp(type, "LINK") || !strcmp(type, "REG");
	case KL_DETAIL_FILE_SOCKET:
		return !strcmp(type, "unix") || !strcmp(type, "IPv4") || !strcmp(type, "IPv6") ||
		       !strcmp(type, "netlink") || !strcmp(type, "raw") || !strcmp(type, "sock");
	default:
		return !strcmp(type, "a_inode") || !strcmp(type, "unknown");
	}
}

static void test_lsof(pid_t pid)
{
	struct kl_details list = get(pid, KL_DETAIL_FILES);
	char command[60], line[5000], first[100] = "";
	u32 there = 0, same = 0;
	FILE *lsof;
	int fd = -1;

	snprintf(command, sizeof(command), "lsof -n -P -p %d -F ft 2>/dev/null", pid);
	lsof = popen(command, "r");
	if (!lsof)
		bail("%s", command);
	while (fgets(line, sizeof(line), lsof)) {
		bool is_same = false;

		line[strcspn(line, "\n")] = 0;
		if (line[0] == 'f')
			fd = line[1] >= '0' && line[1] <= '9' ? atoi(line + 1) : -1;
		if (line[0] != 't' || fd < 0)
			continue;
		there++;
		for (size_t i = 0; i < list.n; i++)
			is_same = is_same || (list.entry[i].file.fd == fd &&
					      is_lsof_type(line + 1, &list.entry[i].file));
		same += is_same;
		if (!is_same && !*first)
			snprintf(first, sizeof(first), "%d %.80s", fd, line + 1);
	}
	pclose(lsof);
	tap_result(there && there == list.n && same == there, "files: as lsof",
		   "%u of %zu, %u there, %s", same, list.n, there, first);
	kl_details_deinit(&list);
}

/* Compares the addresses as ss prints them, except for names that it omits. */
static bool is_ss_same(const struct kl_abi_detail_socket *s, char *line)
{
	char kind[20], state[20], local[200], more[200];
	unsigned long long recv, send;
	struct kl_buffer text = {};
	bool same;

	if (sscanf(line, "%19s %19s %llu %llu %199s %199s", kind, state, &recv, &send, local,
		   more) != 6)
		return false;
	same = !strcmp(state, kl_detail_socket_state_name(s)) && recv == s->recv_queue &&
	       send == s->send_queue;
	if (!strncmp(kind, "tcp", 3) || !strncmp(kind, "udp", 3)) {
		kl_detail_add_address(&text, s->local, s->local_bytes);
		same = same && !strcmp(text.data, local) &&
		       !strncmp(kl_detail_protocol_name(s), kind, 3);
	} else if (s->local_bytes > 2) {
		kl_detail_add_address(&text, s->local, s->local_bytes);
		same = same && !strcmp(text.data, local);
	}
	kl_buffer_deinit(&text);
	return same;
}

static bool names_inode(const char *line, const struct kl_abi_detail_socket *s)
{
	unsigned long long inode = 0;
	char text[40];

	/* "u_str ESTAB 0 0 NAME INODE ..." */
	if (s->family == AF_UNIX)
		return !strncmp(line, "u_", 2) &&
		       sscanf(line, "%*s %*s %*s %*s %*s %llu", &inode) == 1 && inode == s->inode;
	snprintf(text, sizeof(text), " ino:%llu ", (unsigned long long)s->inode);
	return strstr(line, text);
}

/* Does the kernel report AF_UNIX sockets to ss? Otherwise ss reads /proc, which has no queues. */
static bool has_unix_diag(void)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req params;
	} request = {
		.head = { sizeof(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP },
		.params = { .sdiag_family = AF_UNIX, .udiag_states = ~0u },
	};
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
	struct {
		struct nlmsghdr head;
		char rest[8192];
	} answer = {};

	if (fd < 0 || send(fd, &request, sizeof(request), 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) < 0)
		bail("sock_diag");
	close(fd);
	return answer.head.nlmsg_type != NLMSG_ERROR;
}

/* For each address family the subject has eight sockets that ss knows, three of which hold data. */
static void test_ss(pid_t pid)
{
	struct kl_details list = get(pid, KL_DETAIL_SOCKETS);
	u32 same = 0, there = 0, wanted = 0, states = 0, bytes = 0;
	u32 families = 1 + has_family(AF_INET6);
	char line[5000], first[300] = "";
	FILE *ss = popen("ss -H -n -a -e -t -u -x", "r");

	for (size_t i = 0; i < list.n; i++) {
		const struct kl_abi_detail_socket *s = &list.entry[i].socket;

		/* The kernel lists no sockets that are not bound to anything. */
		wanted += s->family == AF_UNIX ||
			  (s->type != SOCK_RAW && s->family != AF_NETLINK && s->state != 7) ||
			  (s->type == SOCK_DGRAM && s->family != AF_NETLINK);
		states |= 1u << s->state;
		bytes += s->recv_queue && s->state != 10;
	}
	if (!ss)
		bail("ss");
	while (fgets(line, sizeof(line), ss)) {
		for (size_t i = 0; i < list.n; i++) {
			const struct kl_abi_detail_socket *s = &list.entry[i].socket;

			if (!names_inode(line, s))
				continue;
			there++;
			if (is_ss_same(s, line))
				same++;
			else if (!*first)
				snprintf(first, sizeof(first), "%d %llu %llu %.200s", s->fd,
					 (unsigned long long)s->recv_queue,
					 (unsigned long long)s->send_queue, line);
		}
	}
	pclose(ss);
	if (families == 1)
		tap_skip("sockets: IPv6", strerror(EAFNOSUPPORT));
	if (!has_unix_diag())
		tap_skip("sockets: as ss", "the kernel has no unix_diag");
	else
		tap_result(there >= wanted && same == there && wanted > 4 + 8 * families,
			   "sockets: as ss", "%u of %u same, %u wanted, %zu listed: %s", same,
			   there, wanted, list.n, first);
	tap_result(__builtin_popcount(states) >= 5 && bytes >= 3 * families,
		   "sockets: in several states, with bytes in them", "%#x, %u", states, bytes);
	kl_details_deinit(&list);
}

void test_tools(pid_t pid)
{
	test_pmap(pid);
	test_lsof(pid);
	test_ss(pid);
}
