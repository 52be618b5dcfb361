/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of the kernel that are not exported to modules: see function.c. */
#ifndef KL_BASE_FUNCTION_H
#define KL_BASE_FUNCTION_H

unsigned long kl_function_address(const char *name);
void *kl_function_find(const char *name);

#endif /* KL_BASE_FUNCTION_H */
