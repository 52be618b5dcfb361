# SPDX-License-Identifier: GPL-2.0
# The interface of libkernlens, for ctypes.
"""The library's interface: structs and functions of libkernlens.so.0, for ctypes.

The layouts are those of lib/abi.txt, with which tests/python compares them.
"""

from __future__ import annotations

import ctypes
import errno
import os
from ctypes import POINTER, Structure, c_bool, c_char, c_char_p, c_int, c_int16, c_int32, c_int64
from ctypes import c_size_t, c_uint, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, Optional

COMM_LEN = 16
VARIABLES_MAX = 63
VARIABLE_PROGRAM = 0xFFFFFFFF

# enum kl_type
TYPE_TEXT = 8
TYPE_STRING = 9

ITEM_EVENT = 0
HANDLER_LOG = 1

MODE_DISCARD = 0
MODE_OVERWRITE = 1
FILTER_NONE = 0
FILTER_TASKS = 1
FILTER_UID = 2
TASK_ADD = 0x1
TASK_PROCESS = 0x4
TASK_TREE = 0x8
TASK_INHERIT = 0x10
TASK_EXEC = 0x20
READER_HOLD = 0x1
BACKEND_MMAP = 0

STYLE_TEXT = 0
STYLE_CSV = 1
STYLE_JSON = 2
SHOW_RELATIVE = 0x1


class Error(OSError):
    """A call failed. ``errno`` is that of the system; the text explains it in a sentence."""

    def __str__(self) -> str:
        return self.strerror or os.strerror(self.errno)


# ---------------------------------------------------------------------- structs


class kl_field(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_int),
        ("format", c_int),
        ("bytes", c_uint16),
        ("count", c_uint16),
        ("anchor", c_uint16),
        ("offset", c_uint16),
    ]


class kl_class(Structure):
    _fields_ = [
        ("id", c_uint16),
        ("kind", c_uint8),
        ("set", c_uint8),
        ("access", c_uint8),
        ("syscall", c_int16),
        ("name", c_char_p),
        ("group", c_char_p),
        ("help", c_char_p),
        ("fields", POINTER(kl_field)),
        ("n_fields", c_uint),
        ("n_strings", c_uint),
        ("tail_bytes", c_uint),
    ]


class kl_task(Structure):
    _fields_ = [("tid", c_int32), ("pid", c_int32), ("comm", c_char * (COMM_LEN + 1))]


class kl_event(Structure):
    _fields_ = [
        ("ns", c_uint64),
        ("since_ns", c_uint64),
        ("cycles", c_uint64),
        ("cpu", c_uint32),
        ("id", c_uint32),
        ("event_class", c_void_p),
        ("task", kl_task),
        ("changed", c_uint64),
        ("schema", c_void_p),
        ("variables", c_void_p),
        ("payload", c_void_p),
        ("payload_bytes", c_uint32),
    ]


class kl_loss(Structure):
    _fields_ = [
        ("kind", c_int),
        ("cpu", c_uint32),
        ("records", c_uint64),
        ("blocks", c_uint64),
        ("begin_ns", c_uint64),
        ("end_ns", c_uint64),
        ("first_block", c_uint64),
        ("origin_ns", c_uint64),
    ]


class kl_item(Structure):
    _fields_ = [("kind", c_int), ("event", c_void_p), ("loss", c_void_p)]


class kl_variable(Structure):
    _fields_ = [
        ("id", c_uint32),
        ("name", c_char_p),
        ("scope", c_char_p),
        ("type", c_char_p),
        ("unit", c_char_p),
        ("access", c_char_p),
        ("cost", c_char_p),
        ("help", c_char_p),
        ("field", kl_field),
    ]


class kl_timebase(Structure):
    _fields_ = [
        ("clock", c_uint32),
        ("hz", c_uint64),
        ("offset_s", c_int64),
        ("offset", c_uint64),
        ("precision", c_uint64),
        ("ns_whole", c_uint64),
        ("ns_fraction", c_uint64),
    ]


class kl_trace_clock(Structure):
    _fields_ = [
        ("known", c_bool),
        ("synchronized", c_bool),
        ("offset_ns", c_int64),
        ("max_error_ns", c_uint64),
        ("estimated_error_ns", c_uint64),
    ]


