// SPDX-License-Identifier: GPL-2.0
/* in v6.16: tcp_probe does not change the packet */
#include <linux/tracepoint.h>
#include <trace/events/tcp.h>

static void kl_probe_tcp_probe_const(void *data, struct sock *sk, const struct sk_buff *skb)
{
}

static void __maybe_unused kl_check_tcp_probe_const(void)
{
	check_trace_callback_type_tcp_probe(kl_probe_tcp_probe_const);
}
