#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# compare.py KERNLENS FLIGHT WITNESS PROCESSORS: compares a trace that was extracted from the memory of
# a crashed machine with PROCESSORS processors with one of the same events that another session had
# written to a file until then.
# Prints TAP lines.
#
# The two sessions have probes of their own at each event. An interrupt may come between the two, so
# the order of events is compared for each kind of event that cannot interrupt itself, and their times
# are not exactly the same. Newer kernels may preempt a task between two probes of a system call, and
# continue it on another processor: of these, the order of each task's is compared.
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

LAST = 1000
# Between the two probes, the emulator may run another processor, and the host something else.
MEDIAN_NS = 1_000_000
TIME_NS = 200_000_000
NO_ROOM = 0xffffffff  # KL_STACK_NO_ROOM
# What an interrupt may record between two probes of the same kind of event.
NESTED = ("sched_waking", "sched_wakeup")
CALLS = "syscall_"
REAPED, ZOMBIE = 16, 32
OTHER = ("seconds", "nanoseconds", "since_ns", "stacks", "variables")
tap = Tap()


def read(kernlens, path):
    """Events and losses of each CPU."""
    events, losses = collections.defaultdict(list), collections.Counter()
    run = subprocess.run([kernlens, "print", path, "--format", "json", "--time", "wall", "--no-config"],
                         capture_output=True, text=True, check=False)
    for line in run.stdout.splitlines():
        item = json.loads(line)
        if "event" in item:
            events[item["cpu"]].append(item)
        else:
            losses[item["loss"]] += item["records"]
    return events, losses, run


def key(event):
    """All that is in a record but its time and stack trace. A task that has ended may be reaped between two probes."""
    fields = event["fields"]
    if fields.get("prev_state") == REAPED:
        event = {**event, "fields": {**fields, "prev_state": ZOMBIE}, "meanings": {"prev_state": "Z"}}
    return json.dumps({k: v for k, v in event.items() if k not in OTHER}, sort_keys=True)


def time_of(event):
    return event["seconds"] * 10**9 + event["nanoseconds"]


