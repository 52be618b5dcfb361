#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# program_blocks.py: judges what program_blocks.sh has counted, and says what is wrong.
#
#   counts BLOCKS COUNTS PASSES      each number is the one that must come out
#   flow BLOCKS COUNTS SLACK         what enters a block leaves it
#   places BLOCKS PROGRAM            uprobes only where objdump sees an instruction
#   text PID PROGRAM ADDRESS BYTES   the bytes that a process has there, in hexadecimal
#
# BLOCKS is what `kernlens blocks --json` says, COUNTS what `kernlens count --json` does of the
# same functions, PASSES how often each of them is called.
import json
import os
import subprocess
import sys

WRONG = []


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
    """Where a block goes on to, in its function."""
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
    """The loop's body: it, or the one behind it, goes back."""
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


def print_text(pid, program, address, size):
    with open(f"/proc/{pid}/maps") as file:
        maps = [line.split() for line in file if line.rstrip().endswith(program)]
    # Of a program at fixed addresses, the file's are the process's.
    base = int(maps[0][0].split("-")[0], 16)
    with open(program, "rb") as file:
        position = file.read(18)[16] == 3
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    print(os.pread(memory, size, address + (base if position else 0)).hex())
    os.close(memory)


def main():
    what, *args = sys.argv[1:]
    if what == "counts":
        check_counts(*load(args[0], args[1]), int(args[2]))
    elif what == "flow":
        check_flow(*load(args[0], args[1]), int(args[2]))
    elif what == "places":
        check_places(args[0], args[1])
    else:
        print_text(args[0], args[1], int(args[2], 16), int(args[3]))
    for text in WRONG:
        print(text)
    return bool(WRONG)


if __name__ == "__main__":
    sys.exit(main())
