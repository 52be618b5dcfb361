# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# kernlens why: commands whose time is known. tests/why has what is behind their waits.

export TMPDIR=$work/tmp
mkdir "$TMPDIR"
chmod 777 "$TMPDIR"

kl why --json -- sh -c 'sleep 0.5; dd if=/dev/zero bs=1M count=50 status=none | cksum >/dev/null; exit 3'
expect "a command, with its status" 3
json "its time, all of which is in parts" '.task as $t | $t.kind == "task" and $t.ns > 5e8 and
	([$t | recurse(.parts[]) | select(.parts != [])] | all(.ns == ([.parts[].ns] | add)))'
json "nothing is lost" '.lost == 0'
json "it has waited for sleep" '[.task | recurse(.parts[]) | select(.kind == "task" and .text == "sleep")] |
	length > 0 and ([.[].ns] | add) > 5e8'
json "which has waited for a timer" '[.task | recurse(.parts[]) | select(.text == "sleep") | recurse(.parts[]) |
	select(.kind == "timer").ns] | add | . > 4.5e8 and . < 6e8'
json "and for what runs" '[.task | recurse(.parts[]) | select(.text == "cksum" or .text == "dd") |
	.parts[] | select(.kind == "running").ns] | add > 1e7'
json "the causes add up to it" '.task.ns == ([.causes[].ns] | add)'
json "in order" '[.causes[].ns] | . == (sort | reverse)'
json "in words" '.causes | any(.cause == "sleep waiting for a timer (nanosleep)" and .ns > 4.5e8)'
check "nothing is left behind" test -z "$(ls -A "$TMPDIR")"

kl why -o kept -- bash -c '"$0" mark begin; sleep 0.3; "$0" mark end; sleep 0.4; :' "$kernlens"
says err '^bash/[0-9]+: [0-9.]+ (m?s)$' "a tree has a head"
says err '^ *[0-9.]+% +[0-9.]+ m?s +waiting: child$' "waits"
says err '^ *[0-9.]+% +[0-9.]+ m?s +sleep$' "tasks"
says err '^ *[0-9.]+% +[0-9.]+ m?s +until a timer expired$' "and timers"
says err '^Of these [0-9.]+ m?s:$' "then, its causes"
says err '^ *[0-9.]+%  sleep waiting for a timer \(nanosleep\)$' "in words"
pid=$(sed -n 's|^bash/\([0-9]*\):.*|\1|p' "$work/err")
kl why -i kept -p "$pid" --json
expect "the trace that is kept" 0
json "has the whole time" '.task.ns > 7e8'
whole=$(jq .task.ns "$work/out")
kl why -i kept -p "$pid" --json --from begin --to end
json "between two marks" ".task.ns > 3e8 and .task.ns < $whole - 4e8"
kl why -i kept -p "$pid" --json --from 0.1 --to 0.2
json "between two times" '.task.ns == 1e8'
kl why -i kept -p "$pid" --least 50
silent out '^ *[0-4]?[0-9]\.[0-9]+%  +[0-9.]+ [mu]?s ' "small parts can be left out"
kl why -i kept -p "$pid" --from nowhere
expect "a mark that is not there" 1
says err 'no mark "nowhere"' "is reported"
kl why -i kept -p 999999
expect "a task that is not there" 1
kl why --json kept
expect "a trace is explained for the command that was run" 0
json "which it remembers" ".task.tid == $pid and .task.ns == $whole"
kl why kept --json
expect "options come before it" 2
kl record -a -o plain -e sched,irq,timer -- sh -c 'sleep 0.5; :'
kl why --json plain
json "without in_irq, timers are known by their events" '.interrupts and
	([.task | recurse(.parts[]) | select(.text == "sleep") | recurse(.parts[]) |
	select(.kind == "timer").ns] | add | . > 4.5e8 and . < 6e8)'
