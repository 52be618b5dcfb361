// SPDX-License-Identifier: GPL-2.0
/* A history's database (monitor/history.c), read, and written to as the service does. */
#include <unistd.h>

#include "../../lib/monitor/history.h"
#include "shared.h"

static int take(void *data, const struct kl_history_row *row)
{
	fuzz_assert(kl_history_figure(row->figure));
	if (row->comm)
		fuzz_assert(strlen(row->comm) < 1u << 24);
	return ++*(int *)data > 1000;
}

/* SQLite keeps files next to an open database; a damaged one leaves them behind. */
static void remove_files(const char *path)
{
	static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
	char other[96];

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		snprintf(other, sizeof(other), "%s%s", path, ends[i]);
		unlink(other);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kl_history_query query = { .until = INT64_MAX };
	const struct kl_history_sum sum = { .samples = 1, .seconds = 60, .sum = 5 };
	struct kl_history *h;
	char path[64] = "/dev/shm/kernlens-fuzz.XXXXXX";
	int fd = mkstemp(path), rows = 0, error;

	fuzz_assert(fd >= 0 && (!size || write(fd, data, size) == (ssize_t)size));

	h = kl_history_open(path, 0);
	for (int level = 0; h && level < KL_HISTORY_LEVELS; level++) {
		query.level = (enum kl_history_level)level;
		query.comm = NULL;
		if (kl_history_read(h, &query, take, &rows) < 0)
			fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
		query.comm = "*";
		kl_history_read(h, &query, take, &rows);
	}
	kl_history_close(h);
	h = kl_history_open(path, KL_HISTORY_BYTES_MIN);
	if (h && !kl_history_write_begin(h)) {
		error = kl_history_write(h, 1700000040, "sh", 1000, 0, &sum);
		kl_history_write_end(h, 1700000040, error);
	}
	kl_history_close(h);
	close(fd);
	remove_files(path);
	return 0;
}
