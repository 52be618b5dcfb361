# SPDX-License-Identifier: GPL-2.0
# Compares a kernel's blocks with another decoder and tests splices (tests/block/run).

BLOCK_PROGRAMS := $(patsubst %,$(BUILD)/tests/block-%,splice whole refuse fuzz faults load cost)

block-tests: $(BUILD)/tests/block-compare $(BLOCK_PROGRAMS)

$(BUILD)/tests/block-compare: tests/block/compare.c kernel/splice/instruction.c \
		kernel/splice/instruction.h tests/unit/unit.h $(LIB)
	mkdir -p $(@D)
	$(call step,LD)$(CC) $(CFLAGS) $(LIB_INCLUDES) -o $@ $(filter %.c,$^) $(LIB) $(LIB_LIBS) -lm -pthread

.PHONY: block-tests

$(BUILD)/tests/block-whole: tests/block/patch.c tests/block/patch.h
$(BUILD)/tests/block-faults: tests/unit/failing.h tests/unit/file.h

$(BLOCK_PROGRAMS): $(BUILD)/tests/block-%: tests/block/%.c tests/block/plan.h tests/unit/unit.h \
		$(wildcard uapi/*.h uapi/block*.def) $(LIB)
	mkdir -p $(@D)
	$(call step,LD)$(CC) $(CFLAGS) $(LIB_INCLUDES) -o $@ $(filter %.c,$^) $(LIB) $(LIB_LIBS) -lm -pthread
