// SPDX-License-Identifier: GPL-2.0
/* until v6.16: unix_peer_get, unix_inq_len and unix_outq_len are declared for modules */
#include <net/af_unix.h>

static long __maybe_unused kl_check_unix_peer_get(struct sock *sk)
{
	return unix_inq_len(sk) + unix_outq_len(sk) + !unix_peer_get(sk);
}
