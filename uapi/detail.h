/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * KL_IOC_DETAIL: details of one process or thread that do not fit a number of fixed size. A call
 * requests one kind of detail and gets records of it; if they do not fit, repeat the call with
 * the returned cursor.
 *
 *   - A record begins with struct kl_abi_detail_record, and its size is a multiple of 8 bytes. Its
 *     struct is followed by texts, each as long as the struct says and terminated by a NUL that is
 *     not counted; they may contain any bytes.
 *   - Task ids are in the caller's pid namespace, 0 if not visible there; user and group ids are in
 *     its user namespace.
 *   - Times are in ns, sizes in bytes, unless a name says otherwise.
 *   - If a list changes between two calls, entries that are added or removed may be missed.
 */
#ifndef KL_UAPI_DETAIL_H
#define KL_UAPI_DETAIL_H

#include "types.h"

enum kl_detail_kind {
	KL_DETAIL_TASK = 1, /* one kl_abi_detail_task */
	KL_DETAIL_COMMAND = 2, /* kl_abi_detail_bytes: arguments, each terminated by a NUL */
	KL_DETAIL_PATHS = 3, /* kl_abi_detail_path */
	KL_DETAIL_FILES = 4, /* kl_abi_detail_file, by descriptor */
	KL_DETAIL_SOCKETS = 5, /* kl_abi_detail_socket, by descriptor */
	KL_DETAIL_MAPS = 6, /* kl_abi_detail_map, by address */
	KL_DETAIL_MEMORY = 7, /* one kl_abi_detail_memory */
	KL_DETAIL_SIGNALS = 8, /* one kl_abi_detail_signals */
	KL_DETAIL_NAMESPACES = 9, /* kl_abi_detail_namespace */
	KL_DETAIL_CGROUPS = 10, /* kl_abi_detail_cgroup */
	KL_DETAIL_RIGHTS = 11, /* one kl_abi_detail_rights */
	KL_DETAIL_AFFINITY = 12, /* one kl_abi_detail_affinity */
	KL_DETAIL_LIMITS = 13, /* one kl_abi_detail_limits */
	KL_DETAIL_IO = 14, /* one kl_abi_detail_io */
	KL_DETAIL_SYSCALL = 15, /* one kl_abi_detail_syscall; guarded */
	KL_DETAIL_STACK = 16, /* kl_abi_detail_frame; needs KL_MAY_SEE_ADDRESSES */
	KL_DETAIL_WAIT = 17, /* kl_abi_detail_wait, _file, _socket, _other; partly guarded */
	KL_DETAIL_CHILDREN = 18, /* kl_abi_detail_child, by pid */
	KL_DETAIL_ENVIRONMENT = 19, /* kl_abi_detail_bytes; guarded */
	KL_DETAIL_PAGES = 20, /* kl_abi_detail_pages, by address */
	KL_DETAIL_FRAMES = 21, /* the same, with frame numbers; needs KL_MAY_SEE_ADDRESSES */
	KL_DETAIL_SHARED_PAGES = 22, /* the same of pages mapped more than once, with their ids */
	KL_DETAIL_KINDS = 23,
};

/* Kind of a record; usually the requested kind. */
enum kl_detail_record {
	KL_DETAIL_RECORD_WAIT_ON = 32, /* kl_abi_detail_file: file that is waited for */
	KL_DETAIL_RECORD_WAIT_SOCKET = 33, /* kl_abi_detail_socket: socket that is waited for */
	KL_DETAIL_RECORD_WAIT_OTHER = 34, /* kl_abi_detail_other: task that can end the wait */
};

#define KL_DETAIL_ENDED 0x1u /* out: the process is exiting or has exited; data may be missing */
#define KL_DETAIL_MORE 0x2u /* out: call again with the cursor */
#define KL_DETAIL_CUT 0x4u /* out: the result exceeded the maximum and was truncated */

#define KL_DETAIL_BYTES_MIN 8192u /* fits a record with the longest path */
#define KL_DETAIL_BYTES_MAX (1u << 20)

/*
 * Guarded kinds require the right to trace the process (ptrace(2)), which only the kernel's own
 * code can decide. `proof` is a descriptor of /proc/PID/mem or, for the environment, of
 * /proc/PID/environ, which the kernel lets only callers with that right open; nothing is read
 * from it. The caller's own process needs no proof.
 *
 * Errors: -ESRCH: no such process, or not visible to the caller; -EACCES: the process is visible,
 * but this kind of detail is not allowed; -EPERM: this kind is not allowed for any process;
 * -EAGAIN: it kept executing new programs; -EINTR: interrupted by a signal.
 */
