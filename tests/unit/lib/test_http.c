// SPDX-License-Identifier: GPL-2.0
/*
 * The HTTP server of the page and of kernlens serve: addresses and tokens as text, and a server in a
 * thread of its own whose clients are slow, many, or send what they should not.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../../../view/http/access.h"
#include "../../../view/http/address.h"
#include "../../../view/http/http.h"
#include "unit.h"

/* -------------------------------------------------------------------- addresses */

static void test_addresses(void)
{
	static const struct {
		const char *text;
		const char *printed; /* NULL: refused */
		bool local;
	} addresses[] = {
		{ ":9797", "127.0.0.1:9797", true },
		{ "localhost:80", "127.0.0.1:80", true },
		{ "127.8.8.8:1", "127.8.8.8:1", true },
		{ "0.0.0.0:9797", "0.0.0.0:9797", false },
		{ "192.0.2.1:65535", "192.0.2.1:65535", false },
		{ "[::1]:9797", "[::1]:9797", true },
		{ "[::]:9797", "[::]:9797", false },
		{ "[::ffff:127.0.0.1]:5", "[::ffff:127.0.0.1]:5", true },
		{ "[::ffff:192.0.2.1]:5", "[::ffff:192.0.2.1]:5", false },
		{ "unix:/run/x.socket", "unix:/run/x.socket", true },
		{ "9797", NULL, false },
		{ "", NULL, false },
		{ ":", NULL, false },
		{ ":65536", NULL, false },
		{ ":-1", NULL, false },
		{ ":99999999999999999999", NULL, false },
		{ ":12x", NULL, false },
		{ "example.org:80", NULL, false },
		{ "::1:80", NULL, false },
		{ "[::1]80", NULL, false },
		{ "[::1", NULL, false },
		{ "127.0.0.1.1:80", NULL, false },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:80", NULL,
		  false },
		{ "unix:x", NULL, false },
		{ "unix:", NULL, false },
		{ "unix:@abstract", NULL, false },
	};
	char path[200] = "unix:/";
	struct http_address address;
	bool good = true, local = true;
	const char *why;

	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		int error = http_address_parse(&address, addresses[i].text, &why);

		if (!addresses[i].printed != !!error ||
		    (!error && strcmp(address.text, addresses[i].printed) != 0)) {
			printf("# %s: %d %s\n", addresses[i].text, error,
			       error ? why : address.text);
			good = false;
		}
		local &= error || http_address_is_local(&address) == addresses[i].local;
	}
	unit_check(good, "addresses are parsed, and printed again");
	unit_check(local, "which of them only this machine reaches is known");
	memset(path + 6, 'x', 150);
	unit_check(http_address_parse(&address, path, &why) == -EINVAL, "a path may be too long");
}

static void test_unix_sockets(void)
{
	char folder[] = "/tmp/kl-http-XXXXXX", text[64];
	struct http_address address;
	const char *why;
	int fd, second;
	mode_t before = umask(0077);
	struct stat file;

	if (!mkdtemp(folder))
		return;
	snprintf(text, sizeof(text), "unix:%s/s", folder);
	http_address_parse(&address, text, &why);
	fd = http_address_listen(&address);
	unit_check(fd >= 0 && !stat(text + 5, &file) && (file.st_mode & 0777) == 0700,
		   "a Unix socket has the permissions of the umask");
	second = http_address_listen(&address);
	unit_check(second == -EADDRINUSE, "one that somebody listens on is not replaced");
	close(fd);
	fd = http_address_listen(&address);
	unit_check(fd >= 0, "one that nobody listens on is");
	http_address_remove(&address);
	unit_check(stat(text + 5, &file), "it is removed");
	close(fd);
	fd = creat(text + 5, 0600);
	close(fd);
	second = http_address_listen(&address);
	unit_check(second < 0 && !stat(text + 5, &file), "another file is not");
	unlink(text + 5);
	rmdir(folder);
	umask(before);
}

