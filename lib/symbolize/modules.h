/* SPDX-License-Identifier: GPL-2.0 */
/* Detects changes of the running kernel's modules. */
#ifndef KL_LIB_SYMBOLIZE_MODULES_H
#define KL_LIB_SYMBOLIZE_MODULES_H

#include <stdint.h>

/* Changes when a module is loaded, unloaded or moved. */
uint64_t kl_modules_hash(void);

#endif /* KL_LIB_SYMBOLIZE_MODULES_H */
