# SPDX-License-Identifier: GPL-2.0
# The comparison of a kernel's blocks with another decoder (tests/block/run).

block-tests: $(BUILD)/tests/block-compare

$(BUILD)/tests/block-compare: tests/block/compare.c tests/unit/unit.h $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Ilib/include -o $@ $< $(LIB) $(LIB_LIBS) -lm -pthread

.PHONY: block-tests
