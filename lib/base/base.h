/* SPDX-License-Identifier: GPL-2.0 */
/* Errors, unaligned loads and small helpers for all parts of the library. */
#ifndef KL_LIB_BASE_H
#define KL_LIB_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define KL_ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define KL_NS_PER_S 1000000000u

/* Set this thread's error text and errno. Returns -@error. */
int kl_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Put what it is about, and ": ", before the text of the last error. Returns @error, negative. */
int kl_fail_about(int error, const char *subject);
/* Like kl_fail(), with ": " and the system's message for @error appended. */
int kl_fail_system(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Open a regular file for reading. Safe for a path from an untrusted user: this neither blocks nor
 * opens a device. Returns a descriptor, or a negative errno with an error text, also if the path is
 * not a regular file.
 */
int kl_open_regular(const char *path);

/* The same, for a path relative to @dir. */
int kl_open_regular_at(int dir, const char *path);

/*
 * Read @bytes bytes of a file from offset @at. Returns how many there are: fewer at the end of the
 * file, and at an error; errno is 0 at the end.
 */
size_t kl_read_at(int fd, void *to, size_t bytes, uint64_t at);

/*
 * Make room for one more element. @array holds @count elements of @size bytes each, and has room
 * for *@capacity. Returns the array, which may have moved, or NULL with an error.
 */
void *kl_array_grow(void *array, size_t count, size_t *capacity, size_t size);

#define KL_HASH_START 0xcbf29ce484222325ull

/* FNV-1a, as used for the schema. Continues from @hash; start with KL_HASH_START. */
static inline uint64_t kl_hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	while (n--)
		hash = (hash ^ *at++) * 0x100000001b3ull;
	return hash;
}

/*
 * Write all bytes, in as many calls as it takes. Returns 0 or a negative errno, without an error
 * text.
 */
int kl_write_all(int fd, const void *bytes, size_t length);

/* Write hexadecimal digits, at most 16, that end before @end. Returns the first. */
static inline char *kl_hex_digits(char *end, uint64_t number)
{
	do {
		*--end = "0123456789abcdef"[number & 15];
		number >>= 4;
	} while (number);
	return end;
}

/* CLOCK_MONOTONIC, in ns. */
static inline uint64_t kl_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * KL_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* The last part of a path. */
static inline const char *kl_file_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static inline uint16_t kl_get16(const void *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline uint32_t kl_get32(const void *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline uint64_t kl_get64(const void *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

#endif /* KL_LIB_BASE_H */
