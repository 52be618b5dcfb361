/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Masksets as text files that people write and share: a line a place and what
 * happens there, in the words of -e, with comments behind #. They lie in the
 * system's folder and in the user's own, whose files win.
 */
#ifndef KERNLENS_MASKSET_H
#define KERNLENS_MASKSET_H

#include <stdbool.h>
#include <stddef.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

#define KL_MASKSET_BYTES_MAX (1u << 20) /* of a file */
#define KL_MASKSET_SYSTEM_FOLDER "/etc/kernlens/masksets"

struct kl_maskset;

/**
 * struct kl_maskset_line - a line that says something
 * @text: without its comment
 * @number: in the file, from 1
 */
struct kl_maskset_line {
	const char *text;
	unsigned int number;
};

/**
 * kl_maskset_check_name - can a user's maskset be called so?
 * @name: any
 *
 * A letter, then letters, digits and _ . -, at most KL_NAME_MAX - 1 bytes, none
 * of the built-in masksets and not `events'. Returns -EINVAL with an error text.
 */
int kl_maskset_check_name(const char *name);

/**
 * kl_maskset_parse - take a text apart
 * @name: of the maskset
 * @origin: what errors say in front of line and column, such as its file
 * @text: any bytes
 * @length: of them
 *
 * Looks at the grammar only; what names and expressions mean is found out by
 * kl_plan_compile(). Returns NULL with errno and an error text that begins
 * "ORIGIN:LINE:COLUMN: ".
 */
struct kl_maskset *kl_maskset_parse(const char *name, const char *origin, const char *text,
				    size_t length);

/**
 * kl_maskset_read - read a file
 * @name: of the maskset
 * @path: of the file; NULL: standard input
 *
 * Returns NULL with errno.
 */
struct kl_maskset *kl_maskset_read(const char *name, const char *path);

/**
 * kl_maskset_load - find a maskset by name and read it
 * @name: looked for in the user's folder, then in the system's
 *
 * Returns NULL with errno ENOENT if there is none, or another.
 */
struct kl_maskset *kl_maskset_load(const char *name);

/**
 * kl_maskset_destroy - free
 * @maskset: or NULL
 */
void kl_maskset_destroy(struct kl_maskset *maskset);

/**
 * kl_maskset_name - its name
 * @maskset: maskset
 */
const char *kl_maskset_name(const struct kl_maskset *maskset);

/**
 * kl_maskset_origin - where it came from, as errors say it
 * @maskset: maskset
 */
const char *kl_maskset_origin(const struct kl_maskset *maskset);

/**
 * kl_maskset_text - all of it, with comments
 * @maskset: maskset
 * @length: set to its bytes; may be NULL
 */
const char *kl_maskset_text(const struct kl_maskset *maskset, size_t *length);

/**
 * kl_maskset_help - its first comment, or an empty string
 * @maskset: maskset
 */
const char *kl_maskset_help(const struct kl_maskset *maskset);

/**
 * kl_maskset_line - a line that says something
 * @maskset: maskset
 * @index: from 0
 *
 * Returns NULL after the last.
 */
const struct kl_maskset_line *kl_maskset_line(const struct kl_maskset *maskset, size_t index);

/**
 * kl_maskset_folder - where files of masksets are
 * @system: the system's, else the user's own
 *
 * The user's is $XDG_CONFIG_HOME/kernlens/masksets, or below ~/.config. Returns a
 * path to free, or NULL with errno (ENOENT: the user has no home).
 */
char *kl_maskset_folder(bool system);

/**
 * kl_maskset_path - where a maskset's file is or would be
 * @name: that kl_maskset_check_name() allows
 * @system: in the system's folder, else in the user's
 *
 * Returns a path to free, or NULL with errno.
 */
char *kl_maskset_path(const char *name, bool system);

/**
 * kl_maskset_save - write a maskset's file
 * @maskset: maskset
 * @system: into the system's folder, else into the user's, which are made
 * @replace: a file that is there may go
 *
 * Whole or not at all. Returns -EEXIST, or what the system said.
 */
int kl_maskset_save(const struct kl_maskset *maskset, bool system, bool replace);

/**
 * kl_maskset_remove - delete a maskset's file
 * @name: of the maskset
 * @system: in the system's folder, else in the user's
 *
 * Returns -ENOENT if there is none.
 */
int kl_maskset_remove(const char *name, bool system);

KL_PUBLIC_END

#endif /* KERNLENS_MASKSET_H */
