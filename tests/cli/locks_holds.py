# SPDX-License-Identifier: GPL-2.0
# What tests/cli/locks_holds.sh does, and compares.
"""locks_holds.py probe | work | compare HOLDS.JSON SEEN | remove

probe: has ftrace probe the functions that take and release mutexes and rwsems.
work: takes locks in ways that are known, while these probes are on for this process; leaves what they
have seen in the file `seen`.
compare: `kernlens locks --holds --json --top 0` with that; prints TAP lines.
remove: removes the probes.
"""

import json
import os
import re
import statistics
import sys

TRACING = "/sys/kernel/tracing/"
TAKING = ("mutex_lock", "mutex_trylock", "down_read", "down_write", "down_read_trylock",
          "down_read_killable", "down_write_killable", "mutex_lock_interruptible",
          "mutex_lock_killable")
RELEASING = ("mutex_unlock", "up_read", "up_write")
TIMES = 500
LINE = re.compile(r"-(\d+)\s+\[\d+\].*?\s(\d+)\.(\d+): (take|release)_\w+: .*lock=0x([0-9a-f]+)")


def put(name, text, flags=os.O_TRUNC):
    file = os.open(TRACING + name, os.O_WRONLY | flags)
    os.write(file, (text + "\n").encode())
    os.close(file)


def probe():
    for what, functions in (("take", TAKING), ("release", RELEASING)):
        for name in functions:
            put("kprobe_events", f"p:kl_test/{what}_{name} {name} lock=%di:x64", os.O_APPEND)
    put("trace_clock", "mono")
    put("buffer_size_kb", "16384")


def remove():
    put("events/kl_test/enable", "0")
    put("kprobe_events", "")
    put("set_event_pid", "")
    put("trace_clock", "local")
    put("buffer_size_kb", "1408")
    put("trace", "")
    put("tracing_on", "1")


def work():
    put("tracing_on", "0")
    put("trace", "")
    put("set_event_pid", str(os.getpid()))
    put("events/kl_test/enable", "1")
    read, write = os.pipe()
    file = os.open("file", os.O_RDWR | os.O_CREAT, 0o600)
    put("tracing_on", "1")
    for _ in range(TIMES):
        os.write(write, b"x")
        os.read(read, 1)
        os.pwrite(file, b"x" * 100000, 0)
    os.close(read)
    os.close(write)
    put("tracing_on", "0")
    put("events/kl_test/enable", "0")
    with open(TRACING + "trace", encoding="utf-8", errors="replace") as seen:
        text = seen.read()
    with open("seen", "w", encoding="utf-8") as out:
        out.write(text)


def seen_by_ftrace(path):
    """Number of acquisitions, and the times in ns until the releases, by address of the lock."""
    since, found = {}, {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            match = LINE.search(line)
            if not match:
                continue
            _, whole, part, what, lock = match.groups()
            ns = int(whole) * 10**9 + int(part.ljust(9, "0"))
            sums = found.setdefault(int(lock, 16), [0, []])
            if what == "take":
                sums[0] += 1
                since[lock] = ns
            elif lock in since:
                sums[1].append(ns - since.pop(lock))
    return found


def middle(buckets):
    """The upper end of the bucket with the middle value."""
    below = 0
    for number, count in enumerate(buckets):
        below += count
        if below * 2 >= sum(buckets):
            return 2**number
    return 0


def compare(path, text):
    with open(path, encoding="utf-8") as file:
        rows = {int(row["address"], 16): row for row in json.load(file)["rows"]}
    # The pipe's is also taken when each end is closed. Others are taken before the probes are on.
    theirs = {lock: sums for lock, sums in seen_by_ftrace(text).items()
              if sums[0] == len(sums[1]) and sums[0] in (TIMES, 2 * TIMES + 2)}
    failed = tests = 0

    def check(good, what):
        nonlocal failed, tests
        tests += 1
        failed += not good
        print(f"{'ok' if good else 'not ok'} {tests} - {what}")

    check(len(theirs) >= 2, f"ftrace has seen the locks of the pipe and of the file ({len(theirs)})")
    for lock, (taken, times) in theirs.items():
        row = rows.get(lock, {"taken": 0, "held_buckets": [], "lock": "nothing"})
        ns = statistics.median(times)
        ours = middle(row["held_buckets"])
        print(f"# {row['lock']}: {row['taken']} times, half below {ours} ns; ftrace: {taken}, {ns}")
        check(row["taken"] == taken, "as many acquisitions")
        # Of both, each interrupts what the other measures; and others use the processors.
        check(ours / 4 < ns < ours * 2, "held as long")
    print(f"1..{tests}")
    return failed > 0


if __name__ == "__main__":
    functions = {"probe": probe, "work": work, "compare": compare, "remove": remove}
    sys.exit(functions[sys.argv[1]](*sys.argv[2:]))
