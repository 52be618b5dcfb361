# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# What people who know perf, strace, trace-cmd, bpftrace, htop and similar tools type first, with
# kernlens in place of the tool's name: it works, or the message names the right command.

# works 'WORDS' [PATTERN]: the command line ends with status 0, and prints a matching line.
works() {
	eval "kl $1"
	expect "$1" 0
	[[ ${2-} ]] || return
	cat "$work/err" >>"$work/out"
	says out "$2" "$1: prints what is wanted"
}

# answers 'WORDS' PATTERN: it is refused as a wrong usage, with a message that matches.
answers() {
	eval "kl $1"
	expect "$1: is refused" 2
	says err "$2" "$1: is answered"
}

sleep 1000 &
pid=$!
mkdir task
cd task || exit

# ------------------------------------------------------------------------ perf
works "list" 'sched_switch'
works "list 'sched:*'" 'sched_switch'
works "stat ls" 'sched_switch'
works "stat -a sleep 0.2" 'sched_switch'
works "stat -e sched:sched_switch -a sleep 0.2" 'sched_switch'
answers "stat -e context-switches ls" 'sched_switch'
answers "stat -e syscalls:sys_enter_openat ls" 'syscall_entry_openat'
answers "stat -g ls" '-e EVENT:stack'
answers "report" 'no trace given, and none that record has named is here'
works "record -q ls"
works "report" 'the newest trace here is kernlens-'
works "report syscalls" 'the newest trace here is kernlens-'
works "print" 'sched_process_exec'
trace=$(echo kernlens-*)
works "report -i $trace" 'system call'
answers "script" 'kernlens print TRACE'
answers "record -g ls" '-v kstack,ustack'
works "record -q -v kstack,ustack -o stacks ls"
works "print stacks" 'kstack'
answers "record -F 99 -a sleep 1" 'kernlens profile -F HZ'
works "profile -F 99 -a --duration 0.3" 'samples at 99 Hz'
answers "profile -g ls" '--callees or --callers'
works "stat -a -e tick:99:stack --duration 0.5" 'tick:99'
answers "record -e cycles ls" 'tick:99:stack'
works "record -q -o running -p $pid --duration 0.2"
works "top -n 1 -d 0.5" 'samples? at 99 Hz'
answers "trace ls" 'kernlens live --format strace -- COMMAND'
answers "sched latency" 'kernlens latency -a'
works "latency -a --duration 0.3" 'sleep'
answers "probe --add vfs_read" "kernlens record -e 'fn:FUNCTION' -- COMMAND"
answers "annotate vfs_read" 'kernlens blocks --asm FUNCTION'
answers "lock contention" 'kernlens locks -a --duration 5'
answers "kmem record ls" 'kernlens stat -e mm'

# ---------------------------------------------------------------------- strace
answers "strace ls" 'kernlens live --format strace -- COMMAND'
works "live --format strace ls" 'execve\('
answers "live -f ls" 'new children are always traced'
answers "-f ls" 'kernlens live --format strace'
answers "record -c ls" 'kernlens report syscalls'
works "live --format strace -e openat -- ls" 'openat\(AT_FDCWD'
works "live --format strace -e trace=openat,close ls" 'close\(3'
works "record -q --strace -e openat -o calls ls"
works "print --format strace calls" 'openat\(AT_FDCWD'
answers "live -k ls" '-v ustack'
answers "-p $pid" 'kernlens live -p PID'

# ------------------------------------------------------------------- trace-cmd
works "record -q -e sched_switch -o switches ls"
works "record -q -e all -o all ls"
answers "record -p function -l vfs_read ls" 'is not a process ID'
answers "record -l vfs_read ls" "-e 'fn:FUNCTION'"
answers "start -e sched" 'kernlens record -a'
answers "stop" 'sessions end with the command that has started them'
answers "extract" 'kernlens snapshot SESSION'
answers "stream -e sched" 'kernlens live'
answers "show" 'kernlens print TRACE'
answers "list -e sched" 'kernlens list PATTERN'
answers "list -f" "kernlens blocks 'PATTERN'"
answers "record -b 4096 ls" '--buffer SIZE'
answers "record -C 0 -a sleep 1" "-e 'EVENT /cpu == NUMBER/'"
works "record -q -a -e 'sched_switch /cpu == 0/' -o one sleep 0.2"
answers "record -e sched_switch --filter 'next_prio < 100' ls" "-e 'EVENT /FILTER/'"
works "record -q -a -e 'sched_switch /next_prio < 100/' -o two sleep 0.2"

# -------------------------------------------------------------------- bpftrace
answers "-l '*openat*'" 'kernlens list PATTERN'
works "list '*openat*'" 'syscall_entry_openat'
answers "-e 'tracepoint:sched:sched_switch { @[comm] = count(); }'" 'kernlens live -e EVENTS'
answers "stat -e tracepoint:sched:sched_switch -a sleep 0.2" 'sched_switch'
answers "stat -e kprobe:vfs_read ls" 'fn:vfs_read'
answers "stat -e kretprobe:vfs_read ls" 'fn:vfs_read:ret'
works "stat -a -e 'fn:vfs_read:count by comm' ls" 'fn:vfs_read'
works "stat -e 'syscall_exit_read:hist(ret)' ls" 'syscall_exit_read'
answers "stat -e uretprobe:/bin/bash:readline true" 'uprobe:/bin/bash:readline:ret'
answers "stat -e profile:hz:99 -a sleep 0.2" 'tick:99'
answers "opensnoop" 'kernlens live -a -e syscall_entry_openat'
answers "execsnoop" 'kernlens live -a -e sched_process_exec'
answers "offcputime" 'kernlens latency -a --by stack'
answers "funccount 'vfs_*'" "kernlens stat -a -e 'fn:PATTERN'"

# ------------------------------------------------------------- htop, ps, lsof
answers "htop" 'kernlens proc'
answers "ps aux" 'kernlens proc -a'
answers "proc -p $pid" 'kernlens proc PID'
works "proc $pid" 'sleep'
works "proc -a --by cpu" 'kernlens'
answers "proc --sort cpu" '--by COLUMN'
answers "lsof -p $pid" 'kernlens proc PID --show files'
works "proc $pid --show files" '/dev/null|pipe|/'
answers "pstack $pid" 'kernlens proc PID --show stack'
works "proc $pid --show stack" 'nanosleep'
answers "iotop" 'kernlens proc -a --by io'
answers "renice 5 $pid" 'kernlens set PID nice=5'
works "set $pid nice=5"
answers "taskset -p $pid" 'kernlens set PID affinity=0-1'
answers "vmstat 1" 'kernlens history'

# ----------------------------------------------------------------- any command
answers "ls -l" 'kernlens record -- ls'
answers "/bin/ls -l" 'kernlens record -- /bin/ls'
answers "version" 'kernlens --version'
answers "flamegraph" 'kernlens profile --html FILE'
kill "$pid"
wait "$pid" 2>/dev/null
cd ..
