#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# peers.py KERNLENS PLAY DISK PROGRAMS FOLDER generate|report: the part of tests/why/peers that runs
# outside of the guests. `generate` writes the programs of oracle.py to FOLDER; `report` reads what
# the tools have recorded there, and prints how much of the time of the waits each tool attributes
# to what the program has really waited for. Each tool is compared with the notes of its own run.
#
# Two questions. "What ended it": the task, timer or device that ended a wait, for the waits of all
# actors. "What was behind it": the same for the waits of actor 0 with the chain behind them, which
# is how long each actor was active, slept or read the disk. Answers are sums of time by cause, and
# the right share is what the sums of tool and notes have in common.
#
# Two published methods are applied to the events that `kernlens why` has recorded:
#
#   Trace Compass (Giraldeau and Dagenais, "Wait Analysis of Distributed Systems Using Kernel
#   Tracing", TPDS 2016): the wait of a task is replaced by what its waker did in the time of the
#   wait, backwards from the wakeup. A wakeup in an interrupt belongs to the timer, device or
#   network. With packets, one from the network belongs to the task that sent the packet with the
#   same TCP header.
#   wPerf (Zhou et al., "wPerf: Generic Off-CPU Analysis to Identify Bottleneck Waiting Events",
#   OSDI 2018): a graph of which thread waits for which and how long, with pseudo threads for timer,
#   devices and network. If B waits itself while A waits for B, that part of the time is
#   redistributed to the wait of B, and so on. The bottlenecks are in the knots: sets of threads
#   that do not wait for others.
import collections
import glob
import json
import re
import subprocess
import sys

import oracle
from oracle import Generator, Told, read_notes

BATCH = 40
FOLDER, COMMAND = sys.argv[5:7]
TOOL = "`kernlens why`"
SLEEP, READY, RUN = "sleep", "ready", "run"
KINDS = {"task": "tasks", "timer": "timers", "irq": "the disk"}
# Causes that say nothing.
NOTHING = ("unknown", "network", "interrupt", "softirq")
# Waits of a program that are too short to have a longest cause.
LEAST_NS = 1_000_000
# Two causes are equally long if the shorter one is at least this part of the longer one.
EQUAL = 0.98


def notes(tool, batch):
    """What the programs of a batch did while a tool recorded, by number."""
    with open("%s/%s.notes.%d" % (FOLDER, tool, batch)) as file:
        truths = read_notes(file)
    for truth in truths.values():
        truth.walk(0, *truth.span())
    return truths


def ended_by(truth):
    """How long each actor waited for what, without the chain behind it."""
    time = collections.Counter()
    for actor, ops in truth.ops.items():
        for op in ops:
            ender = truth.ender(actor, op)
            if op[0] in "sd":
                time[actor, "timer" if op[0] == "s" else "irq"] += op[3] - op[2]
            elif ender:
                time[actor, ("actor", ender[0])] += min(max(ender[1], op[2]), op[3]) - op[2]
    return time


def behind(time):
    """The part of the time of actor 0 that is not its own."""
    return collections.Counter({key: ns for key, ns in time.items() if key != (0, "active")})


class Score:
    """Sums of what a tool says about the programs."""

    def __init__(self):
        self.total = self.right = self.unrelated = 0
        self.kinds = collections.Counter()
        self.programs = self.longest = 0
        self.worst = []

    def add(self, program, told, truth, path):
        """path: the actors on the critical path, whose time is not unrelated; None: none are."""
        total = sum(truth.values())
        right = sum(min(ns, told[key]) for key, ns in truth.items())
        unrelated = 0
        for key, ns in told.items():
            if key[1] not in NOTHING and (path is None or key[1] != "active" or key[0] not in path):
                unrelated += max(0, ns - truth[key])
        self.total += total
        for (_, kind), ns in truth.items():
            self.kinds["task" if kind == "active" or isinstance(kind, tuple) else kind] += ns
        self.right += right
        self.unrelated += min(unrelated, total - right)
        if total >= LEAST_NS:
            self.programs += 1
            self.longest += bool(told) and truth[longest(told)] >= EQUAL * max(truth.values())
        self.worst.append((total - right, program))

    def share(self, ns):
        return "%.1f %%" % (100 * ns / max(self.total, 1))


def longest(time):
    return max(time, key=lambda key: time[key])


