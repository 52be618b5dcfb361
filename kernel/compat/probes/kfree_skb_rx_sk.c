// SPDX-License-Identifier: GPL-2.0
/* in v6.11: kfree_skb passes the socket that was to receive */
#include <linux/skbuff.h>
#include <trace/events/skb.h>

static void __maybe_unused kl_check_kfree_skb_rx_sk(struct sk_buff *skb)
{
	trace_kfree_skb(skb, NULL, SKB_NOT_DROPPED_YET, NULL);
}
