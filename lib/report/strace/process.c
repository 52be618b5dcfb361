// SPDX-License-Identifier: GPL-2.0
/* Processes: programs, threads, waiting, limits, identity, scheduling, futexes. */
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "../../base/base.h"
#include "printers.h"

void kl_arg_argv(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	uint64_t list = c->arg[i], at;

	if (!list || !kl_call_peek(c, list, &at, sizeof(at)))
		return kl_call_address(c->out, list);
	kl_buffer_add_char(c->out, '[');
	for (uint64_t k = 0; kl_call_peek(c, list + k * sizeof(at), &at, sizeof(at)) && at; k++) {
		if (kl_array_next(c->out, k))
			break;
		if (!kl_call_string(c, at))
			kl_call_address(c->out, at);
	}
	kl_buffer_add_char(c->out, ']');
}

void kl_arg_envp(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	const struct kl_piece *list = kl_call_find_list(c, c->arg[i]);

	kl_call_address(c->out, c->arg[i]);
	if (list)
		kl_buffer_printf(c->out, " /* %s%u var%s */", list->has_more ? "at least " : "",
				 list->entries, list->entries == 1 ? "" : "s");
}

/* ---------------------------------------------------------------- threads */

static void print_clone_flags(struct kl_call *c, uint64_t flags, uint32_t sig)
{
	kl_buffer_add_string(c->out, "flags=");
	if (flags)
		kl_call_flags(c->out, &kl_words_clone, flags);
	if (sig) {
		if (flags)
			kl_buffer_add_char(c->out, '|');
		kl_put_signal(c->out, sig);
	}
	if (!flags && !sig)
		kl_buffer_add_char(c->out, '0');
}

void kl_print_clone(struct kl_call *c)
{
	uint64_t flags = c->arg[0];

	if (!c->leaving) {
		kl_buffer_add_string(c->out, "child_stack=");
		kl_call_address(c->out, c->arg[1]);
		kl_comma(c);
		print_clone_flags(c, flags & ~(uint64_t)CSIGNAL, flags & CSIGNAL);
		return;
	}
	if (flags & (CLONE_PARENT_SETTID | CLONE_PIDFD)) {
		kl_buffer_add_string(c->out, ", parent_tid=");
		if (kl_call_succeeded(c))
			kl_call_numbers(c, c->arg[2], 1);
		else
			kl_call_address(c->out, c->arg[2]);
	}
	if (flags & CLONE_SETTLS) {
		kl_buffer_add_string(c->out, ", tls=");
		kl_call_address(c->out, c->arg[4]);
	}
	if (flags & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID)) {
		kl_buffer_add_string(c->out, ", child_tidptr=");
		kl_call_address(c->out, c->arg[3]);
	}
}

static void print_field(struct kl_call *c, const char *name, uint64_t address)
{
	kl_buffer_printf(c->out, ", %s=", name);
	kl_call_address(c->out, address);
}

static void print_clone_args(struct kl_call *c, const struct clone_args *a)
{
	kl_buffer_add_char(c->out, '{');
	print_clone_flags(c, a->flags, 0);
	if (a->flags & CLONE_PIDFD)
		print_field(c, "pidfd", a->pidfd);
	if (a->flags & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID))
		print_field(c, "child_tid", a->child_tid);
	if (a->flags & CLONE_PARENT_SETTID)
		print_field(c, "parent_tid", a->parent_tid);
	kl_buffer_add_string(c->out, ", exit_signal=");
	kl_put_signal(c->out, a->exit_signal);
	print_field(c, "stack", a->stack);
	kl_buffer_add_string(c->out, ", stack_size=");
	kl_call_hex(c->out, a->stack_size);
	if (a->flags & CLONE_SETTLS)
		print_field(c, "tls", a->tls);
	kl_buffer_add_char(c->out, '}');
}

static void print_clone_results(struct kl_call *c, const struct clone_args *a)
{
	const char *separator = " => {";

	if (!kl_call_succeeded(c))
		return;
	if (a->flags & CLONE_PIDFD) {
		kl_buffer_printf(c->out, "%spidfd=", separator);
		kl_call_numbers(c, a->pidfd, 1);
		separator = ", ";
	}
	if (a->flags & CLONE_PARENT_SETTID) {
		kl_buffer_printf(c->out, "%sparent_tid=", separator);
		kl_call_numbers(c, a->parent_tid, 1);
		separator = ", ";
	}
	if (separator[0] == ',')
		kl_buffer_add_char(c->out, '}');
}

