/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Masksets as text files that users write and share. Each line has a probe point and what happens
 * there, as in option -e; # begins a comment. The files are in the system's folder and in the
 * user's own, which takes precedence.
 */
#ifndef KERNLENS_MASKSET_H
#define KERNLENS_MASKSET_H

#include <stdbool.h>
#include <stddef.h>

#define KL_MASKSET_BYTES_MAX (1u << 20) /* size of a file */
#define KL_MASKSET_SYSTEM_FOLDER "/etc/kernlens/masksets"

struct kl_maskset;

/**
 * struct kl_maskset_line - a line that is not empty
 * @text: without its comment
 * @number: line number in the file, from 1
 */
struct kl_maskset_line {
	const char *text;
	unsigned int number;
};

/**
 * kl_maskset_check_name - is this a valid name for a user's maskset?
 * @name: any
 *
 * Valid names begin with a letter, continue with letters, digits and _ . -, have at most
 * KL_NAME_MAX - 1 bytes, and are neither that of a built-in maskset nor "events". Returns 0, or
 * -EINVAL with an error text.
 */
int kl_maskset_check_name(const char *name);

/**
 * kl_maskset_parse - parse the text of a maskset
 * @name: of the maskset
 * @origin: what error texts show before line and column, such as the file's path
 * @text: any bytes
 * @length: size of @text
 *
 * Checks only the syntax; names and expressions are checked by kl_plan_compile(). Returns NULL
 * with errno and an error text that begins with "ORIGIN:LINE:COLUMN: ".
 */
struct kl_maskset *kl_maskset_parse(const char *name, const char *origin, const char *text,
				    size_t length);

/**
 * kl_maskset_read - read a maskset from a file
 * @name: of the maskset
 * @path: of the file; NULL: standard input
 *
 * Returns NULL with errno.
 */
struct kl_maskset *kl_maskset_read(const char *name, const char *path);

/**
 * kl_maskset_load - find a maskset by name and read it
 * @name: searched in the user's folder, then in the system's
 *
 * Returns NULL with errno: ENOENT if there is none, or another.
 */
struct kl_maskset *kl_maskset_load(const char *name);

/**
 * kl_maskset_destroy - free a maskset
 * @maskset: or NULL
 */
void kl_maskset_destroy(struct kl_maskset *maskset);

/**
 * kl_maskset_name - name of a maskset
 * @maskset: maskset
 */
const char *kl_maskset_name(const struct kl_maskset *maskset);

/**
 * kl_maskset_origin - where a maskset comes from, as shown in error texts
 * @maskset: maskset
 */
const char *kl_maskset_origin(const struct kl_maskset *maskset);

/**
 * kl_maskset_text - the complete text, including comments
 * @maskset: maskset
 * @length: out: its size in bytes; or NULL
 */
const char *kl_maskset_text(const struct kl_maskset *maskset, size_t *length);

/**
 * kl_maskset_help - the first comment, or an empty string
 * @maskset: maskset
 */
const char *kl_maskset_help(const struct kl_maskset *maskset);

/**
 * kl_maskset_line - a line that is not empty
 * @maskset: maskset
 * @index: from 0
 *
 * Returns NULL after the last.
 */
const struct kl_maskset_line *kl_maskset_line(const struct kl_maskset *maskset, size_t index);

/**
 * kl_maskset_folder - path of the folder with maskset files
 * @system: the system's folder, else the user's own
 *
 * The user's folder is $XDG_CONFIG_HOME/kernlens/masksets, or the same under ~/.config. Returns a
 * path that the caller frees, or NULL with errno (ENOENT: the user has no home directory).
 */
char *kl_maskset_folder(bool system);

/**
 * kl_maskset_path - path of a maskset's file, whether or not it exists
 * @name: accepted by kl_maskset_check_name()
 * @system: in the system's folder, else in the user's own
 *
 * Returns a path that the caller frees, or NULL with errno.
 */
char *kl_maskset_path(const char *name, bool system);

/**
 * kl_maskset_save - write a maskset's file
 * @maskset: maskset
 * @system: into the system's folder, else into the user's own; created if missing
 * @replace: an existing file may be replaced
 *
 * Writes the file completely or not at all. Returns 0, -EEXIST, or another negative errno with an
 * error text.
 */
int kl_maskset_save(const struct kl_maskset *maskset, bool system, bool replace);

/**
 * kl_maskset_remove - delete a maskset's file
 * @name: of the maskset
 * @system: in the system's folder, else in the user's own
 *
 * Returns 0, -ENOENT if there is none, or another negative errno.
 */
int kl_maskset_remove(const char *name, bool system);

#endif /* KERNLENS_MASKSET_H */
