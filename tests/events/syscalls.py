# SPDX-License-Identifier: GPL-2.0
# System calls: compares every argument and return value with ftrace's raw_syscalls events, and the
# calls of one program, with their strings, with strace.
import ast
import collections
import errno
import os
import re

import fields
import tables

# Numbers of the 64-bit table are below this; others, also -1 of a debugger, have no event.
COMPAT_FIELDS = ("arg0", "arg1", "arg2", "arg3", "arg4", "arg5")
LATE = "?"


class Calls:
    """Converts a system call's record and ftrace's to one form."""

    def __init__(self):
        self.calls = tables.syscalls()
        self.name = {number: name for name, (number, _) in self.calls.items()}

    def numbers(self, name):
        """Returns [(position, argument, mask)] for the arguments that are not strings."""
        return [(at, argument, (1 << fields.BITS.get(kind, 64)) - 1)
                for at, (argument, kind, _) in enumerate(self.calls[name][1]) if kind != "str"]

    def strings(self, name):
        return [argument for argument, kind, _ in self.calls[name][1] if kind == "str"]

    def ours(self, cause, event):
        """Returns CPU -> [(time, tuple)] for one kind, "entry" or "exit", in order."""
        found = collections.defaultdict(list)
        prefix = f"syscall_{event}_"
        for name, cpus in cause.ours.items():
            if not name.startswith(prefix):
                continue
            call = name[len(prefix):]
            number, numbers = self.calls[call][0], self.numbers(call)
            for cpu, records in cpus.items():
                for record in records:
                    if event == "entry":
                        values = tuple(fields.number(record.values[argument]) & mask
                                       for _, argument, mask in numbers)
                    else:
                        values = (record.values["ret"],)
                    found[cpu].append((record.time, (record.task[0], number) + values))
        return found

    def theirs(self, cause, event):
        found = collections.defaultdict(list)
        fmt = cause.formats.get("sys_enter" if event == "entry" else "sys_exit")
        if not fmt:
            return found
        for cpu, records in cause.theirs[fmt.name.split(":")[1]].items():
            for record in records:
                number = fmt.fields["id"].value(record.values)
                if number not in self.name:
                    continue
                tid = fmt.fields["common_pid"].value(record.values)
                if event == "entry":
                    raw = fmt.fields["args"].value(record.values)
                    words = [int.from_bytes(raw[at:at + 8], "little") for at in range(0, 48, 8)]
                    values = tuple(words[at] & mask
                                   for at, _, mask in self.numbers(self.name[number]))
                else:
                    values = (fmt.fields["ret"].value(record.values),)
                found[cpu].append((record.time, (tid, number) + values, record))
        return found


def compat_ours(cause, event):
    found = collections.defaultdict(list)
    for cpu, records in cause.ours[f"compat_syscall_{event}"].items():
        for record in records:
            values = ([record.values[name] for name in COMPAT_FIELDS] if event == "entry"
                      else [record.values["ret"]])
            found[cpu].append((record.time, (record.task[0], record.values["nr"]) + tuple(values)))
    return found


def compat_theirs(fmt, event, record):
    number, tid = (fmt.fields[name].value(record.values) for name in ("id", "common_pid"))
    if event == "exit":
        return (tid, number, fmt.fields["ret"].value(record.values))
    raw = fmt.fields["args"].value(record.values)
    return (tid, number) + tuple(int.from_bytes(raw[at:at + 4], "little")
                                 for at in range(0, 48, 8))


def compare(causes, match, new_result):
    """Returns [(ok, text)]: entries and exits of all calls, of the 64-bit table and of the 32-bit
    one."""
    table, lines = Calls(), []
    for event in ("entry", "exit"):
        result, compat, problems, seen = new_result(), new_result(), [], set()
        compat_total = 0
        for cause in causes:
            if "sys_enter" not in cause.formats:
                continue
            ours, theirs = table.ours(cause, event), table.theirs(cause, event)
            others = compat_ours(cause, event)
            fmt = cause.formats["sys_enter" if event == "entry" else "sys_exit"]
            for cpu in sorted(set(ours) | set(theirs) | set(others)):
                pairs = [entry[:2] for entry in theirs[cpu]]
                left, rest = match(result, ours[cpu], pairs)
                seen |= {entry[1][1] for entry in ours[cpu]} if ours[cpu] else set()
                records = {(entry[0], entry[1]): entry[2] for entry in theirs[cpu]}
                rest = [(entry[0], compat_theirs(fmt, event, records[entry])) for entry in rest]
                compat_left, rest = match(compat, others[cpu], rest)
                compat_total += len(others[cpu])
                problems += [f"{cause.name}: CPU {cpu}: only kernlens has {values}"
                             for time, values in left + compat_left if cause.is_inside(time)]
                problems += [f"{cause.name}: CPU {cpu}: only ftrace has {values}"
                             for time, values in rest if cause.is_inside(time)]
        what = "arguments" if event == "entry" else "return value"
        if problems:
            lines.append((False, f"syscall_{event}_*: {len(problems)} differences: "
                          + "; ".join(problems[:3])))
        else:
            lines.append((result.equal > 0,
                          f"syscall_{event}_*: {result.equal} records of {len(seen)} calls equal "
                          f"ftrace's in thread, number and {what}"))
        lines.append((compat.equal == compat_total > 0 and not problems,
                      f"compat_syscall_{event}: {compat.equal} of {compat_total} records equal "
                      f"ftrace's in thread, number and {what}"))
    return lines


