# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# kernlens blocks --serve, without a browser: what the server answers, to whom, and what it leaves; and
# kernlens count --time. tests/view/blocks opens the page in a browser.
ip link set lo up

# serve ARGUMENT...: starts a server; sets server, url.
serve() {
	: >url
	"$kernlens" blocks --serve "$@" >url 2>serve.err &
	server=$!
	wait_until test -s url || wait_until test -s url || sed 's/^/# /' serve.err
	url=$(<url)
}
# code OPTION...: status of the answer, or 000
code() { curl -s -o got -w '%{http_code}' --max-time 60 "$@"; }
# as_other COMMAND...: as another user
as_other() { setpriv --reuid 60001 --regid 60001 --clear-groups --bounding-set=-all -- "$@"; }
address_of() { curl -s "${url}names?q=$1" | jq -r ".names[] | select(.function == \"$1\").address" | head -n 1; }
# arm FUNCTION BLOCKS TIMES
arm() { curl -s -X POST "${url}arm?at=$(address_of "$1")&blocks=$2&times=$3" >got; }
state() { curl -s "${url}state" >state.json; }
sessions() { "$kernlens" status --json | jq '.sessions | length'; }
no_session() { test "$(sessions)" = 0; }
# live_text: the bytes of the functions that are instrumented below
live_text() { "$kernlens" blocks --asm --json ksys_read vfs_read | jq -c '[.functions[].blocks[].instructions[].bytes]'; }

kl blocks --serve --dot ksys_read
expect "--serve and --dot" 2
kl blocks --serve=70000
expect "a port that is none" 2
kl blocks --serve /bin/true:main
expect "a function of a program" 2
kl blocks --serve nosuchfunction
expect "a function that is not there" 1
kl_nobody blocks --serve ksys_read
expect "without privilege" 1
live_text >before

# ------------------------------------------------------------------- what it answers
# Modules that are loaded later are not known.
modprobe loop 2>/dev/null
serve ksys_read
check "an address with a token" grep -Eq '^http://127\.0\.0\.1:[0-9]+/[0-9a-f]{32}/$' url
port=${url#http://127.0.0.1:} port=${port%%/*}
check "the page" test "$(code "$url")" = 200
check "may send requests to its server only" grep -q "default-src 'none'; connect-src 'self'" got
sed -n 's|^<script id="functions" type="application/json">\(.*\)</script>$|\1|p' got >page.json
kl blocks --asm --json ksys_read
check "it has the function" test "$(jq -c .functions page.json)" = "$(jq -c .functions "$work/out")" -a -s page.json
curl -s "${url}names?q=vfs_rea" >names.json
json "names are completed, those that begin with the text first" '[.names[0:3][].function] == ["vfs_read", "vfs_readlink", "vfs_readv"] and .all >= 3' names.json
curl -s "${url}names?q=%3Cscript%3E" >names.json
json "no name matches" '.names == [] and .all == 0' names.json
curl -s "${url}names?q=do_int3" >names.json
json "functions that cannot be instrumented are not among them" '[.names[].function] | index("do_int3") == null' names.json
curl -s "${url}function?at=$(address_of vfs_read)" >function.json
kl blocks --asm --json vfs_read
check "another function" test "$(jq -c . function.json)" = "$(jq -c '.functions[0]' "$work/out")"
found_callers() { curl -s "${url}callers?at=$(address_of ksys_read)" >callers.json && jq -e .complete callers.json; }
for _ in {1..6}; do wait_until found_callers && break; done
json "what calls it" '.complete and ([.callers[].function] | index("__x64_sys_read") != null)' callers.json
check "before it instruments anything, it has no session" no_session

# ----------------------------------------------------------------------- instruments
arm ksys_read all ''
json "all blocks are counted" ".armed == [.armed[0]] and .armed[0].function == \"ksys_read\" and
	(.armed[0].blocks | length) == $(jq '.functions[0].blocks | length' page.json)" got
check "in a session" test "$(sessions)" = 1
state
cp state.json first.json
dd if=/dev/zero of=/dev/null bs=1 count=2000 2>/dev/null
state
json "counts grow with the calls" "(.armed[0].blocks[0][1]) - $(jq '.armed[0].blocks[0][1]' first.json) >= 2000" state.json
json "and blocks that never ran have none" '[.armed[0].blocks[] | select(.[1] == 0)] | length > 0' state.json
arm vfs_read 0-2,5 ''
json "some blocks of another function" '[.armed[1].blocks[][0]] == [0, 1, 2, 5] and (.armed | length) == 2' got
arm vfs_read '' ''
json "which are removed again" '[.armed[].function] == ["ksys_read"]' got
check "with their session" test "$(sessions)" = 1

arm ksys_read all 0-2,0-0
dd if=/dev/zero of=/dev/null bs=1 count=500 2>/dev/null
state
json "times from block to block, next to the counts" '.armed[0].times | length == 2 and (.[0] | .from == 0 and .to == 2 and
	.count >= 500 and .min_ns > 0 and .min_ns <= .mean_ns and .mean_ns <= .max_ns and
	.count == ([.buckets[][1]] | add))' state.json
