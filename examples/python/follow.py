#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Follow one request across tasks.
"""Follow one request across tasks: which tasks worked on it, in which order, and who waited.

    kernlens record -e mark,sched,syscalls -v in_irq -o trace -- sh -c '
        kernlens mark begin; echo hello | tr a-z A-Z | wc -c; kernlens mark end'
    follow.py trace begin end

The request begins with a mark and ends with another. The task that makes the first mark works on
it, and so does each task that one of these tasks wakes up or creates. For each such step, this
prints the system call that caused it, and how long the new task waited for a CPU. Wakeups by
interrupts are ignored if the variable in_irq was recorded: they have nothing to do with the task
that was interrupted.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Iterator, Optional

import kernlens

ENTRY, EXIT = "syscall_entry_", "syscall_exit_"
EVENTS = "mark, sched_process_fork, sched_waking, sched_switch, syscalls"


@dataclass
class Step:
    """A task that works on the request wakes up or creates another one."""

    at_ns: int
    source: str
    target: str
    tid: int
    cause: str
    waited_ns: Optional[int] = None


@dataclass
class Request:
    begin_ns: int
    end_ns: int = 0
    steps: list[Step] = field(default_factory=list)
    tasks: dict[int, str] = field(default_factory=dict)


def task(event: kernlens.Event) -> str:
    return f"{event.comm}-{event.tid}"


def find(events: Iterator[kernlens.Event], begin: str, end: str) -> Optional[Request]:
    """The first request between two marks."""
    request: Optional[Request] = None
    calls: dict[int, str] = {}  # the system call that each thread is in
    waiting: dict[int, Step] = {}  # tasks that have been woken, and do not run yet
    for event in events:
        if event.name.startswith(ENTRY):
            calls[event.tid] = event.name[len(ENTRY) :]
        elif event.name.startswith(EXIT):
            calls.pop(event.tid, None)
        if event.name == "mark":
            if not request and event["text"] == begin:
                request = Request(event.since_ns, tasks={event.tid: task(event)})
            elif request and event["text"] == end:
                request.end_ns = event.since_ns
                return request
        if not request:
            continue
        if event.name == "sched_switch":
            step = waiting.pop(event["next_tid"], None)
            if step:
                step.waited_ns = event.since_ns - step.at_ns
            continue
        if event.tid not in request.tasks or event.variables.get("in_irq"):
            continue
        step = hand_over(event, calls.get(event.tid, "an exception or its end"))
        if step and step.tid not in waiting:
            request.steps.append(step)
            request.tasks[step.tid] = step.target
            waiting[step.tid] = step
    return request


def hand_over(event: kernlens.Event, cause: str) -> Optional[Step]:
    if event.name == "sched_waking":
        target, tid = event["comm"], event["tid"]
    elif event.name == "sched_process_fork":
        target, tid = event["child_comm"], event["child_tid"]
    else:
        return None
    return Step(event.since_ns, task(event), f"{target}-{tid}", tid, cause)


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    with kernlens.Trace(sys.argv[1]) as trace:
        request = find(trace.events(EVENTS), *sys.argv[2:])
    if not request:
        print(f"there is no mark {sys.argv[2]}", file=sys.stderr)
        return 1
    if not request.end_ns:
        print(f"there is no mark {sys.argv[3]} after it", file=sys.stderr)
        return 1
    for step in request.steps:
        waited = "" if step.waited_ns is None else f", runs after {step.waited_ns / 1e6:.3f} ms"
        print(
            f"{(step.at_ns - request.begin_ns) / 1e6:10.3f} ms  {step.source} -> {step.target}"
            f"  by {step.cause}{waited}"
        )
    print(f"{(request.end_ns - request.begin_ns) / 1e6:10.3f} ms  end")
    return 0


if __name__ == "__main__":
    sys.exit(main())
