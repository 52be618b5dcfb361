# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# kernlens serve on the network: tokens, certificates, hostile clients, sockets of systemd, and
# Prometheus and Alertmanager with the rules and the configuration that it prints.

# code OPTION...: status of the answer, or 000
code() { curl -s -o got -w '%{http_code}' --max-time 30 "$@"; }
is_up() { code "$@" | grep -qv 000; }
ip link set lo up

# ---------------------------------------------------------------- tokens and certificates
# certificate NAME ISSUER EXTENSION: NAME.pem and NAME.key, signed by ISSUER
certificate() {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" \
		-subj "/CN=$1" 2>/dev/null
	if [[ $1 == "$2" ]]; then
		openssl x509 -req -in "$1.csr" -signkey "$1.key" -out "$1.pem" -days 30 \
			-extfile <(echo "$3") 2>/dev/null
	else
		openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -out "$1.pem" \
			-days 30 -extfile <(echo "$3") 2>/dev/null
	fi
	chmod 600 "$1.key"
}
certificate ca ca 'basicConstraints=critical,CA:TRUE'
certificate server ca 'subjectAltName=IP:127.0.0.1'
certificate next ca 'subjectAltName=IP:127.0.0.1'
certificate client ca 'extendedKeyUsage=clientAuth'
certificate stranger stranger 'extendedKeyUsage=clientAuth'
certificate wrong_use ca 'extendedKeyUsage=serverAuth'
echo 'token-of-16-letters-and-more' >token
cp server.pem cert.pem
cp server.key key.pem
chmod 600 token key.pem

kl serve --listen :9797 --tls-certificate cert.pem
expect "a certificate without a key" 2
cp client.key other.pem
kl serve --listen :9797 --tls-certificate cert.pem --tls-key other.pem
expect "a key of another certificate" 1
says err 'do not belong together'

