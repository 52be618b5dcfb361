# SPDX-License-Identifier: GPL-2.0
# What causes events in the virtual machine (tests/events/run): one program per file of cause/, and
# the module for each kernel, at build/RELEASE/kl_cause.ko.

EVENT_CAUSES := $(patsubst tests/events/cause/%.c,$(BUILD)/tests/events/%,\
	$(wildcard tests/events/cause/*.c))

event-tests: $(EVENT_CAUSES) $(KERNELS:%=event-module-%)

$(BUILD)/tests/events/%: tests/events/cause/%.c tests/events/cause/cause.h
	mkdir -p $(@D)
	$(call step,LD)$(CC) $(CFLAGS) -pthread -o $@ $<

event-module-%: module-%
	+release=$$(cat $(CACHE)/$*/release); tree=$(BUILD)/$$release/events; mkdir -p $$tree; \
	cp -fs $(CURDIR)/tests/events/module/* $$tree/ && \
	$(call kbuild,$*,$$tree) KL_COMPAT=$(CURDIR)/$(BUILD)/$$release/kernel/compat && \
	cp $$tree/kl_cause.ko $(BUILD)/$$release/kl_cause.ko

.PHONY: event-tests
