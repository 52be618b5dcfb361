// SPDX-License-Identifier: GPL-2.0
/* in v6.17: sk_uid() replaces sock_i_uid() */
#include <net/sock.h>

static kuid_t __maybe_unused kl_check_sock_uid(struct sock *sk)
{
	return sk_uid(sk);
}
