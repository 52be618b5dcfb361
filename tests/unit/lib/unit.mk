# SPDX-License-Identifier: GPL-2.0
# Unit tests of the library: one program a test_*.c, linked with the static
# library. Included by the top Makefile behind lib/lib.mk.

LIB_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/lib/test_*.c))
LIB_BENCH := $(BUILD)/tests/unit/lib/bench

$(LIB_TESTS) $(LIB_BENCH): $(BUILD)/%: %.c tests/unit/lib/synth.c tests/unit/lib/synth.h \
		tests/unit/unit.h $(LIB) $(LIB_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Ilib/include -Itests/unit $< tests/unit/lib/synth.c \
		$(filter tests/unit/lib/ring_writer.c kernel/ring/ring.c,$^) $(LIB) \
		-ljansson -lpthread -o $@

# The module's ring itself writes what this one reads.
LIB_RING := tests/unit/lib/ring_writer.c kernel/ring/ring.c
$(BUILD)/tests/unit/lib/test_reader: $(LIB_RING) $(wildcard kernel/ring/*.h)

unit-lib: $(LIB_TESTS)
	@failed=0; for t in $^; do echo "# $$t"; $$t || failed=1; done; exit $$failed

bench-lib: $(LIB_BENCH)
	$(LIB_BENCH)

.PHONY: unit-lib bench-lib
