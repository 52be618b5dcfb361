# SPDX-License-Identifier: GPL-2.0
# The module's pages, from outside.
"""
Finds the pages of uapi/crash.h in the memory of a stopped x86-64 machine, and copies what they lead
to into an ELF core for `kernlens extract`, which does all checking and decoding. Knows nothing of
the debugger: it gets a function that reads physical memory. docs/design/debugger.md has the rules.
"""
import collections
import os
import struct

PAGE = 4096
VERSION = 3
ADDRESS_MAX = 1 << 52
ANCHOR, SESSION, PIECES, REGION, MAILBOX = 1, 2, 3, 4, 5

# Offsets in the structs of uapi/crash.h.
HEAD_BYTES = 88
ANCHOR_SESSIONS, ANCHOR_SESSIONS_MAX = 448, 440
ANCHOR_RELEASE, ANCHOR_TEXT_BYTES = 168, 72
ANCHOR_MAILBOX = ANCHOR_SESSIONS + 8 * ANCHOR_SESSIONS_MAX
SESSION_ID, SESSION_NAME, SESSION_NAME_BYTES, SESSION_LINKS = 120, 144, 32, 192
PIECES_STRIDE, PIECES_WORDS = 92, 104
REGION_N, REGION_WORDS = 108, 136
NEXT = 96

# Bits of an entry of a page table.
PRESENT, WRITABLE, HUGE, NX = 1 << 0, 1 << 1, 1 << 7, 1 << 63
FRAME = ADDRESS_MAX - PAGE
# Write-through, uncached, and the third bit that selects a memory type, in small and large pages:
# all are 0 for memory, and not for devices, which must not be read.
TYPE_SMALL, TYPE_HUGE = 1 << 3 | 1 << 4 | 1 << 7, 1 << 3 | 1 << 4 | 1 << 12

# Modules are in this range, whatever the kernel's own random address.
MODULES, MODULES_END = 0xFFFFFFFFA0000000, 0xFFFFFFFFFF000000
KERNEL_HALF = 1 << 63

Head = collections.namedtuple("Head", "address anchor load uuid kind version")
Session = collections.namedtuple("Session", "id name page")


class Failure(Exception):
    """What cannot be done, in words for the user."""


def magic():
    """The bytes that each page begins with: kl_crash_magic()."""
    mask = (1 << 64) - 1
    seed = 0x1F83D9ABFB41BD6B
    first = (seed ^ seed >> 29) * 0x9FB21C651E98DF25 & mask
    second = (first ^ first >> 31) * 0xD6E8FEB86659FD93 & mask
    return struct.pack("<QQ", first, second)


MAGIC = magic()


