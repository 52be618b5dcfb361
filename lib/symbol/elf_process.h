/* SPDX-License-Identifier: GPL-2.0 */
/*
 * elf_names.h in a process of its own. Programs' files are made by anybody: one that is
 * damaged, huge or changed while it is read ends that process and not ours.
 */
#ifndef KL_LIB_SYMBOL_ELF_PROCESS_H
#define KL_LIB_SYMBOL_ELF_PROCESS_H

#include <sys/types.h>

#include "dwarf.h"
#include "elf_debug.h"

#define KL_ELF_FILES_MAX 1024 /* numbers of files: from 0 */
#define KL_ELF_FOUND_MAX 16 /* functions at one place */
#define KL_ELF_LINES_MAX 512 /* asked for at once */

/* Where an address is in the source; 0 and NULL: not known. */
struct kl_elf_line {
	const char *source;
	uint32_t line;
};

struct kl_elf_process;

/* Nothing is started yet. NULL with errno ENOMEM. */
struct kl_elf_process *kl_elf_process_create(void);
void kl_elf_process_destroy(struct kl_elf_process *process);

/*
 * How often it has been started: what was opened before the last time is not open any more.
 */
unsigned int kl_elf_process_starts(const struct kl_elf_process *process);

/* 0: it does not run. */
pid_t kl_elf_process_pid(const struct kl_elf_process *process);

/*
 * Open a file, or another one under the same number. @fd is taken over. @path: where debug
 * information may lie beside it, or NULL. @build_id: filled in. Returns -EINVAL if it is no
 * ELF file, -EPIPE if reading it has ended the process, -ENOENT if none can be started any more.
 */
int kl_elf_process_open(struct kl_elf_process *process, unsigned int number, int fd,
			const char *path, char build_id[KL_BUILD_ID_TEXT]);

/*
 * As kl_elf_names_find() of a file that is open, with room for KL_ELF_FOUND_MAX. Texts live
 * until the next call. Returns how many, or -EPIPE as above; a file that is not open has none.
 */
int kl_elf_process_find(struct kl_elf_process *process, unsigned int number, uint64_t place,
			bool lines, struct kl_dwarf_frame *frame);

/* As kl_elf_names_place(). Returns 0, -ENOENT, or -EPIPE as above. */
int kl_elf_process_place(struct kl_elf_process *process, unsigned int number, const char *name,
			 uint64_t *address);

/*
 * Lines of addresses of a file that is open, at most KL_ELF_LINES_MAX. Texts live until the next
 * call. Returns how many from the first on were looked for, which may be fewer, 0 if the file is
 * not open, or -EPIPE as above.
 */
int kl_elf_process_lines(struct kl_elf_process *process, unsigned int number,
			 const uint64_t *address, unsigned int n, struct kl_elf_line *line);

#endif /* KL_LIB_SYMBOL_ELF_PROCESS_H */
