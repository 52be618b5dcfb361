# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# The services as installed, started by systemd as process 1 of a PID namespace, with its own
# cgroups and journal, and with only those units of the machine that these services need.

units=/run/kernlens-units
rules=/etc/kernlens/watch.rules
database=/var/lib/kernlens/history.db
group=/sys/fs/cgroup/kernlens-services
mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup

# within SECONDS COMMAND...: waits until COMMAND succeeds; fails if it does not.
within() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || return 1
		sleep 0.2
	done
}
# inside COMMAND...: runs COMMAND in the namespaces of that systemd.
inside() { nsenter -t "$systemd" -m -p -C -- "$@"; }
property() { inside systemctl show -P "$2" "kernlens-$1"; }
# journal SERVICE PATTERN
journal() { inside journalctl -u "kernlens-$1" -o cat --no-pager | grep -Eq -- "$2"; }
# main_pid SERVICE: its process id outside the namespace.
main_pid() { cat "$group/system.slice/kernlens-$1.service/cgroup.procs"; }
came_again() { [[ $(main_pid watch) && $(main_pid watch) != "$1" ]]; }

mkdir -p $units/kernlens-history.service.d /etc/default ${rules%/*} $group /usr/local/bin
cp "$kernlens" /usr/local/bin/kernlens
mkdir -p /usr/local/libexec/kernlens
cp "${kernlens%/*}/kernlens-fleet" /usr/local/libexec/kernlens
for unit in "$here"/../../packaging/systemd/*.{service,socket}; do
	sed 's|@PREFIX@|/usr/local|' "$unit" >"$units/${unit##*/}"
done
# Minutes of one second.
printf '[Service]\nEnvironment=KERNLENS_HISTORY_UNIT=1\n' >$units/kernlens-history.service.d/unit.conf
cp /lib/systemd/system/{{basic,sysinit,multi-user,local-fs,sockets,timers,paths,slices,shutdown}.target,systemd-journald*} $units
getent group kernlens >/dev/null || echo 'kernlens:x:998:' >>/etc/group
ip link set lo up
echo 'first: processes > 0 of comm sleep user kluser1 total' >$rules

(
	echo 0 >$group/cgroup.procs
	# shellcheck disable=SC2030
	export SYSTEMD_UNIT_PATH=$units container=kernlens
	exec unshare --pid --fork --mount --cgroup --mount-proc --kill-child bash -c '
		umount /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup
		exec /lib/systemd/systemd --system --unit=multi-user.target --log-target=console --show-status=0'
) </dev/null >systemd.log 2>&1 &
shell=$!
within 30 test -s /proc/$shell/task/$shell/children
systemd=$(xargs </proc/$shell/task/$shell/children)
check "systemd is up" within 90 inside systemctl is-active multi-user.target
check "so is its journal" inside systemctl start systemd-journald.service
# In a PID namespace only its own processes are visible, so this one must run inside.
inside setsid --fork setpriv --reuid 60001 --regid 60001 --clear-groups -- sleep 300

check "watch and history start" inside systemctl start kernlens-watch kernlens-history
check "and are active" test "$(property watch ActiveState) $(property history ActiveState)" = 'active active'
for name in watch history; do
	pid=$(main_pid $name)
	check "$name has CAP_PERFMON and no more, no new privileges, and a filter of calls" test \
		"$(awk '/^(CapEff|CapBnd|NoNewPrivs|Seccomp):/ { print $2 }' "/proc/$pid/status" | xargs)" = \
		'0000004000000000 0000004000000000 1 2'
	check "and sees the machine's files read-only" test \
		"$(nsenter -t "$pid" -m touch /etc/kernlens/written 2>&1 | grep -c 'Read-only')" -eq 1
done
check "watch sees other users' processes, and says so in the journal" within 60 journal watch '^raised first: 1 '
check "a file of history's own is for root alone" test "$(stat -c %a $database ${database%/*} | xargs)" = '600 700'

echo 'second: processes == 1 of comm sleep user kluser1 total' >>$rules
check "watch is reloaded" inside systemctl reload kernlens-watch
check "and says that it has new rules" within 60 journal watch 'reloaded 2 rules'
check "which hold" within 60 journal watch '^raised second: 1 '
echo 'bad rule' >>$rules
inside systemctl reload kernlens-watch
check "of wrong ones it says where" within 60 journal watch 'keeping the old rules: .*watch.rules:3:1: '
sed -i '$d' $rules
pid=$(main_pid watch)
kill -KILL "$pid"
check "killed, it is started again" within 90 came_again "$pid"
check "and is active" within 60 inside systemctl is-active kernlens-watch