static void test_passed(void)
{
	struct http_address address;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	unsetenv("LISTEN_PID");
	setenv("LISTEN_FDS", "1", 1);
	unit_check(http_address_passed(0, &address) == -ENOENT, "nothing is passed without a pid");
	setenv("LISTEN_PID", "1", 1);
	unit_check(http_address_passed(0, &address) == -ENOENT, "nor to another process");
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "-3", 1);
	unit_check(http_address_passed(0, &address) == -ENOENT, "nor a negative number");
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
}

/* ----------------------------------------------------------------------- tokens */

static void test_tokens(void)
{
	static const char good[] = "  0123456789abcdef\n";
	char long_text[HTTP_TOKEN_MAX + 3];
	struct http_token token;
	const char *why;

	unit_check(!http_token_parse(&token, good, strlen(good), &why) && token.length == 16,
		   "blanks do not belong to a token");
	unit_check(http_token_is_bearer(&token, "Bearer 0123456789abcdef") &&
			   http_token_is_bearer(&token, "bearer   0123456789abcdef"),
		   "it is accepted");
	unit_check(!http_token_is_bearer(&token, "Bearer 0123456789abcdeF") &&
			   !http_token_is_bearer(&token, "Bearer 0123456789abcde") &&
			   !http_token_is_bearer(&token, "Bearer 0123456789abcdef0") &&
			   !http_token_is_bearer(&token, "Bearer ") &&
			   !http_token_is_bearer(&token, "Bearer") &&
			   !http_token_is_bearer(&token, "") &&
			   !http_token_is_bearer(&token, NULL) &&
			   !http_token_is_bearer(&token, "Basic 0123456789abcdef") &&
			   !http_token_is_bearer(&token, "0123456789abcdef"),
		   "nothing else is");
	memset(long_text, 'x', sizeof(long_text));
	unit_check(!http_token_is(&token, long_text, sizeof(long_text)), "not even a long text");
	unit_check(!http_token_parse(&token, long_text, HTTP_TOKEN_MAX, &why) &&
			   http_token_is(&token, long_text, HTTP_TOKEN_MAX) &&
			   !http_token_is(&token, long_text, HTTP_TOKEN_MAX - 1),
		   "the longest token");
	unit_check(http_token_parse(&token, long_text, HTTP_TOKEN_MAX + 1, &why) == -EINVAL &&
			   http_token_parse(&token, "0123456789abcde", 15, &why) == -EINVAL &&
			   http_token_parse(&token, "0123456789 abcdef", 17, &why) == -EINVAL &&
			   http_token_parse(&token, "0123456789\0abcdef", 17, &why) == -EINVAL &&
			   http_token_parse(&token, "", 0, &why) == -EINVAL,
		   "short, long and divided ones are refused");
}

static void test_hosts(void)
{
	char own[256] = "";

	gethostname(own, sizeof(own) - 1);
	unit_check(http_is_plain_host("127.0.0.1:9797") && http_is_plain_host("localhost") &&
			   http_is_plain_host("LOCALHOST:1") && http_is_plain_host("[::1]:9797") &&
			   http_is_plain_host("192.0.2.7") && (!*own || http_is_plain_host(own)),
		   "numbers and names of this machine cannot be another's site");
	unit_check(!http_is_plain_host("evil.example:9797") && !http_is_plain_host("") &&
			   !http_is_plain_host(NULL) && !http_is_plain_host("[::1") &&
			   !http_is_plain_host("127.0.0.1.evil.example") &&
			   !http_is_plain_host("localhost.evil.example"),
		   "other names can");
	unit_check(http_is_loopback_host("127.0.0.1:8080", 8080) &&
			   !http_is_loopback_host("127.0.0.1:8081", 8080) &&
			   http_is_loopback_host("localhost", 80) &&
			   !http_is_loopback_host("localhost", 8080),
		   "a page is only for its own port");
}

/* ----------------------------------------------------------------------- server */

#define BODY_BYTES (8u << 20)

static const struct http_limits limits = {
	.connections = 8,
	.per_peer = 6,
	.request_bytes = 4096,
	.request_s = 1,
	.answer_s = 2,
};

/**
 * struct running - a server in a thread
 * @answers: number of requests that have reached it
 */
