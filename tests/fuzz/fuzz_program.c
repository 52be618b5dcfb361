// SPDX-License-Identifier: GPL-2.0
/* Functions and blocks of a program's file (splice/program.c, block/program.c). */
#include <unistd.h>

#include "blocks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kl_program *program;
	size_t position = 0;
	uint64_t offset;
	const char *name;
	char path[64];
	int fd = fuzz_file(data, size, path);

	program = kl_program_open(path);
	if (program) {
		blocks_all(kl_program_blocks(program));
		for (int i = 0; i < 50; i++)
			if (kl_program_next(program, "*", &position, &name) < 0)
				break;
		kl_program_offset(program, 0x1000, &offset);
	} else {
		fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
	}
	kl_program_close(program);
	close(fd);
	return 0;
}
