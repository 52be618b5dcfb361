// SPDX-License-Identifier: GPL-2.0
/*
 * A database (kernlens-export(1) lists its tables): one table of all events with what they have in
 * common, one table for each kind of event with its fields, and spans, threads, stack traces and
 * losses. Everything is one transaction; the file is new, so nothing has to survive a crash.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "../../format/print.h"
#include "export.h"

enum statement {
	PUT_TRACE,
	PUT_THREAD,
	PUT_EVENT,
	PUT_SPAN,
	PUT_LOSS,
	PUT_POINT,
	PUT_FRAME,
	STATEMENTS,
};

static const char *const insert[STATEMENTS] = {
	[PUT_TRACE] = "INSERT INTO trace VALUES(?,?)",
	[PUT_THREAD] = "INSERT INTO thread VALUES(?,?,?)",
	[PUT_EVENT] = "INSERT INTO event VALUES(?,?,?,?,?,?,?,?,?)",
	[PUT_SPAN] = "INSERT INTO span VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
	[PUT_LOSS] = "INSERT INTO loss VALUES(?,?,?,?,?)",
	[PUT_POINT] = "INSERT INTO variable VALUES(?,?,?,?,?,?)",
	[PUT_FRAME] = "INSERT INTO stack VALUES(?,?,?,?,?,?,?)",
};

static const char tables[] =
	"CREATE TABLE trace(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE thread(tid INTEGER PRIMARY KEY, pid INTEGER, comm TEXT);"
	"CREATE TABLE event(id INTEGER PRIMARY KEY, ns INTEGER, cpu INTEGER, tid INTEGER,"
	" pid INTEGER, comm TEXT, name TEXT, kstack INTEGER, ustack INTEGER);"
	"CREATE TABLE span(kind TEXT, id INTEGER, begin_ns INTEGER, end_ns INTEGER, ns INTEGER,"
	" name TEXT, state TEXT, tid INTEGER, by_tid INTEGER, cpu INTEGER, event INTEGER,"
	" end_event INTEGER);"
	"CREATE TABLE loss(kind TEXT, cpu INTEGER, records INTEGER, begin_ns INTEGER,"
	" end_ns INTEGER);"
	"CREATE TABLE variable(name TEXT, scope TEXT, id INTEGER, ns INTEGER, value INTEGER,"
	" unit TEXT);"
	"CREATE TABLE stack(id INTEGER, depth INTEGER, function TEXT, object TEXT, source TEXT,"
	" line INTEGER, certain INTEGER, PRIMARY KEY(id, depth)) WITHOUT ROWID;";

/* Made last: an index that exists slows down each insertion. */
static const char views[] =
	"CREATE INDEX event_by_name ON event(name, ns);"
	"CREATE INDEX event_by_tid ON event(tid, ns);"
	"CREATE INDEX span_by_kind ON span(kind, tid, begin_ns);"
	"CREATE VIEW event_counts AS SELECT name, count(*) AS events FROM event"
	" GROUP BY name ORDER BY events DESC;"
	"CREATE VIEW thread_states AS SELECT s.tid, t.comm,"
	" sum(CASE state WHEN 'running' THEN s.ns ELSE 0 END) AS running_ns,"
	" sum(CASE state WHEN 'ready' THEN s.ns ELSE 0 END) AS ready_ns,"
	" sum(CASE state WHEN 'sleeping' THEN s.ns ELSE 0 END) AS sleeping_ns,"
	" sum(CASE state WHEN 'blocked' THEN s.ns ELSE 0 END) AS blocked_ns,"
	" sum(CASE state WHEN 'stopped' THEN s.ns ELSE 0 END) AS stopped_ns"
	" FROM span s LEFT JOIN thread t USING(tid) WHERE s.kind = 'thread' GROUP BY s.tid"
	" ORDER BY running_ns DESC;"
	"CREATE VIEW waits AS SELECT name AS reason, count(*) AS waits, sum(ns) AS ns,"
	" max(ns) AS max_ns FROM span WHERE kind = 'thread' AND state IN ('sleeping', 'blocked')"
	" GROUP BY name ORDER BY ns DESC;"
	"CREATE VIEW syscalls AS SELECT name, count(*) AS calls, sum(state = 'failed') AS failed,"
	" sum(ns) AS ns, avg(ns) AS mean_ns, max(ns) AS max_ns FROM span WHERE kind = 'syscall'"
	" GROUP BY name ORDER BY ns DESC;"
	"CREATE VIEW wakeups AS SELECT s.begin_ns AS ns, s.by_tid, w.comm AS by_comm, s.tid, t.comm,"
	" s.ns AS latency_ns FROM span s LEFT JOIN thread t USING(tid)"
	" LEFT JOIN thread w ON w.tid = s.by_tid"
	" WHERE s.kind = 'thread' AND s.state = 'ready' AND s.name <> 'preempted';"
	"CREATE VIEW disk_requests AS SELECT name, count(*) AS requests, sum(ns) AS ns,"
	" avg(ns) AS mean_ns, max(ns) AS max_ns FROM span WHERE kind = 'disk' GROUP BY name"
	" ORDER BY ns DESC;";

