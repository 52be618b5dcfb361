# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# Tasks selected by cgroup, systemd unit and container: counts are compared with what the programs
# did, members with cgroup.procs, and names with the files that the runtimes would write.

root=/sys/fs/cgroup
mountpoint -q $root || mount -t cgroup2 none $root
mkdir -p $root/kl.cg/in/sub $root/kl.cg/out

# in_group PATH COMMAND...: runs a command in a cgroup.
in_group() {
	local path=$1
	shift
	(echo $BASHPID >"$root/$path/cgroup.procs" && exec "$@")
}

# members PATH...: the processes of these cgroups, as a sorted JSON list.
members() {
	(cd $root && cat "${@/%//cgroup.procs}") | sort -n | jq -cs .
}

# shows TEXT PATH...: the last kl listed exactly the members of these cgroups.
shows() {
	check "$1" test "$(jq -c '[.processes[].id] | sort' "$work/out")" = "$(members "${@:2}")"
	check "$1: there are some" test "$(members "${@:2}")" != '[]'
}

# Makes a known number of calls in each cgroup, and one more in a child with another program. The
# processes in kl.cg/in note their IDs.
cat >call.pl <<'END'
open F, ">>", $ARGV[1] and print F "$$\n";
getppid() for 1..$ARGV[0];
system $^X, "-e", "getppid()";
END
cat >work.sh <<END
enter() { echo \$BASHPID >$root/\$1/cgroup.procs; }
(enter .; perl call.pl 100 none)
(enter kl.cg/out; perl call.pl 200 none)
(enter kl.cg/in; perl call.pl 10 pids; enter kl.cg/out; perl call.pl 400 none; enter kl.cg/in; perl call.pl 5 pids; :)
(enter kl.cg/in/sub; perl call.pl 20 pids; :)
END
# An ordinary user must be able to write to the list of the common parent, too.
chmod 666 $root/{.,kl.cg,kl.cg/in,kl.cg/in/sub,kl.cg/out}/cgroup.procs

kl stat --json --cgroup /kl.cg/in -e 'syscall_entry_getppid:count by cgroup' -- bash work.sh
expect "--cgroup" 0
json "the calls in it and below it, by cgroup" "[.rules[0].entries[] | {(.keys.cgroup | tostring): .count}] | add == {
	\"$(stat -c %i $root/kl.cg/in)\": 17, \"$(stat -c %i $root/kl.cg/in/sub)\": 21}"
kl stat --cgroup "$root/kl.cg/in/sub/" -e syscall_entry_getppid -- bash work.sh
says err '^ Events of cgroup /sys/fs/cgroup/kl.cg/in/sub/ during'
says err '^ +21 +syscall_entry_getppid' "the full path of a directory"
rm -f pids
kl record -q --no-dump --cgroup kl.cg/in -e syscall_entry_getppid,sched_process_exec -o trace -- bash work.sh
kl print --json trace
check "recorded: the calls" test "$(grep -c '"syscall_entry_getppid"' out)" = 38
check "and each program" test "$(grep -c '"sched_process_exec"' out)" = 6
check "of processes that were in it, and their children" jq -es --slurpfile in pids \
	'[.[] | select(.event == "syscall_entry_getppid").pid] | unique |
	 ($in | length) == 3 and ($in - .) == [] and length == 6' out
check "the trace says what it has" grep -q 'kernlens_scope = "cgroup"' trace/metadata

kl latency --json --cgroup kl.cg/in -- bash work.sh
json "latency: only what ran in it" '[.tasks[].comm] | length >= 5 and all(. == "perl" or . == "bash")'
kl live --cgroup kl.cg/in -v cgroup -e syscall_entry_getppid -- bash work.sh
check "live, with paths" test "$(grep -c 'getppid: {cgroup=/kl.cg/in}' out) $(grep -c getppid out)" = '17 38'

