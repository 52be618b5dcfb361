// SPDX-License-Identifier: GPL-2.0
/* Where a server listens: parses addresses, and opens sockets or takes those of systemd. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "address.h"

#define BACKLOG 64
#define FIRST_PASSED 3

static void print_address(struct http_address *a)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a->of;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a->of;
	const struct sockaddr_un *local = (const struct sockaddr_un *)&a->of;
	char text[INET6_ADDRSTRLEN] = "";

	if (a->of.ss_family == AF_INET) {
		inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
		snprintf(a->text, sizeof(a->text), "%s:%u", text, ntohs(v4->sin_port));
	} else if (a->of.ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
		snprintf(a->text, sizeof(a->text), "[%s]:%u", text, ntohs(v6->sin6_port));
	} else {
		snprintf(a->text, sizeof(a->text), "unix:%.*s", (int)sizeof(local->sun_path),
			 local->sun_path);
	}
}

static int parse_unix(struct http_address *a, const char *path, const char **why)
{
	struct sockaddr_un *local = (struct sockaddr_un *)&a->of;

	*why = "the path of a Unix socket begins with a slash, and has at most 107 bytes";
	if (*path != '/' || strlen(path) >= sizeof(local->sun_path))
		return -EINVAL;
	local->sun_family = AF_UNIX;
	memcpy(local->sun_path, path, strlen(path) + 1);
	a->length = sizeof(*local);
	return 0;
}

static bool parse_port(const char *text, uint16_t *port)
{
	const size_t length = strlen(text);
	unsigned long number;

	if (!length || length > 5 || strspn(text, "0123456789") != length)
		return false;
	number = strtoul(text, NULL, 10);
	*port = htons((uint16_t)number);
	return number <= UINT16_MAX;
}

static int parse_inet(struct http_address *a, const char *text, const char **why)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&a->of;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a->of;
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2] = "";
	size_t length;
	uint16_t port;

	*why = "expected ADDRESS:PORT, [ADDRESS]:PORT, :PORT or unix:PATH";
	if (!colon)
		return -EINVAL;
	length = (size_t)(colon - text);
	if (length >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, length);
	if (!parse_port(colon + 1, &port)) {
		*why = "a port is a number from 0 to 65535";
		return -EINVAL;
	}
	*why = "expected the number of an address, or localhost; names are not looked up";
	if (length > 2 && *host == '[' && host[length - 1] == ']') {
		host[length - 1] = 0;
		v6->sin6_family = AF_INET6;
		v6->sin6_port = port;
		a->length = sizeof(*v6);
		return inet_pton(AF_INET6, host + 1, &v6->sin6_addr) == 1 ? 0 : -EINVAL;
	}
	v4->sin_family = AF_INET;
	v4->sin_port = port;
	a->length = sizeof(*v4);
	if (!*host || !strcmp(host, "localhost"))
		v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else if (inet_pton(AF_INET, host, &v4->sin_addr) != 1)
		return -EINVAL;
	return 0;
}

int http_address_parse(struct http_address *a, const char *text, const char **why)
{
	int error;

	memset(a, 0, sizeof(*a));
	error = strncmp(text, "unix:", 5) ? parse_inet(a, text, why) : parse_unix(a, text + 5, why);
	if (!error)
		print_address(a);
	return error;
}

void http_address_loopback(struct http_address *a, uint16_t port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&a->of;

	memset(a, 0, sizeof(*a));
	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a->length = sizeof(*v4);
	print_address(a);
}

bool http_address_is_local(const struct http_address *a)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a->of;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a->of;
	struct in_addr mapped;

	if (a->of.ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	if (a->of.ss_family != AF_INET6)
		return a->of.ss_family == AF_UNIX;
	if (!IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	memcpy(&mapped, &v6->sin6_addr.s6_addr[12], sizeof(mapped));
	return ntohl(mapped.s_addr) >> 24 == IN_LOOPBACKNET;
}

uint16_t http_address_port(const struct http_address *a)
{
	if (a->of.ss_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)&a->of)->sin_port);
	if (a->of.ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)&a->of)->sin6_port);
	return 0;
}

/* Remove the file of a socket that nobody listens on. */
static void remove_stale(const struct http_address *a)
{
	const char *path = ((const struct sockaddr_un *)&a->of)->sun_path;
	struct stat file;
	int fd;

	if (lstat(path, &file) || !S_ISSOCK(file.st_mode))
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)&a->of, a->length) && errno == ECONNREFUSED)
		unlink(path);
	close(fd);
}

int http_address_listen(struct http_address *a)
{
	const int yes = 1;
	int error, fd = socket(a->of.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (a->of.ss_family == AF_UNIX)
		remove_stale(a);
	else
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	/* Otherwise [::] would also take the addresses of IPv4. */
	if (a->of.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	if (!bind(fd, (const struct sockaddr *)&a->of, a->length) && !listen(fd, BACKLOG)) {
		if (a->of.ss_family != AF_UNIX) {
			a->length = sizeof(a->of);
			getsockname(fd, (struct sockaddr *)&a->of, &a->length);
		}
		print_address(a);
		return fd;
	}
	error = -errno;
	close(fd);
	return error;
}

void http_address_remove(const struct http_address *a)
{
	if (a->of.ss_family == AF_UNIX)
		unlink(((const struct sockaddr_un *)&a->of)->sun_path);
}

static int number_of(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long number = text ? strtol(text, &end, 10) : 0;

	return text && *text && !*end && number >= 0 && number < 4096 ? (int)number : 0;
}

int http_address_passed(unsigned int index, struct http_address *a)
{
	int fd = FIRST_PASSED + (int)index, yes = 0, type = 0;
	socklen_t length = sizeof(yes);

	if (number_of("LISTEN_PID") != getpid() || index >= (unsigned int)number_of("LISTEN_FDS"))
		return -ENOENT;
	memset(a, 0, sizeof(*a));
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &length) || !yes)
		return -EINVAL;
	length = sizeof(type);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) || type != SOCK_STREAM)
		return -EINVAL;
	a->length = sizeof(a->of);
	if (getsockname(fd, (struct sockaddr *)&a->of, &a->length) ||
	    (a->of.ss_family != AF_INET && a->of.ss_family != AF_INET6 &&
	     a->of.ss_family != AF_UNIX))
		return -EINVAL;
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
		return -EINVAL;
	print_address(a);
	return fd;
}
