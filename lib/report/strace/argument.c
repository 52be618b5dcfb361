// SPDX-License-Identifier: GPL-2.0
/* Arguments that the record of a call's entry has itself: numbers, flags, strings. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "../../base/base.h"
#include "printers.h"

/* What the module records for a string argument that is NULL. */
#define NO_STRING "(null)"

bool kl_array_next(struct kl_buffer *out, uint64_t i)
{
	if (i)
		kl_buffer_add_string(out, ", ");
	if (i < KL_CALL_ARRAY_MAX)
		return false;
	kl_buffer_add_string(out, "...");
	return true;
}

void kl_arg_fd(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_call_fd(c->out, c->arg[i]);
}

void kl_arg_int(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_buffer_add_signed(c->out, (int32_t)c->arg[i]);
}

void kl_arg_uint(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_buffer_add_unsigned(c->out, (uint32_t)c->arg[i], 0);
}

void kl_arg_long(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_buffer_add_signed(c->out, (int64_t)c->arg[i]);
}

void kl_arg_size(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_buffer_add_unsigned(c->out, c->arg[i], 0);
}

void kl_arg_hex(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_call_hex(c->out, c->arg[i]);
}

void kl_arg_hex32(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_call_hex(c->out, (uint32_t)c->arg[i]);
}

void kl_arg_address(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_call_address(c->out, c->arg[i]);
}

void kl_arg_choice(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_call_choice(c->out, kind->words, (uint32_t)c->arg[i]);
}

void kl_arg_flags(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_call_flags(c->out, kind->words, (uint32_t)c->arg[i]);
}

void kl_arg_mode(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_call_octal(c->out, (uint16_t)c->arg[i]);
}

void kl_put_file_mode(struct kl_buffer *out, uint32_t mode)
{
	static const char *const bits[] = { "|S_ISUID", "|S_ISGID", "|S_ISVTX" };

	if (mode & S_IFMT) {
		kl_call_choice(out, &kl_words_file_types, mode & S_IFMT);
		for (unsigned int i = 0; i < KL_ARRAY_SIZE(bits); i++)
			if (mode & (S_ISUID >> i))
				kl_buffer_add_string(out, bits[i]);
		kl_buffer_add_char(out, '|');
		mode &= 0777;
	}
	kl_call_octal(out, mode);
}

void kl_arg_file_mode(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_put_file_mode(c->out, (uint16_t)c->arg[i]);
}

/* A device's number is an argument of mknod only if the file is one. */
bool kl_no_device(const struct kl_call *c, unsigned int i)
{
	return !S_ISCHR(c->arg[i - 1]) && !S_ISBLK(c->arg[i - 1]);
}

void kl_arg_device(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_buffer_printf(c->out, "makedev(%#x, %#x)", major((uint32_t)c->arg[i]),
			 minor((uint32_t)c->arg[i]));
}

bool kl_no_open_mode(const struct kl_call *c, unsigned int i)
{
	return !(c->arg[i - 1] & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)));
}

void kl_put_open_flags(struct kl_buffer *out, uint64_t flags)
{
	kl_call_choice_flags(out, &kl_words_open_modes, &kl_words_open, flags, O_ACCMODE);
}

void kl_arg_open(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_put_open_flags(c->out, (uint32_t)c->arg[i]);
}

void kl_arg_map_flags(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_call_choice_flags(c->out, &kl_words_map_types, &kl_words_map_flags, c->arg[i], 15);
}

void kl_arg_statx_flags(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_call_choice_flags(c->out, &kl_words_statx_sync, &kl_words_at_flags, (uint32_t)c->arg[i],
			     AT_STATX_SYNC_TYPE);
}

static bool is_null(const struct kl_call *c, unsigned int i)
{
	const struct kl_call_text *text = &c->text[i];

	return text->is_there && text->length == strlen(NO_STRING) &&
	       !memcmp(c->texts.data + text->at, NO_STRING, text->length);
}