/**
 * struct sqlite - state of the format
 * @put: prepared statements
 * @put_fields: of each event's table, by the event's ID; NULL: it has none yet
 * @kstack, @ustack: indices of variables, or -1
 */
struct sqlite {
	sqlite3 *db;
	sqlite3_stmt *put[STATEMENTS];
	sqlite3_stmt *put_fields[KL_EV_IDS];
	struct kl_buffer text;
	uint64_t events;
	int kstack;
	int ustack;
};

static int fail(const struct sqlite *s)
{
	const int code = s->db ? sqlite3_errcode(s->db) & 0xff : SQLITE_NOMEM;

	if (code == SQLITE_NOMEM)
		return -ENOMEM;
	return kl_fail(code == SQLITE_FULL ? ENOSPC : EIO, "%s", sqlite3_errmsg(s->db));
}

static int run(struct sqlite *s, const char *sql)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(s);
}

/* ---------------------------------------------------------------------- rows */

static void set_number(sqlite3_stmt *put, int column, int64_t value)
{
	sqlite3_bind_int64(put, column, value);
}

/* Texts of the trace stay where they are until the statement has run. */
static void set_text(sqlite3_stmt *put, int column, const char *text)
{
	sqlite3_bind_text(put, column, text, -1, SQLITE_STATIC);
}

static int put_row(struct sqlite *s, sqlite3_stmt *put)
{
	const int code = sqlite3_step(put);
	int error = code == SQLITE_DONE ? 0 : fail(s);

	sqlite3_reset(put);
	sqlite3_clear_bindings(put);
	return error;
}

static int put_about(struct sqlite *s, const char *name, const char *text)
{
	set_text(s->put[PUT_TRACE], 1, name);
	set_text(s->put[PUT_TRACE], 2, text);
	return put_row(s, s->put[PUT_TRACE]);
}

static int put_about_number(struct sqlite *s, const char *name, uint64_t number)
{
	set_text(s->put[PUT_TRACE], 1, name);
	set_number(s->put[PUT_TRACE], 2, (int64_t)number);
	return put_row(s, s->put[PUT_TRACE]);
}

static int put_threads(struct kl_export *x)
{
	struct sqlite *s = x->state;
	int error = 0;

	for (size_t i = 0; i < x->scan->n_threads && !error; i++) {
		const struct kl_timeline_thread *thread = x->scan->thread[i];

		set_number(s->put[PUT_THREAD], 1, thread->tid);
		if (thread->pid)
			set_number(s->put[PUT_THREAD], 2, thread->pid);
		set_text(s->put[PUT_THREAD], 3, thread->tid ? kl_export_comm(x, thread) : "idle");
		error = put_row(s, s->put[PUT_THREAD]);
	}
	return error;
}

