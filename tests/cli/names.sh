# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# Source lines, inlined functions and C++ names in stack traces of programs.

program=$(realpath "$here/../../build/tests/cli/stack-names")
source=$here/stack_names.cc

# line COMMENT: the number of the source line that ends with COMMENT.
line() {
	grep -n "LINE $1 \*/" "$source" | cut -d: -f1
}
wanted="ask_kernel:$(line ask_kernel):true shop::Basket<long>::ask(long):$(line ask):true"
wanted+=" shop::serve(int):$(line serve):false main:$(line main):false"

# chain FILTER [FILE]: function, line and whether it is inlined, for the first four frames.
chain() {
	jq -r -s "$1 | [.[:4][] | \"\(.symbol):\(.line):\(.inlined // false)\"] | join(\" \")" "${2:-$work/out}"
}

# traced TEXT PROGRAM: the stack trace of PROGRAM must have all of them.
traced() {
	kl live --json -o live.json -e syscall_entry_getppid:stack -- "$2" 2
	check "$1" test "$(chain '[.[] | select(.event == "syscall_entry_getppid")][0].stacks.ustack' live.json)" = "$wanted"
}

kl record -q -e syscall_entry_getppid:stack -o t -- "$program" 3
expect "a program in C++" 0
kl print t --json
check "functions, lines and what is inlined" test "$(chain '.[0].stacks.ustack')" = "$wanted"
check "binutils says the same of the file's places" bash -c 'jq -r -s ".[0].stacks.ustack[:4][] | [.place, .line] | @tsv" "$1" |
	while read -r place line; do
		addr2line -i -e "$2" "$(printf %x $((place - 1)))" | grep -q ":$line\b" || exit 1
	done' - "$work/out" "$program"
check "inlined functions have no offset, others have" jq -s -e \
	'.[0].stacks.ustack[:4] | [.[] | has("offset")] == [false, false, true, true]' "$work/out"
check "what their linker calls them" jq -s -e '.[0].stacks.ustack[2].mangled == "_ZN4shopL5serveEi"' "$work/out"
kl print t
says out "^        ask_kernel inlined .*stack_names.cc:$(line ask_kernel)\$" "as text"
says out "^        shop::serve\(int\)\+0x[0-9a-f]+ \($program\) .*stack_names.cc:$(line serve)\$"
kl print t --no-demangle
says out "^        _ZN4shopL5serveEi\+0x[0-9a-f]+ \(" "--no-demangle"
silent out 'shop::' "leaves all as they are"
kl print t --no-demangle --json
check "in JSON, too" jq -s -e '.[0].stacks.ustack[2] | .symbol == "_ZN4shopL5serveEi" and (has("mangled") | not)' "$work/out"
kl print t --format csv
says out ",\"?ask_kernel inlined [^;]*:$(line ask_kernel);shop::Basket<long>::ask\(long\) inlined" "CSV"
kl stat -e 'syscall_entry_getppid:count by ustack' -- "$program" 3
says err "^        shop::serve\(int\)\+0x[0-9a-f]+ .*:$(line serve)\$" "stat"
kl stat --no-demangle -e 'syscall_entry_getppid:count by ustack' -- "$program" 3
says err '^        _ZN4shopL5serveEi\+0x' "stat --no-demangle"
traced "live" "$program"
check "the reader of the files is not shown" jq -s -e 'all(.[]; .comm == "stack-names")' live.json
kl live --json -a -o live.json -e sched_process_fork,syscall_entry_getppid:stack -- "$program" 2
check "also not of all processes" jq -s -e 'all(.[]; .comm != "kernlens-names")' live.json
kl_nobody live --json -o /dev/shm/live.json -e syscall_entry_getppid:stack -- "$program" 2
check "an ordinary user's" test "$(chain '[.[] | select(.event == "syscall_entry_getppid")][0].stacks.ustack' /dev/shm/live.json)" = "$wanted"
rm -f /dev/shm/live.json

# As in version 1 of the format.
cp -r t old
awk 'NR == 1 { print "kernlens-stacks 1"; next } NF == 10 { print $1, $2, $3, $4, $5, $6; next } { print }' \
	t/.kernlens/stacks >old/.kernlens/stacks
kl print old --json
check "an old trace" jq -s -e '.[0].stacks.ustack[0] | .symbol == "ask_kernel" and (has("line") | not)' "$work/out"
sed -i '1s/3/4/' t/.kernlens/stacks
kl print t
expect "a newer one is refused" 1

# A stripped program's debug information is in another file.
cp "$program" stripped
strip stripped
kl live --json -o live.json -e syscall_entry_getppid:stack -- "$work/stripped" 2
check "a stripped program has addresses" jq -s -e \
	'[.[] | select(.event == "syscall_entry_getppid")][0].stacks.ustack[0] | (has("symbol") | not) and has("place")' live.json
objcopy --only-keep-debug "$program" names.debug
cp stripped linked
objcopy --add-gnu-debuglink=names.debug linked
traced "a file that its link names" "$work/linked"
mkdir .debug
mv names.debug .debug
traced "in .debug" "$work/linked"
mkdir -p "/usr/lib/debug$work"
mv .debug/names.debug "/usr/lib/debug$work"
traced "under /usr/lib/debug" "$work/linked"
id=$(readelf -n "$program" | sed -n 's/.*Build ID: //p')
mkdir -p "/usr/lib/debug/.build-id/${id:0:2}"
mv "/usr/lib/debug$work/names.debug" "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
traced "by its build id" "$work/stripped"
rm "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
mkfifo "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
kl live --json -o live.json -e syscall_entry_getppid:stack -- "$work/stripped" 2
expect "a pipe is not read as a debug file" 0
rm "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"

# Invalid debug information: function names still resolve, and nothing crashes.
for section in .debug_info .debug_line .debug_abbrev .debug_str .debug_rnglists; do
	cp "$program" damaged
	head -c 4000 /dev/urandom >noise
	objcopy --update-section $section=noise damaged 2>/dev/null
	kl live --json -o live.json -e syscall_entry_getppid:stack -- "$work/damaged" 2
	check "noise for $section" jq -s -e \
		'[.[] | select(.event == "syscall_entry_getppid")][0].stacks.ustack | any(.symbol == "shop::serve(int)")' live.json
done
cp "$program" shrunk
# A reader of the process's mappings can briefly keep its program from being written.
kl record -q -e syscall_entry_getppid:stack -o cut -- \
	sh -c './shrunk 2; for i in $(seq 100); do truncate -s 0 shrunk 2>/dev/null && exit; sleep 0.05; done; exit 9'
expect "a program that has been emptied since" 0
kl print cut --json
check "has its records" jq -s -e 'map(select(.event == "syscall_entry_getppid" and .comm == "shrunk")) | length == 2' "$work/out"