static void print_text(struct kl_call *c, unsigned int i, size_t most)
{
	if (is_null(c, i))
		kl_buffer_add_string(c->out, "NULL");
	else if (!kl_call_path(c, i, most))
		kl_call_address(c->out, c->arg[i]);
}

void kl_arg_path(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	print_text(c, i, SIZE_MAX);
}

void kl_arg_text(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	print_text(c, i, KL_CALL_STRING_MAX);
}

void kl_arg_string(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	if (!kl_call_string(c, c->arg[i]))
		kl_call_address(c->out, c->arg[i]);
}

void kl_arg_bytes(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_call_bytes(c, c->arg[i], c->arg[i + 1], KL_QUOTE_PLAIN);
}

static void print_out_bytes(struct kl_call *c, unsigned int i, enum kl_quote how)
{
	if (kl_call_succeeded(c) && c->arg[i + 1])
		kl_call_bytes(c, c->arg[i], c->result, how);
	else
		kl_call_address(c->out, c->arg[i]);
}

void kl_arg_out_bytes(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	print_out_bytes(c, i, KL_QUOTE_PLAIN);
}

void kl_arg_out_random(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	print_out_bytes(c, i, KL_QUOTE_HEX);
}

/* The kernel's result counts the NUL. */
void kl_arg_out_path(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	uint8_t path[256];
	size_t n = 0;

	if (kl_call_succeeded(c) && c->result)
		n = kl_call_peek_some(c, c->arg[i], path, sizeof(path));
	if (!n)
		return kl_call_address(c->out, c->arg[i]);
	if (n > (size_t)c->result - 1)
		n = c->result - 1;
	kl_call_quote(c->out, path, n, KL_QUOTE_PLAIN, n < (size_t)c->result - 1);
}

void kl_arg_pair(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	if (kl_call_succeeded(c))
		kl_call_numbers(c, c->arg[i], 2);
	else
		kl_call_address(c->out, c->arg[i]);
}

void kl_arg_number(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	if (!kind->is_out || kl_call_succeeded(c))
		kl_call_numbers(c, c->arg[i], 1);
	else
		kl_call_address(c->out, c->arg[i]);
}

static void print_offset(struct kl_call *c, unsigned int i, bool with_new)
{
	int64_t before, after;

	if (!kl_call_peek_entry(c, c->arg[i], &before, sizeof(before)))
		return kl_call_address(c->out, c->arg[i]);
	kl_buffer_printf(c->out, "[%lld", (long long)before);
	if (with_new && kl_call_peek(c, c->arg[i], &after, sizeof(after)) && after != before)
		kl_buffer_printf(c->out, "] => [%lld", (long long)after);
	kl_buffer_add_char(c->out, ']');
}

void kl_arg_offset(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	print_offset(c, i, false);
}

void kl_arg_out_offset(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	print_offset(c, i, kl_call_succeeded(c));
}

/* The new address only matters with MREMAP_FIXED or MREMAP_DONTUNMAP. */
void kl_print_mremap(struct kl_call *c)
{
	if (c->leaving)
		return;
	kl_call_address(c->out, c->arg[0]);
	kl_buffer_printf(c->out, ", %llu, %llu, ", (unsigned long long)c->arg[1],
			 (unsigned long long)c->arg[2]);
	kl_call_flags(c->out, &kl_words_mremap, c->arg[3]);
	if (c->arg[3] & ~(uint64_t)MREMAP_MAYMOVE) {
		kl_comma(c);
		kl_call_address(c->out, c->arg[4]);
	}
}

void kl_print_arch_prctl(struct kl_call *c)
{
	bool gets = c->arg[0] == 0x1003 || c->arg[0] == 0x1004;
	uint64_t value;

	if (!c->leaving) {
		kl_call_choice(c->out, &kl_words_arch, (uint32_t)c->arg[0]);
		kl_comma(c);
	}
	if (gets != c->leaving)
		return;
	if (gets && kl_call_succeeded(c) && kl_call_peek(c, c->arg[1], &value, sizeof(value)))
		kl_buffer_printf(c->out, "[%#llx]", (unsigned long long)value);
	else
		kl_call_hex(c->out, c->arg[1]);
}