json "a block's next execution is one, too" '.armed[0].times[1] | .from == 0 and .to == 0 and .count >= 499' state.json
json "all blocks are still counted" '[.armed[0].blocks[] | select(.[1] | type == "number")] | length == ('"$(jq '.functions[0].blocks | length' page.json)"')' state.json

# What cannot be instrumented keeps what there was.
as_address() { sed -n "s/^\([0-9a-f]*\) [tT] $1$/0x\1/p" /proc/kallsyms | head -n 1; }
curl -s -X POST "${url}arm?at=$(as_address do_int3)&blocks=all&times=" >got
json "the reason of a refusal" '.error | test("^do_int3 cannot be instrumented: on the kernel.s kprobe blacklist")' got
twice=$(sed -n 's/^[0-9a-f]* t \([a-z_0-9]*\)$/\1/p' /proc/kallsyms | sort | uniq -d | while read -r name; do
	[[ $(address_of "$name") ]] && echo "$name" && break
done)
arm "$twice" '' 0-0
json "times in a function whose name has two meanings ($twice)" '.error | test("several functions have this name")' got
state
json "nothing of that is left" '[.armed[].function] == ["ksys_read"]' state.json
names=$(curl -s "${url}names?q=vfs_" | jq -r '.names[].address' | head -n 40)
for at in $names; do curl -s -X POST "${url}arm?at=$at&blocks=0&times=" >got; done
json "the number of functions has a maximum" '.error | test("16 functions have instruments")' got
state
json "which is kept" '.armed | length == 16' state.json
for at in $names; do curl -s -X POST "${url}arm?at=$at&blocks=&times=" >got; done
arm ksys_read '' ''
json "all are removed" '.armed == []' got
check "and no session is left" no_session

if grep -q '^loop ' /proc/modules && has_types; then
	curl -s "${url}names?q=loop:lo_" >names.json
	json "functions of a module" '.names | length > 3 and all(.module == "loop")' names.json
	at=$(jq -r '.names[0].address' names.json)
	curl -s -X POST "${url}arm?at=$at&blocks=all&times=1-1" >got
	json "have instruments, too" '.armed[0] | .module == "loop" and (.blocks | length) > 1 and (.times | length) == 1' got
	curl -s -X POST "${url}arm?at=$at&blocks=&times=" >got
	rmmod loop
	curl -s "${url}names?q=nosuch:lo_" >names.json
	json "a module that is not there" '.error | test("nosuch")' names.json
	check "after which it can be unloaded" test ! -e /sys/module/loop
fi

