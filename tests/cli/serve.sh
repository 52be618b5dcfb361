# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: its figures are variables, which have tests of their own on all.
# Figures of kernlens serve, compared with /proc and with other commands; rules; what an ordinary
# user serves.

# served PORT [OPTION...]: what is at /metrics.
served() {
	local port=$1
	shift
	curl -s --max-time 60 "$@" "http://127.0.0.1:$port/metrics"
}
# is_up PORT
is_up() { curl -s --max-time 5 -o /dev/null "http://127.0.0.1:$1/"; }
# value FILE SERIES: its value.
value() { awk -v series="$2" '$1 == series { print $2 }' "$1"; }

kl serve
expect "serve without an address" 2
says err 'nothing to listen on'
kl serve --listen example.org:80
expect "a name" 2
says err 'names are not looked up'
kl serve --listen 0.0.0.0:9797
expect "an address that others reach, without proof of who they are" 1
says err 'use --token-file or --tls-client-ca, or --public'
head -c 30 /dev/zero | tr '\0' t >token
chmod 600 token
kl serve --listen 0.0.0.0:9797 --token-file token
expect "a token without TLS" 1
says err 'in plain text'
chmod 644 token
kl serve --listen :9797 --token-file token
expect "a token that others can read" 1
says err 'other users can read'
kl serve --json --listen :9797 --token-file nosuch
json "errors are JSON with --json" '.message | test("nosuch")'
kl serve --listen :9797 --comm x --latency
expect "a pattern and a session" 2
kl serve --listen :9797 -v user_ip
says err 'user_ip is not a figure' "an address of a program is not published"
kl serve --listen :9797 -v nosuch
says err 'unknown variable "nosuch"'
kl serve --print metrics --json
json "--print metrics has all of them" 'length > 70 and all(.[]; .name and .type and .help)'

PYTHONDONTWRITEBYTECODE=1 python3 "$here/serve.py" "$kernlens" >figures 2>&1
tap "serve.py" figures

# A rule that holds, one that does not, and one with the name of another.
cat >serve.rules <<-'END'
	many: processes > 0 of total
	none: rss > 500T
	"odd": threads > 100000
END
sed -i 's/^"odd"/odd_name/' serve.rules
"$kernlens" serve --listen :9797 --rules serve.rules --interval 0.2 2>serve.err &
server=$!
wait_until is_up 9797
sleep 1
served 9797 >first
check "promtool finds no fault" promtool check metrics <first
check "a rule that holds is active" test "$(value first 'kernlens_alarm_active{rule="many"}')" = 1
check "and has been raised once" test "$(value first 'kernlens_alarm_raised_total{rule="many"}')" = 1
check "others are not" test "$(value first 'kernlens_alarm_active{rule="none"}')$(value first 'kernlens_alarm_active{rule="odd_name"}')" = 00
check "all are counted" test "$(value first kernlens_alarm_rules)" = 3
sed -i '/^many/d' serve.rules
echo 'other: processes > 0 of total' >>serve.rules
kill -HUP $server
check "rules are read again" wait_until grep -q 'read 3 rules again' serve.err
sleep 1
served 9797 >second
check "a rule that is gone has no series" test -z "$(value second 'kernlens_alarm_active{rule="many"}')"
check "a new one has" test "$(value second 'kernlens_alarm_active{rule="other"}')" = 1
echo 'bad rule' >>serve.rules
kill -HUP $server
check "wrong rules leave the old ones" wait_until grep -q 'keeping the old rules: serve.rules:4:1' serve.err
sleep 1.2
served 9797 >third
check "which is published" test "$(value third kernlens_serve_last_reload_successful)$(value third kernlens_alarm_rules)" = 03
kill $server
wait $server
check "SIGTERM ends it with status 0" test $? -eq 0

# Sessions and losses: a session that loses records, seen by serve and by status.
"$kernlens" serve --listen :9797 2>serve.err &
server=$!
"$kernlens" record -q -a --no-dump --overwrite --name seen -e sched_switch -o seen &
recorder=$!
wait_until is_up 9797
wait_until eval '"$kernlens" status | grep -q seen'
sleep 1
served 9797 >first
check "a session has its records" awk '/^kernlens_session_records_total\{session="seen"/ && $2 > 0 { found = 1 }
	END { exit !found }' first
check "a loss would be one of these" grep -q '^kernlens_session_lost_records_total{session="seen",id="[0-9]*"} [0-9]*$' first
kill -INT $recorder
wait $recorder
kill $server
wait $server

# An ordinary user serves what this user sees.
sleep 300 &
other=$!
(exec setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all -- "$kernlens" serve \
	--listen :9798 --latency --top 50 2>nobody.err) &
server=$!
check "an ordinary user can serve" wait_until is_up 9798
served 9798 >first
check "the machine is what everybody sees" test "$(value first kernlens_memory_total_bytes)" -gt 1000000
check "of processes only the own ones" test "$(grep -c '^kernlens_process_resident_memory_bytes{pid="[0-9]' first)" -ge 1 -a \
	-z "$(grep "pid=\"$other\"\|pid=\"1\"" first)"
check "times are of own tasks" grep -q '^kernlens_task_state_seconds_count{state="interruptible"}' first
kill $other $server
wait $server
check "and ends with status 0" test $? -eq 0
kl_nobody serve --listen :9798 -u root --latency
expect "an ordinary user and others' tasks" 1
says err 'needs CAP_PERFMON'
wait
