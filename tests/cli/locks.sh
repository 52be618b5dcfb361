# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# kernlens locks: waits for locks whose owners, functions and times are known, or which ftrace sees.

export TMPDIR=$work/tmp
mkdir "$TMPDIR"
chmod 777 "$TMPDIR"
tracing=/sys/kernel/tracing
mountpoint -q $tracing || mount -t tracefs none $tracing

# Two processes write into one file: each waits for the other.
kl locks --json -- python3 "$here/locks.py" write "$work/file"
expect "two processes that write into one file" 0
json "have waited for its lock" '[.rows[] | select(.lock | startswith("rwsem at 0x"))][0] | .waits >= 2 and
	.ns > 1e6 and .worst_ns <= .ns and .worst_ns * .waits >= .ns and (.buckets | add) == .waits'
kl locks -o kept -- python3 "$here/locks.py" write "$work/file"
expect "in a trace that is kept" 0
says err '^[0-9,]+ waits? for locks in [0-9.]+ m?s, [0-9.]+ [mun]?s in all$' "the waits are summed up"
says err '^ *TOTAL +WAITS +MEAN +WORST +LOCK +TAKEN IN +HELD BY *$' "the table has a head"
says err ' rwsem at 0x[0-9a-f]+ \([a-z_]+\.vfs_inode\.i_rwsem\) +[a-z0-9_]*write[a-z0-9_]* .*python3-[0-9]+' "the lock, where it is taken and by whom held"
read -r first second <"$work/out"
kl locks --json -i kept
# A wait that begins while one gives the lock to the other has no owner: one of as few as six waits.
json "each is held by the other, in writing" "$first as \$a | $second as \$b |"'
	[.rows[] | select(.lock | startswith("rwsem at 0x"))][0] as $row |
	($row.owners | map(select(.owner_tid > 0))) as $known |
	($known | all(.owner_tid == $a or .owner_tid == $b)) and ($known | map(.ns) | add) > 0.5 * $row.ns'
json "all parts add up" 'all(.rows[]; . as $row | ([.locks, .functions, .owners] | map(select(.)) |
	all((map(.ns) | add) == $row.ns and (map(.waits) | add) == $row.waits)))'
whole=$(jq -c '[.ns, .waits]' "$work/out")
for by in type function process owner stack; do
	kl locks --json -i kept --by $by --top 0
	json "by $by: the same waits" "[([.rows[].ns] | add), ([.rows[].waits] | add)] == $whole and .by == \"$by\""
done
kl locks --json -i kept --by type
json "in writing" '[.rows[] | select(.type == "rwsem, write")] | length == 1'
kl locks --json -i kept --by process
json "those that wait" "[.rows[].pid] | contains([$first]) and contains([$second])"
kl locks -i kept --by stack --top 1
says out '^[0-9.]+ m?s in [0-9]+ waits?, mean [0-9.]+ [mun]?s, worst [0-9.]+ [mun]?s: rwsem at 0x[0-9a-f]+' "a stack trace has a head"
says out '^ +.*vfs_write' "and frames"
kl locks -i kept --histogram
says out '^ *FROM +BELOW +WAITS' "a histogram"
kl locks -i kept --top 0
says out 'rwsem at' "all rows"

# Locks with names: switching the tracer holds one of the kernel's for long.
toggle() {
	for _ in 1 2 3; do
		echo function >$tracing/current_tracer
		echo nop >$tracing/current_tracer
	done
}
echo vfs_statx >$tracing/set_ftrace_filter
kl locks -a --json -- bash -c "$(declare -f toggle); tracing=$tracing; toggle & toggle; wait"
expect "two shells that switch the kernel's tracer" 0
json "have waited for a lock with a name" '[.rows[] | select(.lock | test("^[a-z_]+ \\((mutex|rwsem|percpu-rwsem)\\)$"))] |
	length > 0 and all(.[]; .waits > 0)'
echo >$tracing/set_ftrace_filter

# The same waits as ftrace has.
{
	echo 0 >$tracing/tracing_on
	echo mono >$tracing/trace_clock
	echo 16384 >$tracing/buffer_size_kb
	echo 1 >$tracing/events/lock/contention_begin/enable
	echo 1 >$tracing/events/lock/contention_end/enable
	echo >$tracing/trace
	echo nop >$tracing/current_tracer
	echo 0 >$tracing/options/hash-ptr
} 2>/dev/null
kl locks -o both -a --only kernel -- bash -c 'echo 1 >'$tracing'/tracing_on
	python3 "$0" write "$1" & for i in 1 2 3; do find /usr/share/doc /usr/lib/python3 | dd bs=4k status=none; done >/dev/null & find /usr/share/doc >/dev/null
	wait
	echo 0 >'$tracing'/tracing_on' "$here/locks.py" "$work/file"
