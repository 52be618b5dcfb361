# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# Alarms on processes: rules, raising and clearing, and the actions taken.

# until_true SECONDS COMMAND...: waits until COMMAND succeeds; fails if it does not.
until_true() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || return 1
		sleep 0.1
	done
}

kl watch --check 'rzs > 1'
expect "a wrong rule" 2
says err 'RULE:1:1: unknown variable "rzs"; did you mean "rss"'
printf '# first\ngood: rss > 1G\nbad: rss > 5s\n' >bad.rules
kl watch --check -f bad.rules
says err '^kernlens: bad.rules:3:13: invalid unit "s"' "errors name file, line and column"
kl watch --json --check -f bad.rules
json "and are JSON with --json" '.error == "USAGE" and (.message | test("bad.rules:3"))'
kl watch --check -f nosuch.rules
expect "a file that is not there" 2
kl watch --check -f "$here/../../packaging/etc/watch.rules"
expect "the rules that are installed are right" 0

# Known numbers of processes, and values of one process, compared with /proc.
sleepers=()
for _ in 1 2 3 4 5; do
	sleep 300 &
	sleepers+=($!)
done
until_true 30 eval '[[ $(pgrep -cx sleep) == 5 ]]'
kl watch --once 'processes == 5 of comm sleep total' 'processes != 5 of comm sleep total'
expect "--once prints the rules that hold" 3
check "and only that" test "$(cut -d: -f1 out)" = 'raised rule1'
kl watch --once 'processes == 0 of comm sleep total' 'cpu% > 1000'
expect "--once, nothing holds" 0
kl watch --once "threads > 0 of pid $!" "threads > 0 of comm slee? user root pid $!" "threads > 0 of user nobody"
check "processes are chosen by pid, name and user" test "$(grep -c "pid $!," out)" -eq 2 -a "$(wc -l <out)" -eq 2
mkdir /sys/fs/cgroup/kl.watch /sys/fs/cgroup/kl.watch/inner
echo $! >/sys/fs/cgroup/kl.watch/inner/cgroup.procs
kl watch --once 'processes == 1 of cgroup /kl.watch total' 'processes == 0 of cgroup /kl.none total' 'nice == 0 of cgroup kl.watch'
check "and by cgroup, with those inside" test "$(grep -c '^raised' out)" -eq 3
kl watch --once --json 'vm_size > 1 of pid 1'
is_json "--json is an object a line"
json "with the plain value" ".pid == 1 and .value == $(awk '/^VmSize/ { print $2 * 1024 }' /proc/1/status) and .state == \"raised\""
kill "${sleepers[@]}"
wait

# Users choose the names of their processes.
odd=$'odd\n<0>forged'
cp "$(command -v sleep)" "$odd"
./"$odd" 300 &
until_true 30 eval '[[ $(<"/proc/$!/comm") == odd* ]]'
kl watch --once "threads > 0 of pid $!" "comm != \"x\" of pid $!"
expect "a name with a newline" 3
check "is a part of one line" test "$(grep -c 'odd?<0>forged, pid' out)" -eq 2 -a "$(wc -l <out)" -eq 2
says out '^raised rule2: odd\?<0>forged ' "also as a value"
timeout -s TERM 6 "$kernlens" watch "threads > 0 of pid $! do run printenv KERNLENS_COMM" >out 2>err
says err 'odd\?<0>forged$' "and in a command's environment"
kill $!
wait
rmdir /sys/fs/cgroup/kl.watch/inner /sys/fs/cgroup/kl.watch

# A process whose memory the test controls: an input line is a number of MiB on top of its own 14,
# or "flap", which alternates between 26 and none. It grows and shrinks in pieces, so that it passes
# through the values in between.
cat >hog.py <<'END'
import sys
hold = []
def resize(pieces):
    del hold[pieces:]
    while len(hold) < pieces:
        hold.append(bytearray(b"x") * (2 << 20))
