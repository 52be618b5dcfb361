# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# kernlens ship and kernlens fleet: three flight recorders, whose captures go to a server.

ip link set lo up
url=nats://127.0.0.1:4222
config() { printf 'listen: 127.0.0.1:4222\njetstream { store_dir: "%s/store", max_file_store: 500M }\n%s\n' "$work" "${1-}" >nats.conf; }
start_server() {
	nats-server -c nats.conf >nats.log 2>&1 &
	server=$!
	wait_until bash -c ': </dev/tcp/127.0.0.1/4222'
}
stop_server() { kill -9 $server && wait $server; } 2>/dev/null
# start NAME OPTION...: a recorder; its process is $pid
start() {
	local name=$1
	shift
	"$kernlens" ship --server $url --host "$name" --spool "$name" --name "$name" "$@" >"$name.log" 2>&1 &
	pid=$!
	wait_until answers "$name"
}
answers() { "$kernlens" fleet status --server $url --hosts "$1" --wait 0.3 --json | jq -e '.hosts | length == 1'; }
# stop PID: of a recorder
stop() { kill "$1" && wait "$1"; } 2>/dev/null
fleet() { kl fleet "$@" --server $url; }
# arrived HOST NUMBER: does the server have that many whole captures of HOST?
arrived() {
	"$kernlens" fleet ls --server $url --hosts "$1" --json |
		jq -e "[.captures[] | select(.whole)] | length == $2"
}
is_sent() { [[ ! $(compgen -G "$1/*") ]]; }
agent_of() { xargs <"/proc/$1/task/$1/children"; }

kl ship --spool spool
expect "without a server" 2
kl ship --server $url
expect "without a spool" 2
kl ship --server $url --spool spool --host a.b
expect "a host whose name cannot be part of a subject" 2
kl ship --server $url --spool spool --alarm 'nosuch > 5'
expect "a rule that is wrong" 2
kl ship --server $url --spool spool --spool-size 1M
expect "a spool with no room for a window" 1
kl fleet ls
expect "fleet without a server" 2
kl fleet nosuch --server $url
expect "an unknown subcommand of it" 2
fleet ls
expect "a server that is away" 1
check "--version needs no libnats" test -z "$(ldd "$kernlens" | grep nats)"

config
start_server
fleet ls
expect "a server without a stream" 1
kl fleet ls --server $url --json
expect "the same with --json" 1
json "has the message" '.message | startswith("cannot read the stream: there is no stream")'
fleet ls
says err 'there is no stream KERNLENS \(kernlens fleet create\)'
fleet create --max-size 300M
expect "the stream is created" 0
fleet create --max-size 400M --max-age 86400
expect "and changed" 0
fleet ls
expect "it has no captures" 0

# ------------------------------------------------------------------- three hosts
start web1 -e sched,mark --buffer 1M --rest 0 --with 'db*' --alarm 'busy: processes > 1000000 of total'
web1=$pid
start db1 -e sched,mark --buffer 1M --rest 0
db1=$pid
start db2 -e sched,mark --buffer 1M --rest 0 --heed 'db*'
db2=$pid
kl ship --server $url --host db2 --spool db2
expect "a spool that another one uses" 1
says err 'another process uses this spool'
check "the process that talks to the server has no capabilities" \
	grep -q '^CapEff:[[:space:]]*0000000000000000$' "/proc/$(agent_of $db1)/status"
check "nothing listens" test -z "$(ss -Hlnp | grep -E 'kernlens')"

"$kernlens" mark before
fleet freeze --reason 'slow checkout' --json
expect "all hosts freeze" 0
json "three of them" '.frozen == 3 and ([.hosts[].host] | sort) == ["db1", "db2", "web1"]'
capture=$(jq -r .capture out)
for host in web1 db1 db2; do
	check "$host's capture arrives" wait_until arrived $host 1
