# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
# kernlens list, with and without the module.

kl list
expect "list" 0
says out '^sched:$'
says out 'D sched_switch +A CPU switches'
silent out 'syscall_entry_read ' "system calls are summarized"
silent out $'\033' "no colors in a pipe"
kl list sched,'irq_*'
silent out '^net:' "a pattern chooses"
kl list syscall_entry_openat
says out 'filename +string +path' "one event shows its fields"
kl list openat
says out 'syscall_exit_openat2' "a part of a name will do"
kl list nosuchevent
expect "a pattern that matches nothing" 1
for what in events groups variables handlers masksets; do
	kl list $what
	expect "list $what" 0
	kl list $what --json
	is_json "list $what --json"
	json "list $what: name, group, help, available, reason" \
		'length > 0 and all(.[]; .name and .group and .help and has("available") and has("reason"))'
done
kl list masksets RALL --json
json "list masksets PATTERN" 'length == 1 and .[0].name == "RALL"'
kl list events sched_switch --json
json "an event is available" '.[0].available == true and .[0].reason == ""'
kl list --json
json "at least 110 events besides system calls are available" \
	'[.[] | select(.available == true and .group != "syscalls")] | length >= 110'
json "unavailable events have a reason" 'all(.[]; .available or .reason != "")'
kl list --names 'sched_*'
check "--names are names only" test "$(grep -c ' ' "$work/out")" -eq 0
kl --color always list sched
says out $'\033\\[1m' "--color always"
kl_nobody list irq_handler_entry
says out 'needs CAP_PERFMON' "without privilege the missing capability is named"

# On a terminal: colors and a pager, unless disabled.
in_terminal() {
	script -qec "$1" /dev/null </dev/null
}
check "colors on a terminal" \
	bash -c "$(declare -f in_terminal); in_terminal 'PAGER=cat $kernlens list sched' | grep -q $'\033'"
check "NO_COLOR is honored" \
	bash -c "$(declare -f in_terminal); ! in_terminal 'NO_COLOR=1 PAGER=cat $kernlens list sched' | grep -q $'\033'"
check "a pager on a terminal" \
	bash -c "$(declare -f in_terminal); in_terminal 'PAGER=\"sed s/^/PAGED/\" $kernlens list sched' | grep -q '^PAGED'"
check "no pager with --no-pager" \
	bash -c "$(declare -f in_terminal); ! in_terminal 'PAGER=\"sed s/^/PAGED/\" $kernlens --no-pager list sched' | grep -q '^PAGED'"
PAGER='sed s/^/PAGED/' kl list sched
silent out PAGED "no pager in a pipe"

# Skipped while the module has other users.
if rmmod kernlens 2>/dev/null; then
	kl list sched
	expect "list without the module" 0
	says out 'module is not loaded'
	kl list --json
	json "without the module availability is unknown" \
		'all(.[]; .available == null and .reason != "")'
	kl record -- true
	expect "record without the module" 1
	says err 'module is not loaded \(modprobe kernlens\); kernlens doctor'
	kl_nobody status --json
	json "status without the module" '.error == "ENOENT"'
	load_kernlens
	kl status
	expect "the module is back" 0
fi
