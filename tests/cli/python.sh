# shellcheck shell=bash disable=SC2154,SC2016
# SPDX-License-Identifier: GPL-2.0
# One kernel: the Python package reads what is recorded on any.
# The Python package: its events compared with those of kernlens print, filters, recording,
# snapshots, live events, reports, errors; and the examples.

top=$(realpath "$here/../..")
export KERNLENS_LIBRARY=$top/build/libkernlens.so.0 KERNLENS_COMMAND=$kernlens
export PYTHONPATH=$top/python PYTHONDONTWRITEBYTECODE=1
work_in=$work/python
mkdir -p "$work_in" && cd "$work_in" || exit

# same TEXT TRACE EVENTS: the package and `kernlens print` give the same events.
same() {
	python3 "$here/python.py" "$2" "$3" 2>counts | jq -c . >ours
	"$kernlens" print --format json "$2" ${3:+-e "$3"} |
		jq -c 'if .loss then {loss, cpu, records} else del(.variable_meanings) end' >theirs
	check "$1: the same events ($(wc -l <theirs))" sh -c 'test -s theirs && cmp ours theirs'
}

kl record -q -o trace -e syscalls,sched,mark -v in_irq,rss,'name=current->comm' -- sh -c \
	"'$kernlens' mark begin; echo hello | tr a-z A-Z | wc -c; ls -l /usr/bin >list; '$kernlens' mark end"
expect "a trace" 0
same "all" trace ""
same "a filter" trace 'syscall_exit_* /ret < 0/, sched_switch /next_tid == 0 && rss > 0/'
same "strings" trace 'syscall_entry_openat /filename == "/usr*"/, syscall_entry_execve'
read -r _ lost <counts
check "nothing is lost" test "$lost" -eq 0

cat >use.py <<'END'
import os, sys, kernlens

def fails(number, text, call, *arguments, **more):
    try:
        call(*arguments, **more)
    except kernlens.Error as error:
        assert error.errno == number and text in str(error), (error.errno, str(error))
    else:
        assert False, "no error: " + text