# The socket starts the service, which has a user and a network of its own.
printf '[serve]\nrules = %s\n' $rules >/etc/kernlens.conf
check "the socket of serve is started" inside systemctl start kernlens-serve.socket
check "and nothing else yet" test "$(property serve ActiveState)" = inactive
check "a request starts the service" within 60 eval 'curl -s --max-time 60 http://127.0.0.1:9797/metrics >figures'
check "which sees other users' processes" grep -q '^kernlens_process_cpu_seconds_total{.*name="systemd' figures
check "and checks the rules" grep -q '^kernlens_alarm_active{rule="first"} 1' figures
pid=$(main_pid serve)
check "it has CAP_PERFMON and no more, no new privileges, and a filter of calls" test \
	"$(awk '/^(CapEff|CapBnd|NoNewPrivs|Seccomp):/ { print $2 }' "/proc/$pid/status" | xargs)" = \
	'0000004000000000 0000004000000000 1 2'
check "a user of its own" test "$(awk '/^Uid:/ { print $2 }' "/proc/$pid/status")" -gt 60000
check "and a network without the machine's" test "$(readlink "/proc/$pid/ns/net")" != "$(readlink /proc/self/ns/net)"
check "it is reloaded" inside systemctl reload kernlens-serve
check "and answers" within 60 eval 'curl -s --max-time 60 http://127.0.0.1:9797/metrics | grep -q ^kernlens_serve_last_reload_successful.1'
check "it is stopped with success" eval 'inside systemctl stop kernlens-serve.socket kernlens-serve &&
	test "$(property serve Result) $(property serve ExecMainStatus)" = "success 0"'
[[ $failed -eq 0 ]] || inside journalctl -u kernlens-serve --no-pager -n 20 | sed 's/^/# serve: /'

# A server, and the flight recorder that sends to it: one process records, another has the network.
printf 'listen: 127.0.0.1:4222\njetstream { store_dir: "%s/store", max_file_store: 200M }\n' "$work" >nats.conf
nats-server -c nats.conf >nats.log 2>&1 &
server=$!
printf '[ship]\nserver = nats://127.0.0.1:4222\nhost = unit\nbuffer = 1M\nevent = sched\n' >/etc/kernlens.conf
url=nats://127.0.0.1:4222
check "a stream" within 20 env KERNLENS_CONFIG= "$kernlens" fleet create --server $url
check "ship starts" inside systemctl start kernlens-ship
for pid in $(main_pid ship); do
	caps=$(awk '/^(CapEff|CapBnd|NoNewPrivs|Seccomp):/ { print $2 }' "/proc/$pid/status" | xargs)
	case $(cat "/proc/$pid/comm") in
	kernlens) check "the recorder has CAP_PERFMON and no more" test "$caps" = '0000004000000000 0000004000000000 1 2' ;;
	kernlens-fleet) check "the agent has nothing" test "$caps" = '0000000000000000 0000004000000000 1 2' ;;
	*) check "no other process" false ;;
	esac
done
check "there are two" test "$(main_pid ship | wc -l)" = 2
check "a capture of all tasks is taken" within 20 eval \
	'"$kernlens" fleet freeze --server $url --wait 1 --json | jq -e ".frozen == 1"'
check "and arrives" within 20 eval \
	'"$kernlens" fleet ls --server $url --json | jq -e ".captures[0] | .whole and .host == \"unit\" and .about.records > 0"'
check "with what the machine knows of its clock" eval \
	'"$kernlens" fleet ls --server $url --json | jq -e ".captures[0].about.clock | has(\"max_error_ns\")"'
check "it is stopped with success" eval 'inside systemctl stop kernlens-ship &&
	test "$(property ship Result) $(property ship ExecMainStatus)" = "success 0"'
[[ $failed -eq 0 ]] || inside journalctl -u kernlens-ship --no-pager -n 20 | sed 's/^/# ship: /'
{ kill $server && wait $server; } 2>/dev/null
# It has the network, and may read how the clock is kept (adjtimex is "privileged"), which cost points.
check "kernlens-ship is confined, too" inside systemd-analyze security --offline=true --threshold=23 \
	"$units/kernlens-ship.service"