class Scores:
    """Of both questions, for each tool."""

    def __init__(self):
        self.ended = collections.defaultdict(Score)
        self.behind = collections.defaultdict(Score)

    def add(self, tool, program, truth, ended, chain):
        if ended is not None:
            self.ended[tool].add(program, ended, ended_by(truth), None)
        if chain is not None:
            why = behind(truth.time)
            path = {0} | {key[0] for key in why}
            self.behind[tool].add(program, behind(chain), why, path)


# ---------------------------------------------------------------- kernlens why


def explain(trace, pid):
    done = subprocess.run([oracle.KERNLENS, "why", "--json", "-i", trace, "-p", str(pid)],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def kernlens_ended(document, actor, time):
    for wait in document["task"]["parts"]:
        for part in wait["parts"] if wait["kind"] == "wait" else []:
            if part["kind"] == "task":
                time[actor, ("actor", oracle.actor_of(part))] += part["ns"]
            else:
                time[actor, part["kind"]] += part["ns"]


def kernlens(scores, batch):
    trace = "%s/why.%d" % (FOLDER, batch)
    for program, truth in notes("why", batch).items():
        ended, chain = collections.Counter(), None
        for actor, pid in truth.pid.items():
            document = explain(trace, pid)
            if document["lost"]:
                print("peers: %d records are lost" % document["lost"], file=sys.stderr)
            kernlens_ended(document, actor, ended)
            if not actor:
                chain = Told(document).time
        scores.add(TOOL, program, truth, ended, chain)


# ------------------------------------------------------------------ offwaketime


def stack_cause(stack):
    """What an interrupt is, by the functions of a stack; None if it is none."""
    if not any(name.startswith(("asm_common_interrupt", "asm_sysvec_")) for name in stack):
        return None
    if any(name in ("hrtimer_wakeup", "process_timeout") for name in stack):
        return "timer"
    if any(name.startswith(("blk_", "virtblk", "handle_irq_event")) for name in stack):
        return "irq"
    return "network" if "net_rx_action" in stack else "interrupt"


def offwaketime_waits(path):
    """Tuples (target, waker, stack of the waker, ns). Who has no waker was preempted."""
    with open(path) as file:
        text = file.read()
    waker = r"^    waker: +\S.* (\d+)\n((?:    .*\n)*?)    -- +--\n"
    target = r"(?:    .*\n)*?    target: +(?:.* )?(\d+)\n +(\d+)$"
    for wait in re.finditer(waker + target, text, re.M):
        yield (int(wait[3]), int(wait[1]), [line.strip() for line in wait[2].splitlines()],
               int(wait[4]) * 1000)


def offwaketime(scores, batch):
    waits = list(offwaketime_waits("%s/offwaketime.%d" % (FOLDER, batch)))
    for program, truth in notes("offwaketime", batch).items():
        actors = {pid: actor for actor, pid in truth.pid.items()}
        for title, stacks in (("offwaketime, names", False),
                              ("offwaketime, names and stacks", True)):
            ended, chain = collections.Counter(), collections.Counter()
            for target, waker, stack, ns in waits:
                if target not in actors:
                    continue
                cause = stack_cause(stack) if stacks else None
                flat(ended, chain, actors, target, cause, waker, ns)
            scores.add(title, program, truth, ended, chain)


def flat(ended, chain, actors, target, cause, waker, ns):
    """Adds a wait of which only the end is known: who ended it was it."""
    actor = actors[target]
    if not cause and not waker:
        cause = "unknown"
    ended[actor, cause or ("actor", actors.get(waker))] += ns
    if not actor:
        chain[(actor, cause) if cause else (actors.get(waker), "active")] += ns


# ---------------------------------------------------------------------- timelines


class Segment:
    def __init__(self, kind, begin):
        self.kind, self.begin, self.end, self.by = kind, begin, None, None


class Timelines:
    """What each task did when. by is what ended a sleep: (kind, task, when it sent a packet)."""

    def __init__(self):
        self.segments = collections.defaultdict(list)
        self.birth, self.parent = {}, {}

    def switch(self, tid, kind, at):
        """Begins another segment of a task."""
        segments = self.segments[tid]
        if segments and segments[-1].end is None:
            segments[-1].end = at
        segments.append(Segment(kind, at))

    def wake(self, tid, at, by):
        segments = self.segments[tid]
        if segments and segments[-1].kind == SLEEP:
            segments[-1].by = by
            self.switch(tid, READY, at)

    def between(self, tid, begin, end):
        """(segment, begin, end) of what is between two times."""
        for segment in self.segments[tid]:
            last = end if segment.end is None else min(segment.end, end)
            if last > max(segment.begin, begin):
                yield segment, max(segment.begin, begin), last


class Events:
    """Builds timelines from a trace of `kernlens why`."""

    def __init__(self, trace, packets):
        self.lines = Timelines()
        self.packets = packets
        self.stack = collections.defaultdict(list)
        self.sent, self.received = {}, {}
        done = subprocess.run([oracle.KERNLENS, "print", "-i", trace, "--format", "json"],
                              capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            event = json.loads(line)
            if "event" in event:
                self.take(event, event["seconds"] * 10**9 + event["nanoseconds"])

    def take(self, event, at):
        name, fields, cpu = event["event"], event["fields"], event["cpu"]
        if name == "sched_switch":
            ready = event["meanings"]["prev_state"].startswith("R")
            self.lines.switch(fields["prev_tid"], READY if ready else SLEEP, at)
            self.lines.switch(fields["next_tid"], RUN, at)
        elif name == "sched_waking":
            self.lines.wake(fields["tid"], at, self.waker(cpu, event["tid"]))
        elif name == "sched_process_fork":
            child = fields["child_tid"]
            self.lines.birth[child], self.lines.parent[child] = at, event["tid"]
            self.lines.switch(child, READY, at)
        elif name == "net_dev_queue":
            self.sent[self.header(fields)] = (None if self.stack[cpu] else event["tid"], at)
        elif name == "netif_receive_skb":
            self.received[cpu] = self.header(fields)
        elif name.endswith("_entry") and name.startswith(("irq_", "timer_")):
            self.stack[cpu].append((name, event.get("meanings", {}).get("vec")))
        elif name.endswith("_exit") and name.startswith(("irq_", "timer_")) and self.stack[cpu]:
            self.stack[cpu].pop()

    @staticmethod
    def header(fields):
        return tuple(fields[key] for key in ("sport", "dport", "seq", "ack_seq", "tcp_flags"))

    def waker(self, cpu, tid):
        if not self.stack[cpu]:
            return "task", tid, None
        name, softirq = self.stack[cpu][-1]
        if name.startswith("timer_") or softirq in ("TIMER", "HRTIMER"):
            return "timer", None, None
        if name == "irq_handler_entry" or softirq in ("BLOCK", "TASKLET", "IRQ_POLL"):
            return "irq", None, None
        if softirq in ("NET_RX", "NET_TX"):
            sender, at = self.sent.get(self.received.get(cpu), (None, None))
            return ("packet", sender, at) if self.packets and sender else ("network", None, None)
        return "unknown", None, None


class Program:
    """Names of the tasks of a program, for what is found in timelines."""

    def __init__(self, lines, truth):
        self.lines = lines
        self.truth = truth
        self.actors = {pid: actor for actor, pid in truth.pid.items()}

    def cause(self, tid, by):
        kind, other, _ = by or ("unknown", None, None)
        return ("actor", self.actors.get(other)) if kind in ("task", "packet") else kind

    def ended(self):
        time = collections.Counter()
        for actor, pid in self.truth.pid.items():
            for segment in self.lines.segments[pid]:
                if segment.kind == SLEEP and segment.end:
                    time[actor, self.cause(pid, segment.by)] += segment.end - segment.begin
        return time


# ------------------------------------------------------------------ Trace Compass


class CriticalPath(Program):
    """The path of actor 0, bounded to the time of each wait."""

    def told(self):
        self.time = collections.Counter()
        lines, pid = self.lines, self.truth.pid[0]
        if lines.segments[pid]:
            ends = [segment.end or segment.begin for segment in lines.segments[pid]]
            self.walk(pid, lines.segments[pid][0].begin, max(ends), 0)
        return self.time

    def add(self, tid, kind, ns):
        self.time[self.actors.get(tid), kind] += ns

    def walk(self, tid, begin, end, depth):
        """What a task did from begin to end."""
        birth = self.lines.birth.get(tid, begin)
        if begin < birth and depth < 64:
            self.walk(self.lines.parent[tid], begin, min(end, birth), depth + 1)
            begin = birth
        for segment, first, last in self.lines.between(tid, begin, end):
            if segment.kind != SLEEP:
                self.add(tid, "active", last - first)
            else:
                self.wait(tid, segment, first, last, depth)

    def wait(self, tid, segment, begin, end, depth):
        kind, other, sent = segment.by if segment.by and end == segment.end else ("unknown",) * 3
        if kind in ("task", "packet") and depth < 64:
            until = end if kind == "task" else max(begin, min(sent, end))
            self.walk(other, begin, until, depth + 1)
            self.add(other, "active", end - until)
        else:
            self.add(tid, kind, end - begin)


def trace_compass(scores, batch):
    for title, packets in (("Trace Compass, without packets", False),
                           ("Trace Compass, with packets", True)):
        lines = Events("%s/why.%d" % (FOLDER, batch), packets).lines
        for program, truth in notes("why", batch).items():
            path = CriticalPath(lines, truth)
            scores.add(title, program, truth, path.ended(), path.told())


# -------------------------------------------------------------------------- wPerf


class WaitFor(Program):
    """The graph of waits. Pseudo threads have a name in place of a number."""

    def graph(self, pids):
        """Weights of the edges for the waits of these tasks, redistributed."""
        self.weights = collections.Counter()
        for pid in pids:
            for segment in self.lines.segments[pid]:
                if segment.kind == SLEEP and segment.end:
                    self.redistribute(pid, segment, segment.begin, segment.end, 0)
        return self.weights

    def redistribute(self, tid, segment, begin, end, depth):
        kind, other, _ = segment.by or ("unknown", None, None)
        if kind not in ("task", "packet"):
            self.weights[tid, kind] += end - begin
            return
        own = end - begin
        if depth < 64:
            for inner, first, last in self.lines.between(other, begin, end):
                if inner.kind == SLEEP:
                    self.redistribute(other, inner, first, last, depth + 1)
                    own -= last - first
        self.weights[tid, other] += own

    def causes(self, weights):
        time = collections.Counter()
        for (tid, by), ns in weights.items():
            if isinstance(by, str):
                time[self.actors.get(tid), by] += ns
            else:
                time[self.actors.get(by), "active"] += ns
        return time


def knots(weights):
    """The sets of vertices that reach nothing but themselves."""
    vertices = {vertex for edge in weights for vertex in edge}
    reach = {}
    for vertex in vertices:
        seen, work = set(), [vertex]
        while work:
            at = work.pop()
            for a, b in weights:
                if a == at and b not in seen:
                    seen.add(b)
                    work.append(b)
        reach[vertex] = seen
    found = {frozenset(reach[v]) for v in vertices
             if reach[v] and all(reach[w] == reach[v] for w in reach[v])}
    return found | {frozenset([v]) for v in vertices if not reach[v]}


def wperf(scores, batch, sizes):
    for suffix, packets in (("without packets", False), ("with packets", True)):
        lines = Events("%s/why.%d" % (FOLDER, batch), packets).lines
        for program, truth in notes("why", batch).items():
            graph = WaitFor(lines, truth)
            chain = graph.causes(graph.graph([truth.pid[0]]))
            scores.add("wPerf, first task, " + suffix, program, truth, None, chain)
            weights = graph.graph(truth.pid.values())
            everyone = graph.causes(weights)
            scale = sum(behind(truth.time).values()) / max(sum(everyone.values()), 1)
            chain = collections.Counter({key: ns * scale for key, ns in everyone.items()})
            scores.add("wPerf, all tasks, " + suffix, program, truth, None, chain)
            if packets:
                sizes.update(len(knot) for knot in knots(weights))


# ------------------------------------------------------------ perf sched timehist


def timehist_rows(path):
    done = subprocess.run(["perf", "sched", "timehist", "-w", "-i", path],
                          capture_output=True, text=True, check=True)
    row = re.compile(r" *(\d+)\.(\d+) \[\d+\] +(.*?)(?:\[(\d+)(?:/\d+)?\])? +"
                     r"(?:awakened: .*?\[(\d+)(?:/\d+)?\]"
                     r"|(\d+\.\d+) +(\d+\.\d+) +(\d+\.\d+))")
    for line in done.stdout.splitlines():
        match = row.match(line)
        if match:
            yield match


def milliseconds(text):
    return round(float(text) * 1e6)


def timehist(scores, batch):
    """As it prints it, and with the chain followed by hand: backwards, as Trace Compass does."""
    lines, wakers = Timelines(), {}
    waits = []
    for row in timehist_rows("%s/perf.%d" % (FOLDER, batch)):
        at, tid = int(row[1]) * 10**9 + int(row[2]) * 1000, int(row[4] or 0)
        if row[5]:
            wakers[int(row[5])] = tid
            lines.wake(int(row[5]), at, ("task", tid, None) if tid else ("unknown", None, None))
            continue
        wait, delay, run = map(milliseconds, row.group(6, 7, 8))
        if tid in wakers and wait > delay:
            waits.append((tid, wakers[tid], wait - delay))
        wakers.pop(tid, None)
        segments = lines.segments[tid]
        if segments and segments[-1].end is None:
            segments[-1].end = max(segments[-1].begin, at - run)
            # Who was not awakened was preempted.
            segments[-1].kind = READY
        segments.append(Segment(RUN, at - run))
        lines.switch(tid, SLEEP, at)
    for program, truth in notes("perf", batch).items():
        actors = {pid: actor for actor, pid in truth.pid.items()}
        ended, chain = collections.Counter(), collections.Counter()
        for target, waker, ns in waits:
            if target in actors:
                flat(ended, chain, actors, target, None, waker, ns)
        scores.add("perf sched timehist -w", program, truth, ended, chain)
        scores.add("the same, chain followed by hand", program, truth, None,
                   CriticalPath(lines, truth).told())


# ------------------------------------------------------------------------- report


def table(title, scores):
    print("\n%s\n\n| tool | right | unrelated | missing | longest cause right |" % title)
    print("|---|---|---|---|---|")
    for tool, score in scores.items():
        missing = score.total - score.right - score.unrelated
        print("| %s | %s | %s | %s | %d of %d |" % (
            tool, score.share(score.right), score.share(score.unrelated), score.share(missing),
            score.longest, score.programs))
    if TOOL in scores:
        score = scores[TOOL]
        kinds = ", ".join("%s %.1f %%" % (KINDS[kind], 100 * ns / score.total)
                          for kind, ns in sorted(score.kinds.items()))
        print("\nIn the run of %s: %d ms of waits, for %s" % (TOOL, score.total / 1e6, kinds))


def costs():
    least = {}
    for path in sorted(glob.glob(FOLDER + "/cost.*")):
        with open(path) as file:
            pairs = [tuple(map(int, line.split())) for line in file
                     if re.fullmatch(r"\d+ \d+\n", line)]
        if pairs:
            least[path.rsplit(".", 1)[1]] = min(p[0] for p in pairs), min(p[1] for p in pairs)
    if "none" not in least:
        return
    print("\nInstructions of two switches and a wakeup, in addition to the %d of the kernel\n" %
          least["none"][0])
    print("| tool | least | mean |\n|---|---|---|")
    for tool, (low, mean) in least.items():
        if tool != "none":
            print("| %s | %d | %d |" % (tool, low - least["none"][0], mean - least["none"][1]))


def worst(scores):
    """What to look at: programs about which kernlens is wrong most."""
    for name, by in (("ending", scores.ended), ("behind", scores.behind)):
        found = sorted(by[TOOL].worst, reverse=True)[:5]
        print("peers: what was %s it: most apart: %s" % (name, ", ".join(
            "program %d by %.2f ms" % (program, ns / 1e6) for ns, program in found)),
            file=sys.stderr)


def attempt(function, *arguments):
    """A tool may be missing, or have recorded nothing."""
    try:
        function(*arguments)
    except (OSError, subprocess.CalledProcessError) as error:
        print("peers: %s: %s" % (function.__name__, error), file=sys.stderr)


def main():
    batches = range(0, oracle.PROGRAMS, BATCH)
    if COMMAND == "generate":
        for first in batches:
            with open("%s/programs.%d" % (FOLDER, first), "w") as file:
                for number in range(first, min(first + BATCH, oracle.PROGRAMS)):
                    file.write(Generator(number).text(number))
        return
    scores, sizes = Scores(), collections.Counter()
    for first in batches:
        attempt(kernlens, scores, first)
        attempt(trace_compass, scores, first)
        attempt(wperf, scores, first, sizes)
        attempt(offwaketime, scores, first)
        attempt(timehist, scores, first)
    table("What ended the wait: waits of all tasks", scores.ended)
    table("What was behind the wait: the chain behind the waits of the first task", scores.behind)
    print("\nwPerf's knots by their number of threads: %s" % ", ".join(
        "%d of %d" % (n, size) for size, n in sorted(sizes.items())))
    costs()
    worst(scores)


main()
