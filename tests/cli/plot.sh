# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: records are read, and printed or drawn, in the same way on all.
# kernlens plot of a trace and of a session that runs. Values are compared with what the program did and
# with kernlens print.

# data_of PAGE: the data in it.
data_of() {
	sed -n 's|^<script id="[a-z]*" type="application/json">\(.*\)</script>$|\1|p' "$1"
}

cat >reads.py <<'END'
import os
null = os.open("/dev/zero", os.O_RDONLY)
for i in range(300):
    os.read(null, 1000 + i)
for i in range(7):
    try:
        os.read(99, 1)
    except OSError:
        pass
END
kl record -o trace -e 'syscall_entry_read,syscall_exit_read' -v rss -- python3 reads.py
expect "a trace is recorded" 0

# ---------------------------------------------------------------------- a trace

kl plot 'syscall_entry_read /count >= 1000 && count < 1300/' --csv trace
expect "plot --csv" 0
check "has a row for each interval" test "$(sed -n 1p "$work/out")" = 'time_ns,expression,key,value,count,sum,min,max'
check "that add up to the calls" test "$(awk -F, 'NR > 1 { n += $(NF - 3) } END { print n }' "$work/out")" -ge 300
kl plot 'syscall_entry_read /count >= 1000 && count < 1300/:mean(count)' --json --interval 1000 trace
json "one interval has all of them" '.curves | length == 1 and (.[0].points | length) == 1'
json "with count, sum and extremes" '.curves[0].points[0] | .[2] == 300 and .[3] == 344850 and .[4] == 1000 and .[5] == 1299 and .[1] == .[3] / .[2]'
for function in sum:344.85 min:1000 max:1299 last:1299; do
	kl plot "syscall_entry_read /count >= 1000 && count < 1300/:${function%:*}(count)" --json --interval 1000 trace
	json "${function%:*}" ".curves[0].points[0][1] == ${function#*:}"
done
kl plot 'syscall_exit_* /ret < 0/ by comm' --json --interval 1000 trace
json "a filter, and keys" '[.curves[] | [.key, .points[0][2]]] == [["python3", 7]]'
kl plot 'syscall_entry_read by count' --json --top 0 --interval 1000 trace
json "keys with the same number of events are in order" '[.curves[] | select(.points[0][2] == 1) | .key] | length > 200 and . == sort'
kl plot 'syscall_entry_read by count' --json --top 3 trace
json "--top" '.curves | length == 3'
kl plot rss --json trace
"$kernlens" print trace --format json >print.json
most=$(jq -s 'map(.variables.rss // 0) | max' print.json)
json "a variable has its greatest value" "[.curves[].points[][5]] | max == $most"
json "in bytes, by thread, whose name is its last" '.curves[0] | .unit == "B" and (.key | startswith("python3-"))'
kl plot rss trace --svg rss.svg
expect "--svg" 0
check "is a picture" xmllint --noout rss.svg
kl plot rss 'syscall_exit_read by comm' trace --html plot.html
expect "--html" 0
says err '^kernlens: plot.html: [0-9.]+ MB$'
data_of plot.html >page.json
kl plot rss 'syscall_exit_read by comm' trace --json
check "has the data of --json" test "$(jq -c .curves page.json)" = "$(jq -c .curves "$work/out")"
LC_ALL=C.UTF-8 kl plot rss trace
check "the terminal gets dots" env LC_ALL=C grep -qP '\xe2[\xa0-\xa3]' "$work/out"
says out '^ +0 s +[0-9.]+ s$' "and the time"
kl plot nosuch trace
expect "an event that does not exist" 2
kl plot 'syscall_entry_read:median(count)' trace
says err 'is no function: count, sum, mean, min, max or last'
kl plot rss --window 3 trace
expect "--window is for --live" 2
kl plot rss trace --csv --html x.html
expect "one form at a time" 2

# ---------------------------------------------------------------------- live

reads='syscall_entry_read /count >= 1000 && count < 1300/'
kl plot --live "$reads:mean(count)" --json --interval 1000 -- python3 reads.py
expect "plot --live" 0
json "sees the same calls" '.curves[0].points[0] | .[2] == 300 and .[3] == 344850'
kl plot --live "$reads" 'syscall_exit_read /ret < 0/ by comm' --json --interval 1000 -- python3 reads.py
json "several expressions, with filters of their own" '[.curves[] | [.key, .points[0][2]]] == [[null, 300], ["python3", 7]]'
kl plot --live rss --json -- python3 -c 'x = bytearray(50 << 20); import time; time.sleep(0.3)'
json "a variable, without an event" '[.curves[].points[][5]] | max > 50000000 and max < 100000000'
kl plot --live sched_process_exit --html live.html -- true
expect "writes a page" 0
data_of live.html >page.json
json "with the event" '[.curves[0].points[][2]] | add >= 1' page.json
kl plot --live sched_process_exit -- sh -c 'exit 5'
expect "returns the status of the command" 5
kl plot --live fn:vfs_read --json --interval 1000 -- dd if=/dev/zero of=/dev/null bs=1 count=500 status=none
json "calls of a kernel function" '.curves[0].points[0][2] >= 500'
kl plot --live sched_process_fork
expect "whose events is needed" 2
kl plot --live nosuch -a
expect "so is an event that exists" 2
kl plot --live rss -a -i trace
expect "and no trace" 2

# Rows are printed while the session runs: the reader sees the first before the last is made.
cat >stamp <<'EOS'
while read -r line; do echo "$EPOCHREALTIME,$line"; done
EOS
"$kernlens" plot --live 'sched_process_exec by comm' --csv --interval 0.5 -- \
	sh -c 'for i in 1 2 3 4 5 6; do /bin/true; sleep 0.5; done' | bash stamp >rows
check "--csv prints an interval when it is over" awk -F, '
	NR > 1 { late = $1 - $2 / 1e9 - 0.5; if (late > worst) worst = late; if (late < 0) early++; n += $(NF - 3) }
	END { print worst, n, early; exit !(worst < 1.5 && n >= 6 && early <= 2) }' rows
check "each once, in order" awk -F, 'NR > 1 { if ($2 < last || seen[$2, $4]++) exit 1; last = $2 }' rows

# A terminal shows the last part again and again.
timeout 60 script -qec "LC_ALL=C.UTF-8 $kernlens plot --live 'sched_process_exec by comm' --window 2 -d 0.2 -- \
	sh -c 'for i in 1 2 3 4 5 6 7 8; do /bin/true; sleep 0.5; done'" /dev/null >screen </dev/null
check "a terminal is refreshed" test "$(grep -c $'\033\[H' screen)" -ge 8
check "with the time until now" grep -Eq 's ago +now' screen
check "of which it shows the window" awk '/s ago/ && $1 > 2 { exit 1 }' screen

# An ordinary user plots their own processes.
kl_nobody plot --live "$reads:mean(count)" --json --interval 1000 -- python3 "$work/reads.py"
expect "an ordinary user" 0
json "sees their own calls" '.curves[0].points[0][2] == 300'
kl_nobody plot --live sched_switch -a
check "but not those of all" test "$status" -ne 0
