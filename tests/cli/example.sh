# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# examples/record: a program that records and counts with the library, and what it leaves behind.

example=$(realpath "$here/../../build/tests/cli/example-record")

# ex ARGUMENT...: runs the example as kl runs the command.
ex() {
	status=0
	"$example" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

ex t 'syscalls,sched_process_exec,syscall_exit_close:count by comm' sh -c '/bin/true; exit 3'
expect "the example records a command" 0
cp out counted
kl print --format json t
expect "kernlens prints its trace" 0
cp out events
check "from the call that starts the command" jq -s -e \
	'[.[] | select(.event | startswith("syscall_"))][0].event == "syscall_entry_execve"' events
check "with its child" jq -s -e \
	'[.[] | select(.event == "sched_process_exec") | .fields.filename | sub(".*/"; "")] == ["sh", "true"]' events
check "and no other task" jq -s -e '[.[] | select(.event | startswith("syscall_")) | .pid] | unique | length == 2' events
kl report --json t
json "nothing is missing" '.losses.finished and .losses.manifest and
	([.losses | .discarded, .overwritten, .unstored, .damaged, .corrupt_blocks] | add) == 0'
check "each record is counted" grep -qx "$(wc -l <events) records" counted
# The records of the call's entry have the name, too.
jq -r 'select(.event == "syscall_entry_close") | .comm' events | sort | uniq -c | sort -k1,1nr -k2 |
	awk '{ print "  " $1 " comm=" $2 }' >calls
check "the rule counts by name what the trace has" diff calls <(grep '^  ' counted)
check "in more than one row" test "$(wc -l <calls)" -ge 2
check "babeltrace2 reads it" bash -c 'babeltrace2 t 2>&1 >/dev/null | { ! grep -q .; }'

ex t syscalls true
expect "an existing trace is not replaced" 1
says err 't already contains a trace$'
ex u 'syscalls,no_such_event' true
expect "an unknown event" 1
says err 'no_such_event'
check "leaves no trace" test ! -e u
ex stacks 'syscall_entry_getppid:stack' sh -c :
expect "it records stack traces" 0
kl print --format json stacks
check "which are in its trace with their names" jq -s -e 'length > 0 and
	all(.stacks.kstack | length > 1 and all(has("symbol")))' out

# Notices: a disk that fills up.
mkdir full
mount -t tmpfs -o size=1M tmpfs full
ex full/t syscalls dd if=/dev/zero of=/dev/null bs=1 count=40000 status=none
expect "a full disk is a failure" 1
says err '^full/t: .*No space left on device$' "which it says"
says err '^full/t: some records are missing$' "and that records are missing"
check "the trace is readable" "$kernlens" print full/t
umount full
