// SPDX-License-Identifier: GPL-2.0
/* Which files a session's unwind tables are loaded for before it starts. */
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/common.h"
#include "select.h"

#define ALL_NS 1000000000ull /* time limit for the files of all processes */

/* The file that the command will execute, as execvp() finds it. */
static const char *find_program(const char *name, char path[PATH_MAX])
{
	const char *folders = getenv("PATH");

	if (strchr(name, '/'))
		return name;
	while (folders && *folders) {
		int bytes = (int)strcspn(folders, ":");

		if (snprintf(path, PATH_MAX, "%.*s/%s", bytes, folders, name) < PATH_MAX &&
		    !access(path, X_OK))
			return path;
		folders += bytes + (folders[bytes] == ':');
	}
	return NULL;
}

static void load_all(struct kl_record_names *names)
{
	uint64_t end = cli_now_ns() + ALL_NS;
	DIR *folder = opendir("/proc");
	const struct dirent *entry;

	while (folder && (entry = readdir(folder)) && cli_now_ns() < end)
		if (isdigit((unsigned char)entry->d_name[0]))
			kl_record_names_prepare(names, atoi(entry->d_name), NULL);
	if (folder)
		closedir(folder);
}

void cli_session_load_unwind_tables(struct cli_session *s)
{
	struct kl_record_names *names = cli_session_names(s);
	const struct cli_select *select = &s->select;
	char path[PATH_MAX];

	s->unwinds = kl_record_names_takes_stacks(names);
	if (!s->unwinds)
		return;
	/* Every program has the dynamic linker and the C library, which this one has, too. */
	kl_record_names_prepare(names, getpid(),
				select->words ? find_program(select->words[0], path) : NULL);
	for (unsigned int i = 0; i < select->n_pids; i++)
		kl_record_names_prepare(names, select->pid[i], NULL);
	if (select->all || select->user)
		load_all(names);
}

bool cli_session_update(struct cli_session *s)
{
	return s->unwinds && kl_record_names_update(s->names);
}
