#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# commands.py KERNLENS OUT [some|more]: in a virtual machine as root, compares kernlens count and
# coverage with the calls that a program is known to make, with ftrace's function trace of the same
# run, and with themselves: whatever enters a block must leave it. Compares blocks as events with the
# entries of their functions. `some`: without coverage; `more`: also coverage of the whole kernel.
# Prints TAP lines.
import collections
import json
import os
import re
import subprocess
import sys

from checks import end, kernlens, report, run

TRACING = "/sys/kernel/tracing"
PATTERNS = ["vfs_*", "ksys_*", "path_*", "link_*", "filp_*", "exit_*", "do_*", "proc_*", "security_*", "__do_sys_*",
            "__x64_sys_*", "mm_*", "mmap_*", "vma_*", "anon_*", "unlink_*", "copy_*", "dup_*", "task_*", "signal_*",
            "wait_*", "shmem_*", "simple_*", "mnt_*", "inode_*", "generic_*", "new_*", "alloc_*", "release_*"]
WORKLOAD = "exec >/dev/null; mkdir /tmp/d; touch /tmp/d/a; mv /tmp/d/a /tmp/d/c; ln -s c /tmp/d/s; " \
           "cat /tmp/d/s /proc/self/status; rm -r /tmp/d"
# A varied workload.
REAL = f"""
    exec >/dev/null
    cd {sys.argv[2]}
    git init -q one
    cp -r /usr/include/linux one
    git -C one add -A
    git -C one -c user.name=a -c user.email=a@b commit -qm all
    git clone -q one two
    echo 'int main(void) {{ return 0; }}' >main.c
    gcc -o main main.c
    ./main
    ip link set lo up
    python3 -c 'import socket, threading
listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
server, _ = listener.accept()
sender = threading.Thread(target=lambda: (client.sendall(bytes(1 << 20)), client.close()))
sender.start()
while server.recv(65536): pass'
"""
CALLS = 1000
# The ioctl that reads counters, as ftrace prints it.
COUNTS_CALL = re.compile(r"sys_ioctl\(fd: \w+, cmd: (?:0x)?c0\w{4}62,")
# Executed constantly, also in interrupts and by what an event hit itself calls.
HOT = ["schedule", "__schedule", "try_to_wake_up", "_raw_spin*", "hrtimer_*", "kmem_cache_alloc*", "irq_work*",
       "__wake_up*", "ktime_get*", "update_*", "enqueue_*", "dequeue_*", "exc_page_fault*", "handle_mm_fault*", "rcu_*"]
DEEP = ["vfs_read", "schedule", "try_to_wake_up", "handle_mm_fault", "irq_work_queue", "__wake_up_common"]
LOAD = "for i in 1 2; do (while :; do ls -lR /usr/share/doc | head -300; cat /proc/*/status; done >/dev/null 2>&1) & done; " \
       "sleep 4; kill $(jobs -p)"
IOCTL = ["sys_enter_ioctl", "sys_exit_ioctl"]
CPU = "/sys/devices/system/cpu/cpu1/online"
# A task that sleeps in a call when counting begins or ends is counted in only one of the call's two
# blocks.
SLEEPERS = 64
FEW = 3  # points whose text may change while thousands are spliced

out = sys.argv[2]


def python(text):
    return ["python3", "-c", text]


def write(path, text):
    with open(f"{TRACING}/{path}", "w") as file:
        file.write(text)


