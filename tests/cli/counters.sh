# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
# Counters of perf as variables: compared with other values of the same records, in expressions,
# between blocks, refused where they are unavailable, and released when unused.

kl list variables --json
json "list variables --json has counters" '[.[] | select(.type == "u64" and .access == "all" and
	(.name | startswith("cpu_")))] | length == 10'
missing=$(jq -r '[.[] | select((.available | not) and .name == "cpu_instructions")][0].name // empty' out)
if [[ $missing ]]; then
	kl list variables
	says out '^- cpu_instructions .*\[this machine has no hardware counter for instructions' \
		"what cannot be counted says why"
	kl record -q --no-dump -e sched -v cpu_instructions -- true
	expect "-v of a counter that the machine lacks" 1
	says err 'cpu_instructions is not available here: this machine has no hardware counter'
	kl record -q --no-dump -e sched -v 'half=cpu_instructions/2' -- true
	expect "and in an expression" 1
else
	skip "what cannot be counted" "the machine counts instructions"
fi
kl_nobody record -q --no-dump -e sched -v cpu_clock -o "$work/n" -- true
expect "-v of a counter needs privilege" 1
says err 'cpu_clock .*CAP_PERFMON'
chmod 777 "$work"
kl_nobody record -q --no-dump -e sched -v 'x=cpu_clock+1' -o "$work/n" -- true
expect "and so does one in an expression" 1
says err 'CAP_PERFMON'

# Every context switch of a CPU is a record, so each record adds one. The clock is compared with the
# records' timestamps, which are read slightly before or after it: the emulator may be stopped in
# between, for as long as the host likes, but not often.
kl record -q --no-dump -a -e sched_switch -v cpu_context_switches,cpu_migrations,cpu_clock \
	-v 'thousandth=cpu_clock/1000' -o counters -- bash -c 'for ((i = 0; i < 20; i++)); do ls / | cat; done'
expect "record -v of counters" 0
kl print counters --json
# shellcheck disable=SC2016 # for jq
check "a CPU has switched once between two sched_switch" jq -e -s 'length > 100 and
	([group_by(.cpu)[] | [.[].variables.cpu_context_switches] as $n |
		range(1; $n | length) | $n[.] - $n[. - 1]] | all(. == 1))' out
# shellcheck disable=SC2016 # for jq
check "its clock goes as time does" jq -e -s '[group_by(.cpu)[] | . as $r | range(1; length) |
	($r[.].variables.cpu_clock - $r[. - 1].variables.cpu_clock) -
	($r[.].since_ns - $r[. - 1].since_ns) | fabs] | sort | .[length / 2 | floor] < 50000 and .[length * 99 / 100 | floor] < 50000000' out
# shellcheck disable=SC2016 # for jq
check "tasks come from other CPUs, but seldom" jq -e -s '[group_by(.cpu)[] | [.[].variables.cpu_migrations] |
	. == sort and .[length - 1] <= 2000] | all' out
check "an expression has the same" jq -e -s 'all(.[].variables;
	(.cpu_clock / 1000 - .thousandth) | fabs < 50000)' out
babeltrace2 counters >bt 2>bt.err
check "babeltrace2 reads them without a warning" test -s bt -a ! -s bt.err

kl record -q --no-dump -e 'block:ksys_read*' -v cpu_clock -o between -- head -c 1 /etc/passwd
expect "record -v of a counter with blocks" 0
kl print between --json
# shellcheck disable=SC2016 # for jq
check "time passes from block to block" jq -e -s 'length > 5 and
	([group_by(.cpu)[] | [.[].variables.cpu_clock] as $n |
		range(1; $n | length) | $n[.] > $n[. - 1]] | all)' out

# A CPU that goes offline loses its perf events; until they are created again no stale value is
# reported.
if [[ -w /sys/devices/system/cpu/cpu1/online ]]; then
	kl record -q --no-dump -a -e sched_switch -v cpu_context_switches -o gone -- bash -c '
		cd /sys/devices/system/cpu/cpu1 && ls / && echo 0 >online && echo 1 >online && sleep 0.5
		taskset -c 1 bash -c "for i in 1 2 3 4 5; do sleep 0.01; done"'
	expect "record -v of a counter while a CPU goes and comes back" 0
	kl print gone
	says out '^\[[0-9.]+\] 001 .*cpu_context_switches=uncounted' "what is not counted is said so"
	silent out '^\[[0-9.]+\] 000 .*cpu_context_switches=uncounted' "of that CPU only"
	kl print gone --json
	# shellcheck disable=SC2016 # for jq
	check "and then it goes on from where it was" jq -e -s '
		[.[] | select(.cpu == 1)] | (.[-1].variable_meanings == null) and
		([.[] | select(.variable_meanings == null) | .variables.cpu_context_switches] as $n |
			$n == ($n | sort) and ($n | length) > 10)' out
else
	skip "a CPU that goes" "there is but one"
fi

# When the last session ends, perf's static keys are off again; an event still open would pin the
# module.
check "without a session the module can be unloaded" rmmod kernlens
check "and loaded" load_kernlens
