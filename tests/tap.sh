# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Merges TAP lines of several programs into one stream with continuous numbers. Sourced by scripts
# that run the programs, which end with "1..$number" and fail if $failed.

number=0 failed=0

# tell STATUS TEXT: prints one TAP line.
tell() {
	local not=''
	number=$((number + 1))
	if (($1)); then
		failed=$((failed + 1))
		not='not '
	fi
	echo "${not}ok $number - $2"
}

# renumber TEXT: reprints another program's lines from stdin, without its plan, prefixed by TEXT.
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
