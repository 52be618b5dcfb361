// SPDX-License-Identifier: GPL-2.0
/*
 * Other tasks related to one, for detail.c: its children, and the tasks that have the other end of
 * what it waits for. Visits all tasks in the caller's pid namespace and skips those that the
 * caller may not see.
 */
#include <linux/file.h>
#include <linux/net.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include "../../base/task_iter.h"
#include "../files.h"
#include "detail.h"

#define OTHERS_MAX 64 /* of one search */
#define FDS_MAX 4 /* of one task */

/**
 * kl_detail_next_task - visit the tasks of the caller's pid namespace
 * @from: the number to begin with; set to that of the returned task
 *
 * Returns a task with a reference, or NULL after the last one.
 */
struct task_struct *kl_detail_next_task(pid_t *from)
{
	return kl_task_next(from, task_active_pid_ns(current));
}

/* ---------------------------------------------------------------- children */

/* If @t is a child of a thread of this process, returns that thread's number, else 0. */
static pid_t parent_of(struct task_struct *t, struct task_struct *of)
{
	struct task_struct *parent;
	pid_t number = 0;

	if (!thread_group_leader(t))
		return 0;
	rcu_read_lock();
	parent = kl_task_real_parent(t);
	if (parent && same_thread_group(parent, of))
		number = task_pid_vnr(parent);
	rcu_read_unlock();
	return number;
}

/* A task's number in another task's namespace. */
static pid_t number_for(struct task_struct *t, struct task_struct *other)
{
	struct pid_namespace *ns;
	pid_t number;

	rcu_read_lock();
	ns = task_active_pid_ns(other);
	number = ns ? task_pid_nr_ns(t, ns) : 0;
	rcu_read_unlock();
	return number;
}

/**
 * kl_detail_children - KL_DETAIL_CHILDREN
 * @d: the call; the cursor is the number to continue with
 */
