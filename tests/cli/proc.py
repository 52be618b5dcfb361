#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# proc.py: compares variables of stopped processes with /proc.
#
# Starts processes of many kinds, stops them, requests every variable of each from `kernlens proc`,
# reads /proc for each, requests them again, and compares one by one. Prints TAP. A value that
# differs is a failure unless it is in `about`, with its reason.
import ctypes
import json
import mmap
import os
import resource
import signal
import subprocess
import sys
import threading
import time

KERNLENS = sys.argv[1]
COUNT = 220
TICK = 1000000000 // os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
libc = ctypes.CDLL(None, use_errno=True)

# How far a value may differ from /proc's, and why.
about = {
    "start_time": TICK,  # /proc counts ticks
    "children_utime": TICK,  # the same
    "children_stime": TICK,
    "numa_node": 0,
    "blkio_delay": TICK,  # the same
}


def memory(i):
    size = (1 + i % 7) << 20
    area = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, size, PAGE):
        area[at] = 1
    shared = mmap.mmap(-1, 1 << 20)
    shared[0] = 1
    return area, shared


def files(i):
    return [open("/dev/null") for _ in range(i % 90)], os.pipe()


def threads(i):
    for _ in range(1 + i % 4):
        threading.Thread(target=signal.pause, daemon=True).start()
    short = threading.Thread(target=lambda: sum(range(200000)))
    short.start()
    short.join()


def priorities(i):
    kinds = [lambda: os.nice(i % 20), lambda: os.setpriority(os.PRIO_PROCESS, 0, -(i % 20)),
             lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1 + i % 90)),
             lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1 + i % 90)),
             lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)),
             lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)),
             lambda: os.sched_setaffinity(0, {i % os.cpu_count()})]
    kinds[i % len(kinds)]()
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write(str(i % 1000))
    libc.prctl(29, 1000 + i)  # PR_SET_TIMERSLACK


def users(i):
    os.setpgid(0, 0)
    os.setresgid(2000 + i, 3000 + i, 2000 + i)
    os.setresuid(1000 + i, 1100 + i, 1000 + i)


def sessions(i):
    os.setsid()
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS


def signals(i):
    signal.pthread_sigmask(signal.SIG_BLOCK, {1 + i % 8, 34 + i % 30})
    os.kill(os.getpid(), 34 + i % 30)


def children(i):
    for _ in range(3):
        child = os.fork()
        if not child:
            sum(range(300000))
            os._exit(i % 256)
        os.waitpid(child, 0)


def namespaces(i):
    flags = [0x04000000, 0x08000000, 0x40000000, 0x02000000, 0x10000000][i % 5]
    libc.unshare(flags)  # uts, ipc, net, cgroup, user


def reading(i):
    with open(sys.argv[0], "rb") as file:
        for _ in range(i):
            file.seek(0)
            file.read(1 + i)


def locked(i):
    area = mmap.mmap(-1, 1 << 20)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (8 << 20, 8 << 20))
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t((1 + i % 9) * PAGE))
    return area, ctypes.c_char.from_buffer(area)


KINDS = [memory, files, threads, priorities, users, sessions, signals, children, namespaces,
         reading, locked]


def start(i):
    ready, told = os.pipe()
    pid = os.fork()
    if pid:
        os.close(told)
        os.read(ready, 1)
        os.close(ready)
        return pid
    os.close(ready)
    try:
        kept = KINDS[i % len(KINDS)](i)
    except OSError as error:
        print("# %s %d: %s" % (KINDS[i % len(KINDS)].__name__, i, error), flush=True)
    libc.prctl(15, b"kind %d" % i)
    libc.prctl(4, 1)  # PR_SET_DUMPABLE: readable by its user even after its credentials change
    os.write(told, b"x")
    while True:
        signal.pause()
    return kept


def read(path):
    with open(path) as file:
        return file.read()


def pairs(path):
    found = {}
    for line in read(path).splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words:
            found[name.strip()] = int(words[0]) * 1024 if words[1:] == ["kB"] else rest.strip()
    return found


def namespace(pid, kind):
    return int(os.readlink("/proc/%d/ns/%s" % (pid, kind)).split("[")[1].rstrip("]"))


def bits(text):
    return int(text.replace(",", ""), 16)


