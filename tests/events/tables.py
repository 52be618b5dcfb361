# SPDX-License-Identifier: GPL-2.0
# Reads uapi/events.def and uapi/syscalls.def (what kernlens promises to record) and
# tests/events/table (what causes each event).
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
UAPI = os.path.join(HERE, "..", "..", "uapi")


class Field:
    def __init__(self, kind, name, fmt, value, count=1):
        self.kind, self.name, self.format, self.value, self.count = kind, name, fmt, value, count


class Event:
    def __init__(self, number, name, group, source, target, fields):
        self.number, self.name, self.group = number, name, group
        self.source, self.target, self.fields = source, target, fields


def _split(text):
    """Splits C macro arguments at commas outside parentheses and quotes."""
    parts, depth, quote, part = [], 0, False, ""
    for char in text:
        if char == '"':
            quote = not quote
        if not quote:
            depth += (char in "([{") - (char in ")]}")
            if char == "," and not depth:
                parts.append(part.strip())
                part = ""
                continue
        part += char
    parts.append(part.strip())
    return parts


def _calls(text, pattern):
    """Yields (macro, arguments) of the macro calls in text, without descending into their
    arguments."""
    at = 0
    for match in re.finditer(pattern + r"\(", text):
        if match.start() < at:
            continue
        depth, at, quote = 1, match.end(), False
        while depth:
            char = text[at]
            if char == '"' and text[at - 1] != "\\":
                quote = not quote
            if not quote:
                depth += (char == "(") - (char == ")")
            at += 1
        yield match.group(0)[:-1], text[match.end():at - 1]


def _without_comments(path):
    with open(path) as file:
        return re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)


def events():
    """Returns all rows of events.def, in order."""
    rows = []
    for _, row in _calls(_without_comments(os.path.join(UAPI, "events.def")), "KL_EVENT"):
        number, name, group, _, _, source, _, fields, strings = _split(row)
        found = []
        for macro, text in _calls(fields + " " + strings, r"KL_(?:F[12]?|A|COMM[12]?|STRN?1?)"):
            arg = _split(text)
            if macro.startswith("KL_COMM"):
                found.append(Field("comm", arg[0], "text", arg[1]))
            elif macro.startswith("KL_STR"):
                found.append(Field("str", arg[0], "text", arg[1]))
            elif macro == "KL_A":
                found.append(Field(arg[0], arg[1], arg[3], arg[4], int(arg[2])))
            else:
                found.append(Field(arg[0], arg[1], arg[2], arg[3]))
        kind, rest = re.match(r"KL_(\w+)\((.*)\)$", source, re.S).groups()
        target = _split(rest)[0] if kind != "OWN" else ""
        rows.append(Event(int(number), name, group, kind, target, found))
    return rows


def syscalls():
    """Returns name -> (number, [(argument, type, format)]) of syscalls.def."""
    calls = {}
    for _, row in _calls(_without_comments(os.path.join(UAPI, "syscalls.def")), "KL_SYSCALL"):
        number, name, _, arguments = _split(row)
        found = [_split(text) for _, text in _calls(arguments, r"A\d")]
        calls[name] = (int(number), [(argument, kind, fmt) for kind, argument, fmt in found])
    return calls


def _lines(name):
    with open(os.path.join(HERE, name)) as file:
        for line in file:
            line = line.split("#")[0].strip()
            if line:
                yield line


def table(kernel):
    """Returns event -> (list of causes, reason why there is none), for the kernel 6.1, 6.12 ..."""
    rows = {}
    for line in _lines("table"):
        name, rest = line.split(None, 1)
        rest, _, only = rest.partition(" cannot@")
        if only and kernel in only.partition(":")[0].split(","):
            rest = "cannot:" + only.partition(":")[2]
        if rest.startswith(("cannot:", "open:")):
            rows[name] = ([], rest)
        else:
            rows[name] = (rest.split(), "")
    return rows