def compare_kind(text, flight, witness, nested, begin, end):
    """From @begin to @end, the events must be the same."""
    first = [key(e) for e in witness if begin <= time_of(e) <= end]
    # In the other trace, the same events may be a little outside.
    wide = [e for e in flight if begin - TIME_NS <= time_of(e) <= end + TIME_NS]
    second = [key(e) for e in wide]
    inner = [key(e) for e in flight if begin + TIME_NS <= time_of(e) <= end - TIME_NS]
    if not first:
        tap.same(f"{text}: none in both", len(inner), 0)
        return 0
    if nested:
        missing = collections.Counter(first) - collections.Counter(second)
        wide_first = [key(e) for e in witness]
        missing += collections.Counter(inner) - collections.Counter(wide_first)
        tap.same(f"{text}: {len(first)} events", sum(missing.values()), 0)
        return len(first)
    # Where the witness's sequence begins in the other.
    at = next((i for i in range(len(second) - len(first) + 1) if second[i:i + 50] == first[:50] and
               second[i:i + len(first)] == first), None)
    tap.good(f"{text}: {len(first)} events in the same order", at is not None)
    if at is None:
        explain(first, second)
        return 0
    inside = [e for e in witness if begin <= time_of(e) <= end]
    apart = sorted(abs(time_of(a) - time_of(b)) for a, b in zip(inside, wide[at:]))
    median, most = apart[len(apart) // 2], apart[len(apart) * 99 // 100]
    tap.good(f"{text}: at the same time, as two probes can tell ({median} and {most} ns)",
             median <= MEDIAN_NS and most <= TIME_NS)
    return len(first)


def explain(first, second):
    for i in range(len(second)):
        n = 0
        while n < len(first) and i + n < len(second) and second[i + n] == first[n]:
            n += 1
        if n >= 20:
            print(f"# {n} events are the same, then\n# {first[n:n + 2]}\n# {second[i + n:i + n + 2]}")
            return
    print(f"# first of the witness {first[:2]}\n# of the other {second[:2]}")


def compare_cpu(cpu, flight, witness):
    times = [time_of(e) for e in flight]
    tap.good(f"CPU {cpu}: the times of {len(times)} events do not decrease", times == sorted(times))
    kinds = collections.defaultdict(lambda: ([], []))
    for which, events in enumerate((flight, witness)):
        for event in events:
            if not event["event"].startswith(CALLS):
                kinds[event["event"]][which].append(event)
    # What both have: the witness ends with the last block that it has written.
    begin = max(time_of(flight[0]), time_of(witness[0])) + TIME_NS
    end = time_of(witness[-1]) - TIME_NS
    compared = 0
    for name, (one, other) in sorted(kinds.items()):
        compared += compare_kind(f"CPU {cpu}: {name}", one, other, name in NESTED, begin, end)
    tap.good(f"CPU {cpu}: at least {LAST} events compared, {compared}", compared >= LAST)
    # The newest of the witness may be missing: it wrote whole blocks only.
    tap.good(f"CPU {cpu}: the extracted trace goes on after the witness's end",
             time_of(flight[-1]) >= time_of(witness[-1]) - TIME_NS)


def calls_of_tasks(events, begin, end):
    """Keys of each task's system calls from @begin to @end, in order, and the time of each."""
    tasks = collections.defaultdict(list)
    calls = [e for each in events.values() for e in each if e["event"].startswith(CALLS)]
    for event in sorted(calls, key=time_of):
        if begin <= time_of(event) <= end:
            tasks[event["tid"]].append((key({**event, "cpu": None}), time_of(event)))
    return tasks


def place_of(part, whole):
    """Where in a task's calls @part begins, or None."""
    wanted, keys = [call for call, _ in part], [call for call, _ in whole]
    return next((i for i in range(len(keys) - len(wanted) + 1) if keys[i] == wanted[0] and
                 keys[i:i + len(wanted)] == wanted), None)


def compare_calls(flight, witness):
    begin = max(time_of(each[0]) for events in (flight, witness) for each in events.values()) + TIME_NS
    end = min(time_of(each[-1]) for each in witness.values()) - TIME_NS
    first = calls_of_tasks(witness, begin, end)
    second = calls_of_tasks(flight, begin - TIME_NS, end + TIME_NS)
    places = {tid: place_of(calls, second[tid]) for tid, calls in first.items()}
    number = sum(map(len, first.values()))
    tap.same(f"{number} system calls of {len(first)} tasks, each task's in the same order",
             [tid for tid, at in places.items() if at is None], [])
    tap.good(f"at least {LAST} system calls compared", number >= LAST)
    inner = calls_of_tasks(flight, begin + TIME_NS, end - TIME_NS)
    tap.same("and no others", set(inner) - set(calls_of_tasks(witness, begin - TIME_NS, end + TIME_NS)), set())
    apart = sorted(abs(a[1] - b[1]) for tid, at in places.items() if at is not None
                   for a, b in zip(first[tid], second[tid][at:]))
    median, most = apart[len(apart) // 2], apart[len(apart) * 99 // 100]
    tap.good(f"at the same time, as two probes can tell ({median} and {most} ns)",
             median <= MEDIAN_NS and most <= TIME_NS)


def compare_stacks(cpu, flight):
    """Each context switch has a kernel stack, or says that the session's table of them was full."""
    switches = [e for e in flight if e["event"] == "sched_switch"]
    frames = [[f["address"] for f in e.get("stacks", {}).get("kstack", [])] for e in switches]
    good = sum(bool(f) and all(int(a, 16) >> 47 == 0x1ffff for a in f) for f in frames)
    full = sum(e["variables"]["kstack"] == NO_ROOM for e in switches)
    tap.same(f"CPU {cpu}: kernel stacks of {len(switches)} context switches, but for {full}", good + full,
             len(switches))
    tap.good(f"CPU {cpu}: of three quarters of them", good >= 0.75 * len(switches))
    # The machine that extracts runs another kernel: all names are from the memory.
    named = [sum(f.get("symbol") is not None for f in e.get("stacks", {}).get("kstack", [])) for e in switches]
    tap.good(f"CPU {cpu}: {sum(named)} of their {sum(map(len, frames))} frames have names",
             sum(named) >= 0.9 * sum(map(len, frames)))


def main():
    kernlens, flight_path, witness_path, processors = sys.argv[1:5]
    flight, _, printed = read(kernlens, flight_path)
    witness, lost, _ = read(kernlens, witness_path)
    tap.same("the extracted trace can be printed", printed.returncode, 0)
    tap.same("the witness has lost nothing", lost["discarded"], 0)
    tap.same("both have events of the same CPUs", sorted(flight), sorted(witness))
    tap.same("of all", sorted(flight), list(range(int(processors))))
    for cpu in sorted(set(flight) & set(witness)):
        compare_cpu(cpu, flight[cpu], witness[cpu])
        compare_stacks(cpu, flight[cpu])
    compare_calls(flight, witness)
    sys.exit(tap.end())


main()