# Paths.
mkdir $root/kl.cg/short
cat >short.sh <<END
(echo \$BASHPID >$root/kl.cg/short/cgroup.procs; exec perl -e 'getppid()')
rmdir $root/kl.cg/short
END
kl record -q --no-dump --force -v cgroup,cgroup_id -e syscall_entry_getppid -o trace -- bash -c 'bash short.sh; bash work.sh'
id=$(stat -c %i $root/kl.cg/in/sub)
kl print trace
check "records have the path" test "$(grep -c "getppid: {cgroup=/kl.cg/in/sub cgroup_id=$id}" out)" = 21
check "of the root, too" test "$(grep -c 'perl-[0-9]* .*getppid: {cgroup=/ cgroup_id=1}' out)" = 101
check "and of one that has been removed" test "$(grep -c 'getppid: {cgroup=/kl.cg/short ' out)" = 1
kl print --json trace
check "JSON has both" jq -es --argjson id "$id" '[.[] | select(.variables.cgroup == $id).variable_meanings.cgroup] |
	unique == ["/kl.cg/in/sub"]' out
kl stat -e "syscall_entry_getppid /cgroup_id == $id or cgroup == $(stat -c %i $root/kl.cg/out)/ :count by cgroup" -- \
	bash work.sh
says err '^ +602 +/kl.cg/out$' "counts by path"
says err '^ +21 +/kl.cg/in/sub$'
silent err ' /$| /kl.cg/in$' "and a condition on the ID"

kl live --session 1 --cgroup kl.cg/in
expect "not with an existing session" 2

# Own tasks only.
kl_nobody stat --json --cgroup /kl.cg/in -e 'syscall_entry_getppid:count by uid' -- bash work.sh
json "an ordinary user's own" '.rules[0].entries | length == 1 and .[0].keys.uid == 65534 and .[0].count == 38'
until [[ -e over ]]; do in_group kl.cg/in perl -e 'getppid() for 1..50'; done &
kl_nobody stat --cgroup /kl.cg/in -e syscall_entry_getppid -- bash -c "sleep 1; bash work.sh"
touch over
wait $!
says err '^ +38 +syscall_entry_getppid' "while root's are there, too"

# Lists of processes.
in_group kl.cg/in sleep 600 &
in_group kl.cg/in/sub sleep 600 &
in_group kl.cg/out sleep 600 &
wait_until test "$(members kl.cg/in kl.cg/in/sub kl.cg/out | jq length)" = 3
kl proc --json --cgroup kl.cg/in -v pid,comm
shows "proc --cgroup" kl.cg/in kl.cg/in/sub
kl proc --cgroup kl.cg -v pid,cgroup
while read -r pid path; do
	check "the path of $pid" grep -qx "0::$path" "/proc/$pid/cgroup"
done < <(sed 1d out)
check "all three" test "$(grep -c /kl.cg out)" = 3
kl_nobody proc --json --cgroup kl.cg/in
json "nothing of others for an ordinary user" '.processes == []'

# Units.
units=(system.slice/kl-a.service system.slice/kl-s.scope system.slice/kl-t.slice/kl-i@1.service
	user.slice/user-0.slice/user@0.service/app.slice/kl-u.service)
for unit in "${units[@]}" kl.cg/in/kl-d.service user.slice/user-7.slice/user@7.service/app.slice/kl-u.service; do
	mkdir -p "$root/$unit"
	in_group "$unit" sleep 600 &
done
wait_until test "$(members "${units[@]}" | jq length)" = 4
for unit in kl-a "kl-s.scope" "kl-i@1" kl-u; do
	kl proc --json --unit "$unit"
	for path in "${units[@]}"; do
		[[ $path == */$unit* ]] && shows "--unit $unit" "$path"
	done
done
kl proc --json --unit kl-t.slice
shows "a slice" system.slice/kl-t.slice/kl-i@1.service
kl proc --unit kl-d
expect "nothing that is not in a slice is a unit" 1
says err 'unit kl-d.service has no cgroup, as it is not running$'
kl proc --json --unit kl-
json "a unit that does not run, and similar ones" '.error == "ENOENT" and
	(.message | test("similar units: .*kl-a.service") and test("kl-i@1.service"))'
mkdir $root/system.slice/kl-t.slice/kl-a.service
kl stat --unit kl-a -- true
expect "an ambiguous name" 1
says err 'several cgroups are named kl-a.service; .*: /system.slice/(kl-t.slice/)?kl-a.service, /system.slice/'
kl stat --unit kl-s.scope -e 'syscall_entry_*' -- true
expect "stat --unit" 0

