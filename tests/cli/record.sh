# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what records are written is tested with the module; core.sh records on other kernels.
# kernlens record: what is traced, how it ends, what it leaves behind.

calls=syscalls,sched_process_exec,sched_process_fork,sched_process_exit

# events DIR FILTER: applies jq's FILTER to the array of a trace's JSON lines.
events() {
	"$kernlens" print --format json "$1" | jq -e -s "$2"
}

kl record -e $calls -o t -- sh -c 'echo said; /bin/true; exit 7'
expect "the status of the command is returned" 7
says out '^said$' "the command has stdout for itself"
says err 'records, 0 lost' "a summary on stderr"
check "the first event in it starts the program" \
	events t '[.[] | select(.event | startswith("syscall_"))][0].event == "syscall_entry_execve"'
check "it is in the trace as it is found in PATH" events t \
	'[.[] | select(.event == "syscall_entry_execve")][0].fields.filename | test("/sh$")'
check "its children, too" events t '[.[] | select(.event == "sched_process_exec")] | length == 2'
check "to their end" events t \
	'([.[] | select(.event == "sched_process_fork")] | length) == 1 and
	 ([.[] | select(.event == "sched_process_exit")] | length) == 2'
check "only them" events t '[.[] | select(.event | startswith("syscall_")) | .pid] | unique | length == 2'
check "babeltrace2 reads it" bash -c 'babeltrace2 t 2>&1 >/dev/null | { ! grep -q .; }'

# From the task that becomes the command, only the call that executes it and everything after it.
begins='.[0].event == "syscall_entry_execve" and
	(.[0].tid as $tid | [.[] | select(.tid == $tid and .comm == "kernlens")] | length == 1)'
kl record -q --no-dump -o own -- true
check "what kernlens does before is not in it" events own "$begins"
kl_nobody record -q --no-dump -o /dev/shm/own -- true
check "nor without privilege" events /dev/shm/own "$begins"
strace -f -o theirs /bin/true
sed -nE 's/^[0-9]+ +([a-z0-9_]+)\(.*/\1/p' theirs >theirs.calls
kl record -q --no-dump -e syscalls -o same -- /bin/true
kl print --format json same
jq -r '.event | select(startswith("syscall_entry_"))[14:]' "$work/out" >ours.calls
check "the calls that strace sees, and no others" diff theirs.calls ours.calls
cp /bin/true suid && chmod 4755 suid
chmod 1777 "$work"
kl_nobody record -q --no-dump -o /dev/shm/suid -- ./suid
expect "a set-user-id command runs" 0
check "and is not in an ordinary user's trace but for the call" events /dev/shm/suid \
	'length == 1 and .[0].event == "syscall_entry_execve"'
chmod 755 "$work"
rm -rf /dev/shm/own /dev/shm/suid suid

kl record -e $calls -o t -- true
expect "a trace is not overwritten" 1
says err 'already contains a trace; --force'
kl record -q -e $calls --force -o t -- true
expect "unless forced" 0
check "-q is quiet" test ! -s "$work/err"
mkdir other && touch other/file
kl record --force -o other -- true
expect "other files are never touched" 1
check "they are still there" test -e other/file

# Files that another user has planted in a directory writable by all.
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all -- "$@"; }
mkdir -m 1777 shared && echo keep >victim
nobody mkdir -p shared/t/.kernlens
nobody ln -s "$work/victim" shared/t/.kernlens/manifest
kl record -q -e $calls -o shared/t -- true
expect "another user's directory is refused to root" 1
says err 'shared/t belongs to user 65534; choose a directory that belongs to you'
nobody ln -s "$work/other" shared/link
kl record -q --force -e $calls -o shared/link/ -- true
expect "a link is not followed" 1
says err 'shared/link is a symbolic link'
mkdir half && ln -s "$work/shared/t/.kernlens" half/.kernlens
kl record -q -e $calls -o half -- true
expect "nor one inside" 1
says err '\.kernlens is a symbolic link'
check "nothing is written through links" test "$(<victim)" = keep -a ! -s shared/t/metadata
mask=$(umask)
umask 0
kl record -q -e $calls -v kstack -o modes -- true
umask "$mask"
check "a trace is for its owner alone, whatever the umask" test \
	"$(find modes -type d -perm 700 | wc -l) $(find modes -type f -perm 600 | wc -l)" = \
	"2 $(find modes -type f | wc -l)"

