# shellcheck shell=bash disable=SC2154,SC2016,SC2094
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# Summaries of minutes, hours, days and months, with minutes shortened to one second, compared with
# /proc over the same time.

counters() {
	awk '/^ctxt/ { c = $2 } /^processes/ { f = $2 } /^intr/ { i = $2 } END { printf "%d %d %d ", c, f, i }' /proc/stat
	awk '/^pgfault/ { f = $2 } /^pgmajfault/ { m = $2 } END { print f, m }' /proc/vmstat
}
sum() { jq "[.summaries[] | select(.figure == \"$2\") | .sum] | add | round" "$1"; }
# between TEXT LOW VALUE HIGH
between() { check "$1 ($2 <= $3 <= $4)" test "$2" -le "$3" -a "$3" -le "$4"; }

all=switches,forks,interrupts,pgfault,pgmajfault,processes,available_memory,load_1
export KERNLENS_HISTORY_UNIT=1
read -r -a before < <(counters)
"$kernlens" history record --interval 0.25 -f h.db 2>record.err &
recorder=$!
for _ in {1..100}; do
	[[ -s h.db-wal ]] && break
	sleep 0.1
done
sleep 2
read -r -a first < <(counters)
for _ in {1..20}; do /bin/true; done
bash -c 'exec -a burn timeout 3 bash -c "while :; do :; done"'
read -r -a last < <(counters)
sleep 1
check "its file is for its owner alone" test "$(stat -c %a h.db)" = 600
kill -TERM $recorder
wait $recorder
check "it ends with status 0" test $? -eq 0
read -r -a after < <(counters)

for level in minutes hours days months; do
	"$kernlens" history --json "--$level" -v $all -f h.db >$level.json
	is_json "$level as JSON" $level.json
done
check "several minutes" test "$(jq '[.summaries[].begin] | unique | length' minutes.json)" -ge 5
n=0
for figure in switches forks interrupts pgfault pgmajfault; do
	if [[ $figure == pg* ]] && ! grep -q "^$figure " /proc/vmstat; then
		json "$figure is absent, as it is of /proc" "[.summaries[] | select(.figure == \"$figure\")] == []" minutes.json
		((++n))
		continue
	fi
	between "$figure of all minutes lie between what /proc said within and around" \
		$((last[n] - first[n])) "$(sum minutes.json $figure)" $((after[n] - before[n]))
	for level in hours days months; do
		check "$level have the same sum of $figure" test "$(sum $level.json $figure)" -eq "$(sum minutes.json $figure)"
	done
	((++n))
done
json "the least is not above the mean, nor that above the most" \
	'[.summaries[] | select(.min > .mean * 1.000001 + 1e-6 or .mean > .max * 1.000001 + 1e-6)] == []' minutes.json
total=$(awk '/^MemTotal/ { print $2 * 1024 }' /proc/meminfo)
json "available memory is less than all" "[.summaries[] | select(.figure == \"available_memory\") | .max] | max < $total and min > 0" minutes.json
looks=$(jq '[.summaries[] | select(.figure == "processes") | .seconds] | add | floor' minutes.json)
check "time is covered without gaps ($looks s)" test "$looks" -ge 6

# The loop ran for at most 3 s, on one CPU, and nothing else ran.
"$kernlens" history --json --comm bash --days -f h.db >bash.json
burnt=$(jq '[.summaries[] | select(.figure == "cpu_time") | .sum] | add / 1000000 | round' bash.json)
between "milliseconds of the busy shell" 1200 "$burnt" 6000
json "its user" '[.summaries[].uid] | unique == [0]' bash.json
"$kernlens" history --json --comm nosuch --days -f h.db >none.json
json "no groups of a name that was not there" '.summaries == []' none.json