def words(page, offset=0, count=None):
    """64-bit words of a page."""
    return struct.unpack_from("<%dQ" % (count or (len(page) - offset) // 8), page, offset)


def word32(page, offset):
    """A 32-bit word of a page."""
    return struct.unpack_from("<I", page, offset)[0]


def text(page, offset, size):
    """A text of a page, without control characters."""
    raw = page[offset : offset + size].split(b"\0")[0].decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "?" for c in raw)


def head_of(page):
    """The head of a page, or None if it does not begin with the magic."""
    if page is None or page[:16] != MAGIC:
        return None
    address, anchor = words(page, 16, 2)
    return Head(address, anchor, page[32:48], page[48:64], word32(page, 64), word32(page, 68))


# ------------------------------------------------------------------- page tables


class Tables:
    """
    The page tables that begin at a physical address.

    read: READ(ADDRESS, BYTES) returns bytes of physical memory, or None
    """

    def __init__(self, read, root, levels):
        self.read = read
        self.root = root
        self.levels = levels
        self.tables = {}

    def table(self, address):
        """The 512 entries of a table, which is read once."""
        if address not in self.tables:
            page = self.read(address, PAGE)
            self.tables[address] = words(page) if page else (0,) * 512
        return self.tables[address]

    def translate(self, virtual):
        """The physical address of memory, or None: not mapped, or a device."""
        at, level = self.root, self.levels
        while True:
            level -= 1
            size = PAGE << 9 * level
            entry = self.table(at)[virtual // size % 512]
            if not entry & PRESENT:
                return None
            if level == 0 or (level < 3 and entry & HUGE):
                if entry & (TYPE_HUGE if level else TYPE_SMALL):
                    return None
                return (entry & FRAME & -size) + virtual % size
            at = entry & FRAME

    def leaves(self, first, end, at=None, level=None, base=None):
        """Yield (virtual, physical, bytes, entry) of mapped memory from FIRST to END."""
        if at is None:
            at, level = self.root, self.levels
            # Addresses are sign-extended: the upper half begins in the middle of the first table.
            base = -(PAGE << 9 * level) % (1 << 64)
        level -= 1
        size = PAGE << 9 * level
        for i, entry in enumerate(self.table(at)):
            virtual = base + i * size
            if virtual + size <= first or virtual >= end or not entry & PRESENT:
                continue
            if level and not (level < 3 and entry & HUGE):
                yield from self.leaves(first, end, entry & FRAME, level, virtual)
            elif not entry & (TYPE_HUGE if level else TYPE_SMALL):
                yield virtual, entry & FRAME & -size, size, entry


def is_kernel_copy(read, user, kernel):
    """Are these the two first tables of a process with page table isolation?"""
    one, other = read(user, PAGE // 2), read(kernel, PAGE // 2)
    if one is None or other is None:
        return False
    # The kernel's has the lower half, too, where nothing may be executed.
    return all(a & ~NX == b & ~NX for a, b in zip(words(one), words(other)))


def tables_of(read, cr3, cr4):
    """Page tables to search, by the registers of a CPU: in user space there may be two sets."""
    levels = 5 if cr4 & 1 << 12 else 4
    root = cr3 & FRAME
    if not root:
        return
    yield Tables(read, root, levels)
    if root & PAGE and is_kernel_copy(read, root, root - PAGE):
        yield Tables(read, root - PAGE, levels)


# ------------------------------------------------------------------- the anchor


def anchor_at(read, address):
    """The page at this address, if it is an anchor, or None."""
    if address % PAGE or address >= ADDRESS_MAX or read(address, 16) != MAGIC:
        return None
    page = read(address, PAGE)
    head = head_of(page)
    if not head or head.kind != ANCHOR or head.address != address:
        return None
    if head.version != VERSION:
        raise Failure(
            "the module has version %d of its pages, this script has version %d: install the same "
            "release of both" % (head.version, VERSION)
        )
    return page


def find_by_module(tables):
    """
    The anchor's address, or None.

    The module keeps a pointer to it. Pointers to whole pages are rare in the data of modules, so
    following each takes a moment, and needs no symbols.
    """
    seen = set()
    for _, physical, size, entry in tables.leaves(MODULES, MODULES_END):
        if size != PAGE or not entry & WRITABLE or not entry & NX:
            continue
        page = tables.read(physical, PAGE)
        for word in words(page) if page else ():
            if word % PAGE or not KERNEL_HALF <= word < MODULES or word in seen:
                continue
            seen.add(word)
            address = tables.translate(word)
            if address is not None and anchor_at(tables.read, address):
                return address
    return None


def find_by_search(tables, progress=None):
    """The anchor's address, or None: look at the first bytes of each page that the kernel maps."""
    seen = set()
    for _, physical, size, _ in tables.leaves(KERNEL_HALF, MODULES):
        for address in range(physical, physical + size, PAGE):
            if address in seen:
                continue
            seen.add(address)
            if progress and len(seen) % 65536 == 0:
                progress(len(seen) * PAGE)
            if anchor_at(tables.read, address):
                return address
    return None


# ------------------------------------------------------------------- sessions


class Machine:
    """
    The pages of the module, from its anchor on. Each object reads anew.

    pages: their contents, by physical address
    """

    def __init__(self, read, address):
        self.read = read
        self.pages = {}
        page = anchor_at(read, address)
        if not page:
            raise Failure("there is no page of the kernlens module at 0x%x" % address)
        self.pages[address] = page
        self.anchor = head_of(page)
        self.release = text(page, ANCHOR_RELEASE, ANCHOR_TEXT_BYTES)
        self.mailbox = words(page, ANCHOR_MAILBOX, 1)[0]
        self.sessions = []
        for link in words(page, ANCHOR_SESSIONS, ANCHOR_SESSIONS_MAX):
            found = self.add(link, SESSION)
            if found:
                name = text(found, SESSION_NAME, SESSION_NAME_BYTES)
                self.sessions.append(Session(word32(found, SESSION_ID), name, found))
        self.sessions.sort()

    def add(self, address, kind):
        """Copy a page that a link leads to, and return it; None if it is not of this kind."""
        if not address or address in self.pages:
            return None
        page = self.read(address, PAGE) if address < ADDRESS_MAX else None
        head = head_of(page)
        # What is there instead is damage, which extraction reports.
        if not head or head.kind != kind or head.load != self.anchor.load:
            return None
        self.pages[address] = page
        return page

    def chain(self, address, kind):
        """Copy the pages of a chain, and yield them."""
        page = self.add(address, kind)
        while page:
            yield page
            page = self.add(words(page, NEXT, 1)[0], kind)

    def add_memory(self, addresses):
        """Copy the pages of a session's memory."""
        for address in addresses:
            address -= address % PAGE
            if address and address < ADDRESS_MAX and address not in self.pages:
                page = self.read(address, PAGE)
                if page:
                    self.pages[address] = page

    def add_session(self, session):
        """Copy everything that a session's page leads to."""
        pieces, *regions = words(session.page, SESSION_LINKS, 5)
        for page in self.chain(pieces, PIECES):
            stride = word32(page, PIECES_STRIDE)
            slots = words(page, PIECES_WORDS)
            if not 2 <= stride <= len(slots):
                continue
            for at in range(0, len(slots) - stride + 1, stride):
                if slots[at]:
                    self.add_memory(slots[at + 1 : at + stride])
        for region in regions:
            for page in self.chain(region, REGION):
                n = min(word32(page, REGION_N), (PAGE - REGION_WORDS) // 8)
                if n:
                    self.add_memory(words(page, REGION_WORDS, n))

    def find(self, name):
        """The session with this name or number; without a name, the only one."""
        found = [s for s in self.sessions if name is None or name in (s.name, str(s.id))]
        if not self.sessions:
            raise Failure("there is no session")
        if not found:
            raise Failure("no session is called %s; `kernlens sessions` lists them" % name)
        if len(found) > 1:
            raise Failure(
                "which session? There are %s: choose one with -s"
                % ", ".join("%s (%d)" % (s.name, s.id) for s in found)
            )
        return found[0]

    def write(self, path):
        """Write the copied pages to an ELF core."""
        write_core(path, self.pages)


def write_core(path, pages):
    """Write pages, by physical address, to an ELF core."""
    runs = []
    for address in sorted(pages):
        if runs and runs[-1][0] + runs[-1][1] == address:
            runs[-1][1] += PAGE
        else:
            runs.append([address, PAGE])
    # A number of program headers that does not fit is in the first section header.
    many = len(runs) >= 0xFFFF
    data = 64 + 64 + 56 * len(runs)
    data += -data % PAGE
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", ident, 4, 62, 1, 0, 128, 64, 0, 64, 56, 0xFFFF if many else len(runs), 64, 1, 0
    )
    section = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, len(runs) if many else 0, 0, 0)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(header + section)
        at = data
        for address, size in runs:
            file.write(struct.pack("<IIQQQQQQ", 1, 4, at, 0, address, size, size, PAGE))
            at += size
        file.write(b"\0" * (data - file.tell()))
        for address in sorted(pages):
            file.write(pages[address])
