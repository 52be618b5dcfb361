# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# kernlens profile: a program whose call chain is known, compared with perf; trees, differences, and
# what users without privilege see.
# One kernel: what is tested here does not depend on its version.

chain=$(realpath "$here/../../build/tests/cli/stack-chain")
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
chmod 777 "$TMPDIR"

kl profile --json -F 199 --top 0 -- "$chain" spin 1500
expect "a profile of a command" 0
json "has its samples" '.hz == 199 and .samples > 100 and .idle == 0'
json "each of which is in one function" '([.rows[].self] | add) == .samples'
json "and in those that have called it" '.samples as $n | .rows | all(.total >= .self and .total <= $n)'
json "most are where the program spins" '.samples as $n | .rows[0] | .function == "chain_c" and
	.object == "stack-chain" and .self > 0.8 * $n'
json "which is called by all of the chain" '[.rows[] | select(.function | test("^(chain_[abc]|main)$")) | .total] |
	length == 4 and max - min <= 2'
check "nothing is left behind" test -z "$(ls -A "$TMPDIR"; find "$TMPDIR" -mindepth 2 >&2)"

# share FILE: percentage of samples in chain_c, as perf prints it.
share() {
	perf report -i "$1" --stdio --no-children -F overhead,symbol 2>/dev/null |
		sed -n 's/^ *\([0-9.]*\)%.*chain_c *$/\1/p' | head -n 1
}
# Without its cache of files: a link to the program there would make it another file of the overlay.
perf record -q -B -N -F 199 -e cpu-clock -o perf.data -- "$chain" spin 1500 >/dev/null 2>&1
check "as perf finds" jq -e --argjson perf "$(share perf.data)" '100 * .rows[0].self / .samples - $perf | fabs < 8' \
	"$work/out"

kl profile -F 199 -o kept -- "$chain" spin 500
says err '^[0-9]+ samples at 199 Hz, 0\.[0-9]+ s of CPU time' "a table has a summary"
says err '^ +self +total +samples +function +object$' "a head"
says err '^ *[0-9.]+% +[0-9.]+% +[0-9]+ +chain_c +stack-chain$' "and rows"
kl profile -i kept --callees
says out '^ *[0-9.]+% +0\.00% +chain_a  \(stack-chain\)$' "a tree of what functions call"
check "in order" test "$(grep -owE 'main|chain_[abc]' "$work/out" | head -n 4 | xargs)" = 'main chain_a chain_b chain_c'
kl profile -i kept --json --callees
json "as JSON, its root has all samples" '.tree.total == .samples and ([.tree.children[].total] | add) == .samples'
json "and each node what is below it, and its own" \
	'[.tree | recurse(.children[]) | .total == .self + ([.children[].total] | add // 0)] | all'
kl profile -i kept --callers --of chain_b
check "a tree of what calls a function" test \
	"$(grep -owE 'main|chain_[abc]' "$work/out" | head -n 3 | xargs)" = 'chain_b chain_a main'
kl profile -i kept --callers --of chain_d
expect "one that is in no sample" 1
says err 'no sample in a function chain_d' "is reported"
silent out . "alone"
kl profile -i kept --folded
check "folded stacks have all samples" test "$(awk '{ n += $NF } END { print n }' "$work/out")" = \
	"$("$kernlens" profile -i kept --json | jq .samples)"
says out '^stack-chain;.*;main;chain_a;chain_b;chain_c [0-9]+$' "from the command to the innermost function"
kl profile -i kept --svg graph.svg --html graph.html
check "a flame graph is XML" python3 -c 'import xml.dom.minidom as m; m.parse("graph.svg")'
check "with the functions" grep -q '<title>chain_b: [0-9]* samples' graph.svg
check "as a page, too" grep -q '<title>chain_b' graph.html

# Waits: a program that computes, then sleeps, and prints its times as the kernel counts them.
# Python's own sleep() ends at a time that was read before the system call.
cat >times.py <<'END'
import ctypes, time
end = time.thread_time() + 0.4
while time.thread_time() < end:
    pass
ctypes.CDLL(None).usleep(600000)
print(*open("/proc/self/schedstat").read().split())
END
kl profile --off-cpu --json --top 0 -o waits -- python3 times.py
expect "time on and off the CPU" 0
read -r ran waited _ < <(grep -E '^[0-9]+ [0-9]+ [0-9]+$' "$work/err")
json "the time on the CPU" ".unit == \"ns\" and (.samples - .waits - $ran | fabs) < 0.1 * $ran + 20e6"
json "a sleep, for as long as it took" '[.rows[] | select(.function == "[waits: nanosleep]")] |
	length == 1 and .[0].self > 590e6 and .[0].self < 700e6 and .[0].object == "off CPU"'
