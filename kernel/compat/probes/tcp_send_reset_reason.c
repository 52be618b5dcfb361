// SPDX-License-Identifier: GPL-2.0
/* in v6.10: tcp_send_reset passes the reason, and the socket may be NULL */
#include <net/tcp.h>
#include <trace/events/tcp.h>

static void kl_probe_tcp_send_reset_reason(void *data, const struct sock *sk,
					   const struct sk_buff *skb,
					   const enum sk_rst_reason reason)
{
}

static void __maybe_unused kl_check_tcp_send_reset_reason(void)
{
	check_trace_callback_type_tcp_send_reset(kl_probe_tcp_send_reset_reason);
}
