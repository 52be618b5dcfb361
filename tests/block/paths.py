#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# paths.py KERNLENS: in a virtual machine as root, compares kernlens path with the calls that a
# program is known to make, with counts of all blocks in a second run, and the counts derived from
# the fewest counters with those of all counters, in one run. Prints TAP lines.
import collections
import json

from checks import end, report, run

PRIORITY = """
import os
os.setpgid(0, 0)
for i in range(300): os.getpriority(os.PRIO_PROCESS, 0)
for i in range(100):
    try: os.getpriority(os.PRIO_PROCESS, 4000000)
    except OSError: pass
for i in range(100): os.getpriority(os.PRIO_PGRP, 0)
"""
# Each call executes a loop once per buffer.
VECTOR = """
import os
zero, null = os.open('/dev/zero', os.O_RDONLY), os.open('/dev/null', os.O_WRONLY)
for i in range(300): os.readv(zero, [bytearray(8) for k in range(i % 5 + 1)])
for i in range(200): os.writev(null, [b'x', b'y'])
"""
WRITE = """
import os
null, full = os.open('/dev/null', os.O_WRONLY), os.open('/dev/full', os.O_WRONLY)
for i in range(500): os.write(null, b'x')
for i in range(200):
    try: os.write(full, b'x')
    except OSError: pass
"""
OPEN = """
import os
for i in range(150): os.close(os.open('/dev/null', os.O_RDONLY))
for i in range(150):
    try: os.open('/dev/nothing', os.O_RDONLY)
    except OSError: pass
"""


def python(text):
    return ["python3", "-S", "-E", "-c", text]


def path(function, *words):
    """A profile must add up: each observed execution of a block is in one path or reported as
    unexplained."""
    result = json.loads(run("--json", "path", function, *words).stdout)
    sums = collections.Counter()
    for row in result["paths"]:
        for block in row["blocks"]:
            sums[block] += row["count"]
    wrong = [block for block in result["blocks"]
             if "reason" not in block and sums[block["block"]] + block["unexplained"] != block["count"]]
    report(not wrong and not result["lost"] and result["passes"] ==
           sum(block["count"] or 0 for block in result["blocks"]),
           f"{function}: paths through each block add up to its {result['passes']} passes", *wrong[:5])
    return result


def named(*names):
    """The compiler's name for a C function."""
    with open("/proc/kallsyms") as file:
        symbols = {line.split()[2] for line in file}
    return next(name for name in names if name in symbols)


def ends(result):
    return sum(row["count"] for row in result["paths"] if row["ends"] in ("exit", "left"))


def check_same(function, calls, text):
    """A function that no other task calls: its paths, and a second run that counts all blocks and
    derives counts."""
    profile = path(function, "--", *python(text))
    report(profile["calls"] == ends(profile) == calls and not profile["unexplained"] and not profile["ambiguous"],
           f"{function} is called {calls} times and left as often", profile["calls"], ends(profile))
    report(len(profile["paths"]) > 1, f"in {len(profile['paths'])} ways")
    derived = check_derived(function, text)
    own = {block["block"]: block["own"] for block in derived["blocks"] if "reason" not in block}
    seen = {block["block"]: block["count"] for block in profile["blocks"] if "reason" not in block}
    report(seen == own and sum(own.values()) > calls, f"{function}: its blocks are counted as often in a second run",
           seen, own)
    known = {(edge["from"], edge["to"]): edge["count"] for edge in derived["edges"] if edge["count"] is not None}
    gone = {(edge["from"], edge["to"]): edge["count"] for edge in profile["edges"]}
    wrong = [f"{edge}: {known[edge]}, {gone[edge]}" for edge in known if known[edge] != gone[edge]]
    report(not wrong and sum(known.values()), f"{function}: {len(known)} of {len(gone)} edges are derived as gone", *wrong)


def check_derived(function, text):
    """All blocks have a counter; the derivation uses only some of them."""
    result = json.loads(run("--json", "path", function, "--edges", "--check", "--", *python(text)).stdout)
    blocks = [block for block in result["blocks"] if "reason" not in block]
    wrong = [block for block in blocks if block["count"] != block["own"]]
    chosen = sum(block["counted"] for block in blocks)
    report(not wrong and not result["differ"] and sum(block["own"] for block in blocks) > 0 and
           chosen == result["counters"] < len(blocks),
           f"{function}: {chosen} counters tell what {len(blocks)} do", *wrong)
    return result


def check_calls():
    result = path("vfs_write", "--", *python(WRITE))
    report(result["calls"] == 700 and sorted(row["count"] for row in result["paths"])[-2:] == [200, 500],
           "vfs_write: 500 calls take one path, 200 that fail another", result["paths"][:3])
    result = path("do_filp_open", "--", *python(OPEN))
    report(300 < ends(result) == result["calls"] < 400, "do_filp_open: 300 opens, and those of an interpreter",
           result["calls"], ends(result))
    check_derived("do_filp_open", OPEN)
    result = path("ksys_read", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=1000", "status=none")
    first = max(result["paths"], key=lambda row: row["count"])
    report(1000 <= first["count"] <= result["calls"] < 1100, "ksys_read: 1,000 calls take one path",
           first, result["calls"])
    # In tasks, interrupts and both at once; only calls in progress at the start are unexplained.
    result = path("kmem_cache_free", "-a", "--", "sh", "-c", "find /proc/self/task /sys/class >/dev/null")
    report(result["calls"] > 1000 and result["unexplained"] <= 20, "kmem_cache_free: of all tasks and interrupts",
           result["calls"], result["unexplained"], result["ambiguous"])


def check_words():
    text = run("path", "ksys_read", "--top", "1", "--asm", "--", "sh", "-c", "cat /etc/passwd; exit 7", status=7).stderr
    report("calls" in text and " exit " in text and "ret" in text, "the table, with instructions", text)
    for words in (["vfs_*"], [], ["ksys_read", "--check"], ["ksys_read", "--edges", "-p", "1"]):
        run("path", *words, "--", "true", status=2)


check_same(named("__do_sys_getpriority", "__x64_sys_getpriority"), 500, PRIORITY)
check_same(named("__import_iovec"), 500, VECTOR)
check_calls()
check_words()
end()
