# shellcheck shell=bash disable=SC2154,SC2016,SC1003
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# The full-screen view of processes: sends keys to a tmux terminal and compares its screen with
# /proc and ps. Each check waits for its state to appear.

# shellcheck source=/dev/null
. "$here/tui_terminal"

# Known processes: one that is busy, one that sleeps and has a child, and names with control and
# non-ASCII characters.
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
has_children() {
	(($(pgrep -cx -P "$parent" sleeper) == 2 && $(ps -o nlwp= -p "$threaded") == 4))
}
wait_until has_children
child=$(pgrep -P "$parent" | head -n 1)

begin 100 40 "$kernlens proc"
shows "the list is there" '^ +PID USER +PRI +NI +VIRT +RES +SHR S +CPU%.*MEM% +TIME\+ Command'
shows "the worker is in it" "^ *$worker root +20 +0 +[0-9]+ +[0-9]+ +[0-9]+ R .* bash -c while"
shows "so is the sleeper" "^ *$child .* S .* \./sleeper 100[01]"
shows "a bar for each CPU" '^ +0\[.*%\] +1\[.*%\]'
shows "bytes that would change the terminal are harmless" "^ *$odd .* \./esc\?\[31m\? 1000"
shows "UTF-8 is shown" "^ *$umlaut .* \./größe 1000"
silent out 'kthreadd' "no kernel threads at first"

counts_tasks() {
	local line all processes threads kernel
	line=$(grep -o "Tasks: .*;" "$work/out")
	read -r processes threads kernel <<<"${line//[^0-9 ]/}"
	all=$(sed 's|.*/\([0-9]*\) .*|\1|' /proc/loadavg)
	echo "$line the kernel has $all"
	all=$((processes + threads + kernel - all))
	((all >= -4 && all <= 4 && processes > 5 && kernel > 20))
}
becomes "as many tasks as there are" counts_tasks
# The worker alone uses 100 % of a CPU.
works() {
	grep -E "^ *$worker " "$work/out" | awk '{ exit !($9 > 70 && $9 < 130) }'
}
becomes "CPU% of the worker" works
says_memory() {
	has "Mem\[.*/$(awk '/^MemTotal/ {
		m = $2 / 1024
		if (m < 1000) printf "%.0fM", m; else printf "%.2fG", m / 1024
	}' /proc/meminfo)\]"
}
becomes "memory is what free says" says_memory

# ------------------------------------------------------------------- order
keys P
becomes "P: by CPU" sorted ▽ CPU% -rn
# Its CPU% has been checked; free its CPU for the other processes.
kill -STOP $worker
keys M
becomes "M: by memory" sorted ▽ MEM% -rn
keys N
becomes "N: by PID" sorted △ PID -n
keys I
becomes "I: the other way round" sorted ▽ PID -rn
keys F6
shows "F6: a menu of columns" '^Sort by'
keys Home Down Down Down Down Enter
becomes "by VIRT from the menu" sorted ▽ VIRT -rn
keys T
shows "T: by time" 'TIME\+▽'
keys N
shows "and by PID again" 'PID△'

# ------------------------------------------------------------ tree, search
below_parent() {
	grep -oE "^ *($parent|$child) " "$work/out" | tr -s ' \n' ' ' | grep -q "^ *$parent $child "
}
keys t
shows "t: a tree" "^ *$child .*(├|└)─ \./sleeper"
becomes "a child stands below its parent" below_parent
keys t
lacks "t: a list again" '(├|└)─'
keys / s l e e p e r
shows "/: what is searched for is seen" 'Search: sleeper'
becomes "and the bar goes there" bar_on "$child"
keys Enter
filtered() {
	has_not "^ *$worker " && (($(grep -c ' ./sleeper' "$work/out") == 2))
}
keys '\' s l e e p e r Enter
becomes "\\: only what the filter names, and all of that" filtered
shows "the filter is seen in the last line" 'F4FILTER'
keys '\' Escape
shows "no filter any more" "^ *$worker "
keys K Home
shows "K: kernel threads" ' kthreadd'
keys K
lacks "K: none" ' kthreadd'
has_threads() {
	(($(grep -c 'python3' "$work/out") == $1))
}
keys H
becomes "H: a row for each thread" has_threads 4
keys H
becomes "H: one for all" has_threads 1

