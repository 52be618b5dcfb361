# shellcheck shell=bash disable=SC2119,SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# Blocks of programs as events without privilege: the same records, in the same order, as those of
# uprobes; filters, handlers, variables and stack traces; a program that checks its own results
# while recordings begin and end. CYCLES: how often to do that.

programs=$(realpath "$here/../../build/tests/cli")
splice=$programs/program-splice library=$programs/libsplice.so
cycles=${CYCLES:-3}
chmod 777 .
mkdir -m 777 own
# shellcheck source=program_load
. "$here/program_load"

# What is recorded, one line per record: the task, numbered in order of appearance, and the block.
order='/block:/ { id = $3; sub(/.*-/, "", id); if (!(id in task)) task[id] = ++n; print task[id], $4 }'

# same_records TEXT COMMAND...: uprobes and traps record the same, in the same order for each task.
same_records() {
	local text=$1
	shift
	kl record --force -o uprobes "${events[@]}" -- "$@"
	expect "$text: by uprobes" 0
	kl print uprobes
	awk "$order" "$work/out" | sort -s -n -k 1,1 >uprobes.txt
	kl_nobody record --force -o own/traps "${events[@]}" -- "$@"
	expect "$text: by traps, without privilege" 0
	says err ' 0 lost' "$text: nothing is lost"
	kl_nobody print own/traps
	awk "$order" "$work/out" | sort -s -n -k 1,1 >traps.txt
	check "$text: the records are the same ($(wc -l <uprobes.txt))" cmp uprobes.txt traps.txt
	check "$text: there are some" test "$(wc -l <traps.txt)" -gt 20
}

# Only blocks that both support: a splice may not fit where a uprobe does.
events=(-e "block:$splice:work" -e "block:$library:library_work")
same_records "blocks of a program and its library" "$splice" once 50
same_records "children" "$splice" fork 20 3
same_records "a new program" "$splice" exec 20
same_records "a program started by vfork" "$splice" vfork 20
throw=$programs/program-throw
events=(-e "block:$throw:throw_some#0" -e "block:$throw:pass_on#0" -e "block:$throw:take_all#0")
same_records "functions that throw" "$throw" 100
events=(-e "block:$splice:work#0" -e "block:$splice:work#0:post" -e "block:$splice:work#3:post")
same_records "ends of blocks" "$splice" once 50

kl_nobody record --force -o own/values -e "block:$library:library_work#0" -v rdi,user_ip,comm -- "$splice" once 50
kl_nobody print own/values
grep -o ' rdi=0x[0-9a-f]*' "$work/out" >values.txt
printf ' rdi=0x%x\n' {0..49} >wanted.txt
check "registers are those of the place" cmp values.txt wanted.txt
address=$(nm -D "$library" | awk '$3 == "library_work" { print $1 }')
check "and so is the address" grep -qE "user_ip=0x[0-9a-f]+${address: -3}[ }]" "$work/out"
kl_nobody record --force -o own/filtered -e "block:$library:library_work#0/rdi < 10/" -- "$splice" once 50
says err '^kernlens: 10 records' "a filter reads them"
kl_nobody stat -e "block:$library:library_work#0:hist(rdi)" -e "block:$splice:work#0:count by comm" -- "$splice" once 50
expect "histograms and counts by a key" 0
says err '^ +200 +program-splice' "have each pass"
kl_nobody stat -e "block:$splice:work*" -- "$splice" once 50
says err '^ +200  block:.*:work#0 ' "and so have counts of each block"
kl_nobody record --force -o own/stacks -e "block:$splice:work#1" -v ustack -- "$splice" once 5
kl_nobody print own/stacks
says out '^ +(work|reference)\+0x[1-9a-f][0-9a-f]* .*program_splice\.c:[0-9]+$' "call traces begin where the block is"
# At a function's start the return address is not in a frame yet, and in memory the text is a jump.
chain=$programs/stack-chain
events=(-e "block:$chain:chain_c#0" -e "block:$chain:chain_b#0" -e "block:$chain:chain_c#0:post" -v ustack)
frames='/^ / { sub(/\+0x[0-9a-f]+/, ""); print $1 } /block:/ { print "at " $4 }'
kl record --force -o traced "${events[@]}" -- "$chain" call 3
kl print traced
awk "$frames" "$work/out" >uprobes.txt
kl_nobody record --force -o own/traced "${events[@]}" -- "$chain" call 3
kl_nobody print own/traced
awk "$frames" "$work/out" >traps.txt
check "stack traces are those of uprobes" cmp uprobes.txt traps.txt
check "with the caller" grep -q '^chain_b$' traps.txt
kl_nobody record --force -o own/mixed -e "block:$splice:work#0" -e syscall_entry_exit_group -- "$splice" once 5
kl_nobody print own/mixed
check "they are in one trace with system calls" awk '/work#0/ { w++ } /syscall_entry_exit_group/ { s++ }
	END { exit !(w == 20 && s == 1) }' "$work/out"

