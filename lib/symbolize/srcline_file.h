/* SPDX-License-Identifier: GPL-2.0 */
/* Finds the debug information of the kernel or of a module. */
#ifndef KL_LIB_SYMBOLIZE_SRCLINE_FILE_H
#define KL_LIB_SYMBOLIZE_SRCLINE_FILE_H

#include <limits.h>
#include <unistd.h>

#include "../block/block.h"
#include "../symbol/elf_process.h"

#define KL_SOURCE_KERNEL_PLACE "_stext" /* a symbol of the kernel and of its file */

#define KL_RELEASE_MAX 65

struct kl_source_files {
	const char *debug; /* path that the user gave, or NULL */
	bool folder; /* @debug is a directory */
	bool used; /* @debug has been used */
	char release[KL_RELEASE_MAX];
	char refused[PATH_MAX + 256];
};

void kl_source_files_init(struct kl_source_files *files, const struct kl_blocks *blocks,
			  const char *debug, bool folder);

/* The build id of the kernel (@module empty) or of a loaded module. Returns false if unknown. */
bool kl_source_build_id(const struct kl_blocks *blocks, const char *module,
			char id[KL_BUILD_ID_TEXT]);

/*
 * Find the file with a build id, and open it in the process under a number. @place: a symbol or
 * section that its debug information must resolve. Also returns a descriptor, or -1.
 */
int kl_source_file_open(struct kl_source_files *files, struct kl_elf_process *process,
			unsigned int number, const char *module, const char *id, const char *place);

#endif /* KL_LIB_SYMBOLIZE_SRCLINE_FILE_H */
