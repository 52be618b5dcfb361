#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# instruments.py KERNLENS OUT: in a virtual machine as root, what blocks of the kernel can do besides counting:
# histograms, memory through a register, the time between two of them, arming by time and by other blocks, rules
# at one block in their order, another module's handler. TAP lines.
import json
import os
import subprocess
import sys

from checks import end, kernlens, report, run

CALLS = 200
SEEK = "block:ksys_lseek"
GROUP = "block:__x64_sys_getpgid"
FILE = 77  # the descriptor of what is asked for here, and of nothing else
OURS = f"rdi == {FILE}"

out = sys.argv[2]


def python(text):
    return ["python3", "-c", f"import os, time\nos.dup2(os.open('/etc/passwd', 0), {FILE})\n{text}"]


def seeks(n):
    return f"for i in range({n}): os.lseek({FILE}, i, os.SEEK_SET)\n"


def rules(events, text, *more):
    """What stat says of its rules, in their order; rows by their keys."""
    return json.loads(run("--json", "stat", *more, "-e", events, "--", *python(text)).stdout)["rules"]


def count(rule):
    return sum(row["count"] for row in rule["entries"])


def last_of(function):
    """The block of a function that returns."""
    blocks = json.loads(run("--json", "blocks", function).stdout)["functions"][0]["blocks"]
    return next(index for index, block in enumerate(blocks) if block["ends"] == "return")


def check_values():
    shape, = rules(f"{SEEK}#0 /{OURS}/:hist(rsi) by comm", seeks(CALLS))
    row = shape["entries"][0]
    report(row["count"] == CALLS and row["sum"] == sum(range(CALLS)) and row["buckets"].get("32 to 63") == 32 and
           row["keys"] == {"comm": "python3"}, "a histogram of a register has all its values", shape)
    # The file's place, where the call before this one has put it: the register is a struct file's address.
    text = f"for i in range({CALLS}): os.lseek({FILE}, 7, 0); os.read({FILE}, 1)"
    place, = rules("block:vfs_read#0 /comm == \"python3\" && ((struct file *)rdi)->f_pos == 7/:count", text)
    report(count(place) == CALLS and not place["faults"], "memory is read through a register", place)


def check_time():
    ends = f"{SEEK}#{last_of('ksys_lseek')}:post"
    said = rules(f"{SEEK}#0 /{OURS}/:set(t),{ends} /flag(t)/:sum(since(t)),{ends}:clear(t)", seeks(CALLS))
    took = next(rule for rule in said if "sum" in rule["rule"])
    row = took["entries"][0]
    report(row["count"] == CALLS and 0 < row["sum"] < 30e9 and not took["faults"],
           f"the time from one block to another of a task, {CALLS} times: {row['sum'] // CALLS} ns", took)


def check_arming():
    """At first 100 passes, then 30, then 7; the second only is armed."""
    text = seeks(100) + "time.sleep(4)\n" + seeks(30) + "time.sleep(4)\n" + seeks(7)
    second = "since(session) > 2000000000 && since(session) < 6000000000"
    launch, all_of = rules(f"{SEEK}#0 /{OURS} && {second}/:count,{SEEK}#0 /{OURS}/:count", text)
    report(count(all_of) == 137 and count(launch) == 30, "armed and disarmed at times of the session", launch, all_of)
    # Only what comes behind another block in the same task: not the child's.
    text = seeks(50) + "os.getpgid(0)\n" + seeks(11) + "if not os.fork():\n " + seeks(5) + " os._exit(0)\nos.wait()\n"
    said = rules(f"{GROUP}#0 /comm == \"python3\"/:set(seen),{SEEK}#0 /{OURS} && flag(seen)/:count", text)
    behind = next(rule for rule in said if "count" in rule["rule"])
    report(count(behind) == 11, "counted only behind another block of the same task", said)


def check_order():
    for events, expected in ((f"{SEEK}#0 /{OURS}/:set(t),{SEEK}#0 /{OURS} && flag(t)/:count", CALLS),
                             (f"{SEEK}#0 /{OURS} && flag(t)/:count,{SEEK}#0 /{OURS}/:set(t)", CALLS - 1)):
        said = rules(events, seeks(CALLS))
        counted = next(rule for rule in said if "count" in rule["rule"])
        report(count(counted) == expected, f"rules at one block act as they are written: {expected}", said)


def check_handler():
    module = f"{os.path.dirname(kernlens)}/{os.uname().release}/kl_largest.ko"
    loaded = subprocess.run(["insmod", module], capture_output=True, text=True)
    said = run("stat", "-e", f"{SEEK}#0 /{OURS}/:largest(rsi, 3)", "--", *python(seeks(CALLS))).stderr
    report(loaded.returncode == 0 and f"the 3 largest of {CALLS} values" in said and f" {CALLS - 1} " in said,
           "another module's handler gets a block's register", said)
    subprocess.run(["rmmod", "kl_largest"])


check_values()
check_time()
check_arming()
check_order()
check_handler()
end()
