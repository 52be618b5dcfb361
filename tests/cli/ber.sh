# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# Traces in BER, read back by openssl, by the decoder that asn1c generates, and by kernlens itself.

decode=$here/../../build/tests/cli/ber-decode

# same TEXT ARGUMENT...: kernlens print ARGUMENT... must print the same for t and t.ber.
same() {
	local text=$1
	shift
	"$kernlens" print t "$@" >trace.out
	kl print "$@" t.ber
	check "$text" cmp trace.out out
	check "and the output is not empty" test -s out
}

# decoded TEXT FILE ARGUMENT...: ber-decode must print for FILE what kernlens print ARGUMENT...
# prints for t as JSON, without the meanings.
decoded() {
	local text=$1 file=$2
	shift 2
	"$kernlens" print t --format json "$@" | sed -E 's/,"meanings":\{[^{}]*\}\}$/}/' >trace.json
	check "$text" bash -c "'$decode' '$file' >ber.json && cmp trace.json ber.json"
}

kl record -q -o t -e syscalls,sched,irq_handler_entry --buffer 64K -- \
	sh -c 'cd /; /bin/echo hi >/dev/null; cat /etc/passwd /nosuch >/dev/null 2>&1; true'
expect "record a trace" 0
kl print t --format ber
expect "--format ber" 0
cp out t.ber
records=$("$kernlens" report --json t | jq .records)

openssl asn1parse -inform DER -in t.ber >parsed 2>parsed.err
check "openssl walks the whole file" test $? -eq 0
check "without a message" test ! -s parsed.err
check "it sees as many records as there are" \
	test "$(grep -cE '^ *[0-9]+:d=0 .* cons: priv \[' parsed)" -eq "$records"
check "and the end" test "$(grep -cE '^ *[0-9]+:d=0 .* cons: appl \[ 2 \]' parsed)" -eq 1
id=$("$kernlens" list --json sched_switch | jq '.. | .id? // empty' | head -n 1)
check "an event's tag is its number" \
	test "$(grep -cE "^ *[0-9]+:d=0 .* cons: priv \[ $id \]" parsed)" -eq \
	"$("$kernlens" print t -e sched_switch | grep -c sched_switch)"
check "tags and lengths are short and long" \
	bash -c "grep -qE ':d=0 +hl=2 .* priv' parsed && grep -qE ':d=0 +hl=4 .* priv' parsed"

decoded "asn1c's decoder reads each record, and the same in it" t.ber
check "all of them" test "$(grep -c '^{"event"' ber.json)" -eq "$records"

same "text"
same "wall time" --time wall
same "CSV" --format csv
same "JSON" --format json
same "as strace" --format strace
same "chosen events" -e 'sched_switch,syscall_*_openat'
same "one CPU" --cpu 0
kl print -i t.ber
"$kernlens" print t >trace.out
check "-i" cmp trace.out out
# The file has no manifest, and does not record when the session began and ended.
alike='del(.trace, .begin_ns, .end_ns, .losses.manifest, .losses.finished)'
"$kernlens" report t --json | jq "$alike" >trace.out
kl report t.ber --json
check "report" bash -c 'jq "$0" out | cmp - trace.out' "$alike"
kl print t.ber --format ber
check "BER from BER is the same file" cmp t.ber out

# Filtering out an event leaves the other events' variables and tasks intact.
kl print t -e 'syscall_exit_*' --format ber
cp out filtered.ber
decoded "a filtered file has the right tasks" filtered.ber -e 'syscall_exit_*'
kl print filtered.ber
"$kernlens" print t -e 'syscall_exit_*' >trace.out
check "also for kernlens" cmp trace.out out
openssl asn1parse -inform DER -in filtered.ber >filtered 2>&1
check "a task is written where it changes" test \
	"$(grep -cE ':d=2 .* cons: cont \[ 0 \]' filtered)" -lt "$(grep -cE ':d=0 .* cons: priv' filtered)"

# Losses are records in the file.
kl record -q --overwrite --buffer 16K -e syscalls -o l -- \
	sh -c 'i=0; while [ $i -lt 500 ]; do i=$((i+1)); : <.; done'
kl print l --format ber
cp out l.ber
"$kernlens" print l >trace.out 2>/dev/null
kl print l.ber
check "losses are printed as from the trace" cmp trace.out out
says out 'events (were overwritten|preceded)' "stack traces are there"
says err "missing from this trace: 0 discarded because buffers were full, [0-9,]+ overwritten" "and their sum"

# Damaged and invalid files.
head -c $(($(stat -c %s t.ber) - 7)) t.ber >cut.ber
kl print cut.ber
says out 'unknown number of events' "a truncated file is reported"
says err '1 blocks damaged'
kl print /etc/passwd
expect "a file that is not a trace" 1
says err '/etc/passwd: not a trace in BER'
kl print t -i t.ber
expect "two traces" 2
script -qec "$kernlens print t --format ber" /dev/null </dev/null >out
says out 'BER is binary' "not to a terminal"

kl live --format ber -o live.ber -e syscalls -- /bin/true
expect "live --format ber" 0
kl print live.ber --format json
check "it has the call that starts the program" \
	jq -es 'any(.[]; .event == "syscall_entry_execve")' out
check "and is whole" "$decode" live.ber

# Stack traces and names of addresses.
kl record -q -a --no-dump -o s -e syscall_entry_getppid:stack,timer_start -- \
	"$(dirname "$decode")/stack-names" 3
"$kernlens" print s --format ber >s.ber
"$kernlens" print s --no-demangle --json >s.json
for format in text csv json; do
	"$kernlens" print s --format $format >trace.out
	kl print s.ber --format $format
	check "call traces and addresses as $format" cmp trace.out out
done
check "stack traces are there" jq -s -e 'any(.[]; .stacks.ustack[0].inlined and .stacks.kstack) and
	any(.[]; .event == "timer_start" and .meanings.function)' out
"$kernlens" print s --no-demangle >trace.out
kl print s.ber --no-demangle
check "--no-demangle" cmp trace.out out
kl print s.ber --format ber
check "BER from BER has them again" cmp s.ber out
"$decode" s.ber >decoded.json
expect_frames='[.[] | select(.stacks) | .variables as $v | .stacks | to_entries[] |
	{id: $v[.key], frames: .value}] | unique'
jq -c -s "$expect_frames" s.json >trace.out
jq -c -s '[.[] | select(.stack) | {id: .stack, frames}] | unique' decoded.json >ber.out
check "asn1c's decoder reads the same frames" cmp trace.out ber.out
check "each once" jq -s -e 'map(select(.stack).stack) | length > 1 and length == (unique | length)' decoded.json
jq -c -s '[.[] | select(.event == "timer_start") | {a: .fields.function, s: .meanings.function}] | unique' s.json >trace.out
jq -c -s '[.[] | select(.address and .symbol) | {a: .address, s: (if .module then .module + ":" else "" end + .symbol)}] |
	unique' decoded.json >ber.out
check "and the same names of functions" jq -s -e '(.[0] - .[1]) == [] and (.[0] | length > 0)' trace.out ber.out
openssl asn1parse -inform DER -in s.ber >parsed 2>parsed.err
check "openssl walks it" test ! -s parsed.err
check "a trace before what refers to it" test \
	"$(grep -nE '^ *[0-9]+:d=0 .* cons: appl \[ 3 \]' parsed | head -n 1 | cut -d: -f1)" -lt \
	"$(grep -nE '^ *[0-9]+:d=0 .* cons: priv \[' parsed | sed -n "$(grep -n '"event"' s.json | grep -m1 '"stacks"' | cut -d: -f1)p" | cut -d: -f1)"
