/* SPDX-License-Identifier: GPL-2.0 */
/* The kernels in the cache, one after the other. */
#ifndef KL_TESTS_SYMBOL_KERNELS_H
#define KL_TESTS_SYMBOL_KERNELS_H

/* The name of the kernel @index, such as "6.1"; NULL after the last. */
const char *kernel_name(unsigned int index);

/* The vmlinux of @kernel in the cache. Overwritten by the next call. */
const char *kernel_image(const char *kernel);

/* A name for a test: @text with " (@kernel)". Overwritten by the next call. */
const char *kernel_test(const char *text, const char *kernel);

#endif /* KL_TESTS_SYMBOL_KERNELS_H */