kl history --minutes -f h.db
says out '^time +load_1 '
check "a line a minute" test "$(wc -l <out)" -eq $(($(jq '[.summaries[].begin] | unique | length' minutes.json) + 1))
kl history --hours --full -v forks,load_1 -f h.db
says out ' forks +[0-9.]+/s +[0-9.]+/s +[0-9.]+/s +[0-9]+ '
kl history --minutes --csv -v forks -f h.db
check "CSV has the same" test "$(awk -F, 'NR > 1 { s += $10 } END { print s }' out)" -eq "$(sum minutes.json forks)"
kl history --minutes -v lod_1 -f h.db
says err 'did you mean "load_1"'
kl history --since 1h --until 30min --minutes --json -f h.db
json "nothing of a time before" '.summaries == []'
kl history --since soon -f h.db
expect "a wrong time" 2
LC_ALL=C.UTF-8 "$kernlens" history plot load_1 switches --minutes -f h.db >plot
check "a plot has dots" env LC_ALL=C grep -qP '\xe2[\xa0-\xa3]' plot
check "and both figures" test "$(grep -Ec '^(load_1|switches): ' plot)" -eq 2
kl history plot load_1 --csv -f h.db
expect "a plot is not CSV" 2
kl history plot switches --minutes --svg x.svg -f h.db
check "a plot is for its owner alone" test "$(stat -c %a x.svg)" = 600
check "a picture is well formed" python3 -c 'import sys, xml.dom.minidom as x
d = x.parse("x.svg")
p = d.getElementsByTagName("polyline")
sys.exit(not p or sum(len(l.getAttribute("points").split()) for l in p) < 5)'
check "others can read it" test "$(sqlite3 h.db "select cast(sum(sum) as integer) from summary join figure on id = figure where level = 3 and name = 'forks' and subject = 0")" -eq "$(sum minutes.json forks)"

# If killed at any time, the database is intact, readers do not wait, and recording resumes where it
# stopped.
for _ in 1 2 3; do
	"$kernlens" history record --interval 0.1 -f h.db 2>/dev/null &
	recorder=$!
	sleep 2.3
	kl history --minutes -f h.db
	kill -KILL $recorder
	wait $recorder 2>/dev/null
done
expect "a reader beside the recorder" 0
check "killed three times, the database is whole" test "$(sqlite3 h.db 'pragma integrity_check')" = ok
"$kernlens" history --json --minutes -v $all -f h.db >minutes.json
"$kernlens" history --json --months -v $all -f h.db >months.json
check "and its levels agree" test "$(sum minutes.json forks)" -eq "$(sum months.json forks)"

# Bounded: a database filled by another program is trimmed, and by no more than necessary.
env -u KERNLENS_HISTORY_UNIT "$kernlens" history record --once --interval 0.2 --max 1M -f small.db
now=$(date +%s)
sqlite3 small.db "with recursive n(i) as (select 1 union all select i + 1 from n where i < 1400)
	insert into summary select 0, $now - 60 - 60 * i, 0, f.id, 1, 60, 1, 1, 60 from n join figure f where f.id < 14"
check "a database near its bound" test "$(stat -c %s small.db)" -gt 700000
env -u KERNLENS_HISTORY_UNIT "$kernlens" history record --once --interval 0.2 --max 1M -f small.db
check "is written to" test $? -eq 0
check "and does not exceed it" test "$(stat -c %s small.db)" -le 1048576
check "the newest is there" test "$(sqlite3 small.db "select count(*) from summary where level = 0 and begin > $now - 120 and subject = 0")" -gt 10
check "most of the others, too" test "$(sqlite3 small.db 'select count(distinct begin) from summary where level = 0')" -gt 500
sqlite3 small.db "insert into summary select 0, $now - 200000, 0, 1, 1, 60, 1, 1, 60"
env -u KERNLENS_HISTORY_UNIT "$kernlens" history record --once --interval 0.2 --max 1M -f small.db
check "minutes of more than a day ago are forgotten" test "$(sqlite3 small.db "select count(*) from summary where begin = $now - 200000")" -eq 0

kl_nobody history record --once --interval 0.2 -f /dev/shm/nobody.db
expect "an ordinary user's" 0
check "has own processes only" test "$(sqlite3 /dev/shm/nobody.db 'select group_concat(distinct uid) from subject where id > 0')" = 65534
rm -f /dev/shm/nobody.db*
unset KERNLENS_HISTORY_UNIT
