#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# serve.py KERNLENS: compares the figures of kernlens serve with /proc, and follows processes that
# change, end and are replaced. Its own parsers are those of prometheus_client. Prints TAP.
# serve.py --webhook PORT FILE: appends the bodies of requests to FILE.
import collections
import http.server
import os
import signal
import subprocess
import sys
import time
import urllib.request

from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics

PAGE = os.sysconf("SC_PAGE_SIZE")
# Before 6.2, threads add their pages to their process's counter now and then: statm has the counter.
# Since then, statm has an estimate.
COUNTED = tuple(map(int, os.uname().release.split(".")[:2])) < (6, 2)
URL = "http://127.0.0.1:9797/metrics"
NAME = "klworker"
tests = failures = 0


def check(ok, text, *about):
    global tests, failures
    tests += 1
    failures += not ok
    print("ok" if ok else "not ok", tests, "-", text)
    if not ok and about:
        print("#", *about)
    sys.stdout.flush()


def fetch(accept=None):
    request = urllib.request.Request(URL, headers={"Accept": accept} if accept else {})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode(), answer.headers["Content-Type"]


def scrape():
    """All samples, by name and then by labels."""
    text, _ = fetch("application/openmetrics-text; version=1.0.0")
    values = collections.defaultdict(dict)
    for family in openmetrics.text_string_to_metric_families(text):
        for sample in family.samples:
            key = tuple(sorted(sample.labels.items()))
            assert key not in values[sample.name], (sample.name, key)
            values[sample.name][key] = sample.value
    return values


def fresh():
    """A scrape that does not share its figures with an earlier one."""
    time.sleep(1.2)
    return scrape()


def only(values, name):
    return next(iter(values[name].values()))


def by_pid(values, name):
    return {dict(key)["pid"]: value for key, value in values[name].items()}


# ----------------------------------------------------------------------- workers

def work(i):
    """A process of known size that has worked and then stops; never returns."""
    with open("/proc/self/comm", "w") as file:
        file.write(NAME + str(i))
    memory = bytearray((1 + i) << 20)
    for at in range(0, len(memory), PAGE):
        memory[at] = 1
    end = time.process_time() + 0.01 * i
    while time.process_time() < end:
        pass
    while True:
        os.kill(os.getpid(), signal.SIGSTOP)
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass


def state_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def until_stopped(pids):
    for pid in pids:
        while state_of(pid) != "T":
            time.sleep(0.02)


def start_worker(i):
    pid = os.fork()
    if not pid:
        work(i)
    return pid


def run_again(pid):
    os.kill(pid, signal.SIGCONT)
    time.sleep(0.3)
    until_stopped([pid])


def end_worker(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def cpu_of(pid):
    with open(f"/proc/{pid}/schedstat") as file:
        return int(file.read().split()[0]) / 1e9


def wait_of(pid):
    with open(f"/proc/{pid}/schedstat") as file:
        return int(file.read().split()[1]) / 1e9


def rss_of(pid):
    if COUNTED:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * PAGE
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Rss:"))


def major_faults_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[9])


def start_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    return ticks / os.sysconf("SC_CLK_TCK")


