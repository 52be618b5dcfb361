# SPDX-License-Identifier: GPL-2.0
# What tests/cli/python.sh compares.
"""python.py layout | print TRACE EVENTS: what tests/cli/python.sh compares.

layout: compares the package's structs, in size and offsets, with lib/abi.txt.
print: writes the items of a trace as `kernlens print --format json` does.
"""

import ctypes
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../python"))

import kernlens  # noqa: E402
from kernlens import _library  # noqa: E402


def layouts():
    """The members of structs in lib/abi.txt: offset and size by name; the size of each."""
    found = {}
    with open(os.path.join(HERE, "../../lib/abi.txt"), encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) == 4 and words[0] == "struct" and words[2] == "size":
                found.setdefault(words[1], {})["size"] = int(words[3])
            elif len(words) > 4 and words[0] == "struct" and words[2].isdigit():
                name = line.split("(*")[1].split(")")[0] if "(*" in line else words[-1]
                name = name.split("[")[0].lstrip("*")
                found.setdefault(words[1], {})[name] = (int(words[2]), int(words[3]))
    return found


def check_layout():
    known, checked, wrong = layouts(), 0, []
    for name, of in vars(_library).items():
        if not name.startswith("kl_"):
            continue
        if name not in known:
            wrong.append(f"{name} is not in lib/abi.txt")
            continue
        members = {member: getattr(of, member) for member, *_ in of._fields_}
        ours = {member: (at.offset, at.size) for member, at in members.items()}
        ours["size"] = ctypes.sizeof(of)
        if ours != known[name]:
            wrong.append(f"{name}: {ours}, expected {known[name]}")
        checked += 1
    print(f"{checked} structs")
    print("\n".join(wrong))
    return 1 if wrong or checked < 15 else 0


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
    if sys.argv[1] == "layout":
        sys.exit(check_layout())
    print_items(*sys.argv[2:4])