rm /etc/kernlens.conf

# A flight recorder, and the unit that runs in the crash kernel.
echo 'RECORDER_OPTIONS=--buffer 1M -e sched,trouble' >/etc/default/kernlens-recorder
check "the recorder starts" inside systemctl start kernlens-recorder
recorder_runs() { "$kernlens" status --json | jq -e ".sessions | any(.name == \"flight\" and .running and
	.mode == \"overwrite\" and .written > 100 and .blocks_per_cpu * .block_bytes == 1048576)"; }
check "and records, with the options of /etc/default" within 60 recorder_runs
check "it is stopped with success" eval 'inside systemctl stop kernlens-recorder &&
	test "$(property recorder Result) $(property recorder ExecMainStatus)" = "success 0"'
check "without reserved memory, there is nothing to save, which is no failure" eval 'inside systemctl start kernlens-kept &&
	test "$(property kept ConditionResult)" = no'
check "and has written its trace" eval '"$kernlens" report --json /var/lib/kernlens/recorder | jq -e ".records > 100"'
check "on a machine that has not crashed, nothing is saved, which is no failure" eval 'inside systemctl start kernlens-crash &&
	test "$(property crash ConditionResult)" = no'
# The crash kernel's only service, and this one enabled, on memory that has nothing.
mkdir $units/kernlens-crash.service.d $units/kdump-tools-dump.service.wants
printf '[Unit]\nConditionPathExists=\n[Service]\nExecStart=\nExecStart=/usr/local/bin/kernlens extract /dev/null --save\n' \
	>$units/kernlens-crash.service.d/memory.conf
printf '[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n' >$units/kdump-tools-dump.service
ln -s ../kernlens-crash.service "$units/$(sed -n 's/^WantedBy=//p' $units/kernlens-crash.service).wants"
began() { inside systemctl show -P "$2" "$1"; }
check "in the crash kernel, it starts with the dump" eval 'inside systemctl daemon-reload &&
	inside systemctl start kdump-tools-dump && test "$(property crash Result)" = exit-code'
check "which waits for it, and is made although it has failed" test \
	"$(began kdump-tools-dump ExecMainStartTimestampMonotonic)" -ge "$(began kernlens-crash ExecMainExitTimestampMonotonic)" -a \
	"$(began kdump-tools-dump ActiveState)" = active
rm /etc/default/kernlens-recorder
# That the recorder may read how the clock is kept costs points.
for unit in watch:19 history:18 serve:18 recorder:21 crash:18 kept:19; do
	check "kernlens-${unit%:*} is as confined as it can be" inside systemd-analyze security --offline=true \
		--threshold="${unit#*:}" "$units/kernlens-${unit%:*}.service"
done

check "history has what the machine did" within 60 eval '
	"$kernlens" history --json --minutes -v switches -f $database | jq -e ".summaries | map(.sum) | add > 0"'
check "both are stopped" inside systemctl stop kernlens-watch kernlens-history
check "with success" test "$(property watch Result) $(property watch ExecMainStatus)" = 'success 0' -a \
	"$(property history Result) $(property history ExecMainStatus)" = 'success 0'
rm $rules
inside systemctl start kernlens-watch
check "without rules watch is not started, which is no failure" test \
	"$(property watch ActiveState) $(property watch ConditionResult)" = 'inactive no'
[[ $failed -eq 0 ]] || sed 's/^/# systemd: /' systemd.log | tail -n 20

# unshare ignores SIGTERM; killing process 1 ends everything in the namespace.
{
	kill -KILL $shell
	wait $shell
} 2>/dev/null
rm -rf $units ${database%/*} ${rules%/*} /usr/local/bin/kernlens /usr/local/libexec/kernlens /var/lib/private/kernlens-ship /var/lib/kernlens-ship
find $group -depth -type d -exec rmdir {} +

# The values that modprobe's configuration shows are those in force.
grep -o '[a-z_]*=[0-9]*' "$here/../../packaging/etc/modprobe.conf" >shown
check "modprobe's configuration shows parameters" test "$(wc -l <shown)" -ge 3
while IFS='=' read -r name value; do
	check "default of $name" test "$(cat "/sys/module/kernlens/parameters/$name")" = "$value"
done <shown
