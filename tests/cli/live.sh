# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: records are read in the same way on all.
# kernlens live, stat and status.

kl live -e sched_process_exec -- sh -c '/bin/true; exit 9'
expect "live returns the status of the command" 9
check "it prints what happened" test "$(grep -c 'sched_process_exec:' "$work/out")" -eq 2
says out '^\[0\.000000000\]' "times count from the first event"
kl live --format json -e sched_process_exec -- true
check "--format json" jq -e '.event == "sched_process_exec"' "$work/out"
kl live --format csv -o file -e sched_process_exec -- true
check "-o FILE, --format csv" grep -q '^[0-9]*,sched_process_exec,' file
kl live -a -e sched_switch --duration 0.5
says out '^\[[0-9.]+\] [0-9]+ swapper/[0-9]+-0 sched_switch: ' "events of idle CPUs"
silent out ' kernlens-[0-9]+ ' "none of kernlens itself"
kl stat -o counted -e sched_process_exec -- true
kl stat --json -o counted.json -e sched_process_exec -- true
is_json "stat --json -o FILE" counted.json
check "such files are for their owner alone" test "$(stat -c %a file counted counted.json | xargs)" = '600 600 600'

# An event is shown quickly, though its block is far from full.
cat >stamp <<'EOS'
while read -r line; do echo "$EPOCHREALTIME $line"; done
EOS
"$kernlens" live --time wall -e sched_process_exec -- sh -c 'sleep 2; /bin/true; sleep 1; /bin/true; sleep 1' |
	bash stamp >"$work/out"
check "latency below 0.2 s" awk '
	# Skip the events while everything starts.
	NR > 2 { gsub(/[][]/, "", $2); late = $1 - $2; if (late > worst) worst = late; n++ }
	END { print worst; exit !(n >= 3 && worst < 0.2) }' "$work/out"
timeout -s INT 60 "$kernlens" live -e sched_process_exec -a >live.out 2>&1 &
live=$!
for _ in {1..40}; do
	sleep 0.5
	kl status --json
	! jq -e '.sessions[0].readers == 1 and .sessions[0].running' "$work/out" >/dev/null || break
done
json "status shows the session" '.sessions[0] | .running and (.name == "live") and .readers == 1'
# Simulate the end of --duration.
kill -ALRM $live
wait $live
check "Ctrl-C ends live with 0 or 124" test $? -eq 124
"$kernlens" live -e 'sched_switch' -a --duration 1 | head -n 1 >"$work/out"
check "the reader may go" test "${PIPESTATUS[0]}" -ne 139

# A program that uses only the library's public interface.
"$here/../../build/examples/live/live" 'sched_process_exec,fn:vfs_read,syscall_exit_openat /ret < 0/' 2 >"$work/out" 2>"$work/err" &
live=$!
while kill -0 $live 2>/dev/null; do
	/bin/cat no_such_file 2>/dev/null
	sleep 0.2
done
wait $live
check "the example that controls a session ends well" test $? -eq 0
says out '^\[[0-9.]+\] [0-9]+ cat-[0-9]+ sched_process_exec: .*/cat' "it prints events"
# Names of arguments come from BTF, which a kernel with checkers lacks.
argument="file"
[[ -e /sys/kernel/btf/vmlinux ]] || argument=arg1
says out " cat-[0-9]+ fn:vfs_read: $argument=" "and those that it defines"
says out ' cat-[0-9]+ syscall_exit_openat: ret=-2$' "and filters"

kl stat -e syscall_entry_execve,sched_process_exec,module_load -- sh -c '/bin/true; /bin/true; exit 6'
expect "stat returns the status of the command" 6
says err '^ +3  syscall_entry_execve' "it counts"
says err '0  module_load' "what was named is shown if it did not happen"
says err 'seconds time elapsed'
kl stat --json -e 'syscall_entry_*' -- true
is_json "stat --json"
json "what a pattern matched is shown if it happened" 'all(.events[]; .count > 0) and (.events | length > 3)'
kl stat --sort name -e 'syscall_entry_*' -o file -- true
check "--sort name, -o FILE" bash -c "grep -o 'syscall_entry_.*' file | awk '{print \$1}' | LC_ALL=C sort -c"
kl stat -e nosuch -- true
expect "an unknown event" 2
kl stat -e sched_switch:log -- true
expect "stat does not log" 2
kl_nobody stat -e syscall_entry_execve -- true
expect "stat without privilege" 0
kl_nobody stat -e sched_switch -a
says err 'stat -a needs CAP_PERFMON'

kl status
expect "status" 0
says out '^sessions +0$'
says out '^clock +(TSC|monotonic), '
kl status --json
json "status --json" '.loaded and .abi == 1 and (.sessions | length == 0)'
kl_nobody status
says out 'your own processes'