# -------------------------------------------------------------------- who may do it
# nothing TEXT STATUS OPTION...: another user gets this status and no text; nothing is instrumented.
nothing() {
	local got
	got=$(as_other curl -s -o "$work/other" -w '%{http_code}' --max-time 30 "${@:3}")
	check "$1 (status $got)" test "$got" = "$2" -a ! -s "$work/other"
	rm -f "$work/other"
}
chmod 777 .
at=$(address_of ksys_read)
arming="arm?at=$at&blocks=all&times="
wrong=${url%????/}0000/
nothing "another user without the token: nothing" 404 "http://127.0.0.1:$port/"
nothing "nor the state" 404 "http://127.0.0.1:$port/state"
nothing "nor can it instrument" 404 -X POST "http://127.0.0.1:$port/$arming"
nothing "nor with a wrong token" 404 -X POST "$wrong$arming"
nothing "nor with a part of it" 404 -X POST "${url:0:40}/$arming"
nothing "nor with it in the query" 404 -X POST "http://127.0.0.1:$port/?${url:23}$arming"
nothing "by another name, even with the token: nothing" 403 -H "Host: evil.example:$port" "$url"
nothing "nor by another port" 403 -H 'Host: 127.0.0.1:1' -X POST "$url$arming"
nothing "from a page of another site: nothing" 403 -H 'Sec-Fetch-Site: cross-site' "${url}state"
nothing "nor can it instrument" 403 -H 'Sec-Fetch-Site: cross-site' -X POST "$url$arming"
nothing "nor one of another port" 403 -H 'Sec-Fetch-Site: same-site' -X POST "$url$arming"
nothing "nor one that names its origin" 403 -H 'Origin: http://evil.example' -X POST "$url$arming"
nothing "nor one without" 403 -H 'Origin: null' -X POST "$url$arming"
nothing "a method that is not served" 405 -X PUT "$url$arming"
nothing "nor another" 405 -X DELETE "$url$arming"
nothing "a body is refused" 413 -X POST -d 'blocks=all' "$url$arming"
head -c 50000000 /dev/zero >large
chmod 644 large
# A client that still sends when the server closes the connection may lose the answer.
got=$(as_other curl -s -o "$work/other" -w '%{http_code} %{size_upload}' --max-time 30 -X POST -H 'Expect:' \
	--data-binary @large "$url$arming")
check "however large: it is not read (status and bytes: $got)" test "${got% *}" = 413 -o "${got% *}" = 000 -a "${got#* }" -lt 50000000
rm -f "$work/other"
nothing "or of unknown length" 413 -X POST -H 'Transfer-Encoding: chunked' -d x "$url$arming"
rm large
check "a change needs POST" test "$(code "$url$arming")" = 404
check "POST reads nothing" test "$(code -X POST "${url}state")" = 404
for query in 'at=0x1' 'at=ksys_read&blocks=all&times=' "at=$at&blocks=all" "at=$at&blocks=100000&times=" "at=$at&blocks=0-&times=" \
	"at=$at&blocks=,&times=" "at=$at&blocks=0,&times=" "at=$at&blocks=-1&times=" "at=$at&blocks=0x1&times=" \
	"at=$at&blocks=99999999999999999999&times=" "at=$at&blocks=&times=0-99999" "at=$at&blocks=&times=0-1-2" \
	"at=$at&blocks=&times=0-1,0-1,0-1,0-1,0-1,0-1,0-1,0-1,0-1" "at=0xffffffffffffffffff&blocks=all&times="; do
	status=$(code -X POST "${url}arm?$query")
	check "invalid: ${query//$at/AT}" test "$status" = 400 -o "$(jq -r '.error // empty' got)"
done
check "an address that is too long" test "$(code "${url}names?q=$(head -c 30000 /dev/zero | tr '\0' a)")" != 200
check "a name that is too long" test "$(code "${url}names?q=$(head -c 200 /dev/zero | tr '\0' a)")" = 400
state
json "nothing of all that has instrumented anything" '.armed == []' state.json
check "and there is no session" no_session

# Thousands of connections, in turns as many as a process may have, and what is not HTTP.
as_other python3 - "$port" <<'END'
import os
import socket
import sys
import time
address = "127.0.0.1", int(sys.argv[1])
sent = b"GET / HTTP/1.1\r\n", b"", b"POST /" + os.urandom(40), os.urandom(200)
for turn in range(6):
    crowd = [socket.socket() for i in range(600)]
    for one in crowd:
        one.setblocking(False)
        one.connect_ex(address)
    time.sleep(0.5)
    for i, one in enumerate(crowd):
        try:
            one.send(sent[i % 4])
        except OSError:
            pass
    time.sleep(0.5)
    for one in crowd:
        one.close()
END
answers() { test "$(code "${url}state")" = 200; }
check "after 3,600 connections of another user, it answers" wait_until answers
check "and runs as before" kill -0 $server
check "its memory is bounded" test "$(awk '/VmHWM/ { print $2 }' /proc/$server/status)" -lt 400000

