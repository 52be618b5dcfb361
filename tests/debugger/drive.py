# SPDX-License-Identifier: GPL-2.0
# Drives a machine in gdb.
"""
In gdb: drives the machine of tests/debugger/guest, and writes TAP lines to KL_WORK/checks, the last of
which is `end`. The machine is stopped at any moment, so what has to be in its flight recorder is
known by the number of the round that the guest has reported.
"""
import bisect
import os
import re
import signal
import struct
import threading
import time

import gdb

WORK = os.environ["KL_WORK"]
KERNEL = os.environ["KL_KERNEL"]
SHARED = WORK + "/shared"
checks = open(WORK + "/checks", "w", buffering=1)
number = 0


def check(text, passed, *details):
    """Write a TAP line."""
    global number
    number += 1
    checks.write("%s %d - %s\n" % ("ok" if passed else "not ok", number, text))
    for line in "\n".join(map(str, details)).splitlines() if not passed else ():
        checks.write("# %s\n" % line[:300])


def run(seconds):
    """Let the machine run for a while."""
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
    gdb.execute("continue", to_string=True)


def run_until(condition, seconds=60):
    """Let the machine run, stopping now and then, until the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        run(0.5)
    return True


def do(command):
    """A command's output, or its error message."""
    try:
        return gdb.execute(command, to_string=True)
    except gdb.error as error:
        return "error: %s" % error


def read(name):
    """A file of the guest, or an empty text."""
    try:
        with open("%s/%s" % (SHARED, name)) as file:
            return file.read().strip()
    except OSError:
        return ""


def rounds():
    """Number of the last round that the guest has reported."""
    return int(read("round") or 0)


def marks(listing):
    """Numbers of the marks in a listing."""
    return [int(n) for n in re.findall(r' mark: value=(\d+) text="round"', listing)]


def symbols():
    """Addresses by name, as the guest has written them."""
    found = {}
    with open(SHARED + "/kallsyms") as file:
        for line in file:
            address, _, name = line.split()[:3]
            found.setdefault(name, int(address, 16))
    return found


SYMBOLS = {}


def text_of(name, size=64):
    """The first bytes of a function."""
    return bytes(gdb.selected_inferior().read_memory(SYMBOLS[name], size))


def in_kernel():
    """Stop where the kernel's page tables are used: the whole text is read by virtual addresses."""
    gdb.execute("hbreak *0x%x" % SYMBOLS["hrtimer_interrupt"], to_string=True)
    gdb.execute("continue", to_string=True)
    gdb.execute("delete", to_string=True)
    return int(gdb.parse_and_eval("$cs")) & 3 == 0


# ------------------------------------------------------------------- reading


def check_listing(where):
    """The last records are those of the last round."""
    before = rounds()
    listing = do("kernlens print -s flight -e mark")
    found = marks(listing)
    # The guest reports a round after it has made the mark.
    fresh = found and found[-1] in (before, before + 1)
    whole = found == list(range(found[0], found[-1] + 1)) if found else False
    check("%s: the last mark is that of round %d" % (where, before), fresh, listing[-900:])
    check("%s: no mark is missing before it" % where, whole, found)


def check_reading():
    """Stops of all kinds."""
    listing = do("kernlens status")
    with open(KERNEL + "/release") as file:
        release = file.read().strip()
    check("status names the kernel", release in listing, listing)
    check("status says how to switch the mailbox on", "the mailbox is off. As root" in listing, listing)
    listing = do("kernlens sessions")
    check("sessions lists the session", re.search(r"^ +1  flight ", listing, re.M), listing)
    in_user = 0
    for _ in range(40):
        run(0.2)
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            if int(gdb.parse_and_eval("$cs")) & 3 == 3 and in_user < 2:
                in_user += 1
                cr3 = int(gdb.parse_and_eval("(unsigned long)$cr3"))
                check("page tables of user space", cr3 & 0x1000, hex(cr3))
                do("kernlens attach")
                check_listing("in user space")
        if in_user >= 2:
            break
    check("the machine was stopped in user space", in_user >= 2)
    check("the machine was stopped in an interrupt", in_kernel())
    check_listing("in an interrupt")
    listing = do("kernlens last 7 -s flight -e mark").splitlines()
    listing = [line for line in listing if line.startswith("[")]
    check("last prints so many records", len(listing) == 7, *listing)
    check("the last one is the newest", marks(listing[-1])[-1:] == marks(do("kernlens print"))[-1:], *listing)
    listing = do("kernlens print -s nobody")
    check("an unknown session is refused", "no session is called nobody" in listing, listing)
    check_attach()


