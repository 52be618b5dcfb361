# SPDX-License-Identifier: GPL-2.0
#
# Unit tests of lib/symbol. Uses BUILD, CC, CFLAGS, CACHE, KERNELS and lib/lib.mk;
# adds to UNIT_TESTS. Each is built twice, with -asan under the address and
# undefined-behavior sanitizers.
#
#   lib-names        functions and lines of programs, damaged files, names of C++ and Rust
#   lib-symbols      BTF of each kernel against the compiler, damaged BTF, kallsyms
#   lib-unwind       unwind tables against libdw, damaged sections
#   lib-expressions  expressions compiled and run; errors; defined events; fuzz
#   lib-usdt         USDT markers: operands parsed and read, notes of files

SYMBOL_TESTS := $(addprefix $(BUILD)/tests/lib-,symbols expressions usdt)
SYMBOL_TESTS_ASAN := $(SYMBOL_TESTS:%=%-asan)
UNIT_TESTS += $(SYMBOL_TESTS) $(SYMBOL_TESTS_ASAN)

SYMBOL_TEST_SOURCES := $(addprefix tests/unit/symbol/,evaluate.c kernels.c)
SYMBOL_TEST_HEADERS := $(wildcard tests/unit/symbol/*.h lib/*/*.h) $(LIB_HEADERS) tests/unit/unit.h
SYMBOL_OFFSETS := $(KERNELS:%=$(BUILD)/tests/offsets/%/list)
SYMBOL_TEST_BUILD = mkdir -p $(@D); \
	$(call step,LD)$(CC) $(CFLAGS) $(LIB_INCLUDES) -Itests/unit -DKL_TEST_CACHE='"$(abspath $(CACHE))"' \
		-DKL_TEST_KERNELS='"$(KERNELS)"' -DKL_TEST_OFFSETS='"$(abspath $(BUILD)/tests/offsets)"' \
		-DKL_TEST_USDT='"$(abspath $(BUILD)/tests/cli/usdt)"' \
		-DKL_TEST_MANUAL='"$(abspath docs/man/kernlens-expressions.7)"' \
		-o $@ $(filter %.c %.a,$^) $(LIB_LIBS)

$(BUILD)/tests/lib-usdt $(BUILD)/tests/lib-usdt-asan: $(BUILD)/tests/cli/usdt

# The compiler's layout, from each kernel's headers.
$(SYMBOL_OFFSETS): $(BUILD)/tests/offsets/%/list: tests/unit/symbol/offsets/offsets.c \
		tests/unit/symbol/offsets/Kbuild $(CACHE)/%/release
	mkdir -p $(@D) && cp $(filter tests/%,$^) $(@D)/
	vm/with-tools $* $(MAKE) --no-print-directory -C $$(realpath $(CACHE)/$*/headers) \
		M=$(abspath $(@D)) offsets.s
	sed -n 's/^->//p' $(@D)/offsets.s > $@

$(BUILD)/tests/lib-expressions $(BUILD)/tests/lib-expressions-asan: \
		$(addprefix tests/unit/symbol/,arithmetic.c fuzz.c source.c)

$(SYMBOL_TESTS): $(BUILD)/tests/lib-%: tests/unit/symbol/test_%.c $(SYMBOL_TEST_SOURCES) $(LIB) \
		$(SYMBOL_TEST_HEADERS) | $(SYMBOL_OFFSETS)
	$(SYMBOL_TEST_BUILD)

# With the library built with sanitizers, too.
$(SYMBOL_TESTS_ASAN): private CC = $(CHECKED_CC)
$(SYMBOL_TESTS_ASAN): private CFLAGS += $(CHECKED_TEST_CFLAGS)
$(SYMBOL_TESTS_ASAN): $(BUILD)/tests/lib-%-asan: tests/unit/symbol/test_%.c $(SYMBOL_TEST_SOURCES) \
		$(LIB_CHECKED) $(SYMBOL_TEST_HEADERS) | $(SYMBOL_OFFSETS)
	$(SYMBOL_TEST_BUILD)

# A C++ program that tests of the command run, too.
NAMES_TESTS := $(BUILD)/tests/lib-names $(BUILD)/tests/lib-names-asan
UNIT_TESTS += $(NAMES_TESTS)
NAMES_TEST_BUILD = mkdir -p $(@D); \
	$(call step,LD)$(CC) $(CFLAGS) $(LIB_INCLUDES) -Itests/unit -DKL_TEST_PROGRAM='"$(abspath $(BUILD)/tests/cli/stack-names)"' \
		-DKL_TEST_SOURCE='"$(abspath tests/cli/stack_names.cc)"' -o $@ $(filter %.c %.a,$^) $(LIB_LIBS) -pthread

$(BUILD)/tests/lib-names: tests/unit/symbol/test_names.c $(LIB) tests/unit/unit.h $(BUILD)/tests/cli/stack-names
	$(NAMES_TEST_BUILD)
$(BUILD)/tests/lib-names-asan: private CC = $(CHECKED_CC)
$(BUILD)/tests/lib-names-asan: private CFLAGS += $(CHECKED_TEST_CFLAGS)
$(BUILD)/tests/lib-names-asan: tests/unit/symbol/test_names.c $(LIB_CHECKED) tests/unit/unit.h \
		$(BUILD)/tests/cli/stack-names
	$(NAMES_TEST_BUILD)

UNWIND_TESTS := $(BUILD)/tests/lib-unwind $(BUILD)/tests/lib-unwind-asan
UNIT_TESTS += $(UNWIND_TESTS)
UNWIND_TEST_BUILD = mkdir -p $(@D); \
	$(call step,LD)$(CC) $(CFLAGS) $(LIB_INCLUDES) -Itests/unit -o $@ $(filter %.c %.a,$^) $(LIB_LIBS)

$(BUILD)/tests/lib-unwind: tests/unit/symbol/test_unwind.c $(LIB) $(SYMBOL_TEST_HEADERS)
	$(UNWIND_TEST_BUILD)
$(BUILD)/tests/lib-unwind-asan: private CC = $(CHECKED_CC)
$(BUILD)/tests/lib-unwind-asan: private CFLAGS += $(CHECKED_TEST_CFLAGS)
$(BUILD)/tests/lib-unwind-asan: tests/unit/symbol/test_unwind.c $(LIB_CHECKED) $(SYMBOL_TEST_HEADERS)
	$(UNWIND_TEST_BUILD)