kl record -a -o bare -e sched -- sleep 0.1
kl why --json bare
json "without these, interrupts are not" '.interrupts == false'
kl why bare
says out '^the trace has no interrupts' "which is printed"
kl record -a -o without -e sched_switch --duration 0.2
kl why without
expect "without a command" 1
says err 'which task\? -p PID' "the task has to be named"
kl record -a -o default -- sh -c 'sleep 0.3; python3 -c "import select; select.poll().poll(200)"; exit 0'
kl why --json default
json "a trace of the default events: which calls a command waited in" '[.task | recurse(.parts[]) |
	select(.kind == "wait") | .text] | contains(["child", "nanosleep", "poll"])'
json "and that timers ended them" '[.task | recurse(.parts[]) | select(.kind == "wait" and
	(.text == "nanosleep" or .text == "poll")) | .parts[] | select(.kind == "timer").ns] | add > 4.5e8'
kl why
expect "neither a command nor a process" 2
kl why -p 1,2
expect "two processes" 2
kl why -p $$ --least x
expect "a wrong percentage" 2

# A shell that waits for its child, and a pipe whose writer computes.
mkfifo data
bash -c 'while :; do for ((i = 0; i < 500; i++)); do :; done; echo; done >data' &
writer=$!
cat data >/dev/null &
reader=$!
sleep 0.3
kl why -p $reader --duration 1 --json
json "a running process, which waits" '.task.text == "cat" and .task.ns > 8e8'
json "for one that runs" '[.task.parts[] | select(.text == "pipe") | .parts[] | select(.text == "bash") |
	.parts[] | select(.kind == "running").ns] | add > 2e8'
kl why -p $writer --duration 1 --json
json "and one that is busy" '[.task.parts[] | select(.kind | test("^runn")).ns] | add > 8e8'
before=$(cut -d ' ' -f 1 /proc/$writer/schedstat)
kl why -p $writer --watch=0.5 --duration 2 --json
ran=$(($(cut -d ' ' -f 1 /proc/$writer/schedstat) - before))
expect "while it runs" 0
check "each interval is explained" jq -se 'length >= 3 and all(.[1:-1][]; .task.ns > 4e8)' "$work/out"
check "all of it, once" jq -se 'all(.[].task; . as $t | ($t.ns == ([$t.parts[].ns] | add)))' "$work/out"
check "one after the other" jq -se '[.[].end_ns] | . == (sort | unique)' "$work/out"
check "it ran no longer than the kernel says ($ran ns)" jq -se --argjson ran $ran \
	'([.[].task.parts[] | select(.kind == "running").ns] | add) as $said | $said <= $ran and $said > 0.5 * ([.[].task.ns] | add)' \
	"$work/out"
kl why -p $reader --watch=0.5 --duration 2 --json
check "who waits for it" jq -se '[.[].task.parts[] | select(.text == "pipe") | .parts[] | select(.text == "bash") |
	.parts[] | select(.kind == "running").ns] | add > 4e8' "$work/out"
kill $writer
wait $reader
bash -c 'for i in {1..30}; do sleep 0.1; done' &
ending=$!
SECONDS=0
kl why -p $ending --json
expect "a process that ends" 0
check "ends the recording" test $SECONDS -lt 60
json "which has it" '[.task | recurse(.parts[]) | select(.text == "sleep")] | length > 0'
sleep 1000 &
sleeper=$!
sleep 0.2
kl why -p $sleeper --duration 0.3
expect "one that only sleeps" 1
says err "$sleeper has not run; if it sleeps, kernlens latency -p $sleeper says" "is referred to latency"
kl why -p $sleeper --watch=0.2 --duration 0.5
expect "one that only sleeps, while it does" 0
says out "^[0-9:]{8} $sleeper has not run; kernlens latency -p $sleeper says" "is referred to latency, too"
kill $sleeper
kl why --watch=1 --json -- sh -c 'sleep 3.5; exit 4'
expect "a command, while it runs" 4
check "what it waits for is not known yet" jq -se '.[1].task.parts | length == 1 and .[0].text == "child" and
	.[0].parts == [.[0].parts[0]] and .[0].parts[0].kind == "unknown" and .[0].parts[0].text == "not over"' "$work/out"
