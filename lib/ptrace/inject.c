// SPDX-License-Identifier: GPL-2.0
/*
 * Writes splices into an address space in which no thread is running, and removes them. The process
 * could continue at any point: patches are complete before threads are moved there, threads are
 * moved before the text jumps there, and removed splices leave their patch mapped for threads still
 * inside. So the tracer may be killed at any time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

#include "../base/base.h"
#include "inject.h"
#include "tracer.h"

#define RIP ((void *)offsetof(struct user_regs_struct, rip))
#define WORD_BYTES 8
#define PLACE_TRIES 25
#define SHADOW_STACK "shstk"

static int open_memory(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", tid);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* --------------------------------------------------------------------- placing */

/* Is the text the same as in the file? Others may have modified it, or left their splices. */
static int check_text(const struct kl_placing *p)
{
	const struct kl_user_patches *patches = &p->file->patches;
	uint8_t text[512];

	for (size_t i = 0; i < patches->windows; i++) {
		const struct kl_user_window *w = &patches->window[i];
		size_t bytes = w->end - w->begin;

		if (bytes > sizeof(text) ||
		    !kl_memory_read(p->memory, w->begin + p->injection.bias, text, bytes) ||
		    memcmp(text, w->text, bytes) != 0)
			return kl_tracer_fail(p->k, EBUSY,
					      "process %d: its text differs from %s: it was "
					      "modified, or it is a different file",
					      p->tid, p->file->path);
	}
	return 0;
}

/* Threads inside a window, between two relocated instructions, continue in its patch. */
struct entering {
	struct kl_context_move move; /* must be first */
	const struct kl_placing *p;
};

static const struct kl_placing *entering_of(const struct kl_context_move *move)
{
	return ((const struct entering *)move)->p;
}

static bool is_in_window(const struct kl_context_move *move, uint64_t address)
{
	const struct kl_placing *p = entering_of(move);

	return kl_user_enter(&p->file->patches, address - p->injection.bias) != -ENOENT;
}

static bool enter(const struct kl_context_move *move, struct kl_context *context)
{
	const struct kl_placing *p = entering_of(move);
	int64_t to = kl_user_enter(&p->file->patches, context->rip - p->injection.bias);

	context->rip = p->injection.base + (uint64_t)to;
	return to >= 0;
}

static int move_threads_in(const struct kl_placing *p, bool really)
{
	for (size_t i = 0; i < p->k->tasks; i++) {
		const struct kl_tracee *t = &p->k->task[i];
		int64_t to;
		long rip;

		if (t->space != p->space || !t->held)
			continue;
		errno = 0;
		rip = ptrace(PTRACE_PEEKUSER, t->tid, RIP, NULL);
		if (errno == ESRCH)
			continue;
		to = kl_user_enter(&p->file->patches, (uint64_t)rip - p->injection.bias);
		if (to == -EINVAL)
			return -EBUSY;
		if (really && to >= 0)
			ptrace(PTRACE_POKEUSER, t->tid, RIP, p->injection.base + (uint64_t)to);
	}
	return 0;
}

/* Move the threads, and the contexts they will return to. */
static int move_in(const struct kl_placing *p, bool really)
{
	const struct kl_user_patches *patches = &p->file->patches;
	uint64_t begin = patches->window[0].begin, end = patches->window[patches->windows - 1].end;
	struct entering entering = {
		.move = {
			.begin = begin + p->injection.bias,
			.bytes = end - begin,
			.really = really,
			.is_inside = is_in_window,
			.move = enter,
		},
		.p = p,
	};
	int ret = move_threads_in(p, really);

	if (!ret)
		ret = kl_contexts_move(p->tid, p->memory, &entering.move);
	if (ret > 0)
		ret = -EBUSY;
	/* This may succeed a moment later: see kl_space_place(). */
	if (ret && ret != -EBUSY)
		return kl_tracer_fail(p->k, -ret, "cannot scan the memory of process %d: %s",
				      p->tid, ret == -E2BIG ? "too much memory" : strerror(-ret));
	return ret;
}

