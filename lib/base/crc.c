// SPDX-License-Identifier: GPL-2.0
/*
 * CRC-32C (Castagnoli, polynomial 0x1EDC6F41, reflected; RFC 3720, B.4). Uses the SSE 4.2
 * instruction where the processor has it.
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "crc.h"

#define POLYNOMIAL 0x82f63b78u

static uint32_t table[256];
static bool has_instruction;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
		table[i] = crc;
	}
	__builtin_cpu_init();
	has_instruction = __builtin_cpu_supports("sse4.2");
}

static uint32_t add_by_table(uint32_t crc, const uint8_t *at, size_t length)
{
	while (length--)
		crc = crc >> 8 ^ table[(crc ^ *at++) & 0xff];
	return crc;
}

__attribute__((target("sse4.2"))) static uint32_t
add_by_instruction(uint32_t crc, const uint8_t *at, size_t length)
{
	uint64_t wide = crc;

	for (; length >= sizeof(uint64_t); length -= sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		wide = __builtin_ia32_crc32di(wide, word);
		at += sizeof(word);
	}
	crc = (uint32_t)wide;
	while (length--)
		crc = __builtin_ia32_crc32qi(crc, *at++);
	return crc;
}

uint32_t kl_crc32c_table(uint32_t crc, const void *bytes, size_t length)
{
	pthread_once(&once, init);
	return ~add_by_table(~crc, bytes, length);
}

uint32_t kl_crc32c(uint32_t crc, const void *bytes, size_t length)
{
	pthread_once(&once, init);
	return has_instruction ? ~add_by_instruction(~crc, bytes, length) :
				 ~add_by_table(~crc, bytes, length);
}
