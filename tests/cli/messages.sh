# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# Messages that lead on: what is silent or misleading otherwise, hints, colors, narrow terminals,
# and progress.

# terminal COLUMNS COMMAND...: runs a command on a terminal of this width; its output is in
# $work/out, with the control characters.
terminal() {
	local columns=$1
	shift
	printf -v line '%q ' "$@"
	script -qec "stty cols $columns rows 40; $line" /dev/null </dev/null >"$work/out" 2>"$work/err"
}

# narrow TEXT COLUMNS: passes if no line of the last output is wider.
narrow() {
	check "$1" bash -c 'sed "/^kernlens: /d; /Omitted/d; s/\x1b\[[0-9;]*[mK]//g; s/\r//g" "$1" | awk -v most="$2" "length > most { print; exit 1 }"' \
		- "$work/out" "$2"
}

kl record -q -o t -e sched,syscalls -- sh -c 'cat /etc/passwd >/dev/null; sleep 0.1'
expect "a trace to look at" 0

# What would be silent.
kl print t --cpu 99
says err 'the trace has no events of CPU 99' "--cpu of none"
kl print t --from 5 --to 1
expect "--from after --to" 2
says err '--from is later than --to'
kl print t -p 1
says err "none of the trace's [0-9,]+ events matches" "no event matches"
kl print t -e sched_switch
check "and is quiet otherwise" test ! -s "$work/err"
kl mark lost
expect "a mark without a session" 0
says err 'no session is running: nothing has recorded the mark'
kl_nobody mark lost
says err 'you have no running session'
kl record -q -o m -e mark -- "$kernlens" mark heard
check "with a session, it is quiet" test ! -s "$work/err"

# Names of sessions.
"$kernlens" stat -a --name twice -e mark --duration 60 >/dev/null 2>&1 &
first=$!
wait_until readers twice 0
kl stat -a --name twice -e mark --duration 0.1
expect "a name that is taken" 1
says err 'there is a session twice already .*--name'
id=$("$kernlens" status --json | jq -r '.sessions[] | select(.name == "twice").id')
kl stat -a --name "$id" -e mark --duration 0.1
expect "a name that is a session's number" 1
kill $first
wait $first
"$kernlens" stat -a -e mark --duration 60 >/dev/null 2>&1 &
first=$!
"$kernlens" stat -a -e mark --duration 60 >/dev/null 2>&1 &
second=$!
wait_until bash -c '(($("$0" status --json | jq "[.sessions[] | select(.name == \"stat\" and .running)] | length") == 2))' "$kernlens"
kl buffer 64K stat
says err "2 sessions are named 'stat': use the number" "a name that two sessions have"
kill $first $second
wait $first $second
kl snapshot nix
says err "unknown session 'nix' \(kernlens status lists them\)"

# Where else to look.
kl count -e sched_switch -- true
expect "count of an event" 2
says err 'kernlens stat -e sched_switch counts events'
kl stat -e cpu-clock -- true
says err 'tick:99:stack' "perf's sampling event"
timeout -s INT 20 "$kernlens" watch --interval 0.2 'x: rss > 0 of pid 1 do log, freeze flight' >"$work/out" 2>"$work/err" &
watch=$!
wait_until grep -q flight "$work/err"
kill -INT $watch
wait $watch
says err "x: session flight does not exist" "watch: freeze of a session that does not exist is reported at the start"
cp -r t damaged
echo nonsense >damaged/metadata
kl print damaged
check "a path is printed once" test "$(grep -o damaged "$work/err" | wc -l)" -eq 1

# Hints for what the kernel or the user's rights lack.
kl_nobody record -e fn:vfs_read -o /dev/shm/n -- true
says err '^Try: kernlens doctor$' "no rights"
kl_nobody --json record -e fn:vfs_read -o /dev/shm/n -- true
json "as JSON" '.hint == "Try: kernlens doctor"'
kl_nobody stat -a -e sched_switch
says err '^Try: kernlens doctor$' "another's tasks"
kl_nobody blocks ksys_read
says err '^Try: kernlens doctor$' "hidden symbols"
absent=$("$kernlens" list events --json | jq -r '[.[] | select(.available | not)][0].name // empty')
if [[ $absent ]]; then
	kl record -o n -e "$absent" -- true
	expect "an absent event that is named" 1
	says err "$absent is not available here: ." "it is named, with the reason"
	says err '^Try: kernlens doctor$'
	kl record -o n -q -- true
	silent err 'not available' "of a default or a group nothing is said"
fi
kl print nothing
silent err 'doctor' "but not for what has another cause"
if has_types; then
	mount -t tmpfs none /sys/kernel/btf
	kl record -o n2 -e 'fn:vfs_read /file->f_pos > 0/' -- true
	umount /sys/kernel/btf
	says err '^Try: kernlens doctor$' "no BTF"
fi

# Work that takes long is shown, and ends at once.
warm=${XDG_CACHE_HOME-}
export XDG_CACHE_HOME=$work/cold
terminal 80 "$kernlens" --no-pager blocks ksys_read
says out "reading the kernel's code" "blocks shows what it is doing"
for command in 'count -e block:ksys_read' 'path ksys_read'; do
	rm -rf "$XDG_CACHE_HOME"
	read -r -a words <<<"$command"
	env --default-signal=INT "$kernlens" "${words[@]}" >"$work/out" 2>"$work/err" &
	busy=$!
	sleep 1.5
	before=$EPOCHREALTIME
	kill -INT $busy
	wait $busy
	status=$?
	check "SIGINT ends ${command%% *} at once (status $status)" awk -v from="$before" -v to="$EPOCHREALTIME" \
		'BEGIN { exit to - from > 1 }'
	check "and nothing is left of it" test "$("$kernlens" status --json | jq '.sessions | length')" -eq 0
done
XDG_CACHE_HOME=$warm

# Losses count from the same time as events.
kl live --buffer 16K -e syscalls -o losses -- dd if=/dev/zero of=/dev/null bs=1 count=60000 status=none
if grep -q 'events were lost' losses; then
	check "loss lines of live count as events do" awk '
		/events were lost/ { for (i = 1; i <= NF; i++) if ($i ~ /^-?[0-9]+\.[0-9]+$/ && $i > 1000) exit 1 }' losses
else
	skip "loss lines of live" "nothing was lost"
fi

# Colors and narrow terminals.
kl print t --color always -e sched_switch
says out $'^\033\\[2m\\[[0-9.]+\\]\033\\[0m [0-9]{3} .* \033\\[1msched_switch\033\\[0m: prev_comm=' "--color always"
"$kernlens" print t -e sched_switch >plain
check "adds nothing else" bash -c 'sed "s/\x1b\[[0-9;]*m//g" "$1" | cmp - "$2"' - "$work/out" plain
terminal 200 "$kernlens" --no-pager print t -e sched_switch
says out $'\033\\[1msched_switch' "on a terminal"
terminal 40 "$kernlens" --no-pager report sleepers t
narrow "tables fit 40 columns" 40
says out 'too narrow for all columns' "and say that columns are missing"
terminal 100 "$kernlens" latency -- sleep 0.1
narrow "latency fits 100 columns" 100
terminal 100 env TERM=dumb "$kernlens" proc
says out 'pid .*comm|comm .*pid' "proc with TERM=dumb prints a list"
silent out $'\033' "without escape sequences"
