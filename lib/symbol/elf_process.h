/* SPDX-License-Identifier: GPL-2.0 */
/*
 * elf_names.h in a process of its own. Programs' files are untrusted: one that is damaged, huge or
 * changed while it is read kills that process and not ours.
 */
#ifndef KL_LIB_SYMBOL_ELF_PROCESS_H
#define KL_LIB_SYMBOL_ELF_PROCESS_H

#include <sys/types.h>

#include "cfi.h"
#include "dwarf.h"
#include "elf_debug.h"

#define KL_ELF_FILES_MAX 1024 /* file numbers are below this */
#define KL_ELF_FOUND_MAX 16 /* functions at one address */
#define KL_ELF_LINES_MAX 512 /* addresses per request */

/* Source line of an address; 0 and NULL: unknown. */
struct kl_elf_line {
	const char *source;
	uint32_t line;
};

struct kl_elf_process;

/* Does not start the process yet. NULL with errno ENOMEM. */
struct kl_elf_process *kl_elf_process_create(void);
void kl_elf_process_destroy(struct kl_elf_process *process);

/*
 * How often the process has been started. Files opened before the latest start are no longer open.
 */
unsigned int kl_elf_process_starts(const struct kl_elf_process *process);

/* 0: not running. */
pid_t kl_elf_process_pid(const struct kl_elf_process *process);

/*
 * Open a file, replacing any with the same number. Takes ownership of @fd. @path: the file's path,
 * to find a debug file next to it, or NULL. @build_id: filled in. Returns -EINVAL if the file is
 * not ELF, -EPIPE if reading it killed the process, -ENOENT if the process cannot be started
 * (again).
 */
int kl_elf_process_open(struct kl_elf_process *process, unsigned int number, int fd,
			const char *path, char build_id[KL_BUILD_ID_TEXT]);

/*
 * Like kl_elf_names_find() on an open file, with room for KL_ELF_FOUND_MAX. Texts live until the
 * next call. Returns the number of functions, 0 for a file that is not open, or -EPIPE as above.
 */
int kl_elf_process_find(struct kl_elf_process *process, unsigned int number, uint64_t place,
			bool lines, struct kl_dwarf_frame *frame);

/* Like kl_elf_names_variable(). The text lives until the next call. */
const char *kl_elf_process_variable(struct kl_elf_process *process, unsigned int number,
				    uint64_t place, uint64_t distance, uint64_t *offset);

/* Like kl_elf_names_place(). Returns 0, -ENOENT, or -EPIPE as above. */
int kl_elf_process_place(struct kl_elf_process *process, unsigned int number, const char *name,
			 uint64_t *address);

/*
 * Source lines of up to KL_ELF_LINES_MAX addresses of an open file. Texts live until the next call.
 * Returns how many addresses were looked up, from the first on, which may be fewer than @n; 0 if
 * the file is not open; or -EPIPE as above.
 */
int kl_elf_process_lines(struct kl_elf_process *process, unsigned int number,
			 const uint64_t *address, unsigned int n, struct kl_elf_line *line);

/*
 * The unwind table of an open file. The caller calls kl_cfi_deinit(). The module checks the rows.
 * Returns 0, also if the table is empty; -ENOMEM; or -EPIPE as above.
 */
int kl_elf_process_unwind(struct kl_elf_process *process, unsigned int number,
			  struct kl_cfi_table *table);

/*
 * Name number @index of the libraries that an open file needs. The text lives until the next call.
 * NULL after the last, or if the process has ended.
 */
const char *kl_elf_process_needed(struct kl_elf_process *process, unsigned int number,
				  unsigned int index);

#endif /* KL_LIB_SYMBOL_ELF_PROCESS_H */
