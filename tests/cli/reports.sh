# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# kernlens report sched, states ...: compared with the kernel's accounting and with ftrace.

tracing=/sys/kernel/tracing
mountpoint -q $tracing || mount -t tracefs none $tracing

# ftrace EVENT...: enables events of ftrace, with a clock that can be compared; without any, resets it.
ftrace() {
	echo 0 >$tracing/tracing_on
	echo >$tracing/set_event
	for event; do
		echo "$event" >>$tracing/set_event
	done
	echo mono >$tracing/trace_clock
	echo 16384 >$tracing/buffer_size_kb
	echo >$tracing/trace
	(($#)) && return
	echo local >$tracing/trace_clock
	echo 1408 >$tracing/buffer_size_kb
	echo 1 >$tracing/tracing_on
}

# with_ftrace COMMAND: the command, with ftrace on meanwhile, as words for sh.
with_ftrace() {
	echo "echo 1 >$tracing/tracing_on; $1; echo 0 >$tracing/tracing_on"
}

# ------------------------------------------------------------- sched, states

ftrace sched:sched_switch sched:sched_wakeup sched:sched_wakeup_new
kl record -a -o t -e sched_switch,sched_wakeup,sched_wakeup_new,sched_waking,sched_process_fork -- \
	sh -c "$(with_ftrace "python3 $here/reports.py work >stat")"
expect "tasks that compete for CPUs are recorded" 0
cat $tracing/trace >seen
kl report sched --json t
expect "report sched" 0
python3 "$here/reports.py" sched "$work/out" seen stat >compared
tap "compared with ftrace and schedstat" compared
one=$(cut -d' ' -f1 <stat | head -n1)
kl report sched --json t -p "$one"
json "one task" "[.tasks[].tid] == [$one] and all(.worst[]; .tid == $one) and
	([.histogram[] | .woken + .preempted] | add) == .tasks[0].wakeups + .tasks[0].preempted"
kl report sched t --top 2
says out '^[0-9,]+ wakeups, from each to running: mean [0-9.]+ [mu]?s, half within' "a summary"
says out '^ *tid +task +runs +running +moves +waited +woken +mean +50% +99% +worst +preempted +for +worst *$' \
	"a table of tasks"
says out '^ *\.\.\. and [0-9]+ more \(--top 0 shows all\)$' "of which the first rows are shown"
says out '^ *waited +until +CPU +task +since it was +by +ran before *$' "the longest waits"
says out '^ *[0-9.]+ [mu]s +[0-9.]+ s +[01] +[^ ]+-[0-9]+ +(woken|preempted) ' "with time, place and tasks"
says out '^ *from +below +woken +preempted *$' "a histogram"
kl report sched t --csv
says out '^tid,pid,comm,runs,run_ns,migrations,wait_ns,wakeups,' "as CSV"
says out "^$one,$one,\"python3\"," "with all tasks"
kl report states --json t
expect "report states" 0
python3 "$here/reports.py" states "$work/out" stat >compared
tap "compared with schedstat" compared
kl report states t
says out '^ *[0-9]+ +python3 +[0-9.]+ ms +[0-9.]+ m?s +.* [ #+.!s]+$' "states as text"
kl report states t --svg
check "as SVG" python3 -c 'import sys, xml.dom.minidom; d = xml.dom.minidom.parse(sys.argv[1]);
assert len(d.getElementsByTagName("path")) > 10' "$work/out"
kl report states t --svg --json
expect "one format at a time" 2
kl report sched t --svg
expect "only states is drawn" 2
kl report syscalls t --csv
expect "the other tables have no CSV" 2

# ------------------------------------------------------------------------ io

modprobe -a loop ext4
modprobe null_blk nr_devices=1 irqmode=2 completion_nsec=2000000
truncate -s 64M image
loop=$(losetup -f --show "$PWD/image")
mkdir mounted
ftrace block:block_rq_issue block:block_rq_complete
cat >disks <<-END
	mkfs.ext4 -q $loop
	mount $loop mounted
	dd if=/dev/urandom of=mounted/file bs=64k count=100 status=none
	sync
	umount mounted
	dd if=/dev/zero of=/dev/nullb0 bs=4k count=40 oflag=direct status=none
	dd if=/dev/nullb0 of=/dev/null bs=16k count=20 iflag=direct status=none
END
cat /proc/diskstats >before
kl record -a -o d -e block -- sh -c "$(with_ftrace "sh disks")"
expect "disks that are used are recorded" 0
cat /proc/diskstats >after
cat $tracing/trace >seen
losetup -d "$loop"
kl report io --json d
expect "report io" 0
python3 "$here/reports.py" io "$work/out" seen before after "${loop#/dev/}" >compared
tap "compared with ftrace and diskstats" compared
kl report io d
says out '^[0-9,]+ requests, [0-9.]+ [kM]B, from issue to completion: mean ' "a summary"
says out '^ *nullb0 +write +40 +164 kB +0 +1 ' "devices"
says out '^ *[0-9]+ +mkfs.ext4 +[0-9]+ ' "processes"
says out '^ *[0-9.]+ [mu]s +[0-9.]+ s +[01] +[a-z0-9]+ +[a-z]+ +[0-9]+ +[0-9.]+ .?B +[^ ]+-[0-9]+$' "the longest"
says out '^ *4 KiB +8 KiB +[0-9]+ +#+$' "sizes"
kl report io t
expect "a trace without requests" 1
says err 'has no block_rq_issue,block_rq_complete; the report io requires them' "is reported"

# ----------------------------------------------------------------------- irq

ftrace irq:irq_handler_entry irq:irq_handler_exit irq:softirq_entry irq:softirq_exit
echo 1 >$tracing/tracing_on
cat /proc/interrupts /proc/softirqs >before
kl record -a -o i -e 'irq_*,x86_irq_vectors_*' -- sh -c 'cat /proc/interrupts /proc/softirqs >inner
	for i in 1 2; do dd if=/dev/zero bs=1M count=10 status=none | cksum & done >/dev/null
	wait; ls -R /usr/lib/python3 >/dev/null; cat /proc/interrupts /proc/softirqs >inner_end'
expect "interrupts are recorded" 0
cat /proc/interrupts /proc/softirqs >after
echo 0 >$tracing/tracing_on
cat $tracing/trace >seen
kl report irq --json i
expect "report irq" 0
python3 "$here/reports.py" irq "$work/out" seen before inner inner_end after >compared
tap "compared with /proc and ftrace" compared
kl report irq i
says out '^[0-9,]+ interrupts in [0-9.]+ m?s: mean ' "a summary"
says out '^ *- +local_timer +[0-9,]+ +[0-9.]+ ms ' "interrupts"
says out '^ *TIMER +[0-9,]+ +[0-9.]+ ms .* [0-9.]+ [mu]?s$' "softirqs, with how long they were raised"
says out '^ *1 +[0-9,]+ +[0-9.]+ [mun]?s +[0-9,]+ +[0-9.]+ [mun]?s +[0-9,]+ ' "CPUs"
says out '^ *[0-9.]+ [mu]s +[0-9.]+ s +[01] +(device|vector|softirq) +[^ ]+ +([^ ]+-[0-9]+|\(idle\))$' "the longest"

# ------------------------------------------------------------------------ mm

mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
small=/sys/fs/cgroup/kernlens-small
mkdir $small
echo 20M >$small/memory.max
cat >memory <<-END
	python3 $here/reports.py fault >stat
	echo \$\$ >$small/cgroup.procs
	cat /usr/lib/x86_64-linux-gnu/*.so.* | head -c 40M >/dev/null
	python3 -c 'x = bytearray(50000000)'
	:
END
kl record -a -o m -v min_faults,maj_faults \
	-e 'x86_exceptions_page_fault_*,mm_vmscan_*,mm_compaction_*,mark_victim' -- sh memory
expect "memory that is full" 0
cat $small/memory.stat $small/memory.events >memory
rmdir $small
kl report mm --json m
expect "report mm" 0
python3 "$here/reports.py" mm "$work/out" stat memory >compared
tap "compared with /proc and the cgroup" compared
kl report mm m
says out '^[0-9,]+ page faults$' "a summary"
says out '^ *[0-9]+ +python3 +[0-9,]+ +[0-9,]+ +[0-9,]+ +[0-9,]+ +[0-9,]+ +[0-9]+ ' "processes"
says out '^ *cgroup reclaim +[0-9,]+ +[0-9,]+ +[0-9.]+ m?s ' "reclaim"
says out '^ *[0-9.]+ s +python3-[0-9]+ +[0-9.]+ MB +' "who was killed"

# ----------------------------------------------------------------------- net

ip link set lo up
modprobe sch_netem
tc qdisc add dev lo root netem delay 4ms loss 10%
cat /proc/net/snmp /proc/net/dev >before
kl record -a -o n -e net -- python3 "$here/reports.py" network
expect "connections through a queue that loses packets" 0
cat /proc/net/snmp /proc/net/dev >after
tc qdisc del dev lo root
kl report net --json n
expect "report net" 0
python3 "$here/reports.py" net "$work/out" before after >compared
tap "compared with /proc/net" compared
kl report net n
says out '^12 TCP connections, established in: mean [0-9.]+ m?s' "a summary"
says out '^ *python3-[0-9]+ +127.0.0.1:[0-9]+ +-> +127.0.0.1:5555 +[0-9.]+ s +[0-9.]+ m?s +[0-9.]+ m?s +' "connections"
says out '^ *lo +[0-9]+ +[0-9.]+ kB +0 +[0-9.]+ ms ' "devices"
says out '^ *[0-9]+ +tcp_v4_rcv\+0x[0-9a-f]+ +[0-9]+ ' "where packets are dropped"

# The latency profiler measures the same in the kernel.
kl record -a -o u -e sched_switch,sched_wakeup,sched_wakeup_new,sched_waking -- \
	sh -c "'$kernlens' latency --json -- python3 $here/reports.py work >latency.json 2>stat"
expect "beside the latency profiler" 0
kl report states --json u
python3 "$here/reports.py" latency "$work/out" latency.json >compared
tap "the latency profiler has the same times" compared

# What a trace does not have.
kl record -a -o none -e sched_process_exec -- true
kl report sched none
expect "a trace without switches" 1
says err 'has no sched_switch,sched_wakeup; the report sched requires them: kernlens record -a -e sched_switch,' \
	"is reported, with what to record"
kl record -o own -e sched_switch,sched_wakeup,sched_waking,syscalls -- sh -c 'sleep 0.1; sleep 0.1'
kl report sched --json own
json "of selected tasks, others are omitted" '.partial and .omitted > 0 and ([.tasks[].comm] | unique - ["sh", "sleep"]) == []'
kl report states own
says out '^Omitted: [0-9]+ tasks? that the session did not trace$' "and counted"
cp -r t damaged
dd if=/dev/zero of=damaged/cpu0 bs=1 seek=$(($(stat -c %s damaged/cpu0) / 2)) count=64 conv=notrunc status=none
kl report sched damaged
expect "a damaged trace" 0
says err 'missing from this trace: .* in damaged or missing blocks' "losses are printed"
says out '^Records are missing in [0-9]+ places?; what was in progress there is not counted$' "and what they mean"
kl report shed t
says err 'did you mean "sched"' "a near name"
ftrace
