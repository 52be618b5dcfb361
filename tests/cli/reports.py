#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# Other sources for what `kernlens report` says about the same run: the kernel's own accounting, and
# ftrace, whose lines are parsed here. Each command but `work`, `fault` and `network` prints TAP.
#
#   work                       runs processes that compute, sleep and yield, and prints what
#                              schedstat says about each when it has exited
#   sched REPORT FTRACE STAT   waits for a CPU
#   states REPORT STAT         time by state
#   latency REPORT PROFILE     the same
#   irq REPORT FTRACE BEFORE INNER INNER AFTER   interrupts; copies of /proc/interrupts, softirqs
#   fault                      a process with page faults
#   mm REPORT STAT MEMORY      page faults; reclaim of a cgroup
#   network                    connections
#   net REPORT BEFORE AFTER    these; copies of /proc/net/snmp and dev
#   io REPORT FTRACE BEFORE AFTER DEVICE   requests; diskstats before and after

import json
import mmap
import os
import re
import socket
import sys
import time

# The emulator may run the other processor between two readings of the clock, for a turn of its own.
PAUSE = 13e6
# So it may between the scheduler's reading and the record of each switch; and a worker may still run when
# its parent reads what schedstat says.
RUN_PAUSES = 5 * PAUSE

tests = 0


def check(passed, text, *values):
    global tests
    tests += 1
    print(f"{'ok' if passed else 'not ok'} {tests} - {text}")
    if not passed:
        print("#", *values)


def near(value, expected, share, least):
    return abs(value - expected) <= max(share * abs(expected), least)


def load(path):
    with open(path) as file:
        return json.load(file)


# --------------------------------------------------------------------- workload


def worker(number):
    """Computes and sleeps in turns, so that it is both preempted and woken."""
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        for _ in range(20000 * (1 + number % 3)):
            pass
        if number % 2:
            time.sleep(0.002)
        else:
            os.sched_yield()
    os._exit(0)


def work():
    children = []
    for number in range(6):
        children.append(os.fork())
        if not children[-1]:
            worker(number)
    for child in children:
        # It stays a zombie, and has its counts, until it is waited for.
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        with open(f"/proc/{child}/schedstat") as file:
            print(child, file.read(), end="")
        os.waitpid(child, 0)


# ---------------------------------------------------------------------- ftrace

LINE = re.compile(r"^\s*(?P<comm>.+)-(?P<tid>\d+)\s+\[(?P<cpu>\d+)\]\s+\S+\s+(?P<time>[\d.]+):\s+(?P<event>\w+):\s*(?P<rest>.*)$")


def ftrace(path):
    """Yields (time in ns, CPU, thread ID, event, rest of the line)."""
    with open(path, errors="replace") as file:
        for line in file:
            match = LINE.match(line)
            if match:
                ns = round(float(match["time"]) * 1e9)
                yield ns, int(match["cpu"]), int(match["tid"]), match["event"], match["rest"]


def pairs(rest):
    return dict(re.findall(r"(\w+)=(\S+)", rest))


def waits(path):
    """By thread ID, the times from wakeup, and from preemption, to running."""
    woken, preempted, running, found = {}, {}, set(), {}
    for ns, _, _, event, rest in ftrace(path):
        if event in ("sched_wakeup", "sched_wakeup_new"):
            tid = int(pairs(rest)["pid"])
            if tid not in running and tid not in preempted:
                woken.setdefault(tid, ns)
        elif event == "sched_switch":
            values = pairs(rest)
            prev, following = int(values["prev_pid"]), int(values["next_pid"])
            running.discard(prev)
            woken.pop(prev, None)
            if prev and values["prev_state"].startswith("R"):
                preempted[prev] = ns
            row = found.setdefault(following, ([], []))
            if following in woken:
                row[0].append(ns - woken.pop(following))
            elif following in preempted:
                row[1].append(ns - preempted.pop(following))
            preempted.pop(following, None)
            running.add(following)
    return found


def stats(path):
    with open(path) as file:
        return {int(tid): list(map(int, rest)) for tid, *rest in (line.split() for line in file)}


def check_median(value, others, text, row):
    """One tracer's own time, or a pause between the two, makes values near the middle change places."""
    middle, places = (len(others) - 1) // 2, 1 + len(others) // 20
    least, most = others[max(middle - places, 0)], others[min(middle + places, len(others) - 1)]
    check(0.9 * least - 3e4 <= value <= 1.1 * most + 3e4, text, row, least, others[middle], most)


