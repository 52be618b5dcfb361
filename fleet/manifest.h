/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The head of a capture: who froze it, when and why, and the files of its trace. It is written to
 * the spool before anything is sent, sent first, and read by those who fetch the capture, who trust
 * nothing in it.
 */
#ifndef FLEET_MANIFEST_H
#define FLEET_MANIFEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names.h"

#define FLEET_VERSION 1
#define FLEET_PIECE_MAX (512u << 10) /* bytes of a message; a server accepts 1 MiB by default */
#define FLEET_FILES_MAX 4200 /* KL_CPUS_MAX streams and the others */
#define FLEET_PIECES_MAX (1u << 22)
#define FLEET_HEAD_MAX FLEET_PIECE_MAX

/**
 * struct fleet_file - a file of a trace
 * @bytes: its size
 * @pieces: number of messages that it is sent in
 * @crc: of the whole file, CRC-32 of zlib
 */
struct fleet_file {
	char name[FLEET_FILE_MAX];
	uint64_t bytes;
	uint32_t pieces;
	uint32_t crc;
};

/**
 * struct fleet_manifest - a head
 * @run: the time when its trace was begun: messages of another capture of the same name do not
 *       belong to it
 * @about: what the recorder says of it; owned
 * @files: of them, @n
 */
struct fleet_manifest {
	char host[FLEET_HOST_MAX];
	char boot[FLEET_CAPTURE_MAX];
	char capture[FLEET_CAPTURE_MAX];
	char run[FLEET_RUN_MAX];
	json_t *about;
	struct fleet_file *files;
	size_t n;
};

/**
 * fleet_manifest_parse - read a head
 * @manifest: filled in; to be released also after a failure
 * @text: its bytes, not terminated
 * @length: size of @text
 * @why: out: what is wrong
 *
 * Names are valid and occur once, and numbers are within the limits. Returns false if it is not a
 * head.
 */
bool fleet_manifest_parse(struct fleet_manifest *manifest, const char *text, size_t length,
			  const char **why);

/* The text of a head, to be freed; NULL: out of memory. */
char *fleet_manifest_text(const struct fleet_manifest *manifest);

/* Sum of the sizes of all files. */
uint64_t fleet_manifest_bytes(const struct fleet_manifest *manifest);

void fleet_manifest_release(struct fleet_manifest *manifest);

/* A number of an object of JSON; 0 if it is not there, negative or not a number. */
uint64_t fleet_number(const json_t *object, const char *name);

/* A text of an object of JSON; "" if it is not there. */
const char *fleet_text(const json_t *object, const char *name);

/* Print an object of JSON as a line of stdout. */
void fleet_print(const json_t *object);

#endif /* FLEET_MANIFEST_H */