def maps(pid):
    lines = read("/proc/%d/maps" % pid).splitlines()
    heap = [line for line in lines if line.endswith("[heap]")]
    return len([line for line in lines if not line.endswith("[vsyscall]")]), heap


def cgroup(pid):
    for line in read("/proc/%d/cgroup" % pid).splitlines():
        if line.startswith("0::") and os.path.exists("/sys/fs/cgroup/cgroup.procs"):
            return os.stat("/sys/fs/cgroup" + line[3:]).st_ino
    return None


def wait_status(pid):
    return {"R": 0, "S": 1, "D": 2, "T": 4, "t": 8, "Z": 32, "X": 16, "I": 128}[stat(pid)[2]]


def stat(pid):
    text = read("/proc/%d/stat" % pid)
    name = text[text.index("(") + 1:text.rindex(")")]
    return [text.split()[0], name] + text[text.rindex(")") + 2:].split()


def of_process(pid):
    """What /proc reports about a process, by the names of variables."""
    fields, status, io = stat(pid), pairs("/proc/%d/status" % pid), pairs("/proc/%d/io" % pid)
    sched = [int(n) for n in read("/proc/%d/schedstat" % pid).split()]
    tasks = os.listdir("/proc/%d/task" % pid)
    each = [pairs("/proc/%d/task/%s/status" % (pid, task)) for task in tasks]
    delays = [read("/proc/%d/task/%s/schedstat" % (pid, task)).split() for task in tasks]
    ids = {name: [int(n) for n in str(status[name]).split()] for name in ("Uid", "Gid")}
    parent = int(fields[3])
    mappings, heap = maps(pid)
    n = {
        "tid": pid, "pid": int(status["Tgid"]), "comm": status["Name"], "ppid": parent,
        "parent_comm": pairs("/proc/%d/status" % parent)["Name"],
        "pgid": int(fields[4]), "sid": int(fields[5]), "vtid": int(status["NSpid"].split()[-1]),
        "vpid": int(status["NStgid"].split()[-1]), "uid": ids["Uid"][0], "euid": ids["Uid"][1],
        "gid": ids["Gid"][0], "egid": ids["Gid"][1], "capabilities": bits(status["CapEff"]),
        "task_flags": int(fields[8]), "traced": int(int(status["TracerPid"]) != 0),
        "seccomp": int(status["Seccomp"]), "threads": int(status["Threads"]),
        "oom_score_adj": int(read("/proc/%d/oom_score_adj" % pid)),
        "state": wait_status(pid), "priority": int(fields[17]), "nice": int(fields[18]),
        "policy": int(fields[40]), "rt_priority": int(fields[39]), "cpu": int(fields[38]),
        "cpus_allowed": bin(bits(status["Cpus_allowed"])).count("1"),
        "cpus_mask": bits(status["Cpus_allowed"]), "start_time": int(fields[21]) * TICK,
        "run_delay": sum(int(d[1]) for d in delays), "runs": sum(int(d[2]) for d in delays),
        "timer_slack": int(read("/proc/%d/timerslack_ns" % pid)),
        "min_faults": int(fields[9]), "maj_faults": int(fields[11]),
        "children_min_faults": int(fields[10]), "children_maj_faults": int(fields[12]),
        "children_utime": int(fields[15]) * TICK, "children_stime": int(fields[16]) * TICK,
        "rss": status["VmRSS"], "rss_anon": status["RssAnon"], "rss_file": status["RssFile"],
        "rss_shmem": status["RssShmem"], "rss_peak": status["VmHWM"],
        "swap_entries": status["VmSwap"] // PAGE, "vm_size": status["VmSize"],
        "vm_peak": status["VmPeak"], "vm_data": status["VmData"], "vm_stack": status["VmStk"],
        "vm_exec": status["VmExe"] + status["VmLib"], "vm_locked": status["VmLck"],
        "vm_pinned": status["VmPin"], "page_tables": status["VmPTE"], "mappings": mappings,
        "io_read_bytes": int(io["read_bytes"]), "io_write_bytes": int(io["write_bytes"]),
        "io_read_chars": int(io["rchar"]), "io_write_chars": int(io["wchar"]),
        "io_reads": int(io["syscr"]), "io_writes": int(io["syscw"]),
        "open_files": len(os.listdir("/proc/%d/fd" % pid)),
        "ioprio": libc.syscall(252, 1, pid), "blkio_delay": int(fields[41]) * TICK,
        "signal": bits(status["SigPnd"]) | bits(status["ShdPnd"]),
        "signal_blocked": bits(status["SigBlk"]), "code_start": int(fields[25]),
        "code_end": int(fields[26]), "stack_start": int(fields[27]), "data_start": int(fields[44]),
        "data_end": int(fields[45]), "heap_start": int(fields[46]),
        "exit_code": 0,  # /proc shows the signal that stopped it there
        "no_new_privs": int(status["NoNewPrivs"]), "cgroup": cgroup(pid), "cgroup_id": cgroup(pid),
        "normal_priority": int(fields[17]) + 100, "static_priority": int(fields[18]) + 120,
    }
    if heap:
        n["heap_end"] = int(heap[0].split("-")[1].split()[0], 16)
    call = read("/proc/%d/syscall" % pid).split()
    if len(call) == 9:
        words = [int(word, 0) for word in call]
        n["syscall"] = words[0]
        n.update(zip(["user_di", "user_si", "user_dx", "user_r10", "user_r8", "user_r9", "user_sp",
                      "user_ip"], words[1:]))
    elif len(call) == 3:  # stopped between two system calls
        n["syscall"], n["user_sp"], n["user_ip"] = [int(word, 0) for word in call]
    if "user_sp" in n:
        n["user_stack_used"] = n["stack_start"] - n["user_sp"]
    for name in ("pid", "net", "user", "uts", "ipc", "cgroup"):
        n[name + "_ns"] = namespace(pid, name)
    if len(tasks) == 1:
        # /proc has no context switches of threads that have ended.
        n["nvcsw"] = int(status["voluntary_ctxt_switches"])
        n["nivcsw"] = int(status["nonvoluntary_ctxt_switches"])
        n["cpu_time"] = sched[0]
        lines = [line for line in read("/proc/%d/sched" % pid).splitlines() if "nr_migrations" in line]
        n["migrations"] = int(lines[0].split()[-1])
    # /proc scales these so that both add up to cpu_time.
    n["times"] = (int(fields[13]) + int(fields[14])) * TICK
    return n


