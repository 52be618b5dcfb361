#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# witness.py [-v] DIR [EVENT...]: compares what collect.py left in DIR, record by record: the trace
# as `kernlens print --format json` shows it, with ftrace's raw pages, facts that the causes
# printed, and /proc. Prints a TAP line per event (tests/events/table); status 1 if one is not ok.
import collections
import glob
import json
import os
import re
import subprocess
import sys
import urllib.parse

import fields
import ftrace
import opens
import syscalls
import tables

BUILD = os.environ.get("KL_BUILD", os.path.join(tables.HERE, "..", "..", "build"))
# Both recorders probe one tracepoint, one after the other; an interrupt or the host may run in
# between: on a busy host for a second or two.
FAR_CYCLES = 8_000_000_000
# Records that differ but are this close are of the same event.
NEAR_CYCLES = 20_000
# Nanoseconds are printed, so kernlens' cycles are rounded.
SLACK_CYCLES = 16

verbose = False


class Record:
    __slots__ = ("time", "cpu", "values", "task")

    def __init__(self, time, cpu, values, task=None):
        self.time, self.cpu, self.values, self.task = time, cpu, values, task


class Result:
    """What is known of one event after all causes."""

    def __init__(self):
        self.equal = 0  # records that ftrace has, too
        self.fields = collections.Counter()  # compared with ftrace's
        self.told = collections.Counter()  # fields compared with facts
        self.shaky = collections.Counter()  # (field) not equal, but read at two times
        self.errors = []
        self.records = 0
        self.reordered = 0
        self.missed = 0  # hits that ftrace's kprobe counts as missed
        self.linked = set()  # fields that correspond to one of ftrace's, record by record


