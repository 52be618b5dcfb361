# SPDX-License-Identifier: GPL-2.0
#
# Shared by commands.py, the other tests of commands and tests/why: TAP lines, and runs of kernlens,
# whose path is the first argument.
import subprocess
import sys

kernlens = sys.argv[1]
count = failed = 0


def report(passed, text, *more):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'ok' if passed else 'not ok'} {count} - {text}", flush=True)
    for line in [] if passed else more:
        print(f"# {line}", flush=True)


def run(*words, status=0):
    done = subprocess.run([kernlens, *words], capture_output=True, text=True)
    if done.returncode != status:
        report(False, f"{' '.join(words)}: status {done.returncode}", *done.stderr.splitlines()[-5:])
    return done


def end():
    """Prints the TAP plan and exits."""
    print(f"1..{count}")
    sys.exit(failed > 0)
