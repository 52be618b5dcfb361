// SPDX-License-Identifier: GPL-2.0
/* in v6.3: consume_skb passes the caller's address */
#include <linux/skbuff.h>
#include <trace/events/skb.h>

static void kl_probe_consume_skb_location(void *data, struct sk_buff *skb, void *location)
{
}

static void __maybe_unused kl_check_consume_skb_location(void)
{
	check_trace_callback_type_consume_skb(kl_probe_consume_skb_location);
}
