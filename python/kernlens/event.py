# SPDX-License-Identifier: GPL-2.0
# Decodes events and losses. Fed by trace.py and session.py.
"""Events, their fields and types, and losses, decoded from the library's structs."""

from __future__ import annotations

import ctypes
import functools
import struct
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Optional, Union

from ._library import TYPE_STRING, TYPE_TEXT, Text, kl_class, kl_event, kl_field, kl_loss
from ._library import kl_variable, library, text

Value = Union[int, str, tuple]

# By enum kl_type, for the module struct; records are packed and in the order of x86.
_NUMBERS = "bBhHiIqQ"
_LOSSES = ("discarded", "overwritten", "before", "corrupt", "unstored", "unseen")


@dataclass(frozen=True)
class Field:
    """A field of an event.

    name: as in the kernel
    type: s8, u8 ... s64, u64, text (at most `count` bytes) or string
    format: how to interpret it: dec, hex, ptr, errno, signal ...
    count: number of elements; 1 unless it is an array or text
    """

    name: str
    type: str
    format: str
    count: int
    format_id: int

    def meaning(self, value: Value) -> Optional[str]:
        """The symbolic value, such as "SIGKILL" or "O_RDONLY|O_CLOEXEC".

        Returns None if the format has no symbols, or none for this number.
        """
        if not isinstance(value, int):
            return None
        return _meaning(self.format_id, value & 0xFFFFFFFFFFFFFFFF)


@functools.lru_cache(maxsize=65536)
def _meaning(format_id: int, number: int) -> Optional[str]:
    out = Text()
    return out.take() if library.kl_print_meaning(out.pointer, format_id, number) else None


def _make_field(field: kl_field) -> Field:
    return Field(
        name=text(field.name),
        type=text(library.kl_type_name(field.type)),
        format=text(library.kl_format_name(field.format)),
        count=field.count,
        format_id=field.format,
    )


@functools.lru_cache(maxsize=4096)
def _decode_text(data: bytes) -> str:
    """A text that ends at its first NUL. Mostly names of tasks, of which there are few."""
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")


def _layout(fields: list[kl_field]) -> str:
    """The format of struct.unpack for fields that follow each other."""
    out = "<"
    for field in fields:
        if field.type == TYPE_TEXT:
            out += f"{field.count}s"
        elif field.count == 1:
            out += _NUMBERS[field.type]
        else:
            out += _NUMBERS[field.type] * field.count
    return out


def _gather(fields: list[kl_field]) -> Optional[Callable[[tuple], list[Value]]]:
    """What makes values from unpacked numbers: joins arrays, decodes texts. None: nothing to do."""
    if all(field.count == 1 and field.type < TYPE_TEXT for field in fields):
        return None

    def gather(numbers: tuple) -> list[Value]:
        values: list[Value] = []
        at = 0
        for field in fields:
            if field.type == TYPE_TEXT:
                values.append(_decode_text(numbers[at]))
                at += 1
            elif field.count == 1:
                values.append(numbers[at])
                at += 1
            else:
                values.append(tuple(numbers[at : at + field.count]))
                at += field.count
        return values

    return gather


class _Decoder:
    """Decodes the payload of one type of event: numbers, and strings between them."""

    def __init__(self, fields: list[kl_field]) -> None:
        self._parts = []
        before: list[kl_field] = []
        for field in fields:
            if field.type == TYPE_STRING:
                self._parts.append((struct.Struct(_layout(before)), _gather(before)))
                before = []
            else:
                before.append(field)
        self._last = (struct.Struct(_layout(before)), _gather(before))

    def decode(self, payload: bytes) -> list[Value]:
        values: list[Value] = []
        at = 0
        for numbers, gather in self._parts:
            part = numbers.unpack_from(payload, at)
            values += gather(part) if gather else part
            at += numbers.size
            end = payload.index(b"\0", at)
            values.append(payload[at:end].decode("utf-8", "replace"))
            at = end + 1
        numbers, gather = self._last
        part = numbers.unpack_from(payload, at)
        values += gather(part) if gather else part
        return values


