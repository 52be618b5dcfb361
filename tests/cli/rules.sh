# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# What -e accepts beyond names: filters, rules with tables, and probe points that no table lists.

# rule FILTER: applies FILTER to the first rule in JSON.
rule() {
	jq -e ".rules[0] | $1" "$work/out"
}

# A known number of calls: dd reads and writes that many blocks.
blocks=(dd if=/dev/zero of=/dev/null bs=512 count=1000 status=none)

kl record -q -e 'syscall_exit_read /ret == 512/' -o filtered -- "${blocks[@]}"
expect "a filter on a field" 0
check "lets through what it says, and only that" bash -c \
	'"$0" print --format json filtered | jq -s -e "length == 1000 and all(.fields.ret == 512)"' "$kernlens"
kl record -q -e 'syscall_entry_openat /filename == "/etc/hostn*"/' -o texts -- cat /etc/hostname
expect "a filter on a text" 0
check "a prefix" bash -c \
	'"$0" print --format json texts | jq -s -e "length == 1 and .[0].fields.filename == \"/etc/hostname\""' "$kernlens"
kl record -q -e 'sched_switch /nxt_tid == 1/' -o wrong -- true
expect "a name that is not there is refused" 2
says err 'filter:1:1: .*did you mean "next_tid"' "with what is near, and where"

kl stat --json -e 'syscall_entry_write :count by pid, comm' -- "${blocks[@]}"
expect "count by keys" 0
check "counts exactly" rule '.entries[0].count == 1000 and .entries[0].keys.comm == "dd"'
kl stat --json -e 'syscall_exit_write /ret > 0/ :sum(ret)' -- "${blocks[@]}"
check "sum adds up exactly" rule \
	'.entries[0] | .count == 1000 and .sum == 512000 and .least == 512 and .greatest == 512'
kl stat --json -e 'syscall_exit_write /ret > 0/ :hist(ret)' -- "${blocks[@]}"
check "hist: powers of two" rule '.entries[0].buckets == {"512 to 1023": 1000}'
kl stat --json -e 'syscall_exit_write /ret > 0/ :hist(ret, 100, 12)' -- "${blocks[@]}"
check "hist: of one width" rule '.entries[0].buckets == {"512 to 611": 1000}'
kl stat -e 'syscall_entry_write :count by comm' -- "${blocks[@]}"
says err '1,000  dd' "as a table"
kl stat -e 'sched_switch :hst(1)' -- true
expect "an unknown handler is refused" 2
kl stat -e 'sched_switch :hist' -- true
expect "and one without its argument" 2

# A flag: only events between two other events.
kl stat --json -e 'syscall_entry_openat /filename == "/dev/null"/ :set(opened)' \
	-e 'syscall_entry_close :clear(opened)' -e 'syscall_entry_dup2 /flag(opened)/ :count by comm' \
	-- "${blocks[@]}"
expect "flags" 0
check "are asked by filters" jq -e '.rules[2].entries == [{"count": 1, "keys": {"comm": "dd"}}]' "$work/out"

# A worker freezes the session; there are enough calls for it to happen in between.
kl record -q --overwrite -e syscalls -e 'syscall_entry_write :freeze(10)' -o frozen -- \
	dd if=/dev/zero of=/dev/null bs=512 count=100000 status=none
expect "a freeze" 0
check "keeps what led to it, and not what came much later" bash -c \
	'"$0" print --format json frozen | jq -s -e "[.[] | select(.event == \"syscall_entry_read\")] | length | . > 0 and . < 90000"' "$kernlens"
(sleep 2 && exec /bin/true) &
begun=$SECONDS
kl record -q -a --overwrite -e sched -e 'sched_process_exec /filename == "/bin/true"/ :freeze(10)' \
	--duration 60 -o flight
expect "the recording ends with a freeze" 0
check "and not much later" test $((SECONDS - begun)) -lt 30
check "what led to it is there" bash -c \
	'"$0" print --format json flight | jq -s -e "[.[] | select(.event == \"sched_switch\")] | length > 10"' "$kernlens"
wait

kl record -q -e sched_process_exec -e 'syscall_entry_exit_group :alarm("the end")' -o alarmed -- true
check "an alarm is an event" bash -c \
	'"$0" print --format json alarmed | jq -s -e "[.[] | select(.event == \"alarm\").fields.text] == [\"the end\"]"' "$kernlens"