def sched(report, trace, stat):
    document = load(report)
    rows = {row["tid"]: row for row in document["tasks"]}
    others, accounted = waits(trace), stats(stat)
    check(len(accounted) == 6 and all(tid in rows for tid in accounted), "all workers have a row", accounted)
    for tid, (run, delay, runs) in accounted.items():
        row = rows[tid]
        woken, preempted = others[tid]
        check(row["wakeups"] == len(woken), f"{tid}: as many wakeups as in ftrace", row, len(woken))
        check(row["preempted"] == len(preempted), f"{tid}: as many preemptions", row, len(preempted))
        # Each tracer's own time comes between the two.
        slack = 20000 * (row["wakeups"] + row["preempted"]) + PAUSE
        check(near(row["wakeup_ns"], sum(woken), 0.05, slack), f"{tid}: waits after wakeups", row, sum(woken))
        check(near(row["preempted_ns"], sum(preempted), 0.05, slack), f"{tid}: after preemptions", row, sum(preempted))
        check(near(row["max_ns"], max(woken), 0.05, PAUSE), f"{tid}: the longest", row, max(woken))
        check(row["runs"] == runs, f"{tid}: as many runs as in schedstat", row, runs)
        check(near(row["wait_ns"], delay, 0.05, slack), f"{tid}: waits as in schedstat", row, delay)
        check(near(row["run_ns"], run, 0.05, RUN_PAUSES), f"{tid}: runs as in schedstat", row, run)
        check_median(row["p50_ns"], sorted(woken), f"{tid}: median", row)
    total = sum(row["wakeups"] + row["preempted"] for row in document["tasks"])
    check(sum(b["woken"] + b["preempted"] for b in document["histogram"]) == total, "the histogram has all waits")
    longest = max(max(row["max_ns"] or 0, row["preempted_max_ns"] or 0) for row in document["tasks"])
    check(document["worst"][0]["wait_ns"] == longest, "the longest wait is the first", longest)


def states(report, stat):
    document = load(report)
    rows = {row["tid"]: row for row in document["tasks"]}
    length = document["end_ns"] - document["begin_ns"]
    for tid, (run, delay, runs) in stats(stat).items():
        row = rows[tid]
        check(near(row["running_ns"], run, 0.05, RUN_PAUSES), f"{tid}: runs as in schedstat", row, run)
        check(near(row["ready_ns"], delay, 0.05, PAUSE), f"{tid}: is ready as in schedstat", row, delay)
    names = ("running", "woken", "preempted", "sleeping", "blocked", "stopped")
    for row, slices in zip(document["tasks"], document["slices_ns"]):
        bad = [name for name in names if sum(slices[name]) != row[name + "_ns"]]
        check(not bad and slices["tid"] == row["tid"], f"{row['tid']}: slices add up to sums", row, bad)
        whole = sum(row[name + "_ns"] for name in names)
        check(whole <= length, f"{row['tid']}: in no more than the time of the trace", row, length)
    most = max(sum(slices[name][i] for name in names) for slices in document["slices_ns"]
               for i in range(document["slices"]))
    check(most <= document["slice_ns"], "a slice is not longer than it is", most, document["slice_ns"])


def latency(report, profile):
    """The profiler counts a wait from sched_waking on, which comes a little before sched_wakeup."""
    rows = {row["tid"]: row for row in load(report)["tasks"]}
    tasks = [task for task in load(profile)["tasks"] if task["tid"] in rows and task["comm"] == "python3"]
    tasks.sort(key=lambda task: task["tid"])
    check(len(tasks) == 7, "the parent and six workers", len(tasks))
    for task in tasks[1:]:
        row, tid = rows[task["tid"]], task["tid"]
        for state, ours in (("running", "running"), ("runnable", "woken"), ("preempted", "preempted"),
                            ("interruptible", "sleeping"), ("uninterruptible", "blocked")):
            ns = task["states"].get(state, {"ns": 0})["ns"]
            check(near(row[ours + "_ns"], ns, 0.02, 3 * PAUSE), f"{tid}: {state}", row, task["states"])


def diskstats(before, after, name):
    """What a device has done: reads, sectors read, writes, sectors written, discards, flushes ..."""
    counts = []
    for path in (before, after):
        with open(path) as file:
            counts.append(next(list(map(int, line.split()[3:])) for line in file if line.split()[2] == name))
    return [second - first for first, second in zip(*counts)]