struct kl_abi_detail {
	__u32 size;
	__s32 pid; /* thread or process */
	__u32 what; /* enum kl_detail_kind */
	__u32 flags; /* out: KL_DETAIL_* */
	__u64 cursor; /* in: 0 to begin; out */
	__u64 buffer; /* out: void *, aligned to 8 bytes */
	__u32 bytes; /* in: capacity, KL_DETAIL_BYTES_MIN or more; out: written */
	__u32 records; /* out */
	__s32 proof; /* in: descriptor, or -1 */
	__u32 reserved;
};

struct kl_abi_detail_record {
	__u32 bytes; /* including this struct and the texts */
	__u16 kind; /* enum kl_detail_kind or kl_detail_record */
	__u16 flags; /* KL_DETAIL_CUT: a text was truncated */
};

/* Basic properties of a task. */
struct kl_abi_detail_task {
	struct kl_abi_detail_record record;
	__s32 tid;
	__s32 pid;
	__s32 ppid;
	__s32 pgid;
	__s32 sid;
	__s32 tracer; /* 0: none */
	__u32 uid;
	__u32 gid;
	char comm[KL_COMM_LEN];
	__u32 state; /* KL_TASK_STATE_* */
	__s32 exit_code; /* of a zombie, as in wait(2) */
	__s32 prio; /* the kernel's: 0..99 real-time, 100..139 nice -20..19 */
	__s32 static_prio;
	__s32 normal_prio;
	__s32 nice;
	__u32 policy; /* SCHED_* */
	__u32 cpu; /* CPU that it runs on, or ran on last */
	__u32 threads;
	__u32 flags; /* KL_DETAIL_TASK_* */
	__u64 min_faults; /* of the process, including threads that have ended */
	__u64 maj_faults;
	__u64 start_ns; /* since boot */
	__u64 now_ns; /* the same clock, now */
	__u64 cpu_ns; /* of all threads */
	__u32 exe_links; /* hard links of the executable; 0: none or deleted */
	__u32 reserved;
};

#define KL_DETAIL_TASK_KERNEL 0x1u /* a kernel thread */
#define KL_DETAIL_TASK_ENDING 0x2u
#define KL_DETAIL_TASK_ON_CPU 0x4u /* running now */

enum kl_detail_state {
	KL_TASK_STATE_RUNNING,
	KL_TASK_STATE_SLEEPING, /* interruptible */
	KL_TASK_STATE_DISK, /* uninterruptible: "D" */
	KL_TASK_STATE_STOPPED,
	KL_TASK_STATE_TRACED,
	KL_TASK_STATE_DEAD,
	KL_TASK_STATE_ZOMBIE,
	KL_TASK_STATE_PARKED,
	KL_TASK_STATE_IDLE, /* an idle kernel thread */
};

struct kl_abi_detail_bytes {
	struct kl_abi_detail_record record;
	__u64 offset; /* in the whole text; counted by the cursor as well */
	__u32 text_bytes;
	__u32 reserved;
	/* text */
};

enum kl_detail_path {
	KL_DETAIL_PATH_EXE,
	KL_DETAIL_PATH_CWD,
	KL_DETAIL_PATH_ROOT,
};

#define KL_DETAIL_PATH_BYTES_MAX 4096u /* including its NUL; longer paths lose their beginning */

struct kl_abi_detail_path {
	struct kl_abi_detail_record record;
	__u32 which; /* enum kl_detail_path */
	__u32 text_bytes;
	/* text: as seen from the caller's root; may end in " (deleted)" */
};

enum kl_detail_file_kind {
	KL_DETAIL_FILE_REGULAR,
	KL_DETAIL_FILE_DIRECTORY,
	KL_DETAIL_FILE_CHARACTER,
	KL_DETAIL_FILE_BLOCK,
	KL_DETAIL_FILE_FIFO, /* with a name */
	KL_DETAIL_FILE_PIPE,
	KL_DETAIL_FILE_SOCKET,
	KL_DETAIL_FILE_LINK, /* opened with O_PATH */
	KL_DETAIL_FILE_MEMFD,
	KL_DETAIL_FILE_EVENTFD,
	KL_DETAIL_FILE_EPOLL,
	KL_DETAIL_FILE_TIMERFD,
	KL_DETAIL_FILE_SIGNALFD,
	KL_DETAIL_FILE_INOTIFY,
	KL_DETAIL_FILE_FANOTIFY,
	KL_DETAIL_FILE_PIDFD,
	KL_DETAIL_FILE_IO_URING,
	KL_DETAIL_FILE_NAMESPACE,
	KL_DETAIL_FILE_ANON, /* another file without a file system */
	KL_DETAIL_FILE_UNKNOWN,
};

