# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# The cost limit of an event, and sessions that exceed their CPU limit, as the commands report them.

parameters=/sys/module/kernlens/parameters
chmod 777 "$work"

# The first command that exceeds the limit is refused with the total cost.
was=$(cat "$parameters/event_operations_per_user")
echo 1000 >"$parameters/event_operations_per_user"
kl_nobody record -e sched_switch -v ustack -o dear -- true
expect "an ordinary user's session that is too dear is refused" 1
says err 'sched_switch would cost [0-9]+ operations each time it fires, the limit is 1000; [0-9]+ are for variables' \
	"the message has the sum and the largest part"
echo "$was" >"$parameters/event_operations_per_user"
kl_nobody record -q -e sched_switch -v ustack -o usual -- true
expect "with the usual limit it is not" 0

# The limit is watched over some seconds, more on a slow kernel with checkers.
slow=1
[[ $(uname -r) != *debug* ]] || slow=4

# A program that only makes system calls, each with both stack traces: probes take more than one
# percent of the CPU time.
was=$(cat "$parameters/cpu_percent_privileged")
echo 1 >"$parameters/cpu_percent_privileged"
kl record -e 'syscall_entry_write :stack' -v kstack,ustack -o suspended -- \
	bash -c 'timeout "$1" dd if=/dev/zero of=/dev/null bs=1 status=none; exit 3' - $((6 * slow))
expect "the recorder of a session that is suspended waits for its command" 3
says err '^kernlens: the session was suspended: its probes took [0-9.]+ % of the CPU time.* \(limit: 1 %\)$' \
	"the recorder reports why"
kl print --format json suspended
check "the trace has the event" test "$(grep -c '"event":"session_suspended"' "$work/out")" -eq 1
kl live -q -e 'syscall_entry_write :stack' -v kstack,ustack -- \
	timeout $((4 * slow)) dd if=/dev/zero of=/dev/null bs=1 status=none
says err 'the session was suspended' "so does live"
echo "$was" >"$parameters/cpu_percent_privileged"