def requests(path):
    """By device and operation, the times of requests from issue to completion."""
    issued, found = {}, {}
    for ns, _, _, event, rest in ftrace(path):
        words = rest.split()
        dev, op = words[0].replace(",", ":"), words[1]
        sector, _, sectors = rest.split(") ")[1].split()[:3]
        # A request without sectors has no place; the two events write that differently.
        sector = "0" if int(sector) == 2**64 - 1 else sector
        if event == "block_rq_issue":
            issued[dev, sector] = ns, op
        elif event == "block_rq_complete" and (dev, sector) in issued:
            begin, op = issued.pop((dev, sector))
            letter = "F" if op.startswith("F") and "W" not in op else next((c for c in op if c in "RWD"), "?")
            found.setdefault((dev, letter), []).append((ns - begin, int(sectors)))
    return found


def io(report, trace, before, after, loop):
    document = load(report)
    rows = {(row["device"], row["op"]): row for row in document["devices"]}
    devs = {row["device"]: row["dev"] for row in document["devices"]}
    others = requests(trace)
    for (device, op), row in rows.items():
        letter = {"read": "R", "write": "W", "discard": "D", "flush": "F"}.get(op)
        if not letter:
            continue
        times = others[devs[device], letter]
        what = f"{device}, {op}"
        check(row["requests"] == len(times), f"{what}: as many as in ftrace", row, len(times))
        check(row["bytes"] == 512 * sum(n for _, n in times), f"{what}: as large", row)
        total = sum(ns for ns, _ in times)
        check(near(row["total_ns"], total, 0.05, 20000 * len(times) + PAUSE), f"{what}: as long", row, total)
        check(near(row["max_ns"], max(times)[0], 0.05, PAUSE), f"{what}: the longest", row, max(times))
    # reads, merged, sectors, ms, writes, merged, sectors, ms, in flight, ms, ms, discards ... flushes
    counts = diskstats(before, after, loop)
    check(rows[loop, "read"]["requests"] == counts[0], "reads as in diskstats", rows[loop, "read"], counts)
    check(rows[loop, "read"]["bytes"] == 512 * counts[2], "size of reads", rows[loop, "read"], counts)
    check(rows[loop, "write"]["requests"] <= counts[4], "writes, without those that only flush", counts)
    # Writing zeroes is an operation of its own.
    written = sum(rows[loop, op]["bytes"] for op in ("write", "other") if (loop, op) in rows)
    check(written == 512 * counts[6], "size of writes", written, counts)
    check(rows[loop, "discard"]["requests"] == counts[11], "discards", rows[loop, "discard"], counts)
    check(rows[loop, "flush"]["requests"] == counts[15], "flushes", rows[loop, "flush"], counts)
    # There, time counts from the request's allocation on.
    check(rows[loop, "read"]["total_ns"] <= (counts[3] + 10) * 1e6, "diskstats' time has the queue's, too")
    counts = diskstats(before, after, "nullb0")
    read, write = rows["nullb0", "read"], rows["nullb0", "write"]
    check([read["requests"], write["requests"]] == [20, 40] == [counts[0], counts[4]],
          "a device that is slow on purpose", read, write, counts)
    check(read["mean_ns"] >= 2e6 and write["p50_ns"] >= 2e6, "takes as long as it was set to", read, write)
    check(near(write["total_ns"], 1e6 * counts[7], 0.1, 40e6), "as in diskstats", write, counts)
    for part in ("devices", "processes"):
        total = sum(row["requests"] for row in document[part])
        check(sum(b["count"] for b in document["latency"]) == total, f"the histogram has all of the {part}")
    dd = [row for row in document["processes"] if row["comm"] == "dd" and row["requests"] == 40]
    check(len(dd) == 1 and dd[0]["bytes"] == 40 * 4096, "the process that wrote there", document["processes"])
    check(document["unpaired"] == 0 and document["unfinished"] == 0, "all are paired")


def interrupts(path):
    """The sums over CPUs in a copy of /proc/interrupts and then /proc/softirqs, by first word."""
    found = {}
    with open(path) as file:
        for line in file:
            name, *words = line.split()
            if name.endswith(":"):
                numbers = []
                for word in words:
                    if not word.isdigit():
                        break
                    numbers.append(int(word))
                found[name[:-1]] = sum(numbers)
    return found


def handled(path, begin, end):
    """By kind and name or number, how often and how long it ran between two wall times."""
    wall = time.time_ns() - time.monotonic_ns()
    opened, found = {}, {}
    for ns, cpu, _, event, rest in ftrace(path):
        if not begin <= ns + wall <= end:
            continue
        kind = "irq" if event.startswith("irq_handler") else event.rsplit("_", 1)[0]
        if event.endswith("_entry"):
            opened[cpu, kind] = ns
        elif event.endswith("_exit") and (cpu, kind) in opened:
            name = re.search(r"irq=(\d+)|action=(\w+)|vector", rest)
            key = name[1] or name[2] or kind
            row = found.setdefault(key, [0, 0])
            row[0] += 1
            row[1] += ns - opened.pop((cpu, kind))
    return found


