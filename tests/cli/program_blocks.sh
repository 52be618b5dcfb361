# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# Blocks of programs: the output of kernlens blocks, events, and counts of threads whose loops and
# branches are known, for a command and for a running process. The text must be unchanged
# afterwards.

programs=$(realpath "$here/../../build/tests/cli")
threads=4 rounds=240
passes=$((threads * rounds))

# of PROGRAM: sets `functions` to its functions as arguments to show, `events` as arguments to
# count.
of() {
	local function
	functions=() events=()
	for function in steps branches choose hidden; do
		functions+=("$1:$function")
		events+=(-e "block:$1:$function")
	done
}

# Optimized and position-independent; unoptimized and at fixed addresses.
for program in "$programs/program-blocks" "$programs/program-blocks-plain"; do
	name=${program##*/}
	of "$program"
	kl blocks --json "${functions[@]}"
	expect "$name: its blocks" 0
	cp "$work/out" "$name.blocks"
	check "a jump through a table is followed" jq -e '[.functions[] | select(.function == "choose").blocks[] |
		select(.targets != []).targets | length] == [7]' "$name.blocks"
	check "one that is not known is not" jq -e '[.functions[] | select(.function == "hidden").blocks[].pre.reason] |
		.[0] == null and (.[1:] | length >= 3 and all(. == "indirect"))' "$name.blocks"
	check "with lines of the source" jq -e '[.functions[].blocks[] |
		select(.source.line > 10 and (.source.file | endswith("program_blocks.c")))] | length > 10' "$name.blocks"
	kl blocks --json "$program:*"
	cp "$work/out" "$name.all"

	kl count --json "${events[@]}" -- "$program" $threads $rounds
	expect "$name: counts of $threads threads" 0
	cp "$work/out" "$name.counts"
done

program=$programs/program-blocks
name=${program##*/}
kl blocks --asm "$program:choose"
says out '^    0  \+0x0 .* branch .* uprobe \+0x0 .*program_blocks\.c:[0-9]+$' "as text"
says out 'x7  uprobe' "with the ways through the table"
kl blocks --dot "$program:choose"
check "as a graph" test "$(grep -c 'style=dotted' "$work/out")" -eq 7
kl count -e "$program:steps" -- "$program" 2 10
says err '^ *60 .* cli/program_blocks\.c:[0-9]+$' "the listing has counts beside blocks"
objcopy --only-keep-debug "$program" stripped.debug
strip -o stripped "$program"
objcopy --add-gnu-debuglink=stripped.debug stripped
kl blocks --json ./stripped:choose
check "what was stripped is found in the file beside" jq -e -s \
	'.[0].functions[0].blocks == (.[1].functions[] | select(.function == "choose").blocks)' \
	"$work/out" "$name.blocks"
kl blocks "$program:nothing"
expect "a function that is not there" 1
kl blocks "$work/none:main"
expect "a file that is not there" 1
kl blocks "$here/run:main"
expect "a file that is no program" 1
says err 'not an ELF file' "says so"
kl blocks "$program:choose#1"
expect "blocks shows functions, not one block" 1
kl count -e "block:$program:steps" -e block:ksys_read -- true
expect "the kernel's and a program's blocks are not counted together" 2

kl stat --json -e "block:$program:choose#0 :count by rdi" -- "$program" $threads $rounds
check "a handler by the registers" jq -e --argjson n $((passes / 8)) \
	'.rules[0].entries | length == 8 and all(.count == $n) and ([.[].keys.rdi] | sort) == [range(8)]' "$work/out"
kl stat --json -e "block:$program:choose+0x0:post" -e "block:$program:branches#0 /rdi & 1/ :count" -- "$program" 1 80
check "behind a block, at its jump" jq -e --arg name "block:$program:choose+0x0:post" \
	'.events[] | select(.name == $name).count == 80' "$work/out"
check "a filter" jq -e '.rules[0].entries[0].count == 40' "$work/out"
kl record -q -o blocks -e "block:$program:steps" -- "$program" 1 2
expect "a record" 0
kl print --json blocks
check "has each block in its order" test "$(jq -r -s '[.[] | select(.event | startswith("block:")).event | sub(".*#"; "")] | join(" ")' \
	"$work/out")" = "0 1 2 2 2 3 0 1 2 2 2 3"
kl live --json -o live.json -e "block:$program:steps#0" -- "$program" 2 5
check "live" test "$(grep -c "\"block:$program:steps#0\"" live.json)" -eq 10
kl stat --json --zeros -e "block:$program:s*:post" -- "$program" 1 2
check "a pattern leaves out what has no place" jq -e --arg name "block:$program:steps#" \
	'[.events[].name | select(startswith($name)) | ltrimstr($name)] | sort == ["0:post", "2:post", "3:post"]' "$work/out"
kl stat -e "block:$program:steps#1:post" -- true
expect "which is refused where it was named" 2
says err 'entered from elsewhere' "with the reason"
kl stat -e "block:$program:hidden#1" -- true
expect "so is what may be no instruction" 2
says err 'unknown targets' "with the reason"
kl stat -e "block:$program:steps#99" -- true
expect "and a block that is not there" 2
kl stat -e "block:$program:steps+0x1" -- true
expect "and an offset where none begins" 2

# text: dumps the bytes of choose in the running process.
text() {
	local base
	base=$(sed -n "s|-.* $program\$||p" "/proc/$pid/maps" | head -n 1)
	dd if="/proc/$pid/mem" iflag=skip_bytes,count_bytes skip=$((0x$base + address)) \
		count="$bytes" status=none | od -An -v -tx1
}
address=$(jq -r '.functions[] | select(.function == "choose").address' "$name.blocks")
bytes=$(jq '.functions[] | select(.function == "choose").bytes' "$name.blocks")

is_changed() {
	[[ $(text) != "$before" ]]
}

is_unchanged() {
	[[ $(text) == "$before" ]]
}

mkfifo input
"$program" $threads 24 5 <input >pid &
child=$!
exec 7>input
wait_until test -s pid
pid=$(cat pid)
before=$(text)
check "it has a text" test "$(wc -w <<<"$before")" -eq "$bytes"
of "$program"
for ((i = 0; i < 3; i++)); do
	kl count --json "${events[@]}" -p "$pid" --duration 0.7
	expect "a process that runs, joined and left ($((i + 1)))" 0
	cp "$work/out" "running-$i"
	check "its text is as it was" is_unchanged
done
"$kernlens" count --json "${events[@]}" -p "$pid" --duration 3 >/dev/null 2>&1 &
counting=$!
check "while it is counted it is not" wait_until is_changed
kill -KILL $counting
wait $counting 2>/dev/null
wait_until is_unchanged
check "who counts and is killed leaves it as it was" is_unchanged
exec 7>&-
wait $child
check "the process ends as if nothing had been" test $? -eq 0

python3 "$here/program_blocks.py" $passes $threads "$programs/program-blocks" \
	"$programs/program-blocks-plain" >judged
tap "what was counted" judged

kl_nobody blocks --json "$program:*"
check "anybody may look at blocks" cmp -s "$work/out" "$name.all"
