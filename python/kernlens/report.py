# SPDX-License-Identifier: GPL-2.0
# Runs the command kernlens for reports.
"""Asks the command kernlens for what the library does not compute: reports of traces."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from typing import Any, Optional, Union

from ._library import Error


def command_json(*arguments: Union[str, os.PathLike]) -> Any:
    """Run the command kernlens with --json, and return what it prints.

    arguments: a subcommand and its arguments, as in ``command_json("list", "sched_switch")``

    Raises Error: ENOENT if there is no such command; else with what the command has said, and its
    errno, which is EINVAL for wrong usage, and EIO if the command does not say.
    """
    command = os.environ.get("KERNLENS_COMMAND", "kernlens")
    try:
        done = subprocess.run(
            [command, "--json", *map(os.fspath, arguments)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise Error(errno.ENOENT, f"there is no command {command}") from error
    if done.returncode:
        raise _error(done)
    return json.loads(done.stdout)


def _error(done: subprocess.CompletedProcess) -> Error:
    """What the command has said: with --json, an object."""
    try:
        said = json.loads(done.stdout)
        number = errno.EINVAL if said["error"] == "USAGE" else getattr(errno, said["error"])
        return Error(number, said["message"])
    except (ValueError, KeyError, TypeError, AttributeError):
        text = done.stderr.decode("utf-8", "replace").strip()
        return Error(errno.EIO, text or f"the command has ended with status {done.returncode}")


def report(
    trace: Union[str, os.PathLike],
    table: Optional[str] = None,
    *,
    pid: Optional[int] = None,
    top: Optional[int] = None,
) -> Any:
    """A report about a trace, as ``kernlens report --json`` prints it.

    trace: a trace directory, or a file in BER
    table: "syscalls", "sleepers" or "events"; None: the overview
    pid: only this process or, in the table sleepers, this thread
    top: only the first rows; None: all

    Returns an object with the report's rows; times are in ns. Raises Error as command_json() does.
    """
    arguments: list[Union[str, os.PathLike]] = ["report"]
    if table:
        arguments.append(table)
    if pid is not None:
        arguments += ["--pid", str(pid)]
    if top is not None:
        arguments += ["--top", str(top)]
    return command_json(*arguments, trace)
