// SPDX-License-Identifier: GPL-2.0
/*
 * module [NAME...]: has the module kl_cause do what only kernel code can, and unloads it again.
 * Without names, does everything that leaves the kernel intact, and requests a module that does not
 * exist.
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include "cause.h"

#define TIMES 10

static void insert(const char *name)
{
	const char *build = getenv("KL_BUILD") ?: "build";
	char path[512], what[64];
	struct utsname uts;
	int fd;

	uname(&uts);
	snprintf(path, sizeof(path), "%s/%s/kl_cause.ko", build, uts.release);
	snprintf(what, sizeof(what), "what=%s", name);
	fd = CHECK(open(path, O_RDONLY | O_CLOEXEC));
	if (syscall(SYS_finit_module, fd, what, 0))
		DIE("finit_module %s", what);
	close(fd);
}

static void use_frequencies(void)
{
	static const char dir[] = "/sys/devices/system/cpu/cpu0/cpufreq/";
	char path[256];

	snprintf(path, sizeof(path), "%sscaling_max_freq", dir);
	/* A worker applies a new limit. */
	must_write(path, "1000000");
	sleep_ms(100);
	must_write(path, "2000000");
	sleep_ms(100);
	snprintf(path, sizeof(path), "%sscaling_governor", dir);
	must_write(path, "performance");
	sleep_ms(50);
	must_write(path, "powersave");
	sleep_ms(50);
	fact("power_cpu_frequency state=2000000 cpu_id=0");
	fact("power_cpu_frequency state=1000000 cpu_id=0");
	fact("cpu_frequency_limits min_freq=1000000 max_freq=1000000 cpu_id=0");
}

/* Uneven sleeps, so that the idle governor mispredicts some. */
static void sleep_unevenly(void)
{
	for (int i = 0; i < 40; i++)
		sleep_ms(i % 4 ? 1 : 30);
}

static void tell(const char *name)
{
	for (int i = 0; i < TIMES; i++) {
		if (!strcmp(name, "kthread"))
			fact("sched_kthread_stop comm=kl_cause_%d", i);
		if (!strcmp(name, "devqos"))
			fact("dev_pm_qos_add_request type=1 new_value=%d "
			     "name=kl_cause_willing.0",
			     1000 + i);
		if (!strcmp(name, "devqos"))
			fact("dev_pm_qos_update_request type=1 new_value=%d", 2000 + i);
		if (!strcmp(name, "thermal"))
			fact("thermal_temperature thermal_zone=kl_cause temp=%d", 42000 + 1000 * i);
	}
	if (!strcmp(name, "kthread"))
		fact("sched_kthread_stop_ret ret=42");
	if (!strcmp(name, "hang"))
		fact("sched_process_hang comm=module tid=%d", getpid());
	if (!strcmp(name, "stall"))
		fact("rcu_stall_warning rcuname=rcu_preempt");
	if (!strcmp(name, "wakeup"))
		fact("wakeup_source_activate name=kl_cause");
	if (!strcmp(name, "vectors")) {
		fact("x86_irq_vectors_error_apic_entry vector=0xfe");
		fact("x86_irq_vectors_spurious_apic_entry vector=0xff");
		fact("x86_irq_vectors_thermal_apic_entry vector=0xfa");
		fact("x86_irq_vectors_threshold_apic_entry vector=0xf9");
		fact("x86_irq_vectors_deferred_error_apic_entry vector=0xf4");
		fact("x86_irq_vectors_ipi_entry vector=0xf7");
	}
}

/* Warnings go to the log without a panic, after short timeouts. */
static void prepare(const char *name)
{
	if (!strcmp(name, "hang")) {
		must_write("/proc/sys/kernel/hung_task_panic", "0");
		must_write("/proc/sys/kernel/hung_task_timeout_secs", "1");
	}
	if (!strcmp(name, "stall")) {
		must_write("/proc/sys/kernel/panic_on_rcu_stall", "0");
		must_write("/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout", "3");
	}
}