/* The number of bytes comes last, after what the call has written. */
void kl_print_clone3(struct kl_call *c)
{
	struct clone_args a = {};
	size_t bytes = c->arg[1] < sizeof(a) ? c->arg[1] : sizeof(a);
	bool known = bytes >= CLONE_ARGS_SIZE_VER0 && kl_call_peek_entry(c, c->arg[0], &a, bytes);
	bool late = known && a.flags & (CLONE_PARENT_SETTID | CLONE_PIDFD);

	if (!c->leaving && known)
		print_clone_args(c, &a);
	else if (!c->leaving)
		kl_call_address(c->out, c->arg[0]);
	else if (late)
		print_clone_results(c, &a);
	if (c->leaving == late)
		kl_buffer_printf(c->out, ", %llu", (unsigned long long)c->arg[1]);
}

static void put_wait_status(struct kl_buffer *out, int status)
{
	if (WIFEXITED(status)) {
		kl_buffer_printf(out, "{WIFEXITED(s) && WEXITSTATUS(s) == %d}",
				 WEXITSTATUS(status));
		return;
	}
	if (WIFCONTINUED(status))
		return kl_buffer_add_string(out, "{WIFCONTINUED(s)}");
	if (WIFSTOPPED(status)) {
		kl_buffer_add_string(out, "{WIFSTOPPED(s) && WSTOPSIG(s) == ");
		kl_put_signal(out, WSTOPSIG(status));
	} else {
		kl_buffer_add_string(out, "{WIFSIGNALED(s) && WTERMSIG(s) == ");
		kl_put_signal(out, WTERMSIG(status));
		if (WCOREDUMP(status))
			kl_buffer_add_string(out, " && WCOREDUMP(s)");
	}
	kl_buffer_add_char(out, '}');
}

void kl_arg_status(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	int status;

	if (!kl_call_succeeded(c) || !c->result ||
	    !kl_call_peek(c, c->arg[i], &status, sizeof(status)))
		return kl_call_address(c->out, c->arg[i]);
	kl_buffer_add_char(c->out, '[');
	put_wait_status(c->out, status);
	kl_buffer_add_char(c->out, ']');
}

void kl_arg_rusage(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct rusage usage;

	if (!kl_call_succeeded(c) || !kl_call_peek(c, c->arg[i], &usage, sizeof(usage)))
		return kl_call_address(c->out, c->arg[i]);
	kl_buffer_add_string(c->out, "{ru_utime=");
	kl_put_timeval(c->out, &usage.ru_utime);
	kl_buffer_add_string(c->out, ", ru_stime=");
	kl_put_timeval(c->out, &usage.ru_stime);
	kl_buffer_add_string(c->out, ", ...}");
}

static void put_limit(struct kl_buffer *out, uint64_t limit)
{
	if (limit == RLIM64_INFINITY)
		kl_buffer_add_string(out, "RLIM64_INFINITY");
	else if (limit > 1024 && !(limit % 1024))
		kl_buffer_printf(out, "%llu*1024", (unsigned long long)limit / 1024);
	else
		kl_buffer_printf(out, "%llu", (unsigned long long)limit);
}

void kl_arg_rlimit(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	uint64_t limit[2];

	if ((kind->is_out && !kl_call_succeeded(c)) ||
	    !kl_call_peek(c, c->arg[i], limit, sizeof(limit)))
		return kl_call_address(c->out, c->arg[i]);
	kl_buffer_add_string(c->out, "{rlim_cur=");
	put_limit(c->out, limit[0]);
	kl_buffer_add_string(c->out, ", rlim_max=");
	put_limit(c->out, limit[1]);
	kl_buffer_add_char(c->out, '}');
}

/* --------------------------------------------------------------- machine */

void kl_arg_uname(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct utsname name;

	if (!kl_call_succeeded(c) || !kl_call_peek(c, c->arg[i], &name, sizeof(name)))
		return kl_call_address(c->out, c->arg[i]);
	kl_buffer_add_string(c->out, "{sysname=");
	kl_call_string(c, c->arg[i]);
	kl_buffer_add_string(c->out, ", nodename=");
	kl_call_string(c, c->arg[i] + sizeof(name.sysname));
	kl_buffer_add_string(c->out, ", ...}");
}

