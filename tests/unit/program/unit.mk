# SPDX-License-Identifier: GPL-2.0
#
# Tests of kernel/core/program*.c in user space. Uses BUILD, CC, CFLAGS; adds to UNIT_TESTS.
#
#   program-unit        rules, operations, random expressions and operations
#   program-unit-asan   the same with the address and undefined-behavior sanitizers

PROGRAM_SOURCES := $(wildcard kernel/core/program*.c tests/unit/program/*.c)
PROGRAM_HEADERS := $(wildcard kernel/core/program*.h tests/unit/program/*.h) \
	kernel/core/variable.h tests/unit/unit.h $(wildcard uapi/*)
PROGRAM_TESTS := $(addprefix $(BUILD)/tests/program-,unit unit-asan)
UNIT_TESTS += $(PROGRAM_TESTS)

$(BUILD)/tests/program-unit-asan: PROGRAM_FLAGS := -fsanitize=address,undefined \
	-fno-sanitize-recover=all

$(PROGRAM_TESTS): $(PROGRAM_SOURCES) $(PROGRAM_HEADERS) tests/unit/program/unit.mk
	mkdir -p $(@D)
	$(call step,LD)$(CC) $(CFLAGS) $(PROGRAM_FLAGS) -o $@ $(filter %.c,$^)
