#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Counters per second, as CSV.
"""Counters per second, as CSV: a row for each second, a column for each event.

    rates.py trace 'sched_switch' 'syscall_exit_read /ret > 0/' >rates.csv
    rates.py --sum ret trace 'syscall_exit_read /ret > 0/'      # bytes read per second

Each event is what `kernlens print -e` accepts. Without one, all events are counted in one column.
With --sum FIELD, a column is the sum of that field. Seconds count from the start of the trace, and
seconds without events are rows of zeros, so the rows can be plotted as they are. The last column is
the number of records that are missing.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from typing import Optional

import kernlens


def count(trace: kernlens.Trace, match: Optional[str], field: Optional[str]) -> Counter:
    """The number of events, or the sum of a field, by second."""
    found: Counter = Counter()
    for event in trace.events(match):
        found[event.since_ns // 1_000_000_000] += event[field] if field else 1
    return found


def losses(trace: kernlens.Trace) -> Counter:
    """Missing records, by the second after which none was fired."""
    found: Counter = Counter()
    for item in trace.items():
        if isinstance(item, kernlens.Loss):
            after = max(item.end_ns - trace.begin_ns, 0)
            found[after // 1_000_000_000] += item.records
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Counters per second, as CSV.")
    parser.add_argument("--sum", metavar="FIELD", help="sum a field instead of counting events")
    parser.add_argument("trace")
    parser.add_argument("event", nargs="*", help="as for kernlens print -e")
    options = parser.parse_args()
    with kernlens.Trace(options.trace) as trace:
        columns = [count(trace, event, options.sum) for event in options.event or [None]]
        columns.append(losses(trace))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["second", *(options.event or ["all"]), "lost"])
    seconds = max((second for column in columns for second in column), default=-1)
    for second in range(seconds + 1):
        out.writerow([second, *(column[second] for column in columns)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
