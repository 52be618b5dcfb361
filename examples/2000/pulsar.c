// SPDX-License-Identifier: GPL-2.0
/*
 * pulsar ROUNDS FORKS MILLISECONDS: in each round, start FORKS children, which exit at once, sleep,
 * and wait for them: a program with a known number of forks. The experiment of 2000 had 5 rounds of
 * 32, and slept 5 seconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void start_children(int forks)
{
	for (int i = 0; i < forks; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		if (pid < 0)
			die("fork");
	}
}

int main(int argc, char **argv)
{
	struct timespec pause = {};
	int rounds, forks;

	if (argc != 4) {
		fprintf(stderr, "usage: pulsar ROUNDS FORKS MILLISECONDS\n");
		return 2;
	}
	rounds = atoi(argv[1]);
	forks = atoi(argv[2]);
	pause.tv_sec = atoi(argv[3]) / 1000;
	pause.tv_nsec = atoi(argv[3]) % 1000 * 1000000l;
	for (int i = 0; i < rounds; i++) {
		start_children(forks);
		nanosleep(&pause, NULL);
		for (int k = 0; k < forks; k++)
			if (wait(NULL) < 0)
				die("wait");
	}
	return 0;
}
