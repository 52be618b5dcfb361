# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# What a trace reports when parts are missing: a full disk, a killed recorder, files that are
# damaged, cut or removed. In every case, events plus losses equal the events that hit.

calls=syscalls

# sum DIR: number of events plus losses of a trace; "unknown" if a loss has no known size.
sum() {
	"$kernlens" print --format json "$1" 2>"$work/note" | jq -n '
		[inputs | if has("loss") | not then 1
			elif .records == 0 and .blocks == 0 then "unknown" else .records end]
		| if any(. == "unknown") then "unknown" else add // 0 end'
}

# accounts TEXT DIR FIRED: is every event that hit in the trace, as an event or as a loss?
accounts() {
	local got
	got=$(sum "$2")
	echo "fired $3, told $got" >"$work/check"
	report "$([[ $got == "$3" ]]; echo $?)" "$1"
	check "$1: report has the same sum" jq -e --argjson fired "$3" '
		.records + (.losses | .discarded + .overwritten + .before + .damaged + .unstored +
			.unseen) == $fired' <("$kernlens" report --json "$2")
}

# damaged DIR: a fresh copy of the trace `whole`.
damaged() {
	rm -rf "$1"
	cp -r whole "$1"
}

work_load='i=0; while [ $i -lt 60 ]; do i=$((i+1)); : </dev/null; done; /bin/true'

# On one CPU: the file that is damaged has the events.
kl record --json --no-dump -e $calls --buffer 32K -o whole -- taskset -c 0 sh -c "$work_load"
expect "a recording" 0
fired=$(jq .fired "$work/out")
json "its own accounts" '.records + .lost + .missed + .unstored == .fired and .fired > 1000'
accounts "a whole trace" whole "$fired"
json "which says that it is" '.losses | .manifest and .finished and .missing_files == 0' \
	<("$kernlens" report --json whole)
check "it is as long as it was recorded" bash -c '
	jq -en --argjson a "$(jq .seconds "$2")" --argjson b "$("$1" report --json whole |
		jq "(.end_ns - .begin_ns) / 1e9")" "(\$a - \$b | fabs) < 0.02 * \$a"' \
	_ "$kernlens" "$work/out"
blocks=$("$kernlens" report --json whole | jq '.losses.corrupt_blocks')
check "no block is damaged" test "$blocks" = 0

damaged gone && rm gone/cpu0
accounts "a stream is removed" gone "$fired"
kl report gone
says out 'files of 1 of [0-9]+ CPUs missing' "report names the CPU whose file is missing"
check "one thread prints as much as several" bash -c '
	"$1" print gone | cmp - <(taskset -c 0 "$1" print gone)' _ "$kernlens"
kl print gone
says out '^CPU 0: [0-9]+ events are in damaged or missing blocks \(' "print says what is missing"
says err 'in damaged or missing blocks' "and its sum"

size=$(stat -c %s whole/cpu0)
RANDOM=${KL_SEED:-1}
for n in 0 1 $((size / 2)) $((size - 1)) $(((RANDOM * 32768 + RANDOM) % size)); do
	damaged cut && truncate -s "$n" cut/cpu0
	accounts "a stream is cut to $n of $size bytes" cut "$fired"
done

for n in 1 2 3; do
	damaged flipped
	for file in flipped/cpu*; do
		size=$(stat -c %s "$file")
		at=$(((RANDOM * 32768 + RANDOM) % size))
		byte=$(od -An -tu1 -j "$at" -N 1 "$file")
		# shellcheck disable=SC2059
		printf "\\x$(printf %x $((byte ^ 1 << RANDOM % 8)))" |
			dd of="$file" bs=1 seek="$at" conv=notrunc status=none
	done
	accounts "bits are flipped, $n" flipped "$fired"
done
damaged flipped
printf 'XXXXXXXX' | dd of=flipped/cpu0 bs=1 seek=300 conv=notrunc status=none
kl print flipped
says out '^CPU 0: [1-9][0-9]* events are in damaged or missing blocks \(block 0\)' \
	"a record that is changed in the middle of a block is found, and the block named"
check "in the times of events" awk '
	/^CPU 0:/ { if ($(NF - 2) + 0 > 1000 || $NF + 0 > 1000) exit 1; n++ } END { exit !n }' "$work/out"
kl print --time wall flipped
check "or as wall time, with --time wall" awk '
	/^CPU 0:/ { if ($NF + 0 < 1000000000) exit 1; n++ } END { exit !n }' "$work/out"

damaged bare && rm bare/.kernlens/manifest
kl print bare
says err 'no manifest' "a trace without its manifest says so"
check "and has all its events" test "$(sum bare)" = "$fired"
json "report, too" '.losses.manifest == false' <("$kernlens" report --json bare)
damaged spoilt
printf 'XXXXXXXX' | dd of=spoilt/.kernlens/manifest bs=1 seek=200 conv=notrunc status=none
kl print spoilt
says err 'manifest is damaged' "a damaged manifest is reported"
check "and hides no event" test "$(sum spoilt)" = "$fired"

# A disk that fills up: a small tmpfs.
mkdir full
mount -t tmpfs -o size=1M tmpfs full
kl record --json -a -m RALL --no-dump --buffer 1M -o full/t -- sh -c \
	'i=0; while [ $i -lt 1500 ]; do i=$((i+1)); : </dev/null; done; exit 7'
expect "a full disk is a failure" 1
says err 'No space left' "it is reported at once"
says err 'CPU [0-9]+: [0-9,]+ records in [0-9,]+ blocks starting at [0-9]+ were not stored, from [0-9.]+ s to [0-9.]+ s' \
	"and what was not stored, by CPU and time"
json "what was read and not stored is counted" \
	'.unstored > 100 and .records + .lost + .missed + .unstored == .fired'
fired=$(jq .fired "$work/out")
accounts "a full disk" full/t "$fired"
json "its trace is finished" '.losses.finished and .losses.unstored > 100 and .losses.damaged == 0' \
	<("$kernlens" report --json full/t)
check "no torn block is in babeltrace2's way" bash -c \
	'babeltrace2 full/t 2>&1 >/dev/null | { ! grep -v discarded | grep .; }'
umount full

# Killed: everything stored is intact, and the rest is reported as unknown.
"$kernlens" record -a -e $calls --buffer 64K -o killed >"$work/out" 2>"$work/err" </dev/null &
recorder=$!
many() { (($(cat killed/cpu* | wc -c) >= 4 * 8192)); }
wait_until many
kill -KILL $recorder
wait $recorder 2>/dev/null
check "a killed recorder's trace has an unknown rest" test "$(sum killed)" = '"unknown"'
check "print reports it" grep -q 'did not finish' "$work/note"
json "report, too, with the start" \
	'.losses.finished == false and .losses.corrupt_blocks == 0 and .begin_ns > 0 and .end_ns == 0' \
	<("$kernlens" report --json killed)

kl record --json --no-dump -e $calls --overwrite --buffer 16K -o flight -- sh -c "$work_load"
fired=$(jq .fired "$work/out")
accounts "a flight recorder" flight "$fired"
truncate -s 20000 flight/cpu0
accounts "and when it is cut" flight "$fired"
