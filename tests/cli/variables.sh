# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
# One kernel: that values are right on each kernel is tested with the module.
# Variables: listed, recorded with -v, printed in all formats, and compared with other sources.

kl list variables
expect "list variables" 0
says out '^  rss +task +B +Resident memory of the process'
says out '^- (cycles|instructions) .*\[this CPU has no' "an unavailable one has a reason"
says out 'available_memory .*\(.*200 instructions\)' "and what it costs"
kl list variables open_files
says out 'cost +counts bits'
kl list variables --json
json "list variables --json" \
	'length > 100 and all(.[]; .name and .type and .access and has("unit") and has("cost"))'
json "at least 45 are available" '[.[] | select(.available)] | length >= 45'
kl list variables nosuch
expect "list variables that match nothing" 1

kl record -q --no-dump -v nosuch -- true
expect "-v of an unknown variable" 2
kl record -q --no-dump -v rss,rss -- true
expect "-v of one twice" 1
kl record -q --no-dump -v cycles -- true
expect "-v of an unavailable one" 1
says err 'cycles is not available here: this CPU has no'
kl_nobody record -q --no-dump -v irq_ip -o "$work/n" -- true
expect "-v of one that needs privilege" 1

kl record -q --no-dump -e sched,syscalls -v rss,nice,comm -v state,in_irq,'cpu_*_time' -o trace -- \
	sh -c 'ls /; sleep 0.01'
expect "record -v" 0
kl print trace
says out ' sched_switch: .*\{rss=[0-9]+ nice=-?[0-9]+ comm=[^ ]+ state=[^ ]+ in_irq=0 cpu_user_time=[0-9]+ .*\}$'
check "each line has all variables" test "$(grep -c '{rss=' out)" -eq "$(wc -l <out)"
kl print trace --format csv
says out '^time_ns,.*,variable_rss,variable_nice,variable_comm,variable_state,variable_in_irq,variable_cpu_user_time,' "CSV has a column for each"
kl print trace --json
check "each object has them" jq -e -s 'all(.[]; .variables | length == 8)' out
check "a state has a meaning" grep -q '"variable_meanings":{"state":"R"' out
babeltrace2 trace >bt 2>bt.err
check "babeltrace2 reads it without a warning" test ! -s bt.err
check "and sees as many events" test "$(wc -l <bt)" -eq "$(wc -l <out)"
check "and the same values where they are written" bash -c '
	babeltrace2 trace | grep -o " rss = { [0-9]*" | grep -o "[0-9]*$" | sort -u >a
	jq -r .variables.rss out | sort -u >b
	test -s a && cmp a b'
kl live -v nvcsw,uid -e syscall_entry_geteuid -- id -u
says out ' syscall_entry_geteuid: \{nvcsw=[0-9]+ uid=0\}$'
chmod 777 "$work"
kl_nobody record -q --no-dump -e syscalls -v uid,free_memory,user_ip -o "$work/own" -- ls /
expect "without privilege" 0
kl print own --json
check "own tasks' values are there" jq -e -s 'all(.[]; .variables.uid == 65534 and .variables.free_memory > 0)' out

kl_nobody record -q --no-dump -e sched -v uid,rss,comm,load_1,user_stack_used -o "$work/about" -- sh -c 'for i in 1 2 3; do ls / | cat; done'
expect "without privilege, events that speak of own tasks while others run" 0
kl print about --json
check "others' values are blank" jq -e -s '[.[] | select(.tid == 0)] | length > 0 and
	all(.[]; .comm == "" and .variables.uid == 0 and .variables.rss == 0 and .variables.comm == "" and
		.variables.user_stack_used == 0)' out
check "the machine's are not" jq -e -s 'any(.[]; .tid == 0 and .variables.load_1 > 0)' out

