# SPDX-License-Identifier: GPL-2.0
# What causes events in the virtual machine (tests/events/run): one program per file of cause/, and
# the module for each kernel, at build/RELEASE/kl_cause.ko.

EVENT_CAUSES := $(patsubst tests/events/cause/%.c,$(BUILD)/tests/events/%,\
	$(wildcard tests/events/cause/*.c))

event-tests: $(EVENT_CAUSES) $(KERNELS:%=event-module-%)

$(BUILD)/tests/events/%: tests/events/cause/%.c tests/events/cause/cause.h
	mkdir -p $(@D)
	$(call step,LD)$(CC) $(CFLAGS) -pthread -o $@ $<

event-module-%: $(CACHE)/%/release
	release=$$(cat $<); tree=$(BUILD)/$$release/events; mkdir -p $$tree; \
	cp -fs $(CURDIR)/tests/events/module/* $$tree/ && \
	$(MAKE) --no-print-directory -C $$(realpath $(CACHE)/$*/headers) \
		M=$(CURDIR)/$$tree $(KBUILD_SETTINGS) modules && \
	cp $$tree/kl_cause.ko $(BUILD)/$$release/kl_cause.ko

.PHONY: event-tests