/* Sends packets to a device that takes one and then stops its queue. */
static void send_to_stuck(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(9),
				  .sin_addr.s_addr = htonl(0x0a070002) };
	int fd = CHECK(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));

	MUST_RUN("ip", "addr", "add", "10.7.0.1/24", "dev", "klstuck0");
	MUST_RUN("ip", "link", "set", "klstuck0", "up");
	for (int i = 0; i < 5; i++) {
		sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to));
		sleep_ms(300);
	}
	close(fd);
	fact("net_dev_xmit_timeout queue_index=0 name=klstuck0");
}

/* The address at which the kernel died, from the log and the symbol's address. */
static unsigned long place_of_death(void)
{
	unsigned long offset = 0, address;
	char line[512], name[128];
	FILE *log = popen("dmesg | grep 'RIP: 0010:do_oops' | tail -n 1", "r");
	FILE *symbols = fopen("/proc/kallsyms", "re");

	if (!log || !symbols || !fgets(line, sizeof(line), log) || !strstr(line, "do_oops+"))
		DIE("the log does not say where");
	offset = strtoul(strstr(line, "do_oops+") + strlen("do_oops+"), NULL, 16);
	pclose(log);
	while (fgets(line, sizeof(line), symbols))
		if (sscanf(line, "%lx %*c %127s", &address, name) == 2 && !strcmp(name, "do_oops"))
			return address + offset;
	DIE("no symbol do_oops");
}

/* The task that inserts the module dies in the kernel, and the module stays loaded. */
static void die_inside(void)
{
	pid_t pid = CHECK(fork());

	if (!pid) {
		insert("oops");
		_exit(0);
	}
	CHECK(waitpid(pid, NULL, 0));
	/*
	 * A write fault on a page not present, in the kernel; thread.trap_nr is not updated for it.
	 */
	fact("die trapnr=0 signr=11 err=2 str=Oops ip=%lu", place_of_death());
}

/* Fill the page cache with pages that reclaim can drop. */
static void fill_cache(void)
{
	static char buffer[1 << 20];
	int fd;

	MUST_RUN("modprobe", "brd", "rd_nr=1", "rd_size=32768");
	for (int i = 0; access("/dev/ram0", F_OK) && i < 100; i++)
		sleep_ms(10);
	fd = CHECK(open("/dev/ram0", O_RDWR | O_CLOEXEC));
	for (int i = 0; i < 32; i++)
		CHECK(write(fd, buffer, sizeof(buffer)));
	CHECK(fsync(fd));
	close(fd);
}

static void run_action(const char *name)
{
	prepare(name);
	if (!strcmp(name, "fragment"))
		fill_cache();
	if (!strcmp(name, "oops")) {
		die_inside();
		return;
	}
	insert(name);
	tell(name);
	if (!strcmp(name, "txtimeout"))
		send_to_stuck();
	if (!strcmp(name, "cpufreq"))
		use_frequencies();
	if (!strcmp(name, "cpuidle"))
		sleep_unevenly();
	if (!strcmp(name, "fragment"))
		RUN("modprobe", "-r", "brd");
	CHECK(syscall(SYS_delete_module, "kl_cause", 0));
	fact("module_load name=kl_cause");
	fact("module_free name=kl_cause");
}

int main(int argc, char **argv)
{
	static const char *const all[] = { "kthread", "worker",	 "work",    "tasklet", "irqwork",
					   "smp",     "vectors", "timer",   "wakeup",  "rpm",
					   "devqos",  "thermal", "cpufreq", "cpuidle", "neigh" };

	int fd;

	if (argc > 1) {
		for (int i = 1; i < argc; i++)
			run_action(argv[i]);
		return 0;
	}
	for (unsigned int i = 0; i < sizeof(all) / sizeof(*all); i++)
		run_action(all[i]);
	/* No such protocol: the kernel runs modprobe for it. */
	fd = socket(AF_INET, SOCK_SEQPACKET, 123);
	if (fd < 0)
		fact("module_request name=net-pf-2-proto-123-type-5 wait=1");
	else
		close(fd);
	return 0;
}
