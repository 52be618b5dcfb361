# SPDX-License-Identifier: GPL-2.0
#
# peers.py FOLDER: compares the stack traces that tools have taken at programs' system calls with
# gdb's, in the files that tests/unwind/guest leaves in FOLDER. Prints Markdown: for each tool, the
# traces that are right in all frames, and the frames that are right, that are wrong without being
# marked as uncertain, and that are missing.
import glob
import os
import re
import sys

from compare import call_numbers, compare, matched, read_gdb, read_kernlens

TOOLS = {
    "json": "kernlens",
    "dwarf": "perf, copies of the stack (`--call-graph dwarf`)",
    "fp": "perf, frame pointers (`--call-graph fp`)",
    "bpftrace": "bpftrace `ustack`",
}


def read_perf(path):
    """Pairs of a call's number and its frames, of the first task."""
    first, number, frames = None, None, []
    for line in open(path, errors="replace"):
        head = re.match(r" *(\d+) +raw_syscalls:sys_enter: NR (\d+)", line)
        frame = re.match(r"\s+([0-9a-f]+)\s*$", line)
        if head:
            if number is not None:
                yield number, frames
            first = first or head[1]
            number, frames = int(head[2]) if head[1] == first else None, []
        elif frame and number is not None:
            frames.append((int(frame[1], 16), False, "?"))
    if number is not None:
        yield number, frames


def read_bpftrace(path):
    number, frames = None, []
    for line in open(path, errors="replace"):
        head = re.match(r"call (\d+)", line)
        frame = re.match(r"\s+([0-9a-f]+) ", line)
        if head:
            if number is not None:
                yield number, frames
            number, frames = int(head[1]), []
        elif frame and number is not None:
            frames.append((int(frame[1], 16), False, "?"))
    if number is not None:
        yield number, frames


def read(tool, path, numbers):
    if tool == "json":
        return [(numbers.get(n, -1), frames) for n, frames in read_kernlens(path)]
    return list(read_bpftrace(path) if tool == "bpftrace" else read_perf(path))


def as_gdb(trace, reference):
    """
    perf script prints the place in the file instead of the address, so only the place in the page can
    be compared; and of callers, the return address minus 1 if it has unwound the stack itself. By
    frame pointers, traces end with a 0.
    """
    found = []
    for i, (address, marked, symbol) in enumerate(trace):
        theirs = reference[i][0] if i < len(reference) else None
        if theirs is not None and (theirs - address) % 4096 in (0, 1 if i else 0):
            found.append((theirs, marked, symbol))
        elif address:
            found.append((address, marked, symbol))
    return found


def main():
    folder = sys.argv[1]
    numbers = call_numbers()
    names = []
    sums = {tool: [0] * 7 for tool in TOOLS}
    for path in sorted(glob.glob(os.path.join(folder, "*.gdb"))):
        base = path[: -len(".gdb")]
        # A program counts if all tools have traced it.
        if not all(os.path.exists("%s.%s" % (base, tool)) for tool in TOOLS):
            continue
        theirs = list(read_gdb(path))
        got = {}
        for tool in TOOLS:
            total = [0] * 7
            for _, trace, reference in matched(read(tool, "%s.%s" % (base, tool), numbers), theirs):
                if tool in ("dwarf", "fp"):
                    trace = as_gdb(trace, reference)
                trace = trace[:32]
                same, wrong, marked, missing = compare("", trace, reference, False)
                right = same == len(trace) and not missing
                frames = min(len(reference), 32)
                total = [x + y for x, y in zip(total, (1, right, frames, same, wrong, marked, missing))]
            got[tool] = total
        if min(total[0] for total in got.values()) < 20:
            print("# %s is left out: %s traces" % (base, [t[0] for t in got.values()]), file=sys.stderr)
            continue
        names.append(os.path.basename(base))
        for tool, total in got.items():
            sums[tool] = [x + y for x, y in zip(sums[tool], total)]
    print("%d programs: %s.\n" % (len(names), ", ".join(names)))
    print("| tool | traces | right | frames right | wrong, not marked | missing |")
    print("|---|---|---|---|---|---|")
    for tool, (traces, right, frames, same, wrong, _, missing) in sums.items():
        if traces:
            print("| %s | %d | %.1f %% | %.1f %% | %.1f %% | %.1f %% |"
                  % (TOOLS[tool], traces, 100 * right / traces, 100 * same / frames,
                     100 * wrong / frames, 100 * missing / frames))
    return 0 if names else 1


sys.exit(main())
