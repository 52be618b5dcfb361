// SPDX-License-Identifier: GPL-2.0
/*
 * Resolves addresses in a program's data to variables. A frame of a stack trace has an address and
 * an offset in a file, which shows where the file is loaded; symbol/elf_process.c reads the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/error.h>
#include "../base/base.h"
#include "../base/demangle.h"
#include "../symbol/elf_process.h"
#include "variables.h"

/* Data is at most this far from the code of the same file, in bytes. */
#define FAR (1ull << 31)

/* @build_id: empty: it cannot be read. @start: start count of the process that has it open */
struct file {
	char *path;
	char build_id[KL_BUILD_ID_TEXT];
	unsigned int start;
};

struct kl_program_variables {
	struct kl_elf_process *process;
	struct file file[KL_ELF_FILES_MAX];
	unsigned int n;
};

struct kl_program_variables *kl_program_variables_create(void)
{
	struct kl_program_variables *variables = calloc(1, sizeof(*variables));

	if (!variables)
		return NULL;
	variables->process = kl_elf_process_create();
	if (variables->process)
		return variables;
	free(variables);
	return NULL;
}

void kl_program_variables_destroy(struct kl_program_variables *variables)
{
	if (!variables)
		return;
	for (unsigned int i = 0; i < variables->n; i++)
		free(variables->file[i].path);
	kl_elf_process_destroy(variables->process);
	free(variables);
}

static void open_file(struct kl_program_variables *variables, unsigned int number)
{
	struct file *file = &variables->file[number];
	int fd = kl_open_regular(file->path);

	if (fd < 0 ||
	    kl_elf_process_open(variables->process, number, fd, file->path, file->build_id))
		*file->build_id = 0;
	file->start = kl_elf_process_starts(variables->process);
	kl_error_clear();
}

/* The number of a frame's file if it is open, or -1. */
static int file_of(struct kl_program_variables *variables, const struct kl_frame *frame)
{
	struct file *file = variables->file;
	unsigned int i = 0;

	while (i < variables->n && strcmp(file[i].path, frame->object) != 0)
		i++;
	if (i == KL_ELF_FILES_MAX)
		return -1;
	if (i == variables->n) {
		file[i].path = strdup(frame->object);
		if (!file[i].path)
			return -1;
		variables->n++;
		open_file(variables, i);
	}
	return file[i].start == kl_elf_process_starts(variables->process) && frame->build_id &&
			       !strcmp(file[i].build_id, frame->build_id) ?
		       (int)i :
		       -1;
}

bool kl_program_variables_name(struct kl_program_variables *variables, const struct kl_stack *stack,
			       uint64_t address, struct kl_buffer *name)
{
	for (unsigned int i = 0; i < stack->n; i++) {
		const struct kl_frame *frame = &stack->frame[i];
		const char *symbol = NULL;
		uint64_t offset = 0;
		char *demangled;
		int number;

		if (frame->uncertain || !frame->object || *frame->object != '/' ||
		    address - frame->address + FAR > 2 * FAR)
			continue;
		number = file_of(variables, frame);
		if (number >= 0)
			symbol = kl_elf_process_variable(variables->process, (unsigned int)number,
							 frame->place, address - frame->address,
							 &offset);
		if (!symbol)
			continue;
		demangled = kl_demangle(symbol);
		kl_buffer_printf(name, offset ? "%s+0x%llx" : "%s", demangled ?: symbol,
				 (unsigned long long)offset);
		free(demangled);
		return true;
	}
	return false;
}
