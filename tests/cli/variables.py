#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# Compares variables with other sources: what the running task reads about itself in /proc
# and by system calls before and after a getppid, and what kernlens recorded there.
#
#   variables.py probe FILE     reads the sources, calls getppid, reads them again
#   variables.py check FILE     compares with events as JSON on stdin; prints TAP
#
# A changing value must lie between the two readings; an intended difference is a row
# of `about` below, with its reason.
import ctypes
import json
import os
import resource
import signal
import struct
import sys

TICK = 1000000000 // os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")

# How far outside the two readings a value may be, and why.
about = {
    "rss": 128 * PAGE,  # pages counted but not yet published: by a thread on 6.1, by a CPU on 6.12
    "rss_anon": 64 * PAGE,
    "rss_file": 64 * PAGE,
    "rss_shmem": 64 * PAGE,
    "rss_peak": 128 * PAGE,
    "cpu_time": 2 * TICK,  # as of the last tick
    "cpu_user_time": 2 * TICK,
    "cpu_system_time": 2 * TICK,
    "load_1": 11,  # /proc rounds to hundredths
    "load_5": 11,
    "load_15": 11,
    "free_memory": 8 << 20,  # other tasks
    "available_memory": 8 << 20,
    "file_memory": 4 << 20,
    "anon_memory": 4 << 20,
    "dirty_pages": 512,
    "writeback_pages": 512,
    "pgfault": 0,
    "pgpgin": 0,
}


def pairs(path):
    found = {}
    with open(path) as file:
        for line in file:
            words = line.split()
            if words:
                found[words[0].rstrip(":")] = words[1:]
    return found


def number(words):
    """The number in a line of status or meminfo, kB converted to bytes."""
    return int(words[0]) * (1024 if words[1:] == ["kB"] else 1)


def stat(path):
    with open(path) as file:
        text = file.read()
    name = text[text.index("(") + 1:text.rindex(")")]
    return [text.split()[0], name] + text[text.rindex(")") + 2:].split()


def of_task():
    me = "/proc/thread-self/"
    fields, status, io = stat(me + "stat"), pairs(me + "status"), pairs(me + "io")
    sched = open(me + "schedstat").read().split()
    parent = stat("/proc/%s/stat" % fields[3])
    memory = pairs("/proc/self/status")
    numbers = {
        "tid": int(fields[0]), "pid": os.getpid(), "ppid": int(fields[3]), "pgid": int(fields[4]),
        "sid": int(fields[5]), "task_flags": int(fields[8]), "min_faults": int(fields[9]),
        "maj_faults": int(fields[11]), "utime": int(fields[13]) * TICK,
        "stime": int(fields[14]) * TICK, "priority": int(fields[17]), "nice": os.getpriority(0, 0),
        "threads": int(fields[19]), "start_time": int(fields[21]) * TICK,
        "vm_size": int(fields[22]), "rss": int(fields[23]) * PAGE, "cpu": int(fields[38]),
        "rt_priority": os.sched_getparam(0).sched_priority, "policy": os.sched_getscheduler(0),
        "vtid": int(status["NSpid"][-1]), "vpid": int(pairs("/proc/self/status")["NSpid"][-1]),
        "uid": os.getuid(), "euid": os.geteuid(), "gid": os.getgid(), "egid": os.getegid(),
        "capabilities": int(status["CapEff"][0], 16), "seccomp": int(status["Seccomp"][0]),
        "traced": int(status["TracerPid"][0]), "signal": int(status["SigPnd"][0], 16) |
        int(status["ShdPnd"][0], 16), "signal_blocked": int(status["SigBlk"][0], 16),
        "nvcsw": int(status["voluntary_ctxt_switches"][0]),
        "nivcsw": int(status["nonvoluntary_ctxt_switches"][0]),
        "rss_anon": number(memory["RssAnon"]), "rss_file": number(memory["RssFile"]),
        "rss_shmem": number(memory["RssShmem"]), "rss_peak": number(memory["VmHWM"]),
        "swap_entries": number(memory["VmSwap"]) // PAGE, "vm_data": number(memory["VmData"]),
        "vm_stack": number(memory["VmStk"]), "vm_locked": number(memory["VmLck"]),
        "vm_exec": (number(memory["VmExe"]) + number(memory["VmLib"])),
        "page_tables": number(memory["VmPTE"]),
        "mappings": len([m for m in open("/proc/self/maps") if "[vsyscall]" not in m]),
        "open_files": len(os.listdir("/proc/self/fd")) - 1,
        "io_read_bytes": number(io["read_bytes"]), "io_write_bytes": number(io["write_bytes"]),
        "io_read_chars": number(io["rchar"]), "io_write_chars": number(io["wchar"]),
        "io_reads": number(io["syscr"]), "io_writes": number(io["syscw"]),
        "cpu_time": int(sched[0]), "run_delay": int(sched[1]), "runs": int(sched[2]),
        "pid_ns": os.stat("/proc/self/ns/pid").st_ino, "net_ns": os.stat("/proc/self/ns/net").st_ino,
        "oom_score_adj": int(open("/proc/self/oom_score_adj").read()),
        "cpus_allowed": len(os.sched_getaffinity(0)),
        "timer_slack": ctypes.CDLL(None).prctl(30, 0, 0, 0, 0),
        "syscall": 110, "in_irq": 0, "irqs_off": 0, "preempt_count": 0,
    }
    return numbers, {"comm": fields[1], "parent_comm": parent[1]}


