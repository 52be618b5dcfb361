# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# The snapshot handler: copies a flight recorder's buffers while recording continues.

# whole TRACE [READER]: nothing in TRACE is torn or cut, and READER finds as many records in it.
whole() {
	"$kernlens" print --format json "$1" >"$1.json" 2>said && ! grep -E '[1-9][0-9,]* blocks damaged' said &&
		{ [[ ! ${2-} ]] || test "$("$2" "$1" 2>/dev/null | wc -l)" -eq "$(grep -c '"event":' "$1.json")"; }
}

# One process writes, with marks in between: a snapshot's records end near its mark. A snapshot is
# complete once its stack traces are written.
cat >script <<END
written() {
	for ((i = 0; i < 100; i++)); do
		[[ ! -e \$1/.kernlens/stacks ]] || return
		sleep 0.1
	done
}
dd if=/dev/zero of=/dev/null bs=1 count=300 status=none
"$kernlens" mark first
written flight.1
dd if=/dev/zero of=/dev/null bs=1 count=300 status=none
"$kernlens" mark second
written flight.2
dd if=/dev/zero of=/dev/null bs=1 count=300 status=none
END
kl record --json --no-dump --overwrite --buffer 8M -v rss -e syscall_entry_write,sched_switch:stack \
	-e 'mark :snapshot' -o flight -- bash script
expect "a recording with snapshots" 0
json "tells how many" '.snapshots == 2 and .missed == 0 and .lost == 0'
for trace in flight flight.1 flight.2; do
	check "$trace is whole" whole "$trace" "$([[ $trace == *.2 ]] || echo babeltrace2)"
	check "$trace has call traces" bash -c 'jq -s -e "[.[] | select(.event == \"sched_switch\").stacks.kstack[]?.symbol] | length > 100" "$1.json"' - "$trace"
done
check "it can be reported on" "$kernlens" report flight.1
writes() {
	jq -s '[.[] | select(.event == "syscall_entry_write" and .comm == "dd")] | length' "$1.json"
}
check "the first has what was before it, and not all that came behind" \
	test "$(writes flight.1)" -ge 300 -a "$(writes flight.1)" -lt 900
check "the second has more" test "$(writes flight.2)" -ge 600
check "nothing of what came meanwhile is lost" test "$(writes flight)" -eq 900
check "a snapshot has the record that asked for it" jq -s -e \
	'[.[] | select(.event == "alarm")] | length == 1 and .[0].fields.text == "snapshot"' flight.1.json
check "and variables" jq -s -e 'all(.[]; .variables | has("rss"))' flight.2.json
check "it is the recording's beginning" bash -c \
	'cut -f 1-3 -d, flight.1.json | sort >a; cut -f 1-3 -d, flight.json | sort >b; test -z "$(comm -23 a b)"'

# Processes write as fast as they can, so the buffers wrap continuously.
cat >script <<'END'
for i in 1 2 3; do
	dd if=/dev/zero of=/dev/null bs=1 count=15000 status=none &
done
for i in 1 2 3 4 5; do
	sleep 0.1
	"$1" mark "$i"
done
wait
END
kl record --no-dump --overwrite --buffer 128K --snapshots 3 -e syscalls -e 'mark :snapshot' -o busy \
	-- bash script "$kernlens"
expect "one whose buffers turn over" 0
says err '^kernlens: 3 snapshots: busy.1 to busy.3' "has three"
says err 'older ones overwritten' "and has overwritten"
says err '[12] snapshot requests were not fulfilled \(limit of --snapshots\)' "and says what was beyond it"
check "there is no fourth" test ! -e busy.4
for trace in busy.1 busy.3; do
	check "$trace is whole" whole "$trace"
	check "$trace has many records" test "$(wc -l <"$trace.json")" -gt 1000
	"$kernlens" report --json "$trace" >>reports
done
check "each has what was lost or overwritten before it" jq -s -e \
	'map(.records + .losses.before + .losses.overwritten) | .[0] < .[1]' reports

kl record --no-dump --overwrite -e 'syscall_entry_write :snapshot' -o merged -- \
	dd if=/dev/zero of=/dev/null bs=1 count=1000 status=none
expect "thousands asked for at once" 0
check "are few" test ! -e merged.17
check "at least one of them" whole merged.1
# all: number of requests: snapshots written, merged into another, and beyond the limit
all() {
	tr -d , <err | grep -Eo '[0-9]+ (snapshots: |snapshot requests|more requests)' | awk '{ n += $1 } END { print n }'
}
check "all are accounted for" test "$(all)" -eq 1000

