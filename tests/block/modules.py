#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# modules.py KERNLENS OUT [more]: in a virtual machine as root, tests blocks of loaded modules:
# compares those of an otherwise unused one with its network interface's statistics, counts all
# blocks of the modules that the machine runs on while it works, and those of large modules (`more`
# of them). A module must stay loaded while it is spliced, and its text must be unchanged
# afterwards. Prints TAP lines.
import collections
import json
import os
import subprocess
import sys

from checks import end, kernlens, report, run

SENT = 500
SEND = f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(open('/sys/class/net/kl0/statistics/tx_packets').read())
for i in range({SENT}): s.sendto(b'x' * (i % 100), ('10.99.0.2', 9))
print(open('/sys/class/net/kl0/statistics/tx_packets').read())
"""
# The machine's own file system and devices, and the modules they need.
BUSY = ["9p", "9pnet", "9pnet_virtio", "netfs", "fscache", "overlay", "virtio", "virtio_ring", "virtio_pci"]
WORK = "for i in 1 2 3; do find /usr/share/doc/a* -type f | head -100 | xargs cat; touch /tmp/x; ls -lR /usr/include/linux; " \
       "done | wc -c"
# Where files are in memory, a file system that the test mounts.
MOUNTED = ["ext4", "jbd2", "loop"]
MOUNT = "modprobe -qa loop ext4; truncate -s 64M /tmp/image; mkfs.ext4 -q /tmp/image; mkdir /tmp/busy; mount -o loop /tmp/image /tmp/busy"
MOUNTED_WORK = "for i in 1 2 3; do cp -r /usr/lib/python3/. /tmp/busy/files; sync; find /tmp/busy -type f | xargs cat; " \
               "rm -r /tmp/busy/files; done | wc -c"
OTHER = ["loop", "ext4"]  # as installed
MORE = ["fuse", "nfs", "kvm", "btrfs", "xfs", "iwlwifi", "bluetooth"]

FLAGS = 0x8d5  # carry, parity, adjust, zero, sign, overflow

out = sys.argv[2]


def shell(text):
    return subprocess.run(text, shell=True, capture_output=True, text=True)


def set_up():
    shell("modprobe dummy && ip link add kl0 type dummy && sysctl -w net.ipv6.conf.kl0.disable_ipv6=1 && "
          "ip address add 10.99.0.1/24 dev kl0 && ip link set kl0 up")


def take_down():
    shell("ip link del kl0")


def sending():
    return ["python3", "-c", SEND]


def counted(*options, command):
    """Returns count's result, and the words that the command itself printed."""
    done = run("--json", "count", "-o", f"{out}/counts", *options, "--", *command)
    with open(f"{out}/counts") as file:
        return json.load(file), done.stdout.split()


def sent(words):
    return int(words[1]) - int(words[0]) if len(words) == 2 else -1


def check_counts():
    result, words = counted("-e", "block:dummy_xmit", command=sending())
    function = result["functions"][0]
    first = next((point["count"] for point in function["points"] if "count" in point), None)
    report(first == sent(words) >= SENT and function.get("module") == "dummy",
           f"dummy_xmit is entered {first} times, once for each packet of the interface", sent(words), function)
    result, words = counted("-e", "dummy:dummy_x*", command=sending())
    names = [function["function"] for function in result["functions"]]
    report("dummy_xmit" in names, "a module's functions by a pattern", names)
    result, words = counted("-e", "kernel:vfs_read", command=["true"])
    report([function.get("module") for function in result["functions"]] == [None], "and the kernel's own", result)
    missing = run("count", "-e", "dummy:vfs_read", "--", "true", status=1).stderr
    report("vfs_read" in missing, "one that it does not have is said", missing)
    own = run("count", "-e", "kernlens:kl_*", "--", "true").stderr
    report("a function of kernlens itself" in own, "kernlens leaves its own functions alone", own[:500])


def check_events():
    done = run("record", "-q", "-a", "-v", "kstack", "-o", f"{out}/trace", "-e", "block:dummy_xmit#1", "--", *sending())
    records = [json.loads(line) for line in run("--json", "print", f"{out}/trace").stdout.splitlines()]
    fired = [record for record in records if record["event"] == "block:dummy_xmit#1"]
    frames = [frame["symbol"] for frame in fired[0]["stacks"]["kstack"]] if fired else []
    report(len(fired) >= sent(done.stdout.split()) >= SENT and any("dummy_xmit" in frame for frame in frames),
           f"a module's block is an event: {len(fired)} records", done.stdout.split(), frames)


def check_flags():
    """A function called through a pointer, whose caller checks the flags that it leaves."""
    shell(f"insmod {os.path.dirname(kernlens)}/{os.uname().release}/kl_places.ko")
    path = "/sys/module/kl_places/parameters/sum"
    sums = [(1, 2), (2 ** 64 - 1, 1), (2 ** 63 - 1, 1), (2 ** 63, 2 ** 63), (5, 2 ** 64 - 9)] * 5
    add = f"for a, b in {sums}:\n open('{path}', 'w').write(f'{{a}} {{b}}')\n " \
          f"print(open('{path}').read().split()[1], end=' ')"
    plain = subprocess.run(["python3", "-c", add], capture_output=True, text=True).stdout.split()
    result, words = counted("-e", "block:kl_places:kls_add", "-e", "block:kl_places:kls_add:post",
                            command=["python3", "-c", add])
    points = result["functions"][0]["points"]
    report(len(points) > 1 and all(point.get("count") == len(sums) for point in points) and
           [int(word, 16) & FLAGS for word in words] == [int(word, 16) & FLAGS for word in plain] and len(set(plain)) > 3,
           "flags that a function leaves to who calls it through a pointer stay", points, words, plain)
    check_jump()
    shell("rmmod kl_places")


