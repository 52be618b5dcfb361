/* SPDX-License-Identifier: GPL-2.0 */
/* Where a server listens: addresses as text, sockets of its own, and those that systemd passes. */
#ifndef KL_VIEW_HTTP_ADDRESS_H
#define KL_VIEW_HTTP_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define HTTP_ADDRESS_TEXT 128

/**
 * struct http_address - an address
 * @of: IPv4, IPv6 or Unix
 * @length: bytes of @of
 * @text: as it is printed
 */
struct http_address {
	struct sockaddr_storage of;
	socklen_t length;
	char text[HTTP_ADDRESS_TEXT];
};

/**
 * http_address_parse - parse ADDRESS:PORT, [ADDRESS]:PORT, :PORT or unix:PATH
 * @address: filled in
 * @text: ADDRESS is a number, or "localhost"; without it, it is 127.0.0.1. PORT 0: any that is free
 * @why: set to what is wrong
 *
 * Names are not looked up, so that the server listens where its owner can see it will. Returns 0
 * or -EINVAL.
 */
int http_address_parse(struct http_address *address, const char *text, const char **why);

/**
 * http_address_loopback - the address 127.0.0.1
 * @address: filled in
 * @port: 0: any that is free
 */
void http_address_loopback(struct http_address *address, uint16_t port);

/**
 * http_address_is_local - can only this machine reach it?
 * @address: address
 *
 * True for loopback addresses and Unix sockets.
 */
bool http_address_is_local(const struct http_address *address);

/* Its port; 0: it is a Unix socket. */
uint16_t http_address_port(const struct http_address *address);

/**
 * http_address_listen - listen there
 * @address: a port of 0 and the text are replaced by those of the socket
 *
 * A Unix socket that nobody listens on any more is replaced; a new one has the permissions that the
 * umask leaves. Returns a socket that does not block, or a negative errno.
 */
int http_address_listen(struct http_address *address);

/**
 * http_address_remove - remove the file of a Unix socket
 * @address: that http_address_listen() has been called for
 */
void http_address_remove(const struct http_address *address);

/**
 * http_address_passed - a socket that the service manager has opened (LISTEN_FDS)
 * @index: from 0
 * @address: filled in
 *
 * Returns the socket, which is set not to block, -ENOENT after the last, or -EINVAL: it is not a
 * stream socket that listens. sd_listen_fds(3) describes the protocol.
 */
int http_address_passed(unsigned int index, struct http_address *address);

#endif /* KL_VIEW_HTTP_ADDRESS_H */