class kl_trace_info(Structure):
    _fields_ = [
        ("uuid", c_uint8 * 16),
        ("boot_id", c_char * 40),
        ("hostname", c_char * 128),
        ("kernel_release", c_char * 128),
        ("kernel_version", c_char * 128),
        ("trace_name", c_char * 128),
        ("scope", c_char * 128),
        ("version", c_char * 128),
        ("command", c_int32),
        ("schema_hash", c_uint64),
        ("timebase", kl_timebase),
        ("clock", kl_trace_clock),
    ]


class kl_trace_counts(Structure):
    _fields_ = [
        ("events", c_uint64),
        ("discarded", c_uint64),
        ("overwritten", c_uint64),
        ("before", c_uint64),
        ("blocks", c_uint64),
        ("corrupt", c_uint64),
        ("damaged", c_uint64),
        ("cut_bytes", c_uint64),
        ("unstored", c_uint64),
        ("unseen", c_uint64),
    ]


class kl_trace_state(Structure):
    _fields_ = [
        ("begin_ns", c_uint64),
        ("end_ns", c_uint64),
        ("manifest", c_bool),
        ("finished", c_bool),
        ("manifest_damaged", c_uint64),
        ("streams", c_uint),
        ("streams_missing", c_uint),
    ]


class kl_buffer(Structure):
    _fields_ = [("data", c_void_p), ("length", c_size_t), ("capacity", c_size_t), ("error", c_int)]


class kl_abi_info(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("abi_version", c_uint32),
        ("schema_hash", c_uint64),
        ("cpus", c_uint32),
        ("may", c_uint32),
        ("clock", c_uint32),
        ("events", c_uint32),
        ("clock_hz", c_uint64),
        ("sessions_max", c_uint32),
        ("sessions", c_uint32),
        ("buffer_bytes_max", c_uint64),
    ]


class kl_abi_time(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("clock", c_uint32),
        ("cycles", c_uint64),
        ("monotonic_ns", c_uint64),
        ("realtime_ns", c_uint64),
        ("clock_hz", c_uint64),
    ]


class kl_abi_session(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("mode", c_uint32),
        ("block_bytes", c_uint32),
        ("blocks", c_uint32),
        ("blocks_max", c_uint32),
        ("id", c_uint32),
        ("uuid", c_uint8 * 16),
        ("name", c_char * 32),
        ("flags", c_uint32),
        ("reserved", c_uint32),
    ]


class kl_abi_variable(Structure):
    _fields_ = [
        ("variable", c_uint32),
        ("program", c_uint32),
        ("type", c_uint32),
        ("reserved", c_uint32),
    ]


class kl_abi_variables(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("n", c_uint32),
        ("variable", kl_abi_variable * VARIABLES_MAX),
        ("flags", c_uint32),
        ("reserved", c_uint32),
    ]


class kl_abi_suspended(Structure):
    _fields_ = [
        ("times", c_uint32),
        ("reason", c_uint32),
        ("permille", c_uint32),
        ("limit", c_uint32),
        ("cpu", c_int32),
        ("reserved", c_uint32),
    ]


class kl_abi_stats(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("cpu", c_int32),
        ("written", c_uint64),
        ("lost", c_uint64),
        ("switches", c_uint64),
        ("buffer_bytes", c_uint64),
        ("running", c_uint32),
        ("blocks", c_uint32),
        ("readers", c_uint32),
        ("maskset", c_uint32),
        ("frozen", c_uint32),
        ("unswitched", c_uint32),
        ("alarms", c_uint64),
        ("snapshots", c_uint64),
        ("begin_cycles", c_uint64),
        ("end_cycles", c_uint64),
        ("suspended", kl_abi_suspended),
    ]


class kl_record_source(Structure):
    _fields_ = [
        ("device", c_void_p),
        ("session", c_void_p),
        ("schema", c_void_p),
        ("config", POINTER(kl_abi_session)),
        ("scope", c_char_p),
        ("command", c_int32),
    ]


class kl_record_notice(Structure):
    _fields_ = [("kind", c_int), ("path", c_char_p), ("error", c_int), ("loss", POINTER(kl_loss))]


