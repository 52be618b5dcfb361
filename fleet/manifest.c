// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Reads and writes heads of captures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "manifest.h"

uint64_t fleet_number(const json_t *object, const char *name)
{
	json_int_t number = json_integer_value(json_object_get(object, name));

	return number > 0 ? (uint64_t)number : 0;
}

const char *fleet_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

void fleet_print(const json_t *object)
{
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
}

static bool copy_token(char *to, size_t bytes, const json_t *object, const char *name)
{
	const char *text = fleet_text(object, name);

	if (!fleet_is_token(text, bytes))
		return false;
	snprintf(to, bytes, "%s", text);
	return true;
}

static bool parse_file(struct fleet_file *file, const json_t *object)
{
	const char *name = fleet_text(object, "name");
	uint64_t pieces = fleet_number(object, "pieces"), crc = fleet_number(object, "crc");

	if (strlen(name) >= sizeof(file->name) || !fleet_is_file(name))
		return false;
	snprintf(file->name, sizeof(file->name), "%s", name);
	file->bytes = fleet_number(object, "bytes");
	file->pieces = (uint32_t)pieces;
	file->crc = (uint32_t)crc;
	/* Each piece has at least a byte, and at most what a message has. */
	return crc <= UINT32_MAX && pieces <= FLEET_PIECES_MAX && pieces <= file->bytes &&
	       file->bytes <= pieces * FLEET_PIECE_MAX;
}

static int compare_files(const void *a, const void *b)
{
	return strcmp(((const struct fleet_file *)a)->name, ((const struct fleet_file *)b)->name);
}

static bool has_twins(const struct fleet_manifest *manifest)
{
	struct fleet_file *sorted = calloc(manifest->n, sizeof(*sorted));
	bool twins = !sorted;

	if (sorted) {
		memcpy(sorted, manifest->files, manifest->n * sizeof(*sorted));
		qsort(sorted, manifest->n, sizeof(*sorted), compare_files);
	}
	for (size_t i = 1; i < manifest->n && !twins; i++)
		twins = !strcmp(sorted[i - 1].name, sorted[i].name);
	free(sorted);
	return twins;
}

static const char *parse_files(struct fleet_manifest *manifest, const json_t *files)
{
	size_t n = json_array_size(files);
	uint64_t pieces = 0;

	if (!n || n > FLEET_FILES_MAX)
		return "it has no list of files";
	manifest->files = calloc(n, sizeof(*manifest->files));
	if (!manifest->files)
		return "out of memory";
	for (; manifest->n < n; manifest->n++) {
		struct fleet_file *file = &manifest->files[manifest->n];

		if (!parse_file(file, json_array_get(files, manifest->n)))
			return "a file has an invalid name or size";
		pieces += file->pieces;
	}
	if (pieces > FLEET_PIECES_MAX)
		return "it has too many pieces";
	return has_twins(manifest) ? "a file is listed twice" : NULL;
}

static const char *parse(struct fleet_manifest *manifest, const json_t *root)
{
	const json_t *about = json_object_get(root, "about");

	if (fleet_number(root, "version") != FLEET_VERSION)
		return "it is of another version";
	if (!copy_token(manifest->host, sizeof(manifest->host), root, "host") ||
	    !copy_token(manifest->boot, sizeof(manifest->boot), root, "boot") ||
	    !copy_token(manifest->capture, sizeof(manifest->capture), root, "capture") ||
	    !copy_token(manifest->run, sizeof(manifest->run), root, "run"))
		return "it lacks a valid name of the host or capture";
	if (!json_is_object(about))
		return "it does not say what it is about";
	manifest->about = json_deep_copy(about);
	if (!manifest->about)
		return "out of memory";
	return parse_files(manifest, json_object_get(root, "files"));
}

bool fleet_manifest_parse(struct fleet_manifest *manifest, const char *text, size_t length,
			  const char **why)
{
	json_t *root;

	*manifest = (struct fleet_manifest){ .n = 0 };
	root = length <= FLEET_HEAD_MAX ? json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL) :
					  NULL;
	*why = json_is_object(root) ? parse(manifest, root) : "it is not a JSON object";
	json_decref(root);
	return !*why;
}

char *fleet_manifest_text(const struct fleet_manifest *manifest)
{
	json_t *files = json_array(), *root;
	char *text;

	for (size_t i = 0; i < manifest->n; i++) {
		const struct fleet_file *file = &manifest->files[i];

		json_array_append_new(files, json_pack("{s:s, s:I, s:I, s:I}", "name", file->name,
						       "bytes", (json_int_t)file->bytes, "pieces",
						       (json_int_t)file->pieces, "crc",
						       (json_int_t)file->crc));
	}
	root = json_pack("{s:i, s:s, s:s, s:s, s:s, s:O, s:o}", "version", FLEET_VERSION, "host",
			 manifest->host, "boot", manifest->boot, "capture", manifest->capture,
			 "run", manifest->run, "about", manifest->about, "files", files);
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	return text;
}

uint64_t fleet_manifest_bytes(const struct fleet_manifest *manifest)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < manifest->n; i++)
		sum += manifest->files[i].bytes;
	return sum;
}

void fleet_manifest_release(struct fleet_manifest *manifest)
{
	json_decref(manifest->about);
	free(manifest->files);
	*manifest = (struct fleet_manifest){ .n = 0 };
}