static int write_text(const struct kl_placing *p)
{
	const struct kl_user_patches *patches = &p->file->patches;
	size_t i;

	for (i = 0; i < patches->writes; i++) {
		const struct kl_user_write *w = &patches->write[i];
		uint8_t bytes[5];

		if (!kl_user_write_make(w, p->injection.base, p->injection.bias, bytes) ||
		    !kl_memory_write(p->memory, w->address + p->injection.bias, bytes, w->bytes))
			break;
	}
	if (i == patches->writes)
		return 0;
	while (i--)
		kl_memory_write(p->memory, patches->write[i].address + p->injection.bias,
				patches->write[i].old, patches->write[i].bytes);
	return kl_tracer_fail(p->k, EIO, "cannot write to the text of process %d", p->tid);
}

/*
 * Reject what could not be undone: seccomp may kill the thread that makes our system calls, and
 * shadow stacks check return addresses.
 */
static int check_process(const struct kl_placing *p)
{
	char path[64], line[256];
	bool shadow = false;
	FILE *file;

	if (kl_tracee_status(p->tid, "Seccomp", 10) > 0)
		return kl_tracer_fail(
			p->k, EPERM,
			"process %d restricts its system calls (seccomp): cannot map memory in it",
			p->tid);
	snprintf(path, sizeof(path), "/proc/%d/status", p->tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		shadow |= !strncmp(line, "x86_Thread_features:", 20) && strstr(line, SHADOW_STACK);
	if (file)
		fclose(file);
	if (shadow && p->file->patches.moves_calls)
		return kl_tracer_fail(p->k, EPERM,
				      "process %d uses shadow stacks: cannot relocate calls",
				      p->tid);
	return 0;
}

static int add_set(struct kl_placing *p)
{
	struct kl_tracer_set *set = calloc(1, sizeof(*set));

	if (!set)
		return kl_tracer_fail(p->k, ENOMEM, "out of memory");
	set->file = p->file;
	set->next = p->k->set;
	p->k->set = set;
	p->injection.set = set;
	return 0;
}

static int place_file(struct kl_placing *p, const struct kl_maps *maps,
		      const struct kl_mapping *text, struct kl_tracee *t)
{
	const struct kl_user_patches *patches = &p->file->patches;
	int ret;

	p->injection = (struct kl_injection){
		.bias = text->begin + (p->file->offset - text->offset) - p->file->address,
		.code_bytes = kl_whole_pages(patches->bytes),
		.counter_bytes = kl_whole_pages(p->file->counters * sizeof(uint64_t)),
	};
	p->injection.bytes = p->injection.code_bytes + p->injection.counter_bytes +
			     (patches->fires ? KL_PAGE_BYTES : 0);
	ret = check_process(p);
	if (!ret)
		ret = check_text(p);
	if (!ret)
		ret = move_in(p, false);
	if (!ret)
		ret = add_set(p);
	if (!ret)
		ret = kl_injection_map(p, maps, t);
	if (!ret)
		ret = move_in(p, true);
	if (!ret)
		ret = write_text(p);
	/*
	 * If a later step failed the patches stay mapped, because threads may have been moved
	 * there.
	 */
	if (ret)
		return ret;
	p->space->injection[p->file - p->k->file] = p->injection;
	p->k->report->placed++;
	return 0;
}

static bool space_lacks(const struct kl_tracer *k, const struct kl_space *s)
{
	for (size_t i = 0; i < k->files; i++)
		if (!s->injection[i].base && k->file[i].patches.writes)
			return true;
	return false;
}

/* A new program starts in its loader. */
static void find_loader(const struct kl_tracer *k, struct kl_space *s, const struct kl_maps *maps,
			pid_t tid)
{
	long rip = ptrace(PTRACE_PEEKUSER, tid, RIP, NULL);
	const struct kl_mapping *m = kl_maps_at(maps, (uint64_t)rip);

	if (s->loader || !m)
		return;
	s->loader = m->begin;
	s->loader_end = m->end;
	s->loading = space_lacks(k, s);
}

static int place_files(struct kl_tracer *k, struct kl_space *s)
{
	struct kl_tracee *t = kl_space_worker(k, s);
	struct kl_placing p = { .k = k, .space = s };
	struct kl_maps maps;
	int ret = 0;

	if (!t)
		return -EBUSY;
	p.tid = t->tid;
	p.memory = open_memory(p.tid);
	if (p.memory < 0)
		return kl_tracer_fail(k, errno, "cannot open the memory of process %d: %s", p.tid,
				      strerror(errno));
	for (size_t i = 0; i < k->files && !ret; i++) {
		const struct kl_mapping *text;

		p.file = &k->file[i];
		if (s->injection[i].base || !p.file->patches.writes)
			continue;
		ret = kl_maps_read(p.tid, &maps);
		text = ret ? NULL : kl_maps_of(&maps, p.file);
		p.call = text ? kl_maps_call(&maps, p.memory) : 0;
		if (text && !p.call)
			ret = kl_tracer_fail(k, ENOSYS,
					     "found no system call instruction in process %d",
					     p.tid);
		else if (text)
			ret = place_file(&p, &maps, text, t);
		kl_maps_free(&maps);
		t = kl_tracee_find(k, p.tid);
		if (!t)
			ret = ret ?: -ESRCH;
	}
	if (!ret && !kl_maps_read(p.tid, &maps)) {
		find_loader(k, s, &maps, p.tid);
		kl_maps_free(&maps);
	}
	s->loading &= !ret && space_lacks(k, s);
	close(p.memory);
	return ret;
}

/*
 * Splice all files that are mapped and have no splices there yet. If a thread is at an address that
 * it cannot be moved from, let it run for a moment and try again.
 */
int kl_space_place(struct kl_tracer *k, struct kl_space *s)
{
	const struct timespec pause = { .tv_nsec = 3000000 };
	int ret = -EBUSY;

	if (s->outside || !space_lacks(k, s))
		return 0;
	for (int i = 0; i < PLACE_TRIES && ret == -EBUSY && !k->report->error; i++) {
		bool held = s->hold;

		if (i) {
			kl_space_release(k, s);
			nanosleep(&pause, NULL);
			ret = kl_space_hold(k, s);
		}
		if (!i || !ret)
			ret = place_files(k, s);
		s->hold = held;
	}
	if (ret == -EBUSY)
		kl_tracer_fail(
			k, EBUSY,
			"a process could return into the middle of text to be patched, and did "
			"not leave it in time");
	return ret;
}

/* -------------------------------------------------------------------- removing */

/*
 * Undo the writes in reverse order. Returns the number of places that others have modified; these
 * stay.
 */
static unsigned int restore_text(const struct kl_tracer_file *file,
				 const struct kl_injection *injection, int memory)
{
	const struct kl_user_patches *patches = &file->patches;
	unsigned int others = 0;

	for (size_t i = patches->writes; i-- > 0;) {
		const struct kl_user_write *w = &patches->write[i];
		uint64_t at = w->address + injection->bias;
		uint8_t ours[5], found[5];

		if (!kl_user_write_make(w, injection->base, injection->bias, ours) ||
		    !kl_memory_read(memory, at, found, w->bytes) ||
		    memcmp(found, ours, w->bytes) != 0 ||
		    !kl_memory_write(memory, at, w->old, w->bytes))
			others++;
	}
	return others;
}

/* Threads inside a patch continue where they would be without it. */
struct leaving {
	struct kl_context_move move; /* must be first */
	const struct kl_user_patches *patches;
	const struct kl_injection *injection;
	int memory;
};

static bool is_in_patch(const struct kl_context_move *move, uint64_t address)
{
	return address - move->begin < move->bytes;
}

static bool undo(const struct kl_context_move *move, struct kl_context *context)
{
	const struct leaving *l = (const struct leaving *)move;
	const struct kl_user_step *step =
		kl_user_step_at(l->patches, context->rip - l->injection->base);

	if (!step)
		return false;
	switch (step->undo) {
	case KL_UNDO_ZONE:
		context->rsp += KL_ZONE_BYTES;
		break;
	case KL_UNDO_CHANGED:
		if (!kl_memory_read(l->memory, context->rsp, &context->flags, WORD_BYTES))
			return false;
		context->rsp += KL_ZONE_BYTES + WORD_BYTES;
		break;
	case KL_UNDO_FLAGS:
		context->rsp += KL_ZONE_BYTES + WORD_BYTES;
		break;
	case KL_UNDO_RETURN:
		context->rsp += WORD_BYTES;
		break;
	}
	context->rip = step->resume + l->injection->bias;
	return true;
}

static bool move_thread_out(const struct leaving *l, pid_t tid)
{
	struct user_regs_struct regs;
	struct kl_context c;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs))
		return errno == ESRCH;
	if (!is_in_patch(&l->move, regs.rip))
		return true;
	c = (struct kl_context){ .rip = regs.rip, .rsp = regs.rsp, .flags = regs.eflags };
	if (!undo(&l->move, &c))
		return false;
	regs.rip = c.rip;
	regs.rsp = c.rsp;
	regs.eflags = c.flags;
	return !ptrace(PTRACE_SETREGS, tid, NULL, &regs);
}