json "called by the function that sleeps" '[.rows[] | select(.function | test("clock_nanosleep")) | .total] | max > 590e6'
json "waits for a CPU" "([.rows[] | select(.function == \"[waits for a CPU]\") | .self] | add // 0) <= $waited + 1e6"
json "all of it is in one row each" '([.rows[].self] | add) == .samples'
json "and all of it is the time that the program took" '(.last_ns - .first_ns) as $all | .samples < 1.1 * $all and .samples > 0.85 * $all'
kl profile --off-cpu -i waits --by thread
says out '^[0-9.]+ m?s on the CPU, [0-9.]+ m?s off it, by ticks at 99 Hz and switches of tasks' "in words"
says out '^ +share +time +tid +thread$' "a table of times"
kl profile --off-cpu -i waits --svg waits.svg --folded
check "a flame graph of both" grep -qE '<title>\[waits: nanosleep\]: (59|6[0-9])[0-9]{4} us' waits.svg
check "as folded stacks" grep -qE '^python3;.*;\[waits: nanosleep\] (59|6[0-9])[0-9]{4}$' "$work/out"
kl_nobody profile --off-cpu --json -- sh -c 'sleep 0.3; exit 0'
expect "an ordinary user" 0
json "sees waits in functions of programs" '[.rows[] | select(.function == "[waits: unknown]") | .self] | add > 300e6'
kl profile --off-cpu -e sched_waking -- true
expect "waits and an event" 2

kl profile -i kept --json --by line
json "by source line" '.rows[0].line | test("stack_chain.c:[0-9]+$")'
kl profile -i kept --json --by object
json "by object" '.rows[0].object == "stack-chain" and ([.rows[].self] | add) == .samples'
kl profile -i kept --json --by thread,cpu,cgroup
json "by thread, CPU and cgroup" '.rows | length <= 4 and all(.thread == "stack-chain" and .tid == .pid and
	(.cpu | test("^[0-9]+$")) and (.cgroup | startswith("/")))'

kl profile --diff kept -F 199 --json --top 0 -- dd if=/dev/zero of=/dev/null bs=64k count=15000 status=none
json "a difference has what is gone" '[.rows[] | select(.function == "chain_c")][0] |
	.old_percent > 80 and .new_percent == 0'
json "and all of both" '([.rows[].old_percent] | add) - 100 | fabs < 0.01'
json "and of the new" '([.rows[].new_percent] | add) - 100 | fabs < 0.01'
kl profile --diff kept -i kept
says out '^ *[0-9.]+% +[0-9.]+% +\+0\.00% +chain_c ' "with itself there is none"

# self_at FILE FILTER: samples by offset in the function, of the innermost frames that FILTER accepts,
# as print shows them.
self_at() {
	"$kernlens" print "$1" --json | jq -s "[.[] | select(.fields.user != null) |
		((.stacks.kstack // []) + (.stacks.ustack // [])) | .[0] // empty | select($2) | .offset] |
		group_by(.) | map({ key: (.[0] | tostring), value: length }) | from_entries"
}
# Does each block of the first function have the samples whose offsets are in it?
in_blocks='.functions[0] | ([.blocks[] | . as $block | .self == ([$at | to_entries[] | select((.key | tonumber) as $offset |
	$offset >= $block.offset and $offset < $block.offset + $block.bytes) | .value] | add // 0)] | all) and
	([.blocks[].self] | add) + .elsewhere == .self and .self == ([$at[]] | add)'

kl profile -i kept --json
self=$(jq '[.rows[] | select(.function == "chain_c") | .self] | add' "$work/out")
kl profile -i kept --json --annotate chain_c --asm
json "blocks have the samples of their function" ".functions | length == 1 and .[0].self == $self and .[0].elsewhere == 0"
check "in print's addresses" jq -e --argjson at "$(self_at kept '.symbol == "chain_c"')" "$in_blocks" "$work/out"
json "instructions have those of their block" '.functions[0].blocks | all(.self == ([.instructions[].self] | add) and .total >= .self)'
json "and blocks have source lines" '.functions[0].blocks | any(.self > 0 and (.source.file | endswith("stack_chain.c")))'
kl profile -i kept --json --annotate chain_b
json "what calls another function has its samples" \
	".functions[0] | .total >= $self and ([.blocks[] | select(.ends == \"call\") | .total] | max) == .total - .self"
kl profile -i kept --annotate chain_c --asm
says out ':chain_c  0x[0-9a-f]+, [0-9]+ bytes, [0-9]+ blocks$' "as text"
says out '^ *[0-9.]+% +[0-9.]+% +[0-9,]+ +[0-9]+  \+0x[0-9a-f]+ .*stack_chain.c:[0-9]+$' "with blocks"
says out '^ *[0-9.]+% +[0-9.]+% +[0-9,]+ +\+0x[0-9a-f]+ +[a-z]+ ' "and instructions"