class EventType:
    """A type of event of a trace.

    id: number of the event in the trace
    name: such as "sched_switch", "syscall_entry_read"
    group: such as "sched"; "syscalls" for system calls
    help: one sentence
    fields: a tuple of Field, in the order of the record
    """

    __slots__ = ("id", "name", "group", "help", "fields", "names", "_decoder")

    def __init__(self, of: kl_class) -> None:
        fields = [of.fields[i] for i in range(of.n_fields)]
        self.id: int = of.id
        self.name = text(of.name)
        self.group = text(of.group)
        self.help = text(of.help)
        self.fields = tuple(_make_field(field) for field in fields)
        self.names = tuple(field.name for field in self.fields)
        self._decoder = _Decoder(fields)

    def field(self, name: str) -> Field:
        """The field of that name. Raises KeyError if there is none."""
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(f"{self.name} has no field {name}")

    def decode(self, payload: bytes) -> dict[str, Value]:
        """The fields in the bytes of a record."""
        return dict(zip(self.names, self._decoder.decode(payload)))

    def __repr__(self) -> str:
        return f"<EventType {self.name}>"


class VariableType:
    """A variable that the records of a trace carry.

    name: as given to record -v
    unit: "ns", "B" ...; "" if it has none
    help: one sentence, or the expression
    field: a Field: its type and format
    """

    __slots__ = ("name", "unit", "help", "field", "offset", "_struct")

    def __init__(self, of: kl_variable) -> None:
        self.name = text(of.name)
        self.unit = text(of.unit)
        self.help = text(of.help)
        self.field = _make_field(of.field)
        self.offset: int = of.field.offset
        self._struct = struct.Struct(_layout([of.field]))

    @property
    def bytes(self) -> int:
        """Size of a value in bytes."""
        return self._struct.size

    def decode(self, values: bytes) -> Value:
        """The value among those of all variables."""
        value = self._struct.unpack_from(values, self.offset)[0]
        return _decode_text(value) if isinstance(value, bytes) else value


class Event:
    """One recorded event. It stays valid after the iteration has moved on.

    type: its EventType
    ns: wall time, in ns since 1970
    since_ns: ns since the start of the trace
    cpu: CPU on which it happened
    tid, pid: thread and process that were running; 0: idle, or a task that is not shown

    ``event["ret"]`` is a field; numbers are int, texts str, arrays tuples of int. Fields are decoded
    when they are first read.
    """

    __slots__ = ("type", "ns", "since_ns", "cpu", "tid", "pid", "_comm", "_payload", "_values",
                 "_variables", "_fields")

    def __init__(
        self,
        type: EventType,
        ns: int,
        since_ns: int,
        cpu: int,
        tid: int,
        pid: int,
        comm: bytes,
        payload: bytes,
        variables: tuple[VariableType, ...],
        values: bytes,
    ) -> None:
        self.type = type
        self.ns = ns
        self.since_ns = since_ns
        self.cpu = cpu
        self.tid = tid
        self.pid = pid
        self._comm = comm
        self._payload = payload
        self._variables = variables
        self._values = values
        self._fields: Optional[dict[str, Value]] = None

    @property
    def name(self) -> str:
        """The name of its type, such as "sched_switch"."""
        return self.type.name

    @property
    def comm(self) -> str:
        """The name of the thread that was running."""
        return _decode_text(self._comm)

    @property
    def seconds(self) -> float:
        """Seconds since the start of the trace."""
        return self.since_ns / 1e9

    @property
    def fields(self) -> dict[str, Value]:
        """The fields by name, in the order of the record."""
        if self._fields is None:
            self._fields = self.type.decode(self._payload)
        return self._fields

    @property
    def variables(self) -> dict[str, Value]:
        """The values of the recorded variables by name; empty if none were recorded."""
        return {v.name: v.decode(self._values) for v in self._variables}

    @property
    def meanings(self) -> dict[str, str]:
        """The symbolic values of those fields that have one."""
        found = ((field.name, field.meaning(self.fields[field.name])) for field in self.type.fields)
        return {name: meaning for name, meaning in found if meaning is not None}

    def get(self, name: str, default: Any = None) -> Any:
        """A field, or `default` if the event has none of that name."""
        return self.fields.get(name, default)

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def __contains__(self, name: str) -> bool:
        return name in self.type.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.type.names)

    def __repr__(self) -> str:
        fields = " ".join(f"{name}={value!r}" for name, value in self.fields.items())
        return f"<[{self.seconds:.9f}] {self.cpu} {self.comm}-{self.tid} {self.name}: {fields}>"


