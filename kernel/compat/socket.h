/* SPDX-License-Identifier: GPL-2.0 */
/* The other end of a Unix socket, its queues, and the owner of a socket. */
#ifndef KL_COMPAT_SOCKET_H
#define KL_COMPAT_SOCKET_H

#include <net/af_unix.h>
#include <net/sock.h>

#include "compat_config.h"

/* From v6.17 on, they are exported, but declared only in a private header. */
#ifndef KL_HAVE_UNIX_PEER_GET
struct sock *unix_peer_get(struct sock *sk);
long unix_inq_len(struct sock *sk);
long unix_outq_len(struct sock *sk);
#endif

/* Context: any. */
static inline kuid_t kl_sock_uid(struct sock *sk)
{
#ifdef KL_HAVE_SOCK_UID
	return sk_uid(sk);
#else
	return sock_i_uid(sk);
#endif
}

#endif /* KL_COMPAT_SOCKET_H */
