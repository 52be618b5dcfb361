/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests for the mailbox of uapi/mailbox.h. The calls that create a session are not made, but
 * collected: with an offline device, functions that create a session, define what it does and start
 * it succeed, and kl_mailbox_hook() then returns these calls as a request.
 */
#ifndef KERNLENS_MAILBOX_H
#define KERNLENS_MAILBOX_H

#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/client.h>

/**
 * kl_device_offline - a device that is not open
 *
 * Its times are those of this machine, its user may do everything, and events are unavailable. Only
 * kl_session_create(), kl_device_info(), kl_device_time() and kl_device_close() work. Returns NULL
 * with errno ENOMEM.
 */
struct kl_device *kl_device_offline(void);

/**
 * kl_mailbox_set_symbol - let the module find the address of a function
 * @session: of an offline device, before events are defined
 * @address: what events have instead of the address
 * @name: of the function; must outlive the session
 */
void kl_mailbox_set_symbol(struct kl_session *session, uint64_t address, const char *name);

/**
 * kl_mailbox_hook - the request that creates a session
 * @session: of an offline device
 * @to: appended to
 *
 * Returns 0, or a negative errno with an error text: -E2BIG if it is too large.
 */
int kl_mailbox_hook(const struct kl_session *session, struct kl_buffer *to);

/**
 * kl_mailbox_unhook - the request that ends a session that a request has created
 * @session: its id; 0: all of these
 * @to: appended to
 *
 * Returns 0 or -ENOMEM.
 */
int kl_mailbox_unhook(uint32_t session, struct kl_buffer *to);

/**
 * kl_mailbox_use - the request that lets a session use a maskset
 * @session: its id
 * @maskset: name of one of its masksets, or of a built-in one
 * @to: appended to
 *
 * Returns 0, -ENOMEM, or -EINVAL with an error text if the name is too long.
 */
int kl_mailbox_use(uint32_t session, const char *maskset, struct kl_buffer *to);

#endif /* KERNLENS_MAILBOX_H */
