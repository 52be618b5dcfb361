# SPDX-License-Identifier: GPL-2.0
# The Python package of kernlens.
"""Read, filter and record traces of kernlens.

A trace is a directory that ``kernlens record`` or :class:`Recording` has written:

    import kernlens

    with kernlens.Trace("trace") as trace:
        for event in trace.events("syscall_exit_read /ret > 0/"):
            print(event.seconds, event.comm, event["ret"])

All of it goes through the library ``libkernlens.so.0``, of which the environment variable
``KERNLENS_LIBRARY`` can name another file. Reports come from the command ``kernlens``
(``KERNLENS_COMMAND``). Times are integers in nanoseconds unless their names say otherwise. A call
that fails raises :class:`Error` with the library's explanation.

An object may be used by one thread at a time; different objects by different threads.
"""

from ._library import Error
from .event import Event, EventType, Field, Loss
from .report import command_json, report
from .session import Live, Notice, Recording, mark
from .trace import Counts, Trace, TraceInfo, VariableType

__all__ = [
    "Counts",
    "Error",
    "Event",
    "EventType",
    "Field",
    "Live",
    "Loss",
    "Notice",
    "Recording",
    "Trace",
    "TraceInfo",
    "VariableType",
    "command_json",
    "mark",
    "report",
]

__version__ = "0.1.0"
