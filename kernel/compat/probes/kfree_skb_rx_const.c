// SPDX-License-Identifier: GPL-2.0
/* in v7.1: the socket that kfree_skb passes is constant */
#include <linux/skbuff.h>
#include <trace/events/skb.h>

static void kl_probe_kfree_skb_rx_const(void *data, struct sk_buff *skb, void *location,
					enum skb_drop_reason reason, const struct sock *rx_sk)
{
}

static void __maybe_unused kl_check_kfree_skb_rx_const(void)
{
	check_trace_callback_type_kfree_skb(kl_probe_kfree_skb_rx_const);
}