"$kernlens" serve --listen 0.0.0.0:9797 --tls-certificate cert.pem --tls-key key.pem --token-file token 2>serve.err &
server=$!
tls=(--cacert ca.pem https://127.0.0.1:9797/metrics)
bearer=(-H 'Authorization: Bearer token-of-16-letters-and-more')
check "it is up" wait_until is_up "${tls[@]}"
check "without a token there is no answer" test "$(code "${tls[@]}")" = 401
check "not even for another path" test "$(code --cacert ca.pem https://127.0.0.1:9797/nosuch)" = 401
check "nor with another token" test "$(code -H 'Authorization: Bearer token-of-16-letters-and-morf' "${tls[@]}")" = 401
check "the token has one" test "$(code "${bearer[@]}" "${tls[@]}")" = 200
check "whose figures are there" grep -q '^kernlens_memory_total_bytes ' got
check "by another name, too, as it proves who asks" test "$(code "${bearer[@]}" -H 'Host: monitor.example' "${tls[@]}")" = 200
check "a certificate of nobody is not trusted by the client" test "$(code --cacert stranger.pem https://127.0.0.1:9797/)" = 000
check "old TLS is refused" test "$(code --tls-max 1.1 "${tls[@]}")" = 000
check "plain HTTP is, too" test "$(code http://127.0.0.1:9797/metrics)" = 000
# Connections that begin no TLS, or end in the middle of it.
for _ in {1..20}; do
	{ head -c 300 /dev/urandom >&6; } 6<>/dev/tcp/127.0.0.1/9797
	{ printf '\26\3\1\2\0\1\0\1\374\3\3' >&6; } 6<>/dev/tcp/127.0.0.1/9797
done 2>/dev/null
check "after garbage it goes on" test "$(code "${bearer[@]}" "${tls[@]}")" = 200

echo 'another-token-of-many-letters' >token
check "a changed token is read" wait_until grep -q 'read the certificates and the token again' serve.err
check "the old one has no answer any more" test "$(code "${bearer[@]}" "${tls[@]}")" = 401
bearer=(-H 'Authorization: Bearer another-token-of-many-letters')
check "the new one has" test "$(code "${bearer[@]}" "${tls[@]}")" = 200
cp next.pem cert.pem
kill -HUP $server
check "a certificate that is not the key's is not used" wait_until grep -q 'keeping the old certificate' serve.err
check "and clients notice nothing" test "$(code "${bearer[@]}" "${tls[@]}")" = 200
check "but it is published" grep -q '^kernlens_serve_last_reload_successful 0' got
cp next.key key.pem
kill -HUP $server
names_next() { curl -sv "${bearer[@]}" "${tls[@]}" >seen 2>&1 && grep -q 'CN=next' seen; }
check "a new certificate is used" wait_until names_next
: >token
kill -HUP $server
check "an empty token is not" wait_until grep -q 'a token has 16 to 512' serve.err
check "so the old one has still an answer" test "$(code "${bearer[@]}" "${tls[@]}")" = 200
kill $server
wait $server
check "SIGTERM ends it with status 0" test $? -eq 0

"$kernlens" serve --listen 127.0.0.1:9797 --listen "unix:$work/socket" --tls-certificate cert.pem --tls-key key.pem \
	--tls-client-ca ca.pem 2>serve.err &
server=$!
check "it is up" wait_until is_up "${tls[@]}"
check "without a certificate a client has no answer" test "$(code "${tls[@]}")" = 403
check "nor with one of its own" test "$(code --cert stranger.pem --key stranger.key "${tls[@]}")" != 200
check "nor with one for servers" test "$(code --cert wrong_use.pem --key wrong_use.key "${tls[@]}")" = 403
check "with the right one it has" test "$(code --cert client.pem --key client.key "${tls[@]}")" = 200
kill $server
wait $server
check "a Unix socket is removed" test ! -e socket

# ---------------------------------------------------------------------- plain HTTP, loopback
"$kernlens" serve --listen :9797 --listen "unix:$work/socket" 2>serve.err &
server=$!
url=http://127.0.0.1:9797
check "it is up" wait_until is_up $url/
check "there is only /metrics" test "$(code $url/metrics/) $(code $url/etc/passwd) $(code --path-as-is $url/../../etc/passwd) $(code "$url/%2e%2e/%2e%2e/etc/passwd")" = '404 404 404 404'
check "only GET and HEAD" test "$(code -X POST -d x $url/metrics) $(code -X DELETE $url/metrics) $(code -X OPTIONS $url/metrics) $(code -I $url/metrics)" = '405 405 405 200'
check "not under a name that could be another's" test "$(code -H 'Host: evil.example:9797' $url/metrics)" = 403
check "nor for the page of another site" test "$(code -H 'Sec-Fetch-Site: cross-site' $url/metrics)" = 403
check "a large head is refused" test "$(code -H "X: $(head -c 60000 /dev/zero | tr '\0' x)" $url/metrics)" != 200
check "a Unix socket does it, too" test "$(code --unix-socket socket http://anything/metrics)" = 200
check "for its owner alone" test "$(stat -c %a socket)" = 755
setpriv --reuid 65534 --regid 65534 --clear-groups -- curl -s --unix-socket socket http://x/metrics >got
check "others cannot connect to it" test ! -s got
size() { awk '/^VmRSS/ { print $2 }' /proc/$server/status; }
before=$(size)
# Connections that begin a request and say no more, many more than one address may have.
for _ in {1..60}; do
	(
		exec 6<>/dev/tcp/127.0.0.1/9797
		printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n' >&6
		sleep 300
	) &
	clients+=($!)
done 2>/dev/null
sleep 3
check "sixty connections take less than 8 MB" test $(($(size) - before)) -lt 8192
check "and no thread" test "$(find /proc/$server/task -mindepth 1 -maxdepth 1 | wc -l)" -eq 1
check "on another listener there is an answer meanwhile" test "$(code --unix-socket socket http://x/metrics)" = 200
check "of connections there are no more than allowed" test "$(awk '/^kernlens_serve_connections / { print $2 }' got)" -le 17
check "it soon answers there, too" wait_until eval '[[ $(code --max-time 9 $url/metrics) == 200 ]]'
kill "${clients[@]}" 2>/dev/null
wait "${clients[@]}" 2>/dev/null
sleep 1.2
code $url/metrics >/dev/null
ended=$(awk '/^kernlens_serve_connections_(ended|refused)_total/ { n += $2 } END { print n }' got)
check "those refused and ended are counted ($ended)" test "$ended" -ge 44
kill $server
wait $server

# ------------------------------------------------------------------------- sockets of systemd
systemd-socket-activate -l 127.0.0.1:9799 "$kernlens" serve >err 2>&1 &
server=$!
check "a socket of systemd is served" wait_until eval '[[ $(code http://127.0.0.1:9799/metrics) == 200 ]]'
kill $server
wait $server
systemd-socket-activate -l 0.0.0.0:9799 "$kernlens" serve >err 2>&1 &
server=$!
wait_until eval 'is_up http://127.0.0.1:9799/ || grep -q public err'
check "one that others reach is refused like any other" wait_until grep -q 'use --token-file' err
wait $server
systemd-socket-activate -d -l 127.0.0.1:9799 "$kernlens" serve >err 2>&1 &
server=$!
sleep 1
printf x >/dev/udp/127.0.0.1/9799
check "a descriptor that does not listen is refused" wait_until grep -q 'no socket that listens' err
wait $server

# ------------------------------------------------------------------- Prometheus and Alertmanager
cat >serve.rules <<-'END'
	many-processes: processes > 0 for 1s of comm klalarm total
	quiet: rss > 500T
	strange: comm != "a\"b {{ .X }}" and rss > 500T
END
"$kernlens" serve --print prometheus-rules --rules serve.rules >alerts.yml
"$kernlens" serve --print alertmanager --rules serve.rules >alertmanager.yml
check "promtool accepts the rules" promtool check rules alerts.yml
check "amtool accepts the configuration" amtool check-config alertmanager.yml
cat >alerts.test.yml <<-'END'
	rule_files: [alerts.yml]
	evaluation_interval: 10s
	tests:
	  - interval: 10s
	    input_series:
	      - { series: 'kernlens_alarm_active{rule="quiet",instance="a"}', values: '0 0 1 1 0x50' }
	      - { series: 'kernlens_alarm_raised_total{rule="quiet",instance="a"}', values: '0 0 1 1 1x50' }
	      - { series: 'kernlens_alarm_active{rule="strange",instance="b"}', values: '0x50' }
	      - { series: 'kernlens_alarm_raised_total{rule="strange",instance="b"}', values: '4 4 4 5x50' }
	      - { series: 'up{job="kernlens",instance="c"}', values: '1 1 1 0x50' }
	    alert_rule_test:
	      - { eval_time: 10s, alertname: kernlens_quiet }
	      - eval_time: 30s
	        alertname: kernlens_quiet
	        exp_alerts:
	          - exp_labels: { source: kernlens, severity: warning, rule: quiet, instance: a }
	            exp_annotations: { summary: 'a: alarm quiet', description: 'quiet: rss > 500T' }
	      - { eval_time: 5m, alertname: kernlens_quiet }
	      - eval_time: 40s
	        alertname: kernlens_strange
	        exp_alerts:
	          - exp_labels: { source: kernlens, severity: warning, rule: strange, instance: b }
	            exp_annotations:
	              summary: 'b: alarm strange'
	              description: 'strange: comm != "a\"b {{ .X }}" and rss > 500T'
	      - { eval_time: 50s, alertname: KernlensDown }
	      - eval_time: 2m
	        alertname: KernlensDown
	        exp_alerts:
	          - exp_labels: { source: kernlens, severity: warning, job: kernlens, instance: c }
	            exp_annotations: { summary: 'c: kernlens serve does not answer' }
END
check "the alerts fire when they should" promtool test rules alerts.test.yml

cat >prometheus.yml <<-'END'
	global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
	rule_files: [alerts.yml]
	alerting: { alertmanagers: [{ static_configs: [{ targets: ['127.0.0.1:9093'] }] }] }
	scrape_configs:
	  - job_name: kernlens
	    static_configs: [{ targets: ['127.0.0.1:9797'] }]
END
"$kernlens" serve --listen :9797 --rules serve.rules --latency 2>serve.err &
server=$!
python3 "$here/serve.py" --webhook 9095 hooked &
hook=$!
GOGC=400 prometheus-alertmanager --config.file alertmanager.yml --storage.path am --cluster.listen-address= \
	--web.listen-address 127.0.0.1:9093 >am.log 2>&1 &
manager=$!
GOGC=400 prometheus --config.file prometheus.yml --storage.tsdb.path tsdb --web.listen-address 127.0.0.1:9090 \
	>prometheus.log 2>&1 &
prometheus=$!
api=http://127.0.0.1:9090/api/v1
# query EXPRESSION: its value
query() { curl -s --get --data-urlencode "query=$1" $api/query | gojq -r '.data.result[0].value[1]'; }
within() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || return 1
		sleep 0.5
	done
}
check "Prometheus scrapes it" within 60 eval '[[ $(query "up{job=\"kernlens\"}") == 1 ]]'
cp "$(command -v sleep)" klalarm
./klalarm 300 &
alarm=$!
check "an alarm reaches the receiver" within 90 grep -q '"alertname":"kernlens_many_processes"' hooked
check "with its rule" grep -q 'many-processes: processes \\u003e 0 for 1s of comm klalarm total' hooked
check "a histogram gives a quantile" within 60 eval \
	'[[ $(query "histogram_quantile(0.5, sum by (le) (rate(kernlens_task_state_seconds_bucket{state=\"runnable\"}[30s])))") == [0-9]* ]]'