def of_place():
    """Ranges: the C library's code and the stack; and values that not every kernel shows."""
    low, high = {}, {}
    for line in open("/proc/self/maps"):
        words = line.split()
        start, end = (int(word, 16) for word in words[0].split("-"))
        if "x" in words[1] and "libc.so" in line:
            low["user_ip"], high["user_ip"] = start, end
        if "[stack]" in line:
            low["user_sp"], high["user_sp"] = start, end
    low["stack_used"], high["stack_used"] = 200, 16384
    for line in open("/proc/thread-self/sched"):
        words = line.split()
        if words and words[0] == "se.nr_migrations":
            low["migrations"] = high["migrations"] = int(words[2])
    mount = os.environ.get("KL_CGROUP2")
    for line in open("/proc/self/cgroup"):
        if mount and line.startswith("0::"):
            low["cgroup"] = high["cgroup"] = os.stat(mount + line[3:].strip()).st_ino
    return low, high


def of_machine():
    memory, events, times = pairs("/proc/meminfo"), pairs("/proc/vmstat"), pairs("/proc/stat")
    load = open("/proc/loadavg").read().split()
    numbers = {name: int(events[name][0]) for name in
               ("pgpgin", "pgpgout", "pswpin", "pswpout", "pgfault", "pgmajfault")}
    numbers.update({
        "total_memory": number(memory["MemTotal"]), "free_memory": number(memory["MemFree"]),
        "available_memory": number(memory["MemAvailable"]),
        "file_memory": sum(number(memory[n]) for n in ("Cached", "Buffers", "SwapCached")),
        "anon_memory": number(memory["AnonPages"]), "free_swap": number(memory["SwapFree"]),
        "dirty_pages": int(events["nr_dirty"][0]), "writeback_pages": int(events["nr_writeback"][0]),
        "load_1": round(float(load[0]) * 1000), "load_5": round(float(load[1]) * 1000),
        "load_15": round(float(load[2]) * 1000),
    })
    # With one CPU in the set, its line shows what that CPU has counted.
    cpu = sorted(os.sched_getaffinity(0))[0]
    mine = [int(word) * TICK for word in times["cpu%d" % cpu]]
    # Idle time is left out: the kernel counts it at ticks, /proc from the CPU's sleeps.
    numbers.update({"cpu_user_time": mine[0], "cpu_system_time": mine[2]})
    timer = pairs("/proc/interrupts")["LOC"]
    numbers["timer_interrupts"] = int(timer[cpu])
    total = 0
    for name, words in pairs("/proc/softirqs").items():
        if name != "CPU0":
            total += int(words[cpu])
    numbers["softirqs"] = total
    total = 0
    for name, words in pairs("/proc/interrupts").items():
        if name.isdigit():
            total += int(words[cpu])
    numbers["interrupts"] = total
    return numbers


def read_all():
    numbers, texts = of_task()
    numbers.update(of_machine())
    return numbers, texts


def probe(path):
    # Pinned to one CPU, so that a CPU's counters can be read; with unusual values.
    os.sched_setaffinity(0, {0})
    os.setpriority(os.PRIO_PROCESS, 0, 3)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    os.kill(os.getpid(), signal.SIGUSR1)
    open("/proc/self/oom_score_adj", "w").write("7")
    libc = ctypes.CDLL(None)
    libc.prctl(29, 12345, 0, 0, 0)
    read_all()
    before = read_all()
    libc.syscall(ctypes.c_long(110), ctypes.c_long(0x1111), ctypes.c_long(0x2222),
                 ctypes.c_long(0x3333), ctypes.c_long(0x4444), ctypes.c_long(0x5555),
                 ctypes.c_long(0x6666))
    after = read_all()
    low, high = of_place()
    before[0].update(low)
    after[0].update(high)
    json.dump({"before": before, "after": after}, open(path, "w"))


def check(path):
    with open(path) as file:
        sources = json.load(file)
    before, texts = sources["before"]
    after, _ = sources["after"]
    event = None
    for line in sys.stdin:
        one = json.loads(line)
        if one.get("event") == "syscall_entry_getppid" and \
                one["variables"].get("user_di", 0x1111) == 0x1111:
            event = one
    if event is None:
        print("not ok - the getppid was recorded")
        return 1
    values, failures, tested = event["variables"], 0, 0
    before.update({"user_di": 0x1111, "user_si": 0x2222, "user_dx": 0x3333, "user_r10": 0x4444,
                   "user_r8": 0x5555, "user_r9": 0x6666, "state": 0, "numa_node": 0})
    if "utime" in values and "stime" in values:
        # Ticks that the machine missed are missing in both; /proc scales the times to add up to
        # cpu_time.
        share = values["utime"] / max(1, values["utime"] + values["stime"])
        other = after["utime"] / max(1, after["utime"] + after["stime"])
        values["utime"] = values["stime"] = round(share * 100)
        before["utime"] = before["stime"] = round(other * 100) - 5
        after["utime"] = after["stime"] = round(other * 100) + 5
    for name, value in values.items():
        if name in texts:
            good, wanted = value == texts[name], texts[name]
        elif name in before:
            low, high = before[name], after.get(name, before[name])
            low, high = min(low, high), max(low, high)
            slack = about.get(name, 0)
            if name == "start_time":
                slack = TICK
            good = low - slack <= value <= high + slack
            wanted = "%s..%s" % (low, high)
        else:
            print("# %s = %s: no other source" % (name, value))
            continue
        tested += 1
        if not good:
            failures += 1
            print("# %s: recorded %s, other sources say %s" % (name, value, wanted))
    print("# %d variables compared, %d differ" % (tested, failures))
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1] == "probe":
        probe(sys.argv[2])
    else:
        sys.exit(check(sys.argv[2]))
