# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# Times from one block of a program or library to another, and rules at one place in a program, which
# act in their order.

libc=$(ldd "$(command -v python3)" | awk '$1 == "libc.so.6" { print $3 }')
sleeps='import ctypes
for i in range(10): ctypes.CDLL(None).usleep(50000)'

# ---------------------------------------------------------------- rules in order
# The first rule sees what the second has set at the call before.
kl stat --json -e "uprobe:$libc:clock_nanosleep /flag(t)/:count,uprobe:$libc:clock_nanosleep:set(t)" -- python3 -c "$sleeps"
expect "a rule before one that sets its flag" 0
json "does not act at the first call" '[.rules[].entries[].count] == [9]' "$work/out"
kl stat --json -e "uprobe:$libc:clock_nanosleep:set(t),uprobe:$libc:clock_nanosleep /flag(t)/:count" -- python3 -c "$sleeps"
json "and after it, at all" '[.rules[].entries[].count] == [10]' "$work/out"

# ------------------------------------------------------------------------- times
# The block that makes the system call and the one that returns may be the same: its end is after both.
kl count --json -e "block:$libc:clock_nanosleep" -- python3 -c "$sleeps"
expect "blocks of a library" 0
cp "$work/out" count.json
kl blocks --json "$libc:clock_nanosleep"
cp "$work/out" blocks.json
last=$(jq -s '[.[0].functions[0].blocks[] | select(.ends == "return").block] as $ends |
	[.[1].functions[0].points[] | select((.block as $b | $ends | index($b)) and .count == 10).block][0]' blocks.json count.json)
check "a block returns (block $last)" test "$last" -gt 0
entry=$libc:clock_nanosleep#0 end=$libc:clock_nanosleep#$last:post
for user in kl kl_nobody; do
	$user count --json --time "$entry,$end" --time "$entry,$entry" -- python3 -c "$sleeps"
	expect "$user: times of sleeping" 0
	json "are as many and as long as the sleeps" '.times[0] |
		.count == 10 and .min_ns >= 49e6 and .mean_ns < 500e6 and .max_ns >= .mean_ns' "$work/out"
	json "and from one to the next, one fewer" '.times[1].count == 9 and .times[1].min_ns >= 49e6' "$work/out"
done
kl count --time "$entry,$end" -- python3 -c "$sleeps"
says err ' 10 +[0-9.]+ ms' "as text"
says err '#' "with a histogram"
kl count --json --time "$entry,hrtimer_nanosleep#0" -- python3 -c "$sleeps"
expect "from a block of a library to one of the kernel" 0
json "as many, which end before the sleep" '.times[0].count == 10 and .times[0].min_ns < 49e6' "$work/out"
kl count --time "$entry,$libc:clock_nanosleep#9999" -- true
check "a block that does not exist (status $status)" test "$status" -ne 0
