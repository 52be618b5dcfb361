/* SPDX-License-Identifier: GPL-2.0 */
/* What precedes the strings in a record: struct kl_rec_NAME for each row of events.def. */
#ifndef KL_SOURCE_RECORDS_H
#define KL_SOURCE_RECORDS_H

#include "../../uapi/kernlens.h"

/* Macros that expand to declarations are laid out by hand. */
/* clang-format off */

#define KL_F(type, name, format, value) type name;
#define KL_F1(type, name, format, value) type name;
#define KL_F2(type, name, format, value) type name;
#define KL_A(type, name, count, format, pointer) type name[count];
#define KL_COMM(name, task) char name[KL_COMM_LEN];
#define KL_COMM1(name, task) char name[KL_COMM_LEN];
#define KL_COMM2(name, task) char name[KL_COMM_LEN];
#define KL_NO_FIELDS
#define KL_EVENT(id, name, group, set, help, source, access, fields, strings)           \
	struct kl_rec_##name {                                                          \
		fields                                                                  \
	} __packed;                                                                     \
	static_assert(sizeof(struct kl_rec_##name) + 3 * KL_STRING_MAX +                \
			      sizeof(u64) + KL_CHANGED_BYTES(KL_VARIABLES_MAX) +        \
			      sizeof(struct kl_abi_task) + KL_VARIABLES_BYTES_MAX <=    \
		      KL_RECORD_MAX);
#include "../../uapi/events.def"
#undef KL_EVENT
#undef KL_F
#undef KL_F1
#undef KL_F2
#undef KL_A
#undef KL_COMM
#undef KL_COMM1
#undef KL_COMM2
#undef KL_NO_FIELDS
/* clang-format on */

#endif /* KL_SOURCE_RECORDS_H */
