// SPDX-License-Identifier: GPL-2.0
/*
 * Two workloads that do little but enter the kernel.
 *
 *	chatter fork TIMES      creates TIMES processes that execute another program
 *	                        (this one again, doing nothing)
 *	chatter groups ROUNDS   like hackbench: 10 senders, each to 10 receivers,
 *	                        ROUNDS messages of 100 bytes each over sockets
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAIRS 10
#define BYTES 100

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void run_forks(const char *self, int times)
{
	while (times--) {
		pid_t child = fork();

		if (!child) {
			execl(self, self, "nothing", "0", NULL);
			_exit(127);
		}
		if (child < 0 || waitpid(child, NULL, 0) != child)
			die("fork");
	}
}

static void receive(int from, int bytes)
{
	char text[BYTES];

	while (bytes > 0) {
		ssize_t n = read(from, text, sizeof(text));

		if (n <= 0)
			die("read");
		bytes -= n;
	}
	_exit(0);
}

static void send_all(int (*to)[2], int rounds)
{
	char text[BYTES] = {};

	while (rounds--)
		for (int i = 0; i < PAIRS; i++)
			if (write(to[i][1], text, sizeof(text)) != sizeof(text))
				die("write");
	_exit(0);
}

static void run_groups(int rounds)
{
	int to[PAIRS][2];

	for (int i = 0; i < PAIRS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, to[i]))
			die("socketpair");
		if (!fork())
			receive(to[i][0], rounds * PAIRS * BYTES);
	}
	for (int i = 0; i < PAIRS; i++)
		if (!fork())
			send_all(to, rounds);
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "fork"))
		run_forks(argv[0], atoi(argv[2]));
	else if (argc == 3 && !strcmp(argv[1], "groups"))
		run_groups(atoi(argv[2]));
	else if (argc != 3 || strcmp(argv[1], "nothing"))
		return 2;
	return 0;
}
