#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# collect.py OUT: runs in the virtual machine, as root. Saves the running kernel's own text and data
# as a core file, and its symbols: OUT/core, OUT/kallsyms. The blocks are analyzed outside, where it
# is faster.
import shutil
import struct
import sys

HEADER, SEGMENT = "<16sHHIQQQIHHHHHH", "<IIQQQQQQ"
CHUNK = 1 << 20


def symbols(path):
    with open(path) as file:
        return {line.split()[2]: int(line.split()[0], 16) for line in file if "[" not in line}


def pieces(core):
    """Returns the header of a core file and (offset, begin, size) of each segment."""
    header = struct.unpack(HEADER, core.read(struct.calcsize(HEADER)))
    core.seek(header[5])
    table = core.read(header[9] * header[10])
    return header, [(offset, begin, size) for kind, _, offset, begin, _, size, _, _
                    in struct.iter_unpack(SEGMENT, table) if kind == 1]


def offset_of(segments, address):
    for offset, begin, size in segments:
        if begin <= address < begin + size:
            return offset + address - begin
    sys.exit(f"{address:#x} is not in /proc/kcore")


def blacklist(core, segments, head):
    """Addresses of the entries of the kprobe blacklist."""
    core.seek(offset_of(segments, head))
    at, = struct.unpack("<Q", core.read(8))
    while at != head:
        yield at
        core.seek(offset_of(segments, at))
        at, = struct.unpack("<Q", core.read(8))


def main(out):
    shutil.copyfile("/proc/kallsyms", f"{out}/kallsyms")
    known = symbols(f"{out}/kallsyms")
    with open("/proc/kcore", "rb", buffering=0) as core, open(f"{out}/core", "wb") as file:
        header, segments = pieces(core)
        begin = known["_text"]
        kept = [(begin, known["_end"] - begin)]
        kept += [(at, 32) for at in blacklist(core, segments, known["kprobe_blacklist"])]
        header = list(header)
        header[5], header[10] = struct.calcsize(HEADER), len(kept)
        file.write(struct.pack(HEADER, *header))
        at = CHUNK
        for begin, size in kept:
            file.write(struct.pack(SEGMENT, 1, 7, at, begin, 0, size, size, 0))
            at += size
        file.seek(CHUNK)
        for begin, size in kept:
            core.seek(offset_of(segments, begin))
            for done in range(0, size, CHUNK):
                file.write(core.read(min(CHUNK, size - done)))


main(sys.argv[1])
