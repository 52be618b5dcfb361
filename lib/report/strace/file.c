// SPDX-License-Identifier: GPL-2.0
/* Files: their attributes, vectors of buffers, directories, fcntl. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include "../../base/base.h"
#include "printers.h"

void kl_arg_stat(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct stat st;

	if (!kl_call_succeeded(c) || !kl_call_peek(c, c->arg[i], &st, sizeof(st)))
		return kl_call_address(c->out, c->arg[i]);
	kl_buffer_add_string(c->out, "{st_mode=");
	kl_put_file_mode(c->out, st.st_mode);
	if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
		kl_buffer_printf(c->out, ", st_rdev=makedev(%#x, %#x)", major(st.st_rdev),
				 minor(st.st_rdev));
	else
		kl_buffer_printf(c->out, ", st_size=%lld", (long long)st.st_size);
	kl_buffer_add_string(c->out, ", ...}");
}

void kl_arg_statx(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct statx stx;

	if (!kl_call_succeeded(c) || !kl_call_peek(c, c->arg[i], &stx, sizeof(stx)))
		return kl_call_address(c->out, c->arg[i]);
	kl_buffer_add_string(c->out, "{stx_mask=");
	kl_call_flags(c->out, &kl_words_statx_mask, stx.stx_mask);
	kl_buffer_add_string(c->out, ", stx_attributes=");
	kl_call_flags(c->out, &kl_words_statx_attributes, stx.stx_attributes);
	kl_buffer_add_string(c->out, ", stx_mode=");
	kl_put_file_mode(c->out, stx.stx_mode);
	kl_buffer_printf(c->out, ", stx_size=%llu, ...}", (unsigned long long)stx.stx_size);
}

void kl_arg_statfs(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct statfs fs;
	uint32_t id[2];

	if (!kl_call_succeeded(c) || !kl_call_peek(c, c->arg[i], &fs, sizeof(fs)))
		return kl_call_address(c->out, c->arg[i]);
	memcpy(id, &fs.f_fsid, sizeof(id));
	kl_buffer_add_string(c->out, "{f_type=");
	kl_call_choice(c->out, &kl_words_fs_types, fs.f_type);
	kl_buffer_printf(c->out, ", f_bsize=%lu, f_blocks=%lu, f_bfree=%lu, f_bavail=%lu",
			 (unsigned long)fs.f_bsize, (unsigned long)fs.f_blocks,
			 (unsigned long)fs.f_bfree, (unsigned long)fs.f_bavail);
	kl_buffer_printf(c->out, ", f_files=%lu, f_ffree=%lu, f_fsid={val=[%#x, %#x]}",
			 (unsigned long)fs.f_files, (unsigned long)fs.f_ffree, id[0], id[1]);
	kl_buffer_printf(c->out,
			 ", f_namelen=%lu, f_frsize=%lu, f_flags=", (unsigned long)fs.f_namelen,
			 (unsigned long)fs.f_frsize);
	kl_call_flags(c->out, &kl_words_st_flags, fs.f_flags);
	kl_buffer_add_char(c->out, '}');
}

/* Buffers that the call has filled have @c->result bytes together. */
static void print_vector(struct kl_call *c, uint64_t address, uint64_t n, bool is_out)
{
	uint64_t left = is_out ? (uint64_t)c->result : UINT64_MAX;

	kl_buffer_add_char(c->out, '[');
	for (uint64_t i = 0; i < n && !kl_array_next(c->out, i); i++) {
		uint64_t v[2], bytes;

		if (!kl_call_peek(c, address + i * sizeof(v), v, sizeof(v))) {
			kl_call_address(c->out, address + i * sizeof(v));
			break;
		}
		bytes = v[1] < left ? v[1] : left;
		kl_buffer_add_string(c->out, "{iov_base=");
		kl_call_bytes(c, v[0], bytes, KL_QUOTE_PLAIN);
		kl_buffer_printf(c->out, ", iov_len=%llu}", (unsigned long long)v[1]);
		left -= bytes;
	}
	kl_buffer_add_char(c->out, ']');
}