done
fleet ls --json
json "each says what its clock is" 'all(.captures[]; .about.clock | (.synchronized == false) and (.max_error_ns > 0))'
json "with one ID and the reason" \
	"[.captures[] | select(.capture == \"$capture\" and .about.reason == \"slow checkout\")] | length == 3"
json "and records, none lost" 'all(.captures[]; .about.records > 0 and .about.lost == 0 and .about.refused == 0)'
fleet ls --hosts 'db*'
check "hosts are chosen by a pattern" test "$(grep -c "$capture" out)" = 2
fleet get db1 "$capture" -o got
expect "one is fetched" 0
"$kernlens" print --format json got >got.json
check "it has what was before" jq -s -e 'any(.event == "mark" and .fields.text == "before")' got.json
check "babeltrace2 finds as many records" test "$(babeltrace2 got | wc -l)" = "$(grep -c '"event":' got.json)"
fleet get db1 "$capture" -o got
expect "a directory that exists" 1
fleet get web1
expect "the last one of a host, with its name" 0
check "is a trace" "$kernlens" report "web1-$capture"
fleet view web1
expect "view makes a page" 0
check "which is there" test -s "web1-$capture.html"
fleet view 'web*,db*' "$capture" --json
expect "view shows several hosts" 0
json "those that match" '([.machines[].host] | sort) == ["db1", "db2", "web1"]'
json "and what is known of their clocks" '(.clocks | length == 3) and all(.machines[]; .clock.synchronized == false)'
json "which is nothing" 'all(.clocks[]; .least_ahead_ns == null and .most_ahead_ns == null)'
check "on a page with the name of the capture" test -s "$capture.html"
kl fleet view 'web*,db*' --server $url -- -o latest.html
expect "the last capture, with options of view" 0
says err 'how far the clocks of .* are apart is unknown' "and says so in words"
fleet view 'nosuch*' "$capture"
expect "none that matches" 1
kl fleet why web1 --server $url -- -p $web1
expect "why explains it" 0
says out '%'
check "their traces are removed" test -z "$(compgen -G '/tmp/kernlens-fleet-*')"
fleet get web1 20200101T000000-0000000000
expect "one that is not there" 1
says err 'has no capture'

# Ten times: how far apart are the hosts?
for ((i = 0; i < 10; i++)); do
	"$kernlens" fleet freeze --server $url --wait 0.5 --json
done >freezes
check "each time all three freeze" jq -s -e 'length == 10 and all(.frozen == 3)' freezes
echo "# spread of three hosts, ms: $(jq -s -c 'map(.spread_ns / 1e6) | sort' freezes | tr '\n' ' ')"
# All three are on two CPUs and write at the same time.
check "within a second of each other" jq -s -e 'all(.spread_ns < 1000000000)' freezes
for host in web1 db1 db2; do
	check "all of $host arrive" wait_until arrived $host 11
done

kill -USR1 $db2
check "SIGUSR1 takes one" wait_until arrived db2 12
"$kernlens" snapshot db2
check "kernlens snapshot, too" wait_until arrived db2 13

# ------------------------------------------------------------------------- alarms
check "it ends when asked to" stop $web1
start web1 -e sched,mark --buffer 1M --rest 0 --with 'db*' --alarm 'many: processes > 1 of total'
web1=$pid
check "an alarm takes one" wait_until arrived web1 12
check "and one of db1" wait_until arrived db1 12
fleet ls --json
json "with the same ID, the reason and who requested it" \
	'[.captures[] | select(.about.reason | startswith("many: "))] | length == 2 and .[0].capture == .[1].capture and all(.about.from == "web1")'
check "db2 does not heed web1" arrived db2 13
stop $web1

# -------------------------------------------------------- killed at any time, restarted
for ((i = 0; i < 8; i++)); do
	kill -USR1 $db1
	sleep "0.0$((RANDOM % 10))"
	kill -9 "$(agent_of $db1)"
	wait_until answers db1
