/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Splices: the kernel's own text is diverted to instruments at points that the caller has
 * planned. The module does not trust the plan: it reads the text itself, and reports which window
 * it refuses and why. A window is called patch site in docs/design/block.md. Included by
 * kernlens.h.
 */
#ifndef KL_UAPI_BLOCK_H
#define KL_UAPI_BLOCK_H

#include "types.h"

/* How the first bytes of a window divert execution. */
enum kl_splice_tier {
	KL_SPLICE_JUMP = 1, /* 5 bytes */
	KL_SPLICE_CALL = 2, /* changes the target of a 5-byte call, which is the whole window */
	KL_SPLICE_BOUNCE = 3, /* 2 bytes, which jump to a jump at `slot` */
	KL_SPLICE_TRAP = 4, /* a breakpoint; the patch site is one instruction */
};

/* What happens at a point. */
enum kl_instrument {
	KL_INSTRUMENT_COUNT = 1, /* increment the point's counter */
	KL_INSTRUMENT_FIRE = 2, /* fire an event that the session has defined */
};

/* Why a window is refused. Ids are append-only; see block_refusals.def. */
enum kl_splice_refusal {
#define KL_SPLICE_REFUSAL(id, name, help) KL_SPLICE_##name = id,
#include "block_refusals.def"
#undef KL_SPLICE_REFUSAL
};

#define KL_SPLICE_WINDOWS_MAX 8192 /* per request */
#define KL_SPLICE_WINDOW_BYTES_MAX 255
#define KL_SPLICE_POINTS_MAX 16 /* per window */
#define KL_SPLICE_MOVED_POINTS_MAX 4096 /* in and after a window of a relocated function */
#define KL_SPLICE_REQUEST_POINTS_MAX (KL_SPLICE_WINDOWS_MAX * KL_SPLICE_POINTS_MAX)

/*
 * Instructions that are moved into a patch. Windows of a request ascend and do not overlap.
 *
 * `moves` relocates a function; it is set in all windows of a function or in none. Everything
 * that can be reached from the windows is then moved as well, up to calls and instructions that
 * must stay where they are; jumps between moved instructions stay in the patch. A relocated
 * function has no other splices.
 */
struct kl_abi_window {
	__u64 address; /* address of the first byte */
	__u64 slot; /* for a bounce: 5 bytes after another window's jump, or of padding */
	__u64 hash; /* kl_window_hash() of the bytes that the caller has seen */
	__u8 bytes;
	__u8 tier; /* enum kl_splice_tier */
	__u8 moves; /* 1: the function is relocated */
	__u8 refusal; /* out, if the request fails: why this window is refused, or 0 */
	__u16 points; /* number of points; they are the next ones of the request */
	__u8 reserved[2];
};

/*
 * An instrument before the instruction `offset` bytes into its window or, if `offset` is the
 * length of the window, after its last instruction. In a relocated function, the offset may go
 * further, up to the next window, to instructions that are only reached from moved ones.
 *
 * With `taken`, the instruction is a direct jump, and the instrument is on the edge that is
 * taken; not in a relocated function. Points of a window ascend; at one offset, those with
 * `taken` come last. Points at the same place run in their order.
 */
struct kl_abi_point {
	__u32 offset;
	__u8 instrument; /* enum kl_instrument */
	__u8 taken; /* 1: on the taken edge of the jump at `offset` */
	__u8 reserved[2];
	/* for FIRE: event of the kind KL_SOURCE_KIND_BLOCK, KL_EV_DYNAMIC and up; else 0 */
	__u32 event;
};

/*
 * KL_IOC_SPLICE: installs all windows or none. They stay until KL_IOC_UNSPLICE, or until the
 * session's creator closes it. Sleeps until the kernel can be sure that no task is inside a
 * window.
 */
struct kl_abi_splice {
	__u32 size;
	__u32 windows; /* at most KL_SPLICE_WINDOWS_MAX */
	__u64 window; /* struct kl_abi_window * */
	__u64 point; /* struct kl_abi_point * */
	__u32 points;
	__u32 first; /* out: number of the first point; the others follow */
	__u32 bad; /* out, also on failure: index of the first window that is refused */
	/* out, also on failure: why it is refused, or 0; windows have their own reasons */
	__u32 refusal;
};

/*
 * KL_IOC_UNSPLICE: removes all splices of the session. Counters remain readable. If sites are
 * reported as lost, the call may be repeated.
 */
struct kl_abi_unsplice {
	__u32 size;
	__u32 lost; /* out: patch sites that something else has modified, and that remain */
	__u64 windows; /* out: number of windows removed */
};

/* KL_IOC_SPLICE_COUNTS: reads counters. */
struct kl_abi_splice_counts {
	__u32 size;
	__u32 first; /* number of the first point to read */
	__u32 n; /* in: capacity of `count`; out: counts written */
	__u32 points; /* out: number of points of the session */
	__u64 count; /* __u64 *: executions of each point since it was installed */
};

/* Number of bytes that a window's hash covers: up to its last point, even after the window. */
static inline __u32 kl_window_hashed(const struct kl_abi_window *w, __u32 last_offset)
{
	return w->moves && last_offset >= w->bytes ? last_offset + 1 : w->bytes;
}

/* 64-bit FNV-1a over the bytes of a window. */
static inline __u64 kl_window_hash(const __u8 *at, __u32 bytes)
{
	__u64 hash = 0xcbf29ce484222325ull;

	for (__u32 i = 0; i < bytes; i++)
		hash = (hash ^ at[i]) * 0x100000001b3ull;
	return hash;
}

#endif /* KL_UAPI_BLOCK_H */
