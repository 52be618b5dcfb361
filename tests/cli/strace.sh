# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# kernlens record --strace and the format strace: the memory of arguments, compared with strace;
# tests/strace compares more programs. Who gets that memory, and that nobody gets it unasked.

python3 "$here/../strace/compare.py" "$kernlens" true cat id ls >compared
tap "lines as strace's" compared

kl record -q --no-dump --strace -o plain.trace -- cat /etc/hostname
expect "record --strace" 0
kl print --format strace plain.trace
expect "print" 0
silent err . "nothing is missing"
says out '^[0-9]+ +execve\(".*/cat", \["cat", "/etc/hostname"\], 0x[0-9a-f]+ /\* [0-9]+ vars \*/\) = 0' "argv and envp"
says out '\+\+\+ exited with 0 \+\+\+' "the exit"
says out ' read\(3, ".*", [0-9]+\) += ' "buffers"
kl print --format strace -e 'syscall_*_openat' plain.trace
says out ' openat\(AT_FDCWD, "/etc/hostname", O_RDONLY\) += 3' "-e chooses calls"
silent out ' read\(' "and no others"

kl record -q --no-dump -e syscalls -o calls.trace -- cat /etc/hostname
kl print --format strace calls.trace
says err 'record with --strace' "a trace without memory says what it lacks"
says out '= 0x|read\(3, 0x[0-9a-f]+, [0-9]+\)' "and has addresses"
kl report events calls.trace --json
json "nothing is recorded unasked" 'map(select(.event | startswith("strace_"))) | length == 0'
kl record -q --no-dump -e 'syscall_*' -o calls.trace --force -- true
kl report events calls.trace --json
json "nor with all that begins with syscall_" 'map(select(.event | startswith("strace_"))) | length == 0'
kl live --format strace -o live.txt -- cat /etc/hostname
expect "live" 0
check "live decodes, too" grep -Eq 'execve\(".*/cat", \["cat", "/etc/hostname"\]' live.txt
kl record -q --no-dump --strace -e openat -o some.trace -- cat /etc/hostname
expect "record --strace -e" 0
kl print --format strace some.trace
says out ' openat\(AT_FDCWD, "/etc/hostname", O_RDONLY\) += 3' "the calls that -e names"
silent out ' read\(' "--strace adds to -e"

# Without privilege: what one may trace, and nothing else.
yama=/proc/sys/kernel/yama/ptrace_scope
mkdir own
chmod 777 own
kl_nobody record -q --no-dump --strace -o own/trace -- cat /etc/hostname
expect "without privilege" 0
kl_nobody print --format strace own/trace
says out 'execve\(".*/cat", \["cat", "/etc/hostname"\]' "a command's memory"
setpriv --reuid 65534 --regid 65534 --clear-groups \
	sh -c 'while :; do read -r line </etc/hostname; sleep 0.1; done' &
pid=$!
wait_until grep -q '^Uid:.65534' "/proc/$pid/status"
# seen NAME OPTION...: records a second without privilege; counts the memory in the trace.
seen() {
	local name=$1
	shift
	kl_nobody record -q --no-dump --strace -o "own/$name" --duration 1 "$@"
	kl_nobody print --json "own/$name"
	jq -s 'map(select(.event == "strace_memory")) | length' "$work/out"
}
if [[ -e $yama ]]; then
	check "an own process that may be traced" test "$(seen one -p "$pid")" -gt 0
	echo 1 >"$yama"
	check "one that yama protects has no memory" test "$(seen two -p "$pid")" -eq 0
	kl_nobody print --json own/two
	check "but is recorded" grep -q syscall_entry_ "$work/out"
	check "nor has a session without a set of tasks" test "$(seen three -u 65534)" -eq 0
	echo 0 >"$yama"
else
	skip "processes that yama protects" "no yama"
fi
kill "$pid"
wait "$pid" 2>/dev/null
