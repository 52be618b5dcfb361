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
says err ' rwsem at 0x[0-9a-f]+ +[a-z0-9_]*write[a-z0-9_]* .*python3-[0-9]+' "the lock, where it is taken and by whom held"
read -r first second <"$work/out"
kl locks --json -i kept
json "each is held by the other, in writing" "$first as \$a | $second as \$b |"'
	[.rows[] | select(.lock | startswith("rwsem at 0x"))][0] as $row |
	($row.owners | map(select(.owner_tid == $a or .owner_tid == $b)) | map(.ns) | add) > 0.9 * $row.ns'
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
kl locks -o both -a -- bash -c 'echo 1 >'$tracing'/tracing_on
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

kl_nobody locks -a --duration 0.1
expect "an ordinary user" 1
says err 'require CAP_SYS_ADMIN; kernlens latency' "says what to use"
kl locks -i kept -a
expect "a trace and tasks" 2
kl locks --by nothing
expect "an unknown key" 2
says err '"nothing" is not lock, type' "is reported"
kl record -a -o without -e sched_switch --duration 0.1
kl locks -i without
expect "a trace without locks" 0
says out '^0 waits for locks' "has none"
says err '-e contention_begin:stack,contention_end' "says what to record"
check "nothing is left behind" test -z "$(ls -A "$TMPDIR")"
