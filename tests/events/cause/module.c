// SPDX-License-Identifier: GPL-2.0
/*
 * module [NAME...]: has the module kl_cause do what only kernel code can, and removes it again;
 * without names, all that leaves the kernel well. Also asks for a module that there is not.
 */
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
	must_write(path, "1000000");
	must_write(path, "2000000");
	snprintf(path, sizeof(path), "%sscaling_governor", dir);
	must_write(path, "performance");
	sleep_ms(50);
	must_write(path, "powersave");
	sleep_ms(50);
	fact("power_cpu_frequency state=2000000 cpu_id=0");
	fact("power_cpu_frequency state=1000000 cpu_id=0");
	fact("cpu_frequency_limits min_freq=1000000 max_freq=1000000 cpu_id=0");
}

/* Sleeps that look long and are cut short. */
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

static void run_action(const char *name)
{
	insert(name);
	tell(name);
	if (!strcmp(name, "cpufreq"))
		use_frequencies();
	if (!strcmp(name, "cpuidle"))
		sleep_unevenly();
	CHECK(syscall(SYS_delete_module, "kl_cause", 0));
	fact("module_load name=kl_cause");
	fact("module_free name=kl_cause");
}

int main(int argc, char **argv)
{
	static const char *const all[] = { "kthread", "worker",	 "work",    "tasklet", "irqwork",
					   "smp",     "vectors", "timer",   "wakeup",  "rpm",
					   "devqos",  "thermal", "cpufreq", "cpuidle" };

	int fd;

	if (argc > 1) {
		for (int i = 1; i < argc; i++)
			run_action(argv[i]);
		return 0;
	}
	for (unsigned int i = 0; i < sizeof(all) / sizeof(*all); i++)
		run_action(all[i]);
	/* No such protocol: the kernel asks modprobe for it. */
	fd = socket(AF_INET, SOCK_SEQPACKET, 123);
	if (fd < 0)
		fact("module_request name=net-pf-2-proto-123-type-5 wait=1");
	else
		close(fd);
	return 0;
}
