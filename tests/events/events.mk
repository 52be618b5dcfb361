# SPDX-License-Identifier: GPL-2.0
# Programs that cause events in the virtual machine (tests/events/run), one a file of cause/.

EVENT_CAUSES := $(patsubst tests/events/cause/%.c,$(BUILD)/tests/events/%,\
	$(wildcard tests/events/cause/*.c))

event-tests: $(EVENT_CAUSES)

$(BUILD)/tests/events/%: tests/events/cause/%.c tests/events/cause/cause.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -pthread -o $@ $<

.PHONY: event-tests
