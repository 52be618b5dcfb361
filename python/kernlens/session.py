# SPDX-License-Identifier: GPL-2.0
# Records events, and follows them live.
"""Records events into a trace, and follows them live, through sessions of the module."""

from __future__ import annotations

import ctypes
import errno
import os
import select
import threading
import time
from dataclasses import dataclass
from typing import Iterable, Iterator, Optional, Sequence, Union

from . import _library as lib
from ._library import Error, library, text
from .event import Event, Factory, Loss, make_loss

_NOTICES = ("unstored", "stuck", "unread", "missing", "unnamed", "failed")
_MARGIN_S = 0.001  # a record that is being written may be this much older than the clock


@dataclass(frozen=True)
class Notice:
    """Something that went wrong with a trace while it was recorded.

    kind: unstored (the disk is full), stuck (the buffers cannot be read), unread (a snapshot lacks
        the last records of a CPU), missing (what could not be stored), unnamed (addresses without
        names) or failed
    path: the trace or snapshot
    text: why; "" if there is nothing to add
    records: of missing, how many; else 0
    """

    kind: str
    path: str
    text: str
    records: int


def mark(text: str = "", value: int = 0) -> None:
    """Put a mark on the time axis of all sessions that record ``mark`` and may see this thread.

    text: truncated to what the module stores
    value: any number of 64 bits

    Raises Error: ENOENT (the module is not loaded), EACCES.
    """
    device = library.kl_device_open(None)
    try:
        library.kl_device_mark(device, value & 0xFFFFFFFFFFFFFFFF, os.fsencode(text))
    finally:
        library.kl_device_close(device)


class _Session:
    """A session that is ready to start, with its plan. Frees what it has made."""

    def __init__(
        self,
        events: Union[str, Sequence[str]],
        *,
        all: bool,
        user: Optional[int],
        pids: Iterable[int],
        variables: Sequence[str],
        buffer_bytes: int,
        overwrite: bool,
        name: str,
    ) -> None:
        self.device = self.schema = self.plan = self.session = None
        self.config = lib.kl_abi_session()
        self.config.mode = lib.MODE_OVERWRITE if overwrite else lib.MODE_DISCARD
        self.config.name = os.fsencode(name)
        self._pids = tuple(pids)
        self._tasks = not all and user is None
        scope = b"all" if all else b"tasks" if user is None else b"user"
        try:
            self.device = library.kl_device_open(None)
            self.schema = library.kl_schema_create()
            library.kl_record_set_buffers(self.device, buffer_bytes, self.config)
            self.session = library.kl_session_create(self.device, self.config)
            self.plan = library.kl_plan_create(self.schema)
            self.source = lib.kl_record_source(
                self.device, self.session, self.schema, ctypes.pointer(self.config), scope
            )
            self._make_plan([events] if isinstance(events, str) else events, variables)
            if not all:
                kind = lib.FILTER_TASKS if user is None else lib.FILTER_UID
                library.kl_session_filter(self.session, kind, user or 0)
        except BaseException:
            self.close()
            raise

    def _make_plan(self, events: Sequence[str], variables: Sequence[str]) -> None:
        wanted = lib.kl_abi_variables()
        library.kl_record_prepare_plan(self.device, self.plan)
        for item in events:
            library.kl_plan_add(self.plan, os.fsencode(item), lib.HANDLER_LOG)
        for item in variables:
            if wanted.n == lib.VARIABLES_MAX:
                raise Error(errno.E2BIG, f"too many variables (maximum {lib.VARIABLES_MAX})")
            variable = wanted.variable[wanted.n]
            row = library.kl_variable_find(os.fsencode(item))
            if row:
                variable.variable = row.contents.id
            else:
                variable.variable = lib.VARIABLE_PROGRAM
                variable.program = library.kl_plan_add_variable(self.plan, os.fsencode(item))
            wanted.n += 1
        library.kl_plan_compile(self.plan)
        library.kl_record_omit_absent(self.device, self.schema, self.plan, None)
        library.kl_record_apply(self.session, self.plan)
        library.kl_record_apply_variables(self.source, self.plan, wanted)
        library.kl_record_publish(self.source, self.plan)

    def add(self, pid: int, flags: int) -> None:
        """Trace a task, too. Raises Error: ESRCH, EPERM."""
        if not self._tasks:
            return
        library.kl_session_tasks(self.session, pid, lib.TASK_ADD | flags)

    def start(self) -> None:
        library.kl_session_start(self.session)
        for pid in self._pids:
            self.add(pid, lib.TASK_PROCESS | lib.TASK_INHERIT)

    @property
    def cpus(self) -> int:
        return library.kl_device_info(self.device).contents.cpus

    def now(self) -> lib.kl_abi_time:
        found = lib.kl_abi_time()
        library.kl_device_time(self.device, found)
        return found

    def close(self) -> None:
        for name, free in (
            ("session", library.kl_session_close),
            ("plan", library.kl_plan_destroy),
            ("schema", library.kl_schema_destroy),
            ("device", library.kl_device_close),
        ):
            if getattr(self, name):
                free(getattr(self, name))
                setattr(self, name, None)


