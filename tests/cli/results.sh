# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# The results of a subcommand never mix with the output of the command that it runs.

programs=$(realpath "$here/../../build/tests/cli")
say=(sh -c 'echo to stdout; echo to stderr >&2')

# apart TEXT ARGUMENT...: with --json, stdout has the document alone, and stderr both lines of the
# command; with -o, the command has its streams for itself.
apart() {
	local text=$1
	shift
	kl "$1" --json "${@:2}" -- "${say[@]}"
	expect "$text --json" 0
	is_json "$text: stdout is one document"
	check "$text: the command's output is on stderr" test "$(grep -cx 'to std...' "$work/err")" -eq 2
	kl "$1" --json -o document "${@:2}" -- "${say[@]}"
	check "$text -o: the command keeps its stdout" test "$(cat "$work/out")" = 'to stdout'
	is_json "$text -o: the file has the document" document
	rm document
	kl "$1" "${@:2}" -- "${say[@]}"
	check "$text: a table leaves stdout to the command" test "$(cat "$work/out")" = 'to stdout'
}

apart stat stat -e sched_switch
apart latency latency
apart 'count by ptrace' count --ptrace -e "block:$programs/program-blocks:steps"
apart 'count by uprobes' count -e "block:$programs/program-blocks:steps"
# Blocks of the kernel take seconds, so only one of count, coverage and path is tested.
kl --json path ksys_read -- "${say[@]}"
is_json "path: stdout is one document"
check "path: the command's output is on stderr" test "$(grep -cx 'to std...' "$work/err")" -eq 2

kl latency --folded -- "${say[@]}"
silent out 'to std' "folded stacks are alone on stdout, too"
kl record --json -o t -e sched_process_exec -- "${say[@]}"
is_json "record --json: stdout is one document"
check "record --json: the command's output is on stderr" test "$(grep -cx 'to std...' "$work/err")" -eq 2
kl record -q -o t --force -e sched_process_exec -- "${say[@]}"
check "record: the command keeps its stdout" test "$(cat "$work/out")" = 'to stdout'
for format in json text; do
	kl live --format $format -e sched_process_exec -- "${say[@]}"
	silent out '^to std' "live --format $format: stdout has events only"
	check "live --format $format: the command's output is on stderr" test "$(grep -cx 'to std...' "$work/err")" -eq 2
	kl live --format $format -o events -e sched_process_exec -- "${say[@]}"
	check "live --format $format -o: the command keeps its stdout" test "$(cat "$work/out")" = 'to stdout'
	check "live --format $format -o: the file has the events" grep -q sched_process_exec events
done
kl live --json -o events -e sched_process_exec -- "${say[@]}"
check "live --json -o: the file has JSON alone" jq -e -s 'length > 0' events
"$kernlens" latency --json -- "${say[@]}" 2>/dev/null | jq -e .seconds >"$work/check"
check "latency --json -- COMMAND | jq" test "${PIPESTATUS[*]}" = '0 0'
# Where there is no stderr, the document is still alone.
"$kernlens" stat --json -e sched_switch -- "${say[@]}" >"$work/out" 2>&-
is_json "without stderr, too"
kl stat --json -e sched_switch -- sh -c 'echo x; exit 7'
expect "the status of the command is passed on" 7
