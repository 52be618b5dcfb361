# SPDX-License-Identifier: GPL-2.0
# What tests/cli/locks.sh does, and compares.
"""locks.py write FILE | compare TRACE.JSON FTRACE

write: two processes write 64 MB again and again into the same file, at the same place; each holds
the file's lock while it writes. They end when each has slept in three of its writes. Prints their
IDs.
compare: `kernlens locks --json --by lock --top 0`, with the waits that ftrace has seen meanwhile,
as text; prints the locks of both, and TAP lines.
"""

import json
import mmap
import os
import re
import resource
import sys

WAIT = re.compile(
    r"^\s*(.+)-(\d+)\s+\[(\d+)\].*?\s([\d.]+): contention_(begin|end): (0x)?([0-9a-f]+)"
)


def write(path):
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    data = b"x" * (64 << 20)
    ready, go = os.pipe()
    slept = mmap.mmap(-1, mmap.PAGESIZE)
    children = []
    for number in range(2):
        child = os.fork()
        if not child:
            os.close(go)
            os.read(ready, 1)
            # Neither may end first: nobody would be left to wait for.
            for _ in range(200):
                before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
                os.pwrite(fd, data, 0)
                if resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw > before:
                    slept[number] += 1
                if min(slept[:2]) >= 3:
                    break
            os._exit(0)
        children.append(child)
    os.close(go)
    for child in children:
        os.waitpid(child, 0)
    print(*children)


def seen_by_ftrace(path):
    """Number and time, in ns, of waits by address of the lock."""
    begun, found = {}, {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            match = WAIT.match(line)
            if not match:
                continue
            _, tid, cpu, seconds, what, _, lock = match.groups()
            key = (tid if int(tid) else "cpu" + cpu, lock)
            whole, part = seconds.split(".")
            ns = int(whole) * 10**9 + int(part.ljust(9, "0"))
            if what == "begin":
                begun.setdefault(key, ns)
            elif key in begun:
                sums = found.setdefault(int(lock, 16), [0, 0])
                sums[0] += 1
                sums[1] += ns - begun.pop(key)
    return found


def compare(path, text):
    theirs = seen_by_ftrace(text)
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)["rows"]
    ours = {int(row["address"], 16): row for row in rows}
    failed = 0
    tests = 0

    def check(good, what):
        nonlocal failed, tests
        tests += 1
        failed += not good
        print(f"{'ok' if good else 'not ok'} {tests} - {what}")

    same = total = our_total = 0
    for lock, (waits, ns) in theirs.items():
        row = ours.get(lock, {"waits": 0, "unfinished": 0, "ns": 0})
        same += row["waits"] - row["unfinished"] == waits
        if row["waits"] - row["unfinished"] != waits:
            print(f"# {lock:#x}: {row['waits']} waits, ftrace: {waits}")
        total += ns
        our_total += row["ns"]
    # A wait may begin or end some milliseconds later for one of the two: the processor may be
    # another's between their probes; there may be few waits.
    print(f"# {our_total} ns, ftrace: {total} ns")
    print(f"# ftrace has {len(theirs)} locks, {sum(n for n, _ in theirs.values())} waits")
    check(theirs, "ftrace has seen waits")
    check(same == len(theirs), f"as many for each of {len(theirs)} locks")
    check(abs(our_total - total) <= 0.05 * total + 20e6, "that took as long")
    print(f"1..{tests}")
    return failed > 0


if __name__ == "__main__":
    sys.exit({"write": write, "compare": compare}[sys.argv[1]](*sys.argv[2:]))
