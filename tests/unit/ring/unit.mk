# SPDX-License-Identifier: GPL-2.0
#
# Tests of kernel/ring in user space. Uses BUILD, CC, CFLAGS; adds to UNIT_TESTS.
#
#   ring-unit           rules, interrupts at every operation, readers at every step
#   ring-instructions   rules, interrupts at every machine instruction
#   ring-unit-asan      ring-unit with the address and undefined-behavior sanitizers
#   ring-stress         threads and signals, 5 s
#   ring-stress-tsan    the same with the thread sanitizer, shorter
#   ring-stress-asan    the same with the address and undefined-behavior sanitizers

RING_SOURCES := $(wildcard kernel/ring/*.c)
RING_UNIT := $(addprefix tests/unit/ring/,bench.c rules.c nesting.c reading.c main.c)
RING_STRESS := tests/unit/ring/stress.c tests/unit/ring/stress_read.c
RING_HEADERS := $(wildcard kernel/ring/*.h tests/unit/ring/*.h) tests/unit/unit.h $(wildcard uapi/*)

RING_HOOK := -DKL_RING_TEST_HOOK
RING_ASAN := $(RING_HOOK) -fsanitize=address,undefined -fno-sanitize-recover=all
# The fences order copies that are not instrumented (see stress_read.c).
RING_TSAN := $(RING_HOOK) -fsanitize=thread -Wno-unknown-warning-option -Wno-tsan

RING_TESTS := $(addprefix $(BUILD)/tests/ring-,unit instructions unit-asan stress stress-tsan stress-asan)
UNIT_TESTS += $(RING_TESTS)

$(BUILD)/tests/ring-unit: RING_FLAGS := $(RING_HOOK)
$(BUILD)/tests/ring-unit-asan: RING_FLAGS := $(RING_ASAN)
$(BUILD)/tests/ring-unit $(BUILD)/tests/ring-unit-asan: \
		$(RING_UNIT) tests/unit/ring/operations.c $(RING_SOURCES)
$(BUILD)/tests/ring-instructions: $(RING_UNIT) tests/unit/ring/instructions.c $(RING_SOURCES)

$(BUILD)/tests/ring-stress-tsan: RING_FLAGS := $(RING_TSAN) -DSTRESS_MS=700
$(BUILD)/tests/ring-stress-asan: RING_FLAGS := $(RING_ASAN) -DSTRESS_MS=700
$(BUILD)/tests/ring-stress $(BUILD)/tests/ring-stress-tsan $(BUILD)/tests/ring-stress-asan: \
		$(RING_STRESS) $(RING_SOURCES)

$(RING_TESTS): $(RING_HEADERS) tests/unit/ring/unit.mk
	mkdir -p $(@D)
	$(call step,LD)$(CC) $(CFLAGS) $(RING_FLAGS) -o $@ $(filter %.c,$^) -pthread
