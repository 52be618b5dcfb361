#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# nmi.py SOCKET FILE [PER_SECOND]: sends NMIs to a virtual machine over its QMP socket while FILE
# exists. Prints how many once FILE or the machine is gone.
import json
import os
import socket
import sys
import time


def main():
    path, ready = sys.argv[1], sys.argv[2]
    pause = 1 / float(sys.argv[3] if len(sys.argv) > 3 else 20)
    sent = 0
    while not os.path.exists(ready):
        time.sleep(0.2)
    with socket.socket(socket.AF_UNIX) as machine:
        machine.connect(path)
        lines = machine.makefile("rw")
        lines.readline()
        try:
            for command in iter(lambda: "inject-nmi" if sent else "qmp_capabilities", None):
                if not os.path.exists(ready):
                    break
                lines.write(json.dumps({"execute": command}) + "\n")
                lines.flush()
                while "return" not in json.loads(lines.readline()):
                    pass
                sent += 1
                time.sleep(pause)
        except (OSError, ValueError):
            pass
    print(f"# {max(sent - 1, 0)} NMIs")


main()
