// SPDX-License-Identifier: GPL-2.0
/*
 * The tape of decisions (fuzz.h), and the tapes that are kept because they reached a new block.
 * Kept tapes are in memory that all workers share. There is no lock, since a worker may be killed
 * at any time: a tape that is read while it is written is just another tape.
 */
#include "fuzz.h"

static __thread u64 random_state;
static __thread u32 at;
static __thread struct tape tape;

/* xorshift*, for decisions that no tape makes. */
static u32 fresh(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 2685821657736338717ull >> 32;
}

static u32 fresh_below(u32 n)
{
	return (u64)fresh() * n >> 32;
}

void tape_seed(u64 seed)
{
	random_state = seed * 0x9e3779b97f4a7c15ull | 1;
	for (int i = 0; i < 4; i++)
		fresh();
}

u32 tape_next(void)
{
	if (at < tape.words)
		return tape.word[at++];
	if (at == TAPE_MAX)
		return fresh();
	tape.word[at++] = fresh();
	tape.words = at;
	return tape.word[at - 1];
}

/* ------------------------------------------------------------------ changes */

static void remove_words(void)
{
	u32 n = tape.words, from = fresh_below(n), bytes = 1 + fresh_below(8);

	if (from + bytes >= n)
		return;
	memmove(&tape.word[from], &tape.word[from + bytes],
		(n - from - bytes) * sizeof(*tape.word));
	tape.words = n - bytes;
}

/* Inserts a piece of @other, which may be this tape, before any word of this one. */
static void insert_words(const struct tape *other)
{
	u32 n = tape.words, have = other->words, from, count, to;

	if (!have || have > TAPE_MAX)
		return;
	from = fresh_below(have);
	count = 1 + fresh_below(have - from);
	to = fresh_below(n + 1);
	if (n + count > TAPE_MAX)
		return;
	memmove(&tape.word[to + count], &tape.word[to], (n - to) * sizeof(*tape.word));
	for (u32 i = 0; i < count; i++)
		tape.word[to + i] = other->word[(from + i) % TAPE_MAX];
	tape.words = n + count;
}

static const struct tape *any_kept(void)
{
	u32 kept = common->kept;

	return &common->tape[fresh_below(kept < TAPES_KEPT ? kept : TAPES_KEPT)];
}

static void change(void)
{
	static struct tape copy_of_none;
	u32 i = fresh_below(tape.words);

	switch (fresh_below(8)) {
	case 0 ... 1: /* another decision */
		tape.word[i] = fresh();
		break;
	case 2: /* nearly the same decision */
		tape.word[i] += fresh_below(2) ? 1u << 26 : -(1u << 26);
		break;
	case 3: /* all later decisions are new */
		tape.words = 1 + i;
		break;
	case 4:
		remove_words();
		break;
	case 5:
		insert_words(common->kept ? any_kept() : &copy_of_none);
		break;
	case 6: { /* repeat a piece of it */
		struct tape *twice = malloc(sizeof(*twice));

		if (!twice)
			return;
		*twice = tape;
		insert_words(twice);
		free(twice);
		break;
	}
	default:
		tape.word[i] = ~0u;
	}
}

/* Starts a sequence: with new decisions, or with a kept tape and a few changes. */
void tape_begin(void)
{
	at = 0;
	tape.words = 0;
	if (!common->kept || fresh_below(3) == 0)
		return;
	memcpy(&tape, any_kept(), sizeof(tape));
	if (!tape.words || tape.words > TAPE_MAX) {
		tape.words = 0;
		return;
	}
	for (u32 n = fresh_below(5); n && tape.words; n--)
		change();
}

/* Keeps this sequence's tape. */
void tape_keep(void)
{
	u32 number = __atomic_fetch_add(&common->kept, 1, __ATOMIC_RELAXED);
	struct tape *to = &common->tape[number < TAPES_KEPT ? number : fresh_below(TAPES_KEPT)];

	to->words = 0;
	memcpy(to->word, tape.word, at * sizeof(*tape.word));
	to->words = at;
}

u64 odd_number(void)
{
	static const u64 numbers[] = {
		0,	     1,		 2,
		3,	     4,		 5,
		7,	     8,		 16,
		63,	     64,	 255,
		256,	     4095,	 4096,
		4097,	     8192,	 65535,
		65536,	     1u << 20,	 1u << 21,
		0x7fffffff,  0x80000000, 0xffffffff,
		0x100000000, 1ull << 44, 1ull << 60,
		2ull << 60,  3ull << 60, 0x7fffffffffffffff,
		1ull << 63,  ~0ull,	 ~0ull - 4095,
		~4095ull,    60001,	 1023,
		1024,	     2047,	 2048,
	};

	if (one_in(4))
		return any();
	return numbers[below(sizeof(numbers) / sizeof(*numbers))] + below(3) - 1;
}
