# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# User stack traces of programs without frame pointers: programs of our own as gcc -O2 makes them,
# and Debian's.

programs=$(realpath "$here/../../build/tests/unwind")
nap=$programs/nap

# save_json TRACE FILE: writes a trace as JSON.
save_json() {
	kl print "$1" --format json
	cp "$work/out" "$2"
}

# same TEXT FOUND WANTED
same() {
	check "$1" test "$2" = "$3"
}

# functions FILTER FILE: the functions of a trace, innermost first, in one line.
functions() {
	jq -r -s "$1 | [.[] | .symbol // \"-\"] | join(\" \")" "$2"
}

# certain FILE: all traces of programs are certain, and there are some.
# A task that was preempted in the kernel may hold the lock of its mappings: without them, its trace is
# uncertain.
certain() {
	jq -s -e '[.[] | select(.fields.prev_state != 256) | .stacks.ustack // empty | .[]] |
		length > 0 and all(.uncertain | not)' "$1"
}

# The program that sleeps in `usleep`, called by three functions.
kl record -q -o nap -e syscall_entry_clock_nanosleep,sched_switch -v ustack -- "$nap"
save_json nap nap.json
same "a sleep is below the function that sleeps" "$(functions \
	'[.[] | select(.event == "syscall_entry_clock_nanosleep")][0].stacks.ustack[-8:-3]' nap.json)" \
	"usleep inner_nap middle outer main"
check "also at the switch to another task" jq -s -e \
	'[.[] | select(.event == "sched_switch" and .stacks.ustack)] | length > 5 and
		([.[] | select(any(.stacks.ustack[]; .symbol == "inner_nap"))] | length > 5)' nap.json
check "nothing is uncertain" certain nap.json
kl print nap
says out '^        inner_nap\+0x[0-9a-f]+ \(' "as text"
# Not in the traces of tasks that switch to it.
check "without a doubt" awk '/^\[/ { ours = / nap-[0-9]/ && !/ prev_state=R\+/ } ours && /^ +(\?|\()/ { doubt = 1 } END { exit doubt }' \
	"$work/out"
kl latency --by stack -o sleeps -- "$nap"
check "the latency profile has the function" grep -q 'inner_nap' sleeps
kl_nobody record -q -o /dev/shm/nap -e syscall_entry_clock_nanosleep -v ustack -- "$nap"
save_json /dev/shm/nap user.json
same "an ordinary user's trace" "$(functions '.[0].stacks.ustack[-8:-3]' user.json)" \
	"usleep inner_nap middle outer main"
rm -rf /dev/shm/nap

# Handlers of signals, also on another stack; alloca and a realigned stack; callbacks of the library.
kl record -q -o signal -e 'syscall_entry_get*,syscall_entry_rt_sigreturn' -v ustack -- \
	"$programs/signal"
save_json signal signal.json
same "a signal handler is above the function that it interrupted" "$(functions \
	'[.[] | select(.event == "syscall_entry_getppid")][0].stacks.ustack[1:] |
		map(select(.symbol as $s | ["handle", "with_alloca", "with_alignment", "main"] | index($s)))' \
	signal.json)" "handle with_alloca with_alignment main"
check "in all of them nothing is uncertain" certain signal.json
check "and all lead to main" jq -s -e 'all(.[].stacks.ustack; any(.[]; .symbol == "main"))' signal.json

# Debian's programs, whose symbols are stripped.
for command in "ls -l /etc" "bash -c :" "perl -e print(1)" "git --version" "tar cf /dev/null /etc/apt"; do
	# shellcheck disable=SC2086
	kl record -q --force -o stock -e 'syscall_entry_*' -v ustack -- $command
	save_json stock stock.json
	check "$command: nothing is uncertain" certain stock.json
done

# Files that turn up while recording: the first traces carry a copy of the stack. The inode of a
# copied program is new, so no session has its unwind table.
for i in 1 2 3; do
	cp "$nap" "nap$i"
