#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# trace-compass.py TRACE...: has a trace the names that Trace Compass' kernel analyses look for? They
# take a trace by its environment, and each view needs its own events and fields; all of them must
# be in the metadata, whether or not they were recorded. TAP lines, status 1 if something is missing.
import re
import sys

ENVIRONMENT = {"domain": '"kernel"', "tracer_name": '"lttng-modules"', "tracer_major": "2"}
MINOR_AT_LEAST = 8

NEEDED = {
    "control flow, CPU usage": """
        sched_switch: prev_comm prev_tid prev_prio prev_state next_comm next_tid next_prio
        sched_waking: comm tid prio target_cpu
        sched_wakeup: comm tid prio target_cpu
        sched_wakeup_new: comm tid prio target_cpu
        sched_process_fork: parent_tid parent_ns_inum child_comm child_tid child_pid child_ns_inum
        sched_process_exec: filename
        sched_process_exit: tid
        sched_process_free: tid
        sched_migrate_task: tid orig_cpu dest_cpu
        sched_pi_setprio: tid newprio""",
    "state at the start": """
        lttng_statedump_process_state: tid pid ppid name status type mode submode vtid ns_level ns_inum
        lttng_statedump_file_descriptor: pid fd filename
        lttng_statedump_start:
        lttng_statedump_end:""",
    "interrupts": """
        irq_handler_entry: irq name
        irq_handler_exit: irq ret
        irq_softirq_raise: vec
        irq_softirq_entry: vec
        irq_softirq_exit: vec
        x86_irq_vectors_local_timer_entry: vector
        x86_irq_vectors_local_timer_exit: vector
        x86_irq_vectors_reschedule_entry: vector
        x86_irq_vectors_reschedule_exit: vector""",
    "timers": """
        timer_hrtimer_start: hrtimer function expires softexpires
        timer_hrtimer_cancel: hrtimer
        timer_hrtimer_expire_entry: hrtimer now function
        timer_hrtimer_expire_exit: hrtimer""",
    "system calls": """
        syscall_entry_openat: filename
        syscall_exit_openat: ret
        syscall_entry_read: fd count
        syscall_exit_read: ret
        syscall_entry_write: fd count
        syscall_exit_write: ret
        syscall_entry_close: fd
        syscall_exit_close: ret""",
    "kernel memory": """
        kmem_mm_page_alloc: order
        kmem_mm_page_free: order""",
    "disks": """
        block_rq_insert: dev sector nr_sector rwbs
        block_rq_issue: dev sector nr_sector rwbs
        block_rq_complete: dev sector nr_sector rwbs
        block_rq_merge: dev sector nr_sector rwbs""",
    "packets": """
        net_dev_queue: skbaddr len name
        netif_receive_skb: skbaddr len name""",
    "processors": """
        power_cpu_idle: state cpu_id
        power_cpu_frequency: state cpu_id""",
}


def read_events(metadata):
    """event -> names of its fields."""
    found = {}
    for block in re.findall(r"^event \{\n(.*?)^\};", metadata, re.S | re.M):
        name = re.search(r'name = "?([^";]+)"?;', block).group(1)
        found[name] = set(re.findall(r"\b_?(\w+)(?:\[\w+\])*;", block))
    return found


def check(path):
    with open(f"{path}/metadata") as file:
        metadata = file.read()
    environment = dict(re.findall(r"^\s*(\w+) = (.+);$", re.search(
        r"^env \{(.*?)^\};", metadata, re.S | re.M).group(1), re.M))
    wrong = [f"{key} is {environment.get(key)}" for key, value in ENVIRONMENT.items()
             if environment.get(key) != value]
    if int(environment.get("tracer_minor", "0")) < MINOR_AT_LEAST:
        wrong.append("tracer_minor is too small")
    yield not wrong, "is taken for a kernel trace", wrong
    context = re.search(r"packet\.context := struct \{(.*?)\}", metadata, re.S).group(1)
    yield "cpu_id" in context, "a packet tells its CPU", ["no cpu_id in packet.context"]
    events = read_events(metadata)
    for view, lines in NEEDED.items():
        missing = []
        for line in lines.strip().splitlines():
            name, _, names = line.strip().partition(":")
            if name not in events:
                missing.append(name)
            else:
                missing += [f"{name}.{field}" for field in names.split()
                            if field not in events[name]]
        yield not missing, view, missing


def main():
    number = failed = 0
    for path in sys.argv[1:]:
        for ok, text, wrong in check(path):
            number += 1
            failed += not ok
            print(f"{'ok' if ok else 'not ok'} {number} - trace compass: {text}"
                  + ("" if ok else ": " + ", ".join(wrong)))
    print(f"1..{number}")
    return 1 if failed or not number else 0


if __name__ == "__main__":
    sys.exit(main())
