# SPDX-License-Identifier: GPL-2.0
# Helpers for drgn.
"""
drgn helpers for the sessions of the kernlens module, in a core or the running kernel. Symbols are not
needed. As with the gdb commands, `kernlens extract` does all checking and decoding.

    import sys; sys.path.append("/usr/share/kernlens/gdb")
    import kernlens_drgn
    kernlens_drgn.sessions(prog)
    for event in kernlens_drgn.events(prog, "flight", ["-e", "sched_switch"]): ...
    kernlens_drgn.print_events(prog, "flight")
"""
import json
import os
import re
import subprocess
import sys
import tempfile

from drgn import FaultError

import kernlens_pages as pages

KERNEL_MAP = 0xFFFFFFFF80000000
HOLE, HOLE_MAX = 1 << 21, 1 << 40


def reader(prog):
    """Function that reads physical memory."""

    def read(address, size):
        try:
            return prog.read(address, size, True)
        except (FaultError, ValueError):
            return None

    return read


def tables(prog):
    """The kernel's page tables, or None: old versions of drgn need debug information for them."""
    try:
        info = prog["VMCOREINFO"].string_().decode()
    except KeyError:
        return None

    def number(name, base=10):
        match = re.search(r"^%s=(-?\w+)$" % re.escape(name), info, re.M)
        return int(match.group(1), base) if match else 0

    root = number("SYMBOL(swapper_pg_dir)", 16) - KERNEL_MAP + number("NUMBER(phys_base)")
    return pages.Tables(reader(prog), root, 5 if number("NUMBER(pgtable_l5_enabled)") else 4)


def find_by_scan(read):
    """
    The anchor's address, or None: look at all memory, without knowing where there is any.

    After a hole of HOLE bytes, only addresses that are a multiple of it are tried. The search ends
    after a hole of HOLE_MAX bytes.
    """
    address = missing = 0
    while missing < HOLE_MAX:
        first = read(address, 16)
        missing = 0 if first is not None else missing + pages.PAGE
        if first == pages.MAGIC and pages.anchor_at(read, address):
            return address
        address += pages.PAGE
        if missing >= HOLE and address % HOLE:
            missing += HOLE - address % HOLE
            address += HOLE - address % HOLE
    return None


def machine(prog):
    """The module's pages: a kernlens_pages.Machine."""
    read, found = reader(prog), None
    of_kernel = tables(prog)
    if of_kernel:
        found = pages.find_by_module(of_kernel)
    if found is None:
        found = find_by_scan(read)
    if found is None:
        raise pages.Failure("the memory has nothing of the kernlens module")
    return pages.Machine(read, found)


def sessions(prog):
    """The sessions: tuples with `id` and `name`."""
    return machine(prog).sessions


def lines(prog, session, arguments, command):
    """Yield what `kernlens print` writes."""
    found = machine(prog)
    chosen = found.find(session)
    found.add_session(chosen)
    with tempfile.TemporaryDirectory(prefix="kernlens-") as folder:
        core, traces = os.path.join(folder, "core"), os.path.join(folder, "traces")
        found.write(core)
        subprocess.run(
            [command, "extract", "--no-config", core, "-o", traces, "--session", str(chosen.id)],
            check=True,
        )
        trace = os.path.join(traces, os.listdir(traces)[0])
        words = [command, "print", "--no-config", "--no-pager", "--color", "never", trace]
        with subprocess.Popen(words + list(arguments), stdout=subprocess.PIPE, text=True) as child:
            yield from child.stdout
        if child.returncode:
            raise subprocess.CalledProcessError(child.returncode, words)


def events(prog, session=None, arguments=(), command="kernlens"):
    """
    Yield the records of a session as dictionaries, as `kernlens print --format json` writes them.

    session: its name or number; None: the only one
    arguments: more of `kernlens print`
    command: the kernlens command
    """
    for line in lines(prog, session, ["--format", "json", *arguments], command):
        yield json.loads(line)


def print_events(prog, session=None, arguments=(), command="kernlens", file=None):
    """Print the records of a session, as `kernlens print` does."""
    for line in lines(prog, session, arguments, command):
        (file or sys.stdout).write(line)