# The default directory is named after the current second; all names of the next two minutes are
# taken.
mkdir default && cd default || exit
now=$(date +%s)
for n in {0..120}; do printf '%(kernlens-%Y%m%d-%H%M%S)T\n' $((now + n)); done | xargs mkdir
kl record --json -e $calls -- true
expect "a second recording within a second" 0
json "has a directory of its own" '.trace | test("^kernlens-[0-9]{8}-[0-9]{6}-2$")'
check "with its trace" test -e "$(jq -r .trace "$work/out")/metadata"
kl record -e $calls -- nosuchcommand
check "one that fails leaves none" test "$(find . -name '*-2' | wc -l)" -eq 1
cd ..

kl record -e $calls -o s1 -- sh -c 'kill -TERM $$'
expect "a signal of the command is 128 + its number" 143
kl record -e $calls -o s2 -- nosuchcommand
expect "no such command" 127
check "it leaves no directory" test ! -e s2
kl record -e $calls -o s3 -- /etc/passwd
expect "not executable" 126
printf 'exit 5\n' >script && chmod +x script
kl record -e $calls -o s4 -- ./script
expect "a script without #! is run as a shell does" 5
check "after a call that could not execute it" events s4 '
	[.[] | select(.event | test("_execve$"))][:4] | map(.event) == ["syscall_entry_execve",
		"syscall_exit_execve", "syscall_entry_execve", "syscall_exit_execve"] and
	(.[0].fields.filename | test("script$")) and .[1].fields.ret == -8 and .[3].fields.ret == 0'

# Executable by its mode, but not by the kernel.
printf '#!/nosuchshell\n' >bad && chmod +x bad
for how in "record -o s5" "record -a -o s5" stat latency live; do
	read -ra words <<<"$how"
	kl "${words[@]}" -- ./bad
	expect "$how: a command without its interpreter" 127
	check "$how: it is reported once" test "$(grep -c 'cannot run .*bad: its interpreter' "$work/err")" -eq 1
	silent err '[0-9] (records|seconds)' "$how: no result is printed"
	check "$how: no trace is left" test ! -e s5
done
printf '#!/etc/passwd\n' >bad
kl record --json -o s5 -- ./bad
expect "nor may its interpreter be executed" 126
json "as JSON" '.error == "EACCES"'
check "again no trace" test ! -e s5

kl record --json -e $calls -o j -- true
json "--json: a summary" '.records > 10 and .lost == 0 and .unstored == 0 and .fired == .records and .status == 0'

kl record -e 'sched_switch:count,syscall_entry_execve' -o c -- true
says err '[0-9] +sched_switch' "counters of :count are printed"

absent=$("$kernlens" list events --json | jq -r '[.[] | select(.available | not) | .name][0] // empty')
if [[ $absent ]]; then
	kl record -e "${absent%?}*,syscall_entry_execve" -o absent1 -- true
	says err "not available here:.* $absent( |\$)" "an unavailable event that a glob matches is named"
	kl record -o absent2 -- true
	silent err 'available here' "an event not requested is not reported"
else
	skip "an unavailable event that a glob matches is named" "this kernel has all"
fi

kl record -e $calls --buffer 64K -o small -- sh -c 'i=0; while [ $i -lt 300 ]; do i=$((i+1)); : <.; done'
expect "small buffers" 0
kl record -e $calls --overwrite --buffer 16K -o flight -- \
	sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); : <.; done; exec /bin/true'
says err 'older ones overwritten' "--overwrite keeps the newest and says so"
check "the newest" events flight '[.[] | select(.event == "sched_process_exit")] | length == 1'