class Cause:
    """The records of one cause."""

    def __init__(self, path):
        self.name, self.path = os.path.basename(path), path
        self.window = [int(word) for word in self.read("window").split()]
        self.clock = self.read_clock()
        self.problems = []
        self.check_losses()
        self.ours = collections.defaultdict(lambda: collections.defaultdict(list))
        self.theirs = collections.defaultdict(lambda: collections.defaultdict(list))
        self.formats = {}
        self.missed = {}
        if os.path.exists(os.path.join(path, "kprobe_profile")):
            self.missed = {line.split()[0]: int(line.split()[-1])
                           for line in self.read("kprobe_profile").splitlines()}
        self.read_ours()
        self.read_theirs()

    def read(self, name):
        with open(os.path.join(self.path, name), errors="replace") as file:
            return file.read()

    def read_clock(self):
        metadata = self.read("trace/metadata")
        return [int(re.search(rf"\b{key} = (\d+);", metadata).group(1))
                for key in ("freq", "offset_s", "offset")]

    def check_losses(self):
        log = self.read("log")
        if not log.startswith("status 0\n"):
            said = [line for line in log.splitlines() if not line.startswith("fact ")]
            self.problems.append(f"{self.name} failed: {' / '.join(said)[-300:]}")
        try:
            summary = json.loads(self.read("summary"))
        except ValueError:
            summary = {}
        if summary.get("lost", 1) or summary.get("missed", 1):
            self.problems.append(f"{self.name}: kernlens lost records: {summary}")
        for path in glob.glob(os.path.join(self.path, "cpu*.stats")):
            with open(path) as file:
                for line in file:
                    key, _, value = line.partition(":")
                    if key in ("overrun", "commit overrun", "dropped events") and int(value):
                        self.problems.append(f"{self.name}: ftrace lost records: {line.strip()}")

    def read_ours(self):
        hz, offset_s, offset = self.clock
        done = subprocess.run([f"{BUILD}/kernlens", "print", "--format", "json",
                               os.path.join(self.path, "trace")], capture_output=True, text=True)
        if done.returncode:
            self.problems.append(f"{self.name}: kernlens print: {done.stderr.strip()}")
        for line in done.stdout.splitlines():
            entry = json.loads(line)
            if "loss" in entry:
                self.problems.append(f"{self.name}: {line}")
                continue
            cycles = ((entry["seconds"] - offset_s) * hz - offset
                      + (entry["nanoseconds"] * hz + 500000000) // 1000000000)
            self.ours[entry["event"]][entry["cpu"]].append(
                Record(cycles, entry["cpu"], entry["fields"],
                       (entry["tid"], entry["pid"], entry["comm"])))

    def read_theirs(self):
        formats = ftrace.read_formats(os.path.join(self.path, "formats"))
        self.formats = {fmt.name.split(":")[1]: fmt for fmt in formats.values()}
        for path in glob.glob(os.path.join(self.path, "cpu*.raw")):
            cpu = int(re.search(r"cpu(\d+)\.raw", path).group(1))
            for cycles, data in ftrace.read_pages(path):
                fmt = formats.get(int.from_bytes(data[:2], "little"))
                if fmt:
                    name = fmt.name.split(":")[1]
                    self.theirs[name][cpu].append(Record(cycles, cpu, data))

    def is_inside(self, time):
        return self.window[0] <= time <= self.window[1]


def describe(pairs, ours, theirs):
    return ", ".join(f"{name}: kernlens {a!r}, ftrace {b!r}"
                     for name, a, b in zip(pairs, ours, theirs) if a != b)


def match(result, ours, theirs, first_theirs=True):
    """Pairs the records of one event on one CPU, lists of (time, values), and returns what is left
    of both. ftrace, which was enabled first, is called first for a tracepoint (and last for a
    function). Therefore, among records with the same values, one of kernlens' belongs to the newest
    unpaired one of ftrace's before it. This also holds when an interrupt came in between and hit
    the event, too."""
    sign = 1 if first_theirs else -1
    merged = [(sign * time - sign * SLACK_CYCLES, 0, index) for index, (time, _) in enumerate(theirs)]
    merged += [(sign * time, 1, index) for index, (time, _) in enumerate(ours)]
    merged.sort(key=lambda entry: (entry[0], entry[1], sign * entry[2]))
    open_, partner, left = collections.defaultdict(list), {}, []
    for _, is_ours, index in merged:
        if not is_ours:
            open_[theirs[index][1]].append(index)
            continue
        candidates = open_[ours[index][1]]
        if candidates and abs(theirs[candidates[-1]][0] - ours[index][0]) < FAR_CYCLES:
            partner[index] = candidates.pop()
        else:
            left.append(ours[index])
    in_order = [partner[index] for index in sorted(partner)]
    result.reordered += sum(a > b for a, b in zip(in_order, in_order[1:]))
    result.equal += len(partner)
    result.partner = partner
    used = set(in_order)
    return left, [entry for index, entry in enumerate(theirs) if index not in used]


def drop(result, cause, names, entry):
    if cause.is_inside(entry[0]):
        result.errors.append(f"{cause.name}: only ftrace has {dict(zip(names, entry[1]))}")


def compare(result, row, cause):
    fmt = cause.formats.get(row.name if row.source == "FN" else row.target)
    if not fmt:
        return
    pairs = fields.pairs(row, fmt)
    firm = [pair for pair in pairs if not pair.shaky]
    # For every record, also the thread that was running.
    names = ["(thread)"] + [pair.name for pair in firm]
    running = fmt.fields["common_pid"]
    links = fields.links(row, fmt)
    ours_all, theirs_all = cause.ours[row.name], cause.theirs[fmt.name.split(":")[1]]
    for cpu in sorted(set(ours_all) | set(theirs_all)):
        ours = [(record.time, (record.task[0], *(pair.ours(record.values) for pair in firm)))
                for record in ours_all[cpu]]
        theirs = [(record.time, (running.value(record.values),
                                 *(pair.theirs(record.values) for pair in firm)))
                  for record in theirs_all[cpu]]
        before = result.equal
        left, other = match(result, ours, theirs, row.source != "FN")
        for link in links:
            for index, partner in result.partner.items():
                if not link.is_kept(ours_all[cpu][index].values, theirs_all[cpu][partner].values):
                    result.errors.append(f"{cause.name}: {link.name} goes with another "
                                         f"{link.other.name} than before")
            result.linked.add(link.name)
        if row.source == "FN" and len(left) <= cause.missed.get(row.name, 0):
            # A kprobe does not hit inside another kprobe; the kernel counts these misses.
            result.missed += len([entry for entry in left if cause.is_inside(entry[0])])
            left = []
        for entry in left:
            if not cause.is_inside(entry[0]):
                continue
            near = min(other, key=lambda e: abs(e[0] - entry[0]), default=None)
            if near and abs(near[0] - entry[0]) < NEAR_CYCLES:
                other.remove(near)
                text = describe(names, entry[1], near[1])
            else:
                text = f"only kernlens has {dict(zip(names, entry[1]))}"
            result.errors.append(f"{cause.name}: CPU {cpu}: {text}")
        for entry in other:
            drop(result, cause, names, entry)
        if row.name in fields.FORMULAS:
            for index, partner in result.partner.items():
                wrong = fields.FORMULAS[row.name](ours_all[cpu][index].values, fmt,
                                                  theirs_all[cpu][partner].values)
                result.errors += [f"{cause.name}: CPU {cpu}: {text}" for text in wrong]
            result.linked |= fields.OF_FORMULAS[row.name]
        if result.equal > before:
            for name in names[1:]:
                result.fields[name] += result.equal - before
        compare_shaky(result, [pair for pair in pairs if pair.shaky], ours_all[cpu],
                      theirs_all[cpu])


def compare_shaky(result, pairs, ours, theirs):
    """Fields that both read at slightly different times: close to each other, and mostly equal."""
    if not pairs or not ours or not theirs:
        return
    at = 0
    for record in ours:
        while at + 1 < len(theirs) and abs(theirs[at + 1].time - record.time) <= abs(
                theirs[at].time - record.time):
            at += 1
        if abs(theirs[at].time - record.time) > FAR_CYCLES:
            continue
        for pair in pairs:
            result.fields[pair.name] += 1
            result.shaky[pair.name] += (
                pair.ours(record.values) != pair.theirs(theirs[at].values))


def check_facts(results, cause):
    """A fact is a record that must exist."""
    for line in cause.read("facts").splitlines():
        words = line.split()
        event, wanted = words[0], dict(
            urllib.parse.unquote(word).split("=", 1) for word in words[1:])
        if event not in results or event not in cause.read("events").split():
            continue
        for records in cause.ours[event].values():
            if any(all(fields.is_value(record.values.get(name.split("&")[0]), value, name)
                       for name, value in wanted.items()) for record in records):
                for name in wanted:
                    results[event].told[name.split("&")[0]] += 1
                break
        else:
            results[event].errors.append(f"{cause.name}: no record {line}")


def check_order(cause, problems):
    """Times never go backwards on a CPU: the output is in order."""
    for event, cpus in cause.ours.items():
        for records in cpus.values():
            if any(a.time > b.time for a, b in zip(records, records[1:])):
                problems.append(f"{cause.name}: {event} is not in order of time")


def judge(row, result, available, reason, entry, special):
    """Returns (ok, text) of an event."""
    causes, cannot = entry
    if not available:
        return True, f"# SKIP absent: {reason}"
    if result.errors and causes:
        return False, f"{len(result.errors)} differences: " + "; ".join(result.errors[:3])
    if not causes:
        if result.records and cannot.startswith("cannot:"):
            return False, f"said to be impossible, but {result.records} records: give it a cause"
        return True, f"# SKIP {cannot}"
    if not result.records:
        return False, f"not caused by {' '.join(causes)}"
    rest = [field.name for field in row.fields if field.name not in result.fields
            and field.name not in result.told and field.name not in special
            and field.name not in result.linked]
    unknown = [name for name in rest if (row.name, name) not in fields.UNWITNESSED]
    if unknown:
        return False, "no witness for " + ", ".join(unknown)
    text = []
    if result.equal:
        text.append(f"{result.equal} records equal ftrace's in "
                    f"{sum(1 for f in row.fields if f.name in result.fields)} fields")
    elif result.records:
        text.append(f"{result.records} records")
    told = [name for name in result.told if name not in result.fields]
    if told:
        text.append("as its cause says: " + " ".join(told))
    if special:
        text.append("as /proc says: " + " ".join(sorted(special)))
    if result.linked:
        text.append("goes with ftrace's: " + " ".join(sorted(result.linked)))
    if result.missed:
        text.append(f"{result.missed} more that ftrace says it missed")
    shaky = [f"{name} ({count} times)" for name, count in result.shaky.items() if count]
    if shaky:
        text.append("changed between both reads: " + " ".join(shaky))
    if rest:
        text.append("no witness: " + " ".join(rest))
    return True, "; ".join(text)


def check_shaky(result):
    for name, count in result.shaky.items():
        if count * 2 > result.fields[name]:
            result.errors.append(f"{name} differs in {count} of {result.fields[name]} records")


def main():
    global verbose
    arguments = sys.argv[1:]
    if arguments[0] == "-v":
        verbose = True
        arguments = arguments[1:]
    directory, only = arguments[0], arguments[1:]
    with open(os.path.join(directory, "list")) as file:
        listing = {entry["name"]: entry for entry in json.load(file)}
    table, rows = tables.table(os.path.basename(os.path.normpath(directory))), tables.events()
    results = {row.name: Result() for row in rows}
    problems, special, causes = [], collections.defaultdict(set), []
    fields.read_texts(os.path.join(directory, "printk_formats"))
    for path in sorted(glob.glob(os.path.join(directory, "*", "window"))):
        cause = Cause(os.path.dirname(path))
        problems += cause.problems
        causes.append(cause)
        check_order(cause, problems)
        for row in rows:
            results[row.name].records += sum(map(len, cause.ours[row.name].values()))
            if row.source != "OWN":
                compare(results[row.name], row, cause)
        check_facts(results, cause)
    compared = syscalls.compare(causes, match, Result)
    if all(ok for ok, _ in compared):
        # All six arguments of each call have been compared.
        for field in syscalls.COMPAT_FIELDS:
            results["compat_syscall_entry"].told[field] += 1
    failed = 0
    for number, row in enumerate(rows, 1):
        if only and row.name not in only:
            continue
        entry = listing[row.name]
        check_shaky(results[row.name])
        if row.name not in table:
            ok, text = False, "tests/events/table does not say what causes it"
        else:
            ok, text = judge(row, results[row.name], entry["available"],
                             entry.get("reason", ""), table[row.name], special[row.name])
        failed += not ok
        skip = text.startswith("#")
        print(f"{'ok' if ok else 'not ok'} {number} - {row.name}{' ' if skip else ': '}{text}")
        if verbose:
            for error in results[row.name].errors[:20]:
                print(f"#   {error}")
    number = len(rows)
    more = [(not problems, "nothing lost, all in order: " + "; ".join(problems or ["yes"]))]
    more += compared
    more.append(syscalls.compare_strace(causes))
    more += opens.compare(causes)
    for ok, text in more:
        number += 1
        failed += not ok
        print(f"{'ok' if ok else 'not ok'} {number} - {text}")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
