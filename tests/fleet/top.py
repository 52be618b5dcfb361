#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# top.py DIR: kernlens fleet top. A Prometheus of Debian's scrapes six machines that are made up, so
# their rates are known; one of them ends. Then servers that are no Prometheus, or a hostile one.
import http.server
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request

from fleet import Tap, free_port, wait_for

KERNLENS = os.path.join(os.environ.get("BUILD", "build"), "kernlens")
work = sys.argv[1]
tap = Tap()
GIB = 1 << 30


class Server(http.server.ThreadingHTTPServer):
    """On loopback, with a function that answers: (status, bytes) or None to hang up."""

    daemon_threads = True

    def __init__(self, answer):
        self.answer = answer
        super().__init__(("127.0.0.1", 0), Handler)
        self.port = self.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, body, *more = self.server.answer(self)
        self.send_response(status)
        for name, value in more:
            self.send_header(name, value)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass

    do_POST = do_GET

    def log_message(self, *args):
        pass


def metrics(number):
    """A machine of @number CPUs and processes: the CPUs are used by a tenth of @number, in all."""
    begin = time.monotonic() - 1000

    def answer(_):
        t = time.monotonic() - begin
        lines = [
            f'kernlens_build_info{{version="1",kernel="test"}} 1\nkernlens_cpus_online {number}',
            f"kernlens_threads_runnable {number}",
            f"kernlens_memory_total_bytes {number * GIB}\nkernlens_memory_available_bytes {GIB // 2}",
            f"kernlens_storage_read_bytes_total {t * 1000 * number}",
            f"kernlens_storage_written_bytes_total {t * 2000 * number}",
            f'kernlens_alarm_active{{rule="a"}} {number}\nkernlens_alarm_active{{rule="b"}} 1',
        ]
        for cpu in range(number):
            for mode, part in (("user", 0.06), ("system", 0.04), ("idle", 0.8), ("iowait", 0.1)):
                lines.append(f'kernlens_cpu_seconds_total{{cpu="{cpu}",mode="{mode}"}} {t * part}')
        for k in [*range(1, number + 1), 0]:
            labels = f'{{pid="{100 + k}",start="1",name="p{number}-{k}"}}' if k else \
                '{pid="other",start="other",name="other"}'
            used = k / 1000 + number / 100 if k else 5
            lines.append(f"kernlens_process_cpu_seconds_total{labels} {t * used}")
            lines.append(f"kernlens_process_cpu_wait_seconds_total{labels} {t * (0.9 - used)}")
            lines.append(f"kernlens_process_resident_memory_bytes{labels} {(k + number) << 20}")
            lines.append(f"kernlens_process_storage_read_bytes_total{labels} {t * k}")
            lines.append(f"kernlens_process_storage_written_bytes_total{labels} {t * k * 10}")
        return 200, ("\n".join(lines) + "\n").encode()

    return answer


def top(url, *options, json_too=True):
    words = [KERNLENS, "fleet", "top", "--no-config", "--prometheus", url, "--window", "10", *options]
    done = subprocess.run(words + (["--json"] if json_too else []), capture_output=True, text=True,
                          timeout=100, check=False)
    try:
        return done, json.loads(done.stdout)
    except ValueError:
        return done, {}


def near(got, expected, part=0.1):
    return got is not None and abs(got - expected) <= part * expected


