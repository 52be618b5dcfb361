/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * What the module keeps in memory so that `kernlens extract` finds the sessions in the memory of a
 * crashed machine, without symbols and without page tables. docs/design/crash.md has the rules.
 *
 *   anchor --session[]--> session page --pieces--> pieces page --next--> pieces page ...
 *                              |                        |
 *                              |                  slots: the pages of a block, or of a ring
 *                              +--region[]--> region page --next--> region page ...
 *                                                  |
 *                                            the pages of the session's metadata, or of its
 *                                            stack traces
 *
 * Every page begins with struct kl_crash_head, which says where it is in physical memory and which
 * load of the module it belongs to. Links are physical addresses. A reader finds the pages by
 * searching all memory, so it needs no link; links say which pages there must be.
 *
 * Sessions that survive a reset (KL_SESSION_KEEP) have an anchor of their own, and all of this in
 * memory that the kernel's command line reserves.
 *
 * All numbers are little endian. KL_CRASH_VERSION changes with every layout here.
 */
#ifndef KL_UAPI_CRASH_H
#define KL_UAPI_CRASH_H

#include "define.h"
#include "types.h"

#define KL_CRASH_VERSION 3
#define KL_CRASH_PAGE 4096u

enum kl_crash_kind {
	KL_CRASH_ANCHOR = 1,
	KL_CRASH_SESSION = 2,
	KL_CRASH_PIECES = 3,
	KL_CRASH_REGION = 4,
	KL_CRASH_MAILBOX = 5, /* mailbox.h; not for extraction */
};

/*
 * @magic: kl_crash_magic(); written last, and cleared before the page is freed
 * @address: physical address of this page, which tells it from copies
 * @anchor: physical address of the anchor
 * @load: random; of this load of the module. No process can read it
 * @uuid: of the session; zero in the anchor
 * @constant: bytes after the head that do not change
 * @sum: kl_crash_sum() of the head up to here, without the magic, and of the constant bytes
 */
struct kl_crash_head {
	__u64 magic[2];
	__u64 address;
	__u64 anchor;
	__u8 load[16];
	__u8 uuid[16];
	__u32 kind; /* enum kl_crash_kind */
	__u32 version; /* KL_CRASH_VERSION */
	__u32 constant;
	__u32 reserved;
	__u64 sum;
};

KL_ABI_ASSERT(sizeof(struct kl_crash_head) == 88, "head of a page");

/* One instant on all clocks, as struct kl_abi_time. @sum: of the words before it, written last. */
struct kl_crash_time {
	__u64 cycles;
	__u64 monotonic_ns;
	__u64 realtime_ns;
	__u64 sum;
};

#define KL_CRASH_ANCHOR_SESSIONS 440
#define KL_CRASH_TEXT_MAX 72
#define KL_CRASH_SYMBOL "_printk"

/*
 * Constant up to @now. @now: alternately the newest instant and the one before. @session: addresses
 * of session pages, in any slot, 0: none; a session for which there is no slot is not listed.
 * @mailbox: address of the mailbox; 0: there is none.
 */
struct kl_crash_anchor {
	struct kl_crash_head head;
	__u32 page_bytes; /* KL_CRASH_PAGE */
	__u32 cpus; /* possible CPU ids */
	__u32 clock; /* enum kl_clock */
	__u32 abi_version;
	__u64 clock_hz;
	__u64 schema_hash;
	__u64 text_address; /* of KL_CRASH_SYMBOL, which tells where the kernel's text is */
	char boot_id[40]; /* may be empty */
	char release[KL_CRASH_TEXT_MAX];
	char version[KL_CRASH_TEXT_MAX];
	char hostname[KL_CRASH_TEXT_MAX];
	struct kl_crash_time now[2];
	__u64 session[KL_CRASH_ANCHOR_SESSIONS];
	__u64 mailbox;
};

KL_ABI_ASSERT(offsetof(struct kl_crash_anchor, now) == 384, "anchor");
KL_ABI_ASSERT(sizeof(struct kl_crash_anchor) <= KL_CRASH_PAGE, "anchor");

/* What a region is of memory of the module that does not move. */
enum kl_crash_region_kind {
	KL_CRASH_METADATA = 0, /* KL_METADATA_DEFINED */
	KL_CRASH_NAMES = 1, /* KL_METADATA_NAMES */
	KL_CRASH_STACKS = 2, /* an array of struct kl_crash_stack */
	KL_CRASH_STACK_WORDS = 3, /* of their frames */
};

#define KL_CRASH_REGIONS 4

/* Is it metadata: a text that does not change, and has a sum? */
#define KL_CRASH_IS_TEXT(kind) ((kind) <= KL_CRASH_NAMES)

/* Constant up to @began. The addresses are those of the first page of a chain; 0: none. */
struct kl_crash_session {
	struct kl_crash_head head;
	struct kl_crash_time created;
	__u32 id;
	__u32 uid; /* of its owner, in the initial user namespace */
	__s32 creator; /* process ID */
	__u32 mode; /* enum kl_mode */
	__u32 block_bytes;
	__u32 blocks_max; /* per CPU */
	char name[KL_NAME_MAX];
	__u64 began; /* in cycles, when it was last started; 0: never */
	__u64 ended; /* in cycles; 0: it has not ended since */
	__u64 pieces;
	__u64 region[KL_CRASH_REGIONS]; /* by enum kl_crash_region_kind */
};