# Without a terminal, a signal as kill sends it, and one as a terminal does.
"$kernlens" record -a -e sched_switch -o i1 >"$work/out" 2>"$work/err" </dev/null &
recorder=$!
until "$kernlens" status --json | jq -e '.sessions[0].running' >/dev/null; do sleep 0.2; done
sleep 1
kill -INT $recorder
wait $recorder
check "SIGINT ends a recording with status 0" test $? -eq 0
check "nothing is lost by it" grep -q ' 0 lost' "$work/err"
check "it is whole" "$kernlens" print i1
cp "$(command -v sleep)" sleep60

# Attaching takes time: wait until the command is running.
until_running() {
	until pgrep -x "$1" >/dev/null; do sleep 0.1; done
	sleep 0.2
}
(
	until_running sleep60
	pkill -INT -x sleep60
) &
kl record -e $calls -o i2 -- ./sleep60 60
wait
expect "a command ended by SIGINT" 130
check "its trace is whole" events i2 'length > 5'
(
	until_running sleep60
	printf '\003'
	sleep 2
) | script -qec "trap : INT; $kernlens record -e $calls -o i3 -- ./sleep60 60; echo status \$?" /dev/null >"$work/out"
says out 'status 130' "Ctrl-C reaches the command"
says out 'records, 0 lost' "and the recording ends cleanly"
"$kernlens" record -q -e $calls -o i4 -- ./sleep60 60 2>"$work/err" &
recorder=$!
until_running sleep60
kill -TERM $recorder
wait $recorder
check "SIGTERM to kernlens ends the command" test $? -eq 143
check "a progress line on a terminal" bash -c \
	"script -qec '$kernlens record -a -e sched_switch -o pl --duration 3' /dev/null </dev/null |
	grep -Eq 'recording 1\\.[0-9]+ s: [1-9][0-9,]* records'"
kl record -e sched_switch -a --duration 0.5 -o d
expect "--duration" 0
check "all tasks" events d '[.[] | .tid] | unique | length > 1'
kl record -e sched_switch -o wait -a -- sleep 0.3
expect "-a with a command lasts as long as it" 0

# Running processes.
sh -c 'while :; do : <.; sleep 0.1; done' &
victim=$!
kl record -e syscall_entry_openat,syscall_entry_execve -p $victim --duration 3 -o p
expect "-p" 0
check "-p traces the process" events p "[.[] | select(.pid == $victim)] | length > 0"
check "and what it starts" events p "[.[] | select(.event == \"syscall_entry_execve\")] | length > 0"
kl record -e syscall_entry_openat -u root --duration 0.5 -o u
expect "-u" 0
(
	sleep 5
	kill $victim
) &
kl record -e syscall_entry_openat -p $victim -o pe
expect "-p ends with the process" 0
wait
kl record -e sched_switch -p 4194000 -o pn
expect "-p of no process" 1
says err 'process 4194000 does not exist'

# Without privilege.
chmod 1777 "$work"
kl_nobody record -e $calls -o n1 -- sh -c '/bin/true; exit 3'
expect "own processes without privilege" 3
check "they are in the trace" events n1 '[.[] | select(.event == "sched_process_exec")] | length == 2'
kl_nobody record -a
expect "record -a without privilege" 1
says err 'record -a needs CAP_PERFMON; without it you can trace your own processes: kernlens record -- COMMAND'
kl_nobody record
says err 'needs CAP_PERFMON'
kl_nobody record -p 1
says err 'process 1 is not yours'
kl_nobody record -u root
says err 'needs CAP_PERFMON'
kl_nobody record -e irq_handler_entry -- true
says err 'irq_handler_entry .*needs CAP_PERFMON'
kl_nobody record --json -a
json "as JSON" '.error == "EPERM"'
check "nothing is left behind" bash -c '! ls -d kernlens-* 2>/dev/null'
rm -rf n1
chmod 755 "$work"