@dataclass(frozen=True)
class Loss:
    """Records that are missing from a trace.

    kind: discarded (the buffer was full), overwritten, before (the trace's first block), corrupt,
        unstored (the disk was full) or unseen (missed by the events' sources)
    cpu: CPU that fired them
    records: how many; 0 if unknown
    begin_ns, end_ns: wall time between which they were fired; 0: unknown
    """

    kind: str
    cpu: int
    records: int
    begin_ns: int
    end_ns: int


def make_loss(loss: kl_loss) -> Loss:
    """Copy a loss of the library."""
    return Loss(_LOSSES[loss.kind], loss.cpu, loss.records, loss.begin_ns, loss.end_ns)


# The members of struct kl_event that an Event is made from, at their offsets in it.
def _event_struct() -> struct.Struct:
    members = (
        (kl_event.ns, "Q"),
        (kl_event.since_ns, "Q"),
        (kl_event.cpu, "I"),
        (kl_event.id, "I"),
    )
    task = kl_event.task.offset
    inside = kl_event.task.size
    out, at = "<", 0
    for member, code in members:
        out += f"{member.offset - at}x{code}"
        at = member.offset + member.size
    out += f"{task - at}xii17s{inside - 25}x"
    at = task + inside
    for member, code in (
        (kl_event.variables, "Q"),
        (kl_event.payload, "Q"),
        (kl_event.payload_bytes, "I"),
    ):
        out += f"{member.offset - at}x{code}"
        at = member.offset + member.size
    return struct.Struct(out)


EVENT = _event_struct()


class Factory:
    """Makes Events from the library's, for one schema."""

    def __init__(self, schema: int) -> None:
        self._schema = schema
        self._types: dict[int, EventType] = {}
        self.variables = tuple(self._read_variables())
        self._values_bytes = max((v.offset + v.bytes for v in self.variables), default=0)

    def _read_variables(self) -> Iterator[VariableType]:
        index = 0
        while found := library.kl_schema_variable(self._schema, index):
            yield VariableType(found.contents)
            index += 1

    def type_of(self, id: int) -> EventType:
        """The type of event with that id."""
        found = self._types.get(id)
        if not found:
            found = EventType(library.kl_schema_class(self._schema, id).contents)
            self._types[id] = found
        return found

    def types(self) -> Iterator[EventType]:
        """All types of events of the schema, by id."""
        at = None
        while at := library.kl_schema_next(self._schema, at):
            yield self.type_of(at.contents.id)

    def make(
        self, address: int, string_at: Callable = ctypes.string_at, size: int = EVENT.size
    ) -> Event:
        """Copy the event at an address."""
        ns, since_ns, cpu, id, tid, pid, comm, values, payload, bytes = EVENT.unpack(
            string_at(address, size)
        )
        return Event(
            self._types.get(id) or self.type_of(id),
            ns,
            since_ns,
            cpu,
            tid,
            pid,
            comm,
            string_at(payload, bytes),
            self.variables,
            string_at(values, self._values_bytes) if self._values_bytes else b"",
        )
