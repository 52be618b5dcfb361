# shellcheck shell=bash disable=SC2034,SC2154 # what is set here is used there, and the reverse
# SPDX-License-Identifier: GPL-2.0
#
# What the guests of tests/crash record, and the load under which they do, for scripts that set
# `kernlens`.

events=syscalls,console,sched_switch,sched_waking,sched_wakeup,irq_handler_entry,irq_handler_exit,irq_softirq_entry,irq_softirq_exit

# Processes that call, switch, fork and do I/O on all processors, at a pace that the witness can follow.
load() {
	local i
	for ((i = 0; i < $(nproc); i++)); do
		while :; do
			cat /proc/self/stat >/dev/null
			sleep 0.02
		done &
		while sleep 0.05; do
			dd if=/dev/zero bs=512 count=100 2>/dev/null | dd of=/dev/null bs=512 2>/dev/null
		done &
		while sleep 0.1; do ls -R /sys/class/net >/dev/null; done &
	done
}

# Wait until the witness and the flight recorder exist.
await_sessions() {
	local name i
	for name in witness flight; do
		for ((i = 0; ; i++)); do
			! "$kernlens" status --json | grep -q "\"$name\"" || break
			((i < 300)) || exit 1
			sleep 0.1
		done
	done
}

# Wait until the flight recorder has named the first stack traces, and for the next ones. The first take it
# seconds here, since it reads the kernel's symbols.
await_names() {
	local i
	for ((i = 0; i < 300; i++)); do
		[[ ! -e /tmp/flight/.kernlens/stacks ]] || break
		sleep 0.1
	done
	sleep 4
}
