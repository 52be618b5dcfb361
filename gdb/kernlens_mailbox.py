# SPDX-License-Identifier: GPL-2.0
# The mailbox, from outside.
"""
Puts requests into the module's mailbox, and reads its answers: uapi/mailbox.h has the layout,
docs/design/debugger.md the rules. Knows nothing of the debugger: it gets functions that read and
write physical memory.
"""
import collections
import os
import struct

import kernlens_pages as pages

# Offsets in struct kl_mailbox.
REQUEST, REQUEST_BYTES, POLL_MS, ASKED, SUM, BYTES, ANSWERED, POLLS, ERROR, SESSION, TEXT, END = (
    88, 96, 100, 104, 112, 120, 128, 136, 144, 148, 152, 312
)
MASK = (1 << 64) - 1
SUM_BEGIN = 0x6A09E667F3BCC908

OFF = (
    "the mailbox is off. As root on the machine: echo 1 >/sys/module/kernlens/parameters/mailbox, "
    "or load the module with mailbox=1"
)

Answer = collections.namedtuple("Answer", "number error session text")


def mix(total, word):
    """Add a word to a sum: kl_crash_mix()."""
    total = (total ^ word) * 0x9E3779B97F4A7C15 & MASK
    return total ^ total >> 32


def sum_of(number, request):
    """kl_mailbox_sum()."""
    total = mix(SUM_BEGIN, number)
    padded = request + b"\0" * (-len(request) % 8)
    for word in struct.unpack("<%dQ" % (len(padded) // 8), padded):
        total = mix(total, word)
    return total


class Mailbox:
    """
    The mailbox of a stopped machine.

    write: WRITE(ADDRESS, BYTES) changes physical memory
    """

    def __init__(self, machine, write):
        self.machine = machine
        self.write = write
        self.address = machine.mailbox
        if not self.address:
            raise pages.Failure(OFF)
        self.page = machine.read(self.address, pages.PAGE)
        head = pages.head_of(self.page)
        if not head or head.kind != pages.MAILBOX or head.load != machine.anchor.load:
            raise pages.Failure("the page of the mailbox is damaged")
        self.asked, self.answered = self.word(ASKED), self.word(ANSWERED)

    def word(self, offset):
        """A 64-bit word of the page."""
        return pages.words(self.page, offset, 1)[0]

    def is_pending(self):
        """Is there a request without an answer?"""
        return self.asked != self.answered

    def answer(self):
        """The newest answer, or None."""
        if not self.answered:
            return None
        error, session = struct.unpack_from("<iI", self.page, ERROR)
        return Answer(self.answered, error, session, pages.text(self.page, TEXT, END - TEXT))

    def put(self, request):
        """Put a request into the mailbox. Returns its number."""
        if self.is_pending():
            raise pages.Failure(
                "request %d is still in the mailbox: let the machine run" % self.asked
            )
        if len(request) > pages.word32(self.page, REQUEST_BYTES):
            raise pages.Failure("the request is too large for the mailbox")
        number = self.answered + 1
        self.write(self.word(REQUEST), request)
        self.write(self.address + SUM, struct.pack("<Q", sum_of(number, request)))
        self.write(self.address + BYTES, struct.pack("<I", len(request)))
        # Last: the module looks for it.
        self.write(self.address + ASKED, struct.pack("<Q", number))
        return number


def describe(answer):
    """An answer in words."""
    if not answer.error:
        of = ": session %d" % answer.session if answer.session else ""
        return "request %d: done%s" % (answer.number, of)
    reason = answer.text or os.strerror(-answer.error)
    return "request %d was refused: %s" % (answer.number, reason)
