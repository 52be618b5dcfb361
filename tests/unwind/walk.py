# SPDX-License-Identifier: GPL-2.0
#
# Runs in gdb: prints a line for each system call that the program makes, "NUMBER ADDRESS ...", with
# the addresses of the frames as gdb unwinds them, innermost first, those of signals with an "s".
# STOPS limits how many, OUT names the file.
import os

import gdb

STACK = 0x7FFFFFFDE000  # without address space randomization


def frames():
    frame, found = gdb.newest_frame(), []
    while frame is not None and frame.is_valid() and len(found) < 32:
        # In the dynamic linker, gdb goes on into the stack after the outermost frame.
        if frame.pc() < 0x1000 or frame.pc() >= STACK:
            break
        # Inlined functions, and those that have jumped to the next, have no frame.
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            signal = "s" if frame.type() == gdb.SIGTRAMP_FRAME else ""
            found.append("%x%s" % (frame.pc(), signal))
        try:
            frame = frame.older()
        except gdb.error:
            break
    return found


for command in (
    "set pagination off",
    "set confirm off",
    "set debuginfod enabled off",
    "set backtrace past-main on",
    "set backtrace past-entry on",
    "set follow-fork-mode parent",
    "handle all nostop noprint pass",
    "unset environment LINES",
    "unset environment COLUMNS",
    "catch syscall",
):
    gdb.execute(command, to_string=True)

with open(os.environ["OUT"], "w") as out:
    shown = gdb.execute("show args", to_string=True)
    arguments = shown[shown.index('"') + 1 : shown.rindex('"')]
    gdb.execute("run %s </dev/null >/dev/null 2>&1" % arguments, to_string=True)
    left = int(os.environ["STOPS"])
    while left and gdb.selected_inferior().pid:
        # At the entry, the result is not there yet: -ENOSYS.
        if int(gdb.parse_and_eval("$rax")) & 0xFFFFFFFF == 0xFFFFFFDA:
            number = int(gdb.parse_and_eval("$orig_rax"))
            print(number, *frames(), file=out)
            left -= 1
        gdb.execute("continue", to_string=True)
    if gdb.selected_inferior().pid:
        gdb.execute("kill", to_string=True)
