// SPDX-License-Identifier: GPL-2.0
/*
 * The state of the whole machine. Fed by the device's ioctl for CPUs, the machine's variables, and
 * sysinfo(2) for swap and load; read by the full-screen view. A CPU's shares are the growth of its
 * counters between two reads, relative to their total growth.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <kernlens/inspect.h>
#include <kernlens/machine.h>
#include "../base/base.h"
#include "../client/client.h"

static const char *const memory[] = { "total_memory", "free_memory", "available_memory",
				      "file_memory",  "anon_memory", "slab_reclaimable" };

struct kl_machine {
	struct kl_device *device;
	struct kl_inspect *inspect;
	struct kl_abi_cpu *now, *before;
	struct kl_machine_cpu *shares;
	uint32_t n, room;
	uint64_t now_ns, before_ns;
	struct kl_machine_cpu average;
	struct kl_machine_state state;
};

struct kl_machine *kl_machine_create(struct kl_device *device)
{
	struct kl_machine *m = calloc(1, sizeof(*m));
	uint32_t ids[KL_ARRAY_SIZE(memory)];

	if (!m) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	m->device = device;
	for (size_t i = 0; i < KL_ARRAY_SIZE(memory); i++)
		ids[i] = kl_variable_find(memory[i])->id;
	m->inspect = kl_inspect_create(device, ids, KL_ARRAY_SIZE(ids));
	if (!m->inspect) {
		free(m);
		return NULL;
	}
	return m;
}

void kl_machine_destroy(struct kl_machine *m)
{
	if (!m)
		return;
	kl_inspect_destroy(m->inspect);
	free(m->now);
	free(m->before);
	free(m->shares);
	free(m);
}

static int make_room(struct kl_machine *m, uint32_t n)
{
	struct kl_abi_cpu *now = calloc(n, sizeof(*now));
	struct kl_abi_cpu *before = calloc(n, sizeof(*before));
	struct kl_machine_cpu *shares = calloc(n, sizeof(*shares));

	if (!now || !before || !shares) {
		free(now);
		free(before);
		free(shares);
		return kl_fail(ENOMEM, "out of memory");
	}
	free(m->now);
	free(m->before);
	free(m->shares);
	m->now = now;
	m->before = before;
	m->shares = shares;
	m->room = n;
	return 0;
}

static int ask(struct kl_machine *m)
{
	struct kl_abi_cpus call;
	int ret;

	for (;;) {
		call = (struct kl_abi_cpus){ .n_cpus = m->room, .cpus = (uintptr_t)m->now };
		ret = kl_client_call(m->device->fd, KL_IOC_CPUS, &call, sizeof(call),
				     "inspect the CPUs");
		if (ret)
			return ret;
		if (call.n_cpus <= m->room)
			break;
		ret = make_room(m, call.n_cpus);
		if (ret)
			return ret;
	}
	m->n = call.n_cpus;
	m->now_ns = call.monotonic_ns;
	m->state.uptime_ns = call.boottime_ns;
	m->state.processes = call.processes;
	m->state.threads = call.threads;
	m->state.kernel_threads = call.kernel_threads;
	m->state.running = call.running;
	return 0;
}

/* The kernel's idle time can decrease slightly. */
static double grown(uint64_t now, uint64_t before)
{
	return now > before ? (double)(now - before) : 0;
}

static struct kl_machine_cpu share(const struct kl_abi_cpu *now, const struct kl_abi_cpu *before)
{
	struct kl_machine_cpu c = {
		.cpu = now->cpu,
		.online = now->online,
		.system = grown(now->system_ns, before->system_ns),
		.irq = grown(now->irq_ns, before->irq_ns),
		.softirq = grown(now->softirq_ns, before->softirq_ns),
		.steal = grown(now->steal_ns, before->steal_ns),
		.guest = grown(now->guest_ns + now->guest_nice_ns,
			       before->guest_ns + before->guest_nice_ns),
		.iowait = grown(now->iowait_ns, before->iowait_ns),
		.idle = grown(now->idle_ns, before->idle_ns),
		.user = grown(now->user_ns - now->guest_ns, before->user_ns - before->guest_ns),
		.nice = grown(now->nice_ns - now->guest_nice_ns,
			      before->nice_ns - before->guest_nice_ns),
	};
	double *part[] = { &c.user,  &c.nice,  &c.system, &c.irq, &c.softirq,
			   &c.steal, &c.guest, &c.iowait, &c.idle };
	double sum = 0;

