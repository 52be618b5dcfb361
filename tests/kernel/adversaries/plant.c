// SPDX-License-Identifier: GPL-2.0
/*
 * Tests that the search finds what it must find: hand-made blocks, each with one planted item that
 * must be found, or that merely resembles one and must not be reported.
 */
#include "adversaries.h"

#define BYTES 8192

/* Builds a block with one record: a mark, which has a number and a text. */
static void make_block(u8 *block, u32 task_tid, u64 value, const char *text)
{
	struct kl_abi_block header = { .magic = KL_CTF_MAGIC };
	u64 head = KL_EV_mark | 77ull << KL_RECORD_ID_BITS;
	struct kl_abi_task task = { .tid = task_tid, .pid = 4000, .comm = "bash" };
	u8 *at = block + KL_BLOCK_HEADER_BYTES;

	memset(block, 0, BYTES);
	memcpy(at, &head, 8);
	at[8] = KL_CHANGED_TASK;
	memcpy(at + 9, &task, sizeof(task));
	memcpy(at + 33, &value, 8);
	strcpy((char *)at + 41, text);
	header.committed = KL_BLOCK_HEADER_BYTES + 41 + strlen(text) + 1;
	memcpy(block, &header, sizeof(header));
}

static void check_planted(const char *name, const u8 *block, bool found)
{
	struct search s;
	char text[120];

	search_init(&s);
	search_block(&s, block, BYTES);
	search_threads(&s);
	snprintf(text, sizeof(text), "the search %s %s", found ? "finds" : "lets through", name);
	tap_result(!!s.found[0] == found && (s.records == 1 || !found), text, "records %llu: %s",
		   (unsigned long long)s.records, s.found);
	search_free(&s);
}

void check_search(void)
{
	static const u64 address = 0xffff888012345678, page = 0xffffea00007fff40;
	static const u8 argument[] = { 0x58, 0x2a, 0x22, 0x9d, 0xff, 0x7f,
				       0,    0,	   0xea, 0xff, 0xff, 0xff };
	static u8 block[BYTES];
	u32 foreign = FIRST_TID + 12345;

	make_block(block, 4001, 5, "a text");
	check_planted("a block with nothing of others", block, false);
	make_block(block, 4001, 5, "a text with kLsEcB02 in it");
	check_planted("the other user's marker in a record", block, true);
	make_block(block, 4001, 5, "a text");
	memcpy(block + BYTES - 11, markers[OWNER_ROOT], MARKER_BYTES);
	check_planted("root's marker in the padding", block, true);
	make_block(block, 4001, 5, "a text");
	memset(block + 3001, 0x6b, 6);
	check_planted("six bytes of a freed object in the padding", block, true);
	make_block(block, 4001, 0xaaaaaaaaaaaa0000, "a text");
	check_planted("six bytes of a freed page in a record", block, true);
	make_block(block, 4001, 0xaaaaaaaaaaaaaaab, "a text");
	check_planted("what programs divide by 3 with", block, false);
	make_block(block, 4001, 0x5a5a5a5a5a0000, "a text");
	check_planted("five bytes that are alike", block, false);
	make_block(block, 4001, 0xffffffff81234567, "a text");
	check_planted("the address of a function in a field", block, true);
	make_block(block, 4001, -2, "a text");
	check_planted("a small negative number", block, false);
	make_block(block, 4001, 5, "a text");
	memcpy(block + 5003, &address, 8);
	check_planted("the address of an object in the padding", block, true);
	make_block(block, 4001, 5, "a text");
	memcpy(block + 5003, &page, 8);
	check_planted("the address of a struct page", block, true);
	make_block(block, 4001, 5, "a text");
	memcpy(block + 5003, argument, sizeof(argument));
	check_planted("a program's address and an error", block, false);
	make_block(block, UID_B, 5, "a text");
	check_planted("the other's user id", block, true);
	make_block(block, foreign, 5, "a text");
	check_planted("a thread id that is no other's", block, false);
	shared->foreign[12345 / 8] |= 1 << 12345 % 8;
	check_planted("another's thread id", block, true);
	shared->foreign[12345 / 8] = 0;
}
