// SPDX-License-Identifier: GPL-2.0
/* in v6.16: tcp_retransmit_skb passes the result */
#include <linux/tracepoint.h>
#include <trace/events/tcp.h>

static void kl_probe_tcp_retransmit_error(void *data, const struct sock *sk,
					  const struct sk_buff *skb, int error)
{
}

static void __maybe_unused kl_check_tcp_retransmit_error(void)
{
	check_trace_callback_type_tcp_retransmit_skb(kl_probe_tcp_retransmit_error);
}
