# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# CSV as sqlite3 and python3 read it, compared with JSON.

# The name of the second command would be a formula, that of the third breaks naive parsers.
cat >script <<'END'
printf '=1+1' >/proc/self/comm
/bin/true
printf 'a,"b' >/proc/self/comm
cat /nosuch,\"x\" 2>/dev/null
true
END
kl record -q -o t -v rss,comm,nr_running -e syscalls,sched,kmem_kmalloc -- bash script
expect "a trace to look at" 0
kl print t --format csv
expect "CSV" 0
cp out t.csv
"$kernlens" print t --json >t.json
events=$(grep -c '^{"event"' t.json)

python3 - t.csv "$events" >"$work/check" 2>&1 <<'END'
import csv, re, sys
with open(sys.argv[1], newline="") as file:
    head, *rows = csv.reader(file, strict=True)
assert head[:8] == ["time_ns", "event", "cpu", "pid", "tid", "comm", "loss", "lost"], head
assert len({name.lower() for name in head}) == len(head), "names are not unique"
assert {"prev_tid", "field_comm", "variable_comm", "variable_rss", "filename", "ret"} <= set(head), head
assert all(len(row) == len(head) for row in rows), "ragged"
assert sum(row[1] != "kernlens_loss" for row in rows) == int(sys.argv[2])
assert not any(cell[:1] in "=+-@" and cell and not re.fullmatch(r"-?\d+", cell) for row in rows for cell in row)
column = head.index
numbers = ["time_ns", "cpu", "pid", "tid", "prev_tid", "prev_state", "next_prio", "ret", "variable_rss"]
assert all(re.fullmatch(r"(-?\d+)?", row[column(name)]) for name in numbers for row in rows), "not plain"
assert any(row[column("comm")] == "'=1+1" for row in rows) and any(row[column("comm")] == 'a,"b' for row in rows)
assert any(row[column("filename")] == '/nosuch,"x"' for row in rows)
END
report $? "python3 reads a table, with as many rows as print has events"

sqlite3 -csv t.db '.import t.csv t' >"$work/check" 2>&1
report $? "sqlite3 imports it"
check "without a word" test ! -s "$work/check"
# The same numbers from both.
sqlite3 t.db "select event, count(*) from t where event != 'kernlens_loss' group by event order by event" >ours
jq -r 'select(.event).event' t.json | sort | uniq -c | awk '{ print $2 "|" $1 }' | LC_ALL=C sort >theirs
check "and counts each event as often as print" diff <(LC_ALL=C sort ours) theirs
sqlite3 t.db "select sum(ret), sum(variable_rss), max(time_ns) from t where event = 'syscall_exit_read'" >ours
jq -r -s '[.[] | select(.event == "syscall_exit_read")] |
	"\([.[].fields.ret] | add)|\([.[].variables.rss] | add)|\([.[] | .seconds * 1000000000 + .nanoseconds] | max)"' t.json >theirs
check "and the same sums" diff ours theirs
sqlite3 t.db "select distinct call_site from t where event = 'kmem_kmalloc'" | LC_ALL=C sort >ours
jq -r 'select(.event == "kmem_kmalloc").meanings.call_site' t.json | LC_ALL=C sort -u >theirs
check "and the same names of functions" diff ours theirs
check "of which there are some" test -s ours

kl print t --format csv -e sched_switch
check "the columns are those of what is printed" test "$(head -n 1 "$work/out")" = \
	time_ns,event,cpu,pid,tid,comm,loss,lost,prev_comm,prev_tid,prev_prio,prev_state,next_comm,next_tid,next_prio,variable_rss,variable_comm,variable_nr_running
kl print t --format csv --time relative
check "times since the start" awk -F, 'NR > 1 && $1 > 1e12 { exit 1 }' "$work/out"
"$kernlens" print t --format ber >t.ber
"$kernlens" print t.ber --format csv >ber.csv
check "the same from BER" cmp t.csv ber.csv
kl live --format csv -o live.csv -e sched_process_exec -- true
check "live has the columns of its events" test "$(head -n 1 live.csv)" = \
	time_ns,event,cpu,pid,tid,comm,loss,lost,field_tid,old_tid,filename