def of_machine():
    info, loads = pairs("/proc/meminfo"), read("/proc/loadavg").split()
    vm = {line.split()[0]: int(line.split()[1]) for line in read("/proc/vmstat").splitlines()}
    return {
        "total_memory": info["MemTotal"], "free_swap": info["SwapFree"],
        "load_1": round(float(loads[0]) * 1000), "load_5": round(float(loads[1]) * 1000),
        "load_15": round(float(loads[2]) * 1000),
        # Kernels without VM_EVENT_COUNTERS have neither the lines nor the variables.
        "pswpin": vm.get("pswpin"), "pswpout": vm.get("pswpout"),
    }


def inspect(names, ids, *more):
    text = subprocess.run([KERNLENS, "proc", "--json", "-v", ",".join(names), *more,
                           *[str(i) for i in ids]], stdout=subprocess.PIPE, check=True).stdout
    return {row["id"]: row for row in json.loads(text)["processes"]}


def known():
    """Every variable that is available for a process here."""
    rows = json.loads(subprocess.run([KERNLENS, "list", "variables", "--json"],
                                     stdout=subprocess.PIPE, check=True).stdout)
    return [row["name"] for row in rows
            if row["available"] and (row["group"] in ("task", "system") or
                                     row["name"] in ("cpu", "numa_node")) and row["name"] != "task"]


number = failed = 0


def report(passed, text, remarks=()):
    global number, failed
    number += 1
    failed += not passed
    print("%s %d - %s" % ("ok" if passed else "not ok", number, text))
    for remark in [] if passed else list(remarks)[:8]:
        print("#  %s" % remark)


