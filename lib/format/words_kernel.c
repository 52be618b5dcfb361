// SPDX-License-Identifier: GPL-2.0
/*
 * Symbolic names for the kernel's own values. Numbers missing from its user headers are written
 * out; they are those of include/linux/ of 6.1 and 6.12. Values that differ between versions (gfp,
 * page_flags) stay numbers.
 */
#include <errno.h>
#include <netinet/in.h>

#include <kernlens/detail.h>
#include "../base/base.h"
#include "words.h"

/* clang-format off: tables read better filled */
/* The kernel's task states as the sched_switch tracepoint reports them. */
static const struct kl_word states_run[] = { { 0, "R" } };
static const struct kl_word states[] = {
	{ 0x1, "S" },  { 0x2, "D" },  { 0x4, "T" },  { 0x8, "t" },    { 0x10, "X" },
	{ 0x20, "Z" }, { 0x40, "P" }, { 0x80, "I" }, { 0x100, "R+" },
};

static const struct kl_word softirqs[] = {
	{ 0, "HI" },	   { 1, "TIMER" },   { 2, "NET_TX" }, { 3, "NET_RX" },	{ 4, "BLOCK" },
	{ 5, "IRQ_POLL" }, { 6, "TASKLET" }, { 7, "SCHED" },  { 8, "HRTIMER" }, { 9, "RCU" },
};

static const struct kl_word tcp_states[] = {
	{ 1, "ESTABLISHED" }, { 2, "SYN_SENT" },  { 3, "SYN_RECV" }, { 4, "FIN_WAIT1" },
	{ 5, "FIN_WAIT2" },   { 6, "TIME_WAIT" }, { 7, "CLOSE" },    { 8, "CLOSE_WAIT" },
	{ 9, "LAST_ACK" },    { 10, "LISTEN" },	  { 11, "CLOSING" }, { 12, "NEW_SYN_RECV" },
};

static const struct kl_word protocols[] = {
	KL_WORD(IPPROTO_IP),	  KL_WORD(IPPROTO_ICMP),   KL_WORD(IPPROTO_IGMP),
	KL_WORD(IPPROTO_TCP),	  KL_WORD(IPPROTO_UDP),	   KL_WORD(IPPROTO_DCCP),
	KL_WORD(IPPROTO_IPV6),	  KL_WORD(IPPROTO_GRE),	   KL_WORD(IPPROTO_ESP),
	KL_WORD(IPPROTO_AH),	  KL_WORD(IPPROTO_ICMPV6), KL_WORD(IPPROTO_SCTP),
	KL_WORD(IPPROTO_UDPLITE), KL_WORD(IPPROTO_RAW),	   { 262, "IPPROTO_MPTCP" },
};

static const struct kl_word settings[] = {
#define KL_SETTING(id, macro, name, scope, help) { id, name },
#include "../../uapi/settings.def"
#undef KL_SETTING
};

static const struct kl_word counters[] = { { ~0ull, "uncounted" } };

static const struct kl_word policies[] = {
	{ 0, "other" }, { 1, "fifo" },	   { 2, "rr" },	 { 3, "batch" },
	{ 5, "idle" },	{ 6, "deadline" }, { 7, "ext" },
};

/* The bits between class and level are hints about the request. */
#define IOPRIO_WORD(class, level, text)       \
	{                                     \
		(class) << 13 | (level), text \
	}
#define IOPRIO_LEVEL(class, name, level) IOPRIO_WORD(class, level, name ":" #level)
#define IOPRIO_CLASS(class, name)                                                                 \
	IOPRIO_LEVEL(class, name, 0), IOPRIO_LEVEL(class, name, 1), IOPRIO_LEVEL(class, name, 2), \
		IOPRIO_LEVEL(class, name, 3), IOPRIO_LEVEL(class, name, 4),                       \
		IOPRIO_LEVEL(class, name, 5), IOPRIO_LEVEL(class, name, 6),                       \
		IOPRIO_LEVEL(class, name, 7)
