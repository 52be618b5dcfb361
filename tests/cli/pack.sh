# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# kernlens record --compress, pack and unpack: the same trace in each form, for all commands and for
# other tools; recorders that are killed or have no room; packs that are damaged.

events=sched,syscalls,irq,statedump

# load: many processes, files and pipes.
cat >load <<'END'
for i in {1..8}; do
	head -c 20000 /proc/self/exe | gzip | wc -c >/dev/null
	ls -l /etc /proc/self/fd >/dev/null
done
END

# forms TRACE...: the forms in which a trace is there, for alike.
forms() {
	local form
	rm -rf forms
	for form in "$@"; do
		mkdir -p "forms/${form//\//_}"
		ln -s "$work/$form" "forms/${form//\//_}/trace"
	done
}

# alike COMMAND...: its output is the same for the trace in all forms, given as last argument.
alike() {
	local form
	for form in forms/*; do
		(cd "$form" && "$@" trace 2>/dev/null | md5sum)
	done | sort -u >sums
	test "$(wc -l <sums)" -eq 1
}

# streams TRACE: bytes of its streams.
streams() {
	cat "$1"/cpu* | wc -c
}

# counts TRACE READER: READER prints a line for each record in it.
counts() {
	test "$("${@:2}" "$1" 2>/dev/null | wc -l)" -eq \
		"$("$kernlens" report --json "$1" 2>/dev/null | jq .records)"
}

kl record --json --buffer 16M --compress -v rss -e $events -e sched_switch:stack -o small -- bash load
expect "a recording that is compressed" 0
json "nothing is lost" '.lost == 0 and .unstored == 0 and .records > 5000'
records=$(jq .records "$work/out")
check "its size is reported" test "$(jq .bytes "$work/out")" -le "$(streams small)" -a \
	"$(jq .bytes "$work/out")" -gt 10000
check "its streams are compressed" bash -c 'ls small/cpu0.klz && ! ls small/cpu0'
check "for its owner alone" test "$(stat -c %a small/cpu0.klz)" = 600
kl unpack small -o plain
expect "it is unpacked" 0
check "to at least four times the size" test "$(streams plain)" -gt $((4 * $(streams small)))
check "babeltrace2 reads what is unpacked, without a warning" bash -c '
	babeltrace2 plain 2>said | wc -l >lines; [[ ! -s said && $(<lines) == '"$records"' ]]'
kl pack small
expect "it is packed" 0
says err 'small\.klp: [0-9]+ files, .* packed' "the result is reported"
check "into a file of its owner" test "$(stat -c %a small.klp)" = 600
kl pack plain -o plain.klp
expect "so is the plain one" 0
kl unpack --json small.klp -o again
expect "which is unpacked" 0
json "the result as JSON" '.output == "again" and .files >= 5 and .bytes > .stored'
check "all files are what they were" diff -r plain again
kl unpack plain.klp -o third
check "of the other pack, too" diff -r plain third

forms plain small small.klp plain.klp
for how in "print" "print --format json" "print --format ber" "print --format strace" \
	"print -e sched_switch --from 0.5" report "report syscalls" "report sleepers"; do
	read -ra words <<<"$how"
	check "$how: the same from the trace in each form" alike "$kernlens" "${words[@]}"
done
check "of every record" counts small.klp "$kernlens" print --format json
check "view: the same page" alike bash -c '"$0" view "$1" -o page.html --force && cat page.html' "$kernlens"
kl why -i small.klp
plain=$(md5sum <"$work/out")
kl why -i plain
check "why: the same" test "$(md5sum <"$work/out")" = "$plain"
kl view small.klp
check "view: a page is named after a pack" test -s small.html

# Locks, from a trace that was recorded for them.
kl locks -a -o locks -- bash load
kl pack locks -o locks.klp
kl locks -i locks --json
sum=$(md5sum <"$work/out")
json "locks: a report" .rows
kl locks -i locks.klp --json
check "locks: the same" test "$(md5sum <"$work/out")" = "$sum"

# What is in the way stays.
kl pack plain -o plain.klp
expect "a pack is not replaced" 1
says err 'plain\.klp exists; --force'
kl pack --force plain -o plain.klp
expect "unless forced" 0
kl pack --force plain -o /dev/full
expect "a device never" 1
kl export --force --to folded plain -o /dev/full
expect "nor by export, which cannot write to it" 1
check "it is still there" test -c /dev/full
kl unpack plain.klp -o again
expect "nor is a trace" 1
says err 'already contains a trace; --force'
mkdir other && touch other/file
kl unpack --force plain.klp -o other
expect "nor other files" 1
ln -s "$work/again" link
kl unpack --force plain.klp -o link
expect "nor is a link followed" 1
kl unpack plain.klp -o bomb --limit 64K
expect "a limit" 1
says err 'more than the limit of .*; --limit'
check "nothing is left" test ! -e bomb
kl pack nosuch
expect "no such trace" 1
kl pack load
expect "not a trace" 1
kl unpack load -o no
expect "not a pack" 1
kl unpack
expect "unpack needs a file" 2

# Damaged packs.
size=$(stat -c %s plain.klp)
head -c $((size / 2)) plain.klp >cut.klp
kl unpack cut.klp
expect "a pack that was cut is not unpacked" 1
says err 'cut\.klp: the pack is damaged, or its end is missing'
check "nothing is left" test ! -e cut
kl report cut.klp
expect "it can be read" 0
kl report --json cut.klp
json "what is missing is reported, to the last record" ".losses.damaged > 0 and .records + .losses.damaged == $records"
cp plain.klp bad.klp
printf '\xff\xff\xff\xff' | dd of=bad.klp bs=1 seek=$((size / 2)) conv=notrunc status=none
kl unpack bad.klp
expect "nor is a damaged one" 1
check "nothing is left" test ! -e bad
kl report --json bad.klp
json "what is damaged is reported, to the last record" ".records < $records and .records + .losses.damaged == $records"

# Levels, and the configuration.
for level in 1 19; do
	kl record -q --compress=$level -e syscalls -o level -- ls -l /etc
	expect "level $level" 0
	check "it is read" counts level "$kernlens" print --format json
	rm -rf level
done
for level in 0 20 x ""; do
	kl record --compress="$level" -o level -- true
	expect "level \"$level\"" 2
done
mkdir -p home/kernlens
printf '[record]\ncompress = 5\n' >home/kernlens/config
(unset KERNLENS_CONFIG && XDG_CONFIG_HOME=$work/home "$kernlens" record -q -o config -- true)
check "compressed by the configuration" test -e config/cpu0.klz -o -e config/cpu1.klz
printf '[record]\ncompress = yes\n' >home/kernlens/config
(unset KERNLENS_CONFIG && XDG_CONFIG_HOME=$work/home "$kernlens" record -q --force -o config -- true)
check "with yes" test -e config/cpu0.klz -o -e config/cpu1.klz
check "--force has removed the old trace" counts config "$kernlens" print --format json
printf '[record]\ncompress = no\n' >home/kernlens/config
(unset KERNLENS_CONFIG && XDG_CONFIG_HOME=$work/home "$kernlens" record -q --force -o config -- true)
check "not with no, and no compressed stream is left" bash -c 'ls config/cpu? && ! ls config/*.klz'

# A flight recorder and its snapshots.
kl record -q --compress --overwrite --buffer 1M -a -e syscalls,sched -e 'mark :snapshot' -o flight -- \
	bash -c "bash load; '$kernlens' mark; sleep 1; bash load"
expect "a flight recorder" 0
for trace in flight flight.1; do
	check "$trace is compressed" ls $trace/cpu0.klz
	check "$trace is whole" bash -c '"$0" report --json "$1" | jq -e ".records > 300 and .losses.corrupt_blocks == 0"' \
		"$kernlens" $trace
done

# A recorder that is killed leaves what it has written: all but the last second.
"$kernlens" record -q --compress -a -e syscalls,sched -o killed >/dev/null 2>&1 &
recorder=$!
bash load
sleep 2
kill -KILL $recorder
wait $recorder 2>/dev/null
kl report --json killed
expect "a killed recorder's trace is read" 0
json "with what was written before" '.records > 300 and .losses.corrupt_blocks == 0 and .losses.finished == false'
kl pack killed
expect "and packed" 0
forms killed killed.klp
check "as it is" alike "$kernlens" print

# A disk that fills up.
mkdir full
mount -t tmpfs -o size=600K tmpfs full
kl record --json --compress -a -v utime -e syscalls,sched,mm -o full/t -- bash -c 'for i in {1..4}; do bash load; done'
expect "a full disk" 1
says err 'No space left on device; from now on records are counted, not stored'
json "what is not stored is counted" '.unstored > 0 and .fired >= .records + .unstored'
records=$(jq .records "$work/out")
fired=$(jq .fired "$work/out")
kl report --json full/t
json "the reader agrees" ".records == $records and .losses.corrupt_blocks == 0"
json "and accounts for all" ".records + .losses.unstored + .losses.discarded + .losses.overwritten + .losses.before == $fired"
kl pack plain -o full/plain.klp
expect "no room for a pack" 1
check "none is left" test "$(find full -name '*.klp*' | wc -l)" -eq 0
rm -rf full/t
cp small.klp big.klp
kl unpack big.klp -o full/plain
expect "no room for a trace" 1
check "none is left" test ! -e full/plain
umount full

# An ordinary user.
mkdir -m 777 shared
kl_nobody record -q --compress -e syscalls,sched -o shared/t -- ls -l /etc
expect "without privilege" 0
kl_nobody pack shared/t -o shared/t.klp
expect "it is packed" 0
kl_nobody unpack shared/t.klp -o shared/u
expect "and unpacked" 0
forms shared/t shared/t.klp shared/u
check "the same in each form" alike "$kernlens" print
mkdir -m 755 closed
kl_nobody unpack shared/t.klp -o "$work/closed/mine"
expect "not where others may not write" 1