struct running {
	struct http_server *http;
	struct http_address address;
	pthread_t thread;
	atomic_bool stop;
	atomic_uint answers;
};

static int answer(void *context, struct MHD_Connection *connection, const char *url,
		  const char *method)
{
	struct running *r = context;
	bool large = !strcmp(url, "/large");
	size_t length = large ? BODY_BYTES : 3;
	char *body = malloc(length);

	atomic_fetch_add(&r->answers, 1);
	memset(body, 'x', length);
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return http_send(connection, MHD_HTTP_METHOD_NOT_ALLOWED, NULL, body, length);
	return http_send(connection, MHD_HTTP_OK, NULL, body, length);
}

static void *run(void *data)
{
	struct running *r = data;

	while (!atomic_load(&r->stop)) {
		struct pollfd fds[2] = { { -1, POLLIN, 0 }, { -1, POLLIN, 0 } };
		int of[2], wait = http_server_wait_ms(r->http, -1);

		http_server_fds(r->http, of);
		fds[0].fd = of[0];
		fds[1].fd = of[1];
		poll(fds, 2, wait < 0 || wait > 50 ? 50 : wait);
		http_server_run(r->http, 0);
	}
	return NULL;
}

static void start(struct running *r)
{
	int fd;

	memset(r, 0, sizeof(*r));
	http_address_loopback(&r->address, 0);
	fd = http_address_listen(&r->address);
	r->http = http_server_create(fd, &limits, NULL, answer, r);
	if (!r->http || pthread_create(&r->thread, NULL, run, r))
		exit(1);
}

static void stop(struct running *r)
{
	atomic_store(&r->stop, true);
	pthread_join(r->thread, NULL);
	http_server_destroy(r->http);
}

static int dial(const struct running *r)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval wait = { .tv_sec = 10 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (connect(fd, (const struct sockaddr *)&r->address.of, r->address.length))
		exit(1);
	return fd;
}

static void say(int fd, const char *text)
{
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		printf("# send: %s\n", strerror(errno));
}

