// SPDX-License-Identifier: GPL-2.0
/*
 * The database of a history: one table of summaries, by level, start time, subject and figure.
 * Minutes are added at all levels in one transaction. Fed by the sampler; read by kernlens history
 * and by any user of sqlite3.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <kernlens/error.h>

#include "../base/base.h"
#include "../base/names.h"
#include "history.h"

#define BUSY_MS 10000
#define PAGE_BYTES 4096
#define LOG_BYTES_MAX (4 << 20)

/* When this much is used, the oldest entries of a level are deleted. */
#define FULL_PERCENT 90

/* If an hour, a day or a month has more subjects, only the first of each list are kept. */
#define SUBJECTS_MAX (8 * KL_HISTORY_TOP)

enum statement {
	FIND_SUBJECT,
	ADD_SUBJECT,
	ADD,
	COUNT_SUBJECTS,
	CUT_SUBJECTS,
	FORGET,
	OLDEST,
	FORGET_SUBJECTS,
	READ_MACHINE,
	READ_GROUPS,
	STATEMENTS,
};

static const char *const texts[] = {
	[FIND_SUBJECT] = "SELECT id FROM subject WHERE comm = ?1 AND uid = ?2",
	[ADD_SUBJECT] = "INSERT INTO subject(comm, uid) VALUES(?1, ?2)",
	[ADD] = "INSERT INTO summary VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) "
		"ON CONFLICT DO UPDATE SET samples = samples + excluded.samples, "
		"seconds = seconds + excluded.seconds, low = min(low, excluded.low), "
		"high = max(high, excluded.high), sum = sum + excluded.sum",
	[COUNT_SUBJECTS] =
		"SELECT count(DISTINCT subject) FROM summary WHERE level = ?1 AND begin = ?2",
#define FIRST(figure)                                                                       \
	"SELECT subject FROM (SELECT subject FROM summary WHERE level = ?1 AND begin = ?2 " \
	"AND figure = " figure " AND subject > 0 ORDER BY sum DESC LIMIT ?3)"
	[CUT_SUBJECTS] = "DELETE FROM summary WHERE level = ?1 AND begin = ?2 AND subject > 0 "
			 "AND subject NOT IN (" FIRST("?4") " UNION " FIRST("?5") " UNION " FIRST(
				 "?6") " UNION " FIRST("?7") ")",
	[FORGET] = "DELETE FROM summary WHERE level = ?1 AND begin < ?2",
	[OLDEST] = "SELECT min(begin), max(begin) FROM summary WHERE level = ?1",
	[FORGET_SUBJECTS] = "DELETE FROM subject WHERE id > 0 AND id NOT IN "
			    "(SELECT subject FROM summary)",
#define COLUMNS "begin, subject, figure, samples, seconds, low, high, sum"
	[READ_MACHINE] = "SELECT " COLUMNS ", NULL, 0 FROM summary WHERE level = ?1 AND "
			 "begin >= ?2 AND begin <= ?3 AND subject = 0 ORDER BY begin, figure",
	[READ_GROUPS] = "SELECT " COLUMNS ", comm, uid FROM summary JOIN subject ON id = subject "
			"WHERE level = ?1 AND begin >= ?2 AND begin <= ?3 AND subject > 0 AND "
			"comm GLOB ?4 ORDER BY begin, comm, uid, figure",
};

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS subject(id INTEGER PRIMARY KEY, comm TEXT NOT NULL, "
	"uid INTEGER NOT NULL, UNIQUE(comm, uid));"
	"CREATE TABLE IF NOT EXISTS figure(id INTEGER PRIMARY KEY, name TEXT, unit TEXT, "
	"grows INTEGER);"
	"CREATE TABLE IF NOT EXISTS summary(level INTEGER, begin INTEGER, subject INTEGER, "
	"figure INTEGER, samples INTEGER, seconds REAL, low REAL, high REAL, sum REAL, "
	"PRIMARY KEY(level, begin, subject, figure)) WITHOUT ROWID;"
	"INSERT OR IGNORE INTO subject VALUES(0, '', 0);";

struct kl_history {
	sqlite3 *db;
	sqlite3_stmt *statement[STATEMENTS];
	unsigned int unit;
	uint64_t pages_max;
	int64_t hour; /* the last one whose subjects were cut */
};

static const struct kl_history_figure figures[] = {
#define KL_HISTORY_FIGURE(name, unit, is_group, grows, scale, source, help) \
	{ #name, unit, is_group, grows, help },
#include "history.def"
#undef KL_HISTORY_FIGURE
};

const struct kl_history_figure *kl_history_figure(unsigned int index)
{
	return index < KL_HISTORY_FIGURE_COUNT ? &figures[index] : NULL;
}

int kl_history_find(const char *name, bool is_group)
{
	struct kl_near near;

	kl_near_init(&near, name, strlen(name));
	for (int i = 0; i < KL_HISTORY_FIGURE_COUNT; i++) {
		if (figures[i].is_group != is_group)
			continue;
		if (!strcmp(figures[i].name, name))
			return i;
		kl_near_offer(&near, figures[i].name);
	}
	if (near.best)
		return kl_fail(EINVAL, "no history of \"%s\"; did you mean \"%s\"?", name,
			       near.best);
	return kl_fail(EINVAL, "no history of \"%s\" for %s", name,
		       is_group ? "processes" : "the system");
}

/* --------------------------------------------------------------- the file */

static int fail_database(const struct kl_history *h, const char *what)
{
	int code = h->db ? sqlite3_errcode(h->db) & 0xff : SQLITE_NOMEM;
	int error = code == SQLITE_FULL	    ? ENOSPC :
		    code == SQLITE_BUSY	    ? EBUSY :
		    code == SQLITE_CANTOPEN ? ENOENT :
		    code == SQLITE_NOMEM    ? ENOMEM :
		    code == SQLITE_READONLY ? EACCES :
					      EIO;

	return kl_fail(error, "%s: %s", what, h->db ? sqlite3_errmsg(h->db) : "out of memory");
}

static int execute(struct kl_history *h, const char *sql)
{
	return sqlite3_exec(h->db, sql, NULL, NULL, NULL) == SQLITE_OK ?
		       0 :
		       fail_database(h, "history");
}

/*
 * An untrusted database could run arbitrary SQL or never finish: accept nothing but tables, and
 * disable triggers, views and functions of its own.
 */
static int check_tables(struct kl_history *h, const char *path)
{
	static const char text[] = "SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', "
				   "'index') OR sql LIKE 'CREATE VIRTUAL%'";
	sqlite3_stmt *s;
	int64_t others = -1;

	sqlite3_db_config(h->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(h->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(h->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(h->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	if (sqlite3_prepare_v2(h->db, text, -1, &s, NULL) != SQLITE_OK)
		return fail_database(h, path);
	if (sqlite3_step(s) == SQLITE_ROW)
		others = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	if (others < 0)
		return fail_database(h, path);
	return others ?
		       kl_fail(EINVAL, "%s is not a history database: it contains more than tables",
			       path) :
		       0;
}

static int set_up(struct kl_history *h, uint64_t bytes_max)
{
	char sql[256];
	int error;

	h->pages_max = bytes_max / PAGE_BYTES;
	snprintf(sql, sizeof(sql),
		 "PRAGMA page_size = %d; PRAGMA auto_vacuum = INCREMENTAL; "
		 "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; "
		 "PRAGMA journal_size_limit = %d; PRAGMA max_page_count = %llu;",
		 PAGE_BYTES, LOG_BYTES_MAX, (unsigned long long)h->pages_max);
	error = execute(h, sql);
	if (!error)
		error = execute(h, schema);
	for (unsigned int i = 0; i < KL_HISTORY_FIGURE_COUNT && !error; i++) {
		snprintf(sql, sizeof(sql),
			 "INSERT OR REPLACE INTO figure VALUES(%u, '%s', '%s', %d);", i,
			 figures[i].name, figures[i].unit, figures[i].grows);
		error = execute(h, sql);
	}
	return error;
}

/* Only the owner may read it: it reveals all users' processes. */
static int make_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return kl_fail_system(errno, "%s", path);
	close(fd);
	return 0;
}

static int open_database(struct kl_history *h, const char *path, uint64_t bytes_max)
{
	int flags = bytes_max ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY, error = 0;

	if (bytes_max)
		error = make_file(path);
	if (error)
		return error;
	if (sqlite3_open_v2(path, &h->db, flags, NULL) != SQLITE_OK)
		return fail_database(h, path);
	sqlite3_busy_timeout(h->db, BUSY_MS);
	error = check_tables(h, path);
	return !error && bytes_max ? set_up(h, bytes_max) : error;
}

struct kl_history *kl_history_open(const char *path, uint64_t bytes_max)
{
	struct kl_history *h = calloc(1, sizeof(*h));

	if (!h) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	if (open_database(h, path, bytes_max)) {
		int error = errno;

		kl_history_close(h);
		errno = error;
		return NULL;
	}
	return h;
}

void kl_history_close(struct kl_history *h)
{
	if (!h)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(h->statement[i]);
	sqlite3_close(h->db);
	free(h);
}

void kl_history_set_unit(struct kl_history *h, unsigned int seconds)
{
	h->unit = seconds;
}

int64_t kl_history_begin(const struct kl_history *h, enum kl_history_level level, int64_t time)
{
	static const int64_t lengths[] = { 1, 60, 1440, 43200 };
	time_t now = (time_t)time;
	struct tm tm;

	if (h->unit)
		return time - time % (lengths[level] * h->unit);
	localtime_r(&now, &tm);
	if (level == KL_HISTORY_MINUTE)
		return time - tm.tm_sec;
	if (level == KL_HISTORY_HOUR)
		return time - tm.tm_sec - 60 * tm.tm_min;
	tm.tm_sec = 0;
	tm.tm_min = 0;
	tm.tm_hour = 0;
	if (level == KL_HISTORY_MONTH)
		tm.tm_mday = 1;
	tm.tm_isdst = -1;
	return mktime(&tm);
}

/* ----------------------------------------------------------------- writing */

/* A statement ready to be bound. NULL with an error text. */
static sqlite3_stmt *prepare(struct kl_history *h, enum statement which)
{
	sqlite3_stmt **statement = &h->statement[which];

	if (!*statement && sqlite3_prepare_v3(h->db, texts[which], -1, SQLITE_PREPARE_PERSISTENT,
					      statement, NULL) != SQLITE_OK) {
		fail_database(h, "history");
		return NULL;
	}
	sqlite3_reset(*statement);
	return *statement;
}

/* Run a statement that returns one number. Negative: none, or an error. */
static int64_t step_number(struct kl_history *h, sqlite3_stmt *s, int column)
{
	int64_t number = -1;
	int code = sqlite3_step(s);

	if (code == SQLITE_ROW && sqlite3_column_type(s, column) != SQLITE_NULL)
		number = sqlite3_column_int64(s, column);
	else if (code != SQLITE_ROW && code != SQLITE_DONE)
		number = fail_database(h, "history");
	sqlite3_reset(s);
	return number;
}

static int step_done(struct kl_history *h, sqlite3_stmt *s)
{
	int error = sqlite3_step(s) == SQLITE_DONE ? 0 : fail_database(h, "history");

	sqlite3_reset(s);
	return error;
}

static int64_t find_subject(struct kl_history *h, const char *comm, uint32_t uid)
{
	sqlite3_stmt *s = prepare(h, FIND_SUBJECT);
	int64_t id;

	if (!comm)
		return 0;
	if (!s)
		return -EIO;
	sqlite3_bind_text(s, 1, comm, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, uid);
	id = step_number(h, s, 0);
	if (id >= 0)
		return id;
	s = prepare(h, ADD_SUBJECT);
	if (!s)
		return -EIO;
	sqlite3_bind_text(s, 1, comm, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, uid);
	return step_done(h, s) ? -EIO : sqlite3_last_insert_rowid(h->db);
}

int kl_history_write_begin(struct kl_history *h)
{
	return execute(h, "BEGIN IMMEDIATE");
}

int kl_history_write(struct kl_history *h, int64_t minute, const char *comm, uint32_t uid,
		     unsigned int figure, const struct kl_history_sum *sum)
{
	int64_t subject = find_subject(h, comm, uid);
	int error = subject < 0 ? (int)subject : 0;

	for (int level = 0; level < KL_HISTORY_LEVELS && !error; level++) {
		sqlite3_stmt *s = prepare(h, ADD);

		if (!s)
			return -EIO;
		sqlite3_bind_int(s, 1, level);
		sqlite3_bind_int64(s, 2, kl_history_begin(h, level, minute));
		sqlite3_bind_int64(s, 3, subject);
		sqlite3_bind_int(s, 4, (int)figure);
		sqlite3_bind_int64(s, 5, (int64_t)sum->samples);
		sqlite3_bind_double(s, 6, sum->seconds);
		sqlite3_bind_double(s, 7, sum->low);
		sqlite3_bind_double(s, 8, sum->high);
		sqlite3_bind_double(s, 9, sum->sum);
		error = step_done(h, s);
	}
	return error;
}

static int64_t ask_level(struct kl_history *h, enum statement which, int level, int64_t begin,
			 int column)
{
	sqlite3_stmt *s = prepare(h, which);

	if (!s)
		return -EIO;
	sqlite3_bind_int(s, 1, level);
	if (which != OLDEST)
		sqlite3_bind_int64(s, 2, begin);
	return step_number(h, s, column);
}

static int forget(struct kl_history *h, int level, int64_t before)
{
	sqlite3_stmt *s = prepare(h, FORGET);

	if (!s)
		return -EIO;
	sqlite3_bind_int(s, 1, level);
	sqlite3_bind_int64(s, 2, before);
	return step_done(h, s);
}

/* Delete groups that were recorded for some minute but are not among the period's first. */
static int cut_subjects(struct kl_history *h, int level, int64_t begin)
{
	sqlite3_stmt *s;

	if (ask_level(h, COUNT_SUBJECTS, level, begin, 0) <= SUBJECTS_MAX)
		return 0;
	s = prepare(h, CUT_SUBJECTS);
	if (!s)
		return -EIO;
	sqlite3_bind_int(s, 1, level);
	sqlite3_bind_int64(s, 2, begin);
	sqlite3_bind_int(s, 3, KL_HISTORY_TOP);
	sqlite3_bind_int(s, 4, KL_HISTORY_cpu_time);
	sqlite3_bind_int(s, 5, KL_HISTORY_rss);
	sqlite3_bind_int(s, 6, KL_HISTORY_io_bytes);
	sqlite3_bind_int(s, 7, KL_HISTORY_maj_faults);
	return step_done(h, s);
}

static int64_t pragma_number(struct kl_history *h, const char *sql)
{
	sqlite3_stmt *s;
	int64_t number = -EIO;

	if (sqlite3_prepare_v2(h->db, sql, -1, &s, NULL) != SQLITE_OK)
		return fail_database(h, "history");
	if (sqlite3_step(s) == SQLITE_ROW)
		number = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return number;
}

/* Before the database is full, delete the oldest tenth of a level: minutes first, months last. */
static int make_room(struct kl_history *h)
{
	for (int level = 0; level < KL_HISTORY_LEVELS; level++) {
		for (int tries = 0; tries < 10; tries++) {
			uint64_t used = (uint64_t)(pragma_number(h, "PRAGMA page_count") -
						   pragma_number(h, "PRAGMA freelist_count"));
			int64_t first = ask_level(h, OLDEST, level, 0, 0);
			int64_t last = ask_level(h, OLDEST, level, 0, 1);
			int error;

			if (used * 100 < h->pages_max * FULL_PERCENT)
				return 0;
			if (first < 0 || first == last)
				break;
			error = forget(h, level, first + (last - first + 9) / 10);
			if (error)
				return error;
		}
	}
	return 0;
}

/* How long each level is kept, in minutes. */
static const int64_t kept[] = { 1440, 31 * 1440, 731 * 1440, 1200 * 43830ll };

static int forget_old(struct kl_history *h, int64_t minute)
{
	int64_t hour = kl_history_begin(h, KL_HISTORY_HOUR, minute);
	int error = make_room(h);

	for (int level = 0; level < KL_HISTORY_LEVELS && !error; level++) {
		error = forget(h, level, minute - kept[level] * (h->unit ? h->unit : 60));
		if (!error && level)
			error = cut_subjects(h, level, kl_history_begin(h, level, minute));
	}
	if (!error && hour != h->hour) {
		sqlite3_stmt *s = prepare(h, FORGET_SUBJECTS);

		error = s ? step_done(h, s) : -EIO;
		h->hour = hour;
	}
	return error;
}

/*
 * Roll back after a failure, preserving the error text. If the disk or database was full, make room
 * for the next time.
 */
static void undo(struct kl_history *h, int error)
{
	char *said = strdup(kl_error_text());

	sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL);
	if (error == -ENOSPC && !kl_history_write_begin(h))
		sqlite3_exec(h->db, make_room(h) ? "ROLLBACK" : "COMMIT", NULL, NULL, NULL);
	kl_fail(-error, "%s", said ? said : "out of memory");
	free(said);
}

int kl_history_write_end(struct kl_history *h, int64_t minute, int error)
{
	if (!error)
		error = forget_old(h, minute);
	if (!error)
		error = execute(h, "COMMIT");
	if (error)
		undo(h, error);
	else
		/* The data is committed, whether or not free pages can be released now. */
		sqlite3_exec(h->db, "PRAGMA incremental_vacuum", NULL, NULL, NULL);
	return error;
}

/* ----------------------------------------------------------------- reading */

static void fill_row(sqlite3_stmt *s, struct kl_history_row *row)
{
	row->begin = sqlite3_column_int64(s, 0);
	row->figure = (unsigned int)sqlite3_column_int(s, 2);
	row->samples = (uint64_t)sqlite3_column_int64(s, 3);
	row->seconds = sqlite3_column_double(s, 4);
	row->min = sqlite3_column_double(s, 5);
	row->max = sqlite3_column_double(s, 6);
	row->sum = sqlite3_column_double(s, 7);
	row->mean = row->seconds > 0 ? row->sum / row->seconds : 0;
	row->comm = (const char *)sqlite3_column_text(s, 8);
	row->uid = (uint32_t)sqlite3_column_int64(s, 9);
}

int kl_history_read(struct kl_history *h, const struct kl_history_query *query,
		    int (*take)(void *data, const struct kl_history_row *row), void *data)
{
	sqlite3_stmt *s = prepare(h, query->comm ? READ_GROUPS : READ_MACHINE);
	int code, ret = 0;

	if (!s)
		return -errno;
	sqlite3_bind_int(s, 1, query->level);
	sqlite3_bind_int64(s, 2, query->since);
	sqlite3_bind_int64(s, 3, query->until);
	if (query->comm)
		sqlite3_bind_text(s, 4, query->comm, -1, SQLITE_STATIC);
	while ((code = sqlite3_step(s)) == SQLITE_ROW && !ret) {
		struct kl_history_row row;

		fill_row(s, &row);
		if (row.figure >= KL_HISTORY_FIGURE_COUNT)
			continue;
		if (!figures[row.figure].grows)
			row.sum = 0;
		ret = take(data, &row);
	}
	if (!ret && code != SQLITE_DONE)
		ret = fail_database(h, "history");
	sqlite3_reset(s);
	return ret;
}