with kernlens.Trace("trace") as trace:
    assert trace.info.scope == "tasks" and trace.info.finished and trace.info.begin_ns, trace.info
    assert {e.pid for e in trace.events("syscall_exit_wait4")} == {trace.info.command}, trace.info
    assert [v.name for v in trace.variables] == ["in_irq", "rss", "name"]
    events = list(trace.events("sched_switch"))
    assert events and all(e.name == "sched_switch" and "prev_tid" in e for e in events)
    assert [e.variables["name"] for e in events] == [e.comm for e in events]
    assert [e.ns for e in events] == sorted(e.ns for e in events)
    one = events[len(events) // 2]
    assert list(trace.events("sched_switch", begin=one.seconds, end=one.seconds + 1e-9))
    assert all(e.cpu == 0 for e in trace.events(cpu=0))
    assert {e.pid for e in trace.events(pid=one.pid)} | {one.pid} == {one.pid}
    assert {e.meaning("whence") for e in ()} == set()
    first, second = trace.events(), trace.events()
    next(first), next(second)
    try:
        next(first)
        assert False, "two iterations at once"
    except RuntimeError:
        pass
    lines = list(trace.lines("json", "mark"))
    assert len(lines) == 2 and '"event":"mark"' in lines[0], lines
    assert trace.types["sched_switch"].field("prev_state").format == "task_state"
    fails(22, "did you mean", trace.events, "sched_switch /prev_tidd/")
    fails(22, "similar", trace.events, "sched_swich")
assert one["next_tid"] >= 0 and one.comm
try:
    trace.events()
    assert False, "the trace is closed"
except ValueError:
    pass
fails(2, "No such file", kernlens.Trace, "none")
report = kernlens.report("trace", "syscalls")
assert report, report
fails(2, "No such file", kernlens.report, "none")
fails(22, "unknown", kernlens.command_json, "nosuch")
print("used")
END
check "a program that uses it" python3 use.py

cat >record.py <<'END'
import os, sys, time, kernlens

with kernlens.Recording("recorded", "syscall_entry_openat, mark", variables=["ppid"]) as recording:
    status = recording.run(["sh", "-c", "cat /etc/passwd >/dev/null; exit 7"])
    assert status == 7, status
    assert recording.run(["/no/such/program"]) == 127
    recording.add(os.getpid())
    kernlens.mark("from Python", -1)
    recording.wait(0.1)
assert recording.records > 0 and not recording.lost and not recording.notices, recording.notices
with kernlens.Trace("recorded") as trace:
    events = list(trace.events())
    assert len(events) == recording.records, (len(events), recording.records)
    opened = [e["filename"] for e in events if e.name == "syscall_entry_openat"]
    assert "/etc/passwd" in opened, opened
    marks = [e for e in events if e.name == "mark"]
    assert [(m["text"], m["value"], m.tid) for m in marks] == [("from Python", 2**64 - 1, os.getpid())]
    assert all(e.variables["ppid"] for e in events)
    assert not list(trace.items("syscall_entry_openat /filename == \"/nothing\"/"))

def fails(number, call, *arguments, **more):
    try:
        call(*arguments, **more)
    except kernlens.Error as error:
        assert error.errno == number, (error.errno, str(error))
        return str(error)
    assert False, "no error"

assert "did you mean" in fails(22, kernlens.Recording, "other", "mark /valeu/")
assert fails(17, kernlens.Recording, "recorded", "mark")
assert not os.path.exists("other")
with kernlens.Recording("recorded", "mark", force=True, all=True, overwrite=True, snapshots=1,
                        buffer_bytes=1 << 20) as recording:
    for i in range(5):
        kernlens.mark(f"mark {i}", i)
    path = recording.snapshot()
    kernlens.mark("later")
    fails(28, recording.snapshot)
assert path == "recorded.1", path
with kernlens.Trace(path) as trace:
    assert [e["text"] for e in trace.events("mark")] == [f"mark {i}" for i in range(5)]
with kernlens.Trace("recorded") as trace:
    assert [e["text"] for e in trace.events("mark")][-1] == "later"
with kernlens.Live("mark", all=True) as live:
    kernlens.mark("seen", 3)
    seen = [e for e in live.items(0.3) if isinstance(e, kernlens.Event)]
    assert [(e["text"], e["value"], e.pid) for e in seen] == [("seen", 3, os.getpid())], seen
assert seen[0].name == "mark"
print("recorded")
END
check "a program that records, takes a snapshot and follows events" python3 record.py

# The same numbers by another way.
check "examples: file_waits" python3 "$top/examples/python/file_waits.py" trace 5
python3 "$top/examples/python/file_waits.py" trace 1000 >waits
check "has the folder that ls reads, with its calls" grep -Eq ' ms  (getdents64|openat|newfstatat|fstat|statx|close) .* /usr/bin$' waits
python3 "$top/examples/python/rates.py" trace 'sched_switch' 'syscall_exit_* /ret < 0/' >rates.csv
expected=$("$kernlens" print --format json trace -e sched_switch | wc -l),$("$kernlens" print --format json trace -e 'syscall_exit_* /ret < 0/' | wc -l),0
check "examples: rates: the sums are right" test "$(awk -F, 'NR > 1 { a += $2; b += $3; c += $4 }
	END { print a "," b "," c }' rates.csv)" = "$expected"
check "with a row for each second" sh -c 'head -n 1 rates.csv | grep -q "^second,sched_switch," && tail -n +2 rates.csv |
	cut -d, -f 1 | awk "\$1 != NR - 1 { exit 1 }"'
python3 "$top/examples/python/rates.py" --sum ret trace 'syscall_exit_write /ret > 0/' >sums.csv
check "sums of a field" test "$(awk -F, 'NR > 1 { a += $2 } END { print a }' sums.csv)" -eq \
	"$("$kernlens" print --format json trace -e 'syscall_exit_write /ret > 0/' | jq -s 'map(.fields.ret) | add')"
python3 "$top/examples/python/follow.py" trace begin end >followed
check "examples: follow: the shell makes tr and wc work on the request" sh -c 'grep -Eq " by (clone|vfork|clone3|fork)" followed &&
	grep -Eq "(tr|wc)-[0-9]+ -> sh-[0-9]+ +by exit_group" followed && grep -q " ms  end$" followed'
check "a mark that is not there" sh -c '! python3 "$1" trace begin nowhere 2>said && grep -q "no mark nowhere" said' - \
	"$top/examples/python/follow.py"
kl_nobody record -q -o /dev/shm/python-own -e mark -- "$kernlens" mark mine
chmod -R a+rX /dev/shm/python-own
check "a trace of another user" python3 -c 'import kernlens, sys
with kernlens.Trace(sys.argv[1]) as trace:
    assert [e["text"] for e in trace.events()] == ["mine"] and trace.info.scope' /dev/shm/python-own
rm -rf /dev/shm/python-own
cd "$work" || exit
