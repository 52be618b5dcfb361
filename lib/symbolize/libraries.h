/* SPDX-License-Identifier: GPL-2.0 */
/* Where the dynamic linker finds libraries by name, and the vDSO. */
#ifndef KL_LIB_SYMBOLIZE_LIBRARIES_H
#define KL_LIB_SYMBOLIZE_LIBRARIES_H

#include <stddef.h>

struct kl_libraries;

/* Read the dynamic linker's cache. A missing or unknown one has no entries. NULL: out of memory. */
struct kl_libraries *kl_libraries_create(void);
void kl_libraries_destroy(struct kl_libraries *libraries);

/* The path of a library for this machine, or NULL. A name with a slash is a path. */
const char *kl_libraries_find(const struct kl_libraries *libraries, const char *name);

/* The image of the vDSO in this process, or NULL. */
char *kl_vdso_find(size_t *bytes);

#endif /* KL_LIB_SYMBOLIZE_LIBRARIES_H */