NOTIFY = ctypes.CFUNCTYPE(None, c_void_p, POINTER(kl_record_notice))


class kl_recorder_params(Structure):
    _fields_ = [
        ("path", c_char_p),
        ("force", c_bool),
        ("names", c_void_p),
        ("snapshots", c_uint64),
        ("notify", NOTIFY),
        ("context", c_void_p),
        ("compress", c_int),
    ]


class kl_reader_counts(Structure):
    _fields_ = [
        ("read", c_uint64),
        ("missed", c_uint64),
        ("lost", c_uint64),
        ("blocks", c_uint64),
        ("bad", c_uint64),
    ]


class kl_recorder_counts(Structure):
    _fields_ = [
        ("read", kl_reader_counts),
        ("bytes", c_uint64),
        ("unstored", c_uint64),
        ("error", c_int),
    ]


class kl_snapshot_counts(Structure):
    _fields_ = [
        ("written", c_uint64),
        ("merged", c_uint64),
        ("beyond", c_uint64),
        ("failed", c_uint64),
    ]


# -------------------------------------------------------------------- functions

_ITEM = POINTER(kl_item)

# Functions that return a pointer, NULL on failure; their arguments.
_MAKERS = {
    "kl_trace_open": [c_char_p],
    "kl_filter_create": [c_void_p, c_char_p],
    "kl_device_open": [c_char_p],
    "kl_schema_create": [],
    "kl_plan_create": [c_void_p],
    "kl_session_create": [c_void_p, POINTER(kl_abi_session)],
    "kl_recorder_create": [POINTER(kl_record_source), POINTER(kl_recorder_params)],
    "kl_reader_create": [c_int, c_uint, c_size_t, c_int],
    "kl_live_create": [c_void_p, c_void_p, POINTER(kl_timebase)],
}

# Functions that return a number, a negative errno on failure.
_CALLS = {
    "kl_device_mark": [c_void_p, c_uint64, c_char_p],
    "kl_device_time": [c_void_p, POINTER(kl_abi_time)],
    "kl_record_set_buffers": [c_void_p, c_uint64, POINTER(kl_abi_session)],
    "kl_record_prepare_plan": [c_void_p, c_void_p],
    "kl_plan_add": [c_void_p, c_char_p, c_uint],
    "kl_plan_add_variable": [c_void_p, c_char_p],
    "kl_plan_compile": [c_void_p],
    "kl_record_omit_absent": [c_void_p, c_void_p, c_void_p, POINTER(kl_buffer)],
    "kl_record_apply": [c_void_p, c_void_p],
    "kl_record_apply_variables": [
        POINTER(kl_record_source),
        c_void_p,
        POINTER(kl_abi_variables),
    ],
    "kl_record_publish": [POINTER(kl_record_source), c_void_p],
    "kl_session_filter": [c_void_p, c_uint32, c_uint32],
    "kl_session_tasks": [c_void_p, c_int, c_uint32],
    "kl_session_start": [c_void_p],
    "kl_session_stop": [c_void_p],
    "kl_session_stats": [c_void_p, c_int, POINTER(kl_abi_stats)],
    "kl_session_ask_snapshot": [c_void_p],
    "kl_session_reader": [c_void_p, c_uint32],
    "kl_recorder_attach": [c_void_p],
    "kl_recorder_began": [c_void_p],
    "kl_recorder_drain": [c_void_p],
    "kl_recorder_clear_snapshots": [c_void_p, c_bool],
    "kl_recorder_ended": [c_void_p],
    "kl_recorder_finish": [c_void_p],
    "kl_reader_wait": [c_void_p, c_int],
    "kl_timebase_fit": [POINTER(kl_timebase), POINTER(kl_abi_time), POINTER(kl_abi_time)],
    "kl_live_next": [c_void_p, c_uint64, _ITEM],
}