#define KL_DETAIL_FILE_DELETED 0x1u /* it no longer has a name */
#define KL_DETAIL_FILE_CLOEXEC 0x2u
#define KL_DETAIL_FILE_READ 0x4u
#define KL_DETAIL_FILE_WRITE 0x8u
#define KL_DETAIL_FILE_LOCKED 0x10u /* a flock or record lock is held on its inode */

struct kl_abi_detail_file {
	struct kl_abi_detail_record record;
	__s32 fd; /* -1: none */
	__u32 kind; /* enum kl_detail_file_kind */
	__u32 flags; /* KL_DETAIL_FILE_* */
	__u32 open_flags; /* O_* */
	__u32 mode; /* S_IF* and permissions */
	__u32 links;
	__u32 dev_major; /* of the file system */
	__u32 dev_minor;
	__u32 rdev_major; /* for a device file */
	__u32 rdev_minor;
	__u64 inode;
	__u64 file_bytes; /* for a pipe: bytes in it */
	__u64 position;
	__u32 events; /* for a wait: POLL*; else 0 */
	__u32 text_bytes;
	__u32 info_bytes;
	__u32 reserved;
	/*
	 * text: path, or the kernel's name for it ("pipe:[12]"); info: lines that the kernel
	 * shows for eventfd, epoll, timerfd, signalfd and inotify ("tfd: 5 ...")
	 */
};

#define KL_DETAIL_ADDRESS_BYTES 128 /* sizeof(struct sockaddr_storage) */

struct kl_abi_detail_socket {
	struct kl_abi_detail_record record;
	__s32 fd;
	__u32 family; /* AF_* */
	__u32 type; /* SOCK_* */
	__u32 protocol; /* IPPROTO_*, or the family's own */
	__u32 state; /* TCP_* for all families: 1 established, 7 close, 10 listen ... */
	__u32 flags; /* KL_DETAIL_SOCKET_* */
	__u64 inode;
	__u64 peer_inode; /* for a unix socket; 0: none */
	__u64 recv_queue; /* bytes; if listening, connections; as in ss(8) */
	__u64 send_queue; /* bytes; if listening, maximum number of connections */
	__u64 recv_room; /* SO_RCVBUF */
	__u64 send_room; /* SO_SNDBUF */
	__u64 drops;
	__u64 bytes_sent; /* TCP: acknowledged */
	__u64 bytes_received;
	__u32 retransmits; /* TCP: total */
	__u32 rtt_us;
	__u32 congestion_window; /* segments */
	__u32 net_namespace; /* inode */
	__u32 uid; /* of the socket */
	__u32 bound_interface; /* index; 0: none */
	__u32 local_bytes; /* size of `local`; 0: none */
	__u32 remote_bytes;
	__u8 local[KL_DETAIL_ADDRESS_BYTES]; /* struct sockaddr of the family */
	__u8 remote[KL_DETAIL_ADDRESS_BYTES];
};

#define KL_DETAIL_SOCKET_NUMBERS 0x1u /* the TCP values are valid */

enum kl_detail_map_kind {
	KL_DETAIL_MAP_ANON,
	KL_DETAIL_MAP_FILE,
	KL_DETAIL_MAP_HEAP,
	KL_DETAIL_MAP_STACK,
	KL_DETAIL_MAP_SPECIAL, /* provided by the kernel: [vdso] ... */
};

#define KL_DETAIL_MAP_READ 0x1u
#define KL_DETAIL_MAP_WRITE 0x2u
#define KL_DETAIL_MAP_EXEC 0x4u
#define KL_DETAIL_MAP_SHARED 0x8u
#define KL_DETAIL_MAP_LOCKED 0x10u
#define KL_DETAIL_MAP_HUGETLB 0x20u
#define KL_DETAIL_MAP_GROWS_DOWN 0x40u
#define KL_DETAIL_MAP_DEVICE 0x80u /* I/O memory, or pages that the kernel does not account */