kl count --json -e "block:$chain:chain_c" -- "$chain" call 7
cp "$work/out" calls.json
kl profile -e syscall_entry_getppid --json --annotate chain_c --counts calls.json -- "$chain" call 7
json "samples and executions of a loop of seven calls" \
	'.functions[0] | .total == 7 and ([.blocks[] | select(.total > 0)] | length == 1 and .[0].total == 7 and .[0].count == 7)'

kl profile -a -F 499 -o zeros -- dd if=/dev/zero of=/dev/null bs=1M count=150 status=none
kl profile -i zeros --json
function=$(jq -r '[.rows[] | select(.object == "kernel" and .self > 20)][0].function' "$work/out")
kl profile -i zeros --json --annotate "$function"
check "blocks of the kernel ($function)" jq -e \
	--argjson at "$(self_at zeros ".symbol == \"$function\" and .object == null")" "$in_blocks" "$work/out"
kl profile -a -F 499 -o files -- find /usr/share/doc -path '*/copyright'
module=$(jq -r '[.rows[] | select(.object == "overlay" or .object == "9p" or .object == "9pnet")][0].function' <("$kernlens" profile -i files --json --top 0))
kl profile -i files --json --annotate "$module"
json "of a module ($module)" '.functions[0] | .module != null and ([.blocks[].self] | add) + .elsewhere == .self and .total > 0'

kl profile -i kept --annotate chain_d
expect "a function that is in no sample" 1
says err 'no sample in a function chain_d' "is reported, too"
kl profile -i kept --annotate chain_c --callers
expect "blocks and a tree" 2
kl profile -i kept --asm
expect "instructions without blocks" 2
kl profile -i kept --annotate chain_c --counts kept/metadata
expect "counts that are none" 1
cp "$chain" replaced
kl profile -F 199 -o other -- ./replaced spin 200
cp "$(dirname "$chain")/stack-names" replaced
kl profile -i other --annotate chain_c
expect "a program that has been replaced" 1
says err 'replaced is not the file that the samples are of' "is another one"

"$chain" spin 30000 &
spinning=$!
kl profile -a --json --duration 1 --by process,function
json "of all tasks" '.rows[0] | .process == "stack-chain" and .function == "chain_c"'
json "with idle CPUs by themselves" '.idle > 0 and (.rows | all(.process | startswith("swapper") | not))'
json "without kernlens" '.rows | all(.process != "kernlens")'
kl profile -p $spinning --json --duration 0.5
json "of a process" '.rows[0].function == "chain_c" and .samples > 10'
kill $spinning
kl profile -a --include-self -F 999 --json --duration 1 --by process
json "with kernlens, if requested" '.rows | any(.process == "kernlens")'

kl profile -F 999 --json -- gzip -c /usr/bin/perl
mv "$work/out" gzip.json
json "of a stripped program, by where its functions begin" \
	'[.rows[] | select(.function | test("^\\[gzip\\+0x[0-9a-f]+\\]$"))] | length > 4 and .[0].self > 50' gzip.json
start=$(jq -r '.rows[0].function | capture("0x(?<start>[0-9a-f]+)").start' gzip.json)
check "which others call ($start)" bash -c 'objdump -d --no-show-raw-insn /usr/bin/gzip | grep -qE "(call|jmp) +$0( |$)"' "$start"
kl profile -e syscall_entry_getppid --json -- "$chain" call 7
json "of an event, each hit is a sample" '.samples == 7 and .hz == 0 and
	([.rows[] | select(.function == "chain_c")][0].total == 7)'
kl profile -e sched_switch --callees -- sleep 0.2
says err 'nanosleep' "where a program waits"

kl profile -- sh -c 'exit 3'
expect "the command's status is passed on" 3
kl profile -- no-such-command
expect "if it cannot be executed" 127
silent err 'samples' "there is no profile"
kl profile --by nonsense -- true
expect "an unknown key" 2
says err 'function, object, line, process, thread, cpu or cgroup' "says which there are"
kl profile --by function,line -- true
expect "two properties of frames" 2
kl profile --of main -- true
expect "a function without a tree" 2
kl profile -F 0 -- true
expect "no samples per second" 2
kl record -q -o plain -- true
kl profile -i plain
expect "a trace without stack traces" 1
says err 'no stack traces; record with -e tick' "says how to get them"
kl profile -i plain -e no_such_event
expect "an event that is not in the trace" 1

export TMPDIR=
mkdir -m 777 shared
kl_nobody profile --json -F 199 --top 0 -- "$chain" spin 500
expect "without privilege" 0
json "one's own program" '.rows[0].function == "chain_c" and .rows[0].self > 20'
json "and nothing of the kernel" '.kernel == null and (.rows | all(.object != "kernel"))'
kl_nobody profile -o shared/kept -F 199 -- "$chain" spin 200
expect "in a trace that is kept" 0
kl profile -i shared/kept --json
json "nothing, either" '.samples > 5 and (.rows | all(.object != "kernel"))'
