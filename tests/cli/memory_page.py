# SPDX-License-Identifier: GPL-2.0
# What kernlens memory draws and writes into pages, compared with /proc, for tests/cli/memory.sh.
"""memory_page.py drawing TEXT PID | ranges MAP.json PID | page PAGE MEMORY.json | history PAGE

drawing, ranges: `kernlens memory PID --map`, as text and with --json, of a process that does not run,
with its pagemap, and copies of smaps, kpagecount and kpageflags in proc.NAME.
page: a page of this process, with `kernlens memory PID --json --pages`.
history: a page of `memory.py grow` while it was recorded. All print TAP lines.
"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory import PAGE, read_smaps, words  # noqa: E402
from tap import Tap  # noqa: E402

HUGETLB, HUGE, ZERO_PAGE = 17, 22, 24
PFN = (1 << 55) - 1
MIB = 1 << 20


def data_of(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return json.loads(re.search(r'<script id="memory" type="application/json">(.*?)</script>', text, re.S)[1])


# ------------------------------------------------------------------- drawing

SIZES = {"KiB": 1024, "MiB": MIB, "GiB": 1 << 30}


def counts_of(pid, smaps, start, first, pages, files):
    """Of these pages, how many are drawn as each letter; written and clean ones are "wc"."""
    pagemap, counts, flags = files
    sums = smaps[start]
    huge = any(sums[name] for name in ("anonhugepages", "private_hugetlb", "shared_hugetlb"))
    found = dict.fromkeys(("x", "z", "h", "s", "wc"), 0)
    for entry in words(pagemap, first, pages):
        frame = entry & PFN
        if entry >> 62 == 1:
            found["x"] += 1
        elif entry >> 63 and words(flags, frame)[0] >> ZERO_PAGE & 1:
            found["z"] += 1
        elif entry >> 63:
            is_huge = huge and words(flags, frame)[0] & (1 << HUGETLB | 1 << HUGE)
            found["h" if is_huge else "s" if words(counts, frame)[0] > 1 else "wc"] += 1
    return found


def is_right(letter, found, pages, sums):
    there = sum(found.values())
    if not there or letter == ".":
        return not there and letter == "."
    if letter.isupper() != (there == pages):
        return False
    kind = letter.lower()
    if (kind == "c" and not sums["private_clean"]) or (kind == "w" and not sums["private_dirty"]):
        return False
    # Written and clean ones are two kinds.
    most = max(found["x"], found["z"], found["h"], found["s"], (found["wc"] + 1) // 2)
    return found["wc" if kind in "wc" else kind] >= most


def drawing(path, pid):
    tap = Tap()
    smaps = read_smaps()
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
        ends = {int(a, 16): int(b, 16) for a, b in (line.split()[0].split("-") for line in file)}
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read().split("Pages by address", 1)[1].split("Physical memory", 1)[0]
    wrong, cells, letters = [], 0, set()
    with open(f"/proc/{pid}/pagemap", "rb", 0) as pagemap, open(
        "proc.kpagecount", "rb"
    ) as counts, open("proc.kpageflags", "rb") as flags:
        for line in re.finditer(r"^([0-9a-f]+) +(\d+) (.iB)  ([.a-zA-Z]+) ", text, re.M):
            start, step = int(line[1], 16), int(line[2]) * SIZES[line[3]] // PAGE
            pages = (ends[start] - start) // PAGE
            if len(line[4]) != -(-pages // step):
                wrong.append((line[0], pages, "cells"))
                continue
            for cell, letter in enumerate(line[4]):
                size = min(step, pages - cell * step)
                found = counts_of(pid, smaps, start, start // PAGE + cell * step, size, (pagemap, counts, flags))
                cells += 1
                letters.add(letter.lower())
                if not is_right(letter, found, size, smaps[start]):
                    wrong.append((hex(start), cell, letter, found))
    tap.same(f"{cells} characters: as in pagemap, kpagecount and kpageflags", wrong[:3], [])
    tap.same("each kind of page is there", "".join(sorted(letters)), ".chswxz")
    return tap.end()


# -------------------------------------------------------------------- ranges


def frames_of(pid):
    """Frames of the process's pages, and of the clock's, which are pages in newer kernels only."""
    found, clock = set(), set()
    with open(f"/proc/{pid}/pagemap", "rb", 0) as pagemap, open("proc.kpageflags", "rb") as flags, open(
        f"/proc/{pid}/maps", encoding="utf-8", errors="replace"
    ) as maps:
        for line in maps:
            start, end = (int(at, 16) // PAGE for at in line.split()[0].split("-"))
            if end - start > 1 << 24 or start >= 1 << 47:
                continue
            for entry in words(pagemap, start, end - start):
                if entry >> 63 and not words(flags, entry & PFN)[0] >> ZERO_PAGE & 1:
                    (clock if "[vvar" in line else found).add(entry & PFN)
    return found, clock


def zones():
    """(first frame, end, node, name)"""
    found = []
    with open("/proc/zoneinfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("Node"):
                node, name = int(line.split()[1].strip(",")), line.split()[-1]
            elif line.split()[0] == "spanned":
                spanned = int(line.split()[1])
            elif line.split()[0] == "start_pfn:":
                found.append((int(line.split()[1]), int(line.split()[1]) + spanned, node, name))
    return found


def ranges(path, pid):
    tap = Tap()
    with open(path, encoding="utf-8") as file:
        listed = json.load(file)["ranges"]
    ours = [frame for each in listed for frame in range(each["frame"], each["frame"] + each["pages"])]
    tap.same("a frame is in one range", len(ours), len(set(ours)))
    found, clock = frames_of(pid)
    tap.same(f"{len(ours)} frames: those of pagemap", (set(ours) - clock) ^ (found - clock), set())
    all_zones = zones()
    wrong = [
        each
        for each in listed
        if not any(
            first <= each["frame"] and each["frame"] + each["pages"] <= end
            for first, end, node, name in all_zones
            if node == each["node"] and name == each["zone"]
        )
    ]
    tap.same("each in its zone and node of zoneinfo", wrong[:3], [])
    joined = [
        (one, other)
        for one, other in zip(listed, listed[1:])
        if one["frame"] + one["pages"] >= other["frame"] and one["zone"] == other["zone"]
    ]
    tap.same(f"{len(listed)} ranges: none continues another", joined[:3], [])
    return tap.end()


# --------------------------------------------------------------------- pages


def page(path, other):
    tap = Tap()
    process = data_of(path)["process"]
    with open(other, encoding="utf-8") as file:
        document = json.load(file)
    more = ("page", "pages", "first", "last")
    tap.same("the sums", process["total"], document["total"])
    tap.same(
        "the mappings",
        [{k: v for k, v in each.items() if k not in more} for each in process["mappings"]],
        document["mappings"],
    )
    names = {bit: name for name, bit in process["states"].items()}
    theirs, ours = {}, {}
    for run in document["pages"]:
        known = [run["mappings"], run["node"], run["zone"]] if "mappings" in run else []
        for i in range(run["pages"]):
            frame = [run["frame"] + i] if "frame" in run else []
            theirs[run["start"] // PAGE + i] = (set(run["state"]), known + frame)
    for run in process["runs"]:
        state = {name for bit, name in names.items() if run[2] & bit}
        for i in range(run[1]):
            known = run[3:5] + [process["zone_names"][run[5]]] if len(run) > 3 else []
            ours[run[0] + i] = (state, known + ([run[8] + i] if len(run) > 8 else []))
    tap.same(f"{len(ours)} pages", [(at, ours.get(at), theirs.get(at)) for at in set(ours) | set(theirs) if ours.get(at) != theirs.get(at)][:2], [])
    wrong = []
    for each in process["mappings"]:
        at = range(each["page"], each["page"] + each["pages"])
        runs = process["runs"][each["first"] : each["last"]]
        wrong += [run for run in runs if run[0] not in at or run[0] + run[1] - 1 not in at]
    tap.same("each belongs to its mapping", wrong[:3], [])
    tap.same("all of them", sum(each["last"] - each["first"] for each in process["mappings"]), len(process["runs"]))
    return tap.end()


def history(path):
    """8 MiB are touched, 4 swapped out, of which 2 come back, and then all are dropped."""
    tap = Tap()
    data = data_of(path)
    points, growth = data["history"]["points"], data["growth"]
    sums = [sum(point[i] for point in points) for i in range(5, 9)]
    tap.good("reads", data["history"]["reads"] >= 10)
    tap.good("8 MiB arrived", 8 * MIB <= sums[0] < 9 * MIB)
    tap.good("8 MiB are gone", 8 * MIB <= sums[1] < 9 * MIB)
    tap.same("4 MiB were swapped out", sums[2], 4 * MIB)
    tap.same("2 MiB came back", sums[3], 2 * MIB)
    rss = [point[1] for point in points]
    tap.good("the memory at its peak", 8 * MIB <= max(rss) - rss[0] < 9 * MIB)
    tap.same("the last point is the process", rss[-1], data["process"]["total"]["rss"])
    tracks = data["history"]["mappings"]
    tap.good("the mapping that has changed most", 8 * MIB == max(tracks[0]["rss"]) and not tracks[0]["rss"][-1])
    # Page faults say the same: those of the pages that came back touch them once more. These only
    # read, so what they have brought is known from the RSS alone. The kernel keeps up to 31 pages of
    # it on each CPU that the task has run on, and what is seen after something else belongs to nobody.
    tap.good(f"touched again: {growth['again']} bytes", 1.5 * MIB <= growth["again"] <= 2 * MIB)
    tap.good("touched", 8 * MIB <= growth["touched"] - growth["again"] < 9 * MIB)
    tap.good("given back", 8 * MIB <= growth["freed"] - growth["again"] < 9 * MIB)
    for name in ("touched", "freed", "kept"):
        tap.same(f"{name}: over time", sum(growth["history"][name]), growth[name])
        tap.same(f"{name}: by stack trace", sum(each[name] for each in growth["stacks"]), growth[name])
        if name != "freed":
            tap.same(f"{name}: by function", sum(each[name] for each in growth["functions"]), growth[name])
    wrong = [
        each
        for each in growth["stacks"] + growth["functions"]
        if [sum(times) * PAGE for times in each["times"]] != [each["touched"], each["freed"], each["kept"]]
    ]
    tap.same("of each as well", wrong[:2], [])
    return tap.end()


if __name__ == "__main__":
    sys.exit({"drawing": drawing, "ranges": ranges, "page": page, "history": history}[sys.argv[1]](*sys.argv[2:]))