# Functions that cannot fail: their result and arguments.
_OTHERS: dict[str, tuple[Any, list[Any]]] = {
    "kl_error_text": (c_char_p, []),
    "kl_trace_close": (None, [c_void_p]),
    "kl_trace_rewind": (None, [c_void_p]),
    "kl_trace_schema": (c_void_p, [c_void_p]),
    "kl_trace_about": (POINTER(kl_trace_info), [c_void_p]),
    "kl_trace_counted": (POINTER(kl_trace_counts), [c_void_p]),
    "kl_trace_state": (POINTER(kl_trace_state), [c_void_p]),
    "kl_trace_begin": (c_uint64, [c_void_p]),
    "kl_filter_destroy": (None, [c_void_p]),
    "kl_schema_destroy": (None, [c_void_p]),
    "kl_schema_class": (POINTER(kl_class), [c_void_p, c_uint]),
    "kl_schema_next": (POINTER(kl_class), [c_void_p, POINTER(kl_class)]),
    "kl_schema_variable": (POINTER(kl_variable), [c_void_p, c_uint]),
    "kl_schema_rule": (c_char_p, [c_void_p, c_uint]),
    "kl_variable_find": (POINTER(kl_variable), [c_char_p]),
    "kl_type_name": (c_char_p, [c_int]),
    "kl_format_name": (c_char_p, [c_int]),
    "kl_print_meaning": (c_bool, [POINTER(kl_buffer), c_int, c_uint64]),
    "kl_print_item": (None, [POINTER(kl_buffer), c_int, c_uint, _ITEM]),
    "kl_buffer_deinit": (None, [POINTER(kl_buffer)]),
    "kl_device_close": (None, [c_void_p]),
    "kl_device_info": (POINTER(kl_abi_info), [c_void_p]),
    "kl_plan_destroy": (None, [c_void_p]),
    "kl_plan_note": (c_char_p, [c_void_p]),
    "kl_session_close": (None, [c_void_p]),
    "kl_session_id": (c_uint32, [c_void_p]),
    "kl_session_block_bytes": (c_size_t, [c_void_p]),
    "kl_recorder_fd": (c_int, [c_void_p]),
    "kl_recorder_take_snapshots": (None, [c_void_p, c_uint64]),
    "kl_recorder_destroy": (None, [c_void_p]),
    "kl_recorder_counts": (POINTER(kl_recorder_counts), [c_void_p]),
    "kl_recorder_snapshots": (POINTER(kl_snapshot_counts), [c_void_p]),
    "kl_reader_destroy": (None, [c_void_p]),
    "kl_live_destroy": (None, [c_void_p]),
}


def _error(number: int) -> Error:
    text = library.kl_error_text().decode("utf-8", "replace")
    return Error(number, text or os.strerror(number))


def _check_pointer(result: Optional[int], function: Any, arguments: Any) -> int:
    if not result:
        raise _error(ctypes.get_errno() or errno.EINVAL)
    return result


def _check_number(result: int, function: Any, arguments: Any) -> int:
    if result < 0:
        raise _error(-result)
    return result


def _load() -> Any:
    """Load the library and declare its functions. Raises Error if there is none."""
    name = os.environ.get("KERNLENS_LIBRARY", "libkernlens.so.0")
    try:
        loaded = ctypes.CDLL(name, use_errno=True)
        for function, arguments in _MAKERS.items():
            entry = getattr(loaded, function)
            entry.restype, entry.argtypes, entry.errcheck = c_void_p, arguments, _check_pointer
        for function, arguments in _CALLS.items():
            entry = getattr(loaded, function)
            entry.restype, entry.argtypes, entry.errcheck = c_int, arguments, _check_number
        for function, (result, arguments) in _OTHERS.items():
            entry = getattr(loaded, function)
            entry.restype, entry.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise Error(errno.ENOENT, f"cannot use the library of kernlens: {error}") from error
    return loaded


library = _load()


class Text:
    """A text buffer that the library's print functions append to."""

    def __init__(self) -> None:
        self._buffer = kl_buffer()
        self.pointer = ctypes.pointer(self._buffer)

    def __del__(self) -> None:
        library.kl_buffer_deinit(self.pointer)

    def take(self) -> str:
        """Return what has been printed since the last call."""
        length, self._buffer.length = self._buffer.length, 0
        if self._buffer.error:
            raise MemoryError
        if not length:
            return ""
        return ctypes.string_at(self._buffer.data, length).decode("utf-8", "replace")


def text(value: Optional[bytes]) -> str:
    """A string of the library; None becomes the empty string."""
    return value.decode("utf-8", "replace") if value else ""