def irq(report, trace, before, inner, inner_end, after):
    document = load(report)
    ours, times = {}, {}
    words = {"local_timer": "LOC", "reschedule": "RES", "irq_work": "IWI", "call_function": "CAL",
             "call_function_single": "CAL"}
    for row in document["interrupts"] + document["softirqs"]:
        irq = row.get("irq")
        name = str(irq) if irq is not None else words.get(row["name"], row["name"])
        ours[name] = ours.get(name, 0) + row["count"]
        key = str(irq) if irq is not None else row["name"]
        times[key] = [row["count"] + times.get(key, [0])[0], row["total_ns"]]
    first, second, third, fourth = map(interrupts, (before, inner, inner_end, after))
    check({"LOC", "RES", "CAL", "TIMER", "SCHED", "RCU"} <= set(ours), "the usual interrupts", ours)
    check(any(name.isdigit() for name in ours), "one of a device", ours)
    for name, count in ours.items():
        if name in second:
            least, most = third[name] - second[name], fourth[name] - first[name]
            check(least <= count <= most, f"{name}: as many as in /proc", least, count, most)
    for name in third:
        if name not in ours and (name.isdigit() or name in second and name in ("TIMER", "NET_RX", "BLOCK")):
            check(third[name] == second[name], f"{name}: none", third[name] - second[name])
    others = handled(trace, document["begin_ns"], document["end_ns"])
    for name, (count, total) in times.items():
        if name not in others or count < 50:
            continue
        row = others[name]
        check(near(count, row[0], 0.02, 20), f"{name}: as many as in ftrace", count, row)
        check(near(total, row[1], 0.2, 30000 * count + PAUSE), f"{name}: as long", total, row)
    for part, names in (("interrupts", ("devices", "vectors")), ("softirqs", ("softirqs",))):
        count = sum(row["count"] for row in document[part])
        check(sum(cpu[name] for cpu in document["cpus"] for name in names) == count, f"{part} of the CPUs add up")
        check(sum(b[part] for b in document["histogram"]) == count, f"{part} of the histogram, too")


def fault():
    """Writes to pages; prints the process ID and what /proc/self/stat says about faults."""
    memory = mmap.mmap(-1, 4096 * 2000)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for page in range(2000):
        memory[page * 4096] = 1
    with open("/proc/self/stat") as file:
        words = file.read().rsplit(")", 1)[1].split()
    print(os.getpid(), words[7], words[9])


def mm(report, stat, memory):
    """@memory: memory.stat, then memory.events, of a cgroup that was full."""
    document = load(report)
    rows = {row["pid"]: row for row in document["processes"]}
    with open(stat) as file:
        pid, minor, major = map(int, file.read().split())
    row = rows[pid]
    # It ends after it has read them.
    check(minor <= row["minor"] <= minor + 100 and row["major"] >= major, "faults as in /proc/PID/stat", row, minor)
    check(near(row["faults"], row["minor"] + row["major"], 0.01, 20), "minor and major are all", row)
    check(row["writes"] >= 2000 and row["user"] >= 2000, "writes in user mode", row)
    counts = {}
    with open(memory) as file:
        for line in file:
            name, value = line.split()
            counts[name] = int(value)
    work = {work["work"]: work for work in document["works"]}["cgroup reclaim"]
    check(work["pages"] == counts["pgsteal_direct"] > 0, "pages as in memory.stat", work, counts)
    check(0 < work["count"] <= counts["max"], "no more reclaims than the limit was hit", work, counts)
    check(document["killed"] == counts["oom_kill"] == len(document["victims"]) == 1, "one was killed", counts)
    check(document["victims"][0]["comm"] == "python3", "by name", document["victims"])
    for name, part in (("count", "reclaims"), ("pages", "reclaimed"), ("total_ns", "reclaim_ns")):
        check(sum(row[part] for row in document["processes"]) == work[name], f"{part} of processes add up")
    check(sum(b["count"] for b in document["histogram"]) == work["count"], "so does the histogram")
    check(document["worst"][0]["ns"] == work["max_ns"], "the longest is the first")