static int begin_sqlite(struct kl_export *x)
{
	const struct kl_trace_info *info = kl_trace_about(x->trace);
	struct sqlite *s = x->state;
	int error;

	s->kstack = kl_schema_find_variable(x->schema, "kstack");
	s->ustack = kl_schema_find_variable(x->schema, "ustack");
	if (sqlite3_open_v2(x->path, &s->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		return fail(s);
	error = run(s, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN");
	error = error ?: run(s, tables);
	for (unsigned int i = 0; i < STATEMENTS && !error; i++)
		if (sqlite3_prepare_v2(s->db, insert[i], -1, &s->put[i], NULL) != SQLITE_OK)
			error = fail(s);
	error = error ?: put_about(s, "title", x->options->title);
	error = error ?: put_about(s, "hostname", info->hostname);
	error = error ?: put_about(s, "kernel", info->kernel_release);
	error = error ?: put_about(s, "scope", info->scope);
	error = error ?: put_about(s, "version", info->version);
	error = error ?: put_about_number(s, "begin_ns", x->scan->first_ns);
	return error ?: put_threads(x);
}

/* -------------------------------------------------------------------- events */

/* Fields have names that are words; quoted, none is a keyword. */
static int make_table(struct kl_export *x, const struct kl_class *class)
{
	struct sqlite *s = x->state;
	struct kl_buffer sql = { 0 };
	int error;

	kl_buffer_printf(&sql, "CREATE TABLE \"ev_%s\"(event INTEGER PRIMARY KEY", class->name);
	for (unsigned int i = 0; i < class->n_fields; i++)
		kl_buffer_printf(&sql, ", \"%s\" %s", class->fields[i].name,
				 class->fields[i].type >= KL_TYPE_TEXT ||
						 class->fields[i].count > 1 ?
					 "TEXT" :
					 "INTEGER");
	kl_buffer_add(&sql, ")", 2);
	error = sql.error ? -ENOMEM : run(s, sql.data);
	kl_buffer_reset(&sql);
	kl_buffer_printf(&sql, "INSERT INTO \"ev_%s\" VALUES(?", class->name);
	for (unsigned int i = 0; i < class->n_fields; i++)
		kl_buffer_add_string(&sql, ",?");
	kl_buffer_add(&sql, ")", 2);
	if (!error && sql.error)
		error = -ENOMEM;
	if (!error &&
	    sqlite3_prepare_v2(s->db, sql.data, -1, &s->put_fields[class->id], NULL) != SQLITE_OK)
		error = fail(s);
	kl_buffer_deinit(&sql);
	return error;
}

static void set_value(struct sqlite *s, sqlite3_stmt *put, int column, const struct kl_value *value)
{
	if (value->field->type < KL_TYPE_TEXT && value->field->count == 1) {
		set_number(put, column, (int64_t)value->number);
		return;
	}
	kl_buffer_reset(&s->text);
	if (value->field->type >= KL_TYPE_TEXT)
		kl_print_plain(&s->text, value->bytes, value->length);
	else
		kl_print_array(&s->text, value);
	sqlite3_bind_text(put, column, s->text.length ? s->text.data : "", (int)s->text.length,
			  SQLITE_TRANSIENT);
}

static int put_fields(struct kl_export *x, const struct kl_event *event)
{
	const struct kl_class *class = event->event_class;
	struct sqlite *s = x->state;
	sqlite3_stmt *put;
	int error = 0;

	if (!class->n_fields)
		return 0;
	if (!s->put_fields[class->id])
		error = make_table(x, class);
	if (error)
		return error;
	put = s->put_fields[class->id];
	set_number(put, 1, (int64_t)s->events);
	for (unsigned int i = 0; i < class->n_fields; i++) {
		const struct kl_value value = kl_event_value(event, i);

		set_value(s, put, (int)i + 2, &value);
	}
	return put_row(s, put);
}

static void set_stack(sqlite3_stmt *put, int column, const struct kl_event *event, int variable)
{
	const uint64_t id = variable < 0 ? 0 :
					   kl_event_variable(event, (unsigned int)variable).number;

	if (id)
		set_number(put, column, (int64_t)id);
}

static int add_record(struct kl_export *x, const struct kl_event *event)
{
	struct sqlite *s = x->state;
	sqlite3_stmt *put = s->put[PUT_EVENT];
	int error;

	s->events++;
	kl_buffer_reset(&s->text);
	kl_print_plain(&s->text, event->task.comm, strlen(event->task.comm));
	set_number(put, 1, (int64_t)s->events);
	set_number(put, 2, (int64_t)event->ns);
	set_number(put, 3, event->cpu);
	set_number(put, 4, event->task.tid);
	set_number(put, 5, event->task.pid);
	sqlite3_bind_text(put, 6, s->text.length ? s->text.data : "", (int)s->text.length,
			  SQLITE_STATIC);
	set_text(put, 7, event->event_class->name);
	set_stack(put, 8, event, s->kstack);
	set_stack(put, 9, event, s->ustack);
	error = s->text.error ? -ENOMEM : put_row(s, put);
	return error ?: put_fields(x, event);
}

/* --------------------------------------------------------------------- spans */

static int add_span(struct kl_export *x, const struct kl_export_span *span)
{
	const bool instant = span->track->kind == KL_TRACK_EVENT ||
			     span->track->kind == KL_TRACK_MARK;
	struct sqlite *s = x->state;
	sqlite3_stmt *put = s->put[PUT_SPAN];

	/* Instants are events, and losses have a table. */
	if (instant || span->track->kind == KL_TRACK_LOSS)
		return 0;
	set_text(put, 1, kl_track_kind_name(span->track->kind));
	set_number(put, 2, (int64_t)span->track->id);
	set_number(put, 3, (int64_t)span->begin_ns);
	set_number(put, 4, (int64_t)span->end_ns);
	set_number(put, 5, (int64_t)(span->end_ns - span->begin_ns));
	set_text(put, 6, span->name);
	if (span->track->kind == KL_TRACK_THREAD || span->class == KL_SPAN_FAILED)
		set_text(put, 7, kl_export_class_name(span->class));
	else
		set_text(put, 7, "");
	if (span->thread)
		set_number(put, 8, span->thread->tid);
	if (span->by)
		set_number(put, 9, span->by->tid);
	if (span->cpu >= 0)
		set_number(put, 10, span->cpu);
	if (span->event)
		set_number(put, 11, (int64_t)span->event);
	if (span->end_event)
		set_number(put, 12, (int64_t)span->end_event);
	return put_row(s, put);
}

static int add_point(struct kl_export *x, const struct kl_export_point *point)
{
	struct sqlite *s = x->state;
	sqlite3_stmt *put = s->put[PUT_POINT];

	set_text(put, 1, point->variable->name);
	set_text(put, 2, kl_counter_scope_name(point->scope));
	set_number(put, 3, (int64_t)point->id);
	set_number(put, 4, (int64_t)point->ns);
	set_number(put, 5, point->value);
	set_text(put, 6, point->variable->unit);
	return put_row(s, put);
}

static int add_loss(struct kl_export *x, const struct kl_loss *loss)
{
	struct sqlite *s = x->state;
	sqlite3_stmt *put = s->put[PUT_LOSS];

	set_text(put, 1, kl_loss_name(loss->kind));
	if (loss->kind != KL_LOSS_UNSEEN)
		set_number(put, 2, loss->cpu);
	set_number(put, 3, (int64_t)loss->records);
	if (loss->begin_ns)
		set_number(put, 4, (int64_t)loss->begin_ns);
	if (loss->end_ns)
		set_number(put, 5, (int64_t)loss->end_ns);
	return put_row(s, put);
}

/* ----------------------------------------------------------------------- end */

static int put_stacks(struct kl_export *x)
{
	const struct kl_stacks *stacks = kl_schema_stacks(x->schema);
	struct sqlite *s = x->state;
	sqlite3_stmt *put = s->put[PUT_FRAME];
	const struct kl_stack *stack;
	int error = 0;

	for (uint64_t id = 1; (stack = kl_stacks_get(stacks, id)) && !error; id++)
		for (unsigned int i = 0; i < stack->n && !error; i++) {
			const struct kl_frame *frame = &stack->frame[i];

			set_number(put, 1, (int64_t)id);
			set_number(put, 2, i);
			set_text(put, 3, frame->name ? frame->name : frame->symbol);
			set_text(put, 4,
				 frame->object			? frame->object :
				 stack->kind == KL_STACK_KERNEL ? "kernel" :
								  NULL);
			set_text(put, 5, frame->source);
			if (frame->line)
				set_number(put, 6, frame->line);
			set_number(put, 7, !frame->uncertain);
			error = put_row(s, put);
		}
	return error;
}

static int end_sqlite(struct kl_export *x)
{
	struct sqlite *s = x->state;
	int error = put_stacks(x);

	error = error ?: put_about_number(s, "end_ns", x->last_ns);
	error = error ?: run(s, views);
	return error ?: run(s, "COMMIT");
}

static void clean_sqlite(struct kl_export *x)
{
	struct sqlite *s = x->state;

	for (unsigned int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(s->put[i]);
	for (unsigned int i = 0; i < KL_EV_IDS; i++)
		sqlite3_finalize(s->put_fields[i]);
	sqlite3_close(s->db);
	kl_buffer_deinit(&s->text);
}

const struct kl_export_ops kl_export_sqlite = {
	.format = { .name = "sqlite",
		    .extension = "sqlite",
		    .help = "a database: events, fields, spans, threads, stack traces",
		    .needs_file = true },
	.has_spans = true,
	.state_bytes = sizeof(struct sqlite),
	.begin = begin_sqlite,
	.record = add_record,
	.span = add_span,
	.point = add_point,
	.loss = add_loss,
	.end = end_sqlite,
	.clean = clean_sqlite,
};