	for (size_t i = 0; i < KL_ARRAY_SIZE(part); i++)
		sum += *part[i];
	for (size_t i = 0; i < KL_ARRAY_SIZE(part); i++)
		*part[i] = sum > 0 && now->online ? 100 * *part[i] / sum : 0;
	return c;
}

static void add(struct kl_machine_cpu *to, const struct kl_machine_cpu *c, double n)
{
	to->user += c->user / n;
	to->nice += c->nice / n;
	to->system += c->system / n;
	to->irq += c->irq / n;
	to->softirq += c->softirq / n;
	to->steal += c->steal / n;
	to->guest += c->guest / n;
	to->iowait += c->iowait / n;
	to->idle += c->idle / n;
}

static void make_shares(struct kl_machine *m)
{
	double seconds = (double)(m->now_ns - m->before_ns) / 1e9;
	uint32_t online = 0;

	m->state.interrupts = 0;
	m->state.softirqs = 0;
	m->average = (struct kl_machine_cpu){ .online = true };
	for (uint32_t i = 0; i < m->n; i++)
		online += m->now[i].online;
	m->average.cpu = online;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct kl_abi_cpu *now = &m->now[i], *before = &m->before[i];

		m->shares[i] = share(now, before);
		m->state.interrupts += grown(now->interrupts, before->interrupts) / seconds;
		m->state.softirqs += grown(now->softirqs, before->softirqs) / seconds;
		if (now->online)
			add(&m->average, &m->shares[i], online);
	}
}

static int read_memory(struct kl_machine *m)
{
	uint64_t *const to[] = { &m->state.total_memory,     &m->state.free_memory,
				 &m->state.available_memory, &m->state.file_memory,
				 &m->state.anon_memory,	     &m->state.slab_reclaimable };
	int32_t self = getpid();
	int ret = kl_inspect_read(m->inspect, &self, 1, 0);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < KL_ARRAY_SIZE(to); i++)
		*to[i] = kl_inspect_value(m->inspect, 0, i).number;
	return 0;
}

/* Does the kernel count, for new tasks, how long they are blocked on I/O? */
static bool has_delays(void)
{
	int fd = open("/proc/sys/kernel/task_delayacct", O_RDONLY | O_CLOEXEC);
	char digit = '0';

	if (fd < 0)
		return false;
	if (read(fd, &digit, 1) != 1)
		digit = '0';
	close(fd);
	return digit == '1';
}

static int read_system(struct kl_machine *m)
{
	struct sysinfo info;

	if (sysinfo(&info))
		return kl_fail_system(errno, "sysinfo");
	m->state.has_delays = has_delays();
	m->state.shared_memory = (uint64_t)info.sharedram * info.mem_unit;
	m->state.total_swap = (uint64_t)info.totalswap * info.mem_unit;
	m->state.free_swap = (uint64_t)info.freeswap * info.mem_unit;
	for (int i = 0; i < 3; i++)
		m->state.load[i] = (double)info.loads[i] / (1 << SI_LOAD_SHIFT);
	return 0;
}

int kl_machine_read(struct kl_machine *m)
{
	struct kl_abi_cpu *old = m->before;
	int ret;

	m->before = m->now;
	m->now = old;
	m->before_ns = m->now_ns;
	ret = ask(m);
	if (!ret)
		ret = read_memory(m);
	if (!ret)
		ret = read_system(m);
	if (!ret)
		make_shares(m);
	return ret;
}

const struct kl_machine_state *kl_machine_state(const struct kl_machine *m)
{
	return &m->state;
}

const struct kl_machine_cpu *kl_machine_cpu(const struct kl_machine *m, size_t index)
{
	return index < m->n ? &m->shares[index] : NULL;
}

const struct kl_abi_cpu *kl_machine_times(const struct kl_machine *m, size_t index)
{
	return index < m->n ? &m->now[index] : NULL;
}

const struct kl_machine_cpu *kl_machine_average(const struct kl_machine *m)
{
	return &m->average;
}