static const struct kl_word io_priorities[] = {
	IOPRIO_WORD(0, 0, "none"),	IOPRIO_WORD(0, 4, "none"), IOPRIO_CLASS(1, "realtime"),
	IOPRIO_CLASS(2, "best-effort"), IOPRIO_WORD(3, 0, "idle"), IOPRIO_WORD(3, 7, "idle"),
};

static const struct kl_word fault_none[] = { { 0, "0" } };
static const struct kl_word faults[] = {
	{ 0x1, "OOM" },		 { 0x2, "SIGBUS" },	     { 0x4, "MAJOR" },
	{ 0x10, "HWPOISON" },	 { 0x20, "HWPOISON_LARGE" }, { 0x40, "SIGSEGV" },
	{ 0x100, "NOPAGE" },	 { 0x200, "LOCKED" },	     { 0x400, "RETRY" },
	{ 0x800, "FALLBACK" },	 { 0x1000, "DONE_COW" },     { 0x2000, "NEEDDSYNC" },
	{ 0x4000, "COMPLETED" },
};

static const struct kl_word errors[] = {
	KL_WORD(EPERM),
	KL_WORD(ENOENT),
	KL_WORD(ESRCH),
	KL_WORD(EINTR),
	KL_WORD(EIO),
	KL_WORD(ENXIO),
	KL_WORD(E2BIG),
	KL_WORD(ENOEXEC),
	KL_WORD(EBADF),
	KL_WORD(ECHILD),
	KL_WORD(EAGAIN),
	KL_WORD(ENOMEM),
	KL_WORD(EACCES),
	KL_WORD(EFAULT),
	KL_WORD(ENOTBLK),
	KL_WORD(EBUSY),
	KL_WORD(EEXIST),
	KL_WORD(EXDEV),
	KL_WORD(ENODEV),
	KL_WORD(ENOTDIR),
	KL_WORD(EISDIR),
	KL_WORD(EINVAL),
	KL_WORD(ENFILE),
	KL_WORD(EMFILE),
	KL_WORD(ENOTTY),
	KL_WORD(ETXTBSY),
	KL_WORD(EFBIG),
	KL_WORD(ENOSPC),
	KL_WORD(ESPIPE),
	KL_WORD(EROFS),
	KL_WORD(EMLINK),
	KL_WORD(EPIPE),
	KL_WORD(EDOM),
	KL_WORD(ERANGE),
	KL_WORD(EDEADLK),
	KL_WORD(ENAMETOOLONG),
	KL_WORD(ENOLCK),
	KL_WORD(ENOSYS),
	KL_WORD(ENOTEMPTY),
	KL_WORD(ELOOP),
	KL_WORD(ENOMSG),
	KL_WORD(EIDRM),
	KL_WORD(ECHRNG),
	KL_WORD(EL2NSYNC),
	KL_WORD(EL3HLT),
	KL_WORD(EL3RST),
	KL_WORD(ELNRNG),
	KL_WORD(EUNATCH),
	KL_WORD(ENOCSI),
	KL_WORD(EL2HLT),
	KL_WORD(EBADE),
	KL_WORD(EBADR),
	KL_WORD(EXFULL),
	KL_WORD(ENOANO),
	KL_WORD(EBADRQC),
	KL_WORD(EBADSLT),
	KL_WORD(EBFONT),
	KL_WORD(ENOSTR),
	KL_WORD(ENODATA),
	KL_WORD(ETIME),
	KL_WORD(ENOSR),
	KL_WORD(ENONET),
	KL_WORD(ENOPKG),
	KL_WORD(EREMOTE),
	KL_WORD(ENOLINK),
	KL_WORD(EADV),
	KL_WORD(ESRMNT),
	KL_WORD(ECOMM),
	KL_WORD(EPROTO),
	KL_WORD(EMULTIHOP),
	KL_WORD(EDOTDOT),
	KL_WORD(EBADMSG),
	KL_WORD(EOVERFLOW),
	KL_WORD(ENOTUNIQ),
	KL_WORD(EBADFD),
	KL_WORD(EREMCHG),
	KL_WORD(ELIBACC),
	KL_WORD(ELIBBAD),
	KL_WORD(ELIBSCN),
	KL_WORD(ELIBMAX),
	KL_WORD(ELIBEXEC),
	KL_WORD(EILSEQ),
	KL_WORD(ERESTART),
	KL_WORD(ESTRPIPE),
	KL_WORD(EUSERS),
	KL_WORD(ENOTSOCK),
	KL_WORD(EDESTADDRREQ),
	KL_WORD(EMSGSIZE),
	KL_WORD(EPROTOTYPE),
	KL_WORD(ENOPROTOOPT),
	KL_WORD(EPROTONOSUPPORT),
	KL_WORD(ESOCKTNOSUPPORT),
	KL_WORD(EOPNOTSUPP),
	KL_WORD(EPFNOSUPPORT),
	KL_WORD(EAFNOSUPPORT),
	KL_WORD(EADDRINUSE),
	KL_WORD(EADDRNOTAVAIL),
	KL_WORD(ENETDOWN),
	KL_WORD(ENETUNREACH),
	KL_WORD(ENETRESET),
	KL_WORD(ECONNABORTED),
	KL_WORD(ECONNRESET),
	KL_WORD(ENOBUFS),
	KL_WORD(EISCONN),
	KL_WORD(ENOTCONN),
	KL_WORD(ESHUTDOWN),
	KL_WORD(ETOOMANYREFS),
	KL_WORD(ETIMEDOUT),
	KL_WORD(ECONNREFUSED),
	KL_WORD(EHOSTDOWN),
	KL_WORD(EHOSTUNREACH),
	KL_WORD(EALREADY),
	KL_WORD(EINPROGRESS),
	KL_WORD(ESTALE),
	KL_WORD(EUCLEAN),
	KL_WORD(ENOTNAM),
	KL_WORD(ENAVAIL),
	KL_WORD(EISNAM),
	KL_WORD(EREMOTEIO),
	KL_WORD(EDQUOT),
	KL_WORD(ENOMEDIUM),
	KL_WORD(EMEDIUMTYPE),
	KL_WORD(ECANCELED),
	KL_WORD(ENOKEY),
	KL_WORD(EKEYEXPIRED),
	KL_WORD(EKEYREVOKED),
	KL_WORD(EKEYREJECTED),
	KL_WORD(EOWNERDEAD),
	KL_WORD(ENOTRECOVERABLE),
	KL_WORD(ERFKILL),
	/* The kernel's internal errors, which users see only in a trace. */
	{ 512, "ERESTARTSYS" },
	{ 513, "ERESTARTNOINTR" },
	{ 514, "ERESTARTNOHAND" },
	{ 515, "ENOIOCTLCMD" },
	{ 516, "ERESTART_RESTARTBLOCK" },
	{ 517, "EPROBE_DEFER" },
	{ 529, "EIOCBQUEUED" },
};