class Server:
    def __init__(self, *options):
        self.process = subprocess.Popen([sys.argv[1], "serve", "--listen", ":9797", *options],
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        assert "listening" in line, line

    def end(self):
        self.process.terminate()
        return self.process.wait(30)


# ------------------------------------------------------------------------- tests

def test_formats():
    server = Server("--latency", "--locks", "-v", "min_faults,nice,page_tables")
    text, kind = fetch()
    other, other_kind = fetch("application/openmetrics-text; version=1.0.0")
    check(kind.startswith("text/plain; version=0.0.4"), "the older format is the default", kind)
    check(other_kind.startswith("application/openmetrics-text; version=1.0.0"),
          "OpenMetrics for those who accept it", other_kind)
    old = [s for f in parser.text_string_to_metric_families(text) for s in f.samples]
    new = [s for f in openmetrics.text_string_to_metric_families(other) for s in f.samples]
    names = collections.Counter((s.name, tuple(sorted(s.labels.items()))) for s in new)
    check(max(names.values()) == 1, "no series is there twice", names.most_common(1))
    check([(s.name, s.labels, s.value) for s in old] == [(s.name, s.labels, s.value) for s in new],
          "both formats, of the same second, have the same samples")
    values = scrape()
    check(only(values, "kernlens_series_all") == sum(len(v) for v in values.values()),
          "the number of series is what it says", only(values, "kernlens_series_all"))
    limit = {dict(k)["metric"]: v for k, v in values["kernlens_series_limit"].items()}
    check(all(v <= limit[dict(k)["metric"]] for k, v in values["kernlens_series"].items()),
          "none is above its bound")
    first = only(values, "kernlens_serve_reads_total")
    for _ in range(20):
        scrape()
    check(only(fresh(), "kernlens_serve_reads_total") - first <= 1 + 20 // 4,
          "clients within a second share the figures")
    check(server.end() == 0, "SIGTERM ends it with status 0")


def test_machine():
    server = Server()
    values = scrape()
    with open("/proc/stat") as file:
        stat = file.read().splitlines()
    memory = {}
    with open("/proc/meminfo") as file:
        for line in file:
            words = line.split()
            memory[words[0][:-1]] = int(words[1]) * 1024
    boot = next(int(line.split()[1]) for line in stat if line.startswith("btime"))
    check(abs(only(values, "kernlens_boot_time_seconds") - boot) <= 1, "the time of the boot")
    check(only(values, "kernlens_memory_total_bytes") == memory["MemTotal"], "all memory")
    for name, theirs in (("free", "MemFree"), ("available", "MemAvailable"),
                         ("anonymous", "AnonPages")):
        ours = only(values, f"kernlens_memory_{name}_bytes")
        check(abs(ours - memory[theirs]) <= 16 << 20, f"memory: {name}", ours, memory[theirs])
    ticks = os.sysconf("SC_CLK_TCK")
    modes = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"]
    good = True
    for line in stat:
        words = line.split()
        if line.startswith("cpu") and words[0] != "cpu":
            for mode, theirs in zip(modes, words[1:]):
                ours = values["kernlens_cpu_seconds_total"][("cpu", words[0][3:]), ("mode", mode)]
                good &= abs(ours - int(theirs) / ticks) <= 1
    check(good, "the time of each CPU in each mode")
    tasks = [pid for pid in os.listdir("/proc") if pid.isdigit()]
    user = 0
    for pid in tasks:
        try:
            with open(f"/proc/{pid}/stat") as file:
                user += not int(file.read().rpartition(")")[2].split()[6]) & 0x00200000
        except OSError:
            pass
    check(abs(only(values, "kernlens_processes") - user) <= 2, "the number of processes",
          only(values, "kernlens_processes"), user)
    states = {dict(k)["state"]: v for k, v in values["kernlens_selected_processes"].items()}
    check(abs(sum(states.values()) - len(tasks)) <= 3 and states["running"] >= 1,
          "states of all processes, and of kernel threads", states, len(tasks))
    check(only(values, "process_resident_memory_bytes") > 0 and
          abs(only(values, "process_start_time_seconds") - time.time()) < 120,
          "and what the server itself takes")
    with open(f"/proc/{server.process.pid}/schedstat") as file:
        used = int(file.read().split()[0]) / 1e9
    check(0 < only(values, "process_cpu_seconds_total") <= used + 0.02, "with its CPU time")
    server.end()


def same(ours, theirs, slack=0.0):
    return abs(ours - theirs) <= slack


def test_processes():
    pids = [start_worker(i) for i in range(12)]
    until_stopped(pids)
    server = Server("--comm", NAME + "*", "--top", "3")
    values = scrape()
    cpu = by_pid(values, "kernlens_process_cpu_seconds_total")
    wait = by_pid(values, "kernlens_process_cpu_wait_seconds_total")
    rss = by_pid(values, "kernlens_process_resident_memory_bytes")
    faults = by_pid(values, "kernlens_process_major_page_faults_total")
    listed = [pid for pid in pids if str(pid) in cpu]
    rest = [pid for pid in pids if pid not in listed]
    check(3 <= len(listed) <= 9 and len(rest) >= 3 and set(cpu) == {*map(str, listed), "other"},
          "those that use most are listed", cpu)
    check({*map(str, sorted(pids, key=rss_of)[-3:])} <= set(cpu), "by memory")
    check({*map(str, sorted(pids, key=cpu_of)[-3:])} <= set(cpu), "and by CPU time")
    check(all(same(cpu[str(p)], cpu_of(p), 1e-9) for p in listed), "CPU time is that of /proc")
    check(all(same(wait[str(p)], wait_of(p), 1e-9) for p in listed), "so is waiting for a CPU")
    check(all(same(rss[str(p)], rss_of(p)) for p in listed), "and memory",
          [(rss[str(p)], rss_of(p)) for p in listed])
    check(all(faults[str(p)] == major_faults_of(p) for p in listed), "and page faults")
    check(same(cpu["other"], sum(map(cpu_of, rest)), 1e-6) and
          same(rss["other"], sum(map(rss_of, rest))), "the others are summed up",
          cpu["other"], sum(map(cpu_of, rest)), rss["other"], sum(map(rss_of, rest)))
    labels = {dict(k)["pid"]: dict(k) for k in values["kernlens_process_cpu_seconds_total"]}
    check(all(abs(float(labels[str(p)]["start"]) - start_of(p)) <= 0.011 and
              labels[str(p)]["name"] == NAME + str(pids.index(p)) for p in listed),
          "labels have start and name")
    check(only(values, "kernlens_listed_processes") == len(listed), "and how many are listed")

    # One of the others runs: it uses most of the CPU since the previous read, so it is listed now.
    busy, before = rest[0], cpu["other"]
    run_again(busy)
    values = fresh()
    cpu = by_pid(values, "kernlens_process_cpu_seconds_total")
    check(str(busy) in cpu and same(cpu[str(busy)], cpu_of(busy), 1e-9),
          "a process that becomes busy is listed")
    check(same(cpu["other"], before, 1e-6), "what it has used before stays in the sum")
    # It rests, and is not listed any more; the sum goes on from where it is.
    others = [pid for pid in pids if pid != busy][:3]
    for pid in others:
        run_again(pid)
    before = cpu["other"]
    cpu = by_pid(fresh(), "kernlens_process_cpu_seconds_total")
    check(str(busy) not in cpu or cpu["other"] >= before, "the sum never falls")
    ended = next(pid for pid in pids if str(pid) in cpu)
    end_worker(ended)
    pids.remove(ended)
    after = fresh()
    check(str(ended) not in by_pid(after, "kernlens_process_cpu_seconds_total"),
          "a process that has ended is gone")
    for pid in pids:
        end_worker(pid)
    cpu = by_pid(fresh(), "kernlens_process_cpu_seconds_total")
    check(set(cpu) == {"other"} and cpu["other"] >= before, "when all have, the sum is left")
    server.end()


def test_reused():
    first = start_worker(1)
    until_stopped([first])
    server = Server("--comm", NAME + "*")
    before = {dict(k)["pid"]: dict(k) for k in scrape()["kernlens_process_cpu_seconds_total"]}
    used = cpu_of(first)
    end_worker(first)
    second = None
    for _ in range(20):
        with open("/proc/sys/kernel/ns_last_pid", "w") as file:
            file.write(str(first - 1))
        second = start_worker(0)
        if second == first:
            break
        end_worker(second)
    until_stopped([second])
    values = fresh()
    after = {dict(k)["pid"]: dict(k) for k in values["kernlens_process_cpu_seconds_total"]}
    cpu = by_pid(values, "kernlens_process_cpu_seconds_total")
    check(second == first and before[str(first)]["start"] != after[str(first)]["start"],
          "an ID that is used again is another series", first, second)
    check(same(cpu[str(second)], cpu_of(second), 1e-9) and cpu["other"] < used,
          "and its counter does not continue", cpu, used)
    end_worker(second)
    server.end()


def test_latency():
    reader, writer = os.pipe()
    sleeper = os.fork()
    if not sleeper:
        os.kill(os.getpid(), signal.SIGSTOP)
        # One that is preempted before it sleeps may sleep for less than half of that.
        for _ in range(40):
            time.sleep(0.05)
        os.write(writer, b"x")
        signal.pause()
    until_stopped([sleeper])
    server = Server("--latency", "-p", f"{sleeper}")
    os.kill(sleeper, signal.SIGCONT)
    os.read(reader, 1)
    time.sleep(0.1)
    values = scrape()
    bounds = {}
    for key, value in values["kernlens_task_state_seconds_bucket"].items():
        labels = dict(key)
        if labels["state"] == "interruptible":
            bounds[float(labels["le"])] = value
    key = (("state", "interruptible"),)
    count = values["kernlens_task_state_seconds_count"][key]
    total = values["kernlens_task_state_seconds_sum"][key]
    check(count == bounds[float("inf")] and count >= 40, "40 sleeps are counted", count, bounds)
    check(bounds[0.016384] <= count - 40 and 40 * 0.016384 <= total <= 40 * 0.05 * 4,
          "each of some 50 ms, in the right bucket", bounds, total)
    check(list(bounds.values()) == sorted(bounds.values()), "buckets are cumulative")
    check(only(values, "kernlens_latency_missed_events_total") == 0 and
          only(values, "kernlens_module_sessions") >= 1, "nothing is missed")
    end_worker(sleeper)
    server.end()


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        with open(sys.argv[3], "ab") as file:
            file.write(self.rfile.read(int(self.headers["Content-Length"])) + b"\n")
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments):
        pass


if sys.argv[1] == "--webhook":
    http.server.HTTPServer(("127.0.0.1", int(sys.argv[2])), Hook).serve_forever()
test_formats()
test_machine()
test_processes()
test_reused()
test_latency()
print(f"1..{tests}")
sys.exit(1 if failures else 0)
