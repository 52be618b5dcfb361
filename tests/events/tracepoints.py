#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# tracepoints.py collect OUT | compare OUT: 200 random tracepoints without a row in events.def,
# always the same for a kernel. All are attached at once (`-e tp:NAME`), and whatever hits while the
# causes run is compared with what ftrace recorded, record by record. `collect` runs in the virtual
# machine as root, `compare` outside; it prints TAP and exits with 2 if something differs.
import glob
import os
import random
import re
import subprocess
import sys

import collect
import tables
import witness

SEED, NUMBER = 20261121, 200
CAUSES = ["task", "fs", "block", "net", "fault", "tracepoints"]
# Systems whose events are not tracepoints of their own.
OTHER_SYSTEMS = {"syscalls", "ftrace", "klfn", "kprobes", "uprobes", "synthetic"}
def candidates(ftrace):
    rows = {row.target for row in tables.events() if row.source == "TP"}
    return sorted(name for name, systems in ftrace.available.items()
                  if len(systems) == 1 and systems[0] not in OTHER_SYSTEMS and name not in rows)


def main_collect(out):
    for module in ("ext4", "loop"):
        subprocess.run(["modprobe", module], check=True)
    ftrace = collect.Ftrace(24576)
    names = random.Random(SEED).sample(candidates(ftrace), NUMBER)
    witnesses = [f"{ftrace.system_of(name)}:{name}" for name in names]
    work = "/tmp/tracepoints"
    os.makedirs(work)
    ftrace.start(witnesses)
    script = "; ".join(" ".join(collect.command_of(cause)) for cause in CAUSES)
    done = subprocess.run(
        [f"{collect.BUILD}/kernlens", "--json", "record", "-a", "--buffer", "24M", "--no-dump",
         "-o", f"{work}/trace", "-e", ",".join(f"tp:{name}" for name in names), "--",
         f"{collect.BUILD}/tests/events/window", f"{work}/window", "sh", "-c", script + "; true"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
        env=os.environ | {"KL_OUT": work})
    ftrace.stop(witnesses)
    collect.write(f"{work}/summary", done.stdout)
    collect.write(f"{work}/log", f"status {done.returncode}\n{done.stdout}{done.stderr}")
    collect.write(f"{work}/names", "".join(name + "\n" for name in witnesses))
    ftrace.save(work, witnesses)
    subprocess.run(["cp", "-r", work, f"{out}/tracepoints"], check=True)
    return 0


def number(value):
    """A field of kernlens as a number; None if it is not a number."""
    if isinstance(value, int):
        return value
    if isinstance(value, str) and re.fullmatch(r"0x[0-9a-f]+|0[0-7]*", value):
        return int(value, 16 if value.startswith("0x") else 8)
    return None


def copied_fields(kernel):
    """By tracepoint: the fields that, by the kernel's headers, are an unchanged argument."""
    cache = os.environ.get("KERNLENS_CACHE", os.path.join(tables.HERE, "..", "..", ".cache"))
    macro = re.compile(r"\b(TRACE_EVENT\w*|DECLARE_EVENT_CLASS|DEFINE_EVENT\w*)\s*\(\s*(\w+)"
                       r"(?:\s*,\s*(\w+)\s*,)?")
    copied, of_class = {}, {}
    for path in glob.glob(f"{cache}/{kernel}/**/include/trace/events/**/*.h", recursive=True):
        with open(path) as file:
            text = file.read()
        found = list(macro.finditer(text))
        for match, end in zip(found, [match.start() for match in found[1:]] + [len(text)]):
            if match[1].startswith("DEFINE"):
                of_class[match[3]] = match[2]
            else:
                copied[match[2]] = {field for field, argument in re.findall(
                    r"__entry->(\w+)\s*=\s*(\w+)\s*;", text[match.end():end])
                    if field == argument}
    return copied | {name: copied.get(kind, set()) for name, kind in of_class.items()}


def pairs_of(record, fmt, copied):
    """Arguments that ftrace has as a field, unchanged."""
    for field, value in record.values.items():
        other = fmt.fields.get(field)
        if (field in copied and other and not other.array and not other.text
                and number(value) is not None):
            yield field, other


def compare_event(cause, name, fmt, copied):
    """Returns (records that agree, fields compared, errors)"""
    result = witness.Result()
    ours_all, theirs_all = cause.ours["tp:" + name], cause.theirs[name]
    sample = next((records[0] for records in ours_all.values() if records), None)
    pairs = list(pairs_of(sample, fmt, copied)) if sample else []
    running = fmt.fields["common_pid"]
    names = ["(thread)"] + [field for field, _ in pairs]

    def ours_of(record):
        return (record.time, (record.task[0], *(
            number(record.values[field]) & ((1 << 8 * other.size) - 1) for field, other in pairs)))

    def theirs_of(record):
        return (record.time, (running.value(record.values), *(
            other.value(record.values) & ((1 << 8 * other.size) - 1) for _, other in pairs)))

    for cpu in sorted(set(ours_all) | set(theirs_all)):
        left, other = witness.match(result, [ours_of(record) for record in ours_all[cpu]],
                                    [theirs_of(record) for record in theirs_all[cpu]])
        for who, entries in (("kernlens", left), ("ftrace", other)):
            result.errors += [f"only {who} has {dict(zip(names, values))} on CPU {cpu}"
                              for time, values in entries if cause.is_inside(time)]
    return result.equal, names[1:], result.errors


def main_compare(out):
    cause = witness.Cause(f"{out}/tracepoints")
    names = cause.read("names").split()
    copied = copied_fields(os.path.basename(os.path.normpath(out)).removesuffix(".random"))
    fired = agreed = values = failed = count = 0
    for witness_name in names:
        name = witness_name.split(":")[1]
        equal, fields, errors = compare_event(cause, name, cause.formats[name],
                                              copied.get(name, set()))
        if not equal and not errors:
            continue
        count += 1
        fired += 1
        agreed += equal
        values += equal * len(fields)
        failed += bool(errors)
        print(f"{'not ok' if errors else 'ok'} {count} - {witness_name}: {equal} records equal "
              f"ftrace's in {len(fields)} fields {' '.join(fields)}")
        for error in errors[:5]:
            print(f"# {error}")
    # The summary exists only if all of them could be attached.
    for ok, text in ((not cause.problems, f"{len(names)} tracepoints attached, nothing lost"),
                     (len(names) == NUMBER and fired >= 30 and values > 1000,
                      f"{fired} of them fired, {agreed} records, {values} values")):
        count += 1
        failed += not ok
        print(f"{'ok' if ok else 'not ok'} {count} - {text}")
    for problem in cause.problems:
        print(f"# {problem}")
    print(f"1..{count}")
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit({"collect": main_collect, "compare": main_compare}[sys.argv[1]](sys.argv[2]))
