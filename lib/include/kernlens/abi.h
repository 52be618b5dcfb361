/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface of the kernel module, for users of the library: KL_EV_*, KL_MODE_*, KL_READER_*,
 * struct kl_abi_* ... It is installed in kernlens/uapi/, which in the source tree is a link to
 * uapi/.
 */
#ifndef KERNLENS_ABI_H
#define KERNLENS_ABI_H

/* It has arrays without a length, which C++ and strict C only know as an extension. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <kernlens/uapi/kernlens.h>
#pragma GCC diagnostic pop

#endif /* KERNLENS_ABI_H */
