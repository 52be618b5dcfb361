# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: what is tested here does not depend on its version.
# Names of code that programs compile themselves: from a map that a program of ours writes, with
# maps that are not to be believed, and from Node.js.

# Code with a frame pointer that calls getppid() five times, and a map as the first argument says:
# lines in which @ is the address, or - for a pipe. The second one is its owner.
cat >compiled.py <<'END'
import ctypes, mmap, os, sys, time
text = bytes.fromhex("554889e5b86e0000000f055dc3")
room = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
room.write(text)
address = ctypes.addressof(ctypes.c_char.from_buffer(room))
path = f"/tmp/perf-{os.getpid()}.map"
if sys.argv[1] != "-":
    with open(path, "w") as file:
        file.write(sys.argv[1].replace("@", f"{address:x}") + "\n")
    if len(sys.argv) > 2:
        os.chown(path, int(sys.argv[2]), 0)
else:
    os.mkfifo(path)
function = ctypes.CFUNCTYPE(ctypes.c_int)(address)
for i in range(5):
    function()
time.sleep(float(os.environ.get("WAIT", "0")))
END

# counted LINES [OWNER]: counts the program's calls by their call trace.
counted() {
	kl stat --json -e 'syscall_entry_getppid:count by ustack' -- python3 compiled.py "$@"
}

# names TEXT JQ: what the first frame of the trace is.
names() {
	json "$1" ".rules[0].entries | map(select(.count == 5))[0].keys.ustack[0] | $2"
}

counted '@ d compiled_function'
expect "a program with a map" 0
names "its code has a name" '.symbol == "compiled_function" and .offset == 11'
names "and the map's" '.file | test("^/tmp/perf-[0-9]+\\.map$")'
counted $'@ d old_name\nno line\n1 2\n@ d the name of now'
names "the later of two lines counts, and names have spaces" '.symbol == "the name of now"'
counted '1 2 elsewhere'
names "code that is not in the map" '.symbol == null'
counted '@ 4 shorter'
names "nor code behind a function" '.symbol == null'
counted '@ d foreign' 65534
names "a map that somebody else could have made" '.symbol == null'
counted -
expect "a map that is a pipe" 0
names "is not waited for" '.symbol == null'
# Its map is gone with it, so it must be read while the program runs.
WAIT=5 kl live --json -v ustack -e 'syscall_entry_getppid /comm == "python3"/' -- unshare --mount --pid --fork \
	sh -c 'mount -t tmpfs none /tmp && python3 -c "$0" "@ d in_a_container"; exit' "$(<compiled.py)"
check "in a container" jq -s -e 'map(.stacks.ustack[0].symbol) == [range(5) | "in_a_container"]' "$work/out"
kl record -q -e syscall_entry_getppid -v ustack -o trace -- python3 compiled.py '@ d recorded_function'
kl print -e syscall_entry_getppid trace
says out 'recorded_function\+0xb \(/tmp/perf-[0-9]+\.map\)' "in a trace"

cat >hot.js <<'END'
function klInner() { let sum = 0; for (let i = 0; i < 200; i++) sum += process.ppid; return sum; }
function klOuter() { return klInner() + 1; }
for (let i = 0; i < 300; i++) klOuter();
END
# Each function is compiled at once, and stays as it is: it has a frame of its own.
kl stat --json -e 'syscall_entry_getppid:count by ustack' -- node --perf-basic-prof --always-sparkplug --no-opt hot.js
expect "Node.js" 0
json "its functions have names" '[.rules[0].entries[] | select([.keys.ustack[].symbol // ""] |
	(map(test("klInner")) | any) and (map(test("klOuter")) | any)) | .count] | add == 60000'
rm -f /tmp/perf-*.map
