/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of kl_program.ko: short notation for programs. */
#ifndef KL_TESTS_PROGRAM_TEST_H
#define KL_TESTS_PROGRAM_TEST_H

#include "kernel/core/program.h"
#include "kernel/core/program_platform.h"

#define OP(code_, ...) ((struct kl_abi_op){ .code = KL_OP_##code_, __VA_ARGS__ })

#define make_program(...)                                        \
	({                                                       \
		const struct kl_abi_op ops_[] = { __VA_ARGS__ }; \
		create_program(ops_, ARRAY_SIZE(ops_));          \
	})

struct kl_program *create_program(const struct kl_abi_op *ops, u32 n);
int report_costs(char *to, const struct kernel_param *parameter);

#endif /* KL_TESTS_PROGRAM_TEST_H */