/* Read up to the end, or up to @most bytes; the first ones are in @head. Returns how many. */
static size_t hear(int fd, char *head, size_t room, size_t most)
{
	size_t n = 0, kept = 0;
	char bytes[65536];
	ssize_t got;

	while (n < most && (got = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
		size_t take = kept + (size_t)got < room ? (size_t)got : room - 1 - kept;

		memcpy(head + kept, bytes, take);
		kept += take;
		n += (size_t)got;
	}
	head[kept] = 0;
	return n;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What a new client of good will gets. */
static bool is_served(const struct running *r)
{
	char head[512];
	int fd = dial(r);

	say(fd, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	hear(fd, head, sizeof(head), BODY_BYTES);
	close(fd);
	return !strncmp(head, "HTTP/1.1 200 ", 13);
}

static void test_requests(void)
{
	static const struct {
		const char *request, *status;
	} requests[] = {
		{ "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "200" },
		{ "HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "200" },
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde", "405" },
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", "405" },
		{ "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n", "405" },
		{ "TRACE / HTTP/1.1\r\nHost: x\r\n\r\n", "405" },
		{ "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nabcde",
		  "200" },
		{ "GET / HTTP/1.1\r\n\r\n", "400" },
		{ "\x16\x03\x01\x02\x01\x01\x01\r\n\r\n", NULL },
		{ "GET\r\n\r\n", NULL },
	};
	struct running r;
	bool good = true;
	char head[512];

	start(&r);
	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		int fd = dial(&r);

		say(fd, requests[i].request);
		hear(fd, head, sizeof(head), BODY_BYTES);
		if (requests[i].status && strncmp(head + 9, requests[i].status, 3) != 0) {
			printf("# %s: %.40s\n", requests[i].request, head);
			good = false;
		}
		close(fd);
	}
	unit_check(good, "methods, bodies, and what is no HTTP");
	unit_check(is_served(&r), "others are served afterwards");
	stop(&r);
}

static void test_large_head(void)
{
	struct running r;
	char line[1024], head[512];
	int fd;

	start(&r);
	fd = dial(&r);
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = 0;
	say(fd, "GET / HTTP/1.1\r\nHost: x\r\n");
	for (int i = 0; i < 64; i++) {
		char header[1100];

		snprintf(header, sizeof(header), "A%d: %s\r\n", i, line);
		if (send(fd, header, strlen(header), MSG_NOSIGNAL) < 0)
			break;
	}
	hear(fd, head, sizeof(head), BODY_BYTES);
	unit_check(!atomic_load(&r.answers), "a head of 64 KiB is never answered");
	close(fd);
	unit_check(is_served(&r), "others are");
	stop(&r);
}

/* Slow on purpose: a byte now and then, which keeps the connection from being idle. */
static void test_slow_request(void)
{
	double begun = seconds();
	struct running r;
	ssize_t n = 1;
	int fd;

	start(&r);
	fd = dial(&r);
	say(fd, "GET / HTTP/1.1\r\nHost: x\r\nX: ");
	while (n > 0 && seconds() - begun < 8) {
		char byte;

		usleep(100000);
		send(fd, "x", 1, MSG_NOSIGNAL);
		n = recv(fd, &byte, 1, MSG_DONTWAIT);
		n = n < 0 && errno == EAGAIN ? 1 : n;
	}
	unit_check(n <= 0 && seconds() - begun < 5, "a slow request is ended");
	unit_check(http_server_counts(r.http).cut == 1, "and counted once");
	close(fd);
	unit_check(is_served(&r), "others are served");
	stop(&r);
}

static void test_slow_reader(void)
{
	double begun = seconds();
	struct running r;
	char head[512], byte;
	size_t got = 0;
	int fd, small = 4096;

	start(&r);
	fd = dial(&r);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	say(fd, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
	while (seconds() - begun < 8 && !http_server_counts(r.http).cut) {
		got += recv(fd, &byte, 1, MSG_DONTWAIT) == 1;
		usleep(20000);
	}
	unit_check(seconds() - begun < 6, "a slow reader is cut off");
	got += hear(fd, head, sizeof(head), BODY_BYTES);
	unit_check(got < BODY_BYTES, "in the middle of the answer");
	close(fd);
	unit_check(is_served(&r), "others are served");
	stop(&r);
}

static void test_many(void)
{
	int fd[200], in_time = 0;
	double begun;
	struct running r;
	struct http_counts counts;

	start(&r);
	for (int i = 0; i < 200; i++)
		fd[i] = dial(&r);
	usleep(300000);
	counts = http_server_counts(r.http);
	unit_check(counts.connections <= limits.connections && counts.refused > 0,
		   "a peer has a limited number of connections");
	begun = seconds();
	for (int i = 0; i < 3; i++)
		in_time += is_served(&r);
	unit_check(seconds() - begun < 30, "connections that say nothing make room");
	for (int i = 0; i < 200; i++)
		close(fd[i]);
	usleep(300000);
	unit_check(is_served(&r) && is_served(&r) && http_server_counts(r.http).connections <= 1,
		   "all are gone afterwards");
	printf("# %d of 3 served meanwhile, %llu refused, %llu ended\n", in_time,
	       (unsigned long long)http_server_counts(r.http).refused,
	       (unsigned long long)http_server_counts(r.http).cut);
	stop(&r);
}

static void test_kept_connection(void)
{
	struct running r;
	char head[4096];
	size_t n;
	int fd;

	start(&r);
	fd = dial(&r);
	for (int i = 0; i < 5; i++) {
		say(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
		n = hear(fd, head, sizeof(head), 1);
		if (!n || strncmp(head, "HTTP/1.1 200 ", 13) != 0)
			break;
	}
	unit_check(atomic_load(&r.answers) == 5, "one connection can have many requests");
	close(fd);
	stop(&r);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_addresses();
	test_unix_sockets();
	test_passed();
	test_tokens();
	test_hosts();
	test_requests();
	test_large_head();
	test_slow_request();
	test_slow_reader();
	test_many();
	test_kept_connection();
	return unit_end();
}
