// SPDX-License-Identifier: GPL-2.0
/* Tells the service manager what a service is doing: sd_notify(3), which needs no library. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common.h"

void cli_notify(const char *text)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	size_t length = path ? strlen(path) : 0;
	int fd;

	if (!length || length >= sizeof(address.sun_path))
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	memcpy(address.sun_path, path, length);
	if (*path == '@')
		address.sun_path[0] = 0;
	sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address,
	       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
	close(fd);
}