#define CHOICE(words, mask) .choices = words, .n_choices = KL_ARRAY_SIZE(words), .choice_mask = mask
#define FLAGS(words) .flags = words, .n_flags = KL_ARRAY_SIZE(words)

const struct kl_words kl_words_kernel[KL_FORMAT_COUNT] = {
	[KL_FORMAT_task_state] = { CHOICE(states_run, ~0ull), FLAGS(states) },
	[KL_FORMAT_softirq] = { CHOICE(softirqs, ~0ull) },
	[KL_FORMAT_sock_state] = { CHOICE(tcp_states, ~0ull) },
	[KL_FORMAT_sock_proto] = { CHOICE(protocols, ~0ull) },
	[KL_FORMAT_setting] = { CHOICE(settings, ~0ull) },
	[KL_FORMAT_counter] = { CHOICE(counters, ~0ull) },
	[KL_FORMAT_policy] = { CHOICE(policies, ~0ull) },
	[KL_FORMAT_ioprio] = { CHOICE(io_priorities, 0xe007) },
	[KL_FORMAT_vm_fault] = { CHOICE(fault_none, ~0ull), FLAGS(faults) },
};

/* clang-format on */

const char *kl_detail_policy_name(uint32_t policy)
{
	const char *name = kl_word_find(policies, KL_ARRAY_SIZE(policies), policy);

	return name ? name : "unknown";
}

const char *kl_errno_name(unsigned int number)
{
	return kl_word_find(errors, KL_ARRAY_SIZE(errors), number);
}