struct kl_abi_detail_map {
	struct kl_abi_detail_record record;
	__u64 start;
	__u64 end;
	__u64 offset; /* in the file */
	__u64 inode;
	__u64 rss; /* in RAM; determined by walking the page tables */
	__u64 huge; /* part of rss in huge pages; hugetlb is not in rss */
	__u64 hugetlb;
	__u64 swapped;
	__u32 flags; /* KL_DETAIL_MAP_* */
	__u32 kind; /* enum kl_detail_map_kind */
	__u32 dev_major;
	__u32 dev_minor;
	__u32 page_bytes; /* size of its smallest possible page */
	__u32 text_bytes;
	/* text: path or name; empty: none */
};

#define KL_DETAIL_PAGE_BYTES 4096u

/* State of pages: */
#define KL_PAGE_SWAPPED 0x1u /* not in RAM; nothing else is known */
#define KL_PAGE_MIGRATING 0x2u /* being moved to another frame; nothing else is known */
#define KL_PAGE_ZERO 0x4u /* the kernel's page of zeros, which does not count as memory */
#define KL_PAGE_WRITABLE 0x8u /* a write does not fault */
#define KL_PAGE_WRITTEN 0x10u /* written through this mapping */
#define KL_PAGE_ACCESSED 0x20u /* accessed through this mapping since the bit was last cleared */
#define KL_PAGE_SOFT_DIRTY 0x40u /* written since /proc/PID/clear_refs was last written */
#define KL_PAGE_HUGETLB 0x80u
#define KL_PAGE_ANON 0x100u /* else it belongs to a file */
#define KL_PAGE_SWAPBACKED 0x200u /* of a file: shared memory; anonymous without it: lazily freed */
#define KL_PAGE_DIRTY 0x400u /* differs from its copy on the disk or in swap */
#define KL_PAGE_REFERENCED 0x800u /* accessed through any mapping or by a read or write */
/* These only for a caller with KL_MAY_SEE_ADDRESSES, or if the page is the process's alone: */
#define KL_PAGE_UPTODATE 0x1000u
#define KL_PAGE_LRU 0x2000u /* on a list of pages that can be reclaimed */
#define KL_PAGE_ACTIVE 0x4000u
#define KL_PAGE_WRITEBACK 0x8000u /* being written to the disk or to swap */
#define KL_PAGE_RECLAIM 0x10000u /* to be reclaimed when it is written; read ahead */
#define KL_PAGE_UNEVICTABLE 0x20000u
#define KL_PAGE_MLOCKED 0x40000u
#define KL_PAGE_SWAPCACHE 0x80000u
#define KL_PAGE_KSM 0x100000u /* merged with pages of the same content */
#define KL_PAGE_HWPOISON 0x200000u

enum kl_page_zone {
	KL_ZONE_DMA,
	KL_ZONE_DMA32,
	KL_ZONE_NORMAL,
	KL_ZONE_MOVABLE,
	KL_ZONE_DEVICE,
};

/* Consecutive pages of 4 KiB in the same state. Pages that are not listed are not in RAM. */
struct kl_abi_detail_pages {
	struct kl_abi_detail_record record;
	__u64 start; /* virtual address */
	/*
	 * KL_DETAIL_FRAMES: frame number of the first page; the frames are consecutive.
	 * KL_DETAIL_SHARED_PAGES: one page, and a number that stands for its frame. It is the same
	 * in each process until the module is unloaded, but does not reveal the physical address.
	 */
	__u64 frame;
	__u32 pages;
	__u32 flags; /* KL_PAGE_* */
	__u32 mapcount; /* mappings of each page; including those of other processes */
	__u16 node;
	__u8 zone; /* enum kl_page_zone */
	__u8 map_order; /* page table entries map 2^map_order pages: 0, 9 or 18 */
	__u8 folio_order; /* the kernel manages 2^folio_order pages as one */
	__u8 reserved[7];
};