def check_count():
    calls = python(f"import os\nfor i in range({CALLS}): os.getppid()")
    done = json.loads(run("--json", "count", "-e", "block:__x64_sys_getppid", "--", *calls).stdout)
    points = done["functions"][0]["points"]
    report(len(points) > 1 and all(point.get("count") == CALLS for point in points),
           f"each block of getppid is passed {CALLS} times", points)

    calls = python(f"import os\nos.umask(0)\nfor i in range({CALLS}): os.lseek(0, i, os.SEEK_SET); os.stat('/etc/passwd')")
    moved, in_place = [json.loads(run("--json", "count", "-e", "block:ksys_lseek", "-e", "block:vfs_statx", *more, "--",
                                      *calls).stdout) for more in ([], ["--in-place"])]
    counts = [[[point.get("count") for point in function["points"]] for function in done["functions"]]
              for done in (moved, in_place)]
    report(moved["splices"]["moved"] == 2 and not in_place["splices"]["moved"] and
           moved["splices"]["windows"] < in_place["splices"]["windows"] and
           counts[0] == counts[1] and max(counts[0][0]) >= CALLS,
           "functions that are moved have the counts of those that are not", moved["splices"], in_place["splices"], counts)

    options = ["-e", "block:ksys_read", "-e", "block:ksys_read:post"]
    done = json.loads(run("--json", "count", *options, "--",
                          "sh", "-c", "cat /proc/self/maps /etc/passwd >/dev/null").stdout)
    points = collections.defaultdict(dict)
    for point in done["functions"][0]["points"]:
        if "count" in point:
            points[point["block"]][point["post"]] = point["count"]
    both = [pair for pair in points.values() if len(pair) == 2]
    report(len(both) > 10 and all(pair[False] == pair[True] for pair in both) and any(pair[True] for pair in both),
           f"{len(both)} blocks are passed at their end as often as at their start", both)

    listed = run("count", "-e", "block:ksys_read#0", "-e", "ksys_read+0x0", "--asm", "--", "true").stderr
    rows = [line for line in listed.splitlines() if " +0x0 " in line]
    report(len(rows) == 1 and "push" in listed, "a block that is named twice is listed once, with instructions", listed)
    missing = run("count", "-e", "block:no_such_function", "--", "true", status=1).stderr
    report("no_such_function" in missing, "a function that is not there is said", missing)
    missing = run("count", "-e", "block:ksys_read#999", "--", "true", status=1).stderr
    report("no such block" in missing, "and a block", missing)
    run("count", "-e", "block:ksys_read", "--", "sh", "-c", "exit 7", status=7)
    run("count", "--", "true", status=2)


def check_label():
    """Switches a jump label while it is spliced: kfree's tracepoint. After it, execution continues
    in the original text."""
    blocks = json.loads(run("--json", "blocks", "kfree").stdout)["functions"][0]["blocks"]
    enable = f"{TRACING}/events/kmem/kfree/enable"
    write("events/kmem/kfree/enable", "1")
    done = json.loads(run("--json", "count", "-e", "block:kfree", "--", *python(
        f"import os\nopen('{enable}', 'w').write('0')\nfor i in range({CALLS}): os.listdir('/proc/self')")).stdout)
    counts = {point["block"]: point.get("count", 0) for point in done["functions"][0]["points"]}
    left = sum(counts[index] for index, block in enumerate(blocks) if block["ends"] in ("return", "leave"))
    report(counts[0] > CALLS and abs(counts[0] - left) <= SLEEPERS and done["splices"]["moved"],
           f"what enters a function leaves it, also when a jump label changes: {counts[0]}", left, counts, done["splices"])


def read_records(path):
    """Records of python3 in a trace, grouped by event."""
    events = collections.defaultdict(list)
    for line in run("--json", "print", path).stdout.splitlines():
        record = json.loads(line)
        if record.get("comm") == "python3":
            events[record["event"]].append(record)
    return events


