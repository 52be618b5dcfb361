/* SPDX-License-Identifier: GPL-2.0 */
/* A maskset's text: maskset.c parses it, maskset_file.c reads and writes its file. */
#ifndef KL_LIB_MASKSET_H
#define KL_LIB_MASKSET_H

#include <kernlens/maskset.h>

struct kl_maskset {
	char *name;
	char *origin;
	char *text;
	size_t length;
	char *help;
	struct kl_maskset_line *lines;
	size_t n_lines, room;
};

#endif /* KL_LIB_MASKSET_H */
