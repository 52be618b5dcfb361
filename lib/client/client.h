/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the client share: handles, and the function for all ioctls. */
#ifndef KL_LIB_CLIENT_H
#define KL_LIB_CLIENT_H

#include <stdbool.h>
#include <kernlens/client.h>

struct kl_device {
	int fd;
	char *path;
	struct kl_abi_info info;
	bool is_offline; /* kl_device_offline() */
};

struct kl_batch;

/* @batch: of an offline device: gets the calls; else NULL */
struct kl_session {
	int fd;
	uint32_t id;
	uint32_t block_bytes;
	struct kl_batch *batch;
};

/*
 * @argument starts with its size, or is NULL. @what: for the error text, as in "start the session".
 */
int kl_client_call(int fd, unsigned long request, void *argument, size_t size, const char *what);

/* The same for a call that defines what a session does, which may be collected instead. */
int kl_session_call(struct kl_session *session, unsigned long request, void *argument, size_t size,
		    const char *what);

#endif /* KL_LIB_CLIENT_H */
