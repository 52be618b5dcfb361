# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# Alarms, printed to stderr and passed to a command.

kl record --no-dump -e sched_process_exec -e 'mark :alarm("look here")' -o plain -- "$kernlens" mark one
expect "an alarm" 0
says err '^kernlens: alarm: look here \(mark in kernlens, [0-9]+\)$' "is printed"

# An alarm is reported during the recording, not at its end.
kl record -q --no-dump -e 'mark :alarm("look here")' --on-alarm 'date +%s%N >told' -o soon -- \
	bash -c '"$0" mark; sleep 1; date +%s%N >ended' "$kernlens"
silent err alarm "but not with --quiet"
check "the command is run at once" test $(($(cat ended) - $(cat told))) -gt 500000000

# The command's environment; it runs once for each alarm.
tell='echo "$KERNLENS_ALARM|$KERNLENS_EVENT|$KERNLENS_SESSION|$KERNLENS_TID|$KERNLENS_COMM" >>told; echo printed'
for mode in discard overwrite; do
	rm -f told
	kl record --json --no-dump "--$mode" -e 'mark :alarm("a \"b\" $c")' --on-alarm "$tell" -o "$mode" -- \
		bash -c 'for i in 1 2 3; do "$0" mark; done' "$kernlens"
	expect "--on-alarm, --$mode" 0
	check "is run for each" test "$(grep -Ec '^a .* \$c\|mark\|[0-9]+\|[0-9]+\|kernlens$' told)" -eq 3
	json "they are counted" '.alarms == 3' || cat "$work/out"
	says err '^printed$' "what it prints goes to stderr"
done

# A slow command: one runs at a time, the queue is bounded, and the recording does not wait.
kl record --no-dump -e syscall_entry_write -e 'mark :alarm("many")' \
	--on-alarm 'echo begin >>slow.log; [ -e one ] || { : >one; sleep 1; }; echo end >>slow.log' -o slow -- \
	bash -c 'yes | head -n 100 | "$0" mark -; dd if=/dev/zero of=/dev/null bs=1 count=500 status=none' "$kernlens"
expect "a slow command" 0
check "is never run twice at a time" bash -c '! uniq -d slow.log | grep .'
says err '^kernlens: [0-9]+ alarms were not passed to the --on-alarm command' "alarms not passed to it are counted"
# How many are dropped depends on the machine.
untold=$(sed -nE 's/^kernlens: ([0-9]+) alarms (were not passed|were dropped).*/\1/p' "$work/err" | paste -sd+)
check "each alarm is passed or counted" test $(($(grep -c end slow.log) + untold)) -eq 100
says err '^kernlens: [0-9]+ alarms were not printed' "and what was not printed"
check "and no record is lost in the meantime" test \
	"$("$kernlens" print --format json slow | jq -s '[.[] | select(.event == "syscall_entry_write" and .comm == "dd")] | length')" -eq 500

kl record --no-dump -e 'mark :alarm("many")' --on-alarm 'exit 3' -o failing -- \
	bash -c 'for i in 1 2 3; do "$0" mark; done' "$kernlens"
expect "a command that fails" 0
check "its failure is reported once" test "$(grep -c 'failed with status 3' err)" -eq 1

# Users choose the names of their tasks.
odd=$'mark\n<0>odd'
cp "$kernlens" "$odd"
rm -f told
kl record --no-dump -e 'mark :alarm("look here")' --on-alarm "$tell" -o odd -- ./"$odd" mark one
says err '^kernlens: alarm: look here \(mark in mark\?<0>odd, [0-9]+\)$' "a name is escaped"
silent err '^<0>' "and begins no line"
check "in the command's environment, too" grep -qF '|mark?<0>odd' told
kl print $'no\n<0>\e[31mtrace'
check "messages are escaped" grep -qF 'no?<0>?[31mtrace: No such file' err
silent err '^<0>' "names in them begin no line"

kl live -e sched_process_exec -e 'mark :alarm("look here")' --on-alarm "$tell" -- "$kernlens" mark one
expect "live" 0
says err '^kernlens: alarm: look here' "prints alarms"
says err '^printed$' "runs the command"
says out 'alarm: .*look here' "they are events, too"
silent out '^printed$' "whose output is not among the events"

# A session that another terminal records.
"$kernlens" record -q --no-dump -a -e 'mark :alarm("from there")' --name there -o there --duration 600 &
recorder=$!
check "a session that is only read" wait_until readers there 1
"$kernlens" mark before
rm -f told
"$kernlens" live -q --session there --on-alarm "$tell" >out 2>err &
reader=$!
wait_until readers there 2
"$kernlens" mark behind
wait_until test -s told
kill -INT "$reader"
wait "$reader"
check "only alarms after it attached" test "$(wc -l <told)" -eq 1
silent err 'alarm: ' "not printed with --quiet"
kill -INT "$recorder"
wait "$recorder"

kl_nobody record --no-dump -e 'mark :alarm("mine")' --on-alarm 'echo "$KERNLENS_COMM" >/dev/shm/own.told' \
	-o /dev/shm/own -- "$kernlens" mark one
expect "an ordinary user's" 0
check "reports the user's own tasks" grep -qx kernlens /dev/shm/own.told
rm -r /dev/shm/own /dev/shm/own.told