for line in sys.stdin:
    if line.strip() == "flap":
        for _ in range(5):
            resize(13)
            resize(0)
    else:
        resize(int(line) // 2)
    print(line.strip(), flush=True)
END
mkfifo to
# Makes freed memory go back to the kernel.
MALLOC_MMAP_THRESHOLD_=65536 python3 hog.py <to >held &
hog=$!
exec 7>to
resize() {
	echo "$1" >&7
	until_true 30 eval "[[ \$(tail -n 1 held) == $1 ]]"
}

cat >rules <<END
high: rss > 34M for 4s clear below 22M for 1s of pid $hog do log, mark, freeze flight, shell "echo \$KERNLENS_ALARM,\$KERNLENS_STATE,\$KERNLENS_PID,\$KERNLENS_COMM,\$KERNLENS_UID,\$KERNLENS_VALUE >>told; echo printed; exit 3"
plain: rss > 34M for 500ms of pid $hog do log, run printenv "KERNLENS_RULE" , run nosuchprogram
late: rss > 34M of pid $hog do run sleep 100
there: threads > 0 of pid $hog
gone: processes == 0 of comm hogged total
END
"$kernlens" record -q -a --no-dump -e mark -o marks &
marks=$!
"$kernlens" record -a --no-dump --overwrite -e sched_switch -o flight --name flight >flight.out 2>&1 &
flight=$!
until_true 30 "$kernlens" status
sleep 2
"$kernlens" watch --interval 0.25 --timeout 1 -f rules >said 2>told.err &
watch=$!
until_true 60 grep -q '^raised gone: 0' said
check "a total of nothing is 0" grep -q '^raised gone: 0' said

# Repeatedly above the threshold, but not long enough: not raised.
resize 0
resize flap
sleep 5
check "a short time above raises nothing" test -z "$(grep '^raised high' said)"
resize 26
check "above for long enough raises" until_true 60 grep -q '^raised high' said
check "once, with the process" test "$(grep -c "^raised high: .*(python3, pid $hog, root)" said)" -eq 1
rss=$(awk '/^VmRSS/ { print $2 * 1024 }' /proc/$hog/status)
check "a command gets the facts" until_true 30 grep -Eq "^high,raised,$hog,python3,0,[0-9]+$" told
value=$(cut -d, -f6 told | head -n 1)
check "the value is what /proc says ($value, $rss)" test $((value > rss ? value - rss : rss - value)) -le 4194304
check "a flight recorder is frozen" until_true 60 grep -q 'high: session flight frozen' told.err
wait $flight
check "its recorder ends with status 0" test $? -eq 0
"$kernlens" print --format json flight >flight.json
check "and has what was before" test "$(wc -l <flight.json)" -gt 100
check "what it prints is logged" until_true 30 grep -q '^kernlens: high: printed' told.err
check "its failure, too" until_true 30 grep -q 'high: /bin/sh failed with status 3' told.err
check "a command without a shell has its words" until_true 90 grep -q 'plain: plain: rss > 34M' told.err
check "a missing one is reported" grep -q 'plain: cannot run nosuchprogram: No such file' told.err
check "one that takes too long is killed" until_true 30 grep -q 'late: sleep was killed after 1 s' told.err
check "nothing of it goes on" test -z "$(pgrep -x sleep)"

# Between the thresholds: neither raised nor cleared.
resize 14
sleep 3
check "between the thresholds it stays" test -z "$(grep '^cleared high' said)"
check "without a second threshold it is cleared" until_true 30 grep -q '^cleared plain: ' said
resize 0
check "below it is cleared" until_true 60 grep -q "^cleared high: .*(python3, pid $hog, root) after" said

# Rules are read again.
echo 'bad rule' >>rules
kill -HUP $watch
check "wrong rules leave the old ones" until_true 30 grep -q 'keeping the old rules: rules:6:1: ' told.err
sed -i '$d' rules
sed -i '/^gone/d' rules
kill -HUP $watch
check "rules are read again" until_true 30 grep -q 'reloaded 4 rules' told.err
check "alarms of rules that are gone are dropped" grep -q '^dropped gone' said
check "what was raised is cleared" until_true 30 eval '[[ $(grep -c "^raised plain" said) == $(grep -c "^cleared plain" said) ]]'
raised=$(grep -c '^raised plain' said)
raised_again() { (($(grep -c '^raised plain' said) > raised)); }
resize 26
check "rules go on" until_true 60 raised_again
# An exiting process has no memory, so its memory alarms may be cleared before.
kill $hog
exec 7>&-
check "a process that ends ends its alarms" until_true 60 grep -q '^ended there (python3' said
check "none of its alarms stays" until_true 30 eval \
	'[[ $(grep -c "^raised plain" said) == $(grep -Ec "^(cleared|ended) plain" said) ]]'
kill $watch
wait $watch
check "SIGTERM ends it with status 0" test $? -eq 0
kill -INT $marks
wait $marks
"$kernlens" print --format json marks | jq -r .fields.text >texts
check "marks are in the trace" grep -Eq "^alarm high raised: [0-9.]+M \(python3, pid $hog\)$" texts
check "raised and cleared, in that order" test "$(grep '^alarm high' texts | head -n 2 | cut -d' ' -f3 | tr -d ':' | xargs)" = 'raised cleared'

# Ordinary users: own processes, own sessions.
kl_nobody watch --once 'processes > 1 of total' 'processes == 1 of total'
check "an ordinary user's watch sees own processes only" grep -q '^raised rule2' out
"$kernlens" record -q -a --no-dump --overwrite -e sched_switch -o roots --name roots &
root=$!
until_true 30 eval '"$kernlens" status | grep -q roots'
(setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all -- timeout -s TERM 6 "$kernlens" \
	watch 'processes > 0 of total do freeze roots' >out 2>err)
says err 'cannot freeze session roots:' "and freezes nobody else's session"
check "which goes on" kill -0 $root
kill -INT $root
wait $root
setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all -- "$kernlens" record -q --no-dump \
	--overwrite -e mark -u 65534 -o /dev/shm/own --name own &
own=$!
until_true 30 eval '"$kernlens" status | grep -q own'
(setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all -- timeout -s TERM 6 "$kernlens" \
	watch 'processes > 0 of total do freeze own' >out 2>err)
says err 'session own frozen' "but an own one"
wait $own
check "whose recorder ends" test $? -eq 0
rm -rf /dev/shm/own
if "$kernlens" help --commands | grep -qx snapshot; then
	"$kernlens" record -q -a --no-dump --overwrite -e mark -o snapped --name snapped &
	snapped=$!
	until_true 30 eval '"$kernlens" status | grep -q snapped'
	timeout -s TERM 8 "$kernlens" watch 'processes > 0 of total do snapshot snapped' >out 2>err
	check "a rule can request a snapshot" until_true 20 test -d snapped.1
	kill -INT $snapped
	wait $snapped
fi
