/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Names in subjects and of files. What comes from another machine is compared with these before it
 * is used as part of a path or printed.
 */
#ifndef FLEET_NAMES_H
#define FLEET_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define FLEET_HOST_MAX 64 /* with its NUL */
#define FLEET_CAPTURE_MAX 40
#define FLEET_RUN_MAX 17
#define FLEET_FILE_MAX 32
#define FLEET_REASON_MAX 256

/* A token of subjects: letters, digits, "-" and "_". */
bool fleet_is_token(const char *text, size_t most);

/* The files of a trace directory other than streams. */
extern const char *const fleet_files[];
extern const size_t fleet_n_files;

/* A file of a trace directory: metadata, cpuN, and those in its folder .kernlens. */
bool fleet_is_file(const char *name);

/* Is it a file of packets? */
bool fleet_is_stream(const char *name);

/* Does one of the patterns, separated by commas, match a host? */
bool fleet_matches(const char *patterns, const char *host);

/* Copy a text for people: control characters become "?", and what does not fit is left out. */
void fleet_clean(char *to, size_t bytes, const char *from);

#endif /* FLEET_NAMES_H */
