# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# kernlens latency: programs whose waits are known, each output format, and what other users can
# see.

kl latency --json -- sh -c 'sleep 1; true | sleep 0.2'
expect "a profile of a command" 0
is_json "as JSON"
json "each task's states add up to its time" \
	'.tasks | length > 3 and all(([.states[].ns] | add) - .elapsed_ns | fabs < 16)'
# A kernel with checkers may be late.
longest=13e8
[[ $(uname -r) != *-@(debug|kcsan) ]] || longest=3e9
# The timer is armed before the task leaves the CPU.
json "a sleep has its real length" \
	"([.tasks[] | select(.comm == \"sleep\").states | .running.ns + .runnable.ns] | add) as \$awake
	 | [.waits[] | select(.comm == \"sleep\" and .reason == \"nanosleep\")] | length == 2 and
	 (map(.ns) | max >= 1e9 - \$awake and max < $longest)"
json "woken by a timer" \
	'[.waits[] | select(.reason == "nanosleep") | .woken_by] | all(length == 1 and .[0].kind == "timer" and
	 .[0].name == "timer hrtimer_wakeup")'
json "at its place in the kernel and in the program" \
	'.waits[] | select(.reason == "nanosleep") | ([.kstack[].symbol] | index("do_nanosleep")) and
	 (.ustack | length > 0) and .syscall == "clock_nanosleep"'
json "who waited for it was woken by it, for a timer" \
	'[.waits[] | select(.comm == "sh" and .reason == "child")][0].woken_by |
	 .[0].kind == "task" and (.[0].name | startswith("sleep/")) and .[1].name == "timer hrtimer_wakeup" and
	 all(.certain)'
json "nothing was lost" '.lost | .tasks == 0 and .events == 0 and .waits == 0'

kl latency -- sh -c 'sleep 0.2'
says err '^ +pid +process +running +runnable' "a table of times"
says err '^ +[0-9]+ +sleep ' "with the command's processes"
says err 'sleep/[0-9]+ +nanosleep +timer hrtimer_wakeup' "and one of waits"
kl latency --by reason -- sh -c 'sleep 0.1'
says err '^ +[0-9.]+ ms +1 .* nanosleep +sleep$' "by reason"
kl latency --by waker -- sh -c 'sleep 0.1'
says err 'timer hrtimer_wakeup +sleep +nanosleep$' "by waker"
kl latency --by thread -a --duration 0.3
says err '^ +tid +thread' "by thread, of all tasks"
kl latency --by stack --waker-stacks --depth 5 -- sleep 0.1
says err '^        do_nanosleep\+0x' "by call trace"
says err '^        hrtimer_wakeup\+0x' "with the waker's"
kl latency --json --depth 5 -- sleep 0.1
json "as deep as --depth requests" '[.waits[] | .kstack, .ustack | select(.) | length] | max == 5'
kl latency --sums -- sleep 0.1
says err '^ +[0-9]+ +sleep .*[0-9] ms' "times alone"
silent err 'woken by' "without waits"
kl latency -i 0.5 -a --duration 8
check "again and again" test "$(grep -c seconds "$work/err")" -ge 3

kl latency --folded --svg graph.svg --html graph.html -- sh -c 'sleep 1 | cat'
says out '^sleep;(.*;)?__x64_sys_clock_nanosleep;.*;do_nanosleep;schedule;__schedule [0-9]+$' "folded"
says out '^cat;.*;ksys_read;vfs_read;(anon_)?pipe_read;' "with who waits for it"
check "each line ends with a number" test -z "$(grep -vE ' [0-9]+$' "$work/out")"
check "the picture is XML" python3 -c 'import sys, xml.dom.minidom as m; m.parse("graph.svg")'
check "and has the functions" grep -q '<title>do_nanosleep: [0-9]* us, [0-9.]*%</title>' graph.svg
check "and loads nothing from other sites" bash -c '! grep -oE "(href|src)=|https?://[^\"]*" graph.html | grep -v http://www.w3.org/2000/svg'
check "the page has it, too" grep -q '<title>do_nanosleep' graph.html
kl latency -o table.txt -- true
check "to a file" grep -q 'process' table.txt
check "only their owner may read the files" test "$(stat -c %a graph.svg graph.html table.txt | xargs)" = '600 600 600'

# Users choose the names of their tasks.
odd=$'odd\n\e[31mred'
cp "$(command -v sleep)" "$odd"
for by in stack waker reason process; do
	kl latency --by $by --waker-stacks -- sh -c './"$0" 0.1; true' "$odd"
	says err 'odd\?\?\[31mred' "--by $by: names are plain"
	silent err $'\e|^.\\[31m' "--by $by: and begin no line"
done
kl latency --folded --svg odd.svg -- ./"$odd" 0.1
says out '^odd\?\?\[31mred;' "in a flame graph, too"

if modprobe -q null_blk irqmode=2 completion_nsec=5000000 gb=1; then
	kl latency --json -- dd if=/dev/nullb0 of=/dev/null bs=4k count=20 iflag=direct status=none
	# On a busy machine the kernel may complete some reads in a softirq.
	json "reads of a disk are waits for I/O, woken by the disk's timer" \
		'[.waits[] | select(.comm == "dd" and .state == "io" and .syscall == "read")] |
		 (map(.count) | add) >= 20 and (map(.ns) | add) > 8e7 and
		 all(.woken_by[0] | .kind != "task" or (.name | startswith("ksoftirqd"))) and
		 ([.[] | select(.woken_by[0] | .kind == "timer" and
		 (.name | startswith("timer null_cmd_timer_expired"))) | .count] | add) > 10'
	json "at their place in the kernel" \
		'[.waits[] | select(.comm == "dd" and .state == "io" and .syscall == "read") | [.kstack[].symbol]] |
		 length > 0 and all(index("io_schedule") < index("blkdev_read_iter") and
		 index("blkdev_read_iter") < index("vfs_read"))'
	rmmod null_blk
fi

kl latency --json --top 1 -- sh -c 'sleep 0.1; sleep 0.1'
json "one wait" '.waits | length == 1'
kl latency --by nonsense -- true
expect "a wrong --by" 2
kl latency --sums --folded -- true
expect "sums have no traces" 2
kl latency -- sh -c 'exit 7'
expect "the command's status" 7

# A process that hangs: in what, since when, and who can end it.
mkfifo gate
sleep 1000 >gate &
writer=$!
cat <gate &
reader=$!
began=$EPOCHREALTIME
sleep 2
kl latency -p $reader --duration 0.5
says err "^  cat/$reader sleeps since [0-9-]+ [0-9:]+; it waits for$" "a task that hangs is named"
says err '^  data to read, in read, for [0-9.]+ s$' "with what it waits for"
says err "^    writer: sleep, process $writer, through its descriptor 1$" "and who can end it"
least=$(bc <<<"$EPOCHREALTIME - $began - 1")
kl latency -p $reader --duration 0.5 --json
elapsed=$(bc <<<"$EPOCHREALTIME - $began + 0.1")
json "since when" ".asleep[0] | .tid == $reader and .asleep_ns / 1e9 > $least and .asleep_ns / 1e9 < $elapsed"
json "in JSON, too" ".asleep[0] | .reason == \"read\" and .syscall == \"read\" and
	(.others | any(.pid == $writer and .role == \"writer\"))"
kl proc $reader -v asleep_time --json
json "as the variable says" ".processes[0].asleep_time / 1e9 > $least"
kl proc $$ -v asleep_time --json
kl proc $reader --show wait
says out '^  data to read, in read, for [0-9.]+ s$' "the page about a process has it, too"
kill $writer
wait $reader
kl latency -p $$ --duration 0.3 --json
json "one that runs now and then does not hang" '.asleep | all(.asleep_ns > 1.5e8)'

"$kernlens" latency -a --duration 20 --name shown >/dev/null 2>&1 &
profile=$!
wait_until bash -c '"$0" status --json | jq -e ".sessions[] | select(.name == \"shown\").running"' "$kernlens"
# Two sleeps, so that the first wait has ended.
sh -c 'sleep 0.3; sleep 0.1'
cat /proc/kernlens/latency >proc.txt
kill -INT $profile
wait $profile
check "/proc has the profiles" grep -qE '^session [0-9]+ shown: [0-9]+ ms' proc.txt
check "and the waits in order" awk '/^[0-9]+ [0-9]+ [0-9]+ [0-9]+ / { if (n++ && $1 > last) exit 1; last = $1 }
	END { exit n < 3 }' proc.txt
check "with functions" grep -qE '^    do_nanosleep\+0x' proc.txt
check "and places in files" grep -qE '^    .*libc[^ ]*\+0x[0-9a-f]+$' proc.txt
check "none is left" bash -c '! grep -q ^session /proc/kernlens/latency'

"$kernlens" latency -a --duration 20 >/dev/null 2>&1 &
profile=$!
sleep 0.5
check "/proc shows other users nothing" bash -c 'setpriv --reuid 65534 --regid 65534 --clear-groups -- \
	cat /proc/kernlens/latency >other.txt; head -n 1 other.txt | grep -q "^0 of 0 kinds of waits in 0 profiles"'
kill -INT $profile
wait $profile
kl_nobody latency -a --duration 1
expect "nor may other users profile all tasks" 1
kl_nobody latency --json -- sh -c 'sleep 0.2'
expect "but their own" 0
json "with the reason, and without the kernel's functions" \
	'[.waits[] | select(.reason == "nanosleep")] | length == 1 and (.[0].kstack == null) and
	 .[0].woken_by[0].name == "timer" and .[0].ns > 1.9e8'
json "nobody else's" '.tasks | length > 0 and all(.uid == 65534)'
