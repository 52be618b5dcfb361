/* SPDX-License-Identifier: GPL-2.0 */
/* The current state of the whole machine: CPU utilization, memory, load and number of tasks. */
#ifndef KERNLENS_MACHINE_H
#define KERNLENS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/client.h>

/**
 * struct kl_machine_cpu - utilization of a CPU between the last two reads, in percent of the time
 * @cpu: its number
 * @online: if false, all shares are 0
 * @user: user mode, without @nice and @guest
 * @nice: user mode of tasks with a nice value above 0
 * @system: in the kernel, without @irq and @softirq
 * @irq: interrupts
 * @softirq: software interrupts
 * @steal: time that the hypervisor gave to others
 * @guest: guests that run on this machine
 * @iowait: idle while a task waited for storage
 * @idle: idle otherwise
 */
struct kl_machine_cpu {
	uint32_t cpu;
	bool online;
	double user;
	double nice;
	double system;
	double irq;
	double softirq;
	double steal;
	double guest;
	double iowait;
	double idle;
};

/**
 * struct kl_machine_state - state that belongs to no single CPU
 * @total_memory: bytes of RAM that the kernel manages
 * @free_memory: unused bytes
 * @available_memory: bytes that can be allocated without swapping
 * @file_memory: bytes of pages of files, tmpfs and buffers
 * @anon_memory: bytes of anonymous memory of processes
 * @shared_memory: bytes of tmpfs and shared memory, part of @file_memory
 * @slab_reclaimable: bytes of the kernel's own that it can free when needed
 * @total_swap: bytes
 * @free_swap: bytes
 * @load: load averages over 1, 5 and 15 minutes
 * @uptime_ns: ns since boot, including suspend
 * @processes: of all users and pid namespaces, without kernel threads
 * @threads: threads of these processes, including their main threads
 * @kernel_threads: number of kernel threads
 * @running: user and kernel threads that are on a CPU or ready to run
 * @interrupts: device interrupts per second since the previous read
 * @softirqs: software interrupts per second since the previous read
 * @has_delays: the kernel counts the delays of new tasks (kernel.task_delayacct)
 */
struct kl_machine_state {
	uint64_t total_memory;
	uint64_t free_memory;
	uint64_t available_memory;
	uint64_t file_memory;
	uint64_t anon_memory;
	uint64_t shared_memory;
	uint64_t slab_reclaimable;
	uint64_t total_swap;
	uint64_t free_swap;
	double load[3];
	uint64_t uptime_ns;
	uint32_t processes;
	uint32_t threads;
	uint32_t kernel_threads;
	uint32_t running;
	double interrupts;
	double softirqs;
	bool has_delays;
};

struct kl_machine;

/**
 * kl_machine_create - create an object that reads the machine's state
 * @device: device to query; must outlive the object
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_machine *kl_machine_create(struct kl_device *device);

/**
 * kl_machine_destroy - free
 * @machine: or NULL
 */
void kl_machine_destroy(struct kl_machine *machine);

/**
 * kl_machine_read - read the current state, and the activity since the previous read
 * @machine: machine
 *
 * The first read reports the activity since boot. Needs no privileges. Returns 0 or a negative
 * errno. May sleep.
 */
int kl_machine_read(struct kl_machine *machine);

/**
 * kl_machine_state - state as of the last read
 * @machine: machine
 *
 * The state belongs to @machine and changes with the next read.
 */
const struct kl_machine_state *kl_machine_state(const struct kl_machine *machine);

/**
 * kl_machine_cpu - a CPU, as of the last read
 * @machine: machine
 * @index: from 0, over the possible CPUs
 *
 * Returns NULL after the last.
 */
const struct kl_machine_cpu *kl_machine_cpu(const struct kl_machine *machine, size_t index);

/**
 * kl_machine_times - the counters of a CPU since boot, as of the last read
 * @machine: machine
 * @index: as for kl_machine_cpu()
 *
 * Returns NULL after the last.
 */
const struct kl_abi_cpu *kl_machine_times(const struct kl_machine *machine, size_t index);

/**
 * kl_machine_average - average over all online CPUs
 * @machine: machine
 *
 * Each share is the average per CPU; `cpu` is the number of online CPUs.
 */
const struct kl_machine_cpu *kl_machine_average(const struct kl_machine *machine);

#endif /* KERNLENS_MACHINE_H */
