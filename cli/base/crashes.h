/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Crashes of which traces were saved: a folder for each, with the traces and the document
 * crash.json, which says when and why the machine stopped. Only root may read them. The folders'
 * names are times, and sort by them.
 */
#ifndef KL_CLI_BASE_CRASHES_H
#define KL_CLI_BASE_CRASHES_H

#include <jansson.h>
#include <stdbool.h>

#define CLI_CRASHES_FOLDER "/var/lib/kernlens/crashes"
#define CLI_CRASHES_DOCUMENT "crash.json"
#define CLI_KEPT_FILE "/proc/kernlens/kept"

/*
 * Open the reserved memory of this machine. Returns a descriptor, or -1 with errno: ENOENT (there
 * is none), EACCES, EPERM, ENODATA (it has nothing of an earlier boot).
 */
int cli_kept_open(int flags);

/* Is there something of an earlier boot that the caller may read? */
bool cli_kept_exists(void);

/**
 * cli_crashes_load - read the documents of saved crashes
 * @unseen: only of those that cli_crashes_set_seen() has not noted
 *
 * Returns an array, the newest first: empty if the folder cannot be read. Each document has two
 * more members: "folder", its path, and "seen".
 */
json_t *cli_crashes_load(bool unseen);

/* Print when and why the machine crashed, and which traces there are. */
void cli_crashes_print(const json_t *crashes);

/* Print a hint if the reserved memory has traces of an earlier boot, and the caller may use it. */
void cli_kept_print(void);

/* Note that all have been seen. Returns the exit status. */
int cli_crashes_set_seen(void);

/* Remove the oldest crashes, and keep @keep. */
void cli_crashes_remove_old(size_t keep);

/* Remove the folder of a crash and the traces in it, but no file of others. */
void cli_crashes_remove(const char *folder);

#endif /* KL_CLI_BASE_CRASHES_H */
