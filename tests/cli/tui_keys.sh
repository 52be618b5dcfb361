# shellcheck shell=bash disable=SC2154,SC2016,SC1003
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# The full-screen view as people who know htop use it: the mouse, tabs, menus, and keys. What it
# changes is compared with taskset, ionice and ps, what it shows with htop and /proc.

# shellcheck source=/dev/null
. "$here/tui_terminal"

# mouse BUTTON COLUMN ROW: a press and a release, as a terminal reports them in X10 coding, from 0.
# Button 0 is the left one, 64 and 65 are the wheel.
mouse() {
	local at release=
	printf -v at '%02x %02x' $((33 + $2)) $((33 + $3))
	(($1 > 2)) || release="1b 5b 4d 23 $at"
	# shellcheck disable=SC2086
	keys -H 1b 5b 4d "$(printf %02x $((32 + $1)))" $at $release
}

# row PATTERN: number of the first line of the screen that matches, from 0.
row() {
	screen
	echo $(($(grep -nE -- "$1" "$work/out" | head -n 1 | cut -d: -f1) - 1))
}

# cell PATTERN TEXT: cell of TEXT in that line.
cell() {
	local line
	line=$(grep -E -- "$1" "$work/out" | head -n 1)
	line=${line%%"$2"*}
	echo ${#line}
}

# click PATTERN [TEXT]: clicks TEXT in the first line that matches, or its tenth cell.
click() {
	local x=10 y
	y=$(row "$1")
	[[ ! ${2-} ]] || x=$(cell "$1" "$2")
	mouse 0 "$x" "$y"
}

cp "$(command -v sleep)" "$work/sleeper"
for i in 1 2 3 4 5 6; do
	./sleeper "100$i" &
	sleepers+=($!)
done
one=${sleepers[0]} two=${sleepers[1]}
head='^ +PID.*Command'

begin 100 24 "$kernlens proc -d 0.5"
shows "the list is there" "$head"

# ------------------------------------------------------------------- mouse
click "$head" PID
becomes "a click on a title sorts" sorted △ PID -n
click "$head" PID
becomes "another one reverses the order" sorted ▽ PID -rn
click "$head" VIRT
becomes "on another title: by that" sorted ▽ VIRT -rn
keys N '\' s l e e p e r Enter
has_six() {
	(($(grep -c ' \./sleeper' "$work/out") == 6))
}
becomes "six sleepers are shown" has_six
click "^ *$two "
becomes "a click on a row selects it" bar_on "$two"
click "^ *$two "
shows "a second one shows its details" "^$two ./sleeper 1002"
keys Escape
shows "the list" 'F10Quit'
click "^ *$one "
becomes "another row" bar_on "$one"
at=$(row "^ *$two ")
press=$(printf '1b 5b 4d 20 2b %02x 1b 5b 4d 23 2b %02x' $((33 + at)) $((33 + at)))
# shellcheck disable=SC2086
keys -H $press $press
shows "a double click shows its details at once" "^$two ./sleeper 1002"
click '^ Overview' Files
shows "a click on a section shows it" '/dev/null'
click '^Tab' Esc
shows "a click on Esc goes back" 'F10Quit'
click "^ *$two "
keys Up Down
click "^ *$two "
shows "after a key, a click only selects" 'F10Quit'
click '^F1Help' F9
shows "a click on a function key: the menu of signals" '^15 SIGTERM'
click '^ *1 SIGHUP'
click '^15 SIGTERM'
shows "a click in a menu selects, and does not choose" '^Send signal'
click '^15 SIGTERM'
lacks "a second one chooses" "^ *$two "
check "the signal was sent" test ! -e "/proc/$two"
click '^F1Help' F6
shows "the menu of columns" '^Sort by'
mouse 0 60 15
lacks "a click outside of a menu closes it" '^Sort by'
click '^F1Help' F4
shows "a click on F4: the filter" 'Filter: sleeper'
click '^Enter' Esc
shows "a click on Esc: no filter" 'F4Filter'
keys K N Home
shows "kernel threads" '^ *2 .* kthreadd'
for _ in 1 2 3 4 5 6 7 8; do mouse 65 20 15; done
lacks "the wheel scrolls" '^ *2 .* kthreadd'
for _ in 1 2 3 4 5 6 7 8; do mouse 64 20 15; done
shows "and back" '^ *2 .* kthreadd'
keys F1
shows "help" 'F10 q +quit'
click 'Any other key' Any
shows "a click there goes back" 'F10Quit'
keys K F2
shows "the setup" '^Columns shown +All columns'
click '   PPID' PPID
click '   PPID' PPID
keys Escape
shows "two clicks add a column" "^ +PID.*PPID.*Command"

# -------------------------------------------------------------------- tabs
shows "tabs" '^ Main  I/O'
click '^ Main  I/O' I/O
shows "a click on a tab shows it" '^ +PID USER +IO +DISK/s.*READ/s WRITE/s +TOTAL +SWPD% +IOD% Command'
shows "delays are not counted by default" '^ *[0-9]+ root +B4 .* N/A +N/A '
keys Tab
shows "Tab: the other tab, with its columns" "^ +PID.*PPID.*Command"

# ------------------------------------------------------- meters, path, follow
keys '#'
lacks "#: no meters" 'Mem\['
keys '#'
shows "#: meters" 'Mem\['
keys p
shows "p: no path" "^ *$one .* sleeper 1001"
keys p
shows "p: the path" "^ *$one .* \./sleeper 1001"
keys t
shows "t: a tree" '(├|└)─'
keys '*'
lacks "*: all branches are collapsed" '\./sleeper'
keys '*'
shows "*: expanded" '\./sleeper'
keys t N
go "$one"
keys F
shows "F: the bar stays" 'The bar stays at its line'
keys F
shows "F: the bar follows" "The bar follows process $one"

# ------------------------------------------------------------- what it changes
has_affinity() {
	[[ $(taskset -pc "$one") == *": $1" ]]
}
keys a
shows "a: its CPUs" '^\[x\] CPU 1'
keys Down Space
shows "Space: not this one" '^\[ \] CPU 1'
keys Enter
becomes "Enter: so says taskset" has_affinity 0
keys a
shows "a shows it" '^\[ \] CPU 1'
click '^\[ \] CPU 1'
shows "a click checks it again" '^\[x\] CPU 1'
keys Enter
becomes "all CPUs" has_affinity 0,1
keys a Space Down Space Enter
shows "none is refused" 'at least one CPU'
check "and nothing is done" has_affinity 0,1

has_ioprio() {
	[[ $(ionice -p "$one") == "$1" ]]
}
keys i
shows "i: the menu of I/O priorities" '^Realtime 0 \(high\)'
keys i Enter
becomes "Idle" has_ioprio idle
keys Tab
shows "the tab shows it" "^ *$one root +id "
keys Tab i r Down Down Enter
becomes "Realtime 2" has_ioprio 'realtime: prio 2'
keys i Home Enter
becomes "By nice value" has_ioprio 'none: prio 0'

# A menu is about one process: when that exits, another one is under the bar.
go "${sleepers[2]}"
keys F9
shows "the menu of signals" '^15 SIGTERM'
kill "${sleepers[2]}"
# Until then it is a zombie, which has no command line but can be sent signals.
wait "${sleepers[2]}"
lacks "its process exits" "\b${sleepers[2]}\b"
keys Enter
shows "nothing is sent to another one" "Process ${sleepers[2]} is gone"
check "which still runs" kill -0 "${sleepers[3]}"

# ------------------------------------------------------------- about a process
exec {locked}>lockfile
python3 -c '
import fcntl, os, sys, time
fcntl.flock(int(sys.argv[1]), fcntl.LOCK_EX)
other = open("records", "w+")
fcntl.lockf(other, fcntl.LOCK_EX, 10, 5)
open("held", "w")
time.sleep(1000)' "$locked" "$(printf 'long %.0s' {1..60})" end &
locker=$!
wait_until test -e held
shows "a process with locks" "^ *$locker "
go "$locker"
keys x
shows "x: its flock" "^ +$locked FLOCK +ADVISORY +WRITE .* 0 +EOF +.*lockf"
shows "its record lock" "^ +[0-9]+ POSIX +ADVISORY +WRITE .* 5 +14 +.*rec"
holds_as_lslocks() {
	[[ $(lslocks -n -o TYPE,PID,START,END | grep -c " $locker ") == 2 ]]
}
check "lslocks has two, too" holds_as_lslocks
keys Escape w
shows "w: the whole command line" ' end$'
keys Escape
kill $locker
exec {locked}>&-

chrt -f -p 7 "$one"
go "$one"
keys Enter
shows "the policy in words" 'policy +fifo '
chrt -o -p 0 "$one"
shows "so is the usual one" 'policy +other '
keys Escape q
shows "q quits" '^ended with 0'
end

# ------------------------------------------------------- without the mouse, SGR
reports_mouse() {
	[[ $(on_terminal display-message -p -t view '#{mouse_any_flag}') == "$1" ]]
}
begin 80 24 "$kernlens proc"
shows "a view" 'F10Quit'
becomes "wants the mouse" reports_mouse 1
keys q
shows "it ends" '^ended with 0'
check "and returns the mouse" reports_mouse 0
end
begin 80 24 "$kernlens proc"
shows "a view" 'F10Quit'
pkill -SEGV -x kernlens
shows "a crash" '^ended with 139'
becomes "returns it, too" reports_mouse 0
end
begin 80 24 "$kernlens proc --no-mouse"
shows "--no-mouse" 'F10Quit'
check "leaves it to the terminal" reports_mouse 0
end
begin 80 24 "TERM=xterm-256color $kernlens proc"
shows "as xterm" 'F10Quit'
at=$(row '^F1Help')
keys -l $'\e''[<0;'"$(($(cell '^F1Help' F6) + 1));$((at + 1))M"
keys -l $'\e''[<0;'"$(($(cell '^F1Help' F6) + 1));$((at + 1))m"
shows "clicks in SGR coding" '^Sort by'
end

# --------------------------------------------------------- terminals without it
begin 140 24 "TERM=dumb $kernlens proc -u 60001"
shows "on a dumb terminal, why" 'cannot show the full-screen view: it cannot position the cursor'
shows "and a list" '^ended with 0'
end
begin 140 24 "TERM=nosuch $kernlens proc -u 60001"
shows "on an unknown one, too" 'cannot show the full-screen view: its type is not known'
shows "and a list" '^ended with 0'
end

# -------------------------------------------------------------- as htop shows
# used TEXT: what a bar shows as used, in MiB.
used() {
	grep -oE 'Mem\[[^]]*\]' "$work/out" | grep -oE '[0-9.]+[KMG]/' | tr -d / |
		awk '{ n = $1 + 0; print /G/ ? n * 1024 : /K/ ? n / 1024 : n }'
}
sizes() {
	echo "$(value "$one" VIRT)/$(value "$one" RES)/$(value "$one" SHR)"
}
begin 120 40 "htop -C"
shows "htop" 'Mem\[.*[0-9.]+[MG]/[0-9.]+[MG]\]'
keys '\' s l e e p e r Enter
shows "has the sleeper" "^ *$one "
theirs=$(used)
# Before version 3.3, htop did not count shared memory as used.
! htop --version | grep -qE '^htop ([012]|3\.[0-2])\.' ||
	theirs=$(awk -v used="$theirs" '/^Shmem:/ { print used + $2 / 1024 }' /proc/meminfo)
theirs_of_it=$(sizes)
end
begin 120 40 "$kernlens proc"
shows "kernlens" 'Mem\[.*[0-9.]+[MG]/[0-9.]+[MG]\]'
keys '\' s l e e p e r Enter
shows "has it, too" "^ *$one "
as_much_memory() {
	echo "htop $theirs, kernlens $(used)"
	awk -v a="$theirs" -v b="$(used)" 'BEGIN { exit !(a > 1 && a - b < 12 && b - a < 12) }'
}
becomes "used memory is what htop shows" as_much_memory
same_size() {
	echo "htop $theirs_of_it, kernlens $(sizes)"
	[[ $(sizes) == "$theirs_of_it" ]]
}
check "so are VIRT, RES and SHR" same_size
is_rss() {
	[[ $(value "$one" RES) == "$(ps -o rss= -p "$one" | tr -d ' ')" ]]
}
check "RES is what ps says" is_rss
end

pkill -x sleeper
wait 2>/dev/null
leave_terminal
