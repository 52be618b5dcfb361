# shellcheck shell=bash disable=SC2154,SC2016,SC1003
# SPDX-License-Identifier: GPL-2.0
# The full-screen view of processes: a terminal of tmux, keys sent to it, and what its screen then
# shows, compared with what the kernel says by /proc and ps.

socket=$work/tmux
saved_locale=${LC_ALL-}
export LC_ALL=C.UTF-8

on_terminal() {
	tmux -S "$socket" -f /dev/null "$@"
}

# begin COLUMNS ROWS COMMAND: a terminal with a shell's command, whose status is shown at its end.
begin() {
	on_terminal new-session -d -s view -x "$1" -y "$2" "$3; echo \"ended with \$?\"; stty -a; sleep 600"
}

keys() {
	on_terminal send-keys -t view "$@"
}

screen() {
	on_terminal capture-pane -p -t view >"$work/out"
}

# shows TEXT PATTERN [SECONDS]: passes when the screen has such a line; waits for it.
shows() {
	local i
	for ((i = 0; i < ${3-20} * 5; i++)); do
		screen
		! grep -Eq -- "$2" "$work/out" || break
		sleep 0.2
	done
	check "$1" grep -Eq -- "$2" "$work/out"
}

# lacks TEXT PATTERN: passes when the screen has no such line any more.
lacks() {
	local i
	for ((i = 0; i < 100; i++)); do
		screen
		grep -Eq -- "$2" "$work/out" || break
		sleep 0.2
	done
	check "$1" test -z "$(grep -E -- "$2" "$work/out")"
}

end() {
	on_terminal kill-server 2>/dev/null
	sleep 0.2
}

