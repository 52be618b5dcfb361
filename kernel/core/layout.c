// SPDX-License-Identifier: GPL-2.0
/*
 * Finds what struct kl_layout describes. Structs that are private to the kernel are looked up by
 * name in the kernel's own description of its types (BTF), which is read once, when the module is
 * loaded. What has another type than expected, or an address that is not confirmed by a function
 * that the kernel exports, is not used. Read by kernel/core/variable_values.h.
 */
#include <linux/btf.h>
#include <linux/cache.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <asm/processor.h>

#include "../base/function.h"
#include "layout.h"

#define BTF_PATH "/sys/kernel/btf/vmlinux"
#define BTF_BYTES_MAX SZ_64M
#define NO_BTF "there is no " BTF_PATH ", which is needed to locate it"

struct kl_layout kl_layout __ro_after_init = {
	.no_run_queue = NO_BTF,
	.no_path_walk = NO_BTF,
};

/* ------------------------------------------------------------- types of the kernel */

/**
 * struct types - the description of the kernel's types
 * @first, @end: its types, one after the other; ids count from 1
 * @strings: names, the last of which is terminated
 * @string_bytes: their size
 */
struct types {
	const u8 *first;
	const u8 *end;
	const char *strings;
	u32 string_bytes;
};

/* Bytes after the common part of a type. */
static size_t rest_of(const struct btf_type *t)
{
	u32 n = BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT:
		return sizeof(u32);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * sizeof(struct btf_enum);
	case BTF_KIND_FUNC_PROTO:
		return n * sizeof(struct btf_param);
	case BTF_KIND_VAR:
		return sizeof(struct btf_var);
	case BTF_KIND_DATASEC:
		return n * sizeof(struct btf_var_secinfo);
	case BTF_KIND_DECL_TAG:
		return sizeof(struct btf_decl_tag);
	case BTF_KIND_ENUM64:
		return n * sizeof(struct btf_enum64);
	default:
		return 0;
	}
}

/* The type at @at; NULL at the end, or if it exceeds the end. */
static const struct btf_type *type_at(const struct types *types, const u8 *at)
{
	const struct btf_type *t = (const void *)at;
	size_t left = types->end - at;

	return left >= sizeof(*t) && left - sizeof(*t) >= rest_of(t) ? t : NULL;
}

static const struct btf_type *next_type(const struct types *types, const struct btf_type *t)
{
	return type_at(types, (const u8 *)(t + 1) + rest_of(t));
}

static bool is_named(const struct types *types, u32 offset, const char *name)
{
	return offset < types->string_bytes && !strcmp(types->strings + offset, name);
}

/* The only type of a kind with a name, and its id; NULL if there is none, or more than one. */
static const struct btf_type *find_type(const struct types *types, u32 kind, const char *name,
					u32 *id)
{
	const struct btf_type *t, *found = NULL;
	u32 n = 0;

	for (t = type_at(types, types->first); t; t = next_type(types, t)) {
		n++;
		if (BTF_INFO_KIND(t->info) != kind || !is_named(types, t->name_off, name))
			continue;
		if (found)
			return NULL;
		found = t;
		*id = n;
	}
	return found;
}

static const struct btf_type *type_of_id(const struct types *types, u32 id)
{
	const struct btf_type *t;

	for (t = type_at(types, types->first); t && --id; t = next_type(types, t))
		;
	return t;
}

/* Is it an integer of 4 bytes, or a typedef of one? */
static bool is_word(const struct types *types, u32 id)
{
	const struct btf_type *t = type_of_id(types, id);

	for (u32 i = 0; t && BTF_INFO_KIND(t->info) == BTF_KIND_TYPEDEF && i < 8; i++)
		t = type_of_id(types, t->type);
	return t && BTF_INFO_KIND(t->info) == BTF_KIND_INT && t->size == sizeof(u32);
}

/* Set @offset to the offset of a member that is an integer of 4 bytes. */
static bool find_word(const struct types *types, const struct btf_type *t, const char *name,
		      u32 *offset)
{
	const struct btf_member *member = (const void *)(t + 1);

	for (u32 i = 0; i < BTF_INFO_VLEN(t->info); i++, member++) {
		if (!is_named(types, member->name_off, name))
			continue;
		/* With kind_flag, the upper bits are the size of a bit field, or 0. */
		*offset = member->offset / BITS_PER_BYTE;
		return is_word(types, member->type) && !(member->offset % 32) &&
		       *offset + sizeof(u32) <= t->size;
	}
	return false;
}

/* Set @offset to where a per-CPU variable is in the kernel's section for them. */
static bool find_percpu(const struct types *types, const char *name, u32 *type, u32 *offset)
{
	const struct btf_var_secinfo *var;
	const struct btf_type *t, *section;
	u32 id, unused;

	t = find_type(types, BTF_KIND_VAR, name, &id);
	section = find_type(types, BTF_KIND_DATASEC, ".data..percpu", &unused);
	if (!t || !section)
		return false;
	var = (const void *)(section + 1);
	for (u32 i = 0; i < BTF_INFO_VLEN(section->info); i++, var++)
		if (var->type == id) {
			*type = t->type;
			*offset = var->offset;
			return true;
		}
	return false;
}

/* ------------------------------------------------------------- the run queue */