check "but afterwards" jq -se '[.[-1].task | recurse(.parts[]) | select(.text == "child") | .parts[] |
	select(.text == "sleep") | .parts[].parts[] | select(.kind == "timer").ns] | add > 0' "$work/out"
kl why --watch=0.5 -- sleep 1.2
says out '^[0-9]{2}:[0-9]{2}:[0-9]{2} sleep/[0-9]+: [0-9.]+ m?s$' "each has a head with the time"
says out '^[ 0-9.]+% +[0-9.]+ ms +not over$' "waits may go on"
says out '^[ 0-9.]+%  sleep still waiting \(nanosleep\)$' "in words"
silent err . "all of it goes to the output"
kl why -F 200 --watch=0.5 --json -- sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done'
check "which functions ran" jq -se '[.[].task | recurse(.parts[]) | select(.kind == "function" and .ns > 0 and
	(.text | test("\\("))).ns] | length > 3 and add > 1e8' "$work/out"
kl_nobody why --watch=0.5 -- sh -c 'sleep 1'
expect "an ordinary user's command" 0
says out '^[0-9:]{8} sh/' "is explained while it runs"
check "no trace is left behind" test -z "$(ls -A "$TMPDIR")"
kl why --watch=0 -- true
expect "an interval of 0" 2
kl why --watch -o kept -- true
expect "while it runs, and a trace" 2
says err 'keeps no trace' "is refused"
kl why --json -- python3 -c '
import threading
lock = threading.Lock()
lock.acquire()
threading.Timer(0.3, lock.release).start()
lock.acquire()'
json "a thread behind a lock" '[.task.parts[] | select(.text == "futex").ns] | add > 2e8'
json "and what that had waited for" '[.task | recurse(.parts[]) | select(.kind == "timer").ns] | add > 2e8'

# What tasks leave to be done later: packets, and work items.
ip link set lo up
kl why --json -- python3 -c '
import os, socket
listener = socket.create_server(("127.0.0.1", 5555))
if not os.fork():
    open("/proc/self/comm", "w").write("server")
    peer = listener.accept()[0]
    while peer.recv(1):
        for i in range(100000):
            pass
        peer.send(b"y")
    os._exit(0)
peer = socket.create_connection(("127.0.0.1", 5555))
for i in range(20):
    peer.send(b"x")
    peer.recv(1)'
json "who sent what a socket waited for" '[.task | recurse(.parts[]) | select(.text == "socket")] as $waits |
	([$waits[].ns] | add) as $all | [$waits[].parts[] | select(.text == "server") | .parts[] |
	select(.kind == "running").ns] | add > 0.5 * $all and add > 2e7'
modprobe -a loop ext4
truncate -s 64M image
loop=$(losetup -f --show "$PWD/image")
mkfs.ext4 -q "$loop"
mkdir mounted
mount "$loop" mounted
kl why --json -- sh -c 'dd if=/dev/urandom of=mounted/file bs=64k count=100 status=none; sync'
json "and who did what sync waited for" '[.task | recurse(.parts[]) | select(.text == "writeback") |
	.parts[] | select(.text == "kworker (wb_workfn)").ns] | add > 1e6'
umount mounted
losetup -d "$loop"
kl why -F 499 --json -- "$(realpath "$here/../../build/tests/cli/stack-chain")" spin 1500
json "-F: what runs" '.task | [.parts[] | select(.kind == "running")] | .[0].ns as $all |
	[.[0].parts[].ns] | add == $all and max > 0.8 * $all'
json "by function" '[.task.parts[] | select(.kind == "running").parts[] | select(.text == "chain_c (stack-chain)").ns] |
	add > 3e8'

kl_nobody why --json -- sh -c 'sleep 0.3'
expect "without privilege" 0
json "one's own tasks" '[.task | recurse(.parts[]) | select(.kind == "task" and .text == "sleep").ns] | add > 3e8'
json "without names of timers" '[.task | recurse(.parts[]) | select(.kind == "timer")] == []'
kl_nobody why -p 1 --duration 0.2
expect "but no other's" 1
export TMPDIR=