done 2>/dev/null
check "the recorder runs on when its agent is killed" kill -0 $db1
fleet status --hosts db1 --json
json "and starts it again" '.hosts[0].restarts >= 8 and .hosts[0].captures >= 19'
taken=$(jq .hosts[0].captures out)
check "each capture arrives" wait_until arrived db1 "$taken"
for ((i = 0; i < 8; i++)); do
	kill -USR1 $db1
	sleep "0.$((RANDOM % 2))$((RANDOM % 10))"
	{ kill -9 $db1 && wait $db1; } 2>/dev/null
	start db1 -e sched,mark --buffer 1M --rest 0
	db1=$pid
done
# One that was being written when all was killed.
{ kill -9 $db1 && wait $db1; } 2>/dev/null
sleep 0.2
mkdir db1/20200101T000000-cut.new
cp -r got db1/20200101T000000-cut.new/trace
start db1 -e sched,mark --buffer 1M --rest 0
db1=$pid
check "all of a killed recorder are sent" wait_until is_sent db1
fleet ls --hosts db1 --json
json "what they are is known" 'all(.captures[]; .whole)'
json "one was cut short" \
	'.captures[] | select(.capture == "20200101T000000-cut").about.interrupted'
echo "# of $(jq '.captures | length' out) captures, $(jq '[.captures[] | select(.about.interrupted)] | length' out) were cut short"
for name in $(jq -r '.captures[].capture' out); do
	"$kernlens" fleet get db1 "$name" -o each --server $url >/dev/null && "$kernlens" print each >/dev/null 2>said && ! grep damaged said
	echo "$? $name" >>each.log
	rm -rf each
done
check "every one can be read" test -z "$(grep -v '^0 ' each.log)"

# ------------------------------------------------------------- never blind
cat >no_gap <<'AWK'
NR > 1 && $1 != last + 1 { print "after " last ": " $1; gap = 1 }
{ last = $1 }
END { print NR; exit gap || NR < 500 }
AWK
# A process counts; the windows of captures taken meanwhile have all numbers.
start count -e 'syscall_entry_lseek' --buffer 16M --rest 0 -u 65534
count=$pid
setpriv --reuid 65534 --regid 65534 --clear-groups -- python3 -c '
import os, time
fd = os.open("/etc/passwd", os.O_RDONLY)
end = time.monotonic() + 6
n = 1000000
while time.monotonic() < end:
    n += 1
    os.lseek(fd, n, 0)
    if n == 1001000:
        open("/tmp/counting", "w").close()
    if n % 20 == 0:
        time.sleep(0.001)
' &
counter=$!
check "it counts" wait_until test -e /tmp/counting
rm -f /tmp/counting
for ((i = 0; i < 6; i++)); do
	kill -USR1 $count
	sleep 0.6
done
wait $counter
kill -USR1 $count
check "seven captures arrive" wait_until arrived count 7
for name in $("$kernlens" fleet ls --server $url --hosts count --json | jq -r '.captures[].capture'); do
	"$kernlens" fleet get count "$name" -o each --server $url >/dev/null
	"$kernlens" print --format json each 2>/dev/null |
		jq '.fields.offset | select(. > 1000000)' >"numbers.$name"
	rm -rf each
	check "no number is missing in $name" awk -f no_gap "numbers.$name"
done
check "nor in all of them together" bash -c \
	'sort -n -u numbers.* | awk -f no_gap'
check "they overlap: nothing was missed between them" test "$(cat numbers.* | wc -l)" -gt "$(sort -u numbers.* | wc -l)"
stop $count

# ------------------------------------------------------------------------- bounds
stop_server
"$kernlens" ship --server $url --host small --spool small --name small -e sched --buffer 1M --rest 0 --spool-size 4M 2>small.log &
small=$!
has_session() { "$kernlens" status --json | jq -e ".sessions[] | select(.name == \"$1\")"; }
wait_until has_session small
for ((i = 0; i < 12; i++)); do
	kill -USR1 $small
	sleep 0.3
