/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Splices: the kernel's own text is diverted, at the places that the caller has planned, to
 * instruments. The module believes nothing of the plan: it reads the text itself and says which
 * window it refuses, and why. See docs/design/block.md. Included by kernlens.h.
 */
#ifndef KL_UAPI_BLOCK_H
#define KL_UAPI_BLOCK_H

#include "types.h"

/* How the first bytes of a window divert. */
enum kl_splice_tier {
	KL_SPLICE_JUMP = 1, /* 5 bytes */
	KL_SPLICE_CALL = 2, /* the target of a call of 5 bytes, which is all of the window */
	KL_SPLICE_BOUNCE = 3, /* 2 bytes, to a jump at `slot` */
	KL_SPLICE_TRAP = 4, /* a breakpoint; the patch site is one instruction */
};

/* What a point does. */
enum kl_instrument {
	KL_INSTRUMENT_COUNT = 1, /* adds one to its counter */
	KL_INSTRUMENT_FIRE = 2, /* fires an event that the session has defined */
};

/* Why a window is refused. Ids are append-only; see block_refusals.def. */
enum kl_splice_refusal {
#define KL_SPLICE_REFUSAL(id, name, help) KL_SPLICE_##name = id,
#include "block_refusals.def"
#undef KL_SPLICE_REFUSAL
};

#define KL_SPLICE_WINDOWS_MAX 8192 /* in a request */
#define KL_SPLICE_WINDOW_BYTES_MAX 255
#define KL_SPLICE_POINTS_MAX 16 /* in a window */
#define KL_SPLICE_MOVED_POINTS_MAX 4096 /* in one, and behind it, of a function that is moved */
#define KL_SPLICE_REQUEST_POINTS_MAX (KL_SPLICE_WINDOWS_MAX * KL_SPLICE_POINTS_MAX)

/*
 * Instructions that are moved into a patch. Windows of a request ascend and do not overlap. With
 * `moves`, which all windows of a function have or none, what is reached from them is moved as
 * well, up to calls and what must stay where it is, and jumps between moved instructions stay in
 * the patch. Such a function has no other splices.
 */
struct kl_abi_window {
	__u64 address; /* of the first byte */
	__u64 slot; /* of a bounce: address of 5 bytes behind another's jump, or of padding */
	__u64 hash; /* of the bytes, as the caller has seen them: kl_window_hash, see below */
	__u8 bytes;
	__u8 tier; /* enum kl_splice_tier */
	__u8 moves; /* 1: the function is moved */
	__u8 refusal; /* out, if the request fails: why this window is refused, or 0 */
	__u16 points; /* of the request's points, the next so many are in this window */
	__u8 reserved[2];
};

/*
 * An instrument before the instruction `offset` bytes into its window, or, with the window's
 * length, behind its last; of a function that is moved also further behind, before the next window,
 * where all comes from what is moved. With `taken` the instruction is a direct jump, and the
 * instrument on its way to where it goes, if it goes; not of a function that is moved. Points of a
 * window ascend, those that are taken behind the others of their place; those at one place act in
 * their order.
 */
struct kl_abi_point {
	__u32 offset;
	__u8 instrument; /* enum kl_instrument */
	__u8 taken; /* 1: where the jump at `offset` goes */
	__u8 reserved[2];
	__u32 event; /* of FIRE: of the kind KL_SOURCE_KIND_BLOCK, KL_EV_DYNAMIC and up; else 0 */
};

/*
 * KL_IOC_SPLICE: all windows or none. They stay until KL_IOC_UNSPLICE, or until the session's
 * creator closes it. Takes as long as the kernel needs to be sure that no task is inside a window.
 */
struct kl_abi_splice {
	__u32 size;
	__u32 windows; /* at most KL_SPLICE_WINDOWS_MAX */
	__u64 window; /* struct kl_abi_window * */
	__u64 point; /* struct kl_abi_point * */
	__u32 points;
	__u32 first; /* out: number of the first point; the others follow */
	__u32 bad; /* out, also on failure: index of the first window that is refused */
	__u32 refusal; /* out, also on failure: why, or 0; others have theirs in the windows */
};

/*
 * KL_IOC_UNSPLICE: all of the session's splices are removed. Counters stay readable. A call for
 * sites reported as lost can be repeated.
 */
struct kl_abi_unsplice {
	__u32 size;
	__u32 lost; /* out: patch sites that someone else has changed, and that stay */
	__u64 windows; /* out: removed */
};

/* KL_IOC_SPLICE_COUNTS */
struct kl_abi_splice_counts {
	__u32 size;
	__u32 first; /* point */
	__u32 n; /* in: room, out: how many there are */
	__u32 points; /* out: that the session has */
	__u64 count; /* __u64 *: executions of each point since it was placed */
};

/* How many bytes of a window its hash is of: they reach to its last point, too. */
static inline __u32 kl_window_hashed(const struct kl_abi_window *w, __u32 last_offset)
{
	return w->moves && last_offset >= w->bytes ? last_offset + 1 : w->bytes;
}

/* FNV-1a of 64 bits, over the bytes of a window. */
static inline __u64 kl_window_hash(const __u8 *at, __u32 bytes)
{
	__u64 hash = 0xcbf29ce484222325ull;

	for (__u32 i = 0; i < bytes; i++)
		hash = (hash ^ at[i]) * 0x100000001b3ull;
	return hash;
}

#endif /* KL_UAPI_BLOCK_H */