def start_prometheus(machines, port):
    config = os.path.join(work, "prometheus.yml")
    with open(config, "w", encoding="utf-8") as file:
        file.write("global: { scrape_interval: 1s, scrape_timeout: 1s }\nscrape_configs:\n"
                   "  - job_name: kernlens\n    static_configs:\n")
        for number, server in machines.items():
            name = f"db{number}" if number % 2 else f"web{number}:9797"
            file.write(f"      - {{ targets: ['127.0.0.1:{server.port}'], labels: {{ instance: '{name}' }} }}\n")
        # Not one of kernlens serve's.
        file.write(f"  - job_name: itself\n    static_configs: [{{ targets: ['127.0.0.1:{port}'] }}]\n")
    return subprocess.Popen(
        ["prometheus", "--config.file", config, "--storage.tsdb.path", os.path.join(work, "tsdb"),
         "--web.listen-address", f"127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for_scrapes(url, n):
    query = f"{url}/api/v1/query?query=count(count_over_time(kernlens_cpus_online[12s])>10)"

    def has_scraped():
        try:
            with urllib.request.urlopen(query, timeout=5) as answer:
                result = json.load(answer)["data"]["result"]
        except (OSError, ValueError):
            return False
        return result and int(result[0]["value"][1]) == n

    return wait_for(has_scraped, 60)


def test_figures(url):
    done, got = top(url)
    tap.same("fleet top ends well", (done.returncode, done.stderr), (0, ""))
    hosts = {h["host"]: h for h in got["hosts"]}
    tap.same("all machines are there, and no other server", sorted(hosts),
             ["db1", "db3", "db5", "web2", "web4", "web6"])
    tap.check(all(near(hosts[h]["cpu"], n / 10) and hosts[h]["cpus"] == n and hosts[h]["up"] == 1
                  for h, n in (("db1", 1), ("web4", 4), ("web6", 6))), "with the time of their CPUs", hosts)
    tap.check(all(h["memory_bytes"] == h["cpus"] * GIB and h["alarms"] == h["cpus"] + 1
                  and h["memory_used_bytes"] == h["memory_bytes"] - GIB // 2 and h["runnable"] == h["cpus"]
                  for h in hosts.values()), "memory, alarms and threads", hosts)
    tap.check(all(near(h["read_bytes_per_second"], 1000 * h["cpus"])
                  and near(h["written_bytes_per_second"], 2000 * h["cpus"]) for h in hosts.values()),
              "and I/O", hosts)
    processes = got["processes"]
    tap.same("twenty processes", len(processes), 20)
    tap.same("what does not fit is not one", [p for p in processes if not 100 < p["pid"] < 107], [])
    tap.same("the busiest first", [(p["host"], p["name"]) for p in processes[:3]],
             [("web6", "p6-6"), ("web6", "p6-5"), ("web6", "p6-4")])
    first = processes[0]
    tap.check(near(first["cpu"], 0.066) and near(first["cpu_wait"], 0.834) and first["pid"] == 106
              and first["memory_bytes"] == 12 << 20 and near(first["read_bytes_per_second"], 6)
              and near(first["written_bytes_per_second"], 60), "with all its figures", first)


def test_options(url):
    _, got = top(url, "--hosts", "db*,web4", "--top", "3", "--by", "wait")
    tap.same("of some hosts", sorted(h["host"] for h in got["hosts"]), ["db1", "db3", "db5", "web4"])
    tap.same("by what waits", [p["name"] for p in got["processes"]], ["p1-1", "p3-1", "p3-2"])
    _, got = top(url, "--hosts", "web?", "--top", "2", "--by", "memory")
    tap.same("by memory", [p["name"] for p in got["processes"]], ["p6-6", "p6-5"])
    for pattern, names in (("*[135]", ["db1", "db3", "db5"]), ("*[!1-5]", ["web6"]), ("db[", []), ("[,db1", ["db1"]),
                           ("db[]", []), ("[\\\\]", [])):
        _, got = top(url, "--hosts", pattern)
        tap.same(f"hosts {pattern}", sorted(h["host"] for h in got.get("hosts", [0])), names)
    _, got = top(url, "--hosts", 'w"eb2,{}|.*,db.')
    tap.same("a pattern is no expression", got.get("hosts"), [])
    done, _ = top(url, "--hosts", "none", json_too=False)
    tap.check(done.returncode == 1 and "no figures of kernlens serve of such hosts" in done.stderr,
              "no host is an error", done)
    done, _ = top(url, "--by", "size")
    tap.check(done.returncode == 2 and "expected cpu, wait" in done.stderr + done.stdout, "an unknown order is, too", done)
    done, _ = top(url, json_too=False)
    lines = done.stdout.splitlines()
    tap.check(lines[0].startswith("HOST") and len(lines) == 29 and "p6-6" in lines[9] and "6.6 %" in lines[9]
              and "12" in lines[9], "as tables", done.stdout)


def test_down(machine, url):
    machine.shutdown()
    machine.server_close()
    time.sleep(3)
    _, got = top(url)
    tap.same("a machine that has ended", [h["host"] for h in got["hosts"] if h["up"] == 0], ["web2"])


def answers(body, status=200, *more):
    return Server(lambda _: (status, body, *more))


def sample(name, value="1"):
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": [
        {"metric": {"instance": name, "pid": "1", "name": name, "start": "1"}, "value": [1, value]}]}}).encode()


def test_hostile():
    seen = []
    thief = Server(lambda h: (seen.append(h.headers.get("Authorization")), (200, sample("x")))[1])
    login = os.path.join(work, "login")
    with open(login, "w", encoding="utf-8") as file:
        file.write("operator:secret\n")
    os.chmod(login, 0o600)
    done, _ = top(answers(b"", 302, ("Location", thief.url + "/api/v1/query")).url, "--prometheus-login-file", login)
    tap.check(done.returncode == 1 and not seen, "a redirection is not followed with the login", done, seen)
    done, _ = top(thief.url, "--prometheus-login-file", login)
    tap.same("which the server gets", set(seen), {"Basic b3BlcmF0b3I6c2VjcmV0"})
    os.chmod(login, 0o644)
    done, _ = top(thief.url, "--prometheus-login-file", login)
    tap.check(done.returncode == 1 and "other users can read" in done.stdout, "but not from a file that all can read", done)
    for name, body, status in (
            ("no JSON", b"<html>", 200), ("another type", b'{"status":"success","data":{"resultType":"scalar"}}', 200),
            ("nothing", b"", 200), ("deep JSON", b"[" * 100000, 200), ("an error", b'{"status":"error","error":"\x1b[31m"}', 400)):
        done, _ = top(answers(body, status).url, json_too=False)
        tap.check(done.returncode == 1 and done.stderr.startswith("kernlens: http") and "\x1b" not in done.stderr
                  and done.stderr.count("\n") == 1, f"{name} is an error", done)
    done, _ = top(answers(b'{"status":"success","data":{"resultType":"vector","result":"' + b"x" * (70 << 20)).url,
                  json_too=False)
    tap.check("larger than 64 MiB" in done.stderr, "and so is what is too large", done)
    done, _ = top(answers(sample("\x1b[31mname\x07\x9b")).url, json_too=False)
    tap.check(done.returncode == 0 and not {"\x1b", "\x07", "\x9b"} & set(done.stdout), "names are printed without control characters", done)
    for value in ("NaN", "+Inf", "1e300", "-5", "x"):
        done, _ = top(answers(sample("h", value)).url, json_too=False)
        tap.check(done.returncode in (0, 1), f"the value {value}", done)
    done, _ = top("file:///etc/passwd")
    tap.check(done.returncode == 1 and "root" not in done.stdout, "no file is read", done)


def main():
    os.makedirs(work, exist_ok=True)
    machines = {n: Server(metrics(n)) for n in range(1, 7)}
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    prometheus = start_prometheus(machines, port)
    try:
        tap.good("Prometheus scrapes six machines", wait_for_scrapes(url, 6))
        test_figures(url)
        test_options(url)
        test_down(machines[2], url)
    finally:
        prometheus.terminate()
        prometheus.wait()
    test_hostile()
    sys.exit(tap.end())


main()
