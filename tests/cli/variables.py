#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# Compares variables with other sources: what the running task reads about itself in /proc
# and by system calls before and after a getppid, and what kernlens recorded there.
#
#   variables.py probe FILE     reads the sources, calls getppid, reads them again
#   variables.py check FILE     compares with events as JSON on stdin; prints TAP
#   variables.py sleep FILE     starts processes that sleep, and notes their /proc/PID/wchan
#   variables.py asleep FILE    compares that with sched_switch events as JSON on stdin
#   variables.py switches       compares the last switch of each CPU with sched_switch on stdin
#   variables.py load FILE      calls getppid on a CPU that runs nothing else, and beside others,
#                               and notes how many tasks /proc/loadavg says are runnable
#   variables.py loaded FILE    compares that with these calls as JSON on stdin
#
# A changing value must lie between the two readings; an intended difference is a row
# of `about` below, with its reason.
import ctypes
import json
import os
import resource
import select
import signal
import struct
import sys
import threading
import time

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
        "ioprio": ctypes.CDLL(None).syscall(252, 1, 0), "blkio_delay": int(fields[41]) * TICK,
        "syscall": 110, "in_irq": 0, "irqs_off": 0, "preempt_count": 0, "next_tid": int(fields[0]),
        "link_count": -1, "link_depth": -1, "asleep_time": 0,
    }
    return numbers, {"comm": fields[1], "parent_comm": parent[1], "next_comm": fields[1],
                     "wchan": "0x0"}


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
            low["user_stack_used"] = 100
            high["user_stack_used"] = int(stat("/proc/self/stat")[27]) - start
    low["stack_used"], high["stack_used"] = 200, 16384
    for line in open("/proc/thread-self/sched"):
        words = line.split()
        if words and words[0] == "se.nr_migrations":
            low["migrations"] = high["migrations"] = int(words[2])
    mount = os.environ.get("KL_CGROUP2")
    for line in open("/proc/self/cgroup"):
        if mount and line.startswith("0::"):
            low["cgroup"] = high["cgroup"] = low["cgroup_id"] = high["cgroup_id"] = os.stat(mount + line[3:].strip()).st_ino
    return low, high


