# SPDX-License-Identifier: GPL-2.0
#
# Fuzzers of the library's parsers, one per file tests/fuzz/fuzz_*.c: docs/design/fuzz.md. Uses
# BUILD, CFLAGS and lib/lib.mk; FUZZ_TARGETS are the programs.

FUZZ := $(BUILD)/fuzz
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_TARGETS := $(FUZZ_NAMES:%=$(FUZZ)/fuzz-%)
FUZZ_SHARED := tests/fuzz/shared.c tests/unit/lib/synth.c
FUZZ_HEADERS := $(wildcard tests/fuzz/*.h tests/unit/lib/*.h lib/*/*.h) $(LIB_HEADERS)

# It is no part of the library.
$(FUZZ)/fuzz-fleet: fleet/names.c fleet/manifest.c fleet/receive.c fleet/cut.c $(wildcard fleet/*.h)

$(FUZZ_TARGETS): $(FUZZ)/fuzz-%: tests/fuzz/fuzz_%.c $(FUZZ_SHARED) $(LIB_CHECKED) \
		$(FUZZ_HEADERS)
	mkdir -p $(@D)
	$(call step,LD)$(CHECKED_CC) $(CHECKED_CFLAGS) -Wall -Werror -fsanitize=fuzzer $(LIB_INCLUDES) -Itests/unit -o $@ \
		$(filter %.c,$^) $(filter %.a,$^) $(LIB_LIBS) -ljansson -pthread

fuzzers: $(FUZZ_TARGETS) $(FUZZ)/seeds

# Generated inputs: too large to store, or written by today's writers.
$(FUZZ)/make-seeds: tests/fuzz/seeds.c $(FUZZ_SHARED) $(LIB) $(FUZZ_HEADERS)
	mkdir -p $(@D)
	$(call step,LD)$(CC) $(CFLAGS) $(LIB_INCLUDES) -Itests/unit -o $@ $(filter %.c,$^) $(filter %.a,$^) \
		$(LIB_LIBS) -ljansson -pthread

$(FUZZ)/seeds: $(FUZZ)/make-seeds
	$(call step,GEN)rm -rf $@ && $< $@

.PHONY: fuzzers
