# SPDX-License-Identifier: GPL-2.0
# The comparison of a kernel's blocks with another decoder (tests/block/run).

block-tests: $(BUILD)/tests/block-compare $(BUILD)/tests/block-splice

$(BUILD)/tests/block-compare: tests/block/compare.c kernel/source/block/instruction.c \
		kernel/source/block/instruction.h tests/unit/unit.h $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Ilib/include -o $@ $(filter %.c,$^) $(LIB) $(LIB_LIBS) -lm -pthread

.PHONY: block-tests

$(BUILD)/tests/block-splice: tests/block/splice.c tests/unit/unit.h $(wildcard uapi/*.h) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Ilib/include -o $@ $(filter %.c,$^) $(LIB) $(LIB_LIBS) -lm -pthread