def check_attach():
    """Other ways to find the pages."""
    found = re.search(r"anchor at 0x(\w+)", do("kernlens attach"))
    check("attach finds the anchor", found)
    anchor = int(found.group(1), 16)
    listing = do("kernlens attach search")
    check("a search of all memory finds the same one", "anchor at 0x%x" % anchor in listing, listing)
    listing = do("kernlens attach 0x%x" % (anchor + 4096))
    check("another address is refused", "there is no page of the kernlens module" in listing, listing)
    # As with a stub that knows no physical addresses.
    listing = do("kernlens attach 0xffff888000000000 + 0x%x" % anchor)
    check("attach by a virtual address", "anchor at 0x%x" % anchor in listing, listing)
    check_listing("by virtual addresses")
    do("kernlens attach")


# ------------------------------------------------------------------- hooks


def answer(command, seconds=30):
    """Make a request, let the machine run, and return what gdb has said."""
    said = do(command)
    if "is in the mailbox" not in said:
        return said
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        run(0.4)
        said = do("kernlens answer")
        if "still in the mailbox" not in said:
            return said
    return said


def check_refusals():
    """Invalid requests, with their reasons."""
    middle = "kernlens hook *0x%x" % (SYMBOLS["vfs_read"] + 9)
    for command, reason in (
        ("kernlens hook no_such_function", "the kernel has no function no_such_function"),
        (middle, "is not the start of a function that can be hooked"),
        ("kernlens hook vfs_read if nonsense == 1", 'unknown name "nonsense"'),
        ("kernlens hook vfs_read if count ==", "filter:1:"),
        ("kernlens hook vfs_read :nonsense", 'unknown handler "nonsense"'),
        ("kernlens hook vfs_*", "is not the name of one function"),
        ("kernlens maskset use NONE -s flight", "session 1 has no maskset NONE"),
        ("kernlens unhook flight", "session 1 was not created by a debugger"),
        ("kernlens unhook 77", "no session is called 77"),
    ):
        said = answer(command)
        check("refused: %s" % command, reason in said, said)
    check_damage()


def check_damage():
    """Requests that no command makes."""
    import kernlens_gdb
    import kernlens_mailbox
    import kernlens_pages

    def put(change, number=lambda n: n):
        connection = gdb.selected_inferior().connection
        with kernlens_gdb.open_mailbox(connection) as mailbox:
            path = WORK + "/request"
            os.system("%s mailbox -o %s unhook 5" % (os.environ["KL_KERNLENS"], path))
            with open(path, "rb") as file:
                request = change(bytearray(file.read()))
            mailbox.put(bytes(request))
            number(mailbox)
        for _ in range(20):
            run(0.4)
            said = do("kernlens answer")
            if "still in" not in said:
                return said
        return said

    def replace(at, data):
        def change(request):
            request[at : at + len(data)] = data
            return request

        return change

    def corrupt(mailbox):
        mailbox.write(mailbox.word(kernlens_mailbox.REQUEST) + 20, b"\xff")

    def lengthen(mailbox):
        mailbox.write(mailbox.address + kernlens_mailbox.BYTES, struct.pack("<I", 1 << 31))

    for text, change, number_, reason in (
        ("a changed byte", lambda r: r, corrupt, "the request is damaged"),
        ("a wrong size", lambda r: r, lengthen, "a request of 2147483648 bytes"),
        ("another schema", replace(8, b"\0" * 8), lambda m: None, "another release of kernlens"),
        ("an unknown kind", replace(4, b"\x09"), lambda m: None, "unknown kind of request 9"),
        ("a short request", lambda r: r[:40], lambda m: None, "a request of 40 bytes"),
        ("parts outside", replace(4, b"\1") , lambda m: None, "the request creates no session"),
    ):
        said = put(change, number_)
        check("refused: %s" % text, reason in said, said)
    with open("uapi/crash.h", encoding="utf-8") as file:
        version = int(re.search(r"#define KL_CRASH_VERSION (\d+)", file.read()).group(1))
    check("the script has the version of the module", kernlens_pages.VERSION == version)


def reads(listing):
    """Sizes of the reads in a listing."""
    return [int(n) for n in re.findall(r" fn:vfs_read: .*\bcount=(\d+)", listing)]


def kernel_text():
    """All of the kernel's text."""
    first, end = SYMBOLS["_stext"], SYMBOLS["_etext"]
    return bytes(gdb.selected_inferior().read_memory(first, end - first))


def differences(one, other):
    """Names of the functions whose bytes differ."""
    names = sorted((a, n) for n, a in SYMBOLS.items())
    addresses = [a for a, _ in names]
    found = set()
    for at in range(0, len(one), 16):
        if one[at : at + 16] != other[at : at + 16]:
            found.add(names[bisect.bisect_right(addresses, SYMBOLS["_stext"] + at) - 1][1])
    return sorted(found)