/* Returns whether no thread is in the patches or will return to them. */
static bool move_out(struct kl_tracer *k, const struct kl_space *s,
		     const struct kl_tracer_file *file, const struct kl_injection *injection,
		     int memory)
{
	struct leaving l = {
		.move = {
			.begin = injection->base,
			.bytes = injection->code_bytes,
			.really = true,
			.is_inside = is_in_patch,
			.move = undo,
		},
		.patches = &file->patches,
		.injection = injection,
		.memory = memory,
	};
	pid_t tid = 0;
	bool all = true;

	for (size_t i = 0; i < k->tasks; i++)
		if (k->task[i].space == s && k->task[i].held) {
			tid = k->task[i].tid;
			all &= move_thread_out(&l, tid);
		}
	return all && tid && !kl_contexts_move(tid, memory, &l.move);
}

/* Unmap the memory. Only if no thread can return to it. */
static bool unmap_injection(struct kl_tracer *k, struct kl_space *s,
			    const struct kl_injection *injection, int memory)
{
	struct kl_tracee *t = kl_space_worker(k, s);
	struct kl_maps maps = {};
	struct kl_remote r;
	uint64_t call = 0;
	bool done = false;

	if (t && !kl_maps_read(t->tid, &maps))
		call = kl_maps_call(&maps, memory);
	kl_maps_free(&maps);
	if (!t || !call || kl_tracee_status(t->tid, "Seccomp", 10) > 0 ||
	    kl_remote_begin(&r, k, t, call))
		return false;
	done = !kl_injection_unmap(&r, injection);
	kl_remote_end(&r);
	return done;
}

void kl_space_restore(struct kl_tracer *k, struct kl_space *s)
{
	int memory = -1;

	for (size_t i = 0; i < k->tasks && memory < 0; i++)
		if (k->task[i].space == s && k->task[i].held)
			memory = open_memory(k->task[i].tid);
	for (size_t i = 0; memory >= 0 && i < k->files; i++) {
		struct kl_injection *injection = &s->injection[i];
		unsigned int others;
		bool empty;

		if (!injection->base)
			continue;
		others = restore_text(&k->file[i], injection, memory);
		empty = move_out(k, s, &k->file[i], injection, memory);
		k->report->changed += others;
		if (others || !empty || !unmap_injection(k, s, injection, memory))
			k->report->kept++;
		injection->base = 0;
	}
	if (memory >= 0)
		close(memory);
}
