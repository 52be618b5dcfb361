#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# set.py calls KERNLENS EXPECTED: sets parameters of processes twice, by system calls from here and
# 	by `kernlens set`, as root and as an ordinary user, for own processes, others', kernel
# 	threads and dead ones, and compares each result and what /proc shows afterwards. Writes to
# 	EXPECTED what the events must contain, a line of JSON each.
# set.py events PRINTED EXPECTED: compares that with the events recorded in the meantime.
# Both print TAP.
import ctypes
import errno
import fcntl
import json
import os
import struct
import subprocess
import sys
import time

MODE, SOURCE, EXPECTED = sys.argv[1:]
NOBODY = 65534
KL_IOC_SET = 3 << 30 | (48 + 3 * 256) << 16 | 0xB7 << 8 | 0x53
SYS_sched_setattr, SYS_ioprio_set = 314, 251
libc = ctypes.CDLL(None, use_errno=True)
number = failed = 0
expected = []


def report(ok, text, *why):
    global number, failed
    number += 1
    failed += not ok
    print(f"{'' if ok else 'not '}ok {number} - {text}")
    for line in why if not ok else ():
        print(f"# {line}")


# ------------------------------------------------------------- the kernel's own calls
def call(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "call")


def write(path, text):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def write_of(pid, name, text):
    try:
        write(f"/proc/{pid}/{name}", text)
    except FileNotFoundError:
        raise ProcessLookupError(errno.ESRCH, name) from None


def scheduler(pid, policy, priority):
    call(libc.sched_setscheduler(pid, policy, ctypes.byref(ctypes.c_int(priority))))


def deadline(pid, *times):
    attr = struct.pack("=IIQiIQQQ", 48, 6, 0, 0, 0, *times)
    call(libc.syscall(SYS_sched_setattr, pid, attr, 0))


def affinity(pid, *cpus):
    mask = sum(1 << cpu for cpu in cpus).to_bytes(1024, "little")
    call(libc.sched_setaffinity(pid, len(mask), mask))


def ioprio(pid, kind, level):
    call(libc.syscall(SYS_ioprio_set, 1, pid, kind << 13 | level))


def limit(pid, which, soft, hard):
    call(libc.prlimit(pid, which, (ctypes.c_int64 * 2)(soft, hard), None))


# Each request to kernlens, and the equivalent system call. The order matters: some depend on
# earlier ones.
SETTINGS = [
    ("nice=5", lambda pid: call(libc.setpriority(0, pid, 5))),
    ("nice=3", lambda pid: call(libc.setpriority(0, pid, 3))),
    ("nice=19", lambda pid: call(libc.setpriority(0, pid, 19))),
    ("policy=batch", lambda pid: scheduler(pid, 3, 0)),
    ("policy=fifo", lambda pid: scheduler(pid, 1, 0)),
    ("policy=other:7", lambda pid: scheduler(pid, 0, 7)),
    ("policy=rr:12", lambda pid: scheduler(pid, 2, 12)),
    ("priority=20", lambda pid: call(libc.sched_setparam(pid, ctypes.byref(ctypes.c_int(20))))),
    ("priority=100", lambda pid: call(libc.sched_setparam(pid, ctypes.byref(ctypes.c_int(100))))),
    ("policy=idle", lambda pid: scheduler(pid, 5, 0)),
    ("policy=batch,reset_on_fork", lambda pid: scheduler(pid, 3 | 0x40000000, 0)),
    ("affinity=1", lambda pid: affinity(pid, 1)),
    ("affinity=4000", lambda pid: affinity(pid, 4000)),
    ("affinity=all", lambda pid: affinity(pid, *range(8192))),
    ("affinity=0", lambda pid: affinity(pid, 0)),
    ("ioprio=best-effort:2", lambda pid: ioprio(pid, 2, 2)),
    ("ioprio=realtime:1", lambda pid: ioprio(pid, 1, 1)),
    ("ioprio=none:3", lambda pid: ioprio(pid, 0, 3)),
    ("ioprio=idle", lambda pid: ioprio(pid, 3, 0)),
    ("oom_score_adj=300", lambda pid: write_of(pid, "oom_score_adj", "300")),
    ("oom_score_adj=-300", lambda pid: write_of(pid, "oom_score_adj", "-300")),
    ("oom_score_adj=1001", lambda pid: write_of(pid, "oom_score_adj", "1001")),
    ("timer_slack=70us", lambda pid: write_of(pid, "timerslack_ns", "70000")),
    ("cgroup=/kl-set", lambda pid: write("/sys/fs/cgroup/kl-set/cgroup.procs", str(pid))),
    ("cgroup=/kl-none", lambda pid: write("/sys/fs/cgroup/kl-none/cgroup.procs", str(pid))),
    ("limit.nofile=100:200", lambda pid: limit(pid, 7, 100, 200)),
    ("limit.nofile=150:300", lambda pid: limit(pid, 7, 150, 300)),
    ("limit.nofile=20:10", lambda pid: limit(pid, 7, 20, 10)),
    ("limit.core=unlimited", lambda pid: limit(pid, 4, -1, -1)),
    ("limit.stack=1M:2M", lambda pid: limit(pid, 3, 1 << 20, 2 << 20)),
    ("affinity=0-1", lambda pid: affinity(pid, 0, 1)),
    ("policy=deadline:1ms:10ms:5ms", lambda pid: deadline(pid, 10**6, 10**7, 5 * 10**6)),
    ("policy=deadline:1ms:10ms:20ms", lambda pid: deadline(pid, 10**6, 10**7, 2 * 10**7)),
]


