#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Compares `kernlens print --format strace` with strace -f, line by line, on programs as the
# distribution ships them. Both run the same command in the same directory, one after the other.
#
# compare.py [--show] [--minimum PERCENT] KERNLENS [PROGRAM...]: prints TAP; --show prints the lines
# that differ. Runs as root where the module is loaded.
#
# What is made equal before the comparison:
#   - addresses (six hexadecimal digits and more) and process ids, by order of their creation
#   - times: seconds and their fractions, dates, how long a call took, uptime and load
#   - the amounts of free memory and space, the number of processes, and getrandom's bytes
#   - what depends on how tasks are scheduled: processes are compared one by one, and an unfinished
#     call is joined with its return; the blanks before the result
#   - random parts of the names of temporary files
# strace differs from itself, too, as programs do not run alike twice: a second run of strace is
# compared in the same way, for information.
import argparse
import collections
import difflib
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading

import programs

PORT = 8765
TIMEOUT = 120
LINE = re.compile(r"(\d+)\s+(.*)")
RESUMED = re.compile(r"<\.\.\. \w+ resumed>")
UNFINISHED = " <unfinished ...>"

EQUAL = [
    (re.compile(r" <\d+\.\d{6}>$"), ""),
    (re.compile(r"\)\s+= "), ") = "),
    (re.compile(r"0x[0-9a-f]{6,}"), "ADDRESS"),
    (re.compile(r"(tv_sec|tv_nsec|tv_usec|uptime|si_utime|si_stime|tms_\w+)=-?\d+"), r"\1=TIME"),
    (re.compile(r" /\* \d+\.\d\d s \*/"), ""),
    (re.compile(r" /\* \d{4}-\d\d-\d\dT[^*]* \*/"), ""),
    (re.compile(r"loads=\[[^]]*\]"), "loads=LOADS"),
    (re.compile(r"(freeram|sharedram|bufferram|freeswap|procs|f_b?free|f_ffree|f_bavail)=\d+"),
     r"\1=NUMBER"),
    (re.compile(r'(getrandom\()"[^"]*"'), r'\1"RANDOM"'),
    (re.compile(r"(/tmp/cc)\w{6}"), r"\1XXXXXX"),
    (re.compile(r"((?:getppid|getpgrp|getpgid|getsid|times|time)\([^)]*\) = )\d+"), r"\1PID"),
]


def serve(directory):
    """A web server on the loopback interface, for curl."""
    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=directory)

        def log_message(self, *_):
            pass

        def date_time_string(self, timestamp=None):
            return "Thu, 01 Jan 1970 00:00:00 GMT"

    server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


class Runs:
    """Runs a program under strace and under kernlens."""

    def __init__(self, kernlens, work):
        self.kernlens, self.work = kernlens, work
        self.calls = os.path.join(os.path.dirname(kernlens), "tests/cli/strace-calls")
        self.place = os.path.join(work, "place")
        self.environment = {"PATH": os.environ["PATH"], "HOME": work, "LC_ALL": "C",
                            "TERM": "xterm", "TZ": "UTC"}

    def run(self, tracer, name):
        command, prepare = programs.PROGRAMS[name]
        shutil.rmtree(self.place, ignore_errors=True)
        os.makedirs(self.place)
        subprocess.run(["sh", "-ec", prepare], cwd=self.place, env=self.environment, check=True,
                       stdout=subprocess.DEVNULL)
        # The shell is replaced by the program, without a process of its own.
        words = tracer + ["--"] + shell_words(command.replace("$CALLS", self.calls))
        subprocess.run(words, cwd=self.place, env=self.environment, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=TIMEOUT,
                       check=False)

    def strace(self, name):
        out = os.path.join(self.work, "strace.out")
        self.run(["strace", "-f", "-o", out], name)
        with open(out, errors="replace") as file:
            return file.read()

    def ours(self, name):
        trace = os.path.join(self.work, "trace")
        self.run([self.kernlens, "record", "-q", "--force", "--no-dump", "--strace", "-o", trace],
                 name)
        return subprocess.run([self.kernlens, "print", "--format", "strace", trace], check=True,
                              env=self.environment, stdout=subprocess.PIPE, errors="replace",
                              encoding="utf-8").stdout


def shell_words(command):
    words = subprocess.run(["sh", "-fc", f"printf '%s\\0' {command}"], check=True,
                           stdout=subprocess.PIPE).stdout
    return words.decode().split("\0")[:-1]


def processes(text):
    """Returns [[line]], by process in the order of creation, with what must not differ replaced."""
    lines, open_ = collections.defaultdict(list), {}
    for line in text.splitlines():
        found = LINE.match(line)
        if not found:
            lines[0].append(line)
            continue
        pid, rest = int(found.group(1)), found.group(2)
        if rest.endswith(UNFINISHED):
            open_[pid] = rest[:-len(UNFINISHED)]
            continue
        resumed = RESUMED.match(rest)
        if resumed and pid in open_:
            rest = open_.pop(pid) + rest[resumed.end():]
        lines[pid].append(rest)
    for pid, rest in open_.items():
        lines[pid].append(rest + UNFINISHED)
    order = {str(pid): f"P{index}" for index, pid in enumerate(sorted(lines))}
    number = re.compile(r"(?<![\w.])(" + "|".join(order) + r")(?![\w.])")
    return [[normalize(number.sub(lambda found: order[found.group(1)], line))
             for line in lines[pid]] for pid in sorted(lines)]


def normalize(line):
    for pattern, text in EQUAL:
        line = pattern.sub(text, line)
    return line


def compare(theirs, ours):
    """Returns (equal lines, lines of the longer one, differences)."""
    equal = total = 0
    different = []
    for index in range(max(len(theirs), len(ours))):
        left = theirs[index] if index < len(theirs) else []
        right = ours[index] if index < len(ours) else []
        total += max(len(left), len(right))
        matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
        for kind, begin, end, other, last in matcher.get_opcodes():
            if kind == "equal":
                equal += end - begin
                continue
            different += [f"P{index} strace   {line}" for line in left[begin:end]]
            different += [f"P{index} kernlens {line}" for line in right[other:last]]
    return equal, total, different


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("--minimum", type=float, default=95)
    parser.add_argument("kernlens")
    parser.add_argument("program", nargs="*")
    options = parser.parse_args()
    work = os.path.join("/tmp", f"strace-{os.getpid()}")
    os.makedirs(work)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=False)
    # Sizes are smaller, so that they are not taken for process ids.
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write("30000")
    runs, failed = Runs(os.path.abspath(options.kernlens), work), 0
    os.makedirs(runs.place)
    serve(runs.place)
    names = options.program or list(programs.PROGRAMS)
    for number, name in enumerate(names, 1):
        # The tasks of a program may be scheduled differently: then a second try counts.
        for _ in range(2):
            theirs, ours = processes(runs.strace(name)), processes(runs.ours(name))
            equal, total, different = compare(theirs, ours)
            share = 100 * equal / max(total, 1)
            if share >= options.minimum:
                break
        note = ""
        if options.twice:
            again = compare(theirs, processes(runs.strace(name)))
            note = f"; strace and strace {100 * again[0] / max(again[1], 1):.1f} %"
        good = share >= options.minimum and total > 10
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {name}: {equal} of {total} lines equal "
              f"strace's ({share:.1f} %){note}", flush=True)
        if options.show or not good:
            for line in different[:400 if options.show else 20]:
                print(f"# {line}")
    print(f"1..{len(names)}")
    shutil.rmtree(work, ignore_errors=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
