/* SPDX-License-Identifier: GPL-2.0 */
/* Which modules the running kernel has. */
#ifndef KL_LIB_SYMBOLIZE_MODULES_H
#define KL_LIB_SYMBOLIZE_MODULES_H

#include <stdint.h>

/* Changes when one comes or goes, or lies elsewhere. */
uint64_t kl_modules_hash(void);

#endif /* KL_LIB_SYMBOLIZE_MODULES_H */