void kl_arg_sysinfo(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct sysinfo s;

	if (!kl_call_succeeded(c) || !kl_call_peek(c, c->arg[i], &s, sizeof(s)))
		return kl_call_address(c->out, c->arg[i]);
	kl_buffer_printf(c->out, "{uptime=%ld, loads=[%lu, %lu, %lu], totalram=%lu, freeram=%lu",
			 s.uptime, s.loads[0], s.loads[1], s.loads[2], s.totalram, s.freeram);
	kl_buffer_printf(c->out, ", sharedram=%lu, bufferram=%lu, totalswap=%lu, freeswap=%lu",
			 s.sharedram, s.bufferram, s.totalswap, s.freeswap);
	kl_buffer_printf(c->out, ", procs=%u, totalhigh=%lu, freehigh=%lu, mem_unit=%u}", s.procs,
			 s.totalhigh, s.freehigh, s.mem_unit);
}

void kl_arg_cpus(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	uint8_t set[128];
	uint64_t bytes = kind->is_out ? (uint64_t)c->result : (uint32_t)c->arg[i - 1];
	const char *separator = "[";

	if (bytes > sizeof(set))
		bytes = sizeof(set);
	if ((kind->is_out && !kl_call_succeeded(c)) || !kl_call_peek(c, c->arg[i], set, bytes))
		return kl_call_address(c->out, c->arg[i]);
	for (unsigned int cpu = 0; cpu < 8 * bytes; cpu++) {
		if (!(set[cpu / 8] >> cpu % 8 & 1))
			continue;
		kl_buffer_printf(c->out, "%s%u", separator, cpu);
		separator = " ";
	}
	kl_buffer_add_string(c->out, *separator == '[' ? "[]" : "]");
}

/* Of getgroups, the result is the number; of setgroups, the first argument. */
void kl_arg_groups(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	int64_t n = kind->is_out ? c->result : (int32_t)c->arg[0];
	uint32_t group;

	if (!c->arg[i] || (kind->is_out && !kl_call_succeeded(c)))
		return kl_call_address(c->out, c->arg[i]);
	if (kind->is_out && !c->arg[0])
		n = 0;
	kl_buffer_add_char(c->out, '[');
	for (int64_t k = 0; k < n && !kl_array_next(c->out, k); k++) {
		if (!kl_call_peek(c, c->arg[i] + k * sizeof(group), &group, sizeof(group)))
			break;
		kl_buffer_add_unsigned(c->out, group, 0);
	}
	kl_buffer_add_char(c->out, ']');
}

/* ------------------------------------------------------------ capabilities */

void kl_arg_cap_header(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct __user_cap_header_struct header;

	if (!kl_call_peek_entry(c, c->arg[i], &header, sizeof(header)))
		return kl_call_address(c->out, c->arg[i]);
	if (header.version == _LINUX_CAPABILITY_VERSION_3)
		kl_buffer_add_string(c->out, "{version=_LINUX_CAPABILITY_VERSION_3");
	else
		kl_buffer_printf(c->out, "{version=%#x /* _LINUX_CAPABILITY_VERSION_??? */",
				 header.version);
	kl_buffer_printf(c->out, ", pid=%d}", header.pid);
}

static void put_capabilities(struct kl_buffer *out, uint64_t set)
{
	const char *separator = "";

	if (!set)
		kl_buffer_add_char(out, '0');
	for (unsigned int number = 0; set; number++, set >>= 1) {
		if (!(set & 1))
			continue;
		kl_buffer_printf(out, "%s1<<", separator);
		kl_call_choice(out, &kl_words_capabilities, number);
		separator = "|";
	}
}

void kl_arg_cap_data(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	static const char *const names[] = { "{effective=", ", permitted=", ", inheritable=" };
	uint32_t words[6];

	if ((kind->is_out && !kl_call_succeeded(c)) ||
	    !kl_call_peek(c, c->arg[i], words, sizeof(words)))
		return kl_call_address(c->out, c->arg[i]);
	for (unsigned int k = 0; k < 3; k++) {
		kl_buffer_add_string(c->out, names[k]);
		put_capabilities(c->out, words[k] | (uint64_t)words[k + 3] << 32);
	}
	kl_buffer_add_char(c->out, '}');
}
