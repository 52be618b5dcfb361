# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# Traces from memory. That of the running machine, /proc/kcore, is an ELF core, too: what sessions have
# is extracted while they exist. tests/crash tests machines that have crashed.

kl extract /nowhere -o t
expect "a file that is not there" 1
says err '/nowhere'
kl extract
expect "no file" 2
kl extract /proc/kcore
expect "no directory" 2
says err '-o DIR'
head -c 100000 /dev/zero >zeros
kl extract zeros -o t
expect "memory without the module" 1
says err 'nothing of the kernlens module'
printf 'KDUMP   %0100d' 0 >compressed
kl extract compressed -o t
expect "a compressed dump without its pages" 1
says err 'it is cut off'
check "nothing is created" test ! -e t

# A loop of the shell: no process begins or ends in it. It is extracted from outside, when the names of its
# stack traces have been stored: no new ones may come meanwhile, as the memory would change.
cat >script <<'END'
for ((i = 0; i < 200; i++)); do echo >/dev/null; done
read -r _ <pause
END
mkfifo pause
"$kernlens" record -q --no-dump --overwrite --name extracted -e 'syscall_entry_dup2:stack,mark' -v rss,cgroup_id -o whole -- \
	bash script &
recorder=$!
is_stored() {
	[[ -e whole/.kernlens/stacks && $(($(date +%s) - $(stat -c %Y whole/.kernlens/stacks))) -ge 5 ]]
}
for ((i = 0; i < 300; i++)); do
	! is_stored || break
	sleep 0.2
done
"$kernlens" extract /proc/kcore --list --json >list
"$kernlens" extract /proc/kcore -o memory --json >result 2>messages
echo >pause
wait $recorder
check "a flight recorder, while it is extracted" test $? -eq 0
check "the list has it" jq -e --arg kernel "$(uname -r)" --arg boot "$(</proc/sys/kernel/random/boot_id)" \
	'length == 1 and (.[0] | .name == "extracted" and .mode == "overwrite" and .uid == 0 and .began_ns > .created_ns
	 and .ended_ns == 0 and .kernel == $kernel and .boot_id == $boot)' list
check "its records are extracted" jq -e 'length == 1 and .[0].records >= 400 and .[0].damaged == 0' result
trace=$(jq -r '.[0].trace' result)
"$kernlens" print --format json "$trace" >extracted.json
"$kernlens" print --format json whole >whole.json
calls() {
	jq -c 'select(.event) | [.cpu, .tid, .comm, .event, .fields, .variables]' "$1"
}
calls extracted.json >extracted.calls
calls whole.json >whole.calls
check "each call is there once" test "$(jq -s '[.[] | select(.tid > 0 and .event == "syscall_entry_dup2")] | length' extracted.json)" -ge 400
check "they are the first of the recording" cmp extracted.calls <(head -n "$(wc -l <extracted.calls)" whole.calls)
check "at the same times" jq -n -e --slurpfile a extracted.json --slurpfile b whole.json \
	'[range($a | length) as $i | ($a[$i] | .seconds * 1e9 + .nanoseconds) - ($b[$i] | .seconds * 1e9 + .nanoseconds) | fabs] | max < 1e6'
