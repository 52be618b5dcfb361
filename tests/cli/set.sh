# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# Parameters of processes: set, refused as the kernel's own calls refuse, and an event for each.

# The interpreter itself, not a wrapper that looks it up each time.
python=$(python3 -Ic 'import sys; print(sys.executable)')
mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup

kl record -a -q -e process_set -o recorded -- \
	bash -c '"$1" "$2" calls "$3" expected >told 2>&1; :' bash "$python" "$here/set.py" "$kernlens"
expect "changes, recorded" 0
tap "the comparison of calls" told
"$kernlens" print --format json recorded >printed
"$python" "$here/set.py" events printed expected >told 2>&1
tap "the comparison of events" told
kl print recorded
says out 'kernlens-[0-9]+ process_set: tid=[0-9]+ pid=[0-9]+ what=nice old_value=0 new_value=5 error=0 ' "an event as text"

# Compared with the standard tools.
sleep 600 &
one=$!
until [[ $(<"/proc/$one/comm") == sleep ]]; do :; done
kl set $one nice=4 timer_slack=123us
check "/proc: timer slack" test "$(<"/proc/$one/timerslack_ns")" = 123000
kl set $one policy=rr priority=17 affinity=1 ioprio=be:6 oom_score_adj=-77 cgroup=/kl-set limit.nofile=321:654 \
	limit.core=:1M
expect "many at once" 0
says out "^ *$one +policy +other +rr:17" "the table has what was and is"
says out "^ *$one +limit.core +[^ ]+ +[^ ]+:1048576" "with the half that was not named"
check "chrt" test "$(chrt -p $one | sed 's/.*: //' | xargs)" = 'SCHED_RR 17'
check "taskset" test "$(taskset -pc $one | sed 's/.*: //')" = 1
check "ionice" test "$(ionice -p $one)" = 'best-effort: prio 6'
check "ps" test "$(awk '{ print $19 }' /proc/$one/stat)" = 4
check "choom" test "$(choom -p $one | sed -n 's/.*adjust.*: //p')" = -77
check "prlimit" test "$(prlimit --pid $one --nofile --output SOFT,HARD --noheadings | xargs)" = '321 654'
check "and of the other" test "$(prlimit --pid $one --core --output HARD --noheadings | xargs)" = 1048576
check "/proc: cgroup" grep -q ':/kl-set$' "/proc/$one/cgroup"
chrt -o -p 0 $one
check "a change of policy keeps the nice value" test "$(awk '{ print $19 }' /proc/$one/stat)" = 4
kl set $one policy=batch
says out "policy +other +batch"
check "also by kernlens" test "$(awk '{ print $19, $41 }' /proc/$one/stat)" = '4 3'
kl set $one cgroup=/
expect "back into the root" 0

kl set $one nice=1 affinity=4000 oom_score_adj=7
expect "one of three refused" 1
says err 'cannot set affinity of [0-9]+ to 4000: Invalid argument \(none of these CPUs' "says which, and why"
says out 'nice +4 +1' "the others are set"
says out 'oom_score_adj +-77 +7'
kl set --json $one nice=1 affinity=4000
json "in JSON" '.changes | .[0].new_value == 1 and .[1].error == "EINVAL" and (.[1].message | test("affinity"))'
kl_nobody set $one nice=9
expect "an ordinary user's attempt" 1
says err "cannot set nice of $one to 9: Operation not permitted"
silent out "$one +nice" "and values that are another's are not told"

# Threads.
"$python" -Ic 'import threading, time
for _ in range(3): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print(flush=True)
time.sleep(600)' >started &
many=$!
until [[ -s started ]]; do sleep 0.1; done
kl set $many nice=3
check "one thread of four" test "$(awk '{ print $19 }' /proc/$many/task/*/stat | xargs)" = '3 0 0 0'
kl set -t $many nice=6 timer_slack=1ms oom_score_adj=5 --json
json "-t: all threads, and what they have together once" \
	'.changes | group_by(.what) | map([.[0].what, length]) == [["nice", 4], ["oom_score_adj", 1], ["timer_slack", 4]]'
check "each is set" test "$(awk '{ print $19 }' /proc/$many/task/*/stat | sort -u)" = 6
check "and the others of the process" test "$(cat /proc/$many/task/*/timerslack_ns 2>/dev/null | sort -u)" = ''
kl set -t 999999 nice=1
expect "threads of none" 1
says err 'No such process'

# Which sessions see the events.
setpriv --reuid 65534 --regid 65534 --clear-groups sleep 600 &
theirs=$!
until [[ $(<"/proc/$theirs/comm") == sleep ]]; do :; done
cat >changes <<END
"$kernlens" set $theirs nice=2
"$kernlens" set $one nice=2
setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all "$kernlens" set $theirs nice=8
setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all "$kernlens" set $one nice=8
setpriv --reuid 60001 --regid 60001 --clear-groups --bounding-set=-all "$kernlens" set $theirs nice=9
END
chmod 755 changes
setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all -- \
	"$kernlens" record -q -e process_set -u 65534 -o /dev/shm/marked --duration 60 &
recorder=$!
wait_until bash -c "'$kernlens' status --json | jq -e '.sessions[] | select(.running)'"
bash changes >/dev/null 2>&1
kill -INT $recorder
wait $recorder
check "an ordinary user's session" test $? -eq 0
"$kernlens" print --format json /dev/shm/marked | jq -c '[.comm, .fields.tid, .fields.old_text, .fields.new_text, .fields.asked, .meanings.error]' >printed
cat printed
check "root's change of what is theirs, without who" grep -qFx "[\"\",$theirs,\"0\",\"2\",\"2\",null]" printed
check "their own change" grep -qFx "[\"kernlens\",$theirs,\"2\",\"8\",\"8\",null]" printed
check "their attempt at another's, without what that is" grep -qFx '["kernlens",0,"","","8","EPERM"]' printed
check "and neither what root does with its own, nor others' attempts" test "$(wc -l <printed)" -eq 3
rm -r /dev/shm/marked

# The menu.
printf '14\nnice=12\n14\nnice=x\n14\n\n0\n' | "$kernlens" proc $one --menu >out 2>err
says out 'nice was 2, is now 12' "the menu sets"
says out 'invalid value "x" for nice' "and reports an invalid value"
check "the value was set" test "$(awk '{ print $19 }' /proc/$one/stat)" = 12
odd=$'kl\e[31m'
mkdir "/sys/fs/cgroup/$odd"
printf '14\ncgroup=/%s\n14\ncgroup=/\n0\n' "$odd" | "$kernlens" proc $one --menu >out 2>err
says out 'cgroup was /, is now /kl\\x1b\[31m' "paths that others have named are plain"
says out 'cgroup was /kl\\x1b\[31m, is now /$' "both"
rmdir "/sys/fs/cgroup/$odd"
kill $one $many $theirs
wait $one $many $theirs 2>/dev/null
rmdir /sys/fs/cgroup/kl-set

kl set --list
expect "the available settings" 0
says out '^limit.nofile +process +open files'
kl set --list --json
json "in JSON" '.settings | length == 24 and .[0].name == "nice"'
kl set nice=5
expect "no process given" 2
kl set 1
expect "nothing" 2
kl set 1 nise=5
expect "nothing of that name" 2
says err 'did you mean "nice"'
kl set 1 nice=high
expect "no value" 2
says err 'invalid value "high" for nice: -20 \(urgent\) to 19'
kl set 0 nice=5
expect "no process" 2
