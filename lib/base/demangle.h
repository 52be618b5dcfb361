/* SPDX-License-Identifier: GPL-2.0 */
/* Turns mangled C++ and Rust symbols into the names their programmers wrote. */
#ifndef KL_LIB_BASE_DEMANGLE_H
#define KL_LIB_BASE_DEMANGLE_H

/*
 * The demangled name of a linker symbol; the caller frees it. NULL if @symbol is not a mangled
 * name, if it or the result is longer than 4096 bytes, or if memory is short. @symbol may be any
 * bytes.
 */
char *kl_demangle(const char *symbol);

#endif /* KL_LIB_BASE_DEMANGLE_H */
