// SPDX-License-Identifier: GPL-2.0
/*
 * The agent of kernlens ship: a process without capabilities that sends captures and receives
 * requests. It may end at any time, and is started again; the recorder never waits for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/common.h"
#include "ship.h"

#define MESSAGE_MAX 8192
#define RESTART_NS 1000000000u
#define TAKE_MAX 16 /* messages at a time: the recorder has other work */

/* The socket keeps its number: it is the only descriptor that the agent inherits. */
static void exec_agent(const struct cli_ship *ship, int socket, const char *program, char **words)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/*
	 * Without capabilities: not those that the service manager has given to the recorder, and
	 * if that is root's, not those that root gets by executing a program.
	 */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	fcntl(socket, F_SETFD, 0);
	sigprocmask(SIG_SETMASK, &ship->run.before, NULL);
	execv(program, words);
	cli_error(-errno, "%s: %s", program, strerror(errno));
	_exit(CLI_NO_COMMAND);
}

static void watch_agent(struct cli_ship *ship, int socket)
{
	struct cli_ship_agent *agent = &ship->agent;
	struct epoll_event event = { .events = EPOLLIN };

	agent->socket = socket;
	agent->exit = (int)syscall(SYS_pidfd_open, agent->pid, 0);
	epoll_ctl(ship->poll, EPOLL_CTL_ADD, socket, &event);
	if (agent->exit >= 0)
		epoll_ctl(ship->poll, EPOLL_CTL_ADD, agent->exit, &event);
}

void cli_ship_start_agent(struct cli_ship *ship)
{
	struct cli_ship_agent *agent = &ship->agent;
	struct cli_fleet_words words = { .n = 0 };
	char *program;
	int ends[2];

	if (agent->pid || cli_now_ns() < agent->start_ns)
		return;
	agent->start_ns = cli_now_ns() + RESTART_NS;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		cli_error(-errno, "socketpair: %s", strerror(errno));
		return;
	}
	program = cli_fleet_program();
	cli_fleet_add(&words, "kernlens-fleet");
	cli_fleet_add(&words, "agent");
	cli_fleet_add(&words, "--control=%d", ends[1]);
	cli_fleet_add(&words, "--spool=%s", ship->spool);
	cli_fleet_add(&words, "--host=%s", ship->host);
	/* The first one takes what an earlier recorder has not finished. */
	if (!agent->greeted)
		cli_fleet_add(&words, "--first");
	for (size_t i = 0; i < ship->words.n; i++)
		cli_fleet_add(&words, "%s", ship->words.word[i]);
	agent->pid = fork();
	if (!agent->pid)
		exec_agent(ship, ends[1], program, words.word);
	close(ends[1]);
	if (agent->pid > 0) {
		agent->started++;
		watch_agent(ship, ends[0]);
	} else {
		cli_error(-errno, "fork: %s", strerror(errno));
		agent->pid = 0;
		close(ends[0]);
	}
	cli_fleet_free(&words);
	free(program);
}

static void forget_agent(struct cli_ship *ship)
{
	struct cli_ship_agent *agent = &ship->agent;

	if (agent->exit >= 0)
		close(agent->exit);
	if (agent->socket >= 0)
		close(agent->socket);
	agent->exit = -1;
	agent->socket = -1;
	agent->pid = 0;
}

/* -------------------------------------------------------------------- messages */

void cli_ship_tell_agent(struct cli_ship *ship, json_t *object)
{
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

	if (text && ship->agent.socket >= 0)
		send(ship->agent.socket, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
	free(text);
	json_decref(object);
}

void cli_ship_reply(struct cli_ship *ship, const char *reply, json_t *body)
{
	if (*reply)
		cli_ship_tell_agent(ship, json_pack("{s:s, s:s, s:O}", "do", "reply", "reply",
						    reply, "body", body));
	json_decref(body);
}

static void reply_status(struct cli_ship *ship, const char *reply)
{
	kl_session_stats(ship->session.session, -1, &ship->stats);
	cli_ship_reply(ship, reply,
		       json_pack("{s:s, s:I, s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I}",
				 "version", KL_VERSION, "captures", (json_int_t)ship->taken,
				 "refused", (json_int_t)ship->refused, "failed",
				 (json_int_t)ship->failed, "why", ship->why, "spool",
				 (json_int_t)cli_ship_spooled(ship), "spool_max",
				 (json_int_t)ship->spool_most, "window",
				 (json_int_t)cli_ship_window(ship), "records",
				 (json_int_t)ship->stats.written, "lost",
				 (json_int_t)ship->stats.lost, "restarts",
				 (json_int_t)ship->agent.started - 1));
}

static void take_message(struct cli_ship *ship, const json_t *object)
{
	const char *what = cli_json_get_text(object, "do");
	const struct cli_ship_request request = {
		.capture = cli_json_get_text(object, "capture"),
		.reason = cli_json_get_text(object, "reason"),
		.from = cli_json_get_text(object, "from"),
		.reply = cli_json_get_text(object, "reply"),
	};

	if (!strcmp(what, "hello"))
		ship->agent.greeted = true;
	else if (!strcmp(what, "status"))
		reply_status(ship, request.reply);
	else if (!strcmp(what, "freeze") && cli_fleet_is_name(request.capture))
		cli_ship_capture(ship, &request);
}

void cli_ship_poll_agent(struct cli_ship *ship)
{
	struct cli_ship_agent *agent = &ship->agent;
	char text[MESSAGE_MAX];
	int status;
	ssize_t n;

	for (unsigned int i = 0; i < TAKE_MAX && agent->socket >= 0 &&
				 (n = recv(agent->socket, text, sizeof(text), MSG_DONTWAIT)) > 0;
	     i++) {
		json_t *object = json_loadb(text, (size_t)n, 0, NULL);

		take_message(ship, object);
		json_decref(object);
	}
	if (!agent->pid || waitpid(agent->pid, &status, WNOHANG) != agent->pid)
		return;
	cli_note("the connection's process has ended (%s %d); it is started again",
		 WIFSIGNALED(status) ? "signal" : "status",
		 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	forget_agent(ship);
}

void cli_ship_stop_agent(struct cli_ship *ship)
{
	pid_t pid = ship->agent.pid;

	if (!pid)
		return;
	/* It ends when the socket is closed. What it was sending stays in the spool. */
	forget_agent(ship);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