kl_nobody record --force -o own/none -e "uprobe:$splice:work" -- "$splice" once 5
expect "a uprobe" 1
says err "use block:$splice:work#0" "names what is available"
kl_nobody record --force -o own/none -u 65534 -e "block:$splice:work#0"
expect "no process is named" 2
kl_nobody record --force -o own/none -e "block:$splice:work#0" -p 1
expect "a process of another user" 1
kl_nobody record --force -o own/none -e "block:$splice:nothing" -- true
expect "a function that is not there" 2
kl_nobody record --force -o own/none -e "block:$programs/program-blocks:hidden" -- "$programs/program-blocks" 1 1
expect "a function with a jump that is not known" 2
says err 'the block cannot be instrumented' "says so"
kl_nobody record --force -o own/none -e "block:$splice:work#0" -- true
says err 'has not mapped' "a command that does not run the file"

is_free() {
	[[ $(cat /sys/module/kernlens/refcnt) == 0 ]]
}

events=(-e "block:$splice:work" -e "block:$splice:leaf" -e "block:$library:library_work#0")
start
wrong=0 differs=0 none=0
for ((i = 0; i < cycles; i++)); do
	kl_nobody record --force --overwrite -o own/load "${events[@]}" -p "$pid" --duration 0.3
	((!status)) || { ((++wrong)) && cat "$work/err"; }
	is_unchanged || ((++differs))
	grep -qE '^kernlens: [1-9][0-9,]+ records' "$work/err" || ((++none))
done
check "joined and left $cycles times, $wrong failed" test "$wrong" -eq 0
check "its text is as it was each time" test "$differs" -eq 0
check "each time something was recorded but $none times" test "$none" -eq 0
check "and nothing keeps the module" wait_until is_free

setpriv --reuid 65534 --regid 65534 --clear-groups -- \
	"$kernlens" record --force --overwrite -o own/killed "${events[@]}" -p "$pid" --duration 60 >/dev/null 2>&1 &
recording=$!
wait_until is_changed
kill -KILL $recording
wait $recording 2>/dev/null
wait_until is_unchanged
check "killing the recorder restores the text" is_unchanged

setpriv --reuid 65534 --regid 65534 --clear-groups -- \
	"$kernlens" record --force --overwrite -o own/killed "${events[@]}" -p "$pid" --duration 60 >/dev/null 2>&1 &
recording=$!
wait_until is_changed
kill -KILL "$(sed -n 's/^TracerPid:\t//p' "/proc/$pid/status")"
kill -KILL $recording
wait $recording 2>/dev/null
sleep 0.5
check "traps stay if all processes that could remove them are killed" is_changed
check "they keep the module" bash -c "! rmmod kernlens 2>/dev/null"
finish "with traps that stay"
check "until the program has ended" wait_until is_free
rmmod kernlens
expect_module=$?
load_kernlens
check "and the module can go" test "$expect_module" -eq 0
