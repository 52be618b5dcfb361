/* SPDX-License-Identifier: GPL-2.0 */
/* Saves extracted traces where kernlens status finds them (base/crashes.h). */
#ifndef KL_CLI_TRACE_EXTRACT_SAVE_H
#define KL_CLI_TRACE_EXTRACT_SAVE_H

#include <jansson.h>
#include <stddef.h>
#include <kernlens/internal.h>

/**
 * struct cli_save - a crash that is being saved
 * @document: what is known about it
 * @folder: its folder when all is there
 * @part: the folder until then, which begins with a dot
 * @bug_ns: when the kernel reported what is the cause
 * @kept: the memory is that of this machine, which was reset
 */
struct cli_save {
	json_t *document;
	char *folder;
	char *part;
	uint64_t bug_ns;
	bool kept;
};

/* Create the folder for the traces. Returns the exit status. */
int cli_save_begin(struct cli_save *save, struct kl_dump *dump);

/* Note a trace in @save->part: its records, and what the kernel said last. @name: of its folder. */
void cli_save_add(struct cli_save *save, const struct kl_dump_session *session, const char *name);

/*
 * Write the document, give the folder its name, and remove the oldest crashes if there are more
 * than @keep. Without a trace, remove the folder. @damage: lines about damage. Returns the exit
 * status.
 */
int cli_save_end(struct cli_save *save, size_t damage, size_t keep);

#endif /* KL_CLI_TRACE_EXTRACT_SAVE_H */
