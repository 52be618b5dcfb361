# SPDX-License-Identifier: GPL-2.0
# Reads traces.
"""Reads traces: events and losses of all CPUs, in order of time."""

from __future__ import annotations

import ctypes
import functools
import os
import struct
from dataclasses import dataclass
from typing import Iterator, Optional, Union

from ._library import ITEM_EVENT, SHOW_RELATIVE, STYLE_CSV, STYLE_JSON, STYLE_TEXT, Text
from ._library import kl_item, kl_loss, library, text
from .event import Event, EventType, Factory, Loss, VariableType, make_loss

_STYLES = {"text": STYLE_TEXT, "csv": STYLE_CSV, "json": STYLE_JSON}


@dataclass(frozen=True)
class TraceInfo:
    """Where a trace comes from. Texts are empty if unknown.

    scope: whose events were recorded: all, own, user or tasks
    command: process ID of the command that was run for the trace; 0: none, or unknown
    version: of the kernlens that wrote it
    begin_ns, end_ns: wall time at which the session started and ended; 0: unknown
    finished: the recorder finished; if not, what was in the buffers is missing
    """

    name: str
    hostname: str
    kernel_release: str
    kernel_version: str
    boot_id: str
    scope: str
    command: int
    version: str
    begin_ns: int
    end_ns: int
    finished: bool


@dataclass(frozen=True)
class Counts:
    """Records that have been read so far, and those that are missing, by reason (see Loss)."""

    events: int
    discarded: int
    overwritten: int
    before: int
    damaged: int
    unstored: int
    unseen: int

    @property
    def lost(self) -> int:
        """Sum of all that are missing, as far as known."""
        return (
            self.discarded
            + self.overwritten
            + self.before
            + self.damaged
            + self.unstored
            + self.unseen
        )


