#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# qmp.py SOCKET COMMAND: makes one call without arguments of QEMU.
import json
import socket
import sys


def main():
    path, command = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as qmp:
        qmp.connect(path)
        lines = qmp.makefile("rw", encoding="utf-8")
        lines.readline()
        for name in ("qmp_capabilities", command):
            lines.write(json.dumps({"execute": name}) + "\n")
            lines.flush()
            answer = {}
            while "return" not in answer and "error" not in answer:
                answer = json.loads(lines.readline())
            if "error" in answer:
                sys.exit(f"qmp.py: {name}: {answer['error']}")


main()
