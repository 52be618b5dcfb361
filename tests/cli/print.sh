# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# kernlens print and report on one small trace; strace's output compared with kernlens'.

kl record -q -o t -e syscalls,sched -- sh -c 'cd /; /bin/echo hi >/dev/null; cat /etc/passwd /nosuch >/dev/null 2>&1; true'
expect "a trace to look at" 0
kl print t
says out '^\[[0-9]+\.[0-9]{9}\] [0-9]{3} .* sched_switch: prev_comm=' "text"
kl print t --time wall
says out '^\[1[0-9]{9}\.' "--time wall"
kl print t --format csv
says out '^1[0-9]{18},syscall_entry_openat,[0-9]+,[0-9]+,[0-9]+,cat,,,' "CSV"
check "as many lines as events" test "$(grep -vc '^time_ns,' "$work/out")" -eq \
	"$("$kernlens" report --json t | jq .records)"
kl print t --json
check "JSON lines" jq -e -s 'all(.[]; .event and .fields)' "$work/out"
kl print t -e 'syscall_entry_execve'
check "-e chooses" test "$(wc -l <"$work/out")" -eq "$(grep -c syscall_entry_execve "$work/out")"
check "and finds all three" test "$(wc -l <"$work/out")" -eq 3
kl print t -e nosuch
expect "an unknown event" 2
pid=$("$kernlens" print t --json -e syscall_entry_execve | jq -s '.[1].pid')
kl print t --json -p "$pid"
check "-p chooses" jq -e -s "length > 5 and all(.[]; .pid == $pid)" "$work/out"
kl print t --json --cpu 0
check "--cpu chooses" jq -e -s 'all(.[]; .cpu == 0)' "$work/out"
kl print t --json --from 0.01 --to 0.02
check "--from and --to choose" jq -e -s 'all(.[]; .since_ns >= 10000000 and .since_ns <= 20000000)' "$work/out"

# Several threads print what one does, with names of addresses, stack traces and cgroups.
kl record -q -o many -e 'syscalls,sched_switch:stack,timer_start' -v cgroup,rss,user_ip -- \
	sh -c 'i=0; while [ $i -lt 5 ]; do i=$((i+1)); ls -l /usr/bin >/dev/null; done'
expect "a trace of thousands of events" 0
check "it has them" test "$("$kernlens" report --json many | jq .records)" -gt 5000
for options in '' --json '--format csv' '-e sched_switch,timer_start' '--from 0.01 --to 5'; do
	# shellcheck disable=SC2086
	check "with one CPU, print $options prints the same" bash -c '
		trace=$1 && shift
		taskset -c 0 "$@" "$trace" >one && test -s one &&
			for i in 1 2 3; do "$@" "$trace" | cmp - one || exit; done' _ many "$kernlens" print $options
done
for format in perfetto chrome otlp clickhouse speedscope firefox folded trace-dat; do
	check "with one CPU, export --to $format writes the same" bash -c '
		trace=$1 kernlens=$2 format=$3
		taskset -c 0 "$kernlens" export --to "$format" --force "$trace" -o one && test -s one &&
			for i in 1 2 3; do
				"$kernlens" export --to "$format" --force "$trace" -o some &&
					cmp some one || exit
			done' _ many "$kernlens" "$format"
done
check "export reports a full disk" bash -c '
	! "$1" export --to chrome many -o - >/dev/full 2>err && grep -q "No space left" err' _ "$kernlens"
check "print ends with what reads it" bash -c '
	"$1" print many 2>err | head -n 1 | grep -q "^\[" && test ! -s err' _ "$kernlens"
"$kernlens" print many >/dev/full 2>err
check "and reports a full disk" grep -q 'cannot write: No space left on device' err

kl report t
expect "report" 0
says out '^records +[0-9,]+$'
says out '^Sleepers'
kl report --json t
is_json "report --json"
json "and says how many sleepers are left out" '.sleepers_omitted > 0'
json "it has all three" '(.syscalls | length > 0) and (.sleepers | length > 0) and (.events | length > 0)'
for kind in syscalls sleepers events; do
	kl report $kind t
	expect "report $kind" 0
	kl report $kind t --json
	json "report $kind --json" 'length > 0'
	kl report $kind t --top 2 --json
	json "report $kind --top" 'length == 2'
done
kl report sleepers t --json
json "tasks that the session did not follow have no figures" \
	'all(.[].comm; test("^(kernlens|ksoftirqd|rcu_|kworker|swapper)") | not)'
kl report sleepers t
says out '^  Omitted: [1-9][0-9]* tasks? that the session did not trace$' "and the report says how many there are"
kl report syscalls t --json
json "calls are counted" '[.[] | select(.syscall == "execve")] | map(.calls) | add == 3'
json "errors are counted" '[.[] | select(.syscall == "openat" and .comm == "cat")][0].errors >= 1'
kl report syscalls t
says out 'pid +process +system call +calls +errors +total +mean +worst'

# calls FILE: the calls of each process in order, processes ordered by their first call.
calls() {
	awk '$1 ~ /^[0-9]+$/ && $2 ~ /^[a-z_0-9]+\(/ {
		if (!($1 in order)) order[$1] = ++n
		sub(/\(.*/, "", $2)
		# When a signal arrives depends on the scheduler.
		if ($2 == "rt_sigreturn") next
		print order[$1], NR, $2
	}' "$1" | sort -k1,1n -k2,2n | awk '{ print $1, $3 }'
}
program="cd /usr; /bin/echo hi >/dev/null; cat /etc/passwd /nosuch >/dev/null 2>&1; (exit 4); mkdir $work/d; rmdir $work/d"
strace -f -o theirs sh -c "$program"
kl record -q -o ours -e syscalls -- sh -c "$program"
kl print --format strace ours
expect "strace format" 0
cp "$work/out" ours.txt
calls theirs >theirs.calls
calls ours.txt >ours.calls
check "the calls that strace sees, in its order" diff theirs.calls ours.calls
check "strings and errors as in strace" \
	grep -Eq 'openat\(AT_FDCWD, "/nosuch", O_RDONLY\) += -1 ENOENT \(No such file or directory\)' ours.txt
kl live --format strace -o live.txt -- sh -c "$program"
expect "live --format strace" 0
calls live.txt >live.calls
check "the same calls live" diff theirs.calls live.calls
