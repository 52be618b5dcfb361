# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# Probe points as other tools write them are answered with those of kernlens, which work.

# answered THEIRS OURS [COMMAND...]: -e THEIRS is refused, and names OURS, which counts.
answered() {
	local theirs=$1 ours=$2
	shift 2
	(($#)) || set -- true
	kl stat -e "$theirs" -- "$@"
	expect "-e $theirs" 2
	check "is $ours" grep -qxF "kernlens: kernlens calls this $ours" err
	kl stat -e "$ours" -- "$@"
	expect "-e $ours" 0
}

answered openat syscall_entry_openat,syscall_exit_openat
answered sys_openat syscall_entry_openat,syscall_exit_openat
answered sys_enter_openat syscall_entry_openat
answered syscalls:sys_exit_openat syscall_exit_openat
answered tracepoint:syscalls:sys_enter_openat syscall_entry_openat
answered raw_syscalls:sys_enter tp:sys_enter
answered tracepoint:sched:sched_switch sched_switch
answered tracepoint:maple_tree:ma_op tp:ma_op
answered kprobe:vfs_read fn:vfs_read
answered kretprobe:vfs_read fn:vfs_read:ret
answered fentry:vfs_read fn:vfs_read
libc=$(readlink -f /lib/x86_64-linux-gnu/libc.so.6)
answered "uretprobe:$libc:malloc" "uprobe:$libc:malloc:ret"
answered profile:hz:99 tick:99
answered context-switches sched_switch
answered page-faults x86_exceptions_page_fault_user
kl stat -e 'sched_switch,kprobe:vfs_read/1/:count' -- true
says err 'calls this fn:vfs_read' "one of several, with a filter and a handler"
check "the mark is below it" grep -qx '  *^' err
kl stat -e 'sched:sched_switch/nosuch/' -- true
says err 'unknown name "nosuch"' "our own names are not explained"
kl stat -e nosuchevent -- true
silent err 'calls this' "nor unknown names"
