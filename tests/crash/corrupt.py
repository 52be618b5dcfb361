#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# corrupt.py KERNLENS MEMORY WORK: damages copies of the reserved memory of a machine that was reset, and
# extracts each. The command never crashes; where it finds fewer records than without the damage, or other
# sessions, it says what is damaged. Prints TAP lines.
import json
import os
import random
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

PAGE = 4096
ROUNDS = 60
SEED = 20261130
tap = Tap()


def extract(kernlens, path, folder):
    shutil.rmtree(folder, ignore_errors=True)
    run = subprocess.run([kernlens, "extract", path, "-o", folder, "--json", "--no-config"],
                         capture_output=True, text=True, check=False, timeout=120)
    records = sum(s["records"] for s in json.loads(run.stdout)) if run.returncode == 0 else 0
    return run, records


def head_pages(data):
    """Pages of the module: those that say their own address."""
    base = struct.unpack_from("<Q", data, 64 + 24)[0]
    return [at for at in range(PAGE, len(data), PAGE)
            if struct.unpack_from("<Q", data, at + 16)[0] == base + at - PAGE]


def flip(data, where, n):
    for _ in range(n):
        data[random.choice(where) + random.randrange(PAGE)] ^= 1 << random.randrange(8)


def zero(data, where, n):
    """As lines of a cache that were not written back."""
    for _ in range(n):
        at = random.choice(where) + 64 * random.randrange(PAGE // 64)
        data[at:at + 64] = bytes(64)


def clear_pages(data, where, n):
    for at in random.sample(where, min(n, len(where))):
        data[at:at + PAGE] = bytes(PAGE)


def swap_pages(data, where, n):
    for _ in range(n):
        a, b = random.choice(where), random.choice(where)
        data[a:a + PAGE], data[b:b + PAGE] = data[b:b + PAGE], data[a:a + PAGE]


def main():
    kernlens, memory, work = sys.argv[1:]
    random.seed(SEED)
    os.makedirs(work, exist_ok=True)
    with open(memory, "rb") as file:
        whole = file.read()
    run, records = extract(kernlens, memory, f"{work}/traces")
    before = set(run.stderr.splitlines())
    tap.good(f"without damage, {records} records", run.returncode == 0 and records > 1000)
    # A processor may have been in the middle of a record.
    tap.same("nothing is damaged, but for what was being written",
             [line for line in before if "it was being written" not in line], [])
    every = list(range(PAGE, len(whole), PAGE))
    heads = head_pages(whole)
    tap.good(f"{len(heads)} pages of the module", len(heads) >= 5)
    died, silent, reported, failed = [], [], 0, 0
    for number in range(ROUNDS):
        data = bytearray(whole)
        damage = (flip, zero, clear_pages, swap_pages)[number % 4]
        in_heads = number // 4 % 2
        damage(data, heads if in_heads else every, 1 << random.randrange(3 if in_heads else 10))
        with open(f"{work}/memory", "wb") as file:
            file.write(data)
        run, got = extract(kernlens, f"{work}/memory", f"{work}/traces")
        name = f"{number} ({damage.__name__})"
        failed += run.returncode == 1
        says = set(run.stderr.splitlines()) - before
        reported += bool(says)
        if run.returncode not in (0, 1):
            died.append(f"{name}: {run.returncode} {run.stderr[-200:]}")
        elif got < records and not says and not (run.returncode and "message" in json.loads(run.stdout)):
            silent.append(f"{name}: {got} of {records} records")
    tap.same(f"none of {ROUNDS} damaged copies kills it", died, [])
    tap.same("where records are missing, it says what is damaged", silent, [])
    tap.good(f"{reported} of them have damage that it names, {failed} nothing to extract",
             reported >= ROUNDS / 3)
    with open(f"{work}/memory", "wb") as file:
        file.write(whole[:len(whole) // 2])
    run, got = extract(kernlens, f"{work}/memory", f"{work}/traces")
    says = set(run.stderr.splitlines()) - before
    tap.good("of half of it, what is there, or why not",
             run.returncode == 0 and (got == records or says) or
             run.returncode == 1 and "message" in json.loads(run.stdout))
    sys.exit(tap.end())


main()