int kl_detail_children(struct kl_detail *d)
{
	pid_t from = min_t(u64, d->cursor, INT_MAX);
	struct task_struct *t;

	for (; !(d->flags & KL_DETAIL_MORE) && (t = kl_detail_next_task(&from)); from++) {
		pid_t parent = parent_of(t, d->task);
		struct kl_abi_detail_child *to;

		if (parent && kl_detail_sees(d, t)) {
			to = kl_detail_add(d, KL_DETAIL_CHILDREN, sizeof(*to), 0);
			d->cursor = from;
			if (to) {
				to->pid = from;
				to->parent = parent;
				to->state = task_state_index(t);
				get_task_comm(to->comm, t);
				d->cursor++;
			}
		}
		put_task_struct(t);
		if (signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/**
 * kl_detail_add_other - add the record of a task that can end the wait
 * @d: the call
 * @t: task, with a reference; skipped if the caller may not see it
 * @role: enum kl_detail_role
 * @fd: its descriptor of the other end, or -1
 * @of: the waiting task's descriptor, or -1
 * @flags: KL_WAIT_FROM_MEMORY or 0
 *
 * Returns false if there is no room.
 */
bool kl_detail_add_other(struct kl_detail *d, struct task_struct *t, u32 role, int fd, int of,
			 u32 flags)
{
	struct kl_abi_detail_other *to;

	if (!kl_detail_sees(d, t))
		return true;
	to = kl_detail_add(d, KL_DETAIL_RECORD_WAIT_OTHER, sizeof(*to), 0);
	if (!to)
		return false;
	to->pid = task_tgid_vnr(t);
	to->tid = task_pid_vnr(t);
	to->fd = fd;
	to->of = of;
	to->role = role;
	to->flags = flags;
	get_task_comm(to->comm, t);
	return true;
}

/**
 * kl_detail_add_children - add records of the children that a task waits for
 * @d: the call
 * @wanted: only the child with this number in its parent's namespace; 0: all
 */
void kl_detail_add_children(struct kl_detail *d, pid_t wanted)
{
	struct task_struct *t;
	pid_t from = 1;
	u32 n = 0;

	for (; n < OTHERS_MAX && (t = kl_detail_next_task(&from)); from++) {
		if (parent_of(t, d->task) && (!wanted || wanted == number_for(t, d->task)) &&
		    kl_detail_sees(d, t)) {
			kl_detail_add_other(d, t, KL_OTHER_CHILD, -1, -1, 0);
			n++;
		}
		put_task_struct(t);
		if (signal_pending(current))
			return;
		cond_resched();
	}
	if (n == OTHERS_MAX)
		d->flags |= KL_DETAIL_CUT;
}

/**
 * kl_detail_find_vforked - find the child that uses a task's memory until it executes a program
 * @d: the call
 *
 * Returns the child with a reference, or NULL.
 */
struct task_struct *kl_detail_find_vforked(struct kl_detail *d)
{
	struct task_struct *t;
	pid_t from = 1;

	for (; (t = kl_detail_next_task(&from)); from++) {
		if (READ_ONCE(t->vfork_done) && parent_of(t, d->task))
			return t;
		put_task_struct(t);
		if (signal_pending(current))
			break;
		cond_resched();
	}
	return NULL;
}

/* ------------------------------------------------------------- matching files */

/* Both addresses of a socket; those of IPv4 are mapped to IPv6. */
struct ends {
	struct in6_addr address[2];
	__be16 port[2];
};

static bool get_ends(const struct sock *sk, struct ends *ends)
{
	const struct inet_sock *inet = inet_sk(sk);

	if ((sk->sk_family != AF_INET && sk->sk_family != AF_INET6) || !inet->inet_dport)
		return false;
	ends->port[0] = inet->inet_sport;
	ends->port[1] = inet->inet_dport;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		ends->address[0] = sk->sk_v6_rcv_saddr;
		ends->address[1] = sk->sk_v6_daddr;
		return true;
	}
#endif
	ipv6_addr_set_v4mapped(inet->inet_rcv_saddr, &ends->address[0]);
	ipv6_addr_set_v4mapped(inet->inet_daddr, &ends->address[1]);
	return true;
}

static bool is_mirror(const struct sock *a, const struct sock *b)
{
	struct ends of_a, of_b;

	return a != b && a->sk_protocol == b->sk_protocol && a->sk_type == b->sk_type &&
	       net_eq(sock_net(a), sock_net(b)) && get_ends(a, &of_a) && get_ends(b, &of_b) &&
	       of_a.port[0] == of_b.port[1] && of_a.port[1] == of_b.port[0] &&
	       ipv6_addr_equal(&of_a.address[0], &of_b.address[1]) &&
	       ipv6_addr_equal(&of_a.address[1], &of_b.address[0]);
}

static bool matches(const struct kl_detail_search *s, struct file *file)
{
	struct socket *sock;

	switch (s->match) {
	case KL_MATCH_FILE:
		return file == s->file;
	case KL_MATCH_PIPE:
		return file_inode(file) == file_inode(s->file) && file->f_mode & s->mode;
	case KL_MATCH_SOCKET:
		sock = sock_from_file(file);
		return sock && sock->sk == s->sk;
	case KL_MATCH_MIRROR:
		sock = sock_from_file(file);
		return sock && sock->sk && is_mirror(sock->sk, s->sk);
	}
	return false;
}

/* ------------------------------------------------------------------- the search */

/* Threads mostly share the table of their process, which is searched through the leader. */
static bool has_own_files(struct task_struct *t)
{
	struct task_struct *leader;
	bool has;

	rcu_read_lock();
	leader = kl_task_leader(t);
	has = t == leader || READ_ONCE(t->files) != READ_ONCE(leader->files);
	rcu_read_unlock();
	return has;
}

/* Add records of the task's first matching descriptors. */
static void search_task(struct kl_detail *d, struct task_struct *t,
			const struct kl_detail_search *search, u32 *n)
{
	struct kl_file_batch *b = d->files;
	u32 found = 0;
	u64 next = 0;

	/* A process that could end its own wait is not worth reporting. */
	if (search->role == KL_OTHER_HOLDER && same_thread_group(t, d->task))
		return;
	while (next != KL_FILES_END && found < FDS_MAX && !signal_pending(current)) {
		next = kl_files_take(t, b, next);
		for (u32 i = 0; i < b->n && found < FDS_MAX; i++) {
			if (!matches(search, b->file[i]))
				continue;
			*n += kl_detail_add_other(d, t, search->role, b->fd[i], search->of, 0);
			found++;
		}
		kl_files_put(b);
		cond_resched();
	}
}

/**
 * kl_detail_search - add records of the tasks that have something open
 * @d: the call
 * @search: what to search for
 *
 * Sets KL_DETAIL_CUT if it found the maximum. Returns the number of records. Context: may sleep;
 * uses @d->files.
 */
int kl_detail_search(struct kl_detail *d, const struct kl_detail_search *search)
{
	struct task_struct *t;
	pid_t from = 1;
	u32 n = 0;

	for (; n < OTHERS_MAX && (t = kl_detail_next_task(&from)); from++) {
		if (!(kl_task_flags(t) & PF_KTHREAD) && has_own_files(t) && kl_detail_sees(d, t))
			search_task(d, t, search, &n);
		put_task_struct(t);
		if (signal_pending(current))
			break;
		cond_resched();
	}
	if (n >= OTHERS_MAX)
		d->flags |= KL_DETAIL_CUT;
	return n;
}
