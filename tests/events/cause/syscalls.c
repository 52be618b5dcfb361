// SPDX-License-Identifier: GPL-2.0
/*
 * syscalls: every system call of the 64-bit table once, with arguments that none accepts, and a
 * string whose page is not present yet.
 * syscalls strace: a program under strace, which writes what it saw to $KL_OUT/strace.
 */
#include <signal.h>

#include "cause.h"

#define LAST 470

/* System calls that do not return, take the machine down, or change the credentials of the rest. */
static const int left_out[] = {
	SYS_exit,     SYS_exit_group,	   SYS_fork,	      SYS_vfork,       SYS_clone,
	SYS_clone3,   SYS_rt_sigreturn,	   SYS_pause,	      SYS_reboot,      SYS_setuid,
	SYS_setgid,   SYS_setreuid,	   SYS_setregid,      SYS_setresuid,   SYS_setresgid,
	SYS_setfsuid, SYS_setfsgid,	   SYS_personality,   SYS_close_range, SYS_vhangup,
	SYS_alarm,    SYS_set_tid_address, SYS_rt_sigsuspend, SYS_setsid,      SYS_mlockall,
	SYS_sync,
};

static bool is_left_out(int number)
{
	for (unsigned int i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
		if (left_out[i] == number)
			return true;
	return false;
}

static void on_alarm(int number)
{
}

static void call_all(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	pid_t pid = CHECK(fork());

	if (pid) {
		CHECK(waitpid(pid, NULL, 0));
		return;
	}
	/* Without SA_RESTART: a call that blocks ends after a second. */
	CHECK(sigaction(SIGALRM, &action, NULL));
	for (int number = 0; number < LAST; number++) {
		if (is_left_out(number))
			continue;
		syscall(SYS_alarm, 1);
		syscall(number, 0x8123456781234567, 0x8111111182222222, 0x8333333384444444,
			0x8555555586666666, 0x8777777788888888, 0x8999999981111111);
	}
	syscall(SYS_alarm, 1);
	syscall(SYS_pause);
	syscall(SYS_setuid, -1);
	syscall(SYS_setgid, -1);
	syscall(SYS_setreuid, -1, -1);
	syscall(SYS_setregid, -1, -1);
	syscall(SYS_setresuid, -1, -1, -1);
	syscall(SYS_setresgid, -1, -1, -1);
	syscall(SYS_setfsuid, -1);
	syscall(SYS_setfsgid, -1);
	syscall(SYS_personality, 0xffffffff);
	syscall(SYS_mlockall, 0x8888);
	syscall(SYS_reboot, 1, 2, 3, 4);
	syscall(SYS_close_range, 1000, 1001, 0);
	syscall(SYS_exit_group, 7);
}

static void open_late(void)
{
	static const char path[] = "/etc/kl-no-such-file";
	int fd = CHECK(open("/tmp/kl-path", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
	char *map;

	CHECK(write(fd, path, sizeof(path)));
	map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		DIE("mmap");
	if (syscall(SYS_openat, AT_FDCWD, map, O_RDONLY, 0) >= 0)
		DIE("opened %s", path);
	fact("syscall_late_string nr=%d arg=1 text=%s", SYS_openat, path);
	/* Now the string's page is present. */
	syscall(SYS_openat, AT_FDCWD, map, O_RDONLY, 0);
	fact("syscall_entry_openat dfd=-100 filename=%s flags=0", path);
	close(fd);
	unlink("/tmp/kl-path");
}

int main(int argc, char **argv)
{
	char command[512];

	if (argc > 1 && !strcmp(argv[1], "strace")) {
		snprintf(command, sizeof(command), "%s/strace", getenv("KL_OUT") ?: "/tmp");
		execlp("strace", "strace", "-f", "-s", "300", "-o", command, "sh", "-c",
		       "mkdir /tmp/kl-s; echo text >/tmp/kl-s/a; mv /tmp/kl-s/a /tmp/kl-s/b; "
		       "cat /tmp/kl-s/b; ln -s b /tmp/kl-s/c; ls -l /tmp/kl-s; rm -r /tmp/kl-s",
		       NULL);
		DIE("strace");
	}
	call_all();
	open_late();
	return 0;
}
