#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# lines.py KERNLENS OUT: in a virtual machine as root, compares source lines of a program and of a
# module with addr2line's, and tracefiles by line with the counts of blocks. Tries files of debug
# information that belong to another module, are damaged or missing. Prints TAP lines.
import collections
import json
import os
import random
import subprocess
import sys

from checks import end, kernlens, report, run

CALLS = 50
DAMAGED = 2
PROGRAM = """
#include <stdio.h>
static inline int square(int x)
{
	return x > 7 ?
		x * x : x;
}
__attribute__((noinline)) int sum(int n, char **word)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		if (word[i][0] == 'a')
			sum += square(i);
		else
			puts(word[i]);
	return sum;
}
int main(int n, char **word)
{
	return sum(n, word) & 1;
}
"""
CALL = f"""
import fcntl, os
device = os.open('/dev/kl_stimulus', os.O_RDWR)
for i in range({CALLS}):
    try: fcntl.ioctl(device, 0x7777)
    except OSError: pass
"""

out = sys.argv[2]
modules = os.path.join(os.path.dirname(kernlens), os.uname().release)
file = f"{modules}/kl_stimulus.ko"
other = f"{modules}/kl_awake.ko"


def shell(text):
    return subprocess.run(text, shell=True, capture_output=True, text=True)


def addr2line(path, addresses, *options):
    """(file, line) of each address, or None."""
    said = subprocess.run(["addr2line", "-e", path, *options], input="\n".join(map(hex, addresses)), capture_output=True,
                          text=True).stdout.splitlines()
    rows = [line.partition(" (")[0].rpartition(":") for line in said]
    return [(os.path.normpath(name), int(line)) if line not in ("?", "0") else None for name, _, line in rows]


def listed(*words):
    return json.loads(run("--json", "blocks", "--asm", *words).stdout)["functions"]


def instructions(functions):
    """Address and line of each instruction, and whether each block's line is that of its first
    instruction."""
    rows, same = [], True
    for function in functions:
        for block in function["blocks"]:
            same = same and block.get("source") == block["instructions"][0].get("source")
            rows += [(int(function["address"], 16) + one["offset"], one.get("source")) for one in block["instructions"]]
    return rows, same


def sections():
    folder = "/sys/module/kl_stimulus/sections"
    return sorted((int(open(f"{folder}/{name}").read(), 16), name) for name in os.listdir(folder))


def reference(addresses):
    """addr2line's (file, line) of a module's addresses."""
    places, known = collections.defaultdict(list), {}
    for address in addresses:
        begin, name = max(section for section in sections() if section[0] <= address)
        places[name].append((address, address - begin))
    for name, rows in places.items():
        known.update(zip((address for address, _ in rows),
                         addr2line(file, [place for _, place in rows], "-j", name)))
    return known


def wrong_of(rows, known):
    """Names in debug information may lack the directory in which the compiler ran."""
    return [(hex(address), source, known[address]) for address, source in rows
            if (source is None) != (known[address] is None) or
            source and (source["line"] != known[address][1] or not f"/{known[address][0]}".endswith("/" + source["file"].lstrip("/")))]


def check_program():
    with open(f"{out}/lines.c", "w") as source:
        source.write(PROGRAM)
    made = shell(f"gcc -O2 -g -o {out}/lines {out}/lines.c")
    rows, same = instructions(listed(f"{out}/lines:main", f"{out}/lines:sum"))
    known = dict(zip((address for address, _ in rows), addr2line(f"{out}/lines", [address for address, _ in rows])))
    wrong = wrong_of(rows, known)
    report(made.returncode == 0 and len(rows) > 30 and same and not wrong,
           f"{len(rows)} instructions of a program have the lines that addr2line says", made.stderr, *wrong[:10])
    text = run("blocks", "--asm", f"{out}/lines:sum").stdout
    graph = run("blocks", "--dot", f"{out}/lines:sum").stdout
    report("lines.c:6\n" in text and "lines.c:" in graph, "the listing and the graph have them", text, graph)
    shell(f"strip {out}/lines -o {out}/bare -w -K '*' -g")
    rows, _ = instructions(listed(f"{out}/bare:sum"))
    report(rows and not any(source for _, source in rows), "without debug information there are none", rows)


def check_module():
    functions = listed("--debug", file, "kl_stimulus:*")
    rows, same = instructions(functions)
    known = reference([address for address, _ in rows])
    wrong = wrong_of(rows, known)
    report(len(rows) > 300 and same and not wrong and sum(source is not None for _, source in rows) > 0.9 * len(rows),
           f"{len(rows)} instructions of a module have the lines that addr2line says", *wrong[:10])
    text = run("blocks", "--asm", "--debug", modules, "kl_stimulus:on_ioctl").stdout
    report("kl_stimulus.c:" in text, "its file is found in a folder", text)
    plain = run("blocks", "kl_stimulus:on_ioctl")
    report("source" not in plain.stdout and "kl_stimulus.c" not in plain.stdout and not plain.stderr,
           "without it nothing is shown or said", plain.stdout, plain.stderr)
    return known


