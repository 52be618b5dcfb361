# shellcheck shell=bash disable=SC2154,SC2016,SC1003
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# The tab about I/O: rates and totals compared with /proc/PID/io, delays with the kernel's delay
# accounting, at a disk that takes 5 ms for each request; and the time that a process waits for swap.

# shellcheck source=/dev/null
. "$here/tui_terminal"

if ! modprobe -nq null_blk; then
	skip "the tab about I/O" "this kernel has no null_blk"
	return 0
fi
accounting=/proc/sys/kernel/task_delayacct
modprobe null_blk irqmode=2 completion_nsec=5000000 gb=1
wait_until test -b /dev/nullb0
echo 0 >$accounting
dd if=/dev/nullb0 of=/dev/null bs=64k iflag=direct 2>/dev/null &
early=$!
echo 1 >$accounting
dd if=/dev/nullb0 of=/dev/null bs=64k iflag=direct 2>/dev/null &
reader=$!
nice -n 7 dd if=/dev/zero of=/dev/nullb0 bs=64k oflag=direct 2>/dev/null &
writer=$!
ionice -c 2 -n 6 -p $reader

# shown PID COLUMN: what the tab shows, in KiB or percent.
shown() {
	value "$@" | awk '{ n = $1 + 0
		print /G/ ? n * 1048576 : /M/ ? n * 1024 : /B/ ? n / 1024 : n }'
}

# of_kernel PID NAME: a line of /proc/PID/io, in KiB.
of_kernel() {
	awk -v name="$2:" '$1 == name { print int($2 / 1024) }' "/proc/$1/io"
}

# per_second FROM TO SINCE: what a number has grown by per second.
per_second() {
	awk -v from="$1" -v to="$2" -v s="$3" -v now="$EPOCHREALTIME" \
		'BEGIN { print (to - from) / (now - s) }'
}

# near A B PERCENT
near() {
	echo "$1 against $2"
	awk -v a="$1" -v b="$2" -v p="$3" 'BEGIN { exit !(a > 0 && b > 0 && a <= b * (1 + p / 100) && a >= b * (1 - p / 100)) }'
}

# has_rate PID COLUMN NAME: is a rate on the screen what /proc/PID/io grows by in the same seconds?
has_rate() {
	local from to begin
	begin=$EPOCHREALTIME
	from=$(of_kernel "$1" "$3")
	sleep 3
	screen
	to=$(of_kernel "$1" "$3")
	near "$(shown "$1" "$2")" "$(per_second "$from" "$to" "$begin")" 25
}

# has_total PID COLUMN: is the total between what /proc/PID/io says before and after?
has_total() {
	local from to
	from=$(($(of_kernel "$1" read_bytes) + $(of_kernel "$1" write_bytes)))
	sleep 1.5
	screen
	to=$(($(of_kernel "$1" read_bytes) + $(of_kernel "$1" write_bytes)))
	echo "$from <= $(shown "$1" "$2") <= $to"
	awk -v a="$from" -v n="$(shown "$1" "$2")" -v b="$to" 'BEGIN { exit !(n >= a * 0.98 && n <= b * 1.02) }'
}

# settles TEXT COMMAND...: passes once COMMAND succeeds: the view and the kernel are read at different
# moments, between which the emulator may leave the processes alone.
settles() {
	await "${@:2}"
	report $? "$1"
}

begin 110 24 "$kernlens proc"
shows "a view" 'F10Quit'
keys Tab
shows "the tab about I/O" 'PID USER +IO DISK/s▽.*READ/s WRITE/s TOTAL +SWPD% +IOD% Command'
shows "has the reader" "^ *$reader root +B6 "
shows "has the writer, whose priority follows from its nice value" "^ *$writer root +B5 "
settles "what is read" has_rate $reader READ/s read_bytes
settles "what is written" has_rate $writer WRITE/s write_bytes
settles "their sum" has_rate $writer DISK/s write_bytes
settles "the total of the reader" has_total $reader TOTAL
settles "the total of the writer" has_total $writer TOTAL
is_idle() {
	[[ $(shown "$reader" WRITE/s)$(shown "$writer" READ/s)$(shown "$reader" 'SWPD%') == 000 ]]
}
check "and nothing else" is_idle
# The kernel counts the same time in ticks, in field 42 of /proc/PID/stat.
waited() {
	awk '{ sub(/.*\) /, ""); print $40 }' "/proc/$1/stat"
}
has_delay() {
	local from to begin
	begin=$EPOCHREALTIME
	from=$(waited "$reader")
	sleep 3
	screen
	to=$(waited "$reader")
	near "$(shown "$reader" 'IOD%')" "$(per_second "$from" "$to" "$begin")" 15
}
settles "time blocked on I/O" has_delay
is_zero() {
	[[ $(shown "$early" 'IOD%') == 0 && $(waited "$early") == 0 ]]
}
check "not known of a process that is older than the accounting" is_zero
echo 0 >$accounting
shows "N/A while nothing is counted" "^ *$reader .* N/A +N/A dd"
keys q
shows "it ends" '^ended with 0'
end
kl proc --json -v ioprio,io_bytes,io_read_bytes,io_write_bytes $reader
json "the list has the same columns" '.processes[0] | .ioprio == 16390 and .io_bytes > 0'
kl proc -v ioprio,policy $reader
says out '^best-effort:6 +other$' "in words"
kill $early $reader $writer
wait $early $reader $writer 2>/dev/null
rmmod null_blk

# ----------------------------------------------------------------------- swap
echo 1 >$accounting
modprobe brd rd_nr=1 rd_size=65536
wait_until test -b /dev/ram0
mkswap -q /dev/ram0
swapon /dev/ram0
coproc /usr/bin/python3 -c '
import mmap, sys, time
area = mmap.mmap(-1, 16 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, len(area), 4096): area[at] = 1
area.madvise(21)  # MADV_PAGEOUT
print(flush=True)
sys.stdin.readline()
for at in range(0, len(area), 4096): area[at]
print(flush=True)
time.sleep(1000)'
swapper=$!
read -r _ <&"${COPROC[0]}"
kl proc --json -v swap_entries,swapin_delay $swapper
json "a process whose memory is in swap" '.processes[0] | .swap_entries > 2000 and .swapin_delay == 0'
echo >&"${COPROC[1]}"
read -r _ <&"${COPROC[0]}"
kl proc --json -v swap_entries,swapin_delay $swapper
json "has waited for it" '.processes[0] | .swap_entries < 2000 and .swapin_delay > 0'
kill $swapper
wait $swapper 2>/dev/null
swapoff /dev/ram0
rmmod brd
echo 0 >$accounting
leave_terminal