class Trace:
    """A trace directory, or a file in BER, open for reading.

    It is a context manager, and iterating over it yields all events. Only one iteration at a time is
    possible: beginning another one ends the first with RuntimeError.
    """

    def __init__(self, path: Union[str, os.PathLike]) -> None:
        """Open `path`. Raises Error: ENOENT (no trace there), EINVAL (damaged), or as open()."""
        self._handle: Optional[int] = library.kl_trace_open(os.fsencode(path))
        self._factory = Factory(library.kl_trace_schema(self._handle))
        self._iteration = 0

    def __enter__(self) -> "Trace":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __del__(self) -> None:
        # The library may be gone when the interpreter exits.
        if getattr(self, "_handle", None) and library:
            self.close()

    def close(self) -> None:
        """Close the files. Events that were read stay valid."""
        if self._handle:
            self._iteration += 1
            library.kl_trace_close(self._handle)
            self._handle = None

    def _open(self) -> int:
        if not self._handle:
            raise ValueError("the trace is closed")
        return self._handle

    # ------------------------------------------------------------------ events

    def __iter__(self) -> Iterator[Event]:
        return self.events()

    def events(
        self,
        match: Optional[str] = None,
        *,
        pid: Optional[int] = None,
        cpu: Optional[int] = None,
        begin: float = 0,
        end: Optional[float] = None,
    ) -> Iterator[Event]:
        """Iterate over events from the start of the trace. Losses are skipped: see `counts`.

        match: what ``kernlens print -e`` accepts: names, globs, groups, each with or without a
            filter, "syscall_exit_* /ret < 0/, sched_switch"; None: all events
        pid: only events of this process or thread
        cpu: only those of this CPU
        begin, end: only those in this interval, in seconds since the start of the trace

        Raises Error (EINVAL) if `match` is wrong; the text shows where.
        """
        return self._iterate(_Limits(pid, cpu, begin, end), self._filter(match), False)

    def items(
        self,
        match: Optional[str] = None,
        *,
        pid: Optional[int] = None,
        cpu: Optional[int] = None,
        begin: float = 0,
        end: Optional[float] = None,
    ) -> Iterator[Union[Event, Loss]]:
        """Like events(), but also yields a Loss where records are missing.

        Losses are yielded regardless of `match`, `pid` and times: they may have hidden events that
        match.
        """
        return self._iterate(_Limits(pid, cpu, begin, end), self._filter(match), True)

    def lines(
        self, style: str = "text", match: Optional[str] = None, *, relative: bool = True
    ) -> Iterator[str]:
        """Iterate over lines as ``kernlens print`` writes them, without the newline.

        style: "text", "csv" or "json"; a stack trace takes several lines of text
        match: as for events()
        relative: times since the start of the trace rather than since 1970
        """
        return self._lines(_STYLES[style], SHOW_RELATIVE if relative else 0, self._filter(match))

    def _filter(self, match: Optional[str]) -> Optional["_Filter"]:
        schema = library.kl_trace_schema(self._open())
        return None if match is None else _Filter(schema, match)

    def _begin(self) -> int:
        """Begin an iteration. Returns its number."""
        library.kl_trace_rewind(self._open())
        self._iteration += 1
        return self._iteration

    def _check(self, iteration: int) -> None:
        if self._iteration != iteration:
            raise RuntimeError("another iteration has begun, or the trace was closed")

    # One loop does everything: each further generator would cost a third of its time.
    def _iterate(
        self, limits: "_Limits", filter: Optional["_Filter"], losses: bool
    ) -> Iterator[Union[Event, Loss]]:
        iteration, handle = self._begin(), self._handle
        make = self._factory.make
        next_item = filter.next if filter else _next_item
        item = kl_item()
        pointer, memory = ctypes.byref(item), memoryview(item).cast("B")
        unpack, limited = _ITEM.unpack_from, limits.any()
        while next_item(handle, pointer) > 0:
            kind, event_at, loss_at = unpack(memory)
            if kind != ITEM_EVENT:
                loss = make_loss(kl_loss.from_address(loss_at))
                if losses and limits.cpu in (None, loss.cpu):
                    yield loss
                    self._check(iteration)
                continue
            event = make(event_at)
            if limited and not limits.allow(event):
                continue
            yield event
            if self._iteration != iteration:
                self._check(iteration)

    def _lines(self, style: int, flags: int, filter: Optional["_Filter"]) -> Iterator[str]:
        iteration, handle = self._begin(), self._handle
        next_item = filter.next if filter else _next_item
        out, item = Text(), kl_item()
        pointer = ctypes.byref(item)
        while next_item(handle, pointer) > 0:
            library.kl_print_item(out.pointer, style, flags, pointer)
            yield out.take().rstrip("\n")
            self._check(iteration)

    # ------------------------------------------------------------------- about

    @property
    def types(self) -> dict[str, EventType]:
        """All types of events that the trace could contain, by name."""
        self._open()
        return {of.name: of for of in self._factory.types()}

    @property
    def variables(self) -> tuple[VariableType, ...]:
        """The variables that its records carry."""
        return self._factory.variables

    @property
    def info(self) -> TraceInfo:
        """Where the trace comes from."""
        about = library.kl_trace_about(self._open()).contents
        state = library.kl_trace_state(self._handle).contents
        return TraceInfo(
            name=text(about.trace_name),
            hostname=text(about.hostname),
            kernel_release=text(about.kernel_release),
            kernel_version=text(about.kernel_version),
            boot_id=text(about.boot_id),
            scope=text(about.scope),
            command=about.command,
            version=text(about.version),
            begin_ns=state.begin_ns,
            end_ns=state.end_ns,
            finished=state.finished,
        )

    @property
    def counts(self) -> Counts:
        """What has been read and is missing so far; complete after an iteration to the end."""
        counts = library.kl_trace_counted(self._open()).contents
        return Counts(*(getattr(counts, name) for name in Counts.__dataclass_fields__))

    @property
    def begin_ns(self) -> int:
        """Wall time that `since_ns` counts from, in ns since 1970; 0: unknown."""
        return library.kl_trace_begin(self._open())


class _Filter:
    """Patterns and filters, compiled for a schema."""

    def __init__(self, schema: int, match: str) -> None:
        self.handle: int = library.kl_filter_create(schema, os.fsencode(match))
        self.next = functools.partial(_next_wanted, self.handle)

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            library.kl_filter_destroy(self.handle)


class _Limits:
    """What an iteration is limited to besides a filter."""

    def __init__(
        self, pid: Optional[int], cpu: Optional[int], begin: float, end: Optional[float]
    ) -> None:
        self.pid = pid
        self.cpu = cpu
        self.begin_ns = int(begin * 1e9)
        self.end_ns = None if end is None else int(end * 1e9)

    def any(self) -> bool:
        return self != _Limits(None, None, 0, None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Limits) and vars(self) == vars(other)

    def allow(self, event: Event) -> bool:
        return (
            self.cpu in (None, event.cpu)
            and self.pid in (None, event.pid, event.tid)
            and event.since_ns >= self.begin_ns
            and (self.end_ns is None or event.since_ns <= self.end_ns)
        )


_ITEM = struct.Struct("@iPP")

# Called for each record: without a check of the result, which cannot be negative. The first one takes
# no time, so it does not let other threads run meanwhile.
_next_item = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(kl_item))(
    ("kl_trace_next", library)
)
_next_wanted = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(kl_item)
)(("kl_filter_next", library))
