#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# filters.py learn OUT | choose OUT | collect OUT | compare OUT: are the records that a filter lets through those,
# and only those, that an unfiltered session has, and the same in every field? `learn` records the causes
# with all events; `choose` writes rules, one field or two each, that let some of what was seen there
# through and some not: every type, format and relation of the table's events that can be had; `collect`
# records the causes once a round with a session that has the rules and one that has not; `compare`
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

SEED, ROUNDS, RULES = 20261122, 2, 46  # a session has 48 rules that differ at most
CAUSES = ["task", "fs", "net", "fault"]
NUMBER_RELATIONS = ["==", "!=", "<", "<=", ">", ">=", "&"]
TEXT_RELATIONS = ["==", "!=", "prefix"]
# What may be another when the next session's record of the same firing reads it: the state of a task
# that its parent reaps meanwhile, the time in ticks, the flags of an inode that another CPU writes, the
# kernel's counts of pages. No rule asks for these: what the filter saw would not be known.
SHAKY = {"prev_state", "now", "paused", "state", "nr_dirty", "nr_writeback", "nr_dirtied", "nr_written"}
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
    """Keeps the command's output, and the summary of the outer recording."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", env=os.environ | {"KL_OUT": work})
    collect.write(f"{work}/log", f"status {done.returncode}\n{done.stdout}{done.stderr}")
    summaries = done.stdout.split("\n{")[-2:]
    for name, text in zip(("inner", "summary"), summaries):
        collect.write(f"{work}/{name}", "{" + text.lstrip("{"))


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
    """A text that a filter can have as it is."""
    return text and text.isascii() and text.isprintable() and not set(text) & set('"\\*/')


def constant(values, relation, chance):
    """What a relation may be to, so that it holds for some of the values and not for others; or None."""
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
    """(what is covered, term) of each relation that can be asked of a field."""
    texts = isinstance(values[0], str)
    for relation in TEXT_RELATIONS if texts else NUMBER_RELATIONS:
        value = constant(values, relation, chance)
        if value is not None:
            yield ((field["type"], field["format"], relation),
                   {"field": field["name"], "relation": relation, "value": value})


def rows_of_table():
    """By event: its fields by name."""
    done = subprocess.run([f"{collect.BUILD}/kernlens", "list", "events", "--json"], stdout=subprocess.PIPE, check=True)
    return {row["name"]: {field["name"]: field for field in row["fields"]}
            for row in json.loads(done.stdout)}


def value_of(field, value):
    """A field as a filter sees it; None if it is no number or text."""
    if field["type"] in ("text", "string"):
        return value if isinstance(value, str) else None
    if "count" in field:
        return None
    return tracepoints.number(value)


def terms_of(rows, records, chance):
    """By event: what could be asked."""
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
    # First who has what no rule has yet.
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
    """By event and CPU; problems."""
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
    """What is left when records that differ in such fields only have been paired, too."""
    def steady(entry):
        task, values = entry[1]
        return task, tuple(item for item in sorted(json.loads(values).items()) if item[0] not in SHAKY)

    waiting = collections.defaultdict(list)
    for entry in there:
        waiting[steady(entry)].append(entry)
    left = [entry for entry in here if not waiting[steady(entry)] or not waiting[steady(entry)].pop()]
    return left, [entry for entries_left in waiting.values() for entry in entries_left]


def compare_rule(rule, fields, filtered, whole, inside):
    """(records in both, records rejected, what is only in one)"""
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
