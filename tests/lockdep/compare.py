# SPDX-License-Identifier: GPL-2.0
# Compares what kernlens locks --module reports with what the kernel's own checks have reported.
"""compare.py CASE FILE

CASE: the fault; `right`: code without any. FILE: what tests/lockdep/guest has printed. Prints TAP lines.
"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

# What begins a report of the kernel, and the kinds of faults of kernlens that are the same.
REPORTS = (
    (r"bad unlock balance detected", {"released_free", "released_foreign", "wrong_mode"}),
    (r"DEBUG_RWSEMS_WARN_ON\(!is_rwsem_reader_owned", {"wrong_mode"}),
    (r"lock held when returning to user space", {"kept"}),
    # Whose task has exited before another one releases it.
    (r"still has locks held|lock held at task exit time", {"left", "released_foreign"}),
    (r"held lock freed", {"init_held"}),
    (r"possible recursive locking detected", {"twice"}),
    (r"possible circular locking dependency detected", {"order"}),
    (r"possible irq lock inversion|irq-unsafe lock order|inconsistent lock state", {"in_irq"}),
    (r"sleeping function called from invalid context|scheduling while atomic", {"sleep_spin", "sleep_irq"}),
)

# What the kernel does not check.
UNCHECKED = {
    "wrong_mutex_in_softirq": "mutex_trylock() in a softirq",
    "wrong_held_long": "how long a lock is held",
}

tap = Tap()


def kernel_reports(log):
    """The kinds that the kernel's reports stand for, and their lines."""
    kinds, lines = set(), []
    for line in log.splitlines():
        for pattern, same in REPORTS:
            if re.search(pattern, line):
                kinds |= same
                lines.append(line)
    return kinds, lines


def main(case, path):
    with open(path) as file:
        document, _, log = file.read().partition("\nlog\n")
    faults = json.loads(document)["faults"]
    kinds, lines = kernel_reports(log)
    found = [(fault["kind"], fault.get("lock"), fault["here"]["call"]) for fault in faults]
    if case == "right":
        tap.check(not lines, "the kernel reports nothing", *lines)
        tap.check(not faults, "nor does kernlens", *found)
    else:
        tap.check(len(faults) == 1, "kernlens reports one fault", *found)
    if case in UNCHECKED:
        tap.check(not lines, f"the kernel does not check {UNCHECKED[case]}", *lines)
    elif case != "right":
        tap.check(lines, "the kernel reports it", *log.splitlines()[:40])
        tap.check(faults and faults[0]["kind"] in kinds, "the same", found, *lines)
    return tap.end()


sys.exit(main(*sys.argv[1:]))