kl record -q --no-dump --overwrite -e sched_switch -e 'mark :snapshot' -o flight -- true
expect "a trace in the way" 1
mkdir other.1 && touch other.1/mine
kl record -q --no-dump --overwrite -e sched_switch -e 'mark :snapshot' -o other -- true
expect "something else in the way of a snapshot" 1
check "the recording is not begun" test ! -e other
kl record -q --force --no-dump --overwrite -e sched_switch -e 'mark :snapshot' -o flight -- true
expect "--force" 0
check "removes old snapshots" test ! -e flight.1 -a ! -e flight.2
kl record -q -e 'mark :snapshot' -o kept -- true
expect "without --overwrite" 1
says err 'snapshot' "it is refused"
kl record -q --snapshots 10000 -- true
expect "too many" 2
# A snapshot at the very end has consumed the new stack traces: the recording must have them as
# well.
kl record -q --no-dump --overwrite -e 'syscall_entry_getppid:stack' -e 'syscall_exit_getppid:snapshot' \
	-o late -- bash -c :
expect "a snapshot behind the last record" 0
"$kernlens" print --format json late >late.json
check "the recording has its call trace" jq -s -e \
	'map(select(.event == "syscall_entry_getppid")) | length > 0 and all(.stacks.kstack | length > 1)' late.json
kl_nobody record -q --no-dump --overwrite -e 'mark :snapshot' -o /dev/shm/own -- "$kernlens" mark mine
expect "an ordinary user's" 0
kl print --format json /dev/shm/own.1
json "is there" '.comm == "kernlens" and .fields.text == "snapshot"'
rm -r /dev/shm/own /dev/shm/own.1

# Another user has planted a directory with a symbolic link where a snapshot will be written.
mkdir -m 1777 shared && echo keep >victim
setpriv --reuid 65534 --regid 65534 --clear-groups -- mkdir -p shared/flight.1/.kernlens
setpriv --reuid 65534 --regid 65534 --clear-groups -- ln -s "$work/victim" shared/flight.1/.kernlens/manifest
kl record -q --no-dump --overwrite -e sched_switch -o shared/flight -- \
	sh -c '"$0" snapshot; sleep 1' "$kernlens"
says err 'shared/flight.1 belongs to user 65534' "a snapshot is not written there"
check "nor behind the link" test "$(<victim)" = keep
check "the recording is written" "$kernlens" print shared/flight
kl record -q --no-dump --force --overwrite -e sched_switch -e 'mark :snapshot' -o shared/flight -- true
expect "with a rule for snapshots it is not begun, also with --force" 1
check "and nothing of theirs is removed" test -L shared/flight.1/.kernlens/manifest

# On request, from another terminal.
chmod 777 .
seen() {
	"$kernlens" status --json | jq -e --arg name "$1" '.sessions[] | select(.name == $name and .running and .events > 0)'
}
wait_until() {
	for ((i = 0; i < 100; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.1
	done
	return 1
}
kl snapshot
expect "without a session" 1
says err 'you have no session'
mkfifo go
"$kernlens" record --no-dump --overwrite --name hand -e syscall_exit_write -o hand -- \
	sh -c 'dd if=/dev/zero of=/dev/null bs=512 count=50 status=none; read x <go; read x <go' 2>summary &
exec 7<>go
check "a session to ask" wait_until seen hand
kl status --json
json "status has the name of its maskset" '.sessions[0].maskset == "events"'
kl status
says out ' hand .* events '
kl_nobody snapshot hand
expect "another user's session" 1
says err 'unknown session' "is not even known"
kl snapshot hand
expect "root's" 0
check "its recorder writes it" wait_until test -e hand.1/metadata
echo >&7
kl snapshot --json
expect "the only session" 0
check "again" wait_until test -e hand.2/metadata
echo >&7
exec 7>&-
wait $!
check "the summary tells of both" grep -q '^kernlens: 2 snapshots: hand.1 to hand.2' summary
check "a snapshot is whole" whole hand.1 babeltrace2
check "with what was there" test \
	"$(jq -s '[.[] | select(.event == "syscall_exit_write" and .fields.ret == 512)] | length' hand.1.json)" -eq 50
kl snapshot hand
expect "a session that has ended" 1
"$kernlens" record -q --name kept -e syscall_exit_write -o discard -- sleep 600 &
wait_until seen kept
kl snapshot kept
expect "one that discards" 1
says err 'a snapshot requires overwrite mode'
pkill -P $!
wait $!
kl snapshot one two
expect "two sessions" 2
setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all -- \
	"$kernlens" record -q --overwrite --no-dump --name theirs -e syscall_exit_write -o /dev/shm/theirs -- sleep 600 &
wait_until seen theirs
kl_nobody snapshot theirs
expect "an ordinary user's own" 0
check "is written" wait_until test -e /dev/shm/theirs.1/metadata
setpriv --reuid 65533 --regid 65533 --clear-groups --bounding-set=-all -- "$kernlens" snapshot theirs 2>refused
check "a second user is refused" grep -q 'unknown session' refused
setpriv --reuid 65533 --regid 65533 --clear-groups --inh-caps=+perfmon --ambient-caps=+perfmon --bounding-set=-all,+perfmon -- \
	"$kernlens" snapshot theirs 2>refused
check "also one who may see all" grep -q 'changing it needs CAP_SYS_ADMIN' refused
pkill -P $!
wait $!
rm -r /dev/shm/theirs /dev/shm/theirs.1
