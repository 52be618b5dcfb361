#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# dump.py SOCKET FILE RUNS STATE KIND PID: waits until the guest has crashed, writes its memory to FILE
# over QMP, and compressed to FILE.FORMAT, and ends the emulator. RUNS is the folder of the logs of vm/run, which is process PID; STATE
# is the file in which the guest says how far it has come.
import glob
import json
import os
import socket
import sys
import time


# Compressed: in pieces for a pipe, and as a file.
FORMATS = ("kdump-zlib", "kdump-raw-zlib")


def read(pattern):
    texts = []
    for path in glob.glob(pattern):
        with open(path, errors="replace") as file:
            texts.append(file.read())
    return "".join(texts)


def has_crashed(runs, state, kind):
    if kind in ("ended", "unloaded"):
        return read(state) == "waiting\n"
    if kind == "hang":
        # It says nothing any more.
        return os.path.exists(state) and time.time() - os.stat(state).st_mtime > 5
    return "end Kernel panic" in read(f"{runs}/run-*/console.log")


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def connect(path, pid):
    while True:
        try:
            qmp = socket.socket(socket.AF_UNIX)
            qmp.connect(path)
            return qmp.makefile("rw", encoding="utf-8")
        except OSError:
            if not is_running(pid):
                raise
            time.sleep(0.2)


def call(qmp, command, **arguments):
    qmp.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
    qmp.flush()
    for line in qmp:
        answer = json.loads(line)
        if "error" in answer:
            sys.exit(f"dump.py: {command}: {answer['error']}")
        if "return" in answer:
            return answer["return"]
    return None


def main():
    path, file, runs, state, kind, pid = sys.argv[1:]
    qmp = connect(path, pid)
    json.loads(qmp.readline())
    call(qmp, "qmp_capabilities")
    while not has_crashed(runs, state, kind):
        if not is_running(pid):
            sys.exit("dump.py: the guest ended before it crashed")
        time.sleep(0.2)
    call(qmp, "stop")
    call(qmp, "dump-guest-memory", paging=False, protocol=f"file:{file}")
    for form in FORMATS:
        call(qmp, "dump-guest-memory", paging=False, protocol=f"file:{file}.{form}", format=form)
    call(qmp, "quit")


main()