# --------------------------------------------------------------------- strace

CALL = re.compile(r"(?P<name>\w+)\((?P<arguments>.*)\)\s+= (?P<ret>.*)$")


def unquote(text):
    return ast.literal_eval("b" + text).decode("utf-8", "replace")


def read_strace(path):
    """Returns tid -> [(name, [string], return value or None)], in order."""
    calls, parts = collections.defaultdict(list), {}
    with open(path, errors="replace") as file:
        for line in file:
            tid, rest = line.rstrip("\n").split(None, 1)
            if rest.endswith("<unfinished ...>"):
                parts[tid] = rest[:-len("<unfinished ...>")]
                continue
            resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", rest)
            if resumed:
                rest = parts.pop(tid, "") + resumed.group(1)
            found = CALL.match(rest)
            if not found:
                continue
            strings = [unquote(text) for text in
                       re.findall(r'"(?:[^"\\]|\\.)*"', found.group("arguments"))]
            ret = found.group("ret").split()
            value = None
            if ret[0] == "-1":
                value = -getattr(errno, ret[1])
            elif ret[0] != "?":
                value = int(ret[0], 0)
            calls[int(tid)].append((found.group("name"), strings, value))
    return calls


def our_calls(cause, table):
    """Returns tid -> [(name, [string], return value or None)], for the same program."""
    events = []
    for name, cpus in cause.ours.items():
        if name.startswith("syscall_"):
            for records in cpus.values():
                events += [(record.time, name, record) for record in records]
    events.sort(key=lambda entry: entry[0])
    calls, open_ = collections.defaultdict(list), {}
    for _, name, record in events:
        tid = record.task[0]
        if name.startswith("syscall_entry_"):
            call = name[len("syscall_entry_"):]
            strings = {argument: record.values[argument] for argument in table.strings(call)}
            open_[tid] = [call, strings, None]
            calls[tid].append(open_[tid])
        elif name == "syscall_late_string" and tid in open_:
            number = record.values["arg"]
            argument = table.calls[open_[tid][0]][1][number][0]
            open_[tid][1][argument] = record.values["text"]
        elif name.startswith("syscall_exit_") and tid in open_:
            open_.pop(tid)[2] = record.values["ret"]
    return {tid: [(name, list(strings.values()), ret) for name, strings, ret in list_]
            for tid, list_ in calls.items()}


def is_equal(ours, theirs):
    # rt_sigreturn has no exit event: its return value is the interrupted program's.
    if ours[0] != theirs[0] or (None not in (ours[2], theirs[2]) and ours[2] != theirs[2]):
        return False
    if ours[2] is None and theirs[2] is not None and ours[0] != "rt_sigreturn":
        return False
    return ours[1] == theirs[1][:len(ours[1])]


def compare_strace(causes):
    """Returns (ok, text): the same calls in the same order, with the same strings and results."""
    total, strings, table = 0, 0, Calls()
    for cause in causes:
        path = os.path.join(cause.path, "strace")
        if not os.path.exists(path):
            continue
        ours = our_calls(cause, table)
        for tid, theirs in read_strace(path).items():
            mine = ours.get(tid, [])
            # strace sets up the first program itself, and does not show those calls.
            start = next((at for at, call in enumerate(mine) if is_equal(call, theirs[0])), None)
            if start is None:
                return False, f"strace: thread {tid}: kernlens has no {theirs[0]}"
            for at, call in enumerate(theirs):
                if start + at >= len(mine) or not is_equal(mine[start + at], call):
                    got = mine[start + at] if start + at < len(mine) else None
                    return False, f"strace: thread {tid}, call {at}: {call}, kernlens {got}"
                total += 1
                strings += len(mine[start + at][1])
            if len(mine) > start + len(theirs):
                return False, f"strace: thread {tid} also called {mine[start + len(theirs)]}"
    return total > 0, (f"strace: {total} calls of a shell script in the same order, with the same "
                       f"{strings} strings and results")
