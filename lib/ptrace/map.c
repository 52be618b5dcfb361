// SPDX-License-Identifier: GPL-2.0
/*
 * Sets up what a process needs for its splices, by system calls that it makes itself: memory for
 * patches near its text, counters shared with us, and a mapping that pins the module.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <kernlens/abi.h>

#include "../base/base.h"
#include "descriptor.h"
#include "inject.h"
#include "tracer.h"

/*
 * A thread of the process may have replaced the file, so only a sealable memfd is modified. Once it
 * is sealed, no one can shrink it, which would kill us at the next access to a counter.
 */
static int give_bytes(int fd, uint64_t bytes)
{
	if (fcntl(fd, F_GET_SEALS))
		return -EPERM;
	if (ftruncate(fd, (off_t)bytes) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL))
		return -errno;
	return lseek(fd, 0, SEEK_END) == (off_t)bytes ? 0 : -EPERM;
}

/* An anonymous file, created by the process and mapped by both. The process keeps no descriptor. */
static int share_counters(struct kl_placing *p, struct kl_remote *r)
{
	static const char name[] = "kernlens";
	uint64_t bytes = p->injection.counter_bytes;
	int64_t fd, at;
	int ours;

	if (!kl_memory_write(p->memory, p->injection.base, name, sizeof(name)))
		return -EIO;
	fd = kl_remote_call(r, SYS_memfd_create, p->injection.base, MFD_CLOEXEC | MFD_ALLOW_SEALING,
			    0, 0, 0, 0);
	if (fd < 0)
		return (int)fd;
	ours = kl_descriptor_take(p->tid, (int)fd);
	at = ours < 0 ? ours : give_bytes(ours, bytes);
	if (!at)
		at = kl_remote_call(r, SYS_mmap, p->injection.base + p->injection.code_bytes, bytes,
				    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	if (at >= 0) {
		p->injection.set->counter =
			mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ours, 0);
		if (p->injection.set->counter == MAP_FAILED) {
			p->injection.set->counter = NULL;
			at = -ENOMEM;
		}
	}
	if (ours >= 0)
		close(ours);
	kl_remote_call(r, SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
	return at < 0 ? (int)at : 0;
}

/*
 * While there are traps, the module must stay loaded: map a page of the device. The descriptor is
 * closed.
 */
static int keep_module(struct kl_placing *p, struct kl_remote *r)
{
	uint64_t here = p->injection.base + p->injection.code_bytes,
		 at = here + p->injection.counter_bytes;
	char *path = (char *)p->injection.set->counter;
	int64_t fd, ret;

	if (!p->file->patches.fires)
		return 0;
	/* Borrow the space for the counters. */
	memcpy(path, KL_DEVICE_PATH, sizeof(KL_DEVICE_PATH));
	fd = kl_remote_call(r, SYS_openat, (uint64_t)AT_FDCWD, here, O_RDWR | O_CLOEXEC, 0, 0, 0);
	memset(path, 0, sizeof(KL_DEVICE_PATH));
	if (fd < 0)
		return (int)fd;
	ret = kl_remote_call(r, SYS_mmap, at, KL_PAGE_BYTES, PROT_NONE, MAP_SHARED | MAP_FIXED, fd,
			     KL_MMAP_KEEP);
	kl_remote_call(r, SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
	return ret < 0 ? (int)ret : 0;
}

static int write_patches(const struct kl_placing *p)
{
	uint8_t *code = calloc(1, p->injection.code_bytes);
	const struct kl_user_place place = {
		.base = p->injection.base,
		.bias = p->injection.bias,
		.counter = p->injection.base + p->injection.code_bytes,
		.session = p->k->session,
	};
	bool near = code && kl_user_patches_place(&p->file->patches, code, &place);
	int ret = !code ? -ENOMEM : !near ? -ERANGE : 0;

	if (!ret && !kl_memory_write(p->memory, p->injection.base, code, p->injection.code_bytes))
		ret = -EIO;
	free(code);
	return ret;
}

int kl_injection_unmap(struct kl_remote *r, const struct kl_injection *injection)
{
	return (int)kl_remote_call(r, SYS_munmap, injection->base, injection->bytes, 0, 0, 0, 0);
}

int kl_injection_map(struct kl_placing *p, const struct kl_maps *maps, struct kl_tracee *t)
{
	uint64_t base = kl_maps_gap(maps, kl_maps_of(maps, p->file), p->injection.bytes);
	struct kl_remote r;
	int64_t got;
	int ret = 0;

	if (!base)
		return kl_tracer_fail(p->k, ENOMEM,
				      "process %d has no free address space near its text", p->tid);
	if (kl_remote_begin(&r, p->k, t, p->call))
		return -ESRCH;
	got = kl_remote_call(&r, SYS_mmap, base, p->injection.bytes, PROT_READ | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (got < 0) {
		ret = (int)got;
	} else {
		p->injection.base = (uint64_t)got;
		ret = p->injection.base == base ? share_counters(p, &r) : -EEXIST;
		if (!ret)
			ret = keep_module(p, &r);
		if (!ret)
			ret = write_patches(p);
		if (ret)
			kl_injection_unmap(&r, &p->injection);
	}
	if (kl_remote_end(&r))
		ret = ret ?: -ESRCH;
	return ret ? kl_tracer_fail(p->k, -ret, "cannot map memory in process %d: %s", p->tid,
				    strerror(-ret)) :
		     0;
}