# Containers: cgroups as the runtimes name them, and the files in which they keep names.
id() {
	printf '%064x' "$1"
}
docker=$(id 0xd0c0) podman=$(id 0xd0c1) cri=$(id 0xc1) bare=$(id 0xba)
containers=("system.slice/docker-$docker.scope" "machine.slice/libpod-$podman.scope"
	"kubepods.slice/pod.slice/cri-containerd-$cri.scope" "docker/$bare" lxc.payload.kl-lxc
	'machine.slice/systemd-nspawn@kl\x2dspawn.service' machine.slice/machine-klvm.scope)
for path in "${containers[@]}" "machine.slice/libpod-conmon-$podman.scope" lxc.monitor.kl-lxc; do
	mkdir -p "$root/$path"
	in_group "$path" sleep 600 &
done
states=(/var/lib/docker /var/lib/containers /run/containerd)
for path in "${states[@]}"; do
	mkdir -p "$path" && mount -t tmpfs -o mode=711 none "$path"
done
mkdir -p "/var/lib/docker/containers/$docker" /var/lib/containers/storage/overlay-containers \
	/run/containerd/io.containerd.runtime.v2.task/k8s.io/"$cri"
echo '{"Name": "/web"}' >/var/lib/docker/containers/"$docker"/config.v2.json
echo "[{\"id\": \"$podman\", \"names\": [\"db\", \"base\"]}]" \
	>/var/lib/containers/storage/overlay-containers/containers.json
echo '{"annotations": {"io.kubernetes.cri.container-name": "api"}}' \
	>/run/containerd/io.containerd.runtime.v2.task/k8s.io/"$cri"/config.json
chmod 700 /var/lib/containers/storage
wait_until test "$(members "${containers[@]}" | jq length)" = 7
names=(web db api "$bare" kl-lxc kl-spawn klvm)
for ((i = 0; i < ${#names[@]}; i++)); do
	kl proc --json --container "${names[i]}"
	shows "--container ${names[i]}" "${containers[i]}"
done
kl proc --json --container "${docker:0:62}c0"
shows "by the beginning of its ID" "${containers[0]}"
kl proc --json --container "${docker:0:61}"
json "ambiguous" '.error == "EINVAL" and (.message | test("fits several containers: .*web 0+ \\(docker, /system.slice"))'
kl proc --container nosuch
expect "unknown" 1
says err 'no container "nosuch" is running; there are: ' "which names those that there are"
for name in 'web 0+ \(docker\)' 'db 0+ \(podman\)' 'api 0+ \(containerd\)' 'kl-lxc \(lxc\)' 'kl-spawn \(nspawn\)'; do
	says err "$name"
done
kl_nobody proc --container db
expect "names that cannot be read" 1
kl stat --json --container web -e 'syscall_entry_*' -- true
expect "stat --container" 0

# Mistakes.
kl record -o notrace --cgroup /kl.none -- true
expect "a cgroup that is not there" 1
says err 'there is no cgroup /sys/fs/cgroup/kl.none'
check "leaves no trace" test ! -e notrace
kl stat --cgroup /proc/self -- true
expect "a directory that is no cgroup" 1
kl path vfs_read --edges --cgroup kl.cg/in -- true
expect "path --edges has no selection" 2
kl count -e block:vfs_read --unit kl-a -- true
expect "nor has count, for blocks of the kernel" 2
unshare -m bash -c "umount -l $root; exec '$kernlens' stat --cgroup kl.cg/in -- true" >out 2>err
says err 'no cgroup v2 hierarchy is mounted'

umount "${states[@]}"
groups=("${units[@]}" "${containers[@]}" kl.cg/in/kl-d.service kl.cg/in/sub kl.cg/out lxc.monitor.kl-lxc
	user.slice/user-7.slice/user@7.service/app.slice/kl-u.service system.slice/kl-t.slice/kl-a.service
	"machine.slice/libpod-conmon-$podman.scope")
(cd $root && cat kl.cg/in/cgroup.procs "${groups[@]/%//cgroup.procs}") | xargs kill -PIPE
wait
(cd $root && rmdir -p "${groups[@]}") 2>/dev/null
check "no cgroup is left" test ! -e $root/kl.cg
