/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations between KL_PUBLIC_BEGIN and KL_PUBLIC_END in a public header are exported from the
 * library and have C linkage when a C++ compiler reads the header.
 */
#ifndef KERNLENS_PUBLIC_H
#define KERNLENS_PUBLIC_H

#ifdef __cplusplus
#define KL_PUBLIC_BEGIN                                    \
	_Pragma("GCC visibility push(default)") extern "C" \
	{
#define KL_PUBLIC_END \
	}             \
	_Pragma("GCC visibility pop")
#else
#define KL_PUBLIC_BEGIN _Pragma("GCC visibility push(default)")
#define KL_PUBLIC_END _Pragma("GCC visibility pop")
#endif

#endif /* KERNLENS_PUBLIC_H */
