# SPDX-License-Identifier: GPL-2.0
#
# Fuzzers of the library's parsers, one a file tests/fuzz/fuzz_*.c: docs/design/fuzz.md. Uses BUILD,
# CFLAGS and lib/lib.mk; FUZZ_TARGETS are the programs. The library is compiled once more, by clang
# and with checkers, into an archive of its own.

FUZZ_CC ?= clang
FUZZ := $(BUILD)/fuzz
FUZZ_CHECKERS := -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer
# The warnings are those of the usual build.
FUZZ_CFLAGS = $(filter-out -O2 -W%,$(CFLAGS)) -O1 $(FUZZ_CHECKERS)
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_TARGETS := $(FUZZ_NAMES:%=$(FUZZ)/fuzz-%)
FUZZ_OBJECTS := $(LIB_SOURCES:%.c=$(FUZZ)/%.o)
FUZZ_SHARED := tests/fuzz/shared.c tests/unit/lib/synth.c
FUZZ_HEADERS := $(wildcard tests/fuzz/*.h tests/unit/lib/*.h lib/*/*.h) $(LIB_HEADERS)

$(FUZZ_OBJECTS): $(FUZZ)/%.o: %.c $(wildcard uapi/*)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link -Ilib/include -MMD -MP -c $< -o $@

$(FUZZ)/libkernlens.a: $(FUZZ_OBJECTS)
	rm -f $@
	$(AR) rcs $@ $^

$(FUZZ_TARGETS): $(FUZZ)/fuzz-%: tests/fuzz/fuzz_%.c $(FUZZ_SHARED) $(FUZZ)/libkernlens.a \
		$(FUZZ_HEADERS)
	$(FUZZ_CC) $(FUZZ_CFLAGS) -Wall -Werror -fsanitize=fuzzer -Ilib/include -Itests/unit -o $@ \
		$(filter %.c,$^) $(filter %.a,$^) $(LIB_LIBS) -ljansson -pthread

fuzzers: $(FUZZ_TARGETS) $(FUZZ)/seeds

# Inputs that programs make: too large to keep, or made by today's writers.
$(FUZZ)/make-seeds: tests/fuzz/seeds.c $(FUZZ_SHARED) $(LIB) $(FUZZ_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Ilib/include -Itests/unit -o $@ $(filter %.c,$^) $(filter %.a,$^) \
		$(LIB_LIBS) -ljansson -pthread

$(FUZZ)/seeds: $(FUZZ)/make-seeds
	rm -rf $@
	$< $@

.PHONY: fuzzers

-include $(FUZZ_OBJECTS:.o=.d)
