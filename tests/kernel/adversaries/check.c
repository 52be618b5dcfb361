// SPDX-License-Identifier: GPL-2.0
/*
 * Searches blocks and answers for foreign data (markers, thread ids, user ids, kernel addresses)
 * and for uninitialized memory: with the kernel's poisoning enabled, that contains long runs of one
 * byte.
 */
#include "../decode.h"
#include "adversaries.h"

#define POISON_RUN 6

const char *const markers[OWNERS] = { "kLoWnA01", "kLsEcB02", "kLsEcR00" };
const char *const secrets[OWNERS] = { "kLoWnA01-private", "kLsEcB02-private", "kLsEcR00-private" };

static void note(struct search *s, const char *what, const char *where)
{
	if (!s->found[0])
		snprintf(s->found, sizeof(s->found), "%s in %s (record %llu)", what, where,
			 (unsigned long long)s->records);
}

/* Records the position and the surrounding bytes. */
static void note_at(struct search *s, const char *what, const char *where, const u8 *from,
		    size_t at, size_t bytes)
{
	size_t first = at < 24 ? 0 : at - 24, used;

	if (s->found[0])
		return;
	note(s, what, where);
	used = strlen(s->found);
	used += snprintf(s->found + used, sizeof(s->found) - used,
			 " at byte %zu of %zu, from %zu on:", at, bytes, first);
	for (size_t i = first; i < bytes && i < at + 16; i++)
		used += snprintf(s->found + used, sizeof(s->found) - used, " %02x", from[i]);
}

void search_init(struct search *s)
{
	memset(s, 0, sizeof(*s));
	s->event_of = calloc(LAST_TID - FIRST_TID + 1, sizeof(*s->event_of));
	if (!s->event_of)
		bail("no memory");
}

void search_free(struct search *s)
{
	free(s->event_of);
}

/* -------------------------------------------------------------------- bytes */

/* Freed and fresh objects (0x6b, 0x5a), freed pages (0xaa). */
static bool is_poison(u8 byte)
{
	return byte == 0x6b || byte == 0x5a || byte == 0xaa;
}

/* Compilers divide by 3 with 0xaaaaaaaaaaaaaaab, which then is in a program's registers. */
static bool is_divisor(const u8 *at, size_t first, size_t run)
{
	return run == 7 && first && at[first - 1] == at[first] + 1;
}

static void search_poison(struct search *s, const char *what, const u8 *at, size_t bytes)
{
	char text[60];
	size_t run;

	for (size_t first = 0; first < bytes; first += run) {
		for (run = 1; first + run < bytes && at[first + run] == at[first];)
			run++;
		if (run < POISON_RUN || !is_poison(at[first]) || is_divisor(at, first, run))
			continue;
		snprintf(text, sizeof(text), "poison %#x", at[first]);
		note_at(s, text, what, at, first, bytes);
	}
}

/*
 * Is this an address where the kernel, without KASLR, has 1.5 GiB of memory mapped, or in the used
 * part at the bottom or top of the vmalloc area, or among the struct pages? Numbers that are merely
 * close to these areas are computed by programs, for example as the negative of one of their
 * addresses.
 */
static bool is_memory(u64 number)
{
	return (number >= 0xffff888000001000 && number < 0xffff888060000000) ||
	       (number >= 0xffffc90000001000 && number < 0xffffc91000000000) ||
	       (number >= 0xffffe8f000000000 && number < 0xffffe90000000000) ||
	       (number >= 0xffffea0000000040 && number < 0xffffea0002000000);
}

/*
 * The top of a program's address before a 32-bit -EINVAL, as in fields of two system calls, has the
 * bytes of the address of a struct page. @at: the first of them, of which one more can be read.
 */
static bool is_error_after_address(const u8 *at)
{
	static const u8 error[] = { 0xea, 0xff, 0xff, 0xff };

	return (at[2] == 0x7f || at[2] == 0x55 || at[2] == 0x56) && !at[3] && !at[4] &&
	       !memcmp(at + 5, error, sizeof(error));
}

/*
 * Searches for such addresses at every byte. Addresses of text look like small negative numbers, so
 * they are searched for only in 8-byte fields.
 */
static void search_addresses(struct search *s, const char *what, const u8 *at, size_t bytes)
{
	const u8 *from = at, *end = at + bytes, *next;
	char text[60];
	u64 number;

	for (; end - at >= 8 && (next = memmem(at + 6, end - at - 6, "\xff\xff", 2));
	     at = next - 5) {
		memcpy(&number, next - 6, 8);
		if (is_memory(number) && !(next + 2 < end && is_error_after_address(next - 6))) {
			snprintf(text, sizeof(text), "address %#llx", (unsigned long long)number);
			note_at(s, text, what, from, next - 6 - from, bytes);
		}
	}
}

static void search_markers(struct search *s, const char *what, const void *from, size_t bytes)
{
	for (u32 owner = 0; owner < OWNERS; owner++) {
		const u8 *at = memmem(from, bytes, markers[owner], MARKER_BYTES);

		if (!at)
			continue;
		if (owner == OWNER_A) {
			s->own++;
			continue;
		}
		s->seen[owner]++;
		note_at(s, markers[owner], what, from, at - (const u8 *)from, bytes);
	}
}

void search_bytes(struct search *s, const char *what, const void *from, size_t bytes)
{
	s->bytes += bytes;
	search_markers(s, what, from, bytes);
	search_poison(s, what, from, bytes);
	search_addresses(s, what, from, bytes);
}

/* ------------------------------------------------------------------ numbers */