def check_events():
    """Blocks as events: counts, registers, order, stack traces, and the time between two events."""
    calls = python(f"import os\nfor i in range({CALLS}): os.lseek(0, i, os.SEEK_SET)")
    where = "ksys_lseek"
    done = json.loads(run("--json", "blocks", where).stdout)["functions"][0]["blocks"]
    last = next(index for index, block in enumerate(done) if block["ends"] == "return")
    ends = f"block:{where}#{last}:post"
    run("record", "-q", "-a", "--buffer", "8M", "-v", "rsi", "-v", "kstack", "-o", f"{out}/events", "-e",
        f"fn:{where},block:{where}#0,block:{where}#0 /rdx == 99/:stack,{ends}", "--", *calls)
    events = read_records(f"{out}/events")
    entries, starts, left = (events[name] for name in (f"fn:{where}", f"block:{where}#0", ends))
    report(len(entries) >= CALLS and len(left) == len(entries), f"the end of a block fires at each of {len(entries)} calls",
           len(left))
    report(len(starts) == len(entries), "and so does its start", len(starts))
    wrong = [(entry, start) for entry, start in zip(entries, starts)
             if not entry["since_ns"] < start["since_ns"] or entry["tid"] != start["tid"] or
             (entry["fields"]["offset"] - start["fields"]["rsi"]) % 2**64]
    report(not wrong, "behind the function's entry, with what its registers had", wrong[:3])
    traces = [[[frame["symbol"] for frame in record["stacks"]["kstack"]] for record in records]
              for records in (entries, starts)]
    report(len(traces[0][0]) > 2 and traces[0] == traces[1], "and with its call trace", traces[0][:1], traces[1][:1])

    sleep = "import os, time\nread, write = os.pipe()\nif not os.fork():\n for i in range(20): time.sleep(0.02); " \
            "os.write(write, b'x')\n os._exit(0)\nfor i in range(20): os.read(read, 1)"
    with open("/proc/kallsyms", encoding="ascii") as symbols:
        read = "anon_pipe_read" if " anon_pipe_read\n" in symbols.read() else "pipe_read"
    rules = f"fn:{read}:set(t),fn:{read}:ret /flag(t) && comm == \"python3\"/:sum(since(t)),fn:{read}:ret:clear(t)," \
            f"block:{where}:count"
    result = json.loads(run("--json", "stat", "-a", "-e", rules, "--", *python(sleep)).stdout)
    rule = next(rule for rule in result["rules"] if "since" in rule["rule"])
    entry = rule["entries"][0]
    report(entry["count"] >= 20 and 0.3e9 < entry["sum"] < 4e9 and not rule["faults"],
           "20 reads of a pipe that is written to each 20 ms take about 0.4 s", rule)


def check_hot():
    """Events that hit constantly on two processors. A kernel warning panics here."""
    for functions, more in (HOT, []), (DEEP, ["-v", "kstack", "-v", "rdi"]):
        events = ",".join(f"block:{name}" for name in functions)
        said = run("record", "-a", "--overwrite", "--buffer", "2M", "--force", "-o", f"{out}/hot", *more, "-e", events, "--",
                   "bash", "-c", LOAD).stderr
        records = int(re.search(r"([0-9,]+) records", said)[1].replace(",", ""))
        what = "with call traces and a register" if more else "without fields"
        report(records > 10000, f"what all pass, {what}: {records} records of the last moments", said)


def traced():
    """Returns how often ftrace's function tracer saw each name between the two times at which
    kernlens read its counters, and how often during these two reads. The reads are the device's
    ioctls, which are traced as well. A function that an interrupt calls during a read may run
    before or after its counter is read."""
    hits, doubtful, reads, inside = collections.Counter(), collections.Counter(), 0, False
    with open(f"{TRACING}/trace") as file:
        for line in file:
            if line.startswith("# entries-in-buffer"):
                kept, written = line.partition(":")[2].split()[0].split("/")
                hits["lost"] = int(written) - int(kept)
            elif COUNTS_CALL.search(line):
                reads += 1
                inside = True
            elif "sys_ioctl -> " in line:
                inside = False
            elif " <-" in line and (inside or reads == 1):
                (doubtful if inside else hits)[line.rpartition(" <-")[0].split()[-1]] += 1
    hits["reads"] = reads
    return hits, doubtful


def trace_functions():
    """Starts ftrace's function tracer with one CPU online, so that nothing runs while counters are
    read."""
    with open(CPU, "w") as file:
        file.write("0")
    write("buffer_size_kb", "131072")
    for pattern in PATTERNS:
        with open(f"{TRACING}/set_ftrace_filter", "a") as file:
            file.write(f"{pattern}\n")
    for event in IOCTL:
        write(f"events/syscalls/{event}/enable", "1")
    write("current_tracer", "function")


