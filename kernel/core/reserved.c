// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that survives a reset: reserved on the kernel's command line, so that neither firmware nor
 * kernel use it, and given to sessions that are to be kept. What an earlier boot left there stays
 * until it is given up (kl_reserved_forget); until then no session gets any of it. `reserved_lock`
 * guards which pages are in use, and the change from full to empty.
 */
#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/ctype.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../../uapi/crash.h"
#include "reserved.h"

#include "compat_config.h"

#define COMMAND_LINE "/proc/cmdline"
#define COMMAND_LINE_MAX SZ_8K
#define BYTES_MIN SZ_1M
#define BYTES_MAX BIT_ULL(40)

static char *reserved_memory = "kernlens";
module_param(reserved_memory, charp, 0400);
MODULE_PARM_DESC(reserved_memory,
		 "memory for traces that survive a reset: SIZE$ADDRESS of memmap=, or the name of "
		 "reserve_mem= (kernlens)");

static DEFINE_MUTEX(reserved_lock);
static u8 *memory;
static u64 address;
static u64 bytes;
static unsigned long *used;
static u32 pages;
static u32 n_used;
static bool full;
static struct kl_error failure;

/* ------------------------------------------------------- where it is */

/* Does an argument memmap= of the kernel reserve all of it? @text: what follows the `=`. */
static bool covers(const char *text)
{
	char *at = (char *)text;

	for (;;) {
		u64 size = memparse(at, &at), begin;
		bool reserves = *at == '$';

		if (reserves || *at == '@' || *at == '#' || *at == '!') {
			begin = memparse(at + 1, &at);
			if (reserves && size >= bytes && begin <= address &&
			    address - begin <= size - bytes)
				return true;
		}
		if (*at != ',')
			return false;
		at++;
	}
}

static bool is_reserved_by(const char *line)
{
	static const char name[] = "memmap=";
	const char *at = line;

	while ((at = strstr(at, name))) {
		bool begins = at == line || isspace(at[-1]);

		at += strlen(name);
		if (begins && covers(at))
			return true;
	}
	return false;
}

/* The kernel keeps its command line in no variable that modules can access. */
static bool is_on_command_line(void)
{
	char *line = kzalloc(COMMAND_LINE_MAX, GFP_KERNEL);
	struct file *file = filp_open(COMMAND_LINE, O_RDONLY, 0);
	bool found = false;
	loff_t at = 0;

	if (line && !IS_ERR(file) && kernel_read(file, line, COMMAND_LINE_MAX - 1, &at) > 0)
		found = is_reserved_by(line);
	if (!IS_ERR(file))
		filp_close(file, NULL);
	kfree(line);
	return found;
}

/* SIZE$ADDRESS, which a shell or a boot loader may have made SIZE@ADDRESS. */
static int find_by_address(void)
{
	char *at = NULL;

	bytes = memparse(reserved_memory, &at);
	address = *at == '$' || *at == '@' ? memparse(at + 1, &at) : 0;
	if (*at)
		return kl_fail(&failure, -EINVAL, "reserved_memory is not SIZE$ADDRESS");
	if (!PAGE_ALIGNED(address) || !PAGE_ALIGNED(bytes) || bytes < BYTES_MIN ||
	    bytes > BYTES_MAX || address > BYTES_MAX)
		return kl_fail(&failure, -EINVAL,
			       "reserved_memory must be 1 MiB or more, in whole pages");
	if (region_intersects(address, bytes, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) !=
	    REGION_DISJOINT)
		return kl_fail(&failure, -EBUSY,
			       "the memory of reserved_memory is in use by the kernel");
	if (!is_on_command_line())
		return kl_fail(&failure, -EINVAL,
			       "no memmap=SIZE$ADDRESS reserves the memory of reserved_memory");
	return 0;
}

static int find_by_name(void)
{
#ifdef KL_HAVE_RESERVE_MEM
	phys_addr_t start, size;

	if (reserve_mem_find_by_name(reserved_memory, &start, &size)) {
		address = PAGE_ALIGN(start);
		bytes = PAGE_ALIGN_DOWN(start + size) - address;
		if (size >= BYTES_MIN)
			return 0;
		return kl_fail(&failure, -EINVAL, "less than 1 MiB of memory is reserved");
	}
#endif
	return kl_fail(&failure, -ENODEV, "no memory is reserved for it (kernlens-extract(1))");
}

/* ------------------------------------------------------- what is left in it */

/* Clear what lets extraction find a page. */
static void clear_head(u32 page)
{
	memset(memory + (u64)page * PAGE_SIZE, 0, sizeof(struct kl_crash_head));
}

/*
 * Has an earlier boot left pages of a session? An anchor without sessions leads to nothing. A page
 * of the module says its own address, so bytes of a record, which a user chose, are none unless the
 * user knows where they are.
 */
static bool has_session(void)
{
	u64 magic[2];

	kl_crash_magic(magic);
	for (u32 i = 0; i < pages; i++) {
		const struct kl_crash_head *head = (void *)(memory + (u64)i * PAGE_SIZE);

		if (head->magic[0] == magic[0] && head->magic[1] == magic[1] &&
		    head->address == address + (u64)i * PAGE_SIZE && head->kind != KL_CRASH_ANCHOR)
			return true;
		cond_resched();
	}
	return false;
}

/* All of it: before it was reserved, another kernel may have had secrets there. */
static void clear_all(void)
{
	for (u32 i = 0; i < pages; i++) {
		memset(memory + (u64)i * PAGE_SIZE, 0, PAGE_SIZE);
		cond_resched();
	}
}

