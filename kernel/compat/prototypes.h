/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoint arguments that differ between supported kernels: rows of events.def have the newest
 * form, and what exists on one side of a change only is written as
 *
 *	KL_NEW_x(...)	exists since the change that compat/probes/x.c tests for
 *	KL_OLD_x(...)	exists before it
 *
 * A value that an older kernel does not pass is written as 0 there.
 */
#ifndef KL_COMPAT_PROTOTYPES_H
#define KL_COMPAT_PROTOTYPES_H

#include "compat/compat_config.h"

/* in v6.3: consume_skb passes the caller's address */
#ifdef KL_HAVE_CONSUME_SKB_LOCATION
#define KL_NEW_consume_skb_location(...) __VA_ARGS__
#define KL_OLD_consume_skb_location(...)
#else
#define KL_NEW_consume_skb_location(...)
#define KL_OLD_consume_skb_location(...) __VA_ARGS__
#endif

/* in v6.11: kfree_skb passes the socket that was to receive */
#ifdef KL_HAVE_KFREE_SKB_RX_SK
#define KL_NEW_kfree_skb_rx_sk(...) __VA_ARGS__
#define KL_OLD_kfree_skb_rx_sk(...)
#else
#define KL_NEW_kfree_skb_rx_sk(...)
#define KL_OLD_kfree_skb_rx_sk(...) __VA_ARGS__
#endif

/* in v6.10: tcp_send_reset passes the reason, and the socket may be NULL */
#ifdef KL_HAVE_TCP_SEND_RESET_REASON
#define KL_NEW_tcp_send_reset_reason(...) __VA_ARGS__
#define KL_OLD_tcp_send_reset_reason(...)
#else
#define KL_NEW_tcp_send_reset_reason(...)
#define KL_OLD_tcp_send_reset_reason(...) __VA_ARGS__
#endif

/* in v6.10: udp_fail_queue_rcv_skb passes the packet */
#ifdef KL_HAVE_UDP_FAIL_QUEUE_SKB
#define KL_NEW_udp_fail_queue_skb(...) __VA_ARGS__
#define KL_OLD_udp_fail_queue_skb(...)
#else
#define KL_NEW_udp_fail_queue_skb(...)
#define KL_OLD_udp_fail_queue_skb(...) __VA_ARGS__
#endif

/* in v6.8: sched_stat_runtime no longer passes the virtual run time */
#ifdef KL_HAVE_SCHED_STAT_RUNTIME_SHORT
#define KL_NEW_sched_stat_runtime_short(...) __VA_ARGS__
#define KL_OLD_sched_stat_runtime_short(...)
#else
#define KL_NEW_sched_stat_runtime_short(...)
#define KL_OLD_sched_stat_runtime_short(...) __VA_ARGS__
#endif

/* in v6.8: timer_start passes the wheel's expiry instead of the timer's expiry and flags */
#ifdef KL_HAVE_TIMER_START_BUCKET
#define KL_NEW_timer_start_bucket(...) __VA_ARGS__
#define KL_OLD_timer_start_bucket(...)
#else
#define KL_NEW_timer_start_bucket(...)
#define KL_OLD_timer_start_bucket(...) __VA_ARGS__
#endif

/* in v7.1 and in stable updates of v6.1 and v6.12: hrtimer_start passes whether it is a restart */
#ifdef KL_HAVE_HRTIMER_START_WAS_ARMED
#define KL_NEW_hrtimer_start_was_armed(...) __VA_ARGS__
#define KL_OLD_hrtimer_start_was_armed(...)
#else
#define KL_NEW_hrtimer_start_was_armed(...)
#define KL_OLD_hrtimer_start_was_armed(...) __VA_ARGS__
#endif

/* in v6.2: a per-CPU counter holds the value that rss_stat passed before */
#ifdef KL_HAVE_RSS_STAT_COUNTER
#define KL_NEW_rss_stat_counter(...) __VA_ARGS__
#define KL_OLD_rss_stat_counter(...)
#else
#define KL_NEW_rss_stat_counter(...)
#define KL_OLD_rss_stat_counter(...) __VA_ARGS__
#endif

/* in v6.7: mm_vmscan_lru_isolate no longer passes the isolation mode */
#ifdef KL_HAVE_LRU_ISOLATE_SHORT
#define KL_NEW_lru_isolate_short(...) __VA_ARGS__
#define KL_OLD_lru_isolate_short(...)
#else
#define KL_NEW_lru_isolate_short(...)
#define KL_OLD_lru_isolate_short(...) __VA_ARGS__
#endif

/* in v6.7: mm_migrate_pages passes the number of large folios that were split */
#ifdef KL_HAVE_MIGRATE_PAGES_LARGE
#define KL_NEW_migrate_pages_large(...) __VA_ARGS__
#define KL_OLD_migrate_pages_large(...)
#else
#define KL_NEW_migrate_pages_large(...)
#define KL_OLD_migrate_pages_large(...) __VA_ARGS__
#endif

/* in v6.9: a lease is a struct of its own; it and a lock share a core */
#ifdef KL_HAVE_FILE_LEASE
#define KL_FILE_LEASE file_lease
#define KL_LOCK_CORE(lock, member) ((lock)->c.flc_##member)
#else
#define KL_FILE_LEASE file_lock
#define KL_LOCK_CORE(lock, member) ((lock)->fl_##member)
#endif

#endif /* KL_COMPAT_PROTOTYPES_H */
