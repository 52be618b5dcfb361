// SPDX-License-Identifier: GPL-2.0
/*
 * The reason for a wait: determined by the innermost function of its stack trace that is listed
 * below, else by the system call. Used by the reports of latency profiles.
 */
#include <string.h>

#include <kernlens/latency.h>
#include "../base/base.h"
#include "../base/names.h"

/* Functions of both supported kernels. The first matching row applies. */
static const struct row {
	const char *function;
	const char *reason;
} functions[] = {
	{ "futex_lock_pi*", "futex (PI)" },
	{ "futex_wait*", "futex" },
	{ "__futex_wait*", "futex" },
	{ "pipe_*", "pipe" },
	{ "anon_pipe_*", "pipe" },
	{ "fifo_open", "pipe" },
	{ "wait_for_partner", "pipe" },
	{ "ep_poll", "poll" },
	{ "do_epoll_*", "poll" },
	{ "do_sys_poll", "poll" },
	{ "do_poll*", "poll" },
	{ "do_select", "poll" },
	{ "poll_schedule_timeout*", "poll" },
	{ "do_nanosleep", "nanosleep" },
	{ "hrtimer_nanosleep", "nanosleep" },
	{ "do_wait_intr*", "wait" },
	{ "do_wait*", "child" },
	{ "wait_for_vfork_done", "child" },
	{ "kernel_clone", "child" },
	{ "unix_*", "socket" },
	{ "tcp_*", "socket" },
	{ "udp_*", "socket" },
	{ "inet_*", "socket" },
	{ "sk_wait_*", "socket" },
	{ "sk_stream_*", "socket" },
	{ "sock_alloc_send_*", "socket" },
	{ "__skb_wait_*", "socket" },
	{ "netlink_*", "socket" },
	{ "vsock_*", "socket" },
	{ "mutex_lock*", "lock (mutex)" },
	{ "__mutex_lock*", "lock (mutex)" },
	{ "ww_mutex_lock*", "lock (mutex)" },
	{ "rwsem_down_*", "lock (rwsem)" },
	{ "down_read*", "lock (rwsem)" },
	{ "down_write*", "lock (rwsem)" },
	{ "percpu_rwsem_wait*", "lock (rwsem)" },
	{ "rt_mutex_*", "lock (rt_mutex)" },
	{ "__rt_mutex_*", "lock (rt_mutex)" },
	{ "__down*", "lock (semaphore)" },
	{ "folio_wait_writeback*", "writeback" },
	{ "folio_wait_bit*", "page" },
	{ "__folio_lock*", "page" },
	{ "wait_on_page_*", "page" },
	{ "filemap_*", "page" },
	{ "blk_*", "disk" },
	{ "submit_bio_wait", "disk" },
	{ "__blkdev_direct_IO*", "disk" },
	{ "blkdev_*", "disk" },
	{ "iomap_*", "disk" },
	{ "__iomap_*", "disk" },
	{ "__wait_on_buffer", "disk" },
	{ "wait_on_buffer", "disk" },
	{ "__bread*", "disk" },
	{ "jbd2_*", "journal" },
	{ "wait_transaction_*", "journal" },
	{ "balance_dirty_pages*", "writeback" },
	{ "wb_wait_*", "writeback" },
	{ "p9_client_rpc*", "9p" },
	{ "p9_*", "9p" },
	{ "nfs_*", "nfs" },
	{ "rpc_*", "nfs" },
	{ "fuse_*", "fuse" },
	{ "request_wait_answer", "fuse" },
	{ "n_tty_*", "terminal" },
	{ "tty_*", "terminal" },
	{ "wait_woken", "wait" },
	{ "eventfd_*", "eventfd" },
	{ "timerfd_*", "timerfd" },
	{ "signalfd_*", "signal" },
	{ "inotify_*", "inotify" },
	{ "fanotify_*", "fanotify" },
	{ "do_sigtimedwait*", "signal" },
	{ "sigsuspend", "signal" },
	{ "__do_sys_pause*", "signal" },
	{ "__x64_sys_pause", "signal" },
	{ "do_signal_stop", "stopped" },
	{ "ptrace_*", "stopped" },
	{ "do_msgrcv*", "message queue" },
	{ "do_msgsnd*", "message queue" },
	{ "wq_sleep*", "message queue" },
	{ "do_semtimedop*", "semaphore" },
	{ "__do_semtimedop*", "semaphore" },
	{ "synchronize_*", "RCU" },
	{ "__wait_rcu_gp", "RCU" },
	{ "rcu_*", "RCU" },
	{ "wait_rcu_*", "RCU" },
	{ "read_events", "AIO" },
	{ "io_cqring_wait", "io_uring" },
	{ "io_wq_*", "io_uring" },
	{ "kvm_*", "virtual machine" },
	{ "worker_thread", KL_LATENCY_NO_WORK },
	{ "kthread_worker_fn", KL_LATENCY_NO_WORK },
	{ "smpboot_thread_fn", KL_LATENCY_NO_WORK },
	{ "rescuer_thread", KL_LATENCY_NO_WORK },
	{ "irq_thread", KL_LATENCY_NO_WORK },
	{ "kthreadd", KL_LATENCY_NO_WORK },
	{ "kswapd*", KL_LATENCY_NO_WORK },
	{ "kcompactd", KL_LATENCY_NO_WORK },
	{ "kauditd_thread", KL_LATENCY_NO_WORK },
	{ "kjournald2", KL_LATENCY_NO_WORK },
	{ "jbd2", KL_LATENCY_NO_WORK },
	{ "loop_*", KL_LATENCY_NO_WORK },
	{ "kdevtmpfs", KL_LATENCY_NO_WORK },
	{ "devtmpfsd", KL_LATENCY_NO_WORK },
	{ "oom_reaper", KL_LATENCY_NO_WORK },
	{ "ksm_scan_thread", KL_LATENCY_NO_WORK },
	{ "khugepaged", KL_LATENCY_NO_WORK },
	{ "watchdog*", KL_LATENCY_NO_WORK },
	{ "wait_for_completion*", "completion" },
	{ "__wait_for_common", "completion" },
	{ "io_schedule*", "disk" },
	{ "msleep*", "timeout" },
	{ "usleep_range*", "timeout" },
	{ "schedule_timeout*", "timeout" },
};