/*
 * Is this the number of runnable tasks? The kernel exports a function that tells whether that is 1.
 * Another CPU may add a task in between.
 */
static bool is_run_queue(const u32 __percpu *nr_running)
{
	bool right = false;

	for (u32 i = 0; i < 100; i++) {
		u32 before, after;
		bool single, same;

		local_irq_disable();
		same = !get_kernel_nofault(before, this_cpu_ptr(nr_running));
		single = single_task_running();
		same = same && !get_kernel_nofault(after, this_cpu_ptr(nr_running)) &&
		       before == after;
		local_irq_enable();
		right = same && single == (after == 1);
		if (same)
			break;
	}
	return right;
}

static void find_run_queue(const struct types *types)
{
	u32 type, queues, known, member;
	const struct btf_type *queue;
	unsigned long address;

	kl_layout.no_run_queue = BTF_PATH " does not contain its location";
	if (!find_percpu(types, "cpu_info", &type, &known) ||
	    !find_percpu(types, "runqueues", &type, &queues))
		return;
	queue = type_of_id(types, type);
	if (!queue || BTF_INFO_KIND(queue->info) != BTF_KIND_STRUCT ||
	    !find_word(types, queue, "nr_running", &member))
		return;
	/* The address of one variable of the section is known, as it is exported. */
	address = (__force unsigned long)&cpu_info - known + queues + member;
	if (is_run_queue((const u32 __force __percpu *)address))
		kl_layout.nr_running = (const u32 __force __percpu *)address;
	else
		kl_layout.no_run_queue = "its location in " BTF_PATH " is wrong";
}

/* ------------------------------------------------------------------ path walks */

static void find_path_walk(const struct types *types)
{
	const struct btf_type *walk;
	u32 unused;

	walk = find_type(types, BTF_KIND_STRUCT, "nameidata", &unused);
	if (walk && find_word(types, walk, "total_link_count", &kl_layout.link_count) &&
	    find_word(types, walk, "depth", &kl_layout.link_depth))
		kl_layout.no_path_walk = NULL;
	else
		kl_layout.no_path_walk = BTF_PATH " does not contain its location";
}

/* ------------------------------------------------------------------- all of it */

static bool open_types(struct types *types, const void *file, size_t bytes)
{
	const struct btf_header *head = file;
	const u8 *data;

	if (bytes < sizeof(*head) || head->magic != BTF_MAGIC || head->version != BTF_VERSION ||
	    head->hdr_len < sizeof(*head) || head->hdr_len > bytes)
		return false;
	bytes -= head->hdr_len;
	if (head->type_off > bytes || head->type_len > bytes - head->type_off ||
	    head->str_off > bytes || head->str_len > bytes - head->str_off || !head->str_len ||
	    head->type_off % sizeof(u32))
		return false;
	data = (const u8 *)file + head->hdr_len;
	*types = (struct types){
		.first = data + head->type_off,
		.end = data + head->type_off + head->type_len,
		.strings = (const char *)data + head->str_off,
		.string_bytes = head->str_len,
	};
	return !types->strings[types->string_bytes - 1];
}

/*
 * Not with kernel_read_file(), which asks security modules about kinds of files that they know;
 * this one is the kernel's own memory. Returns the number of bytes, with vmalloc'd @data, or 0.
 */
static size_t read_types(void **data)
{
	struct file *file = filp_open(BTF_PATH, O_RDONLY, 0);
	loff_t size, at = 0;

	if (IS_ERR(file))
		return 0;
	size = i_size_read(file_inode(file));
	*data = size > 0 && size <= BTF_BYTES_MAX ? vmalloc(size) : NULL;
	while (*data && at < size)
		if (kernel_read(file, *data + at, size - at, &at) <= 0)
			break;
	filp_close(file, NULL);
	return *data && at == size ? size : 0;
}

static void find_members(void)
{
	void *data = NULL;
	size_t bytes = read_types(&data);
	struct types types;

	if (bytes && open_types(&types, data, bytes)) {
		find_run_queue(&types);
		find_path_walk(&types);
	}
	vfree(data);
}

/* Functions are aligned to at least this. */
#define FUNCTION_STEP 16

/*
 * The kernel has a function that tells whether an address is in the scheduler, which must not be
 * called where it may itself be traced. So the limits are searched for once.
 */
KL_FUNCTION_DEFINE(in_sched_functions, int(unsigned long address));

static void find_sched_text(void)
{
	unsigned long begin, end;

	begin = ALIGN_DOWN((unsigned long)schedule, FUNCTION_STEP);
	end = begin;
	KL_FUNCTION_FIND(in_sched_functions);
	if (!KL_FUNCTION_IS_SET(in_sched_functions) || !KL_CALL(in_sched_functions)(begin))
		return;
	while (KL_CALL(in_sched_functions)(begin - FUNCTION_STEP))
		begin -= FUNCTION_STEP;
	while (KL_CALL(in_sched_functions)(end))
		end += FUNCTION_STEP;
	kl_layout.sched_begin = begin;
	kl_layout.sched_bytes = end - begin;
}

/**
 * kl_layout_init - find what the kernel does not tell modules
 *
 * What cannot be found makes variables unavailable. Context: while the module is loaded.
 */
void kl_layout_init(void)
{
	find_members();
	find_sched_text();
}
