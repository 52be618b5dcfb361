// SPDX-License-Identifier: GPL-2.0
/* Handler `log`: a record with the event's fields and the session's variables. */
#include "../core/record.h"
#include "handler.h"

const struct kl_handler kl_handler_log = {
	.flags = KL_HANDLES_PLAIN | KL_HANDLES_RECORD,
};

KL_HIT(log)
{
	struct kl_reservation place = kl_record_begin(s, this_cpu_ptr(s->cpu), id, f->bytes);

	if (unlikely(!place.at))
		return;
	memcpy(place.at, f->fields, f->bytes);
	kl_record_end(place, f->bytes);
}