KL_ABI_ASSERT(offsetof(struct kl_crash_session, began) == 176, "session page");

enum kl_crash_what {
	KL_CRASH_RINGS = 1, /* slots of one page each, struct kl_abi_ring: pages of @stride 2 */
	KL_CRASH_BLOCKS = 2, /* slots of the pages of a block */
};

/*
 * A slot is @stride words: kl_crash_slot(), which is written last and is 0 if the slot is unused,
 * and the addresses of pages. Constant up to @next.
 */
struct kl_crash_pieces {
	struct kl_crash_head head;
	__u32 what; /* enum kl_crash_what */
	__u32 stride;
	__u64 next;
	__u64 word[];
};

/*
 * Everything is constant. @generation: increases with each region of the session. @number: of this
 * page in the chain. @first: where the region begins in its first page.
 */
struct kl_crash_region {
	struct kl_crash_head head;
	__u64 generation;
	__u64 next;
	__u32 number;
	__u32 n; /* addresses */
	__u64 bytes; /* of the region */
	__u32 first;
	__u32 kind; /* enum kl_crash_region_kind */
	__u64 sum; /* metadata: kl_crash_sum() of all bytes */
	__u64 word[];
};

/*
 * A stack trace, as core/stack_table.h has it: `about.frames` words from @at on are its frames. An
 * entry that is not ready has anything.
 */
struct kl_crash_stack {
	struct kl_abi_stack about;
	__u32 hash;
	__u32 at;
	__u32 state;
	__u32 placed;
};

#define KL_CRASH_STACK_READY 1

#define KL_CRASH_PIECES_WORDS ((KL_CRASH_PAGE - sizeof(struct kl_crash_pieces)) / 8)
#define KL_CRASH_REGION_WORDS ((KL_CRASH_PAGE - sizeof(struct kl_crash_region)) / 8)

KL_ABI_ASSERT(KL_CRASH_PIECES_WORDS > (1u << 20) / KL_CRASH_PAGE, "the largest block has a slot");

/*
 * The magic is computed, so that it is neither in the module's file nor in the command's, of which
 * there are copies in memory. The statement keeps the compiler from computing it in advance.
 */
static inline void kl_crash_magic(__u64 magic[2])
{
	__u64 seed = 0x1f83d9abfb41bd6bull;

	__asm__ volatile("" : "+r"(seed));
	magic[0] = (seed ^ seed >> 29) * 0x9fb21c651e98df25ull;
	magic[1] = (magic[0] ^ magic[0] >> 31) * 0xd6e8feb86659fd93ull;
}

#define KL_CRASH_SUM_BEGIN 0x6a09e667f3bcc908ull

/* Add a word to a sum. Each step is reversible, so no change of a single word goes unnoticed. */
static inline __u64 kl_crash_mix(__u64 sum, __u64 word)
{
	sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
	return sum ^ sum >> 32;
}

/* Add bytes to a sum. Only the last call for a sum may have a size that is not a multiple of 8. */
static inline __u64 kl_crash_sum(__u64 sum, const void *bytes, __u32 size)
{
	const __u8 *at = (const __u8 *)bytes;
	__u64 word;
	__u32 i;

	for (; size >= 8; at += 8, size -= 8) {
		__builtin_memcpy(&word, at, 8);
		sum = kl_crash_mix(sum, word);
	}
	for (word = 0, i = 0; i < size; i++)
		word |= (__u64)at[i] << 8 * i;
	return size ? kl_crash_mix(sum, word) : sum;
}

/* The sum in a page's head. @head->constant must be within the page. */
static inline __u64 kl_crash_head_sum(const struct kl_crash_head *head)
{
	const __u8 *bytes = (const __u8 *)head;
	const __u32 from = offsetof(struct kl_crash_head, address);
	__u64 sum = kl_crash_sum(KL_CRASH_SUM_BEGIN, bytes + from,
				 offsetof(struct kl_crash_head, sum) - from);

	return kl_crash_sum(sum, bytes + sizeof(*head), head->constant);
}

static inline __u64 kl_crash_time_sum(const struct kl_crash_time *time)
{
	return kl_crash_sum(KL_CRASH_SUM_BEGIN, time, offsetof(struct kl_crash_time, sum));
}

#define KL_CRASH_SLOT_TAG 0x4b4cull

/* The first word of a slot: a tag, the CPU, and a sum of both and the addresses. */
static inline __u64 kl_crash_slot(__u32 cpu, const __u64 *addresses, __u32 n)
{
	__u64 head = KL_CRASH_SLOT_TAG << 48 | (__u64)(cpu & 0xffff) << 32;
	__u64 sum = kl_crash_sum(kl_crash_mix(KL_CRASH_SUM_BEGIN, head), addresses, 8 * n);

	return head | (sum >> 32 ^ (sum & 0xffffffffu));
}

#define KL_CRASH_SLOT_CPU(word) ((__u32)((word) >> 32) & 0xffff)

#endif /* KL_UAPI_CRASH_H */
