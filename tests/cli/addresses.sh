# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# Names of kernel addresses in event fields, compared with ftrace's names for the same events.

tracing=/sys/kernel/tracing
[[ -d $tracing/events ]] || mount -t tracefs tracefs $tracing
ftrace_events=(timer/timer_start workqueue/workqueue_execute_start kmem/kmalloc)

# work: causes timers, work items and allocations, also in modules: the guest's root file system is
# one.
cat >work <<'END'
for i in 1 2 3; do
	sleep 0.02
done
cat /etc/services /etc/passwd >/dev/null
ls -l /usr/include/linux/netfilter >/dev/null
END
echo 32768 >$tracing/buffer_size_kb
for event in "${ftrace_events[@]}"; do
	echo 1 >"$tracing/events/$event/enable"
done
kl record -a -q --no-dump --buffer 32M -e timer_start,workqueue_execute_start,kmem_kmalloc,timer_hrtimer_expire_entry \
	-v irq_ip -o t -- bash work
expect "a recording with addresses" 0
for event in "${ftrace_events[@]}"; do
	echo 0 >"$tracing/events/$event/enable"
done
cat $tracing/trace >ftrace
: >$tracing/trace
"$kernlens" print --json t >t.json

# As ftrace prints them: symbol+0x1/0x2 [module], or symbol [module].
sed -n 's/.* timer_start: .* function=\([^ ]*\)\( \[[a-z0-9_]*\]\)\?.*/\1\2/p' ftrace >theirs.timers
sed -n 's/.* workqueue_execute_start: .* function \([^ ]*\)\( \[[a-z0-9_]*\]\)\?.*/\1\2/p' ftrace >theirs.works
sed -n 's/.* kmalloc: call_site=\([^ ]*\)\( \[[a-z0-9_]*\]\)\? .*/\1\2/p' ftrace >theirs.sites
for file in theirs.timers theirs.works theirs.sites; do
	sed -E 's#/0x[0-9a-f]+##; s/^([^ ]*) \[(.*)\]$/\2:\1/; s/\+0x0$//' "$file" | sort -u >"$file.names"
done
# ours NAME FILTER: kernlens' names, from JSON, in the file ours.NAME.names.
ours() {
	jq -r "$2 | select(. != null)" t.json | sort -u >"ours.$1.names"
}
ours timers 'select(.event == "timer_start").meanings.function'
ours works 'select(.event == "workqueue_execute_start").meanings.function'
ours sites 'select(.event == "kmem_kmalloc").meanings.call_site'
for kind in timers works sites; do
	check "$kind have names" test "$(wc -l <ours.$kind.names)" -gt "$([[ $kind == sites ]] && echo 10 || echo 1)"
	check "and they are ftrace's" bash -c "comm -23 ours.$kind.names theirs.$kind.names | { ! grep .; }"
done
check "a module's addresses name it" grep -q '^[a-z0-9_]*:[a-zA-Z0-9_.]*+0x' ours.sites.names
check "all functions of timers have one" jq -s -e 'map(select(.event == "timer_start")) | length > 10 and all(.meanings.function)' t.json
check "the number is printed, too" jq -s -e \
	'map(select(.event == "timer_start"))[0].fields.function | startswith("0xffffffff")' t.json
check "addresses of data have no name" jq -s -e 'map(select(.event == "kmem_kmalloc")) | length > 100 and all(.meanings | has("ptr") | not)' t.json
# The only event of the tables that always occurs in an interrupt.
check "variables have" jq -s -e \
	'map(select(.event == "timer_hrtimer_expire_entry")) | any(.[]; .variable_meanings.irq_ip)' t.json
kl print t -e timer_start
says out ' timer_start: timer=0x[0-9a-f]+ function=[a-z][a-z0-9_.:]+ ' "as text"
kl print t -e timer_start --format csv
says out '^[0-9]+,timer_start,.*,0x[0-9a-f]+,[a-z][a-z0-9_.:]+,' "as CSV"
kl_nobody print t -e timer_start
expect "only the owner may read a trace" 1
chmod -R go+rX t
kl_nobody print t -e timer_start
says out ' function=[a-z][a-z0-9_.:]+ ' "from the trace, not from the running kernel"
cp -r t bare
rm bare/.kernlens/symbols
kl print bare -e timer_start
says out ' function=0xffffffff' "without its symbols a trace has numbers"
check "no system call's argument is in it" bash -c '! cut -d" " -f1 t/.kernlens/symbols | grep -vE "^(ffff|kernlens)"'
echo nonsense >bare/.kernlens/symbols
kl print bare
expect "a damaged file is refused" 1
says err 'symbols: cannot parse line 1'
kl record -q --no-dump -e sched_switch,syscalls -o t2 -- true
check "without such events no symbols are written" test ! -e t2/.kernlens/symbols
kl record -q --no-dump --force -a -e sched_switch -o t -- true
check "replacing a trace removes its symbols" test ! -e t/.kernlens/symbols
kl live -a -e timer_start --duration 1
says out ' function=[a-z][a-z0-9_.:]+ ' "live"
kl stat -a -e 'kmem_kmalloc:count by call_site' -- bash work
says err '^ +[0-9,]+  +[a-z0-9_:]+[a-z0-9_.]*\+0x[0-9a-f]+ *$' "keys, too"
kl record -a -q --no-dump --overwrite -e timer_start -e 'mark :snapshot' -o snap -- "$kernlens" mark x
check "snapshots" test -s snap.1/.kernlens/symbols
kl_nobody record -q --no-dump -e x86_exceptions_page_fault_user -o /dev/shm/theirs -- true
check "an ordinary user has neither" bash -c "test ! -e /dev/shm/theirs/.kernlens/symbols &&
	'$kernlens' print --json /dev/shm/theirs | jq -s -e 'length > 0 and all(.meanings.ip == null)'"
rm -r /dev/shm/theirs
