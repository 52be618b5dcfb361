# shellcheck shell=bash disable=SC2154,SC2016,SC2034
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# kernlens doctor: finds what is missing, and names the command that fixes it.

# finds NAME STATE [PATTERN [FIX]]: passes if the check has this state, text and fix.
finds() {
	check "doctor: $1 is $2${3:+: $3}${4:+, fixed by $4}" jq -e \
		--arg name "$1" --arg state "$2" --arg text "${3-}" --arg fix "${4-}" '
		.checks[] | select(.name == $name) |
		.state == $state and (.text | test($text)) and ($fix == "" or (.fix // "" | test($fix)))' "$work/out"
}

# user UID GROUP...: runs doctor --json as a user with these groups.
user() {
	local uid=$1 groups
	shift
	groups=$(IFS=, && echo "$*")
	status=0
	setpriv --reuid "$uid" --regid "$uid" --groups "$uid${groups:+,$groups}" --bounding-set=-all -- \
		"$kernlens" doctor --json >"$work/out" 2>"$work/err" </dev/null || status=$?
}

mountpoint -q /sys/kernel/security || mount -t securityfs none /sys/kernel/security
kl doctor
expect "doctor" 0
check "the kernel" grep -q "^ok  *kernel  *$(uname -r)" out
says out '^No faults'
check "a line is at most 200 characters long" awk 'length > 200 { exit 1 }' out
kl doctor --json
expect "doctor --json" 0
is_json "doctor --json is JSON"
json "the fields of a check" '.faults == 0 and (.checks | length) > 10 and
	all(.checks[]; .name and .text and has("fix") and (.state | IN("ok", "note", "unknown", "fault")))'
finds module ok "$("$kernlens" --version | cut -d' ' -f2) is loaded"
finds access ok 'all tasks, kernel addresses, kernel functions'
finds lockdown ok none
finds tracers ok
finds symbols ok
finds clock "$([[ $("$kernlens" status --json | jq -r .clock) == TSC ]] && echo ok || echo note)"
types=note
! has_types || types=ok
finds types $types
absent=$("$kernlens" list events --json | jq '[.[] | select((.available | not) and (.name | startswith("syscall_e") | not))] | length')
if ((absent)); then
	finds events note "^$absent of [0-9]+ are absent here, such as [a-z_]+: ." 'kernlens list events'
else
	finds events ok
fi

echo function >/sys/kernel/tracing/current_tracer
echo sched_switch >/sys/kernel/tracing/set_event
kl doctor --json
expect "doctor beside ftrace" 0
finds tracers note 'tracer function, 1 event and 0 kprobes' reset
echo >/sys/kernel/tracing/set_event
echo nop >/sys/kernel/tracing/current_tracer

chmod 660 /dev/kernlens
chgrp kernlens /dev/kernlens
user 60002
expect "doctor of a stranger" 1
finds access fault 'members of the group kernlens' 'usermod -aG kernlens kluser2'
finds tracers unknown 'only by root'
finds symbols note hidden root
user 60001
finds access fault '' 'log in again'
user 60001 60000
expect "doctor of a member" 0
finds access ok 'your own processes'
finds blocks ok 'by root'
chgrp root /dev/kernlens
chmod 666 /dev/kernlens

# Skipped while the module has other users.
if rmmod kernlens 2>/dev/null; then
	kl doctor --json
	expect "doctor without the module" 1
	finds module fault 'not built for this kernel'
	finds access unknown 'not loaded'
	json "one fault" '.faults == 1'
	kl doctor
	says out '^1 fault$'
	# The modules of the kernel are read-only here, and depmod lists this one.
	folder=/lib/modules/$(uname -r)
	cp "$folder/modules.dep" modules.dep
	echo 'updates/dkms/kernlens.ko:' >>modules.dep
	mount --bind modules.dep "$folder/modules.dep"
	kl doctor --json
	finds module fault 'updates/dkms/kernlens.ko is not loaded' '^sudo modprobe kernlens$'
	umount "$folder/modules.dep"
	load_kernlens
	kl doctor
	expect "doctor with the module again" 0
fi
