# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# kernlens top: a program whose call chain is known, in tables and in the view; the samples of the
# last seconds only; more stack traces than a session can hold.

chain=$(realpath "$here/../../build/tests/cli/stack-chain")
# shellcheck source=/dev/null
. "$here/tui_terminal"

"$chain" spin 1000000 &
spinning=$!

# last: the last of the documents that kl has printed.
last() {
	jq -s 'last' "$work/out" >"$work/last" && mv "$work/last" "$work/out"
}

kl top --json -n 3 -d 1 --top 0 --by process,function
expect "documents" 0
check "as many as requested" test "$(jq -s length "$work/out")" = 3
last
json "the program is in the last one" '.rows[0] | .process == "stack-chain" and .function == "chain_c"'
json "each sample is in one function" '([.rows[].self] | add) == .samples'
json "kernlens is not" '.rows | all(.process != "kernlens")'
json "idle CPUs are apart" '.rows | all(.process | startswith("swapper") | not)'
json "it has the time" '.seconds > 1 and .restarts == 0 and .hz == 99'
json "the first sample is as old as the window" '(.last_ns - .first_ns) / 1e9 - .seconds | fabs < 2'

kl top --json -n 1 -d 2 -p $spinning
json "of a process" '.rows[0].function == "chain_c" and .samples > 20 and .idle == 0'
json "which uses a CPU" '.samples / .hz / .seconds | . > 0.3 and . < 1.3'
kl top -n 2 -d 1 --window 1 --top 3 -p $spinning
says out '^[0-9:]{8}  last [0-9.]+ s: [0-9]+ samples? at 99 Hz, [01]\.[0-9]+ CPUs busy' "a table has a summary"
says out '^ +self +total +samples +function +object$' "a head"
says out '^ *[0-9.]+% +[0-9.]+% +[0-9]+ +chain_c +stack-chain$' "and rows"
check "and comes again" test "$(grep -c ' chain_c ' "$work/out")" = 2
kl top --json -n 1 -d 1 -e 'syscall_entry_getppid' -p $spinning
json "of an event that does not come, there are no samples" '.samples == 0 and .rows == []'

kill $spinning
wait $spinning

# What has ended is forgotten: the window is the last second.
"$chain" spin 1000000 &
short=$!
"$kernlens" top --json -d 1 --window 1 --by process --top 0 >documents &
top=$!
# has_process FILTER: does it hold for the process in one of the last documents?
has_process() {
	jq -s ".[-3:] | any(.rows | any(.pid == $short) | $1)" documents 2>/dev/null | grep -q true
}
await_documents() {
	local end=$((EPOCHSECONDS + patience))
	until has_process "$1"; do
		((EPOCHSECONDS < end)) || return
		sleep 0.2
	done
}
check "a process that ends is there at first" await_documents .
kill $short
check "and no longer in the last second" await_documents not
kill -INT $top
wait $top
check "Ctrl-C ends it" test $? = 0

# A session holds 16,384 stack traces.
"$chain" paths 1000000 &
paths=$!
kl top --json -n 2 -d 1 --window 2 -e syscall_entry_getppid -p $paths --buffer 16M --top 0
kill $paths
check "a session with too many stack traces is replaced" jq -es 'last.restarts > 0' "$work/out"
check "and the samples have their functions again" jq -es '[.[] | select(.restarts > 0)] | last |
	.samples > 100 and ([.rows[] | select(.function == "chain_c")][0].total > 100)' "$work/out"

# Next to the others, a fifth of a CPU is enough.
"$chain" spin 1000000 40 &
spinning=$!
begin 100 30 "$kernlens top -d 1"
shows "the view has a summary" '^kernlens top  last [0-9.]+ s: [0-9,]+ samples at 99 Hz, [0-9.]+ CPUs busy'
shows "how its rows are made" '^by function, sorted by self'
shows "a head" '^ +self +total  object +function'
shows "and rows" '^ +[0-9.]+% +[0-9.]+%  stack-chain +chain_c'
keys s
shows "sorted by the total" 'sorted by total'
first_row() {
	sed -n 4p "$work/out" | grep -qE "$1"
}
largest_total_first() {
	sed -n '4,$p' "$work/out" | awk '$2 ~ /%$/ { print $2 + 0 }' >"$work/totals"
	test "$(wc -l <"$work/totals")" -gt 5 && sort -rnc "$work/totals"
}
becomes "the largest total is first" largest_total_first
becomes "which is an outermost function's" first_row '(_start|main|__libc_start|do_syscall_64|entry_SYSCALL_64)'
keys p
shows "by process" "^ +[0-9.]+% +$spinning stack-chain"
on_row() {
	on_terminal capture-pane -e -p -t view | grep -aqE $'\e''\[[0-9;]*46m.*'"$1"
}
keys Home
becomes "the bar is on the first" on_row "$spinning stack-chain"
keys Enter
shows "only that process" "^by function, .*, only process $spinning stack-chain"
keys s
becomes "where its function is first" first_row 'stack-chain +chain_c'
keys Home Enter
shows "what calls it" '^what calls chain_c'
shows "with shares" '^ +[0-9.]+% +0\.00% +chain_a  \(stack-chain\)'
keys Tab
shows "and what it calls" '^what is called by chain_c'
keys Escape
shows "back" '^by function'
keys Escape
shows "and back" '^by process'
keys c
shows "by CPU" '^ +[0-9.]+%  [0-9]+ *$'
keys g
shows "by cgroup" '^ +[0-9.]+%  /'
keys o
shows "by object" '^ +[0-9.]+% +[0-9.]+%  stack-chain *$'
keys t
shows "by thread" "^ +[0-9.]+% +$spinning stack-chain"
keys l
shows "by source line" '^by source line'
keys f Space
shows "paused" '^by function.*paused'
kill $spinning
wait $spinning
sleep 3
screen
check "nothing changes" has 'stack-chain +chain_c'
keys Space
lacks "it goes on without the program that has ended" 'stack-chain +chain_c'
keys h
shows "help" 'forget the samples so far'
keys Escape
lacks "which goes" 'forget the samples so far'
keys q
shows "it ends" '^ended with 0'
shows "the terminal is restored" 'icanon.* echo '
end

begin 60 5 "$kernlens top -d 1"
shows "a small terminal has the head" '^by function'
shows "and a row" '^ +[0-9.]+% '
end
begin 100 60 "$kernlens top -d 1"
shows "a large one" '^by function'
keys C-c
shows "Ctrl-C ends it" '^ended with 0'
end
begin 100 30 "TERM=dumb $kernlens top -d 1 --duration 3"
shows "a terminal that cannot move its cursor gets tables" '^ +self +total +samples +function'
end

kl top --duration 1 -d 0.3
expect "a duration" 0
kl top true
expect "a command" 2
says err 'to profile a command, use kernlens profile' "says what to use"
kl top -d 0
expect "no interval" 2
kl top --window 1000 -d 0.1
expect "a window of too many intervals" 2
kl top -e syscall_entry_getppid -F 99
expect "a frequency of an event" 2

"$chain" spin 1000000 &
other=$!
# shellcheck disable=SC2016 # the inner shell expands
kl_nobody top --json -n 2 -d 1 --by process
expect "without privilege" 0
last
json "nothing of others" '.rows | all(.process != "stack-chain")'
kl_nobody top -a -n 1
expect "all tasks without privilege" 1
says err 'needs CAP_PERFMON' "says what is needed"
kl_nobody top -p $other -n 1
expect "another user's process" 1
kill $other
leave_terminal