static int map(void)
{
	memory = memremap(address, bytes, MEMREMAP_WB);
	if (!memory)
		return kl_fail(&failure, -ENXIO, "the reserved memory cannot be mapped");
	pages = bytes / PAGE_SIZE;
	used = bitmap_zalloc(pages, GFP_KERNEL);
	if (used)
		return 0;
	memunmap(memory);
	memory = NULL;
	return kl_fail(&failure, -ENOMEM, "no memory for a list of the reserved memory's pages");
}

/**
 * kl_reserved_init - map the reserved memory, if there is any
 *
 * A failure is reported to sessions that want the memory; the module works without.
 */
void kl_reserved_init(void)
{
	int error = reserved_memory[strcspn(reserved_memory, "$@")] ? find_by_address() :
								      find_by_name();

	if (!error)
		error = map();
	if (error) {
		bytes = 0;
		if (error != -ENODEV)
			pr_warn("kernlens: %s\n", failure.text);
		return;
	}
	full = has_session();
	if (!full)
		clear_all();
	pr_info("kernlens: %llu KiB of reserved memory%s\n", bytes / SZ_1K,
		full ? ", with sessions of an earlier boot" : "");
}

/**
 * kl_reserved_deinit - unmap the reserved memory, after the last session
 */
void kl_reserved_deinit(void)
{
	if (!memory)
		return;
	bitmap_free(used);
	memunmap(memory);
	memory = NULL;
}

/* ------------------------------------------------------- its pages */

/**
 * kl_reserved_bytes - size of the memory; 0: there is none
 */
u64 kl_reserved_bytes(void)
{
	return bytes;
}

/**
 * kl_reserved_free_bytes - what no session uses
 *
 * Context: may sleep.
 */
u64 kl_reserved_free_bytes(void)
{
	u64 n;

	mutex_lock(&reserved_lock);
	n = (u64)(pages - n_used) * PAGE_SIZE;
	mutex_unlock(&reserved_lock);
	return n;
}

/**
 * kl_reserved_check - may a session be created in the memory?
 * @why: set if not
 *
 * Returns 0, or the reason why there is no memory, or -EBUSY if it still has what an earlier boot
 * has left. Context: may sleep.
 */
int kl_reserved_check(struct kl_error *why)
{
	if (!memory)
		return kl_fail(why, failure.error, "%s", failure.text);
	if (kl_reserved_is_full())
		return kl_fail(why, -EBUSY,
			       "the reserved memory has traces of an earlier boot: save or forget "
			       "them with kernlens extract --kept");
	return 0;
}

/**
 * kl_reserved_alloc - allocate whole, zeroed pages
 * @size: at least one byte
 *
 * Returns NULL if not enough is free, or if the memory is full. Context: may sleep.
 */
void *kl_reserved_alloc(u64 size)
{
	unsigned long n = DIV_ROUND_UP(size, PAGE_SIZE), at = pages;

	mutex_lock(&reserved_lock);
	if (memory && !full && n && n <= pages)
		at = bitmap_find_next_zero_area(used, pages, 0, n, 0);
	if (at < pages) {
		bitmap_set(used, at, n);
		n_used += n;
	}
	mutex_unlock(&reserved_lock);
	if (at >= pages)
		return NULL;
	/* Readers will map it, and an earlier boot has used it. */
	for (unsigned long i = at; i < at + n; i++) {
		memset(memory + i * PAGE_SIZE, 0, PAGE_SIZE);
		cond_resched();
	}
	return memory + at * PAGE_SIZE;
}

/**
 * kl_reserved_free - free pages
 * @from: from kl_reserved_alloc()
 * @size: as allocated
 *
 * Context: may sleep.
 */
void kl_reserved_free(void *from, u64 size)
{
	u32 n = DIV_ROUND_UP(size, PAGE_SIZE), at = ((u8 *)from - memory) / PAGE_SIZE;

	/* What a record has at the beginning of a page could be taken for the module's. */
	for (u32 i = at; i < at + n; i++)
		clear_head(i);
	mutex_lock(&reserved_lock);
	bitmap_clear(used, at, n);
	n_used -= n;
	mutex_unlock(&reserved_lock);
}

/**
 * kl_reserved_has - is a pointer into the memory?
 * @pointer: any pointer, or NULL
 *
 * Context: any.
 */
bool kl_reserved_has(const void *pointer)
{
	return memory && (const u8 *)pointer >= memory && (const u8 *)pointer < memory + bytes;
}

/**
 * kl_reserved_address - physical address of a pointer into the memory
 * @pointer: of which kl_reserved_has() is true
 *
 * Context: any.
 */
u64 kl_reserved_address(const void *pointer)
{
	return address + ((const u8 *)pointer - memory);
}

/**
 * kl_reserved_at - the reverse of kl_reserved_address()
 * @physical: any address
 *
 * Returns NULL if it is not in the memory. Context: any.
 */
void *kl_reserved_at(u64 physical)
{
	return memory && physical - address < bytes ? memory + (physical - address) : NULL;
}

/* ------------------------------------------------------- what an earlier boot has left */

/**
 * kl_reserved_is_full - does the memory have what an earlier boot has left?
 *
 * Context: any.
 */
bool kl_reserved_is_full(void)
{
	return READ_ONCE(full);
}

/**
 * kl_reserved_memory - the whole memory, to be read while it is full
 */
const u8 *kl_reserved_memory(void)
{
	return memory;
}

/**
 * kl_reserved_forget - give up what an earlier boot has left
 *
 * Returns 0, or -ENODATA if there is nothing. Context: may sleep.
 */
int kl_reserved_forget(void)
{
	bool was_full;

	mutex_lock(&reserved_lock);
	was_full = full;
	if (full)
		clear_all();
	/* kl_reserved_is_full() takes no lock; what allocates pages does. */
	WRITE_ONCE(full, false);
	mutex_unlock(&reserved_lock);
	return was_full ? 0 : -ENODATA;
}
