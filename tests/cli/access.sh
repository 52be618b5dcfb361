# shellcheck shell=bash disable=SC2154,SC2016,SC2034
# SPDX-License-Identifier: GPL-2.0
# Access control: compares docs/access.md with what the module reports to each opener. Also user
# namespaces, /proc with hidepid, and whether the name of a task's parent is shown.

page=$here/../../docs/access.md
chmod 777 "$work"

# as CAPABILITY|none COMMAND...: runs COMMAND as an ordinary user, with one capability if given.
as() {
	local capabilities=()
	[[ $1 == none ]] || capabilities=(--inh-caps="+$1" --ambient-caps="+$1")
	shift
	setpriv --reuid 65534 --regid 65534 --clear-groups "${capabilities[@]}" -- "$@"
}

# page_says COLUMN HEADING: the names that a section of the page lists as refused.
page_says() {
	awk -F ' *\\| *' -v column="$1" -v heading="## $2" '
		/^## / { inside = $0 == heading }
		inside && $2 ~ /^`/ && $(column + 2) == "no" { gsub(/`/, "", $2); print $2 }' "$page"
}

# compare COLUMN CAPABILITY|none: compares the page with the module.
compare() {
	local list heading
	for list in 'events Events of the tables' 'variables Variables'; do
		heading=${list#* }
		list=${list%% *}
		as "$2" "$kernlens" list --json "$list" >listed
		# Names that this kernel lacks are neither allowed nor refused.
		jq -r '.[] | select(.available or (.reason | test("needs CAP_"))) | .name' listed | sort >there
		jq -r '.[] | select(.reason | test("needs CAP_")) | .name' listed | sort >refused
		page_says "$1" "$heading" | sort | comm -12 - there >said
		check "$2: the page says of $list what the module says ($(wc -l <refused) of $(wc -l <there) refused)" \
			diff said refused
		check "$2: there are some" test "$(wc -l <there)" -gt 90
	done
}

compare 1 none
check "an ordinary user is refused some" test -s refused
compare 2 perfmon
kl list --json events
json "root is refused none" 'all(.[]; .reason | test("needs CAP_") | not)'

# A shell whose parent is root's, and its child processes.
setpriv --reuid 65534 --regid 65534 --clear-groups -- sh -c 'while sleep 0.1; do :; done' &
loop=$!
for ((i = 0; i < 100; i++)); do
	[[ $(stat -c %u "/proc/$loop") != 65534 ]] || break
	sleep 0.1
done
kl_nobody record -q --no-dump -e sched_process_exec,syscall_entry_wait4 -v parent_comm,ppid -p "$loop" \
	--duration 2 -o "$work/parents"
expect "names of parents" 0
kill "$loop"
wait "$loop" 2>/dev/null
kl print parents --json
check "an own parent's is shown" jq -e -s \
	'[.[] | select(.comm == "sleep")] | length > 0 and all(.[]; .variables.parent_comm == "sh")' out
check "another's is not" jq -e -s --argjson pid "$loop" \
	'[.[] | select(.pid == $pid)] | length > 0 and all(.[]; .variables.parent_comm == "" and .variables.ppid > 0)' out

# Where everybody can execute it, also if the project is in root's home.
shared=$(mktemp -d)
chmod 755 "$shared"
cp "$kernlens" "$shared/kernlens"

# All capabilities, but only in a user namespace.
inner() {
	status=0
	as none unshare --user --map-root-user -- "$shared/kernlens" "$@" >"$work/out" 2>"$work/err" </dev/null ||
		status=$?
}
inner stat -a -e sched_switch -- true
expect "a user namespace's root may not see all" 1
says err 'needs CAP_PERFMON'
inner stat -e fn:vfs_read -- true
expect "nor hook functions" 1
inner stat --json -e 'syscall_entry_getppid :count by comm' -- python3 -c 'import os
for i in range(100): os.getppid()'
expect "but its own processes" 0
json "exactly" '.rules[0].entries[0].count == 100'

mount -o remount,hidepid=2 /proc
kl_nobody stat -p 1 -e sched_switch --duration 1
expect "hidepid: a process that /proc hides is not there" 1
says err 'process 1 does not exist'
kl_nobody stat --json -e 'syscall_exit_write /ret > 0/ :count by pid' -- \
	dd if=/dev/zero of=/dev/null bs=512 count=100 status=none
expect "own ones are" 0
json "exactly" '.rules[0].entries[0].count == 100'
kl_nobody record -q -a -e sched,statedump -o "$work/hidden" -- sh -c 'ls / | cat'
expect "a recording of all" 1
kl_nobody record -q -e sched,statedump -o "$work/hidden" -- sh -c 'ls / | cat'
expect "one of own processes, with a state dump" 0
kl print hidden --json
check "names nobody else's" jq -e -s '[.[] | .comm] | unique - ["", "kernlens", "sh", "ls", "cat"] | length == 0' out
check "nor does the dump of processes" jq -e -s \
	'[.[] | select(.event == "lttng_statedump_process_state") | .fields.name] | unique |
	length > 0 and . - ["kernlens", "sh", "ls", "cat", "setpriv"] == []' out
mount -o remount,hidepid=0 /proc

# The device with its installed permissions: for root and a group.
device=/dev/kernlens
check "the module makes its device for root only" grep -qx DEVMODE=0660 /sys/class/misc/kernlens/uevent
cp -r /etc/group "$work/group"
sed -i '/^kernlens:/d' /etc/group
check "the group is made" systemd-sysusers "$here/../../packaging/sysusers/kernlens.conf"
check "it has a number" bash -c 'getent group kernlens | cut -d : -f 3 | grep -qx "[0-9]*"'
cp "$work/group" /etc/group
mkdir -p /run/udev/rules.d
cp "$here/../../packaging/udev/60-kernlens.rules" /run/udev/rules.d
udevadm test -a add /sys/class/misc/kernlens >"$work/udev" 2>&1
check "udev gives the group the device" grep -Eq "60-kernlens.rules:[0-9]+ GROUP $(getent group kernlens | cut -d : -f 3)$" "$work/udev"
check "and nobody else" grep -Eq '60-kernlens.rules:[0-9]+ MODE 0660$' "$work/udev"
rm -r /run/udev/rules.d

chown root:kernlens $device
chmod 660 $device
# as_user USER ARGUMENT...: runs kernlens as a user who has just logged in.
as_user() {
	status=0
	setpriv --reuid "$1" --regid "$1" --init-groups -- "$kernlens" "${@:2}" \
		>"$work/out" 2>"$work/err" </dev/null || status=$?
}
as_user kluser1 stat --json -e 'syscall_exit_write /ret > 0/ :count by pid' -- \
	dd if=/dev/zero of=/dev/null bs=512 count=10 status=none
expect "a member of the group traces own processes" 0
json "exactly" '.rules[0].entries[0].count == 10'
as_user kluser2 stat -e sched_switch -- true
expect "who is no member does not" 1
says err 'group kernlens'
chown root:root $device
chmod 666 $device

# A security module forbids one program of a user to read another program's memory.
mount -t securityfs securityfs /sys/kernel/security 2>/dev/null
if [[ $(cat /sys/module/apparmor/parameters/enabled 2>/dev/null) == Y ]]; then
	printf '%s\n' 'abi <abi/3.0>,' 'profile confined { file, capability, network, unix, signal, }' >confined
	check "a profile is loaded" apparmor_parser -r confined
	setpriv --reuid 65534 --regid 65534 --clear-groups -- sleep 60 &
	hidden=$!
	check "another program of the user runs" wait_until grep -q sleep /proc/$hidden/comm
	# confined COMMAND...: runs COMMAND as the same user under that profile.
	confined() {
		status=0
		setpriv --reuid 65534 --regid 65534 --clear-groups -- aa-exec -p confined -- "$@" \
			>"$work/out" 2>"$work/err" </dev/null || status=$?
	}
	confined readlink /proc/$hidden/exe
	expect "a confined program may not read it in /proc" 1
	confined "$shared/kernlens" proc --json $hidden
	expect "nor through kernlens" 1
	json "as if it were not there" '.error == "ESRCH"'
	confined "$shared/kernlens" set $hidden nice=5
	says out "^ *$hidden +nice +\\? +5" "a value that it may change, but not read, is not shown"
	kl_nobody proc --json $hidden
	expect "an unconfined one may" 0
	kill $hidden
fi
rm -r "$shared"