expect "with ftrace beside it" 0
cat $tracing/trace >seen
kl locks --json --top 0 -i both
python3 "$here/locks.py" compare "$work/out" seen >compared
tap "compared with ftrace" compared
# Other tests use ftrace, too.
{
	echo 0 >$tracing/events/lock/enable
	echo 1 >$tracing/options/hash-ptr
	echo local >$tracing/trace_clock
	echo 1408 >$tracing/buffer_size_kb
	echo >$tracing/trace
	echo 1 >$tracing/tracing_on
} 2>/dev/null

# One task only.
kl locks -p $$ --json --duration 0.2
expect "a process" 0
json "waits of no others" '.waits == 0 or all(.rows[]; .waits > 0)'

# Calls of locking functions by a module whose faults are known; a kernel that checks locks would end.
if [[ ! -e /proc/lockdep ]]; then
	insmod "$here/../../build/$(uname -r)/kl_locking.ko"
	run=/sys/module/kl_locking/parameters/run
	kl stat --json -e 'call:kl_locking:*:mutex_lock :count, call:kl_locking:right_nested:mutex_unlock:count' -- \
		sh -c "echo right_nested >$run"
	expect "calls of a function" 0
	json "from all functions" '[.events[] | select(.name | endswith(":mutex_lock")) | .count] | add == 4'
	json "from one function" '[.events[] | select(.name | endswith(":mutex_unlock"))] |
		length == 4 and all(.[]; (.name | startswith("call:right_nested+0x")) and .count == 1)'
	kl locks --json --module kl_locking --longer 1000 -o use -- sh -c "for name in \$(cat $run); do echo \$name >$run; done"
	expect "what a module does with locks" 0
	xargs python3 "$here/locks_use.py" "$work/out" <$run >faults
	tap "faults" faults
	cp "$work/out" live
	kl locks --json -i use --longer 1000
	check "a trace that is kept says the same" cmp <(jq '[.faults[] | select(.kind != "kept" and .kind != "left")]' live) \
		<(jq '[.faults[] | select(.kind != "kept" and .kind != "left")]' "$work/out")
	json "and not what memory says now" '[.faults[] | select(.certain | not) | .kind] | sort == ["kept", "kept", "left", "left"]'
	kl locks -i use --longer 1000 --top 3
	says out '^[0-9]+ locks, taken [0-9]+ times in [0-9.]+ m?s; 32 problems$' "they are counted"
	says out '^taken in an order that can deadlock: first, second$' "in words"
	says out '^  first is held, taken by sh-[0-9]+, [0-9.]+ s after the start$' "with tasks"
	says out '^      wrong_order\+0x[0-9a-f]+ \(kl_locking\)$' "and stack traces"
	says out '^still held when the task exited: left \(it may have been released elsewhere\)$' "what is uncertain"
	says out '^ *TAKEN +FAILED +WAITED +WORST +HELD +MEAN +WORST +LOCK *$' "the locks have a table"
	says out '^[0-9]+ more: --top$' "of the first rows"
	rmmod kl_locking
fi
kl stat -e call:vfs_read -- true
expect "a call without a function" 2
says err 'expected call:\[MODULE:\]FUNCTION:CALLED' "is explained"
kl stat -e 'call:vfs_read:vfs_write' -- true
expect "a call that is not there" 2
says err 'no such call' "is reported"
kl stat --json -e 'call:vfs_read:rw_verify_area|no_such,call:vfs_read:rw_verify_area:ret,fn:vfs_read' -- dd if=/dev/zero of=/dev/null count=100 status=none
expect "a call, its return, and the function" 0
json "are as often there" '[.events[] | select(.count > 0) | .count] | length == 3 and min > 100 and min == max'
kl locks --module nothing --duration 0.1
expect "a module that is not there" 1
kl stat -e 'call:vfs_read:no_such|nor_this' -- true
expect "calls of a list of functions that is not there" 2
says err 'vfs_read calls none of the listed functions' "are reported"
kl stat --json -e 'call:vfs_read:no_such|,fn:vfs_read' -- true
expect "unless there may be none" 0
kl locks --module loop -p $$
expect "a module and tasks" 2
kl locks --module loop --by type
expect "a module and how waits are grouped" 2

kl_nobody locks --module loop --duration 0.1
expect "a module, as an ordinary user" 1
says err 'require CAP_SYS_ADMIN' "is refused"
kl_nobody stat -e call:vfs_read:rw_verify_area -- true
expect "calls in the kernel, as an ordinary user" 1
kl locks -i kept -a
expect "a trace and tasks" 2
kl locks --by nothing
expect "an unknown key" 2
says err '"nothing" is not lock, type' "is reported"
kl record -a -o without -e sched_switch --duration 0.1
kl locks -i without
expect "a trace without locks" 0
says out '^0 waits for locks' "has none"
says err '-e contention_begin:stack,contention_end and -e syscall_entry_futex' "says what to record"
check "nothing is left behind" test -z "$(ls -A "$TMPDIR")"
unset TMPDIR