check "babeltrace2 reads it" test "$(babeltrace2 "$trace" 2>/dev/null | wc -l)" = "$(wc -l <extracted.calls)"
# Of the script itself: a child that it forks for the extraction has no names yet.
script=$(jq -r 'select(.event == "syscall_entry_dup2").tid' extracted.json | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
stacks() {
	jq -c "select(.stacks.$1 and .tid == $script) | [.stacks.$1[] | [.address, .symbol, .offset, .file, .build_id, .place]]" "$2" | sort -u
}
stacks kstack extracted.json >extracted.stacks
stacks kstack whole.json >whole.stacks
check "its kernel stacks are there, with names" grep -q do_syscall_64 extracted.stacks
check "the same as in the recording" test -z "$(comm -23 extracted.stacks whole.stacks)"
stacks ustack extracted.json >extracted.stacks
stacks ustack whole.json >whole.stacks
check "those of the program, too" grep -q '"execute_command_internal",.*"/usr/bin/bash"' extracted.stacks
check "with all names" test -z "$(comm -23 extracted.stacks whole.stacks)"
check "and paths of cgroups" test -s "$trace/.kernlens/cgroups"
kl report syscalls "$trace"
expect "it can be reported on" 0

cat >script <<'END'
"$1" extract /proc/kcore -o memory --session other 2>messages
echo $? >status
"$1" extract /proc/kcore -o memory --session again 2>>messages
"$1" extract /proc/kcore -o memory --session again 2>>messages
"$1" extract /proc/kcore -o memory --session again --force 2>>messages
echo $? >>status
END
kl record -q --no-dump --name again -e syscall_entry_dup2 -o second -- bash script "$kernlens"
expect "a recording in discard mode" 0
check "a session that does not exist is an error" test "$(head -n 1 status)" = 1
check "and is named" grep -q 'no session is called other' messages
check "an existing trace is not replaced" grep -q -- '--force replaces it' messages
check "but with --force" test "$(tail -n 1 status)" = 0
check "its events are known although it has no description" \
	bash -c '"$1" print memory/again-* | grep -q syscall_entry_dup2' - "$kernlens"
kl extract /proc/kcore -o memory
expect "without a session" 1
says err 'there was no session'

# Saved, as the crash kernel does. What the kernel said last is the reason.
crashes=/var/lib/kernlens/crashes
cat >saving <<'END'
printf 'watchdog: extract is late\033[31m' >/dev/kmsg
"$1" extract /proc/kcore --save --keep 2 --json >result 2>messages
END
save() {
	"$kernlens" record -q -a --no-dump --overwrite --name saved -e console,mark -o "$1" -- bash saving "$kernlens"
}
(umask 077 && mkdir -p $crashes) && mkdir -p $crashes/20200101T000000Z $crashes/20210101T000000Z/other
echo kept >$crashes/20200101T000000Z/mine
echo '{"stopped_ns": 1600000000000000000, "traces": []}' >$crashes/20210101T000000Z/crash.json
check "traces are saved" save saved1
folder=$(dirname "$(jq -r '.[0].trace' result)")
check "in a folder named after the time" grep -qE "^$crashes/20[0-9]{6}T[0-9]{6}Z\$" <<<"$folder"
check "for root alone" test "$(stat -c %a $crashes "$folder" "$folder/crash.json" | xargs)" = '700 700 600'
check "with what is known" jq -e --arg kernel "$(uname -r)" '.cause == "watchdog: extract is late\\x1b[31m" and .damage == 0 and
	.kernel == $kernel and (.traces | length) == 1 and (.traces[0] | .session == "saved" and .records >= 1 and
	.first_ns <= .last_ns)' "$folder/crash.json"
check "the traces can be read" eval '"$kernlens" print "$folder/$(jq -r .traces[0].trace "$folder/crash.json")" | grep "watchdog: extract"'
check "the oldest is removed, but no file of others" test -e $crashes/20200101T000000Z/mine -a -e $crashes/20210101T000000Z/crash.json
kl status
says out "^The machine crashed on 20[-0-9]+ at [0-9:]{8}: watchdog: extract is late\\\\x1b\\[31m\$" "status says when and why it crashed, without control characters"
says out "^  $folder/saved-[0-9]+: its last .*, [0-9]+ records?\$" "and where the traces are"
says out '^The machine crashed on 2020-09-13 at ' "and of the crash before"
kl status --json
json "as JSON, too" ".crashes | length == 2 and .[0].folder == \"$folder\" and .[0].seen == false"
kl status --crashes
check "at login, only crashes" test "$(grep -c '^The machine crashed' "$work/out") $(grep -c ^module "$work/out")" = '2 0'
kl_nobody status --crashes
check "an ordinary user sees none" test ! -s "$work/out"
kl_nobody status --seen
expect "nor may one end the message" 1
kl status --seen
kl status --crashes
check "once they have been seen, nothing is said at login" test ! -s "$work/out"
kl status
says out '^The machine crashed on ' "status still does"
sleep 1
check "another crash" save saved2
kl status --crashes --json
json "is not seen" 'length == 1'
check "the oldest goes" test ! -e $crashes/20210101T000000Z/crash.json
kl extract zeros --save
expect "memory without the module" 1
check "leaves no folder" test "$(find $crashes -mindepth 1 -maxdepth 1 -name '.*' | wc -l)" = 0
kl extract /proc/kcore --save -o t
expect "--save has a place of its own" 2
kl extract /proc/kcore --save --keep 0
expect "and keeps at least one" 2
rm -r $crashes

# No memory is reserved here: tests/crash/reset does that.
kl extract --kept --list
expect "no reserved memory" 1
says err 'no memory is reserved'
kl extract zeros --forget -o t
expect "--forget is for reserved memory" 2
kl extract --kept --forget --session other -o t
expect "and for all of it" 2
kl extract --kept zeros -o t
expect "--kept is a file already" 2
kl record --keep-over-crash -o t -- true
expect "no session is put there" 1
says err 'no memory is reserved'
kl record -q --no-dump --keep-over-crash=try --buffer 1M -e sched -o tried -- true
expect "but elsewhere, with =try" 0
check "and without a message" test ! -s "$work/err"
check "a flight recorder" grep -q sched_switch <("$kernlens" print tried)
kl record --keep-over-crash=maybe -o t -- true
expect "=try is the only way" 2
kl record --keep-over-crash --discard -o t -- true
expect "it is a flight recorder" 2
