// SPDX-License-Identifier: GPL-2.0
/*
 * A service of several machines for scripts/demo-fleet, which runs in its guests:
 *
 *   ask ADDRESS PORT MS          a client: one request at a time, with a pause, and every second a
 *                                line with the number of answers and the longest time
 *   serve PORT US [ADDRESS PORT] a server: each request takes US of CPU time, and the answer of
 *                                another server if there is one
 *   hog N SECONDS                N processes that only use CPU time
 *   step MS                      set the wall clock forward (or back) by exactly so much
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_BYTES 200

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static struct sockaddr_in address_of(const char *address, const char *port)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
	};

	inet_pton(AF_INET, address, &to.sin_addr);
	return to;
}

/* Until the other side is there. */
static int connect_to(const char *address, const char *port)
{
	const struct sockaddr_in to = address_of(address, port);

	for (;;) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (!connect(fd, (const struct sockaddr *)&to, sizeof(to))) {
			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
			return fd;
		}
		close(fd);
		pause_ms(200);
	}
}

static int pass(int fd, char *bytes, ssize_t (*how)(int, void *, size_t))
{
	for (size_t at = 0; at < REQUEST_BYTES;) {
		ssize_t n = how(fd, bytes + at, REQUEST_BYTES - at);

		if (n <= 0)
			return -1;
		at += (size_t)n;
	}
	return 0;
}

static ssize_t put(int fd, void *bytes, size_t length)
{
	return write(fd, bytes, length);
}

static int request(int fd)
{
	char bytes[REQUEST_BYTES] = "request";

	return pass(fd, bytes, put) || pass(fd, bytes, read) ? -1 : 0;
}

static void ask(const char *address, const char *port, long ms)
{
	int fd = connect_to(address, port);
	uint64_t since = now_ns(CLOCK_MONOTONIC), longest = 0;
	unsigned int answers = 0;

	for (;;) {
		const uint64_t begin = now_ns(CLOCK_MONOTONIC);
		uint64_t end;

		if (request(fd)) {
			close(fd);
			fd = connect_to(address, port);
		}
		end = now_ns(CLOCK_MONOTONIC);
		answers++;
		if (end - begin > longest)
			longest = end - begin;
		if (end - since >= 1000000000u) {
			printf("%u answers, the longest after %.1f ms\n", answers,
			       (double)longest / 1e6);
			fflush(stdout);
			answers = 0;
			longest = 0;
			since = end;
		}
		pause_ms(ms);
	}
}

/* Use CPU time. The clock is a system call, which would fill the trace. */
static void work(uint64_t us)
{
	const uint64_t begin = now_ns(CLOCK_PROCESS_CPUTIME_ID);

	do
		for (volatile unsigned int i = 0; i < 20000; i++)
			;
	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin < us * 1000);
}

static void answer(int client, uint64_t us, const char *address, const char *port)
{
	const int other = address ? connect_to(address, port) : -1;
	char bytes[REQUEST_BYTES];

	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	while (!pass(client, bytes, read)) {
		work(us);
		if ((other >= 0 && request(other)) || pass(client, bytes, put))
			break;
	}
}

static int serve(const char *port, uint64_t us, const char *address, const char *next)
{
	const struct sockaddr_in from = address_of("0.0.0.0", port);
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(fd, (const struct sockaddr *)&from, sizeof(from)) || listen(fd, 16)) {
		perror("serve");
		return 1;
	}
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		const int client = accept(fd, NULL, NULL);

		if (client >= 0 && !fork()) {
			close(fd);
			answer(client, us, address, next);
			_exit(0);
		}
		close(client);
	}
}

static int hog(int n, unsigned int seconds)
{
	for (int i = 0; i < n; i++)
		if (!fork()) {
			alarm(seconds);
			for (volatile unsigned int k = 0;; k++)
				;
		}
	return 0;
}

static int step(long ms)
{
	struct timex to = { .modes = ADJ_SETOFFSET | ADJ_NANO };

	to.time.tv_sec = ms / 1000;
	to.time.tv_usec = ms % 1000 * 1000000;
	if (to.time.tv_usec < 0) {
		to.time.tv_sec--;
		to.time.tv_usec += 1000000000;
	}
	if (clock_adjtime(CLOCK_REALTIME, &to) >= 0)
		return 0;
	perror("step");
	return 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	signal(SIGPIPE, SIG_IGN);
	if (argc == 5 && !strcmp(what, "ask"))
		ask(argv[2], argv[3], atol(argv[4]));
	if ((argc == 4 || argc == 6) && !strcmp(what, "serve"))
		return serve(argv[2], (uint64_t)atol(argv[3]), argc == 6 ? argv[4] : NULL,
			     argc == 6 ? argv[5] : NULL);
	if (argc == 4 && !strcmp(what, "hog"))
		return hog(atoi(argv[2]), (unsigned int)atoi(argv[3]));
	if (argc == 3 && !strcmp(what, "step"))
		return step(atol(argv[2]));
	fprintf(stderr, "usage: ask ADDRESS PORT MS | serve PORT US [ADDRESS PORT] | "
			"hog N SECONDS | step MS\n");
	return 2;
}
