# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# Stack traces: of a program whose call chain is known, and of the kernel, compared with ftrace's.

chain=$(realpath "$here/../../build/tests/cli/stack-chain")

# frames FILTER [FILE]: the selected functions, innermost first, in one line.
frames() {
	jq -r -s "$1 | [.[].symbol] | join(\" \")" "${2:-$work/out}"
}

# is_chain TEXT FILTER: compares the chain up to main; frames after main belong to the C library.
is_chain() {
	local found
	found=$(frames "$2" 2>&1)
	check "$1" test "${found%% main*} main" = "chain_c chain_b chain_a main"
}

# ftrace's stack trace of the same event, starting at its function.
tracing=/sys/kernel/tracing
[[ -d $tracing/events ]] || mount -t tracefs tracefs $tracing
echo 1 >$tracing/events/task/task_rename/enable
echo stacktrace >$tracing/events/task/task_rename/trigger
kl record -q --json -e task_rename:stack -o renamed -- sh -c 'printf renamed >/proc/self/comm'
expect "a record with traces" 0
echo '!stacktrace' >$tracing/events/task/task_rename/trigger
echo 0 >$tracing/events/task/task_rename/enable
"$kernlens" print --format json -e task_rename renamed >printed.json
jq -r 'select(.fields.newcomm == "renamed").stacks.kstack[].symbol' printed.json |
	sed -n '/^comm_write/,$p' >ours
awk '/newcomm=renamed/ { on = 1; next } on && /^ => / { print $2; seen = 1; next } seen { exit }' \
	$tracing/trace | sed -n '/^comm_write/,$p' >theirs
check "the kernel's is ftrace's" diff theirs ours
check "and is one" test "$(wc -l <ours)" -gt 4
check "a record of another handler has none" bash -c '"$0" record -q -e task_rename:stack,sched_process_exec -o two -- \
	sh -c "echo x >/proc/self/comm; exec true" && "$0" print --format json -e sched_process_exec two |
	jq -s -e "length > 0 and all(.variables.ustack == 0 and .stacks == null)"' "$kernlens"
check "only the kernel's, only the program's" bash -c '"$0" record -q -e "syscall_entry_getppid:stack(kernel),task_rename:stack(user)" \
	-o kinds -- sh -c "python3 -c \"import os; os.getppid()\"; echo x >/proc/self/comm" && "$0" print --format json kinds >kinds.json &&
	jq -s -e "[.[] | select(.event == \"syscall_entry_getppid\")] | length > 0 and all(.variables.kstack > 0 and .variables.ustack == 0)" kinds.json &&
	jq -s -e "[.[] | select(.event == \"task_rename\")] | length > 0 and all(.variables.kstack == 0 and .variables.ustack > 0)" kinds.json' "$kernlens"
kl print renamed
says out '^        comm_write\+0x[0-9a-f]+$' "as text, below the record"
kl print --format csv renamed
says out ',[^,]*;comm_write\+0x[0-9a-f]+;' "as CSV, in its cell"
check "babeltrace2 reads the trace" bash -c 'babeltrace2 renamed 2>&1 >/dev/null | { ! grep -q .; }'
cp -r renamed elsewhere
rm -r elsewhere/.kernlens
kl print elsewhere
says out '\{kstack=[0-9]+ ustack=[0-9]+\}' "without its traces a trace has their ids"
echo nonsense >renamed/.kernlens/stacks
kl print renamed
expect "a damaged file of traces is refused" 1
says err '\.kernlens/stacks|stack traces: cannot parse line 1' "with the place"
kl record -q --force -e task_rename -o renamed -- true
check "a trace that is replaced takes its call traces along" test ! -e renamed/.kernlens/stacks

first='.[0].rules[0].entries[0]'
kl stat --json -e 'syscall_entry_getppid:count by ustack' -- "$chain" call 5
is_chain "a program" "$first.keys.ustack"
check "is counted by its trace" jq -e '.rules[0].entries[0].count == 5' "$work/out"
check "with the file and its build id" jq -e --arg file "$chain" \
	'.rules[0].entries[0].keys.ustack[0] | .file == $file and (.build_id | length == 40)' "$work/out"