kl stat --json -e 'fn:vfs_write' -- "${blocks[@]}"
expect "a function" 0
check "is counted" jq -e '.events[0] | .name == "fn:vfs_write" and .count >= 1000' "$work/out"
kl record -q -e 'fn:vfs_write /arg3 == 512/' -o function -- "${blocks[@]}"
check "is recorded" bash -c \
	'"$0" print --format json function | jq -s -e "length == 1000 and all((.fields.count // .fields.arg3) == 512)"' "$kernlens"
if has_types; then
	kl record -q -e 'fn:vfs_write /count == 512/' -o named -- "${blocks[@]}"
	check "its arguments have their names" bash -c \
		'"$0" print --format json named | jq -s -e "length == 1000 and all(.fields.count == 512)"' "$kernlens"
	kl record -q -e fn:do_mmap -o stacked -- true
	says err 'do_mmap: .* is passed on the stack: omitted' "an argument that is left out is named"
	kl stat --json -e 'fn:vfs_write :count by current->tgid' -- "${blocks[@]}"
	check "the kernel's own data as a key" rule '.entries[0].count >= 1000 and .faults == 0'
else
	skip "names of arguments, what is left out, the kernel's own data" "the kernel does not tell its types"
fi
check "babeltrace2 reads them" bash -c 'babeltrace2 function 2>&1 >/dev/null | { ! grep -q .; }'
kl stat --json -e 'fn:vfs_write:ret :sum(ret)' -- "${blocks[@]}"
check "its return value" rule '.entries[0] | .count >= 1000 and .sum >= 512000'
# Some functions of this name cannot be hooked.
kl stat --json -a -e 'fn:s*:ret' -- grep -q . /proc/self/stat
expect "a wide pattern" 0
says err '[1-9][0-9]* matching functions? (is|are) omitted, because the kernel cannot trace them' "says how many it leaves out"
json "and counts the others" 'any(.events[]; .name == "fn:single_open:ret" and .count > 0)'
kl stat --json -a -e 'fn:*' -- grep -q . /proc/self/stat
expect "all functions" 0
json "are counted" '[.events[] | select(.name == "fn:single_open" or .name == "fn:vfs_read").count > 0] == [true, true]'
kl stat -e 'fn:vfs_writ' -- true
expect "a function that is not there is refused" 1
says err 'vfs_write' "with what is near"
if has_types; then
	kl stat --json -e 'tp:sys_enter :count by comm' -- "${blocks[@]}"
	check "a tracepoint" rule '.entries[0].count >= 2000'
else
	skip "a tracepoint" "the kernel does not tell its types"
fi
kl stat --json -a -e 'tick:100 :count' -- sleep 1
check "a tick: a hundred times a second on each CPU" jq -e \
	--argjson cpus "$(nproc)" '.events[0].count / $cpus / .seconds | . > 60 and . < 140' "$work/out"
kl stat --json -a -e "uprobe:$(command -v bash):main" -- bash -c :
check "a function of a program" jq -e '.events[0].count == 1' "$work/out"

kl_nobody stat -e 'fn:vfs_write' -- true
expect "functions are not for everybody" 1
kl_nobody stat --json -e 'syscall_exit_write /ret == 512/ :count by comm' -- "${blocks[@]}"
expect "rules are" 0
check "on one's own processes" rule '.entries == [{"count": 1000, "keys": {"comm": "dd"}}]'

# A module's tracepoints and functions, with the types in its BTF: the root file system's.
has_types || {
	skip "tp: and fn: of a module" "the kernel does not tell its types"
	return
}
kl_nobody stat -e 'sched_switch :count by current->pid' -- true
expect "rules of ordinary users cannot read the kernel's data" 1
kl record -q --no-dump -a -e 'tp:9p_client_r*,fn:p9_client_open' -v 'size=fid->clnt->msize' -o module -- \
	head -c 1 /etc/hostname
expect "tp: and fn: of a module" 0
kl print module --json
check "their arguments have names" jq -e -s '
	any(.[]; .event == "tp:9p_client_req" and (.fields | has("clnt") and has("type") and has("tag"))) and
	any(.[]; .event == "tp:9p_client_res") and
	any(.[]; .event == "fn:p9_client_open" and (.fields | has("fid") and has("mode") and .size == 512000))' out