def check_hooks():
    """From a hook to its end."""
    said = do("kernlens hook vfs_read")
    check("off: a hook is refused", "the mailbox is off" in said, said)
    open(SHARED + "/on", "w").close()
    run_until(lambda: "the mailbox is on" in do("kernlens status"))
    check("status says that the mailbox is on", "the mailbox is on" in do("kernlens status"))
    check_refusals()
    in_kernel()
    before, all_before = text_of("vfs_read"), kernel_text()
    said = answer("kernlens hook vfs_read if count == 4242")
    check("a hook with a filter", re.search(r"done: session \d+", said), said)
    session = re.search(r"session (\d+)", said).group(1)
    in_kernel()
    check("the function is hooked", text_of("vfs_read") != before)
    from_round = rounds()
    run_until(lambda: rounds() >= from_round + 5)
    listing = do("kernlens print -s %s" % session)
    found = reads(listing)
    done = rounds() - from_round
    check("it records each hit", done - 1 <= len(found) <= done + 2, done, listing)
    check("and no others", set(found) == {4242}, found)
    check("with the fields of the function", "file=0xffff" in listing and "buf=0x" in listing, listing)
    check("the pages have the session's name", "hook vfs_read" in do("kernlens sessions"))
    said = answer("kernlens maskset use RNOTHING -s %s" % session)
    check("another maskset", "done: session %s" % session in said, said)
    found = len(reads(do("kernlens print -s %s" % session)))
    from_round = rounds()
    run_until(lambda: rounds() >= from_round + 3)
    check("it records nothing", len(reads(do("kernlens print -s %s" % session))) == found)
    said = answer("kernlens maskset use events -s %s" % session)
    run_until(lambda: rounds() >= from_round + 6)
    check("and again", len(reads(do("kernlens print -s %s" % session))) > found, said)
    check_more_hooks(session, before, all_before)


def check_more_hooks(session, before, all_before):
    """Several hooks, by address and of returns, and their end."""
    said = answer("kernlens hook *0x%x" % SYMBOLS["vfs_read"])
    check("a hook by address", "done: session" in said, said)
    second = re.search(r"session (\d+)", said).group(1)
    said = answer('kernlens hook vfs_read:ret if ret == 4242 && comm == "dd" :log')
    check("a hook of a return", "done: session" in said, said)
    third = re.search(r"session (\d+)", said).group(1)
    from_round = rounds()
    run_until(lambda: rounds() >= from_round + 3)
    check("by address, all hits are recorded", do("kernlens print -s %s" % second).count("fn:at_") > 3)
    listing = do("kernlens print -s %s" % third)
    check("returns are recorded", " dd-" in listing and "ret=4242" in listing, listing[-500:])
    said = answer("kernlens unhook %s" % session)
    check("unhook ends one", "done: session %s" % session in said, said)
    check("the others remain", len(re.findall(r" hook ", do("kernlens sessions"))) == 2)
    said = answer("kernlens unhook")
    check("unhook ends the others", "done" in said, said)
    check("only the flight recorder remains", " hook " not in do("kernlens sessions"))
    run(1)
    in_kernel()
    check("the function is as it was before", text_of("vfs_read") == before)
    changed = differences(all_before, kernel_text())
    check("so is the kernel's whole text", not changed, changed)


def check_off():
    """Without a mailbox, its sessions end."""
    said = answer("kernlens hook vfs_read")
    check("one more hook", "done: session" in said, said)
    open(SHARED + "/off", "w").close()
    run_until(lambda: "the mailbox is off" in do("kernlens status"))
    check("it ends with the mailbox", " hook " not in do("kernlens sessions"))
    open(SHARED + "/on", "w").close()
    run_until(lambda: "the mailbox is on" in do("kernlens status"))
    said = answer("kernlens hook vfs_read")
    check("a hook for the end", "done: session" in said, said)


def dump():
    """The memory, and what is in it, for a comparison."""
    with open(WORK + "/live.listing", "w") as file:
        file.write("".join(l for l in do("kernlens print -s flight").splitlines(True) if l.startswith("[")))
    said = do("monitor dump-guest-memory %s/memory" % WORK)
    check("the machine's memory was dumped", os.path.exists(WORK + "/memory"), said)


def main():
    """All of it."""
    gdb.execute("set pagination off")
    gdb.execute("target remote %s" % os.environ["KL_STUB"])
    gdb.execute("source gdb/kernlens-gdb.py")
    gdb.execute("set kernlens-command %s" % os.environ["KL_KERNLENS"])
    gdb.execute("set kernlens-types %s/vmlinux" % KERNEL)
    said = do("kernlens status")
    check("before the kernel runs, status says so", said.startswith("error: kernlens: "), said)
    check("the machine starts", run_until(lambda: rounds() >= 12, 200))
    SYMBOLS.update(symbols())
    check_reading()
    check_hooks()
    check_off()
    dump()
    checks.write("end\n")
    gdb.execute("detach")


try:
    main()
except BaseException as error:
    check("no exception", False, repr(error))
    raise
