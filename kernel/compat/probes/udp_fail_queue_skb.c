// SPDX-License-Identifier: GPL-2.0
/* in v6.10: udp_fail_queue_rcv_skb passes the packet */
#include <net/sock.h>
#include <trace/events/udp.h>

static void kl_probe_udp_fail_queue_skb(void *data, int rc, struct sock *sk, struct sk_buff *skb)
{
}

static void __maybe_unused kl_check_udp_fail_queue_skb(void)
{
	check_trace_callback_type_udp_fail_queue_rcv_skb(kl_probe_udp_fail_queue_skb);
}