done
check "a spool that is full refuses captures" wait_until grep -q 'the spool is full' small.log
check "it stays within its bound" test "$(du -sk small | cut -f1)" -le 4096
start_server
check "when the server is there again, it says how many" wait_until bash -c \
	"'$kernlens' fleet status --server $url --hosts small --wait 0.3 --json | jq -e '.hosts[0].refused > 0'"
check "and what was spooled arrives" wait_until is_sent small
fleet ls --hosts small --json
json "as many as were taken, whole" ".captures | length > 0 and length == $(grep -c 'capture .*: signal' small.log) and all(.whole)"
fleet freeze --hosts small --wait 0.5 --json
json "then there is room" '.frozen == 1'
stop $small
start rest -e sched --buffer 1M --rest 60
rest=$pid
fleet freeze --hosts rest --wait 0.5
expect "the first request within --rest" 0
fleet freeze --hosts rest --wait 0.5
expect "the second" 1
says out 'short time ago'
stop $rest

mkdir full
mount -t tmpfs -o size=1500k none full
"$kernlens" ship --server $url --host full --spool full/spool --name full -e sched,syscalls --buffer 2M --rest 0 -a 2>full.log &
full=$!
wait_until answers full
dd if=/dev/zero of=/dev/null bs=1 count=200000 status=none
kill -USR1 $full
check "a disk that is full: what fits arrives" wait_until arrived full 1
fleet ls --hosts full --json
json "and what does not is counted" '.captures[0].about | .unstored > 0 and .records > 0'
fleet get full -o part
expect "it can be fetched" 0
kl report part
says out 'not stored' "and tells what is missing"
stop $full
umount full

kl_nobody ship --server $url --host own --spool /dev/shm/own --duration 1 -e syscalls
expect "without privilege" 0
check "the spool is its own" test "$(stat -c %U:%a /dev/shm/own)" = nobody:700
rm -r /dev/shm/own
stop $db1
stop $db2

# ---------------------------------------------------------------------------- TLS
stop_server
# certificate NAME ISSUER EXTENSION: NAME.pem and NAME.key, signed by ISSUER
certificate() {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" \
		-subj "/CN=$1" 2>/dev/null
	local by=(-CA "$2.pem" -CAkey "$2.key" -CAcreateserial)
	[[ $1 != "$2" ]] || by=(-signkey "$1.key")
	openssl x509 -req -in "$1.csr" "${by[@]}" -out "$1.pem" -days 30 -extfile <(echo "$3") 2>/dev/null
	chmod 600 "$1.key"
}
certificate ca ca 'basicConstraints=critical,CA:TRUE'
certificate server ca 'subjectAltName=IP:127.0.0.1'
certificate other ca 'subjectAltName=DNS:elsewhere.example'
certificate client ca 'extendedKeyUsage=clientAuth'
certificate stranger stranger 'extendedKeyUsage=clientAuth'
tls() { echo "tls { cert_file: \"$work/$1.pem\", key_file: \"$work/$1.key\", ca_file: \"$work/ca.pem\", verify: true }"; }
config "$(tls server)"
start_server
url=tls://127.0.0.1:4222
fleet ls --tls-ca ca.pem --tls-certificate client.pem --tls-key client.key --json
expect "TLS with a certificate of each side" 0
json "has all captures" '.captures | length > 20'
fleet ls --tls-ca ca.pem
expect "without one of the client" 1
fleet ls --tls-ca ca.pem --tls-certificate stranger.pem --tls-key stranger.key
expect "with a stranger's" 1
fleet ls --tls-ca stranger.pem --tls-certificate client.pem --tls-key client.key
expect "a server that is not trusted" 1
url=nats://127.0.0.1:4222
fleet ls
expect "without TLS" 1
chmod 644 client.key
url=tls://127.0.0.1:4222
fleet ls --tls-ca ca.pem --tls-certificate client.pem --tls-key client.key
expect "a key that others can read" 1
chmod 600 client.key
stop_server
config "$(tls other)"
start_server
fleet ls --tls-ca ca.pem --tls-certificate client.pem --tls-key client.key
expect "a server with another's certificate" 1
stop_server
