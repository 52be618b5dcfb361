# SPDX-License-Identifier: GPL-2.0
# The gdb commands.
"""
gdb commands for the sessions of the kernlens module in a stopped kernel: in QEMU, behind another
stub, or in a core. The pages that the sessions consist of are copied into a core file, which
`kernlens extract` checks and decodes. kernlens-gdb(1) describes the commands.
"""
import collections
import contextlib
import mmap
import os
import re
import subprocess
import tempfile

import gdb

import kernlens_mailbox as mailboxes
import kernlens_pages as pages
import kernlens_target as target


class Command(gdb.Parameter):
    """The kernlens command that decodes what is read; of the same release as the module."""

    set_doc = "Set the kernlens command that decodes what is read."
    show_doc = "Show the kernlens command that decodes what is read."

    def __init__(self):
        super().__init__("kernlens-command", gdb.COMMAND_FILES, gdb.PARAM_FILENAME)
        self.value = os.environ.get("KERNLENS", "kernlens")

    def get_set_string(self):
        return ""

    def get_show_string(self, text):
        return "The kernlens command is %s." % text


class Types(gdb.Parameter):
    """The file with the stopped kernel's types, for names of arguments in hooks."""

    set_doc = "Set the file with the kernel's types: a vmlinux, or BTF; empty: gdb's executable file."
    show_doc = "Show the file with the kernel's types."

    def __init__(self):
        super().__init__("kernlens-types", gdb.COMMAND_FILES, gdb.PARAM_OPTIONAL_FILENAME)
        self.value = ""

    def get_set_string(self):
        return ""

    def get_show_string(self, text):
        return "The file with the kernel's types is %s." % (text or "gdb's executable file")


command_path = Command()
types_path = Types()

# ------------------------------------------------------------------- kernlens


def core_path():
    """The file of a target that is a core."""
    files = gdb.execute("info files", to_string=True)
    match = re.search(r"Local core dump file:\s*[`'\"\u2018](.*)['\"\u2019], file type", files)
    if not match:
        raise pages.Failure("gdb does not say which file the core is")
    return match.group(1)


def run(words, take):
    """Run kernlens, and pass each line of its output on."""
    command = [os.path.expanduser(command_path.value)] + words
    with tempfile.TemporaryFile() as errors:
        try:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
            )
        except OSError as error:
            raise pages.Failure(
                "cannot execute %s: %s (set kernlens-command FILE)" % (command[0], error.strerror)
            ) from None
        with child:
            try:
                for line in child.stdout:
                    take(line.decode("utf-8", "replace"))
            except BaseException:
                child.kill()
                raise
        errors.seek(0)
        said = errors.read().decode("utf-8", "replace")
    if child.returncode:
        raise pages.Failure(said.strip().removeprefix("kernlens: ") or "%s has failed" % words[0])
    gdb.write(said, gdb.STDERR)


@contextlib.contextmanager
def image(session=None, with_records=True):
    """Yields a core file with the sessions' pages, and the name of the chosen session."""
    connection = target.stopped_connection()
    if connection.type == "core":
        yield core_path(), session
        return
    with tempfile.TemporaryDirectory(prefix="kernlens-") as folder:
        path = os.path.join(folder, "core")
        with target.machine_memory(connection) as (address, read):
            machine = pages.Machine(read, address)
            if with_records:
                found = machine.find(session)
                machine.add_session(found)
                session = str(found.id)
        machine.write(path)
        yield path, session


@contextlib.contextmanager
def trace(session):
    """Yields the folder of a trace of the session."""
    with image(session) as (path, chosen), tempfile.TemporaryDirectory(prefix="kernlens-") as to:
        selected = ["--session", chosen] if chosen else []
        run(["extract", "--no-config", path, "-o", to] + selected, gdb.write)
        found = sorted(os.listdir(to))
        if len(found) != 1:
            raise pages.Failure("which session? There are %s" % ", ".join(found))
        yield os.path.join(to, found[0])


def take_session(words):
    """Remove -s SESSION from the arguments. Returns it, or None."""
    for i, word in enumerate(words):
        if word in ("-s", "--session"):
            if i + 1 == len(words):
                raise pages.Failure("%s: a session is missing" % word)
            del words[i]
            return words.pop(i)
    return None


def print_trace(session, words, take):
    """Print a session's records."""
    with trace(session) as folder:
        run(["print", "--no-pager", "--color", "never", folder] + words, take)


# ------------------------------------------------------------------- mailbox

# Number of the request whose answer has not been shown, by number of the connection.
pending = {}


@contextlib.contextmanager
def open_mailbox(connection):
    """Yields the mailbox."""
    if connection.type == "core":
        raise pages.Failure("a core cannot be changed")
    with target.machine_memory(connection) as (address, read):
        base = target.attached[connection.num].base or 0

        def write(to, data):
            gdb.selected_inferior().write_memory(base + to, data)

        yield mailboxes.Mailbox(pages.Machine(read, address), write)