/* System calls that wait for only one thing. Numbers are those of x86-64. */
static const struct row calls[] = {
	{ "futex", "futex" },
	{ "nanosleep", "nanosleep" },
	{ "clock_nanosleep", "nanosleep" },
	{ "poll", "poll" },
	{ "ppoll", "poll" },
	{ "select", "poll" },
	{ "pselect6", "poll" },
	{ "epoll_*", "poll" },
	{ "wait4", "child" },
	{ "waitid", "child" },
	{ "vfork", "child" },
	{ "accept*", "socket" },
	{ "recv*", "socket" },
	{ "send*", "socket" },
	{ "connect", "socket" },
	{ "pause", "signal" },
	{ "rt_sig*", "signal" },
	{ "msgrcv", "message queue" },
	{ "msgsnd", "message queue" },
	{ "mq_*", "message queue" },
	{ "sem*", "semaphore" },
	{ "fsync", KL_LATENCY_FSYNC },
	{ "fdatasync", KL_LATENCY_FSYNC },
	{ "sync*", "disk" },
	{ "flock", "file lock" },
};

static const char *find(const struct row *rows, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (kl_name_fits(rows[i].function, name))
			return rows[i].reason;
	return NULL;
}

/* If a function serves several kinds of waits, one of its callers says more. */
static bool is_vague(const char *reason)
{
	return !strcmp(reason, "timeout") || !strcmp(reason, "wait") ||
	       !strcmp(reason, "completion");
}

static const char *by_trace(const struct kl_stack *stack)
{
	const char *vague = NULL;

	for (unsigned int i = 0; stack && i < stack->n; i++) {
		const char *name = stack->frame[i].symbol;
		const char *reason =
			name ? find(functions, sizeof(functions) / sizeof(*functions), name) : NULL;

		if (reason && !is_vague(reason))
			return reason;
		vague = vague ? vague : reason;
	}
	return vague;
}

static const char *name_of_call(const struct kl_schema *schema, int32_t syscall)
{
	static const char prefix[] = "syscall_entry_";
	const struct kl_class *class;

	if (syscall < 0)
		return NULL;
	class = kl_schema_class(schema, KL_EV_SYSCALL_ENTRY + (unsigned int)syscall);
	return class && !strncmp(class->name, prefix, sizeof(prefix) - 1) ?
		       class->name + sizeof(prefix) - 1 :
		       NULL;
}

/*
 * What fsync() waits for depends on the file system: its pages, the journal, a request. The call
 * says more to its user.
 */
static const char *with_call(const char *reason, const char *call)
{
	static const char *const storage[] = { "page", "writeback", "journal", "disk" };

	if (!reason || !call || (strcmp(call, "fsync") && strcmp(call, "fdatasync")))
		return reason;
	for (size_t i = 0; i < sizeof(storage) / sizeof(*storage); i++)
		if (!strcmp(reason, storage[i]))
			return KL_LATENCY_FSYNC;
	return reason;
}

const char *kl_latency_syscall(const struct kl_schema *schema,
			       const struct kl_abi_latency_entry *entry)
{
	return name_of_call(schema, entry->syscall);
}

const char *kl_latency_reason_at(const struct kl_schema *schema, const char *function,
				 int32_t syscall)
{
	const char *reason =
		function ? find(functions, sizeof(functions) / sizeof(*functions), function) : NULL;
	const char *call = name_of_call(schema, syscall), *by_call;

	if (call && (!reason || is_vague(reason))) {
		by_call = find(calls, sizeof(calls) / sizeof(*calls), call);
		reason = by_call ? by_call : reason ? reason : call;
	}
	return reason ? with_call(reason, call) : function;
}

const char *kl_latency_reason(const struct kl_stacks *stacks, const struct kl_schema *schema,
			      const struct kl_abi_latency_entry *entry)
{
	const char *reason = by_trace(kl_stacks_get(stacks, entry->kstack));
	const char *call = kl_latency_syscall(schema, entry);

	if (!reason && call)
		reason = find(calls, sizeof(calls) / sizeof(*calls), call);
	if (!reason && entry->state == KL_LATENCY_IO)
		reason = "disk";
	if (!reason)
		reason = call ? call : kl_latency_state_name(entry->state);
	return with_call(reason, call);
}
