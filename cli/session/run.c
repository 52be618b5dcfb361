// SPDX-License-Identifier: GPL-2.0
/* Wait for data, signals, the command, watched processes and the clock. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/common.h"
#include "run.h"

#define UPDATE_MS_MIN 10
#define UPDATE_MS_MAX 320

int cli_run_init(struct cli_run *run, struct cli_session *session)
{
	sigset_t ours;

	*run = (struct cli_run){ .session = session, .signals = -1, .news = -1 };
	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ours, &run->before);
	session->signals = run->before;
	run->signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	if (run->signals < 0)
		return cli_error(-errno, "cannot wait for signals: %s", strerror(errno));
	return CLI_OK;
}

/* Watch by descriptor: a PID may be reused by another process. */
static int open_targets(struct cli_run *run)
{
	const struct cli_select *select = &run->session->select;

	for (unsigned int i = 0; i < select->n_pids; i++) {
		int fd = (int)syscall(SYS_pidfd_open, select->pid[i], 0);

		if (fd < 0 && errno == ESRCH)
			return cli_error(-ESRCH, "process %d has ended", select->pid[i]);
		/* A thread that is not a thread group leader cannot be waited for. */
		if (fd >= 0)
			run->targets[run->n_targets++] = fd;
	}
	return CLI_OK;
}

static uint64_t cycles_to_ns(const struct cli_run *run, uint64_t cycles)
{
	uint64_t hz = kl_device_info(run->session->device)->clock_hz;

	return (uint64_t)((unsigned __int128)cycles * 1000000000u / hz);
}

/*
 * When the session began, which is before the call that started it returned; the current time if
 * that is not known.
 */
static uint64_t session_began_ns(const struct cli_run *run)
{
	struct kl_abi_stats stats;
	struct kl_abi_time now;

	if (kl_session_stats(run->session->session, -1, &stats) || !stats.begin_cycles ||
	    kl_device_time(run->session->device, &now) || now.cycles < stats.begin_cycles)
		return cli_now_ns();
	return now.monotonic_ns - cycles_to_ns(run, now.cycles - stats.begin_cycles);
}

static void begin_time(struct cli_run *run, uint64_t began_ns)
{
	run->began_ns = began_ns;
	if (run->session->select.duration_ns)
		run->ends_ns = run->began_ns + run->session->select.duration_ns;
}

int cli_run_begin(struct cli_run *run)
{
	int status = open_targets(run);

	if (!status)
		status = cli_session_start(run->session);
	if (!status) {
		begin_time(run, session_began_ns(run));
		/* Reading the statistics has consumed a notification that was pending. */
		run->told = true;
		run->own_news = run->session->unwinds && run->news < 0;
		if (run->own_news)
			run->news = kl_session_fd(run->session->session);
	}
	return status;
}

int cli_run_watch(struct cli_run *run)
{
	int status = open_targets(run);

	if (!status)
		begin_time(run, cli_now_ns());
	return status;
}

uint64_t cli_run_elapsed(const struct cli_run *run)
{
	return cli_now_ns() - run->began_ns;
}

uint64_t cli_run_length(const struct cli_run *run)
{
	struct kl_abi_stats stats;

	if (kl_session_stats(run->session->session, -1, &stats) || !stats.end_cycles)
		return cli_run_elapsed(run);
	return cycles_to_ns(run, stats.end_cycles - stats.begin_cycles);
}

/*
 * Ctrl-C also goes to the command, which decides whether to exit; a signal sent only to us is
 * forwarded to it. A second such signal ends the recording.
 */
static void take_signal(struct cli_run *run, const struct signalfd_siginfo *signal)
{
	struct cli_child *child = &run->session->child;
	int number = (int)signal->ssi_signo;

	if (number == SIGCHLD)
		return;
	run->asked = true;
	if (!child->pid || child->ended) {
		run->over = true;
		return;
	}
	if (signal->ssi_code == SI_KERNEL)
		return;
	if (run->n_asked++)
		run->over = true;
	kill(child->pid, number);
}

static void take_signals(struct cli_run *run)
{
	struct signalfd_siginfo signal;

	while (read(run->signals, &signal, sizeof(signal)) == sizeof(signal))
		take_signal(run, &signal);
}

/* Stop watching processes that have exited. If none is left, the run is over. */
static void look_at_targets(struct cli_run *run, const struct pollfd *polls)
{
	unsigned int left = 0;

	if (!run->n_targets)
		return;
	for (unsigned int i = 0; i < run->n_targets; i++) {
		if (polls[i].revents)
			close(run->targets[i]);
		else
			run->targets[left++] = run->targets[i];
	}
	run->n_targets = left;
	if (!left && !run->session->child.pid)
		run->over = true;
}

static int shorten(const struct cli_run *run, int timeout_ms)
{
	uint64_t now = cli_now_ns(), left_ms;

	if (!run->ends_ns)
		return timeout_ms;
	if (now >= run->ends_ns)
		return 0;
	left_ms = (run->ends_ns - now) / 1000000 + 1;
	return timeout_ms >= 0 && left_ms > (uint64_t)timeout_ms ? timeout_ms : (int)left_ms;
}

/*
 * Traces of a program that has just been executed are uncertain until its files are known, so look
 * often at first, and after each time that there were new ones.
 */
static int update(struct cli_run *run, int timeout_ms)
{
	struct kl_abi_stats stats;

	if (!run->session->unwinds)
		return timeout_ms;
	if (run->told && run->own_news) {
		/* Consume it. */
		kl_session_stats(run->session->session, -1, &stats);
		run->told = false;
	}
	if (cli_session_update(run->session) || !run->update_ms)
		run->update_ms = UPDATE_MS_MIN;
	else if (run->update_ms < UPDATE_MS_MAX)
		run->update_ms *= 2;
	return timeout_ms < 0 || timeout_ms > run->update_ms ? run->update_ms : timeout_ms;
}

void cli_run_wait(struct cli_run *run, int fd, int timeout_ms)
{
	struct pollfd polls[CLI_PIDS_MAX + 3];
	unsigned int n = run->n_targets;

	for (unsigned int i = 0; i < n; i++)
		polls[i] = (struct pollfd){ .fd = run->targets[i], .events = POLLIN };
	polls[n] = (struct pollfd){ .fd = run->signals, .events = POLLIN };
	polls[n + 1] = (struct pollfd){ .fd = fd, .events = POLLIN };
	polls[n + 2] = (struct pollfd){ .fd = run->news, .events = POLLPRI };
	if (poll(polls, n + 3, shorten(run, update(run, timeout_ms))) > 0) {
		look_at_targets(run, polls);
		run->told |= polls[n + 2].revents & POLLPRI;
		if (polls[n].revents)
			take_signals(run);
	}
	if (run->session->child.pid && cli_child_poll(&run->session->child))
		run->over = true;
	if (run->ends_ns && cli_now_ns() >= run->ends_ns)
		run->over = true;
}

int cli_run_status(struct cli_run *run, int status)
{
	struct cli_child *child = &run->session->child;

	if (!child->pid)
		return status;
	while (!cli_child_poll(child))
		cli_run_wait(run, -1, -1);
	cli_child_explain(child);
	return status ? status : cli_child_exit(child);
}

void cli_run_deinit(struct cli_run *run)
{
	for (unsigned int i = 0; i < run->n_targets; i++)
		close(run->targets[i]);
	if (run->signals >= 0)
		close(run->signals);
	sigprocmask(SIG_SETMASK, &run->before, NULL);
}