check "what it has is what is published" test "$(query kernlens_memory_total_bytes)" = \
	"$(awk '/^MemTotal/ { printf "%.0f", $2 * 1024 }' /proc/meminfo)"
kill $alarm $server $hook $prometheus $manager
wait $alarm $hook $prometheus $manager 2>/dev/null
wait $server
check "it ends with status 0" test $? -eq 0
[[ $failed -eq 0 ]] || tail -n 5 am.log prometheus.log | sed 's/^/# /'

# ----------------------------------------------------------------------------- the dashboard
dashboard=$here/../../packaging/grafana/kernlens.json
gojq -r '.panels[].targets[]?.expr' "$dashboard" >queries
"$kernlens" serve --print metrics --json | gojq -r '.[] | .name, (select(.type == "histogram").name | . + "_bucket", . + "_count", . + "_sum")' >names
check "the dashboard has queries" test "$(wc -l <queries)" -ge 10
check "of metrics that there are" test -z "$(grep -oE '\b(kernlens|process)_[a-z0-9_]+\b' queries | sort -u | grep -vxFf names)"
{
	printf 'groups:\n  - name: x\n    rules:\n'
	n=0
	sed 's/\$__rate_interval/5m/g; s/\$[a-z_]*/.*/g' queries | while read -r line; do
		printf '      - { record: "x%d", expr: %s }\n' $((++n)) "$(gojq -Rc . <<<"$line")"
	done
} >queries.yml
check "which promtool can read" promtool check rules queries.yml