def of_machine():
    memory, events, times = pairs("/proc/meminfo"), pairs("/proc/vmstat"), pairs("/proc/stat")
    load = open("/proc/loadavg").read().split()
    # A kernel without CONFIG_VM_EVENT_COUNTERS has none of these.
    numbers = {name: int(events[name][0]) for name in
               ("pgpgin", "pgpgout", "pswpin", "pswpout", "pgfault", "pgmajfault") if name in events}
    numbers.update({
        "total_memory": number(memory["MemTotal"]), "free_memory": number(memory["MemFree"]),
        "available_memory": number(memory["MemAvailable"]),
        "file_memory": sum(number(memory[n]) for n in ("Cached", "Buffers", "SwapCached")),
        "anon_memory": number(memory["AnonPages"]),
        "slab_reclaimable": number(memory["SReclaimable"]), "free_swap": number(memory["SwapFree"]),
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


def report(failures, text):
    for failure in failures[:8]:
        print("# " + failure)
    print("# " + text)
    return 1 if failures else 0


def events():
    return [json.loads(line) for line in sys.stdin]


def read_pipe():
    os.read(os.pipe()[0], 1)


def wait_for_lock():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def wait_for_child():
    if not os.fork():
        signal.pause()
    os.wait()


# Ways to sleep, each in another function of the kernel.
SLEEPS = [lambda: time.sleep(100), read_pipe, signal.pause, wait_for_lock, wait_for_child,
          lambda: select.select([], [], [], 100), lambda: select.epoll().poll(100),
          lambda: os.read(os.eventfd(0), 8)]


def sleep(path):
    pids, channels = [], {}
    for how in SLEEPS:
        pid = os.fork()
        if not pid:
            os.setpgid(0, 0)
            how()
        pids.append(pid)
    for pid in pids:
        # 6.12 leaves a task that sleeps in its run queue for a while, and then tells no place.
        for _ in range(500):
            time.sleep(0.02)
            channel = open("/proc/%d/wchan" % pid).read()
            if stat("/proc/%d/stat" % pid)[2] == "S" and channel != "0":
                channels[pid] = channel
                break
    json.dump(channels, open(path, "w"))
    for pid in pids:
        os.killpg(pid, signal.SIGKILL)


def asleep(path):
    channels, found, failures, slept, placed = json.load(open(path)), {}, [], 0, 0
    for one in events():
        place = one.get("variable_meanings", {}).get("wchan", "")
        place = place.split("+")[0].split(":")[-1]
        if one["event"] != "sched_switch":
            if one["variables"]["wchan"] != "0x0":
                failures.append("%s: a place" % one["event"])
            continue
        state = one["meanings"]["prev_state"]
        if state == "R" and one["variables"]["wchan"] != "0x0":
            failures.append("%s goes on and sleeps in %s" % (one["fields"]["prev_comm"], place))
        if state in ("S", "D", "I"):
            slept += 1
            placed += place != ""
        if state == "S":
            found[str(one["fields"]["prev_tid"])] = place
    for pid, channel in channels.items():
        if found.get(pid) != channel:
            failures.append("%s sleeps in %s, /proc says %s" % (pid, found.get(pid), channel))
    if len(set(channels.values())) < 6:
        failures.append("too few places: %s" % channels)
    # A signal may arrive between the state's change and the switch.
    if placed < slept * 0.98 or slept < 20:
        failures.append("%d of %d that went to sleep have a place" % (placed, slept))
    return report(failures, "%d places compared: %s; %d sleeps" % (
        len(channels), " ".join(channels.values()), slept))


def switches():
    last, failures, compared, switched = {}, [], 0, 0
    names = ("prev_tid", "prev_comm", "next_tid", "next_comm")
    for one in events():
        is_switch = one["event"] == "sched_switch"
        if is_switch:
            switched += 1
            last[one["cpu"]] = [one["fields"][name] for name in names]
        if one["cpu"] not in last:
            continue
        compared += not is_switch
        got, wanted = [one["variables"][name] for name in names], last[one["cpu"]]
        if got != wanted:
            failures.append("%s on CPU %d: %s, not %s" % (one["event"], one["cpu"], got, wanted))
        if not is_switch and got[2] != one["tid"]:
            failures.append("%s of %d: switched to %d" % (one["event"], one["tid"], got[2]))
    if compared < 200 or switched < 20:
        failures.append("only %d events after %d switches" % (compared, switched))
    return report(failures, "%d events after %d switches compared" % (compared, switched))


SPINNERS = 3


def runnable():
    return int(open("/proc/loadavg").read().split()[3].split("/")[0])


def load(path):
    os.sched_setaffinity(0, {0})
    getppid, seen, pids = ctypes.CDLL(None).getppid, [], []
    for spinners in (0, SPINNERS):
        for _ in range(spinners):
            pid = os.fork()
            while not pid:
                pass
            pids.append(pid)
        time.sleep(0.3)
        most = 0
        for _ in range(20):
            before = runnable()
            getppid()
            most = max(most, before, runnable())
        seen.append(most)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    json.dump(seen, open(path, "w"))


def loaded(path):
    seen, failures = json.load(open(path)), []
    counts = [one["variables"]["nr_running"] for one in events()
              if one["event"] == "syscall_entry_getppid" and one["cpu"] == 0]
    # The program's own calls are the last; those before are the interpreter's.
    alone, beside = sorted(counts[-40:-20]), sorted(counts[-20:])
    if len(counts) < 40:
        return report(["%d calls recorded" % len(counts)], "too few")
    if beside[10] - alone[10] != SPINNERS or alone[0] < 1:
        failures.append("alone %s, beside %d others %s" % (alone, SPINNERS, beside))
    # Another task may run for a moment when nobody reads /proc/loadavg.
    if alone[10] > seen[0] or beside[10] > seen[1]:
        failures.append("more than in /proc/loadavg: %s and %s, %s" % (alone, beside, seen))
    return report(failures, "alone %d, beside %d others %d; at most %s on the machine" % (
        alone[10], SPINNERS, beside[10], seen))


if __name__ == "__main__":
    mode = sys.argv[1]
    sys.exit({"probe": probe, "check": check, "sleep": sleep, "asleep": asleep,
              "switches": switches, "load": load, "loaded": loaded}[mode](*sys.argv[2:]))
