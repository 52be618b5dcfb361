// SPDX-License-Identifier: GPL-2.0
/* What any layer does with a session: get and put references, look up its programs. */
#include "session.h"

/**
 * kl_session_get - take a reference
 * @s: a session to which the caller has a reference
 */
void kl_session_get(struct kl_session *s)
{
	kref_get(&s->ref);
}

/**
 * kl_session_put - drop a reference; the last one frees the session
 * @s: the session
 *
 * Context: may sleep.
 */
void kl_session_put(struct kl_session *s)
{
	kref_put(&s->ref, s->release);
}

/**
 * kl_session_program - a program by its id
 * @s: the session
 * @id: any number
 *
 * Returns NULL if there is none. The program exists until the session ends.
 */
const struct kl_program *kl_session_program(struct kl_session *s, u32 id)
{
	return id ? xa_load(&s->defs.programs, id) : NULL;
}