def be(user):
    if user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def call_directly(user, pid):
    """Makes each call of SETTINGS; returns its error by name, as that user gets it."""
    read, end = os.pipe()
    child = os.fork()
    if not child:
        be(user)
        errors = []
        for _, setter in SETTINGS:
            try:
                setter(pid)
                errors.append(None)
            except OSError as error:
                errors.append(errno.errorcode[error.errno])
        os.write(end, json.dumps(errors).encode())
        os._exit(0)
    os.close(end)
    with os.fdopen(read) as file:
        errors = json.load(file)
    os.waitpid(child, 0)
    return errors


def kernlens(user, *words):
    done = subprocess.run([SOURCE, "set", "--json", *words], preexec_fn=lambda: be(user),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    changes = json.loads(done.stdout)["changes"]
    report(done.returncode == int(any("error" in change for change in changes)) and not done.stderr,
           f"the exit status says whether something was refused ({user})", done)
    return changes


# ---------------------------------------------------------------------- the subjects
def sleeper(user):
    process = subprocess.Popen(["sleep", "300"], preexec_fn=lambda: be(user))
    while open(f"/proc/{process.pid}/comm").read() != "sleep\n":
        time.sleep(0.05)
    return process


def kernel_thread(name):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with open(f"/proc/{pid}/comm") as file:
            if file.read() == name + "\n":
                return int(pid)
    raise LookupError(name)


def state_of(pid):
    """The parameters of a process, from /proc and system calls."""
    with open(f"/proc/{pid}/stat") as file:
        stat = file.read().rpartition(")")[2].split()
    state = {"nice": int(stat[16]), "priority": int(stat[37]), "policy": int(stat[38])}
    for name in "oom_score_adj", "timerslack_ns", "cgroup", "limits":
        with open(f"/proc/{pid}/{name}") as file:
            state[name] = file.read()
    state["affinity"] = sorted(os.sched_getaffinity(pid))
    state["ioprio"] = libc.syscall(252, 1, pid)
    return state


def note(change, pid, seen=True):
    """What the event of a change must contain."""
    event = {"what": change["what"], "asked": change["asked"],
             "error": change.get("error", "0"), "tid": pid}
    if seen:
        event |= {name: change[name] for name in ("old_text", "new_text", "old_value", "new_value")}
    expected.append(event)


def compare(text, user, direct, ours, seen):
    """Compares both on two identical subjects, or on one that cannot be changed."""
    theirs = call_directly(user, direct)
    changes = kernlens(user, str(ours), *(words for words, _ in SETTINGS))
    told = [change.get("error") for change in changes]
    for (words, _), their, our in zip(SETTINGS, theirs, told):
        report(their == our, f"{text}: {words}: {their or 'done'}", f"kernlens: {our}")
    report(len(told) == len(SETTINGS), f"{text}: an answer for each")
    is_told = [all(name in change for name in ("old_text", "new_text", "old_value", "new_value"))
               for change in changes]
    report(all(is_told) if seen else not any(is_told), f"{text}: values are {'' if seen else 'not '}told",
           changes)
    refused = [change for change in changes if "error" in change]
    report(all(change["message"] for change in refused), f"{text}: each refusal in words", refused)
    if seen:
        report(all(change["old_text"] == change["new_text"] for change in refused),
               f"{text}: what is refused stays", refused)
    for change in changes:
        note(change, ours, seen)


def compare_twins(text, user):
    one, other = sleeper(user), sleeper(user)
    compare(text, user, one.pid, other.pid, True)
    a, b = state_of(one.pid), state_of(other.pid)
    for name in a:
        report(a[name] == b[name], f"{text}: {name} is the same", a[name], b[name])
    for process in one, other:
        process.kill()
        process.wait()


# --------------------------------------------------------------------- the two steps
def step(fd, **members):
    fields = {"step": 0, "id": 0, "what": 0, "start": 0, "error": 0, "flags": 0, "old": 0, "new": 0,
              "asked": b""} | members
    call_ = bytearray(struct.pack("=IIiIQiIqq256s512x", 816, *fields.values()))
    fcntl.ioctl(fd, KL_IOC_SET, call_)
    return struct.unpack_from("=IIiIQiIqq", call_)[6:9]


def refused(fd, **members):
    try:
        step(fd, **members)
    except OSError as error:
        return error.errno
    return 0


def check_steps():
    process = sleeper(0)
    fd = os.open("/dev/kernlens", os.O_RDWR)
    for what in 0, 9, 15, 32, 1 << 31:
        report(refused(fd, step=1, id=process.pid, what=what) == errno.EINVAL, f"no setting has the number {what}")
    report(refused(fd, step=3) == errno.EINVAL, "an unknown step")
    report(refused(fd, step=2) == errno.EINVAL, "an end of nothing")
    report(refused(fd, step=1, id=process.pid, what=1, asked=b"x" * 256) == errno.EINVAL, "a text without its end")
    flags, *_ = step(fd, step=1, id=process.pid, what=1, start=12345)
    report(flags == 1, "with another start time the process is unavailable", flags)
    flags, *_ = step(fd, step=2, error=errno.ESRCH)
    report(flags == 0, "and no values are returned", flags)
    expected.append({"what": "nice", "error": "ESRCH", "tid": process.pid, "asked": ""})
    flags, *_ = step(fd, step=1, id=process.pid, what=1)
    report(flags == 0 and refused(fd, step=2, error=4096) == errno.EINVAL, "an invalid error")
    os.setpriority(os.PRIO_PROCESS, process.pid, 7)
    flags, *values = step(fd, step=2, error=0)
    report(flags == 2 and values == [0, 7], "it may end after that", flags, values)
    expected.append({"what": "nice", "error": "0", "tid": process.pid, "old_value": 0, "new_value": 7})
    step(fd, step=1, id=process.pid, what=6, asked=b"one")
    step(fd, step=1, id=process.pid, what=1, asked=b"two")
    os.setpriority(os.PRIO_PROCESS, process.pid, 8)
    os.close(fd)
    expected.extend([
        {"what": "oom_score_adj", "error": "ECANCELED", "tid": process.pid, "asked": "one"},
        {"what": "nice", "error": "ECANCELED", "tid": process.pid, "asked": "two", "old_value": 7,
         "new_value": 8}])
    fd = os.open("/dev/kernlens", os.O_RDWR)
    step(fd, step=1, id=process.pid, what=1)
    process.kill()
    process.wait()
    flags, *_ = step(fd, step=2, error=errno.ESRCH)
    report(flags == 6, "one that has ended meanwhile", flags)
    expected.append({"what": "nice", "error": "ESRCH", "tid": process.pid})
    os.close(fd)


def compare_calls():
    os.makedirs("/sys/fs/cgroup/kl-set", exist_ok=True)
    compare_twins("root, its own", 0)
    compare_twins("an ordinary user, its own", NOBODY)
    process = sleeper(0)
    before = state_of(process.pid)
    compare("an ordinary user, root's", NOBODY, process.pid, process.pid, False)
    report(state_of(process.pid) == before, "which stays as it was")
    bound, free = kernel_thread("cpuhp/1"), kernel_thread("kcompactd0")
    compare("an ordinary user, a thread of the kernel", NOBODY, bound, bound, False)
    compare("root, a thread of the kernel that is bound to its CPU", 0, bound, bound, True)
    compare("root, one that is not", 0, free, free, True)
    scheduler(free, 0, 0)
    os.setpriority(os.PRIO_PROCESS, free, 0)
    affinity(free, 0, 1)
    write("/sys/fs/cgroup/cgroup.procs", str(free))
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    compare("root, a zombie", 0, process.pid, process.pid, True)
    process.wait()
    compare("root, one that is not there", 0, process.pid, process.pid, False)
    compare("an ordinary user, one that is not there", NOBODY, process.pid, process.pid, False)
    check_steps()
    with open(EXPECTED, "w") as file:
        for event in expected:
            print(json.dumps(event), file=file)


def compare_events():
    with open(SOURCE) as file:
        printed = [json.loads(line) for line in file]
    with open(EXPECTED) as file:
        wanted = [json.loads(line) for line in file]
    report(len(printed) == len(wanted) > 0, "each change is one event", len(printed), len(wanted))
    for event, want in zip(printed, wanted):
        told = event["fields"] | {"what": event["meanings"]["what"],
                                  "error": event["meanings"].get("error", "0")}
        wrong = {name: told[name] for name in want if told[name] != want[name]}
        report(not wrong, f"{want['what']}: {want['error']}", want, wrong)


(compare_calls if MODE == "calls" else compare_events)()
print(f"1..{number}")
sys.exit(1 if failed else 0)
