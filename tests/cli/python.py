# SPDX-License-Identifier: GPL-2.0
# What tests/cli/python.sh compares.
"""python.py TRACE EVENTS: writes the items of a trace as `kernlens print --format json` does."""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../python"))

import kernlens  # noqa: E402


def value_of(field, value):
    """As JSON: addresses are strings."""
    if field.format == "ptr" and isinstance(value, int):
        return f"{value:#x}"
    return list(value) if isinstance(value, tuple) else value


def values_of(fields, values):
    return {field.name: value_of(field, values[field.name]) for field in fields}


def as_json(item, variables):
    if isinstance(item, kernlens.Loss):
        return {"loss": item.kind, "cpu": item.cpu, "records": item.records}
    out = {
        "event": item.name,
        "cpu": item.cpu,
        "seconds": item.ns // 1000000000,
        "nanoseconds": item.ns % 1000000000,
        "since_ns": item.since_ns,
        "tid": item.tid,
        "pid": item.pid,
        "comm": item.comm,
        "fields": values_of(item.type.fields, item.fields),
    }
    if item.meanings:
        out["meanings"] = item.meanings
    if variables:
        out["variables"] = item.variables
    return out


def print_items(path, match):
    with kernlens.Trace(path) as trace:
        for item in trace.items(match or None):
            print(json.dumps(as_json(item, trace.variables), sort_keys=True))
        counts = trace.counts
    print(f"{counts.events} {counts.lost}", file=sys.stderr)


if __name__ == "__main__":
    print_items(*sys.argv[1:3])