/* Addresses and sizes as stored in the kernel; all 0 for a kernel thread. */
struct kl_abi_detail_memory {
	struct kl_abi_detail_record record;
	__u64 code_start;
	__u64 code_end;
	__u64 data_start;
	__u64 data_end;
	__u64 heap_start;
	__u64 heap_end; /* the program break */
	__u64 stack_start; /* initial stack pointer */
	__u64 arguments_start;
	__u64 arguments_end;
	__u64 environment_start;
	__u64 environment_end;
	__u64 size; /* of the address space */
	__u64 size_peak;
	__u64 code; /* executable mappings of the program and its libraries */
	__u64 data; /* private writable mappings */
	__u64 stack;
	__u64 locked;
	__u64 pinned;
	__u64 rss;
	__u64 rss_anon;
	__u64 rss_file;
	__u64 rss_shared;
	__u64 rss_peak;
	__u64 swap;
	__u64 page_tables;
	__u32 mappings;
	__u32 reserved;
};

/* Sets of signals: bit 0 is signal 1. */
struct kl_abi_detail_signals {
	struct kl_abi_detail_record record;
	__u64 pending; /* for the thread */
	__u64 pending_process;
	__u64 blocked;
	__u64 ignored;
	__u64 caught;
	__u64 queued; /* pending signals of the user, in all processes */
	__u64 queued_max;
};

struct kl_abi_detail_namespace {
	struct kl_abi_detail_record record;
	__u32 type; /* CLONE_NEW* */
	__u32 inode;
	__u32 children; /* 1: the namespace for new children (time and pid) */
	__u32 same; /* 1: the caller is in it, too */
};

struct kl_abi_detail_cgroup {
	struct kl_abi_detail_record record;
	__u32 hierarchy; /* 0: the unified hierarchy */
	__u32 name_bytes;
	__u32 text_bytes;
	__u32 reserved;
	__u64 id;
	/* name: the hierarchy's controllers, separated by commas; text: path */
};

#define KL_DETAIL_GROUPS_MAX 65536

struct kl_abi_detail_rights {
	struct kl_abi_detail_record record;
	__u32 uid, euid, suid, fsuid;
	__u32 gid, egid, sgid, fsgid;
	__u64 inheritable; /* capabilities; bit 0 is CAP_CHOWN */
	__u64 permitted;
	__u64 effective;
	__u64 bounding;
	__u64 ambient;
	__u32 securebits;
	__u32 no_new_privs;
	__u32 seccomp; /* 0 none, 1 strict, 2 filter */
	__u32 dumpable; /* as in prctl(2) */
	__u32 login_uid; /* ~0: not set */
	__u32 text_bytes; /* 4 bytes for each supplementary group */
	/* text: __u32 groups */
};

struct kl_abi_detail_affinity {
	struct kl_abi_detail_record record;
	__u32 cpus; /* number of bits in the first text */
	__u32 nodes; /* bits in the second text: NUMA nodes that its memory may come from */
	__u32 cpu_bytes;
	__u32 node_bytes;
	/* cpus, then nodes: little-endian bits in words of 8 bytes */
};

#define KL_DETAIL_LIMITS_NUMBER 16 /* RLIMIT_*, by number */
#define KL_DETAIL_UNLIMITED (~0ull)

struct kl_abi_detail_limits {
	struct kl_abi_detail_record record;
	__u64 soft[KL_DETAIL_LIMITS_NUMBER];
	__u64 hard[KL_DETAIL_LIMITS_NUMBER];
};

/* Of the process, including threads that have ended. */
struct kl_abi_detail_io {
	struct kl_abi_detail_record record;
	__u64 read_chars;
	__u64 write_chars;
	__u64 reads;
	__u64 writes;
	__u64 read_bytes;
	__u64 write_bytes;
	__u64 cancelled_write_bytes;
};

struct kl_abi_detail_syscall {
	struct kl_abi_detail_record record;
	__s32 number; /* -1: not in a system call */
	__u32 flags; /* KL_DETAIL_CALL_* */
	__u64 argument[6];
	__u64 sp; /* user-space stack pointer */
	__u64 ip;
};

#define KL_DETAIL_CALL_RUNNING 0x1u /* it is running or runnable: the registers are unavailable */
#define KL_DETAIL_CALL_COMPAT 0x2u /* 32-bit: numbers are those of i386 */

struct kl_abi_detail_frame {
	struct kl_abi_detail_record record;
	__u64 address; /* return address in the kernel */
};

