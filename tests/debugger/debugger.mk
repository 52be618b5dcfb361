# SPDX-License-Identifier: GPL-2.0
#
#   debugger-tests  what tests/debugger/run needs besides the module and the command

debugger-tests: $(KERNELS:%=debugger-%)

debugger-%: $(CACHE)/%/release
	+release=$$(cat $<); tree=$(BUILD)/$$release/debugger; mkdir -p $$tree && \
	cp -fs $(CURDIR)/tests/debugger/module/* $$tree/ && \
	$(call kbuild,$*,$$tree) && cp $$tree/kl_memory.ko $(BUILD)/$$release/

.PHONY: debugger-tests
