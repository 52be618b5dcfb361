/* SPDX-License-Identifier: GPL-2.0 */
/* Names of C++ and Rust functions as their programmers write them. */
#ifndef KL_LIB_BASE_DEMANGLE_H
#define KL_LIB_BASE_DEMANGLE_H

/*
 * The name that a linker's symbol stands for; to be freed. NULL: it is no such symbol, it is
 * or becomes longer than 4096 bytes, or there is no memory. @symbol may be any bytes.
 */
char *kl_demangle(const char *symbol);

#endif /* KL_LIB_BASE_DEMANGLE_H */