def check_against_ftrace(functions, hits, doubtful):
    entered, covered = collections.Counter(), set()
    for function in functions:
        first = function["blocks"][0] if function["blocks"] else None
        if first and first[0] == 0 and isinstance(first[2], int):
            entered[function["function"]] += first[2]
            covered.add(function["function"])
    report(hits["reads"] == 2 and not hits["lost"], f"ftrace has lost none of {sum(hits.values())} entries",
           hits["reads"], hits["lost"])
    common = {name for name in covered if hits[name]}
    equal = {name for name in common if entered[name] == hits[name]}
    wrong = sorted(name for name in common if not 0 <= entered[name] - hits[name] <= doubtful[name])
    report(len(equal) >= 300 and not wrong,
           f"{len(equal)} of {len(common)} functions are entered as often as ftrace says, the others in doubt",
           *(f"{name}: {entered[name]}, ftrace {hits[name]} to {hits[name] + doubtful[name]}" for name in wrong[:20]))
    more = sorted(name for name in covered if entered[name] and not hits[name])
    print(f"# ftrace does not trace, or has not seen: {' '.join(more[:20])}", flush=True)


def check_flow(functions):
    """A block's count is the sum of its successors' if they have no other predecessor."""
    listed = json.loads(run("--json", "blocks", *PATTERNS).stdout)["functions"]
    graphs = {graph["address"]: graph["blocks"] for graph in listed}
    equal, wrong = 0, []
    for function in functions:
        blocks = graphs.get(function["address"], [])
        counts = [block[2] if isinstance(block[2], int) else None for block in function["blocks"]]
        ways = collections.defaultdict(list)
        for index, block in enumerate(blocks):
            for to in {block["next"], block["taken"]} - {None}:
                ways[to].append(index)
        for index, block in enumerate(blocks):
            to = [way for way in (block["next"], block["taken"]) if way is not None]
            leaves = block["ends"] == "branch" and len(to) == 1  # also a branch to another function
            if not to or leaves or counts[index] is None or any(
                    counts[way] is None or blocks[way]["entered"] or ways[way] != [index] for way in to):
                continue
            if abs(sum(counts[way] for way in set(to)) - counts[index]) <= (SLEEPERS if block["ends"] == "call" else 0):
                equal += counts[index] > 0
            else:
                wrong.append(f"{function['function']} {index}: {counts[index]}, then {[counts[way] for way in to]}")
    report(equal > 50 and not wrong, f"what enters leaves: {equal} blocks that ran", *wrong[:20])


def check_sleep():
    """Splices are removed before the machine suspends. Another module vetoes the suspend, so the
    machine stays awake."""
    shell = lambda text: subprocess.run(text, shell=True, capture_output=True, text=True)
    module = os.path.join(os.path.dirname(kernlens), os.uname().release, "kl_awake.ko")
    calls = f"import os\nfor i in range({CALLS}): os.getppid()\n"
    sleep = "try: os.write(os.open('/sys/power/state', os.O_WRONLY), b'freeze')\nexcept OSError: print('awake')\n"
    loaded = shell(f"insmod {module}").returncode == 0
    done = run("--json", "count", "-o", f"{out}/slept", "-e", "block:__x64_sys_getppid", "--", *python(calls + sleep + calls))
    with open(f"{out}/slept") as file:
        result = json.load(file)
    points = result["functions"][0]["points"]
    report(loaded and "awake" in done.stdout and all(point.get("count") == CALLS for point in points) and
           result["splices"]["ended_early"], "when the machine is about to sleep, counting has ended, and that is said",
           loaded, done.stdout, points)
    result = json.loads(run("--json", "count", "-e", "block:__x64_sys_getppid", "--", *python(calls)).stdout)
    points = result["functions"][0]["points"]
    report(all(point.get("count") == CALLS for point in points) and not result["splices"]["ended_early"],
           "when it does not, the next count is as always", points)
    shell("rmmod kl_awake")


