#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# filters.py learn OUT | choose OUT | collect OUT | compare OUT: does a filter allow exactly those
# records of an unfiltered session that match, with the same fields? `learn` records the causes with
# all events. `choose` writes rules of one or two fields that allow some of the records seen there
# and reject others, for every available type, format and relation of the table's events. `collect`
# records the causes once per round, in a session with the rules and in one without. `compare`
# evaluates the rules here and prints TAP. `learn` and `collect` run in the virtual machine as root.
import collections
import json
import os
import random
import subprocess
import sys

import collect
import tracepoints
import witness

SEED, ROUNDS, RULES = 20261122, 2, 46  # a session has at most 48 different rules
CAUSES = ["task", "fs", "net", "fault"]
NUMBER_RELATIONS = ["==", "!=", "<", "<=", ">", ">=", "&"]
TEXT_RELATIONS = ["==", "!=", "prefix"]
# Values that may have changed when the other session records the same event: the state of a task
# that its parent reaps, the time in ticks, the flags and the position of an inode that another CPU
# writes, the kernel's page counts. No rule uses them, as the value that the filter saw would be unknown.
SHAKY = {"prev_state", "now", "paused", "state", "writeback_index", "nr_dirty", "nr_writeback", "nr_dirtied",
         "nr_written"}
HOLDS = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "&": lambda a, b: a & b != 0, "prefix": lambda a, b: a.startswith(b),
}


def workload():
    for module in ("ext4", "loop"):
        subprocess.run(["modprobe", module], check=True)
    return ["sh", "-c", "; ".join(" ".join(collect.command_of(cause)) for cause in CAUSES) + "; true"]


def record(out, options, command):
    return [f"{collect.BUILD}/kernlens", "--json", "record", "-a", "--buffer", "24M", "--no-dump", "-o",
            out, *options, "--", *command]


def run(command, work):
    """Runs a recording; saves its summary, and what else it and its command print."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", env=os.environ | {"KL_OUT": work})
    collect.write(f"{work}/log", f"status {done.returncode}\n{done.stdout}{done.stderr}")
    collect.write(f"{work}/summary", done.stdout)


def keep(work, out):
    subprocess.run(["cp", "-r", work, out], check=True)


def main_learn(out):
    work = "/tmp/learn"
    os.makedirs(work)
    run(record(f"{work}/trace", ["-m", "RALL"], workload()), work)
    keep(work, out)


def main_collect(out):
    command = workload()
    with open(f"{out}/rules") as file:
        rounds = json.load(file)
    for index, rules in enumerate(rounds):
        work = f"/tmp/round{index}"
        os.makedirs(work)
        inner = record(f"{work}/filtered", [word for rule in rules for word in ("-e", text_of(rule))],
                       [f"{collect.BUILD}/tests/events/window", f"{work}/window", *command])
        inner = ["sh", "-c", 'exec "$@" >"$0"', f"{work}/inner", *inner]
        run(record(f"{work}/trace", ["-e", ",".join(rule["event"] for rule in rules)], inner), work)
        keep(work, out)
        subprocess.run(["rm", "-r", work], check=True)


# ---------------------------------------------------------------------- choosing


def text_of(rule):
    def term(one):
        value = one["value"]
        if one["relation"] == "prefix":
            return f'{one["field"]} == "{value}*"'
        if isinstance(value, str):
            value = f'"{value}"'
        return f'{one["field"]} {one["relation"]} {value}'
    return f'{rule["event"]} /{rule["join"].join(term(one) for one in rule["terms"])}/'


def plain(text):
    """Can a filter contain this text as it is?"""
    return text and text.isascii() and text.isprintable() and not set(text) & set('"\\*/')


def constant(values, relation, chance):
    """A constant for which the relation holds for some of the values but not for all; or None."""
    distinct = sorted(set(values))
    for value in chance.sample(distinct, min(len(distinct), 8)):
        if isinstance(value, str):
            value = value[:max(1, len(value) // 2)] if relation == "prefix" else value
            if not plain(value):
                continue
        elif relation == "&":
            value &= -value
        held = sum(HOLDS[relation](other, value) for other in values)
        if 0 < held < len(values):
            return value
    return None


def candidates(field, values, chance):
    """Yields (what is covered, term) for each relation that applies to a field."""
    texts = isinstance(values[0], str)
    for relation in TEXT_RELATIONS if texts else NUMBER_RELATIONS:
        value = constant(values, relation, chance)
        if value is not None:
            yield ((field["type"], field["format"], relation),
                   {"field": field["name"], "relation": relation, "value": value})


def rows_of_table():
    """Returns each event's fields by name."""
    done = subprocess.run([f"{collect.BUILD}/kernlens", "list", "events", "--json"], stdout=subprocess.PIPE, check=True)
    return {row["name"]: {field["name"]: field for field in row["fields"]}
            for row in json.loads(done.stdout)}


def value_of(field, value):
    """A field as a filter sees it; None if it is neither a number nor a text."""
    if field["type"] in ("text", "string"):
        return value if isinstance(value, str) else None
    if "count" in field:
        return None
    return tracepoints.number(value)


def terms_of(rows, records, chance):
    """By event: the terms that a rule can have."""
    possible = {}
    for name, fields in sorted(rows.items()):
        seen, found = records.get(name, []), []
        for field in fields.values():
            if field["name"] in SHAKY:
                continue
            values = [value_of(field, one.values.get(field["name"])) for one in seen]
            if len(values) >= 4 and None not in values:
                found += candidates(field, values, chance)
        if found:
            possible[name] = found
    return possible


