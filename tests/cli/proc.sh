# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# Processes and their current variables: lists, columns, rates and trees, compared with /proc.

mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
# khugepaged may replace pages of a stopped process, but must not give it additional ones.
echo 0 >/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none
python3 "$here/proc.py" "$kernlens" >told 2>said
cat said >>told
tap proc.py told

sleep 600 &
sleeper=$!
until [[ $(<"/proc/$sleeper/stat") == *'(sleep) S '* ]]; do :; done
kl proc
expect "a list" 0
says out '^ *pid +user +nice +state' "has heads"
says out "^ *$sleeper +root +0 +S .* sleep$" "has a process"
kl proc "$sleeper" 1
expect "two by their ids" 0
check "are listed in this order" test "$(awk 'NR > 1 { print $1 }' out | xargs)" = "$sleeper 1"
kl proc --comm 'sle*p' -v pid,comm --csv
check "--comm takes patterns, --csv quotes texts" grep -q "^$sleeper,$sleeper,\"sleep\"$" out
kl proc -u 65534
check "-u leaves out others" test "$(wc -l <out)" -eq 1
kl proc -u nosuch
expect "no such user" 2
kl proc --tree -v pid,comm
says out "^ *$sleeper +( *)\\\\_ sleep" "--tree shows it below its parent"
kl proc 999999 -v pid
expect "one that is not there" 1
says err 'process 999999 does not exist or is not visible'
kl proc "$sleeper"
expect "a page about one" 0
says out "sleep 600" "has its command line"
says out "/dev/null" "and its files"
kl proc "$sleeper" --show syscall,wait
says out 'nanosleep' "says what it waits for"
silent out '/dev/null' "and nothing else"
kl proc "$sleeper" --show nosuch
expect "no such section" 2
kl proc --show files
expect "a section of nobody" 2
kl proc "$sleeper" --top 3
expect "the first rows of a list of one" 0
says out '^ *pid +user .*comm' "is a list"
check "with that one" test "$(awk 'NR > 1 { print $1 }' out)" = "$sleeper"
kl proc "$sleeper" 1 --top 1
check "and the first of two" test "$(awk 'NR > 1 { print $1 }' out)" = "$sleeper"
for option in '--top 3' --tree -t '-v comm' --csv '--comm x' '-u 0'; do
	# shellcheck disable=SC2086
	kl proc "$sleeper" --show wait $option
	expect "sections with $option of a list" 2
done
kl proc "$sleeper" -v policy,ioprio
says out '^ *other +none$' "policies and I/O priorities are words"
kl proc "$sleeper" --json
json "as JSON" 'type == "object"'
kl proc 999999
expect "a page about one that is not there" 1
kl proc --json 999999 "$sleeper"
json "JSON says so, and goes on" '.processes[0].there == false and .processes[1].comm == "sleep"'
kl proc x
expect "no id" 2
kl proc -v nosuch
expect "no such variable" 2
kl proc -v irqs_off
expect "one of an event" 2
says err 'available only when an event fires'
kl proc -v comm/s
expect "the rate of a text" 2
kl proc -a "$sleeper"
expect "all, and one" 2
kl proc --csv --json
expect "two formats" 2

kl proc --json --by cpu --top 3 --interval 0.2
json "the first three by CPU" '.processes | length == 3 and (map(."cpu%") | . == (sort | reverse))'
# A program that does what is counted at about the given rate per second, and logs its progress with
# times.
cat >busy.py <<'END'
import mmap, os, sys, time
kind, rate = sys.argv[1], int(sys.argv[2])
kept, file = [], open("/dev/zero", "rb", buffering=0)
done, log = 0, open("busy.log", "w", buffering=1)
print(flush=True)
while True:
    for _ in range(rate // 10):
        if kind == "files": kept.append(os.dup(0))
        if kind == "reads": file.read(4096)
        if kind == "faults": mmap.mmap(-1, 4096)[0] = 1
        done += 1
    log.write("%d %d\n" % (time.monotonic_ns(), done))
    time.sleep(0.1)
END
# The two samples were at least 2 s apart; at each, a tenth of a second's work may have been half
# done.
cat >rate.py <<'END'
import json, sys
name, unit = sys.argv[1], int(sys.argv[2])
told = json.load(open("out"))
end = told["monotonic_ns"]
steps = [[int(word) for word in line.split()] for line in open("busy.log") if line[-1] == "\n"]
at_end = [done for when, done in steps if when <= end][-1]
rates = [(at_end - done) / (end - when) * 1e9 for when, done in steps if 1.9e9 < end - when < 4e9]
rate = told["processes"][0][name + "/s"] / unit
print(rate, rates)
sys.exit(not rates or not min(rates) * 0.9 - 10 < rate < max(rates) * 1.1 + 10)
END
ulimit -n 65536
for kind in files:open_files reads:io_reads reads:io_read_chars faults:min_faults; do
	coproc python3 busy.py "${kind%:*}" 100
	busy=$!
	read -r _ <&"${COPROC[0]}"
	sleep 1
	kl proc --json --interval 2 -v "${kind#*:}/s,${kind#*:}" "$busy"
	expect "a rate of ${kind#*:}" 0
	unit=1
	[[ $kind != *chars ]] || unit=4096
	check "is what is done in a second" python3 rate.py "${kind#*:}" $unit
	kill "$busy" && wait "$busy" 2>/dev/null
done
coproc python3 -c 'print(flush=True)
while True: pass'
busy=$!
read -r _ <&"${COPROC[0]}"
kl proc --json -v cpu%,mem%,rss,total_memory,cpu_time --interval 1 "$busy"
json "who does nothing else has a CPU" '.processes[0]."cpu%" | . > 40 and . < 103'
json "mem% is of all memory" '.processes[0] | (."mem%" - 100 * .rss / .total_memory) | fabs < 0.01'
kl proc --by cpu --top 1 --interval 1
says out "^ *$busy " "and stands first by CPU"
kill "$busy" && wait "$busy" 2>/dev/null

env --default-signal=INT "$kernlens" proc --json --watch 0.5 -v pid,switches/s 1 >out &
watcher=$!
wait_until eval '(($(jq -s length out) >= 3))'
kill -INT $watcher
wait $watcher
check "--watch goes on until it is stopped" test "$?" -eq 0 -a "$(jq -s length out)" -ge 3
check "and has rates each time" jq -s -e 'all(.[]; .processes[0]."switches/s" != null)' out

kl_nobody proc -v pid,uid,comm --json
json "without privilege: only own processes" '.processes | length > 0 and all(.[]; .uid == 65534)'
kl_nobody proc 1 -v pid
expect "another's" 1
says err 'process 1 does not exist or is not visible' "is as if it were not there"
kl_nobody proc --json -v ppid,parent_comm
json "a parent that is not one's own is not named" 'all(.processes[]; .parent_comm == "" or .parent_comm == "kernlens")'
unshare -pf --mount-proc "$kernlens" proc --json -v vpid,comm >out
json "in a pid namespace: who is in it, by the ids there" '.processes | map(.id) == [1] and .[0].comm == "kernlens"'
kill "$sleeper"
