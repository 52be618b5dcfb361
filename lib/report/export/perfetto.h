/* SPDX-License-Identifier: GPL-2.0 */
/* Packets and names of Perfetto's format. perfetto.c writes a trace with them. */
#ifndef KL_LIB_REPORT_EXPORT_PERFETTO_H
#define KL_LIB_REPORT_EXPORT_PERFETTO_H

#include "../../base/table.h"
#include "export.h"
#include "perfetto.pb-c.h"

/**
 * struct perfetto - state of the format
 * @names: bit by the number of a name: it has been written
 * @frames, @paths: the same for functions and paths of the profile
 * @fields, @objects: struct interned
 */
struct perfetto {
	struct kl_buffer names;
	struct kl_buffer frames;
	struct kl_buffer paths;
	struct kl_hash fields;
	struct kl_hash objects;
	bool begun;
};

/* Write a packet. This and the others return 0 or a negative errno. */
int kl_perfetto_put(struct kl_export *x, Perfetto__TracePacket *packet);

/* Write what a number stands for, unless that has been done: names of the timeline, and paths. */
int kl_perfetto_name(struct kl_export *x, uint32_t number);
int kl_perfetto_path(struct kl_export *x, uint32_t number);

/* Write the names of the fields of all events of the trace. */
int kl_perfetto_fields(struct kl_export *x);

/* The number of a field's name; 0: it has not been written. */
uint64_t kl_perfetto_field(const struct kl_export *x, const char *field);

/* Write the kinds of tracks, whose numbers are those of the kinds, plus 1. */
int kl_perfetto_categories(struct kl_export *x);

void kl_perfetto_init(struct perfetto *p);
void kl_perfetto_clean(struct perfetto *p);

#endif /* KL_LIB_REPORT_EXPORT_PERFETTO_H */
