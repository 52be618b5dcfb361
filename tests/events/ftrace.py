# SPDX-License-Identifier: GPL-2.0
# Reads what ftrace recorded: pages of trace_pipe_raw, and the format files with the fields'
# offsets. The kernel defines the layout of a page (include/linux/ring_buffer.h, header_page).
import re
import struct

PAGE = 4096
PAGE_HEADER = 16
COMMIT_MASK = (1 << 20) - 1
MISSED = 1 << 31


class FtraceField:
    def __init__(self, declaration, offset, size, signed):
        self.offset, self.size, self.signed = offset, size, signed
        self.name = re.sub(r"\[.*", "", declaration.split()[-1]).lstrip("*")
        self.data_loc = declaration.startswith("__data_loc")
        self.rel_loc = declaration.startswith("__rel_loc")
        self.text = bool(re.match(r"(__data_loc |__rel_loc )?(const )?char", declaration)) and (
            self.data_loc or self.rel_loc or "[" in declaration)
        self.array = "[" in declaration or self.data_loc or self.rel_loc

    def value(self, data):
        raw = data[self.offset:self.offset + self.size]
        if self.data_loc or self.rel_loc:
            where = int.from_bytes(raw, "little")
            at, length = where & 0xFFFF, where >> 16
            if self.rel_loc:
                at += self.offset + self.size
            raw = data[at:at + length]
        if self.text:
            return raw.split(b"\0")[0]
        if self.array:
            return bytes(raw)
        return int.from_bytes(raw, "little", signed=self.signed)


class Format:
    def __init__(self, name, text):
        self.name = name
        self.id = int(re.search(r"^ID: (\d+)", text, re.M).group(1))
        self.fields = {}
        for match in re.finditer(r"field:(.*?);\s*offset:(\d+);\s*size:(\d+);\s*signed:(\d)",
                                 text):
            field = FtraceField(match.group(1), int(match.group(2)), int(match.group(3)),
                                match.group(4) == "1")
            self.fields[field.name] = field


def read_formats(path):
    """id -> Format, from a file with "== system:name" before each format."""
    formats = {}
    with open(path) as file:
        for part in re.split(r"(?m)^== ", file.read())[1:]:
            name, text = part.split("\n", 1)
            fmt = Format(name, text)
            formats[fmt.id] = fmt
    return formats


def read_pages(path):
    """Yields (cycles, data) of each event of one CPU, oldest first."""
    with open(path, "rb") as file:
        pages = file.read()
    for base in range(0, len(pages), PAGE):
        time, commit = struct.unpack_from("<QQ", pages, base)
        if commit & MISSED:
            raise ValueError(f"{path}: ftrace lost events")
        at, end = base + PAGE_HEADER, base + PAGE_HEADER + (commit & COMMIT_MASK)
        while at < end:
            head = struct.unpack_from("<I", pages, at)[0]
            kind, delta = head & 31, head >> 5
            at += 4
            if kind == 29:  # padding; to the end of the page if it has no delta
                if not delta:
                    break
                time += delta
                at += struct.unpack_from("<I", pages, at)[0]
            elif kind == 30:  # time extend
                time += delta + (struct.unpack_from("<I", pages, at)[0] << 27)
                at += 4
            elif kind == 31:  # absolute time, 59 bits of it
                stamp = delta + (struct.unpack_from("<I", pages, at)[0] << 27)
                time = (time & ~((1 << 59) - 1)) | stamp
                at += 4
            else:
                time += delta
                if kind:
                    length = kind * 4
                    start = at
                else:
                    length = struct.unpack_from("<I", pages, at)[0]
                    start = at + 4
                    length -= 4
                yield time, pages[start:start + length]
                at = start + (length + 3 & ~3)