void kl_vector_at(struct kl_call *c, uint64_t address, uint64_t n, bool is_out)
{
	uint64_t v[2];

	if (!address || (n && !kl_call_peek(c, address, v, sizeof(v))))
		kl_call_address(c->out, address);
	else
		print_vector(c, address, n, is_out);
}

void kl_arg_vector(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	if (kind->is_out && !kl_call_succeeded(c))
		kl_call_address(c->out, c->arg[i]);
	else
		kl_vector_at(c, c->arg[i], c->arg[i + 1], kind->is_out);
}

void kl_arg_entries(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	const struct kl_piece *list = kl_call_find_list(c, c->arg[i]);

	kl_call_address(c->out, c->arg[i]);
	if (list && kl_call_succeeded(c))
		kl_buffer_printf(c->out, " /* %s%u entries */", list->has_more ? "at least " : "",
				 list->entries);
}

/* ----------------------------------------------------------------- fcntl */

static void print_lock(struct kl_call *c)
{
	struct flock lock;
	bool gets = c->arg[1] == F_GETLK || c->arg[1] == F_OFD_GETLK;

	if (!kl_call_peek(c, c->arg[2], &lock, sizeof(lock)))
		return kl_call_address(c->out, c->arg[2]);
	kl_buffer_add_string(c->out, "{l_type=");
	kl_call_choice(c->out, &kl_words_lock_types, (uint64_t)lock.l_type);
	kl_buffer_add_string(c->out, ", l_whence=");
	kl_call_choice(c->out, &kl_words_whence, (uint64_t)lock.l_whence);
	kl_buffer_printf(c->out, ", l_start=%lld, l_len=%lld", (long long)lock.l_start,
			 (long long)lock.l_len);
	if (gets && c->leaving)
		kl_buffer_printf(c->out, ", l_pid=%d", lock.l_pid);
	kl_buffer_add_char(c->out, '}');
}

static bool has_argument(uint32_t command)
{
	return command != F_GETFD && command != F_GETFL && command != F_GETOWN &&
	       command != F_GETSIG && command != F_GETLEASE && command != F_GETPIPE_SZ &&
	       command != F_GET_SEALS;
}

static void print_fcntl_argument(struct kl_call *c, uint32_t command)
{
	kl_comma(c);
	switch (command) {
	case F_SETFD:
		kl_call_flags(c->out, &kl_words_fd_flags, (uint32_t)c->arg[2]);
		break;
	case F_SETFL:
		kl_put_open_flags(c->out, (uint32_t)c->arg[2]);
		break;
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
	case F_SETOWN:
	case F_SETPIPE_SZ:
		kl_buffer_add_signed(c->out, (int32_t)c->arg[2]);
		break;
	case F_SETSIG:
		kl_put_signal(c->out, (uint32_t)c->arg[2]);
		break;
	case F_SETLEASE:
		kl_call_choice(c->out, &kl_words_lock_types, (uint32_t)c->arg[2]);
		break;
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		print_lock(c);
		break;
	default:
		kl_call_hex(c->out, c->arg[2]);
	}
}

/* What the result means: flags. */
static void explain_fcntl(struct kl_call *c, uint32_t command)
{
	if (!kl_call_succeeded(c))
		return;
	c->is_hex = command == F_GETFD || command == F_GETFL;
	if (command == F_GETFD && c->result) {
		kl_buffer_add_string(&c->aux, "flags ");
		kl_call_flags(&c->aux, &kl_words_fd_flags, c->result);
	} else if (command == F_GETFL) {
		kl_buffer_add_string(&c->aux, "flags ");
		kl_put_open_flags(&c->aux, c->result);
	}
}

void kl_print_fcntl(struct kl_call *c)
{
	uint32_t command = c->arg[1];
	bool late = c->has_memory && (command == F_GETLK || command == F_OFD_GETLK);

	if (!c->leaving) {
		kl_call_fd(c->out, c->arg[0]);
		kl_comma(c);
		kl_call_choice(c->out, &kl_words_fcntl, command);
	}
	if (has_argument(command) && c->leaving == late)
		print_fcntl_argument(c, command);
	if (c->leaving)
		explain_fcntl(c, command);
}