kl stat --json -e 'syscall_entry_getppid:count by ustack' -- "$chain" fork 5
is_chain "a child that has ended at once" "$first.keys.ustack"
kl stat --json -e 'syscall_entry_getppid:count by ustack' -- "$chain" exec "$chain" call 5
is_chain "what a process has become" "$first.keys.ustack"
mkdir -p inside
touch inside/other
kl stat --json -e 'syscall_entry_getppid/comm == "other"/:count by ustack' -- unshare -m \
	sh -c "mount --bind '$chain' inside/other && exec inside/other call 5"
is_chain "a file of another mount namespace, which is gone" "$first.keys.ustack"
kl stat --json -e "uprobe:$chain:chain_c:stack" -- "$chain" call 1
is_chain "at a function's first instruction" "$first.keys.ustack"
kl stat --json -a -e 'tick:200:stack by pid' -- "$chain" spin 500
is_chain "a profile" '[.[0].rules[0].entries[] | select(.keys.ustack[0].symbol == "chain_c")][0].keys.ustack'
check "most frequent first" jq -e '[.rules[0].entries[].count] | . == (sort | reverse)' "$work/out"
check "in the program itself there is no trace of the kernel" jq -e \
	'[.rules[0].entries[] | select(.keys.ustack[0].symbol == "chain_c" and .keys.kstack == null).count] | add > 20' "$work/out"
kl stat -e tick:200:stack -- "$chain" spin 300
says err '^        chain_b\+0x[0-9a-f]+ \(.*/stack-chain\) .*stack_chain.c:[0-9]+$' "as text"
kl stat --json -a -e 'tick:500:count by ip, kstack' -- dd if=/dev/zero of=/dev/null bs=64k count=20000 status=none
jq -r '.rules[0].entries[].keys | select(.kstack) | "\(.ip) \(.kstack[0].address)"' "$work/out" |
	while read -r ip address; do printf '0x%x %s\n' "$ip" "$address"; done >ticks
check "ticks in the kernel begin with what they have interrupted" awk '$1 != $2 { other++ } END { exit NR < 10 || other }' ticks
kl stat --json -e 'fn:vfs_write:stack' -- dd if=/dev/zero of=/dev/null count=1 status=none
check "a hooked function is the first" test "$(frames "$first.keys.kstack" | cut -d' ' -f1-2)" = "vfs_write ksys_write"
kl live --json -o live.json -e syscall_entry_getppid:stack -- "$chain" call 3
check "live" test "$(frames '[.[] | select(.event == "syscall_entry_getppid")][0].stacks.ustack' live.json |
	sed 's/ main.*//')" = "chain_c chain_b chain_a"
kl stat --json -e 'fn:vfs_write:stack(kernel)' -- dd if=/dev/zero of=/dev/null count=1 status=none
check "with the kernel's trace only" jq -e '.rules[0].entries[0].keys | has("kstack") and (has("ustack") | not)' "$work/out"
kl stat -e 'sched_switch:stack(both)' -- true
expect "a kind of trace that is not there" 2
says err 'expected kernel or user' "is reported"
kl stat -e 'sched_switch:stack by pid, tid, ppid' -- true
expect "more keys than there is room for" 2
kl record -e 'sched_switch:stack by pid' -o never -- true
expect "records are not kept by keys" 2

kl_nobody stat --json -e tick:200:stack -- "$chain" spin 500
expect "without privilege" 0
is_chain "one's own programs" '[.[0].rules[0].entries[] | select(.keys.ustack[0].symbol == "chain_c")][0].keys.ustack'
check "and nothing of the kernel" jq -e '.rules[0].entries | all(.keys | has("kstack") | not)' "$work/out"
kl_nobody record -e 'syscall_entry_getppid:stack(kernel)' -o never -- true
expect "the kernel's traces are not for everyone" 2
says err 'not permitted to see kernel stack traces' "as is said"
kl_nobody stat -e 'tick:99:count by kstack' -- true
expect "which is refused" 1
says err 'kstack.*CAP_SYS_ADMIN' "with the reason"
kl_nobody record -v kstack -o never -- true
expect "as a variable, too" 1
