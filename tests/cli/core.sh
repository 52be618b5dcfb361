# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# Each command once, against what is known of the workload: for kernels on which the other tests do
# not run.

blocks=(dd if=/dev/zero of=/dev/null bs=512 count=1000 status=none)

kl list --json
is_json "list"
json "at least 300 events are available" 'map(select(.available)) | length >= 300'
json "each of the others has a reason" 'map(select(.available | not) | .reason) | all(length > 0)'

kl record -q -e 'syscalls,sched,irq,mm' -o t -- "${blocks[@]}"
expect "record" 0
kl print --json t
check "each call is there once" jq -s -e \
	'[.[] | select(.event == "syscall_exit_write" and .comm == "dd") | .fields.ret] | length == 1000 and all(. == 512)' "$work/out"
kl report --json t
json "nothing is lost" '.losses | .finished and ([.discarded, .overwritten, .unstored, .damaged] | add) == 0'
check "babeltrace2 reads it" bash -c 'babeltrace2 t 2>&1 >/dev/null | { ! grep -q .; }'

kl stat --json -e 'syscall_exit_write /ret == 512/ :count by comm' -- "${blocks[@]}"
json "a rule counts by name" '.rules[0].entries == [{"count": 1000, "keys": {"comm": "dd"}}]'
kl_nobody stat --json -e 'syscall_exit_write /ret == 512/ :count by comm' -- "${blocks[@]}"
json "an ordinary user's, too" '.rules[0].entries == [{"count": 1000, "keys": {"comm": "dd"}}]'
kl stat --json -e fn:ksys_write,fn:ksys_write:ret -- "${blocks[@]}"
json "a function and its return" '[.events[].count] | length == 2 and all(. >= 1000 and . < 1010)'
kl stat --json -a -e tick:100 -- sleep 1
json "ticks of all CPUs" ".events[0].count / $(nproc) / .seconds | . > 60 and . < 140"
kl stat --json -a -e "uprobe:$(command -v bash):main" -- bash -c :
json "a function of a program" '.events[0].count == 1'
kl record -q -e fn:ksys_write:stack -o s -- dd if=/dev/zero of=/dev/null count=1 status=none
kl print --json s
check "a kernel stack" jq -s -e \
	'[.[] | select(.event == "fn:ksys_write")][0].stacks.kstack | [.[].symbol] | any(. == "do_syscall_64")' "$work/out"

kl latency --json -- sleep 0.3
# Shown if the check fails.
jq -c '.waits[]' "$work/out" >"$work/err"
# The timer is armed before sleep leaves the CPU: what it still runs, or waits for the CPU, until then
# is missing in the wait.
json "the wait of sleep, and who ended it" '(.tasks[0].states | .running.ns + .runnable.ns) as $awake
	| .waits | map(select(.reason == "nanosleep")) | length == 1 and
	(.[0] | .ns >= 3e8 - $awake and .woken_by[0].name == "timer hrtimer_wakeup")'
sleep 1000 &
kl proc --json $!
json "a process" '[.. | objects | .comm? // .name? | select(. != null)] | index("sleep") != null'
kill $!
kl proc
check "the list of processes" grep -qE "^ *$$ " "$work/out"

kl count --json -e 'block:ksys_write' -- "${blocks[@]}"
expect "blocks" 0
check "the first one is executed with each call" jq -e \
	'[.. | objects | select(has("count")) | .count] | max >= 1000 and max < 1100' "$work/out"
kl record -q -e 'block:ksys_write#0' -o b -- "${blocks[@]}"
expect "a block as an event" 0
kl print --json b
check "is recorded with each call" jq -s -e '[.[] | select(.event | startswith("block:"))] | length >= 1000 and length < 1100' "$work/out"
kl coverage --functions vfs_write -- "${blocks[@]}"
expect "coverage" 0
# With PREEMPT_RT, locks are others. It cannot go on after three of the faults.
if uname -v | grep -q PREEMPT_RT; then
	insmod "$here/../../build/$(uname -r)/kl_locking.ko"
	run=/sys/module/kl_locking/parameters/run
	grep -vE '^wrong_(spin_free|mutex_twice|rwsem_twice)$' $run >cases
	kl locks --json --module kl_locking --longer 1000 -- sh -c "while read -r name; do echo \$name >$run; done <cases"
	expect "what a module does with locks" 0
	xargs python3 "$here/locks_use.py" --realtime "$work/out" <$run >faults
	tap "faults" faults
	rmmod kl_locking
fi

check "the kernel has not complained" bash -c '! dmesg | grep -E "BUG:|WARNING:|Oops"'