def network():
    """Five connections of known sizes, and two that are refused."""
    listener = socket.create_server(("127.0.0.1", 5555))
    if not os.fork():
        for _ in range(5):
            peer = listener.accept()[0]
            while peer.recv(65536):
                peer.send(b"x" * 100)
            peer.close()
        os._exit(0)
    for number in range(5):
        peer = socket.create_connection(("127.0.0.1", 5555))
        for _ in range(number + 1):
            peer.send(b"y" * 1000)
            peer.recv(1000)
        peer.close()
    os.wait()
    listener.close()
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            socket.socket(family, socket.SOCK_STREAM).connect((address, 5556))
        except OSError:
            pass
    # Where packets are lost, the kernel goes on to close them. States 6 and 7 are closed.
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with open("/proc/net/tcp") as file:
            lines = [line.split() for line in file.readlines()[1:]]
        if all(words[3] in ("06", "07") for words in lines if ":15B3" in words[1] + words[2]):
            break
        time.sleep(0.1)


def snmp(path):
    """The counts of TCP in a copy of /proc/net/snmp and then /proc/net/dev, and those of lo."""
    with open(path) as file:
        lines = file.read().splitlines()
    heads, values = [line.split()[1:] for line in lines if line.startswith("Tcp:")]
    found = dict(zip(heads, map(int, values)))
    words = next(line for line in lines if line.strip().startswith("lo:")).split()[1:]
    found.update(zip(("rx_bytes", "rx", "tx_bytes", "tx"), map(int, words[0:2] + words[8:10])))
    return found


def net(report, before, after):
    document = load(report)
    first, second = snmp(before), snmp(after)
    counts = {name: second[name] - first[name] for name in first}
    connections = document["connections"]
    opened = [row for row in connections if row["direction"] == "->"]
    accepted = [row for row in connections if row["direction"] == "<-"]
    check(len(opened) == counts["ActiveOpens"] == 7, "connections that were opened", counts)
    check(len(accepted) == counts["PassiveOpens"] == 5, "and accepted", counts)
    check(document["retransmits"] + document["synack_retransmits"] == counts["RetransSegs"], "retransmits",
          document["retransmits"], counts)
    # One that is lost is sent again.
    check(sum(row["resets"] for row in opened) == 2, "of the connections that are refused", opened)
    if os.uname().release.startswith("6.1."):
        # It has no events of lengths, and one of resets only where there is a socket.
        check(document["resets_sent"] <= counts["OutRsts"], "no more resets", document["resets_sent"], counts)
        check(all(row["sent"] is None and row["received"] is None for row in connections), "unknown sizes", connections)
    else:
        check(document["resets_sent"] == counts["OutRsts"] >= 2, "resets", document["resets_sent"], counts)
        ours = sorted(row["sent"] for row in opened)
        check(ours == [0, 0, 1000, 2000, 3000, 4000, 5000], "what was sent", ours)
        ours = sorted(row["received"] for row in opened)
        check(ours == [0, 0, 100, 200, 300, 400, 500], "and received", ours)
        ours = sorted(row["received"] for row in accepted)
        check(ours == [1000, 2000, 3000, 4000, 5000], "by the other end", accepted)
    check(all(row["comm"] == "python3" for row in connections), "all have a process", connections)
    check(sum(row["remote"] == "[::1]:5556" for row in opened) == 1, "an address of IPv6", opened)
    lo = {row["device"]: row for row in document["devices"]}["lo"]
    check(lo["sent"] == counts["tx"] and lo["received"] == counts["rx"], "packets as in /proc/net/dev", lo, counts)
    check(lo["received_bytes"] == counts["rx_bytes"], "as large", lo, counts)
    check(lo["sent_bytes"] == counts["tx_bytes"] + 14 * lo["sent"], "with the header of the link", lo, counts)
    check(lo["queued"] == lo["sent"] and lo["backlogged"] == lo["received"], "with times in queues", lo)
    # It delays each packet.
    check(lo["queue_p50_ns"] >= 3e6, "as long as the queue was set to", lo)
    established = [row for row in opened if row["connect_ns"]]
    check(len(established) == 5 and all(row["connect_ns"] >= 6e6 for row in established),
          "a connection takes a packet each way", established)
    check(all(row["lifetime_ns"] > row["connect_ns"] for row in established), "and lasts longer", established)
    check(sum(b["count"] for b in document["connect"]) == 5, "the histogram has these")
    drops = sum(row["count"] for row in document["drops"])
    check(drops == document["packets_dropped"], "drops by place add up", drops)


commands = {"network": network, "net": net, "fault": fault, "mm": mm, "irq": irq, "io": io, "latency": latency, "work": work, "sched": sched, "states": states}
commands[sys.argv[1]](*sys.argv[2:])
if tests:
    print(f"1..{tests}")
