# SPDX-License-Identifier: GPL-2.0
#
# What the tests of the page need; included by the top Makefile.
#
#   view-tests   $(BUILD)/tests/view/make-trace, make-growth and make-machines: write traces whose
#                contents are known

view-tests: $(BUILD)/tests/view/make-trace $(BUILD)/tests/view/make-growth $(BUILD)/tests/view/make-machines

$(BUILD)/tests/view/make-%: tests/view/make_%.c tests/unit/lib/synth.c $(LIB) $(LIB_HEADERS)
	mkdir -p $(@D)
	$(call step,LD)$(CC) $(CFLAGS) $(LIB_INCLUDES) -o $@ $(filter %.c,$^) $(LIB) $(LIB_LIBS)

.PHONY: view-tests