def types_file():
    """The file with the kernel's types, or None."""
    path = types_path.value or gdb.current_progspace().filename
    if types_path.value or not path:
        return os.path.expanduser(path) if path else None
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
            return path if data.find(b"\0.BTF\0") >= 0 else None
    except (OSError, ValueError):
        return None


def request(connection, words):
    """Let `kernlens mailbox` make a request, and put it into the mailbox."""
    with open_mailbox(connection), tempfile.TemporaryDirectory(prefix="kernlens-") as folder:
        path = os.path.join(folder, "request")
        run(["mailbox", "--no-config", "-o", path] + words, gdb.write)
        with open(path, "rb") as file:
            data = file.read()
    with open_mailbox(connection) as mailbox:
        number = mailbox.put(data)
        pending[connection.num] = number
    target.note("request %d is in the mailbox: the module carries it out when the machine runs" % number)


def show_answer(connection):
    """Print the answer to the pending request, if there is one."""
    with open_mailbox(connection) as mailbox:
        if mailbox.is_pending():
            return False
        pending.pop(connection.num, None)
        answer = mailbox.answer()
    target.note(mailboxes.describe(answer) if answer else "there was no request")
    return True


def on_stop(event):
    """Report an answer as soon as the machine stops again."""
    connection = gdb.selected_inferior().connection
    if not connection or connection.num not in pending:
        return
    try:
        show_answer(connection)
    except (pages.Failure, gdb.error) as failure:
        target.note(str(failure))


# ------------------------------------------------------------------- commands


class Kernlens(gdb.Command):
    """Show what the kernlens module has recorded in a stopped kernel."""

    def __init__(self):
        super().__init__("kernlens", gdb.COMMAND_STATUS, gdb.COMPLETE_NONE, True)


class Subcommand(gdb.Command):
    """A command that reports what cannot be done as gdb's commands do."""

    name = ""

    def __init__(self):
        super().__init__("kernlens " + self.name, gdb.COMMAND_STATUS, gdb.COMPLETE_NONE)

    def invoke(self, argument, from_tty):
        try:
            self.run(gdb.string_to_argv(argument))
        except pages.Failure as failure:
            raise gdb.GdbError("kernlens: %s" % failure) from None

    def run(self, words):
        """What the command does."""
        raise NotImplementedError


def expect_none(words):
    """Refuse arguments."""
    if words:
        raise pages.Failure("unexpected argument: %s" % words[0])


class Attach(Subcommand):
    """Find the module's pages: kernlens attach [ADDRESS | search]

    ADDRESS is that of the module's variable `anchor`, virtual or physical; it may be an expression.
    With `search`, all memory is searched. Without arguments, the page tables lead to the module.
    In QEMU, other commands attach by themselves."""

    name = "attach"

    def run(self, words):
        connection = target.stopped_connection()
        if connection.type == "core":
            raise pages.Failure("a core is searched by `kernlens extract` itself")
        target.attached.pop(connection.num, None)
        if words and words != ["search"]:
            self.attach(connection, int(gdb.parse_and_eval(" ".join(words))))
        else:
            with target.physical_memory(connection) as is_physical:
                if is_physical:
                    target.attached[connection.num] = target.find_anchor(bool(words))
        with target.machine_memory(connection) as (address, read):
            machine = pages.Machine(read, address)
        target.note("%s, anchor at 0x%x" % (machine.release or "unknown kernel", address))

    @staticmethod
    def attach(connection, address):
        """Attach to the anchor at an address."""
        address %= 1 << 64
        if address >= pages.ADDRESS_MAX:
            target.attached[connection.num] = target.attach_virtual(address)
            return
        with target.physical_memory(connection) as is_physical:
            if is_physical and not pages.anchor_at(target.read_memory, address):
                raise pages.Failure("there is no page of the kernlens module at 0x%x" % address)
        target.attached[connection.num] = target.Attached(address)


class Status(Subcommand):
    """Show the machine and its sessions: kernlens status"""

    name = "status"

    def run(self, words):
        expect_none(words)
        with image(with_records=False) as (path, _):
            run(["extract", "--no-config", path, "--list"], gdb.write)
        connection = target.stopped_connection()
        if connection.type != "core":
            self.show_mailbox(connection)

    @staticmethod
    def show_mailbox(connection):
        """Print whether requests can be made."""
        try:
            with open_mailbox(connection) as mailbox:
                target.note("the mailbox is on, its last request was %d" % mailbox.asked)
        except pages.Failure as failure:
            target.note(str(failure))


