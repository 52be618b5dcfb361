// SPDX-License-Identifier: GPL-2.0
/*
 * Texts that readers of a session need: set by its creator. The one that describes what the session
 * defines is read by any process that attaches. The session's lock guards the pointers; a text is
 * copied to user memory with a reference and without the lock.
 */
#include <linux/mm.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "../core/caller.h"
#include "../core/reserved.h"
#include "session.h"

static_assert((int)KL_CRASH_METADATA == (int)KL_METADATA_DEFINED);
static_assert((int)KL_CRASH_NAMES == (int)KL_METADATA_NAMES);

static struct kl_metadata *alloc_metadata(const struct kl_session *s, u64 bytes)
{
	return s->reserved ? kl_reserved_alloc(bytes) :
			     __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
}

static void free_metadata(struct kref *ref)
{
	struct kl_metadata *m = container_of(ref, struct kl_metadata, ref);

	kl_crash_region_destroy(m->session, m->crash);
	kl_memory_uncharge(&m->session->payer, PAGE_ALIGN(sizeof(*m) + m->bytes));
	if (kl_reserved_has(m))
		kl_reserved_free(m, sizeof(*m) + m->bytes);
	else
		vfree(m);
}

/**
 * kl_metadata_put - drop a reference to a text; the last one frees it
 * @m: the text, or NULL
 */
void kl_metadata_put(struct kl_metadata *m)
{
	if (m)
		kref_put(&m->ref, free_metadata);
}

/* @kinds: the first ones are allowed. */
static int check_kind(const struct kl_abi_metadata *m, u32 kinds, struct kl_error *why)
{
	if (m->reserved)
		return kl_fail(why, -EINVAL, "metadata: an unused member is not zero");
	if (m->kind >= KL_METADATA_KINDS)
		return kl_fail(why, -EINVAL, "unknown kind of metadata %u", m->kind);
	if (m->kind >= kinds)
		return kl_fail(why, -EPERM, "the names of IDs cannot be read");
	return 0;
}

/**
 * kl_session_set_metadata - store a text for readers
 * @s: the session
 * @m: from the caller
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_session_set_metadata(struct kl_session *s, const struct kl_abi_metadata *m,
			    struct kl_error *why)
{
	struct kl_metadata *new, *old;
	u64 bytes;
	int error = check_kind(m, KL_METADATA_KINDS, why);

	if (error)
		return error;
	if (m->bytes > KL_METADATA_MAX)
		return kl_fail(why, -EINVAL, "%u bytes of metadata, the limit is %u", m->bytes,
			       KL_METADATA_MAX);
	bytes = PAGE_ALIGN(sizeof(*new) + m->bytes);
	error = kl_memory_charge(&s->payer, bytes, why);
	if (error)
		return error;
	new = alloc_metadata(s, bytes);
	if (!new) {
		kl_memory_uncharge(&s->payer, bytes);
		return kl_fail(why, -ENOMEM, "no memory for metadata");
	}
	kref_init(&new->ref);
	new->session = s;
	new->bytes = m->bytes;
	new->crash = NULL;
	if (!kl_caller_copy(new->text, m->text, m->bytes)) {
		kl_metadata_put(new);
		return kl_fail(why, -EFAULT, "cannot read the metadata from user memory");
	}
	new->crash = kl_crash_region_create(s, (enum kl_crash_region_kind)m->kind, new->text,
					    new->bytes, why);
	if (!new->crash) {
		kl_metadata_put(new);
		return why->error;
	}
	mutex_lock(&s->lock);
	old = s->defs.metadata[m->kind];
	s->defs.metadata[m->kind] = new;
	kl_crash_region_publish(s, new->crash);
	mutex_unlock(&s->lock);
	kl_metadata_put(old);
	return 0;
}

/**
 * kl_session_get_metadata - copy a text for readers, of the first kind
 * @s: the session
 * @m: `bytes` is the room, and is set to the size of the text
 * @why: set on failure
 *
 * Copies nothing if the room is too small. Context: may sleep.
 */
int kl_session_get_metadata(struct kl_session *s, struct kl_abi_metadata *m, struct kl_error *why)
{
	struct kl_metadata *found;
	int error = check_kind(m, KL_METADATA_DEFINED + 1, why);
	u32 room = m->bytes;

	if (error)
		return error;
	m->bytes = 0;
	mutex_lock(&s->lock);
	found = s->defs.metadata[m->kind];
	if (found)
		kref_get(&found->ref);
	mutex_unlock(&s->lock);
	if (!found)
		return 0;
	m->bytes = found->bytes;
	/* Not under the lock: writing to the caller's memory may block. */
	if (found->bytes <= room &&
	    copy_to_user(u64_to_user_ptr(m->text), found->text, found->bytes))
		error = kl_fail(why, -EFAULT, "cannot write the metadata to user memory");
	kl_metadata_put(found);
	return error;
}
