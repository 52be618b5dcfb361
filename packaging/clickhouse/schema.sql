-- SPDX-License-Identifier: GPL-2.0
-- Tables for traces of many machines, which `kernlens export --to clickhouse` fills:
-- kernlens-clickhouse(7). Works from ClickHouse 18.16 on. A row is the same when it is loaded again,
-- and replaces the one that is there. Times are in ns since 1970.
CREATE DATABASE IF NOT EXISTS kernlens;

-- One row for each trace, which is loaded last: without one, a trace is not whole.
CREATE TABLE IF NOT EXISTS kernlens.capture
(
    host String,
    capture String,
    n UInt64,
    hostname String,
    kernel String,
    scope String,
    day UInt16,
    begin_ns UInt64,
    end_ns UInt64,
    records UInt64,
    spans UInt64,
    lost UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(toDate(day))
ORDER BY (host, capture, n);

-- All events. `fields` are arrays of the same length: text is that of a text or of a number that has
-- a meaning, number that of a number.
CREATE TABLE IF NOT EXISTS kernlens.event
(
    host String,
    capture String,
    n UInt64,
    day UInt16,
    ns UInt64,
    cpu UInt32,
    tid Int32,
    pid Int32,
    comm String,
    name String,
    `fields.name` Array(String),
    `fields.text` Array(String),
    `fields.number` Array(Int64),
    kstack UInt64,
    ustack UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(toDate(day))
ORDER BY (name, host, capture, n);

-- What lasted: kind is cpu, irq, softirq, thread, syscall or disk. state of a thread is running,
-- ready, sleeping, blocked or stopped, and failed that of a call or request. by_tid has woken it.
CREATE TABLE IF NOT EXISTS kernlens.span
(
    host String,
    capture String,
    n UInt64,
    kind String,
    id UInt64,
    day UInt16,
    begin_ns UInt64,
    ns UInt64,
    name String,
    state String,
    tid Int32,
    comm String,
    by_tid Int32,
    by_comm String,
    cpu Int32,
    event UInt64,
    end_event UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(toDate(day))
ORDER BY (kind, host, capture, n);

-- Values of variables when they change. id is a thread, a CPU, or 0.
CREATE TABLE IF NOT EXISTS kernlens.variable
(
    host String,
    capture String,
    n UInt64,
    day UInt16,
    ns UInt64,
    name String,
    unit String,
    scope String,
    id UInt64,
    value Int64
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(toDate(day))
ORDER BY (name, host, capture, n);

-- Stack traces, whose ids are kstack and ustack of events. The innermost frame is the first; those
-- after the first `certain` ones are uncertain.
CREATE TABLE IF NOT EXISTS kernlens.stack
(
    host String,
    capture String,
    n UInt64,
    id UInt64,
    kind String,
    functions Array(String),
    objects Array(String),
    certain UInt32
)
ENGINE = ReplacingMergeTree
ORDER BY (host, capture, n);

-- Where records are missing. cpu is -1 if it is unknown, and a time 0.
CREATE TABLE IF NOT EXISTS kernlens.loss
(
    host String,
    capture String,
    n UInt64,
    kind String,
    cpu Int32,
    records UInt64,
    begin_ns UInt64,
    end_ns UInt64
)
ENGINE = ReplacingMergeTree
ORDER BY (host, capture, n);
