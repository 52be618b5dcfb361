#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# The longest waits per file.
"""The longest waits per file: how long system calls on each file took, and the longest call.

    kernlens record -e syscalls -o trace -- make
    file_waits.py trace [ROWS]

Files are known from the calls that open them, so those that were open before the recording, pipes
and sockets have the names "PID: descriptor N". Time is that from the entry of a call to its exit.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass

import kernlens

ENTRY, EXIT = "syscall_entry_", "syscall_exit_"
OPENS = {"open", "openat", "openat2", "creat"}


@dataclass
class File:
    calls: int = 0
    total_ns: int = 0
    longest_ns: int = 0
    longest_call: str = ""
    at: float = 0.0

    def add(self, call: str, ns: int, at: float) -> None:
        self.calls += 1
        self.total_ns += ns
        if ns > self.longest_ns:
            self.longest_ns, self.longest_call, self.at = ns, call, at


def collect(trace: kernlens.Trace) -> dict[str, File]:
    """Sum up the calls of a trace by file."""
    files: dict[str, File] = defaultdict(File)
    names: dict[tuple[int, int], str] = {}  # by process and descriptor
    entered: dict[int, kernlens.Event] = {}  # by thread
    for event in trace.events("syscalls"):
        if event.name.startswith(ENTRY):
            entered[event.tid] = event
            continue
        entry = entered.pop(event.tid, None)
        call = event.name[len(EXIT) :]
        if not entry or entry.name != ENTRY + call:
            continue
        if call in OPENS:
            name = str(entry.get("filename", entry.get("pathname", "?")))
            if event["ret"] >= 0:
                names[event.pid, event["ret"]] = name
        elif "fd" in entry:
            fd = entry["fd"]
            name = names.get((event.pid, fd), f"{event.pid}: descriptor {fd}")
            if call == "close":
                names.pop((event.pid, fd), None)
        else:
            continue
        files[name].add(call, event.ns - entry.ns, entry.seconds)
    return files


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    rows = int(sys.argv[2]) if len(sys.argv) == 3 else 20
    with kernlens.Trace(sys.argv[1]) as trace:
        files = collect(trace)
        lost = trace.counts.lost
    print(f"{'longest':>12}  {'call':<12} {'at':>12}  {'total':>12} {'calls':>7}  file")
    for name, file in sorted(files.items(), key=lambda item: -item[1].longest_ns)[:rows]:
        print(
            f"{file.longest_ns / 1e6:9.3f} ms  {file.longest_call:<12} {file.at:10.6f} s"
            f"  {file.total_ns / 1e6:9.3f} ms {file.calls:7}  {name}"
        )
    if lost:
        print(f"{lost} records are missing, so some calls are, too", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