# ---------------------------------------------------------------------------- its end
arm ksys_read all 0-0
arm vfs_read all ''
check "two sessions" test "$(sessions)" = 2
kill -KILL $server
wait $server 2>/dev/null
check "if it is killed, they are removed" wait_until no_session
check "the kernel's text is what it was" cmp <(live_text) before
for signal in INT TERM HUP; do
	serve ksys_read
	arm ksys_read all 0-0
	check "one session" test "$(sessions)" = 1
	kill -$signal $server
	status=0
	wait $server || status=$?
	check "SIG$signal ends it" test $status = 0
	check "without a session" no_session
done
check "the kernel's text is still what it was" cmp <(live_text) before
kl_serve() { timeout -s INT 60 "$kernlens" --json blocks --serve >url; }
kl_serve &
check "--json" wait_until jq -e '.url | startswith("http://127.0.0.1:")' url
kill -INT $(pgrep -P $!) 2>/dev/null
wait $! 2>/dev/null

# With the right to read the kernel's text only, the page shows it, and the module refuses the rest.
: >url
setpriv --bounding-set=-all,+sys_rawio,+syslog,+dac_override -- "$kernlens" blocks --serve ksys_read >url 2>serve.err &
server=$!
for _ in {1..6}; do wait_until test -s url && break; done
url=$(<url)
curl -s -X POST "${url}arm?at=$at&blocks=all&times=" >got
json "without CAP_SYS_ADMIN, nothing is instrumented" '.error | test("CAP_SYS_ADMIN")' got
check "and nothing is left" no_session
kill -INT $server
wait $server

# ---------------------------------------------------------------------- count --time
kl count --time hrtimer_nanosleep
expect "one block" 2
kl count --time hrtimer_nanosleep,hrtimer_nanosleep#0
expect "a function is no block" 2
kl count --time ksys_read#0,ksys_read#1 -e block:vfs_read
expect "--time and -e" 2
kl count --time ksys_read#0,ksys_read#100000 -- true
check "a block that is not there (status $status)" test "$status" -ne 0
# Python's own sleep() ends at a time that it reads before it calls the kernel.
sleeps='import ctypes
for i in range(10): ctypes.CDLL(None).usleep(50000)'
kl count --json -e block:hrtimer_nanosleep -- python3 -c "$sleeps"
cp "$work/out" count.json
"$kernlens" blocks --json hrtimer_nanosleep >blocks.json
back=$(jq -s '[.[0].functions[0].blocks[] | select(.ends == "return").block] as $ends |
	[.[1].functions[0].points[] | select((.block as $b | $ends | index($b)) and (.count // 0) >= 10).block][0]' blocks.json count.json)
kl count --json --time "hrtimer_nanosleep#0,hrtimer_nanosleep#$back" --time "hrtimer_nanosleep#0,hrtimer_nanosleep#0" -- python3 -c "$sleeps"
expect "times of sleeping, to block $back" 0
json "are as many and as long as the sleeps" '.times[0] | .count == 10 and .min_ns >= 50e6 and .mean_ns < 500e6 and .max_ns >= .mean_ns' "$work/out"
json "and from one to the next, one fewer" '.times[1].count == 9 and .times[1].min_ns >= 50e6' "$work/out"
kl count --time "hrtimer_nanosleep#0,hrtimer_nanosleep#$back" -- python3 -c "$sleeps"
says err '^ +hrtimer_nanosleep#0 +hrtimer_nanosleep#[0-9]+ +10 +[0-9.]+ ms'
says err '#' "with a histogram"
python3 -c 'import ctypes
while True: ctypes.CDLL(None).usleep(50000)' &
other=$!
kl count --json --duration 3 -p $other --time "hrtimer_nanosleep#0,hrtimer_nanosleep#$back"
json "times of a process" '.times[0] | .count >= 5 and .min_ns >= 50e6' "$work/out"
kill $other
wait $other 2>/dev/null
kl stat --json -e syscall_entry_read -- dd if=/dev/zero of=/dev/null bs=1 count=300
reads=$(jq '.events[] | select(.name == "syscall_entry_read").count' "$work/out")
kl count --json --time ksys_read#0,ksys_read#1 -- dd if=/dev/zero of=/dev/null bs=1 count=300
json "times of a command, as many as its calls" ".times[0].count == $reads and $reads >= 300" "$work/out"
kl_nobody count --time ksys_read#0,ksys_read#1 -- true
check "needs rights (status $status)" test "$status" -ne 0
check "no session is left" no_session