done
kl record -q -o exec -e syscall_entry_clock_nanosleep -v ustack -- sh -c './nap1; ./nap2; exec ./nap3'
save_json exec exec.json
same "a program that another executes is known from its first trace on" "$(jq -r -s '[group_by(.pid)[][0]
	.stacks.ustack | map(.symbol) | index("inner_nap") as $i | .[$i:$i + 4] | join(" ")] | unique | .[]' \
	exec.json)" "inner_nap middle outer main"
check "nothing is uncertain" certain exec.json
cp "$nap" nap4
chmod 755 nap4
kl_nobody record -q -o /dev/shm/exec -e syscall_entry_clock_nanosleep -v ustack -- sh -c './nap4; :'
save_json /dev/shm/exec exec.json
same "an ordinary user's, too" "$(functions '.[0].stacks.ustack[-8:-3]' exec.json)" \
	"usleep inner_nap middle outer main"
check "nothing is uncertain" certain exec.json
rm -rf /dev/shm/exec
# A library that is loaded at run time, as Python does for a module.
library=$(python3 -c 'import _json; print(_json.__file__)' 2>/dev/null) || library=
if [[ $library ]]; then
	cp "$library" ./_copied.so
	kl record -q -o loaded -e syscall_entry_getppid -v ustack -- python3 -c '
import importlib.machinery, importlib.util, os
loader = importlib.machinery.ExtensionFileLoader("_json", os.path.abspath("_copied.so"))
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("_json", loader))
loader.exec_module(module)
def other(value):
    os.getppid()
encode = module.make_encoder({}, other, module.encode_basestring, None, ":", ",", False, False, True)
encode(object(), 0)'
	save_json loaded loaded.json
	check "a library that is loaded later is known from its first trace on" jq -s -e '.[0].stacks.ustack |
		any(.[]; .file // "" | endswith("_copied.so")) and any(.[]; .symbol == "_start") and
		all(.uncertain | not)' loaded.json
else
	skip "a library that is loaded later" "Python has this module built in"
fi

# Calls that have no call frame information where they wait, or whose return address is not on the
# stack: dash calls vfork(), posix_spawn() clone3().
kl record -q -o spawn -e 'syscall_entry_vfork,syscall_entry_clone*' -v ustack -- \
	sh -c '/bin/true; python3 -c "import os; os.waitpid(os.posix_spawn(\"/bin/true\", [\"true\"], {}), 0)"; :'
save_json spawn spawn.json
check "the callers of vfork and posix_spawn" jq -s -e '[.[] | .event[14:]] as $calls |
	($calls | index("vfork")) != null and any($calls[]; startswith("clone")) and
	all(.[].stacks.ustack; any(.[]; .symbol == "__libc_start_main"))' spawn.json
check "nothing is uncertain" certain spawn.json

# Code that is in no file.
kl record -q -o generated -e syscall_entry_getppid -v ustack -- "$programs/generated"
kl print generated
says out '^        \(code that is not in a file\)$' "generated code is no part of a certain trace"
says out '^        \? caller\+0x' "frame pointers lead on, and are marked"
save_json generated generated.json
check "in JSON, too" jq -s -e '.[0].stacks.ustack | (.[0] | has("uncertain") | not) and
	(map(select(.symbol == "caller"))[0].uncertain)' generated.json

# A file that an overlay has copied to its upper layer when it was opened for writing: ordinary users
# read it by its path, and must find it the same. The overlay is not where its layers are mounted.
mkdir -m 755 layers merged
mkdir -m 777 own
mount -t tmpfs layers layers
mkdir -m 755 layers/{lower,upper,work}
cp "$nap" layers/lower/napping
mount -t overlay -o lowerdir=layers/lower,upperdir=layers/upper,workdir=layers/work overlay merged
: >>merged/napping
kl_nobody record -q -o own/layers -e syscall_entry_clock_nanosleep -v ustack -- merged/napping
expect "a program that an overlay has copied" 0
save_json own/layers layers.json
check "its frames have functions, and none is uncertain" certain layers.json
check "they are as without an overlay" test "$(functions '.[0].stacks.ustack[3:7]' layers.json)" = \
	"inner_nap middle outer main"
check "with its path as its user sees it" jq -s -e --arg path "$work/merged/napping" \
	'[.[].stacks.ustack[].file] | index($path) != null' layers.json
umount merged layers
