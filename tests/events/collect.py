#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# collect.py OUT CAUSE...: runs in the virtual machine, as root. For each cause: enables ftrace's
# events that the table expects of it (in an instance of its own, clock x86-tsc), has `kernlens
# record` run the cause, and saves both records in OUT/CAUSE: trace/ (kernlens), cpuN.raw (ftrace's
# pages), window, facts, log. witness.py compares them outside, where it is faster.
import errno
import glob
import json
import os
import shutil
import subprocess
import sys
import time

import tables

TRACING = "/sys/kernel/tracing"
BUILD = os.environ.get("KL_BUILD", "build")
# System calls have no tracepoints of their own in ftrace; these are recorded instead.
SYSCALL_WITNESS = ["raw_syscalls:sys_enter", "raw_syscalls:sys_exit"]


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def read(path):
    with open(path) as file:
        return file.read()


class Ftrace:
    """An instance of ftrace with a buffer that holds a whole cause."""

    def __init__(self, kib):
        self.dir = f"{TRACING}/instances/kl"
        if not os.path.isdir(self.dir):
            os.mkdir(self.dir)
        write(f"{self.dir}/tracing_on", "0")
        write(f"{self.dir}/trace_clock", "x86-tsc")
        write(f"{self.dir}/buffer_size_kb", str(kib))
        self.available = {}
        for line in read(f"{TRACING}/available_events").split():
            system, name = line.split(":")
            self.available.setdefault(name, []).append(system)

    def system_of(self, target):
        # Modules have tracepoints too, some with the same name (ext4, nfs ...).
        systems = self.available.get(target, [])
        return systems[0] if systems else None

    def start(self, names):
        write(f"{self.dir}/trace", "")
        for name in names:
            write(f"{self.dir}/events/{name.replace(':', '/')}/enable", "1")
        write(f"{self.dir}/tracing_on", "1")

    def stop(self, names):
        write(f"{self.dir}/tracing_on", "0")
        for name in names:
            write(f"{self.dir}/events/{name.replace(':', '/')}/enable", "0")

    def save(self, out, names):
        """Saves the pages of each CPU, the statistics and the formats."""
        for cpu in sorted(glob.glob(f"{self.dir}/per_cpu/cpu*")):
            name = os.path.basename(cpu)
            write(f"{out}/{name}.stats", read(f"{cpu}/stats"))
            pipe = os.open(f"{cpu}/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
            with open(f"{out}/{name}.raw", "wb") as file:
                while True:
                    try:
                        page = os.read(pipe, 4096)
                    except OSError as error:
                        if error.errno != errno.EAGAIN:
                            raise
                        break
                    if not page:
                        break
                    file.write(page.ljust(4096, b"\0"))
            os.close(pipe)
        with open(f"{out}/formats", "w") as file:
            for name in names:
                path = f"{self.dir}/events/{name.replace(':', '/')}/format"
                file.write(f"== {name}\n" + read(path))


def set_function_probes(rows):
    """Sets a kprobe for each function event: its argument is the lock's address."""
    lines = [f"p:klfn/{row.name} {row.target} lock_addr=%di:u64\n" for row in rows]
    write(f"{TRACING}/kprobe_events", "")
    for line in lines:
        # Not open(..., "a"): that seeks, which the file does not support.
        fd = os.open(f"{TRACING}/kprobe_events", os.O_WRONLY | os.O_APPEND)
        os.write(fd, line.encode())
        os.close(fd)


def command_of(cause):
    # Returns the command of a cause: "module-kthread" is the program `module` with the argument
    # `kthread`.
    program, _, rest = cause.partition("-")
    script = os.path.join(tables.HERE, "cause", program + ".sh")
    if os.path.exists(script):
        return [script] + rest.split("-") if rest else [script]
    return [f"{BUILD}/tests/events/{program}"] + (rest.split("-") if rest else [])


def proc_facts():
    """What /proc shows of everything that a state dump reports."""
    lines = []
    for path in glob.glob("/proc/[0-9]*/task/[0-9]*/status"):
        try:
            status = dict(line.split(":", 1) for line in read(path).splitlines() if ":" in line)
            kernel = not os.path.exists(os.path.dirname(path) + "/exe")
        except OSError:
            continue
        name, tid, tgid, ppid = (status[key].strip() for key in ("Name", "Pid", "Tgid", "PPid"))
        # Workers are renamed by what they work on, and these processes may end.
        if not name.startswith(("kworker", "collect", "kernlens")):
            lines.append(f"lttng_statedump_process_state tid={tid} vtid={tid} pid={tgid} vpid={tgid} "
                         f"ppid={ppid} vppid={ppid} name={name[:15].replace(' ', '%20')} "
                         f"type={int('VmSize' not in status)} ns_level=0 submode=0")
    for line in read("/proc/interrupts").splitlines()[1:]:
        words = line.split()
        if words[0][:-1].isdigit():
            cpus = os.cpu_count()
            chip, action = words[1 + cpus], words[-1]
            lines.append(f"lttng_statedump_interrupt irq={words[0][:-1]} name={chip} "
                         f"action={action}")
    for part in read("/proc/cpuinfo").strip().split("\n\n"):
        cpu = {key.strip(): value.strip() for key, _, value in
               (line.partition(":") for line in part.splitlines())}
        lines.append(f"lttng_statedump_cpu_topology cpu_id={cpu['processor']} "
                     f"family={cpu['cpu family']} model={cpu['model']} "
                     f"physical_id={cpu['physical id']} core_id={cpu['core id']} "
                     f"cores={cpu['cpu cores']} vendor={cpu['vendor_id']} architecture=x86 "
                     f"model_name={cpu['model name'].replace(' ', '%20')}")
    return lines


def start_statedump():
    """Starts a process that a state dump will find; returns the facts that it prints, and the
    process."""
    process = subprocess.Popen(command_of("statedump"), stdout=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, text=True)
    lines = []
    for line in process.stdout:
        if line == "ready\n":
            break
        lines.append(line[len("fact "):].strip())
    return lines, process


def run_cause(ftrace, out, cause, rows, present):
    events, witness = [], []
    for row in rows:
        events.append(row.name)
        if row.source == "TP":
            system = ftrace.system_of(row.target)
            if system:
                witness.append(f"{system}:{row.target}")
        elif row.source == "FN":
            witness.append(f"klfn:{row.name}")
    functions = [row for row in rows if row.source == "FN"]
    if functions:
        set_function_probes(functions)
    if cause.startswith(("syscalls", "compat")):
        events.append("syscalls")
        witness += SYSCALL_WITNESS
    if not events:
        return
    work = f"/tmp/collect-{cause}"
    os.makedirs(work)
    began = time.monotonic()
    ftrace.start(witness)
    on = time.monotonic()
    dump, command, more, process = ["--no-dump"], command_of(cause), [], None
    if cause == "statedump":
        subprocess.run(["modprobe", "brd", "rd_nr=1", "rd_size=1024"])
        more, process = start_statedump()
        more += proc_facts()
        dump, command = [], ["sleep", "1"]
    done = subprocess.run(
        [f"{BUILD}/kernlens", "--json", "record", "-a", "--buffer", "24M", "-e", ",".join(events),
         "-o", f"{work}/trace", *dump, "--", f"{BUILD}/tests/events/window", f"{work}/window",
         *command],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
        env=os.environ | {"KL_OUT": work})
    if process:
        process.kill()
        process.wait()
    off = time.monotonic()
    ftrace.stop(witness)
    print(f"# stop {time.monotonic() - off:.1f}")
    # With --json, stdout has the summary only; what the cause prints goes to stderr.
    more += [line[5:] for line in done.stderr.splitlines() if line.startswith("fact ")]
    write(f"{work}/facts", "".join(line + "\n" for line in more))
    write(f"{work}/summary", done.stdout)
    write(f"{work}/log", f"status {done.returncode}\n{done.stdout}{done.stderr}")
    ftrace.save(work, witness)
    if functions:
        write(f"{work}/kprobe_profile", read(f"{TRACING}/kprobe_profile"))
        write(f"{TRACING}/kprobe_events", "")
    write(f"{work}/events", "\n".join(events) + "\n")
    print(f"# save {time.monotonic() - off:.1f}")
    shutil.rmtree(f"{out}/{cause}", ignore_errors=True)
    shutil.copytree(work, f"{out}/{cause}")
    shutil.rmtree(work)
    print(f"# {cause}: status {done.returncode}, {on - began:.1f} s to switch ftrace on, "
          f"{off - on:.1f} s recording, {time.monotonic() - off:.1f} s saving", flush=True)


def main():
    out, causes = sys.argv[1], sys.argv[2:]
    listing = subprocess.run([f"{BUILD}/kernlens", "list", "events", "--json"],
                             capture_output=True, text=True, check=True)
    write(f"{out}/list", listing.stdout)
    present = {entry["name"] for entry in json.loads(listing.stdout)
               if entry["available"]}
    table = tables.table(".".join(os.uname().release.split(".")[:2]))
    rows = {row.name: row for row in tables.events() if row.name in present}
    ftrace = Ftrace(int(os.environ.get("KL_FTRACE_KIB", "32768")))
    write(f"{out}/printk_formats", read(f"{TRACING}/printk_formats"))
    for cause in causes:
        wanted = [row for name, row in rows.items()
                  if cause in table.get(name, ([], ""))[0]]
        run_cause(ftrace, out, cause, wanted, present)
    return 0


if __name__ == "__main__":
    sys.exit(main())
