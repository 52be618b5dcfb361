# SPDX-License-Identifier: GPL-2.0
# The stopped machine that gdb is connected to.
"""
Reads the memory of gdb's target by physical addresses: QEMU's stub can do that; of other stubs the
user gives an address of the kernel's mapping of all memory. Remembers where the module's pages are.
"""
import contextlib

import gdb

import kernlens_pages as pages


def read_memory(address, size):
    """Bytes of the target's memory, or None."""
    try:
        return bytes(gdb.selected_inferior().read_memory(address, size))
    except gdb.error:
        return None


def register(name):
    """A register of the selected CPU, or None if the target does not have it."""
    frame = gdb.newest_frame()
    try:
        return int(frame.read_register(name).cast(frame.architecture().integer_type(64, False)))
    except (gdb.error, ValueError):
        return None


@contextlib.contextmanager
def physical_memory(connection):
    """Until the end, addresses are physical; yields whether the target can do that."""
    before = connection.send_packet("qqemu.PhyMemMode")
    if before not in (b"0", b"1") or connection.send_packet("Qqemu.PhyMemMode:1") != b"OK":
        yield False
        return
    try:
        yield True
    finally:
        connection.send_packet(b"Qqemu.PhyMemMode:" + before)


@contextlib.contextmanager
def kept_selection():
    """Until the end, other CPUs may be selected."""
    thread = gdb.selected_thread()
    try:
        yield
    finally:
        thread.switch()


class Attached:
    """
    Where the module's pages are.

    address: of the anchor, physical
    base: virtual address of physical memory, if only virtual memory can be read
    """

    def __init__(self, address, base=None):
        self.address = address
        self.base = base


# By number of the connection.
attached = {}


def note(words):
    """Print a line about what is done."""
    gdb.write("kernlens: %s\n" % words)


def stopped_connection():
    """The connection to the machine, which must be stopped."""
    inferior = gdb.selected_inferior()
    connection = inferior.connection
    if not connection or not gdb.selected_thread():
        raise pages.Failure("there is no machine: use `target remote` or `target core` first")
    if any(thread.is_running() for thread in inferior.threads()):
        raise pages.Failure("the machine is running: stop it first (interrupt, or Ctrl-C)")
    if connection.type not in ("remote", "extended-remote", "core"):
        raise pages.Failure("a target of type %s is not a machine" % connection.type)
    return connection


def all_tables():
    """Page tables to search: those of each CPU."""
    seen = set()
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        cr3, cr4 = register("cr3"), register("cr4")
        if cr3 is None or cr4 is None or cr3 in seen:
            continue
        seen.add(cr3)
        yield from pages.tables_of(read_memory, cr3, cr4)


def find_anchor(everywhere):
    """The physical address of the anchor. Memory is read by physical addresses."""
    found = None
    with kept_selection():
        for tables in all_tables():
            if everywhere:
                found = pages.find_by_search(tables, lambda n: note("searched %d MiB" % (n >> 20)))
            else:
                found = pages.find_by_module(tables)
            if found is not None:
                break
    if found is None and everywhere:
        raise pages.Failure("the memory has nothing of the kernlens module")
    if found is None:
        raise pages.Failure(
            "the kernlens module is not loaded, or its data are damaged: `kernlens attach search` "
            "searches all memory, about 13 s for each GiB"
        )
    return Attached(found)


def attach_virtual(address):
    """Attach to an anchor by its virtual address; other pages are at the same distance."""
    head = pages.head_of(read_memory(address, pages.PAGE))
    if not head or head.kind != pages.ANCHOR:
        raise pages.Failure("there is no page of the kernlens module at 0x%x" % address)
    return Attached(head.address, address - head.address)


@contextlib.contextmanager
def machine_memory(connection):
    """Yields (the anchor's address, function that reads physical memory)."""
    at = attached.get(connection.num)
    if at and at.base is not None:
        yield at.address, lambda address, size: read_memory(at.base + address, size)
        return
    with physical_memory(connection) as is_physical:
        if not is_physical:
            raise pages.Failure(
                "this target reads only virtual addresses: `kernlens attach ADDRESS` needs that of "
                "the module's variable `anchor`"
            )
        # The module may have been loaded again since.
        if not at or not pages.anchor_at(read_memory, at.address):
            at = attached[connection.num] = find_anchor(False)
        yield at.address, read_memory
