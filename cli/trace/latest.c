// SPDX-License-Identifier: GPL-2.0
/* The trace that is meant if none is named. */
#include <glob.h>
#include <string.h>

#include "../base/common.h"
#include "latest.h"

/* As lib/record/folder.c writes them, with a number at the end if two began in one second. */
#define TRACES "kernlens-[0-9]*-[0-9]*/metadata"

char *cli_latest_trace(void)
{
	char *path = NULL;
	glob_t found;

	/* Sorted by name, and so by time. */
	if (!glob(TRACES, 0, NULL, &found)) {
		const char *last = found.gl_pathv[found.gl_pathc - 1];

		path = cli_format("%.*s", (int)(strrchr(last, '/') - last), last);
		cli_note("the newest trace here is %s", path);
	}
	globfree(&found);
	return path;
}