# ----------------------------------------------------------------- changes
# has_nice VALUE PID...: do ps and /proc show VALUE?
has_nice() {
	local pid said
	for pid in "${@:2}"; do
		said=$(ps -o ni= -p "$pid")/$(awk '{ sub(/.*\) /, ""); print $17 }' "/proc/$pid/stat")
		[[ ${said// /} == "$1/$1" ]] || return
	done
}
go "$child"
keys F8 F8 F8
becomes "F8: nice is what ps and /proc say" has_nice 3 "$child"
shows "and what is shown" "^ *$child root +23 +3 "
keys ']'
becomes "]: root may lower it" has_nice 2 "$child"
keys F7 F7 F7
becomes "F7: below 0, too" has_nice -1 "$child"
shows "which is shown" "^ *$child root +19 +-1 "
keys '['
becomes "[: raised" has_nice 0 "$child"
go "$umlaut"
keys Space
go "$odd"
keys Space F8 F8
becomes "tagged: both are raised" has_nice 2 "$umlaut" "$odd"
check "and nobody else" has_nice 0 "$child" "$threaded"
keys U
go "$umlaut"
keys Space
go "$odd"
keys Space F9
shows "F9: a menu of signals" '^15 SIGTERM'
keys Up Down Enter
lacks "tagged: both have got SIGTERM" "^ *($umlaut|$odd) "
have_ended() {
	! kill -0 "$umlaut" && ! kill -0 "$odd"
}
check "so says the kernel" have_ended
keys U

# ------------------------------------------------------------------ details
has_its_memory() {
	local rss shown
	rss=$(awk '/^VmHWM/ { print $2 }' "/proc/$threaded/status")
	shown=$(grep -o 'rss_peak  *[0-9.]* MiB' "$work/out" | awk '{ print int($2 * 1024) }')
	echo "$rss $shown"
	((rss - shown < 300 && shown - rss < 300))
}
go "$threaded"
keys Enter
shows "Enter: details" "^$threaded /usr/bin/python3"
shows "its parent" "pid +$threaded +ppid +$$"
becomes "its memory is what /proc says" has_its_memory
keys Tab
shows "Tab: threads" '^ +TID S +CPU NICE'
becomes "all of them" has_threads 5
keys Tab
shows "Tab: what the command prints of it" 'command .*python3'
keys Tab
shows "what it waits for" '[Ww]ait'
keys Escape
shows "Escape: the list" 'F10Quit'
keys l
shows "l: its files" '/dev/null'
keys Escape
shows "and the list" 'F10Quit'

# ------------------------------------------------------------------- events
sessions() {
	"$kernlens" status --json | jq -e ".sessions | $1"
}
mkfifo "$work/pipe"
chmod 666 "$work/pipe"
# A process that reads 20 times a second from a pipe that stays empty.
reads='exec 3<>pipe; while :; do read -rt 0.05 -u 3; done'
bash -c "$reads" &
reader=$!
shows "another process" "^ *$reader .*bash -c exec"
go "$reader"
keys e
shows "e: its events as they happen" "^Events of $reader: [1-9][0-9]*  bash -c"
shows "of this process" "bash-$reader syscall_entry_pselect6: n=4"
becomes "by a session of its own" sessions "length == 1 and .[0].name == \"proc $reader\""
seen() {
	sed -n "s/^Events of $reader: \([0-9]*\).*/\1/p" "$work/out"
}
before=$(seen)
more() {
	(($(seen) > before))
}
becomes "more and more" more
keys Z
shows "Z: no more" "^Events of $reader: [0-9]+, paused"
keys Escape
shows "back in the list" 'F10Quit'
becomes "the session is gone" sessions 'length == 0'
keys s
shows "s: its system calls" "^System calls of $reader: [1-9]"
shows "as strace prints them" '[0-9] +pselect6\(4, 0x'
keys Escape e Escape s Escape
shows "who leaves before it has started is in the list" 'F10Quit'
becomes "and no session is left" sessions 'length == 0'
kill $reader
lacks "who has ended vanishes" "^ *$reader "

# ------------------------------------------------------------------ window
# has_size COLUMNS ROWS: does the list fill exactly the window?
has_size() {
	[[ $(wc -L <"$work/out") -le $1 && $(wc -l <"$work/out") -eq $2 ]] &&
		sed -n "$2p" "$work/out" | grep -q '^F1Help'
}
keys F2
shows "F2: the setup" '^Columns shown +All columns'
keys Tab Down Down Enter Escape
shows "a column more" '^ +PID.*USER.*PPID'
for size in '80 24' '132 50' '40 10' '100 40'; do
	on_terminal resize-window -t view -x "${size% *}" -y "${size#* }"
	# shellcheck disable=SC2086
	becomes "a window of $size" has_size $size
done
on_terminal resize-window -t view -x 20 -y 5
becomes "a tiny one" has_size 20 5
on_terminal resize-window -t view -x 100 -y 40
becomes "does no harm" has_size 100 40
help_head='^kernlens [0-9.]+: processes'
keys F1
shows "F1: help" "$help_head"
shows "all of it" 'F10 q +quit'
keys q
shows "a key goes back" 'F10Quit'
on_terminal resize-window -t view -x 80 -y 10
becomes "a small window" has_size 80 10
keys F1
shows "help in it" "$help_head"
lacks "but not all" 'F10 q +quit'
keys Down
lacks "Down: its first line is gone" "$help_head"
shows "and the second one at the top" '^CPU: '
keys End
shows "End: the last line" 'F10 q +quit'
is_last_row() {
	[[ $(sed -n 9p "$work/out") == *F10\ q* && $(sed -n 10p "$work/out") == Arrows* ]]
}
becomes "stands above the keys" is_last_row
keys Home
shows "Home: the first" "$help_head"
keys NPage
shows "a page on" 'reverse the order'
lacks "without the first" "$help_head"
on_terminal resize-window -t view -x 40 -y 10
becomes "half as wide" has_not 'reverse the order'
keys End Right Right Right
shows "Right: what stands there" 'F10 q +quit'
on_terminal resize-window -t view -x 100 -y 40
keys Left Left Left
shows "the window is large again: help begins with its first line" "$help_head"
keys q
shows "a key goes back from there" 'F10Quit'
keys q
shows "q quits" '^ended with 0'
shows "the terminal is as before" '(^| )icanon'
silent out 'PID.*USER' "the screen, too"
end

# If a signal ends it, the terminal is still restored.
for signal in TERM=143 INT=0 SEGV=139; do
	begin 80 24 "$kernlens proc"
	shows "it runs" 'F10Quit'
	pkill "-${signal%=*}" -x kernlens
	shows "SIG${signal%=*} ends it" "^ended with ${signal#*=}\$"
	shows "and restores the terminal" '(^| )icanon'
	end
done

# ------------------------------------------------------------- without color
uses_colors() {
	on_terminal capture-pane -e -p -t view | grep -aqE $'\e''\[([0-9;]*;)?[34][0-7]m'
}
uses_none() {
	! uses_colors
}
begin 80 24 "$kernlens proc"
shows "as usual" 'F10Quit'
becomes "in colors" uses_colors
end
begin 80 24 "NO_COLOR=1 $kernlens proc"
shows "NO_COLOR" 'F10Quit'
check "no colors" uses_none
end

# ------------------------------------------------------------ ordinary user
as_user='setpriv --reuid 60001 --regid 60001 --clear-groups --bounding-set=-all --'
$as_user bash -c "$reads" &
reader=$!
others() {
	awk '/PID.*USER/ { list = 1; next } /^ *F1/ { exit } list && NF && $2 != "kluser1"' "$work/out"
}
only_own() {
	has "^ *$reader kluser1" && [[ ! $(others) ]]
}
begin 80 24 "$as_user $kernlens proc"
becomes "an ordinary user has a view of their own processes" only_own
go "$reader"
keys F8
becomes "they may raise their nice value" has_nice 1 "$reader"
keys F7
shows "what may not be done is said" "Cannot change the nice value of $reader: "
check "and not done" has_nice 1 "$reader"
shows "and then the keys again" 'F10Quit'
keys e
shows "events of their own" "^Events of $reader: [1-9]"
shows "are those" "bash-$reader syscall_entry_pselect6: n=4"
keys Escape q
shows "it ends" '^ended with 0'
kill $reader
end

# -------------------------------------------------------------- a list, still
begin 80 24 "$kernlens --no-pager proc --list; echo"
shows "--list is a list" '^ended with 0'
end
kl proc
expect "without a terminal, too" 0
says out '^ *pid +user'

# ------------------------------------------------------------------- many
/usr/bin/python3 -c '
import os, signal, sys
children = [os.fork() or signal.pause() for _ in range(1000)]
open("last", "w").write(str(children[-1]))
signal.pause()' &
many=$!
await_many() {
	local end=$((EPOCHSECONDS + 2 * patience))
	until [[ -s last ]] || ((EPOCHSECONDS > end)); do sleep 0.5; done
}
await_many
begin 100 40 "$kernlens proc"
shows "1,000 processes" 'Tasks: 10[0-9][0-9]'
keys '\' p y t h o n Enter N End
shows "End goes to the last" "^ *$(cat last) .* /usr/bin/python3"
becomes "with the bar" bar_on "$(cat last)"
end
pkill -P $many
kill $many
kill -KILL $worker
kill $parent $threaded "$child" 2>/dev/null
pkill -x sleeper
wait 2>/dev/null
leave_terminal
