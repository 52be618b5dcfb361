# SPDX-License-Identifier: GPL-2.0
#
# The kernel-side tests. Uses BUILD, CACHE, KERNELS, CC, CFLAGS.
#
#   kernel-tests     the stimulus module for each kernel, and the programs
#   stimulus-NAME    the module for one kernel, at build/RELEASE/kl_stimulus.ko
#
# tests/kernel/run runs them in virtual machines.

KERNEL_TESTS := $(addprefix $(BUILD)/tests/kernel-,accounting users fuzz lifecycle)
KERNEL_TEST_HEADERS := $(wildcard tests/kernel/*.h tests/kernel/stimulus/*.h) \
	uapi/kernlens.h $(wildcard uapi/*.def)

kernel-tests: $(KERNELS:%=stimulus-%) $(KERNEL_TESTS)

$(BUILD)/tests/kernel-%: tests/kernel/%.c $(KERNEL_TEST_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Iuapi -o $@ $(filter %.c,$^) -pthread

# A test of several files: its first is named like the program.
$(BUILD)/tests/kernel-accounting: tests/kernel/check_stream.c
$(BUILD)/tests/kernel-users: tests/kernel/workload.c

stimulus-%: $(CACHE)/%/release
	@release=$$(cat $<); tree=$(BUILD)/$$release/stimulus; mkdir -p $$tree; \
	cp -fs $(CURDIR)/tests/kernel/stimulus/* $$tree/ && \
	$(MAKE) --no-print-directory -C $$(realpath $(CACHE)/$*/headers) \
		M=$(CURDIR)/$$tree modules && \
	cp $$tree/kl_stimulus.ko $(BUILD)/$$release/kl_stimulus.ko

.PHONY: kernel-tests
