# SPDX-License-Identifier: GPL-2.0
#
# compare.py NAME GDB KERNLENS: compares the stack traces at a program's system calls. GDB has what
# walk.py prints, KERNLENS what `kernlens print --format json` prints, of two runs at the same
# addresses. Prints the numbers of traces and frames, of frames that differ and are not marked, of
# uncertain ones, and of gdb's that are missing. Fails if fewer than 99 % of the frames are the same,
# or if there are too few traces to tell. A last argument -v shows each difference.
import difflib
import json
import sys


def read_gdb(path):
    """Pairs of a call's number and its frames: of each its address, and whether it is a signal's."""
    for line in open(path):
        number, *frames = line.split()
        yield int(number), [(int(frame.rstrip("s"), 16), frame.endswith("s")) for frame in frames]


def read_kernlens(path):
    first = None
    for line in open(path):
        event = json.loads(line)
        if not event.get("event", "").startswith("syscall_entry_"):
            continue
        first = first or event["tid"]
        stack = event.get("stacks", {}).get("ustack")
        if event["tid"] != first or not stack:
            continue
        yield event["event"][len("syscall_entry_"):], [
            (int(f["address"], 16), f.get("uncertain", False), f.get("symbol", "?"))
            for f in stack
            if not f.get("inlined")
        ]


def common(ours, theirs):
    """Both traces, up to a signal that has come at another place in the two runs."""
    for i, (_, signal) in enumerate(theirs[:-1]):
        if signal and len(ours) > i + 1 and ours[i + 1][0] != theirs[i + 1][0]:
            return ours[: i + 1], theirs[: i + 1]
    return ours, theirs


def compare(name, ours, theirs, verbose):
    """Frames of one trace: (same, wrong, marked, missing)."""
    theirs = [address for address, _ in theirs]
    same = wrong = marked = 0
    for i, (address, uncertain, symbol) in enumerate(ours):
        right = i < len(theirs) and theirs[i] == address
        same += right
        marked += uncertain
        wrong += not right and not uncertain
    missing = max(0, min(len(theirs), 32) - len(ours))
    if verbose and (wrong or marked or missing):
        print("#", name)
        for i in range(max(len(ours), len(theirs))):
            a = "%x %s%s" % (ours[i][0], ours[i][2], " ?" if ours[i][1] else "") if i < len(ours) else "-"
            b = "%x" % theirs[i] if i < len(theirs) else "-"
            print("#   %-50s %s" % (a, b))
    return same, wrong, marked, missing


def call_numbers():
    numbers = {}
    for line in open("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"):
        words = line.split()
        if len(words) == 3 and words[1].startswith("__NR_"):
            numbers[words[1][5:]] = int(words[2])
    return numbers


def matched(ours, theirs):
    """Pairs of traces at the same call: the number of gdb's, the frames of both."""
    # The execve itself is ours only.
    matcher = difflib.SequenceMatcher(
        None, [n for n, _ in ours], [n for n, _ in theirs], autojunk=False
    )
    for a, b, n in matcher.get_matching_blocks():
        for i in range(n):
            # gdb does not know the C library yet when the dynamic linker first calls it.
            if any(symbol == "__libc_early_init" for _, _, symbol in ours[a + i][1]):
                continue
            yield theirs[b + i][0], *common(ours[a + i][1], theirs[b + i][1])


def main():
    name, gdb_path, our_path = sys.argv[1:4]
    verbose = len(sys.argv) > 4
    numbers = call_numbers()
    theirs = list(read_gdb(gdb_path))
    ours = [(numbers.get(n, -1), frames) for n, frames in read_kernlens(our_path)]
    total = [0, 0, 0, 0]
    traces = frames = 0
    for number, trace, reference in matched(ours, theirs):
        got = compare("%s: system call %d" % (name, number), trace, reference, verbose)
        traces += 1
        frames += min(len(reference), 32)
        total = [x + y for x, y in zip(total, got)]
    print("%-12s %5d traces %6d frames %6d same %4d wrong %4d marked %4d missing, of %d and %d calls"
          % (name, traces, frames, *total, len(ours), len(theirs)))
    return 0 if traces >= 20 and total[0] >= 0.99 * frames else 1


if __name__ == "__main__":
    sys.exit(main())
