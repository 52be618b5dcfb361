#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# oracle.py KERNLENS PLAY DISK PROGRAMS: generates programs of processes that compute, sleep, read a
# disk, write and read, lock, fork and wait, whose critical path is known by construction; has them
# played while kernlens records; and compares what `kernlens why` says about each with what they did:
# every certain hop, and where the time went. Prints TAP lines. Programs are the same in each run:
# their number is the seed.
import collections
import json
import os
import random
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "../block"))
from checks import end, report

KERNLENS, PLAY, DISK, PROGRAMS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
BATCH = 20
# What wakeups may add to a program.
SLACK_NS = 500_000
# System calls in which a process waits only for locks of the kernel: the mappings of processes that
# have been forked from each other share one, and who holds it can be preempted.
LOCKING_CALLS = ("clone", "exit_group")


class Generator:
    """A program: operations of each actor. Each channel, lock and actor is used for one purpose."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.actors, self.channels, self.locks = [], 0, 0
        self.make(3)

    def make(self, depth):
        """Adds an actor with random steps, and returns its number."""
        actor = len(self.actors)
        self.actors.append([])
        ops = []
        for _ in range(self.random.randint(1, 3)):
            ops += self.step(actor, depth)
        self.actors[actor] = ops
        return actor

    def number(self, most):
        return 4 * self.random.randint(1, most)

    def step(self, actor, depth):
        kinds = ["compute", "sleep", "disk"]
        if depth and len(self.actors) < 12:
            kinds += ["child", "channel", "lock", "relay", "early"]
        return getattr(self, self.random.choice(kinds))(depth)

    def compute(self, depth):
        return ["c%d" % self.number(8)]

    def sleep(self, depth):
        return ["s%d" % self.number(8)]

    def disk(self, depth):
        return ["d%d" % self.random.randrange(1000)]

    def child(self, depth):
        child = self.make(depth - 1)
        return ["f%d" % child, "c%d" % self.number(3), "j%d" % child]

    def channel(self, depth):
        """Reads what a child writes after its own steps; the child goes on for a while."""
        channel, child = self.new_channel(), self.make(depth - 1)
        self.actors[child] += ["w%d" % channel, "c4"]
        return ["f%d" % child, "r%d" % channel, "c%d" % self.number(3), "j%d" % child]

    def early(self, depth):
        """What is read has been written before: there is no wait."""
        channel, child = self.new_channel(), self.make(0)
        self.actors[child] = ["w%d" % channel]
        return ["f%d" % child, "j%d" % child, "c%d" % self.number(3), "r%d" % channel]

    def lock(self, depth):
        """A child holds a lock, and tells so, while its parent wants it."""
        channel, lock, child = self.new_channel(), self.locks, self.make(0)
        self.locks += 1
        self.actors[child] = ["l%d" % lock, "w%d" % channel, self.random.choice("cs") + "%d" %
                              (8 + self.number(5)), "u%d" % lock]
        return ["f%d" % child, "r%d" % channel, "l%d" % lock, "u%d" % lock, "j%d" % child]

    def relay(self, depth):
        """Reads from a child that reads from another."""
        first, second = self.new_channel(), self.new_channel()
        source, relay = self.make(depth - 1), self.make(0)
        self.actors[source] += ["w%d" % first]
        self.actors[relay] = ["r%d" % first, "c%d" % self.number(4), "w%d" % second]
        return ["f%d" % source, "f%d" % relay, "r%d" % second, "j%d" % source, "j%d" % relay]

    def new_channel(self):
        self.channels += 1
        return self.channels - 1

    def text(self, number):
        lines = ["%d %s" % (i, " ".join(ops)) for i, ops in enumerate(self.actors)]
        return "\n".join(["program %d" % number] + lines + ["end", ""])


class Truth:
    """What a program did, from its own notes."""

    def __init__(self):
        self.ops = collections.defaultdict(list)
        self.pid, self.parent = {}, {}
        self.time, self.edges = collections.Counter(), set()

    def span(self):
        return self.ops[0][0][2], self.ops[0][-1][3]

    def birth(self, actor):
        """From when on an actor exists: it may take a while until it gets a CPU."""
        if not actor:
            return self.ops[0][0][2]
        return next(op[3] for op in self.ops[self.parent[actor]] if op[:2] == ("f", actor))

    def find(self, kind, number, before):
        """Actor and time of an operation: its begin, as who it wakes may take the CPU in it."""
        return [(actor, op[2]) for actor, ops in self.ops.items() for op in ops
                if op[0] == kind and op[1] == number and op[2] <= before]

    def ender(self, actor, op):
        """The actor that has ended a wait, and when; None if there was no wait."""
        kind, number, begin, end = op
        if kind == "r":
            enders = self.find("w", number, end)
        elif kind == "l":
            enders = [e for e in self.find("u", number, end) if e[0] != actor]
        elif kind == "j":
            # It takes a while to exit after its last operation.
            return number, end
        else:
            return None
        enders = [e for e in enders if e[1] > begin]
        return max(enders, key=lambda e: e[1]) if enders else None

    def walk(self, actor, begin, end):
        """Attributes the time from begin to end of an actor."""
        if begin < self.birth(actor):
            born = min(end, self.birth(actor))
            if actor:
                self.edges.add((actor, self.parent[actor]))
                self.walk(self.parent[actor], begin, born)
            begin = born
        at = begin
        for op in self.ops[actor]:
            if op[3] <= at or op[2] >= end:
                continue
            first, last = max(op[2], at), min(op[3], end)
            self.time[actor, "active"] += first - at
            at = last
            ender = self.ender(actor, op)
            if op[0] in "sd":
                self.time[actor, "timer" if op[0] == "s" else "irq"] += last - first
            elif ender:
                waited = min(max(ender[1], first), last)
                self.edges.add((actor, ender[0]))
                self.walk(ender[0], first, waited)
                self.time[actor, "active"] += last - waited
            else:
                self.time[actor, "active"] += last - first
        self.time[actor, "active"] += max(0, end - at)


def actor_of(node):
    return int(node["text"][1:]) if node["text"][:1] == "a" and node["text"][1:].isdigit() else None


class Told:
    """What kernlens says about a program."""

    def __init__(self, document):
        self.time, self.edges, self.lock_edges = collections.Counter(), set(), set()
        self.uncertain = 0
        self.total = document["task"]["ns"]
        self.walk(document["task"], actor_of(document["task"]))

    def walk(self, task, actor):
        for part in task["parts"]:
            if part["kind"] in ("running", "runnable"):
                self.time[actor, "active"] += part["ns"]
            elif part["kind"] == "task":
                self.edges.add((actor, actor_of(part)))
                self.walk(part, actor_of(part))
            elif part["kind"] == "wait":
                self.wait(part, actor)
            else:
                self.time[actor, part["kind"]] += part["ns"]

    def wait(self, wait, actor):
        self.uncertain += wait["uncertain_ns"]
        for part in wait["parts"]:
            if part["kind"] == "task":
                if wait["text"] in LOCKING_CALLS:
                    self.lock_edges.add((actor, part["text"]))
                elif not wait["uncertain_ns"]:
                    self.edges.add((actor, actor_of(part)))
                self.walk(part, actor_of(part))
            else:
                self.time[actor, part["kind"]] += part["ns"]
                self.uncertain += part["ns"] if part["kind"] == "unknown" else 0


def read_notes(lines):
    """What the programs of a batch did, by number, from what play has printed."""
    truths = collections.defaultdict(Truth)
    for line in lines:
        words = line.split()
        if words[0] == "actor":
            program, actor, pid, parent = map(int, words[1:])
            truths[program].pid[actor], truths[program].parent[actor] = pid, parent
        elif words[0] == "did":
            truths[int(words[1])].ops[int(words[2])].append(
                (words[3], int(words[4]), int(words[5]), int(words[6])))
    return truths


def record(batch):
    with open("programs", "w") as file:
        file.write("".join(Generator(n).text(n) for n in batch))
    done = subprocess.run([KERNLENS, "why", "--json", "-o", "trace", "--force", "--buffer", "16M",
                           "--", PLAY, "programs", DISK], capture_output=True, text=True, check=True)
    return read_notes(done.stderr.splitlines())


def explain(pid):
    done = subprocess.run([KERNLENS, "why", "--json", "-i", "trace", "-p", str(pid)],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def long_parts(part, path=()):
    """A line for each long part of an answer that has no parts itself."""
    path += (" ".join([part.get("kind", "task"), part["text"]]),)
    lines = [line for inner in part.get("parts", ()) for line in long_parts(inner, path)]
    if not lines and part["ns"] > SLACK_NS:
        lines = ["%.2f ms: %s" % (part["ns"] / 1e6, " > ".join(path))]
    return lines


def differences(told, truth):
    keys = set(told.time) | set(truth.time)
    return {key: told.time[key] - truth.time[key] for key in keys}


def wrong(told, truth):
    """Hops that the program does not have. Which process holds a lock of the kernel is not noted, but
    it is another one of the program, or the one that has started the program."""
    holders = {"a%d" % actor for actor in truth.pid} | {"play"}
    return (told.edges - truth.edges) | {(a, b) for a, b in told.lock_edges
                                         if b not in holders - {"a%s" % a}}


def main():
    wrong_hops, hops, wrong_time, total, doubt = [], 0, [], 0, 0
    off = 0
    for first in range(0, PROGRAMS, BATCH):
        truths = record(range(first, min(first + BATCH, PROGRAMS)))
        for program, truth in sorted(truths.items()):
            document = explain(truth.pid[0])
            told = Told(document)
            span = truth.span()
            truth.walk(0, *span)
            # It also has to begin and to exit.
            truth.time[0, "active"] += told.total - (span[1] - span[0])
            if document["lost"]:
                wrong_time.append("program %d: %d records lost" % (program, document["lost"]))
            hops += len(told.edges) + len(told.lock_edges)
            wrong_hops += ["program %d: %s waits for %s" % (program, a, b)
                           for a, b in sorted(wrong(told, truth), key=str)]
            by = differences(told, truth)
            apart = sum(map(abs, by.values())) / 2
            total += told.total
            off += apart
            doubt += told.uncertain
            if apart > 0.02 * told.total + SLACK_NS:
                wrong_time.append("program %d: %.1f of %.1f ms; told too much, in ms: %s" % (
                    program, apart / 1e6, told.total / 1e6,
                    ", ".join("%s %.1f" % (key, ns / 1e6) for key, ns in by.items()
                              if abs(ns) > SLACK_NS / 10)))
                wrong_time += Generator(program).text(program).splitlines()[1:-1]
                wrong_time += ["%d: %s%s %.2f to %.2f" % (actor, op[0], op[1],
                                                          (op[2] - span[0]) / 1e6, (op[3] - span[0]) / 1e6)
                               for actor, ops in sorted(truth.ops.items()) for op in ops]
                wrong_time += long_parts(document["task"])
    report(hops >= PROGRAMS, "%d hops in %d programs" % (hops, PROGRAMS))
    report(not wrong_hops, "every certain hop is right", *wrong_hops[:20])
    report(not wrong_time, "the time of each program is where it was spent (%.1f %% is not)" %
           (100 * off / max(total, 1)), *wrong_time[:60])
    report(doubt < 0.05 * total, "%.1f %% of the time is attributed with certainty" %
           (100 - 100 * doubt / max(total, 1)))
    end()


if __name__ == "__main__":
    main()
