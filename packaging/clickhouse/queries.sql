-- SPDX-License-Identifier: GPL-2.0
-- Ten questions to the traces of all machines. Each begins with what it answers; change the limits
-- as needed. A trace that is loaded twice counts twice until ClickHouse has merged its parts:
-- OPTIMIZE TABLE kernlens.event FINAL merges them at once.

-- Which captures are there, from where and when, and what is missing from them?
SELECT host, capture, toDateTime(intDiv(begin_ns, 1000000000)) AS begin,
    round((end_ns - begin_ns) / 1e9, 3) AS seconds, records, lost, kernel
FROM kernlens.capture FINAL
ORDER BY begin_ns DESC
LIMIT 50;

-- On which machines, and in what, do threads spend their time?
SELECT host, state, round(sum(ns) / 1e9, 3) AS seconds, count() AS times
FROM kernlens.span
WHERE kind = 'thread'
GROUP BY host, state
ORDER BY host, seconds DESC;

-- Which threads wait longest for a CPU (99th percentile), and on which machine?
SELECT host, comm, count() AS waits, round(quantile(0.5)(ns) / 1e6, 3) AS median_ms,
    round(quantile(0.99)(ns) / 1e6, 3) AS p99_ms, round(max(ns) / 1e6, 3) AS worst_ms
FROM kernlens.span
WHERE kind = 'thread' AND state = 'ready'
GROUP BY host, comm
HAVING waits >= 10
ORDER BY p99_ms DESC
LIMIT 20;

-- Which system calls take the time, and how often do they fail?
SELECT name, count() AS calls, countIf(state = 'failed') AS failed, round(sum(ns) / 1e9, 3) AS seconds,
    round(quantile(0.99)(ns) / 1e6, 3) AS p99_ms, uniq(host) AS hosts
FROM kernlens.span
WHERE kind = 'syscall'
GROUP BY name
ORDER BY seconds DESC
LIMIT 20;

-- For which machines is a system call unusually slow, compared with all machines?
SELECT host, name, calls, round(p99 / 1e6, 3) AS p99_ms, round(all_p99 / 1e6, 3) AS all_p99_ms
FROM
(
    SELECT host, name, count() AS calls, quantile(0.99)(ns) AS p99
    FROM kernlens.span
    WHERE kind = 'syscall'
    GROUP BY host, name
) AS one
ANY LEFT JOIN
(
    SELECT name, quantile(0.99)(ns) AS all_p99
    FROM kernlens.span
    WHERE kind = 'syscall'
    GROUP BY name
) AS other
USING (name)
WHERE calls >= 20 AND p99 > 2 * all_p99
ORDER BY p99 / all_p99 DESC
LIMIT 20;

-- What do threads wait for?
SELECT name AS reason, state, count() AS waits, round(sum(ns) / 1e9, 3) AS seconds,
    round(max(ns) / 1e6, 3) AS longest_ms, uniq(host) AS hosts
FROM kernlens.span
WHERE kind = 'thread' AND state IN ('sleeping', 'blocked')
GROUP BY reason, state
ORDER BY seconds DESC
LIMIT 20;

-- Who wakes whom, and how long does it take until the woken thread runs?
SELECT by_comm, comm, count() AS wakeups, round(avg(ns) / 1e3, 1) AS mean_us,
    round(max(ns) / 1e3, 1) AS worst_us
FROM kernlens.span
WHERE kind = 'thread' AND state = 'ready' AND by_tid != 0
GROUP BY by_comm, comm
ORDER BY wakeups DESC
LIMIT 20;

-- How busy was each CPU of each machine, in which capture?
SELECT host, capture, id AS cpu, round(busy_ns / length_ns * 100, 1) AS busy_percent
FROM
(
    SELECT host, capture, id, sum(ns) AS busy_ns
    FROM kernlens.span
    WHERE kind = 'cpu'
    GROUP BY host, capture, id
) AS one
ANY LEFT JOIN
(
    SELECT host, capture, end_ns - begin_ns + 1 AS length_ns
    FROM kernlens.capture
) AS other
USING (host, capture)
ORDER BY host, capture, cpu;

-- Which files could not be opened?
SELECT file, count() AS times, uniq(host) AS hosts, any(comm) AS program
FROM
(
    SELECT host, capture, event AS n, comm
    FROM kernlens.span
    WHERE kind = 'syscall' AND name = 'openat' AND state = 'failed'
) AS one
ANY LEFT JOIN
(
    SELECT host, capture, n, `fields.text`[indexOf(`fields.name`, 'filename')] AS file
    FROM kernlens.event
    WHERE name = 'syscall_entry_openat'
) AS other
USING (host, capture, n)
WHERE file != ''
GROUP BY file
ORDER BY times DESC, file
LIMIT 20;

-- Which events are the most frequent, and how many were there in a second of one machine?
SELECT name, sum(events) AS all_events, round(max(events / seconds), 1) AS most_a_second, uniq(host) AS hosts
FROM
(
    SELECT host, capture, name, count() AS events
    FROM kernlens.event
    GROUP BY host, capture, name
) AS one
ANY LEFT JOIN
(
    SELECT host, capture, (end_ns - begin_ns + 1) / 1e9 AS seconds
    FROM kernlens.capture
) AS other
USING (host, capture)
GROUP BY name
ORDER BY all_events DESC
LIMIT 20;
