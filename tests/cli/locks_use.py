# SPDX-License-Identifier: GPL-2.0
# Compares what kernlens locks --module reports with what tests/kernel/stimulus/kl_locking.c does.
"""locks_use.py [--realtime] REPORT.JSON CASES

REPORT.JSON: of all cases, run once; CASES: their names; --realtime: on a kernel with PREEMPT_RT, which
ends with some. Prints TAP lines.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

# Kind of the fault, lock, and the function where it is noticed if that is not the case itself.
EXPECTED = {
    "wrong_mutex_foreign": ("released_foreign", "first"),
    "wrong_mutex_free": ("released_free", "second"),
    "wrong_mutex_again": ("released_free", "first"),
    "wrong_trylock_ignored": ("released_foreign", "first"),
    "wrong_rtmutex_free": ("released_free", "boosted", "release_boosted"),
    "wrong_spin_free": ("released_free", "spin"),
    "wrong_rwsem_free": ("released_free", "rw"),
    "wrong_rwsem_mode": ("wrong_mode", "rw"),
    "wrong_rwsem_foreign": ("released_foreign", "rw"),
    "wrong_mutex_kept": ("kept", "kept"),
    "wrong_rwsem_kept": ("kept", "kept_rw"),
    "wrong_mutex_exit": ("left", "left", "take_left"),
    "wrong_rwsem_exit": ("left", "left_rw", "take_left_rw"),
    "wrong_init_held": ("init_held", "inner"),
    "wrong_mutex_twice": ("twice", "first", "take_twice"),
    "wrong_rwsem_twice": ("twice", "rw", "write_twice"),
    "wrong_rwsem_upgrade": ("twice", "rw", "upgrade"),
    "wrong_rwsem_read_twice": ("twice", "rw"),
    "wrong_rwlock_read_twice": ("twice", "table"),
    "wrong_order": ("order", "first"),
    "wrong_order_three": ("order", "first"),
    "wrong_order_spin": ("order", "spin"),
    "wrong_order_tasks": ("order", "inner", "lock_inner_in_rw"),
    "wrong_order_items": ("order", "items", "lock_items"),
    "wrong_mutex_in_spin": ("sleep_spin", "first"),
    "wrong_rwsem_in_rwlock": ("sleep_spin", "rw"),
    "wrong_mutex_irqs_off": ("sleep_irq", "first"),
    "wrong_mutex_in_softirq": ("sleep_irq", "first", "try_first"),
    "wrong_spin_in_interrupt": ("in_irq", "hard_spin"),
    "wrong_spin_in_softirq": ("in_irq", "soft_spin", "lock_soft_spin"),
    "wrong_rwlock_in_interrupt": ("in_irq", "irq_table"),
    "wrong_held_long": ("long", "first"),
}
# With PREEMPT_RT: None: such a kernel reports it itself, or it is right there.
REALTIME = {
    "wrong_spin_free": None,
    "wrong_mutex_twice": None,
    "wrong_rwsem_twice": None,
    "wrong_spin_in_interrupt": ("sleep_irq", "hard_spin", "lock_hard_spin"),
    "wrong_spin_in_softirq": None,
    "wrong_rwlock_in_interrupt": ("sleep_irq", "irq_table", "read_irq_table"),
    "right_irqsave": ("sleep_irq", "safe_spin", "lock_safe_spin"),
    "right_readers": ("twice", "bh_table"),
}

tap = Tap()


def function_of(place):
    return place["call"].partition("+")[0]


def functions_of(place):
    return [frame.get("function") or frame.get("symbol") for frame in place.get("frames", [])] if place else []


def main(path, cases, realtime=False):
    with open(path) as file:
        document = json.load(file)
    faults = list(document["faults"])
    wrong = [name for name in cases if name.startswith("wrong_")]
    tap.check(sorted(wrong) == sorted(EXPECTED), f"{len(wrong)} faults are known", set(wrong) ^ set(EXPECTED))
    expected = EXPECTED | REALTIME if realtime else EXPECTED
    expected = {name: fault for name, fault in expected.items() if fault}
    for name, (kind, lock, *where) in expected.items():
        found = [
            fault
            for fault in faults
            if fault["kind"] == kind and fault.get("lock") == lock and function_of(fault["here"]) == (where or [name])[0]
        ]
        tap.check(len(found) == 1, f"{name}: {kind}", found, [(f["kind"], f.get("lock"), f["here"]["call"]) for f in faults])
        faults = [fault for fault in faults if fault not in found]
    tap.check(not faults, "and nothing else", *faults)
    whole = [fault for fault in document["faults"] if fault["certain"]]
    tap.check(len(whole) == len(expected), "all are certain", [f for f in document["faults"] if not f["certain"]])
    there = {fault["kind"] for fault in document["faults"] if fault["there"]}
    tap.check(
        there | ({"in_irq"} if realtime else set())
        >= {"released_foreign", "wrong_mode", "twice", "sleep_spin", "in_irq", "init_held", "long"},
        "with the other place",
        there,
    )
    tap.check(
        all(function_of(fault["here"]) in functions_of(fault["here"]) for fault in document["faults"]),
        "stack traces begin where the call is",
        [fault["here"] for fault in document["faults"]][:1],
    )
    steps = {len(fault["order"]) for fault in document["faults"] if fault["kind"] == "order"}
    tap.check(steps == {2, 3}, "orders of two and of three locks", steps)
    circles = [[(step["held"], step["taken"]) for step in fault["order"]] for fault in document["faults"]]
    tap.check(
        all(a[1] == b[0] for circle in circles if circle for a, b in zip(circle, circle[1:] + circle[:1])),
        "each is a circle",
        circles,
    )
    locks = {lock["lock"]: lock for lock in document["locks"]}
    tap.check(
        locks["first"]["failed"] == 4 - realtime and locks["tickets"]["taken"] == 1 and locks["first"]["worst_held_ns"] > 1.4e9,
        "locks are counted, and times measured",
        locks["first"],
        locks["tickets"],
    )
    return tap.end()


if sys.argv[1] == "--realtime":
    sys.exit(main(sys.argv[2], sys.argv[3:], True))
sys.exit(main(sys.argv[1], sys.argv[2:]))
