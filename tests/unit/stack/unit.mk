# SPDX-License-Identifier: GPL-2.0
#
# Tests of kernel/core/stack_table.c in user space. Uses BUILD, CC, CFLAGS; adds to
# UNIT_TESTS.
#
#   session-stacks        rules, an interrupt at every operation, threads
#   session-stacks-tsan   the same with the thread sanitizer

STACK_TESTS := $(BUILD)/tests/session-stacks $(BUILD)/tests/session-stacks-tsan
UNIT_TESTS += $(STACK_TESTS)

$(BUILD)/tests/session-stacks-tsan: STACK_FLAGS := -fsanitize=thread

$(STACK_TESTS): tests/unit/stack/stacks.c kernel/core/stack_table.c \
		kernel/core/stack_table.h kernel/ring/platform.h tests/unit/unit.h \
		uapi/define.h tests/unit/stack/unit.mk
	mkdir -p $(@D)
	$(call step,LD)$(CC) $(CFLAGS) $(STACK_FLAGS) -DKL_RING_TEST_HOOK -o $@ $(filter %.c,$^) -pthread