def compare(names, pids):
    first = inspect(names, pids)
    told = {pid: of_process(pid) for pid in pids}
    again = inspect(names, pids)
    different, compared = {}, {}
    for pid in pids:
        for name, expected in told[pid].items():
            if name not in names or expected is None:
                continue
            compared[name] = compared.get(name, 0) + 1
            got = first[pid][name]
            if name in again[pid] and got != again[pid][name]:
                different.setdefault(name, []).append("%d moves while it stands still" % pid)
            far = about.get(name, 0)
            if got != expected and (isinstance(got, str) or abs(got - expected) > far):
                different.setdefault(name, []).append("%d: %s, /proc %s" % (pid, got, expected))
        both = first[pid]["utime"] + first[pid]["stime"]
        if abs(told[pid]["times"] - first[pid]["cpu_time"]) > 2 * TICK:
            different.setdefault("cpu_time", []).append(
                "%d: %d, /proc's utime + stime %d" % (pid, first[pid]["cpu_time"], told[pid]["times"]))
        if both % (TICK // 1000):
            different.setdefault("utime", []).append("%d: %d is not in whole us" % (pid, both))
    for name in sorted(compared):
        report(name not in different, "%s of %d processes matches /proc" % (name, compared[name]),
               different.get(name, ()))
    return compared


def main():
    pids = [start(i) for i in range(COUNT)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        while stat(pid)[2] != "T":
            time.sleep(0.01)
    names = known()
    compared = compare(names, pids)
    report(min(compared.get(name, 0) for name in ("rss", "uid", "open_files", "user_sp")) == COUNT,
           "%d processes were compared" % COUNT)
    elsewhere = {"swapin_delay", "utime", "stime", "user_flags", "user_ax", "user_bx", "user_cx", "user_bp", "user_r11",
                 "user_r12", "user_r13", "user_r14", "user_r15", "numa_node", "asleep_time"}
    machine, row = of_machine(), inspect(names, [os.getpid()])[os.getpid()]
    while of_machine() != machine:  # load averages change every five seconds
        machine, row = of_machine(), inspect(names, [os.getpid()])[os.getpid()]
    for name, value in machine.items():
        if value is None:
            report(name not in names, "%s is unavailable, as in /proc" % name)
            continue
        report(abs(row[name] - value) <= (11 if name.startswith("load") else 0), "%s matches /proc" % name,
               ["%s, /proc %s" % (row[name], value)])
    rest = [name for name in names if name not in compared and name not in machine and
            name not in elsewhere and name not in about]
    moving = {"free_memory", "slab_reclaimable", "available_memory", "file_memory", "anon_memory", "dirty_pages",
              "writeback_pages", "pgpgin", "pgpgout", "pgfault", "pgmajfault"}
    report(not set(rest) - moving, "every variable has been compared", sorted(set(rest) - moving))

    every = inspect(["pid", "threads"], [], "-a")
    there = {int(name) for name in os.listdir("/proc") if name.isdigit()}
    report(set(pids) <= set(every) and len(there ^ set(every)) < 8, "-a has all processes",
           ["only here %s, only in /proc %s" % (set(every) - there, there - set(every))])
    one = pids[KINDS.index(threads)]
    rows = inspect(["tid", "pid"], [one], "-t")
    report({str(i) for i in rows} == set(os.listdir("/proc/%d/task" % one)), "-t has all threads")
    alone = [i for i in rows if i != one][0]
    mine = inspect(["nvcsw", "tid"], [alone])[alone]
    status = pairs("/proc/%d/task/%d/status" % (one, alone))
    report(mine["nvcsw"] == int(status["voluntary_ctxt_switches"]), "a thread's own values")
    rows = inspect(["user_stack_used"], [one], "-t")
    report([i for i in rows if rows[i]["user_stack_used"]] == [one], "the stack of the first thread only")
    os.kill(pids[0], signal.SIGKILL)
    os.waitpid(pids[0], 0)
    gone = subprocess.run([KERNLENS, "proc", "--json", str(pids[0]), str(pids[1])], stdout=subprocess.PIPE)
    rows = json.loads(gone.stdout)["processes"]
    report(gone.returncode == 1 and not rows[0]["there"] and rows[1]["there"], "an ended process is reported")
    os.kill(pids[1], signal.SIGKILL)
    time.sleep(0.2)
    dead = inspect(["state", "exit_code", "rss", "comm", "open_files", "net_ns"], [pids[1]])[pids[1]]
    report((dead["state"], dead["exit_code"], dead["rss"], dead["open_files"]) == (32, 9, 0, 0),
           "a zombie", [dead])
    for pid in pids[1:]:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    print("1..%d" % number)
    sys.exit(failed > 0)


main()