def check_coverage():
    options = [word for pattern in PATTERNS for word in ("--functions", pattern)]
    trace_functions()
    run("--json", "coverage", *options, "-o", f"{out}/a.json", "--lcov", f"{out}/a.info", "--", "sh", "-c", WORKLOAD)
    write("tracing_on", "0")
    hits, doubtful = traced()
    write("current_tracer", "nop")
    for event in IOCTL:
        write(f"events/syscalls/{event}/enable", "0")
    with open(CPU, "w") as file:
        file.write("1")
    with open(f"{out}/a.json") as file:
        result = json.load(file)
    functions, sum_of = result["functions"], result["splices"]
    print(f"# {sum_of}")
    report(sum_of["points"] == sum_of["counted"] + sum_of["without"] + sum_of["refused"] and not sum_of["refused"],
           "every point has a counter or a reason, and the module refuses none", sum_of)
    report(2 * sum_of["moved"] > sum_of["functions"] and 2 * sum_of["windows"] < sum_of["counted"],
           f"{sum_of['moved']} of {sum_of['functions']} functions are moved", sum_of)
    check_against_ftrace(functions, hits, doubtful)
    check_flow(functions)
    lines = collections.Counter(line.strip().partition(":")[0] for line in open(f"{out}/a.info"))
    hit = sum(int(line.split(",")[1]) > 0 for line in open(f"{out}/a.info") if line.startswith("DA:"))
    report(lines["DA"] == sum(function["counted"] for function in functions) and
           hit == sum(function["ran"] for function in functions) and lines["SF"] == lines["end_of_record"],
           f"the tracefile has {lines['DA']} blocks, {hit} of them ran")


def check_all():
    """Coverage of the whole kernel and its modules. kernlens leaves out its own module."""
    run("--json", "coverage", "--all", "-o", f"{out}/all.json", "--", "sh", "-ec", REAL + f"""
        exec python3 -c 'import os; [os.sched_get_priority_max(0) for i in range({CALLS})]'""")
    with open("/proc/modules") as file:
        loaded = {line.split()[0] for line in file}
    with open(f"{out}/all.json") as file:
        result = json.load(file)
    functions, sum_of = result["functions"], result["splices"]
    os.remove(f"{out}/all.json")
    # The kernel may change its text between planning and the module's check.
    refused = [(function["function"], block[0], block[2]) for function in functions for block in function["blocks"]
               if block[2] in ("text", "boundary", "entered", "fixed", "excluded", "slot", "probed", "unseen", "taken")]
    print(f"# {sum_of} {refused[:20]}")
    report(len(functions) == sum_of["functions"] > 40000 and sum_of["counted"] > 0.97 * sum_of["points"] and
           sum_of["refused"] <= FEW, f"{sum_of['counted']} blocks of the whole kernel are counted, none is refused, or few",
           sum_of)
    report(sum_of["install_seconds"] < 90, f"in {sum_of['install_seconds']:.0f} s", sum_of)
    entered = {function["function"]: function["entered"] for function in functions if "module" not in function}
    report(entered["__x64_sys_sched_get_priority_max"] == CALLS, "a call as often as it was made")
    ran = collections.Counter()
    for function in functions:
        ran[function.get("module")] += function["ran"]
    report(set(ran) - {None} == loaded - {"kernlens"} and ran["overlay"] > 100 and ran["9p"] > 100,
           f"with those of {len(ran) - 1} modules", loaded, ran)


def check_diff():
    """Compares a result with itself, and with one in which vfs_rename has not run."""
    with open(f"{out}/a.json") as file:
        result = json.load(file)
    for function in result["functions"]:
        if function["function"] == "vfs_rename":
            function["blocks"] = [[*block[:2], 0] for block in function["blocks"]]
    with open(f"{out}/b.json", "w") as file:
        json.dump(result, file)
    same = json.loads(run("--json", "coverage", "--diff", f"{out}/a.json", f"{out}/a.json").stdout)
    report(same == {"functions": []}, "a run does not differ from itself", same)
    differ = json.loads(run("--json", "coverage", "--diff", f"{out}/b.json", f"{out}/a.json").stdout)["functions"]
    report([row["function"] for row in differ] == ["vfs_rename"] and differ[0]["after_only"] and
           not differ[0]["before_only"], "one that renames differs from one that does not", differ)
    table = run("coverage", "--diff", f"{out}/b.json", f"{out}/a.json").stdout
    report("vfs_rename" in table and "blocks ran before only" in table, "and so says the table", table)


check_count()
check_label()
check_events()
check_hot()
check_sleep()
if sys.argv[3:] != ["some"]:
    check_coverage()
    check_diff()
if sys.argv[3:] == ["more"]:
    check_all()
end()