def check_listings():
    """The lines printed with counts of blocks and paths are those of the blocks."""
    call = ["--", "python3", "-c", CALL]
    first = {block["offset"]: block.get("source") for block in
             listed("--debug", file, "kl_stimulus:on_ioctl")[0]["blocks"]}
    for what, words, rows in [
            ("counted", ["count", "-e", "block:kl_stimulus:on_ioctl"], lambda said: said["functions"][0]["points"]),
            ("of paths", ["path", "on_ioctl"], lambda said: said["blocks"]),
            ("of edges", ["path", "on_ioctl", "--edges"], lambda said: said["blocks"])]:
        points = rows(json.loads(run("--json", *words, "--debug", file, *call).stdout))
        report(len(points) > 3 and all(point.get("source") == first[point["offset"]] for point in points) and
               points[0]["source"] and max(point.get("count") or 0 for point in points) == CALLS,
               f"blocks that are {what} have the lines of their first instructions", points, first)
        text = run(*words, "--asm", "--debug", file, *call).stderr
        row = next((line for line in text.splitlines() if " +0x0 " in line), "")
        report(row.endswith(f"kl_stimulus.c:{first[0]['line']}") and text.count("kl_stimulus.c:") > 10,
               "and so have the listing and its instructions", text)


def check_refused():
    done = run("blocks", "--debug", other, "kl_stimulus:on_ioctl", "kl_stimulus:fire")
    report("source" not in done.stdout and done.stderr.count("different build ID") == 1,
           "another module's file is refused, and that is said once", done.stdout, done.stderr)
    done = run("blocks", "--debug", "/nowhere", "kl_stimulus:on_ioctl", status=1)
    report("/nowhere" in done.stderr, "one that is not there is an error", done.stderr)
    with open(file, "rb") as whole:
        sound = bytearray(whole.read())
    random.seed(1)
    ended = []
    for _ in range(DAMAGED):
        bad = bytearray(sound)
        for _ in range(4000):
            bad[random.randrange(len(bad) // 100, len(bad))] = random.randrange(256)
        with open(f"{out}/bad.ko", "wb") as damaged:
            damaged.write(bad)
        ended.append(shell(f"{kernlens} blocks --asm --debug {out}/bad.ko 'kl_stimulus:*' 2>&1").returncode)
    report(not any(ended), "damaged files do no harm", ended)


def read_tracefile(path):
    """Returns lines by file, functions by name, and rows that do not add up."""
    lines, functions, bad, name = collections.defaultdict(dict), collections.defaultdict(dict), [], None
    for row in open(path):
        key, _, value = row.strip().partition(":")
        if key == "SF":
            name, hits, found = value, collections.Counter(), set()
            if name in lines or name in functions:
                bad.append(row)
        elif key == "DA":
            line, count = map(int, value.split(","))
            if line in lines[name] or lines[name] and line < max(lines[name]):
                bad.append(row)
            lines[name][line] = count
            hits["LF"] += 1
            hits["LH"] += count > 0
        elif key == "FN":
            line, function = value.split(",")
            functions[name][function] = [int(line), None]
            hits["FNF"] += 1
        elif key == "FNDA":
            count, function = value.split(",")
            functions[name][function][1] = int(count)
            hits["FNH"] += int(count) > 0
        elif key in ("LF", "LH", "FNF", "FNH"):
            bad += [] if hits[key] == int(value) else [row]
        elif key not in ("TN", "end_of_record"):
            bad.append(row)
    return lines, functions, bad


def check_coverage(known):
    """A line's count is the largest of all blocks in which addr2line finds it."""
    run("--json", "coverage", "--functions", "kl_stimulus:*", "--lcov", f"{out}/lines.info", "--debug", file, "-o",
        f"{out}/lines.json", "--", "python3", "-c", CALL)
    lines, functions, bad = read_tracefile(f"{out}/lines.info")
    report(not bad and lines, f"the tracefile is sound: {len(lines)} files", *bad[:10])
    with open(f"{out}/lines.json") as result:
        document = json.load(result)
    covered = document["functions"]
    listed = {name: dict(rows) for name, rows in document["files"].items()}
    report(listed and all(lines.get(name) == rows for name, rows in listed.items()),
           "the JSON result has the same lines", list(listed))
    starts = [function["source"]["file"] for function in covered if function["function"] == "on_ioctl"]
    report(len(starts) == 1 and starts[0].endswith("kl_stimulus.c"), "and where functions start", starts)
    wanted, addresses = collections.defaultdict(int), sorted(known)
    for function in covered:
        begin = int(function["address"], 16)
        for offset, size, count in function["blocks"]:
            inside = [known[address] for address in addresses if begin + offset <= address < begin + offset + size]
            for name, line in filter(None, inside if isinstance(count, int) else []):
                key = os.path.basename(name), line
                wanted[key] = max(wanted[key], count)
    got = collections.defaultdict(int)
    for name, rows in lines.items():
        for line, count in rows.items():
            key = os.path.basename(name), line
            got[key] = max(got[key], count)
    wrong = [(key, got.get(key), wanted.get(key)) for key in set(got) | set(wanted) if got.get(key) != wanted.get(key)]
    ran = sum(count == CALLS for count in got.values())
    report(len(got) > 100 and ran > 3 and not wrong,
           f"{len(got)} lines have the counts of their blocks, {ran} of them {CALLS}, as often as was called", *wrong[:10])
    entered = [rows["on_ioctl"] for name, rows in functions.items() if name.endswith("kl_stimulus.c")]
    report([count for _, count in entered] == [CALLS], "and so has the function", entered)
    run("coverage", "--functions", "kl_stimulus:*", "--lcov", f"{out}/plain.info", "--", "true")
    lines, functions, bad = read_tracefile(f"{out}/plain.info")
    report("kl_stimulus:on_ioctl" in lines and not bad, "without debug information a block is a line", list(lines), *bad[:5])


loaded = shell(f"insmod {file}")
report(loaded.returncode == 0, "a module with debug information is loaded", loaded.stderr)
check_program()
lines_of = check_module()
check_listings()
check_coverage(lines_of)
check_refused()
shell("rmmod kl_stimulus")
end()
