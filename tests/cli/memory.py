# SPDX-License-Identifier: GPL-2.0
# A process with pages of all kinds, and what /proc says about them, for tests/cli/memory.sh.
"""memory.py scene FILE | grow FILE | compare MEMORY.JSON PID

scene: makes memory of all kinds, shares some of it with a child, prints both IDs, and waits.
grow: changes its memory each time the file FILE.N appears, and writes FILE.N.done.
compare: `kernlens memory PID --json --pages` of a process that does not run, with its pagemap, and
copies of smaps, kpagecount and kpageflags in proc.NAME. Prints TAP lines.
"""

import ctypes
import json
import mmap
import os
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

PAGE = 4096
MADV_PAGEOUT = 21
MAP_HUGETLB = 0x40000
MAP_NORESERVE = 0x4000
ANON = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
libc = ctypes.CDLL(None, use_errno=True)


def anonymous(size, advice=None, flags=ANON, **options):
    memory = mmap.mmap(-1, size, flags=flags, **options)
    if advice is not None:
        memory.madvise(advice)
    return memory


def fill(memory, size=None, text=b"kernlens"):
    size = size or len(memory)
    memory[:size] = (text * (PAGE // len(text))) * (size // PAGE)


def wait_for(path, value, seconds=20):
    """A counter of the kernel reaches a value, or does not in this time."""
    until = time.time() + seconds
    while time.time() < until:
        with open(path, encoding="ascii") as file:
            if int(file.read()) >= value:
                return
        time.sleep(0.1)


def make_memory(path):
    """All kinds of pages. Returns what must stay."""
    keep = []
    plain = anonymous(4 << 20, mmap.MADV_NOHUGEPAGE)
    fill(plain, 3 << 20)
    huge = anonymous(8 << 20, mmap.MADV_HUGEPAGE)
    fill(huge)
    swapped = anonymous(2 << 20, mmap.MADV_NOHUGEPAGE)
    for page in range(len(swapped) // PAGE):
        swapped[page * PAGE : page * PAGE + 8] = struct.pack("Q", page)
    swapped.madvise(MADV_PAGEOUT)
    lazy = anonymous(1 << 20, mmap.MADV_NOHUGEPAGE)
    fill(lazy)
    lazy.madvise(mmap.MADV_FREE)
    zeros = anonymous(1 << 20, mmap.MADV_NOHUGEPAGE)
    for page in range(0, len(zeros) // PAGE, 2):
        assert not zeros[page * PAGE]
    locked = anonymous(1 << 20, mmap.MADV_NOHUGEPAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(locked))
    assert not libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(len(locked)))
    shared = anonymous(2 << 20, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    fill(shared, 1 << 20)
    reserved = anonymous(1 << 40, flags=ANON | MAP_NORESERVE, prot=mmap.PROT_READ)
    keep += [plain, huge, swapped, lazy, zeros, locked, shared, reserved]
    same = anonymous(256 * PAGE, mmap.MADV_NOHUGEPAGE)
    fill(same, text=b"the same")
    same.madvise(mmap.MADV_MERGEABLE)
    keep.append(same)
    with open(path, "wb") as file:
        file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
    with open(path, "r+b") as file:
        private = mmap.mmap(file.fileno(), 1 << 20, access=mmap.ACCESS_COPY)
        public = mmap.mmap(file.fileno(), 1 << 20)
    assert sum(private[::PAGE]) == sum(public[::PAGE])
    fill(private, 64 * PAGE)
    fill(public, 32 * PAGE)
    keep += [private, public]
    try:
        pages = anonymous(4 << 20, flags=ANON | MAP_HUGETLB)
        fill(pages)
        keep.append(pages)
    except OSError:
        print("# no hugetlb pages", flush=True)
    return keep


def scene(path):
    keep = make_memory(path)
    wait_for("/sys/kernel/mm/ksm/pages_sharing", 200)
    child = os.fork()
    if not child:
        # Some pages are no longer the parent's.
        fill(keep[0], 1 << 20, b"my child")
        while True:
            time.sleep(1000)
    time.sleep(0.5)
    print(os.getpid(), child, flush=True)
    while True:
        time.sleep(1000)


def grow(path):
    steps = {
        1: lambda: [memory.__setitem__(page * PAGE, 1) for page in range(2048)],
        2: lambda: memory.madvise(MADV_PAGEOUT, 0, 4 << 20),
        3: lambda: [memory[page * PAGE] for page in range(512)],
        4: lambda: memory.madvise(mmap.MADV_DONTNEED),
    }
    memory = anonymous(16 << 20, mmap.MADV_NOHUGEPAGE)
    print(os.getpid(), flush=True)
    for number, step in steps.items():
        while not os.path.exists(f"{path}.{number}"):
            time.sleep(0.01)
        step()
        with open(f"{path}.{number}.done", "w", encoding="ascii"):
            pass
    time.sleep(1000)


# ----------------------------------------------------------------- comparison

# Bits of /proc/kpageflags.
FLAGS = {
    "referenced": 2,
    "uptodate": 3,
    "dirty": 4,
    "lru": 5,
    "active": 6,
    "writeback": 8,
    "reclaim": 9,
    "anon": 12,
    "swapcache": 13,
    "swapbacked": 14,
    "hugetlb": 17,
    "unevictable": 18,
    "ksm": 21,
    "mlocked": 33,
}
TAIL = 16
SUMS = """rss pss shared_clean shared_dirty private_clean private_dirty referenced anonymous
lazyfree anonhugepages shmempmdmapped filepmdmapped shared_hugetlb private_hugetlb""".split()


def read_smaps():
    """By start: sums in kB, flags, and whether it is the clock's data, which newer kernels map as a page
    of all processes that have read the clock: kernlens did, too, and has ended."""
    found = {}
    with open("proc.smaps", encoding="utf-8", errors="replace") as file:
        for line in file:
            name, _, rest = line.partition(":")
            if "-" in name and rest and " " in name:
                now = found[int(line.split("-")[0], 16)] = {"clock": "[vvar" in line}
            elif name == "VmFlags":
                now["flags"] = rest.split()
            else:
                now[name.lower()] = int(rest.split()[0])
    return found


def words(file, index, number=1):
    file.seek(index * 8)
    return struct.unpack(f"{number}Q", file.read(8 * number))


def compare_sums(tap, document, smaps):
    wrong = []
    for mapping in document["mappings"]:
        theirs = smaps.get(mapping["start"], {})
        for name in SUMS:
            if name == "pss" and theirs.get("clock"):
                continue
            if mapping[name] // 1024 != theirs.get(name):
                wrong.append((hex(mapping["start"]), name, mapping[name], theirs.get(name)))
        # smaps adds what a file of shared memory has in swap, mapped or not.
        if "sh" not in theirs.get("flags", []) and mapping["swap"] // 1024 != theirs.get("swap"):
            wrong.append((hex(mapping["start"]), "swap", mapping["swap"], theirs.get("swap")))
        if theirs.get("ksm") is not None and document["ksm"].get(mapping["start"], 0) // 1024 != theirs["ksm"]:
            wrong.append((hex(mapping["start"]), "ksm", theirs["ksm"]))
    tap.same(f"{len(document['mappings'])} mappings: sums as in smaps", wrong, [])
    # The gate of the vsyscall page is the kernel's own.
    known = {at for at in smaps if at < 1 << 63}
    tap.same("the same mappings", {m["start"] for m in document["mappings"]} ^ known, set())
    for name in SUMS + ["swap"]:
        total = sum(m[name] for m in document["mappings"])
        if name == "pss":
            tap.good("sum of pss", abs(total - document["total"][name]) <= len(smaps))
        elif total != document["total"][name]:
            tap.same(f"sum of {name}", document["total"][name], total)


def each_page(document):
    for run in document["pages"]:
        for page in range(run["pages"]):
            yield run["start"] + page * PAGE, run, page


def compare_pages(tap, document, pid, smaps, old):
    """Each page, with pagemap, kpagecount and kpageflags."""
    wrong, listed, kinds = [], 0, {}
    ignored = [at for at, each in smaps.items() if "pf" in each["flags"] or "io" in each["flags"]]
    clock = [range(m["start"], m["end"]) for m in document["mappings"] if smaps[m["start"]]["clock"]]
    with open(f"/proc/{pid}/pagemap", "rb", 0) as pagemap, open(
        "proc.kpagecount", "rb"
    ) as counts, open("proc.kpageflags", "rb") as flags:
        for at, run, index in each_page(document):
            entry = words(pagemap, at // PAGE)[0]
            state = set(run["state"])
            for each in state:
                kinds[each] = kinds.get(each, 0) + 1
            listed += 1
            if "swapped" in state:
                good = entry >> 62 == 1
            elif "zero" in state:
                good = entry >> 63 == 1 and words(flags, entry & (1 << 55) - 1)[0] >> 24 & 1
            else:
                frame = run["frame"] + index
                bits = words(flags, frame)[0]
                theirs = {name for name, bit in FLAGS.items() if bits >> bit & 1}
                # Before v6.10, only the first page of a large folio has its flags; then all
                # anonymous pages count as merged ones.
                known = set() if old and bits >> TAIL & 1 else set(FLAGS) - ({"ksm"} if not old else set())
                good = (
                    entry >> 63 == 1
                    and entry & (1 << 55) - 1 == frame
                    and run["mappings"] - words(counts, frame)[0] in range(1 + any(at in each for each in clock))
                    and theirs & known == state & known
                    and (entry >> 55 & 1) == ("soft_dirty" in state)
                )
                if not good:
                    wrong.append((hex(at), hex(entry), run, sorted(theirs)))
                continue
            if not good:
                wrong.append((hex(at), hex(entry), run))
        present = 0
        for mapping in document["mappings"]:
            first, pages = mapping["start"] // PAGE, (mapping["end"] - mapping["start"]) // PAGE
            if mapping["start"] in ignored or pages > 1 << 24:
                continue
            present += sum(1 for entry in words(pagemap, first, pages) if entry >> 62)
    tap.same(f"{listed} pages: as in pagemap, kpagecount and kpageflags", wrong[:3], [])
    tap.same("none is missing", listed, present)
    print(f"# {kinds}")
    return kinds


def compare(path, pid, *expected):
    tap = Tap()
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    smaps = read_smaps()
    starts = sorted((m["start"], m["end"]) for m in document["mappings"])
    document["ksm"] = {}
    for at, run, _ in each_page(document):
        if "ksm" in run["state"]:
            start = next(start for start, end in starts if start <= at < end)
            document["ksm"][start] = document["ksm"].get(start, 0) + PAGE
    compare_sums(tap, document, smaps)
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    kinds = compare_pages(tap, document, pid, smaps, release < (6, 10))
    for each in expected:
        tap.good(f"there are pages: {each}", kinds.get(each))
    return tap.end()


if __name__ == "__main__":
    sys.exit({"scene": scene, "grow": grow, "compare": compare}[sys.argv[1]](*sys.argv[2:]))