enum kl_detail_wait {
	KL_WAIT_NONE, /* not waiting */
	KL_WAIT_CPU, /* ready to run, but not on a CPU */
	KL_WAIT_STOPPED,
	KL_WAIT_TRACED, /* traced by `pid` */
	KL_WAIT_PARENT, /* a zombie: for its parent `pid` to reap it */
	KL_WAIT_KERNEL, /* a kernel thread, or outside a system call */
	KL_WAIT_HIDDEN, /* in a system call whose arguments the caller may not see */
	KL_WAIT_SYSCALL, /* in a system call about which no more is known */
	KL_WAIT_FUTEX, /* `address`; `value` is the word at it */
	KL_WAIT_MUTEX, /* as FUTEX; a mutex, whose owner is `pid` */
	KL_WAIT_THREAD, /* as FUTEX; for the thread `pid` to end */
	KL_WAIT_READ, /* from the file in the first record that follows */
	KL_WAIT_WRITE,
	KL_WAIT_ACCEPT,
	KL_WAIT_CONNECT,
	KL_WAIT_FILE, /* another operation on a file */
	KL_WAIT_OPEN, /* text: the path as passed by the program */
	KL_WAIT_POLL, /* one of several files, one record each */
	KL_WAIT_CHILD, /* for a child process: records that follow */
	KL_WAIT_VFORK, /* for the child `pid` to execute a program or exit */
	KL_WAIT_TIME, /* until `until_ns` */
	KL_WAIT_SIGNAL, /* `value`: set of signals, bit 0 is signal 1 */
	KL_WAIT_LOCK, /* for a lock on the file in the record that follows */
	KL_WAIT_IPC, /* System V: `value` is the id */
};

#define KL_WAIT_HAS_UNTIL 0x1u /* until_ns is valid: the wait ends then at the latest */
#define KL_WAIT_FROM_MEMORY 0x2u /* `pid` or `value` comes from the program's memory */
#define KL_WAIT_PI 0x4u /* a PI futex: the owner comes from the kernel */
#define KL_WAIT_SHARED 0x8u /* a futex that processes can share */
#define KL_WAIT_RECORD_LOCK 0x10u /* a lock from `start` to `end`; else on the whole file */
#define KL_WAIT_INTERRUPTIBLE 0x20u

struct kl_abi_detail_wait {
	struct kl_abi_detail_record record;
	__u32 reason; /* enum kl_detail_wait */
	__u32 flags; /* KL_WAIT_* */
	__s32 syscall; /* -1: none */
	__s32 pid; /* see the reason; 0: unknown */
	__u64 address;
	__u64 value;
	__u64 start;
	__u64 end;
	__u64 until_ns; /* CLOCK_MONOTONIC */
	__u64 now_ns; /* the same clock, now */
	__u64 asleep_ns; /* since it last got a CPU; 0: it runs, is runnable, or not known */
	__u32 text_bytes;
	__u32 reserved;
	/* text */
};

enum kl_detail_role {
	KL_OTHER_OWNER, /* of the mutex or lock */
	KL_OTHER_READER, /* reads from the pipe */
	KL_OTHER_WRITER,
	KL_OTHER_PEER, /* of the socket */
	KL_OTHER_CHILD,
	KL_OTHER_HOLDER, /* also has the file open, and can signal it */
	KL_OTHER_THREAD, /* the thread that must end */
	KL_OTHER_TRACER,
	KL_OTHER_PARENT,
};

struct kl_abi_detail_other {
	struct kl_abi_detail_record record;
	__s32 pid;
	__s32 tid;
	__s32 fd; /* its descriptor for the other end; -1: none */
	__s32 of; /* descriptor of the waiting process that this is about; -1: none */
	__u32 role; /* enum kl_detail_role */
	__u32 flags; /* KL_WAIT_FROM_MEMORY: comes from the program's memory */
	char comm[KL_COMM_LEN];
};

struct kl_abi_detail_child {
	struct kl_abi_detail_record record;
	__s32 pid;
	__s32 parent; /* thread that created it */
	__u32 state; /* KL_TASK_STATE_* */
	__u32 reserved;
	char comm[KL_COMM_LEN];
};

KL_ABI_ASSERT(sizeof(struct kl_abi_detail) == 48, "detail call");
KL_ABI_ASSERT(sizeof(struct kl_abi_detail_record) == 8, "detail record");
KL_ABI_ASSERT(sizeof(struct kl_abi_detail_task) % 8 == 0, "detail of a task");
KL_ABI_ASSERT(offsetof(struct kl_abi_detail_socket, local) % 8 == 0, "detail of a socket");

#endif /* KL_UAPI_DETAIL_H */
