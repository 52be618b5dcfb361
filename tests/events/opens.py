# SPDX-License-Identifier: GPL-2.0
# Can other tools open the traces? babeltrace 1 and 2 must read each without a warning, and babeltrace2 with the values
# of `kernlens print`, and the names that Trace Compass looks up must exist.
import collections
import ipaddress
import os
import re
import subprocess
import sys

import fields
import tables

EVENT = re.compile(r"^\[[^]]*\] \S+ (?P<name>\S+): \{ (?P<packet>.*?) \}, "
                   r"\{ changed = .*?, task = \[(?: \[0\] = \{.*?\})? \] \}, \{ ?(?P<fields>.*?) ?\}$")
FIELD = re.compile(r'_?(\w+) = (\[ .*? \]|"(?:[^"\\]|\\.)*"|-?\w+)(?:, |$)')


def their_value(text):
    if text[0] == '"':
        return re.sub(r'\\(.)', lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]),
                      text[1:-1])
    if text[0] == "[":
        return tuple(int(number) for number in re.findall(r"\] = (-?\d+)", text))
    if re.fullmatch(r"0[0-7]+", text):
        return int(text, 8)
    return int(text, 0)


class Forms:
    """How fields are declared: event and field -> (type, format)."""

    def __init__(self):
        # babeltrace2 removes a name's first "_".
        self.forms = {(row.name, field.name): (field.kind, field.format)
                      for row in tables.events() for field in row.fields}
        for name, (_, arguments) in tables.syscalls().items():
            for argument, kind, form in arguments:
                self.forms[f"syscall_entry_{name}", argument.removeprefix("_")] = kind, form

    def ours(self, event, field, value):
        kind, form = self.forms.get((event, field), ("", ""))
        if form == "ptr":
            value = fields.number(value)
        elif form == "ipv6":
            value = tuple(ipaddress.ip_address(value).packed)
        elif isinstance(value, list):
            value = tuple(value)
        return self.cut(kind, value)

    def theirs(self, event, field, value):
        return self.cut(self.forms.get((event, field), ("", ""))[0], value)

    @staticmethod
    def cut(kind, value):
        """babeltrace2 prints a negative number in base 8 or 16 as a positive one."""
        if isinstance(value, int) and kind in fields.BITS:
            return value & (1 << fields.BITS[kind]) - 1
        return value


def count_theirs(path, forms):
    """Returns (problem, Counter of (event, CPU, values)) of a trace as babeltrace2 reads it."""
    done = subprocess.run(["babeltrace2", "--no-delta", path], capture_output=True, text=True,
                          errors="replace")
    if done.returncode or done.stderr:
        return f"babeltrace2 says: {done.stderr.strip()[:300]}", None
    records = collections.Counter()
    for line in done.stdout.split("\n"):
        if not line:
            continue
        found = EVENT.match(line)
        if not found:
            return f"not understood: {line[:300]}", None
        cpu = int(re.search(r"cpu_id = (\d+)", found["packet"]).group(1))
        values = tuple(sorted((name, forms.theirs(found["name"], name, their_value(text)))
                              for name, text in FIELD.findall(found["fields"])))
        records[found["name"], cpu, values] += 1
    return "", records


def ask_babeltrace1(path, records):
    """Returns the problem, if babeltrace 1 does not read that many records without a warning."""
    done = subprocess.run(["babeltrace", path], capture_output=True, text=True, errors="replace")
    if done.returncode or done.stderr:
        return f"babeltrace 1 says: {done.stderr.strip()[:300]}"
    got = sum(1 for line in done.stdout.split("\n") if line)
    return "" if got == records else f"expected {records} records from babeltrace 1, got {got}"


def count_ours(cause, forms):
    records = collections.Counter()
    for name, cpus in cause.ours.items():
        for cpu, list_ in cpus.items():
            for record in list_:
                values = tuple(sorted((field, forms.ours(name, field, value))
                                      for field, value in
                                      ((field.removeprefix("_"), value) for field, value in
                                       record.values.items())))
                records[name, cpu, values] += 1
    return records


def are_same(ours, theirs):
    """Do two records differ at most in texts, in ways that are allowed? babeltrace2 2.0.4 shows an
    empty text as the field's previous text, and print takes a system call's unreadable text from a
    later record, made when it could be read."""
    if ours[:2] != theirs[:2]:
        return False
    return all(a == b or a[0] == b[0] and ("" == a[1] or "?" == b[1])
               for a, b in zip(ours[2], theirs[2]))


def left_over(ours, theirs):
    """Returns the records of both that still differ."""
    mine, others = list((ours - theirs).elements()), list((theirs - ours).elements())
    for record in mine[:]:
        found = next((other for other in others if are_same(record, other)), None)
        if found:
            others.remove(found)
            mine.remove(record)
    return mine, others


def compare(causes):
    """Returns [(ok, text)] for all traces together."""
    forms, total, problems = Forms(), 0, []
    for cause in causes:
        problem, theirs = count_theirs(os.path.join(cause.path, "trace"), forms)
        if problem:
            problems.append(f"{cause.name}: {problem}")
            continue
        ours = count_ours(cause, forms)
        total += sum(ours.values())
        mine, others = left_over(ours, theirs)
        problem = ask_babeltrace1(os.path.join(cause.path, "trace"), theirs.total())
        if problem:
            problems.append(f"{cause.name}: {problem}")
        if mine or others:
            problems.append(f"{cause.name}: only kernlens: {mine[:2]}, only babeltrace2: "
                            f"{others[:2]}")
    lines = [(not problems and total > 0,
              f"babeltrace 1 and 2 read {len(causes)} traces with no warning, and {total} records with "
              "the values that kernlens prints: " + ("; ".join(problems) or "yes"))]
    script, wrong = os.path.join(tables.HERE, "trace-compass"), []
    for cause in causes[:1]:
        done = subprocess.run([sys.executable, script, os.path.join(cause.path, "trace/metadata")],
                              capture_output=True, text=True)
        wrong += (done.stdout + done.stderr).splitlines()
    lines.append((not wrong and bool(causes), "Trace Compass finds the names that it looks for: "
                  + ("; ".join(wrong) or "yes")))
    return lines
