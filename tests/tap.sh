# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# TAP lines of several programs as those of one: numbered on, and counted. Sourced by what runs
# them, which ends with "1..$number" and fails if $failed.

number=0 failed=0

# tell STATUS TEXT: one line.
tell() {
	local not=''
	number=$((number + 1))
	if (($1)); then
		failed=$((failed + 1))
		not='not '
	fi
	echo "${not}ok $number - $2"
}

# renumber TEXT: another's lines from stdin, without its plan, with TEXT before what they say.
renumber() {
	local line
	while IFS= read -r line; do
		case $line in
		'ok '*) tell 0 "$1: ${line#* - }" ;;
		'not ok '*) tell 1 "$1: ${line#* - }" ;;
		'Bail out!'*) tell 1 "$1: ${line#Bail out! }" ;;
		[0-9]*..[0-9]*) ;;
		*) echo "$line" ;;
		esac
	done
}
