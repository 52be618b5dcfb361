/* SPDX-License-Identifier: GPL-2.0 */
/* The whole machine, now: what its CPUs do, its memory, load and number of tasks. */
#ifndef KERNLENS_MACHINE_H
#define KERNLENS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/client.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

/**
 * struct kl_machine_cpu - what a CPU did between the last two reads
 * @cpu: its number
 * @online: else all shares are 0
 * @user: percent of the time, as all that follow; without @nice and @guest
 * @nice: programs with a nice value above 0
 * @system: in the kernel, without @irq and @softirq
 * @irq: interrupts
 * @softirq: what interrupts have left to do
 * @steal: what the hypervisor has not given
 * @guest: guests of this machine
 * @iowait: nothing, while a task waited for storage
 * @idle: nothing
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
 * struct kl_machine_state - what is of no single CPU
 * @total_memory: bytes of RAM that the kernel manages
 * @free_memory: bytes that nobody uses
 * @available_memory: bytes that could be had without swapping
 * @file_memory: bytes with pages of files, tmpfs and buffers
 * @anon_memory: bytes of processes that are of no file
 * @total_swap: bytes
 * @free_swap: bytes
 * @load: averages of 1, 5 and 15 minutes
 * @uptime_ns: since the machine was started, with its sleep
 * @processes: of all users and pid namespaces, without kernel threads
 * @threads: of these processes, their first ones, too
 * @kernel_threads: number of them
 * @running: threads of both kinds that are on a CPU, or ready
 * @interrupts: of devices, a second since the read before
 * @softirqs: a second since the read before
 */
struct kl_machine_state {
	uint64_t total_memory;
	uint64_t free_memory;
	uint64_t available_memory;
	uint64_t file_memory;
	uint64_t anon_memory;
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
};

struct kl_machine;

/**
 * kl_machine_create - to be read again and again
 * @device: what to ask; must outlive it
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
 * kl_machine_read - the state now, and what was done since the read before
 * @machine: machine
 *
 * The first read tells what was done since the machine was started. Any user may.
 * Returns a negative errno on failure. May sleep.
 */
int kl_machine_read(struct kl_machine *machine);

/**
 * kl_machine_state - as of the newest read
 * @machine: machine
 */
const struct kl_machine_state *kl_machine_state(const struct kl_machine *machine);

/**
 * kl_machine_cpu - a CPU, as of the newest read
 * @machine: machine
 * @index: from 0, of those that there can be
 *
 * Returns NULL behind the last.
 */
const struct kl_machine_cpu *kl_machine_cpu(const struct kl_machine *machine, size_t index);

/**
 * kl_machine_average - all CPUs that are online together: a CPU's part of each share
 * @machine: machine
 *
 * `cpu` is the number of CPUs online.
 */
const struct kl_machine_cpu *kl_machine_average(const struct kl_machine *machine);

KL_PUBLIC_END

#endif /* KERNLENS_MACHINE_H */
