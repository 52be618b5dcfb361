#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# instruments.py KERNLENS OUT: in a virtual machine as root, tests what blocks of the kernel can do
# besides counting: histograms, memory read through a register, the time between two blocks, arming
# by time and by other blocks, several rules at one block in order, another module's handler; also
# on the edge to a block. Prints TAP lines.
import json
import os
import subprocess
import sys

from checks import end, kernlens, report, run

CALLS = 200
SEEK = "block:ksys_lseek"
GROUP = "block:__x64_sys_getpgid"
EDGES = ("vfs_*", "ksys_*", "do_sys_*", "fput*", "kmem_cache_*", "copy_process", "do_exit", "security_file_*",
         "filp_close", "do_filp_open", "path_openat", "pipe_*", "anon_pipe_*", "do_wait*")
FILE = 77  # a descriptor that only the calls under test use
OURS = f"rdi == {FILE}"

out = sys.argv[2]


def python(text):
    return ["python3", "-c", f"import os, time\nos.dup2(os.open('/etc/passwd', 0), {FILE})\n{text}"]


def seeks(n):
    return f"for i in range({n}): os.lseek({FILE}, i, os.SEEK_SET)\n"


def rules(events, text, *more):
    """The rules that stat reports, in their order; rows by their keys."""
    return json.loads(run("--json", "stat", *more, "-e", events, "--", *python(text)).stdout)["rules"]


def count(rule):
    return sum(row["count"] for row in rule["entries"])


def last_of(function):
    """The index of a function's returning block."""
    blocks = json.loads(run("--json", "blocks", function).stdout)["functions"][0]["blocks"]
    return next(index for index, block in enumerate(blocks) if block["ends"] == "return")


def check_values():
    shape, = rules(f"{SEEK}#0 /{OURS}/:hist(rsi) by comm", seeks(CALLS))
    row = shape["entries"][0]
    report(row["count"] == CALLS and row["sum"] == sum(range(CALLS)) and row["buckets"].get("32 to 63") == 32 and
           row["keys"] == {"comm": "python3"}, "a histogram of a register has all its values", shape)
    # The file's position, as set by the preceding call: the register holds the address of a struct
    # file.
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
    """The block executes 100, 30, then 7 times; the rule is armed only for the second batch."""
    text = seeks(100) + "time.sleep(4)\n" + seeks(30) + "time.sleep(4)\n" + seeks(7)
    second = "since(session) > 2000000000 && since(session) < 6000000000"
    launch, all_of = rules(f"{SEEK}#0 /{OURS} && {second}/:count,{SEEK}#0 /{OURS}/:count", text)
    report(count(all_of) == 137 and count(launch) == 30, "armed and disarmed at times of the session", launch, all_of)
    # Counts only after another block in the same task, so not the child's calls.
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


def forks():
    """Branches with a side that needs its instrument on the edge to it, and where neither side has
    another predecessor."""
    found = []
    for function in json.loads(run("--json", "blocks", *EDGES).stdout)["functions"]:
        blocks = function["blocks"]
        ways = [block[way] for block in blocks for way in ("next", "taken") if block[way] is not None]
        for index, block in enumerate(blocks):
            sides = block["next"], block["taken"]
            if block["ends"] != "branch" or None in sides or block["pre"]["tier"] == "none":
                continue
            if all(ways.count(side) == 1 and not blocks[side]["entered"] and blocks[side]["pre"]["tier"] != "none"
                   for side in sides):
                found += [(function["function"], index, side, blocks[side]) for side in sides
                          if "edge" in blocks[side]["pre"]]
    return found


def check_edges():
    text = "for i in range(40):\n os.close(os.open('/etc/passwd', 0))\n r, w = os.pipe()\n os.write(w, b'x'); " \
           "os.read(r, 1); os.close(r); os.close(w)\n os.fork() or os._exit(0)\n os.wait()\n"
    places = [place for place in forks() if place[0].isidentifier()]
    wanted = sorted({f"block:{function}" for function, *_ in places})
    points = {function["function"]: {point["block"]: point.get("count", 0) for point in function["points"]}
              for function in json.loads(run("--json", "count", *[word for event in wanted for word in ("-e", event)],
                                             "--", *python(text)).stdout)["functions"]}
    for kind in "next", "taken":
        passed = [place for place in places if place[3]["pre"]["edge"] == kind and
                  points.get(place[0], {}).get(place[2], 0) >= 40][:2]
        report(len(passed) == 2, f"{kind}: blocks with their instrument on the way there are passed", len(places))
        for function, before, side, block in passed:
            check_edge(function, before, side, block, text)


def check_edge(function, before, side, block, text):
    """A branch's two sides add up to its block; an event's stack trace begins at its side."""
    place, mine = f"block:{function}#", '/comm == "python3"/'
    other, = {point for point in siblings(function, before) if point != side}
    said = rules(",".join(f"{place}{index} {mine}:count" for index in (before, side, other)), text)
    passed = {rule["rule"].split("#")[1].split()[0]: count(rule) for rule in said}
    report(passed[str(side)] >= 40 and passed[str(before)] == passed[str(side)] + passed[str(other)],
           f"{function}: block {before} leads to {side} or {other}: {passed}", said)
    run("record", "--force", "-o", f"{out}/edge", "-e", f"{place}{side} {mine}", "-v", "kstack", "--", *python(text))
    frames = run("print", f"{out}/edge").stdout.splitlines()
    first = {frames[i + 1].strip() for i, line in enumerate(frames[:-1]) if f"{function}#{side}" in line}
    report(len(first) == 1 and first.pop().startswith(f"{function}+{block['offset']:#x}"),
           f"{function}: its call traces begin at block {side}", *frames[:6])


def siblings(function, before):
    block = json.loads(run("--json", "blocks", function).stdout)["functions"][0]["blocks"][before]
    return block["next"], block["taken"]


check_values()
check_time()
check_arming()
check_order()
check_handler()
check_edges()
end()