def _spawn(command: Sequence[Union[str, os.PathLike]]) -> tuple[int, int]:
    """Fork a child that waits for a byte before it executes the command.

    Returns its pid, and the descriptor to write the byte to.
    """
    wait, go = os.pipe()
    pid = os.fork()
    if pid:
        os.close(wait)
        return pid, go
    try:
        os.close(go)
        if os.read(wait, 1):
            os.execvp(command[0], [os.fspath(word) for word in command])
    finally:
        os._exit(127)


class Recording:
    """Record events into a new trace directory.

    As a context manager, it records from the beginning of the block to its end:

        with kernlens.Recording("trace", "syscalls, sched_switch") as recording:
            recording.run(["ls", "-l"])

    A thread of its own stores the data meanwhile. Rights and limits are those of
    ``kernlens record``.
    """

    def __init__(
        self,
        path: Union[str, os.PathLike],
        events: Union[str, Sequence[str]] = "default",
        *,
        pids: Iterable[int] = (),
        user: Optional[int] = None,
        all: bool = False,
        variables: Sequence[str] = (),
        buffer_bytes: int = 0,
        overwrite: bool = False,
        snapshots: int = 0,
        force: bool = False,
        name: str = "python",
    ) -> None:
        """Create the session and the trace, without starting.

        path: directory to create
        events: what ``kernlens record -e`` accepts, or several of these
        pids: processes to trace, with their future children, besides those of run()
        user: trace this user ID instead; all: trace all tasks
        variables: what ``-v`` accepts, each name or expression an item
        buffer_bytes: size of each CPU's buffer; 0: the default
        overwrite: keep only the newest events, which are stored at the end
        snapshots: how many snapshots may be taken, with `overwrite`
        force: replace a trace at `path`
        name: of the session, as ``kernlens status`` shows it

        Raises Error: ENOENT (the module is not loaded), EACCES or EPERM (rights), EEXIST (there is
        a trace), EINVAL (events or variables; the text shows where), ...
        """
        self.notices: list[Notice] = []
        self._path = os.fspath(path)
        self._lock = threading.Lock()
        self._thread: Optional[threading.Thread] = None
        self._stopping = False
        self._running = False
        self._failure: Optional[Error] = None
        self._recorder: Optional[int] = None
        self._counts = lib.kl_recorder_counts()
        self._notify = lib.NOTIFY(self._note)
        self._session = _Session(
            events,
            all=all,
            user=user,
            pids=pids,
            variables=variables,
            buffer_bytes=buffer_bytes,
            overwrite=overwrite,
            name=name,
        )
        self._params = lib.kl_recorder_params(
            os.fsencode(path), force, None, snapshots, self._notify, None
        )
        try:
            self._recorder = library.kl_recorder_create(self._session.source, self._params)
            if snapshots:
                library.kl_recorder_clear_snapshots(self._recorder, force)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Recording":
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *unused: object) -> None:
        try:
            if self._running:
                self.stop()
        finally:
            self.close()

    def _note(self, context: object, notice: "ctypes._Pointer[lib.kl_record_notice]") -> None:
        of = notice.contents
        self.notices.append(
            Notice(
                kind=_NOTICES[of.kind],
                path=os.fsdecode(of.path or b""),
                text=text(library.kl_error_text()) if of.error else "",
                records=of.loss.contents.records if of.loss else 0,
            )
        )

    # ----------------------------------------------------------------- control

    def start(self) -> None:
        """Start recording. Raises Error as the constructor does."""
        library.kl_recorder_attach(self._recorder)
        self._session.start()
        self._running = True
        library.kl_recorder_began(self._recorder)
        self._thread = threading.Thread(target=self._drain, name="kernlens", daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        """Store blocks as they are completed. In a thread of its own."""
        while not self._stopping:
            fd = library.kl_recorder_fd(self._recorder)
            if fd < 0:
                return
            select.select([fd], [], [], 0.05)
            try:
                with self._lock:
                    library.kl_recorder_drain(self._recorder)
            except Error as error:
                self._failure = error
                return

    def add(self, pid: int) -> None:
        """Trace another process and its future children, if the recording selects processes.

        Raises Error: ESRCH (no such process), EPERM.
        """
        with self._lock:
            self._session.add(pid, lib.TASK_PROCESS | lib.TASK_INHERIT)

    def run(self, command: Sequence[Union[str, os.PathLike]]) -> int:
        """Run a command, trace it and its children, and wait until it has ended.

        Its first event is the call that executes it. Returns its exit status, or the negative
        number of the signal that has killed it; 127 if it could not be executed.
        """
        pid, go = _spawn(command)
        try:
            with self._lock:
                self._session.add(pid, lib.TASK_INHERIT | lib.TASK_EXEC)
            os.write(go, b"x")
        finally:
            os.close(go)
            status = os.waitpid(pid, 0)[1]
        return os.waitstatus_to_exitcode(status)

    def wait(self, seconds: float) -> None:
        """Record for some time. Raises Error if the data can no longer be stored."""
        end = time.monotonic() + seconds
        while not self._failure and time.monotonic() < end:
            time.sleep(min(0.05, max(0.0, end - time.monotonic())))
        if self._failure:
            raise self._failure

    def snapshot(self) -> str:
        """Copy the buffers of a recording with `overwrite` into a trace of its own.

        Returns its path: that of the recording with .1, .2 ... appended. Raises Error: EINVAL (no
        `overwrite`), ENOSPC (no more snapshots are allowed), EIO (see `notices`).
        """
        stats = lib.kl_abi_stats()
        with self._lock:
            library.kl_session_ask_snapshot(self._session.session)
            library.kl_session_stats(self._session.session, -1, stats)
            before = self._snapshots()
            library.kl_recorder_take_snapshots(self._recorder, stats.snapshots)
            after = self._snapshots()
        if after.beyond > before.beyond:
            raise Error(errno.ENOSPC, "no more snapshots are allowed")
        if after.written == before.written:
            raise Error(errno.EIO, self.notices[-1].text if self.notices else "no snapshot")
        return f"{self._path}.{after.written}"

    def _snapshots(self) -> lib.kl_snapshot_counts:
        """A copy of the counts."""
        counts = library.kl_recorder_snapshots(self._recorder).contents
        return lib.kl_snapshot_counts.from_buffer_copy(counts)

    def stop(self) -> None:
        """Stop recording, and complete the trace.

        Raises Error if it is not complete; what could be stored is readable all the same.
        """
        self._stopping = True
        if self._thread:
            self._thread.join()
        self._running = False
        try:
            library.kl_session_stop(self._session.session)
            library.kl_recorder_ended(self._recorder)
        finally:
            library.kl_recorder_finish(self._recorder)
        if self._failure:
            raise self._failure

    def close(self) -> None:
        """Free everything. A recording that has not been started leaves no trace."""
        self._stopping = True
        if self._thread:
            self._thread.join()
            self._thread = None
        if self._recorder:
            self._counts = self._read_counts()
            library.kl_recorder_destroy(self._recorder)
            self._recorder = None
        self._session.close()

    def _read_counts(self) -> lib.kl_recorder_counts:
        """A copy of the counts, which stays when the recording is closed."""
        if not self._recorder:
            return self._counts
        counts = library.kl_recorder_counts(self._recorder).contents
        return lib.kl_recorder_counts.from_buffer_copy(counts)

    @property
    def records(self) -> int:
        """Records stored so far."""
        counts = self._read_counts()
        return counts.read.read - counts.unstored

    @property
    def lost(self) -> int:
        """Records lost so far: the buffers were full or overwritten, or the disk was full."""
        counts = self._read_counts()
        return counts.read.missed + counts.read.lost + counts.unstored

    @property
    def note(self) -> str:
        """What was assumed or omitted in the events, a sentence per line."""
        return text(library.kl_plan_note(self._session.plan)) if self._session.plan else ""


class Live:
    """Follow events as they happen, without storing them. Iterating yields Events and Losses.

        with kernlens.Live("sched_switch", all=True) as live:
            for event in live.items(seconds=5):
                print(event)

    The parameters are those of Recording.
    """

    def __init__(
        self,
        events: Union[str, Sequence[str]] = "default",
        *,
        pids: Iterable[int] = (),
        user: Optional[int] = None,
        all: bool = False,
        variables: Sequence[str] = (),
        buffer_bytes: int = 0,
        name: str = "python",
    ) -> None:
        self._reader = self._live = None
        self._session = _Session(
            events,
            all=all,
            user=user,
            pids=pids,
            variables=variables,
            buffer_bytes=buffer_bytes,
            overwrite=False,
            name=name,
        )
        try:
            self._timebase = lib.kl_timebase()
            library.kl_timebase_fit(self._timebase, self._session.now(), None)
            fd = library.kl_session_reader(self._session.session, lib.READER_HOLD)
            self._reader = library.kl_reader_create(
                fd,
                self._session.cpus,
                library.kl_session_block_bytes(self._session.session),
                lib.BACKEND_MMAP,
            )
            self._live = library.kl_live_create(
                self._reader, self._session.schema, self._timebase
            )
            self._factory = Factory(self._session.schema)
            self._session.start()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Live":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Union[Event, Loss]]:
        return self.items()

    def add(self, pid: int) -> None:
        """Trace another process: see Recording.add()."""
        self._session.add(pid, lib.TASK_PROCESS | lib.TASK_INHERIT)

    def items(self, seconds: Optional[float] = None) -> Iterator[Union[Event, Loss]]:
        """Yield what happens, in order of time, for some time, or until the caller ends it.

        Raises Error if the buffers can no longer be read.
        """
        end = None if seconds is None else time.monotonic() + seconds
        while end is None or time.monotonic() < end:
            now = self._session.now()
            yield from self._until(now.cycles - int(now.clock_hz * _MARGIN_S))
            library.kl_reader_wait(self._reader, 50)
        yield from self._until(self._session.now().cycles)

    def _until(self, cycles: int) -> Iterator[Union[Event, Loss]]:
        item = lib.kl_item()
        while library.kl_live_next(self._live, cycles, item) > 0:
            if item.kind == lib.ITEM_EVENT:
                yield self._factory.make(item.event)
            else:
                yield make_loss(ctypes.cast(item.loss, ctypes.POINTER(lib.kl_loss)).contents)

    def close(self) -> None:
        """End the session, and free everything. Events that were yielded stay valid."""
        for name, free in (
            ("_live", library.kl_live_destroy),
            ("_reader", library.kl_reader_destroy),
        ):
            if getattr(self, name):
                free(getattr(self, name))
                setattr(self, name, None)
        self._session.close()
