/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contract with the kernel module, for users of the library: KL_EV_*,
 * KL_MODE_*, KL_READER_*, struct kl_abi_* ... In the source tree it is
 * uapi/kernlens.h; an installation puts that file and its tables here.
 */
#ifndef KERNLENS_ABI_H
#define KERNLENS_ABI_H

#include "../../../uapi/kernlens.h"

#endif /* KERNLENS_ABI_H */
