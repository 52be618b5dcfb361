#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Fuzzes the mailbox.
"""
fuzz.py KERNLENS SECONDS SEED: in a guest with the mailbox on and the module kl_memory: puts changed
requests into the mailbox, and writes TAP lines. Each gets an answer; at the end, no session is left.
"""
import json
import os
import random
import struct
import subprocess
import sys
import time

sys.path.append("gdb")
import kernlens_mailbox  # noqa: E402
import kernlens_pages  # noqa: E402

KERNLENS, SECONDS, SEED = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
REQUEST = "/tmp/request"
NUMBERS = (0, 1, 2, 3, 7, 8, 15, 16, 24, 31, 48, 63, 64, 65, 71, 72, 73, 127, 128, 255, 256, 4095, 4096, 65535, 65536)
LARGE = tuple(2**n + d for n in (16, 31, 32) for d in (-8, -1, 0, 1, 8))
HOOKS = (
    ["vfs_read"],
    ["vfs_read", "--address", "ffffffff81000000"],
    ["vfs_read:ret", "--if", "ret < 0"],
    ["vfs_write", "--if", 'pid > 1 && comm == "cat"', "--do", "count by comm, pid"],
    ["consume_skb", "--do", "stack"],
    ["filp_close", "--do", "hist(pid) by comm"],
    ["do_sys_openat2", "--do", "alarm(\"opened\")"],
    ["wake_up_process", "--do", "freeze"],
    ["vfs_open", "--buffer", "64K", "--name", "x" * 31],
)

memory = os.open("/dev/kl_memory", os.O_RDWR)


def read(address, size):
    """Physical memory, or None."""
    try:
        return os.pread(memory, size, address)
    except OSError:
        return None


def write(address, data):
    """Change physical memory; the device takes a page at a time."""
    for at in range(0, len(data), 2048):
        os.pwrite(memory, data[at : at + 2048], address + at)


def make(words):
    """A valid request."""
    subprocess.run([KERNLENS, "mailbox", "--no-config", "-o", REQUEST, *words], check=True)
    with open(REQUEST, "rb") as file:
        return file.read()


def number(source):
    """One that may be at a limit."""
    kind = source.randrange(8)
    if kind == 0:
        return source.getrandbits(32)
    return source.choice(LARGE) if kind == 1 else source.choice(NUMBERS)


def change(source, request):
    """A changed request, whose stated size is mostly right."""
    data = bytearray(request)
    for _ in range(source.choice((1, 1, 1, 2, 3, 8))):
        kind = source.randrange(6)
        at = source.randrange(len(data))
        if kind == 0:
            data[at] ^= 1 << source.randrange(8)
        elif kind <= 2 and len(data) >= 8:
            # Heads and structs consist of words.
            at = min(at & ~3, len(data) - 4)
            if source.randrange(3) == 0:
                at = source.randrange(0, min(72, len(data) - 4), 4)
            struct.pack_into("<I", data, at, number(source) & 0xFFFFFFFF)
        elif kind == 3:
            length = source.randrange(1, 64)
            to = source.randrange(len(data))
            data[to : to + length] = data[at : at + length]
        elif kind == 4:
            del data[at : at + 8 * source.randrange(1, 8)]
        else:
            data[at:at] = data[at : at + 8 * source.randrange(1, 8)]
        data = data[:65536] or bytearray(8)
    if len(data) >= 20 and source.randrange(8):
        struct.pack_into("<I", data, 16, len(data))
    return bytes(data)


class Guest:
    """The mailbox of this machine."""

    def __init__(self):
        with open("/sys/module/kl_memory/parameters/root") as file:
            tables = kernlens_pages.Tables(read, int(file.read()), 4)
        self.anchor = kernlens_pages.find_by_module(tables)

    def carry_out(self, request):
        """The answer to a request."""
        machine = kernlens_pages.Machine(read, self.anchor)
        box = kernlens_mailbox.Mailbox(machine, write)
        wanted = box.put(request)
        end = time.monotonic() + 60
        while True:
            box = kernlens_mailbox.Mailbox(machine, write)
            if box.answered == wanted:
                return box.answer()
            if time.monotonic() > end:
                raise RuntimeError("request %d has no answer" % wanted)
            time.sleep(0.002)


def sessions():
    """How many there are."""
    status = subprocess.run([KERNLENS, "status", "--json"], check=True, capture_output=True)
    return len(json.loads(status.stdout)["sessions"])


def main():
    """All of it."""
    source = random.Random(SEED)
    guest = Guest()
    print("# seed %d" % SEED)
    hooks = [make(["hook", *words]) for words in HOOKS]
    unhook = make(["unhook"])
    kinds = hooks + [unhook, make(["unhook", "3"]), make(["use", "1", "RNOTHING"])]
    answers = [guest.carry_out(request) for request in hooks]
    refused = [a for a in answers if a.error]
    # The second is an address in no function.
    ok = len(refused) == 1 and "is not the start of a function" in refused[0].text
    print("%s 1 - valid requests are carried out" % ("ok" if ok else "not ok"))
    for answer in answers if not ok else ():
        print("# %s" % kernlens_mailbox.describe(answer))
    done = failed = silent = 0
    reasons = {}
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        answer = guest.carry_out(change(source, source.choice(kinds)))
        if answer.error:
            failed += 1
            silent += not answer.text
            reason = "".join(c for c in answer.text if not c.isdigit())[:40]
            reasons[reason] = reasons.get(reason, 0) + 1
        else:
            done += 1
        if done % 20 == 19:
            guest.carry_out(unhook)
            done += 1
    print("# %d changed requests were carried out, %d refused, for %d reasons" % (done, failed, len(reasons)))
    for reason, n in sorted(reasons.items(), key=lambda item: -item[1])[:12]:
        print("#   %5d %s" % (n, reason))
    print("%s 2 - changed requests are carried out or refused" % ("ok" if done and failed else "not ok"))
    print("%s 3 - refusals have reasons" % ("not ok" if silent else "ok"))
    print("%s 4 - the reasons are of many kinds" % ("ok" if len(reasons) >= 10 else "not ok"))
    answer = guest.carry_out(make(["hook", "vfs_read"]))
    print("%s 5 - a valid request is still carried out" % ("not ok" if answer.error else "ok"))
    guest.carry_out(unhook)
    left = sessions()
    print("%s 6 - no session is left" % ("not ok" if left else "ok"))
    print("1..6")
    sys.exit(0)


main()