static bool is_address(u64 number)
{
	return is_memory(number) || (number >= 0xfffffe0000000000 && number < 0xfffffe0100000000) ||
	       (number >= 0xffffffff80000000 && number < 0xffffffffff000000);
}

/* Numbers of 8 bytes are times and sizes, unless their name says otherwise. */
static bool may_be_thread(const char *name, u32 bytes)
{
	return bytes == 4 ||
	       (bytes == 8 && (strstr(name, "tid") || strstr(name, "pid") || !strcmp(name, "ret")));
}

static void search_number(struct search *s, u32 id, const char *name, u64 number, u32 bytes)
{
	char text[80], where[80];

	if (may_be_thread(name, bytes) && number > FIRST_TID && number <= LAST_TID)
		s->event_of[number - FIRST_TID] = id;
	snprintf(text, sizeof(text), "%s.%s", id < KL_EV_MAX ? event_name(id) : "defined", name);
	if (bytes == 4 && (u32)number == UID_B)
		note(s, "the other's user id", text);
	if (bytes == 8 && is_address(number)) {
		snprintf(where, sizeof(where), "address %#llx", (unsigned long long)number);
		note(s, where, text);
	}
}

static bool is_foreign(u32 tid)
{
	u32 bit = tid - FIRST_TID;

	return shared->foreign[bit / 8] >> bit % 8 & 1;
}

void search_threads(struct search *s)
{
	char text[60];

	for (u32 tid = FIRST_TID; tid <= LAST_TID; tid++)
		if (s->event_of[tid - FIRST_TID] && is_foreign(tid)) {
			snprintf(text, sizeof(text), "another's thread id %u", tid);
			note(s, text, event_name(s->event_of[tid - FIRST_TID] % KL_EV_MAX));
		}
}

/* ------------------------------------------------------------------ records */

/*
 * Searches the variables that a record carries. Returns the position after them, NULL if they are
 * incomplete.
 */
static const u8 *search_variables(struct search *s, u32 id, const u8 *changed, const u8 *at,
				  const u8 *end)
{
	for (u32 i = 0; i < s->variables; i++) {
		u32 bit = i + 1, bytes = s->variable[i].bytes;

		if (!(changed[bit / 8] >> bit % 8 & 1))
			continue;
		if (at + bytes > end)
			return NULL;
		if (bytes <= 8)
			search_number(s, id, s->variable[i].name, load_number(at, bytes), bytes);
		at += bytes;
	}
	return at;
}

static u32 digit(u8 character)
{
	return character <= '9' ? character - '0' : character - 'a' + 10;
}

/* Searches memory that is in a record as digits. What it holds is the process's own, so no poison. */
static void search_digits(struct search *s, const struct value *v)
{
	u8 memory[KL_STRING_MAX];
	u32 n = v->bytes / 2;

	for (u32 i = 0; i < n; i++)
		memory[i] = digit(v->at[2 * i]) << 4 | digit(v->at[2 * i + 1]);
	s->memory++;
	s->bytes += n;
	search_markers(s, "the memory of an argument", memory, n);
	search_addresses(s, "the memory of an argument", memory, n);
}

/* Searches one record. Returns its size, or 0 if there is no valid record. */
static u32 search_record(struct search *s, const u8 *begin, const u8 *end)
{
	u32 prefix = 8 + KL_CHANGED_BYTES(s->variables), id;
	static struct record r;
	const u8 *at = begin + prefix;

	if (at > end)
		return 0;
	id = load_number(begin, 8) & ((1u << KL_RECORD_ID_BITS) - 1);
	if (!id || id >= KL_EV_IDS)
		return 0;
	if (begin[8] & KL_CHANGED_TASK) {
		const struct kl_abi_task *task = (const void *)at;

		at += sizeof(*task);
		if (at > end)
			return 0;
		search_number(s, id, "(task) tid", (u32)task->tid, 4);
		search_number(s, id, "(task) pid", (u32)task->pid, 4);
	}
	at = search_variables(s, id, begin + 8, at, end);
	if (!at)
		return 0;
	r.id = id;
	r.values = 0;
	if (id < KL_EV_SYSCALL_ENTRY)
		at = take_fields(&r, at, end);
	else if (id < KL_EV_MAX)
		at = take_syscall(&r, at, end);
	if (!at)
		return 0;
	for (u32 i = 0; i < r.values; i++) {
		const struct value *v = &r.value[i];

		if (!v->string && v->kind == KIND_INT)
			search_number(s, id, v->name, v->number, v->bytes);
		if (v->string && id == KL_EV_strace_memory)
			search_digits(s, v);
	}
	return at - begin;
}

void search_block(struct search *s, const u8 *block, u32 bytes)
{
	const struct kl_abi_block *header = (const void *)block;
	u32 at = KL_BLOCK_HEADER_BYTES, end = header->committed, id, got;

	s->blocks++;
	if (header->magic != KL_CTF_MAGIC || end > bytes) {
		/* A block that has never been used is all zeroes. */
		if (header->magic || end)
			note(s, "a header that is none", "a block");
		search_bytes(s, "a block without a header", block, bytes);
		return;
	}
	search_bytes(s, "a block's header", block, at);
	for (; at < end; at += got) {
		got = search_record(s, block + at, block + end);
		if (!got) {
			note(s, "a record that is none", "a block");
			break;
		}
		id = load_number(block + at, 8) & ((1u << KL_RECORD_ID_BITS) - 1);
		search_bytes(s, id < KL_EV_MAX ? event_name(id) : "a defined event", block + at,
			     got);
		s->records++;
	}
	search_bytes(s, "the rest of a block", block + at, bytes - at);
}