# Every available variable compared with what the task itself reads in /proc; in three recordings,
# as one holds at most 63 variables and 512 bytes.
mkdir -p cgroup2 && mount -t cgroup2 none cgroup2 && export KL_CGROUP2=$work/cgroup2
mapfile -t names < <("$kernlens" list variables --json | jq -r '.[] | select(.available and .name != "task") | .name')
third=$((${#names[@]} / 3 + 1))
for ((at = 0; at < ${#names[@]}; at += third)); do
	list=$(IFS=, && echo "${names[*]:at:third}")
	kl record -q --no-dump --force -e syscall_entry_getppid -v "$list" -o figures -- \
		python3 "$here/variables.py" probe "$work/sources"
	expect "record $third variables of a task that looks at itself" 0
	kl print figures --json
	check "variables ${names[at]} and so on are what other sources say" bash -c \
		"python3 '$here/variables.py' check sources <out"
	sed 's/^/# /' check
done
umount cgroup2

# Context switches, run queues and places to sleep, beside what /proc and sched_switch say.
kl record -a -q --no-dump -e sched_switch,syscalls -v prev_tid,prev_comm,next_tid,next_comm -o switches -- \
	bash -c 'for i in 1 2 3; do ls / | cat; done'
expect "record the last context switch" 0
kl print switches --json
check "it is what sched_switch says" bash -c "python3 '$here/variables.py' switches <out"
sed 's/^/# /' check
kl stat -e 'syscall_entry_geteuid:count by next_comm' -- python3 -c 'import os, time; time.sleep(0.1); os.geteuid()'
says err '^ +[1-9] +python3$' "a program reads it, too"
kl_nobody record -q --no-dump -v next_tid -o "$work/n" -- true
expect "an ordinary user may not record it" 1
says err 'next_tid reports on the whole system: it needs CAP_PERFMON'

if [[ $("$kernlens" list variables wchan --json | jq '.[0].available') == true ]]; then
	kl record -a -q --no-dump -e sched_switch,syscall_entry_getpid -v wchan -o channels -- \
		python3 "$here/variables.py" sleep "$work/slept"
	expect "record where tasks go to sleep" 0
	kl print channels --json
	check "it is what /proc/PID/wchan says" bash -c "python3 '$here/variables.py' asleep slept <out"
	sed 's/^/# /' check
	kl_nobody record -q --no-dump -v wchan -o "$work/n" -- true
	expect "an ordinary user may not record it" 1
	says err 'needs CAP_SYS_ADMIN'
else
	skip "wchan" "the processor does not let in_sched_functions() be called"
fi

if has_types; then
	kl record -q --no-dump -e syscall_entry_getppid -v nr_running -o loads -- \
		python3 "$here/variables.py" load "$work/loaded"
	expect "record the length of the run queue" 0
	kl print loads --json
	check "it grows by the tasks that are started" bash -c "python3 '$here/variables.py' loaded loaded <out"
	sed 's/^/# /' check
	kl_nobody record -q --no-dump -v nr_running -o "$work/n" -- true
	expect "an ordinary user may not record it" 1

	# a -> b -> c -> plain, and d1 -> d2/sub with d2 -> real.
	mkdir -p links/real/sub && touch links/plain links/real/sub/file
	ln -s b links/a && ln -s c links/b && ln -s plain links/c
	ln -s d2/sub links/d1 && ln -s real links/d2
	kl record -q --no-dump -e fn:security_inode_follow_link,syscall_exit_openat \
		-v link_count,link_depth,'ino=inode->i_ino' -o followed -- cat links/a links/d1/file
	expect "record links that are followed" 0
	kl print followed --json
	wanted=
	for link in a,1,1 b,2,1 c,3,1 d1,1,1 d2,2,2; do
		IFS=, read -r name count depth <<<"$link"
		wanted+="$(stat -c %i "links/$name") $count $depth"$'\n'
	done
	jq -r 'select(.event != "syscall_exit_openat") |
		"\(.fields.ino) \(.variables.link_count) \(.variables.link_depth)"' out >got
	# shellcheck disable=SC2016 # for the inner shell
	check "each is counted, with those it is inside of" bash -c \
		'printf %s "$1" | while read -r line; do grep -qxF "$line" got || exit 1; done' - "$wanted"
	check "and outside of a lookup there is none" jq -e -s '
		[.[] | select(.event == "syscall_exit_openat").variables] | length > 2 and
		all(.[]; .link_count == -1 and .link_depth == -1)' out
else
	skip "run queues and links" "the kernel does not tell its types"
	kl record -q --no-dump -v nr_running -- true
	expect "which is an error" 1
	says err 'nr_running is not available here: there is no /sys/kernel/btf/vmlinux'
fi

# Expressions: the session's, compared with equivalent rows; and over an event's arguments.
has_types || {
	skip "expressions" "the kernel does not tell its types"
	return
}
kl record -q --no-dump -e sched,syscalls -v 'pid,threads,switches=current->nvcsw,nvcsw,name=current->comm,comm' \
	-v 'current->tgid,current->signal->nr_threads,jiffies,current->mm->owner->comm,runqueues.nr_running+1' \
	-o expressions -- bash -c 'for i in 1 2 3; do ls / | cat; done'
expect "record -v EXPRESSION" 0
kl print expressions --json
check "expressions say what variables say" jq -e -s 'length > 100 and all(.[].variables;
	.pid == .current_tgid and .threads == .current_signal_nr_threads and
	.switches == .nvcsw and .name == .comm and .runqueues_nr_running_1 >= 1)' out
# shellcheck disable=SC2016 # for jq
check "jiffies of a CPU never go back" jq -e -s 'group_by(.cpu) |
	all(.[]; [.[].variables.jiffies] as $j | $j == ($j | sort)) and length > 0' out
check "text behind two pointers" jq -e -s '[.[] | select(.event == "syscall_entry_getdents64")] |
	length > 0 and all(.[]; .comm == "ls" and .variables.current_mm_owner_comm == "ls")' out
cp /etc/passwd known
kl record -q --no-dump -e 'fn:vfs_read,fn:vfs_read:ret' -v 'ino=file->f_inode->i_ino' \
	-v 'file->f_path.dentry->d_name.name,ret' -o fields -- head -n 1 known
expect "-v EXPRESSION of arguments" 0
kl print fields --json
# shellcheck disable=SC2016 # for jq
check "is a field of the events that have them" jq -e -s --argjson ino "$(stat -c %i known)" '
	[.[] | select(.fields.file_f_path_dentry_d_name_name == "known")] |
	length > 0 and all(.[]; .fields.ino == $ino and .event == "fn:vfs_read")' out
babeltrace2 expressions >bt 2>bt.err
check "babeltrace2 reads expressions without a warning" test -s bt -a ! -s bt.err
kl record -q --no-dump -e fn:vfs_read -v 'fil->f_inode' -- true
expect "-v of an argument that no event has" 2
says err '1:1: unknown name "fil"; did you mean "file"'
kl record -q --no-dump -v 'current->nosuch' -- true
expect "-v of an unknown member" 2
says err '^ {11}\^'
kl record -q --no-dump -v 'a=jiffies,a=jiffies+1' -- true
expect "-v with one name twice" 1
kl_nobody record -q --no-dump -v jiffies -o "$work/n" -- true
expect "-v EXPRESSION needs privilege" 1