class Sessions(Subcommand):
    """List the names of the sessions: kernlens sessions"""

    name = "sessions"

    def run(self, words):
        expect_none(words)
        with image(with_records=False) as (path, _):
            run(["extract", "--no-config", path, "--list"], self.take)

    @staticmethod
    def take(line):
        """Print the table without the machine."""
        if line.startswith("  "):
            gdb.write(line)


class Print(Subcommand):
    """Print a session's records: kernlens print [-s SESSION] [ARGUMENT...]

    The arguments are those of kernlens-print(1), such as -e 'sched_*' or --format strace."""

    name = "print"

    def run(self, words):
        print_trace(take_session(words), words, gdb.write)


class Last(Subcommand):
    """Print a session's last records: kernlens last N [-s SESSION] [ARGUMENT...]

    The arguments are those of kernlens-print(1)."""

    name = "last"

    def run(self, words):
        session = take_session(words)
        if not words or not words[0].isdecimal():
            raise pages.Failure("how many records? `kernlens last 20`")
        records = collections.deque(maxlen=int(words.pop(0)))

        def take(line):
            # A record's stack trace follows in lines that are indented.
            if line[:1].isspace() and records:
                records[-1] += line
            else:
                records.append(line)

        print_trace(session, words, take)
        gdb.write("".join(records))


def function_at(expression):
    """Name, or a made-up one, and address of the function at an address."""
    address = int(gdb.parse_and_eval(expression)) % (1 << 64)
    known = re.match(r"([\w.]+) in section", gdb.execute("info symbol 0x%x" % address, to_string=True))
    return known.group(1) if known else "at_%x" % address, address


def split_hook(words):
    """FUNCTION [if EXPRESSION] [:HANDLER]: the three parts."""
    match = re.fullmatch(r"(\S+)(?:\s+if\s+(.*?))?(?:\s+:\s*(.*))?", words.strip(), re.DOTALL)
    if not match:
        raise pages.Failure("expected: FUNCTION|*ADDRESS [if EXPRESSION] [:HANDLER]")
    return match.groups()


class Hook(Subcommand):
    """Let the module record a function: kernlens hook FUNCTION|*ADDRESS [if EXPRESSION] [:HANDLER]

    The machine gets a session that records hits of the function, or of its return: FUNCTION:ret.
    EXPRESSION and HANDLER are those of option -e: kernlens-expressions(7), kernlens-record(1). The
    module carries it out when the machine runs again, and its answer is shown when it next stops.

      kernlens hook vfs_read if count > 4096 && comm == "cat"
      kernlens hook kfree_skb_reason :count by comm"""

    name = "hook"

    def invoke(self, argument, from_tty):
        # Quotes belong to the expression.
        self.argument = argument
        super().invoke("", from_tty)

    def run(self, words):
        function, condition, handler = split_hook(self.argument)
        options = []
        if function.startswith("*"):
            function, address = function_at(function[1:])
            options += ["--address", "%x" % address]
        if condition:
            options += ["--if", condition]
        if handler:
            options += ["--do", handler]
        types = types_file()
        if types:
            options += ["--types", types]
        request(target.stopped_connection(), options + ["hook", function])


def session_id(connection, name):
    """Number of the session with this name or number; without a name, of the only one."""
    with target.machine_memory(connection) as (address, read):
        return str(pages.Machine(read, address).find(name).id)


class Unhook(Subcommand):
    """End a session that `kernlens hook` has created, or all: kernlens unhook [SESSION]"""

    name = "unhook"

    def run(self, words):
        connection = target.stopped_connection()
        chosen = [session_id(connection, words.pop(0))] if words else []
        expect_none(words)
        request(connection, ["unhook"] + chosen)


class Maskset(gdb.Command):
    """Change what a session records."""

    def __init__(self):
        super().__init__("kernlens maskset", gdb.COMMAND_STATUS, gdb.COMPLETE_NONE, True)


class MasksetUse(Subcommand):
    """Let a session use one of its masksets: kernlens maskset use NAME [-s SESSION]

    NAME may also be built in: RNOTHING, RDEFAULT or RALL."""

    name = "maskset use"

    def run(self, words):
        connection = target.stopped_connection()
        chosen = session_id(connection, take_session(words))
        if not words:
            raise pages.Failure("the name of a maskset is missing")
        name = words.pop(0)
        expect_none(words)
        request(connection, ["use", chosen, name])


class ShowAnswer(Subcommand):
    """Show the module's answer to the last request: kernlens answer"""

    name = "answer"

    def run(self, words):
        expect_none(words)
        if not show_answer(target.stopped_connection()):
            target.note("the request is still in the mailbox: let the machine run")


def define():
    """Define the commands."""
    Kernlens()
    Maskset()
    for subcommand in (Attach, Status, Sessions, Print, Last, Hook, Unhook, MasksetUse, ShowAnswer):
        subcommand()
    gdb.events.stop.connect(on_stop)


define()