def choose_round(possible, covered, chance):
    rules = []
    names = list(possible)
    chance.shuffle(names)
    # First the events with the most terms that no rule has covered yet.
    names.sort(key=lambda name: -sum(key not in covered for key, _ in possible[name]))
    for name in names[:RULES]:
        choice = sorted(possible[name], key=lambda entry: entry[0] in covered)
        terms = choice[:1]
        other = [entry for entry in choice if entry[1]["field"] != terms[0][1]["field"]]
        if other and chance.random() < 0.5:
            terms.append(chance.choice(other))
        covered.update(key for key, _ in terms)
        rules.append({"event": name, "join": chance.choice([" && ", " || "]),
                      "terms": [term for _, term in terms]})
    return rules


def read_trace(path):
    """Returns the records by event and CPU, and problems."""
    cause = witness.Cause.__new__(witness.Cause)
    cause.name, cause.path, cause.problems = os.path.basename(path), path, []
    cause.clock = cause.read_clock()
    cause.ours = collections.defaultdict(lambda: collections.defaultdict(list))
    cause.read_ours()
    return cause.ours, cause.problems


def main_choose(out):
    chance, covered = random.Random(SEED), set()
    ours, _ = read_trace(f"{out}/learn")
    records = {name: [one for each in by_cpu.values() for one in each] for name, by_cpu in ours.items()}
    possible = terms_of(rows_of_table(), records, chance)
    rounds = [choose_round(possible, covered, chance) for _ in range(ROUNDS)]
    collect.write(f"{out}/rules", json.dumps(rounds))
    rest = {key for found in possible.values() for key, _ in found} - covered
    print(f"{len(possible)} events, {len(covered)} of {len(covered | rest)} types with formats and relations")


# --------------------------------------------------------------------- comparing


def holds(rule, fields, values):
    each = [HOLDS[term["relation"]](value_of(fields[term["field"]], values[term["field"]]), term["value"])
            for term in rule["terms"]]
    return all(each) if "&&" in rule["join"] else any(each)


def entries(records):
    return [(one.time, (one.task, json.dumps(one.values, sort_keys=True))) for one in records]


def drop_shaky(here, there):
    """Pairs records that differ only in shaky fields; returns what is left on both sides."""
    def steady(entry):
        task, values = entry[1]
        return task, tuple(item for item in sorted(json.loads(values).items()) if item[0] not in SHAKY)

    waiting = collections.defaultdict(list)
    for entry in there:
        waiting[steady(entry)].append(entry)
    left = [entry for entry in here if not waiting[steady(entry)] or not waiting[steady(entry)].pop()]
    return left, [entry for entries_left in waiting.values() for entry in entries_left]


def compare_rule(rule, fields, filtered, whole, inside):
    """Returns (records in both, records rejected, records only in one)"""
    result, errors, rejected = witness.Result(), [], 0
    for cpu in sorted(set(filtered) | set(whole)):
        wanted = [one for one in whole[cpu] if holds(rule, fields, one.values)]
        rejected += len(whole[cpu]) - len(wanted)
        here, there = drop_shaky(*witness.match(result, entries(filtered[cpu]), entries(wanted)))
        for who, left in (("the filter", here), ("the other session", there)):
            errors += [f"only {who} has {values} on CPU {cpu}" for time, values in left if inside(time)]
    return result.equal, rejected, errors


def main_compare(out):
    rows = rows_of_table()
    with open(f"{out}/rules") as file:
        rounds = json.load(file)
    count = failed = equal_all = rejected_all = split = 0

    def report(passed, text, errors=()):
        nonlocal count, failed
        count += 1
        failed += not passed
        print(f"{'ok' if passed else 'not ok'} {count} - {text}")
        for error in [] if passed else list(errors)[:5]:
            print(f"# {error}")

    for index, rules in enumerate(rounds):
        path = f"{out}/round{index}"
        with open(f"{path}/window") as file:
            window = [int(word) for word in file.read().split()]
        whole, problems = read_trace(path)
        os.rename(f"{path}/trace", f"{path}/whole")
        os.rename(f"{path}/filtered", f"{path}/trace")
        filtered, more = read_trace(path)
        for name in ("inner", "summary"):
            with open(f"{path}/{name}") as file:
                summary = json.load(file)
            problems += [f"{name}: {summary}"] if summary["lost"] or summary["missed"] else []
        report(not problems + more, f"round {index}: nothing is lost", problems + more)
        for rule in rules:
            name = rule["event"]
            equal, rejected, errors = compare_rule(
                rule, rows[name], filtered[name], whole[name],
                lambda time: window[0] <= time <= window[1])
            report(not errors, f"{text_of(rule)}: {equal} of {equal + rejected}", errors)
            equal_all += equal
            rejected_all += rejected
            split += bool(equal and rejected)
    report(split >= len(rounds) * RULES / 2 and equal_all > 1000 and rejected_all > 1000,
           f"{split} rules let some through and some not: {equal_all} records, {rejected_all} rejected")
    print(f"1..{count}")
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit({"learn": main_learn, "choose": main_choose, "collect": main_collect,
              "compare": main_compare}[sys.argv[1]](sys.argv[2]) or 0)
