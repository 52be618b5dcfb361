# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# Blocks of programs counted by ptrace, without privilege: the same counts as with uprobes, for
# children, new programs and libraries. Also a program that checks its own results, with threads,
# signals and children, while it is attached to and detached from. CYCLES: how often to do that (it
# has passed with 50).

programs=$(realpath "$here/../../build/tests/cli")
splice=$programs/program-splice library=$programs/libsplice.so
cycles=${CYCLES:-4}
chmod 777 .
# shellcheck source=program_load
. "$here/program_load"

# A jq filter: an object with the count of each point by name; null where a point is not counted.
counts='[.functions[] | .function as $f | .points[] |
	{ key: "\($f)#\(.block)\(if .post then ":post" else "" end)", value: .count }] | from_entries'

# same_counts TEXT WITHOUT COMMAND...: where both count, the counts are equal, and all but WITHOUT
# blocks are counted.
same_counts() {
	local text=$1 without=$2
	shift 2
	kl count --json "${events[@]}" -- "$@"
	expect "$text: counted by uprobes" 0
	jq "$counts" "$work/out" >uprobes.json
	kl_nobody count --json "${events[@]}" -- "$@"
	expect "$text: counted by ptrace, without privilege" 0
	jq "$counts" "$work/out" >splices.json
	check "$text: the counts are the same" jq -e -n --slurpfile u uprobes.json --slurpfile s splices.json \
		'$s[0] | to_entries | map(select(.value != null and $u[0][.key] != null)) |
			length > 5 and all(.value == $u[0][.key])'
	check "$text: at most $without blocks are left out" jq -e -n --slurpfile u uprobes.json \
		--slurpfile s splices.json --argjson most "$without" \
		'[$u[0] | to_entries[] | select(.value != null and $s[0][.key] == null)] | length <= $most'
}

for program in "$programs/program-blocks" "$programs/program-blocks-plain"; do
	events=()
	for function in steps branches choose; do
		events+=(-e "block:$program:$function" -e "block:$program:$function:post")
	done
	same_counts "${program##*/}" 8 "$program" 4 240
done
events=(-e "block:$programs/program-throw:throw_some" -e "block:$programs/program-throw:pass_on"
	-e "block:$programs/program-throw:take_all")
same_counts "functions that throw" 4 "$programs/program-throw" 200
events=(-e "block:$splice:work" -e "block:$splice:leaf" -e "block:$splice:turn" -e "block:$library:library_work")
same_counts "a library" 0 "$splice" once 300
check "it is counted, too" jq -e '."library_work#0" == 300' splices.json
same_counts "children" 0 "$splice" fork 100 5
check "all are counted" jq -e '."library_work#0" == 600' splices.json
same_counts "a new program" 0 "$splice" exec 100
check "is counted" jq -e '."library_work#0" == 200' splices.json
same_counts "a program started by vfork" 0 "$splice" vfork 100
check "is counted" jq -e '."library_work#0" == 200' splices.json
same_counts "programs of a shell" 0 sh -c "$splice once 10; $splice once 20"
check "are counted" jq -e '."library_work#0" == 30' splices.json
kl count --ptrace --json -e "block:$splice:leaf#0" -- "$splice" once 10
json "--ptrace does it with privilege, too" '.functions[0].points[0].count > 0'
kl_nobody count --asm -e "block:$splice:leaf" -- "$splice" once 10
says err '^ *[0-9]+ +0 +\+0x0 .*program_splice\.c:[0-9]+$' "the listing is the same"
kl_nobody count -e "block:$programs/program-blocks:hidden" -- "$programs/program-blocks" 1 1
says err 'not counted: indirect' "a function with a jump that is not known is left alone"
kl_nobody count -e "block:$splice:leaf" -- true
expect "a command that does not run the file" 0
says err 'has not mapped' "says so"
kl_nobody count -e "block:$splice:leaf" -- sh -c 'exit 7'
expect "the command's status is handed on" 7
kl_nobody count -e "block:$splice:nothing" -- true
expect "a function that is not there" 1
kl_nobody count -e "block:$splice:leaf"
expect "nobody is named" 2
kl count --ptrace -e block:ksys_read -- true
expect "the kernel has no ptrace" 2
yama=/proc/sys/kernel/yama/ptrace_scope
if [[ -e $yama ]]; then
	echo 1 >$yama
	kl_nobody count --json -e "block:$splice:leaf" -- "$splice" once 10
	json "a command where only who is above a process may trace it" '.functions[0].points[0].count > 0'
	setpriv --reuid 65534 --regid 65534 --clear-groups sleep 60 &
	kl_nobody count -e "block:$splice:leaf" -p $!
	expect "and a process that runs already" 1
	says err 'yama' "says why"
	kill $!
	echo 0 >$yama
fi
kl_nobody count -e "block:$splice:leaf" -p 1
expect "a process of somebody else" 1
says err 'cannot trace process' "says so"

start
wrong=0 differs=0 none=0
for ((i = 0; i < cycles; i++)); do
	kl_nobody count --json "${events[@]}" -p "$pid" --duration 0.1
	((!status)) || { ((++wrong)) && cat "$work/out"; }
	is_unchanged || ((++differs))
	jq -e '[.functions[].points[] | .count // 0] | all(. > 0)' "$work/out" >/dev/null || ((++none))
done
check "joined and left $cycles times, $wrong failed" test "$wrong" -eq 0
check "its text is as it was each time" test "$differs" -eq 0
check "each time all has been counted but $none times" test "$none" -le 2

setpriv --reuid 65534 --regid 65534 --clear-groups -- \
	"$kernlens" count --json "${events[@]}" -p "$pid" --duration 30 >/dev/null 2>&1 &
counting=$!
wait_until is_changed
check "while it is counted its text is another" is_changed
kill -STOP "$pid"
wait_until grep -q '^State:.*[Tt]' "/proc/$pid/status"
sleep 0.5
ticks=$(cut -d ' ' -f 14 "/proc/$pid/stat")
sleep 0.5
check "a stop of the process stops it" test "$(cut -d ' ' -f 14 "/proc/$pid/stat")" -eq "$ticks"
kill -CONT "$pid"
sleep 0.5
check "and it goes on" test "$(cut -d ' ' -f 14 "/proc/$pid/stat")" -gt "$ticks"
kill -KILL $counting
wait $counting 2>/dev/null
wait_until is_unchanged
check "who counts and is killed leaves it as it was" is_unchanged
finish "all that"

start
setpriv --reuid 65534 --regid 65534 --clear-groups -- \
	"$kernlens" count --json "${events[@]}" -p "$pid" --duration 30 >/dev/null 2>&1 &
counting=$!
wait_until is_changed
kill -KILL "$(sed -n 's/^TracerPid:\t//p' "/proc/$pid/status")"
kill -KILL $counting
wait $counting 2>/dev/null
sleep 0.5
check "splices stay if all who could take them back are killed" is_changed
kl_nobody count "${events[@]}" -p "$pid" --duration 0.1
expect "nobody writes over them" 1
says err 'its text differs from' "says so"
finish "with splices that stay"

start filter
kl_nobody count "${events[@]}" -p "$pid" --duration 0.1
expect "a process with a filter of its system calls" 1
says err 'seccomp' "says so"
check "is left alone" is_unchanged
finish "with a filter"