def check_jump():
    """A function that ends with a jump through a register: it can be instrumented only where such jumps lead to
    the starts of functions, on a processor that tracks them."""
    tracked = shell("grep -qw ibt /proc/cpuinfo && grep -qw ibt_save /proc/kallsyms").returncode == 0
    path = "/sys/module/kl_places/parameters/jump"
    jump = f"for a in range(30):\n open('{path}', 'w').write(f'{{a % 3}} {{a}}')\n print(open('{path}').read(), end=' ')"
    command = ["python3", "-c", jump]
    if not tracked:
        result, words = counted("-e", "block:kl_places:kls_jump", command=command)
        points = [point for function in result["functions"] for point in function["points"]]
        report([int(word) for word in words] == [a % 3 + a for a in range(30)] and not any("count" in point for point in points),
               "a function that ends with a jump through a register is left alone", result, words)
        return
    result, words = counted("-e", "block:kl_places:kls_jump", "-e", "block:kl_places:kls_add", command=command)
    counts = {function["function"]: [point.get("count") for point in function["points"]]
              for function in result["functions"]}
    report([int(word) for word in words] == [a % 3 + a for a in range(30)] and 30 in counts["kls_add"] and
           set(counts["kls_jump"]) == {30, 20},
           "a function that ends with a jump through a register is counted", counts, words)


def text_of(module):
    """The bytes of a module's functions, and how many of its blocks can be spliced."""
    listed = json.loads(run("--json", "blocks", "--asm", f"{module}:*").stdout)["functions"]
    text = {function["address"]: "".join(instruction["bytes"] for block in function["blocks"]
                                         for instruction in block["instructions"]) for function in listed}
    blocks = [block for function in listed if function["reason"] == "none" for block in function["blocks"]]
    return text, sum(block["pre"]["tier"] != "none" for block in blocks), len(blocks)


def check_busy():
    """Counts both ends of all blocks. Tasks that are inside a block when splices come and go count
    at one end only."""
    modules, work = [module for module in BUSY if os.path.exists(f"/sys/module/{module}/sections")], WORK
    if not modules:
        shell(MOUNT)
        modules, work = MOUNTED, MOUNTED_WORK
    before = {module: text_of(module)[0] for module in modules}
    options = [word for module in modules for end in ("", ":post") for word in ("-e", f"block:{module}:*{end}")]
    result, _ = counted(*options, command=["sh", "-c", work])
    pairs = collections.defaultdict(dict)
    for function in result["functions"]:
        for point in function["points"]:
            if "count" in point:
                pairs[function["address"], point["block"]][point["post"]] = point["count"]
    both = [pair for pair in pairs.values() if len(pair) == 2]
    ran = [pair for pair in both if any(pair.values())]
    equal = [pair for pair in ran if pair[False] == pair[True]]
    report(len(both) > 3000 and len(ran) > 300 and len(equal) > 0.99 * len(ran),
           f"{' '.join(modules)}: of {len(both)} blocks {len(ran)} ran, {len(equal)} of them to their end as often",
           [pair for pair in ran if pair not in equal][:20])
    after = {module: text_of(module)[0] for module in modules}
    report(before == after, "their text is what it was")
    shell("umount /tmp/busy")


def check_others():
    """All functions of large modules: no planned window is refused."""
    for module in OTHER + (MORE if sys.argv[3:] == ["more"] else []):
        shell(f"modprobe {module}")
        if not os.path.exists(f"/sys/module/{module}/sections"):
            continue  # not built for this kernel, or built in
        _, splices, blocks = text_of(module)
        result, _ = counted("-e", f"block:{module}:*", command=["true"])
        points = [point for function in result["functions"] for point in function["points"]]
        placed = [point for point in points if "count" in point]
        without = collections.Counter(point["reason"] for point in points if "reason" in point)
        # Relocated functions may have more: blocks that only the copy leads to.
        report(len(placed) >= splices > 0.9 * blocks > 0 and not result["splices"]["refused"],
               f"{module}: {len(placed)} of {blocks} blocks are counted, none that was planned is refused", splices, without)


def check_unload():
    held = subprocess.Popen([kernlens, "count", "-o", "/dev/null", "-e", "block:dummy_xmit", "--", "sh", "-c",
                             "echo; read line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    held.stdout.readline()
    take_down()
    refused = shell("rmmod dummy")
    held.communicate(b"\n")
    report(refused.returncode and "in use" in refused.stderr and held.returncode == 0,
           "a module whose blocks are counted stays loaded", refused.stderr, held.returncode)
    gone = shell("rmmod dummy")
    report(gone.returncode == 0, "and can go afterwards", gone.stderr)
    missing = run("count", "-e", "block:dummy_xmit", "--", "true", status=1).stderr
    report("dummy_xmit" in missing, "then it has no functions", missing)
    set_up()
    result, words = counted("-e", "block:dummy_xmit", command=sending())
    first = next(point["count"] for point in result["functions"][0]["points"] if "count" in point)
    report(first == sent(words) >= SENT, "when it comes back they are counted again", first, words)


set_up()
check_counts()
check_events()
check_flags()
check_busy()
check_others()
check_unload()
end()