# The number in column $1 of the list on the screen, from its first row to its last.
column() {
	screen
	awk -v name="$1" '
		/PID.*Command/ { gsub(/[△▽]/, " "); for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		/^ *F1/ { exit }
		at && NF { print $at }' "$work/out"
}

# sorted COLUMN OPTIONS: passes if the column is in sort's order.
sorted() {
	column "$1" >"$work/column"
	[[ $(wc -l <"$work/column") -gt 3 ]] && LC_ALL=C sort -c "${@:2}" "$work/column"
}

# Known processes: one that works, one that sleeps and has a child, one whose name is no text.
cp "$(command -v sleep)" "$work/sleeper"
cp "$(command -v sleep)" "$work/"$'esc\033[31m\001'
cp "$(command -v sleep)" "$work/größe"
bash -c 'while :; do :; done' &
worker=$!
echo './sleeper 1000 & ./sleeper 1001 & wait' >family
bash family &
parent=$!
./$'esc\033[31m\001' 1000 &
odd=$!
./größe 1000 &
umlaut=$!
/usr/bin/python3 -c '
import threading, time
for _ in range(3): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
time.sleep(1000)' &
threaded=$!
sleep 2
child=$(pgrep -P "$parent" | head -n 1)

begin 100 40 "$kernlens proc"
shows "the list is there" '^ +PID USER +PRI +NI +VIRT +RES +SHR S +CPU%.*MEM% +TIME\+ Command'
shows "the worker is in it" "^ *$worker root +20 +0 +[0-9]+ +[0-9]+ +[0-9]+ R .* bash -c while"
shows "so is the sleeper" "^ *$child .* S .* \./sleeper 100[01]"
shows "a bar for each CPU" '^ +0\[.*%\] +1\[.*%\]'
shows "bytes that would change the terminal are harmless" "^ *$odd .* \./esc\?\[31m\? 1000"
shows "UTF-8 is shown" "^ *$umlaut .* \./größe 1000"
silent out 'kthreadd' "no kernel threads at first"

check "as many tasks as there are" bash -c '
	line=$(grep -o "Tasks: .*;" '"$work"'/out)
	read -r processes threads kernel <<<"$(sed "s/[^0-9 ]//g" <<<"$line")"
	all=$(sed "s|.*/\([0-9]*\) .*|\1|" /proc/loadavg)
	echo "$line; the kernel has $all"
	difference=$((processes + threads + kernel - all))
	((difference >= -4 && difference <= 4 && processes > 5 && kernel > 20))'
# The worker alone makes 100 % of a CPU's time: so says its column, and a bar.
check "CPU% of the worker" bash -c 'grep -E "^ *'"$worker"' " '"$work"'/out | awk "{ exit !(\$9 > 70 && \$9 < 130) }"'
check "memory is what free says" bash -c '
	all=$(awk "/^MemTotal/ { printf \"%.0f\", \$2 / 1024 }" /proc/meminfo)
	grep -Eq "Mem\[.*/${all}M\]" '"$work"'/out'

# ------------------------------------------------------------------- order
keys P
sleep 1
check "P: by CPU" sorted CPU% -rn
# It has been seen, and leaves the rest its CPU.
kill -STOP $worker
keys M
sleep 1
check "M: by memory" sorted MEM% -rn
keys N
sleep 1
check "N: by PID" sorted PID -n
keys I
sleep 1
check "I: the other way round" sorted PID -rn
keys F6
shows "F6: a menu of columns" '^Sort by'
keys Home Down Down Down Down Enter
sleep 1
check "by VIRT from the menu" bash -c "$(declare -f on_terminal screen column sorted); socket=$socket work=$work; "'
	column VIRT | sed "s/M\$/ M/; s/G\$/ G/" | awk "{ print \$1 * (\$2 == \"M\" ? 1024 : \$2 == \"G\" ? 1048576 : 1) }" >'"$work"'/numbers
	sort -c -rn '"$work"'/numbers'
keys T
sleep 1
keys N

# ------------------------------------------------------------ tree, search
keys t
shows "t: a tree" "^ *$child .*(├|└)─ \./sleeper"
check "a child stands below its parent" bash -c '
	grep -nE "^ *('"$parent|$child"') " '"$work"'/out | cut -d: -f2 | awk "{ print \$1 }" | tr "\n" " " | grep -q "^'"$parent $child"' "'
keys t
lacks "t: a list again" '(├|└)─'
keys / s l e e p e r
sleep 0.5
keys Enter
on_terminal capture-pane -e -p -t view >"$work/colours"
check "/: the bar goes to what is searched for" grep -aqE $'\e''\[[0-9;]*46m *'"$child " "$work/colours"
keys '\' s l e e p e r Enter
lacks "\\: only what the filter names" "^ *$worker "
check "and all of that" test "$(grep -c ' ./sleeper' "$work/out")" -eq 2
shows "the filter is seen in the last line" 'F4FILTER'
keys '\' Escape
shows "no filter any more" "^ *$worker "
keys K Home
shows "K: kernel threads" ' kthreadd'
keys K
lacks "K: none" ' kthreadd'
keys H
sleep 2
screen
check "H: a row for each thread" test 4 -eq "$(grep -c "python3" "$work/out")"
keys H

# ------------------------------------------------------------------ changes
# go PID: the bar to a process.
go() {
	local i digits=()
	for ((i = 0; i < ${#1}; i++)); do digits+=("${1:i:1}"); done
	keys Escape "${digits[@]}"
	sleep 0.5
}

go "$child"
keys F8 F8 F8
sleep 1
check "F8: nice is what ps says" test "$(ps -o ni= -p "$child" | tr -d ' ')" = 3
shows "and what is shown" "^ *$child root +23 +3 "
keys ']'
sleep 1
check "]: root may lower it" test "$(ps -o ni= -p "$child" | tr -d ' ')" = 2
go "$umlaut"
keys Space
go "$odd"
keys Space F9
shows "F9: a menu of signals" '^15 SIGTERM'
keys Up Down Enter
lacks "tagged: both have got SIGTERM" "^ *($umlaut|$odd) "
check "so says the kernel" bash -c "! kill -0 $umlaut 2>/dev/null && ! kill -0 $odd 2>/dev/null"
keys U

# ------------------------------------------------------------------ details
go "$threaded"
keys Enter
shows "Enter: details" "^$threaded /usr/bin/python3"
shows "its parent" "pid +$threaded +ppid +$$"
check "its memory is what /proc says" bash -c '
	rss=$(awk "/^VmHWM/ { print \$2 }" /proc/'"$threaded"'/status)
	shown=$(grep -o "rss_peak  *[0-9.]* MiB" '"$work"'/out | awk "{ print \$2 * 1024 }")
	echo "$rss $shown"
	awk "BEGIN { d = $rss - $shown; exit !(d < 300 && d > -300) }"'
keys Tab
shows "Tab: threads" '^ +TID S +CPU NICE'
check "all of them" test "$(grep -c 'python3$' "$work/out")" -ge 4
keys Tab
shows "Tab: what the command prints of it" 'command .*python3'
keys Tab
shows "what it waits for" '[Ww]ait'
keys Escape
shows "Escape: the list" 'F10Quit'
keys l
shows "l: its files" '/dev/null'
keys Escape

keys q
shows "q quits" '^ended with 0'
end
kill -KILL $worker
kill $parent $threaded "$child" $odd $umlaut 2>/dev/null
pkill -x sleeper
wait 2>/dev/null
export LC_ALL=$saved_locale
[[ $LC_ALL ]] || unset LC_ALL
