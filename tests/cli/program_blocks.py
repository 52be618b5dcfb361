#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# program_blocks.py PASSES SLACK PROGRAM...: checks the results of program_blocks.sh. Prints TAP.
#
# For each PROGRAM, reads files named after it: .blocks and .all, which functions `kernlens blocks`
# shows, and .counts, how often `kernlens count` has counted what is in .blocks, where each function
# is called PASSES times. For the first PROGRAM also running-*, counted while it ran: SLACK threads
# may have been inside when that began or ended. Uprobes must only be where objdump sees
# instructions.
import glob
import json
import os
import subprocess
import sys

WRONG = []
TOLD = []


def expect(what, is_so):
    if not is_so:
        WRONG.append(what)


def load(blocks, counts):
    with open(blocks) as file:
        graphs = {f["function"]: f["blocks"] for f in json.load(file)["functions"]}
    found = {}
    with open(counts) as file:
        for function in json.load(file)["functions"]:
            of = found.setdefault(function["function"], {})
            for point in function["points"]:
                if not point["post"]:
                    of[point["block"]] = point.get("count")
    return graphs, found


def ways_of(block):
    """A block's successors in its function."""
    ways = {block["next"], block["taken"], *block["targets"]}
    return ways - {None}


def check_counts(graphs, found, passes):
    expect("each function is entered as often as it is called",
           all(found[name][0] == passes for name in ("steps", "branches", "choose", "hidden")))
    expect("a loop of three", found["steps"][body_of(graphs["steps"])] == 3 * passes)
    halves = [n for n in found["branches"].values() if n == passes // 2]
    expect(f"two sides: {found['branches']}", len(halves) == 2)
    jumps = [b for b in graphs["choose"] if b["targets"]]
    expect("one jump through a table", len(jumps) == 1 and len(jumps[0]["targets"]) == 7)
    for jump in jumps:
        others = set()
        for block in graphs["choose"]:
            if not block["targets"]:
                others |= ways_of(block)
        for target in jump["targets"]:
            if target not in others:
                expect(f"a case is an eighth: {found['choose']}",
                       found["choose"][target] == passes // 8)
    expect("what may be no instruction is not counted",
           len([n for n in found["hidden"].values() if n is None]) >= 3)


def body_of(blocks):
    """The first block that a backward edge leads to, which is the loop's body."""
    for block in blocks:
        for to in ways_of(block):
            if to <= block["block"]:
                return to
    return 0


def check_flow(graphs, found, slack):
    for name in ("steps", "branches", "choose"):
        blocks, count = graphs[name], found[name]
        from_where = {b["block"]: [] for b in blocks}
        for block in blocks:
            for to in ways_of(block):
                from_where[to].append(block)
        left = sum(count[b["block"]] for b in blocks if not ways_of(b))
        expect(f"{name}: entered {count[0]} times, left {left}", abs(left - count[0]) <= slack)
        for block in blocks:
            number = block["block"]
            ways = ways_of(block)
            if ways and all(len(from_where[to]) == 1 and to for to in ways):
                out = sum(count[to] for to in ways)
                expect(f"{name}#{number}: {count[number]} go on as {out}",
                       abs(out - count[number]) <= slack)
            before = from_where[number]
            if number and before and all(len(ways_of(b)) == 1 for b in before):
                into = sum(count[b["block"]] for b in before)
                expect(f"{name}#{number}: {into} come, {count[number]} are there",
                       abs(into - count[number]) <= slack)
        expect(f"{name}: something happened", count[0] > 0)


def check_places(path, program):
    said = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], capture_output=True,
                          text=True, check=True).stdout
    instructions = set()
    for line in said.splitlines():
        address, colon, text = line.partition(":\t")
        if colon and "(bad)" not in text:
            instructions.add(int(address, 16))
    n = 0
    with open(path) as file:
        functions = json.load(file)["functions"]
    for function in functions:
        for block in function["blocks"]:
            for point in (block["pre"], block["post"]):
                if point["tier"] != "none":
                    n += 1
                    at = int(function["address"], 16) + point["offset"]
                    expect(f"{function['function']}: {at:#x} is no instruction",
                           at in instructions)
    expect(f"only {n} places", n > 100)


def tell(name):
    """Reports one test: all expectations since the last one."""
    TOLD.append(name)
    print(f"{'not ok' if WRONG else 'ok'} {len(TOLD)} - {name}")
    for text in WRONG:
        print(f"# {text}")
    WRONG.clear()


def main():
    passes, slack, *programs = sys.argv[1:]
    for program in programs:
        name = os.path.basename(program)
        check_places(f"{name}.all", program)
        tell(f"{name}: all places are instructions")
        loaded = load(f"{name}.blocks", f"{name}.counts")
        check_counts(*loaded, int(passes))
        tell(f"{name}: counts are the known numbers")
        check_flow(*loaded, 0)
        tell(f"{name}: what enters a block leaves it")
    first = os.path.basename(programs[0])
    for counts in sorted(glob.glob("running-*")):
        check_flow(*load(f"{first}.blocks", counts), int(slack))
        tell(f"{counts}: what enters a block leaves it, but for who was inside")
    print(f"1..{len(TOLD)}")


if __name__ == "__main__":
    main()
